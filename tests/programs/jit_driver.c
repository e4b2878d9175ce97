/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Calls a libnvJitLink, whichever is named, by its documented functions, and prints every answer.
 *   jit_driver LIBRARY RELEASE run OUT [OPTION...] [TYPE:FILE...]   one link; TYPE is
 *       a number, with "f" before it: by name
 *   jit_driver LIBRARY RELEASE misuse FILE   wrong arguments and handles, each in a child
 *   jit_driver LIBRARY RELEASE threads COUNT ROUNDS ARCH FILE...   the same link by many threads, and
 *       handles that they share
 * RELEASE is that of the names: 13_0. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CUBIN       1
#define MAX_FILES   16
#define SHARED      64
#define INVALID     3
#define MAX_OPTIONS 64
#define GUARD       0xEE
#define GUARD_BYTES 16

typedef void *jit;

/* What the documentation says of each. */
typedef struct jit_calls {
    int (*create)(jit *link, uint32_t count, const char *const *options);
    int (*destroy)(jit *link);
    int (*add)(jit link, int type, const void *data, size_t size, const char *name);
    int (*add_file)(jit link, int type, const char *path);
    int (*complete)(jit link);
    int (*cubin_size)(jit link, size_t *size);
    int (*cubin)(jit link, void *out);
    int (*ptx_size)(jit link, size_t *size);
    int (*ptx)(jit link, char *out);
    int (*error_size)(jit link, size_t *size);
    int (*error)(jit link, char *out);
    int (*info_size)(jit link, size_t *size);
    int (*info)(jit link, char *out);
    int (*version)(unsigned *major, unsigned *minor);
} jit_calls;

static jit_calls calls;

typedef struct jit_file {
    uint8_t *bytes;
    size_t size;
} jit_file;

static void find(void *library, const char *name, const char *release, void *out)
{
    char full[96];
    void *symbol;

    if (release)
        (void)snprintf(full, sizeof(full), "__nvJitLink%s_%s", name, release);
    else
        (void)snprintf(full, sizeof(full), "nvJitLink%s", name);
    symbol = dlsym(library, full);
    if (!symbol) {
        fprintf(stderr, "%s: not there\n", full);
        exit(2);
    }
    memcpy(out, &symbol, sizeof(symbol));
}

static void find_all(const char *path, const char *release)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    find(library, "Create", release, &calls.create);
    find(library, "Destroy", release, &calls.destroy);
    find(library, "AddData", release, &calls.add);
    find(library, "AddFile", release, &calls.add_file);
    find(library, "Complete", release, &calls.complete);
    find(library, "GetLinkedCubinSize", release, &calls.cubin_size);
    find(library, "GetLinkedCubin", release, &calls.cubin);
    find(library, "GetLinkedPtxSize", release, &calls.ptx_size);
    find(library, "GetLinkedPtx", release, &calls.ptx);
    find(library, "GetErrorLogSize", release, &calls.error_size);
    find(library, "GetErrorLog", release, &calls.error);
    find(library, "GetInfoLogSize", release, &calls.info_size);
    find(library, "GetInfoLog", release, &calls.info);
    find(library, "Version", NULL, &calls.version);
}

static jit_file load(const char *path)
{
    jit_file file = { .bytes = NULL };
    FILE *in = fopen(path, "rb");
    long size = -1;

    if (in && fseek(in, 0, SEEK_END) == 0)
        size = ftell(in);
    if (size >= 0 && fseek(in, 0, SEEK_SET) == 0)
        file = (jit_file){ malloc((size_t)size + 1), (size_t)size };
    if (!file.bytes || fread(file.bytes, 1, file.size, in) != file.size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    (void)fclose(in);
    file.bytes[file.size] = 0; /* the reference looks for it behind PTX */
    return file;
}

/* One log, with its size as the library says it; nothing behind may be written. */
static void print_log(const char *name, int (*size_of)(jit, size_t *), int (*get)(jit, char *), jit link)
{
    size_t size = 4711;
    int first = size_of(link, &size), second;
    uint8_t *text;

    if (first != 0 || size > 1u << 24) {
        printf("%s %d %zu\n", name, first, size);
        return;
    }
    text = malloc(size + GUARD_BYTES);
    if (!text)
        exit(2);
    memset(text, GUARD, size + GUARD_BYTES);
    second = get(link, (char *)text);
    printf("%s %d %zu %d %s\n", name, first, size, second,
           (size == 0 || text[size - 1] == '\0') && text[size] == GUARD ? "ends" : "DOES NOT END");
    for (size_t i = 0, start = 0; i < size; i++) {
        if (text[i] == '\n' || text[i] == '\0') {
            if (i > start)
                printf("  %s| %.*s\n", name, (int)(i - start), (const char *)text + start);
            start = i + 1;
        }
    }
    free(text);
}

/* Only one of the two is there: they go to the same file. */
static void print_ptx(jit link, const char *out)
{
    size_t size = 4711;
    int first = calls.ptx_size(link, &size), second;
    uint8_t *text = malloc(first == 0 ? size + GUARD_BYTES : GUARD_BYTES);
    FILE *file;

    if (!text)
        exit(2);
    if (first == 0)
        memset(text + size, GUARD, GUARD_BYTES);
    second = calls.ptx(link, (char *)text);
    printf("ptx %d %d\n", first, second);
    if (first == 0 && text[size] != GUARD)
        printf("WRITTEN BEHIND THE END\n");
    file = first == 0 && second == 0 && strcmp(out, "-") != 0 ? fopen(out, "wb") : NULL;
    if (file && (fwrite(text, 1, size, file) != size || fclose(file) != 0))
        exit(2);
    free(text);
}

static void print_result(jit link, const char *out)
{
    size_t size = 4711;
    int first = calls.cubin_size(link, &size), second = -1;
    uint8_t *bytes = malloc(first == 0 ? size + GUARD_BYTES : 1u << 20);
    FILE *file;

    if (!bytes)
        exit(2);
    if (first == 0)
        memset(bytes + size, GUARD, GUARD_BYTES);
    second = calls.cubin(link, bytes);
    printf("cubin %d %zu %d\n", first, first == 0 ? size : 0, second);
    if (first == 0 && bytes[size] != GUARD)
        printf("WRITTEN BEHIND THE END\n");
    file = first == 0 && second == 0 && strcmp(out, "-") != 0 ? fopen(out, "wb") : NULL;
    if (file && (fwrite(bytes, 1, size, file) != size || fclose(file) != 0))
        exit(2);
    free(bytes);
    print_ptx(link, out);
}

static int run(const char *out, int count, char **words)
{
    const char *options[MAX_OPTIONS];
    uint32_t n_options = 0;
    jit link = NULL;
    int result;

    while (count > 0 && n_options < MAX_OPTIONS && !strchr("0123456789f", words[0][0])) {
        options[n_options++] = words[0][0] == '=' ? words[0] + 1 : words[0];
        count--;
        words++;
    }
    result = calls.create(&link, n_options, options);
    printf("create %d %s\n", result, link ? "handle" : "no-handle");
    if (link && result == 0) {
        for (; count > 0; count--, words++) {
            bool by_name = words[0][0] == 'f';
            char *path = strchr(words[0], ':');
            int type = (int)strtol(words[0] + by_name, NULL, 10);
            jit_file file = { .bytes = NULL };

            if (!path++)
                return 2;
            if (!by_name)
                file = load(path);
            fflush(stdout);
            result = by_name ? calls.add_file(link, type, path)
                             : calls.add(link, type, file.bytes, file.size,
                                         strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
            printf("add %d\n", result);
            if (file.bytes)
                memset(file.bytes, 0, file.size); /* the library has what it needs */
            free(file.bytes);
        }
        fflush(stdout);
        printf("complete %d\n", calls.complete(link));
        print_result(link, out);
    }
    if (link) {
        print_log("E", calls.error_size, calls.error, link);
        print_log("I", calls.info_size, calls.info, link);
        printf("destroy %d", calls.destroy(&link));
        printf(" %s\n", link ? "handle" : "no-handle");
    }
    return 0;
}

/* Misuse: what each wrong call answers. */
static const char *const ARCH[] = { "-arch=sm_90" };
static const char *const BOGUS[] = { "-bogus" };
static const char *const NULLS[] = { NULL };
static jit_file sample;
static size_t ignored;
static char room[1u << 20];

static jit made(const char *const *options)
{
    jit link = NULL;

    (void)calls.create(&link, 1, options);
    return link;
}

static jit gone(void)
{
    jit link = made(ARCH), copy = link;

    (void)calls.destroy(&link);
    return copy;
}

static int add_to(jit link)
{
    return calls.add(link, CUBIN, sample.bytes, sample.size, "sample");
}

static jit linked(void)
{
    jit link = made(ARCH);

    (void)add_to(link);
    (void)calls.complete(link);
    return link;
}

#define WRONG(number, text, call)                                                                            \
    case number:                                                                                             \
        printf("%-40s ", text);                                                                              \
        fflush(stdout);                                                                                      \
        printf("%d\n", call);                                                                                \
        break;

static bool misuse_case(unsigned number)
{
    jit none = NULL, old = NULL, junk = room + 64;
    jit odd = (jit)(uintptr_t)UINT64_C(0x500005);

    switch (number) {
        WRONG(0, "create: no handle", calls.create(NULL, 1, ARCH))
        WRONG(1, "create: no options", calls.create(&none, 1, NULL))
        WRONG(2, "create: an option is NULL", calls.create(&none, 1, NULLS))
        WRONG(3, "destroy: NULL", calls.destroy(NULL))
        WRONG(4, "destroy: handle is NULL", calls.destroy(&none))
        WRONG(5, "destroy: twice", (old = gone(), calls.destroy(&old)))
        WRONG(6, "destroy: memory of the caller", calls.destroy(&junk))
        WRONG(7, "destroy: made up", calls.destroy(&odd))
        WRONG(8, "add: no handle", add_to(NULL))
        WRONG(9, "add: destroyed", add_to(gone()))
        WRONG(10, "add: memory of the caller", add_to(junk))
        WRONG(11, "add: no data", calls.add(made(ARCH), CUBIN, NULL, 5, "x"))
        WRONG(12, "add: nothing", calls.add(made(ARCH), CUBIN, NULL, 0, "x"))
        WRONG(13, "add: no name", calls.add(made(ARCH), CUBIN, sample.bytes, sample.size, NULL))
        WRONG(14, "add: no such type", calls.add(made(ARCH), 11, sample.bytes, sample.size, "x"))
        WRONG(15, "add: negative type", calls.add(made(ARCH), -1, sample.bytes, sample.size, "x"))
        WRONG(16, "add: after a refused create", add_to(made(BOGUS)))
        WRONG(17, "add: after complete", add_to(linked()))
        WRONG(18, "add file: no name", calls.add_file(made(ARCH), CUBIN, NULL))
        WRONG(19, "add file: not there", calls.add_file(made(ARCH), CUBIN, "/nonexistent/file"))
        WRONG(20, "add file: a directory", calls.add_file(made(ARCH), CUBIN, "/"))
        WRONG(21, "add file: destroyed", calls.add_file(gone(), CUBIN, "/dev/null"))
        WRONG(22, "complete: no handle", calls.complete(NULL))
        WRONG(23, "complete: destroyed", calls.complete(gone()))
        WRONG(24, "complete: twice", (old = linked(), calls.complete(old)))
        WRONG(25, "complete: after a refused create", calls.complete(made(BOGUS)))
        WRONG(26, "cubin size: before complete", calls.cubin_size(made(ARCH), &ignored))
        WRONG(27, "cubin size: no place", calls.cubin_size(linked(), NULL))
        WRONG(28, "cubin size: destroyed", calls.cubin_size(gone(), &ignored))
        WRONG(29, "cubin: before complete", calls.cubin(made(ARCH), room))
        WRONG(30, "cubin: no place", calls.cubin(linked(), NULL))
        WRONG(31, "cubin: destroyed", calls.cubin(gone(), room))
        WRONG(32, "ptx size: without -lto", calls.ptx_size(linked(), &ignored))
        WRONG(33, "ptx: without -lto", calls.ptx(linked(), room))
        WRONG(34, "error log size: no place", calls.error_size(made(ARCH), NULL))
        WRONG(35, "error log size: destroyed", calls.error_size(gone(), &ignored))
        WRONG(36, "error log: no handle", calls.error(NULL, room))
        WRONG(37, "info log: destroyed", calls.info(gone(), room))
        WRONG(38, "info log: nothing in it", calls.info(made(ARCH), room))
        WRONG(39, "version: no place", calls.version(NULL, NULL))
    default: return false;
    }
    return true;
}

static int misuse(const char *path)
{
    sample = load(path);
    for (unsigned i = 0;; i++) {
        int status = 0;
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0) {
            bool more = misuse_case(i);

            fflush(stdout);
            _exit(more ? 0 : 1);
        }
        if (child < 0 || waitpid(child, &status, 0) != child)
            return 2;
        if (WIFSIGNALED(status))
            printf("signal %d\n", WTERMSIG(status));
        else if (WEXITSTATUS(status) != 0)
            return 0;
    }
}

/* Threads: each links, and disturbs the handles of the others. */
typedef struct jit_team {
    jit_file file[MAX_FILES];
    size_t n_files;
    const char *options[1];
    uint8_t *want;
    size_t n_want;
    unsigned rounds;
    _Atomic(jit) shared[SHARED];
    atomic_uint bad;
} jit_team;

static jit_team team;

static bool link_once(uint8_t **out, size_t *size)
{
    jit link = NULL;
    bool good = calls.create(&link, 1, team.options) == 0;

    for (size_t i = 0; good && i < team.n_files; i++)
        good = calls.add(link, CUBIN, team.file[i].bytes, team.file[i].size, "in") == 0;
    good = good && calls.complete(link) == 0 && calls.cubin_size(link, size) == 0;
    *out = good ? malloc(*size) : NULL;
    good = good && *out && calls.cubin(link, *out) == 0;
    return calls.destroy(&link) == 0 && good;
}

/* Somebody else may end the handle at any time: then every call says so, and none crashes. */
static bool disturb(unsigned seed)
{
    jit link = atomic_load(&team.shared[seed % SHARED]), fresh = NULL;
    size_t size;
    int result;

    if (seed % 5 == 0) {
        if (calls.create(&fresh, 1, team.options) != 0)
            return false;
        fresh = atomic_exchange(&team.shared[seed % SHARED], fresh);
        return !fresh || (calls.destroy(&fresh) | INVALID) == INVALID;
    }
    if (!link)
        return true;
    switch (seed % 4) {
    case 0: result = calls.add(link, CUBIN, team.file[0].bytes, team.file[0].size, "in"); break;
    case 1: result = calls.complete(link); break;
    case 2: result = calls.error_size(link, &size); break;
    default: result = seed % 7 == 0 ? calls.destroy(&link) : calls.cubin_size(link, &size); break;
    }
    return result >= 0 && result <= 18;
}

static void *work(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (unsigned round = 0; round < team.rounds; round++) {
        uint8_t *out;
        size_t size = 0;

        if (!link_once(&out, &size) || size != team.n_want || memcmp(out, team.want, size) != 0)
            atomic_fetch_add(&team.bad, 1);
        free(out);
        for (unsigned i = 0; i < 8; i++) {
            seed = seed * 1664525u + 1013904223u;
            if (!disturb(seed >> 8))
                atomic_fetch_add(&team.bad, 1);
        }
    }
    return NULL;
}

static int threads(unsigned count, char **words, int n_words)
{
    pthread_t thread[64];
    char arch[64];

    (void)snprintf(arch, sizeof(arch), "-arch=%s", words[1]);
    team.options[0] = arch;
    team.rounds = (unsigned)strtoul(words[0], NULL, 10);
    for (int i = 2; i < n_words && team.n_files < MAX_FILES; i++)
        team.file[team.n_files++] = load(words[i]);
    if (count == 0 || count > 64 || team.n_files == 0 || !link_once(&team.want, &team.n_want))
        return 2;
    for (unsigned i = 0; i < count; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 2;
    }
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(thread[i], NULL);
    for (size_t i = 0; i < SHARED; i++) {
        jit link = atomic_load(&team.shared[i]);

        if (link)
            (void)calls.destroy(&link);
    }
    for (size_t i = 0; i < team.n_files; i++)
        free(team.file[i].bytes);
    free(team.want);
    printf("%u threads, %u rounds, %u bad\n", count, team.rounds, atomic_load(&team.bad));
    return atomic_load(&team.bad) != 0;
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: jit_driver LIBRARY RELEASE run|misuse|threads ...\n");
        return 2;
    }
    find_all(argv[1], argv[2]);
    if (strcmp(argv[3], "run") == 0)
        return run(argv[4], argc - 5, argv + 5);
    if (strcmp(argv[3], "misuse") == 0)
        return misuse(argv[4]);
    if (strcmp(argv[3], "threads") == 0 && argc >= 8)
        return threads((unsigned)strtoul(argv[4], NULL, 10), argv + 5, argc - 5);
    return 2;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet-lto LIBRARY cubin|ptx IN OUT [OPTION...] -- TYPE:SIZE:NAME...
 *
 * Hands one link to a libnvJitLink that the caller names, by the functions of its documentation. It is started in
 * a cage (proc/lto.h) and believes nothing to be well: whatever the library does ends with this process. Logs of
 * the library go to standard error. Exit codes: cuvet/lto.h. */
#include <cuvet/lto.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *jit_link; /* nvJitLinkHandle */

/* The library's functions; each answers with its result code, 0: it is well. */
typedef struct jit_calls {
    int (*create)(jit_link *link, uint32_t count, char **options);
    int (*destroy)(jit_link *link);
    int (*add)(jit_link link, int type, const void *data, size_t size, const char *name);
    int (*complete)(jit_link link);
    int (*result_size)(jit_link link, size_t *size);
    int (*result)(jit_link link, void *out);
    int (*error_size)(jit_link link, size_t *size);
    int (*error)(jit_link link, char *out);
    int (*info_size)(jit_link link, size_t *size);
    int (*info)(jit_link link, char *out);
} jit_calls;

typedef struct bytes {
    char *at;
    size_t n;
} bytes;

static _Noreturn void fail(int code, const char *what, const char *why)
{
    (void)fprintf(stderr, "cuvet-lto: %s: %s\n", what, why);
    exit(code);
}

static void find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        fail(CUVET_LTO_EXIT_LIBRARY, "the library has no function", name);
    memcpy(out, &symbol, sizeof(symbol));
}

static jit_calls load(const char *path, bool ptx)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    jit_calls calls;

    if (!library)
        fail(CUVET_LTO_EXIT_LIBRARY, "the library cannot be loaded", dlerror());
    find(library, "nvJitLinkCreate", &calls.create);
    find(library, "nvJitLinkDestroy", &calls.destroy);
    find(library, "nvJitLinkAddData", &calls.add);
    find(library, "nvJitLinkComplete", &calls.complete);
    find(library, ptx ? "nvJitLinkGetLinkedPtxSize" : "nvJitLinkGetLinkedCubinSize", &calls.result_size);
    find(library, ptx ? "nvJitLinkGetLinkedPtx" : "nvJitLinkGetLinkedCubin", &calls.result);
    find(library, "nvJitLinkGetErrorLogSize", &calls.error_size);
    find(library, "nvJitLinkGetErrorLog", &calls.error);
    find(library, "nvJitLinkGetInfoLogSize", &calls.info_size);
    find(library, "nvJitLinkGetInfoLog", &calls.info);
    return calls;
}

static bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    bytes all = { NULL, 0 };
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail(CUVET_LTO_EXIT_FILE, path, strerror(errno));
    all.n = (size_t)size;
    all.at = malloc(all.n + 1);
    if (!all.at || fread(all.at, 1, all.n, file) != all.n)
        fail(CUVET_LTO_EXIT_FILE, path, all.at ? strerror(errno) : "no memory");
    (void)fclose(file);
    return all;
}

static void write_file(const char *path, const char *at, size_t n)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(at, 1, n, file) != n || fclose(file) != 0)
        fail(CUVET_LTO_EXIT_FILE, path, strerror(errno));
}

static bool put_log(int (*size_of)(jit_link, size_t *), int (*get)(jit_link, char *), jit_link link)
{
    size_t size = 0;
    bool said = false;
    char *text;

    if (size_of(link, &size) != 0 || size == 0)
        return false;
    text = calloc(1, size + 1);
    said = text && get(link, text) == 0 && text[0] != '\0';
    if (said)
        (void)fprintf(stderr, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    free(text);
    return said;
}

/* A call of the library that has to be well; otherwise its logs say why it is not. */
static void need(const jit_calls *calls, jit_link link, int result, const char *what)
{
    if (result == 0)
        return;
    if (!put_log(calls->error_size, calls->error, link))
        (void)fprintf(stderr, "cuvet-lto: the library refused (%s): result %d\n", what, result);
    (void)put_log(calls->info_size, calls->info, link);
    exit(result > 0 && result < CUVET_LTO_EXIT_REFUSED ? CUVET_LTO_EXIT_REFUSED + result
                                                       : 2 * CUVET_LTO_EXIT_REFUSED - 1);
}

/* "TYPE:SIZE:NAME": the next SIZE bytes of the file. */
static void add_input(const jit_calls *calls, jit_link link, const char *text, bytes *left)
{
    char *end, after;
    unsigned long type = strtoul(text, &end, 10);
    unsigned long long size = *end == ':' ? strtoull(end + 1, &end, 10) : 0;

    if (*end != ':' || size == 0 || size > left->n)
        fail(CUVET_LTO_EXIT_USAGE, "not TYPE:SIZE:NAME of what the file has", text);
    /* The library looks for a NUL behind PTX. What is there now is the next input's. */
    after = left->at[size];
    left->at[size] = '\0';
    need(calls, link, calls->add(link, (int)type, left->at, (size_t)size, end + 1), end + 1);
    left->at[size] = after;
    left->at += size;
    left->n -= (size_t)size;
}

static void write_result(const jit_calls *calls, jit_link link, const char *path)
{
    size_t size = 0;
    char *out;

    need(calls, link, calls->result_size(link, &size), "size of the result");
    out = malloc(size + 1);
    if (!out)
        fail(CUVET_LTO_EXIT_FILE, path, "no memory");
    need(calls, link, calls->result(link, out), "result");
    write_file(path, out, size);
    free(out);
}

int main(int argc, char **argv)
{
    enum { SELF, LIBRARY, KIND, IN, OUT, OPTIONS };
    bool ptx = argc > KIND && strcmp(argv[KIND], "ptx") == 0;
    int inputs = OPTIONS;
    jit_link link = NULL;
    jit_calls calls;
    bytes all, left;

    while (inputs < argc && strcmp(argv[inputs], "--") != 0)
        inputs++;
    if (inputs >= argc || (!ptx && strcmp(argv[KIND], "cubin") != 0))
        fail(CUVET_LTO_EXIT_USAGE, "usage",
             "cuvet-lto LIBRARY cubin|ptx IN OUT [OPTION...] -- TYPE:SIZE:NAME...");
    all = left = read_file(argv[IN]);
    calls = load(argv[LIBRARY], ptx);
    need(&calls, link, calls.create(&link, (uint32_t)(inputs - OPTIONS), argv + OPTIONS), "options");
    for (int i = inputs + 1; i < argc; i++)
        add_input(&calls, link, argv[i], &left);
    if (left.n != 0)
        fail(CUVET_LTO_EXIT_USAGE, argv[IN], "has more than the inputs");
    need(&calls, link, calls.complete(link), "the link");
    write_result(&calls, link, argv[OUT]);
    (void)put_log(calls.info_size, calls.info, link);
    (void)put_log(calls.error_size, calls.error, link);
    (void)calls.destroy(&link);
    free(all.at);
    return 0;
}

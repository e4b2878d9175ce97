/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every way in which a compiler can misbehave has an end of its own, and leaves nothing behind. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/heap.h"
#include "unit/proc/fake.h"

#define ASKED_PTX    .size = sizeof(request), .kind = CUVET_K_PTX

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static uint64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

START_TEST(compiles)
{
    static const char WANT[] =
        "ptxas\n-arch=sm_90a\n-m64\n-c\n--do=ok\n-x -y\ninput.ptx\n-o\noutput.cubin\ninput text";
    cv_external external = fake_conf(0, 0);
    cuvet_compile_result result = fake_compile(&external, NULL, OPTIONS("--do=ok", "-x -y"));

    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_eq(result.n, sizeof(WANT) - 1);
    ck_assert_mem_eq(result.bytes, WANT, sizeof(WANT) - 1);
    ck_assert_uint_eq(result.n_log, 0);
    fake_release(&external, &result);
}
END_TEST

static const struct {
    const char *what, *value;
    cuvet_compile_end end;
    int64_t detail;
} CASES[] = {
    { "exit7", "", CUVET_COMPILE_FAILED, 7 },
    { "segv", "", CUVET_COMPILE_CRASHED, SIGSEGV },
    { "none", "", CUVET_COMPILE_EMPTY, 0 },
    { "empty", "", CUVET_COMPILE_EMPTY, 0 },
    { "symlink", "", CUVET_COMPILE_EMPTY, 0 },
    { "ownlink", "", CUVET_COMPILE_EMPTY, 0 },
    { "hardlink", "", CUVET_COMPILE_EMPTY, 0 },
    { "fifo", "", CUVET_COMPILE_EMPTY, 0 },
    { "directory", "", CUVET_COMPILE_EMPTY, 0 },
    { "size", "9999", CUVET_COMPILED, 0 },
    { "size", "10000", CUVET_COMPILED, 0 },
    { "size", "10001", CUVET_COMPILE_OVERSIZED, 10000 },
    { "size", "10002", CUVET_COMPILE_OVERSIZED, 10000 }, /* killed by the limit */
    { "deafsize", "90000", CUVET_COMPILE_OVERSIZED, 10000 },
    { "closeall", "", CUVET_COMPILED, 0 },
    { "litter", "", CUVET_COMPILED, 0 },
    { "hog", "", CUVET_COMPILE_FAILED, 9 },
    { "fds", "", CUVET_COMPILE_FAILED, 20 },
};

START_TEST(misbehaves)
{
    char what[32], value[32];
    cv_external external = fake_conf(0, 10000);
    cuvet_compile_result result;

    external.conf.memory = 64 << 20;
    external.conf.files = 20;
    snprintf(what, sizeof(what), "--do=%s", CASES[_i].what);
    snprintf(value, sizeof(value), "--value=%s", CASES[_i].value);
    result = fake_compile(&external, NULL, OPTIONS(what, value));
    ck_assert_msg(result.end == CASES[_i].end && result.detail == CASES[_i].detail, "%s: end %d, detail %d",
                  what, (int)result.end, (int)result.detail);
    if (!strcmp(CASES[_i].what, "size") && result.end == CUVET_COMPILED)
        ck_assert_uint_eq(result.n, (size_t)atoi(CASES[_i].value));
    ck_assert_uint_eq(result.n_log, 0); /* also: everything could be removed */
    fake_release(&external, &result);
}
END_TEST

/* Nobody survives: not at the deadline, not after a good end, whatever session it fled to. */
START_TEST(kills_all)
{
    static const struct {
        const char *what;
        cuvet_compile_end end;
        int pids;
    } ROWS[] = { { "--do=sleep", CUVET_COMPILE_TIMEOUT, 1 },
                 { "--do=broodsleep", CUVET_COMPILE_TIMEOUT, 9 },
                 { "--do=brood", CUVET_COMPILED, 9 },
                 { "--do=hopper", CUVET_COMPILED, 0 } };
    bool waits = ROWS[_i].end == CUVET_COMPILE_TIMEOUT;
    cv_external external = fake_conf(waits ? 150 : 0, 0);
    uint64_t start = now_ms();
    cuvet_compile_result result = fake_compile(&external, NULL, OPTIONS(ROWS[_i].what));

    ck_assert_int_eq(result.end, ROWS[_i].end);
    if (waits) {
        ck_assert_int_eq(result.detail, 150);
        ck_assert_uint_ge(now_ms() - start, 150);
    }
    /* A slow machine may reach the deadline before all of them have spoken. */
    if (waits)
        ck_assert_int_le(fake_dead_pids(result.log, result.n_log), ROWS[_i].pids);
    else
        ck_assert_int_eq(fake_dead_pids(result.log, result.n_log), ROWS[_i].pids);
    fake_release(&external, &result);
}
END_TEST

/* Does this kernel, and whoever runs us, let a program be kept from its keeper? */
static bool can_seclude(void)
{
    int status = 1;
    pid_t place;

    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 6)
        return true;
    place = fork();
    if (place == 0)
        _exit(syscall(SYS_unshare, 0x20000000) != 0 && syscall(SYS_unshare, 0x30000000) != 0);
    return waitpid(place, &status, 0) == place && status == 0;
}

/* One that attacks its keeper does not get away either, nor do we wait for ever. */
START_TEST(keeper_attacked)
{
    static const char *const WHAT[] = { "--do=killkeeper", "--do=stopkeeper" };
    cv_external external = fake_conf(300, 0);
    cuvet_compile_result result;

    if (!can_seclude()) {
        printf(
            "SKIPPED: neither Landlock 6 nor process number spaces here, a compiler may kill its keeper\n");
        return;
    }
    result = fake_compile(&external, NULL, OPTIONS(WHAT[_i]));
    /* It finds nobody to attack, and sleeps on, or ends. */
    ck_assert_int_eq(result.end, _i ? CUVET_COMPILE_EMPTY : CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(fake_survivors(), 0);
    fake_release(&external, &result);
}
END_TEST

START_TEST(cpu_limit)
{
    cv_external external = fake_conf(0, 0);
    cuvet_compile_result result;

    external.conf.cpu_seconds = 1;
    result = fake_compile(&external, NULL, OPTIONS(_i ? "--do=deafloop" : "--do=loop"));
    ck_assert_int_eq(result.end, CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(result.detail, 1000);
    fake_release(&external, &result);
}
END_TEST

START_TEST(endless_loop)
{
    cv_external external = fake_conf(100, 0);
    cuvet_compile_result result = fake_compile(&external, NULL, OPTIONS("--do=loop"));

    ck_assert_int_eq(result.end, CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(result.detail, 100);
    fake_release(&external, &result);
}
END_TEST

/* A hundred megabytes of noise: drained, and the end kept, whatever the limit. */
START_TEST(flood)
{
    static const uint64_t LIMITS[] = { 1, 7, 1000, 40000 };
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
        cv_external external = fake_conf(0, 0);
        cuvet_compile_result result;
        size_t said = LIMITS[i] < 8 ? (size_t)LIMITS[i] : 8;

        external.conf.log = LIMITS[i];
        result = fake_compile(&external, NULL, OPTIONS("--do=flood"));
        ck_assert_int_eq(result.end, CUVET_COMPILED);
        ck_assert_uint_eq(result.n_log, LIMITS[i]);
        ck_assert_mem_eq(result.log + result.n_log - said, &"the end\n"[8 - said], said);
        for (size_t j = 0; j < result.n_log - said; j++)
            ck_assert_int_eq(result.log[j], 'x');
        fake_release(&external, &result);
    }
}
END_TEST

static bool line(const char *text, const char *want)
{
    const char *at = strstr(text, want);

    return at && (at == text || at[-1] == '\n') && at[strlen(want)] == '\n';
}

/* What the program finds around it. */
START_TEST(surroundings)
{
    cv_external external = fake_conf(0, 5000);
    char text[8192];
    cuvet_compile_result result;
    sigset_t set;
    int count = 0;

    ck_assert_int_eq(setenv("CUVET_SECRET", "1", 1), 0);
    ck_assert_int_ge(dup2(1, 700), 0); /* without close-on-exec */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    result = fake_compile(&external, NULL, OPTIONS("--do=tell"));
    close(700);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_lt(result.n_log, sizeof(text));
    memcpy(text, result.log, result.n_log);
    text[result.n_log] = 0;
    ck_assert(line(text, "env TMPDIR=."));
    ck_assert_ptr_null(strstr(strstr(text, "env ") + 1, "env "));
    for (const char *at = text; (at = strstr(at, "fd ")) != NULL; at++)
        count += at == text || at[-1] == '\n';
    ck_assert_int_eq(count, 3);
    ck_assert(line(text, "fd 0 null") && line(text, "fd 1 pipe") && line(text, "fd 2 pipe"));
    ck_assert(line(text, "limit core 0") && line(text, "limit cpu 60") && line(text, "limit fsize 5001"));
    ck_assert(line(text, "limit nofile 64") && line(text, "limit as 8589934592"));
    ck_assert(line(text, "limit stack 16777216") && line(text, "session 1 umask 77"));
    ck_assert(line(text, "mode 700"));
    ck_assert_ptr_null(strstr(text, "blocked"));
    ck_assert_ptr_null(strstr(text, "handled"));
    count = snprintf(NULL, 0, "cwd %s/cuvet-0x", fake_dir);
    ck_assert_int_eq(strncmp(text, "cwd ", 4), 0);
    ck_assert_int_eq(strncmp(text + 4, fake_dir, strlen(fake_dir)), 0);
    ck_assert_int_eq(strncmp(text + count - 2, "0x", 2), 0);
    /* and the caller's own signals are as they were */
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    ck_assert_int_eq(sigismember(&set, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&set, SIGTERM), 0);
    fake_release(&external, &result);
}
END_TEST

/* Where the kernel has Landlock, nothing outside of the private directory can be written. */
START_TEST(fence)
{
    bool landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
    cv_external external = fake_conf(0, 0);
    char value[128], text[128];
    cuvet_compile_result result;

    snprintf(value, sizeof(value), "--value=%s/escaped", fake_dir);
    result = fake_compile(&external, NULL, OPTIONS("--do=outside", value));
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_lt(result.n_log, sizeof(text));
    memcpy(text, result.log, result.n_log);
    text[result.n_log] = 0;
    if (landlock)
        ck_assert(line(text, "outside no, null yes"));
    else
        printf("SKIPPED: no Landlock here, a compiler may write wherever its user may\n");
    ck_assert_ptr_nonnull(strstr(text, "null yes"));
    fake_release(&external, &result);
}
END_TEST

/* A file of the same user stays as it is in every respect, nothing talks, nothing outlives the program. */
START_TEST(reaches_out)
{
    static const char *const NO[] = { "mode no",    "times no",  "owner no",
                                      "network no", "shared no", "others none" };
    cv_external external = fake_conf(0, 0);
    char path[128], value[160], text[4096];
    cuvet_compile_result result;
    struct stat before, after;
    int fd;

    snprintf(path, sizeof(path), "%s.reach", fake_dir);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    ck_assert(fd >= 0 && write(fd, "precious", 8) == 8);
    ck_assert_int_eq(fstat(fd, &before), 0);
    snprintf(value, sizeof(value), "--value=%s", path);
    result = fake_compile(&external, NULL, OPTIONS("--do=reach", value));
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_lt(result.n_log, sizeof(text));
    memcpy(text, result.log, result.n_log);
    text[result.n_log] = 0;
    ck_assert_int_eq(fstat(fd, &after), 0);
    for (size_t i = 0; FAKE_FILTERED && i < CV_COUNT(NO); i++)
        ck_assert_msg(line(text, NO[i]), "%s", text);
    ck_assert_msg(!FAKE_FILTERED || (before.st_mode == after.st_mode && after.st_size == 8 &&
                                     before.st_mtime == after.st_mtime && before.st_ctime == after.st_ctime),
                  "the file is another one");
    if (!FAKE_FILTERED)
        printf("SKIPPED: a compiler's calls are not filtered on this machine\n");
    fake_release(&external, &result);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(not_found)
{
    cv_external external = fake_conf(0, 0);
    char path[128];
    cuvet_compile_result result;
    FILE *file;

    external.conf.path = "/nonexistent/ptxas";
    result = fake_compile(&external, NULL, OPTIONS("-v"));
    ck_assert_int_eq(result.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(result.detail, ENOENT);
    fake_release(&external, &result);
    external.conf.path = "/"; /* a directory */
    result = fake_compile(&external, NULL, OPTIONS("-v"));
    ck_assert_int_eq(result.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(result.detail, EACCES);
    fake_release(&external, &result);
    external = fake_conf(0, 0);
    external.conf.directory = "/nonexistent";
    result = fake_compile(&external, NULL, OPTIONS("-v"));
    ck_assert_int_eq(result.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(result.detail, ENOENT);
    fake_release(&external, &result);
    /* Neither a shell nor PATH: a file without a format is no program, a name without a place is none. */
    snprintf(path, sizeof(path), "%s.script", fake_dir);
    file = fopen(path, "w");
    fputs("exit 0\n", file);
    fclose(file);
    ck_assert_int_eq(chmod(path, 0700), 0);
    external = fake_conf(0, 0);
    external.conf.path = path;
    result = fake_compile(&external, NULL, OPTIONS("-v"));
    unlink(path);
    ck_assert_int_eq(result.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(result.detail, ENOEXEC);
    fake_release(&external, &result);
}
END_TEST

START_TEST(unsupported)
{
    static const int never = 0;
    cv_external external = fake_conf(0, 0);
    cuvet_compile_request request = {
        .size = sizeof(request), .kind = CUVET_K_LTOIR, .bytes = "x", .n = 1, .sm = 90, .cancel = &never
    };
    cuvet_compile_result result = { .size = sizeof(result) };

    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILE_UNSUPPORTED);
    request.kind = CUVET_K_PTX;
    request.suffix = ' '; /* would be an argument of its own to a shell; here it is none at all */
    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILE_UNSUPPORTED);
    request.size = 1;
    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_E_INTERNAL);
    request.size = sizeof(request);
    result.size = 1;
    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_E_INTERNAL);
}
END_TEST

START_TEST(threads_option)
{
    static const int never = 0;
    cv_external external = fake_conf(0, 0);
    cuvet_compile_request request = { .size = sizeof(request),
                                      .kind = CUVET_K_PTX,
                                      .bytes = "",
                                      .n = 0,
                                      .sm = 75,
                                      .threads = 8,
                                      .cancel = &never };
    cuvet_compile_result result = { .size = sizeof(result) };

    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_mem_eq(result.bytes, "ptxas\n-arch=sm_75\n-m64\n-c\n-split-compile=8\ninput.ptx\n", 53);
    fake_release(&external, &result);
}
END_TEST

static void *cancel_it(void *flag)
{
    ck_assert(fake_wait_started());
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(cancelled)
{
    cv_external external = fake_conf(0, 0);
    int flag = 1;
    cuvet_compile_result result = fake_compile(&external, &flag, OPTIONS("--do=ok"));
    pthread_t pthread;

    ck_assert_int_eq(result.end, CUVET_COMPILE_CANCELLED);
    fake_release(&external, &result);
    flag = 0;
    ck_assert_int_eq(pthread_create(&pthread, NULL, cancel_it, &flag), 0);
    result = fake_compile(&external, &flag, OPTIONS("--do=broodsleep"));
    ck_assert_int_eq(pthread_join(pthread, NULL), 0);
    ck_assert_int_eq(result.end, CUVET_COMPILE_CANCELLED);
    ck_assert_int_eq(fake_dead_pids(result.log, result.n_log), 9);
    fake_release(&external, &result);
}
END_TEST

static void *many(void *conf)
{
    cv_external *external = conf;
    static const int never = 0;

    for (int i = 0; i < 8; i++) {
        const char *const option[] = { i % 2 ? "--do=brood" : "--do=ok" };
        const cuvet_compile_request request = { ASKED_PTX,    .bytes = "text",  .n = 4,
                                                .sm = 90,     .option = option, .n_options = 1,
                                                .threads = 1, .cancel = &never };
        cuvet_compile_result result = { .size = sizeof(result) };

        if (cv_external_compile(external, &request, &result) != CUVET_OK || result.end != CUVET_COMPILED ||
            result.n < 40)
            return conf;
        result.release(&result, external);
    }
    return NULL;
}

/* One compiler, several threads. */
START_TEST(threads)
{
    cv_external external = fake_conf(0, 0);
    pthread_t pthread[3];
    void *bad;

    external.conf.processes = 64; /* the kernel counts those of a user, and the others are of the same */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&pthread[i], NULL, many, &external), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(pthread[i], &bad), 0);
        ck_assert_ptr_null(bad);
    }
}
END_TEST

/* Each allocation fails once, alone or with all that follow: no memory, and nothing left. */
START_TEST(allocation_fails)
{
    static const char *const option[] = { "--do=tell" };
    static const int never = 0;
    const cuvet_compile_request request = {
        ASKED_PTX,        .bytes = "text", .n = 4,       .sm = 90,
        .option = option, .n_options = 1,  .threads = 1, .cancel = &never
    };
    bool done = false;
    int failed = 0;

    for (unsigned count = 1; !done; count++) {
        heap_state heap = { 0 };
        cv_external external = fake_conf(0, 0);
        cuvet_compile_result result = { .size = sizeof(result) };
        cuvet_status status;

        heap_fail(&heap, count, _i == 1);
        external.alloc = heap_alloc(&heap);
        status = cv_external_compile(&external, &request, &result);
        done = heap.calls < count;
        failed += status == CUVET_E_NOMEM;
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        ck_assert(status == CUVET_OK || (!result.bytes && !result.log));
        if (result.release)
            result.release(&result, &external);
        ck_assert_int_eq(heap.live, 0);
        ck_assert_int_eq(fake_entries(), 0);
        ck_assert_uint_lt(count, 100);
    }
    ck_assert_int_ge(failed, 4);
}
END_TEST

START_TEST(checks_configuration)
{
    const cuvet_external good = { .size = sizeof(good), .path = "/x" };
    cuvet_external bad[12], out;

    ck_assert_int_eq(cv_external_check(&good, &out), CUVET_OK);
    ck_assert_str_eq(out.directory, "/tmp");
    ck_assert_uint_eq(out.cpu_seconds, 60);
    ck_assert_uint_eq(out.deadline_ms, 120000);
    ck_assert_uint_eq(out.memory, UINT64_C(8) << 30);
    ck_assert_uint_eq(out.output, 256 << 20);
    ck_assert_uint_eq(out.log, 64 << 10);
    ck_assert_uint_eq(out.files, 64);
    ck_assert_uint_eq(out.processes, 16);
    for (int i = 0; i < 12; i++)
        bad[i] = good;
    bad[0].path = "x/y";
    bad[1].path = NULL;
    bad[2].path = "ptxas";
    bad[3].path = "";
    bad[4].directory = "tmp";
    bad[5].cpu_seconds = UINT64_MAX;
    bad[6].deadline_ms = UINT64_MAX;
    bad[7].memory = 4096;
    bad[8].output = UINT64_MAX;
    bad[9].log = UINT64_MAX;
    bad[10].files = 7;
    bad[11].processes = UINT64_MAX;
    for (int i = 0; i < 12; i++) {
        memset(&out, 0x5A, sizeof(out));
        ck_assert_msg(cv_external_check(&bad[i], &out) == CUVET_E_USAGE, "case %d", i);
        ck_assert_uint_eq(out.log, UINT64_C(0x5A5A5A5A5A5A5A5A));
    }
}
END_TEST

/* The real one, where somebody says where it is. */
START_TEST(real_ptxas)
{
    static const char PTX[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry k(.param .u64 p)\n{\n  .reg .u64 %r<2>;\n  .reg .u32 %a;\n"
        "  ld.param.u64 %r1, [p];\n  mov.u32 %a, 7;\n  st.global.u32 [%r1], %a;\n  ret;\n}\n";
    static const char *const option[] = { "--verbose", "--opt-level=2", "--maxrregcount=40" };
    static const int never = 0;
    cuvet_compile_request request = {
        ASKED_PTX,        .bytes = PTX,   .n = sizeof(PTX) - 1, .sm = 75,
        .option = option, .n_options = 3, .threads = 2,         .cancel = &never
    };
    cuvet_compile_result result = { .size = sizeof(result) };
    const char *path = getenv("CV_PTXAS");
    cv_external external = fake_conf(0, 0);
    const uint8_t *elf;

    if (!path) {
        printf("SKIPPED: no real ptxas; set CV_PTXAS=/path/of/ptxas\n");
        return;
    }
    external.conf.path = path;
    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    elf = result.bytes;
    ck_assert_uint_gt(result.n, 64);
    ck_assert_mem_eq(elf,
                     "\x7f"
                     "ELF",
                     4);
    ck_assert_uint_eq(elf[16], 1); /* relocatable */
    ck_assert_uint_eq(elf[18], 190);
    ck_assert_uint_gt(result.n_log, 0);
    fake_release(&external, &result);
    request.bytes = ".version 7.0\n.target sm_75\nnonsense";
    request.n = 35;
    ck_assert_int_eq(cv_external_compile(&external, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILE_FAILED);
    ck_assert_uint_gt(result.n_log, 0);
    fake_release(&external, &result);
}
END_TEST

Suite *suite_external(void);
Suite *suite_external(void)
{
    Suite *suite = suite_create("external");
    TCase *tcase = tcase_create("external");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
    tcase_add_test(tcase, compiles);
    tcase_add_loop_test(tcase, misbehaves, 0, sizeof(CASES) / sizeof(CASES[0]));
    tcase_add_loop_test(tcase, kills_all, 0, 4);
    tcase_add_loop_test(tcase, keeper_attacked, 0, 2);
    tcase_add_loop_test(tcase, cpu_limit, 0, getenv("CV_FULL") ? 2 : 1); /* the deaf one takes two seconds */
    tcase_add_test(tcase, endless_loop);
    tcase_add_test(tcase, flood);
    tcase_add_test(tcase, surroundings);
    tcase_add_test(tcase, fence);
    tcase_add_test(tcase, reaches_out);
    tcase_add_test(tcase, not_found);
    tcase_add_test(tcase, unsupported);
    tcase_add_test(tcase, threads_option);
    tcase_add_test(tcase, cancelled);
    tcase_add_test(tcase, threads);
    tcase_add_loop_test(tcase, allocation_fails, 0, 2);
    tcase_add_test(tcase, checks_configuration);
    tcase_add_test(tcase, real_ptxas);
    suite_add_tcase(suite, tcase);
    return suite;
}

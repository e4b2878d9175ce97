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

#define ASKED_PTX    .size = sizeof(q), .kind = CUVET_K_PTX

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static uint64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

START_TEST(compiles)
{
    static const char WANT[] =
        "ptxas\n-arch=sm_90a\n-c\n--do=ok\n-x -y\ninput.ptx\n-o\noutput.cubin\ninput text";
    cv_external e = fake_conf(0, 0);
    cuvet_compile_result r = fake_compile(&e, NULL, OPTIONS("--do=ok", "-x -y"));

    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_eq(r.n, sizeof(WANT) - 1);
    ck_assert_mem_eq(r.bytes, WANT, sizeof(WANT) - 1);
    ck_assert_uint_eq(r.n_log, 0);
    fake_release(&e, &r);
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
    cv_external e = fake_conf(0, 10000);
    cuvet_compile_result r;

    e.conf.memory = 64 << 20;
    e.conf.files = 20;
    snprintf(what, sizeof(what), "--do=%s", CASES[_i].what);
    snprintf(value, sizeof(value), "--value=%s", CASES[_i].value);
    r = fake_compile(&e, NULL, OPTIONS(what, value));
    ck_assert_msg(r.end == CASES[_i].end && r.detail == CASES[_i].detail, "%s: end %d, detail %d", what,
                  (int)r.end, (int)r.detail);
    if (!strcmp(CASES[_i].what, "size") && r.end == CUVET_COMPILED)
        ck_assert_uint_eq(r.n, (size_t)atoi(CASES[_i].value));
    ck_assert_uint_eq(r.n_log, 0); /* also: everything could be removed */
    fake_release(&e, &r);
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
    cv_external e = fake_conf(waits ? 150 : 0, 0);
    uint64_t start = now_ms();
    cuvet_compile_result r = fake_compile(&e, NULL, OPTIONS(ROWS[_i].what));

    ck_assert_int_eq(r.end, ROWS[_i].end);
    if (waits) {
        ck_assert_int_eq(r.detail, 150);
        ck_assert_uint_ge(now_ms() - start, 150);
    }
    /* A slow machine may reach the deadline before all of them have spoken. */
    if (waits)
        ck_assert_int_le(fake_dead_pids(r.log, r.n_log), ROWS[_i].pids);
    else
        ck_assert_int_eq(fake_dead_pids(r.log, r.n_log), ROWS[_i].pids);
    fake_release(&e, &r);
}
END_TEST

/* Does this kernel, and whoever runs us, let a program be kept from its keeper? */
static bool can_seclude(void)
{
    int status = 1;
    pid_t p;

    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 6)
        return true;
    p = fork();
    if (p == 0)
        _exit(syscall(SYS_unshare, 0x20000000) != 0 && syscall(SYS_unshare, 0x30000000) != 0);
    return waitpid(p, &status, 0) == p && status == 0;
}

/* One that attacks its keeper does not get away either, nor do we wait for ever. */
START_TEST(keeper_attacked)
{
    static const char *const WHAT[] = { "--do=killkeeper", "--do=stopkeeper" };
    cv_external e = fake_conf(300, 0);
    cuvet_compile_result r;

    if (!can_seclude()) {
        printf(
            "SKIPPED: neither Landlock 6 nor process number spaces here, a compiler may kill its keeper\n");
        return;
    }
    r = fake_compile(&e, NULL, OPTIONS(WHAT[_i]));
    /* It finds nobody to attack, and sleeps on, or ends. */
    ck_assert_int_eq(r.end, _i ? CUVET_COMPILE_EMPTY : CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(fake_survivors(), 0);
    fake_release(&e, &r);
}
END_TEST

START_TEST(cpu_limit)
{
    cv_external e = fake_conf(0, 0);
    cuvet_compile_result r;

    e.conf.cpu_seconds = 1;
    r = fake_compile(&e, NULL, OPTIONS(_i ? "--do=deafloop" : "--do=loop"));
    ck_assert_int_eq(r.end, CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(r.detail, 1000);
    fake_release(&e, &r);
}
END_TEST

START_TEST(endless_loop)
{
    cv_external e = fake_conf(100, 0);
    cuvet_compile_result r = fake_compile(&e, NULL, OPTIONS("--do=loop"));

    ck_assert_int_eq(r.end, CUVET_COMPILE_TIMEOUT);
    ck_assert_int_eq(r.detail, 100);
    fake_release(&e, &r);
}
END_TEST

/* A hundred megabytes of noise: drained, and the beginning kept. */
START_TEST(flood)
{
    cv_external e = fake_conf(0, 0);
    cuvet_compile_result r;

    e.conf.log = 1000;
    r = fake_compile(&e, NULL, OPTIONS("--do=flood"));
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_eq(r.n_log, 1000);
    for (size_t i = 0; i < 1000; i++)
        ck_assert_int_eq(r.log[i], 'x');
    fake_release(&e, &r);
}
END_TEST

static bool line(const char *text, const char *want)
{
    const char *p = strstr(text, want);

    return p && (p == text || p[-1] == '\n') && p[strlen(want)] == '\n';
}

/* What the program finds around it. */
START_TEST(surroundings)
{
    cv_external e = fake_conf(0, 5000);
    char text[8192];
    cuvet_compile_result r;
    sigset_t set;
    int n = 0;

    ck_assert_int_eq(setenv("CUVET_SECRET", "1", 1), 0);
    ck_assert_int_ge(dup2(1, 700), 0); /* without close-on-exec */
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    r = fake_compile(&e, NULL, OPTIONS("--do=tell"));
    close(700);
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_lt(r.n_log, sizeof(text));
    memcpy(text, r.log, r.n_log);
    text[r.n_log] = 0;
    ck_assert_ptr_null(strstr(text, "env "));
    for (const char *p = text; (p = strstr(p, "fd ")) != NULL; p++)
        n += p == text || p[-1] == '\n';
    ck_assert_int_eq(n, 3);
    ck_assert(line(text, "fd 0 null") && line(text, "fd 1 pipe") && line(text, "fd 2 pipe"));
    ck_assert(line(text, "limit core 0") && line(text, "limit cpu 60") && line(text, "limit fsize 5001"));
    ck_assert(line(text, "limit nofile 64") && line(text, "limit as 8589934592"));
    ck_assert(line(text, "limit stack 16777216") && line(text, "session 1 umask 77"));
    ck_assert(line(text, "mode 700"));
    ck_assert_ptr_null(strstr(text, "blocked"));
    ck_assert_ptr_null(strstr(text, "handled"));
    n = snprintf(NULL, 0, "cwd %s/cuvet-0x", fake_dir);
    ck_assert_int_eq(strncmp(text, "cwd ", 4), 0);
    ck_assert_int_eq(strncmp(text + 4, fake_dir, strlen(fake_dir)), 0);
    ck_assert_int_eq(strncmp(text + n - 2, "0x", 2), 0);
    /* and the caller's own signals are as they were */
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    ck_assert_int_eq(sigismember(&set, SIGUSR1), 1);
    ck_assert_int_eq(sigismember(&set, SIGTERM), 0);
    fake_release(&e, &r);
}
END_TEST

/* Where the kernel has Landlock, nothing outside of the private directory can be written. */
START_TEST(fence)
{
    bool landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
    cv_external e = fake_conf(0, 0);
    char value[128], text[128];
    cuvet_compile_result r;

    snprintf(value, sizeof(value), "--value=%s/escaped", fake_dir);
    r = fake_compile(&e, NULL, OPTIONS("--do=outside", value));
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_lt(r.n_log, sizeof(text));
    memcpy(text, r.log, r.n_log);
    text[r.n_log] = 0;
    if (landlock)
        ck_assert(line(text, "outside no, null yes"));
    else
        printf("SKIPPED: no Landlock here, a compiler may write wherever its user may\n");
    ck_assert_ptr_nonnull(strstr(text, "null yes"));
    fake_release(&e, &r);
}
END_TEST

/* A file of the same user stays as it is in every respect, nothing talks, nothing outlives the program. */
START_TEST(reaches_out)
{
    static const char *const NO[] = { "mode no",    "times no",  "owner no",
                                      "network no", "shared no", "others none" };
    cv_external e = fake_conf(0, 0);
    char path[128], value[160], text[4096];
    cuvet_compile_result r;
    struct stat before, after;
    int fd;

    snprintf(path, sizeof(path), "%s.reach", fake_dir);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    ck_assert(fd >= 0 && write(fd, "precious", 8) == 8);
    ck_assert_int_eq(fstat(fd, &before), 0);
    snprintf(value, sizeof(value), "--value=%s", path);
    r = fake_compile(&e, NULL, OPTIONS("--do=reach", value));
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_lt(r.n_log, sizeof(text));
    memcpy(text, r.log, r.n_log);
    text[r.n_log] = 0;
#if defined(__x86_64__) || defined(__aarch64__)
    for (size_t i = 0; i < CV_COUNT(NO); i++)
        ck_assert_msg(line(text, NO[i]), "%s", text);
    ck_assert_int_eq(fstat(fd, &after), 0);
    ck_assert_uint_eq(before.st_mode, after.st_mode);
    ck_assert_int_eq(after.st_size, 8);
    ck_assert_int_eq(before.st_mtime, after.st_mtime);
    ck_assert_int_eq(before.st_ctime, after.st_ctime);
#endif
    fake_release(&e, &r);
    close(fd);
    unlink(path);
}
END_TEST

START_TEST(not_found)
{
    cv_external e = fake_conf(0, 0);
    char path[128];
    cuvet_compile_result r;
    FILE *f;

    e.conf.path = "/nonexistent/ptxas";
    r = fake_compile(&e, NULL, OPTIONS("-v"));
    ck_assert_int_eq(r.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(r.detail, ENOENT);
    fake_release(&e, &r);
    e.conf.path = "/"; /* a directory */
    r = fake_compile(&e, NULL, OPTIONS("-v"));
    ck_assert_int_eq(r.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(r.detail, EACCES);
    fake_release(&e, &r);
    e = fake_conf(0, 0);
    e.conf.directory = "/nonexistent";
    r = fake_compile(&e, NULL, OPTIONS("-v"));
    ck_assert_int_eq(r.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(r.detail, ENOENT);
    fake_release(&e, &r);
    /* Neither a shell nor PATH: a file without a format is no program, a name without a place is none. */
    snprintf(path, sizeof(path), "%s.script", fake_dir);
    f = fopen(path, "w");
    fputs("exit 0\n", f);
    fclose(f);
    ck_assert_int_eq(chmod(path, 0700), 0);
    e = fake_conf(0, 0);
    e.conf.path = path;
    r = fake_compile(&e, NULL, OPTIONS("-v"));
    unlink(path);
    ck_assert_int_eq(r.end, CUVET_COMPILE_NOT_FOUND);
    ck_assert_int_eq(r.detail, ENOEXEC);
    fake_release(&e, &r);
}
END_TEST

START_TEST(unsupported)
{
    static const bool never = false;
    cv_external e = fake_conf(0, 0);
    cuvet_compile_request q = {
        .size = sizeof(q), .kind = CUVET_K_LTOIR, .bytes = "x", .n = 1, .sm = 90, .cancel = &never
    };
    cuvet_compile_result r = { .size = sizeof(r) };

    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILE_UNSUPPORTED);
    q.kind = CUVET_K_PTX;
    q.suffix = ' '; /* would be an argument of its own to a shell; here it is none at all */
    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILE_UNSUPPORTED);
    q.size = 1;
    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_E_INTERNAL);
    q.size = sizeof(q);
    r.size = 1;
    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_E_INTERNAL);
}
END_TEST

START_TEST(threads_option)
{
    static const bool never = false;
    cv_external e = fake_conf(0, 0);
    cuvet_compile_request q = {
        .size = sizeof(q), .kind = CUVET_K_PTX, .bytes = "", .n = 0, .sm = 75, .threads = 8, .cancel = &never
    };
    cuvet_compile_result r = { .size = sizeof(r) };

    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_mem_eq(r.bytes, "ptxas\n-arch=sm_75\n-c\n-split-compile=8\ninput.ptx\n", 48);
    fake_release(&e, &r);
}
END_TEST

static void *cancel_it(void *flag)
{
    ck_assert(fake_wait_started());
    __atomic_store_n((bool *)flag, true, __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(cancelled)
{
    cv_external e = fake_conf(0, 0);
    bool flag = true;
    cuvet_compile_result r = fake_compile(&e, &flag, OPTIONS("--do=ok"));
    pthread_t t;

    ck_assert_int_eq(r.end, CUVET_COMPILE_CANCELLED);
    fake_release(&e, &r);
    flag = false;
    ck_assert_int_eq(pthread_create(&t, NULL, cancel_it, &flag), 0);
    r = fake_compile(&e, &flag, OPTIONS("--do=broodsleep"));
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    ck_assert_int_eq(r.end, CUVET_COMPILE_CANCELLED);
    ck_assert_int_eq(fake_dead_pids(r.log, r.n_log), 9);
    fake_release(&e, &r);
}
END_TEST

static void *many(void *conf)
{
    cv_external *e = conf;
    static const bool never = false;

    for (int i = 0; i < 8; i++) {
        const char *const option[] = { i % 2 ? "--do=brood" : "--do=ok" };
        const cuvet_compile_request q = { ASKED_PTX,        .bytes = "text", .n = 4,       .sm = 90,
                                          .option = option, .n_options = 1,  .threads = 1, .cancel = &never };
        cuvet_compile_result r = { .size = sizeof(r) };

        if (cv_external_compile(e, &q, &r) != CUVET_OK || r.end != CUVET_COMPILED || r.n < 40)
            return conf;
        r.release(&r, e);
    }
    return NULL;
}

/* One compiler, several threads. */
START_TEST(threads)
{
    cv_external e = fake_conf(0, 0);
    pthread_t t[3];
    void *bad;

    e.conf.processes = 64; /* the kernel counts those of a user, and the others are of the same */
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, many, &e), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(t[i], &bad), 0);
        ck_assert_ptr_null(bad);
    }
}
END_TEST

/* Each allocation fails once, alone or with all that follow: no memory, and nothing left. */
START_TEST(allocation_fails)
{
    static const char *const option[] = { "--do=tell" };
    static const bool never = false;
    const cuvet_compile_request q = { ASKED_PTX,        .bytes = "text", .n = 4,       .sm = 90,
                                      .option = option, .n_options = 1,  .threads = 1, .cancel = &never };
    bool done = false;
    int failed = 0;

    for (unsigned n = 1; !done; n++) {
        heap h = { 0 };
        cv_external e = fake_conf(0, 0);
        cuvet_compile_result r = { .size = sizeof(r) };
        cuvet_status s;

        heap_fail(&h, n, _i == 1);
        e.alloc = heap_alloc(&h);
        s = cv_external_compile(&e, &q, &r);
        done = h.calls < n;
        failed += s == CUVET_E_NOMEM;
        ck_assert(s == CUVET_OK || s == CUVET_E_NOMEM);
        ck_assert(s == CUVET_OK || (!r.bytes && !r.log));
        if (r.release)
            r.release(&r, &e);
        ck_assert_int_eq(h.live, 0);
        ck_assert_int_eq(fake_entries(), 0);
        ck_assert_uint_lt(n, 100);
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
    static const bool never = false;
    cuvet_compile_request q = { ASKED_PTX,        .bytes = PTX,   .n = sizeof(PTX) - 1, .sm = 75,
                                .option = option, .n_options = 3, .threads = 2,         .cancel = &never };
    cuvet_compile_result r = { .size = sizeof(r) };
    const char *path = getenv("CV_PTXAS");
    cv_external e = fake_conf(0, 0);
    const uint8_t *elf;

    if (!path) {
        printf("SKIPPED: no real ptxas; set CV_PTXAS=/path/of/ptxas\n");
        return;
    }
    e.conf.path = path;
    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    elf = r.bytes;
    ck_assert_uint_gt(r.n, 64);
    ck_assert_mem_eq(elf,
                     "\x7f"
                     "ELF",
                     4);
    ck_assert_uint_eq(elf[16], 1); /* relocatable */
    ck_assert_uint_eq(elf[18], 190);
    ck_assert_uint_gt(r.n_log, 0);
    fake_release(&e, &r);
    q.bytes = ".version 7.0\n.target sm_75\nnonsense";
    q.n = 35;
    ck_assert_int_eq(cv_external_compile(&e, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILE_FAILED);
    ck_assert_uint_gt(r.n_log, 0);
    fake_release(&e, &r);
}
END_TEST

Suite *suite_external(void);
Suite *suite_external(void)
{
    Suite *s = suite_create("external");
    TCase *t = tcase_create("external");

    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, fake_setup, fake_teardown);
    tcase_add_test(t, compiles);
    tcase_add_loop_test(t, misbehaves, 0, sizeof(CASES) / sizeof(CASES[0]));
    tcase_add_loop_test(t, kills_all, 0, 4);
    tcase_add_loop_test(t, keeper_attacked, 0, 2);
    tcase_add_loop_test(t, cpu_limit, 0, getenv("CV_FULL") ? 2 : 1); /* the deaf one takes two seconds */
    tcase_add_test(t, endless_loop);
    tcase_add_test(t, flood);
    tcase_add_test(t, surroundings);
    tcase_add_test(t, fence);
    tcase_add_test(t, reaches_out);
    tcase_add_test(t, not_found);
    tcase_add_test(t, unsupported);
    tcase_add_test(t, threads_option);
    tcase_add_test(t, cancelled);
    tcase_add_test(t, threads);
    tcase_add_loop_test(t, allocation_fails, 0, 2);
    tcase_add_test(t, checks_configuration);
    tcase_add_test(t, real_ptxas);
    suite_add_tcase(s, t);
    return s;
}

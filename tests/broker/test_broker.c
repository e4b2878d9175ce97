/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker: what it lets pass, what makes it hang up, and that it neither hangs nor stays behind. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker_int.h"
#include "sandbox.h"

static const char *const OWN[] = { "-o9", "--any thing" };
static const cli_broker_rules RULES = { .input = 1 << 20,
                                        .options = 4,
                                        .option_bytes = 200,
                                        .output = 4096,
                                        .log = 64,
                                        .option = OWN,
                                        .n_option = 2 };

/* Seen from both processes. */
typedef struct shared {
    int calls, cancelled, broken;
} shared;
static shared *seen;

static void setup(void)
{
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
    (void)signal(SIGPIPE, SIG_IGN);
}

static void teardown(void)
{
    munmap(seen, sizeof(*seen));
}

static void release(cuvet_compile_result *r, void *user)
{
    (void)user;
    free(r->bytes);
    free(r->log);
}

static void give(cuvet_compile_result *out, size_t n, size_t n_log)
{
    out->bytes = calloc(1, n + 1);
    out->log = malloc(n_log + 1);
    ck_assert(out->bytes && out->log);
    memset(out->log, 'l', n_log);
    out->n = n;
    out->n_log = n_log;
    out->release = release;
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    if (!d)
        return -1;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 3; /* ".", ".." and the directory */
}

/* Whatever arrives here has passed the broker: it must be within the rules, whoever sent it. */
static bool within(const cuvet_compile_request *q)
{
    uint64_t bytes = 0;
    bool ok = q->n > 0 && q->n <= RULES.input && q->n_options <= RULES.options && q->threads >= 1 &&
              q->threads <= 64 && q->sm >= 10 && q->sm <= 999 &&
              (q->suffix == 0 || q->suffix == 'a' || q->suffix == 'f') && q->cancel;

    for (size_t i = 0; ok && i < q->n_options; i++) {
        bytes += strlen(q->option[i]) + 1;
        ok = cli_broker_option_ok(&RULES, q->option[i], q->ltoir);
    }
    return ok && bytes <= RULES.option_bytes;
}

/* A compiler that does what the first byte says. */
static cuvet_status fake(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    const char *p = q->bytes;

    ck_assert_ptr_eq(user, seen);
    *out = (cuvet_compile_result){ .size = sizeof(*out) };
    seen->calls++;
    if (!within(q))
        seen->broken++;
    if (*p >= '0' && *p <= '8') {
        out->end = (cuvet_compile_end)(*p - '0');
        out->detail = -7 - *p;
        give(out, 3, 5);
        return CUVET_OK;
    }
    switch (*p) {
    case 'e':
        give(out, q->n, 9);
        memcpy(out->bytes, q->bytes, q->n);
        return CUVET_OK;
    case 'b': give(out, RULES.output + 1, RULES.log + 1); return CUVET_OK;
    case 'm': give(out, RULES.output, RULES.log); return CUVET_OK;
    case 'n': return CUVET_E_NOMEM;
    case 'i': return CUVET_E_USAGE;
    case 'z': return CUVET_OK; /* says that it compiled, and gives nothing */
    case 'f':
        out->detail = open_files();
        out->end = CUVET_COMPILE_FAILED;
        return CUVET_OK;
    case 'w':
        while (!__atomic_load_n(q->cancel, __ATOMIC_RELAXED))
            usleep(1000);
        seen->cancelled++;
        out->end = CUVET_COMPILE_CANCELLED;
        return CUVET_OK;
    default: out->end = CUVET_COMPILE_UNSUPPORTED; return CUVET_OK;
    }
}

static cuvet_compiler fake_compiler(void)
{
    return (cuvet_compiler){ .size = sizeof(cuvet_compiler), .compile = fake, .user = seen };
}

static void start(cli_broker *b)
{
    cuvet_compiler real = fake_compiler();

    ck_assert_int_eq(cli_broker_start(b, &real, &RULES), CUVET_OK);
}

static void stop(cli_broker *b)
{
    int status;

    cli_broker_stop(b);
    ck_assert_int_eq(waitpid(b->pid, &status, 0), b->pid);
    ck_assert_int_eq(status, 0);
}

static const bool NEVER = false;

static cuvet_status ask_n(cli_broker *b, const void *bytes, size_t n, cuvet_compile_result *out)
{
    static const char *const OPTIONS[] = { "--fmad=false", "-o9" };
    const cuvet_compile_request q = { .size = sizeof(q),
                                      .bytes = bytes,
                                      .n = n,
                                      .sm = 90,
                                      .suffix = 'a',
                                      .option = OPTIONS,
                                      .n_options = 2,
                                      .threads = 2,
                                      .cancel = &NEVER };

    return b->compiler.compile(b->compiler.user, &q, out);
}

static void back(cli_broker *b, cuvet_compile_result *out)
{
    if (out->release)
        out->release(out, b->compiler.user);
}

START_TEST(options)
{
    static const struct row {
        const char *option;
        bool ltoir, ok;
    } T[] = {
        { "--fmad=false", false, true },
        { "--fmad=maybe", false, false },
        { "--fmad=", false, false },
        { "--fmad", false, false },
        { "-fmad=false", false, false },
        { "-fmad=1", true, true },
        { "-fmad=2", true, false },
        { "--fmad=1", true, false },
        { "-ftz=0", true, true },
        { "-ftz=0", false, false },
        { "--maxrregcount=255", false, true },
        { "--maxrregcount=256", false, false },
        { "--maxrregcount=0255", false, false },
        { "--maxrregcount=archmax", false, true },
        { "--maxrregcount=archmax archmin", false, false },
        { "--maxrregcount=4294967297", false, false },
        { "--maxrregcount=-1", false, false },
        { "--maxrregcount=3 ", false, false },
        { "--compile-only", false, true },
        { "--compile-only=1", false, false },
        { "--compile-onl", false, false },
        { "--output-file=x", false, false },
        { "--options-file=x", false, false },
        { "--gpu-name=sm_90", false, false },
        { "-o", false, false },
        { "-o9", false, true }, /* the user's own */
        { "-o9", true, true },
        { "--any thing", false, true },
        { "--any  thing", false, false },
        { "/etc/passwd", false, false },
        { "-", false, false },
        { "--", false, false },
        { "", false, false },
        { "", true, false },
    };

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++)
        ck_assert_msg(cli_broker_option_ok(&RULES, T[i].option, T[i].ltoir) == T[i].ok, "'%s'", T[i].option);
}
END_TEST

START_TEST(round_trips)
{
    static char big[1 << 20];
    cuvet_compile_result out;
    cli_broker b;

    start(&b);
    memset(big, 'x', sizeof(big));
    big[0] = 'e';
    for (size_t n = 1; n <= RULES.output; n = n * 3 + 1) {
        ck_assert_int_eq(ask_n(&b, big, n, &out), CUVET_OK);
        ck_assert_int_eq(out.end, CUVET_COMPILED);
        ck_assert_uint_eq(out.n, n);
        ck_assert_int_eq(memcmp(out.bytes, big, n), 0);
        ck_assert_uint_eq(out.n_log, 9);
        ck_assert_int_eq(memcmp(out.log, "lllllllll", 9), 0);
        back(&b, &out);
    }
    big[0] = '?'; /* the largest request, whatever comes of it */
    ck_assert_int_eq(ask_n(&b, big, sizeof(big), &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    back(&b, &out);
    stop(&b);
    ck_assert_int_eq(seen->broken, 0);
}
END_TEST

START_TEST(every_end)
{
    cuvet_compile_result out;
    cli_broker b;
    char c;

    start(&b);
    for (c = '1'; c <= '8'; c++) {
        ck_assert_int_eq(ask_n(&b, &c, 1, &out), CUVET_OK);
        ck_assert_int_eq(out.end, c - '0');
        ck_assert_int_eq(out.detail, -7 - c);
        ck_assert(out.n == 0 && !out.bytes && out.n_log == 5);
        back(&b, &out);
    }
    ck_assert_int_eq(ask_n(&b, "b", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILE_OVERSIZED && out.detail == 4096 && !out.bytes && out.n_log == 64);
    back(&b, &out);
    ck_assert_int_eq(ask_n(&b, "m", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILED && out.n == 4096 && out.n_log == 64);
    back(&b, &out);
    ck_assert_int_eq(ask_n(&b, "z", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILE_EMPTY && out.n == 0);
    ck_assert_int_eq(ask_n(&b, "n", 1, &out), CUVET_E_NOMEM);
    ck_assert_int_eq(ask_n(&b, "i", 1, &out), CUVET_E_INTERNAL);
    ck_assert_int_eq(ask_n(&b, "3", 1, &out), CUVET_OK); /* and it still answers */
    back(&b, &out);
    stop(&b);
}
END_TEST

START_TEST(beyond_the_rules)
{
    static char big[(1 << 20) + 1] = "e";
    cuvet_compile_result out;
    cli_broker b;

    start(&b);
    ck_assert_int_eq(ask_n(&b, big, sizeof(big), &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    ck_assert_int_eq(ask_n(&b, big, 0, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    ck_assert_int_eq(seen->calls, 0);
    ck_assert_int_eq(ask_n(&b, big, 1, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILED);
    back(&b, &out);
    stop(&b);
}
END_TEST

/* Descriptors: the three standard ones and the stream; the listener's comes and goes. */
START_TEST(nothing_is_inherited)
{
    int extra = open("/dev/null", O_RDONLY);
    cuvet_compile_result out;
    cli_broker b;

    start(&b);
    ck_assert_int_eq(ask_n(&b, "f", 1, &out), CUVET_OK);
    ck_assert_msg(out.detail == 5 || out.detail == -4, "%d open", (int)out.detail);
    stop(&b);
    close(extra);
}
END_TEST

typedef struct many {
    cli_broker *b;
    int bad;
} many;

static void *ask_often(void *arg)
{
    many *m = arg;
    cuvet_compile_result out;
    char text[100] = "e";

    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "e%p %d", arg, i);
        if (ask_n(m->b, text, strlen(text), &out) != CUVET_OK || out.n != strlen(text) ||
            memcmp(out.bytes, text, out.n) != 0)
            m->bad++;
        back(m->b, &out);
    }
    return NULL;
}

START_TEST(several_threads)
{
    cli_broker b;
    many m[4];
    pthread_t t[4];

    start(&b);
    for (int i = 0; i < 4; i++) {
        m[i] = (many){ &b, 0 };
        ck_assert_int_eq(pthread_create(&t[i], NULL, ask_often, &m[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
        ck_assert_int_eq(m[i].bad, 0);
    }
    stop(&b);
    ck_assert_int_eq(seen->calls, 200);
}
END_TEST

static void *cancel_soon(void *arg)
{
    usleep(100000);
    __atomic_store_n((bool *)arg, true, __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(cancel)
{
    cuvet_compile_result out;
    cli_broker b;
    pthread_t t;

    start(&b);
    for (int i = 0; i < 3; i++) {
        bool stop_it = i == 2; /* the last one before it began */
        const cuvet_compile_request q = {
            .size = sizeof(q), .bytes = "w", .n = 1, .sm = 90, .threads = 1, .cancel = &stop_it
        };

        ck_assert_int_eq(pthread_create(&t, NULL, cancel_soon, &stop_it), 0);
        ck_assert_int_eq(b.compiler.compile(b.compiler.user, &q, &out), CUVET_OK);
        ck_assert_int_eq(out.end, CUVET_COMPILE_CANCELLED);
        ck_assert_int_eq(pthread_join(t, NULL), 0);
        back(&b, &out);
    }
    /* One that comes too late is no part of the next request. */
    ck_assert(broker_write(b.fd, "cc", 2));
    ck_assert_int_eq(ask_n(&b, "e", 1, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILED);
    back(&b, &out);
    ck_assert_int_eq(seen->cancelled, 3);
    stop(&b);
}
END_TEST

/* Somebody who leaves in the middle: the compiler is stopped in order, then the broker ends. */
START_TEST(the_other_side_dies)
{
    for (int how = 0; how < 2; how++) {
        cli_broker b;
        broker_request head = { .mark = BROKER_REQUEST, .sm = 90, .threads = 1, .n = 1 };
        int status;

        start(&b);
        ck_assert(broker_write(b.fd, &head, sizeof(head)) && broker_write(b.fd, "w", 1));
        while (__atomic_load_n(&seen->calls, __ATOMIC_RELAXED) <= how)
            usleep(1000);
        if (how == 1)
            ck_assert_int_eq(kill(b.pid, SIGTERM), 0);
        else
            ck_assert_int_eq(close(b.fd), 0);
        ck_assert_int_eq(waitpid(b.pid, &status, 0), b.pid);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(seen->cancelled, how + 1);
        if (how == 1)
            close(b.fd);
    }
}
END_TEST

START_TEST(the_broker_dies)
{
    cuvet_compile_result out;
    cli_broker b;
    int status;

    start(&b);
    ck_assert_int_eq(kill(b.pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(b.pid, &status, 0), b.pid);
    ck_assert_int_eq(ask_n(&b, "e", 1, &out), CUVET_E_INTERNAL);
    ck_assert_int_eq(ask_n(&b, "e", 1, &out), CUVET_E_INTERNAL);
    cli_broker_stop(&b);
}
END_TEST

/* What the caged side would have to read is whatever it likes; here it goes nowhere. */
static void serve(const void *bytes, size_t n)
{
    cuvet_compiler real = fake_compiler();
    int end[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end), 0);
    ck_assert(broker_write(end[0], bytes, n));
    ck_assert_int_eq(shutdown(end[0], SHUT_WR), 0);
    cli_broker_serve(end[1], &real, &RULES);
    close(end[0]);
    close(end[1]);
}

typedef struct frame {
    broker_request head;
    char rest[64];
} frame;

static frame good_frame(void)
{
    frame f = { .head = { .mark = BROKER_REQUEST, .sm = 90, .suffix = 'a', .threads = 1, .n_options = 2 } };

    memcpy(f.rest, "--fmad=true\0-o9\0e", 17);
    f.head.option_bytes = 16;
    f.head.n = 1;
    return f;
}

START_TEST(heads)
{
    static const struct row {
        size_t at, width;
        uint64_t value;
        int calls;
    } T[] = {
        { offsetof(broker_request, mark), 1, 'r', 1 },
        { offsetof(broker_request, mark), 1, 'x', 0 },
        { offsetof(broker_request, ltoir), 1, 2, 0 },
        { offsetof(broker_request, ltoir), 1, 1, 0 }, /* these options are none of LTO-IR */
        { offsetof(broker_request, suffix), 1, 'f', 1 },
        { offsetof(broker_request, suffix), 1, 0, 1 },
        { offsetof(broker_request, suffix), 1, 'b', 0 },
        { offsetof(broker_request, unused), 1, 1, 0 },
        { offsetof(broker_request, sm), 4, 9, 0 },
        { offsetof(broker_request, sm), 4, 10, 1 },
        { offsetof(broker_request, sm), 4, 999, 1 },
        { offsetof(broker_request, sm), 4, 1000, 0 },
        { offsetof(broker_request, sm), 4, UINT32_MAX, 0 },
        { offsetof(broker_request, threads), 4, 0, 0 },
        { offsetof(broker_request, threads), 4, 64, 1 },
        { offsetof(broker_request, threads), 4, 65, 0 },
        { offsetof(broker_request, n_options), 4, 1, 0 },
        { offsetof(broker_request, n_options), 4, 3, 0 },
        { offsetof(broker_request, n_options), 4, 5, 0 },
        { offsetof(broker_request, n_options), 4, UINT32_MAX, 0 },
        { offsetof(broker_request, option_bytes), 8, 15, 0 },
        { offsetof(broker_request, option_bytes), 8, 201, 0 },
        { offsetof(broker_request, option_bytes), 8, UINT64_MAX, 0 },
        { offsetof(broker_request, n), 8, 0, 0 },
        { offsetof(broker_request, n), 8, 2, 0 }, /* ends before that */
        { offsetof(broker_request, n), 8, RULES.input + 1, 0 },
        { offsetof(broker_request, n), 8, UINT64_MAX, 0 },
    };
    const size_t whole = sizeof(broker_request) + 17;

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        frame f = good_frame();

        memcpy((char *)&f.head + T[i].at, &T[i].value, T[i].width);
        seen->calls = 0;
        serve(&f, whole);
        ck_assert_msg(seen->calls == T[i].calls, "row %zu", i);
        ck_assert_int_eq(seen->broken, 0);
    }
    for (size_t n = 0; n < whole; n++) { /* every place where it may break off */
        frame f = good_frame();

        seen->calls = 0;
        serve(&f, n);
        ck_assert_int_eq(seen->calls, 0);
    }
}
END_TEST

START_TEST(options_in_a_frame)
{
    static const struct row {
        const char *bytes;
        uint64_t n;
        uint32_t options;
        int calls;
    } T[] = {
        { "", 0, 0, 1 },
        { "-o9\0", 4, 1, 1 },
        { "-o9\0-o9\0", 8, 2, 1 },
        { "-o9\0-o9\0", 8, 1, 0 },     /* more bytes than options */
        { "-o9\0-o9!", 8, 2, 0 },      /* no NUL at the end */
        { "-o9\0\0\0\0", 7, 2, 0 },    /* empty ones */
        { "-o9\0-x\0", 7, 2, 0 },      /* one that nobody gave */
        { "--fmad=true\0", 12, 1, 1 }, /* of the table */
        { "--fmad=\0rue", 11, 1, 0 },
        { "-o9", 3, 1, 0 },
        { "", 0, 1, 0 },
        { "-o9\0", 4, 0, 0 },
    };

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++) {
        frame f = good_frame();

        f.head.n_options = T[i].options;
        f.head.option_bytes = T[i].n;
        memcpy(f.rest, T[i].bytes, T[i].n);
        f.rest[T[i].n] = 'e';
        seen->calls = 0;
        serve(&f, sizeof(f.head) + T[i].n + 1);
        ck_assert_msg(seen->calls == T[i].calls, "row %zu", i);
        ck_assert_int_eq(seen->broken, 0);
    }
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Good frames with a few bytes changed, cut, repeated: no request outside of the rules gets through, and it
 * always comes to an end. */
START_TEST(arbitrary_bytes)
{
    uint64_t state = 0x9E3779B97F4A7C15u;
    int through = 0;

    for (int round = 0; round < 20000; round++) {
        char bytes[4 * sizeof(frame)];
        size_t n = 0, frames = 1 + next_random(&state) % 3;

        for (size_t i = 0; i < frames; i++) {
            frame f = good_frame();

            memcpy(bytes + n, &f, sizeof(f.head) + 17);
            n += sizeof(f.head) + 17;
        }
        for (uint64_t i = next_random(&state) % 4; i > 0; i--)
            bytes[next_random(&state) % n] = (char)(next_random(&state) >> 11);
        if (next_random(&state) % 4 == 0)
            n = next_random(&state) % n;
        /* 'w' would wait for somebody to cancel it: the end of the stream does. */
        serve(bytes, n);
        through += seen->calls;
        seen->calls = 0;
        ck_assert_int_eq(seen->broken, 0);
    }
    ck_assert_int_gt(through, 5000);
}
END_TEST

/* From inside of the cage, where a process cannot be started any more. */
START_TEST(inside_the_cage)
{
    cuvet_compile_result out;
    cli_broker b;
    pid_t child;
    int status;

    start(&b);
    child = fork();
    if (child == 0) {
        const cli_cage c = {
            .out_dir = -1, .channel = -1, .broker = b.fd, .memory = UINT64_MAX, .file_size = 0
        };
        bool ok;

        (void)cli_cage_enter(&c);
        ok = ask_n(&b, "e12345", 6, &out) == CUVET_OK && out.end == CUVET_COMPILED && out.n == 6;
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    stop(&b);
}
END_TEST

Suite *suite_broker(void);
Suite *suite_broker(void)
{
    Suite *s = suite_create("broker");
    TCase *c = tcase_create("broker");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, options);
    tcase_add_test(c, round_trips);
    tcase_add_test(c, every_end);
    tcase_add_test(c, beyond_the_rules);
    tcase_add_test(c, nothing_is_inherited);
    tcase_add_test(c, several_threads);
    tcase_add_test(c, cancel);
    tcase_add_test(c, the_other_side_dies);
    tcase_add_test(c, the_broker_dies);
    tcase_add_test(c, heads);
    tcase_add_test(c, options_in_a_frame);
    tcase_add_test(c, arbitrary_bytes);
    tcase_add_test(c, inside_the_cage);
    suite_add_tcase(s, c);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker between two sides that behave: results, ends, threads, cancelling, and that it does not stay
 * behind. */
#include "fake.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"

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
                                      .kind = CUVET_K_PTX,
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
        const cuvet_compile_request q = { .size = sizeof(q),
                                          .kind = CUVET_K_PTX,
                                          .bytes = "w",
                                          .n = 1,
                                          .sm = 90,
                                          .threads = 1,
                                          .cancel = &stop_it };

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
            .porter = -1, .channel = -1, .broker = b.fd, .helper = -1, .memory = UINT64_MAX, .file_size = 0
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

    tcase_add_checked_fixture(c, fake_setup, fake_teardown);
    tcase_add_test(c, round_trips);
    tcase_add_test(c, every_end);
    tcase_add_test(c, beyond_the_rules);
    tcase_add_test(c, nothing_is_inherited);
    tcase_add_test(c, several_threads);
    tcase_add_test(c, cancel);
    tcase_add_test(c, the_other_side_dies);
    tcase_add_test(c, the_broker_dies);
    tcase_add_test(c, inside_the_cage);
    suite_add_tcase(s, c);
    return s;
}

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

static void start(cli_broker *broker)
{
    cuvet_compiler real = fake_compiler();

    ck_assert_int_eq(cli_broker_start(broker, &real, &RULES), CUVET_OK);
}

static void stop(cli_broker *broker)
{
    int status;

    cli_broker_stop(broker);
    ck_assert_int_eq(waitpid(broker->pid, &status, 0), broker->pid);
    ck_assert_int_eq(status, 0);
}

static const int NEVER = 0;

static cuvet_status ask_n(cli_broker *broker, const void *bytes, size_t size, cuvet_compile_result *out)
{
    static const char *const OPTIONS[] = { "--fmad=false", "-o9" };
    const cuvet_compile_request request = { .size = sizeof(request),
                                            .kind = CUVET_K_PTX,
                                            .bytes = bytes,
                                            .n = size,
                                            .sm = 90,
                                            .suffix = 'a',
                                            .option = OPTIONS,
                                            .n_options = 2,
                                            .threads = 2,
                                            .cancel = &NEVER };

    return broker->compiler.compile(broker->compiler.user, &request, out);
}

static void back(cli_broker *broker, cuvet_compile_result *out)
{
    if (out->release)
        out->release(out, broker->compiler.user);
}

START_TEST(round_trips)
{
    static char big[1 << 20];
    cuvet_compile_result out;
    cli_broker broker;

    start(&broker);
    memset(big, 'x', sizeof(big));
    big[0] = 'e';
    for (size_t count = 1; count <= RULES.output; count = count * 3 + 1) {
        ck_assert_int_eq(ask_n(&broker, big, count, &out), CUVET_OK);
        ck_assert_int_eq(out.end, CUVET_COMPILED);
        ck_assert_uint_eq(out.n, count);
        ck_assert_int_eq(memcmp(out.bytes, big, count), 0);
        ck_assert_uint_eq(out.n_log, 9);
        ck_assert_int_eq(memcmp(out.log, "lllllllll", 9), 0);
        back(&broker, &out);
    }
    big[0] = '?'; /* the largest request, whatever comes of it */
    ck_assert_int_eq(ask_n(&broker, big, sizeof(big), &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    back(&broker, &out);
    stop(&broker);
    ck_assert_int_eq(seen->broken, 0);
}
END_TEST

START_TEST(every_end)
{
    cuvet_compile_result out;
    cli_broker broker;
    char ch;

    start(&broker);
    for (ch = '1'; ch <= '8'; ch++) {
        ck_assert_int_eq(ask_n(&broker, &ch, 1, &out), CUVET_OK);
        ck_assert_int_eq(out.end, ch - '0');
        ck_assert_int_eq(out.detail, -7 - ch);
        ck_assert(out.n == 0 && !out.bytes && out.n_log == 5);
        back(&broker, &out);
    }
    ck_assert_int_eq(ask_n(&broker, "b", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILE_OVERSIZED && out.detail == 4096 && !out.bytes && out.n_log == 64);
    back(&broker, &out);
    ck_assert_int_eq(ask_n(&broker, "m", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILED && out.n == 4096 && out.n_log == 64);
    back(&broker, &out);
    ck_assert_int_eq(ask_n(&broker, "z", 1, &out), CUVET_OK);
    ck_assert(out.end == CUVET_COMPILE_EMPTY && out.n == 0);
    ck_assert_int_eq(ask_n(&broker, "n", 1, &out), CUVET_E_NOMEM);
    ck_assert_int_eq(ask_n(&broker, "i", 1, &out), CUVET_E_INTERNAL);
    ck_assert_int_eq(ask_n(&broker, "3", 1, &out), CUVET_OK); /* and it still answers */
    back(&broker, &out);
    stop(&broker);
}
END_TEST

START_TEST(beyond_the_rules)
{
    static char big[(1 << 20) + 1] = "e";
    cuvet_compile_result out;
    cli_broker broker;

    start(&broker);
    ck_assert_int_eq(ask_n(&broker, big, sizeof(big), &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    ck_assert_int_eq(ask_n(&broker, big, 0, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILE_UNSUPPORTED);
    ck_assert_int_eq(seen->calls, 0);
    ck_assert_int_eq(ask_n(&broker, big, 1, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILED);
    back(&broker, &out);
    stop(&broker);
}
END_TEST

/* Descriptors: the three standard ones and the stream; the listener's comes and goes. */
START_TEST(nothing_is_inherited)
{
    int extra = open("/dev/null", O_RDONLY);
    cuvet_compile_result out;
    cli_broker broker;

    start(&broker);
    ck_assert_int_eq(ask_n(&broker, "f", 1, &out), CUVET_OK);
    ck_assert_msg(out.detail == 5 || out.detail == -4, "%d open", (int)out.detail);
    stop(&broker);
    close(extra);
}
END_TEST

typedef struct broker_many {
    cli_broker *broker;
    int bad;
} broker_many;

static void *ask_often(void *arg)
{
    broker_many *many = arg;
    cuvet_compile_result out;
    char text[100] = "e";

    for (int i = 0; i < 50; i++) {
        snprintf(text, sizeof(text), "e%p %d", arg, i);
        if (ask_n(many->broker, text, strlen(text), &out) != CUVET_OK || out.n != strlen(text) ||
            memcmp(out.bytes, text, out.n) != 0)
            many->bad++;
        back(many->broker, &out);
    }
    return NULL;
}

START_TEST(several_threads)
{
    cli_broker broker;
    broker_many many[4];
    pthread_t pthread[4];

    start(&broker);
    for (int i = 0; i < 4; i++) {
        many[i] = (broker_many){ &broker, 0 };
        ck_assert_int_eq(pthread_create(&pthread[i], NULL, ask_often, &many[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(pthread[i], NULL), 0);
        ck_assert_int_eq(many[i].bad, 0);
    }
    stop(&broker);
    ck_assert_int_eq(seen->calls, 200);
}
END_TEST

static void *cancel_soon(void *arg)
{
    usleep(100000);
    __atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(cancel)
{
    cuvet_compile_result out;
    cli_broker broker;
    pthread_t pthread;

    start(&broker);
    for (int i = 0; i < 3; i++) {
        int stop_it = i == 2; /* the last one before it began */
        const cuvet_compile_request request = { .size = sizeof(request),
                                                .kind = CUVET_K_PTX,
                                                .bytes = "w",
                                                .n = 1,
                                                .sm = 90,
                                                .threads = 1,
                                                .cancel = &stop_it };

        ck_assert_int_eq(pthread_create(&pthread, NULL, cancel_soon, &stop_it), 0);
        ck_assert_int_eq(broker.compiler.compile(broker.compiler.user, &request, &out), CUVET_OK);
        ck_assert_int_eq(out.end, CUVET_COMPILE_CANCELLED);
        ck_assert_int_eq(pthread_join(pthread, NULL), 0);
        back(&broker, &out);
    }
    /* One that comes too late is no part of the next request. */
    ck_assert(cli_write_all(broker.fd, "cc", 2));
    ck_assert_int_eq(ask_n(&broker, "e", 1, &out), CUVET_OK);
    ck_assert_int_eq(out.end, CUVET_COMPILED);
    back(&broker, &out);
    ck_assert_int_eq(seen->cancelled, 3);
    stop(&broker);
}
END_TEST

/* Somebody who leaves in the middle: the compiler is stopped in order, then the broker ends. */
START_TEST(the_other_side_dies)
{
    for (int how = 0; how < 2; how++) {
        cli_broker broker;
        broker_request head = { .mark = BROKER_REQUEST, .sm = 90, .threads = 1, .size = 1 };
        int status;

        start(&broker);
        ck_assert(cli_write_all(broker.fd, &head, sizeof(head)) && cli_write_all(broker.fd, "w", 1));
        while (__atomic_load_n(&seen->calls, __ATOMIC_RELAXED) <= how)
            usleep(1000);
        if (how == 1)
            ck_assert_int_eq(kill(broker.pid, SIGTERM), 0);
        else
            ck_assert_int_eq(close(broker.fd), 0);
        ck_assert_int_eq(waitpid(broker.pid, &status, 0), broker.pid);
        ck_assert_int_eq(status, 0);
        ck_assert_int_eq(seen->cancelled, how + 1);
        if (how == 1)
            close(broker.fd);
    }
}
END_TEST

START_TEST(the_broker_dies)
{
    cuvet_compile_result out;
    cli_broker broker;
    int status;

    start(&broker);
    ck_assert_int_eq(kill(broker.pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(broker.pid, &status, 0), broker.pid);
    ck_assert_int_eq(ask_n(&broker, "e", 1, &out), CUVET_E_INTERNAL);
    ck_assert_int_eq(ask_n(&broker, "e", 1, &out), CUVET_E_INTERNAL);
    cli_broker_stop(&broker);
}
END_TEST

/* From inside of the cage, where a process cannot be started any more. */
START_TEST(inside_the_cage)
{
    cuvet_compile_result out;
    cli_broker broker;
    pid_t child;
    int status;

    start(&broker);
    child = fork();
    if (child == 0) {
        const cli_cage cage = { .porter = -1,
                                .channel = -1,
                                .broker = broker.fd,
                                .helper = -1,
                                .memory = UINT64_MAX,
                                .file_size = 0 };
        bool ok;

        (void)cli_cage_enter(&cage);
        ok = ask_n(&broker, "e12345", 6, &out) == CUVET_OK && out.end == CUVET_COMPILED && out.n == 6;
        _exit(ok ? 0 : 1);
    }
    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    stop(&broker);
}
END_TEST

Suite *suite_broker(void);
Suite *suite_broker(void)
{
    Suite *suite = suite_create("broker");
    TCase *tcase = tcase_create("broker");

    tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
    tcase_add_test(tcase, round_trips);
    tcase_add_test(tcase, every_end);
    tcase_add_test(tcase, beyond_the_rules);
    tcase_add_test(tcase, nothing_is_inherited);
    tcase_add_test(tcase, several_threads);
    tcase_add_test(tcase, cancel);
    tcase_add_test(tcase, the_other_side_dies);
    tcase_add_test(tcase, the_broker_dies);
    tcase_add_test(tcase, inside_the_cage);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Nobody waits longer than was said, however little comes. */
#include "whole.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { SHORT_MS = 300, PAUSE_MS = 50, LONG_MS = 20000 };

static void pair_up(int end[2])
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    ck_assert_int_eq(fcntl(end[0], F_SETFL, O_NONBLOCK), 0);
}

static void pause_for(long milliseconds)
{
    const struct timespec time = { 0, milliseconds * 1000000 };

    (void)nanosleep(&time, NULL);
}

/* A process that writes so many bytes, one at a time, or reads them. */
static pid_t start_slow(const int end[2], bool writes, size_t count)
{
    pid_t pid = fork();

    if (pid != 0) {
        ck_assert_int_gt(pid, 0);
        (void)close(end[1]);
        return pid;
    }
    (void)close(end[0]);
    for (size_t i = 0; i < count; i++) {
        char letter = (char)i;

        if ((writes ? write(end[1], &letter, 1) : read(end[1], &letter, 1)) != 1)
            break;
        pause_for(PAUSE_MS);
    }
    _exit(0);
}

static void stop(pid_t pid, int fd)
{
    (void)close(fd);
    (void)kill(pid, SIGKILL); /* it may have ended */
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(a_byte_now_and_then)
{
    char bytes[200];
    int64_t begin = cli_now_ms();
    int end[2];
    pid_t pid;

    pair_up(end);
    pid = start_slow(end, true, sizeof(bytes));
    ck_assert(!cli_read_until(end[0], bytes, sizeof(bytes), begin + SHORT_MS));
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_int_ge(cli_now_ms() - begin, SHORT_MS);
    stop(pid, end[0]);
    /* The same bytes are enough for somebody who waits for each. */
    pair_up(end);
    pid = start_slow(end, true, 8);
    ck_assert(cli_read_within(end[0], bytes, 8, LONG_MS));
    ck_assert_int_eq(bytes[7], 7);
    stop(pid, end[0]);
}
END_TEST

START_TEST(whole_in_time)
{
    static char bytes[1 << 20], got[1 << 20];
    int end[2];
    pid_t pid;

    pair_up(end);
    memset(bytes, 'a', sizeof(bytes));
    pid = fork(); /* what is more than the socket holds comes back */
    if (pid == 0) {
        (void)close(end[0]);
        _exit(cli_read_all(end[1], got, sizeof(got)) && cli_write_all(end[1], got, sizeof(got)) ? 0 : 1);
    }
    ck_assert_int_gt(pid, 0);
    (void)close(end[1]);
    ck_assert(cli_write_until(end[0], bytes, sizeof(bytes), cli_now_ms() + LONG_MS));
    ck_assert(cli_read_until(end[0], got, sizeof(got), cli_now_ms() + LONG_MS));
    ck_assert_mem_eq(bytes, got, sizeof(got));
    errno = 0;
    ck_assert(!cli_read_until(end[0], got, 1, CLI_WITHOUT_END)); /* it ended */
    ck_assert_int_ne(errno, ETIMEDOUT);
    stop(pid, end[0]);
}
END_TEST

START_TEST(nobody_reads)
{
    static char bytes[1 << 20];
    int64_t begin = cli_now_ms();
    int end[2];
    pid_t pid;

    pair_up(end);
    pid = start_slow(end, false, 100);
    ck_assert(!cli_write_until(end[0], bytes, sizeof(bytes), begin + SHORT_MS));
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_int_ge(cli_now_ms() - begin, SHORT_MS);
    ck_assert(!cli_wait_until(end[0], POLLIN, begin)); /* is over already */
    ck_assert_int_eq(errno, ETIMEDOUT);
    stop(pid, end[0]);
    ck_assert(!cli_wait_until(-1, POLLIN, cli_now_ms() + PAUSE_MS)); /* which poll passes over */
}
END_TEST

Suite *suite_whole(void);
Suite *suite_whole(void)
{
    Suite *suite = suite_create("whole");
    TCase *tcase = tcase_create("waiting");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_byte_now_and_then);
    tcase_add_test(tcase, whole_in_time);
    tcase_add_test(tcase, nobody_reads);
    suite_add_tcase(suite, tcase);
    return suite;
}

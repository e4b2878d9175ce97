/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A wrong index ends a test program, which says where, and with traps also which it was. Each is tried in a
 * process of its own. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

/* The library that ships knows no index and no length to print. */
#if defined(CV_TRAPS) && CV_TRAPS
enum { TRAPS = 1 };
#else
enum { TRAPS = 0 };
#endif

static volatile uint64_t sink;

static void read_vector(void)
{
    const cv_u32s empty = { 0 };

    sink = *cv_u32s_get(&empty, 7);
}

static void write_vector(void)
{
    cv_u64s empty = { 0 };

    *cv_u64s_at(&empty, 0) = sink;
}

/* Room that is there is no element yet. */
static void write_behind_last(void)
{
    cv_u32s list = { 0 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, 1000);
    if (cv_u32s_push(&mem, &list, 1) && list.cap > 1)
        *cv_u32s_at(&list, 1) = 2;
}

static void read_table(void)
{
    static const uint32_t TABLE[3] = { 1, 2, 3 };

    sink = CV_AT(TABLE, 3);
}

static void read_array(void)
{
    uint32_t array[3] = { 1, 2, 3 };

    sink = CV_ARRAY_GET(array, UINT64_MAX);
}

static void write_array(void)
{
    uint32_t array[3] = { 1, 2, 3 };

    CV_ARRAY_SET(array, 4, 5);
    sink = array[0];
}

static const struct {
    void (*act)(void);
    const char *said;
} WRONG[] = { { read_vector, "index 7, but there are 0" },
              { write_vector, "index 0, but there are 0" },
              { write_behind_last, "index 1, but there are 1" },
              { read_table, "index 3, but there are 3" },
              { read_array, "index 18446744073709551615, but there are 3" },
              { write_array, "index 4, but there are 3" } };

START_TEST(a_wrong_index_aborts)
{
    static char said[65536];
    int fd[2], status = 0;
    size_t count = 0;
    ssize_t got;
    pid_t pid;

    ck_assert_int_eq(pipe(fd), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        close(fd[1]);
        WRONG[_i].act();
        _exit(0);
    }
    close(fd[1]);
    while ((got = read(fd[0], said + count, sizeof(said) - 1 - count)) > 0)
        count += (size_t)got;
    said[count] = 0;
    close(fd[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %d: %s", status, said);
    ck_assert_msg(strstr(said, TRAPS ? WRONG[_i].said : "an index outside") != NULL, "%s", said);
    ck_assert_msg(strchr(said, '\n') != strrchr(said, '\n'), "no stack: %s", said);
}
END_TEST

Suite *suite_trap(void)
{
    Suite *suite = suite_create("trap");
    TCase *tcase = tcase_create("trap");

    tcase_add_loop_test(tcase, a_wrong_index_aborts, 0, (int)CV_COUNT(WRONG));
    suite_add_tcase(suite, tcase);
    return suite;
}

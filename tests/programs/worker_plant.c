/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a worker does that an input has taken over, by the name of the input: for build/tests/worker_planted,
 * which is the worker with this in it. Everything goes past the C library where that would ask first. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plant.h"
#include "wire.h"

enum { CHANNEL = 3, ANSWER = 4, BLOCK = 1 << 20 };

static void leak(void)
{
    char *block;

    while ((block = malloc(BLOCK)) != NULL)
        memset(block, 1, BLOCK);
    while ((block = malloc(64)) != NULL) /* nor is there a little left */
        block[0] = 1;
}

static void hang(void)
{
    for (volatile unsigned turn = 0;; turn++)
        ;
}

/* As many as there may be. */
static void fork_bomb(void)
{
    for (;;)
        (void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void write_where_it_must_not(void)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/tmp/cuvet-worker-was-here", O_WRONLY | O_CREAT, 0600);

    if (fd >= 0)
        _exit(3);
}

/* A word that is none, and one for a request that has not come yet. */
static void forge(uint64_t number)
{
    const wire_done done = { .mark = WIRE_DONE, .number = number };

    (void)!write(CHANNEL, &done, sizeof(done));
}

/* An answer whose counts are beyond its end. */
static void answer_nonsense(void)
{
    const wire_answer answer = { .mark = WIRE_ANSWER, .n_findings = 1000, .n_text = 1 };

    (void)!write(ANSWER, &answer, sizeof(answer));
    _exit(0);
}

static void write_without_end(void)
{
    static char block[BLOCK];

    while (write(ANSWER, block, sizeof(block)) > 0)
        ;
    _exit(0);
}

static void ignore_and_hang(void)
{
    (void)signal(SIGPROF, SIG_IGN);
    (void)signal(SIGXCPU, SIG_IGN);
    hang();
}

static void sleep_long(void)
{
    for (;;)
        (void)sleep(1000);
}

static void close_channel(void)
{
    (void)close(CHANNEL);
    sleep_long();
}

static void go_quietly(void)
{
    _exit(0);
}

static void go_with_a_code(void)
{
    _exit(7);
}

static void crash(void)
{
    volatile char *page = mmap(NULL, BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    page[0] = 1;
}

static void forge_next(void)
{
    for (uint64_t number = 0; number < 16; number++)
        forge(number);
}

void cli_plant(const char *name)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } ACTS[] = {
        { "plant:crash", crash },
        { "plant:hang", hang },
        { "plant:sleep", sleep_long },
        { "plant:leak", leak },
        { "plant:fork", fork_bomb },
        { "plant:write", write_where_it_must_not },
        { "plant:forge", forge_next },
        { "plant:nonsense", answer_nonsense },
        { "plant:flood", write_without_end },
        { "plant:stubborn", ignore_and_hang },
        { "plant:close", close_channel },
        { "plant:exit", go_quietly },
        { "plant:code", go_with_a_code },
    };

    for (size_t i = 0; i < sizeof(ACTS) / sizeof(ACTS[0]); i++) {
        if (strcmp(name, ACTS[i].name) == 0)
            ACTS[i].act();
    }
}

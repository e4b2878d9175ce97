/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links what it is sent, each time in a process of its own, so that a crash or a hang is one answer among
 * others. Driven by tests/hostile/link_mutants.py.
 *
 * A job on standard input, words little-endian: target, options (1 -r, 2 in
 * the reference's form, 4 -g, 8 --preserve-relocs), number of objects, then length and bytes of
 * each. An answer on standard output: how the process ended (0 answered, 1 signal, 2 exit, 3 out of time),
 * the signal or exit code, status, step (0 create, 1 add, 2 complete), nanoseconds (two words), length of the
 * ids of the errors that were said, length of the result, then both. */
#include <cuvet/cuvet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OBJECTS   8u
#define MOST      (32u << 20)
#define SAID      1024u
#define SECONDS   10u
#define OUT_BYTES (MOST - 2 * SAID)

typedef struct link_server_job {
    uint32_t target, flags, count;
    uint32_t len[OBJECTS];
    uint8_t *bytes[OBJECTS];
} link_server_job;

/* What the child leaves behind, in memory that both see. */
typedef struct link_server_answer {
    uint32_t end, code, status, step, ns_low, ns_high, n_said, n_out;
    char said[SAID];
    uint8_t out[OUT_BYTES];
} link_server_answer;

static void on_diag(void *user, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    size_t count = rule ? strlen(rule->id) : 0;
    link_server_answer *answer = user;

    if (count == 0 || diag->severity != CUVET_ERROR || answer->n_said + count + 1 >= SAID)
        return;
    memcpy(answer->said + answer->n_said, rule->id, count);
    answer->n_said += (uint32_t)count;
    answer->said[answer->n_said++] = ' ';
}

static cuvet_status link_all(cuvet_ctx *ctx, const link_server_job *job, link_server_answer *answer)
{
    const cuvet_linker_options options = { .size = sizeof(options),
                                           .target = { .sm = (uint16_t)job->target },
                                           .flags =
                                               ((job->flags & 1) ? CUVET_LINK_RELOCATABLE : 0) |
                                               ((job->flags & 3) == 3 ? CUVET_LINK_EXACT_RELOCATABLE : 0) |
                                               ((job->flags & 4) ? CUVET_LINK_DEBUG : 0) |
                                               ((job->flags & 8) ? CUVET_LINK_PRESERVE_RELOCS : 0) };
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker;
    cuvet_status status = cuvet_linker_create(ctx, &options, &linker);

    if (status != CUVET_OK)
        return status;
    answer->step = 1;
    for (uint32_t i = 0; i < job->count && status == CUVET_OK; i++)
        status = cuvet_linker_add(ctx, linker, job->bytes[i], job->len[i], "object");
    if (status == CUVET_OK) {
        answer->step = 2;
        status = cuvet_linker_complete(ctx, linker);
    }
    if (status == CUVET_OK)
        status = cuvet_linker_get_result(ctx, linker, &result);
    if (status == CUVET_OK && result.n > OUT_BYTES)
        abort();
    if (status == CUVET_OK) {
        memcpy(answer->out, result.bytes, result.n);
        answer->n_out = (uint32_t)result.n;
    }
    if (cuvet_linker_destroy(ctx, &linker) != CUVET_OK)
        abort();
    return status;
}

static uint64_t now(void)
{
    struct timespec time;

    if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
        abort();
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void child(const link_server_job *job, link_server_answer *answer)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .diag = on_diag, .diag_user = answer };
    uint64_t begin = now();
    cuvet_ctx *ctx;

    (void)alarm(SECONDS);
    if (cuvet_ctx_create(&co, &ctx) != CUVET_OK)
        abort();
    answer->status = (uint32_t)link_all(ctx, job, answer);
    cuvet_ctx_destroy(ctx);
    begin = now() - begin;
    answer->ns_low = (uint32_t)begin;
    answer->ns_high = (uint32_t)(begin >> 32);
    _exit(0);
}

static void run(const link_server_job *job, link_server_answer *answer)
{
    int how = 0;
    pid_t pid;

    memset(answer, 0, offsetof(link_server_answer, out));
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        child(job, answer);
    if (waitpid(pid, &how, 0) != pid)
        abort();
    if (WIFSIGNALED(how)) {
        answer->end = WTERMSIG(how) == SIGALRM ? 3 : 1;
        answer->code = (uint32_t)WTERMSIG(how);
    } else if (WEXITSTATUS(how) != 0) {
        answer->end = 2;
        answer->code = (uint32_t)WEXITSTATUS(how);
    }
}

static bool get(void *to, size_t size)
{
    return fread(to, 1, size, stdin) == size;
}

static bool next(link_server_job *job)
{
    if (!get(job, offsetof(link_server_job, len)))
        return false;
    if (job->count > OBJECTS)
        abort();
    for (uint32_t i = 0; i < job->count; i++) {
        if (!get(&job->len[i], sizeof(job->len[i])) || job->len[i] > MOST)
            abort();
        job->bytes[i] = malloc(job->len[i] ? job->len[i] : 1); /* of its size: ASan sees the end */
        if (!job->bytes[i] || !get(job->bytes[i], job->len[i]))
            abort();
    }
    return true;
}

int main(void)
{
    link_server_answer *answer =
        mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    link_server_job job;

    if (answer == MAP_FAILED)
        return 1;
    while (next(&job)) {
        run(&job, answer);
        (void)fwrite(answer, 1, offsetof(link_server_answer, said), stdout);
        (void)fwrite(answer->said, 1, answer->n_said, stdout);
        (void)fwrite(answer->out, 1, answer->n_out, stdout);
        if (fflush(stdout) != 0)
            return 1;
        for (uint32_t i = 0; i < job.count; i++)
            free(job.bytes[i]);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links what it is sent, each time in a process of its own, so that a crash or a hang is one answer among
 * others. Driven by tests/differential/link_mutants.py.
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

typedef struct job {
    uint32_t target, flags, n;
    uint32_t len[OBJECTS];
    uint8_t *bytes[OBJECTS];
} job;

/* What the child leaves behind, in memory that both see. */
typedef struct answer {
    uint32_t end, code, status, step, ns_low, ns_high, n_said, n_out;
    char said[SAID];
    uint8_t out[OUT_BYTES];
} answer;

static void on_diag(void *user, const cuvet_diag *d)
{
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    size_t n = rule ? strlen(rule->id) : 0;
    answer *a = user;

    if (n == 0 || d->severity != CUVET_ERROR || a->n_said + n + 1 >= SAID)
        return;
    memcpy(a->said + a->n_said, rule->id, n);
    a->n_said += (uint32_t)n;
    a->said[a->n_said++] = ' ';
}

static cuvet_status link_all(cuvet_ctx *ctx, const job *j, answer *a)
{
    const cuvet_linker_options o = { .size = sizeof(o),
                                     .target = { .sm = (uint16_t)j->target },
                                     .flags = ((j->flags & 1) ? CUVET_LINK_RELOCATABLE : 0) |
                                              ((j->flags & 3) == 3 ? CUVET_LINK_EXACT_RELOCATABLE : 0) |
                                              ((j->flags & 4) ? CUVET_LINK_DEBUG : 0) |
                                              ((j->flags & 8) ? CUVET_LINK_PRESERVE_RELOCS : 0) };
    cuvet_link_result r = { .size = sizeof(r) };
    cuvet_linker l;
    cuvet_status s = cuvet_linker_create(ctx, &o, &l);

    if (s != CUVET_OK)
        return s;
    a->step = 1;
    for (uint32_t i = 0; i < j->n && s == CUVET_OK; i++)
        s = cuvet_linker_add(ctx, l, j->bytes[i], j->len[i], "object");
    if (s == CUVET_OK) {
        a->step = 2;
        s = cuvet_linker_complete(ctx, l);
    }
    if (s == CUVET_OK)
        s = cuvet_linker_result(ctx, l, &r);
    if (s == CUVET_OK && r.n > OUT_BYTES)
        abort();
    if (s == CUVET_OK) {
        memcpy(a->out, r.bytes, r.n);
        a->n_out = (uint32_t)r.n;
    }
    if (cuvet_linker_destroy(ctx, &l) != CUVET_OK)
        abort();
    return s;
}

static uint64_t now(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        abort();
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void child(const job *j, answer *a)
{
    const cuvet_ctx_options co = { .size = sizeof(co), .diag = on_diag, .diag_user = a };
    uint64_t begin = now();
    cuvet_ctx *ctx;

    (void)alarm(SECONDS);
    if (cuvet_ctx_create(&co, &ctx) != CUVET_OK)
        abort();
    a->status = (uint32_t)link_all(ctx, j, a);
    cuvet_ctx_destroy(ctx);
    begin = now() - begin;
    a->ns_low = (uint32_t)begin;
    a->ns_high = (uint32_t)(begin >> 32);
    _exit(0);
}

static void run(const job *j, answer *a)
{
    int how = 0;
    pid_t pid;

    memset(a, 0, offsetof(answer, out));
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        child(j, a);
    if (waitpid(pid, &how, 0) != pid)
        abort();
    if (WIFSIGNALED(how)) {
        a->end = WTERMSIG(how) == SIGALRM ? 3 : 1;
        a->code = (uint32_t)WTERMSIG(how);
    } else if (WEXITSTATUS(how) != 0) {
        a->end = 2;
        a->code = (uint32_t)WEXITSTATUS(how);
    }
}

static bool get(void *to, size_t n)
{
    return fread(to, 1, n, stdin) == n;
}

static bool next(job *j)
{
    if (!get(j, offsetof(job, len)))
        return false;
    if (j->n > OBJECTS)
        abort();
    for (uint32_t i = 0; i < j->n; i++) {
        if (!get(&j->len[i], sizeof(j->len[i])) || j->len[i] > MOST)
            abort();
        j->bytes[i] = malloc(j->len[i] ? j->len[i] : 1); /* of its size: ASan sees the end */
        if (!j->bytes[i] || !get(j->bytes[i], j->len[i]))
            abort();
    }
    return true;
}

int main(void)
{
    answer *a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    job j;

    if (a == MAP_FAILED)
        return 1;
    while (next(&j)) {
        run(&j, a);
        (void)fwrite(a, 1, offsetof(answer, said), stdout);
        (void)fwrite(a->said, 1, a->n_said, stdout);
        (void)fwrite(a->out, 1, a->n_out, stdout);
        if (fflush(stdout) != 0)
            return 1;
        for (uint32_t i = 0; i < j.n; i++)
            free(j.bytes[i]);
    }
    return 0;
}

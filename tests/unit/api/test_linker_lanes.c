/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Links with threads of the caller: every golden case ends as it does without, byte for byte, with the same
 * diagnostics in the same order; also where memory or work does not suffice, where an allocation fails, and
 * with executors that do not do what they should. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "support/heap.h"
#include "support/link_cases.h"

enum { THREADS = 7 };

typedef struct lanes_outcome {
    cuvet_status status;
    uint64_t hash, said; /* of the result, of the diagnostics */
} lanes_outcome;

static uint64_t mix(uint64_t hash, const void *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)block)[i]) * UINT64_C(0x100000001B3);
    return hash ^ size;
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    uint64_t *said = user;
    const uint64_t parts[] = { (uint64_t)diag->rule, (uint64_t)diag->severity,
                               diag->file_off,       diag->length,
                               diag->inner_off,      diag->got,
                               diag->want,           diag->where.n };

    *said = mix(*said, parts, sizeof(parts));
    for (uint32_t i = 0; i < diag->where.n; i++) {
        const uint64_t step[] = { diag->where.step[i].kind, diag->where.step[i].index };

        *said = mix(*said, step, sizeof(step));
    }
}

/* Executors. What they did is counted. */
static unsigned n_runs, n_parts;

/* In the opposite order; the last part twice, the first one not at all, and one that there is not. */
static void run_backwards(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    (void)user;
    n_runs++;
    n_parts += count;
    for (uint32_t left = count; left > 1; left--)
        work(arg, left - 1);
    work(arg, count - 1);
    work(arg, count);
}

typedef struct part_thread {
    pthread_t thread;
    void (*work)(void *arg, uint32_t index);
    void *arg;
    uint32_t index;
} part_thread;

static void *run_part(void *arg)
{
    const part_thread *part = arg;

    part->work(part->arg, part->index);
    return NULL;
}

/* Each in a thread of its own. */
static void run_threads(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    part_thread part[CUVET_LANES_MOST];

    (void)user;
    n_runs++;
    n_parts += count;
    for (uint32_t i = 0; i < count; i++) {
        part[i] = (part_thread){ .work = work, .arg = arg, .index = i };
        ck_assert_int_eq(pthread_create(&part[i].thread, NULL, run_part, &part[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        ck_assert_int_eq(pthread_join(part[i].thread, NULL), 0);
}

static cuvet_executor executor_of(void (*run)(void *, void (*)(void *, uint32_t), void *, uint32_t),
                                  uint32_t lanes)
{
    return (cuvet_executor){ .size = sizeof(cuvet_executor), .lanes = lanes, .least = 1, .run = run };
}

static lanes_outcome once(const lc_case *lcase, const cuvet_executor *executor, const cuvet_limits *limits,
                          const cuvet_alloc *alloc)
{
    lanes_outcome out = { .status = CUVET_OK };
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = limits, .alloc = alloc, .diag = on_diag, .diag_user = &out.said
    };
    cuvet_linker_options options = {
        .size = sizeof(options),
        .flags = (strstr(lcase->options, "-r") == lcase->options
                      ? CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE
                      : 0) |
                 (strcmp(lcase->options, "-g") == 0 ? CUVET_LINK_DEBUG : 0) |
                 (strcmp(lcase->options, "--preserve-relocs") == 0 ? CUVET_LINK_PRESERVE_RELOCS : 0),
        .executor = executor,
    };
    cuvet_link_result made = { .size = sizeof(made) };
    cuvet_linker linker;
    cuvet_ctx *ctx;

    out.status = cuvet_ctx_create(&co, &ctx);
    if (out.status != CUVET_OK)
        return out;
    ck_assert_int_eq(cuvet_target_parse(lcase->target, &options.target), CUVET_OK);
    out.status = cuvet_linker_create(ctx, &options, &linker);
    for (unsigned i = 0; i < lcase->count && out.status == CUVET_OK; i++) {
        size_t count;
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        out.status = cuvet_linker_add_borrowed(ctx, linker, bytes, count, "input");
    }
    if (out.status == CUVET_OK)
        out.status = cuvet_linker_complete(ctx, linker);
    if (out.status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_get_result(ctx, linker, &made), CUVET_OK);
    if (made.bytes)
        out.hash = mix(1, made.bytes, made.n);
    cuvet_ctx_destroy(ctx);
    return out;
}

static void check_same(const lc_case *lcase, const char *what, uint64_t number, const lanes_outcome *got,
                       const lanes_outcome *want)
{
    ck_assert_msg(got->status == want->status && got->hash == want->hash && got->said == want->said,
                  "%s for %s %s, %s %llu: status %d instead of %d%s%s", lcase->name, lcase->target,
                  lcase->options, what, (unsigned long long)number, (int)got->status, (int)want->status,
                  got->hash == want->hash ? "" : ", other bytes",
                  got->said == want->said ? "" : ", other diagnostics");
}

START_TEST(golden_cases)
{
    const cuvet_executor executors[] = { executor_of(run_backwards, 2), executor_of(run_backwards, 3),
                                         executor_of(run_backwards, CUVET_LANES_MOST),
                                         executor_of(run_threads, 2), executor_of(run_threads, THREADS) };
    const lc_case *lcase = lc_get((unsigned)_i);
    lanes_outcome want = once(lcase, NULL, NULL, NULL);

    for (unsigned i = 0; i < sizeof(executors) / sizeof(executors[0]); i++) {
        lanes_outcome got = once(lcase, &executors[i], NULL, NULL);

        check_same(lcase, "executor", i, &got, &want);
    }
}
END_TEST

/* That the others try something: a link of several relocations is done in parts, three times and more. */
START_TEST(parts_are_made)
{
    const cuvet_executor executor = executor_of(run_backwards, 4);
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");

    n_runs = n_parts = 0;
    ck_assert_int_eq(once(lcase, &executor, NULL, NULL).status, CUVET_OK);
    ck_assert_uint_ge(n_runs, 5); /* decided, checked, written twice, proved */
    ck_assert_uint_eq(n_parts, 4 * n_runs);
}
END_TEST

/* Little work is not split unless it is asked for, and neither is any for one lane. */
START_TEST(not_worth_it)
{
    cuvet_executor few = executor_of(run_backwards, 4), one = executor_of(run_backwards, 1),
                   none = executor_of(run_backwards, 0);
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");

    few.least = 0;
    n_runs = 0;
    ck_assert_int_eq(once(lcase, &few, NULL, NULL).status, CUVET_OK);
    ck_assert_int_eq(once(lcase, &one, NULL, NULL).status, CUVET_OK);
    ck_assert_int_eq(once(lcase, &none, NULL, NULL).status, CUVET_OK);
    ck_assert_uint_eq(n_runs, 0);
}
END_TEST

START_TEST(wrong_executors)
{
    const cuvet_executor missing = { .size = sizeof(missing), .lanes = 2 },
                         many = executor_of(run_backwards, CUVET_LANES_MOST + 1), older = { .size = 3 };
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");

    ck_assert_int_eq(once(lcase, &missing, NULL, NULL).status, CUVET_E_USAGE);
    ck_assert_int_eq(once(lcase, &many, NULL, NULL).status, CUVET_E_USAGE);
    ck_assert_int_eq(once(lcase, &older, NULL, NULL).status, CUVET_E_USAGE);
}
END_TEST

/* The same limit is said at the same place, and what suffices for one thread suffices for all. */
START_TEST(limits_are_the_same)
{
    const cuvet_executor executor = executor_of(run_backwards, 3);
    const lc_case *lcase = lc_get((unsigned)_i);
    unsigned ended = 0;
    cuvet_limits lim = { .size = sizeof(lim) };

    if (_i % 5 != 0 && !getenv("CV_FULL"))
        return;
    for (uint64_t live = UINT64_C(1) << 21; live > 4096; live -= live / 16) {
        lanes_outcome want, got;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = live;
        want = once(lcase, NULL, &lim, NULL);
        got = once(lcase, &executor, &lim, NULL);
        check_same(lcase, "memory", live, &got, &want);
        ended += want.status == CUVET_E_LIMIT;
    }
    ck_assert_uint_gt(ended, 5);
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    for (lim.work = 4; lim.work > 0; lim.work--) {
        lanes_outcome want = once(lcase, NULL, &lim, NULL), got = once(lcase, &executor, &lim, NULL);

        check_same(lcase, "work", lim.work, &got, &want);
    }
}
END_TEST

/* Each allocation fails: no memory, or what would have come out; and nothing stays behind. */
START_TEST(allocations_fail)
{
    const cuvet_executor executors[] = { executor_of(run_backwards, 3), executor_of(run_threads, 3) };
    const lc_case *lcase = lc_find("virtual_calls", "sm_90");
    lanes_outcome want = once(lcase, NULL, NULL, NULL);
    unsigned long failures = 0, count = 1;

    for (bool more = true; more; count++) {
        for (unsigned all = 0; all < 4; all++) {
            heap_state heap = { 0 };
            const cuvet_alloc alloc = heap_alloc(&heap);
            lanes_outcome got;

            heap_fail(&heap, count, all % 2 != 0);
            got = once(lcase, &executors[all / 2], NULL, &alloc);
            more = heap.failed != 0;
            failures += got.status == CUVET_E_NOMEM;
            if (got.status != CUVET_E_NOMEM)
                check_same(lcase, "allocation", count, &got, &want);
            ck_assert_int_eq(heap.live, 0);
        }
    }
    ck_assert_uint_gt(failures, 100);
}
END_TEST

Suite *suite_linker_lanes(void);
Suite *suite_linker_lanes(void)
{
    Suite *suite = suite_create("linker lanes");
    TCase *tcase = tcase_create("lanes");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, golden_cases, 0, lc_rows());
    tcase_add_loop_test(tcase, limits_are_the_same, 0, lc_rows());
    tcase_add_test(tcase, parts_are_made);
    tcase_add_test(tcase, not_worth_it);
    tcase_add_test(tcase, wrong_executors);
    tcase_add_test(tcase, allocations_fail);
    suite_add_tcase(suite, tcase);
    return suite;
}

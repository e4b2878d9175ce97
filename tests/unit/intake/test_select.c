/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which code goes to which target, and which of several wins: the tables of the reference linker, row by row.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intake/choose.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* "90a" */
static cuvet_target target(const char *text)
{
    char *end;
    cuvet_target target = { .sm = (uint32_t)strtoul(text, &end, 10) };

    target.suffix = *end;
    return target;
}

typedef struct accept_row {
    const char *kind, *code;
    const char *yes, *no; /* targets, separated by blanks */
} accept_row;

static const accept_row ACCEPT[] = {
    /* SASS within its family, upwards; the suffix of the target does not matter */
    { "sass", "75", "75", "80 86 87 88 89 90 90a 100 103 110 120 121" },
    { "sass", "80", "80 86 89", "75 87 88 90 100 120" },
    { "sass", "86", "86 89", "75 80 87 88 90" },
    { "sass", "87", "87", "75 80 86 88 89 90" },
    { "sass", "88", "88", "80 86 87 89 90" },
    { "sass", "89", "89", "80 86 87 88 90" },
    { "sass", "90", "90 90a", "75 80 89 100 103 120" },
    { "sass", "100", "100 100a 100f 103 103a 103f", "90 110 120 121" },
    { "sass", "103", "103 103a 103f", "100 100a 100f 110 120" },
    { "sass", "110", "110 110a 110f", "100 103 120 121" },
    { "sass", "120", "120 120a 120f 121 121a 121f", "100 103 110" },
    { "sass", "121", "121 121a 121f", "120 120a 110" },
    /* 'f' SASS as plain */
    { "sass", "100f", "100 100a 100f 103 103a 103f", "90 110 120" },
    { "sass", "120f", "120 121 121a 121f", "110 100" },
    /* 'a' SASS: the number must be equal, the suffix of the target is not asked for */
    { "sass", "90a", "90 90a", "100 103 89" },
    { "sass", "100a", "100 100a 100f", "103 103a 110" },
    { "sass", "120a", "120 120a 120f", "121 121a" },
    /* PTX goes upwards over all families */
    { "ptx", "75", "75 80 86 87 88 89 90 90a 100 100a 100f 103 110 120 121", "" },
    { "ptx", "80", "80 86 87 88 89 90 90a 100 103f 110 121a", "75" },
    { "ptx", "90", "90 90a 100 100a 103 110 120", "75 80 89" },
    { "ptx", "100", "100 100a 100f 103 110 120 121", "90 90a 89" },
    /* 'f' PTX in the family only */
    { "ptx", "100f", "100 100a 100f 103 103a 103f", "90 110 120" },
    { "ptx", "103f", "103 103a 103f", "100 100a 110" },
    { "ptx", "120f", "120 121 121a 121f", "100 110" },
    /* 'a' PTX for exactly that target */
    { "ptx", "90a", "90a", "90 100 100a" },
    { "ptx", "100a", "100a", "100 100f 103 103a" },
    /* numbers that no target has */
    { "sass", "70", "", "75 80 90" },
    { "ptx", "70", "75 80 90 100 120", "" },
    { "ptx", "130", "", "75 121" },
    { "sass", "0", "", "75 80" },
    { "ptx", "0", "", "75 80" },
};

static cuvet_candidate code(const char *kind, const char *name)
{
    cuvet_target machine = target(name);

    return (cuvet_candidate){ .kind = strcmp(kind, "sass") == 0  ? CUVET_K_CUBIN
                                      : strcmp(kind, "ptx") == 0 ? CUVET_K_PTX
                                                                 : CUVET_K_LTOIR,
                              .sm = machine.sm,
                              .suffix = machine.suffix,
                              .member_flags = CV_FB_64BIT,
                              .flags = CUVET_CANDIDATE_FIRST_CONTAINER };
}

static void check_targets(const accept_row *row, const char *list, bool want)
{
    cuvet_candidate candidate = code(row->kind, row->code);
    char copy[200], *save = NULL;

    ck_assert_uint_lt(strlen(list), sizeof(copy));
    strcpy(copy, list);
    for (char *text = strtok_r(copy, " ", &save); text; text = strtok_r(NULL, " ", &save)) {
        cv_wanted wanted = { .target = target(text) };

        ck_assert_msg(cv_arch_known(wanted.target), "%s is a target", text);
        ck_assert_msg((cv_select_judge(&candidate, &wanted) == CUVET_REASON_NONE) == want,
                      "%s %s for target %s", row->kind, row->code, text);
    }
}

START_TEST(acceptance_table)
{
    for (size_t i = 0; i < N(ACCEPT); i++) {
        check_targets(&ACCEPT[i], ACCEPT[i].yes, true);
        check_targets(&ACCEPT[i], ACCEPT[i].no, false);
    }
}
END_TEST

START_TEST(reasons)
{
    static const struct {
        const char *kind, *code, *target;
        cuvet_request request;
        cuvet_arch_policy policy;
        uint64_t flags;
        cuvet_reason want;
    } ROWS[] = {
        { "sass", "80", "90", 0, 0, CV_FB_64BIT, CUVET_REASON_FAMILY },
        { "sass", "89", "86", 0, 0, CV_FB_64BIT, CUVET_REASON_NEWER },
        { "sass", "100a", "103", 0, 0, CV_FB_64BIT, CUVET_REASON_SUFFIX },
        { "ptx", "100f", "120", 0, 0, CV_FB_64BIT, CUVET_REASON_FAMILY },
        { "ptx", "90", "80", 0, 0, CV_FB_64BIT, CUVET_REASON_NEWER },
        { "ptx", "90a", "90", 0, 0, CV_FB_64BIT, CUVET_REASON_SUFFIX },
        { "sass", "0", "90", 0, 0, CV_FB_64BIT, CUVET_REASON_ARCH_ZERO },
        { "sass", "90", "90", 0, 0, 0, CUVET_REASON_ADDRESS },
        { "ltoir", "90", "90", 0, 0, CV_FB_64BIT, CUVET_REASON_REQUEST },
        { "ltoir", "90", "90", CUVET_REQUEST_LTOIR, 0, CV_FB_64BIT, CUVET_REASON_NONE },
        { "sass", "90", "90", CUVET_REQUEST_LTOIR, 0, CV_FB_64BIT, CUVET_REASON_REQUEST },
        { "ptx", "90", "90", CUVET_REQUEST_SASS, 0, CV_FB_64BIT, CUVET_REASON_REQUEST },
        { "sass", "90", "90", CUVET_REQUEST_PTX, 0, CV_FB_64BIT, CUVET_REASON_REQUEST },
        { "sass", "90a", "90", 0, CUVET_ARCH_EXACT, CV_FB_64BIT, CUVET_REASON_POLICY },
        { "sass", "90a", "90a", 0, CUVET_ARCH_EXACT, CV_FB_64BIT, CUVET_REASON_NONE },
        { "sass", "100a", "100f", 0, CUVET_ARCH_EXACT, CV_FB_64BIT, CUVET_REASON_POLICY },
        { "sass", "100f", "103", 0, CUVET_ARCH_EXACT, CV_FB_64BIT, CUVET_REASON_NONE },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        cuvet_candidate candidate = code(ROWS[i].kind, ROWS[i].code);
        cv_wanted wanted = { .target = target(ROWS[i].target),
                             .request = ROWS[i].request,
                             .policy = ROWS[i].policy };

        candidate.member_flags = ROWS[i].flags;
        ck_assert_msg(cv_select_judge(&candidate, &wanted) == ROWS[i].want, "row %zu: %s", i,
                      cuvet_reason_text(cv_select_judge(&candidate, &wanted)));
    }
}
END_TEST

START_TEST(without_the_64_bit_mark)
{
    cuvet_candidate candidate = code("sass", "90");
    cv_wanted wanted = { .target = target("90"), .address32 = true };

    candidate.member_flags = 0;
    ck_assert_int_eq(cv_select_judge(&candidate, &wanted), CUVET_REASON_NONE);
    candidate.kind = CUVET_K_MERCURY;
    ck_assert_int_eq(cv_select_judge(&candidate, &wanted), CUVET_REASON_KIND);
    candidate = (cuvet_candidate){ .kind = CUVET_K_LTOIR };
    wanted = (cv_wanted){ .target = target("90"), .direct = true };
    ck_assert_int_eq(cv_select_judge(&candidate, &wanted), CUVET_REASON_NONE);
    wanted.request = CUVET_REQUEST_PTX;
    ck_assert_int_eq(cv_select_judge(&candidate, &wanted), CUVET_REASON_REQUEST);
}
END_TEST

/* Every pair, in both orders: the better one, wherever it stands. */
static const struct {
    const char *target, *a_kind, *left, *b_kind, *right;
    int winner; /* 0: a, 1: b, 2: the first of them, 3: the last */
} RANK[] = {
    { "86", "sass", "80", "ptx", "86", 1 },       { "103", "sass", "100", "ptx", "103", 1 },
    { "100", "ptx", "100", "ptx", "100f", 1 },    { "100", "sass", "100", "sass", "100a", 1 },
    { "100", "sass", "100f", "sass", "100a", 1 }, { "100", "sass", "100", "sass", "100f", 1 },
    { "90", "sass", "90", "sass", "90a", 1 },     { "90", "sass", "90", "ptx", "90", 0 },
    { "90a", "sass", "90a", "ptx", "90a", 0 },    { "100", "ptx", "100f", "sass", "100", 1 },
    { "89", "sass", "80", "sass", "86", 1 },      { "90", "sass", "90", "sass", "90", 2 },
    { "90", "ptx", "80", "ptx", "80", 2 },        { "120", "ptx", "90", "ptx", "100", 1 },
    { "100a", "ptx", "100a", "sass", "100", 1 },  { "100a", "ptx", "100a", "sass", "100f", 1 },
    { "90a", "ptx", "90a", "sass", "90", 1 },     { "103", "ptx", "100f", "sass", "100", 1 },
    { "90", "ptx", "90", "ptx", "90", 3 },        { "90a", "ptx", "90", "ptx", "90", 3 },
    { "100f", "ptx", "100", "ptx", "100", 3 },    { "103", "ptx", "100", "ptx", "100", 2 },
    { "90a", "ptx", "90a", "ptx", "90a", 2 },     { "100f", "ptx", "100f", "ptx", "100f", 2 },
};

START_TEST(ranking_table)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    for (size_t i = 0; i < N(RANK); i++) {
        for (int swap = 0; swap < 2; swap++) {
            cv_candidate left = { .pub = code(RANK[i].a_kind, RANK[i].left) };
            cv_candidate right = { .pub = code(RANK[i].b_kind, RANK[i].right) };
            cv_wanted wanted = { .target = target(RANK[i].target) };
            uint64_t best, reference, want;
            cv_candidates all = { 0 };

            want = RANK[i].winner >= 2 ? (uint64_t)RANK[i].winner - 2 : (uint64_t)(RANK[i].winner ^ swap);
            ck_assert(cv_candidates_push(&ctx.mem, &all, swap ? right : left));
            ck_assert(cv_candidates_push(&ctx.mem, &all, swap ? left : right));
            ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
            ck_assert_msg(best == want, "row %zu, order %d", i, swap);
            ck_assert_uint_eq(reference, best);
            ck_assert_uint_eq(cv_candidates_at(&all, best)->pub.rank, 1);
            ck_assert_uint_eq(cv_candidates_at(&all, 1 - best)->pub.rank, 2);
            cv_candidates_free(&ctx.mem, &all);
        }
    }
    ck_assert_uint_eq(ctx.mem.live, 0);
}
END_TEST

/* The ranking by sorted keys is the ranking by comparison, over every pair of codes there is. */
START_TEST(ranking_is_an_order)
{
    static const char *const CODES[] = { "75",  "80",   "86",   "87",  "90", "90a",
                                         "100", "100a", "100f", "103", "120" };
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    for (size_t i = 0; i < 2 * N(CODES); i++) {
        for (size_t k = 0; k < 2 * N(CODES); k++) {
            cv_candidate left = { .pub = code(i % 2 ? "ptx" : "sass", CODES[i / 2]) };
            cv_candidate right = { .pub = code(k % 2 ? "ptx" : "sass", CODES[k / 2]) };
            int order = cv_select_compare(&left.pub, &right.pub);

            ck_assert_int_eq(order<0, cv_select_compare(&right.pub, &left.pub)> 0);
            ck_assert_int_eq(order == 0, i == k);
            for (size_t total = 0;; total++) {
                cv_wanted wanted = { .target = { 0 } };
                uint64_t best, reference;
                cv_candidates all = { 0 };

                if (cuvet_target_get(total, &wanted.target) == CUVET_END)
                    break;
                if (cv_select_judge(&left.pub, &wanted) != CUVET_REASON_NONE ||
                    cv_select_judge(&right.pub, &wanted) != CUVET_REASON_NONE)
                    continue;
                ck_assert(cv_candidates_push(&ctx.mem, &all, left));
                ck_assert(cv_candidates_push(&ctx.mem, &all, right));
                ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
                /* a pair of equals: the last one of PTX without suffix for the target's number */
                ck_assert_uint_eq(best, order > 0 || (i == k && i % 2 == 1 && !left.pub.suffix &&
                                                      left.pub.sm == wanted.target.sm));
                cv_candidates_free(&ctx.mem, &all);
            }
        }
    }
}
END_TEST

/* The last of equals wins in its own container; of several containers the first one does. */
START_TEST(ties_stay_in_their_container)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_wanted wanted = { .target = target("90") };
    cv_candidates all = { 0 };
    uint64_t best, reference;
    static const uint32_t RANKS[] = { 5, 3, 2, 1, 4 };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    for (uint64_t i = 0; i < 5; i++) {
        cv_candidate candidate = { .pub = code("ptx", i == 0 ? "80" : "90") };

        candidate.pub.container_off = i < 4 ? 0 : 4096;
        candidate.pub.flags = i < 4 ? CUVET_CANDIDATE_FIRST_CONTAINER : 0;
        ck_assert(cv_candidates_push(&ctx.mem, &all, candidate));
    }
    ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 3);
    ck_assert_uint_eq(reference, 3);
    for (uint64_t i = 0; i < 5; i++)
        ck_assert_uint_eq(cv_candidates_at(&all, i)->pub.rank, RANKS[i]);
    cv_candidates_free(&ctx.mem, &all);
}
END_TEST

START_TEST(target_names)
{
    static const char *const BAD[] = { "",           "sm_", "sm_99", "sm_90f", "sm_100b",       "sm_100aa",
                                       "compute_90", "90",  "SM_90", "sm_90 ", "sm_4294967386", "sm_-1",
                                       "sm_0" };
    cuvet_target target = { 7, 'x' };

    for (size_t i = 0; i < N(BAD); i++) {
        ck_assert_msg(cuvet_target_parse(BAD[i], &target) == CUVET_E_ARCH, "'%s'", BAD[i]);
        ck_assert(target.sm == 7 && target.suffix == 'x');
    }
    ck_assert_int_eq(cuvet_target_parse("sm_90a", &target), CUVET_OK);
    ck_assert(target.sm == 90 && target.suffix == 'a');
    ck_assert_int_eq(cuvet_target_parse(NULL, &target), CUVET_E_NULL);
    for (size_t i = 0;; i++) {
        cuvet_target again;
        char text[20];

        if (cuvet_target_get(i, &target) == CUVET_END) {
            ck_assert_uint_eq(i, 23); /* as many as the reference's help lists */
            break;
        }
        snprintf(text, sizeof(text), "sm_%u%.1s", target.sm, target.suffix ? &target.suffix : "");
        ck_assert_int_eq(cuvet_target_parse(text, &again), CUVET_OK);
        ck_assert(again.sm == target.sm && again.suffix == target.suffix && cv_arch_known(target));
    }
}
END_TEST

/* What lies in the data or an offload binary of a host object, where neither a linker nor a dumper looks,
 * gives way to whatever fits elsewhere, however good it is; alone it is chosen. */
START_TEST(data_of_a_host_object_comes_last)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_candidate data = { .unit.place = _i < 4 ? CUVET_PLACE_DATA : CUVET_PLACE_OFFLOAD },
                 other = { .unit.place = CUVET_PLACE_OBJECT };
    cv_wanted wanted = { .target = target("89") };
    cv_candidates all = { 0 };
    uint64_t best, reference;

    data.pub = code("sass", _i % 4 < 2 ? "89" : "86");
    other.pub = _i % 2 == 0 ? code("sass", "86") : code("ptx", "75");
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    ck_assert(cv_candidates_push(&ctx.mem, &all, data));
    ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 0);
    ck_assert(cv_candidates_push(&ctx.mem, &all, other));
    ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 1);
    ck_assert_uint_eq(cv_candidates_at(&all, 0)->pub.rank, 2);
    cv_candidates_free(&ctx.mem, &all);
}
END_TEST

START_TEST(reference_sees_the_first_container)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };
    cv_candidate left = { .pub = code("sass", "80") }, right = { .pub = code("sass", "86") };
    cv_wanted wanted = { .target = target("89") };
    cv_candidates all = { 0 };
    uint64_t best, reference;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    right.pub.flags &= ~CUVET_CANDIDATE_FIRST_CONTAINER;
    ck_assert(cv_candidates_push(&ctx.mem, &all, left));
    ck_assert(cv_candidates_push(&ctx.mem, &all, right));
    ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 1);
    ck_assert_uint_eq(reference, 0);
    ck_assert_int_eq(cv_select(&ctx, &all, 1, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 1);
    ck_assert_uint_eq(reference, 2);
    wanted.target = target("75");
    ck_assert_int_eq(cv_select(&ctx, &all, 0, &wanted, &best, &reference), CUVET_OK);
    ck_assert_uint_eq(best, 2);
    cv_candidates_free(&ctx.mem, &all);
}
END_TEST

/* Without room for all of them none is chosen. */
START_TEST(no_room)
{
    cuvet_status status = CUVET_E_NOMEM;

    for (unsigned count = 1; status != CUVET_OK; count++) {
        static cv_ctx ctx;
        cuvet_limits lim = { .size = sizeof(lim) };
        cv_candidate candidate = { .pub = code("sass", "89") };
        cv_wanted wanted = { .target = target("89") };
        heap_state heap = { 0 };
        cuvet_alloc alloc = heap_alloc(&heap);
        cv_candidates all = { 0 };
        uint64_t best, reference;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        cv_ctx_init(&ctx, &alloc, &lim);
        for (unsigned i = 0; i < 40; i++)
            ck_assert(cv_candidates_push(&ctx.mem, &all, candidate));
        heap_fail(&heap, count, false);
        status = cv_select(&ctx, &all, 0, &wanted, &best, &reference);
        ck_assert_int_eq(status, heap.failed ? CUVET_E_NOMEM : CUVET_OK);
        ck_assert_uint_eq(best, heap.failed ? 40 : 0);
        cv_candidates_free(&ctx.mem, &all);
        ck_assert_int_eq(heap.live, 0);
    }
}
END_TEST

Suite *suite_test_select(void)
{
    Suite *suite = suite_create("select");
    TCase *tcase = tcase_create("select");

    tcase_add_test(tcase, acceptance_table);
    tcase_add_test(tcase, reasons);
    tcase_add_test(tcase, without_the_64_bit_mark);
    tcase_add_test(tcase, ranking_table);
    tcase_add_test(tcase, ranking_is_an_order);
    tcase_add_test(tcase, ties_stay_in_their_container);
    tcase_add_loop_test(tcase, data_of_a_host_object_comes_last, 0, 8);
    tcase_add_test(tcase, reference_sees_the_first_container);
    tcase_add_test(tcase, target_names);
    tcase_add_test(tcase, no_room);
    suite_add_tcase(suite, tcase);
    return suite;
}

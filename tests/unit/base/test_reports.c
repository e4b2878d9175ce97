/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a finding is weighed: for whom, by which producer, how strictly; and what ends work without one. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/vec.h"

static unsigned n_emitted;
static cuvet_diag last;

static void keep(void *user, const cuvet_diag *diag)
{
    (void)user;
    n_emitted++;
    last = *diag;
}

static cv_ctx *make(void)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = keep;
    n_emitted = 0;
    return &ctx;
}

/* Each rule, as it is, in an image that is embedded, as advice, strictly. */
START_TEST(severities)
{
    unsigned embedded = 0, advised = 0, hardened = 0;

    for (cuvet_rule rule = 0; rule < CV_N_RULES; rule++) {
        const cuvet_rule_info *info = cuvet_rule_get(rule);
        cv_ctx *ctx = make();

        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert_uint_eq(n_emitted, 1);
        ck_assert_int_eq(last.severity, info->severity);
        ctx->embedded = true;
        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert(last.severity == info->severity || last.severity == CUVET_NOTE);
        embedded += last.severity != info->severity;
        ctx->embedded = false;
        ctx->advisory = true;
        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert_int_eq(last.severity, info->cls == CUVET_C_TARGET ? CUVET_NOTE : info->severity);
        advised += info->cls == CUVET_C_TARGET;
        ctx->advisory = false;
        ctx->strict = true;
        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert_int_eq(last.severity, info->cls == CUVET_C_PROFILE ? CUVET_ERROR : info->severity);
        hardened += info->cls == CUVET_C_PROFILE;
        ck_assert_uint_eq(n_emitted, 4);
    }
    ck_assert(embedded > 0 && advised > 0 && hardened > 0);
}
END_TEST

/* What a producer is known for is no finding; what a stranger does otherwise is counted, and said once. */
START_TEST(producers)
{
    unsigned kept = 0, held = 0;
    cv_ctx *ctx = make();

    cv_ctx_end_profile(ctx, 5); /* of nobody */
    ck_assert_uint_eq(n_emitted, 0);
    for (cuvet_rule rule = 0; rule < CV_N_RULES; rule++) {
        bool profile = cuvet_rule_get(rule)->cls == CUVET_C_PROFILE, holds = cv_rule_holds((cv_rule)rule);
        uint32_t exempt = cv_rule_exempt((cv_rule)rule);
        char text[2000];

        ck_assert(profile || (!holds && exempt == 0));
        ck_assert_int_eq(cuvet_rule_exempt(rule, text, sizeof(text)) > 0, exempt != 0);
        ck_assert_uint_eq(strlen(text), cuvet_rule_exempt(rule, NULL, 0));
        for (unsigned producer = CV_PROFILE_NONE + 1; producer < CV_N_PROFILES; producer++) {
            bool named = strstr(text, cv_profile_text((cv_profile)producer)) != NULL;

            ctx = make();
            cv_ctx_begin_profile(ctx, (cv_profile)producer, false);
            cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
            ck_assert_uint_eq(n_emitted, !(exempt >> producer & 1));
            ck_assert(named || !(exempt >> producer & 1));
            cv_ctx_end_profile(ctx, 5);
            ck_assert_uint_eq(n_emitted, !(exempt >> producer & 1));
        }
        ctx = make();
        cv_ctx_begin_profile(ctx, CV_PROFILE_NONE, true);
        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert_uint_eq(n_emitted, !profile || holds);
        cv_ctx_end_profile(ctx, 5);
        ck_assert_uint_eq(n_emitted, 1);
        kept += !profile || holds;
        if (profile && !holds) {
            held++;
            ck_assert_uint_eq(last.rule, CV_R_PROFILE_STRANGER);
            ck_assert_uint_eq(last.file_off, 5);
            ck_assert_uint_eq(last.got, 1);
        }
        ctx = make();
        ctx->strict = true;
        cv_ctx_begin_profile(ctx, CV_PROFILE_NONE, true);
        cv_report(ctx, (cv_rule)rule, 0, 0, 0, 0);
        ck_assert(n_emitted == 1 && last.rule == rule);
    }
    ck_assert(kept > 0 && held > 0);
    ck_assert_uint_eq(cv_rule_exempt(CV_N_RULES), 0);
    ck_assert(!cv_rule_holds(CV_N_RULES));
    ck_assert_uint_eq(cuvet_rule_exempt(CV_N_RULES, NULL, 0), 0);
    ck_assert_str_eq(cv_profile_text(CV_N_PROFILES), "?");
    ck_assert_str_eq(cv_place_text(UINT64_MAX), "?");
    ck_assert_int_eq(cuvet_rule_find("CV-ELF-001", NULL), CUVET_E_NULL);
}
END_TEST

/* The verdict of a file, by class and severity of a finding, and the status that a verdict is. */
START_TEST(verdicts)
{
    static const cuvet_severity SEVERITIES[] = { CUVET_NOTE, CUVET_WARNING, CUVET_ERROR };
    static const cuvet_status STATUSES[] = {
        [CUVET_C_FORM] = CUVET_E_MALFORMED,
        [CUVET_C_PROFILE] = CUVET_E_MALFORMED,
        [CUVET_C_LIMIT] = CUVET_E_LIMIT,
        [CUVET_C_UNSUPPORTED] = CUVET_E_UNSUPPORTED,
        [CUVET_C_IO] = CUVET_E_IO,
        [CUVET_C_TARGET] = CUVET_E_REFUSED,
        [CUVET_C_INTERNAL] = CUVET_E_INTERNAL,
    };

    for (cuvet_rule rule = 0; rule < CV_N_RULES; rule++) {
        cuvet_class cls = cuvet_rule_get(rule)->cls;
        bool weighed = cls == CUVET_C_FORM || cls == CUVET_C_PROFILE || cls == CUVET_C_TARGET;

        ck_assert_int_eq(cv_reject(make(), (cv_rule)rule, 0, 0, 0), STATUSES[cls]);
        for (size_t i = 0; i < CV_COUNT(SEVERITIES); i++) {
            const cuvet_diag diag = { .rule = rule, .severity = SEVERITIES[i] };
            cuvet_verdict want = cls == CUVET_C_UNSUPPORTED       ? CUVET_V_UNSUPPORTED
                                 : cls == CUVET_C_LIMIT           ? CUVET_V_LIMIT
                                 : !weighed                       ? CUVET_V_ERROR
                                 : SEVERITIES[i] == CUVET_NOTE    ? CUVET_V_CLEAN
                                 : SEVERITIES[i] == CUVET_WARNING ? CUVET_V_SUSPICIOUS
                                 : cls == CUVET_C_TARGET          ? CUVET_V_UNSUPPORTED
                                                                  : CUVET_V_MALFORMED;

            ck_assert_int_eq(cuvet_diag_verdict(&diag), want);
        }
    }
    ck_assert_int_eq(cv_verdict_status(CUVET_V_MALFORMED), CUVET_E_MALFORMED);
    ck_assert_int_eq(cv_verdict_status(CUVET_V_LIMIT), CUVET_E_LIMIT);
    ck_assert_int_eq(cv_verdict_status(CUVET_V_ERROR), CUVET_E_IO);
    ck_assert_int_eq(cv_verdict_status(CUVET_V_CLEAN), CUVET_OK);
    ck_assert_int_eq(cv_verdict_status(CUVET_V_UNSUPPORTED), CUVET_OK);
    ck_assert_int_eq(cv_verdict_status(CUVET_V_SUSPICIOUS), CUVET_OK);
    ck_assert_str_eq(cuvet_class_name(CUVET_C_PROFILE), "profile");
    ck_assert_str_eq(cuvet_class_name((cuvet_class)7), "?");
    ck_assert_str_eq(cuvet_step_kind_name((cuvet_step_kind)999), "?");
}
END_TEST

/* Each status has a text of its own, but for the two that are no error; what is none has none. */
START_TEST(status_texts)
{
    unsigned known = 0;

    for (int left = -300; left < 300; left++) {
        const char *text = cuvet_status_text((cuvet_status)left);

        ck_assert_int_eq(strcmp(text, "?") == 0, strcmp(cuvet_status_name((cuvet_status)left), "?") == 0);
        if (strcmp(text, "?") == 0)
            continue;
        known++;
        for (int right = -300; right < left; right++)
            ck_assert(strcmp(text, cuvet_status_text((cuvet_status)right)) != 0 ||
                      (left == CUVET_END && right == CUVET_OK) || (left == CUVET_OK && right == CUVET_END));
    }
    ck_assert_uint_ge(known, 20);
    ck_assert_str_eq(cuvet_status_text(CUVET_OK), "no error");
}
END_TEST

/* A structure of an older caller is shorter; none is odd, or larger than any can be. */
START_TEST(limits_of_other_sizes)
{
    enum { ALL = 2047 };
    struct {
        size_t size;
        uint64_t value[1];
    } small = { sizeof(small), { 7 } };
    struct {
        size_t size;
        uint64_t value[ALL + 1];
    } big = { 0 };
    const size_t most = offsetof(cuvet_limits, input) + ALL * sizeof(uint64_t);
    cuvet_limits *limits = (cuvet_limits *)(void *)&small;
    const cuvet_limit_info *first, *second;
    uint64_t value = 0;

    ck_assert_int_eq(cuvet_limits_preset("strict", limits), CUVET_OK);
    ck_assert_int_eq(cuvet_limits_get(limits, 0, &first, &value), CUVET_OK);
    ck_assert_uint_eq(value, first->strict);
    ck_assert_uint_eq(small.value[0], first->strict);
    ck_assert_int_eq(cuvet_limits_set(limits, first->name, 9), CUVET_OK);
    ck_assert_uint_eq(small.value[0], 9);
    ck_assert_int_eq(cuvet_limits_get(limits, 1, &second, &value), CUVET_OK);
    ck_assert_uint_eq(value, second->strict); /* it has no room for another one */
    ck_assert_int_eq(cuvet_limits_set(limits, second->name, 9), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_get(limits, 0, &first, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_limits_set(limits, NULL, 9), CUVET_E_NULL);
    limits = (cuvet_limits *)(void *)&big;
    big.size = most;
    big.value[ALL - 1] = 1;
    ck_assert_int_eq(cuvet_limits_preset("tiny", limits), CUVET_OK);
    ck_assert_uint_eq(big.value[ALL - 1], 0);
    for (size_t i = 0; i < 4; i++) {
        big.size =
            ((const size_t[]){ 0, offsetof(cuvet_limits, input) - 1, most + sizeof(uint64_t), most - 4 })[i];
        ck_assert_int_eq(cuvet_limits_preset("tiny", limits), CUVET_E_USAGE);
    }
}
END_TEST

/* Who is cancelled is told nothing; who had a part of the work of another hears so. */
START_TEST(work_ends)
{
    int cancel = 0;
    cv_ctx *ctx = make();

    cv_ctx_unit(ctx, 1 << 20);
    ctx->cancel = &cancel;
    ck_assert(!cv_cancelled(ctx) && cv_work(ctx, 1, 0));
    cancel = 1;
    ck_assert(cv_cancelled(ctx));
    ck_assert(!cv_work(ctx, 65536, 3) && n_emitted == 0); /* there is enough */
    ck_assert(!cv_work(ctx, 1, 3) && n_emitted == 0);
    ctx = make();
    cv_ctx_unit(ctx, 1000);
    cv_ctx_cap_work(ctx, UINT64_MAX);
    ck_assert(!ctx->work_capped);
    cv_ctx_cap_work(ctx, 10);
    ck_assert(!cv_work(ctx, 11, 3));
    ck_assert(n_emitted == 1 && last.rule == CV_R_LIMIT_EFFORT && last.file_off == 3);
    ck_assert(last.got == 11 && last.want == 10);
}
END_TEST

START_TEST(memory_moves)
{
    cv_mem from, to;
    void *block;

    cv_mem_init(&from, NULL, 100);
    cv_mem_init(&to, NULL, 50);
    block = cv_mem_get(&from, 60);
    ck_assert(!cv_mem_move(&to, &from, 60) && from.live == 60 && to.live == 0);
    to.limit = 60;
    ck_assert(cv_mem_move(&to, &from, 60) && from.live == 0 && to.live == 60);
    cv_mem_put(&to, block, 60);
    ck_assert_uint_eq(to.live, 0);
}
END_TEST

/* Many of one kind, too far apart to be moved one by one. */
START_TEST(sort_of_the_same)
{
    enum { COUNT = 2000 };
    cv_keys keys = { 0 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, UINT64_C(1) << 20);
    for (uint64_t i = 0; i < COUNT; i++)
        ck_assert(cv_keys_push(&mem, &keys, (cv_key){ i % 2, 7 }));
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < COUNT; i++)
        ck_assert(cv_keys_get(&keys, i)->key == (i >= COUNT / 2) && cv_keys_get(&keys, i)->index == 7);
    cv_keys_free(&mem, &keys);
}
END_TEST

Suite *suite_reports(void);
Suite *suite_reports(void)
{
    Suite *suite = suite_create("base/reports");
    TCase *tcase = tcase_create("reports");

    tcase_add_test(tcase, severities);
    tcase_add_test(tcase, producers);
    tcase_add_test(tcase, verdicts);
    tcase_add_test(tcase, status_texts);
    tcase_add_test(tcase, limits_of_other_sizes);
    tcase_add_test(tcase, work_ends);
    tcase_add_test(tcase, memory_moves);
    tcase_add_test(tcase, sort_of_the_same);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/text.h"
#include "base/vec.h"
#include "support/heap.h"

START_TEST(arithmetic)
{
    uint64_t result = 7;
    uint32_t count = 7;

    ck_assert(cv_add(1, 2, &result) && result == 3);
    ck_assert(!cv_add(UINT64_MAX, 1, &result) && result == 3);
    ck_assert(cv_mul(6, 7, &result) && result == 42);
    ck_assert(!cv_mul(UINT64_C(1) << 33, UINT64_C(1) << 33, &result) && result == 42);
    ck_assert(cv_align(13, 8, &result) && result == 16);
    ck_assert(cv_align(16, 8, &result) && result == 16);
    ck_assert(!cv_align(13, 0, &result) && !cv_align(13, 12, &result) && !cv_align(UINT64_MAX, 8, &result));
    ck_assert_uint_eq(cv_sat_add(UINT64_MAX, 2), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_mul(UINT64_MAX, 2), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_add(1, 2), 3);
    ck_assert_uint_eq(cv_sat_mul(3, 2), 6);
    ck_assert_uint_eq(cv_sat_align(UINT64_MAX, 8), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_align(9, 8), 16);
    ck_assert(cv_to_u32(UINT32_MAX, &count) && count == UINT32_MAX);
    ck_assert(!cv_to_u32(UINT64_C(1) << 32, &count));
    ck_assert(cv_is_pow2(1) && cv_is_pow2(UINT64_C(1) << 63) && !cv_is_pow2(0) && !cv_is_pow2(12));
    ck_assert(cv_min(1, 2) == 1 && cv_min(2, 1) == 1 && cv_max(1, 2) == 2 && cv_max(2, 1) == 2);
}
END_TEST

START_TEST(memory_is_budgeted)
{
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    cv_mem mem;
    uint8_t *bytes, *quota;

    cv_mem_init(&mem, &alloc, 100);
    ck_assert_ptr_null(cv_mem_get(&mem, 0));
    bytes = cv_mem_get(&mem, 60);
    ck_assert_ptr_nonnull(bytes);
    for (int i = 0; i < 60; i++)
        ck_assert_uint_eq(bytes[i], 0);
    ck_assert_ptr_null(cv_mem_get(&mem, 41));
    ck_assert_int_eq(cv_mem_status(&mem), CUVET_E_LIMIT);
    ck_assert_ptr_null(cv_mem_get(&mem, UINT64_MAX));
    bytes[59] = 9;
    quota = cv_mem_resize(&mem, bytes, 60, 100);
    ck_assert_ptr_nonnull(quota);
    ck_assert_uint_eq(quota[59], 9);
    ck_assert_uint_eq(quota[60], 0);
    ck_assert_uint_eq(mem.peak, 100);
    ck_assert_ptr_null(cv_mem_resize(&mem, quota, 100, 101));
    ck_assert_ptr_null(cv_mem_resize(&mem, quota, 100, 0));
    quota = cv_mem_resize(&mem, quota, 100, 10);
    ck_assert_uint_eq(mem.live, 10);
    heap_fail(&heap, 1, false);
    ck_assert_ptr_null(cv_mem_resize(&mem, quota, 10, 20));
    ck_assert_int_eq(cv_mem_status(&mem), CUVET_E_NOMEM);
    ck_assert_uint_eq(mem.live, 10);
    heap_fail(&heap, 1, false);
    ck_assert_ptr_null(cv_mem_resize(&mem, quota, 10, 5));
    ck_assert_uint_eq(mem.live, 10);
    heap_fail(&heap, 1, false);
    ck_assert_ptr_null(cv_mem_get_raw(&mem, 5));
    ck_assert_uint_eq(mem.live, 10);
    cv_mem_put(&mem, quota, 10);
    cv_mem_put(&mem, NULL, 10);
    ck_assert_uint_eq(mem.live, 0);
    ck_assert_int_eq(heap.live, 0);
    bytes = cv_mem_resize(&mem, NULL, 0, 8);
    ck_assert_ptr_nonnull(bytes);
    cv_mem_put(&mem, bytes, 8);
}
END_TEST

START_TEST(vectors_grow)
{
    cv_u32s list = { 0 };
    cv_u8s bytes = { 0 };
    cv_u64s numbers = { 0 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, 1000);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(cv_u32s_push(&mem, &list, i * 3));
    ck_assert_uint_eq(*cv_u32s_at(&list, 99), 297);
    ck_assert(!cv_u32s_reserve(&mem, &list, UINT64_MAX));
    ck_assert(!cv_u32s_reserve(&mem, &list, 1000));
    ck_assert_uint_eq(list.count, 100);
    ck_assert(cv_u32s_fill(&mem, &list, 20));
    ck_assert_uint_eq(*cv_u32s_at(&list, 19), 0);
    ck_assert(!cv_u32s_fill(&mem, &list, 100000));
    ck_assert(cv_u32s_fill(&mem, &list, 0));
    ck_assert(cv_u8s_fill(&mem, &bytes, 9) && bytes.count == 9);
    ck_assert(!cv_u8s_fill(&mem, &bytes, 100000));
    ck_assert(cv_u8s_fill(&mem, &bytes, 0));
    ck_assert(cv_u64s_push(&mem, &numbers, 7) && cv_u64s_fill(&mem, &numbers, 3) && numbers.count == 3);
    ck_assert_uint_eq(*cv_u64s_at(&numbers, 0) | *cv_u64s_at(&numbers, 1) | *cv_u64s_at(&numbers, 2), 0);
    ck_assert(!cv_u64s_fill(&mem, &numbers, 100000));
    ck_assert(cv_u64s_fill(&mem, &numbers, 0));
    cv_u64s_free(&mem, &numbers);
    cv_u8s_clear(&bytes);
    cv_u8s_free(&mem, &bytes);
    cv_u32s_free(&mem, &list);
    ck_assert_uint_eq(mem.live, 0);
}
END_TEST

static uint32_t next_random(uint32_t *step)
{
    *step = *step * 1664525u + 1013904223u;
    return *step >> 8;
}

/* Arrays that split off one element in each round, equal keys, and one in disorder that is large. */
START_TEST(sort_of_the_worst)
{
    enum { COUNT = 100000, KINDS = 5 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, UINT64_C(1) << 30);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        cv_keys keys = { 0 };
        uint32_t seed = kind;
        uint64_t wrong = 0; /* each assertion is a message to another process */

        for (uint64_t i = 0; i < COUNT; i++) {
            uint64_t number = kind == 0   ? UINT64_C(1) << i % 64
                              : kind == 1 ? 7
                              : kind == 2 ? (uint64_t)next_random(&seed) << 40 | next_random(&seed)
                              : kind == 3 ? UINT64_MAX - i
                                          : UINT64_C(1) << 63 >> cv_min(i, 63);

            wrong += !cv_keys_push(&mem, &keys, (cv_key){ number, kind == 1 ? COUNT - i : i });
        }
        cv_keys_sort(&keys);
        ck_assert_uint_eq(keys.count, COUNT);
        for (uint64_t i = 1; i < COUNT; i++) {
            const cv_key *left = cv_keys_get(&keys, i - 1), *right = cv_keys_get(&keys, i);

            wrong += left->key > right->key || (left->key == right->key && left->index >= right->index);
        }
        ck_assert_uint_eq(wrong, 0);
        cv_keys_free(&mem, &keys);
    }
}
END_TEST

START_TEST(sort_by_key_then_index)
{
    cv_mem mem;

    cv_mem_init(&mem, NULL, 1 << 24);
    for (uint32_t count = 0; count < 3000; count = count * 2 + 1) {
        for (uint32_t range = 1; range < 5000; range *= 7) {
            cv_keys keys = { 0 };
            uint32_t seed = count + range;

            for (uint32_t i = 0; i < count; i++)
                ck_assert(cv_keys_push(&mem, &keys, (cv_key){ next_random(&seed) % range, i }));
            cv_keys_sort(&keys);
            for (uint32_t i = 1; i < count; i++) {
                const cv_key *left = cv_keys_at(&keys, i - 1), *right = cv_keys_at(&keys, i);

                ck_assert(left->key < right->key || (left->key == right->key && left->index < right->index));
            }
            for (uint32_t i = 0; i < 50; i++) {
                uint64_t key = next_random(&seed) % (range + 1), at = cv_keys_lower_bound(&keys, key);

                ck_assert_uint_le(at, count);
                ck_assert(at == 0 || cv_keys_at(&keys, at - 1)->key < key);
                ck_assert(at == count || cv_keys_at(&keys, at)->key >= key);
            }
            cv_keys_free(&mem, &keys);
        }
    }
}
END_TEST

START_TEST(lower_bound_of_keys)
{
    static const uint64_t KEYS[] = { 3, 5, 5, 5, 9, UINT64_MAX };
    static const struct {
        uint64_t key, at;
    } WANT[] = { { 0, 0 }, { 3, 0 }, { 4, 1 }, { 5, 1 }, { 6, 4 }, { 9, 4 }, { 10, 5 }, { UINT64_MAX, 5 } };
    cv_keys keys = { 0 };
    cv_mem mem;

    cv_mem_init(&mem, NULL, 1 << 20);
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, 0), 0); /* of none */
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, UINT64_MAX), 0);
    for (size_t i = 0; i < CV_COUNT(KEYS); i++)
        ck_assert(cv_keys_push(&mem, &keys, (cv_key){ KEYS[i], i }));
    for (size_t i = 0; i < CV_COUNT(WANT); i++)
        ck_assert_uint_eq(cv_keys_lower_bound(&keys, WANT[i].key), WANT[i].at);
    keys.count--; /* behind the last */
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, 10), 5);
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, UINT64_MAX), 5);
    keys.count = 1;
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, 3), 0);
    ck_assert_uint_eq(cv_keys_lower_bound(&keys, 4), 1);
    cv_keys_free(&mem, &keys);
}
END_TEST

static int n_emitted;
static cuvet_diag last;

static void count(void *user, const cuvet_diag *diag)
{
    (void)user;
    n_emitted++;
    last = *diag;
}

static void make(cv_ctx *ctx)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(ctx, NULL, &lim);
    ctx->emit = count;
    n_emitted = 0;
}

START_TEST(reports_are_capped_and_counted)
{
    cv_ctx *ctx = malloc(sizeof(*ctx));

    make(ctx);
    for (unsigned i = 0; i < 20; i++)
        cv_report(ctx, CV_R_FATBIN_MAGIC, i, 1, 2, 3);
    ck_assert_int_eq(n_emitted, 8);
    ck_assert_uint_eq(ctx->n_errors, 20);
    ck_assert_int_eq(ctx->verdict, CUVET_V_MALFORMED);
    cv_report(ctx, CV_R_FATBIN_NESTED, 0, 0, 0, 0);
    cv_report(ctx, CV_R_FATBIN_EMPTY, 0, 0, 0, 0);
    ck_assert_uint_eq(ctx->n_warnings, 1);
    ck_assert_uint_eq(ctx->n_notes, 1);
    cv_ctx_unit(ctx, 10);
    ck_assert_uint_eq(ctx->n_errors, 0);
    ck_assert_int_eq(ctx->verdict, CUVET_V_CLEAN);
    free(ctx);
}
END_TEST

START_TEST(status_follows_the_class)
{
    cv_ctx *ctx = malloc(sizeof(*ctx));

    make(ctx);
    ck_assert_int_eq(cv_reject(ctx, CV_R_FATBIN_MAGIC, 0, 0, 0), CUVET_E_MALFORMED);
    ck_assert_int_eq(cv_reject(ctx, CV_R_FATBIN_METHOD_UNSUPPORTED, 0, 0, 0), CUVET_E_UNSUPPORTED);
    ck_assert_int_eq(cv_reject(ctx, CV_R_LIMIT_MEMBER, 0, 0, 0), CUVET_E_LIMIT);
    ck_assert_int_eq(cv_reject(ctx, CV_R_IO_READ, 0, 0, 0), CUVET_E_IO);
    ck_assert_int_eq(ctx->verdict, CUVET_V_ERROR);
    ctx->mem.limited = true;
    ck_assert_int_eq(cv_nomem(ctx, 0), CUVET_E_LIMIT);
    ctx->mem.limited = false;
    ck_assert_int_eq(cv_nomem(ctx, 0), CUVET_E_NOMEM);
    free(ctx);
}
END_TEST

START_TEST(work_runs_out_once)
{
    cv_ctx *ctx = malloc(sizeof(*ctx));

    make(ctx);
    cv_ctx_unit(ctx, 100);
    ck_assert(cv_work(ctx, 64 * 100, 0));
    ck_assert(cv_work(ctx, 65536, 0));
    ck_assert(!cv_work(ctx, 1, 5));
    ck_assert(!cv_work(ctx, 1, 6));
    ck_assert_int_eq(n_emitted, 1);
    ck_assert_uint_eq(last.file_off, 5);
    ck_assert_int_eq(ctx->verdict, CUVET_V_LIMIT);
    cv_ctx_unit(ctx, UINT64_MAX);
    ck_assert(cv_work(ctx, UINT64_MAX, 0));
    free(ctx);
}
END_TEST

/* A table that has nothing but findings is paid for: each costs as much, in the middle of a slice of work and
 * where the next one begins. */
START_TEST(findings_cost_work)
{
    cv_ctx *ctx = malloc(sizeof(*ctx));
    uint64_t before, each;

    make(ctx);
    cv_ctx_unit(ctx, 1 << 20);
    cv_report(ctx, CV_R_FATBIN_MAGIC, 0, 1, 2, 3);
    each = cv_ctx_spent(ctx);
    ck_assert_uint_gt(each, 0);
    ck_assert(cv_work(ctx, 1, 0));
    before = cv_ctx_spent(ctx);
    for (unsigned i = 1; i <= 5000; i++) {
        cv_report(ctx, CV_R_FATBIN_MAGIC, i, 1, 2, 3);
        ck_assert_uint_eq(cv_ctx_spent(ctx), before + i * each);
    }
    cv_ctx_unit(ctx, 0);
    ck_assert(cv_work(ctx, 1, 0));
    for (unsigned i = 0; i < 1 << 16; i++)
        cv_report(ctx, CV_R_FATBIN_EMPTY, i, 0, 0, 0);
    ck_assert(!cv_work(ctx, 1, 0));
    free(ctx);
}
END_TEST

START_TEST(places_and_paths)
{
    cv_ctx *ctx = malloc(sizeof(*ctx));
    char text[200], cut[8];

    make(ctx);
    cv_path_push(ctx, CUVET_P_FATBIN, true, 0);
    cv_path_push(ctx, CUVET_P_ENTRY, true, 2);
    cv_path_push(ctx, CUVET_P_ELF, false, 0);
    cv_ctx_enter_inner(ctx, 500);
    cv_ctx_enter_inner(ctx, 900);
    cv_report_at(ctx, CUVET_P_SECTION, 7, CV_R_FATBIN_MAGIC, 40, 4, 0x10, 0x20);
    ck_assert((last.flags & CUVET_DIAG_INNER) != 0);
    ck_assert_uint_eq(last.file_off, 500);
    ck_assert_uint_eq(last.inner_off, 40);
    ck_assert_uint_eq(cuvet_path_text(&last.where, text, sizeof(text)), 33);
    ck_assert_str_eq(text, "fatbin[0]/entry[2]/elf/section[7]");
    ck_assert_uint_eq(cuvet_path_text(&last.where, cut, sizeof(cut)), 33);
    ck_assert_str_eq(cut, "fatbin[");
    ck_assert_uint_eq(cuvet_path_text(NULL, NULL, 0), 0);
    ck_assert_uint_eq(cuvet_diag_message(&last, text, sizeof(text)), strlen("magic 0x10, expected 0x20"));
    ck_assert_str_eq(text, "magic 0x10, expected 0x20");
    cv_ctx_leave_inner(ctx);
    for (unsigned i = 0; i < 20; i++)
        cv_path_push(ctx, CUVET_P_ENTRY, true, i);
    cv_report(ctx, CV_R_FATBIN_EMPTY, 3, 0, 0, 0);
    ck_assert_uint_eq(last.where.n, CUVET_PATH_MAX);
    ck_assert(!(last.flags & CUVET_DIAG_INNER));
    for (unsigned i = 0; i < 30; i++)
        cv_path_pop(ctx);
    ck_assert_uint_eq(ctx->path.n, 0);
    free(ctx);
}
END_TEST

/* Every rule: an id of the right form that is found again, a message without unknown fields, a title and a
 * reason. */
START_TEST(rule_table)
{
    for (cuvet_rule rule = 0; rule < CV_N_RULES; rule++) {
        const cuvet_rule_info *info = cuvet_rule_get(rule);
        cuvet_diag diag = { .rule = rule, .severity = info->severity, .got = 1, .want = 2 };
        cuvet_rule again = CV_N_RULES;
        char text[600];

        ck_assert(strncmp(info->id, "CV-", 3) == 0 && strlen(info->title) > 3 && strlen(info->why) > 3);
        ck_assert_int_eq(cuvet_rule_find(info->id, &again), CUVET_OK);
        ck_assert_msg(again == rule, "%s is there twice", info->id);
        ck_assert_uint_lt(cuvet_diag_message(&diag, text, sizeof(text)), sizeof(text));
        ck_assert_msg(!strchr(text, '{') || strstr(text, "{0, 0}"), "%s: %s", info->id, text);
        if (info->cls == CUVET_C_FORM && info->severity == CUVET_ERROR)
            ck_assert_int_eq(cuvet_diag_verdict(&diag), CUVET_V_MALFORMED);
    }
    ck_assert_ptr_null(cuvet_rule_get(CV_N_RULES));
    ck_assert_int_eq(cuvet_rule_find("CV-NONE-001", &(cuvet_rule){ 0 }), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_rule_find(NULL, &(cuvet_rule){ 0 }), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_diag_verdict(NULL), CUVET_V_ERROR);
    ck_assert_uint_eq(cuvet_diag_message(NULL, NULL, 0), 1);
}
END_TEST

/* Small ones double, large ones grow by half, and none has less room than was asked for. */
START_TEST(vector_grows)
{
    static const struct {
        uint64_t cap, need, then;
    } ROWS[] = { { 1, 2, 16 },         { 8, 9, 16 },         { 16, 17, 32 },    { 4095, 4096, 8190 },
                 { 4096, 4097, 6144 }, { 4098, 4099, 6147 }, { 16, 1000, 1000 } };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_mem mem;
        uint64_t cap = ROWS[i].cap;
        void *items;

        cv_mem_init(&mem, NULL, UINT64_MAX);
        items = cv_mem_get(&mem, cap * 8);
        ck_assert(cv_vec_grow(&mem, &items, &cap, ROWS[i].need, 8));
        ck_assert_uint_eq(cap, ROWS[i].then);
        cv_mem_put(&mem, items, cap * 8);
        ck_assert_uint_eq(mem.live, 0);
    }
}
END_TEST

/* Letters of a file in a message: what is no printable ASCII is a question mark, so that no terminal obeys
 * it. */
START_TEST(letters)
{
    for (unsigned byte = 1; byte < 256; byte++) {
        cuvet_diag diag = { .rule = CV_R_FATBIN_OPTION_UNKNOWN, .got = 0x78 | byte << 8 | 0x79 << 16 };
        char text[100], want[] = "'x?y' is handed to a compiler";

        if (byte >= ' ' && byte <= '~')
            want[2] = (char)byte;
        (void)cuvet_diag_message(&diag, text, sizeof(text));
        ck_assert_str_eq(text, want);
    }
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(cuvet_verdict_name(CUVET_V_MALFORMED), "malformed");
    ck_assert_str_eq(cuvet_verdict_name((cuvet_verdict)99), "?");
    ck_assert_str_eq(cuvet_severity_name(CUVET_WARNING), "warning");
    ck_assert_str_eq(cuvet_severity_name((cuvet_severity)9), "?");
    for (int signal = 0; signal < 60; signal++)
        ck_assert_uint_gt(strlen(cuvet_status_name((cuvet_status)signal)), 0);
    ck_assert_str_eq(cuvet_status_name(CUVET_E_STALE_HANDLE), "STALE_HANDLE");
    ck_assert_str_eq(cuvet_status_name((cuvet_status)9999), "?");
    ck_assert_str_eq(cuvet_version(), "0.1.0");
}
END_TEST

START_TEST(limit_table)
{
    cuvet_limits limits = { .size = sizeof(limits) };
    const cuvet_limit_info *info;
    uint64_t value, count = 0;

    ck_assert_int_eq(cuvet_limits_preset("none", &limits), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_preset(NULL, &limits), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_preset("strict", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_preset("roomy", &limits), CUVET_OK);
    ck_assert_uint_eq(limits.nesting, 16);
    ck_assert_int_eq(cuvet_limits_preset("strict", &limits), CUVET_OK);
    ck_assert_uint_eq(limits.member, UINT64_C(1) << 30);
    while (cuvet_limits_get(&limits, count, &info, &value) == CUVET_OK) {
        ck_assert_uint_eq(value, info->strict);
        ck_assert_int_eq(cuvet_limits_set(&limits, info->name, 12345), CUVET_OK);
        ck_assert_int_eq(cuvet_limits_get(&limits, count, &info, &value), CUVET_OK);
        ck_assert_uint_eq(value, 12345);
        ck_assert_int_eq(cuvet_limits_get(NULL, count, &info, NULL), CUVET_OK);
        count++;
    }
    ck_assert_uint_eq(count, 23);
    ck_assert_int_eq(cuvet_limits_get(&limits, 0, NULL, &value), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_set(&limits, "nonsense", 1), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_set(NULL, "live", 1), CUVET_E_NULL);
}
END_TEST

START_TEST(text_is_cut_not_overrun)
{
    char buf[8];

    for (size_t cap = 0; cap <= sizeof(buf); cap++) {
        cv_text text = { buf, cap, 0 };

        memset(buf, '#', sizeof(buf));
        cv_text_str(&text, "ab");
        cv_text_dec(&text, 0);
        cv_text_hex(&text, 0xF0);
        cv_text_end(&text);
        ck_assert_uint_eq(text.len, 7);
        if (cap)
            ck_assert_uint_eq(strlen(buf), cap > 7 ? 7 : cap - 1);
        for (size_t i = cap; i < sizeof(buf); i++)
            ck_assert_int_eq(buf[i], '#');
    }
    ck_assert_str_eq(buf, "ab00xf0");
}
END_TEST

Suite *suite_base(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("base");

    tcase_add_test(tcase, arithmetic);
    tcase_add_test(tcase, memory_is_budgeted);
    tcase_add_test(tcase, vectors_grow);
    tcase_add_test(tcase, sort_by_key_then_index);
    tcase_add_test(tcase, sort_of_the_worst);
    tcase_add_test(tcase, lower_bound_of_keys);
    tcase_add_test(tcase, reports_are_capped_and_counted);
    tcase_add_test(tcase, status_follows_the_class);
    tcase_add_test(tcase, work_runs_out_once);
    tcase_add_test(tcase, findings_cost_work);
    tcase_add_test(tcase, places_and_paths);
    tcase_add_test(tcase, rule_table);
    tcase_add_test(tcase, vector_grows);
    tcase_add_test(tcase, letters);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, limit_table);
    tcase_add_test(tcase, text_is_cut_not_overrun);
    suite_add_tcase(suite, tcase);
    return suite;
}

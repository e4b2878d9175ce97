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
    uint64_t r = 7;
    uint32_t n = 7;

    ck_assert(cv_add(1, 2, &r) && r == 3);
    ck_assert(!cv_add(UINT64_MAX, 1, &r) && r == 3);
    ck_assert(cv_mul(6, 7, &r) && r == 42);
    ck_assert(!cv_mul(UINT64_C(1) << 33, UINT64_C(1) << 33, &r) && r == 42);
    ck_assert(cv_align(13, 8, &r) && r == 16);
    ck_assert(cv_align(16, 8, &r) && r == 16);
    ck_assert(!cv_align(13, 0, &r) && !cv_align(13, 12, &r) && !cv_align(UINT64_MAX, 8, &r));
    ck_assert_uint_eq(cv_sat_add(UINT64_MAX, 2), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_mul(UINT64_MAX, 2), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_add(1, 2), 3);
    ck_assert_uint_eq(cv_sat_mul(3, 2), 6);
    ck_assert_uint_eq(cv_sat_align(UINT64_MAX, 8), UINT64_MAX);
    ck_assert_uint_eq(cv_sat_align(9, 8), 16);
    ck_assert(cv_to_u32(UINT32_MAX, &n) && n == UINT32_MAX);
    ck_assert(!cv_to_u32(UINT64_C(1) << 32, &n));
    ck_assert(cv_is_pow2(1) && cv_is_pow2(UINT64_C(1) << 63) && !cv_is_pow2(0) && !cv_is_pow2(12));
    ck_assert(cv_min(1, 2) == 1 && cv_min(2, 1) == 1 && cv_max(1, 2) == 2 && cv_max(2, 1) == 2);
}
END_TEST

START_TEST(memory_is_budgeted)
{
    heap h = { 0 };
    const cuvet_alloc a = heap_alloc(&h);
    cv_mem m;
    uint8_t *p, *q;

    cv_mem_init(&m, &a, 100);
    ck_assert_ptr_null(cv_mem_get(&m, 0));
    p = cv_mem_get(&m, 60);
    ck_assert_ptr_nonnull(p);
    for (int i = 0; i < 60; i++)
        ck_assert_uint_eq(p[i], 0);
    ck_assert_ptr_null(cv_mem_get(&m, 41));
    ck_assert_int_eq(cv_mem_status(&m), CUVET_E_LIMIT);
    ck_assert_ptr_null(cv_mem_get(&m, UINT64_MAX));
    p[59] = 9;
    q = cv_mem_resize(&m, p, 60, 100);
    ck_assert_ptr_nonnull(q);
    ck_assert_uint_eq(q[59], 9);
    ck_assert_uint_eq(q[60], 0);
    ck_assert_uint_eq(m.peak, 100);
    ck_assert_ptr_null(cv_mem_resize(&m, q, 100, 101));
    ck_assert_ptr_null(cv_mem_resize(&m, q, 100, 0));
    q = cv_mem_resize(&m, q, 100, 10);
    ck_assert_uint_eq(m.live, 10);
    heap_fail(&h, 1, false);
    ck_assert_ptr_null(cv_mem_resize(&m, q, 10, 20));
    ck_assert_int_eq(cv_mem_status(&m), CUVET_E_NOMEM);
    ck_assert_uint_eq(m.live, 10);
    heap_fail(&h, 1, false);
    ck_assert_ptr_null(cv_mem_resize(&m, q, 10, 5));
    ck_assert_uint_eq(m.live, 10);
    heap_fail(&h, 1, false);
    ck_assert_ptr_null(cv_mem_get_raw(&m, 5));
    ck_assert_uint_eq(m.live, 10);
    cv_mem_put(&m, q, 10);
    cv_mem_put(&m, NULL, 10);
    ck_assert_uint_eq(m.live, 0);
    ck_assert_int_eq(h.live, 0);
    p = cv_mem_resize(&m, NULL, 0, 8);
    ck_assert_ptr_nonnull(p);
    cv_mem_put(&m, p, 8);
}
END_TEST

START_TEST(vectors_grow)
{
    cv_u32s v = { 0 };
    cv_u8s b = { 0 };
    cv_u64s w = { 0 };
    cv_mem m;

    cv_mem_init(&m, NULL, 1000);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(cv_u32s_push(&m, &v, i * 3));
    ck_assert_uint_eq(*cv_u32s_at(&v, 99), 297);
    ck_assert(!cv_u32s_reserve(&m, &v, UINT64_MAX));
    ck_assert(!cv_u32s_reserve(&m, &v, 1000));
    ck_assert_uint_eq(v.n, 100);
    ck_assert(cv_u32s_fill(&m, &v, 20));
    ck_assert_uint_eq(*cv_u32s_at(&v, 19), 0);
    ck_assert(!cv_u32s_fill(&m, &v, 100000));
    ck_assert(cv_u32s_fill(&m, &v, 0));
    ck_assert(cv_u8s_fill(&m, &b, 9) && b.n == 9);
    ck_assert(!cv_u8s_fill(&m, &b, 100000));
    ck_assert(cv_u8s_fill(&m, &b, 0));
    ck_assert(cv_u64s_push(&m, &w, 7) && cv_u64s_fill(&m, &w, 3) && w.n == 3);
    ck_assert_uint_eq(*cv_u64s_at(&w, 0) | *cv_u64s_at(&w, 1) | *cv_u64s_at(&w, 2), 0);
    ck_assert(!cv_u64s_fill(&m, &w, 100000));
    ck_assert(cv_u64s_fill(&m, &w, 0));
    cv_u64s_free(&m, &w);
    cv_u8s_clear(&b);
    cv_u8s_free(&m, &b);
    cv_u32s_free(&m, &v);
    ck_assert_uint_eq(m.live, 0);
}
END_TEST

static uint32_t next_random(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

START_TEST(sort_by_key_then_index)
{
    cv_mem m;

    cv_mem_init(&m, NULL, 1 << 24);
    for (uint32_t n = 0; n < 3000; n = n * 2 + 1) {
        for (uint32_t range = 1; range < 5000; range *= 7) {
            cv_keys k = { 0 };
            uint32_t seed = n + range;

            for (uint32_t i = 0; i < n; i++)
                ck_assert(cv_keys_push(&m, &k, (cv_key){ next_random(&seed) % range, i }));
            cv_keys_sort(&k);
            for (uint32_t i = 1; i < n; i++) {
                const cv_key *a = cv_keys_at(&k, i - 1), *b = cv_keys_at(&k, i);

                ck_assert(a->key < b->key || (a->key == b->key && a->index < b->index));
            }
            for (uint32_t i = 0; i < 50; i++) {
                uint64_t key = next_random(&seed) % (range + 1), at = cv_keys_lower_bound(&k, key);

                ck_assert_uint_le(at, n);
                ck_assert(at == 0 || cv_keys_at(&k, at - 1)->key < key);
                ck_assert(at == n || cv_keys_at(&k, at)->key >= key);
            }
            cv_keys_free(&m, &k);
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
    cv_keys k = { 0 };
    cv_mem m;

    cv_mem_init(&m, NULL, 1 << 20);
    ck_assert_uint_eq(cv_keys_lower_bound(&k, 0), 0); /* of none */
    ck_assert_uint_eq(cv_keys_lower_bound(&k, UINT64_MAX), 0);
    for (size_t i = 0; i < CV_COUNT(KEYS); i++)
        ck_assert(cv_keys_push(&m, &k, (cv_key){ KEYS[i], i }));
    for (size_t i = 0; i < CV_COUNT(WANT); i++)
        ck_assert_uint_eq(cv_keys_lower_bound(&k, WANT[i].key), WANT[i].at);
    k.n--; /* behind the last */
    ck_assert_uint_eq(cv_keys_lower_bound(&k, 10), 5);
    ck_assert_uint_eq(cv_keys_lower_bound(&k, UINT64_MAX), 5);
    k.n = 1;
    ck_assert_uint_eq(cv_keys_lower_bound(&k, 3), 0);
    ck_assert_uint_eq(cv_keys_lower_bound(&k, 4), 1);
    cv_keys_free(&m, &k);
}
END_TEST

static int n_emitted;
static cuvet_diag last;

static void count(void *user, const cuvet_diag *d)
{
    (void)user;
    n_emitted++;
    last = *d;
}

static void make(cv_ctx *x)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(x, NULL, &lim);
    x->emit = count;
    n_emitted = 0;
}

START_TEST(reports_are_capped_and_counted)
{
    cv_ctx *x = malloc(sizeof(*x));

    make(x);
    for (unsigned i = 0; i < 20; i++)
        cv_report(x, CV_R_FATBIN_MAGIC, i, 1, 2, 3);
    ck_assert_int_eq(n_emitted, 8);
    ck_assert_uint_eq(x->n_errors, 20);
    ck_assert_int_eq(x->verdict, CUVET_V_MALFORMED);
    cv_report(x, CV_R_FATBIN_NESTED, 0, 0, 0, 0);
    cv_report(x, CV_R_FATBIN_EMPTY, 0, 0, 0, 0);
    ck_assert_uint_eq(x->n_warnings, 1);
    ck_assert_uint_eq(x->n_notes, 1);
    cv_ctx_unit(x, 10);
    ck_assert_uint_eq(x->n_errors, 0);
    ck_assert_int_eq(x->verdict, CUVET_V_CLEAN);
    free(x);
}
END_TEST

START_TEST(status_follows_the_class)
{
    cv_ctx *x = malloc(sizeof(*x));

    make(x);
    ck_assert_int_eq(cv_reject(x, CV_R_FATBIN_MAGIC, 0, 0, 0), CUVET_E_MALFORMED);
    ck_assert_int_eq(cv_reject(x, CV_R_FATBIN_METHOD_UNSUPPORTED, 0, 0, 0), CUVET_E_UNSUPPORTED);
    ck_assert_int_eq(cv_reject(x, CV_R_LIMIT_MEMBER, 0, 0, 0), CUVET_E_LIMIT);
    ck_assert_int_eq(cv_reject(x, CV_R_IO_READ, 0, 0, 0), CUVET_E_IO);
    ck_assert_int_eq(x->verdict, CUVET_V_ERROR);
    x->mem.limited = true;
    ck_assert_int_eq(cv_nomem(x, 0), CUVET_E_LIMIT);
    x->mem.limited = false;
    ck_assert_int_eq(cv_nomem(x, 0), CUVET_E_NOMEM);
    free(x);
}
END_TEST

START_TEST(work_runs_out_once)
{
    cv_ctx *x = malloc(sizeof(*x));

    make(x);
    cv_ctx_unit(x, 100);
    ck_assert(cv_work(x, 64 * 100, 0));
    ck_assert(cv_work(x, 65536, 0));
    ck_assert(!cv_work(x, 1, 5));
    ck_assert(!cv_work(x, 1, 6));
    ck_assert_int_eq(n_emitted, 1);
    ck_assert_uint_eq(last.file_off, 5);
    ck_assert_int_eq(x->verdict, CUVET_V_LIMIT);
    cv_ctx_unit(x, UINT64_MAX);
    ck_assert(cv_work(x, UINT64_MAX, 0));
    free(x);
}
END_TEST

START_TEST(places_and_paths)
{
    cv_ctx *x = malloc(sizeof(*x));
    char text[200], cut[8];

    make(x);
    cv_path_push(x, CUVET_P_FATBIN, true, 0);
    cv_path_push(x, CUVET_P_ENTRY, true, 2);
    cv_path_push(x, CUVET_P_ELF, false, 0);
    cv_ctx_enter_inner(x, 500);
    cv_ctx_enter_inner(x, 900);
    cv_report_at(x, CUVET_P_SECTION, 7, CV_R_FATBIN_MAGIC, 40, 4, 0x10, 0x20);
    ck_assert(last.inner);
    ck_assert_uint_eq(last.file_off, 500);
    ck_assert_uint_eq(last.inner_off, 40);
    ck_assert_uint_eq(cuvet_path_text(&last.where, text, sizeof(text)), 33);
    ck_assert_str_eq(text, "fatbin[0]/entry[2]/elf/section[7]");
    ck_assert_uint_eq(cuvet_path_text(&last.where, cut, sizeof(cut)), 33);
    ck_assert_str_eq(cut, "fatbin[");
    ck_assert_uint_eq(cuvet_path_text(NULL, NULL, 0), 0);
    ck_assert_uint_eq(cuvet_diag_message(&last, text, sizeof(text)), strlen("magic 0x10, expected 0x20"));
    ck_assert_str_eq(text, "magic 0x10, expected 0x20");
    cv_ctx_leave_inner(x);
    for (unsigned i = 0; i < 20; i++)
        cv_path_push(x, CUVET_P_ENTRY, true, i);
    cv_report(x, CV_R_FATBIN_EMPTY, 3, 0, 0, 0);
    ck_assert_uint_eq(last.where.n, CUVET_PATH_MAX);
    ck_assert(!last.inner);
    for (unsigned i = 0; i < 30; i++)
        cv_path_pop(x);
    ck_assert_uint_eq(x->path.n, 0);
    free(x);
}
END_TEST

/* Every rule: an id of the right form that is found again, a message without unknown fields, a title and a
 * reason. */
START_TEST(rule_table)
{
    for (cuvet_rule r = 0; r < CV_N_RULES; r++) {
        const cuvet_rule_info *i = cuvet_rule_get(r);
        cuvet_diag d = { .rule = r, .severity = i->severity, .got = 1, .want = 2 };
        cuvet_rule again = CV_N_RULES;
        char text[600];

        ck_assert(strncmp(i->id, "CV-", 3) == 0 && strlen(i->title) > 3 && strlen(i->why) > 3);
        ck_assert_int_eq(cuvet_rule_find(i->id, &again), CUVET_OK);
        ck_assert_msg(again == r, "%s is there twice", i->id);
        ck_assert_uint_lt(cuvet_diag_message(&d, text, sizeof(text)), sizeof(text));
        ck_assert_msg(!strchr(text, '{') || strstr(text, "{0, 0}"), "%s: %s", i->id, text);
        if (i->cls == CUVET_C_FORM && i->severity == CUVET_ERROR)
            ck_assert_int_eq(cuvet_diag_verdict(&d), CUVET_V_MALFORMED);
    }
    ck_assert_ptr_null(cuvet_rule_get(CV_N_RULES));
    ck_assert_int_eq(cuvet_rule_find("CV-NONE-001", &(cuvet_rule){ 0 }), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_rule_find(NULL, &(cuvet_rule){ 0 }), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_diag_verdict(NULL), CUVET_V_ERROR);
    ck_assert_uint_eq(cuvet_diag_message(NULL, NULL, 0), 1);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(cuvet_verdict_name(CUVET_V_MALFORMED), "malformed");
    ck_assert_str_eq(cuvet_verdict_name((cuvet_verdict)99), "?");
    ck_assert_str_eq(cuvet_severity_name(CUVET_WARNING), "warning");
    ck_assert_str_eq(cuvet_severity_name((cuvet_severity)9), "?");
    for (int s = 0; s < 60; s++)
        ck_assert_uint_gt(strlen(cuvet_status_name((cuvet_status)s)), 0);
    ck_assert_str_eq(cuvet_status_name(CUVET_E_STALE_HANDLE), "STALE_HANDLE");
    ck_assert_str_eq(cuvet_status_name((cuvet_status)9999), "?");
    ck_assert_str_eq(cuvet_version(), "0.1.0");
}
END_TEST

START_TEST(limit_table)
{
    cuvet_limits l = { .size = sizeof(l) };
    const cuvet_limit_info *info;
    uint64_t v, n = 0;

    ck_assert_int_eq(cuvet_limits_preset("none", &l), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_preset(NULL, &l), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_preset("strict", NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_preset("roomy", &l), CUVET_OK);
    ck_assert_uint_eq(l.nesting, 16);
    ck_assert_int_eq(cuvet_limits_preset("strict", &l), CUVET_OK);
    ck_assert_uint_eq(l.member, UINT64_C(1) << 30);
    while (cuvet_limits_get(&l, n, &info, &v) == CUVET_OK) {
        ck_assert_uint_eq(v, info->strict);
        ck_assert_int_eq(cuvet_limits_set(&l, info->name, 12345), CUVET_OK);
        ck_assert_int_eq(cuvet_limits_get(&l, n, &info, &v), CUVET_OK);
        ck_assert_uint_eq(v, 12345);
        ck_assert_int_eq(cuvet_limits_get(NULL, n, &info, NULL), CUVET_OK);
        n++;
    }
    ck_assert_uint_eq(n, 23);
    ck_assert_int_eq(cuvet_limits_get(&l, 0, NULL, &v), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_limits_set(&l, "nonsense", 1), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_limits_set(NULL, "live", 1), CUVET_E_NULL);
}
END_TEST

START_TEST(text_is_cut_not_overrun)
{
    char buf[8];

    for (size_t cap = 0; cap <= sizeof(buf); cap++) {
        cv_text t = { buf, cap, 0 };

        memset(buf, '#', sizeof(buf));
        cv_text_str(&t, "ab");
        cv_text_dec(&t, 0);
        cv_text_hex(&t, 0xF0);
        cv_text_end(&t);
        ck_assert_uint_eq(t.len, 7);
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
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");

    tcase_add_test(t, arithmetic);
    tcase_add_test(t, memory_is_budgeted);
    tcase_add_test(t, vectors_grow);
    tcase_add_test(t, sort_by_key_then_index);
    tcase_add_test(t, lower_bound_of_keys);
    tcase_add_test(t, reports_are_capped_and_counted);
    tcase_add_test(t, status_follows_the_class);
    tcase_add_test(t, work_runs_out_once);
    tcase_add_test(t, places_and_paths);
    tcase_add_test(t, rule_table);
    tcase_add_test(t, names);
    tcase_add_test(t, limit_table);
    tcase_add_test(t, text_is_cut_not_overrun);
    suite_add_tcase(s, t);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The misuse table: every wrong handle has its own status, and none is ever followed. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/ctx.h"
#include "cuvet/cuvet.h"

static int n_ended;

static void end_body(cuvet_ctx *ctx, void *body)
{
    (void)ctx;
    n_ended++;
    ck_assert_uint_eq(*(uint8_t *)body, 7);
}

static uint64_t new_object(cuvet_ctx *ctx, cv_handle_kind kind)
{
    uint64_t bits = 0;
    void *body = NULL;

    ck_assert_int_eq(cv_handle_new(ctx, kind, 32, end_body, &bits, &body), CUVET_OK);
    *(uint8_t *)body = 7;
    ck_assert_int_eq(cv_handle_put(ctx, bits, CUVET_OK), CUVET_OK);
    return bits;
}

static cuvet_ctx *new_ctx(void)
{
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    return ctx;
}

START_TEST(misuse_table)
{
    cuvet_ctx *ctx = new_ctx(), *owner = new_ctx();
    uint64_t hash = new_object(ctx, CV_H_SCAN), end = new_object(ctx, CV_H_ELF), other;
    void *body;

    owner->handles.salt = (uint16_t)(ctx->handles.salt + 1);
    other = new_object(owner, CV_H_SCAN);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, 0, &body), CUVET_E_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash + 60000, &body), CUVET_E_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash + (UINT64_C(5) << 32), &body), CUVET_E_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, other, &body), CUVET_E_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, end, &body), CUVET_E_HANDLE_KIND);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_ELF, hash, &body), CUVET_E_HANDLE_KIND);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash ^ (UINT64_C(3) << 56), &body), CUVET_E_HANDLE_KIND);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_OK);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_E_BUSY);
    ck_assert_int_eq(cv_handle_put(ctx, hash, CUVET_END), CUVET_END);
    n_ended = 0;
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_ELF, &(uint64_t){ hash }), CUVET_E_HANDLE_KIND);
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_OK);
    ck_assert_int_eq(n_ended, 1);
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_E_STALE_HANDLE);
    new_object(ctx, CV_H_SCAN); /* takes the slot: the old handle stays stale */
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(ctx);
    ck_assert_int_eq(n_ended, 3);
    cuvet_ctx_destroy(owner);
    cuvet_ctx_destroy(NULL);
}
END_TEST

START_TEST(destroy_while_in_use)
{
    cuvet_ctx *ctx = new_ctx();
    uint64_t hash = new_object(ctx, CV_H_SCAN);
    void *body;

    n_ended = 0;
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_OK);
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_OK);
    ck_assert_int_eq(n_ended, 0);
    ck_assert_uint_eq(*(uint8_t *)body, 7); /* still whole for its user */
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cv_handle_get(ctx, CV_H_SCAN, hash, &body), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(cv_handle_done(ctx, hash, CUVET_OK), CUVET_E_STALE_HANDLE);
    ck_assert_int_eq(n_ended, 1);
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* The last generation retires the slot for good. */
START_TEST(generations_never_wrap)
{
    cuvet_ctx *ctx = new_ctx();
    uint64_t hash = new_object(ctx, CV_H_SCAN), next;

    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_OK);
    ctx->handles.chunk[0][0].generation = CV_HANDLE_LAST_GENERATION;
    hash = new_object(ctx, CV_H_SCAN);
    ck_assert_uint_eq(hash & 0xFFFF, 0);
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_OK);
    next = new_object(ctx, CV_H_SCAN);
    ck_assert_uint_eq(next & 0xFFFF, 1);
    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ hash }), CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(ctx);
}
END_TEST

START_TEST(table_is_bounded)
{
    cuvet_ctx *ctx = new_ctx();
    uint64_t bits;
    void *body;
    unsigned count = 0;

    ctx->lim.live = 1;
    for (; count < 70; count++)
        new_object(ctx, CV_H_ELF); /* chunks of 16, 16, 32 and 64 slots */
    ck_assert_uint_eq(ctx->handles.n_slots, 70);
    ck_assert_ptr_nonnull(ctx->handles.chunk[3]);
    ck_assert_ptr_null(ctx->handles.chunk[4]);
    ctx->handles.n_slots = CV_HANDLE_SLOTS; /* as if all were used: no slot, no crash */
    for (unsigned i = 4; i < CV_HANDLE_CHUNKS; i++) {
        ctx->handles.chunk[i] = calloc(CV_HANDLE_CHUNK << (i - 1), sizeof(cv_slot));
        for (unsigned k = 0; k < CV_HANDLE_CHUNK << (i - 1); k++)
            ctx->handles.chunk[i][k].state = CV_SLOT_RETIRED;
    }
    for (unsigned k = 70 - 64; k < 64; k++)
        ctx->handles.chunk[3][k].state = CV_SLOT_RETIRED;
    ck_assert_int_eq(cv_handle_new(ctx, CV_H_ELF, 8, end_body, &bits, &body), CUVET_E_LIMIT);
    cuvet_ctx_destroy(ctx);
}
END_TEST

static void *churn(void *arg)
{
    cuvet_ctx *ctx = arg;

    for (unsigned i = 0; i < 2000; i++) {
        uint64_t bits = 0;
        void *body = NULL;

        if (cv_handle_new(ctx, CV_H_SCAN, 32, end_body, &bits, &body) != CUVET_OK)
            abort();
        *(uint8_t *)body = 7;
        if (cv_handle_put(ctx, bits, CUVET_OK) != CUVET_OK)
            abort();
        if (cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ bits }) != CUVET_OK)
            abort();
        if (cv_handle_get(ctx, CV_H_SCAN, bits, &body) != CUVET_E_STALE_HANDLE)
            abort();
    }
    return NULL;
}

START_TEST(many_threads)
{
    cuvet_ctx *ctx = new_ctx();
    pthread_t pthread[8];

    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&pthread[i], NULL, churn, ctx), 0);
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(pthread[i], NULL), 0);
    cuvet_ctx_destroy(ctx);
}
END_TEST

START_TEST(context_options)
{
    cuvet_ctx_options options = { 0 };
    struct {
        cuvet_limits known;
        uint64_t more;
    } newer = { 0 };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_ctx *ctx = NULL;

    ck_assert_int_eq(cuvet_ctx_create(NULL, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_E_USAGE);
    options.size = sizeof(options);
    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    options.limits = &lim;
    lim.size = 3;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_E_USAGE);
    ck_assert_ptr_null(ctx);
    /* a newer caller has a longer structure: fine, as long as it does not ask for what is not known */
    newer.known = lim;
    newer.known.size = sizeof(newer);
    options.limits = &newer.known;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    ck_assert_uint_eq(ctx->lim.size, sizeof(lim));
    cuvet_ctx_destroy(ctx);
    newer.more = 1;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_E_USAGE);
    options.limits = &lim;
    /* an older caller knows the first two limits only */
    lim.size = offsetof(cuvet_limits, ratio);
    lim.input = 111;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    ck_assert_uint_eq(ctx->lim.input, 111);
    ck_assert_uint_eq(ctx->lim.member, lim.member);
    ck_assert_uint_eq(ctx->lim.nesting, 4);
    ck_assert_uint_eq(cuvet_ctx_peak(ctx), 0);
    ck_assert_uint_eq(cuvet_ctx_peak(NULL), 0);
    cuvet_ctx_destroy(ctx);
}
END_TEST

static cuvet_rule told;

static void on_diag(void *user, const cuvet_diag *diag)
{
    (void)user;
    told = diag->rule;
}

/* Every structure that an object is made from: as short as its size alone, longer than known, and no size at
 * all. */
START_TEST(sizes_of_options)
{
    struct {
        cuvet_linker_options known;
        uint64_t more;
    } newer = { .known = { .size = sizeof(newer), .target = { 90, 0 } } };
    cuvet_ctx_options options = { .size = sizeof(options), .diag = on_diag };
    cuvet_finalize_options fo = { .size = sizeof(fo.size) };
    cuvet_scan_options so = { .size = sizeof(so.size) };
    cuvet_finalizer finalizer = { 0 };
    cuvet_linker linker = { 0 };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_scan scan = { 0 };
    cuvet_diag diag = { .size = sizeof(diag) };
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_ctx_last_diag(ctx, &diag), CUVET_END);
    ck_assert_str_eq(cuvet_ctx_last_text(ctx), "");
    ck_assert_int_eq(cuvet_source_memory("text", 4, &src), CUVET_OK);
    ck_assert_int_eq(cuvet_finalizer_create(ctx, &fo, &finalizer), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &so, &scan), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_create(ctx, &newer.known, &linker), CUVET_OK);
    newer.more = 1;
    told = 0;
    ck_assert_int_eq(cuvet_linker_create(ctx, &newer.known, &linker), CUVET_E_USAGE);
    ck_assert_uint_eq(told, CV_R_API_SIZE);
    ck_assert_uint_eq(linker.bits, 0);
    ck_assert_int_eq(cuvet_ctx_last_diag(ctx, &diag), CUVET_OK);
    ck_assert_uint_eq(diag.rule, CV_R_API_SIZE);
    ck_assert_uint_eq(diag.got, sizeof(newer));
    ck_assert_uint_eq(diag.want, sizeof(newer.known));
    ck_assert_ptr_eq(strstr(cuvet_ctx_last_text(ctx), "CV-API-001 "), cuvet_ctx_last_text(ctx));
    src.size = 0;
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, NULL, &scan), CUVET_E_USAGE);
    ck_assert_uint_eq(scan.bits, 0);
    ck_assert_int_eq(cuvet_ctx_last_diag(NULL, &diag), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_ctx_last_diag(ctx, NULL), CUVET_E_NULL);
    ck_assert_str_eq(cuvet_ctx_last_text(NULL), "");
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* An object that there is no memory for: each entry says CV-LIMIT-013. */
START_TEST(no_room)
{
    static const uint8_t IMAGE[64] = { 0x7F, 'E', 'L', 'F', 2, 1, 1, 0x41, 8 };
    cuvet_ctx_options options = { .size = sizeof(options), .diag = on_diag };
    cuvet_linker_options lo = { .size = sizeof(lo), .target = { 90, 0 } };
    cuvet_finalize_options fo = { .size = sizeof(fo) };
    cuvet_finalizer finalizer = { 0 };
    cuvet_linker linker = { 0 };
    cuvet_elf elf = { 0 };
    cuvet_limits lim = { .size = sizeof(lim) };
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    lim.live = 1;
    options.limits = &lim;
    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
#define TOLD(call)                                                                                           \
    told = 0;                                                                                                \
    ck_assert_int_eq(call, CUVET_E_LIMIT);                                                                   \
    ck_assert_uint_eq(told, CV_R_LIMIT_LIVE)
    TOLD(cuvet_elf_create(ctx, IMAGE, sizeof(IMAGE), &elf));
    TOLD(cuvet_linker_create(ctx, &lo, &linker));
    TOLD(cuvet_finalizer_create(ctx, &fo, &finalizer));
    ck_assert(elf.bits == 0 && linker.bits == 0 && finalizer.bits == 0);
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_handle(void)
{
    Suite *suite = suite_create("handle");
    TCase *tcase = tcase_create("handle");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, misuse_table);
    tcase_add_test(tcase, destroy_while_in_use);
    tcase_add_test(tcase, generations_never_wrap);
    tcase_add_test(tcase, table_is_bounded);
    tcase_add_test(tcase, many_threads);
    tcase_add_test(tcase, context_options);
    tcase_add_test(tcase, sizes_of_options);
    tcase_add_test(tcase, no_room);
    suite_add_tcase(suite, tcase);
    return suite;
}

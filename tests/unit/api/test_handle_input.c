/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles of inputs: a slot that is used up, every row of the misuse table with every call, bodies that are
 * gone, and threads that use one context and each other's handles. */
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "api/ctx.h"
#include "drive/select.h"
#include "support/fatbins.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOW_BUILD 1
#endif
#endif
#ifndef SLOW_BUILD
#define SLOW_BUILD 0
#endif

static cuvet_ctx *new_ctx(void)
{
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    return ctx;
}

static void end_body(cuvet_ctx *ctx, void *body)
{
    (void)ctx;
    if (*(const uint8_t *)body != 7)
        abort();
}

static uint64_t new_object(cuvet_ctx *ctx, cv_handle_kind kind)
{
    uint64_t bits = 0;
    void *body = NULL;

    if (cv_handle_new(ctx, kind, 16, end_body, &bits, &body) != CUVET_OK)
        abort();
    *(uint8_t *)body = 7;
    if (cv_handle_put(ctx, bits, CUVET_OK) != CUVET_OK)
        abort();
    return bits;
}

/* Handles of one slot, one of 65,536 and the last few: each was given out once and is gone. */
typedef struct old_handles {
    uint64_t bits[300];
    unsigned count;
} old_handles;

static void remember(cuvet_ctx *ctx, cv_handle_kind kind, old_handles *old, uint64_t bits, uint32_t index)
{
    void *body;

    if ((index & 0xFFFF) != 1 && index + 8 < CV_HANDLE_LAST_GENERATION)
        return;
    ck_assert_uint_lt(old->count, 300);
    old->bits[old->count++] = bits;
    for (unsigned k = 0; k < old->count; k++)
        ck_assert_int_eq(cv_handle_get(ctx, kind, old->bits[k], &body), CUVET_E_STALE_HANDLE);
}

/* 2^24 + 1 objects one after the other: as many as a slot has generations, then the slot is retired. ASan and
 * TSan see the last 2^20 of them. */
START_TEST(every_generation)
{
    static old_handles old;
    cuvet_ctx *ctx = new_ctx();
    uint64_t bits = new_object(ctx, CV_H_SCAN);
    uint32_t from = SLOW_BUILD ? CV_HANDLE_LAST_GENERATION - 0xFFFFF : 2;

    ck_assert_int_eq(cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ bits }), CUVET_OK);
    remember(ctx, CV_H_SCAN, &old, bits, 1);
    ctx->handles.chunk[0][0].generation = from;
    for (uint32_t i = from; i <= CV_HANDLE_LAST_GENERATION + 2; i++) {
        bits = new_object(ctx, CV_H_SCAN);
        if ((bits & 0xFFFF) != (i > CV_HANDLE_LAST_GENERATION))
            ck_abort_msg("object %u is in slot %u", (unsigned)i, (unsigned)(bits & 0xFFFF));
        if (cv_handle_close(ctx, CV_H_SCAN, &(uint64_t){ bits }) != CUVET_OK)
            ck_abort_msg("object %u", (unsigned)i);
        remember(ctx, CV_H_SCAN, &old, bits, i);
    }
    ck_assert_uint_eq(old.count, SLOW_BUILD ? 16 + 1 + 11 : 256 + 11);
    ck_assert_uint_eq(ctx->handles.n_slots, 2);
    cuvet_ctx_destroy(ctx);
}
END_TEST

static const cuvet_select_options FOR_90 = { .size = sizeof(FOR_90), .target = { 90, 0 } };

/* The same through the public face. Whole with CV_FULL in the environment, but not under ASan and TSan;
 * otherwise from near the end on. */
START_TEST(every_generation_of_an_input)
{
    const char *full = getenv("CV_FULL");
    bool whole = full && *full && !SLOW_BUILD;
    static old_handles old;
    cuvet_ctx *ctx = new_ctx();
    cuvet_select_state st;
    cuvet_select first, in;

    ck_assert_int_eq(cuvet_select_create(ctx, &FOR_90, &first), CUVET_OK);
    in = first;
    ck_assert_int_eq(cuvet_select_destroy(ctx, &in), CUVET_OK);
    if (!whole)
        ctx->handles.chunk[0][0].generation = CV_HANDLE_LAST_GENERATION - 70000;
    for (uint32_t i = ctx->handles.chunk[0][0].generation; i <= CV_HANDLE_LAST_GENERATION + 2; i++) {
        uint64_t bits;

        if (cuvet_select_create(ctx, &FOR_90, &in) != CUVET_OK)
            ck_abort_msg("input %u", (unsigned)i);
        bits = in.bits;
        ck_assert((bits & 0xFFFF) == (i > CV_HANDLE_LAST_GENERATION));
        if (cuvet_select_destroy(ctx, &in) != CUVET_OK || in.bits != 0)
            ck_abort_msg("input %u", (unsigned)i);
        remember(ctx, CV_H_SELECT, &old, bits, i);
        if ((i & 0xFFF) == 0)
            ck_assert_int_eq(cuvet_select_get_state(ctx, first, &st), CUVET_E_STALE_HANDLE);
    }
    ck_assert_int_eq(cuvet_select_destroy(ctx, &first), CUVET_E_STALE_HANDLE);
    ck_assert_uint_gt(old.count, 10);
    cuvet_ctx_destroy(ctx);
}
END_TEST

static cuvet_select new_input(cuvet_ctx *ctx)
{
    cuvet_select in = { 0 };

    if (cuvet_select_create(ctx, &FOR_90, &in) != CUVET_OK || in.bits == 0)
        abort();
    return in;
}

/* What the table gives back to the allocator. */
typedef struct handle_input_burials {
    size_t size; /* that is looked for */
    unsigned count;
    long live;
    cuvet_ctx *ctx;
    /* Destroyed in the middle of an allocation of so many bytes, as another thread would. */
    size_t trigger;
    cuvet_select victim;
} handle_input_burials;

static void *keep_alloc(void *user, size_t size)
{
    handle_input_burials *burials = user;

    if (burials->victim.bits && size == burials->trigger)
        ck_assert_int_eq(cuvet_select_destroy(burials->ctx, &burials->victim), CUVET_OK);
    burials->live++;
    return malloc(size);
}

static void *keep_resize(void *user, void *block, size_t off, size_t count)
{
    (void)user;
    (void)off;
    return realloc(block, count);
}

static void look_at_body(void *user, void *block, size_t size)
{
    handle_input_burials *burials = user;

    if (size == burials->size) {
        burials->count++;
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(((const uint8_t *)block)[i], 0xDB);
    }
    burials->live--;
    free(block);
}

static void destroy_it(void *user, const cuvet_diag *diag)
{
    void **width = user;
    cuvet_select *in = width[1];

    (void)diag;
    if (in->bits)
        ck_assert_int_eq(cuvet_select_destroy(width[0], in), CUVET_OK);
}

/* Destroyed, destroyed by a callback in the middle of select, left to its context: nothing stays readable. */
START_TEST(bodies_are_poisoned)
{
    handle_input_burials burials = { .size = sizeof(cv_input) };
    cuvet_alloc alloc = { sizeof(alloc), keep_alloc, keep_resize, look_at_body, &burials };
    void *width[2];
    cuvet_ctx_options options = {
        .size = sizeof(options), .alloc = &alloc, .diag = destroy_it, .diag_user = width
    };
    cuvet_select in, again;
    cuvet_ctx *ctx;
    size_t count;
    const uint8_t *bytes = sample("plain.sm_90.cubin", &count, 0); /* an executable: refused, and said */

    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    width[0] = ctx;
    width[1] = &in;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(cuvet_select_create(ctx, &FOR_90, &in), CUVET_OK);
        ck_assert_int_eq(cuvet_select_add_option(ctx, in, "-v", 2), CUVET_OK);
        ck_assert_int_eq(cuvet_select_bind(ctx, in, bytes, count, CUVET_BIND_COPY, NULL), CUVET_OK);
        again = in;
        if (i == 0)
            ck_assert_int_eq(cuvet_select_destroy(ctx, &in), CUVET_OK);
        else if (i == 1)
            ck_assert_int_eq(cuvet_select_run(ctx, in), CUVET_E_STALE_HANDLE);
        ck_assert_uint_eq(burials.count, i < 2 ? i + 1 : 2);
        if (i < 2) {
            ck_assert_uint_eq(in.bits, 0);
            ck_assert_int_eq(cuvet_select_destroy(ctx, &again), CUVET_E_STALE_HANDLE);
        }
    }
    cuvet_ctx_destroy(ctx);
    ck_assert_uint_eq(burials.count, 3);
    ck_assert_int_eq(burials.live, 0);
}
END_TEST

/* Destroyed by another thread while its result is taken: nobody gets an image, nobody has to give one back.
 */
START_TEST(destroyed_while_taken)
{
    handle_input_burials burials = { .size = sizeof(cv_input) };
    cuvet_alloc alloc = { sizeof(alloc), keep_alloc, keep_resize, look_at_body, &burials };
    cuvet_ctx_options options = { .size = sizeof(options), .alloc = &alloc };
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_image img = { 1 };
    cuvet_select in;
    size_t count;
    const uint8_t *bytes = sample("plain.sm_90.rdc.cubin", &count, 0);

    ck_assert_int_eq(cuvet_ctx_create(&options, &burials.ctx), CUVET_OK);
    in = new_input(burials.ctx);
    ck_assert_int_eq(cuvet_select_bind(burials.ctx, in, bytes, count, CUVET_BIND_BORROW, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_select_run(burials.ctx, in), CUVET_OK);
    ck_assert_int_eq(cuvet_select_get_result(burials.ctx, in, &result), CUVET_OK);
    burials.trigger = result.n;
    burials.victim = in;
    ck_assert_int_eq(cuvet_select_take_image(burials.ctx, in, &img), CUVET_E_STALE_HANDLE);
    ck_assert_uint_eq(burials.victim.bits, 0);
    ck_assert_uint_eq(img.bits, 0);
    ck_assert_uint_eq(burials.count, 1);
    cuvet_ctx_destroy(burials.ctx);
    ck_assert_int_eq(burials.live, 0);
}
END_TEST

enum { N_CALLS = 14, BIND_CALL = 2, CANCEL_CALL = 12, DESTROY_CALL = 13 };

static cuvet_status take_and_end(cuvet_ctx *ctx, cuvet_select in)
{
    cuvet_image image = { 0 };
    cuvet_status status = cuvet_select_take_image(ctx, in, &image);

    if (status == CUVET_OK)
        status = cuvet_image_destroy(ctx, &image);
    return status;
}

/* Every call that takes the handle of a selection, with arguments that are in order. */
static cuvet_status call_number(unsigned index, cuvet_ctx *ctx, cuvet_select in)
{
    static const uint8_t BYTES[64] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    cuvet_select_state st;
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_source src = { .size = sizeof(src) };
    const char *at;
    cuvet_diag diag = { .size = sizeof(diag) };
    size_t count;

    switch (index) {
    case 0: return cuvet_select_add_option(ctx, in, "-v", 2);
    case 1: return cuvet_select_get_option(ctx, in, 0, &at, &count);
    case BIND_CALL: return cuvet_select_bind(ctx, in, BYTES, sizeof(BYTES), CUVET_BIND_COPY, NULL);
    case 3:
        if (cuvet_source_memory(BYTES, sizeof(BYTES), &src) != CUVET_OK)
            abort();
        return cuvet_select_bind_source(ctx, in, &src, NULL);
    case 4: return cuvet_select_run(ctx, in);
    case 5: return cuvet_select_get_candidate(ctx, in, 0, &candidate);
    case 6: return cuvet_select_get_result(ctx, in, &result);
    case 7: return cuvet_select_get_diag(ctx, in, 0, &diag);
    case 8: return cuvet_select_get_log(ctx, in, &at, &count);
    case 9: return cuvet_select_get_state(ctx, in, &st);
    case 10: return take_and_end(ctx, in);
    case 11: return cuvet_select_add_option(ctx, in, "-O1", 3);
    case CANCEL_CALL: return cuvet_select_cancel(ctx, in);
    default: return cuvet_select_destroy(ctx, &in);
    }
}

/* The misuse table, every call. */
START_TEST(misuse_of_inputs)
{
    cuvet_ctx *ctx = new_ctx(), *owner = new_ctx();
    cuvet_select good = new_input(ctx), stale, other;
    uint64_t scan = new_object(ctx, CV_H_SCAN), elf = new_object(ctx, CV_H_ELF);
    const cuvet_select made_up[] = {
        { 0 },                              /* zero */
        { good.bits + 60000 },              /* no such slot */
        { good.bits + (UINT64_C(1) << 32) } /* a generation that is not there yet */
    };

    owner->handles.salt = (uint16_t)(ctx->handles.salt + 1);
    other = new_input(owner);
    stale = new_input(ctx);
    ck_assert_int_eq(call_number(DESTROY_CALL, ctx, stale), CUVET_OK);
    for (unsigned i = 0; i < N_CALLS; i++) {
        for (unsigned k = 0; k < 3; k++)
            ck_assert_int_eq(call_number(i, ctx, made_up[k]), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, ctx, other), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, owner, good), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, ctx, stale), CUVET_E_STALE_HANDLE);
        ck_assert_int_eq(call_number(i, ctx, (cuvet_select){ scan }), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call_number(i, ctx, (cuvet_select){ elf }), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call_number(i, NULL, good), CUVET_E_NULL);
    }
    new_input(ctx); /* takes the slot: the old handle stays stale */
    for (unsigned i = 0; i < N_CALLS; i++)
        ck_assert_int_eq(call_number(i, ctx, stale), CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(owner);
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* A compiler that stops in the middle, until it is told to go on or that nobody waits any more. */
typedef struct handle_input_stopped {
    cuvet_ctx *ctx;
    cuvet_select in;
    sem_t inside, go_on;
    bool until_cancelled;
    cuvet_status got;
} handle_input_stopped;

static cuvet_status stop_inside(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    handle_input_stopped *stopped = user;

    sem_post(&stopped->inside);
    if (!stopped->until_cancelled)
        sem_wait(&stopped->go_on);
    while (stopped->until_cancelled && !__atomic_load_n(request->cancel, __ATOMIC_RELAXED))
        sched_yield();
    out->end = stopped->until_cancelled ? CUVET_COMPILE_CANCELLED : CUVET_COMPILE_FAILED;
    return CUVET_OK;
}

static void *select_it(void *user)
{
    handle_input_stopped *stopped = user;

    stopped->got = cuvet_select_run(stopped->ctx, stopped->in);
    return NULL;
}

static void run_until_inside(handle_input_stopped *stopped, pthread_t *pthread)
{
    const cuvet_compiler cc = { sizeof(cc), stop_inside, stopped };
    cuvet_select_options options = FOR_90;

    options.compiler = &cc;
    stopped->ctx = new_ctx();
    ck_assert_int_eq(cuvet_select_create(stopped->ctx, &options, &stopped->in), CUVET_OK);
    ck_assert_int_eq(sem_init(&stopped->inside, 0, 0), 0);
    ck_assert_int_eq(sem_init(&stopped->go_on, 0, 0), 0);
    ck_assert_int_eq(call_number(BIND_CALL, stopped->ctx, stopped->in), CUVET_OK);
    ck_assert_int_eq(pthread_create(pthread, NULL, select_it, stopped), 0);
    ck_assert_int_eq(sem_wait(&stopped->inside), 0);
}

START_TEST(in_use_on_another_thread)
{
    handle_input_stopped stopped = { .until_cancelled = false };
    pthread_t pthread;

    run_until_inside(&stopped, &pthread);
    for (unsigned i = 0; i < CANCEL_CALL; i++)
        ck_assert_int_eq(call_number(i, stopped.ctx, stopped.in), CUVET_E_BUSY);
    ck_assert_int_eq(call_number(DESTROY_CALL, stopped.ctx, stopped.in), CUVET_OK);
    for (unsigned i = 0; i < N_CALLS; i++)
        ck_assert_int_eq(call_number(i, stopped.ctx, stopped.in), CUVET_E_STALE_HANDLE);
    sem_post(&stopped.go_on);
    ck_assert_int_eq(pthread_join(pthread, NULL), 0);
    ck_assert_int_eq(stopped.got, CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(stopped.ctx);
}
END_TEST

START_TEST(cancelled_from_another_thread)
{
    handle_input_stopped stopped = { .until_cancelled = true };
    cuvet_select_state st;
    pthread_t pthread;

    run_until_inside(&stopped, &pthread);
    ck_assert_int_eq(cuvet_select_cancel(stopped.ctx, stopped.in), CUVET_OK);
    ck_assert_int_eq(pthread_join(pthread, NULL), 0);
    ck_assert_int_eq(stopped.got, CUVET_E_CANCELLED);
    ck_assert_int_eq(cuvet_select_get_state(stopped.ctx, stopped.in, &st), CUVET_OK);
    ck_assert_int_eq(st, CUVET_SELECT_FAILED);
    cuvet_ctx_destroy(stopped.ctx);
}
END_TEST

#define THREADS 8u
#define ROUNDS  150u

/* One context, and what each thread works on at the moment: others poke at it. */
typedef struct handle_input_market {
    cuvet_ctx *ctx;
    uint64_t bits[THREADS]; /* atomic */
    const uint8_t *bytes;
    size_t size;
    unsigned next; /* atomic: numbers for the threads */
    unsigned long selected, busy, stale;
} handle_input_market;

/* Whatever others do meanwhile: never a status that tells of a fault of ours. */
static cuvet_status fair(handle_input_market *market, cuvet_status status)
{
    if (status == CUVET_E_INTERNAL || status == CUVET_E_POISONED || status == CUVET_E_HANDLE_KIND ||
        status == CUVET_E_HANDLE || status == CUVET_E_NOMEM)
        abort();
    if (status == CUVET_E_BUSY)
        __atomic_fetch_add(&market->busy, 1, __ATOMIC_RELAXED);
    if (status == CUVET_E_STALE_HANDLE)
        __atomic_fetch_add(&market->stale, 1, __ATOMIC_RELAXED);
    return status;
}

static void poke(handle_input_market *market, unsigned mine, unsigned seed)
{
    for (unsigned k = 0; k < THREADS; k++) {
        uint64_t bits = __atomic_load_n(&market->bits[k], __ATOMIC_RELAXED);

        seed = seed * 1103515245u + 12345;
        if (k != mine && bits)
            (void)fair(market, call_number((seed >> 16) % N_CALLS, market->ctx, (cuvet_select){ bits }));
    }
}

static void *trade(void *user)
{
    handle_input_market *market = user;
    unsigned mine = __atomic_fetch_add(&market->next, 1, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < ROUNDS; i++) {
        cuvet_select in = new_input(market->ctx), before = in;
        cuvet_image img = { 0 };
        cuvet_status status;

        if (i & 1) /* half of them are left alone until they are done */
            __atomic_store_n(&market->bits[mine], in.bits, __ATOMIC_RELAXED);
        status = fair(market, cuvet_select_bind(market->ctx, in, market->bytes, market->size,
                                                i & 2 ? CUVET_BIND_COPY : 0, NULL));
        if (status == CUVET_OK)
            status = fair(market, cuvet_select_run(market->ctx, in));
        if (status != CUVET_OK && !(i & 1))
            abort();
        if (status == CUVET_OK && fair(market, cuvet_select_take_image(market->ctx, in, &img)) == CUVET_OK) {
            __atomic_fetch_add(&market->selected, 1, __ATOMIC_RELAXED);
            if (cuvet_image_destroy(market->ctx, &img) != CUVET_OK)
                abort();
        }
        __atomic_store_n(&market->bits[mine], in.bits, __ATOMIC_RELAXED);
        poke(market, mine, i * THREADS + mine);
        (void)fair(market, cuvet_select_destroy(market->ctx, &in));
        if (fair(market, cuvet_select_destroy(market->ctx, &before)) != CUVET_E_STALE_HANDLE)
            abort();
    }
    return NULL;
}

START_TEST(threads_and_each_others_inputs)
{
    static fb_state fatbin;
    handle_input_market market = { .ctx = new_ctx() };
    pthread_t pthread[THREADS];

    fb_make(&fatbin, "sm_75 sm_80 sm_90 compute_90");
    market.bytes = fatbin.bytes;
    market.size = fatbin.size;
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&pthread[i], NULL, trade, &market), 0);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(pthread[i], NULL), 0);
    ck_assert_uint_ge(market.selected, THREADS * ROUNDS / 2);
    ck_assert_uint_gt(market.stale, THREADS * ROUNDS - 1);
    cuvet_ctx_destroy(market.ctx);
}
END_TEST

Suite *suite_handle_input(void)
{
    Suite *suite = suite_create("handle_input");
    TCase *tcase = tcase_create("handle_input");

    tcase_set_timeout(tcase, 180);
    tcase_add_test(tcase, every_generation);
    tcase_add_test(tcase, every_generation_of_an_input);
    tcase_add_test(tcase, bodies_are_poisoned);
    tcase_add_test(tcase, destroyed_while_taken);
    tcase_add_test(tcase, misuse_of_inputs);
    tcase_add_test(tcase, in_use_on_another_thread);
    tcase_add_test(tcase, cancelled_from_another_thread);
    tcase_add_test(tcase, threads_and_each_others_inputs);
    suite_add_tcase(suite, tcase);
    return suite;
}

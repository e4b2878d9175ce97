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
    cuvet_ctx *c;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &c), CUVET_OK);
    return c;
}

static void end_body(cuvet_ctx *ctx, void *body)
{
    (void)ctx;
    if (*(const uint8_t *)body != 7)
        abort();
}

static uint64_t new_object(cuvet_ctx *c, cv_handle_kind kind)
{
    uint64_t bits = 0;
    void *body = NULL;

    if (cv_handle_new(c, kind, 16, end_body, &bits, &body) != CUVET_OK)
        abort();
    *(uint8_t *)body = 7;
    if (cv_handle_put(c, bits, CUVET_OK) != CUVET_OK)
        abort();
    return bits;
}

/* Handles of one slot, one of 65,536 and the last few: each was given out once and is gone. */
typedef struct old_handles {
    uint64_t bits[300];
    unsigned n;
} old_handles;

static void remember(cuvet_ctx *c, cv_handle_kind kind, old_handles *old, uint64_t bits, uint32_t i)
{
    void *body;

    if ((i & 0xFFFF) != 1 && i + 8 < CV_HANDLE_LAST_GENERATION)
        return;
    ck_assert_uint_lt(old->n, 300);
    old->bits[old->n++] = bits;
    for (unsigned k = 0; k < old->n; k++)
        ck_assert_int_eq(cv_handle_get(c, kind, old->bits[k], &body), CUVET_E_STALE_HANDLE);
}

/* 2^24 + 1 objects one after the other: as many as a slot has generations, then the slot is retired. ASan and
 * TSan see the last 2^20 of them. */
START_TEST(every_generation)
{
    static old_handles old;
    cuvet_ctx *c = new_ctx();
    uint64_t bits = new_object(c, CV_H_SCAN);
    uint32_t from = SLOW_BUILD ? CV_HANDLE_LAST_GENERATION - 0xFFFFF : 2;

    ck_assert_int_eq(cv_handle_destroy(c, CV_H_SCAN, bits), CUVET_OK);
    remember(c, CV_H_SCAN, &old, bits, 1);
    c->handles.chunk[0][0].generation = from;
    for (uint32_t i = from; i <= CV_HANDLE_LAST_GENERATION + 2; i++) {
        bits = new_object(c, CV_H_SCAN);
        if ((bits & 0xFFFF) != (i > CV_HANDLE_LAST_GENERATION))
            ck_abort_msg("object %u is in slot %u", (unsigned)i, (unsigned)(bits & 0xFFFF));
        if (cv_handle_destroy(c, CV_H_SCAN, bits) != CUVET_OK)
            ck_abort_msg("object %u", (unsigned)i);
        remember(c, CV_H_SCAN, &old, bits, i);
    }
    ck_assert_uint_eq(old.n, SLOW_BUILD ? 16 + 1 + 11 : 256 + 11);
    ck_assert_uint_eq(c->handles.n_slots, 2);
    cuvet_ctx_destroy(c);
}
END_TEST

/* The same through the public face. Whole with CV_FULL in the environment, but not under ASan and TSan;
 * otherwise from near the end on. */
START_TEST(every_generation_of_an_input)
{
    const char *full = getenv("CV_FULL");
    bool whole = full && *full && !SLOW_BUILD;
    static old_handles old;
    cuvet_ctx *c = new_ctx();
    cuvet_input_state st;
    cuvet_input first, in;

    ck_assert_int_eq(cuvet_input_create(c, NULL, &first), CUVET_OK);
    in = first;
    ck_assert_int_eq(cuvet_input_destroy(c, &in), CUVET_OK);
    if (!whole)
        c->handles.chunk[0][0].generation = CV_HANDLE_LAST_GENERATION - 70000;
    for (uint32_t i = c->handles.chunk[0][0].generation; i <= CV_HANDLE_LAST_GENERATION + 2; i++) {
        uint64_t bits;

        if (cuvet_input_create(c, NULL, &in) != CUVET_OK)
            ck_abort_msg("input %u", (unsigned)i);
        bits = in.bits;
        ck_assert((bits & 0xFFFF) == (i > CV_HANDLE_LAST_GENERATION));
        if (cuvet_input_destroy(c, &in) != CUVET_OK || in.bits != 0)
            ck_abort_msg("input %u", (unsigned)i);
        remember(c, CV_H_INPUT, &old, bits, i);
        if ((i & 0xFFF) == 0)
            ck_assert_int_eq(cuvet_input_get_state(c, first, &st), CUVET_E_STALE_HANDLE);
    }
    ck_assert_int_eq(cuvet_input_destroy(c, &first), CUVET_E_STALE_HANDLE);
    ck_assert_uint_gt(old.n, 10);
    cuvet_ctx_destroy(c);
}
END_TEST

static const cuvet_input_config FOR_90 = { .size = sizeof(FOR_90), .target = { 90, 0 } };

static cuvet_input new_input(cuvet_ctx *c)
{
    cuvet_input in = { 0 };

    if (cuvet_input_create(c, &FOR_90, &in) != CUVET_OK || in.bits == 0)
        abort();
    return in;
}

/* What the table gives back to the allocator. */
typedef struct burials {
    size_t size; /* that is looked for */
    unsigned n;
    long live;
    cuvet_ctx *c;
    cuvet_input victim; /* destroyed in the middle of the next allocation, as another thread would */
} burials;

static void *keep_alloc(void *u, size_t n)
{
    burials *b = u;

    if (b->victim.bits)
        ck_assert_int_eq(cuvet_input_destroy(b->c, &b->victim), CUVET_OK);
    b->live++;
    return malloc(n);
}

static void *keep_resize(void *u, void *p, size_t o, size_t n)
{
    (void)u;
    (void)o;
    return realloc(p, n);
}

static void look_at_body(void *u, void *p, size_t n)
{
    burials *b = u;

    if (n == b->size) {
        b->n++;
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(((const uint8_t *)p)[i], 0xDB);
    }
    b->live--;
    free(p);
}

static void destroy_it(void *u, const cuvet_diag *d)
{
    void **w = u;
    cuvet_input *in = w[1];

    (void)d;
    if (in->bits)
        ck_assert_int_eq(cuvet_input_destroy(w[0], in), CUVET_OK);
}

/* Destroyed, destroyed by a callback in the middle of select, left to its context: nothing stays readable. */
START_TEST(bodies_are_poisoned)
{
    burials b = { .size = sizeof(cv_input) };
    cuvet_alloc a = { sizeof(a), keep_alloc, keep_resize, look_at_body, &b };
    void *w[2];
    cuvet_ctx_options o = { sizeof(o), &a, NULL, destroy_it, w };
    cuvet_input in, again;
    cuvet_ctx *c;
    size_t n;
    const uint8_t *p = sample("plain.sm_90.cubin", &n, 0); /* an executable: refused, and said */

    ck_assert_int_eq(cuvet_ctx_create(&o, &c), CUVET_OK);
    w[0] = c;
    w[1] = &in;
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(cuvet_input_create(c, &FOR_90, &in), CUVET_OK);
        ck_assert_int_eq(cuvet_input_option(c, in, "-v", 2), CUVET_OK);
        ck_assert_int_eq(cuvet_input_bind(c, in, p, n, CUVET_BIND_COPY, NULL), CUVET_OK);
        again = in;
        if (i == 0)
            ck_assert_int_eq(cuvet_input_destroy(c, &in), CUVET_OK);
        else if (i == 1)
            ck_assert_int_eq(cuvet_input_select(c, in), CUVET_E_STALE_HANDLE);
        ck_assert_uint_eq(b.n, i < 2 ? i + 1 : 2);
        if (i < 2) {
            ck_assert_uint_eq(in.bits, 0);
            ck_assert_int_eq(cuvet_input_destroy(c, &again), CUVET_E_STALE_HANDLE);
        }
    }
    cuvet_ctx_destroy(c);
    ck_assert_uint_eq(b.n, 3);
    ck_assert_int_eq(b.live, 0);
}
END_TEST

/* Destroyed by another thread while its result is taken: nobody gets an image, nobody has to give one back.
 */
START_TEST(destroyed_while_taken)
{
    burials b = { .size = sizeof(cv_input) };
    cuvet_alloc a = { sizeof(a), keep_alloc, keep_resize, look_at_body, &b };
    cuvet_ctx_options o = { sizeof(o), &a, NULL, NULL, NULL };
    cuvet_image img = { .size = sizeof(img) };
    cuvet_input in;
    size_t n;
    const uint8_t *p = sample("plain.sm_90.rdc.cubin", &n, 0);

    ck_assert_int_eq(cuvet_ctx_create(&o, &b.c), CUVET_OK);
    in = new_input(b.c);
    ck_assert_int_eq(cuvet_input_bind(b.c, in, p, n, CUVET_BIND_BORROW, NULL), CUVET_OK);
    ck_assert_int_eq(cuvet_input_select(b.c, in), CUVET_OK);
    b.victim = in;
    ck_assert_int_eq(cuvet_input_take_result(b.c, in, &img), CUVET_E_STALE_HANDLE);
    ck_assert_uint_eq(b.victim.bits, 0);
    ck_assert(img.bytes == NULL && img.n == 0);
    ck_assert_uint_eq(b.n, 1);
    cuvet_ctx_destroy(b.c);
    ck_assert_int_eq(b.live, 0);
}
END_TEST

enum { N_CALLS = 19, CANCEL_CALL = 17, DESTROY_CALL = 18 };

/* Every call that takes the handle of an input, with arguments that are in order. */
static cuvet_status call_number(unsigned i, cuvet_ctx *c, cuvet_input in)
{
    static const uint8_t BYTES[64] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    cuvet_input_config cfg = FOR_90;
    cuvet_input_state st;
    cuvet_candidate k = { .size = sizeof(k) };
    cuvet_result r = { .size = sizeof(r) };
    cuvet_image img = { .size = sizeof(img) };
    const char *p;
    cuvet_diag d = { .size = sizeof(d) };
    size_t n;

    switch (i) {
    case 0: return cuvet_input_configure(c, in, &cfg);
    case 1: return cuvet_input_get_config(c, in, &cfg);
    case 2: return cuvet_input_set_target(c, in, cfg.target);
    case 3: return cuvet_input_set_request(c, in, CUVET_REQUEST_LINK);
    case 4: return cuvet_input_set_flags(c, in, 0);
    case 5: return cuvet_input_option(c, in, "-v", 2);
    case 6: return cuvet_input_get_option(c, in, 0, &p, &n);
    case 7: return cuvet_input_set_compiler(c, in, NULL);
    case 8: return cuvet_input_bind(c, in, BYTES, sizeof(BYTES), CUVET_BIND_COPY, NULL);
    case 9: return cuvet_input_select(c, in);
    case 10: return cuvet_input_get_candidate(c, in, 0, &k);
    case 11: return cuvet_input_get_result(c, in, &r);
    case 12: return cuvet_input_get_diag(c, in, 0, &d);
    case 13: return cuvet_input_get_log(c, in, &p, &n);
    case 14: return cuvet_input_get_state(c, in, &st);
    case 15: return cuvet_input_set_target(c, in, (cuvet_target){ 75, 0 });
    case 16: {
        cuvet_status s = cuvet_input_take_result(c, in, &img);

        cuvet_image_destroy(&img);
        return s;
    }
    case CANCEL_CALL: return cuvet_input_cancel(c, in);
    default: return cuvet_input_destroy(c, &in);
    }
}

/* The misuse table, every call. */
START_TEST(misuse_of_inputs)
{
    cuvet_ctx *c = new_ctx(), *d = new_ctx();
    cuvet_input good = new_input(c), stale, other;
    uint64_t scan = new_object(c, CV_H_SCAN), elf = new_object(c, CV_H_ELF);
    const cuvet_input made_up[] = {
        { 0 },                              /* zero */
        { good.bits + 60000 },              /* no such slot */
        { good.bits + (UINT64_C(1) << 32) } /* a generation that is not there yet */
    };

    d->handles.salt = (uint16_t)(c->handles.salt + 1);
    other = new_input(d);
    stale = new_input(c);
    ck_assert_int_eq(call_number(DESTROY_CALL, c, stale), CUVET_OK);
    for (unsigned i = 0; i < N_CALLS; i++) {
        for (unsigned k = 0; k < 3; k++)
            ck_assert_int_eq(call_number(i, c, made_up[k]), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, c, other), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, d, good), CUVET_E_HANDLE);
        ck_assert_int_eq(call_number(i, c, stale), CUVET_E_STALE_HANDLE);
        ck_assert_int_eq(call_number(i, c, (cuvet_input){ scan }), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call_number(i, c, (cuvet_input){ elf }), CUVET_E_HANDLE_KIND);
        ck_assert_int_eq(call_number(i, NULL, good), CUVET_E_NULL);
    }
    new_input(c); /* takes the slot: the old handle stays stale */
    for (unsigned i = 0; i < N_CALLS; i++)
        ck_assert_int_eq(call_number(i, c, stale), CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(d);
    cuvet_ctx_destroy(c);
}
END_TEST

/* A compiler that stops in the middle, until it is told to go on or that nobody waits any more. */
typedef struct stopped {
    cuvet_ctx *c;
    cuvet_input in;
    sem_t inside, go_on;
    bool until_cancelled;
    cuvet_status got;
} stopped;

static cuvet_status stop_inside(void *u, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    stopped *s = u;

    sem_post(&s->inside);
    if (!s->until_cancelled)
        sem_wait(&s->go_on);
    while (s->until_cancelled && !__atomic_load_n(q->cancel, __ATOMIC_RELAXED))
        sched_yield();
    out->end = s->until_cancelled ? CUVET_COMPILE_CANCELLED : CUVET_COMPILE_FAILED;
    return CUVET_OK;
}

static void *select_it(void *u)
{
    stopped *s = u;

    s->got = cuvet_input_select(s->c, s->in);
    return NULL;
}

static void run_until_inside(stopped *s, pthread_t *t)
{
    const cuvet_compiler cc = { sizeof(cc), stop_inside, s };

    s->c = new_ctx();
    s->in = new_input(s->c);
    ck_assert_int_eq(sem_init(&s->inside, 0, 0), 0);
    ck_assert_int_eq(sem_init(&s->go_on, 0, 0), 0);
    ck_assert_int_eq(cuvet_input_set_compiler(s->c, s->in, &cc), CUVET_OK);
    ck_assert_int_eq(call_number(8, s->c, s->in), CUVET_OK);
    ck_assert_int_eq(pthread_create(t, NULL, select_it, s), 0);
    ck_assert_int_eq(sem_wait(&s->inside), 0);
}

START_TEST(in_use_on_another_thread)
{
    stopped s = { .until_cancelled = false };
    pthread_t t;

    run_until_inside(&s, &t);
    for (unsigned i = 0; i < CANCEL_CALL; i++)
        ck_assert_int_eq(call_number(i, s.c, s.in), CUVET_E_BUSY);
    ck_assert_int_eq(call_number(DESTROY_CALL, s.c, s.in), CUVET_OK);
    for (unsigned i = 0; i < N_CALLS; i++)
        ck_assert_int_eq(call_number(i, s.c, s.in), CUVET_E_STALE_HANDLE);
    sem_post(&s.go_on);
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    ck_assert_int_eq(s.got, CUVET_E_STALE_HANDLE);
    cuvet_ctx_destroy(s.c);
}
END_TEST

START_TEST(cancelled_from_another_thread)
{
    stopped s = { .until_cancelled = true };
    cuvet_input_state st;
    pthread_t t;

    run_until_inside(&s, &t);
    ck_assert_int_eq(cuvet_input_cancel(s.c, s.in), CUVET_OK);
    ck_assert_int_eq(pthread_join(t, NULL), 0);
    ck_assert_int_eq(s.got, CUVET_E_CANCELLED);
    ck_assert_int_eq(cuvet_input_get_state(s.c, s.in, &st), CUVET_OK);
    ck_assert_int_eq(st, CUVET_INPUT_FAILED);
    cuvet_ctx_destroy(s.c);
}
END_TEST

#define THREADS 8u
#define ROUNDS  150u

/* One context, and what each thread works on at the moment: others poke at it. */
typedef struct market {
    cuvet_ctx *c;
    uint64_t bits[THREADS]; /* atomic */
    const uint8_t *p;
    size_t n;
    unsigned next; /* atomic: numbers for the threads */
    unsigned long selected, busy, stale;
} market;

/* Whatever others do meanwhile: never a status that tells of a fault of ours. */
static cuvet_status fair(market *m, cuvet_status s)
{
    if (s == CUVET_E_INTERNAL || s == CUVET_E_POISONED || s == CUVET_E_HANDLE_KIND || s == CUVET_E_HANDLE ||
        s == CUVET_E_NOMEM)
        abort();
    if (s == CUVET_E_BUSY)
        __atomic_fetch_add(&m->busy, 1, __ATOMIC_RELAXED);
    if (s == CUVET_E_STALE_HANDLE)
        __atomic_fetch_add(&m->stale, 1, __ATOMIC_RELAXED);
    return s;
}

static void poke(market *m, unsigned mine, unsigned seed)
{
    for (unsigned k = 0; k < THREADS; k++) {
        uint64_t bits = __atomic_load_n(&m->bits[k], __ATOMIC_RELAXED);

        seed = seed * 1103515245u + 12345;
        if (k != mine && bits)
            (void)fair(m, call_number((seed >> 16) % N_CALLS, m->c, (cuvet_input){ bits }));
    }
}

static void *trade(void *u)
{
    market *m = u;
    unsigned mine = __atomic_fetch_add(&m->next, 1, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < ROUNDS; i++) {
        cuvet_input in = new_input(m->c), before = in;
        cuvet_image img = { .size = sizeof(img) };
        cuvet_status s;

        if (i & 1) /* half of them are left alone until they are done */
            __atomic_store_n(&m->bits[mine], in.bits, __ATOMIC_RELAXED);
        s = fair(m, cuvet_input_bind(m->c, in, m->p, m->n, i & 2 ? CUVET_BIND_COPY : 0, NULL));
        if (s == CUVET_OK)
            s = fair(m, cuvet_input_select(m->c, in));
        if (s != CUVET_OK && !(i & 1))
            abort();
        if (s == CUVET_OK && fair(m, cuvet_input_take_result(m->c, in, &img)) == CUVET_OK) {
            __atomic_fetch_add(&m->selected, 1, __ATOMIC_RELAXED);
            cuvet_image_destroy(&img);
        }
        __atomic_store_n(&m->bits[mine], in.bits, __ATOMIC_RELAXED);
        poke(m, mine, i * THREADS + mine);
        (void)fair(m, cuvet_input_destroy(m->c, &in));
        if (fair(m, cuvet_input_destroy(m->c, &before)) != CUVET_E_STALE_HANDLE)
            abort();
    }
    return NULL;
}

START_TEST(threads_and_each_others_inputs)
{
    static fb f;
    market m = { .c = new_ctx() };
    pthread_t t[THREADS];

    fb_make(&f, "sm_75 sm_80 sm_90 compute_90");
    m.p = f.bytes;
    m.n = f.n;
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, trade, &m), 0);
    for (unsigned i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(t[i], NULL), 0);
    ck_assert_uint_ge(m.selected, THREADS * ROUNDS / 2);
    ck_assert_uint_gt(m.stale, THREADS * ROUNDS - 1);
    cuvet_ctx_destroy(m.c);
}
END_TEST

Suite *suite_handle_input(void)
{
    Suite *s = suite_create("handle_input");
    TCase *t = tcase_create("handle_input");

    tcase_set_timeout(t, 180);
    tcase_add_test(t, every_generation);
    tcase_add_test(t, every_generation_of_an_input);
    tcase_add_test(t, bodies_are_poisoned);
    tcase_add_test(t, destroyed_while_taken);
    tcase_add_test(t, misuse_of_inputs);
    tcase_add_test(t, in_use_on_another_thread);
    tcase_add_test(t, cancelled_from_another_thread);
    tcase_add_test(t, threads_and_each_others_inputs);
    suite_add_tcase(s, t);
    return s;
}

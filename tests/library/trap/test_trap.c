/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What ships where an index of ours is wrong: the operation fails with the internal error, of this object
 * nothing is given out any more, other objects and other threads notice nothing. The wrong index is one
 * of this file: it happens in functions of the caller that the library calls in the middle of its work.
 * Where wrong indexes abort (tests/unit/base/test_trap.c), only that no operation counts one is left to
 * see. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "base/vec.h"
#include "support/fatbins.h"

#define LINKED "plain.sm_100.rdc.cubin"

static volatile uint64_t sink;

#if !(defined(CV_TRAPS) && CV_TRAPS)
enum { SHIPS = 1 };
#else
enum { SHIPS = 0 };
#endif

/* Does nothing where it would abort. */
static void go_wrong(void)
{
    const cv_u32s empty = { 0 };

    if (SHIPS)
        sink = *cv_u32s_get(&empty, 7);
}

/* A heap whose nth call, counted from when it was set, has a wrong index. */
typedef struct hooked {
    unsigned long calls, wrong_at;
} hooked;

static void *get(void *user, size_t n)
{
    hooked *h = user;

    if (++h->calls == h->wrong_at)
        go_wrong();
    return malloc(n);
}

static void *resize(void *user, void *p, size_t old, size_t n)
{
    hooked *h = user;

    (void)old;
    if (++h->calls == h->wrong_at)
        go_wrong();
    return realloc(p, n);
}

static void put(void *user, void *p, size_t n)
{
    (void)user;
    (void)n;
    free(p);
}

static cuvet_ctx *context(hooked *h)
{
    const cuvet_alloc a = { .size = sizeof(a), .alloc = get, .resize = resize, .release = put, .user = h };
    const cuvet_ctx_options o = { .size = sizeof(o), .alloc = &a };
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&o, &ctx), CUVET_OK);
    return ctx;
}

static void set(hooked *h, unsigned long wrong_at)
{
    *h = (hooked){ .wrong_at = wrong_at };
}

static bool told(cuvet_ctx *ctx, const char *id)
{
    cuvet_diag d = { .size = sizeof(d) };

    return cuvet_ctx_last_diag(ctx, &d) == CUVET_OK && strcmp(cuvet_rule_get(d.rule)->id, id) == 0;
}

/* Every object of the suite has this shape: an operation whose memory calls are counted, what its result is
 * asked by, and its end. */
typedef struct subject {
    cuvet_status (*create)(cuvet_ctx *ctx, uint64_t *bits);
    cuvet_status (*work)(cuvet_ctx *ctx, uint64_t bits);
    cuvet_status (*result)(cuvet_ctx *ctx, uint64_t bits, const void **bytes);
    cuvet_status (*destroy)(cuvet_ctx *ctx, uint64_t *bits);
    const char *rule; /* said of the internal error; NULL: none */
} subject;

static cuvet_status create_linker(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_linker_options o = { .size = sizeof(o), .target = { 100, 0 } };
    cuvet_linker l = { 0 };
    size_t n;
    const uint8_t *p = sample(LINKED, &n, 0);
    cuvet_status s = cuvet_linker_create(ctx, &o, &l);

    if (s == CUVET_OK)
        s = cuvet_linker_add(ctx, l, p, n, "object");
    *bits = l.bits;
    return s;
}

static cuvet_status link(cuvet_ctx *ctx, uint64_t bits)
{
    return cuvet_linker_complete(ctx, (cuvet_linker){ bits });
}

static cuvet_status link_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_link_result r = { .size = sizeof(r) };
    cuvet_status s = cuvet_linker_result(ctx, (cuvet_linker){ bits }, &r);

    *bytes = r.bytes;
    return s;
}

static cuvet_status destroy_linker(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_linker_destroy(ctx, &(cuvet_linker){ *bits });
}

static cuvet_status create_finalizer(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_finalize_options o = { .size = sizeof(o), .target = { 103, 0 } };
    cuvet_finalizer f = { 0 };
    cuvet_status s = cuvet_finalizer_create(ctx, &o, &f);

    *bits = f.bits;
    return s;
}

static cuvet_status finalize(cuvet_ctx *ctx, uint64_t bits)
{
    static const uint8_t *p;
    static size_t n;

    if (!p)
        p = sample("plain.sm_100.cubin", &n, 2); /* read once: threads share it */
    return cuvet_finalizer_run(ctx, (cuvet_finalizer){ bits }, p, n, "sample");
}

static cuvet_status final_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_final_result r = { .size = sizeof(r) };
    cuvet_status s = cuvet_finalizer_get_result(ctx, (cuvet_finalizer){ bits }, &r);

    *bytes = r.bytes;
    return s;
}

static cuvet_status destroy_finalizer(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_finalizer_destroy(ctx, &(cuvet_finalizer){ *bits });
}

static cuvet_status create_scan(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_scan_options o = { .size = sizeof(o), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_scan s = { 0 };
    cuvet_status st;
    size_t n;
    const uint8_t *p = sample("multi-lz4.fatbin", &n, 0);

    ck_assert_int_eq(cuvet_source_memory(p, n, &src), CUVET_OK);
    st = cuvet_scan_create(ctx, &src, &o, &s);
    *bits = s.bits;
    return st;
}

static cuvet_status scan(cuvet_ctx *ctx, uint64_t bits)
{
    cuvet_status st = CUVET_OK;
    cuvet_item item = { .size = sizeof(item) };

    while (st == CUVET_OK)
        st = cuvet_scan_next(ctx, (cuvet_scan){ bits }, &item);
    if (st == CUVET_E_INTERNAL)
        ck_assert(!item.examined && item.payload_off == 0);
    return st == CUVET_END ? CUVET_OK : st;
}

static cuvet_status scan_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    static cuvet_summary sum = { .size = sizeof(sum) };
    cuvet_status s = cuvet_scan_summary(ctx, (cuvet_scan){ bits }, &sum);

    *bytes = s == CUVET_OK ? &sum : NULL;
    return s;
}

static cuvet_status destroy_scan(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_scan_destroy(ctx, &(cuvet_scan){ *bits });
}

static cuvet_status create_input(cuvet_ctx *ctx, uint64_t *bits)
{
    cuvet_input in = { 0 };
    const cuvet_input_config c = { .size = sizeof(c), .target = { 75, 0 } };
    cuvet_status s;

    s = cuvet_input_create(ctx, &c, &in);
    *bits = in.bits;
    return s;
}

static cuvet_status choose(cuvet_ctx *ctx, uint64_t bits)
{
    cuvet_content_info info = { .size = sizeof(info) };
    size_t n;
    const uint8_t *p = sample("host-two_a.o", &n, 0);
    cuvet_status s = cuvet_input_bind(ctx, (cuvet_input){ bits }, p, n, CUVET_BIND_COPY, &info);

    return s == CUVET_OK ? cuvet_input_select(ctx, (cuvet_input){ bits }) : s;
}

static cuvet_status input_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_result r = { .size = sizeof(r) };
    cuvet_status s = cuvet_input_get_result(ctx, (cuvet_input){ bits }, &r);

    *bytes = r.bytes;
    return s;
}

static cuvet_status destroy_input(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_input_destroy(ctx, &(cuvet_input){ *bits });
}

static const subject SUBJECTS[] = {
    { create_linker, link, link_result, destroy_linker, "CV-LINK-016" },
    { create_finalizer, finalize, final_result, destroy_finalizer, "CV-FINAL-034" },
    { create_scan, scan, scan_result, destroy_scan, NULL },
    { create_input, choose, input_result, destroy_input, NULL },
};

/* Once without a wrong index: how many calls for memory are there, and what comes out? */
static unsigned long calls_of(const subject *s, cuvet_ctx *ctx, hooked *h)
{
    const uint64_t before = cv_trap_count();
    const void *bytes = NULL;
    uint64_t bits = 0;

    set(h, 0);
    ck_assert_int_eq(s->create(ctx, &bits), CUVET_OK);
    set(h, 0);
    ck_assert_int_eq(s->work(ctx, bits), CUVET_OK);
    ck_assert_int_eq(s->result(ctx, bits, &bytes), CUVET_OK);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(s->destroy(ctx, &bits), CUVET_OK);
    ck_assert_uint_eq(cv_trap_count(), before);
    return h->calls;
}

START_TEST(the_operation_fails_and_nothing_comes_out)
{
    const subject *s = &SUBJECTS[_i];
    hooked h = { 0 }, g = { 0 };
    cuvet_ctx *ctx = context(&g);
    unsigned long n = calls_of(s, ctx, &g), n_told = 0;

    ck_assert_uint_gt(n, 2);
    for (unsigned long i = 1; SHIPS && i <= n; i++) {
        cuvet_ctx *broken = context(&h);
        const void *bytes = NULL;
        uint64_t bits = 0;

        set(&h, 0);
        ck_assert_int_eq(s->create(broken, &bits), CUVET_OK);
        set(&h, i);
        ck_assert_int_eq(s->work(broken, bits), CUVET_E_INTERNAL);
        ck_assert_int_eq(s->result(broken, bits, &bytes), CUVET_E_POISONED);
        ck_assert_ptr_null(bytes);
        ck_assert_int_eq(s->destroy(broken, &bits), CUVET_OK);
        n_told += s->rule && told(broken, s->rule);
        cuvet_ctx_destroy(broken);
    }
    ck_assert_uint_eq(calls_of(s, ctx, &g), n); /* the next one notices nothing */
    if (SHIPS && s->rule)
        ck_assert_uint_gt(n_told, n / 2); /* the others are calls before and behind the stages */
    cuvet_ctx_destroy(ctx);
}
END_TEST

START_TEST(nothing_is_created)
{
    const subject *s = &SUBJECTS[_i];
    hooked h = { 0 };
    cuvet_ctx *ctx = context(&h);
    uint64_t bits = 1;

    set(&h, 1);
    if (SHIPS) {
        ck_assert_int_eq(s->create(ctx, &bits), CUVET_E_INTERNAL);
        ck_assert_uint_eq(bits, 0);
    }
    (void)calls_of(s, ctx, &h);
    cuvet_ctx_destroy(ctx);
}
END_TEST

enum { KIND_PTX = 1, LARGE = 50000 };

/* The index goes wrong on a thread of the scan, not on the caller's. */
typedef struct threaded {
    const uint8_t *bytes;
    pthread_t caller;
    bool wrong, was_wrong; /* the second is read when the threads have ended */
} threaded;

static cuvet_status read_on(void *user, uint64_t off, void *buf, size_t n)
{
    threaded *t = user;

    if (t->wrong && !pthread_equal(pthread_self(), t->caller)) {
        __atomic_store_n(&t->was_wrong, true, __ATOMIC_RELAXED);
        go_wrong();
    }
    memcpy(buf, t->bytes + off, n);
    return CUVET_OK;
}

static cuvet_status scan_on_threads(threaded *t, size_t n)
{
    const cuvet_source src = { sizeof(src), n, read_on, t, -1 };
    const cuvet_scan_options o = { .size = sizeof(o), .depth = CUVET_DEPTH_FULL, .jobs = 4 };
    cuvet_status st;
    cuvet_ctx *ctx;
    uint64_t bits;
    cuvet_scan s;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &o, &s), CUVET_OK);
    bits = s.bits;
    st = scan(ctx, bits);
    ck_assert_int_eq(cuvet_scan_destroy(ctx, &s), CUVET_OK);
    cuvet_ctx_destroy(ctx);
    return st;
}

START_TEST(a_thread_of_the_scan_counts)
{
    static const char HEAD[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    static char text[LARGE];
    static fb many;
    threaded t = { .caller = pthread_self() };
    bool was = false;

    /* Members that are too large to be read together with others, tried until a thread has read one. */
    memset(text, '\n', sizeof(text));
    memcpy(text, HEAD, sizeof(HEAD) - 1);
    fb_begin(&many);
    for (unsigned i = 0; i < 16; i++)
        fb_bytes(&many, KIND_PTX, 90, 0, text, sizeof(text));
    fb_end(&many);
    t.bytes = many.bytes;
    ck_assert_int_eq(scan_on_threads(&t, many.n), CUVET_OK);
    t.wrong = true;
    for (unsigned i = 0; i < 100 && !was; i++) {
        cuvet_status st = scan_on_threads(&t, many.n);

        was = __atomic_load_n(&t.was_wrong, __ATOMIC_RELAXED);
        ck_assert_int_eq(st, was && SHIPS ? CUVET_E_INTERNAL : CUVET_OK);
    }
    ck_assert(was);
    t.wrong = false;
    ck_assert_int_eq(scan_on_threads(&t, many.n), CUVET_OK);
}
END_TEST

/* A callback of an operation that went wrong may call the library: its own operation is another one. */
typedef struct nesting {
    const uint8_t *bytes;
    cuvet_status inner;
} nesting;

static cuvet_status read_and_finalize(void *user, uint64_t off, void *buf, size_t n)
{
    nesting *t = user;
    uint64_t bits = 0;
    cuvet_ctx *ctx;

    go_wrong();
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(create_finalizer(ctx, &bits), CUVET_OK);
    t->inner = finalize(ctx, bits);
    cuvet_ctx_destroy(ctx);
    memcpy(buf, t->bytes + off, n);
    return CUVET_OK;
}

START_TEST(an_operation_inside_is_another_one)
{
    nesting t = { .inner = CUVET_END };
    size_t n;
    const cuvet_scan_options o = { .size = sizeof(o), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { sizeof(src), 0, read_and_finalize, &t, -1 };
    cuvet_scan s = { 0 };
    cuvet_ctx *ctx;

    t.bytes = sample("multi-lz4.fatbin", &n, 1);
    src.length = n;
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &o, &s), CUVET_OK);
    ck_assert_int_eq(scan(ctx, s.bits), SHIPS ? CUVET_E_INTERNAL : CUVET_OK);
    ck_assert_int_eq(t.inner, CUVET_OK);
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* Other threads, each with a context of its own: of every second one each operation goes wrong. */
typedef struct other {
    bool wrong;
    unsigned internal, fine;
} other;

static void *repeat(void *user)
{
    other *o = user;
    hooked h = { 0 };
    cuvet_ctx *ctx = context(&h);

    for (unsigned i = 0; i < 20; i++) {
        const void *bytes;
        uint64_t bits;
        cuvet_status s;

        set(&h, 0);
        if (create_finalizer(ctx, &bits) != CUVET_OK)
            break;
        set(&h, o->wrong ? 2 : 0);
        s = finalize(ctx, bits);
        o->internal += s == CUVET_E_INTERNAL;
        o->fine += s == CUVET_OK && final_result(ctx, bits, &bytes) == CUVET_OK && bytes;
        (void)destroy_finalizer(ctx, &bits);
    }
    cuvet_ctx_destroy(ctx);
    return NULL;
}

START_TEST(other_threads_notice_nothing)
{
    other o[4] = { { 0 } };
    pthread_t thread[4];
    other first = { 0 };

    (void)repeat(&first); /* reads the sample before there are threads */
    for (unsigned i = 0; i < 4; i++) {
        o[i].wrong = SHIPS && i % 2;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, repeat, &o[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert_uint_eq(o[i].internal, o[i].wrong ? 20 : 0);
        ck_assert_uint_eq(o[i].fine, o[i].wrong ? 0 : 20);
    }
}
END_TEST

/* What stands in for an element: zeros for each that asks, and what was stored in one is in no later one. */
START_TEST(elements_that_stand_in)
{
    uint64_t array[4] = { 1, 2, 3, 4 };
    cv_u64s v = { 0 };
    cv_mem m;

    if (!SHIPS)
        return;
    cv_mem_init(&m, NULL, 4096);
    ck_assert(cv_u64s_push(&m, &v, 11));
    *cv_u64s_at(&v, 5) = 12;
    ck_assert_uint_eq(*cv_u64s_at(&v, 6), 0);
    *cv_u64s_at(&v, 5) = 12;
    ck_assert_uint_eq(*cv_u64s_get(&v, 5), 0);
    CV_ARRAY_SET(array, 4, 13);
    ck_assert_uint_eq(CV_ARRAY_GET(array, 4), 1);
    ck_assert(array[0] == 1 && array[1] == 2 && array[2] == 3 && array[3] == 4);
    ck_assert_uint_eq(*cv_u64s_get(&v, 0), 11);
    cv_u64s_free(&m, &v);
}
END_TEST

Suite *suite_trap(void)
{
    Suite *s = suite_create("trap");
    TCase *t = tcase_create("trap");

    tcase_add_loop_test(t, the_operation_fails_and_nothing_comes_out, 0, (int)CV_COUNT(SUBJECTS));
    tcase_add_loop_test(t, nothing_is_created, 0, (int)CV_COUNT(SUBJECTS));
    tcase_add_test(t, a_thread_of_the_scan_counts);
    tcase_add_test(t, an_operation_inside_is_another_one);
    tcase_add_test(t, other_threads_notice_nothing);
    tcase_add_test(t, elements_that_stand_in);
    suite_add_tcase(s, t);
    return s;
}

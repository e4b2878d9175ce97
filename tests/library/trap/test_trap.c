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
typedef struct trap_hooked {
    unsigned long calls, wrong_at;
} trap_hooked;

static void *get(void *user, size_t size)
{
    trap_hooked *hooked = user;

    if (++hooked->calls == hooked->wrong_at)
        go_wrong();
    return malloc(size);
}

static void *resize(void *user, void *block, size_t old, size_t count)
{
    trap_hooked *hooked = user;

    (void)old;
    if (++hooked->calls == hooked->wrong_at)
        go_wrong();
    return realloc(block, count);
}

static void put(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

static cuvet_ctx *context(trap_hooked *hooked)
{
    const cuvet_alloc alloc = {
        .size = sizeof(alloc), .alloc = get, .resize = resize, .release = put, .user = hooked
    };
    const cuvet_ctx_options options = { .size = sizeof(options), .alloc = &alloc };
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&options, &ctx), CUVET_OK);
    return ctx;
}

static void set(trap_hooked *hooked, unsigned long wrong_at)
{
    *hooked = (trap_hooked){ .wrong_at = wrong_at };
}

static bool told(cuvet_ctx *ctx, const char *id)
{
    cuvet_diag diag = { .size = sizeof(diag) };

    return cuvet_ctx_last_diag(ctx, &diag) == CUVET_OK && strcmp(cuvet_rule_get(diag.rule)->id, id) == 0;
}

/* Every object of the suite has this shape: an operation whose memory calls are counted, what its result is
 * asked by, and its end. */
typedef struct trap_subject {
    cuvet_status (*create)(cuvet_ctx *ctx, uint64_t *bits);
    cuvet_status (*work)(cuvet_ctx *ctx, uint64_t bits);
    cuvet_status (*result)(cuvet_ctx *ctx, uint64_t bits, const void **bytes);
    cuvet_status (*destroy)(cuvet_ctx *ctx, uint64_t *bits);
    const char *rule; /* said of the internal error; NULL: none */
} trap_subject;

static cuvet_status create_linker(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_linker_options options = { .size = sizeof(options), .target = { 100, 0 } };
    cuvet_linker linker = { 0 };
    size_t count;
    const uint8_t *bytes = sample(LINKED, &count, 0);
    cuvet_status status = cuvet_linker_create(ctx, &options, &linker);

    if (status == CUVET_OK)
        status = cuvet_linker_add(ctx, linker, bytes, count, "object");
    *bits = linker.bits;
    return status;
}

static cuvet_status link(cuvet_ctx *ctx, uint64_t bits)
{
    return cuvet_linker_complete(ctx, (cuvet_linker){ bits });
}

static cuvet_status link_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status = cuvet_linker_get_result(ctx, (cuvet_linker){ bits }, &result);

    *bytes = result.bytes;
    return status;
}

static cuvet_status destroy_linker(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_linker_destroy(ctx, &(cuvet_linker){ *bits });
}

static cuvet_status create_finalizer(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_finalize_options options = { .size = sizeof(options), .target = { 103, 0 } };
    cuvet_finalizer finalizer = { 0 };
    cuvet_status status = cuvet_finalizer_create(ctx, &options, &finalizer);

    *bits = finalizer.bits;
    return status;
}

static cuvet_status finalize(cuvet_ctx *ctx, uint64_t bits)
{
    static const uint8_t *bytes;
    static size_t count;

    if (!bytes)
        bytes = sample("plain.sm_100.cubin", &count, 2); /* read once: threads share it */
    return cuvet_finalizer_run(ctx, (cuvet_finalizer){ bits }, bytes, count, "sample");
}

static cuvet_status final_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_final_result result = { .size = sizeof(result) };
    cuvet_status status = cuvet_finalizer_get_result(ctx, (cuvet_finalizer){ bits }, &result);

    *bytes = result.bytes;
    return status;
}

static cuvet_status destroy_finalizer(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_finalizer_destroy(ctx, &(cuvet_finalizer){ *bits });
}

static cuvet_status create_scan(cuvet_ctx *ctx, uint64_t *bits)
{
    const cuvet_scan_options options = { .size = sizeof(options), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_scan scan = { 0 };
    cuvet_status st;
    size_t count;
    const uint8_t *bytes = sample("multi-lz4.fatbin", &count, 0);

    ck_assert_int_eq(cuvet_source_memory(bytes, count, &src), CUVET_OK);
    st = cuvet_scan_create(ctx, &src, &options, &scan);
    *bits = scan.bits;
    return st;
}

static cuvet_status scan(cuvet_ctx *ctx, uint64_t bits)
{
    cuvet_status st = CUVET_OK;
    cuvet_item item = { .size = sizeof(item) };

    while (st == CUVET_OK)
        st = cuvet_scan_next(ctx, (cuvet_scan){ bits }, &item);
    if (st == CUVET_E_INTERNAL)
        ck_assert(!(item.flags & CUVET_ITEM_EXAMINED) && item.payload_off == 0);
    return st == CUVET_END ? CUVET_OK : st;
}

static cuvet_status scan_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    static cuvet_summary sum = { .size = sizeof(sum) };
    cuvet_status status = cuvet_scan_summary(ctx, (cuvet_scan){ bits }, &sum);

    *bytes = status == CUVET_OK ? &sum : NULL;
    return status;
}

static cuvet_status destroy_scan(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_scan_destroy(ctx, &(cuvet_scan){ *bits });
}

static cuvet_status create_input(cuvet_ctx *ctx, uint64_t *bits)
{
    cuvet_select in = { 0 };
    const cuvet_select_options config = { .size = sizeof(config), .target = { 75, 0 } };
    cuvet_status status;

    status = cuvet_select_create(ctx, &config, &in);
    *bits = in.bits;
    return status;
}

static cuvet_status choose(cuvet_ctx *ctx, uint64_t bits)
{
    cuvet_content_info info = { .size = sizeof(info) };
    size_t count;
    const uint8_t *bytes = sample("host-two_a.o", &count, 0);
    cuvet_status status =
        cuvet_select_bind(ctx, (cuvet_select){ bits }, bytes, count, CUVET_BIND_COPY, &info);

    return status == CUVET_OK ? cuvet_select_run(ctx, (cuvet_select){ bits }) : status;
}

static cuvet_status input_result(cuvet_ctx *ctx, uint64_t bits, const void **bytes)
{
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_status status = cuvet_select_get_result(ctx, (cuvet_select){ bits }, &result);

    *bytes = result.bytes;
    return status;
}

static cuvet_status destroy_input(cuvet_ctx *ctx, uint64_t *bits)
{
    return cuvet_select_destroy(ctx, &(cuvet_select){ *bits });
}

static const trap_subject SUBJECTS[] = {
    { create_linker, link, link_result, destroy_linker, "CV-LINK-016" },
    { create_finalizer, finalize, final_result, destroy_finalizer, "CV-FINAL-034" },
    { create_scan, scan, scan_result, destroy_scan, NULL },
    { create_input, choose, input_result, destroy_input, NULL },
};

/* Once without a wrong index: how many calls for memory are there, and what comes out? */
static unsigned long calls_of(const trap_subject *subject, cuvet_ctx *ctx, trap_hooked *hooked)
{
    const uint64_t before = cv_trap_count();
    const void *bytes = NULL;
    uint64_t bits = 0;

    set(hooked, 0);
    ck_assert_int_eq(subject->create(ctx, &bits), CUVET_OK);
    set(hooked, 0);
    ck_assert_int_eq(subject->work(ctx, bits), CUVET_OK);
    ck_assert_int_eq(subject->result(ctx, bits, &bytes), CUVET_OK);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(subject->destroy(ctx, &bits), CUVET_OK);
    ck_assert_uint_eq(cv_trap_count(), before);
    return hooked->calls;
}

START_TEST(the_operation_fails_and_nothing_comes_out)
{
    const trap_subject *subject = &SUBJECTS[_i];
    trap_hooked hooked = { 0 }, other_hooked = { 0 };
    cuvet_ctx *ctx = context(&other_hooked);
    unsigned long count = calls_of(subject, ctx, &other_hooked), n_told = 0;

    ck_assert_uint_gt(count, 2);
    for (unsigned long i = 1; SHIPS && i <= count; i++) {
        cuvet_ctx *broken = context(&hooked);
        const void *bytes = NULL;
        uint64_t bits = 0;

        set(&hooked, 0);
        ck_assert_int_eq(subject->create(broken, &bits), CUVET_OK);
        set(&hooked, i);
        ck_assert_int_eq(subject->work(broken, bits), CUVET_E_INTERNAL);
        ck_assert_int_eq(subject->result(broken, bits, &bytes), CUVET_E_POISONED);
        ck_assert_ptr_null(bytes);
        ck_assert_int_eq(subject->destroy(broken, &bits), CUVET_OK);
        n_told += subject->rule && told(broken, subject->rule);
        cuvet_ctx_destroy(broken);
    }
    ck_assert_uint_eq(calls_of(subject, ctx, &other_hooked), count); /* the next one notices nothing */
    if (SHIPS && subject->rule)
        ck_assert_uint_gt(n_told, count / 2); /* the others are calls before and behind the stages */
    cuvet_ctx_destroy(ctx);
}
END_TEST

START_TEST(nothing_is_created)
{
    const trap_subject *subject = &SUBJECTS[_i];
    trap_hooked hooked = { 0 };
    cuvet_ctx *ctx = context(&hooked);
    uint64_t bits = 1;

    set(&hooked, 1);
    if (SHIPS) {
        ck_assert_int_eq(subject->create(ctx, &bits), CUVET_E_INTERNAL);
        ck_assert_uint_eq(bits, 0);
    }
    (void)calls_of(subject, ctx, &hooked);
    cuvet_ctx_destroy(ctx);
}
END_TEST

enum { KIND_PTX = 1, LARGE = 50000 };

/* The index goes wrong on a thread of the scan, not on the caller's. */
typedef struct trap_threaded {
    const uint8_t *bytes;
    pthread_t caller;
    bool wrong, was_wrong; /* the second is read when the threads have ended */
} trap_threaded;

static cuvet_status read_on(void *user, uint64_t off, void *buf, size_t size)
{
    trap_threaded *threaded = user;

    if (threaded->wrong && !pthread_equal(pthread_self(), threaded->caller)) {
        __atomic_store_n(&threaded->was_wrong, true, __ATOMIC_RELAXED);
        go_wrong();
    }
    memcpy(buf, threaded->bytes + off, size);
    return CUVET_OK;
}

static cuvet_status scan_on_threads(trap_threaded *threaded, size_t count)
{
    const cuvet_source src = { sizeof(src), count, read_on, threaded, -1 };
    const cuvet_scan_options options = { .size = sizeof(options), .depth = CUVET_DEPTH_FULL, .jobs = 4 };
    cuvet_status st;
    cuvet_ctx *ctx;
    uint64_t bits;
    cuvet_scan handle;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &options, &handle), CUVET_OK);
    bits = handle.bits;
    st = scan(ctx, bits);
    ck_assert_int_eq(cuvet_scan_destroy(ctx, &handle), CUVET_OK);
    cuvet_ctx_destroy(ctx);
    return st;
}

START_TEST(a_thread_of_the_scan_counts)
{
    static const char HEAD[] = ".version 8.0\n.target sm_90\n.address_size 64\n";
    static char text[LARGE];
    static fb_state many;
    trap_threaded threaded = { .caller = pthread_self() };
    bool was = false;

    /* Members that are too large to be read together with others, tried until a thread has read one. */
    memset(text, '\n', sizeof(text));
    memcpy(text, HEAD, sizeof(HEAD) - 1);
    fb_begin(&many);
    for (unsigned i = 0; i < 16; i++)
        fb_bytes(&many, KIND_PTX, 90, 0, text, sizeof(text));
    fb_end(&many);
    threaded.bytes = many.bytes;
    ck_assert_int_eq(scan_on_threads(&threaded, many.size), CUVET_OK);
    threaded.wrong = true;
    for (unsigned i = 0; i < 100 && !was; i++) {
        cuvet_status st = scan_on_threads(&threaded, many.size);

        was = __atomic_load_n(&threaded.was_wrong, __ATOMIC_RELAXED);
        ck_assert_int_eq(st, was && SHIPS ? CUVET_E_INTERNAL : CUVET_OK);
    }
    ck_assert(was);
    threaded.wrong = false;
    ck_assert_int_eq(scan_on_threads(&threaded, many.size), CUVET_OK);
}
END_TEST

/* A callback of an operation that went wrong may call the library: its own operation is another one. */
typedef struct trap_nesting {
    const uint8_t *bytes;
    cuvet_status inner;
} trap_nesting;

static cuvet_status read_and_finalize(void *user, uint64_t off, void *buf, size_t size)
{
    trap_nesting *nesting = user;
    uint64_t bits = 0;
    cuvet_ctx *ctx;

    go_wrong();
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(create_finalizer(ctx, &bits), CUVET_OK);
    nesting->inner = finalize(ctx, bits);
    cuvet_ctx_destroy(ctx);
    memcpy(buf, nesting->bytes + off, size);
    return CUVET_OK;
}

START_TEST(an_operation_inside_is_another_one)
{
    trap_nesting nesting = { .inner = CUVET_END };
    size_t count;
    const cuvet_scan_options options = { .size = sizeof(options), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { sizeof(src), 0, read_and_finalize, &nesting, -1 };
    cuvet_scan handle = { 0 };
    cuvet_ctx *ctx;

    nesting.bytes = sample("multi-lz4.fatbin", &count, 1);
    src.length = count;
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &options, &handle), CUVET_OK);
    ck_assert_int_eq(scan(ctx, handle.bits), SHIPS ? CUVET_E_INTERNAL : CUVET_OK);
    ck_assert_int_eq(nesting.inner, CUVET_OK);
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* Other threads, each with a context of its own: of every second one each operation goes wrong. */
typedef struct trap_other {
    bool wrong;
    unsigned internal, fine;
} trap_other;

static void *repeat(void *user)
{
    trap_other *other = user;
    trap_hooked hooked = { 0 };
    cuvet_ctx *ctx = context(&hooked);

    for (unsigned i = 0; i < 20; i++) {
        const void *bytes;
        uint64_t bits;
        cuvet_status status;

        set(&hooked, 0);
        if (create_finalizer(ctx, &bits) != CUVET_OK)
            break;
        set(&hooked, other->wrong ? 2 : 0);
        status = finalize(ctx, bits);
        other->internal += status == CUVET_E_INTERNAL;
        other->fine += status == CUVET_OK && final_result(ctx, bits, &bytes) == CUVET_OK && bytes;
        (void)destroy_finalizer(ctx, &bits);
    }
    cuvet_ctx_destroy(ctx);
    return NULL;
}

START_TEST(other_threads_notice_nothing)
{
    trap_other other[4] = { { 0 } };
    pthread_t thread[4];
    trap_other first = { 0 };

    (void)repeat(&first); /* reads the sample before there are threads */
    for (unsigned i = 0; i < 4; i++) {
        other[i].wrong = SHIPS && i % 2;
        ck_assert_int_eq(pthread_create(&thread[i], NULL, repeat, &other[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert_uint_eq(other[i].internal, other[i].wrong ? 20 : 0);
        ck_assert_uint_eq(other[i].fine, other[i].wrong ? 0 : 20);
    }
}
END_TEST

/* What stands in for an element: zeros for each that asks, and what was stored in one is in no later one. */
START_TEST(elements_that_stand_in)
{
    uint64_t array[4] = { 1, 2, 3, 4 };
    cv_u64s list = { 0 };
    cv_mem mem;

    if (!SHIPS)
        return;
    cv_mem_init(&mem, NULL, 4096);
    ck_assert(cv_u64s_push(&mem, &list, 11));
    *cv_u64s_at(&list, 5) = 12;
    ck_assert_uint_eq(*cv_u64s_at(&list, 6), 0);
    *cv_u64s_at(&list, 5) = 12;
    ck_assert_uint_eq(*cv_u64s_get(&list, 5), 0);
    CV_ARRAY_SET(array, 4, 13);
    ck_assert_uint_eq(CV_ARRAY_GET(array, 4), 1);
    ck_assert(array[0] == 1 && array[1] == 2 && array[2] == 3 && array[3] == 4);
    ck_assert_uint_eq(*cv_u64s_get(&list, 0), 11);
    cv_u64s_free(&mem, &list);
}
END_TEST

Suite *suite_trap(void)
{
    Suite *suite = suite_create("trap");
    TCase *tcase = tcase_create("trap");

    tcase_add_loop_test(tcase, the_operation_fails_and_nothing_comes_out, 0, (int)CV_COUNT(SUBJECTS));
    tcase_add_loop_test(tcase, nothing_is_created, 0, (int)CV_COUNT(SUBJECTS));
    tcase_add_test(tcase, a_thread_of_the_scan_counts);
    tcase_add_test(tcase, an_operation_inside_is_another_one);
    tcase_add_test(tcase, other_threads_notice_nothing);
    tcase_add_test(tcase, elements_that_stand_in);
    suite_add_tcase(suite, tcase);
    return suite;
}

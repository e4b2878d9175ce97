/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a unit gets its bytes: small ones out of what is in memory already or together with their neighbours,
 * large ones as blocks of their own; nothing twice, nothing of another source. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "scan/scan.h"

#define HEAD  (CV_FATBIN_MEMBER + 16)   /* with an empty option block */
#define FIRST (CV_FATBIN_HEADER + HEAD) /* payload of the first member */

/* A source that counts, and may refuse. */
typedef struct counted {
    uint8_t *bytes;
    uint8_t *times; /* per byte, how often it was read */
    uint64_t n, reads;
    uint64_t bad; /* a place that cannot be read, or UINT64_MAX */
} counted;

static cuvet_status read_counted(void *user, uint64_t off, void *buf, size_t len)
{
    counted *c = user;

    __atomic_add_fetch(&c->reads, 1, __ATOMIC_RELAXED);
    if (c->bad >= off && c->bad < off + len)
        return CUVET_E_IO;
    memcpy(buf, c->bytes + off, len);
    for (size_t i = 0; i < len; i++)
        __atomic_add_fetch(&c->times[off + i], 1, __ATOMIC_RELAXED);
    return CUVET_OK;
}

static void put(counted *c, uint64_t at, unsigned width, uint64_t v)
{
    for (unsigned i = 0; i < width; i++)
        c->bytes[at + i] = (uint8_t)(v >> 8 * i);
}

static counted make(uint64_t n)
{
    counted c = { calloc(n, 1), calloc(n, 1), n, 0, UINT64_MAX };

    ck_assert(c.bytes && c.times);
    return c;
}

static void drop(counted *c)
{
    free(c->bytes);
    free(c->times);
}

static cuvet_source source_of(counted *c)
{
    return (cuvet_source){ sizeof(cuvet_source), c->n, read_counted, c, -1 };
}

/* An uncompressed PTX member with a payload of 'size' bytes, mostly spaces. Returns where the next one goes.
 */
static uint64_t put_member(counted *c, uint64_t at, uint64_t size)
{
    static const char TEXT[] = ".version 9.0\n.target sm_75\n.address_size 64\n";
    uint64_t payload = at + HEAD;

    put(c, at, 2, CV_FB_KIND_PTX);
    put(c, at + 2, 2, CV_FATBIN_MEMBER_VERSION);
    put(c, at + 4, 4, HEAD);
    put(c, at + 8, 8, size);
    put(c, at + 0x14, 4, CV_FATBIN_MEMBER);
    put(c, at + 0x18, 4, 9 << 16);
    put(c, at + 0x1C, 4, 75);
    put(c, at + 0x28, 8, CV_FB_64BIT | CV_FB_LINUX);
    put(c, at + CV_FATBIN_MEMBER, 4, CV_FATBIN_MEMBER + 8);
    memset(c->bytes + payload, '\n', size);
    memcpy(c->bytes + payload, TEXT, sizeof(TEXT) - 1);
    c->bytes[payload + size - 1] = 0;
    return payload + size;
}

/* One container with n members of the same size. */
static counted container(uint64_t n, uint64_t size)
{
    counted c = make(CV_FATBIN_HEADER + n * (HEAD + size));
    uint64_t at = CV_FATBIN_HEADER;

    put(&c, 0, 4, CV_FATBIN_MAGIC);
    put(&c, 4, 4, CV_FATBIN_TAIL);
    put(&c, 8, 8, c.n - CV_FATBIN_HEADER);
    for (uint64_t i = 0; i < n; i++)
        at = put_member(&c, at, size);
    ck_assert_uint_eq(at, c.n);
    return c;
}

static cv_unit unit_at(const counted *c, uint64_t off, uint64_t size)
{
    cv_unit u = { .kind = CV_UNIT_MEMBER, .off = off, .header_size = HEAD, .payload_size = size };

    memcpy(&u.head, c->bytes + off, sizeof(u.head));
    return u;
}

static cv_worker w;

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_worker_init(&w, NULL, &lim);
}

static void teardown(void)
{
    cv_worker_free(&w);
    ck_assert_uint_eq(w.x.mem.live, 0);
    cv_islands_drop();
}

static bool said(const cv_result *r, cv_rule rule, uint64_t off)
{
    for (uint64_t i = 0; i < r->diags.n; i++) {
        if (cv_diags_get(&r->diags, i)->rule == rule && cv_diags_get(&r->diags, i)->file_off == off)
            return true;
    }
    return false;
}

static cv_result examine(counted *c, const cv_unit *u, cv_span near, bool follows)
{
    cv_examine_options opt = { .depth = CUVET_DEPTH_FULL, .near = near, .follows = follows };
    cuvet_source src = source_of(c);
    cv_result r;

    cv_examine(&w, &src, u, &opt, &r);
    ck_assert_int_eq(r.status, CUVET_OK);
    return r;
}

/* Sizes around the one above which a unit has blocks of its own. */
static const uint64_t SIZES[] = { 64, CV_NEAR_MAX - HEAD, CV_NEAR_MAX - HEAD + 8, 5 * CV_NEAR_MAX };

START_TEST(reads_no_byte_twice)
{
    uint64_t size = SIZES[_i];
    counted c = container(1, size);
    cv_unit u = unit_at(&c, CV_FATBIN_HEADER, size);
    cv_result r = examine(&c, &u, (cv_span){ 0 }, false);

    ck_assert_int_eq(r.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(r.payload.off, FIRST);
    ck_assert_uint_eq(c.reads, HEAD + size <= CV_NEAR_MAX ? 1 : 2);
    for (uint64_t i = 0; i < c.n; i++)
        ck_assert_uint_eq(c.times[i], i >= CV_FATBIN_HEADER);
    cv_result_free(&r);
    drop(&c);
}
END_TEST

/* The header that the walk saw is not the one that is there now: nothing of the unit is looked at. */
START_TEST(changed_header)
{
    uint64_t size = SIZES[_i];
    counted c = container(1, size);
    cv_unit u = unit_at(&c, CV_FATBIN_HEADER, size);
    cv_result r;

    put(&c, CV_FATBIN_HEADER + 63, 1, 1);
    r = examine(&c, &u, (cv_span){ 0 }, false);
    ck_assert_uint_eq(r.diags.n, 1);
    ck_assert(said(&r, CV_R_IO_CHANGED, CV_FATBIN_HEADER));
    ck_assert_int_eq(r.verdict, CUVET_V_ERROR);
    ck_assert(!r.item.examined);
    cv_result_free(&r);
    drop(&c);
}
END_TEST

/* What is in memory is not read again, and not a byte beside it is taken for part of it. */
START_TEST(near_bytes_are_used)
{
    counted c = container(3, 128);
    uint64_t second = CV_FATBIN_HEADER + HEAD + 128, end = second + HEAD + 128;
    cv_unit u = unit_at(&c, second, 128);
    cv_result r = examine(&c, &u, cv_span_of(c.bytes + second, end - second, second), false);

    ck_assert_uint_eq(c.reads, 0);
    ck_assert_int_eq(r.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(r.payload.off, second + HEAD);
    cv_result_free(&r);
    /* one byte less at either end is not the unit */
    for (unsigned front = 0; front < 2; front++) {
        cv_span part = cv_span_of(c.bytes + second + front, end - second - 1, second + front);

        c.reads = 0;
        r = examine(&c, &u, part, front == 1);
        ck_assert_uint_eq(c.reads, front == 0); /* the second time it is in the worker's own window */
        ck_assert_int_eq(r.verdict, CUVET_V_CLEAN);
        cv_result_free(&r);
    }
    drop(&c);
}
END_TEST

/* The worker's window and blocks keep bytes of other sources: a nested one has the same offsets. */
START_TEST(other_source_same_place)
{
    uint64_t size = SIZES[_i];
    counted good = container(1, size), bad = container(1, size);
    cv_unit u = unit_at(&good, CV_FATBIN_HEADER, size), v;
    cv_result r = examine(&good, &u, (cv_span){ 0 }, false);

    ck_assert_int_eq(r.verdict, CUVET_V_CLEAN);
    cv_result_free(&r);
    /* A header that keeps the payload from being unpacked, and a container in the payload. */
    put(&bad, CV_FATBIN_HEADER + 0x38, 8, 1);
    put(&bad, FIRST + 16, 4, CV_FATBIN_MAGIC);
    put(&bad, FIRST + 20, 4, CV_FATBIN_TAIL);
    v = unit_at(&bad, CV_FATBIN_HEADER, size);
    r = examine(&bad, &v, (cv_span){ 0 }, false);
    ck_assert(said(&r, CV_R_FATBIN_USIZE_WITHOUT_FLAG, CV_FATBIN_HEADER + 0x38));
    ck_assert(said(&r, CV_R_FATBIN_HIDDEN, FIRST + 16));
    ck_assert(r.nested);
    cv_result_free(&r);
    drop(&good);
    drop(&bad);
}
END_TEST

/* A place that cannot be read belongs to the units that lie there, however much is read at once. */
START_TEST(bad_place_is_one_units_finding)
{
    counted c = container(40, 128);

    c.bad = CV_FATBIN_HEADER + 20 * (HEAD + 128) + HEAD + 5;
    for (uint64_t i = 0; i < 40; i++) {
        cv_unit u = unit_at(&c, CV_FATBIN_HEADER + i * (HEAD + 128), 128);
        cv_result r = examine(&c, &u, (cv_span){ 0 }, i > 0);

        ck_assert_int_eq(r.verdict, i == 20 ? CUVET_V_ERROR : CUVET_V_CLEAN);
        ck_assert(i != 20 || said(&r, CV_R_IO_READ, u.off + HEAD));
        cv_result_free(&r);
    }
    drop(&c);
}
END_TEST

static void no_finding(void *user, const cuvet_diag *d)
{
    (void)user;
    if (d->rule != CV_R_FATBIN_DUPLICATE) /* they all have one target */
        ck_abort_msg("rule %u at %lu", (unsigned)d->rule, (unsigned long)d->file_off);
}

static void scan(counted *c, uint32_t jobs, uint64_t members)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = CUVET_DEPTH_FULL, .jobs = jobs };
    cuvet_source src = source_of(c);
    static cv_scan s;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t n = 0;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    c->reads = 0;
    memset(c->times, 0, c->n);
    ck_assert_int_eq(cv_scan_open(&s, &cv_alloc_default, &lim, &src, &opt, no_finding, NULL), CUVET_OK);
    while (cv_scan_next(&s, &item) == CUVET_OK) {
        cv_span p = cv_scan_payload(&s);

        ck_assert(jobs > 1 || cv_u8_at(p, 0) == '.');
        n++;
    }
    ck_assert_int_eq(s.sum.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(n, members);
    cv_scan_close(&s);
}

/* Thousands of tiny members: a few system calls for all of them, and the walk's bytes are the worker's. */
START_TEST(tiny_members_are_read_together)
{
    counted c = container(4000, 128);
    uint64_t most = 0;

    scan(&c, 1, 4000);
    ck_assert_uint_le(c.reads, 20);
    for (uint64_t i = 512 * 1024; i < c.n; i++) /* the beginning is looked at first: is it an archive, … */
        most = c.times[i] > most ? c.times[i] : most;
    ck_assert_uint_le(most, 2); /* twice where a window ended in a member */
    scan(&c, 3, 4000);
    ck_assert_uint_le(c.reads, 400);
    drop(&c);
}
END_TEST

/* Large members between: what lies between the headers is not read for their sake. */
START_TEST(large_members_are_read_once)
{
    uint64_t size = 4 * CV_WINDOW_SIZE;
    counted c = container(8, size);
    uint64_t twice = 0;

    scan(&c, 1, 8);
    for (uint64_t i = CV_WINDOW_SIZE + FIRST; i < c.n; i++)
        twice += c.times[i] > 1;
    ck_assert_uint_le(twice, 8 * HEAD);
    drop(&c);
}
END_TEST

Suite *suite_unit(void)
{
    Suite *s = suite_create("unit");
    TCase *t = tcase_create("unit");
    int n = (int)(sizeof(SIZES) / sizeof(SIZES[0]));

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, reads_no_byte_twice, 0, n);
    tcase_add_loop_test(t, changed_header, 0, n);
    tcase_add_test(t, near_bytes_are_used);
    tcase_add_loop_test(t, other_source_same_place, 0, n);
    tcase_add_test(t, bad_place_is_one_units_finding);
    tcase_add_test(t, tiny_members_are_read_together);
    tcase_add_test(t, large_members_are_read_once);
    suite_add_tcase(s, t);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a unit gets its bytes: small ones out of what is in memory already or together with their neighbours,
 * large ones as blocks of their own; nothing twice, nothing of another source. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "intake/region.h"
#include "scan/scan.h"

#define HEAD  (CV_FATBIN_MEMBER + 16)   /* with an empty option block */
#define FIRST (CV_FATBIN_HEADER + HEAD) /* payload of the first member */

/* A source that counts, and may refuse. */
typedef struct unit_counted {
    uint8_t *bytes;
    uint8_t *times; /* per byte, how often it was read */
    uint64_t size, reads;
    uint64_t bad; /* a place that cannot be read, or UINT64_MAX */
} unit_counted;

static cuvet_status read_counted(void *user, uint64_t off, void *buf, size_t len)
{
    unit_counted *counted = user;

    __atomic_add_fetch(&counted->reads, 1, __ATOMIC_RELAXED);
    if (counted->bad >= off && counted->bad < off + len)
        return CUVET_E_IO;
    memcpy(buf, counted->bytes + off, len);
    for (size_t i = 0; i < len; i++)
        __atomic_add_fetch(&counted->times[off + i], 1, __ATOMIC_RELAXED);
    return CUVET_OK;
}

static void put(unit_counted *counted, uint64_t at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        counted->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static unit_counted make(uint64_t count)
{
    unit_counted counted = { calloc(count, 1), calloc(count, 1), count, 0, UINT64_MAX };

    ck_assert(counted.bytes && counted.times);
    return counted;
}

static void drop(unit_counted *counted)
{
    free(counted->bytes);
    free(counted->times);
}

static cuvet_source source_of(unit_counted *counted)
{
    return (cuvet_source){ sizeof(cuvet_source), counted->size, read_counted, counted, -1 };
}

/* An uncompressed PTX member with a payload of 'size' bytes, mostly spaces. Returns where the next one goes.
 */
static uint64_t put_member(unit_counted *counted, uint64_t at, uint64_t size)
{
    static const char TEXT[] = ".version 9.0\n.target sm_75\n.address_size 64\n";
    uint64_t payload = at + HEAD;

    put(counted, at, 2, CV_FB_KIND_PTX);
    put(counted, at + 2, 2, CV_FATBIN_MEMBER_VERSION);
    put(counted, at + 4, 4, HEAD);
    put(counted, at + 8, 8, size);
    put(counted, at + 0x14, 4, CV_FATBIN_MEMBER);
    put(counted, at + 0x18, 4, 9 << 16);
    put(counted, at + 0x1C, 4, 75);
    put(counted, at + 0x28, 8, CV_FB_64BIT | CV_FB_LINUX);
    put(counted, at + CV_FATBIN_MEMBER, 4, CV_FATBIN_MEMBER + 8);
    memset(counted->bytes + payload, '\n', size);
    memcpy(counted->bytes + payload, TEXT, sizeof(TEXT) - 1);
    counted->bytes[payload + size - 1] = 0;
    return payload + size;
}

/* One container with 'count' members of the same size. */
static unit_counted container(uint64_t count, uint64_t size)
{
    unit_counted counted = make(CV_FATBIN_HEADER + count * (HEAD + size));
    uint64_t at = CV_FATBIN_HEADER;

    put(&counted, 0, 4, CV_FATBIN_MAGIC);
    put(&counted, 4, 4, CV_FATBIN_TAIL);
    put(&counted, 8, 8, counted.size - CV_FATBIN_HEADER);
    for (uint64_t i = 0; i < count; i++)
        at = put_member(&counted, at, size);
    ck_assert_uint_eq(at, counted.size);
    return counted;
}

static cv_unit unit_at(const unit_counted *counted, uint64_t off, uint64_t size)
{
    cv_unit unit = { .row = &cv_kind_fatbin, .off = off, .header_size = HEAD, .payload_size = size };

    memcpy(&unit.head, counted->bytes + off, sizeof(unit.head));
    return unit;
}

static cv_worker worker;

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_worker_init(&worker, NULL, &lim);
}

static void teardown(void)
{
    cv_worker_free(&worker);
    ck_assert_uint_eq(worker.ctx.mem.live, 0);
    cv_islands_drop();
}

static bool said(const cv_result *result, cv_rule rule, uint64_t off)
{
    for (uint64_t i = 0; i < result->diags.count; i++) {
        if (cv_diags_get(&result->diags, i)->rule == rule && cv_diags_get(&result->diags, i)->file_off == off)
            return true;
    }
    return false;
}

static cv_result examine(unit_counted *counted, const cv_unit *unit, cv_span near, bool follows)
{
    cv_examine_options opt = { .depth = CUVET_DEPTH_FULL, .near = near, .follows = follows };
    cuvet_source src = source_of(counted);
    cv_result result;

    cv_examine(&worker, &src, unit, &opt, &result);
    ck_assert_int_eq(result.status, CUVET_OK);
    return result;
}

/* Sizes around the one above which a unit has blocks of its own. */
static const uint64_t SIZES[] = { 64, CV_NEAR_MAX - HEAD, CV_NEAR_MAX - HEAD + 8, 5 * CV_NEAR_MAX };

START_TEST(reads_no_byte_twice)
{
    uint64_t size = SIZES[_i];
    unit_counted counted = container(1, size);
    cv_unit unit = unit_at(&counted, CV_FATBIN_HEADER, size);
    cv_result result = examine(&counted, &unit, (cv_span){ 0 }, false);

    ck_assert_int_eq(result.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(result.payload.off, FIRST);
    ck_assert_uint_eq(counted.reads, HEAD + size <= CV_NEAR_MAX ? 1 : 2);
    for (uint64_t i = 0; i < counted.size; i++)
        ck_assert_uint_eq(counted.times[i], i >= CV_FATBIN_HEADER);
    cv_result_free(&result);
    drop(&counted);
}
END_TEST

/* The header that the walk saw is not the one that is there now: nothing of the unit is looked at. */
START_TEST(changed_header)
{
    uint64_t size = SIZES[_i];
    unit_counted counted = container(1, size);
    cv_unit unit = unit_at(&counted, CV_FATBIN_HEADER, size);
    cv_result result;

    put(&counted, CV_FATBIN_HEADER + 63, 1, 1);
    result = examine(&counted, &unit, (cv_span){ 0 }, false);
    ck_assert_uint_eq(result.diags.count, 1);
    ck_assert(said(&result, CV_R_IO_CHANGED, CV_FATBIN_HEADER));
    ck_assert_int_eq(result.verdict, CUVET_V_ERROR);
    ck_assert(!(result.item.flags & CUVET_ITEM_EXAMINED));
    cv_result_free(&result);
    drop(&counted);
}
END_TEST

/* What is in memory is not read again, and not a byte beside it is taken for part of it. */
START_TEST(near_bytes_are_used)
{
    unit_counted counted = container(3, 128);
    uint64_t second = CV_FATBIN_HEADER + HEAD + 128, end = second + HEAD + 128;
    cv_unit unit = unit_at(&counted, second, 128);
    cv_result result =
        examine(&counted, &unit, cv_span_of(counted.bytes + second, end - second, second), false);

    ck_assert_uint_eq(counted.reads, 0);
    ck_assert_int_eq(result.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(result.payload.off, second + HEAD);
    cv_result_free(&result);
    /* one byte less at either end is not the unit */
    for (unsigned front = 0; front < 2; front++) {
        cv_span part = cv_span_of(counted.bytes + second + front, end - second - 1, second + front);

        counted.reads = 0;
        result = examine(&counted, &unit, part, front == 1);
        ck_assert_uint_eq(counted.reads, front == 0); /* the second time it is in the worker's own window */
        ck_assert_int_eq(result.verdict, CUVET_V_CLEAN);
        cv_result_free(&result);
    }
    drop(&counted);
}
END_TEST

/* The worker's window and blocks keep bytes of other sources: a nested one has the same offsets. */
START_TEST(other_source_same_place)
{
    uint64_t size = SIZES[_i];
    unit_counted good = container(1, size), bad = container(1, size);
    cv_unit unit = unit_at(&good, CV_FATBIN_HEADER, size), other_unit;
    cv_result result = examine(&good, &unit, (cv_span){ 0 }, false);

    ck_assert_int_eq(result.verdict, CUVET_V_CLEAN);
    cv_result_free(&result);
    /* A header that keeps the payload from being unpacked, and a container in the payload. */
    put(&bad, CV_FATBIN_HEADER + 0x38, 8, 1);
    put(&bad, FIRST + 16, 4, CV_FATBIN_MAGIC);
    put(&bad, FIRST + 20, 4, CV_FATBIN_TAIL);
    other_unit = unit_at(&bad, CV_FATBIN_HEADER, size);
    result = examine(&bad, &other_unit, (cv_span){ 0 }, false);
    ck_assert(said(&result, CV_R_FATBIN_USIZE_WITHOUT_FLAG, CV_FATBIN_HEADER + 0x38));
    ck_assert(said(&result, CV_R_FATBIN_HIDDEN, FIRST + 16));
    ck_assert(result.nested);
    cv_result_free(&result);
    drop(&good);
    drop(&bad);
}
END_TEST

/* What may begin in a header is looked at in the file, by who judges the unit, and not again by who takes its
 * content: a read that failed then would be one that nobody hears of. */
START_TEST(header_is_searched_once)
{
    unit_counted counted = container(1, 128);
    cuvet_source src = source_of(&counted);
    cv_unit unit;

    put(&counted, CV_FATBIN_HEADER + CV_FATBIN_MEMBER + 12, 4, CV_FATBIN_MAGIC);
    unit = unit_at(&counted, CV_FATBIN_HEADER, 128);
    for (unsigned take = 0; take < 2; take++) {
        cv_examine_options opt = { .depth = CUVET_DEPTH_FULL, .take = take == 1 };
        cv_result result;

        counted.reads = 0;
        cv_examine(&worker, &src, &unit, &opt, &result);
        ck_assert_int_eq(result.status, CUVET_OK);
        ck_assert_uint_eq(counted.reads, take ? 1 : 2);
        cv_result_free(&result);
    }
    drop(&counted);
}
END_TEST

/* A place that cannot be read belongs to the units that lie there, however much is read at once. */
START_TEST(bad_place_is_one_units_finding)
{
    unit_counted counted = container(40, 128);

    counted.bad = CV_FATBIN_HEADER + 20 * (HEAD + 128) + HEAD + 5;
    for (uint64_t i = 0; i < 40; i++) {
        cv_unit unit = unit_at(&counted, CV_FATBIN_HEADER + i * (HEAD + 128), 128);
        cv_result result = examine(&counted, &unit, (cv_span){ 0 }, i > 0);

        ck_assert_int_eq(result.verdict, i == 20 ? CUVET_V_ERROR : CUVET_V_CLEAN);
        ck_assert(i != 20 || said(&result, CV_R_IO_READ, unit.off + HEAD));
        cv_result_free(&result);
    }
    drop(&counted);
}
END_TEST

static void no_finding(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (diag->rule != CV_R_FATBIN_DUPLICATE) /* they all have one target */
        ck_abort_msg("rule %u at %lu", (unsigned)diag->rule, (unsigned long)diag->file_off);
}

static void scan(unit_counted *counted, uint32_t jobs, uint64_t members)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = CUVET_DEPTH_FULL, .jobs = jobs };
    cuvet_source src = source_of(counted);
    static cv_scan scan;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_limits lim = { .size = sizeof(lim) };
    uint64_t count = 0;

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    counted->reads = 0;
    memset(counted->times, 0, counted->size);
    ck_assert_int_eq(cv_scan_open(&scan, &cv_alloc_default, &lim, &src, &opt, no_finding, NULL), CUVET_OK);
    while (cv_scan_next(&scan, &item) == CUVET_OK) {
        cv_span prefix = cv_scan_payload(&scan);

        ck_assert(jobs > 1 || cv_u8_at(prefix, 0) == '.');
        count++;
    }
    ck_assert_int_eq(scan.sum.verdict, CUVET_V_CLEAN);
    ck_assert_uint_eq(count, members);
    cv_scan_close(&scan);
}

/* Thousands of tiny members: a few system calls for all of them, and the walk's bytes are the worker's. */
START_TEST(tiny_members_are_read_together)
{
    unit_counted counted = container(4000, 128);
    uint64_t most = 0;

    scan(&counted, 1, 4000);
    ck_assert_uint_le(counted.reads, 20);
    for (uint64_t i = 512 * 1024; i < counted.size;
         i++) /* the beginning is looked at first: is it an archive, … */
        most = counted.times[i] > most ? counted.times[i] : most;
    ck_assert_uint_le(most, 2); /* twice where a window ended in a member */
    scan(&counted, 3, 4000);
    ck_assert_uint_le(counted.reads, 400);
    drop(&counted);
}
END_TEST

/* Large members between: what lies between the headers is not read for their sake. */
START_TEST(large_members_are_read_once)
{
    uint64_t size = 4 * CV_WINDOW_SIZE;
    unit_counted counted = container(8, size);
    uint64_t twice = 0;

    scan(&counted, 1, 8);
    for (uint64_t i = CV_WINDOW_SIZE + FIRST; i < counted.size; i++)
        twice += counted.times[i] > 1;
    ck_assert_uint_le(twice, 8 * HEAD);
    drop(&counted);
}
END_TEST

Suite *suite_unit(void)
{
    Suite *suite = suite_create("unit");
    TCase *tcase = tcase_create("unit");
    int count = (int)(sizeof(SIZES) / sizeof(SIZES[0]));

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, reads_no_byte_twice, 0, count);
    tcase_add_loop_test(tcase, changed_header, 0, count);
    tcase_add_test(tcase, near_bytes_are_used);
    tcase_add_loop_test(tcase, other_source_same_place, 0, count);
    tcase_add_test(tcase, header_is_searched_once);
    tcase_add_test(tcase, bad_place_is_one_units_finding);
    tcase_add_test(tcase, tiny_members_are_read_together);
    tcase_add_test(tcase, large_members_are_read_once);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Islands of sanitizer builds: the bytes of a span and no others may be touched, from when it is made until
 * it is dropped. Elsewhere a span of a span is the same memory, and there is nothing to see. */
#include <check.h>
#include <string.h>

#include "base/platform.h"
#include "bytes/span.h"

static uint8_t BYTES[70000];

static bool guarded(const uint8_t *at)
{
    return CV_GUARDS((void *)(uintptr_t)at, 1);
}

START_TEST(an_island_ends_where_its_span_does)
{
    static const uint64_t LENGTHS[] = {
        0, 1, 7, 8, 9, 15, 16, 17, 255, 256, 4095, 4096, 65000, 65536, 69999
    };
    cv_span out[CV_COUNT(LENGTHS)];

    for (unsigned i = 0; i < sizeof(BYTES); i++)
        BYTES[i] = (uint8_t)(i * 7);
    for (unsigned i = 0; i < CV_COUNT(LENGTHS); i++)
        ck_assert(cv_span_sub(cv_span_of(BYTES, sizeof(BYTES), 5), 1, LENGTHS[i], &out[i]));
    for (unsigned i = 0; i < CV_COUNT(LENGTHS); i++) {
        ck_assert_uint_eq(out[i].len, LENGTHS[i]);
        ck_assert_uint_eq(out[i].off, 6);
        ck_assert(LENGTHS[i] == 0 || memcmp(out[i].base, BYTES + 1, LENGTHS[i]) == 0);
        if (CV_GUARDED && out[i].base != BYTES + 1) {
            ck_assert(guarded(out[i].base - 1));
            ck_assert(guarded(out[i].base + LENGTHS[i]));
        }
    }
    cv_islands_drop();
    for (unsigned i = 0; CV_GUARDED && i < CV_COUNT(LENGTHS); i++)
        if (out[i].base != BYTES + 1)
            ck_assert(guarded(out[i].base) && guarded(out[i].base + LENGTHS[i] / 2));
}
END_TEST

/* What was dropped is guarded while others are made and dropped: an old pointer does not hit new bytes. */
START_TEST(dropped_islands_rest)
{
    cv_span first, next;

    cv_islands_reuse();
    ck_assert(cv_span_sub(cv_span_of(BYTES, sizeof(BYTES), 0), 0, 100, &first));
    cv_islands_drop();
    for (unsigned i = 0; i < 8; i++) {
        ck_assert(cv_span_sub(cv_span_of(BYTES, sizeof(BYTES), 0), 0, 100, &next));
        if (CV_GUARDED && first.base != BYTES)
            ck_assert(guarded(first.base) && first.base != next.base);
        cv_islands_drop();
    }
}
END_TEST

START_TEST(kept_islands_stay)
{
    cv_islands kept = { 0 };
    cv_span mine, other;

    ck_assert(cv_span_sub(cv_span_of(BYTES, sizeof(BYTES), 0), 3, 40, &mine));
    cv_islands_keep(&kept);
    ck_assert(cv_span_sub(cv_span_of(BYTES, sizeof(BYTES), 0), 3, 40, &other));
    cv_islands_drop();
    ck_assert(memcmp(mine.base, BYTES + 3, 40) == 0);
    cv_islands_take(&kept);
    ck_assert(kept.first == NULL);
    ck_assert(memcmp(mine.base, BYTES + 3, 40) == 0);
    cv_islands_keep(&kept);
    cv_islands_free(&kept);
    ck_assert(kept.first == NULL);
    if (CV_GUARDED && mine.base != BYTES + 3)
        ck_assert(guarded(mine.base));
}
END_TEST

Suite *suite_island(void)
{
    Suite *suite = suite_create("island");
    TCase *tcase = tcase_create("island");

    tcase_add_test(tcase, an_island_ends_where_its_span_does);
    tcase_add_test(tcase, dropped_islands_rest);
    tcase_add_test(tcase, kept_islands_stay);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Blocks that are kept: who gets which, how many stay, and that all go back with the size they came with. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "io/keep.h"

#define BLOCKS 512

/* An allocator that knows each block that is out. */
typedef struct shop {
    void *block[BLOCKS];
    size_t size[BLOCKS];
    unsigned count, given, refuse; /* so many calls fail */
} shop;

static void *shop_get(void *user, size_t size)
{
    shop *from = user;

    if (from->refuse && from->refuse--)
        return NULL;
    ck_assert_uint_lt(from->count, BLOCKS);
    from->block[from->count] = malloc(size);
    ck_assert_ptr_nonnull(from->block[from->count]);
    from->size[from->count] = size;
    from->given++;
    return from->block[from->count++];
}

static unsigned shop_find(const shop *from, const void *block, size_t size)
{
    unsigned i = 0;

    while (i < from->count && from->block[i] != block)
        i++;
    ck_assert_uint_lt(i, from->count);
    ck_assert_uint_eq(from->size[i], size);
    return i;
}

static void *shop_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    shop *from = user;
    unsigned i = shop_find(from, block, old_size);

    if (from->refuse && from->refuse--)
        return NULL;
    from->block[i] = realloc(block, new_size);
    from->size[i] = new_size;
    from->given++;
    return from->block[i];
}

static void shop_put(void *user, void *block, size_t size)
{
    shop *from = user;
    unsigned i = shop_find(from, block, size);

    free(block);
    from->count--;
    from->block[i] = from->block[from->count];
    from->size[i] = from->size[from->count];
}

static shop below;
static cv_keep keep;
static cuvet_alloc alloc;

static void open_keep(uint64_t most, bool huge)
{
    const cuvet_alloc from = { sizeof(from), shop_get, shop_resize, shop_put, &below };

    memset(&below, 0, sizeof(below));
    ck_assert_int_eq(cv_keep_init(&keep, &from, most, huge), CUVET_OK);
    alloc = cv_keep_alloc(&keep);
}

static void close_keep(void)
{
    cv_keep_end(&keep);
    ck_assert_uint_eq(below.count, 0);
}

static uint8_t *get(size_t size)
{
    uint8_t *block = alloc.alloc(alloc.user, size);

    ck_assert_ptr_nonnull(block);
    memset(block, 0x5A, size);
    return block;
}

static void put(void *block, size_t size)
{
    alloc.release(alloc.user, block, size);
}

START_TEST(a_large_block_is_there_again)
{
    const size_t large = 1 << 20;
    uint8_t *block, *other;
    unsigned given;

    open_keep(8 * CV_MIB, false);
    block = get(large);
    other = get(large);
    put(block, large);
    given = below.given;
    ck_assert(!CV_GUARDED || CV_GUARDS(block, 1));
    ck_assert_ptr_eq(get(large - 100), block); /* one of its class */
    ck_assert_ptr_ne(get(2 * large), block);
    ck_assert_uint_eq(below.given, given + 1);
    put(block, large - 50); /* whatever is named, it is the size of the class that counts */
    put(other, large);
    ck_assert_ptr_eq(get(large), other); /* the one that was used last */
    ck_assert_ptr_eq(get(large), block);
    put(block, large);
    put(other, large);
    put(below.block[2], 2 * large);
    ck_assert_uint_eq(below.count, 3);
    close_keep();
}
END_TEST

START_TEST(small_blocks_are_left_to_the_heap)
{
    uint8_t *block;

    open_keep(8 * CV_MIB, false);
    for (size_t size = 1; size < 64 * CV_KIB; size = 3 * size + 1) {
        block = get(size);
        ck_assert_uint_eq(below.size[0], size);
        put(block, size);
        ck_assert_uint_eq(below.count, 0);
    }
    close_keep();
}
END_TEST

START_TEST(no_more_is_kept_than_was_said)
{
    uint8_t *block[CV_KEEP_BLOCKS + 10];

    open_keep(4 * CV_MIB, false);
    for (unsigned i = 0; i < 6; i++)
        block[i] = get(CV_MIB);
    for (unsigned i = 0; i < 6; i++)
        put(block[i], CV_MIB);
    ck_assert_uint_eq(below.count, 4);
    ck_assert_uint_eq(keep.bytes, 4 * CV_MIB);
    for (unsigned i = 0; i < 4; i++) /* the oldest went */
        ck_assert_ptr_eq(below.block[shop_find(&below, block[2 + i], CV_MIB)], block[2 + i]);
    block[0] = get(5 * CV_MIB); /* never */
    put(block[0], 5 * CV_MIB);
    ck_assert_uint_eq(below.count, 4);
    close_keep();
    open_keep(64 * CV_MIB, false); /* nor more blocks than there is room for */
    for (unsigned i = 0; i < CV_KEEP_BLOCKS + 10; i++)
        block[i] = get(64 * CV_KIB);
    for (unsigned i = 0; i < CV_KEEP_BLOCKS + 10; i++)
        put(block[i], 64 * CV_KIB);
    ck_assert_uint_eq(below.count, CV_KEEP_BLOCKS);
    close_keep();
    open_keep(0, true); /* nothing is kept */
    block[0] = get(CV_MIB);
    put(block[0], CV_MIB);
    ck_assert_uint_eq(below.count, 0);
    close_keep();
}
END_TEST

/* Large ones are worth more than many small ones, and old ones less than new ones. */
START_TEST(who_goes_first)
{
    uint8_t *block[CV_KEEP_BLOCKS], *large;

    open_keep(64 * CV_MIB, false);
    large = get(CV_MIB);
    for (unsigned i = 0; i < CV_KEEP_BLOCKS; i++)
        block[i] = get(64 * CV_KIB);
    put(large, CV_MIB);
    for (unsigned i = 0; i < CV_KEEP_BLOCKS; i++)
        put(block[i], 64 * CV_KIB);
    ck_assert_uint_eq(below.count, CV_KEEP_BLOCKS);
    ck_assert_ptr_eq(get(CV_MIB), large);
    put(large, CV_MIB);
    close_keep();
}
END_TEST

/* Without more memory below, what is kept is of use to nobody. */
START_TEST(what_is_kept_goes_back_in_need)
{
    uint8_t *kept, *block;

    for (unsigned grows = 0; grows < 2; grows++) {
        open_keep(8 * CV_MIB, false);
        kept = get(CV_MIB);
        block = get(200);
        put(kept, CV_MIB);
        below.refuse = 1;
        if (grows) {
            block = alloc.resize(alloc.user, block, 200, 2 * CV_MIB);
            ck_assert_ptr_nonnull(block);
            put(block, 2 * CV_MIB);
        } else {
            put(get(2 * CV_MIB), 2 * CV_MIB);
            put(block, 200);
        }
        ck_assert_uint_eq(keep.count, 1);
        ck_assert_uint_eq(keep.bytes, 2 * CV_MIB);
        below.refuse = 2; /* the second attempt, for which one block was given up, fails as well */
        ck_assert_ptr_null(alloc.alloc(alloc.user, 3 * CV_MIB));
        ck_assert_uint_eq(keep.count, 0);
        below.refuse = 1; /* there is no second one for nothing */
        ck_assert_ptr_null(alloc.alloc(alloc.user, 3 * CV_MIB));
        ck_assert_uint_eq(below.refuse, 0);
        close_keep();
    }
}
END_TEST

static bool holds(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0x5A)
            return false;
    return true;
}

/* From every size to every other, with a block of the second kept and without: the bytes go along, and the
 * allocator below sees the size it gave. */
START_TEST(what_grows_keeps_its_bytes)
{
    static const size_t SIZES[] = { 10,      65535,   65536,   65537,        70000, (1 << 20) - 1,
                                    1 << 20, 1100000, 4 << 20, (4 << 20) + 1 };
    const size_t count = sizeof(SIZES) / sizeof(SIZES[0]);

    for (size_t k = 0; k < 2 * count * count; k++) {
        size_t before = SIZES[k / 2 / count], after = SIZES[k / 2 % count];
        uint8_t *block, *kept;

        open_keep(256 * CV_MIB, k / 2 % 3 == 0);
        if (k % 2) {
            kept = get(after);
            put(kept, after);
        }
        block = get(before);
        block = alloc.resize(alloc.user, block, before, after);
        ck_assert_ptr_nonnull(block);
        ck_assert(holds(block, before < after ? before : after));
        memset(block, 0, after);
        put(block, after);
        close_keep();
    }
}
END_TEST

/* A size that is no size of a block is refused by the allocator below, not by the arithmetic before it. */
static void *refuse(void *user, size_t size)
{
    *(size_t *)user = size;
    return NULL;
}

START_TEST(sizes_at_the_edge)
{
    static const size_t SIZES[] = { SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, SIZE_MAX / 2,
                                    SIZE_MAX / 2 - 70000 };
    size_t asked = 0;
    const cuvet_alloc from = { sizeof(from), refuse, NULL, NULL, &asked };

    ck_assert_int_eq(cv_keep_init(&keep, &from, UINT64_MAX, true), CUVET_OK);
    alloc = cv_keep_alloc(&keep);
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        ck_assert_ptr_null(alloc.alloc(alloc.user, SIZES[i]));
        ck_assert(asked >= SIZES[i]);
    }
    cv_keep_end(&keep);
}
END_TEST

Suite *suite_keep(void);
Suite *suite_keep(void)
{
    Suite *suite = suite_create("io/keep");
    TCase *tcase = tcase_create("keep");

    tcase_add_test(tcase, a_large_block_is_there_again);
    tcase_add_test(tcase, small_blocks_are_left_to_the_heap);
    tcase_add_test(tcase, no_more_is_kept_than_was_said);
    tcase_add_test(tcase, who_goes_first);
    tcase_add_test(tcase, what_is_kept_goes_back_in_need);
    tcase_add_test(tcase, what_grows_keeps_its_bytes);
    tcase_add_test(tcase, sizes_at_the_edge);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Questions about a walk that is somewhere: which place is this, is it the first container, is there more to
 * come of the one at hand; and how a walk begins at what is known already, or can be no object. */
#include <check.h>
#include <string.h>

#include "intake/locate.h"
#include "intake/place.h"
#include "intake/region.h"

static cv_ctx ctx;
static cv_walk walk;

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    cv_ctx_unit(&ctx, CV_MIB);
    walk = (cv_walk){ 0 };
}

static void teardown(void)
{
    cv_walk_close(&ctx, &walk);
    ck_assert_uint_eq(ctx.mem.live, 0);
}

/* ---- in a host object with these sections ---- */

enum { MOST_SECTIONS = 4 };

typedef struct state_section {
    uint64_t off, size;
    cv_hostobj_kind kind;
    uint32_t index;
} state_section;

static void make_host(uint16_t type, const state_section *sections)
{
    cv_region region = { .row = &cv_kind_host, .host = true, .end = 1000 };

    ck_assert(cv_regions_push(&ctx.mem, &walk.stack, region));
    walk.host.type = type;
    for (int i = 0; i < MOST_SECTIONS && sections[i].size; i++)
        ck_assert(cv_host_sections_push(&ctx.mem, &walk.host.sections,
                                        (cv_host_section){ .off = sections[i].off,
                                                           .size = sections[i].size,
                                                           .kind = sections[i].kind,
                                                           .index = sections[i].index }));
}

#define REL      CV_HOSTOBJ_RELFATBIN
#define FAT      CV_HOSTOBJ_FATBIN
#define WRAPPERS CV_HOSTOBJ_WRAPPERS
#define MODULE   CV_HOSTOBJ_MODULE_ID

static const struct {
    const char *what;
    uint16_t type;
    state_section sections[MOST_SECTIONS];
    uint64_t at;
    bool image;
    cuvet_place place;
} PLACES[] = {
    { "first of its section",
      1,
      { { 100, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } },
      100,
      false,
      CUVET_PLACE_OBJECT },
    { "another", 1, { { 100, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } }, 120, false, CUVET_PLACE_UNNAMED },
    { "no container", 1, { { 100, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } }, 100, true, CUVET_PLACE_UNNAMED },
    { "no wrappers", 1, { { 100, 50, REL, 3 } }, 100, false, CUVET_PLACE_UNNAMED },
    { "a second section, first in the table",
      1,
      { { 100, 50, REL, 5 }, { 150, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } },
      150,
      false,
      CUVET_PLACE_OBJECT },
    { "a first section, second in the table",
      1,
      { { 100, 50, REL, 5 }, { 150, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } },
      100,
      false,
      CUVET_PLACE_UNNAMED },
    { "a second section, second in the table",
      1,
      { { 100, 50, REL, 3 }, { 150, 50, REL, 5 }, { 200, 24, WRAPPERS, 4 } },
      150,
      false,
      CUVET_PLACE_UNNAMED },
    { "finished code", 1, { { 100, 50, FAT, 3 } }, 100, false, CUVET_PLACE_FINISHED },
    { "finished over code to link",
      1,
      { { 100, 50, FAT, 3 }, { 100, 50, REL, 4 } },
      120,
      false,
      CUVET_PLACE_UNNAMED },
    { "code to link over finished",
      1,
      { { 100, 50, REL, 3 }, { 100, 50, FAT, 4 } },
      120,
      false,
      CUVET_PLACE_UNNAMED },
    { "finished over a name",
      1,
      { { 100, 50, FAT, 3 }, { 100, 50, MODULE, 4 } },
      120,
      false,
      CUVET_PLACE_FINISHED },
    { "a name over finished",
      1,
      { { 100, 50, MODULE, 3 }, { 100, 50, FAT, 4 } },
      120,
      false,
      CUVET_PLACE_FINISHED },
    { "a name", 1, { { 100, 50, MODULE, 3 } }, 120, false, CUVET_PLACE_SECTION },
    { "before a section", 1, { { 100, 50, FAT, 3 } }, 99, false, CUVET_PLACE_OUTSIDE },
    { "behind a section", 1, { { 100, 50, FAT, 3 } }, 150, false, CUVET_PLACE_OUTSIDE },
    { "in a program", 2, { { 100, 50, REL, 3 }, { 200, 24, WRAPPERS, 4 } }, 100, false, CUVET_PLACE_PROGRAM },
};

START_TEST(places)
{
    make_host(PLACES[_i].type, PLACES[_i].sections);
    ck_assert_msg(cv_place_at(&ctx, &walk, PLACES[_i].at, !PLACES[_i].image) == PLACES[_i].place, "%s: %d",
                  PLACES[_i].what, (int)cv_place_at(&ctx, &walk, PLACES[_i].at, !PLACES[_i].image));
}
END_TEST

/* A number that is no place is none that anybody chooses from. */
START_TEST(no_place)
{
    cv_rule rule;

    ck_assert(cv_place_chosen(CUVET_PLACE_FILE));
    ck_assert(!cv_place_chosen(CUVET_PLACE_BYTES));
    ck_assert(!cv_place_chosen((cuvet_place)1000));
    ck_assert_int_eq(cv_place_part((cuvet_place)1000, &rule), CV_REFUSED);
}
END_TEST

START_TEST(more_to_come)
{
    static const struct {
        bool some;
        cv_region top;
        bool more;
    } ROWS[] = {
        { false, { 0 }, false },
        { true, { .found = true, .pos = 1, .end = 2 }, true },
        { true, { .found = false, .pos = 1, .end = 2 }, false },
        { true, { .found = true, .broken = true, .pos = 1, .end = 2 }, false },
        { true, { .found = true, .pos = 2, .end = 2 }, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        setup();
        ck_assert(!ROWS[i].some || cv_regions_push(&ctx.mem, &walk.stack, ROWS[i].top));
        ck_assert_msg(cv_walk_is_inside(&walk) == ROWS[i].more, "row %u", (unsigned)i);
        teardown();
    }
    setup();
}
END_TEST

/* ---- beginnings ---- */

/* Device code is no program for a host, whichever way round its machine is written. */
START_TEST(hosts)
{
    static const struct {
        uint8_t head[20];
        bool host;
    } ROWS[] = {
        { { 0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 62 }, true },
        { { 0x7F, 'E', 'L', 'F', 2, 1, 1, [18] = 190 }, false },
        { { 0x7F, 'E', 'L', 'F', 2, 2, 1, [19] = 190 }, false },
        { { 0x7F, 'E', 'L', 'G', 2, 1, 1, [18] = 62 }, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        uint8_t bytes[64] = { 0 };

        memcpy(bytes, ROWS[i].head, sizeof(ROWS[i].head));
        ck_assert_msg(cv_locate_is_host(cv_span_of(bytes, 64, 0)) == ROWS[i].host, "row %u", (unsigned)i);
    }
    ck_assert(!cv_locate_is_host(cv_span_of(ROWS[0].head, 6, 0)));
}
END_TEST

/* What is whole before the place is none of both sides. */
START_TEST(across)
{
    static const struct {
        uint64_t begin;
        bool found;
    } ROWS[] = { { 40, false }, { 56, false }, { 57, true }, { 60, true }, { 63, true }, { 64, false } };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        static const uint8_t HEAD[] = { 0x50, 0xED, 0x55, 0xBA, 0x01, 0x00, 0x10, 0x00 };
        uint8_t bytes[128] = { 0 };
        cuvet_source source = { .size = sizeof(source) };
        cv_block block = { 0 };
        uint64_t hit = 0;
        bool found;

        memcpy(bytes + ROWS[i].begin, HEAD, sizeof(HEAD));
        ck_assert_int_eq(cuvet_source_memory(bytes, sizeof(bytes), &source), CUVET_OK);
        ck_assert_int_eq(cv_locate_across(&ctx, &block, &source, 0, 64, sizeof(bytes), &found, &hit),
                         CUVET_OK);
        ck_assert_msg(found == ROWS[i].found, "row %zu", i);
        ck_assert(!found || hit == ROWS[i].begin);
        cv_block_free(&ctx, &block);
    }
}
END_TEST

static const char PTX[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

/* Bytes that can be no object are searched; a text is a text there as well. What somebody has looked at
 * before is believed of an object alone. */
START_TEST(beginnings)
{
    static const struct {
        const char *bytes;
        bool raw, shelf;
        cuvet_kind known;
        uint64_t units;
    } ROWS[] = {
        { PTX, false, false, CUVET_K_NONE, 1 },
        { PTX, true, false, CUVET_K_NONE, 1 },
        { PTX, false, true, CUVET_K_NONE, 1 },
        { PTX, false, true, CUVET_K_PTX, 1 },
        { PTX, true, true, CUVET_K_BITCODE, 1 },
        { "nothing", false, false, CUVET_K_NONE, 0 },
        { "nothing", true, false, CUVET_K_NONE, 0 },
        { "BC\xC0\xDE....", false, false, CUVET_K_NONE, 1 },
        { "BC\xC0\xDE....", true, false, CUVET_K_NONE, 0 },
        { "BC\xC0\xDE....", true, true, CUVET_K_PTX, 0 },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cuvet_source src = { .size = sizeof(src) };
        cv_host_shelf shelf = { .mem = &ctx.mem };
        uint64_t size = strlen(ROWS[i].bytes), units = 0;
        cv_unit unit;

        setup();
        ck_assert_int_eq(cuvet_source_memory(ROWS[i].bytes, size, &src), CUVET_OK);
        ck_assert_int_eq(cv_walk_open(&ctx, &walk, &src, 0, size, ROWS[i].raw, false), CUVET_OK);
        if (ROWS[i].known != CUVET_K_NONE)
            cv_host_put_kind(&shelf, 0, ROWS[i].known);
        walk.shelf = ROWS[i].shelf ? &shelf : NULL;
        while (cv_walk_next(&ctx, &walk, &unit) == CUVET_OK)
            units++;
        ck_assert_msg(units == ROWS[i].units, "row %u: %u", (unsigned)i, (unsigned)units);
        cv_host_shelf_free(&shelf);
        teardown();
    }
    setup();
}
END_TEST

/* A text is known by its first word, however long the comment before it is; one without an end is none. */
START_TEST(comments)
{
    static const struct {
        uint64_t comment;
        bool ends;
        uint64_t units;
    } ROWS[] = { { 10, true, 1 },      { 10, false, 0 },          { CV_KIB, true, 1 },
                 { CV_KIB, false, 0 }, { 100 * CV_KIB, true, 1 }, { 100 * CV_KIB, false, 0 } };
    static char text[128 * CV_KIB];

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cuvet_source src = { .size = sizeof(src) };
        uint64_t size = 2 + ROWS[i].comment, units = 0;
        cv_unit unit;

        setup();
        memset(text, ' ', sizeof(text));
        memcpy(text, "/*", 2);
        if (ROWS[i].ends) {
            memcpy(text + size, "*/\n", 3);
            memcpy(text + size + 3, PTX, sizeof(PTX) - 1);
            size += 3 + sizeof(PTX) - 1;
        }
        ck_assert_int_eq(cuvet_source_memory(text, size, &src), CUVET_OK);
        ck_assert_int_eq(cv_walk_open(&ctx, &walk, &src, 0, size, false, false), CUVET_OK);
        while (cv_walk_next(&ctx, &walk, &unit) == CUVET_OK)
            units++;
        ck_assert_msg(units == ROWS[i].units, "row %u: %u", (unsigned)i, (unsigned)units);
        teardown();
    }
    setup();
}
END_TEST

Suite *suite_walk_state(void);
Suite *suite_walk_state(void)
{
    Suite *suite = suite_create("intake/walk_state");
    TCase *tcase = tcase_create("walk_state");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, places, 0, (int)CV_COUNT(PLACES));
    tcase_add_test(tcase, no_place);
    tcase_add_test(tcase, more_to_come);
    tcase_add_test(tcase, across);
    tcase_add_test(tcase, hosts);
    tcase_add_test(tcase, beginnings);
    tcase_add_test(tcase, comments);
    suite_add_tcase(suite, tcase);
    return suite;
}

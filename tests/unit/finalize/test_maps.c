/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offset maps by themselves: places before, between and behind what moved, and maps that are refused. */
#include "fixture.h"

#include "finalize/remap.h"

typedef struct maps_state {
    cv_backend_out said;
    cv_cubin cubin;
    uint32_t code[2]; /* sections */
    uint64_t size[2];
} maps_state;

static void add(maps_state *maps, uint32_t section, uint64_t from, uint64_t to, uint64_t first,
                uint64_t count)
{
    ck_assert(
        cv_offset_maps_push(&ff_x.mem, &maps->said.maps, (cv_offset_map){ section, from, to, first, count }));
}

static void moved(maps_state *maps, uint64_t from, uint64_t to)
{
    ck_assert(cv_moves_push(&ff_x.mem, &maps->said.moves, (cv_moved){ from, to }));
}

static void end(maps_state *maps)
{
    cv_offset_maps_free(&ff_x.mem, &maps->said.maps);
    cv_moves_free(&ff_x.mem, &maps->said.moves);
    cv_cubin_free(&ff_x, &maps->cubin);
    cv_islands_drop();
}

START_TEST(places)
{
    static const struct {
        uint32_t map;
        uint64_t from, to;
    } ROWS[] = {
        { 0, 0, 0 },       { 0, 0x3F, 0x3F },  { 0, 0x40, 0x60 },   { 0, 0x7F, 0x9F },
        { 0, 0x80, 0xA0 }, { 0, 0xFF, 0x11F }, { 0, 0x100, 0x200 }, /* its end is the end */
        { 1, 0, 0 },       { 1, 0x1F, 0x1F },  { 1, 0x20, 0x20 },   { 1, 0x3F, 0x20 }, /* taken out */
        { 1, 0x40, 0x20 }, { 1, 0x50, 0x30 },  { 1, 0x60, 0x38 },   { 1, 0x100, 0xE0 },
        { 2, 0x10, 0x10 }, { 2, 0x100, 0x80 }, { 2, 0xC0, 0x80 }, /* no move: cut off */
    };
    maps_state maps = { 0 };
    uint64_t to;

    cv_cubin_init(&maps.cubin);
    add(&maps, 1, 0x100, 0x200, 0, 2);
    moved(&maps, 0x40, 0x60);
    moved(&maps, 0x80, 0xA0);
    add(&maps, 2, 0x100, 0xE0, 2, 2);
    moved(&maps, 0x40, 0x20);
    moved(&maps, 0x60, 0x38);
    add(&maps, 3, 0x100, 0x80, 4, 0);
    for (size_t i = 0; i < N(ROWS); i++) {
        ck_assert(cv_remap_place(&maps.said, ROWS[i].map, ROWS[i].from, &to));
        ck_assert_msg(to == ROWS[i].to, "map %u: 0x%x is at 0x%x, not 0x%x", ROWS[i].map,
                      (unsigned)ROWS[i].from, (unsigned)to, (unsigned)ROWS[i].to);
    }
    for (uint32_t k = 0; k < 3; k++)
        ck_assert(!cv_remap_place(&maps.said, k, 0x101, &to));
    /* back: the first place that is there now */
    ck_assert_uint_eq(cv_remap_origin(&maps.said, 0, 0x60), 0x40);
    ck_assert_uint_eq(cv_remap_origin(&maps.said, 0, 0x200), 0x100);
    ck_assert_uint_eq(cv_remap_origin(&maps.said, 1, 0x20), 0x20);
    ck_assert_uint_eq(cv_remap_origin(&maps.said, 1, 0x21), 0x41);
    end(&maps);
}
END_TEST

/* One of each kind that is refused, and the same maps in order. */
START_TEST(refused)
{
    static const struct {
        const char *what;
        unsigned section[2];   /* of 'code', 2: another section, 3: none at all */
        uint64_t more[2];      /* than the size of the section */
        uint64_t first, count; /* of the second */
        cv_moved move[3];
        bool fine;
    } ROWS[] = {
        { "in order", { 0, 1 }, { 0, 0 }, 1, 1, { { 0x10, 0x20 }, { 0, 0 }, { 0, 0 } }, true },
        { "none moved", { 0, 1 }, { 0, 0 }, 3, 0, { { 0x10, 0x20 } }, true },
        { "other way round", { 1, 0 }, { 0, 0 }, 1, 1, { { 0x10, 0x20 } }, false },
        { "twice", { 0, 0 }, { 0, 0 }, 1, 1, { { 0x10, 0x20 } }, false },
        { "no code", { 0, 2 }, { 0, 0 }, 1, 1, { { 0x10, 0x20 } }, false },
        { "no section", { 0, 3 }, { 0, 0 }, 1, 1, { { 0x10, 0x20 } }, false },
        { "size", { 0, 1 }, { 0, 16 }, 1, 1, { { 0x10, 0x20 } }, false },
        { "first", { 0, 1 }, { 0, 0 }, 4, 0, { { 0x10, 0x20 } }, false },
        { "too many", { 0, 1 }, { 0, 0 }, 1, 3, { { 0x10, 0x20 }, { 0x10, 0x20 }, { 0x20, 0x30 } }, false },
        { "huge", { 0, 1 }, { 0, 0 }, 1, UINT64_MAX, { { 0x10, 0x20 } }, false },
        { "from again", { 0, 1 }, { 0, 0 }, 1, 2, { { 0, 0 }, { 0x20, 0x20 }, { 0x20, 0x30 } }, false },
        { "back", { 0, 1 }, { 0, 0 }, 1, 2, { { 0, 0 }, { 0x20, 0x30 }, { 0x30, 0x20 } }, false },
        { "one place", { 0, 1 }, { 0, 0 }, 1, 2, { { 0, 0 }, { 0x20, 0x30 }, { 0x30, 0x30 } }, true },
        { "from behind", { 0, 1 }, { 0, 0 }, 1, 1, { { 0, 0 }, { 0x100000, 0x20 } }, false },
        { "to behind", { 0, 1 }, { 0, 0 }, 1, 1, { { 0, 0 }, { 0x20, 0x100000 } }, false },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        maps_state maps = { 0 };
        uint64_t extent;
        unsigned count = 0;
        cuvet_status status;

        ff_load("two.sm_100.linked.cubin");
        cv_ctx_unit(&ff_x, 64 * ff.size);
        cv_cubin_init(&maps.cubin);
        ck_assert_int_eq(
            cv_cubin_examine(&ff_x, &maps.cubin, cv_span_of(ff.bytes, ff.size, 0), NULL, &extent), CUVET_OK);
        for (uint32_t k = 1; k < maps.cubin.sec.count && count < 2; k++)
            if (cv_cubin_sec(&maps.cubin, k)->role == CV_ROLE_TEXT) {
                maps.size[count] = cv_cubin_sec(&maps.cubin, k)->header.size;
                maps.code[count++] = k;
            }
        ck_assert_uint_eq(count, 2);
        for (unsigned k = 0; k < 2; k++) {
            unsigned which = ROWS[i].section[k];
            uint32_t other = which == 2 ? maps.code[1] + 1 : (uint32_t)maps.cubin.sec.count;
            uint64_t size = which < 2 ? maps.size[which] : cv_cubin_sec(&maps.cubin, other)->header.size;

            add(&maps, which < 2 ? maps.code[which] : other, 0x1000, size + ROWS[i].more[k],
                k ? ROWS[i].first : 0, k ? ROWS[i].count : 1);
        }
        for (unsigned k = 0; k < 3; k++)
            moved(&maps, ROWS[i].move[k].from, ROWS[i].move[k].to);
        status = cv_remap_check(&ff_x, &maps.said, &maps.cubin);
        ck_assert_msg(status == (ROWS[i].fine ? CUVET_OK : CUVET_E_MALFORMED), "%s: %d", ROWS[i].what,
                      (int)status);
        ck_assert_msg(ROWS[i].fine || ff_said(CV_R_DWARF_MAP), "%s", ROWS[i].what);
        ff_forget();
        end(&maps);
    }
}
END_TEST

Suite *suite_maps(void);
Suite *suite_maps(void)
{
    Suite *suite = suite_create("finalize/maps");
    TCase *tcase = tcase_create("maps");

    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_test(tcase, places);
    tcase_add_test(tcase, refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

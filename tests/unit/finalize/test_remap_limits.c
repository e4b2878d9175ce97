/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The debug remap when the maps make no sense, and when there is too little of something. */
#include <check.h>

#include "remap_files.h"

#define N(table)   (sizeof(table) / sizeof((table)[0]))
#define EXECUTABLE "finalize/lines.sm_100.lineinfo"
#define WITH_REL   "finalize/lines.sm_75.g.rdc"
#define WITH_RELA  "finalize/lines.sm_100.g.rdc"

typedef struct map_edit {
    const char *label;
    uint64_t from[3], to[3];
    uint64_t size_to;
    uint32_t section;
    uint64_t count;
    bool ok;
} map_edit;

START_TEST(maps)
{
    static const map_edit EDITS[] = {
        { "good", { 0, 0x10, 0x20 }, { 0, 0x20, 0x20 }, 0, 0, 3, true },
        { "places twice", { 0, 0x10, 0x10 }, { 0, 0x20, 0x30 }, 0, 0, 3, false },
        { "places go back", { 0, 0x20, 0x10 }, { 0, 0x20, 0x30 }, 0, 0, 3, false },
        { "code in another order", { 0, 0x10, 0x20 }, { 0x20, 0, 0x30 }, 0, 0, 3, false },
        { "behind the code before", { 0, 0x10, 1u << 20 }, { 0, 0x10, 0x20 }, 0, 0, 3, false },
        { "behind the code after", { 0, 0x10, 0x20 }, { 0, 0x10, 1u << 20 }, 0, 0, 3, false },
        { "another size", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 16, 0, 3, false },
        { "no code", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 1, 3, false },
        { "no section", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 0xFFFF, 3, false },
        { "more than there are", { 0, 0x10, 0x20 }, { 0, 0x10, 0x20 }, 0, 0, UINT64_MAX, false },
    };
    const map_edit *edit = &EDITS[_i];
    cv_offset_map map = { 0 };

    ck_assert_uint_eq(N(EDITS), 10);
    load(EXECUTABLE);
    map.section = edit->section ? edit->section : section_named(".text.turn");
    map.size_from = map.size_to = cv_cubin_sec(&cubin, section_named(".text.turn"))->header.size;
    map.size_to += edit->size_to;
    map.count = edit->count;
    for (unsigned i = 0; i < 3; i++)
        ck_assert(cv_moves_push(&the_ctx.mem, &said.moves, (cv_moved){ edit->from[i], edit->to[i] }));
    ck_assert(cv_offset_maps_push(&the_ctx.mem, &said.maps, map));
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code),
                     edit->ok ? CUVET_OK : CUVET_E_MALFORMED);
    ck_assert_msg(n_errors == !edit->ok, "%s", edit->label);
    ck_assert_int_eq(code, edit->ok ? CV_FINAL_OK : CV_FINAL_BACKEND_BAD_OUTPUT);
    if (!edit->ok) {
        ck_assert_int_eq(last.rule, CV_R_DWARF_MAP);
        ck_assert_uint_eq(last.want, map.section);
        ck_assert_uint_eq(bodies.count, 0);
    }
}
END_TEST

/* ---- too little memory, too little work, nobody wants it ---- */

typedef struct remap_limits_countdown {
    uint64_t left, blocks;
} remap_limits_countdown;

static void *fail_acquire(void *user, size_t len)
{
    remap_limits_countdown *countdown = user;

    return countdown->left-- == 0 ? (countdown->left = 0, NULL)
                                  : cv_alloc_default.alloc(cv_alloc_default.user, len);
}

static void *fail_resize(void *user, void *block, size_t was, size_t count)
{
    remap_limits_countdown *countdown = user;

    return countdown->left-- == 0 ? (countdown->left = 0, NULL)
                                  : cv_alloc_default.resize(cv_alloc_default.user, block, was, count);
}

static void ok_release(void *user, void *block, size_t len)
{
    (void)user;
    cv_alloc_default.release(cv_alloc_default.user, block, len);
}

START_TEST(no_memory)
{
    const remap_files_change change = { "memory", 0x40, 0x5000, 0 };
    remap_limits_countdown count = { UINT64_MAX, 0 };
    uint64_t number = 0;
    cuvet_status st;

    load(WITH_REL); /* REL: fields are written as well */
    change_code(&change);
    the_ctx.mem.alloc = cv_alloc_default;
    the_ctx.mem.alloc.user = &count;
    the_ctx.mem.alloc.alloc = fail_acquire;
    the_ctx.mem.alloc.resize = fail_resize;
    the_ctx.mem.alloc.release = ok_release;
    do {
        uint64_t live = the_ctx.mem.live;

        count.left = number++;
        st = cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code);
        count.left = UINT64_MAX;
        if (st == CUVET_OK)
            break;
        ck_assert_int_eq(st, CUVET_E_NOMEM);
        ck_assert_int_eq(code, CV_FINAL_MEMORY);
        ck_assert_uint_eq(bodies.count, 0);
        cv_final_bodies_free(&the_ctx.mem, &bodies);
        ck_assert_uint_eq(the_ctx.mem.live, live);
    } while (number < 10000);
    ck_assert_int_eq(st, CUVET_OK);
    ck_assert_uint_gt(number, 20);
    ck_assert_uint_eq(n_errors, 0);
    drop_bodies();
}
END_TEST

START_TEST(no_work)
{
    const remap_files_change change = { "work", 0x40, 16, 0 };
    int cancel = 1;
    uint64_t need, live;

    load(WITH_RELA);
    change_code(&change);
    need = cv_ctx_work(&the_ctx);
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_OK);
    need -= cv_ctx_work(&the_ctx);
    ck_assert_uint_gt(need, 100);
    ck_assert_uint_lt(need, 4 * size); /* linear, with a small factor */
    drop_bodies();
    for (uint64_t width = 0; width < need; width += 1 + width / 16) {
        live = the_ctx.mem.live;
        the_ctx.work_out = false;
        cv_ctx_set_work(&the_ctx, width);
        ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_E_LIMIT);
        ck_assert_int_eq(code, CV_FINAL_LIMIT);
        ck_assert_uint_eq(bodies.count, 0);
        cv_final_bodies_free(&the_ctx.mem, &bodies);
        ck_assert_uint_eq(the_ctx.mem.live, live);
    }
    the_ctx.cancel = &cancel;
    cv_ctx_set_work(&the_ctx, 0);
    ck_assert_int_eq(cv_final_remap(&the_ctx, &cubin, &said, &bodies, &code), CUVET_E_CANCELLED);
    ck_assert_int_eq(code, CV_FINAL_CANCELLED);
}
END_TEST

Suite *suite_remap_limits(void);
Suite *suite_remap_limits(void)
{
    Suite *suite = suite_create("remap_limits");
    TCase *tcase = tcase_create("remap_limits");

    tcase_add_checked_fixture(tcase, remap_setup, remap_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, maps, 0, 10);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, no_work);
    suite_add_tcase(suite, tcase);
    return suite;
}

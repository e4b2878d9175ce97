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
    uint64_t n;
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
    const map_edit *e = &EDITS[_i];
    cv_offset_map m = { 0 };

    ck_assert_uint_eq(N(EDITS), 10);
    load(EXECUTABLE);
    m.section = e->section ? e->section : section_named(".text.turn");
    m.size_from = m.size_to = cv_cubin_sec(&cubin, section_named(".text.turn"))->h.size;
    m.size_to += e->size_to;
    m.n = e->n;
    for (unsigned i = 0; i < 3; i++)
        ck_assert(cv_moves_push(&x.mem, &said.moves, (cv_moved){ e->from[i], e->to[i] }));
    ck_assert(cv_offset_maps_push(&x.mem, &said.maps, m));
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), e->ok ? CUVET_OK : CUVET_E_MALFORMED);
    ck_assert_msg(n_errors == !e->ok, "%s", e->label);
    ck_assert_int_eq(code, e->ok ? CV_FINAL_OK : CV_FINAL_BACKEND_BAD_OUTPUT);
    if (!e->ok) {
        ck_assert_int_eq(last.rule, CV_R_DWARF_MAP);
        ck_assert_uint_eq(last.want, m.section);
        ck_assert_uint_eq(bodies.n, 0);
    }
}
END_TEST

/* ---- too little memory, too little work, nobody wants it ---- */

typedef struct countdown {
    uint64_t left, blocks;
} countdown;

static void *fail_acquire(void *user, size_t n)
{
    countdown *c = user;

    return c->left-- == 0 ? (c->left = 0, NULL) : cv_alloc_default.alloc(cv_alloc_default.user, n);
}

static void *fail_resize(void *user, void *p, size_t was, size_t n)
{
    countdown *c = user;

    return c->left-- == 0 ? (c->left = 0, NULL) : cv_alloc_default.resize(cv_alloc_default.user, p, was, n);
}

static void ok_release(void *user, void *p, size_t n)
{
    (void)user;
    cv_alloc_default.release(cv_alloc_default.user, p, n);
}

START_TEST(no_memory)
{
    const change c = { "memory", 0x40, 0x5000, 0 };
    countdown count = { UINT64_MAX, 0 };
    uint64_t n = 0;
    cuvet_status st;

    load(WITH_REL); /* REL: fields are written as well */
    change_code(&c);
    x.mem.alloc = cv_alloc_default;
    x.mem.alloc.user = &count;
    x.mem.alloc.alloc = fail_acquire;
    x.mem.alloc.resize = fail_resize;
    x.mem.alloc.release = ok_release;
    do {
        uint64_t live = x.mem.live;

        count.left = n++;
        st = cv_final_remap(&x, &cubin, &said, &bodies, &code);
        count.left = UINT64_MAX;
        if (st == CUVET_OK)
            break;
        ck_assert_int_eq(st, CUVET_E_NOMEM);
        ck_assert_int_eq(code, CV_FINAL_MEMORY);
        ck_assert_uint_eq(bodies.n, 0);
        cv_final_bodies_free(&x.mem, &bodies);
        ck_assert_uint_eq(x.mem.live, live);
    } while (n < 10000);
    ck_assert_int_eq(st, CUVET_OK);
    ck_assert_uint_gt(n, 20);
    ck_assert_uint_eq(n_errors, 0);
    drop_bodies();
}
END_TEST

START_TEST(no_work)
{
    const change c = { "work", 0x40, 16, 0 };
    bool cancel = true;
    uint64_t need, live;

    load(WITH_RELA);
    change_code(&c);
    need = cv_ctx_work(&x);
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_OK);
    need -= cv_ctx_work(&x);
    ck_assert_uint_gt(need, 100);
    ck_assert_uint_lt(need, 4 * size); /* linear, with a small factor */
    drop_bodies();
    for (uint64_t w = 0; w < need; w += 1 + w / 16) {
        live = x.mem.live;
        x.work_out = false;
        cv_ctx_set_work(&x, w);
        ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_E_LIMIT);
        ck_assert_int_eq(code, CV_FINAL_LIMIT);
        ck_assert_uint_eq(bodies.n, 0);
        cv_final_bodies_free(&x.mem, &bodies);
        ck_assert_uint_eq(x.mem.live, live);
    }
    x.cancel = &cancel;
    cv_ctx_set_work(&x, 0);
    ck_assert_int_eq(cv_final_remap(&x, &cubin, &said, &bodies, &code), CUVET_E_CANCELLED);
    ck_assert_int_eq(code, CV_FINAL_CANCELLED);
}
END_TEST

Suite *suite_remap_limits(void);
Suite *suite_remap_limits(void)
{
    Suite *s = suite_create("remap_limits");
    TCase *t = tcase_create("remap_limits");

    tcase_add_checked_fixture(t, remap_setup, remap_teardown);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, maps, 0, 10);
    tcase_add_test(t, no_memory);
    tcase_add_test(t, no_work);
    suite_add_tcase(s, t);
    return s;
}

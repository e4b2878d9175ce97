/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend that moves code, through the whole engine: what comes out is read again from its bytes. */
#include <check.h>
#include <string.h>

#include "finalize/rewrite.h"
#include "remap_rows.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))
#define OBJECT   "finalize/lines.sm_100.g.rdc"

static const change CHANGES[] = { { "eight more", 0x40, 0x80, 0 }, { "many more", 0x20, 0x1200, 0 } };

/* How the backend lies. */
typedef enum lie { TRUTH = 0, NO_MAPS, WRONG_SIZE, NO_ORDER } lie;

typedef struct mover {
    const change *c;
    lie lie;
} mover;

static cv_final probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    (void)self;
    *cost = 50;
    return req->in_kind == req->out_kind ? CV_FINAL_OK : CV_FINAL_NO_BACKEND;
}

/* Code with bytes of zero in it. */
static bool move_section(cv_ctx *ctx, const cv_cubin *c, uint32_t i, const mover *m, cv_final_bodies *to,
                         cv_backend_out *out)
{
    uint64_t was = cv_cubin_sec(c, i)->h.size;
    cv_offset_map map = {
        .section = i, .size_from = was, .size_to = was + m->c->in, .first = out->moves.n, .n = 1
    };
    cv_final_body b = { .section = i };
    cv_span s = cv_cubin_body(c, i), head = s;

    head.len = m->c->at;
    cv_builder_init(&b.bytes, &ctx->mem);
    cv_put_span(&b.bytes, head);
    cv_put_zero(&b.bytes, m->c->in);
    cv_put_span(&b.bytes, cv_span_tail(s, m->c->at));
    if (m->lie == WRONG_SIZE)
        map.size_to += 16;
    if (m->lie == NO_MAPS)
        return cv_final_bodies_push(&ctx->mem, to, b);
    if (m->lie == NO_ORDER) {
        map.n = 2;
        if (!cv_moves_push(&ctx->mem, &out->moves, (cv_moved){ m->c->at + 16, m->c->at }))
            return false;
    }
    return cv_final_bodies_push(&ctx->mem, to, b) && cv_offset_maps_push(&ctx->mem, &out->maps, map) &&
           cv_moves_push(&ctx->mem, &out->moves, (cv_moved){ m->c->at, m->c->at + m->c->in });
}

/* Relocations of code move with it. */
static bool move_relocations(cv_ctx *ctx, const cv_cubin *c, uint32_t i, const mover *m, cv_final_bodies *to)
{
    cv_final_body b = { .section = i };
    cv_span s = cv_cubin_body(c, i);
    cv_elf_reloc r;

    cv_builder_init(&b.bytes, &ctx->mem);
    cv_put_span(&b.bytes, s);
    for (uint64_t k = 0; k < s.len / 24; k++) {
        cv_elf_read_reloc(s, false, true, k, &r);
        if (r.off >= m->c->at)
            cv_patch_u64(&b.bytes, 24 * k, r.off + m->c->in);
    }
    return cv_final_bodies_push(&ctx->mem, to, b);
}

/* Functions are as long as their code. */
static bool grow_symbols(cv_ctx *ctx, const cv_cubin *c, uint64_t more, cv_final_bodies *to)
{
    cv_final_body b = { .section = c->symtab_index };
    cv_elf_symbol y;

    cv_builder_init(&b.bytes, &ctx->mem);
    cv_put_span(&b.bytes, c->symtab);
    for (uint64_t i = 1; i < c->n_syms; i++) {
        cv_elf_read_symbol(c->symtab, false, i, &y);
        if (cv_elf_sym_type(&y) == CV_STT_FUNC && cv_cubin_sec(c, y.shndx)->role == CV_ROLE_TEXT)
            cv_patch_u64(&b.bytes, 24 * i + 16, y.size + more);
    }
    return cv_final_bodies_push(&ctx->mem, to, b);
}

static cuvet_status run(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                        cv_backend_out *out)
{
    const mover *m = self;
    cv_final_bodies moved = { 0 };
    cv_rewrite r = { .cubin = req->cubin, .bodies = &moved, .kind = req->out_kind, .sm = req->dst_sm };
    cuvet_status s = CUVET_OK;

    ck_assert(grow_symbols(ctx, req->cubin, m->c->in, &moved)); /* its table lies before all code */
    for (uint32_t i = 1; i < req->cubin->sec.n; i++) {
        const cv_sec *sec = cv_cubin_sec(req->cubin, i);

        if (sec->role == CV_ROLE_TEXT)
            ck_assert(move_section(ctx, req->cubin, i, m, &moved, out));
        else if (sec->role == CV_ROLE_RELA && cv_cubin_sec(req->cubin, sec->h.info)->role == CV_ROLE_TEXT)
            ck_assert(move_relocations(ctx, req->cubin, i, m, &moved));
    }
    ck_assert_uint_gt(moved.n, 1);
    out->moved = true;
    out->code_changed = true;
    s = cv_rewrite_plan(ctx, &r);
    if (s == CUVET_OK)
        s = cv_rewrite_write(ctx, &r, to);
    cv_rewrite_free(ctx, &r);
    for (uint64_t i = 0; i < moved.n; i++)
        cv_builder_free(&cv_final_bodies_at(&moved, i)->bytes);
    cv_final_bodies_free(&ctx->mem, &moved);
    return s;
}

static const cv_backend MOVER = {
    .abi = CV_BACKEND_ABI, .name = "mover", .caps = CV_BACKEND_ENCODE, .probe = probe, .run = run
};

static cuvet_status finalize(mover *m, cv_block *out, cv_final *why, bool note)
{
    const cv_backend_use use = { &MOVER, m };
    cv_final_options o = { .target_sm = 103, .level_most = 2, .backend = &use, .n_backends = 1 };
    cv_final_job j;
    cuvet_status s;

    if (note) {
        o.tool = cv_span_of("cuvet", 5, 0);
        o.tool_version = cv_span_of("1", 1, 0);
    }
    cv_ctx_unit(&x, size);
    s = cv_final_run(&j, &x, &o, loaded(), NULL, out);
    *why = j.code;
    cv_final_end(&j);
    return s;
}

/* Rows of both line sections and all frames, before and after; with a note of ours, whose section lies
 * before. */
START_TEST(moves)
{
    static const char *const LINES[] = { ".debug_line", ".nv_debug_line_sass" };
    static rows was[2], is;
    static frame_rows fwas, fis;
    static uint64_t sizes[256];
    const change *c = &CHANGES[(unsigned)_i / 2];
    mover m = { .c = c };
    cv_block out = { 0 };
    cv_final why;
    cuvet_status s;

    load(OBJECT);
    for (unsigned k = 0; k < 2; k++)
        decode_lines(section_named(LINES[k]), false, &was[k]);
    decode_frames(section_named(".debug_frame"), false, &fwas);
    ck_assert_uint_lt(cubin.sec.n, N(sizes));
    for (uint32_t i = 0; i < cubin.sec.n; i++)
        sizes[i] = cv_cubin_sec(&cubin, i)->h.size;
    s = finalize(&m, &out, &why, _i % 2);
    ck_assert_msg(s == CUVET_OK && n_errors == 0, "%s: %d, code %d, %s", c->label, s, why,
                  n_errors ? cuvet_rule_get(last.rule)->id : "-");
    load_bytes(out.span);
    cv_block_free(&x, &out);
    ck_assert_uint_eq(cubin.sm, 103);
    for (unsigned k = 0; k < 2; k++) {
        decode_lines(section_named(LINES[k]), false, &is);
        ck_assert_uint_gt(is.n, 10);
        ck_assert_uint_eq(is.n, was[k].n);
        for (unsigned i = 0; i < is.n; i++) {
            ck_assert_int_eq(is.v[i].line, was[k].v[i].line);
            ck_assert_uint_eq(is.v[i].place, expect_place(c, was[k].v[i].place, sizes[was[k].v[i].section]));
        }
    }
    decode_frames(section_named(".debug_frame"), false, &fis);
    ck_assert_uint_eq(fis.n, fwas.n);
    for (unsigned i = 0; i < fis.n; i++)
        ck_assert_uint_eq(fis.v[i].place, expect_place(c, fwas.v[i].place, sizes[fwas.v[i].section]));
}
END_TEST

START_TEST(lies)
{
    static const struct {
        lie lie;
        cv_rule rule;
    } ROWS[] = {
        { NO_MAPS, CV_R_FINAL_MOVED },
        { WRONG_SIZE, CV_R_DWARF_MAP },
        { NO_ORDER, CV_R_DWARF_MAP },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        mover m = { .c = &CHANGES[0], .lie = ROWS[i].lie };
        cv_block out = { 0 };
        cv_final why;

        n_errors = 0;
        load(OBJECT);
        ck_assert_int_ne(finalize(&m, &out, &why, false), CUVET_OK);
        ck_assert_int_eq(why, CV_FINAL_BACKEND_BAD_OUTPUT);
        ck_assert_uint_eq(n_errors, 1);
        ck_assert_int_eq(last.rule, ROWS[i].rule);
        ck_assert_uint_eq(out.span.len, 0);
        cv_cubin_free(&x, &cubin);
    }
}
END_TEST

/* Debug information that cannot be followed: nothing comes out. */
START_TEST(broken_lines)
{
    mover m = { .c = &CHANGES[0] };
    cv_block out = { 0 };
    uint64_t at;
    cv_final why;
    cv_span s;

    load(OBJECT);
    at = cv_cubin_sec(&cubin, section_named(".debug_line"))->h.off;
    s = cv_span_tail(loaded(), at);
    ck_assert_uint_eq(cv_u16_at(s, 4), 2);
    patch_loaded(at + 4, 9); /* the version */
    ck_assert_int_eq(finalize(&m, &out, &why, false), CUVET_E_UNSUPPORTED);
    ck_assert_int_eq(why, CV_FINAL_PASSES);
    ck_assert_int_eq(last.rule, CV_R_DWARF_VERSION);
    ck_assert_uint_eq(last.got, 9);
    ck_assert_uint_eq(out.span.len, 0);
}
END_TEST

Suite *suite_moves(void);
Suite *suite_moves(void)
{
    Suite *s = suite_create("moves");
    TCase *t = tcase_create("moves");

    tcase_add_checked_fixture(t, remap_setup, remap_teardown);
    tcase_add_loop_test(t, moves, 0, 2 * (int)N(CHANGES));
    tcase_add_test(t, lies);
    tcase_add_test(t, broken_lines);
    suite_add_tcase(s, t);
    return s;
}

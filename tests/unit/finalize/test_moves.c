/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A backend that moves code, through the whole engine: what comes out is read again from its bytes. */
#include <check.h>
#include <string.h>

#include "finalize/rewrite.h"
#include "remap_rows.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))
#define OBJECT   "finalize/lines.sm_100.g.rdc"

static const remap_files_change CHANGES[] = { { "eight more", 0x40, 0x80, 0 },
                                              { "many more", 0x20, 0x1200, 0 } };

/* How the backend lies. */
typedef enum lie { TRUTH = 0, NO_MAPS, WRONG_SIZE, NO_ORDER } lie;

typedef struct moves_mover {
    const remap_files_change *changes;
    lie lie;
} moves_mover;

static cv_final probe(const void *self, const cv_backend_req *req, uint32_t *cost)
{
    (void)self;
    *cost = 50;
    return req->in_kind == req->out_kind ? CV_FINAL_OK : CV_FINAL_NO_BACKEND;
}

/* Code with bytes of zero in it. */
static bool move_section(cv_ctx *ctx, const cv_cubin *image, uint32_t index, const moves_mover *mover,
                         cv_final_bodies *to, cv_backend_out *out)
{
    uint64_t was = cv_cubin_sec(image, index)->header.size;
    cv_offset_map map = { .section = index,
                          .size_from = was,
                          .size_to = was + mover->changes->in,
                          .first = out->moves.count,
                          .count = 1 };
    cv_final_body body = { .section = index };
    cv_span span = cv_cubin_body(image, index), head = span;

    head.len = mover->changes->at;
    cv_builder_init(&body.bytes, &ctx->mem);
    cv_put_span(&body.bytes, head);
    cv_put_zero(&body.bytes, mover->changes->in);
    cv_put_span(&body.bytes, cv_span_tail(span, mover->changes->at));
    if (mover->lie == WRONG_SIZE)
        map.size_to += 16;
    if (mover->lie == NO_MAPS)
        return cv_final_bodies_push(&ctx->mem, to, body);
    if (mover->lie == NO_ORDER) {
        map.count = 2;
        if (!cv_moves_push(&ctx->mem, &out->moves, (cv_moved){ mover->changes->at + 16, mover->changes->at }))
            return false;
    }
    return cv_final_bodies_push(&ctx->mem, to, body) && cv_offset_maps_push(&ctx->mem, &out->maps, map) &&
           cv_moves_push(&ctx->mem, &out->moves,
                         (cv_moved){ mover->changes->at, mover->changes->at + mover->changes->in });
}

/* Relocations of code move with it. */
static bool move_relocations(cv_ctx *ctx, const cv_cubin *image, uint32_t index, const moves_mover *mover,
                             cv_final_bodies *to)
{
    cv_final_body body = { .section = index };
    cv_span span = cv_cubin_body(image, index);
    cv_elf_reloc reloc;

    cv_builder_init(&body.bytes, &ctx->mem);
    cv_put_span(&body.bytes, span);
    for (uint64_t k = 0; k < span.len / 24; k++) {
        cv_elf_read_reloc(span, false, true, k, &reloc);
        if (reloc.off >= mover->changes->at)
            cv_patch_u64(&body.bytes, 24 * k, reloc.off + mover->changes->in);
    }
    return cv_final_bodies_push(&ctx->mem, to, body);
}

/* Functions are as long as their code. */
static bool grow_symbols(cv_ctx *ctx, const cv_cubin *image, uint64_t more, cv_final_bodies *to)
{
    cv_final_body body = { .section = image->symtab_index };
    cv_elf_symbol symbol;

    cv_builder_init(&body.bytes, &ctx->mem);
    cv_put_span(&body.bytes, image->symtab);
    for (uint64_t i = 1; i < image->n_syms; i++) {
        cv_elf_read_symbol(image->symtab, false, i, &symbol);
        if (cv_elf_sym_type(&symbol) == CV_STT_FUNC &&
            cv_cubin_sec(image, symbol.shndx)->role == CV_ROLE_TEXT)
            cv_patch_u64(&body.bytes, 24 * i + 16, symbol.size + more);
    }
    return cv_final_bodies_push(&ctx->mem, to, body);
}

static cuvet_status run(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                        cv_backend_out *out)
{
    const moves_mover *mover = self;
    cv_final_bodies moved = { 0 };
    cv_rewrite rewrite = { .cubin = req->cubin, .bodies = &moved, .kind = req->out_kind, .sm = req->dst_sm };
    cuvet_status status = CUVET_OK;

    ck_assert(grow_symbols(ctx, req->cubin, mover->changes->in, &moved)); /* its table lies before all code */
    for (uint32_t i = 1; i < req->cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(req->cubin, i);

        if (sec->role == CV_ROLE_TEXT)
            ck_assert(move_section(ctx, req->cubin, i, mover, &moved, out));
        else if (sec->role == CV_ROLE_RELA &&
                 cv_cubin_sec(req->cubin, sec->header.info)->role == CV_ROLE_TEXT)
            ck_assert(move_relocations(ctx, req->cubin, i, mover, &moved));
    }
    ck_assert_uint_gt(moved.count, 1);
    out->moved = true;
    out->code_changed = true;
    status = cv_rewrite_plan(ctx, &rewrite);
    if (status == CUVET_OK)
        status = cv_rewrite_write(ctx, &rewrite, to);
    cv_rewrite_free(ctx, &rewrite);
    for (uint64_t i = 0; i < moved.count; i++)
        cv_builder_free(&cv_final_bodies_at(&moved, i)->bytes);
    cv_final_bodies_free(&ctx->mem, &moved);
    return status;
}

static const cv_backend MOVER = {
    .abi = CV_BACKEND_ABI, .name = "mover", .caps = CV_BACKEND_ENCODE, .probe = probe, .run = run
};

static cuvet_status finalize(moves_mover *mover, cv_block *out, cv_final *why, bool note)
{
    const cv_backend_use use = { &MOVER, mover };
    cv_final_options options = { .target_sm = 103, .level_most = 2, .backend = &use, .n_backends = 1 };
    cv_final_job job;
    cuvet_status status;

    if (note) {
        options.tool = cv_span_of("cuvet", 5, 0);
        options.tool_version = cv_span_of("1", 1, 0);
    }
    cv_ctx_unit(&the_ctx, size);
    status = cv_final_run(&job, &the_ctx, &options, loaded(), NULL, out);
    *why = job.code;
    cv_final_end(&job);
    return status;
}

/* Rows of both line sections and all frames, before and after; with a note of ours, whose section lies
 * before. */
START_TEST(moves)
{
    static const char *const LINES[] = { ".debug_line", ".nv_debug_line_sass" };
    static remap_rows was[2], is;
    static frame_rows fwas, fis;
    static uint64_t sizes[256];
    const remap_files_change *change = &CHANGES[(unsigned)_i / 2];
    moves_mover mover = { .changes = change };
    cv_block out = { 0 };
    cv_final why;
    cuvet_status status;

    load(OBJECT);
    for (unsigned k = 0; k < 2; k++)
        decode_lines(section_named(LINES[k]), false, &was[k]);
    decode_frames(section_named(".debug_frame"), false, &fwas);
    ck_assert_uint_lt(cubin.sec.count, N(sizes));
    for (uint32_t i = 0; i < cubin.sec.count; i++)
        sizes[i] = cv_cubin_sec(&cubin, i)->header.size;
    status = finalize(&mover, &out, &why, _i % 2);
    ck_assert_msg(status == CUVET_OK && n_errors == 0, "%s: %d, code %d, %s", change->label, status, why,
                  n_errors ? cuvet_rule_get(last.rule)->id : "-");
    load_bytes(out.span);
    cv_block_free(&the_ctx, &out);
    ck_assert_uint_eq(cubin.sm, 103);
    for (unsigned k = 0; k < 2; k++) {
        decode_lines(section_named(LINES[k]), false, &is);
        ck_assert_uint_gt(is.count, 10);
        ck_assert_uint_eq(is.count, was[k].count);
        for (unsigned i = 0; i < is.count; i++) {
            ck_assert_int_eq(is.items[i].line, was[k].items[i].line);
            ck_assert_uint_eq(is.items[i].place,
                              expect_place(change, was[k].items[i].place, sizes[was[k].items[i].section]));
        }
    }
    decode_frames(section_named(".debug_frame"), false, &fis);
    ck_assert_uint_eq(fis.count, fwas.count);
    for (unsigned i = 0; i < fis.count; i++)
        ck_assert_uint_eq(fis.items[i].place,
                          expect_place(change, fwas.items[i].place, sizes[fwas.items[i].section]));
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
        moves_mover mover = { .changes = &CHANGES[0], .lie = ROWS[i].lie };
        cv_block out = { 0 };
        cv_final why;

        n_errors = 0;
        load(OBJECT);
        ck_assert_int_ne(finalize(&mover, &out, &why, false), CUVET_OK);
        ck_assert_int_eq(why, CV_FINAL_BACKEND_BAD_OUTPUT);
        ck_assert_uint_eq(n_errors, 1);
        ck_assert_int_eq(last.rule, ROWS[i].rule);
        ck_assert_uint_eq(out.span.len, 0);
        cv_cubin_free(&the_ctx, &cubin);
    }
}
END_TEST

/* Debug information that cannot be followed: nothing comes out. */
START_TEST(broken_lines)
{
    moves_mover mover = { .changes = &CHANGES[0] };
    cv_block out = { 0 };
    uint64_t at;
    cv_final why;
    cv_span span;

    load(OBJECT);
    at = cv_cubin_sec(&cubin, section_named(".debug_line"))->header.off;
    span = cv_span_tail(loaded(), at);
    ck_assert_uint_eq(cv_u16_at(span, 4), 2);
    patch_loaded(at + 4, 9); /* the version */
    ck_assert_int_eq(finalize(&mover, &out, &why, false), CUVET_E_UNSUPPORTED);
    ck_assert_int_eq(why, CV_FINAL_PASSES);
    ck_assert_int_eq(last.rule, CV_R_DWARF_VERSION);
    ck_assert_uint_eq(last.got, 9);
    ck_assert_uint_eq(out.span.len, 0);
}
END_TEST

Suite *suite_moves(void);
Suite *suite_moves(void)
{
    Suite *suite = suite_create("moves");
    TCase *tcase = tcase_create("moves");

    tcase_add_checked_fixture(tcase, remap_setup, remap_teardown);
    tcase_add_loop_test(tcase, moves, 0, 2 * (int)N(CHANGES));
    tcase_add_test(tcase, lies);
    tcase_add_test(tcase, broken_lines);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Metadata rules of device ELFs. Each row takes a good file, changes one or two places in its metadata and
 * names the one rule that must be reported, and where; the unchanged file, and the rows that name no rule,
 * are the legal neighbours. Facts that no sample has (hand-assembled, older and newer tools) are set between
 * the stages. Run from the root of the repository. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cubin/cubin.h"
#include "cubin_meta_rows.h"
#include "format/note/write.h"
#include "format/tlv/read.h"
#include "support/heap.h"

#define MAX_FILE (1u << 18)
#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_cubin cubin;
static uint8_t bytes[MAX_FILE];
static uint64_t size;
static heap_state memory;

static struct {
    cuvet_diag diags[64];
    unsigned count;
} got;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    if (got.count < N(got.diags))
        got.diags[got.count++] = *diag;
}

static void setup(void)
{
    const cuvet_alloc alloc = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

    lim.size = sizeof(lim);
    memory = (heap_state){ 0 };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &alloc, &lim);
    ctx.emit = emit;
    cv_cubin_init(&cubin);
}

static void teardown(void)
{
    cv_cubin_free(&ctx, &cubin);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

static void load(const char *name)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "corpus/samples/%s.cubin", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert(size > 64 && size < sizeof(bytes));
}

static cuvet_status examine(int facts)
{
    uint64_t extent = 0;
    cuvet_status status;

    got.count = 0;
    cv_ctx_unit(&ctx, size);
    status = cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent);
    ck_assert_int_eq(status, CUVET_OK);
    cubin.old_tools = facts == OLD;
    cv_cubin_read_notes(&ctx, &cubin);
    cubin.hand = facts == HAND;
    if (facts == HAND)
        cv_ctx_begin_profile(&ctx, CV_PROFILE_HAND, false);
    if (facts == NVLINK)
        cubin.producer.tool = CV_TOOL_NVLINK;
    if (facts == NEWER)
        cubin.toolkit = 0;
    cv_cubin_check_sections(&ctx, &cubin);
    cv_cubin_check_symbols(&ctx, &cubin);
    if (facts == NEWER)
        cubin.toolkit = 132;
    return cv_cubin_check_meta(&ctx, &cubin);
}

static uint64_t section_named(const char *name)
{
    for (uint64_t i = 1; i < cubin.sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    ck_abort_msg("no section %s", name);
}

static uint64_t symbol_named(const char *name, bool section)
{
    cv_elf_symbol symbol;
    cv_span text;

    for (uint64_t i = 1; i < cubin.n_syms; i++) {
        cv_elf_read_symbol(cubin.symtab, false, i, &symbol);
        if (cv_span_cstr(cubin.strtab, symbol.name, &text) && cv_span_eq_str(text, name) &&
            (cv_elf_sym_type(&symbol) == CV_STT_SECTION) == section)
            return i;
    }
    ck_abort_msg("no symbol %s", name);
}

/* Place of an edit; the picture of the good file is in cubin. */
static uint64_t place(const cubin_meta_edit *edit)
{
    uint64_t pos = 0;
    unsigned count = 0;
    cv_span span;
    cv_tlv tlv;

    if (*edit->section == '@') {
        bool section = edit->section[1] == '@';

        return cubin.symtab.off + 24 * symbol_named(edit->section + 1 + section, section) + edit->at;
    }
    span = cv_cubin_body(&cubin, section_named(edit->section));
    for (pos = 0; edit->code == -2; pos++)
        if (cv_span_starts(cv_span_tail(span, pos), "-arch sm_"))
            return span.off + pos + 9 + edit->at;
    if (edit->code < 0)
        return span.off + edit->at;
    while (cv_tlv_at(span, pos, &tlv) == CV_TLV_OK) {
        pos = tlv.next;
        if (tlv.code == edit->code && count++ == edit->nth)
            return span.off + tlv.off + edit->at;
    }
    ck_abort_msg("%s has no record %x", edit->section, (unsigned)edit->code);
}

static uint64_t apply(const cubin_meta_edit *edit)
{
    uint64_t at = place(edit);

    ck_assert_uint_lt(at + edit->width, size);
    for (unsigned i = 0; i < edit->width; i++)
        bytes[at + i] = (uint8_t)(edit->value >> 8 * i);
    return at;
}

static void expect_only(const cubin_meta_row *row, uint64_t at)
{
    if (row->rule == CV_N_RULES) {
        ck_assert_msg(got.count == 0, "%s: %s", row->label,
                      got.count ? cuvet_rule_get(got.diags[0].rule)->id : "");
        return;
    }
    ck_assert_msg(got.count > 0, "%s: nothing reported", row->label);
    ck_assert_msg(got.diags[0].rule == (cuvet_rule)row->rule, "%s: %s", row->label,
                  cuvet_rule_get(got.diags[0].rule)->id);
    ck_assert_msg(got.count == 1 || row->facts == MORE, "%s: also %s", row->label,
                  got.count > 1 ? cuvet_rule_get(got.diags[1].rule)->id : "");
    if (row->from != ELSEWHERE)
        ck_assert_msg(got.diags[0].file_off == at + (uint64_t)row->from, "%s: at %lld from the edit",
                      row->label, (long long)(got.diags[0].file_off - at));
    ck_assert_uint_le(got.diags[0].file_off, size);
}

START_TEST(rows)
{
    const cubin_meta_row *row = &ROWS[_i];
    uint64_t at = 0;

    load(row->file);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_msg(got.count == 0, "%s: %s", row->file,
                  got.count ? cuvet_rule_get(got.diags[0].rule)->id : "");
    if (row->edit.section)
        at = apply(&row->edit);
    if (row->own_edit.section)
        apply(&row->own_edit);
    ck_assert_int_eq(examine(row->facts), CUVET_OK);
    expect_only(row, at);
}
END_TEST

/* Ordinals need not descend: the first and the last parameter change places, ordinals and all. */
START_TEST(any_order)
{
    const cubin_meta_edit first = R2(BF, 0x17, 0, 0, 0, 0), last = R2(BF, 0x17, 2, 0, 0, 0);
    uint8_t keep[16];
    uint64_t left, right;

    load(B90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    left = place(&first);
    right = place(&last);
    memcpy(keep, bytes + left, 16);
    memcpy(bytes + left, bytes + right, 16);
    memcpy(bytes + right, keep, 16);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_uint_eq(got.count, 0);
}
END_TEST

/* The path of a finding ends with its section. */
START_TEST(path)
{
    const cubin_meta_edit edit = R(F, 0x1C, 4, 4, 0x10000);
    char text[64], want[64];

    load(P90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    apply(&edit);
    snprintf(want, sizeof(want), "section[%u]", (unsigned)section_named(F));
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    cuvet_path_text(&got.diags[0].where, text, sizeof(text));
    ck_assert_str_eq(text, want);
    ck_assert_uint_eq(ctx.path.n, 0);
}
END_TEST

/* What the notes tell the rest. */
START_TEST(facts)
{
    load("plain.sm_90a");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_PTXAS);
    ck_assert_uint_eq(cubin.virtual_sm, 90);
    ck_assert(cubin.suffix_known && cubin.suffix == 'a');
    ck_assert(cubin.compat_accel_known && cubin.compat_accel);
    ck_assert_uint_gt(cubin.toolkit, 0);
    ck_assert_uint_gt(cubin.compat.len, 0);
    load("plain.sm_100f");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert(cubin.suffix_known && cubin.suffix == 'f' && cubin.compat_accel_known && !cubin.compat_accel);
    load("two.sm_90.linked");
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_NVLINK);
    load(P75);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    ck_assert(cubin.suffix_known && cubin.suffix == 0 && !cubin.compat_accel_known);
    ck_assert_uint_eq(cubin.compat.len, 0);
}
END_TEST

/* The note of the hand assembler, of the same size as the one it replaces; it may declare 6 bytes of device
 * note. */
START_TEST(hand_assembled)
{
    static const char filler[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
    static const char *const names[] = { "nvasm_internal", "nvasm_infernal" };
    const cubin_meta_edit six = B(CU, 4, 4, 6);

    for (unsigned k = 0; k < 2; k++) {
        cv_tkinfo tkinfo = { 2,     { 0 }, cv_span_of(names[k], 14, 0),
                             { 0 }, { 0 }, cv_span_of("-arch SM75", 10, 0) };
        cv_builder builder;
        cv_span note;

        load(P90);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        note = cv_cubin_body(&cubin, section_named(TK));
        tkinfo.build = cv_span_of(filler, note.len - 48 - 5 - 24, 0);
        ck_assert_uint_le(tkinfo.build.len, sizeof(filler) - 1);
        cv_builder_init(&builder, &ctx.mem);
        ck_assert(cv_tkinfo_put(&builder, &tkinfo));
        ck_assert_uint_eq(builder.len, note.len);
        apply(&six);
        for (uint64_t i = 0; i < note.len; i++)
            bytes[note.off + i] = cv_u8_at(cv_builder_span(&builder), i);
        cv_builder_free(&builder);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        ck_assert_int_eq(cubin.producer.tool, k ? CV_TOOL_OTHER : CV_TOOL_NVASM);
        ck_assert(!cubin.suffix_known);
        /* Of a stranger's file it is counted, not judged. */
        ck_assert_uint_eq(got.count, 0);
        ck_assert_uint_eq(ctx.differences, k);
        cv_ctx_end_profile(&ctx, 0);
        ck_assert_uint_eq(got.count, k);
        if (k)
            ck_assert_uint_eq(got.diags[0].rule, CV_R_PROFILE_STRANGER);
    }
}
END_TEST

/* Sections without bytes in the file hold nothing that could be wrong. */
START_TEST(no_bytes)
{
    static const char *const names[] = { TK, CU, G, F, ".nv.compat", CG };
    uint64_t extent = 0;

    load(P90);
    ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
    for (unsigned k = 0; k < N(names); k++)
        cv_secs_at(&cubin.sec, section_named(names[k]))->in_file = false;
    got.count = 0;
    cv_cubin_read_notes(&ctx, &cubin);
    ck_assert_int_eq(cv_cubin_check_meta(&ctx, &cubin), CUVET_OK);
    ck_assert_uint_eq(got.count, 0);
    ck_assert_int_eq(cubin.producer.tool, CV_TOOL_PTXAS); /* found with the header, from the file itself */
}
END_TEST

/* A tool note section without a note. */
START_TEST(no_note)
{
    uint64_t extent = 0;

    load(P90);
    ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
    cv_secs_at(&cubin.sec, section_named(TK))->header.size = 0;
    got.count = 0;
    cv_cubin_read_notes(&ctx, &cubin);
    ck_assert_uint_eq(got.count, 1);
    ck_assert_uint_eq(got.diags[0].rule, CV_R_NOTE_EMPTY);
}
END_TEST

/* Work that runs out anywhere ends in one report and no crash; the work a file needs is what it has at most.
 */
START_TEST(work)
{
    uint64_t extent = 0;

    load(U100);
    for (uint64_t left = 0; left < 4000; left++) {
        cv_ctx_unit(&ctx, size);
        ck_assert_int_eq(cv_cubin_header(&ctx, &cubin, cv_span_of(bytes, size, 0), &extent), CUVET_OK);
        got.count = 0;
        cv_ctx_set_work(&ctx, left);
        cv_cubin_read_notes(&ctx, &cubin);
        ck_assert_int_eq(cv_cubin_check_meta(&ctx, &cubin), CUVET_OK);
        cv_islands_drop();
        if (!ctx.work_out) {
            ck_assert_uint_gt(left, 100);
            return;
        }
        ck_assert_uint_eq(ctx.seen[CV_R_LIMIT_WORK], 1);
    }
    ck_abort_msg("4,000 units of work are not enough");
}
END_TEST

/* Every allocation fails once: the status says so, nothing leaks. */
START_TEST(no_memory)
{
    const cubin_meta_edit swap = R2(BF, 0x17, 0, 8, 2, 1), other = R2(BF, 0x17, 1, 8, 2, 2);
    unsigned failed = 0;
    cuvet_status status;

    load(B90);
    ck_assert_int_eq(examine(AS_IS), CUVET_OK);
    apply(&swap); /* out of order: needs memory to check */
    apply(&other);
    for (uint64_t count = 1; count < 64; count++) {
        heap_mend(&memory);
        ck_assert_int_eq(examine(AS_IS), CUVET_OK);
        heap_fail(&memory, count, false);
        status = cv_cubin_check_meta(&ctx, &cubin);
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        failed += status == CUVET_E_NOMEM;
        if (status == CUVET_OK)
            break;
    }
    ck_assert_uint_ge(failed, 2);
}
END_TEST

Suite *suite_cubin_meta(void)
{
    Suite *suite = suite_create("cubin_meta");
    TCase *tcase = tcase_create("cubin_meta");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, rows, 0, (int)N(ROWS));
    tcase_add_test(tcase, any_order);
    tcase_add_test(tcase, path);
    tcase_add_test(tcase, facts);
    tcase_add_test(tcase, hand_assembled);
    tcase_add_test(tcase, no_bytes);
    tcase_add_test(tcase, no_note);
    tcase_add_test(tcase, work);
    tcase_add_test(tcase, no_memory);
    suite_add_tcase(suite, tcase);
    return suite;
}

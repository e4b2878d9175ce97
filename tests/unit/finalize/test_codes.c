/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every code that needs no code generator, reached by a small file: the rule, the place, and a neighbour that
 * is just legal. */
#include "fixture.h"

enum { MACHINE = 18, TYPE = 16, FLAGS = 48, OSABI = 7, ABI = 8, CLASS = 4 };

typedef struct codes_row {
    const char *what, *sample;
    void (*edit)(void);
    size_t off; /* or: a number at a place of the header */
    unsigned width;
    uint64_t value;
    uint32_t target;
    cv_kind kind;
    cv_final code;
    cv_rule rule;
    uint64_t at; /* of the diagnostic; UINT64_MAX: anywhere */
} codes_row;

#define C100     "plain.sm_100.cubin"
#define R100     "plain.sm_100.rdc.cubin"
#define ANYWHERE UINT64_MAX

static void cut(void)
{
    ff.size = 40;
}
static void segment_type(void)
{
    ff_put(ff_get(32, 8) + 3 * 56, 4, 5);
}
static void twice(void)
{
    ff.bytes[ff_claim(5) + 1] = 9;
}
static void rel(void)
{
    size_t handle = ff_section(".rela.text", NULL),
           name = ff_get(ff_section(".shstrtab", NULL) + 24, 8) + ff_get(handle, 4);
    char text[300];

    ck_assert_int_lt(snprintf(text, sizeof(text), ".rel.%s", (const char *)ff.bytes + name + 6),
                     (int)sizeof(text));
    ff.bytes[name] = 0;
    memcpy(ff.bytes + name + 1, text, strlen(text) + 1);
    ff_put(handle, 4, ff_get(handle, 4) + 1);
    ff_put(handle + 4, 4, 9);
    ff_put(handle + 32, 8, 0);
    ff_put(handle + 56, 8, 16);
}
static void reloc(void)
{
    ff_put(ff_body(".rela.debug_frame") + 8, 4, 200);
}
static void no_compat(void)
{
    ff_rename(".nv.compat", ".nv.compax");
}
static void new_isa(void)
{
    ff_put(ff_claim(7) + 2, 2, 0x0102);
}
static void level_5(void)
{
    ff.bytes[ff_claim(6) + 2] = 5;
}
static void level_3(void)
{
    ff.bytes[ff_claim(6) + 2] = 3;
}
static void no_mask(void)
{
    ff.bytes[ff_claim(11) + 4] &= (uint8_t)~8u;
}
static void strange_capsule(void)
{
    ff_rename(".nv.merc.nv.shared.reserved.0", ".nx.");
}
/* Mercury, whose notes no scan looks into: the second string of the tool note begins in the first. */
static void bad_note_of_mercury(void)
{
    size_t words = ff_body(".note.nv.tkinfo") + 24;

    ff_put(FLAGS, 1, 1);
    ff_put(words + 12, 4, ff_get(words + 12, 4) - 1);
}
static void strange_section(void)
{
    size_t handle = ff_section(".nv.shared.reserved.0", NULL);

    ff_rename(".nv.shared.reserved.0", ".nx.");
    ff_put(handle + 44, 4, 5);
}
/* An undefined symbol of no type is said to lie in a capsule. */
static void refers(void)
{
    unsigned i;
    size_t at = ff_body(".symtab"), end = at + ff_get(ff_section(".symtab", NULL) + 32, 8);

    (void)ff_section(".nv.merc.nv.info", &i);
    for (at += 24; at < end; at += 24)
        if (ff_get(at + 6, 2) == 0 && (ff.bytes[at + 4] & 15) != 2 && ff.bytes[at + 4] >> 4 == 2) {
            ff_put(at + 4, 1, 0); /* no variable, of which a scan knows the places, and for nobody else */
            ff_put(at + 6, 2, i);
            ff_put(at + 8, 8, 0);
            ff_put(at + 16, 8, 0);
            return;
        }
    ck_abort_msg("no such symbol");
}

/* The Mercury side says that there are more registers. */
static void other_side(void)
{
    ff_put(ff_body(".nv.merc.nv.info") + 8, 1, ff.bytes[ff_body(".nv.merc.nv.info") + 8] + 1);
}
/* The Mercury code names another function. */
static void other_callee(void)
{
    size_t at = ff_body(".nv.merc.rela.text._Z6callerPi");

    ff_put(at + 12, 4, ff_get(at + 12 + 24, 4));
}
/* A branch of the Mercury table goes where another one goes. */
static void other_label(void)
{
    size_t at = ff_body(".nv.merc.rela.nv.constant.optimizer._Z7branchyPi3bigc");

    ff_put(at + 16, 8, ff_get(at + 16 + 24, 8));
}
/* The frame of the Mercury side is another function's. */
static void other_frame(void)
{
    size_t at = ff_body(".nv.merc.rela.debug_frame");

    ff_put(at + 12, 4, ff_get(at + 12 + 24, 4));
}
/* The Mercury side has another number in the entry of a unified variable. */
static void other_entry(void)
{
    ff_put(ff_body(".nv.merc.nv.udt.entry") + 16, 1, 0x77);
}

static const codes_row ROWS[] = {
    { "cut", C100, cut, 0, 0, 0, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_ELF_SHORT, ANYWHERE },
    { "machine", C100, NULL, MACHINE, 2, 62, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_ELF_MACHINE, MACHINE },
    { "class", C100, NULL, CLASS, 1, 1, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_CLASS, CLASS },
    { "kind 0", C100, NULL, FLAGS, 1, 0, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_KIND, FLAGS },
    { "kind 3", C100, NULL, FLAGS, 1, 3, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_KIND, FLAGS },
    { "kind 6", C100, NULL, FLAGS, 1, 6, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_KIND, FLAGS },
    { "kind 8", C100, NULL, FLAGS, 1, 8, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_KIND, FLAGS },
    { "kind 0x12", C100, NULL, FLAGS, 1, 0x12, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_KIND, FLAGS },
    { "type 0", C100, NULL, TYPE, 2, 0, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_TYPE, TYPE },
    { "type 3", C100, NULL, TYPE, 2, 3, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_TYPE, TYPE },
    { "type 0xFF00", C100, NULL, TYPE, 2, 0xFF00, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_TYPE, TYPE },
    { "OSABI", C100, NULL, OSABI, 1, 0, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_FINAL_ABI, OSABI },
    { "ABI 7", C100, NULL, ABI, 1, 7, 0, CV_KIND_NONE, CV_FINAL_ABI, CV_R_FINAL_ABI, OSABI },
    { "ABI 9", C100, NULL, ABI, 1, 9, 0, CV_KIND_NONE, CV_FINAL_ABI, CV_R_FINAL_ABI, OSABI },
    { "code marked as plain", C100, NULL, FLAGS, 1, 4, 0, CV_KIND_NONE, CV_FINAL_TYPE, CV_R_SEC_UNEXPECTED,
      ANYWHERE },
    { "plain code marked as capsules", "plain.sm_90.cubin", NULL, FLAGS, 1, 2, 0, CV_KIND_NONE, CV_FINAL_TYPE,
      CV_R_ELF_FLAGS_KIND, FLAGS },
    { "segment", C100, segment_type, 0, 0, 0, 0, CV_KIND_NONE, CV_FINAL_SEGMENT, CV_R_SEG_TYPE, ANYWHERE },
    { "attribute twice", C100, twice, 0, 0, 0, 0, CV_KIND_NONE, CV_FINAL_TWICE, CV_R_COMPAT_TWICE, ANYWHERE },
    { "Mercury twice", "nocode.sm_100.rdc.cubin", NULL, FLAGS, 1, 1, 0, CV_KIND_MERCURY, CV_FINAL_ARCH,
      CV_R_FINAL_SAME_MERCURY, FLAGS },
    { "REL", "dynshared.sm_100.cubin", rel, 0, 0, 0, 0, CV_KIND_SASS, CV_FINAL_REL, CV_R_FINAL_REL,
      ANYWHERE },
    { "relocation", C100, reloc, 0, 0, 0, 0, CV_KIND_NONE, CV_FINAL_RELOC, CV_R_RELOC_TYPE, ANYWHERE },
    { "uplift", "plain.sm_90.cubin", NULL, 0, 0, 0, 0, CV_KIND_CAPMERC, CV_FINAL_UPLIFT, CV_R_FINAL_UPLIFT,
      FLAGS },
    { "target 99", C100, NULL, 0, 0, 0, 99, CV_KIND_NONE, CV_FINAL_SM, CV_R_FINAL_SM, FLAGS },
    { "target 104", C100, NULL, 0, 0, 0, 104, CV_KIND_NONE, CV_FINAL_SM, CV_R_FINAL_SM, FLAGS },
    { "target 130", C100, NULL, 0, 0, 0, 130, CV_KIND_NONE, CV_FINAL_SM, CV_R_FINAL_SM, FLAGS },
    { "target 75", C100, NULL, 0, 0, 0, 75, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE, CV_R_FINAL_INCOMPATIBLE,
      FLAGS },
    { "target 89", C100, NULL, 0, 0, 0, 89, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE, CV_R_FINAL_INCOMPATIBLE,
      FLAGS },
    { "no claims", C100, no_compat, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_NO_COMPAT, CV_R_SEC_MISSING_COMPAT,
      ANYWHERE },
    { "no claims, older", "plain.sm_75.cubin", NULL, 0, 0, 0, 80, CV_KIND_NONE, CV_FINAL_NO_COMPAT,
      CV_R_FINAL_NO_COMPAT, FLAGS },
    { "ISA", C100, new_isa, 0, 0, 0, 0, CV_KIND_NONE, CV_FINAL_ISA, CV_R_FINAL_ISA, ANYWHERE },
    { "family", C100, NULL, 0, 0, 0, 110, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE, CV_R_FINAL_INCOMPATIBLE,
      FLAGS },
    { "down", "plain.sm_103.cubin", NULL, 0, 0, 0, 100, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE,
      CV_R_FINAL_INCOMPATIBLE, FLAGS },
    { "accelerated", "plain.sm_100a.cubin", NULL, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE,
      CV_R_FINAL_INCOMPATIBLE, FLAGS },
    { "level 5", C100, level_5, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE, CV_R_FINAL_INCOMPATIBLE,
      FLAGS },
    { "level 3", C100, level_3, 0, 0, 0, 120, CV_KIND_NONE, CV_FINAL_INCOMPATIBLE, CV_R_FINAL_LEVEL,
      ANYWHERE },
    { "no mask, kept", C100, no_mask, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_NO_BACKEND, CV_R_FINAL_NEEDS_CODE,
      FLAGS },
    { "no mask, stripped", C100, no_mask, 0, 0, 0, 103, CV_KIND_SASS, CV_FINAL_NO_BACKEND,
      CV_R_FINAL_NEEDS_CODE, FLAGS },
    { "to Mercury", C100, NULL, 0, 0, 0, 0, CV_KIND_MERCURY, CV_FINAL_NO_BACKEND, CV_R_FINAL_NEEDS_DECODER,
      FLAGS },
    { "capsules marked as Mercury", R100, NULL, FLAGS, 1, 1, 0, CV_KIND_SASS, CV_FINAL_TYPE, CV_R_FINAL_PHASE,
      FLAGS },
    { "from Mercury", "nocode.sm_100.rdc.cubin", NULL, FLAGS, 1, 1, 0, CV_KIND_SASS, CV_FINAL_NO_BACKEND,
      CV_R_FINAL_NEEDS_ENCODER, FLAGS },
    { "capsule of no name", C100, strange_capsule, 0, 0, 0, 0, CV_KIND_SASS, CV_FINAL_TYPE,
      CV_R_FINAL_CAPSULE, ANYWHERE },
    { "section of no name", C100, strange_section, 0, 0, 0, 0, CV_KIND_SASS, CV_FINAL_TYPE,
      CV_R_FINAL_UNKNOWN, ANYWHERE },
    { "bad note of Mercury", "nocode.sm_100.rdc.cubin", bad_note_of_mercury, 0, 0, 0, 0, CV_KIND_SASS,
      CV_FINAL_TYPE, CV_R_TKINFO_ORDER, ANYWHERE },
    { "other side", C100, other_side, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT, CV_R_TWIN_TAKEN,
      FLAGS },
    { "other side, data", C100, other_side, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT, CV_R_TWIN_DATA,
      ANYWHERE },
    { "other callee", "two_a.sm_100.rdc.cubin", other_callee, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT,
      CV_R_TWIN_CODE, ANYWHERE },
    { "other label", "branchy.sm_100.cubin", other_label, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT,
      CV_R_TWIN_TABLE, ANYWHERE },
    { "other frame", "two.sm_100.linked.cubin", other_frame, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT,
      CV_R_TWIN_DEBUG, ANYWHERE },
    { "other entry", "unified.sm_100.rdc.cubin", other_entry, 0, 0, 0, 103, CV_KIND_NONE, CV_FINAL_CHECK_TEXT,
      CV_R_TWIN_CALLS, ANYWHERE },
    { "symbol in a capsule", R100, refers, 0, 0, 0, 0, CV_KIND_SASS, CV_FINAL_TYPE, CV_R_FINAL_REFERS,
      ANYWHERE },
};

START_TEST(codes)
{
    const codes_row *row = &ROWS[_i];
    cv_final_options options = ff_options(row->target, row->kind);

    ff_load(row->sample);
    if (row->edit)
        row->edit();
    if (row->width)
        ff_put(row->off, row->width, row->value);
    ck_assert_msg(ff_run(&options) != CUVET_OK, "%s: not refused", row->what);
    for (int k = 0; !ff_said(row->rule) && k < CV_N_RULES; k++)
        if (ff_said((cv_rule)k))
            printf("%s: %s instead\n", row->what, cuvet_rule_get((cuvet_rule)k)->id);
    ck_assert_msg(ff_said(row->rule), "%s: %s was not said", row->what, cuvet_rule_get(row->rule)->id);
    ck_assert_msg(ff_job.code == row->code, "%s: code %d", row->what, (int)ff_job.code);
    if (row->at != ANYWHERE)
        ck_assert_uint_eq(ff_diag(row->rule)->file_off, row->at);
    ck_assert(ff_diag(row->rule)->file_off < ff.size || row->edit == cut);
}
END_TEST

/* The neighbours: what those files were before, and claims that are just believed. */
START_TEST(neighbours)
{
    static const char *const FILES[] = { C100, R100, "plain.sm_90.cubin", "plain.sm_103.cubin",
                                         "plain.sm_100a.cubin" };
    cv_final_options options = ff_options(0, CV_KIND_NONE);

    for (unsigned i = 0; i < N(FILES); i++) {
        ff_load(FILES[i]);
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
        ck_assert_int_eq(ff_job.code, CV_FINAL_NOT_NEEDED);
        ck_assert(ff_said(CV_R_FINAL_NOT_NEEDED));
    }
    ff_load(C100);
    ff_put(ff_claim(7) + 2, 2, 0x0101);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    /* a level that is believed when the caller says so still needs code */
    level_3();
    options = ff_options(120, CV_KIND_NONE);
    options.level_most = 3;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert_int_eq(ff_job.code, CV_FINAL_NO_BACKEND);
    ck_assert(!ff_said(CV_R_FINAL_LEVEL));
    /* what is said of the Mercury side is no reason to keep the native one back, or a file where it is */
    ff_load(C100);
    other_side();
    options = ff_options(0, CV_KIND_SASS);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert(ff_said(CV_R_TWIN_DATA));
    options = ff_options(0, CV_KIND_NONE);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_int_eq(ff_job.code, CV_FINAL_NOT_NEEDED);
}
END_TEST

/* CV-FINAL-040: a file whose level and mask agree that its code runs on another family; without the mask code
 * would have to be made, within the family it is taken. */
START_TEST(families)
{
    for (unsigned k = 0; k < 2; k++) {
        cv_final_options options = ff_options(110, k ? CV_KIND_SASS : CV_KIND_NONE);

        options.level_most = 4;
        ff_load(R100);
        ff.bytes[ff_claim(6) + 2] = 4;
        ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
        ck_assert(ff_said(CV_R_FINAL_NEEDS_CODE));
        ff.bytes[ff_claim(11) + 4] |= 2;
        ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
        ck_assert_int_eq(ff_job.code, CV_FINAL_NO_BACKEND);
        ck_assert_uint_eq(ff_diag(CV_R_FINAL_FAMILY)->got, 100);
        ck_assert_uint_eq(ff_diag(CV_R_FINAL_FAMILY)->want, 110);
        options.fastpath_off = true;
        ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
        ck_assert(ff_said(CV_R_FINAL_FAMILY));
        options.fastpath_off = false;
        options.target_sm = 103;
        ck_assert_int_eq(ff_run(&options), CUVET_OK);
    }
}
END_TEST

START_TEST(conflicts)
{
    static const struct {
        cv_final_phase phase;
        cv_kind kind;
        uint8_t level;
        bool ok;
    } ROW[] = {
        { CV_PHASE_PRELINK, CV_KIND_CAPMERC, 2, false }, { CV_PHASE_PRELINK, CV_KIND_SASS, 2, true },
        { CV_PHASE_PRELINK, CV_KIND_NONE, 2, true },     { CV_PHASE_POSTLINK, CV_KIND_MERCURY, 2, false },
        { CV_PHASE_POSTLINK, CV_KIND_CAPMERC, 2, true }, { CV_PHASE_ALONE, (cv_kind)3, 2, false },
        { CV_PHASE_ALONE, (cv_kind)7, 2, false },        { CV_PHASE_ALONE, CV_KIND_NONE, 4, true },
        { CV_PHASE_ALONE, CV_KIND_NONE, 5, false },
    };

    for (unsigned i = 0; i < N(ROW); i++) {
        cv_final_options options = ff_options(100, ROW[i].kind);

        options.phase = ROW[i].phase;
        options.level_most = ROW[i].level;
        ff_load(R100);
        ck_assert_int_eq(ff_run(&options) == CUVET_OK, ROW[i].ok);
        ck_assert_int_eq(ff_said(CV_R_FINAL_CONFLICT), !ROW[i].ok);
        ck_assert_int_eq(ff_job.code == CV_FINAL_CONFLICT, !ROW[i].ok);
    }
}
END_TEST

/* After a link finished code is refused; before it, it is what is wanted. */
START_TEST(phases)
{
    cv_final_options options = ff_options(0, CV_KIND_NONE);

    ff_load("plain.sm_90.rdc.cubin");
    options.phase = CV_PHASE_POSTLINK;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert_int_eq(ff_job.code, CV_FINAL_TYPE);
    ck_assert(ff_said(CV_R_FINAL_PHASE));
    options.phase = CV_PHASE_PRELINK;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_int_eq(ff_job.code, CV_FINAL_NOT_NEEDED);
    ff_load(R100);
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert_int_eq(ff_job.out_kind, CV_KIND_SASS);
}
END_TEST

START_TEST(suffixes)
{
    cv_final_options options = ff_options(100, CV_KIND_SASS);

    ff_load("plain.sm_100a.cubin");
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert(ff_said(CV_R_ADMIT_SUFFIX_LOST));
    options.exact = true;
    ck_assert_int_eq(ff_run(&options), CUVET_E_REFUSED);
    ck_assert(ff_said(CV_R_ADMIT_SUFFIX));
    ck_assert_int_eq(ff_job.code, CV_FINAL_INCOMPATIBLE);
    options.target_suffix = 'a';
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    ck_assert(!ff_said(CV_R_ADMIT_SUFFIX_LOST));
}
END_TEST

/* Limits: of the result, of work, of memory; and who cancels. */
START_TEST(limits)
{
    cv_final_options options = ff_options(103, CV_KIND_NONE);
    int cancel = 1;

    ff_load(C100);
    options.max_output = ff.size;
    ck_assert_int_eq(ff_run(&options), CUVET_OK);
    options.max_output = ff.size - 1;
    ck_assert_int_eq(ff_run(&options), CUVET_E_LIMIT);
    ck_assert(ff_said(CV_R_FINAL_OUTPUT_LIMIT));
    ck_assert_int_eq(ff_job.code, CV_FINAL_LIMIT);
    options.max_output = 0;
    ff_x.cancel = &cancel;
    ck_assert_int_eq(ff_run(&options), CUVET_E_LIMIT);
    ck_assert_int_eq(ff_job.code, CV_FINAL_CANCELLED);
    ff_x.cancel = NULL;
    ff_x.lim.work = 0;
    ff_load("plain.sm_100.g.cubin");
    options.kind = CV_KIND_SASS;
    for (uint64_t work = 0; work < 4; work++) {
        ff_x.lim.work = work;
        if (ff_run(&options) == CUVET_OK)
            break;
        ck_assert_int_eq(ff_job.code, CV_FINAL_LIMIT);
    }
}
END_TEST

/* The texts are those of the reference. */
START_TEST(texts)
{
    ck_assert_str_eq(cv_final_text(1), "unkown Program Header Type");
    ck_assert_str_eq(cv_final_text(12), "Param struct passed to finalizer is Nil");
    ck_assert_str_eq(cv_final_text(26), "unsupported binary");
    for (uint32_t i = 23; i <= 30; i++)
        ck_assert_str_eq(cv_final_text(i), cv_final_text(23));
    for (uint32_t i = 0; i < 300; i++) {
        bool none = i == 0 || i == 8 || i == 21 || (i > 30 && i < 256) || i > CV_FINAL_INTERNAL;

        ck_assert_int_eq(cv_final_text(i)[0] == 0, none);
    }
    ck_assert_ptr_null(cv_final_stage(11));
    ck_assert_str_eq(cv_final_stage(10), "verify");
}
END_TEST

Suite *suite_codes(void)
{
    Suite *suite = suite_create("finalize/codes");
    TCase *tcase = tcase_create("codes");

    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_loop_test(tcase, codes, 0, (int)N(ROWS));
    tcase_add_test(tcase, neighbours);
    tcase_add_test(tcase, families);
    tcase_add_test(tcase, conflicts);
    tcase_add_test(tcase, phases);
    tcase_add_test(tcase, suffixes);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, texts);
    suite_add_tcase(suite, tcase);
    return suite;
}

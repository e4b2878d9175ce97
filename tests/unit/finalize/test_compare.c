/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two pictures of one file, one of them edited: whatever was edited is seen, and told by its part. */
#include "fixture.h"

#include "finalize/compare.h"

/* How the two are compared: a copy with capsules; finished code out of it; code that was made again. */
typedef enum compare_way { WHOLE, STRIPPED, AGAIN } compare_way;

static ff_file first;
static cv_cubin before, after;

static size_t header(const char *name)
{
    return ff_section(name, NULL);
}

/* Field of the symbol of this name. */
static size_t symbol(const char *name, size_t field)
{
    size_t at = ff_body(".symtab"), end = at + ff_get(header(".symtab") + 32, 8);

    for (; at < end; at += 24)
        if (strcmp((const char *)ff.bytes + ff_body(".strtab") + ff_get(at, 4), name) == 0)
            return at + field;
    ck_abort_msg("no symbol %s", name);
}

static void flip(size_t at)
{
    ff.bytes[at] ^= 1;
}

static void section_type(void)
{
    ff_put(header(".debug_abbrev") + 4, 4, 0x70000042);
}
static void section_flags(void)
{
    flip(header(".debug_abbrev") + 8);
}
static void section_align(void)
{
    ff_put(header(".nv.constant0") + 48, 8, 8);
}
static void section_entsize(void)
{
    ff_put(header(".debug_abbrev") + 56, 8, 4);
}
static void section_name(void)
{
    flip(ff_body(".shstrtab") + ff_get(header(".debug_abbrev"), 4) + 8);
}
static void no_bytes_size(void)
{
    ff_put(header(".nv.shared.") + 32, 8, ff_get(header(".nv.shared.") + 32, 8) + 16);
}
static void code_name(void)
{
    flip(ff_body(".shstrtab") + ff_get(header(".text."), 4) + 8);
}
static void code_gone(void)
{
    ff_put(header(".text.") + 4, 4, 0);
}
static void abbrev_gone_here(void)
{
    size_t at = first.bytes[40] | (size_t)first.bytes[41] << 8;

    at += header(".debug_abbrev") - ff_get(40, 8);
    memset(first.bytes + at + 4, 0, 4);
}
static void capsule_byte(void)
{
    flip(ff_body(".nv.capmerc.text") + 20);
}
static void twin_byte(void)
{
    flip(ff_body(".nv.merc.nv.info.") + 5);
}
static void reloc_place(void)
{
    flip(ff_body(".rela.debug_info"));
}
static void reloc_type(void)
{
    flip(ff_body(".rela.debug_info") + 8);
}
static void reloc_symbol(void)
{
    flip(ff_body(".rela.debug_info") + 12);
}
static void reloc_addend(void)
{
    flip(ff_body(".rela.debug_info") + 17);
}
static void twin_reloc_symbol(void)
{
    flip(ff_body(".nv.merc.rela.debug_info") + 12);
}
static void symbol_name(void)
{
    flip(ff_body(".strtab") + ff_get(symbol("__UFT_END", 0), 4));
}
static void symbol_binding(void)
{
    ff_put(symbol("__UFT_END", 4), 1, 0x11);
}
static void symbol_other(void)
{
    flip(symbol("__UFT_END", 5));
}
static void symbol_value(void)
{
    flip(symbol("__UFT_END", 8));
}
static void symbol_size(void)
{
    flip(symbol("__UFT_END", 16));
}
static void symbol_section(void)
{
    ff_put(symbol(".debug_line", 6), 2, ff_get(symbol(".debug_frame", 6), 2));
}
static void symbol_absolute(void)
{
    ff_put(symbol("__UFT_END", 6), 2, 0xFFF1);
}
static void symbol_fewer(void)
{
    ff_put(header(".symtab") + 32, 8, ff_get(header(".symtab") + 32, 8) - 24);
}
static void symbol_more(void)
{
    size_t at = first.bytes[40] | (size_t)first.bytes[41] << 8;

    at += header(".symtab") - ff_get(40, 8) + 32;
    first.bytes[at] = (uint8_t)(first.bytes[at] - 24);
}
static void local_object(void)
{
    ff_put(symbol(".debug_pubtypes", 4), 1, 0x01);
}
static void kernel_mark(void)
{
    ff.bytes[symbol("_Z5plainPi", 5)] ^= 0x10;
}
static void kernel_local(void)
{
    ff_put(symbol("_Z5plainPi", 4), 1, 0x02);
}
static void kernel_name(void)
{
    flip(ff_body(".strtab") + ff_get(symbol("_Z5plainPi", 0), 4) + 3);
}
static void kernel_object(void)
{
    ff_put(symbol("_Z5plainPi", 4), 1, 0x11);
}
static void local_name(void)
{
    ff_put(symbol(".debug_pubtypes", 0), 4, ff_get(symbol(".debug_info", 0), 4));
}

static const struct row {
    const char *what;
    void (*edit)(void);
    compare_way way;
    cv_final code;
    cv_rule rule;
} ROWS[] = {
#define OTHER(edit, way)                                                                                     \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT                             \
    }
#define TEXT(edit, way)                                                                                      \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_CHECK_TEXT, CV_R_FINAL_CHECK_TEXT                                         \
    }
#define DEBUG(edit, way)                                                                                     \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_CHECK_DEBUG, CV_R_FINAL_CHECK_DEBUG                                       \
    }
#define RELOC(edit, way)                                                                                     \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_CHECK_RELOC, CV_R_FINAL_CHECK_RELOC                                       \
    }
#define SYMBOL(edit, way)                                                                                    \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS                             \
    }
#define SAME(edit, way)                                                                                      \
    {                                                                                                        \
#edit, edit, way, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT                                             \
    }
    DEBUG(section_type, WHOLE),      DEBUG(section_flags, STRIPPED), OTHER(section_align, STRIPPED),
    DEBUG(section_entsize, WHOLE),   DEBUG(section_name, STRIPPED),  OTHER(no_bytes_size, STRIPPED),
    TEXT(code_name, WHOLE),          TEXT(code_name, AGAIN),         TEXT(code_gone, AGAIN),
    DEBUG(abbrev_gone_here, WHOLE),  OTHER(capsule_byte, WHOLE),     SAME(capsule_byte, STRIPPED),
    OTHER(twin_byte, WHOLE),         SAME(twin_byte, STRIPPED),      RELOC(reloc_place, STRIPPED),
    RELOC(reloc_type, WHOLE),        RELOC(reloc_symbol, WHOLE),     RELOC(reloc_addend, WHOLE),
    OTHER(twin_reloc_symbol, WHOLE), SYMBOL(symbol_name, WHOLE),     SYMBOL(symbol_binding, WHOLE),
    SYMBOL(symbol_other, WHOLE),     SYMBOL(symbol_value, STRIPPED), SYMBOL(symbol_size, WHOLE),
    SYMBOL(symbol_section, WHOLE),   SYMBOL(symbol_absolute, WHOLE), SYMBOL(symbol_fewer, WHOLE),
    SAME(symbol_value, AGAIN),       SAME(reloc_addend, AGAIN),      SYMBOL(kernel_mark, AGAIN),
    SYMBOL(kernel_local, AGAIN),     SYMBOL(kernel_name, AGAIN),     SYMBOL(kernel_object, AGAIN),
    SAME(local_name, AGAIN),         SAME(local_object, AGAIN),      SYMBOL(symbol_more, WHOLE),
};

/* Entries of .rela.text._Z4varsPi in vars.sm_100.rdc.cubin: two halves of one address each, but for some. */
static void ref_type(void)
{
    flip(ff_body(".rela.text.") + 8);
}
static void ref_symbol(void)
{
    flip(ff_body(".rela.text.") + 12);
}
static void ref_addend(void)
{
    ff_put(ff_body(".rela.text.") + 16, 8, 4);
}
static void ref_place(void)
{
    flip(ff_body(".rela.text.") + 1);
}
static void ref_one_more(void)
{
    size_t at = ff_body(".rela.text.");

    /* a second reference to one half, and one to the other half of another variable instead of it */
    memcpy(ff.bytes + at + 24 + 8, ff.bytes + at + 8, 16);
    memcpy(first.bytes + at + 24 + 8, first.bytes + at + 8, 16);
    ff_put(at + 24 + 16, 8, 8);
}
static void ref_of_own(void)
{
    size_t at = ff_body(".rela.text.");

    ff_put(at + 12, 4, (symbol("_Z4varsPi", 0) - ff_body(".symtab")) / 24);
    memcpy(first.bytes + at, ff.bytes + at, 24);
    ff_put(at + 16, 8, 0x40);
}
static void ref_of_own_outside(void)
{
    ref_of_own();
    ff_put(ff_body(".rela.text.") + 16, 8, 0x400);
}
static void ref_of_own_odd(void)
{
    ref_of_own();
    ff_put(ff_body(".rela.text.") + 16, 8, 0x44);
}
static void claims_more(void)
{
    ff.bytes[ff_claim(11) + 4] |= 2;
}
static void claims_less(void)
{
    ff.bytes[ff_claim(11) + 4] = 0;
}
static void claims_level(void)
{
    ff.bytes[ff_claim(6) + 2] = 2;
}
static void claims_level_no_mask(void)
{
    ff.bytes[ff_claim(11) + 1] = first.bytes[ff_claim(11) + 1] = 0x7E;
    claims_level();
}
static void data_byte(void)
{
    flip(ff_body(".nv.global.init") + 9);
}
static void bank_byte(void)
{
    flip(ff_body(".nv.constant3"));
}
static void parameters_byte(void)
{
    flip(ff_body(".nv.constant0.") + 1);
}
static void data_size(void)
{
    ff_put(header(".nv.global") + 32, 8, ff_get(header(".nv.global") + 32, 8) + 16);
}
static void zeroed_size(void)
{
    size_t at = header(".nv.global.init") + 128; /* .nv.global, behind .nv.shared */

    ff_put(at + 32, 8, ff_get(at + 32, 8) + 16);
}
static void data_ref_place(void)
{
    flip(ff_body(".rela.nv.global.init") + 0);
}
static void data_ref_addend(void)
{
    flip(ff_body(".rela.nv.global.init") + 16);
}
static void data_ref_type(void)
{
    flip(ff_body(".rela.nv.global.init") + 8);
}
static void info_byte(void)
{
    flip(ff_body(".nv.info._Z4varsPi") + 8);
}
static void variable_value(void)
{
    ff_put(symbol("with_value", 8), 8, 4);
}
static void variable_size(void)
{
    ff_put(symbol("with_value", 16), 8, 2);
}
static void variable_other(void)
{
    flip(symbol("with_value", 5));
}
static void variable_section(void)
{
    ff_put(symbol("zeroed", 6), 2, ff_get(symbol("with_value", 6), 2));
}
static void local_variable(void)
{
    ff_put(symbol("with_value", 4), 1, 0x0D);
    memcpy(first.bytes, ff.bytes, ff.size);
    ff_put(symbol("with_value", 8), 8, 4);
}
static void function_size(void)
{
    ff_put(symbol("_Z4varsPi", 16), 8, 128);
}
static void function_other(void)
{
    flip(symbol("_Z4varsPi", 5));
}

/* Code that was made again works on the data that it worked on: CV-FINAL-037, and 039 for what is new. */
static const struct row AGAINS[] = {
    { "type", ref_type, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "symbol", ref_symbol, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "addend", ref_addend, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "place in code", ref_place, AGAIN, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT },
    { "one more", ref_one_more, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_ADDED },
    { "place in itself", ref_of_own, AGAIN, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT },
    { "place behind itself", ref_of_own_outside, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "place in an instruction", ref_of_own_odd, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "one machine more", claims_more, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "no other machine", claims_less, AGAIN, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT },
    { "level", claims_level, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "level, no mask", claims_level_no_mask, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "data", data_byte, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "constants", bank_byte, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "parameters", parameters_byte, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "size", data_size, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "size without bytes", zeroed_size, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_CONTENT },
    { "place in data", data_ref_place, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "addend in data", data_ref_addend, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "type in data", data_ref_type, AGAIN, CV_FINAL_CHECK_RELOC, CV_R_FINAL_LOST },
    { "properties of code", info_byte, AGAIN, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT },
    { "value", variable_value, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS },
    { "size", variable_size, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS },
    { "visibility", variable_other, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS },
    { "section", variable_section, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS },
    { "local", local_variable, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT, CV_R_FINAL_OUTPUT_SYMBOLS },
    { "size of a function", function_size, AGAIN, CV_FINAL_OK, CV_R_FINAL_OUTPUT_CONTENT },
    { "visibility of a function", function_other, AGAIN, CV_FINAL_BACKEND_BAD_OUTPUT,
      CV_R_FINAL_OUTPUT_SYMBOLS },
};

static void picture(cv_cubin *cubin, ff_file *file)
{
    uint64_t extent;

    cv_cubin_init(cubin);
    cv_ctx_unit(&ff_x, 64 * file->size);
    /* errors are reported, and a picture there is all the same */
    ck_assert_int_eq(cv_cubin_examine(&ff_x, cubin, cv_span_of(file->bytes, file->size, 0), NULL, &extent),
                     CUVET_OK);
}

static cuvet_status compare(compare_way way, uint64_t null_symbol, cv_final *code)
{
    const cv_final_same same = { .before = &before,
                                 .after = &after,
                                 .stripped = way == STRIPPED,
                                 .made_again = way == AGAIN,
                                 .null_symbol = null_symbol };

    cv_ctx_unit(&ff_x, 64 * ff.size);
    *code = CV_FINAL_OK;
    return cv_final_compare(&ff_x, &same, code);
}

static void end(void)
{
    cv_cubin_free(&ff_x, &before);
    cv_cubin_free(&ff_x, &after);
    cv_islands_drop();
}

START_TEST(edits)
{
    const struct row *row = &ROWS[_i];
    cuvet_status status;
    cv_final code;

    ff_load(row->edit == no_bytes_size ? "vars.sm_100.rdc.cubin" : "plain.sm_100.g.rdc.cubin");
    first = ff;
    row->edit();
    picture(&before, &first);
    picture(&after, &ff);
    status = compare(row->way, 0, &code);
    ck_assert_msg((status == CUVET_OK) == (row->code == CV_FINAL_OK), "%s: %d, code %d", row->what,
                  (int)status, (int)code);
    ck_assert_msg(code == row->code, "%s: code %d", row->what, (int)code);
    ck_assert_msg(code == CV_FINAL_OK || ff_said(row->rule), "%s: not said", row->what);
    end();
}
END_TEST

START_TEST(agains)
{
    const struct row *row = &AGAINS[_i];
    cuvet_status status;
    cv_final code;

    ff_load("vars.sm_100.rdc.cubin");
    first = ff;
    row->edit();
    picture(&before, &first);
    picture(&after, &ff);
    ff_forget();
    status = compare(row->way, 0, &code);
    ck_assert_msg((status == CUVET_OK) == (row->code == CV_FINAL_OK), "%s: %d, code %d", row->what,
                  (int)status, (int)code);
    ck_assert_msg(code == row->code, "%s: code %d", row->what, (int)code);
    ck_assert_msg(ff_said(row->rule) == (code != CV_FINAL_OK), "%s: not said", row->what);
    end();
}
END_TEST

/* The symbol of the capsules may become an entry of its own kind, and nothing else. */
START_TEST(empty_entry)
{
    static const uint8_t EMPTY[24] = { [5] = 1 };
    static const size_t FIELDS[] = { 0, 4, 5, 6, 8, 16 };
    cv_final code;
    size_t at, i;

    ff_load("vars.sm_100.rdc.cubin");
    first = ff;
    picture(&before, &first);
    at = symbol(".nv.reservedSmem.cap", 0);
    i = (at - ff_body(".symtab")) / 24;
    memcpy(ff.bytes + at, EMPTY, sizeof(EMPTY));
    picture(&after, &ff);
    ck_assert_int_eq(compare(STRIPPED, i, &code), CUVET_OK);
    ck_assert_int_eq(compare(STRIPPED, 0, &code), CUVET_E_REFUSED);
    cv_cubin_free(&ff_x, &after);
    for (size_t k = 0; k < N(FIELDS); k++) {
        ff.bytes[at + FIELDS[k]] ^= 1;
        picture(&after, &ff);
        ck_assert_msg(compare(STRIPPED, i, &code) == CUVET_E_REFUSED, "field %zu", FIELDS[k]);
        ck_assert_int_eq(code, CV_FINAL_BACKEND_BAD_OUTPUT);
        cv_cubin_free(&ff_x, &after);
        ff.bytes[at + FIELDS[k]] ^= 1;
    }
    picture(&after, &ff);
    end();
}
END_TEST

/* Code that was made again: functions and variables that are seen from outside, by their names. */
START_TEST(counts)
{
    static const struct {
        const char *name; /* given to the kernel of b, or of a */
        bool of_a;
        bool same;
    } NAMES[] = {
        { "_Z5plainPi", false, true },
        { "_Z5plainPj", false, false },
        { "_Z5plainPj", true, false },
    };

    for (size_t i = 0; i < N(NAMES); i++) {
        cv_final code;
        size_t at;

        ff_load("plain.sm_100.g.rdc.cubin");
        at = ff_body(".strtab") + ff_get(symbol("_Z5plainPi", 0), 4);
        first = ff;
        memcpy((NAMES[i].of_a ? first.bytes : ff.bytes) + at, NAMES[i].name, 10);
        picture(&before, &first);
        picture(&after, &ff);
        ck_assert_int_eq(compare(AGAIN, 0, &code) == CUVET_OK, NAMES[i].same);
        end();
        /* one of them has it, and the other none at all */
        ff_load("plain.sm_100.g.rdc.cubin");
        at = symbol("_Z5plainPi", 4);
        first = ff;
        (NAMES[i].of_a ? first.bytes : ff.bytes)[at] = 2;
        picture(&before, &first);
        picture(&after, &ff);
        ck_assert_int_eq(compare(AGAIN, 0, &code), CUVET_E_REFUSED);
        ck_assert_int_eq(code, CV_FINAL_BACKEND_BAD_OUTPUT);
        end();
    }
}
END_TEST

/* What a linker reserves in shared memory is its business: made again, it may come and go. */
START_TEST(reserved)
{
    static const char *const NAMES[] = { ".nv.reservedSmem.xx", "__nv_reservedSMEM_x",
                                         ".nv.reservedSmen.xx" };

    for (size_t i = 0; i < N(NAMES); i++) {
        size_t at, kernel;
        cv_final code;

        ff_load("plain.sm_100.g.rdc.cubin");
        kernel = ff_get(symbol("_Z5plainPi", 6), 2);
        at = symbol(".nv.reservedSmem.offset0", 0);
        memcpy(ff.bytes + ff_body(".strtab") + ff_get(at, 4), NAMES[i], 19);
        ff_put(at + 4, 1, 0x11);
        ff_put(at + 5, 1, 0);
        first = ff;
        ff_put(at + 6, 2, kernel); /* defined in one of them */
        picture(&before, &first);
        picture(&after, &ff);
        ck_assert_int_eq(compare(AGAIN, 0, &code) == CUVET_OK, i < 2);
        end();
    }
}
END_TEST

Suite *suite_compare(void);
Suite *suite_compare(void)
{
    Suite *suite = suite_create("finalize/compare");
    TCase *tcase = tcase_create("compare");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, ff_setup, ff_teardown);
    tcase_add_loop_test(tcase, edits, 0, (int)N(ROWS));
    tcase_add_loop_test(tcase, agains, 0, (int)N(AGAINS));
    tcase_add_test(tcase, empty_entry);
    tcase_add_test(tcase, counts);
    tcase_add_test(tcase, reserved);
    suite_add_tcase(suite, tcase);
    return suite;
}

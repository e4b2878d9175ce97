/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELF rules. Each row takes a good file, changes one place (two where one alone cannot break the rule)
 * and names the rule that must be reported, at the place of the change unless the row says otherwise. The
 * unchanged file is the just-legal neighbour of every row: it must be free of findings. Files are read from
 * corpus/samples, below the working directory. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cubin/cubin.h"

#include "cubin_rows.h"

#define MAX_FILE (1u << 18)
#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cv_cubin cubin;
static uint8_t good[MAX_FILE], bytes[MAX_FILE];
static uint64_t size;

static struct {
    cuvet_diag diags[256];
    unsigned count, findings;
} got;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    got.findings += diag->severity != CUVET_NOTE;
    if (got.count < N(got.diags))
        got.diags[got.count++] = *diag;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    lim.size = sizeof(lim);
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = emit;
    cv_cubin_init(&cubin);
}

static void teardown(void)
{
    cv_cubin_free(&ctx, &cubin);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

static void load(const char *name)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "corpus/samples/%s.cubin", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    size = fread(good, 1, sizeof(good), file);
    fclose(file);
    ck_assert(size > 64 && size < sizeof(good));
    memcpy(bytes, good, size);
}

static cuvet_status examine(uint64_t len, cv_ledger *ledger)
{
    uint64_t extent = 0;
    cuvet_status status;

    got.count = got.findings = 0;
    cv_ctx_unit(&ctx, len);
    status = cv_cubin_examine(&ctx, &cubin, cv_span_of(bytes, len, 0), ledger, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(&ctx, cv_span_of(bytes, len, 0), extent, 0);
    return status;
}

static uint64_t section_named(const char *name)
{
    for (uint64_t i = 1; i < cubin.sec.count; i++)
        if (cv_span_eq_str(cv_cubin_sec(&cubin, i)->name, name))
            return i;
    ck_assert_msg(strcmp(name, "0") == 0, "no section %s", name);
    return 0;
}

static uint64_t symbol_named(const char *name, bool merc)
{
    cv_span table = merc ? cubin.merc_symtab : cubin.symtab, text;
    cv_elf_symbol symbol;

    for (uint64_t i = 1; i < (merc ? cubin.n_merc_syms : cubin.n_syms); i++) {
        cv_elf_read_symbol(table, false, i, &symbol);
        if (cv_span_cstr(cubin.strtab, symbol.name, &text) && cv_span_eq_str(text, name + (*name == '@')) &&
            (*name == '@') == (cv_elf_sym_type(&symbol) == CV_STT_SECTION))
            return i;
    }
    ck_assert_msg(strcmp(name, "0") == 0, "no symbol %s", name);
    return 0;
}

static unsigned width_of(const cubin_edit *edit)
{
    static const unsigned SH[] = { 4, 4, 8, 8, 8, 8, 4, 4, 8, 8 }, ST[] = { 4, 1, 1, 2, 8, 8 },
                          PH[] = { 4, 4, 8, 8, 8, 8, 8, 8 };

    switch (edit->kind) {
    case SECTION: return SH[edit->at];
    case SYMBOL:
    case MERC_SYMBOL: return ST[edit->at];
    case SEGMENT: return PH[edit->at];
    default: return edit->width;
    }
}

/* Offset in the file of what an edit changes; cubin holds the picture of the good file. */
static uint64_t place_of(const cubin_edit *edit)
{
    const cv_sec *sec;

    switch (edit->kind) {
    case SECTION:
        return cubin.header.shoff + 64 * section_named(edit->name) +
               cv_elf_shdr_at(false, (cv_shdr_field)edit->at);
    case SYMBOL:
        return cubin.symtab.off + 24 * symbol_named(edit->name, false) +
               cv_elf_sym_at(false, (cv_sym_field)edit->at);
    case MERC_SYMBOL:
        return cubin.merc_symtab.off + 24 * symbol_named(edit->name, true) +
               cv_elf_sym_at(false, (cv_sym_field)edit->at);
    case SEGMENT:
        return cubin.header.phoff + 56 * edit->width + cv_elf_phdr_at(false, (cv_phdr_field)edit->at);
    case BODY:
        sec = cv_cubin_sec(&cubin, section_named(edit->name));
        return sec->header.off + (edit->at < 0 ? sec->header.size - (uint64_t)-edit->at : (uint64_t)edit->at);
    case LABEL:
        return cubin.shstrtab.off + cv_cubin_sec(&cubin, section_named(edit->name))->header.name +
               (uint64_t)edit->at;
    default: return (uint64_t)edit->at;
    }
}

static void apply(const cubin_edit *edit, uint64_t at)
{
    for (unsigned i = 0; edit->kind != NOTHING && i < width_of(edit); i++)
        bytes[at + i] = (uint8_t)(edit->value >> (8 * i));
}

static void run_row(const cubin_row *row)
{
    uint64_t at[2], want;
    bool found = false;
    cuvet_status status;

    load(row->sample);
    ck_assert_int_eq(examine(size, NULL), CUVET_OK);
    ck_assert_msg(got.findings == 0, "%s is not clean: %s", row->sample,
                  cuvet_rule_get(got.diags[0].rule)->id);
    for (int i = 0; i < 2; i++)
        at[i] = place_of(&row->edits[i]);
    for (int i = 0; i < 2; i++)
        apply(&row->edits[i], at[i]);
    want = row->at == HERE ? at[0] : row->at == SECOND ? at[1] : (uint64_t)row->at;
    status = examine(size, NULL);
    for (unsigned i = 0; i < got.count; i++) {
        ck_assert_msg(got.diags[i].file_off <= size, "%s: place outside the file",
                      cuvet_rule_get(got.diags[i].rule)->id);
        found = found ||
                (got.diags[i].rule == row->rule && (row->at == ANYWHERE || got.diags[i].file_off == want));
    }
    ck_assert_msg(found, "%s not reported at 0x%lx of %s (%u others, first %s at 0x%lx)",
                  cuvet_rule_get(row->rule)->id, (unsigned long)want, row->sample, got.count,
                  got.count ? cuvet_rule_get(got.diags[0].rule)->id : "-",
                  got.count ? (unsigned long)got.diags[0].file_off : 0ul);
    ck_assert_msg(status == row->status, "%s: status %s", cuvet_rule_get(row->rule)->id,
                  cuvet_status_name(status));
}

/* Every rule of the area has a row here or a test of its own in test_cubin_synth.c or test_elf.c; segments of
 * old linkers and relocations of what has none are in the hostile set, what a finalizer does in its tests. */
START_TEST(all_rules)
{
    static const cv_rule ELSEWHERE[] = { CV_R_ELF_SHORT,        CV_R_ELF_CLASS32,      CV_R_ELF_SHOFF_ALIGN,
                                         CV_R_ELF_FLAGS_LEGACY, CV_R_ELF_TRAILING,     CV_R_RELOC_ALIGN,
                                         CV_R_TEXT_BARRIERS,    CV_R_SEG_LEFT_OUT_END, CV_R_RELOC_PLACE,
                                         CV_R_SEG_CUT,          CV_R_TWIN_TAKEN };

    for (unsigned result = 0; result < CV_N_RULES; result++) {
        bool tested = strncmp(cuvet_rule_get(result)->id, "CV-ELF-", 7) != 0;

        for (size_t i = 0; i < N(ROWS); i++)
            tested = tested || ROWS[i].rule == result;
        for (size_t i = 0; i < N(ELSEWHERE); i++)
            tested = tested || ELSEWHERE[i] == result;
        ck_assert_msg(tested, "%s has no test", cuvet_rule_get(result)->id);
    }
}
END_TEST

START_TEST(one_edit)
{
    run_row(&ROWS[_i]);
}
END_TEST

/* One note for each function, with its symbol and the number of its entries; none in what is to be linked. */
START_TEST(relocations_at_load)
{
    unsigned notes = 0;

    load(LINKED);
    ck_assert_int_eq(examine(size, NULL), CUVET_OK);
    for (unsigned i = 0; i < got.count; i++) {
        const cv_sec *sec = cv_cubin_sec(&cubin, section_named(".rela.text._Z6callerPi"));

        if (got.diags[i].rule != CV_R_RELOC_AT_LOAD)
            continue;
        ck_assert_uint_eq(got.diags[i].got, sec->header.size / sec->header.entsize);
        ck_assert_uint_eq(got.diags[i].want, symbol_named("_Z6callerPi", false));
        notes++;
    }
    ck_assert_uint_eq(notes, 1);
    load(CALLS);
    ck_assert_int_eq(examine(size, NULL), CUVET_OK);
    for (unsigned i = 0; i < got.count; i++)
        ck_assert_uint_ne(got.diags[i].rule, CV_R_RELOC_AT_LOAD);
}
END_TEST

START_TEST(all_samples_clean)
{
    DIR *dir = opendir("corpus/samples");
    unsigned count = 0;

    ck_assert_msg(dir != NULL, "run from the root of the repository");
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        cv_ledger ledger = { 0 };
        uint64_t bad = 0;
        char name[256];

        if (len < 6 || len >= sizeof(name) || strcmp(entry->d_name + len - 6, ".cubin") != 0)
            continue;
        memcpy(name, entry->d_name, len - 6);
        name[len - 6] = 0;
        load(name);
        ck_assert_msg(examine(size, &ledger) == CUVET_OK, "%s", name);
        ck_assert_msg(got.findings == 0, "%s: %s", name, cuvet_rule_get(got.diags[0].rule)->id);
        ck_assert_uint_eq(cubin.extent, size);
        ck_assert_msg(cv_ledger_complete(&ctx, &ledger, 0, size, &bad), "%s: hole at 0x%lx", name,
                      (unsigned long)bad);
        cv_ledger_free(&ctx, &ledger);
        cv_islands_drop();
        count++;
    }
    closedir(dir);
    ck_assert_uint_ge(count, 100);
}
END_TEST

/* Objects of nvcc -ewp: relocatable files with the type of Mercury, without its flag and without segments. */
START_TEST(whole_programs)
{
    static const char *const NAMES[] = { "plain.sm_75.rdc", "plain.sm_90.rdc", "plain.sm_120.rdc" };

    for (size_t i = 0; i < N(NAMES); i++) {
        load(NAMES[i]);
        bytes[16] = 0x00;
        bytes[17] = 0xFF;
        ck_assert_int_eq(examine(size, NULL), CUVET_OK);
        ck_assert_msg(got.findings == 0, "%s: %s", NAMES[i], cuvet_rule_get(got.diags[0].rule)->id);
        ck_assert(cv_cubin_is_whole(&cubin) && cubin.conv);
    }
}
END_TEST

Suite *suite_test_cubin(void)
{
    Suite *suite = suite_create("cubin");
    TCase *tcase = tcase_create("cubin");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_rules);
    tcase_add_test(tcase, relocations_at_load);
    tcase_add_test(tcase, all_samples_clean);
    tcase_add_test(tcase, whole_programs);
    tcase_add_loop_test(tcase, one_edit, 0, (int)N(ROWS));
    suite_add_tcase(suite, tcase);
    return suite;
}

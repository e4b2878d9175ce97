/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELF rules. Each row takes a good file, changes one place (two where one alone cannot break the
 * rule) and names the rule that must be reported, at the place of the change unless the row says otherwise.
 * The unchanged file is the just-legal neighbour of every row: it must be free of findings. Files are read
 * from corpus/samples, below the working directory. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cubin_rows.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cubin_file file;

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
    cv_cubin_init(&file.cubin);
}

static void teardown(void)
{
    cv_cubin_free(&ctx, &file.cubin);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

static cuvet_status examine(uint64_t len, cv_ledger *ledger)
{
    uint64_t extent = 0;
    cuvet_status status;

    got.count = got.findings = 0;
    cv_ctx_unit(&ctx, len);
    status = cv_cubin_examine(&ctx, &file.cubin, cv_span_of(file.bytes, len, 0), ledger, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(&ctx, cv_span_of(file.bytes, len, 0), extent, 0);
    return status;
}

static void run_row(const cubin_row *row)
{
    uint64_t at[2], want;
    bool found = false;
    cuvet_status status;

    cubin_file_load(&file, row->sample);
    ck_assert_int_eq(examine(file.size, NULL), CUVET_OK);
    ck_assert_msg(got.findings == 0, "%s is not clean: %s", row->sample,
                  cuvet_rule_get(got.diags[0].rule)->id);
    for (int i = 0; i < 2; i++)
        at[i] = cubin_file_place(&file, &row->edits[i]);
    for (int i = 0; i < 2; i++)
        cubin_file_apply(&file, &row->edits[i], at[i]);
    want = row->at == HERE ? at[0] : row->at == SECOND ? at[1] : (uint64_t)row->at;
    status = examine(file.size, NULL);
    for (unsigned i = 0; i < got.count; i++) {
        ck_assert_msg(got.diags[i].file_off <= file.size, "%s: place outside the file",
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

/* Every rule of the area has a row here or a test of its own in test_cubin_synth.c or test_elf.c; segments
 * of old linkers and relocations of what has none are in the hostile set, what a finalizer does in its
 * tests. */
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

/* One note for each function, with its symbol and the number of its entries; none in what is to be linked.
 * */
START_TEST(relocations_at_load)
{
    unsigned notes = 0;

    cubin_file_load(&file, LINKED);
    ck_assert_int_eq(examine(file.size, NULL), CUVET_OK);
    for (unsigned i = 0; i < got.count; i++) {
        const cv_sec *sec = cv_cubin_sec(&file.cubin, cubin_file_section(&file, ".rela.text._Z6callerPi"));

        if (got.diags[i].rule != CV_R_RELOC_AT_LOAD)
            continue;
        ck_assert_uint_eq(got.diags[i].got, sec->header.size / sec->header.entsize);
        ck_assert_uint_eq(got.diags[i].want, cubin_file_symbol(&file, "_Z6callerPi", false));
        notes++;
    }
    ck_assert_uint_eq(notes, 1);
    cubin_file_load(&file, CALLS);
    ck_assert_int_eq(examine(file.size, NULL), CUVET_OK);
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
        cubin_file_load(&file, name);
        ck_assert_msg(examine(file.size, &ledger) == CUVET_OK, "%s", name);
        ck_assert_msg(got.findings == 0, "%s: %s", name, cuvet_rule_get(got.diags[0].rule)->id);
        ck_assert_uint_eq(file.cubin.extent, file.size);
        ck_assert_msg(cv_ledger_complete(&ctx, &ledger, 0, file.size, &bad), "%s: hole at 0x%lx", name,
                      (unsigned long)bad);
        cv_ledger_free(&ctx, &ledger);
        cv_islands_drop();
        count++;
    }
    closedir(dir);
    ck_assert_uint_ge(count, 100);
}
END_TEST

/* Objects of nvcc -ewp: relocatable files with the type of Mercury, without its flag and without segments.
 * */
START_TEST(whole_programs)
{
    static const char *const NAMES[] = { "plain.sm_75.rdc", "plain.sm_90.rdc", "plain.sm_120.rdc" };

    for (size_t i = 0; i < N(NAMES); i++) {
        cubin_file_load(&file, NAMES[i]);
        file.bytes[16] = 0x00;
        file.bytes[17] = 0xFF;
        ck_assert_int_eq(examine(file.size, NULL), CUVET_OK);
        ck_assert_msg(got.findings == 0, "%s: %s", NAMES[i], cuvet_rule_get(got.diags[0].rule)->id);
        ck_assert(cv_cubin_is_whole(&file.cubin) && file.cubin.conv);
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

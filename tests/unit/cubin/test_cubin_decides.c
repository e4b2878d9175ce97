/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Conditions of src/cubin that no single broken field makes decide: each row says what it asks of a sample
 * with some places changed, and whether a rule is said then. The unchanged sample never says it. Then the
 * same files while work or memory runs out anywhere. */
#include <check.h>
#include <dirent.h>
#include <string.h>

#include "cubin_decide_rows.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_ctx ctx;
static cubin_file file;
static uint32_t seen[CV_N_RULES];
static heap_state memory;

static unsigned errors;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    seen[diag->rule]++;
    errors += diag->severity == CUVET_ERROR;
}

static void setup(void)
{
    const cuvet_alloc alloc = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

    memory = (heap_state){ 0 };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &alloc, &lim);
    ctx.emit = emit;
    cv_cubin_init(&file.cubin);
}

static void teardown(void)
{
    cv_cubin_free(&ctx, &file.cubin);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

/* 'work': how much there is of it; UINT64_MAX: as much as the length of the file is worth. */
static cuvet_status examine(uint64_t work)
{
    uint64_t extent = 0;
    cuvet_status status;

    memset(seen, 0, sizeof(seen));
    errors = 0;
    cv_ctx_unit(&ctx, file.size);
    if (work != UINT64_MAX)
        cv_ctx_set_work(&ctx, work);
    status = cv_cubin_examine(&ctx, &file.cubin, cv_span_of(file.bytes, file.size, 0), NULL, &extent);
    if (status == CUVET_OK)
        cv_cubin_check_tail(&ctx, cv_span_of(file.bytes, file.size, 0), extent, 0);
    return status; /* edits ask for names of what was parsed: islands stay until the end */
}

static void edit(const cubin_decide_row *row)
{
    uint64_t at[EDITS];

    for (size_t i = 0; i < EDITS; i++)
        at[i] = cubin_file_place(&file, &row->edits[i]);
    for (size_t i = 0; i < EDITS; i++)
        cubin_file_apply(&file, &row->edits[i], at[i]);
}

START_TEST(decides)
{
    const cubin_decide_row *row = &ROWS[_i];

    cubin_file_load(&file, row->sample);
    ck_assert_int_eq(examine(UINT64_MAX), CUVET_OK);
    ck_assert_msg(seen[row->rule] == 0, "%s: %s says it as it is", row->what, row->sample);
    edit(row);
    ck_assert_msg(examine(UINT64_MAX) != CUVET_E_INTERNAL, "%s", row->what);
    ck_assert_msg((seen[row->rule] != 0) == row->said, "%s: %s is %ssaid", row->what,
                  cuvet_rule_get(row->rule)->id, row->said ? "not " : "");
}
END_TEST

/* Samples that have a little of everything, and edits after which more has to be looked at: what is out of
 * order. */
START_TEST(work_runs_out)
{
    const cubin_decide_row *row = &RUN_OUT[_i];
    uint64_t enough = UINT64_C(1) << 24;

    cubin_file_load(&file, row->sample);
    ck_assert_int_eq(examine(UINT64_MAX), CUVET_OK);
    edit(row);
    ck_assert_int_eq(examine(enough), CUVET_OK);
    enough -= cv_ctx_work(&ctx);
    for (uint64_t work = 0; work < enough; work++) {
        /* A report costs as well, and is made all the same: nothing is missing then. */
        if (examine(work) == CUVET_OK)
            ck_assert_msg(seen[CV_R_LIMIT_WORK] == 0 && (seen[row->rule] != 0) == row->said, "%s: with %lu",
                          row->what, (unsigned long)work);
        else
            ck_assert_uint_eq(seen[CV_R_LIMIT_WORK], 1);
    }
    ck_assert_int_eq(examine(enough), CUVET_OK);
}
END_TEST

START_TEST(memory_runs_out)
{
    const cubin_decide_row *row = &RUN_OUT[_i];
    cuvet_status status;
    uint64_t count = 0;

    cubin_file_load(&file, row->sample);
    ck_assert_int_eq(examine(UINT64_MAX), CUVET_OK);
    edit(row);
    do {
        cv_cubin_free(&ctx, &file.cubin);
        heap_fail(&memory, ++count, false);
        status = examine(UINT64_MAX);
        heap_mend(&memory);
        ck_assert_msg(status == CUVET_OK || status == CUVET_E_NOMEM, "%s: %s", row->what,
                      cuvet_status_name(status));
    } while (status != CUVET_OK);
    ck_assert_uint_gt(count, 2);
}
END_TEST

/* The rule that the name of a file begins with; CV_N_RULES: none of device ELFs. */
static unsigned rule_of(const char *name)
{
    static const char *const OF[] = { "CV-ELF-", "CV-META-", "CV-NOTE-", "CV-TLV-" };

    for (size_t k = 0; k < N(OF); k++)
        for (unsigned rule = 0; rule < CV_N_RULES && strncmp(name, OF[k], strlen(OF[k])) == 0; rule++) {
            const char *id = cuvet_rule_get(rule)->id;

            if (strncmp(name, id, strlen(id)) == 0 && name[strlen(id)] == '.')
                return rule;
        }
    return CV_N_RULES;
}

/* The files of the corpora that have one thing wrong say so, and their neighbours do not: each is named for
 * its rule. */
static unsigned ask_files(const char *folder, bool said)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;

    ck_assert_msg(dir != NULL, "run from the root of the repository");
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        unsigned rule = rule_of(entry->d_name);

        if (len < 6 || strcmp(entry->d_name + len - 6, ".cubin") != 0 || (said && rule == CV_N_RULES))
            continue;
        cubin_file_read(&file, folder, entry->d_name);
        ck_assert_msg(examine(UINT64_MAX) != CUVET_E_INTERNAL, "%s", entry->d_name);
        if (rule == CV_N_RULES) {
            ck_assert_msg(errors == 0 || strncmp(entry->d_name, "CV-", 3) == 0, "%s/%s: %u errors", folder,
                          entry->d_name, errors);
            continue;
        }
        ck_assert_msg((seen[rule] != 0) == said, "%s/%s: %ssaid", folder, entry->d_name, said ? "not " : "");
        count++;
    }
    closedir(dir);
    return count;
}

START_TEST(kept_files)
{
    ck_assert_uint_ge(ask_files("corpus/hostile", true), 700);
    ck_assert_uint_ge(ask_files("corpus/legal", false), 70);
}
END_TEST

/* The note of the tool names another machine: code for it runs here as it is, which only files of ABI 8 can
 * say. */
START_TEST(another_machine)
{
    for (unsigned old = 0; old < 2; old++) {
        uint64_t extent = 0;

        cubin_file_load(&file, "plain.sm_100f");
        ck_assert_int_eq(examine(UINT64_MAX), CUVET_OK);
        ck_assert(file.cubin.suffix_known && file.cubin.tool_sm == 100);
        file.cubin.claims.fastpath = 0;
        file.bytes[49] = 103;
        memset(seen, 0, sizeof(seen));
        cv_ctx_unit(&ctx, file.size);
        ck_assert_int_eq(cv_cubin_header(&ctx, &file.cubin, cv_span_of(file.bytes, file.size, 0), &extent),
                         CUVET_OK);
        file.cubin.abi8 = !old;
        cv_cubin_read_notes(&ctx, &file.cubin);
        ck_assert_uint_eq(seen[CV_R_TKINFO_RETARGET], !old);
        ck_assert_uint_eq(seen[CV_R_TKINFO_ARCH], old);
    }
}
END_TEST

Suite *suite_test_cubin_decides(void)
{
    Suite *suite = suite_create("cubin_decides");
    TCase *tcase = tcase_create("cubin_decides");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, decides, 0, (int)N(ROWS));
    tcase_add_test(tcase, kept_files);
    tcase_add_test(tcase, another_machine);
    tcase_add_loop_test(tcase, work_runs_out, 0, (int)N(RUN_OUT));
    tcase_add_loop_test(tcase, memory_runs_out, 0, (int)N(RUN_OUT));
    suite_add_tcase(suite, tcase);
    return suite;
}

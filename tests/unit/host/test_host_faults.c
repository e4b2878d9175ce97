/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELFs when something runs out: limits, work, reads, memory. */
#include <check.h>

#include "support/heap.h"
#include "unit/host/host_image.h"

/* Limits: each says which, and what was found before stays. */
START_TEST(limits)
{
    static const struct {
        bool shared;
        int which;
        cv_rule rule;
    } callback[] = { { false, 0, CV_R_LIMIT_SECTIONS },
                     { false, 1, CV_R_LIMIT_CONTAINERS },
                     { true, 1, CV_R_LIMIT_CONTAINERS },
                     { false, 2, CV_R_LIMIT_RELOCS },
                     { true, 2, CV_R_LIMIT_RELOCS } };

    for (size_t i = 0; i < sizeof(callback) / sizeof(callback[0]); i++) {
        start();
        if (callback[i].shared)
            make_shared();
        else
            make_object();
        *(callback[i].which == 0   ? &ctx.lim.sections
          : callback[i].which == 1 ? &ctx.lim.containers
                                   : &ctx.lim.symbols) = 1;
        ck_assert_int_eq(read_size(SIZE), CUVET_E_LIMIT);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, callback[i].rule);
        done();
    }
}
END_TEST

/* Work that runs out at every possible place: always LIMIT, never a wrong accusation that the good file does
 * not deserve. */
START_TEST(work_runs_out)
{
    for (int form = 0; form < 4; form++)
        for (uint64_t width = 0;; width++) {
            cuvet_status status;

            start();
            if (form == 0)
                make_object();
            else
                make_shared();
            if (form == 2)
                put(40, 8, 0);
            if (form == 3) /* one relocation more that is looked at */
                reloc(0, VADDR + SEGMENT + 40, 0, 8, VADDR + FATBIN);
            cv_ctx_set_work(&ctx, width);
            status = read_size(SIZE);
            if (status == CUVET_OK) {
                ck_assert_uint_eq(n_diags, 0);
                expect_named(2, FATBIN, FATBIN + 0x20);
                done();
                ck_assert_uint_gt(width, 100);
                break;
            }
            ck_assert_int_eq(status, CUVET_E_LIMIT);
            ck_assert_uint_eq(last.rule, CV_R_LIMIT_WORK);
            done();
        }
}
END_TEST

/* The extended symbol path and the REL path run out of work as well. */
START_TEST(work_runs_out_extended)
{
    for (uint64_t width = 0;; width++) {
        cuvet_status status;

        start();
        make_object();
        put(SYMBOLS + 72 + 6, 2, 0xFFFF);
        cv_ctx_set_work(&ctx, width);
        status = read_size(SIZE);
        done();
        if (status == CUVET_OK)
            break;
        ck_assert_int_eq(status, CUVET_E_LIMIT);
    }
    ck_assert_uint_eq(n_diags, 0);
}
END_TEST

/* A source that fails at the Nth read. */
static uint64_t fail_at, calls;

static cuvet_status read_failing(void *user, uint64_t off, void *buf, size_t len)
{
    (void)user;
    if (++calls == fail_at)
        return CUVET_E_IO;
    memcpy(buf, file + off, len);
    return CUVET_OK;
}

static void make_form(int form)
{
    if (form == 0)
        make_object();
    else
        make_shared();
    if (form == 2)
        put(40, 8, 0);
    if (form == 3) {
        make_object();
        put(SYMBOLS + 72 + 6, 2, 0xFFFF);
    }
}

START_TEST(reads_fail)
{
    for (int form = 0; form < 4; form++)
        for (fail_at = 1;; fail_at++) {
            cuvet_source src = { sizeof(src), BASE + SIZE, read_failing, NULL, -1 };
            cuvet_status status;

            start();
            make_form(form);
            calls = 0;
            status = cv_host_read(&ctx, &src, BASE, SIZE, &host);
            done();
            if (status == CUVET_OK) {
                ck_assert_uint_gt(fail_at, 5);
                break;
            }
            ck_assert_int_eq(status, CUVET_E_IO);
            ck_assert_uint_eq(last.rule, CV_R_IO_READ);
        }
}
END_TEST

START_TEST(allocations_fail)
{
    for (int form = 0; form < 4; form++)
        for (unsigned count = 1;; count++) {
            heap_state memory = { 0 };
            cuvet_status status;

            start();
            ctx.mem.alloc = heap_alloc(&memory);
            make_form(form);
            heap_fail(&memory, count, _i != 0);
            status = read_size(SIZE);
            done();
            ck_assert_int_eq(memory.live, 0);
            if (status == CUVET_OK) {
                ck_assert_uint_gt(count, 4);
                break;
            }
            ck_assert_int_eq(status, CUVET_E_NOMEM);
        }
}
END_TEST

Suite *suite_model_host_faults(void);
Suite *suite_model_host_faults(void)
{
    Suite *suite = suite_create("host/host_faults");
    TCase *tcase = tcase_create("faults");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, work_runs_out);
    tcase_add_test(tcase, work_runs_out_extended);
    tcase_add_test(tcase, reads_fail);
    tcase_add_loop_test(tcase, allocations_fail, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}

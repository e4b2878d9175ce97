/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Generations: each trait begins or ends with a machine, and a number that no machine has is like those
 * below it. */
#include <check.h>

#include "target/arch.h"
#include "target/gen.h"
#include "target/retarget.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* A trait is true of the numbers [first, end). */
static const struct {
    cv_gen_trait trait;
    uint32_t first, end;
} WHEN[] = {
    { CV_GEN_CONTROL_WORDS, 30, 70 },
    { CV_GEN_REGS_IN_INFO, 0, 90 },
    { CV_GEN_OLD_BANKS, 0, 100 },
    { CV_GEN_OLD_GRAPHS, 0, 90 },
    { CV_GEN_COMPILED_ACTION, 0, 90 },
    { CV_GEN_LINKED_ACTION, 0, 100 },
    { CV_GEN_RESOLVED_ALL, 0, 100 },
    { CV_GEN_KEEPS_EXTERN, 0, 100 },
    { CV_GEN_COMPAT, 90, UINT32_MAX },
    { CV_GEN_RELA_ONLY, 90, UINT32_MAX },
    { CV_GEN_RESERVES, 90, UINT32_MAX },
    { CV_GEN_RESERVED_SYMBOLS, 90, UINT32_MAX },
    { CV_GEN_NAMES_SLACK, 90, UINT32_MAX },
    { CV_GEN_PROGRESS, 70, UINT32_MAX },
    { CV_GEN_CAPSULE, 100, UINT32_MAX },
    { CV_GEN_REMAKES_CODE, 100, UINT32_MAX },
    { CV_GEN_REMAKES_DEBUG, 100, UINT32_MAX },
    { CV_GEN_COMPAT_ISA_CLASS, 100, UINT32_MAX },
    { CV_GEN_COMPAT_MASK, 100, UINT32_MAX },
    { CV_GEN_SAYS_WHERE, 100, UINT32_MAX },
    { CV_GEN_MEMBER_OPTIONS, 100, UINT32_MAX },
    { CV_GEN_BANK_RELA, 100, UINT32_MAX },
    { CV_GEN_BANKS_LAST, 100, UINT32_MAX },
    { CV_GEN_SAMPLER_0, 100, UINT32_MAX },
    { CV_GEN_BINDLESS_RECORDS, 100, UINT32_MAX },
    { CV_GEN_LATE_RECORDS, 100, UINT32_MAX },
    { CV_GEN_WEAK_CUDA_OBJECT, 100, UINT32_MAX },
    { CV_GEN_RESERVED_SHOWN, 100, UINT32_MAX },
    { CV_GEN_NAMES_SLACK_SHORT, 100, UINT32_MAX },
    { CV_GEN_SYMBOLS_SLACK, 100, UINT32_MAX },
    { CV_GEN_SPLIT_SEGMENTS, 100, UINT32_MAX },
};

START_TEST(traits)
{
    ck_assert_uint_eq(N(WHEN), CV_N_GEN_BITS);
    for (uint32_t sm = 0; sm <= 0x10000; sm++)
        for (unsigned i = 0; i < N(WHEN); i++)
            if (cv_gen_has(cv_gen_of(sm), WHEN[i].trait) != (sm >= WHEN[i].first && sm < WHEN[i].end))
                ck_abort_msg("row %u: sm_%u", i, sm);
    ck_assert_uint_eq(cv_gen_first(CV_GEN_COMPAT), 90);
    ck_assert_uint_eq(cv_gen_first(CV_GEN_CAPSULE), 100);
    ck_assert_uint_eq(cv_gen_first(CV_GEN_REGS_IN_INFO), 20);
}
END_TEST

/* Of code without capsules a link makes what it makes for the generation before; below sm_100 there is no
 * other code. */
START_TEST(plain)
{
    for (uint32_t sm = 20; sm <= 130; sm++) {
        const cv_gen *whole = cv_gen_of(sm);
        const cv_gen bare = cv_gen_plain(whole);

        ck_assert_uint_eq(bare.parameters, whole->parameters);
        ck_assert_uint_eq(bare.reserved, whole->reserved);
        if (sm < 100) {
            ck_assert_uint_eq(bare.traits, whole->traits);
            ck_assert_uint_eq(bare.slots, whole->slots);
            continue;
        }
        ck_assert_uint_eq(bare.slots, 4);
        ck_assert(cv_gen_has(&bare, CV_GEN_LINKED_ACTION) && cv_gen_has(&bare, CV_GEN_RESERVED_SYMBOLS));
        ck_assert(!cv_gen_has(&bare, CV_GEN_REMAKES_CODE) && !cv_gen_has(&bare, CV_GEN_SPLIT_SEGMENTS));
    }
}
END_TEST

/* Columns that the linker and the rules read, where they change. */
START_TEST(columns)
{
    static const struct {
        uint32_t sm, instruction, text, block, parameters, large, slots;
    } ROWS[] = {
        { 0, 8, 4, 8, 0x20, 0x20, 4 },          { 21, 8, 4, 8, 0x20, 0x20, 4 },
        { 22, 8, 4, 8, 0x20, 0x20, 4 },         { 30, 8, 64, 64, 0x140, 0x140, 4 },
        { 49, 8, 64, 64, 0x140, 0x140, 4 },     { 50, 8, 32, 32, 0x140, 0x140, 4 },
        { 69, 8, 32, 32, 0x140, 0x140, 4 },     { 70, 16, 128, 16, 0x160, 0x1A80, 4 },
        { 89, 16, 128, 16, 0x160, 0x1A80, 4 },  { 90, 16, 128, 16, 0x210, 0x210, 4 },
        { 99, 16, 128, 16, 0x210, 0x210, 4 },   { 100, 16, 128, 16, 0x380, 0x380, 16 },
        { 121, 16, 128, 16, 0x380, 0x380, 16 }, { 65535, 16, 128, 16, 0x380, 0x380, 16 },
    };

    for (unsigned i = 0; i < N(ROWS); i++) {
        const cv_gen *gen = cv_gen_of(ROWS[i].sm);

        ck_assert_uint_eq(gen->instruction, ROWS[i].instruction);
        ck_assert_uint_eq(gen->text, ROWS[i].text);
        ck_assert_uint_eq(gen->block, ROWS[i].block);
        ck_assert_uint_eq(gen->parameters, ROWS[i].parameters);
        ck_assert_uint_eq(gen->large, ROWS[i].large);
        ck_assert_uint_eq(gen->slots, ROWS[i].slots);
        ck_assert_uint_eq(gen->reserved, 0x400);
        ck_assert_uint_eq(gen->reserved_first, 0x40);
    }
}
END_TEST

/* 27 machines, of which 12 are targets, and three other numbers. */
START_TEST(machines)
{
    unsigned known = 0, targets = 0, final = 0;

    for (uint32_t sm = 0; sm < 1000; sm++) {
        const cv_arch *arch = cv_arch_of(sm);

        known += arch != NULL;
        targets += cv_arch_known((cuvet_target){ sm, 0 });
        final += cv_final_is_target(sm);
        ck_assert(!arch || (arch->sm == sm && (arch->is_target || arch->family == sm)));
        ck_assert_uint_eq(cv_arch_machine(sm), sm == 101 ? 110 : sm == 104 ? 120 : sm == 130 ? 107 : sm);
    }
    ck_assert_uint_eq(known, 27);
    ck_assert_uint_eq(targets, 12);
    ck_assert_uint_eq(final, 14); /* the targets, 101 and 104 */
    ck_assert(!cv_final_is_target(130) && !cv_final_is_target(107) && !cv_final_is_target(0));
}
END_TEST

Suite *suite_gen(void)
{
    Suite *suite = suite_create("target/gen");
    TCase *tcase = tcase_create("gen");

    tcase_add_test(tcase, traits);
    tcase_add_test(tcase, plain);
    tcase_add_test(tcase, columns);
    tcase_add_test(tcase, machines);
    suite_add_tcase(suite, tcase);
    return suite;
}

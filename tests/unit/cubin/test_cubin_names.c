/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Section names to roles: every role once, and the names next to it that are none. */
#include <check.h>
#include <string.h>

#include "cubin/cubin.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *name;
    cv_role role;
    const char *fn;
    uint32_t bank;
} ROLES[] = {
    { ".shstrtab", CV_ROLE_SHSTRTAB, "", 0 },
    { ".strtab", CV_ROLE_STRTAB, "", 0 },
    { ".symtab", CV_ROLE_SYMTAB, "", 0 },
    { ".symtab_shndx", CV_ROLE_SYMTAB_SHNDX, "", 0 },
    { ".debug_line", CV_ROLE_DEBUG, "line", 0 },
    { ".debug_", CV_ROLE_NONE, "", 0 },
    { ".nv_debug_ptx_txt.12", CV_ROLE_NV_DEBUG, "ptx_txt.12", 0 },
    { ".nv_debug.shared", CV_ROLE_NV_DEBUG_SHARED, "", 0 },
    { ".note.nv.tkinfo", CV_ROLE_TKINFO, "", 0 },
    { ".note.nv.cuinfo", CV_ROLE_CUINFO, "", 0 },
    { ".note.nv.cuver", CV_ROLE_CUVER, "", 0 },
    { ".note.nv.other", CV_ROLE_NONE, "", 0 },
    { ".nv.info", CV_ROLE_NV_INFO, "", 0 },
    { ".nv.info.k", CV_ROLE_NV_INFO_FN, "k", 0 },
    { ".nv.info.", CV_ROLE_NONE, "", 0 },
    { ".nv.compat", CV_ROLE_COMPAT, "", 0 },
    { ".nv.callgraph", CV_ROLE_CALLGRAPH, "", 0 },
    { ".nv.prototype", CV_ROLE_PROTOTYPE, "", 0 },
    { ".nv.rel.action", CV_ROLE_REL_ACTION, "", 0 },
    { ".rela.text.k", CV_ROLE_RELA, ".text.k", 0 },
    { ".rel.debug_frame", CV_ROLE_REL, ".debug_frame", 0 },
    { ".nv.resolvedrela.debug_frame", CV_ROLE_RESOLVED_RELA, ".debug_frame", 0 },
    { ".nv.resolvedrela.", CV_ROLE_NONE, "", 0 },
    { ".nv.resolvedrela", CV_ROLE_NONE, "", 0 },
    { ".rel.", CV_ROLE_NONE, "", 0 },
    { ".rela", CV_ROLE_NONE, "", 0 },
    { ".text.k", CV_ROLE_TEXT, "k", 0 },
    { ".text", CV_ROLE_NONE, "", 0 },
    { ".text.", CV_ROLE_NONE, "", 0 },
    { ".nv.global.init", CV_ROLE_GLOBAL_INIT, "", 0 },
    { ".nv.global", CV_ROLE_GLOBAL, "", 0 },
    { ".nv.shared.k", CV_ROLE_SHARED_FN, "k", 0 },
    { ".nv.shared.reserved.0", CV_ROLE_SHARED_RESERVED, "", 0 },
    { ".nv.local.k", CV_ROLE_LOCAL_FN, "k", 0 },
    { ".nv.constant3", CV_ROLE_CONSTANT, "", 3 },
    { ".nv.constant17", CV_ROLE_CONSTANT, "", 17 },
    { ".nv.constant18", CV_ROLE_NONE, "", 0 },
    { ".nv.constant03", CV_ROLE_NONE, "", 0 },
    { ".nv.constant99999999999", CV_ROLE_NONE, "", 0 },
    { ".nv.constant0.k", CV_ROLE_CONSTANT_FN, "k", 0 },
    { ".nv.constant2.k.l", CV_ROLE_CONSTANT_FN, "k.l", 2 },
    { ".nv.constant2.", CV_ROLE_NONE, "", 0 },
    { ".nv.constant2k", CV_ROLE_NONE, "", 0 },
    { ".nv.constant", CV_ROLE_NONE, "", 0 },
    { ".nv.uft.rel.k", CV_ROLE_UFT_REL, "k", 0 },
    { ".nv.uft.entry", CV_ROLE_UFT_ENTRY, "", 0 },
    { ".nv.uft", CV_ROLE_UFT, "", 0 },
    { ".nv.udt", CV_ROLE_UDT, "", 0 },
    { ".nv.udt.entry", CV_ROLE_UDT_ENTRY, "", 0 },
    { ".nv.capmerc.text.k", CV_ROLE_CAPMERC_TEXT, "k", 0 },
    { ".nv.capmerc.nv.uft.rel.k", CV_ROLE_CAPMERC_UFT_REL, "k", 0 },
    { ".nv.capmerc", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.symtab", CV_ROLE_MERC_SYMTAB, "", 0 },
    { ".nv.merc.symtab_shndx", CV_ROLE_MERC_SYMTAB_SHNDX, "", 0 },
    { ".nv.merc.nv.info", CV_ROLE_MERC_NV_INFO, "", 0 },
    { ".nv.merc.nv.info.k", CV_ROLE_MERC_NV_INFO_FN, "k", 0 },
    { ".nv.merc.rela.text.k", CV_ROLE_MERC_RELA, ".text.k", 0 },
    { ".nv.merc.nv.resolvedrela.text.k", CV_ROLE_MERC_RESOLVED_RELA, ".text.k", 0 },
    { ".nv.merc.nv.resolvedrela.", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.rela.", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.nv.constant.user", CV_ROLE_MERC_CONSTANT_USER, "", 0 },
    { ".nv.merc.nv.constant.pic", CV_ROLE_MERC_CONSTANT_PIC, "", 0 },
    { ".nv.merc.nv.constant.optimizer.k", CV_ROLE_MERC_CONSTANT_OPT, "k", 0 },
    { ".nv.merc.nv.constant.entry_image_header_indices.k", CV_ROLE_MERC_CONSTANT_EIHI, "k", 0 },
    { ".nv.merc.nv.constant.x", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.nv.global.init", CV_ROLE_MERC_GLOBAL_INIT, "", 0 },
    { ".nv.merc.nv.shared.reserved.0", CV_ROLE_MERC_SHARED_RESERVED, "", 0 },
    { ".nv.merc.nv.uft.entry", CV_ROLE_MERC_UFT_ENTRY, "", 0 },
    { ".nv.merc.nv.udt.entry", CV_ROLE_MERC_UDT_ENTRY, "", 0 },
    { ".nv.merc.nv.udt", CV_ROLE_MERC_UDT, "", 0 },
    { ".nv.merc.nv.x", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.nx", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.x", CV_ROLE_NONE, "", 0 },
    { ".nv.mercx", CV_ROLE_NONE, "", 0 },
    { ".nv.merc.debug_info", CV_ROLE_MERC_DEBUG, "info", 0 },
    { ".nv.merc.nv_debug_ptx_txt", CV_ROLE_MERC_NV_DEBUG, "ptx_txt", 0 },
    { ".nv.metadata", CV_ROLE_NONE, "", 0 },
    { ".nv.host", CV_ROLE_HOST_DATA, "", 0 },
    { ".nv.merc.nv.host", CV_ROLE_MERC_HOST_DATA, "", 0 },
    { ".nv.merc.nv.callgraph", CV_ROLE_MERC_CALLGRAPH, "", 0 },
    { ".nv.hosts", CV_ROLE_NONE, "", 0 },
    { ".nv.c", CV_ROLE_NONE, "", 0 },
    { ".nx", CV_ROLE_NONE, "", 0 },
    { ".data", CV_ROLE_NONE, "", 0 },
    { ".", CV_ROLE_NONE, "", 0 },
    { "", CV_ROLE_NONE, "", 0 },
    { "text.k", CV_ROLE_NONE, "", 0 },
};

START_TEST(roles)
{
    uint32_t bank = 77;
    cv_span fn;
    cv_role got = cv_cubin_classify(cv_span_of(ROLES[_i].name, strlen(ROLES[_i].name), 0), &fn, &bank);

    ck_assert_msg(got == ROLES[_i].role, "%s is %d", ROLES[_i].name, (int)got);
    ck_assert(cv_span_eq_str(fn, ROLES[_i].fn));
    ck_assert(got == CV_ROLE_NONE || bank == ROLES[_i].bank);
}
END_TEST

/* Every role has a row: a new one must be named here. */
START_TEST(all_roles)
{
    for (unsigned result = CV_ROLE_NULL_SECTION + 1; result < CV_N_ROLES; result++) {
        bool tested = false;

        for (size_t i = 0; i < N(ROLES); i++)
            tested = tested || ROLES[i].role == result;
        ck_assert_msg(tested, "role %u has no row", result);
    }
}
END_TEST

Suite *suite_test_cubin_names(void)
{
    Suite *suite = suite_create("cubin_names");
    TCase *tcase = tcase_create("cubin_names");

    tcase_add_loop_test(tcase, roles, 0, (int)N(ROLES));
    tcase_add_test(tcase, all_roles);
    suite_add_tcase(suite, tcase);
    return suite;
}

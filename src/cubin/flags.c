/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* e_flags of both ABIs, and which sections a file of this ABI and architecture must and must not have. */
#include "cubin/internal.h"

static void flags_report(cv_ctx *ctx, const cv_cubin *cubin, cv_rule rule, uint64_t byte, uint64_t got,
                         uint64_t want)
{
    cv_report(ctx, rule, cubin->image.off + cv_elf_ehdr_at(cubin->header.is32, CV_EH_FLAGS) + byte, 0, got,
              want);
}

static void check_abi8(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint32_t flags = cubin->header.flags, kind = flags & CV_EF_KINDS,
             note = cv_cubin_first(cubin, CV_ROLE_CUINFO), want;

    if (cubin->sm > CV_EF_SM_MOST)
        flags_report(ctx, cubin, CV_R_ELF_FLAGS_SM, 1, cubin->sm, CV_EF_SM_MOST);
    else if (!cv_arch_of(cubin->sm))
        flags_report(ctx, cubin, CV_R_ELF_SM_UNKNOWN, 1, cubin->sm, 0);
    /* Code is followed by a capsule, unless that was stripped or the file was linked from stripped
     * objects. */
    want = cv_gen_has(cubin->gen, CV_GEN_CAPSULE) && kind != CV_EF_SASS ? CV_EF_CAPSULE : CV_EF_SASS;
    if (kind != want)
        flags_report(ctx, cubin, CV_R_ELF_FLAGS_KIND, 0, flags & CV_EF_KIND, want);
    else if ((flags & CV_EF_KIND) != want)
        flags_report(ctx, cubin, CV_R_ELF_FLAGS_ACCEL, 0, flags & CV_EF_KIND, want);
    if (note == 0)
        note = cv_cubin_first(cubin, CV_ROLE_CUVER);
    want = note >= CV_EF_NOTE_MOST ? CV_EF_NOTE_MOST : note;
    if (note != 0 && cv_elf_flags_note(flags) != want)
        flags_report(ctx, cubin, CV_R_ELF_FLAGS_NOTE, 3, cv_elf_flags_note(flags), want);
}

static void check_legacy(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint32_t flags = cubin->header.flags, bad = flags & CV_EF_LEGACY_UNKNOWN;

    if (!cv_arch_of(cubin->sm))
        flags_report(ctx, cubin, CV_R_ELF_SM_UNKNOWN, 0, cubin->sm, 0);
    if (flags & CV_EF_LEGACY_CAPSULE) /* capsules belong to ABI 8 in every file seen */
        bad |= CV_EF_LEGACY_CAPSULE;
    if (!(flags & CV_EF_LEGACY_64BIT))
        bad |= CV_EF_LEGACY_64BIT;
    if ((flags & CV_EF_LEGACY_TEXTURES) == CV_EF_LEGACY_TEXTURES)
        bad |= CV_EF_LEGACY_TEXTURES;
    if (bad)
        flags_report(ctx, cubin, CV_R_ELF_FLAGS_LEGACY, 0, flags, bad);
}

/* Sections with no place in this file: 'have' is the first one of its role. */
static void report_unexpected(cv_ctx *ctx, const cv_cubin *cubin, cv_role role)
{
    uint32_t i = cv_cubin_first(cubin, role);

    if (i != 0)
        cv_sec_report(ctx, cubin, i, CV_R_SEC_UNEXPECTED, CV_SH_NAME, cubin->sm, 0);
}

static void check_presence(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint64_t at = cubin->image.off + cubin->header.shoff;
    uint64_t tables =
        (uint64_t)(cv_cubin_first(cubin, CV_ROLE_SYMTAB) != 0) + (cv_cubin_first(cubin, CV_ROLE_STRTAB) != 0);
    uint64_t notes =
        (uint64_t)(cv_cubin_first(cubin, CV_ROLE_TKINFO) != 0) +
        (cv_cubin_first(cubin, CV_ROLE_CUINFO) != 0 || cv_cubin_first(cubin, CV_ROLE_CUVER) != 0);
    bool compat = cv_gen_has(cubin->gen, CV_GEN_COMPAT);

    if (tables != 2)
        cv_report(ctx, CV_R_SEC_MISSING_TABLE, at, 0, tables, 2);
    if (cubin->abi8 && notes != 2)
        cv_report(ctx, CV_R_SEC_MISSING_NOTE, at, 0, notes, 2);
    if (cubin->abi8 && compat && cv_cubin_first(cubin, CV_ROLE_COMPAT) == 0)
        cv_report(ctx, CV_R_SEC_MISSING_COMPAT, at, 0, cubin->sm, cv_gen_first(CV_GEN_COMPAT));
    if (cubin->legacy) {
        report_unexpected(ctx, cubin, CV_ROLE_TKINFO);
        report_unexpected(ctx, cubin, CV_ROLE_CUINFO);
        report_unexpected(ctx, cubin, CV_ROLE_CUVER);
    }
    if (cubin->legacy || !compat)
        report_unexpected(ctx, cubin, CV_ROLE_COMPAT);
    if (cubin->legacy || !cv_gen_has(cubin->gen, CV_GEN_CAPSULE) ||
        (cubin->header.flags & CV_EF_KINDS) == CV_EF_SASS)
        for (unsigned role = CV_ROLE_CAPMERC_TEXT; role < CV_N_ROLES; role++)
            report_unexpected(ctx, cubin, (cv_role)role);
}

static void check_order(cv_ctx *ctx, const cv_cubin *cubin)
{
    static const struct {
        cv_role role;
        uint32_t index;
    } ORDER[] = { { CV_ROLE_SHSTRTAB, 1 }, { CV_ROLE_STRTAB, 2 }, { CV_ROLE_SYMTAB, 3 } };

    for (size_t k = 0; k < CV_COUNT(ORDER); k++) {
        uint32_t i = cv_cubin_first(cubin, CV_AT(ORDER, k).role);

        if (i != 0 && i != CV_AT(ORDER, k).index)
            cv_sec_report(ctx, cubin, i, CV_R_SEC_ORDER, CV_SH_NAME, i, CV_AT(ORDER, k).index);
    }
}

void cv_cubin_check_flags(cv_ctx *ctx, cv_cubin *cubin)
{
    if (cubin->abi8)
        check_abi8(ctx, cubin);
    else
        check_legacy(ctx, cubin);
    check_presence(ctx, cubin);
    check_order(ctx, cubin);
}

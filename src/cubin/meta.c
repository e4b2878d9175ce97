/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notes and .nv.compat of a device ELF: who wrote it, for what. And the order in which metadata is checked.
 */
#include "cubin/meta.h"

#include "format/note/read.h"
#include "format/tlv/attr.h"
#include "target/arch.h"
#include "target/retarget.h"

/* The first note is of the tool that wrote the file. */
static void take_tool(cv_cubin *cubin, const cv_note *note, const cv_tkinfo *tkinfo)
{
    uint32_t sm = 0;

    if (cubin->old_tools)
        cubin->toolkit = tkinfo->version;
    if (cubin->producer.tool == CV_TOOL_NVASM || !cv_tkinfo_arch(tkinfo, &sm, &cubin->suffix))
        return;
    cubin->suffix_known = true;
    cubin->tool_sm = sm;
    cubin->tool_len = note->descsz;
}

/* The note names the architecture of the header, or one whose code runs there as it is: then a finalizer has
 * changed the header alone. */
static void check_tool_arch(cv_ctx *ctx, const cv_cubin *cubin)
{
    uint32_t i = cv_cubin_first(cubin, CV_ROLE_TKINFO);
    const cv_compat *compat = cubin->compat.len ? &cubin->claims : NULL;
    uint64_t at;

    if (!cubin->suffix_known || cubin->tool_sm == cubin->sm)
        return;
    at = cubin->image.off + cv_cubin_sec(cubin, i)->header.off + CV_NOTE_CUINFO_DESC;
    if (cubin->abi8 && cv_gen_has(cv_gen_of(cubin->tool_sm), CV_GEN_SAYS_WHERE) &&
        cv_can_finalize(compat, cubin->tool_sm, cubin->sm) == CV_FINAL_OK &&
        cv_can_fastpath(compat, cubin->tool_sm, cubin->sm, true))
        cv_report_at(ctx, CUVET_P_SECTION, i, CV_R_TKINFO_RETARGET, at, cubin->tool_len,
                     cv_arch_pack(cubin->tool_sm, cubin->suffix), cubin->sm);
    else
        cv_report_at(ctx, CUVET_P_SECTION, i, CV_R_TKINFO_ARCH, at, cubin->tool_len, cubin->tool_sm,
                     cubin->sm);
}

static bool is_old_version(uint32_t value)
{
    return value >= CV_TKINFO_OLD_FIRST && value <= CV_TKINFO_OLD_LAST;
}

static uint32_t version_of(cv_span span, const cv_note *note)
{
    return note->descsz < 4 ? CV_TKINFO_VERSION : cv_u32_at(span, note->desc);
}

/* True when the rest of the note has the layout of version 2. Behind a linker's own note are those of its
 * inputs. */
static bool tool_version_ok(cv_ctx *ctx, bool of_old_tools, cv_span span, const cv_note *note)
{
    uint32_t value = version_of(span, note);

    if (value == CV_TKINFO_VERSION || (of_old_tools && is_old_version(value)))
        return true;
    cv_report(ctx, value > CV_TKINFO_VERSION ? CV_R_TKINFO_NEW : CV_R_TKINFO_VERSION, span.off + note->desc,
              4, value, CV_TKINFO_VERSION);
    return false;
}

static void read_tools(cv_ctx *ctx, cv_cubin *cubin, cv_span span)
{
    uint64_t pos = 0, count = 0;
    cuvet_status status;
    cv_tkinfo tkinfo;
    cv_note note;

    for (; (status = cv_note_next(ctx, span, CV_NOTE_TKINFO, &pos, &note)) == CUVET_OK; count++) {
        if (note.descsz % CV_NOTE_ALIGN != 0)
            cv_report(ctx, CV_R_NOTE_UNPADDED, span.off + note.off + 4, 4, note.descsz, CV_NOTE_ALIGN);
        bool known = tool_version_ok(ctx, cubin->old_tools || count > 0, span, &note);

        /* Behind the note of a linker one of an old version would be read, whoever wrote it. */
        if (!known && !is_old_version(version_of(span, &note)))
            continue;
        if (cv_tkinfo_read(ctx, span, &note, &tkinfo) == CUVET_OK && known && count == 0)
            take_tool(cubin, &note, &tkinfo);
    }
    if (status == CUVET_END && count == 0)
        cv_report(ctx, CV_R_NOTE_EMPTY, span.off, 0, 0, 1);
}

static void read_cuinfo(cv_ctx *ctx, cv_cubin *cubin, cv_span span)
{
    uint32_t stored = 0;
    cv_cuinfo cuinfo;

    if (cv_cuinfo_read(ctx, span, &cuinfo, &stored) != CUVET_OK)
        return;
    if (stored != 8 && !(cubin->producer.tool == CV_TOOL_NVASM && stored == 6))
        cv_report(ctx, CV_R_CUINFO_DESCSZ, span.off + 4, 4, stored, 8);
    if (cuinfo.virtual_sm > cubin->sm)
        cv_report(ctx, CV_R_CUINFO_VIRTUAL_SM, span.off + CV_NOTE_CUINFO_DESC + 2, 2, cuinfo.virtual_sm,
                  cubin->sm);
    cubin->virtual_sm = cuinfo.virtual_sm;
    cubin->toolkit = cuinfo.toolkit;
}

static void read_cuver(cv_ctx *ctx, cv_cubin *cubin, cv_span span)
{
    cv_cuver cuver;

    if (cv_cuver_is_cuinfo(span)) {
        cv_report(ctx, CV_R_CUVER_OTHER, span.off + 4, 4, cv_u32_at(span, 4), CV_NOTE_CUVER_SIZE);
        read_cuinfo(ctx, cubin, span);
        return;
    }
    if (cv_cuver_read(ctx, span, &cuver) != CUVET_OK)
        return;
    if (cuver.sm > cubin->sm)
        cv_report(ctx, CV_R_CUVER_SM, span.off + CV_NOTE_CUINFO_DESC + 2, 2, cuver.sm, cubin->sm);
    cubin->virtual_sm = cuver.sm;
}

/* Tags that the reference linker does not do without. */
static void check_tags(cv_ctx *ctx, const cv_cubin *cubin, cv_span span)
{
    uint32_t tag = cv_gen_has(cubin->gen, CV_GEN_COMPAT_ISA_CLASS) ? CV_COMPAT_ISA_CLASS
                                                                   : CV_COMPAT_CUDA_ACCELERATOR_TARGET;

    if (!cv_compat_has(&cubin->claims, tag))
        cv_report(ctx, CV_R_COMPAT_MISSING, span.off, span.len, tag, cubin->sm);
}

static void read_compat(cv_ctx *ctx, cv_cubin *cubin, cv_span span)
{
    cv_compat compat;

    cubin->compat = span;
    if (cv_compat_read(ctx, span, &compat) != CUVET_OK)
        return;
    cubin->claims = compat;
    check_tags(ctx, cubin, span);
    if (!cv_compat_has(&compat, CV_COMPAT_CUDA_ACCELERATOR_TARGET))
        return;
    cubin->compat_accel_known = true;
    cubin->compat_accel = compat.accel != 0;
    if (cubin->suffix_known && cubin->compat_accel != (cubin->suffix == 'a'))
        cv_report(ctx, CV_R_COMPAT_ACCEL, span.off, span.len, cubin->compat_accel, cubin->suffix == 'a');
}

/* Body of the only section of a role, its path pushed; false: none in this file. */
static bool enter_section(cv_ctx *ctx, const cv_cubin *cubin, cv_role role, cv_span *body)
{
    uint32_t i = cv_cubin_first(cubin, role);

    if (i == 0 || !cv_cubin_sec(cubin, i)->in_file)
        return false;
    *body = cv_cubin_body(cubin, i);
    if (!cv_work(ctx, body->len * 4 + 16, body->off))
        return false;
    cv_path_push(ctx, CUVET_P_SECTION, true, i);
    return true;
}

void cv_cubin_read_notes(cv_ctx *ctx, cv_cubin *cubin)
{
    cv_span span;

    if (enter_section(ctx, cubin, CV_ROLE_TKINFO, &span)) {
        read_tools(ctx, cubin, span);
        cv_path_pop(ctx);
    }
    if (enter_section(ctx, cubin, CV_ROLE_CUINFO, &span)) {
        read_cuinfo(ctx, cubin, span);
        cv_path_pop(ctx);
    }
    if (enter_section(ctx, cubin, CV_ROLE_CUVER, &span)) {
        read_cuver(ctx, cubin, span);
        cv_path_pop(ctx);
    }
    if (enter_section(ctx, cubin, CV_ROLE_COMPAT, &span)) {
        read_compat(ctx, cubin, span);
        cv_path_pop(ctx);
    }
    check_tool_arch(ctx, cubin);
}

/* Symbol attributes of one of the two worlds, and what is missing there. */
static cuvet_status check_global(cv_ctx *ctx, cv_cubin *cubin, bool merc)
{
    uint32_t section = cv_cubin_first(cubin, merc ? CV_ROLE_MERC_NV_INFO : CV_ROLE_NV_INFO);
    uint64_t count = merc ? cubin->n_merc_syms : cubin->n_syms;
    cv_u32s marks = { 0 };

    if (count == 0 || !cv_work(ctx, count / 16, cubin->image.off))
        return CUVET_OK;
    if (!cv_u32s_fill(&ctx->mem, &marks, count))
        return cv_nomem(ctx, cubin->image.off);
    if (section == 0 || cv_meta_info_global(ctx, cubin, section, merc, &marks))
        cv_meta_check_marks(ctx, cubin, merc, &marks);
    cv_u32s_free(&ctx->mem, &marks);
    return CUVET_OK;
}

static cuvet_status check_functions(cv_ctx *ctx, cv_cubin *cubin)
{
    cuvet_status status = CUVET_OK;

    if (!cv_work(ctx, cubin->sec.count, cubin->image.off))
        return CUVET_OK;
    for (uint64_t i = 1; status == CUVET_OK && i < cubin->sec.count; i++) {
        cv_role role = cv_cubin_sec(cubin, i)->role;

        if (role == CV_ROLE_NV_INFO_FN || role == CV_ROLE_MERC_NV_INFO_FN)
            status = cv_meta_info_function(ctx, cubin, i, role == CV_ROLE_MERC_NV_INFO_FN);
    }
    return status;
}

cuvet_status cv_cubin_check_meta(cv_ctx *ctx, cv_cubin *cubin)
{
    cuvet_status status = check_global(ctx, cubin, false);

    if (status == CUVET_OK)
        status = check_global(ctx, cubin, true);
    if (status == CUVET_OK)
        status = check_functions(ctx, cubin);
    if (status != CUVET_OK)
        return status;
    cv_meta_callgraph(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_CALLGRAPH));
    status = cv_meta_needs(ctx, cubin);
    if (status != CUVET_OK)
        return status;
    status = cv_meta_prototype(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_PROTOTYPE));
    if (status != CUVET_OK)
        return status == CUVET_E_NOMEM ? status : CUVET_OK; /* a limit was said */
    cv_meta_unified(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_UFT_ENTRY), false, true);
    cv_meta_unified(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_UDT_ENTRY), false, false);
    cv_meta_unified(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_MERC_UFT_ENTRY), true, true);
    cv_meta_unified(ctx, cubin, cv_cubin_first(cubin, CV_ROLE_MERC_UDT_ENTRY), true, false);
    cv_meta_rel_action(ctx, cubin);
    return CUVET_OK;
}

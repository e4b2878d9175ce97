/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Notes and .nv.compat of a device ELF: who wrote it, for what. And the order in which metadata is checked.
 */
#include "cubin/meta.h"

#include "format/note/read.h"
#include "format/tlv/attr.h"
#include "target/arch.h"
#include "target/retarget.h"

#define TKINFO_VERSION  2u
#define NOTE_WORD       4u
#define OLD_TOOLS_FIRST 120u /* tools that stored their own version there */
#define OLD_TOOLS_LAST  129u

/* The first note is of the tool that wrote the file. */
static void take_tool(cv_cubin *c, const cv_note *n, const cv_tkinfo *t)
{
    uint32_t sm = 0;

    if (c->old_tools)
        c->toolkit = t->version;
    if (c->producer.tool == CV_TOOL_NVASM || !cv_tkinfo_arch(t, &sm, &c->suffix))
        return;
    c->suffix_known = true;
    c->tool_sm = sm;
    c->tool_len = n->descsz;
}

/* The note names the architecture of the header, or one whose code runs there as it is: then a finalizer has
 * changed the header alone. */
static void check_tool_arch(cv_ctx *x, const cv_cubin *c)
{
    uint32_t i = cv_cubin_first(c, CV_ROLE_TKINFO);
    uint64_t at = c->image.off + cv_cubin_sec(c, i)->h.off + CV_NOTE_CUINFO_DESC;
    const cv_compat *k = c->compat.len ? &c->claims : NULL;

    if (!c->suffix_known || c->tool_sm == c->sm)
        return;
    if (c->abi8 && cv_gen_has(cv_gen_of(c->tool_sm), CV_GEN_SAYS_WHERE) &&
        cv_can_finalize(k, c->tool_sm, c->sm) == CV_FINAL_OK && cv_can_fastpath(k, c->tool_sm, c->sm, true))
        cv_report_at(x, CUVET_P_SECTION, i, CV_R_TKINFO_RETARGET, at, c->tool_len,
                     cv_arch_pack(c->tool_sm, c->suffix), c->sm);
    else
        cv_report_at(x, CUVET_P_SECTION, i, CV_R_TKINFO_ARCH, at, c->tool_len, c->tool_sm, c->sm);
}

/* True when the rest of the note has the layout of version 2. */
static bool tool_version_ok(cv_ctx *x, const cv_cubin *c, cv_span s, const cv_note *n)
{
    uint32_t v = n->descsz < 4 ? TKINFO_VERSION : cv_u32_at(s, n->desc);

    if (v == TKINFO_VERSION || (c->old_tools && v >= OLD_TOOLS_FIRST && v <= OLD_TOOLS_LAST))
        return true;
    cv_report(x, v > TKINFO_VERSION ? CV_R_TKINFO_NEW : CV_R_TKINFO_VERSION, s.off + n->desc, 4, v,
              TKINFO_VERSION);
    return false;
}

static void read_tools(cv_ctx *x, cv_cubin *c, cv_span s)
{
    uint64_t pos = 0, count = 0;
    cuvet_status st;
    cv_tkinfo t;
    cv_note n;

    for (; (st = cv_note_next(x, s, CV_NOTE_TKINFO, &pos, &n)) == CUVET_OK; count++) {
        if (n.descsz % NOTE_WORD != 0)
            cv_report(x, CV_R_NOTE_UNPADDED, s.off + n.off + 4, 4, n.descsz, NOTE_WORD);
        if (tool_version_ok(x, c, s, &n) && cv_tkinfo_read(x, s, &n, &t) == CUVET_OK && count == 0)
            take_tool(c, &n, &t);
    }
    if (st == CUVET_END && count == 0)
        cv_report(x, CV_R_NOTE_EMPTY, s.off, 0, 0, 1);
}

static void read_cuinfo(cv_ctx *x, cv_cubin *c, cv_span s)
{
    uint32_t stored = 0;
    cv_cuinfo u;

    if (cv_cuinfo_read(x, s, &u, &stored) != CUVET_OK)
        return;
    if (stored != 8 && !(c->producer.tool == CV_TOOL_NVASM && stored == 6))
        cv_report(x, CV_R_CUINFO_DESCSZ, s.off + 4, 4, stored, 8);
    if (u.virtual_sm > c->sm)
        cv_report(x, CV_R_CUINFO_VIRTUAL_SM, s.off + CV_NOTE_CUINFO_DESC + 2, 2, u.virtual_sm, c->sm);
    c->virtual_sm = u.virtual_sm;
    c->toolkit = u.toolkit;
}

static void read_cuver(cv_ctx *x, cv_cubin *c, cv_span s)
{
    cv_cuver u;

    if (cv_cuver_is_cuinfo(s)) {
        cv_report(x, CV_R_CUVER_OTHER, s.off + 4, 4, cv_u32_at(s, 4), CV_NOTE_CUVER_SIZE);
        read_cuinfo(x, c, s);
        return;
    }
    if (cv_cuver_read(x, s, &u) == CUVET_OK && u.sm != c->sm)
        cv_report(x, CV_R_CUVER_SM, s.off + CV_NOTE_CUINFO_DESC + 2, 2, u.sm, c->sm);
}

/* Tags that the reference linker does not do without. */
static void check_tags(cv_ctx *x, const cv_cubin *c, cv_span s)
{
    uint32_t tag =
        cv_gen_has(c->gen, CV_GEN_COMPAT_ISA_CLASS) ? CV_COMPAT_ISA_CLASS : CV_COMPAT_CUDA_ACCELERATOR_TARGET;

    if (!cv_compat_has(&c->claims, tag))
        cv_report(x, CV_R_COMPAT_MISSING, s.off, s.len, tag, c->sm);
}

static void read_compat(cv_ctx *x, cv_cubin *c, cv_span s)
{
    cv_compat k;

    c->compat = s;
    if (cv_compat_read(x, s, &k) != CUVET_OK)
        return;
    c->claims = k;
    check_tags(x, c, s);
    if (!cv_compat_has(&k, CV_COMPAT_CUDA_ACCELERATOR_TARGET))
        return;
    c->compat_accel_known = true;
    c->compat_accel = k.accel != 0;
    if (c->suffix_known && c->compat_accel != (c->suffix == 'a'))
        cv_report(x, CV_R_COMPAT_ACCEL, s.off, s.len, c->compat_accel, c->suffix == 'a');
}

/* Body of the only section of a role, its path pushed; false: none in this file. */
static bool enter(cv_ctx *x, const cv_cubin *c, cv_role role, cv_span *body)
{
    uint32_t i = cv_cubin_first(c, role);

    if (i == 0 || !cv_cubin_sec(c, i)->in_file)
        return false;
    *body = cv_cubin_body(c, i);
    if (!cv_work(x, body->len * 4 + 16, body->off))
        return false;
    cv_path_push(x, CUVET_P_SECTION, true, i);
    return true;
}

void cv_cubin_read_notes(cv_ctx *x, cv_cubin *c)
{
    cv_span s;

    if (enter(x, c, CV_ROLE_TKINFO, &s)) {
        read_tools(x, c, s);
        cv_path_pop(x);
    }
    if (enter(x, c, CV_ROLE_CUINFO, &s)) {
        read_cuinfo(x, c, s);
        cv_path_pop(x);
    }
    if (enter(x, c, CV_ROLE_CUVER, &s)) {
        read_cuver(x, c, s);
        cv_path_pop(x);
    }
    if (enter(x, c, CV_ROLE_COMPAT, &s)) {
        read_compat(x, c, s);
        cv_path_pop(x);
    }
    check_tool_arch(x, c);
}

/* Symbol attributes of one of the two worlds, and what is missing there. */
static cuvet_status check_global(cv_ctx *x, cv_cubin *c, bool merc)
{
    uint32_t section = cv_cubin_first(c, merc ? CV_ROLE_MERC_NV_INFO : CV_ROLE_NV_INFO);
    uint64_t n = merc ? c->n_merc_syms : c->n_syms;
    cv_u32s marks = { 0 };

    if (n == 0 || !cv_work(x, n / 16, c->image.off))
        return CUVET_OK;
    if (!cv_u32s_fill(&x->mem, &marks, n))
        return cv_nomem(x, c->image.off);
    if (section == 0 || cv_meta_info_global(x, c, section, merc, &marks))
        cv_meta_check_marks(x, c, merc, &marks);
    cv_u32s_free(&x->mem, &marks);
    return CUVET_OK;
}

static cuvet_status check_functions(cv_ctx *x, const cv_cubin *c)
{
    cuvet_status st = CUVET_OK;

    if (!cv_work(x, c->sec.n, c->image.off))
        return CUVET_OK;
    for (uint64_t i = 1; st == CUVET_OK && i < c->sec.n; i++) {
        cv_role role = cv_cubin_sec(c, i)->role;

        if (role == CV_ROLE_NV_INFO_FN || role == CV_ROLE_MERC_NV_INFO_FN)
            st = cv_meta_info_function(x, c, i, role == CV_ROLE_MERC_NV_INFO_FN);
    }
    return st;
}

cuvet_status cv_cubin_check_meta(cv_ctx *x, cv_cubin *c)
{
    cuvet_status st = check_global(x, c, false);

    if (st == CUVET_OK)
        st = check_global(x, c, true);
    if (st == CUVET_OK)
        st = check_functions(x, c);
    if (st != CUVET_OK)
        return st;
    cv_meta_callgraph(x, c, cv_cubin_first(c, CV_ROLE_CALLGRAPH));
    st = cv_meta_needs(x, c);
    if (st != CUVET_OK)
        return st;
    st = cv_meta_prototype(x, c, cv_cubin_first(c, CV_ROLE_PROTOTYPE));
    if (st != CUVET_OK)
        return st == CUVET_E_NOMEM ? st : CUVET_OK; /* a limit was said */
    cv_meta_unified(x, c, cv_cubin_first(c, CV_ROLE_UFT_ENTRY), false, true);
    cv_meta_unified(x, c, cv_cubin_first(c, CV_ROLE_UDT_ENTRY), false, false);
    cv_meta_unified(x, c, cv_cubin_first(c, CV_ROLE_MERC_UFT_ENTRY), true, true);
    cv_meta_unified(x, c, cv_cubin_first(c, CV_ROLE_MERC_UDT_ENTRY), true, false);
    cv_meta_rel_action(x, c);
    return CUVET_OK;
}

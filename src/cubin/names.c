/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Section names to roles. Every section of every file passes here: a few bytes select the one or two
 * candidates. */
#include "cubin/cubin.h"

/* Whole name. */
static cv_role whole_name(cv_span name, const char *text, cv_role role)
{
    return cv_span_eq_str(name, text) ? role : CV_ROLE_NONE;
}

/* Prefix with a part behind it, which may not be empty. */
static cv_role name_behind(cv_span name, const char *text, cv_role role, cv_span *fn)
{
    return cv_span_after(name, text, fn) && fn->len > 0 ? role : CV_ROLE_NONE;
}

static cv_role first_role(cv_role left, cv_role right)
{
    return left != CV_ROLE_NONE ? left : right;
}

/* .nv.constantN and .nv.constantN.<fn>; N is at most 17. */
static cv_role constant_role(cv_span name, cv_span *fn, uint32_t *bank)
{
    uint64_t end;

    if (!cv_span_starts(name, ".nv.constant") || !cv_span_decimal(name, 12, bank, &end) || *bank > 17)
        return CV_ROLE_NONE;
    if (end > 13 && cv_u8_at(name, 12) == '0') /* no leading zero */
        return CV_ROLE_NONE;
    if (end == name.len)
        return CV_ROLE_CONSTANT;
    *fn = cv_span_tail(name, end + 1);
    return cv_u8_at(name, end) == '.' && fn->len > 0 ? CV_ROLE_CONSTANT_FN : CV_ROLE_NONE;
}

static cv_role merc_constant(cv_span name, cv_span *fn)
{
    switch (cv_u8_at(name, 21)) {
    case 'u': return whole_name(name, ".nv.merc.nv.constant.user", CV_ROLE_MERC_CONSTANT_USER);
    case 'p': return whole_name(name, ".nv.merc.nv.constant.pic", CV_ROLE_MERC_CONSTANT_PIC);
    case 'o': return name_behind(name, ".nv.merc.nv.constant.optimizer.", CV_ROLE_MERC_CONSTANT_OPT, fn);
    case 'e':
        return name_behind(name, ".nv.merc.nv.constant.entry_image_header_indices.",
                           CV_ROLE_MERC_CONSTANT_EIHI, fn);
    default: return CV_ROLE_NONE;
    }
}

/* Prefix and the name of another section, which begins with a dot. */
static cv_role section_behind(cv_span name, const char *text, cv_role role, cv_span *fn)
{
    cv_span rest;

    if (!cv_span_after(name, text, &rest) || rest.len < 2 || cv_u8_at(rest, 0) != '.')
        return CV_ROLE_NONE;
    *fn = rest;
    return role;
}

/* .nv.merc.nv.* */
static cv_role merc_nv(cv_span name, cv_span *fn)
{
    switch (cv_u8_at(name, 12)) {
    case 'i':
        return first_role(whole_name(name, ".nv.merc.nv.info", CV_ROLE_MERC_NV_INFO),
                          name_behind(name, ".nv.merc.nv.info.", CV_ROLE_MERC_NV_INFO_FN, fn));
    case 'c':
        return first_role(whole_name(name, ".nv.merc.nv.callgraph", CV_ROLE_MERC_CALLGRAPH),
                          merc_constant(name, fn));
    case 'g': return whole_name(name, ".nv.merc.nv.global.init", CV_ROLE_MERC_GLOBAL_INIT);
    case 'h': return whole_name(name, ".nv.merc.nv.host", CV_ROLE_MERC_HOST_DATA);
    case 'r': return section_behind(name, ".nv.merc.nv.resolvedrela", CV_ROLE_MERC_RESOLVED_RELA, fn);
    case 's': return whole_name(name, ".nv.merc.nv.shared.reserved.0", CV_ROLE_MERC_SHARED_RESERVED);
    case 'u':
        return first_role(whole_name(name, ".nv.merc.nv.uft.entry", CV_ROLE_MERC_UFT_ENTRY),
                          first_role(whole_name(name, ".nv.merc.nv.udt.entry", CV_ROLE_MERC_UDT_ENTRY),
                                     whole_name(name, ".nv.merc.nv.udt", CV_ROLE_MERC_UDT)));
    default: return CV_ROLE_NONE;
    }
}

static cv_role mercury_role(cv_span name, cv_span *fn)
{
    if (!cv_span_starts(name, ".nv.merc."))
        return CV_ROLE_NONE;
    switch (cv_u8_at(name, 9)) {
    case 'n':
        if (cv_u8_at(name, 11) == '_')
            return name_behind(name, ".nv.merc.nv_debug_", CV_ROLE_MERC_NV_DEBUG, fn);
        return cv_span_starts(name, ".nv.merc.nv.") ? merc_nv(name, fn) : CV_ROLE_NONE;
    case 'd': return name_behind(name, ".nv.merc.debug_", CV_ROLE_MERC_DEBUG, fn);
    case 'r': return section_behind(name, ".nv.merc.rela", CV_ROLE_MERC_RELA, fn);
    case 's':
        return first_role(whole_name(name, ".nv.merc.symtab", CV_ROLE_MERC_SYMTAB),
                          whole_name(name, ".nv.merc.symtab_shndx", CV_ROLE_MERC_SYMTAB_SHNDX));
    default: return CV_ROLE_NONE;
    }
}

/* .nv.u* */
static cv_role unified_role(cv_span name, cv_span *fn)
{
    if (cv_u8_at(name, 5) == 'd')
        return first_role(whole_name(name, ".nv.udt", CV_ROLE_UDT),
                          whole_name(name, ".nv.udt.entry", CV_ROLE_UDT_ENTRY));
    return first_role(name_behind(name, ".nv.uft.rel.", CV_ROLE_UFT_REL, fn),
                      first_role(whole_name(name, ".nv.uft.entry", CV_ROLE_UFT_ENTRY),
                                 whole_name(name, ".nv.uft", CV_ROLE_UFT)));
}

/* .nv.c* */
static cv_role nv_c(cv_span name, cv_span *fn, uint32_t *bank)
{
    switch (cv_u8_at(name, 6)) {
    case 'n': return constant_role(name, fn, bank);
    case 'm': return whole_name(name, ".nv.compat", CV_ROLE_COMPAT);
    case 'l': return whole_name(name, ".nv.callgraph", CV_ROLE_CALLGRAPH);
    case 'p':
        return first_role(name_behind(name, ".nv.capmerc.text.", CV_ROLE_CAPMERC_TEXT, fn),
                          name_behind(name, ".nv.capmerc.nv.uft.rel.", CV_ROLE_CAPMERC_UFT_REL, fn));
    default: return CV_ROLE_NONE;
    }
}

/* .nv.* */
static cv_role dot_nv_role(cv_span name, cv_span *fn, uint32_t *bank)
{
    switch (cv_u8_at(name, 4)) {
    case 'i':
        return first_role(name_behind(name, ".nv.info.", CV_ROLE_NV_INFO_FN, fn),
                          whole_name(name, ".nv.info", CV_ROLE_NV_INFO));
    case 'c': return nv_c(name, fn, bank);
    case 's':
        if (cv_span_eq_str(name, ".nv.shared.reserved.0"))
            return CV_ROLE_SHARED_RESERVED;
        return name_behind(name, ".nv.shared.", CV_ROLE_SHARED_FN, fn);
    case 'g':
        return first_role(whole_name(name, ".nv.global.init", CV_ROLE_GLOBAL_INIT),
                          whole_name(name, ".nv.global", CV_ROLE_GLOBAL));
    case 'h': return whole_name(name, ".nv.host", CV_ROLE_HOST_DATA);
    case 'm': return mercury_role(name, fn);
    case 'l': return name_behind(name, ".nv.local.", CV_ROLE_LOCAL_FN, fn);
    case 'p': return whole_name(name, ".nv.prototype", CV_ROLE_PROTOTYPE);
    case 'r':
        return first_role(whole_name(name, ".nv.rel.action", CV_ROLE_REL_ACTION),
                          section_behind(name, ".nv.resolvedrela", CV_ROLE_RESOLVED_RELA, fn));
    case 'u': return unified_role(name, fn);
    default: return CV_ROLE_NONE;
    }
}

static cv_role note_role(cv_span name)
{
    switch (cv_u8_at(name, 9)) {
    case 't': return whole_name(name, ".note.nv.tkinfo", CV_ROLE_TKINFO);
    case 'c':
        return first_role(whole_name(name, ".note.nv.cuinfo", CV_ROLE_CUINFO),
                          whole_name(name, ".note.nv.cuver", CV_ROLE_CUVER));
    default: return CV_ROLE_NONE;
    }
}

/* .n* */
static cv_role dot_n_role(cv_span name, cv_span *fn, uint32_t *bank)
{
    if (cv_u8_at(name, 2) == 'o')
        return note_role(name);
    if (cv_u8_at(name, 2) != 'v')
        return CV_ROLE_NONE;
    if (cv_u8_at(name, 3) == '.')
        return dot_nv_role(name, fn, bank);
    return first_role(whole_name(name, ".nv_debug.shared", CV_ROLE_NV_DEBUG_SHARED),
                      name_behind(name, ".nv_debug_", CV_ROLE_NV_DEBUG, fn));
}

/* .rela.<name>, .rel.<name> */
static cv_role relocation_role(cv_span name, cv_span *fn)
{
    return first_role(section_behind(name, ".rela", CV_ROLE_RELA, fn),
                      section_behind(name, ".rel", CV_ROLE_REL, fn));
}

cv_role cv_cubin_classify(cv_span name, cv_span *fn, uint32_t *bank)
{
    cv_span part = cv_span_tail(name, name.len);
    cv_role role = CV_ROLE_NONE;

    *bank = 0;
    switch (cv_u8_at(name, 1)) {
    case 'n': role = dot_n_role(name, &part, bank); break;
    case 't': role = name_behind(name, ".text.", CV_ROLE_TEXT, &part); break;
    case 'r': role = relocation_role(name, &part); break;
    case 'd': role = name_behind(name, ".debug_", CV_ROLE_DEBUG, &part); break;
    case 's':
        role = first_role(whole_name(name, ".symtab", CV_ROLE_SYMTAB),
                          first_role(whole_name(name, ".strtab", CV_ROLE_STRTAB),
                                     first_role(whole_name(name, ".shstrtab", CV_ROLE_SHSTRTAB),
                                                whole_name(name, ".symtab_shndx", CV_ROLE_SYMTAB_SHNDX))));
        break;
    default: break;
    }
    *fn = role == CV_ROLE_NONE ? cv_span_tail(name, name.len) : part;
    return role;
}

cv_span cv_cubin_native_name(const cv_sec *sec)
{
    cv_span rest;

    if (cv_span_after(sec->name, ".nv.capmerc", &rest) || cv_span_after(sec->name, ".nv.merc", &rest))
        return rest;
    return sec->name;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Section headers one by one: structure for every file, the conventions of spec/sections.def for the two
 * known ABIs. */
#include "cubin/internal.h"

typedef enum link_kind { LINK_ZERO, LINK_SYMTAB, LINK_MERC, LINK_STRTAB, LINK_TKINFO } link_kind;
typedef enum info_kind {
    INFO_ZERO,
    INFO_CODE,
    INFO_CAPSULE,
    INFO_TARGET,
    INFO_SYMBOL,
    INFO_BINDING,
    INFO_COMPAT
} info_kind;
enum { FRAME_WORD = 4, ENTSIZE_HABIT = 8 }; /* entries of .debug_frame; see CV-ELF-111 */
enum { BARRIERS_MOST = 16 };
enum { PROP_NONE = 0, PROP_ONCE = 1, PROP_BANK = 2, PROP_LOOSE = 4 };

const cv_section_facts CV_SECTION_FACTS[CV_N_ROLES] = {
#define SECTION(role, rel, exe, flags, link, info, align, entsize, props)                                    \
    [CV_ROLE_##role] = { CV_SHT_##rel, CV_SHT_##exe, flags,   LINK_##link,                                   \
                         INFO_##info,  align,        entsize, PROP_##props },
#include "sections.def"
#undef SECTION
};

/* What holds for any ELF file. */
static void check_structure(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    const cv_elf_section *h = &s->h;

    if (h->align > x->lim.alignment)
        cv_sec_report(x, c, i, CV_R_LIMIT_ALIGNMENT, CV_SH_ALIGN, h->align, x->lim.alignment);
    if (h->align != 0 && !cv_is_pow2(h->align))
        cv_sec_report(x, c, i, CV_R_SEC_ALIGN, CV_SH_ALIGN, h->align, 0);
    else if (h->align > 1 && (h->off & (h->align - 1)) != 0)
        cv_sec_report(x, c, i, CV_R_SEC_OFFSET, CV_SH_OFFSET, h->off, h->align);
    if (h->off > c->image.len && cv_elf_type_exempt(h->type))
        cv_sec_report(x, c, i, CV_R_SEC_MEMORY_PLACE, CV_SH_OFFSET, h->off, c->image.len);
    if (h->name != 0 && h->name < c->shstrtab.len && cv_u8_at(c->shstrtab, h->name - 1) != 0)
        cv_sec_report(x, c, i, CV_R_SEC_NAME_MIDDLE, CV_SH_NAME, h->name, 0);
    if (h->addr != 0)
        cv_sec_report(x, c, i, CV_R_SEC_ADDR, CV_SH_ADDR, h->addr, 0);
    if (cv_is_frames(s) && h->size % FRAME_WORD != 0)
        cv_sec_report(x, c, i, CV_R_SEC_MULTIPLE, CV_SH_SIZE, h->size, FRAME_WORD);
    if (h->entsize > 1 && h->size % h->entsize != 0 && !(cv_section_facts_of(s->role)->props & PROP_LOOSE))
        cv_sec_report(x, c, i, CV_R_SEC_MULTIPLE, CV_SH_SIZE, h->size, h->entsize);
    if (h->link >= c->sec.n)
        cv_sec_report(x, c, i, CV_R_SEC_LINK, CV_SH_LINK, h->link, c->sec.n);
}

/* Files whose conventions are not known: the element sizes that readers rely on. */
static void check_plain(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    uint64_t want;

    switch (s->h.type) {
    case CV_SHT_SYMTAB:
    case CV_SHT_MERC_SYMTAB: want = cv_elf_sym_size(c->h.is32); break;
    case CV_SHT_RELA:
    case CV_SHT_CUDA_RESOLVED_RELA:
    case CV_SHT_MERC_RESOLVED_RELA:
    case CV_SHT_MERC_RELA: want = cv_elf_rel_size(c->h.is32, true); break;
    case CV_SHT_REL: want = cv_elf_rel_size(c->h.is32, false); break;
    case CV_SHT_SYMTAB_SHNDX: want = 4; break;
    default: return;
    }
    if (s->h.entsize != want)
        cv_sec_report(x, c, i, CV_R_SEC_ENTSIZE, CV_SH_ENTSIZE, s->h.entsize, want);
}

static void check_strings(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    cv_span body = cv_cubin_body(c, i);

    if (s->h.type != CV_SHT_STRTAB || !s->in_file)
        return;
    if (body.len == 0)
        cv_sec_report(x, c, i, CV_R_STR_BOUNDS, CV_SH_SIZE, 0, 0);
    else if (cv_u8_at(body, 0) != 0)
        cv_body_report(x, c, i, CV_R_STR_BOUNDS, 0, cv_u8_at(body, 0), 0);
    else if (cv_u8_at(body, body.len - 1) != 0)
        cv_body_report(x, c, i, CV_R_STR_BOUNDS, body.len - 1, cv_u8_at(body, body.len - 1), 0);
}

/* A type of executables in another file, or the other way round: readers find the same bytes by the name, or
 * none. */
static bool is_habit(uint32_t got, uint32_t want)
{
    bool data = (want >= CV_SHT_CUDA_CONSTANT0 && want <= CV_SHT_CUDA_CONSTANT17) ||
                want == CV_SHT_CUDA_GLOBAL_INIT || want == CV_SHT_CUDA_COMPAT;

    return got == CV_SHT_PROGBITS ? data : got == CV_SHT_NOBITS && cv_elf_type_exempt(want);
}

static bool type_fits(const cv_cubin *c, const cv_sec *s, const cv_section_facts *v, uint32_t *want)
{
    *want = c->rel ? v->type_rel : v->type_exe;
    if (c->rel && (v->props & PROP_BANK))
        *want += s->bank;
    if (s->h.type == *want)
        return true;
    /* Hand-assembled files: as in executables, and shared memory with initial bytes. */
    if (!c->hand || (s->role != CV_ROLE_SHARED_FN && s->role != CV_ROLE_CONSTANT_FN))
        return false;
    return s->h.type == CV_SHT_PROGBITS || s->h.type == v->type_exe;
}

/* Names of symbols are read through these; of other sections linkers 12.0 to 12.2 left what it was before
 * sections moved, in relocations too. */
static bool link_is_read(uint32_t type)
{
    return type == CV_SHT_SYMTAB || type == CV_SHT_MERC_SYMTAB;
}

static bool flags_fit(const cv_cubin *c, const cv_sec *s, const cv_section_facts *v, uint64_t *want)
{
    uint64_t got = s->h.flags;

    *want = v->flags;
    if (s->role == CV_ROLE_CUINFO && cv_cubin_first(c, CV_ROLE_COMPAT) == 0)
        *want &= ~(uint64_t)CV_SHF_INFO_LINK;
    if (c->legacy && c->exe)
        *want &= ~(uint64_t)CV_SHF_INFO_LINK;
    if (c->legacy && c->rel && v->flags & CV_SHF_INFO_LINK) /* tools before 12.0 leave it out */
        got |= CV_SHF_INFO_LINK;
    if (c->legacy && s->role == CV_ROLE_TEXT)
        got &= ~(uint64_t)CV_SHF_CUDA_BARRIERS;
    /* The linker adds them for texture slots, without the flag. */
    if (c->exe && s->role == CV_ROLE_REL && cv_span_starts(s->fn, ".nv.constant0."))
        got = (got & ~(uint64_t)CV_SHF_INFO_LINK) | (*want & CV_SHF_INFO_LINK);
    if (c->hand)
        got = (got & ~(uint64_t)CV_SHF_INFO_LINK) | (*want & CV_SHF_INFO_LINK);
    return got == *want;
}

static bool link_fits(const cv_cubin *c, const cv_sec *s, const cv_section_facts *v, uint64_t *want)
{
    uint32_t symtab = cv_cubin_first(c, CV_ROLE_SYMTAB);

    switch ((link_kind)v->link) {
    case LINK_SYMTAB: *want = symtab; break;
    case LINK_MERC: *want = cv_cubin_first(c, CV_ROLE_MERC_SYMTAB); break;
    case LINK_STRTAB: *want = cv_cubin_first(c, CV_ROLE_STRTAB); break;
    case LINK_TKINFO: *want = cv_cubin_first(c, CV_ROLE_TKINFO); break;
    case LINK_ZERO: *want = 0; break;
    }
    return s->h.link == *want || (c->hand && (s->h.link == 0 || s->h.link == symtab));
}

/* Stub of a unified function: the section is named after the function, its metadata after the stub. */
static bool same_function(const cv_sec *user, const cv_sec *code)
{
    cv_span rest;

    if (cv_span_eq(user->fn, code->fn))
        return true;
    return (code->role == CV_ROLE_UFT_REL || code->role == CV_ROLE_CAPMERC_UFT_REL) &&
           cv_span_after(user->fn, "__cuda_uf_stub_", &rest) && cv_span_eq(rest, code->fn);
}

/* sh_info names the code (or capsule) this section belongs to: remember the pair. */
static void check_user(cv_ctx *x, cv_cubin *c, uint64_t i, const cv_sec *s, bool capsule)
{
    cv_sec *code;

    if (s->h.info == 0 || s->h.info >= c->sec.n) {
        cv_sec_report(x, c, i, CV_R_SEC_INFO_RANGE, CV_SH_INFO, s->h.info, c->sec.n);
        return;
    }
    code = cv_sec_mut(c, s->h.info);
    if ((capsule ? !cv_role_is_capsule(code->role) : !cv_role_is_code(code->role)) ||
        !same_function(s, code)) {
        cv_sec_report(x, c, i, CV_R_SEC_FN, CV_SH_INFO, s->h.info, 0);
        return;
    }
    if (s->role == CV_ROLE_NV_INFO_FN || s->role == CV_ROLE_MERC_NV_INFO_FN) {
        if (code->info_sec != 0)
            cv_sec_report(x, c, i, CV_R_PAIR_INFO, CV_SH_INFO, 2, 1);
        code->info_sec = (uint32_t)i;
    } else if (s->role == CV_ROLE_CONSTANT_FN && s->bank == 0) {
        if (code->const0 != 0)
            cv_sec_report(x, c, i, CV_R_PAIR_CONST0, CV_SH_INFO, 2, 1);
        code->const0 = (uint32_t)i;
    }
}

static void check_info(cv_ctx *x, cv_cubin *c, uint64_t i, const cv_sec *s, const cv_section_facts *v)
{
    uint64_t want = 0;

    switch ((info_kind)v->info) {
    case INFO_CODE: check_user(x, c, i, s, false); return;
    case INFO_CAPSULE: check_user(x, c, i, s, true); return;
    case INFO_TARGET: /* with the relocations */
    case INFO_SYMBOL: /* with the pairs */
    case INFO_BINDING: /* with the symbols */ return;
    case INFO_COMPAT:
        want = cv_cubin_first(c, CV_ROLE_COMPAT);
        if (c->hand || s->h.info == 0)
            return;
        break;
    case INFO_ZERO: break;
    }
    if (s->h.info != want)
        cv_sec_report(x, c, i, CV_R_SEC_INFO, CV_SH_INFO, s->h.info, want);
}

/* Most that tools ever ask of memory for such a section, with room to spare. */
static void check_memory_size(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    uint64_t most = UINT64_C(1) << 48;

    if (!cv_elf_type_exempt(s->h.type))
        return;
    if (s->role == CV_ROLE_SHARED_RESERVED || s->role == CV_ROLE_MERC_SHARED_RESERVED)
        most = UINT64_C(1) << 16;
    else if (s->role == CV_ROLE_SHARED_FN)
        most = UINT64_C(1) << 20;
    else if (s->role == CV_ROLE_NV_DEBUG_SHARED) /* of all kernels together */
        most = UINT64_C(1) << 24;
    if (s->h.size > most)
        cv_sec_report(x, c, i, CV_R_SEC_MEMORY_SIZE, CV_SH_SIZE, s->h.size, most);
}

/* What the machine has room for. */
static void check_room(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    uint64_t barriers = cv_elf_code_barriers(s->h.flags);

    if ((s->role == CV_ROLE_CONSTANT || s->role == CV_ROLE_CONSTANT_FN) && s->h.size > CV_BANK_MOST)
        cv_sec_report(x, c, i, CV_R_SEC_BANK_SIZE, CV_SH_SIZE, s->h.size, CV_BANK_MOST);
    if (c->legacy && s->role == CV_ROLE_TEXT && barriers > BARRIERS_MOST)
        cv_sec_report(x, c, i, CV_R_TEXT_BARRIERS, CV_SH_FLAGS, barriers, BARRIERS_MOST);
}

static void check_convention(cv_ctx *x, cv_cubin *c, uint64_t i, const cv_sec *s)
{
    const cv_section_facts *v = cv_section_facts_of(s->role);
    const cv_elf_section *h = &s->h;
    uint32_t type;
    uint64_t want = 0;

    if (!type_fits(c, s, v, &type))
        cv_sec_report(x, c, i, is_habit(h->type, type) ? CV_R_SEC_TYPE_HABIT : CV_R_SEC_TYPE, CV_SH_TYPE,
                      h->type, type);
    if (!flags_fit(c, s, v, &want))
        cv_sec_report(x, c, i,
                      (h->flags ^ want) & ~(uint64_t)CV_SHF_INFO_LINK ? CV_R_SEC_FLAGS : CV_R_SEC_FLAGS_HABIT,
                      CV_SH_FLAGS, h->flags, want);
    if (!link_fits(c, s, v, &want) && h->link < c->sec.n)
        cv_sec_report(x, c, i, link_is_read(h->type) ? CV_R_SEC_LINK : CV_R_SEC_LINK_HABIT, CV_SH_LINK,
                      h->link, want);
    if (v->align == 0 && h->align == 0)
        cv_sec_report(x, c, i, CV_R_SEC_ALIGN_ROLE, CV_SH_ALIGN, 0, 1);
    check_memory_size(x, c, i, s);
    check_room(x, c, i, s);
    want = s->role == CV_ROLE_TEXT ? c->gen->text : v->align;
    if (want != 0 && h->align != want)
        cv_sec_report(x, c, i, CV_R_SEC_ALIGN_ROLE, CV_SH_ALIGN, h->align, want);
    if (h->entsize != v->entsize && !(c->hand && h->type == CV_SHT_STRTAB && h->entsize == 1))
        cv_sec_report(x, c, i,
                      v->entsize != 0 || h->entsize > ENTSIZE_HABIT ? CV_R_SEC_ENTSIZE
                                                                    : CV_R_SEC_ENTSIZE_HABIT,
                      CV_SH_ENTSIZE, h->entsize, v->entsize);
    if ((v->props & PROP_ONCE) && cv_cubin_first(c, s->role) != i)
        cv_sec_report(x, c, i, CV_R_SEC_DUPLICATE, CV_SH_NAME, cv_cubin_first(c, s->role), 0);
    if (s->role == CV_ROLE_TEXT && h->size % c->gen->block != 0)
        cv_sec_report(x, c, i, CV_R_TEXT_SIZE, CV_SH_SIZE, h->size, c->gen->block);
    check_info(x, c, i, s, v);
}

/* Types that readers look for by themselves. */
static bool is_table(uint32_t type)
{
    switch (type) {
    case CV_SHT_SYMTAB:
    case CV_SHT_STRTAB:
    case CV_SHT_RELA:
    case CV_SHT_REL:
    case CV_SHT_NOTE:
    case CV_SHT_SYMTAB_SHNDX: return true;
    default: return type >= CV_SHT_CUDA_INFO && type <= CV_SHT_MERC_CALLGRAPH;
    }
}

/* Unknown names are kept and named; the empty helper sections of hand-assembled kernels are known by their
 * shape. */
static void check_unknown(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_sec *s)
{
    uint64_t known = CV_SHF_COMPRESSED | CV_SHF_WRITE | CV_SHF_ALLOC | CV_SHF_EXECINSTR | CV_SHF_INFO_LINK |
                     CV_SHF_CUDA_CUINFO | CV_SHF_CUDA_TKINFO | CV_SHF_CUDA_MERC;

    if (s->h.flags & CV_SHF_COMPRESSED) { /* said already */
        if (s->h.flags & ~known)
            cv_sec_report(x, c, i, CV_R_SEC_FLAGS, CV_SH_FLAGS, s->h.flags, s->h.flags & known);
        return;
    }
    if (c->hand && s->h.type == CV_SHT_NOBITS && s->h.size == 0)
        return;
    if (is_table(s->h.type))
        cv_sec_report(x, c, i, CV_R_SEC_TYPE_NAME, CV_SH_NAME, s->h.type, 0);
    cv_sec_report(x, c, i, CV_R_SEC_UNKNOWN, CV_SH_NAME, s->h.type, 0);
}

/* Section 0 carries nothing but the counts of extended numbering. */
static void check_null(cv_ctx *x, const cv_cubin *c)
{
    cv_elf_section h = cv_cubin_sec(c, 0)->h;

    if (c->h.shnum == 0)
        h.size = 0;
    if (c->h.shstrndx == CV_SHN_XINDEX)
        h.link = 0;
    h.addr |= h.name | h.type | h.flags | h.off | h.size | h.link | h.info | h.align | h.entsize;
    if (h.addr != 0)
        cv_sec_report(x, c, 0, CV_R_SEC_NULL, CV_SH_NAME, h.addr, 0);
}

void cv_cubin_check_sections(cv_ctx *x, cv_cubin *c)
{
    if (!cv_work(x, c->sec.n, c->image.off))
        return;
    check_null(x, c);
    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        check_structure(x, c, i, s);
        if (CV_UNLIKELY(s->h.type == CV_SHT_STRTAB))
            check_strings(x, c, i, s);
        if (!c->conv)
            check_plain(x, c, i, s);
        else if (CV_LIKELY(s->role != CV_ROLE_NONE))
            check_convention(x, c, i, s);
        else
            check_unknown(x, c, i, s);
    }
    if (c->conv)
        cv_cubin_check_flags(x, c);
}

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
enum { PROP_NONE = 0, PROP_ONCE = 1, PROP_BANK = 2, PROP_LOOSE = 4 };

const cv_section_facts CV_SECTION_FACTS[CV_N_ROLES] = {
#define SECTION(role, rel, exe, flags, link, info, align, entsize, props)                                    \
    [CV_ROLE_##role] = { CV_SHT_##rel, CV_SHT_##exe, flags,   LINK_##link,                                   \
                         INFO_##info,  align,        entsize, PROP_##props },
#include "sections.def"
#undef SECTION
};

/* Names of symbols are read through these; of other sections linkers 12.0 to 12.2 left what it was before
 * sections moved, in relocations too. */
static bool link_is_read(uint32_t type)
{
    return type == CV_SHT_SYMTAB || type == CV_SHT_MERC_SYMTAB;
}

/* Of a program without code there are fewer sections than there were. */
static bool is_stale_link(const cv_cubin *cubin, uint32_t type)
{
    return cubin->conv && cubin->legacy && cubin->exe && !link_is_read(type);
}

/* What holds for any ELF file. */
static void check_structure(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    const cv_elf_section *header = &sec->header;

    if (header->align > ctx->lim.alignment)
        cv_sec_report(ctx, cubin, index, CV_R_LIMIT_ALIGNMENT, CV_SH_ALIGN, header->align,
                      ctx->lim.alignment);
    if (header->align != 0 && !cv_is_pow2(header->align))
        cv_sec_report(ctx, cubin, index, CV_R_SEC_ALIGN, CV_SH_ALIGN, header->align, 0);
    else if (header->align > 1 && (header->off & (header->align - 1)) != 0)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_OFFSET, CV_SH_OFFSET, header->off, header->align);
    if (header->off > cubin->image.len && cv_elf_type_exempt(header->type))
        cv_sec_report(ctx, cubin, index, CV_R_SEC_MEMORY_PLACE, CV_SH_OFFSET, header->off, cubin->image.len);
    if (header->name != 0 && header->name < cubin->shstrtab.len &&
        cv_u8_at(cubin->shstrtab, header->name - 1) != 0)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_NAME_MIDDLE, CV_SH_NAME, header->name, 0);
    if (header->addr != 0)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_ADDR, CV_SH_ADDR, header->addr, 0);
    if (cv_is_frames(sec) && header->size % FRAME_WORD != 0)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_MULTIPLE, CV_SH_SIZE, header->size, FRAME_WORD);
    if (header->entsize > 1 && header->size % header->entsize != 0 &&
        !(cv_section_facts_of(sec->role)->props & PROP_LOOSE))
        cv_sec_report(ctx, cubin, index, CV_R_SEC_MULTIPLE, CV_SH_SIZE, header->size, header->entsize);
    if (header->link >= cubin->sec.count && !is_stale_link(cubin, header->type))
        cv_sec_report(ctx, cubin, index, CV_R_SEC_LINK, CV_SH_LINK, header->link, cubin->sec.count);
}

/* Files whose conventions are not known: the element sizes that readers rely on. */
static void check_plain(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    uint64_t want;

    switch (sec->header.type) {
    case CV_SHT_SYMTAB:
    case CV_SHT_MERC_SYMTAB: want = cv_elf_sym_size(cubin->header.is32); break;
    case CV_SHT_RELA:
    case CV_SHT_CUDA_RESOLVED_RELA:
    case CV_SHT_MERC_RESOLVED_RELA:
    case CV_SHT_MERC_RELA: want = cv_elf_rel_size(cubin->header.is32, true); break;
    case CV_SHT_REL: want = cv_elf_rel_size(cubin->header.is32, false); break;
    case CV_SHT_SYMTAB_SHNDX: want = 4; break;
    default: return;
    }
    if (sec->header.entsize != want)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_ENTSIZE, CV_SH_ENTSIZE, sec->header.entsize, want);
}

static void check_strings(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    cv_span body = cv_cubin_body(cubin, index);

    if (!sec->in_file)
        return;
    if (body.len == 0)
        cv_sec_report(ctx, cubin, index, CV_R_STR_BOUNDS, CV_SH_SIZE, 0, 0);
    else if (cv_u8_at(body, 0) != 0)
        cv_body_report(ctx, cubin, index, CV_R_STR_BOUNDS, 0, cv_u8_at(body, 0), 0);
    else if (cv_u8_at(body, body.len - 1) != 0)
        cv_body_report(ctx, cubin, index, CV_R_STR_BOUNDS, body.len - 1, cv_u8_at(body, body.len - 1), 0);
}

/* A type of executables in another file, or the other way round, or that of all banks together: readers find
 * the same bytes by the name, or none. */
static bool is_habit(uint32_t got, uint32_t want)
{
    bool bank = want >= CV_SHT_CUDA_CONSTANT0 && want <= CV_SHT_CUDA_CONSTANT17,
         data = bank || want == CV_SHT_CUDA_GLOBAL_INIT || want == CV_SHT_CUDA_COMPAT;

    if (got == CV_SHT_CUDA_CONSTANT)
        return bank;
    return got == CV_SHT_PROGBITS ? data : got == CV_SHT_NOBITS && cv_elf_type_exempt(want);
}

static uint32_t type_of(const cv_section_facts *facts, bool rel, uint32_t bank)
{
    return rel ? facts->type_rel + (facts->props & PROP_BANK ? bank : 0) : facts->type_exe;
}

uint32_t cv_section_type_rel(cv_role role, uint32_t bank, uint32_t got)
{
    uint32_t want = type_of(cv_section_facts_of(role), true, bank);

    return is_habit(got, want) ? want : got;
}

static bool type_fits(const cv_cubin *cubin, const cv_sec *sec, const cv_section_facts *facts, uint32_t *want)
{
    *want = type_of(facts, cubin->rel, sec->bank);
    if (sec->header.type == *want)
        return true;
    /* Hand-assembled files: as in executables, and shared memory with initial bytes. */
    if (!cubin->hand || (sec->role != CV_ROLE_SHARED_FN && sec->role != CV_ROLE_CONSTANT_FN))
        return false;
    return sec->header.type == CV_SHT_PROGBITS || sec->header.type == facts->type_exe;
}

/* May code of tools that write ABI 7 be in it? They knew no machine after those of the old banks. */
static bool is_of_old_tools(const cv_cubin *cubin)
{
    return cubin->legacy || cv_gen_has(cubin->gen, CV_GEN_OLD_BANKS);
}

static bool flags_fit(const cv_cubin *cubin, const cv_sec *sec, const cv_section_facts *facts, uint64_t *want)
{
    uint64_t got = sec->header.flags;

    *want = facts->flags;
    if (sec->role == CV_ROLE_CUINFO && cv_cubin_first(cubin, CV_ROLE_COMPAT) == 0)
        *want &= ~(uint64_t)CV_SHF_INFO_LINK;
    if (cubin->legacy && cubin->exe)
        *want &= ~(uint64_t)CV_SHF_INFO_LINK;
    if (cubin->legacy && cubin->rel && facts->flags & CV_SHF_INFO_LINK) /* tools before 12.0 leave it out */
        got |= CV_SHF_INFO_LINK;
    /* What newer linkers make of such code has the count, and of tools before 12.4 the bank its old flags. */
    if (sec->role == CV_ROLE_TEXT && is_of_old_tools(cubin))
        got &= ~(uint64_t)CV_SHF_CUDA_BARRIERS;
    if (sec->role == CV_ROLE_CONSTANT_FN && is_of_old_tools(cubin))
        got |= *want & CV_SHF_INFO_LINK;
    /* The linker adds them for texture slots, without the flag. */
    if (cubin->exe && sec->role == CV_ROLE_REL && cv_span_starts(sec->fn, ".nv.constant0."))
        got = (got & ~(uint64_t)CV_SHF_INFO_LINK) | (*want & CV_SHF_INFO_LINK);
    if (cubin->hand)
        got = (got & ~(uint64_t)CV_SHF_INFO_LINK) | (*want & CV_SHF_INFO_LINK);
    return got == *want;
}

static bool link_fits(const cv_cubin *cubin, const cv_sec *sec, const cv_section_facts *facts, uint64_t *want)
{
    uint32_t symtab = cv_cubin_first(cubin, CV_ROLE_SYMTAB);

    switch ((link_kind)facts->link) {
    case LINK_SYMTAB: *want = symtab; break;
    case LINK_MERC: *want = cv_cubin_first(cubin, CV_ROLE_MERC_SYMTAB); break;
    case LINK_STRTAB: *want = cv_cubin_first(cubin, CV_ROLE_STRTAB); break;
    case LINK_TKINFO: *want = cv_cubin_first(cubin, CV_ROLE_TKINFO); break;
    case LINK_ZERO: *want = 0; break;
    }
    return sec->header.link == *want ||
           (cubin->hand && (sec->header.link == 0 || sec->header.link == symtab));
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
static void check_user(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec, bool capsule)
{
    cv_sec *code;

    if (sec->header.info == 0 || sec->header.info >= cubin->sec.count) {
        cv_sec_report(ctx, cubin, index, CV_R_SEC_INFO_RANGE, CV_SH_INFO, sec->header.info, cubin->sec.count);
        return;
    }
    code = cv_sec_mut(cubin, sec->header.info);
    if ((capsule ? !cv_role_is_capsule(code->role) : !cv_role_is_code(code->role)) ||
        !same_function(sec, code)) {
        cv_sec_report(ctx, cubin, index, CV_R_SEC_FN, CV_SH_INFO, sec->header.info, 0);
        return;
    }
    if (sec->role == CV_ROLE_NV_INFO_FN || sec->role == CV_ROLE_MERC_NV_INFO_FN) {
        if (code->info_sec != 0)
            cv_sec_report(ctx, cubin, index, CV_R_PAIR_INFO, CV_SH_INFO, 2, 1);
        code->info_sec = (uint32_t)index;
    } else if (sec->role == CV_ROLE_CONSTANT_FN && sec->bank == CV_BANK_PARAMETERS) {
        if (code->const0 != 0)
            cv_sec_report(ctx, cubin, index, CV_R_PAIR_CONST0, CV_SH_INFO, 2, 1);
        code->const0 = (uint32_t)index;
    }
}

static void check_info(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec,
                       const cv_section_facts *facts)
{
    uint64_t want = 0;

    switch ((info_kind)facts->info) {
    case INFO_CODE: check_user(ctx, cubin, index, sec, false); return;
    case INFO_CAPSULE: check_user(ctx, cubin, index, sec, true); return;
    case INFO_TARGET: /* with the relocations */
    case INFO_SYMBOL: /* with the pairs */
    case INFO_BINDING: /* with the symbols */ return;
    case INFO_COMPAT:
        want = cv_cubin_first(cubin, CV_ROLE_COMPAT);
        if (cubin->hand || sec->header.info == 0)
            return;
        break;
    case INFO_ZERO: break;
    }
    if (sec->header.info != want)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_INFO, CV_SH_INFO, sec->header.info, want);
}

/* Most that tools ever ask of memory for such a section, with room to spare. */
static void check_memory_size(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    uint64_t most = UINT64_C(1) << 48;

    if (!cv_elf_type_exempt(sec->header.type))
        return;
    if (sec->role == CV_ROLE_SHARED_RESERVED || sec->role == CV_ROLE_MERC_SHARED_RESERVED)
        most = UINT64_C(1) << 16;
    else if (sec->role == CV_ROLE_SHARED_FN)
        most = UINT64_C(1) << 20;
    else if (sec->role == CV_ROLE_NV_DEBUG_SHARED) /* of all kernels together */
        most = UINT64_C(1) << 24;
    if (sec->header.size > most)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_MEMORY_SIZE, CV_SH_SIZE, sec->header.size, most);
}

/* What the machine has room for. */
static void check_room(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    uint64_t barriers = cv_elf_code_barriers(sec->header.flags);

    if ((sec->role == CV_ROLE_CONSTANT || sec->role == CV_ROLE_CONSTANT_FN) &&
        sec->header.size > CV_BANK_MOST)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_BANK_SIZE, CV_SH_SIZE, sec->header.size, CV_BANK_MOST);
    if (is_of_old_tools(cubin) && sec->role == CV_ROLE_TEXT && barriers > CV_BARRIERS_MOST)
        cv_sec_report(ctx, cubin, index, CV_R_TEXT_BARRIERS, CV_SH_FLAGS, barriers, CV_BARRIERS_MOST);
}

static void check_convention(cv_ctx *ctx, cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    const cv_section_facts *facts = cv_section_facts_of(sec->role);
    const cv_elf_section *header = &sec->header;
    uint32_t type;
    uint64_t want = 0;

    if (!type_fits(cubin, sec, facts, &type))
        cv_sec_report(ctx, cubin, index, is_habit(header->type, type) ? CV_R_SEC_TYPE_HABIT : CV_R_SEC_TYPE,
                      CV_SH_TYPE, header->type, type);
    if (!flags_fit(cubin, sec, facts, &want))
        cv_sec_report(ctx, cubin, index,
                      (header->flags ^ want) & ~(uint64_t)CV_SHF_INFO_LINK ? CV_R_SEC_FLAGS
                                                                           : CV_R_SEC_FLAGS_HABIT,
                      CV_SH_FLAGS, header->flags, want);
    if (!link_fits(cubin, sec, facts, &want) &&
        (header->link < cubin->sec.count || is_stale_link(cubin, header->type)))
        cv_sec_report(ctx, cubin, index, link_is_read(header->type) ? CV_R_SEC_LINK : CV_R_SEC_LINK_HABIT,
                      CV_SH_LINK, header->link, want);
    if (facts->align == 0 && header->align == 0)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_ALIGN_ROLE, CV_SH_ALIGN, 0, 1);
    check_memory_size(ctx, cubin, index, sec);
    check_room(ctx, cubin, index, sec);
    want = sec->role == CV_ROLE_TEXT ? cubin->gen->text : facts->align;
    if (want != 0 && header->align != want)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_ALIGN_ROLE, CV_SH_ALIGN, header->align, want);
    if (header->entsize != facts->entsize &&
        !(cubin->hand && header->type == CV_SHT_STRTAB && header->entsize == 1))
        cv_sec_report(ctx, cubin, index,
                      facts->entsize != 0 || header->entsize > ENTSIZE_HABIT ? CV_R_SEC_ENTSIZE
                                                                             : CV_R_SEC_ENTSIZE_HABIT,
                      CV_SH_ENTSIZE, header->entsize, facts->entsize);
    if ((facts->props & PROP_ONCE) && cv_cubin_first(cubin, sec->role) != index)
        cv_sec_report(ctx, cubin, index, CV_R_SEC_DUPLICATE, CV_SH_NAME, cv_cubin_first(cubin, sec->role), 0);
    if (sec->role == CV_ROLE_TEXT && header->size % cubin->gen->block != 0)
        cv_sec_report(ctx, cubin, index, CV_R_TEXT_SIZE, CV_SH_SIZE, header->size, cubin->gen->block);
    check_info(ctx, cubin, index, sec, facts);
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
static void check_unknown(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_sec *sec)
{
    uint64_t known = CV_SHF_COMPRESSED | CV_SHF_WRITE | CV_SHF_ALLOC | CV_SHF_EXECINSTR | CV_SHF_INFO_LINK |
                     CV_SHF_CUDA_CUINFO | CV_SHF_CUDA_TKINFO | CV_SHF_CUDA_MERC;

    if (sec->header.flags & CV_SHF_COMPRESSED) { /* said already */
        if (sec->header.flags & ~known)
            cv_sec_report(ctx, cubin, index, CV_R_SEC_FLAGS, CV_SH_FLAGS, sec->header.flags,
                          sec->header.flags & known);
        return;
    }
    if (cubin->hand && sec->header.type == CV_SHT_NOBITS && sec->header.size == 0)
        return;
    if (is_table(sec->header.type))
        cv_sec_report(ctx, cubin, index, CV_R_SEC_TYPE_NAME, CV_SH_NAME, sec->header.type, 0);
    cv_sec_report(ctx, cubin, index, CV_R_SEC_UNKNOWN, CV_SH_NAME, sec->header.type, 0);
}

/* Section 0 carries nothing but the counts of extended numbering. */
static void check_null(cv_ctx *ctx, const cv_cubin *cubin)
{
    cv_elf_section header = cv_cubin_sec(cubin, 0)->header;

    if (cubin->header.shnum == 0)
        header.size = 0;
    if (cubin->header.shstrndx == CV_SHN_XINDEX)
        header.link = 0;
    header.addr |= header.name | header.type | header.flags | header.off | header.size | header.link |
                   header.info | header.align | header.entsize;
    if (header.addr != 0)
        cv_sec_report(ctx, cubin, 0, CV_R_SEC_NULL, CV_SH_NAME, header.addr, 0);
}

void cv_cubin_check_sections(cv_ctx *ctx, cv_cubin *cubin)
{
    if (!cv_work(ctx, cubin->sec.count, cubin->image.off))
        return;
    check_null(ctx, cubin);
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        check_structure(ctx, cubin, i, sec);
        if (CV_UNLIKELY(sec->header.type == CV_SHT_STRTAB))
            check_strings(ctx, cubin, i, sec);
        if (!cubin->conv)
            check_plain(ctx, cubin, i, sec);
        else if (CV_LIKELY(sec->role != CV_ROLE_NONE))
            check_convention(ctx, cubin, i, sec);
        else
            check_unknown(ctx, cubin, i, sec);
    }
    if (cubin->conv)
        cv_cubin_check_flags(ctx, cubin);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Header, tables, names and roles of a device ELF: what every other check stands on. */
#include "cubin/cubin.h"

#include "cubin/internal.h"
#include "cubin/producer.h"

void cv_cubin_init(cv_cubin *cubin)
{
    *cubin = (cv_cubin){ 0 };
}

void cv_cubin_free(cv_ctx *ctx, cv_cubin *cubin)
{
    cv_secs_free(&ctx->mem, &cubin->sec);
    cv_keys_free(&ctx->mem, &cubin->by_off);
    cv_cubin_init(cubin);
}

static cv_span no_bytes(const cv_cubin *cubin)
{
    cv_span span = cubin->image;

    span.len = 0;
    return span;
}

/* Forget the last file, keep the memory. */
static void forget_file(cv_cubin *cubin, cv_span image)
{
    cv_secs sec = cubin->sec;
    cv_keys keys = cubin->by_off;

    cv_secs_clear(&sec);
    cv_keys_clear(&keys);
    *cubin = (cv_cubin){ .image = image, .sec = sec, .by_off = keys };
    /* What is absent is empty, not nowhere: it has a place in the file. */
    cubin->shstrtab = cubin->strtab = cubin->symtab = cubin->merc_symtab = cubin->symtab_shndx =
        cubin->merc_shndx = cubin->compat = no_bytes(cubin);
}

static void header_report(cv_ctx *ctx, const cv_cubin *cubin, cv_rule rule, cv_ehdr_field field, uint64_t got,
                          uint64_t want)
{
    cv_report(ctx, rule, cubin->image.off + cv_elf_ehdr_at(cubin->header.is32, field), 0, got, want);
}

/* Code that is yet to be made is for machines that it can be made for, and both fields say that it is. */
static bool may_be_mercury(const cv_cubin *cubin)
{
    uint32_t flags = cubin->header.flags;

    return cubin->abi8 && cv_elf_flags_mercury(flags, true) &&
           cv_gen_has(cv_gen_of(cv_elf_flags_sm(flags, true)), CV_GEN_CAPSULE);
}

/* Which set of conventions the file follows, if any. */
static cuvet_status identify_conventions(cv_ctx *ctx, cv_cubin *cubin)
{
    const cv_elf_header *header = &cubin->header;
    uint64_t at = cubin->image.off, pair = (uint64_t)header->osabi << 8 | header->abiversion;
    bool mercury, whole;

    if (header->machine != CV_EM_CUDA)
        return cv_reject(ctx, CV_R_ELF_MACHINE, at + 18, header->machine, CV_EM_CUDA);
    cubin->abi8 = header->osabi == CV_OSABI_CUDA && header->abiversion == CV_ABI_CUDA;
    cubin->legacy = header->osabi == CV_OSABI_LEGACY && header->abiversion == CV_ABI_LEGACY;
    mercury =
        cv_elf_is_mercury(header->type, header->phnum,
                          (cubin->abi8 || cubin->legacy) && cv_elf_flags_mercury(header->flags, cubin->abi8));
    whole = header->type == CV_ELF_MERCURY && !mercury;
    cubin->rel = header->type == CV_ELF_REL || whole;
    cubin->exe = header->type == CV_ELF_EXEC;
    cubin->conv = (cubin->abi8 || cubin->legacy) && !header->is32 && !mercury && (cubin->rel || cubin->exe);
    if (header->is32)
        cv_report(ctx, CV_R_ELF_CLASS32, at + 4, 1, 1, 2);
    if (header->osabi == CV_OSABI_LEGACY && header->abiversion < CV_ABI_LEGACY)
        cv_report(ctx, CV_R_ELF_ABI_OLD, at + 8, 1, header->abiversion, CV_ABI_LEGACY);
    else if (header->osabi == CV_OSABI_CUDA && header->abiversion > CV_ABI_CUDA)
        cv_report(ctx, CV_R_ELF_ABI_NEW, at + 8, 1, header->abiversion, CV_ABI_CUDA);
    else if (!cubin->abi8 && !cubin->legacy)
        cv_report(ctx, CV_R_ELF_ABI, at + 7, 2, pair, CV_OSABI_CUDA << 8 | CV_ABI_CUDA);
    if (mercury && !may_be_mercury(cubin))
        header_report(ctx, cubin, CV_R_ELF_NO_MERCURY, CV_EH_TYPE, header->type, header->flags);
    else if (mercury)
        header_report(ctx, cubin, CV_R_ELF_MERCURY, CV_EH_TYPE,
                      header->type == CV_ELF_MERCURY ? header->type : header->flags, 0);
    else if (!cubin->rel && !cubin->exe)
        header_report(ctx, cubin, CV_R_ELF_TYPE, CV_EH_TYPE, header->type, CV_ELF_EXEC);
    return CUVET_OK;
}

/* What the header says beside its tables. */
static void read_facts(cv_cubin *cubin)
{
    const cv_elf_header *header = &cubin->header;

    cubin->flag_capsule = cubin->abi8 && cv_elf_flags_capsule(header->flags, true);
    cubin->sm = cv_elf_flags_sm(header->flags, cubin->abi8);
    cubin->gen = cv_gen_of(cubin->sm);
    if (cubin->legacy) {
        cubin->virtual_sm = cv_elf_flags_virtual_sm(header->flags);
        cubin->toolkit = header->version;
    }
}

/* Releases, times ten, that e_version of the older ABI may name: no toolkit before or after wrote it. */
enum { RELEASE_FIRST = 40, RELEASE_LAST = 199 };

static uint64_t names_index(const cv_cubin *cubin)
{
    return cubin->header.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(cubin, 0)->header.link
                                                   : cubin->header.shstrndx;
}

/* Fields that hang on no table. */
static void check_fixed(cv_ctx *ctx, const cv_cubin *cubin)
{
    const cv_elf_header *header = &cubin->header;
    uint64_t phent = cv_elf_phdr_size(header->is32);

    if (header->pad_nonzero)
        cv_report(ctx, CV_R_ELF_PAD, cubin->image.off + header->pad_nonzero, 1,
                  cv_u8_at(cubin->image, header->pad_nonzero), 0);
    if ((cubin->abi8 && header->version != 1) ||
        (cubin->legacy && (header->version < RELEASE_FIRST || header->version > RELEASE_LAST)) ||
        header->version == 0)
        header_report(ctx, cubin, CV_R_ELF_VERSION, CV_EH_VERSION, header->version, 1);
    if (header->entry != 0)
        header_report(ctx, cubin, CV_R_ELF_ENTRY, CV_EH_ENTRY, header->entry, 0);
    if (header->ehsize != cv_elf_ehdr_size(header->is32))
        header_report(ctx, cubin, CV_R_ELF_EHSIZE, CV_EH_EHSIZE, header->ehsize,
                      cv_elf_ehdr_size(header->is32));
    if (header->phentsize != phent && (header->phnum != 0 || header->phentsize != 0))
        header_report(ctx, cubin, CV_R_ELF_PHENTSIZE, CV_EH_PHENTSIZE, header->phentsize, phent);
    if (cubin->rel && header->phnum != 0)
        header_report(ctx, cubin, CV_R_ELF_PHDR_REL, CV_EH_PHNUM, header->phnum, 0);
}

/* Where the tables are put is a habit of the producer. */
static void check_tables(cv_ctx *ctx, const cv_cubin *cubin)
{
    const cv_elf_header *header = &cubin->header;
    uint64_t tables = header->shoff + cubin->sec.count * cv_elf_shdr_size(header->is32);

    /* Dumpers find the names of sections by the name of their section. */
    if (cubin->conv && cv_cubin_sec(cubin, names_index(cubin))->role != CV_ROLE_SHSTRTAB)
        header_report(ctx, cubin, CV_R_ELF_SHSTRNDX_NAME, CV_EH_SHSTRNDX, names_index(cubin),
                      cv_cubin_first(cubin, CV_ROLE_SHSTRTAB));
    if (cubin->exe && cubin->conv && header->phnum == 0)
        header_report(ctx, cubin, CV_R_ELF_PHDR_TYPE, CV_EH_PHNUM, 0, 1);
    /* 32-bit files put the tables elsewhere as well: nothing was measured on them. */
    if (header->shoff % 8 != 0 && !header->is32)
        header_report(ctx, cubin, CV_R_ELF_SHOFF_ALIGN, CV_EH_SHOFF, header->shoff, 8);
    if (header->phoff != (header->phnum ? tables : 0) && !header->is32)
        header_report(ctx, cubin, CV_R_ELF_PHDR_PLACE, CV_EH_PHOFF, header->phoff,
                      header->phnum ? tables : 0);
}

/* Section header table: *count headers in *table. */
static cuvet_status find_sections(cv_ctx *ctx, cv_cubin *cubin, cv_span *table, uint64_t *count)
{
    const cv_elf_header *header = &cubin->header;
    uint64_t esize = cv_elf_shdr_size(header->is32),
             shoff_at = cubin->image.off + cv_elf_ehdr_at(header->is32, CV_EH_SHOFF), len;
    cv_elf_section zero = { 0 };

    if (header->shnum == 0 && header->shoff == 0)
        return cv_reject(ctx, CV_R_ELF_NO_SECTIONS, shoff_at, 0, 1);
    if (header->shentsize != esize)
        return cv_reject(ctx, CV_R_ELF_SHENTSIZE,
                         cubin->image.off + cv_elf_ehdr_at(header->is32, CV_EH_SHENTSIZE), header->shentsize,
                         esize);
    if (header->shoff < cv_elf_ehdr_size(header->is32) || !cv_span_has(cubin->image, header->shoff, esize))
        return cv_reject(ctx, CV_R_ELF_SHDR_RANGE, shoff_at, cv_sat_add(header->shoff, esize),
                         cubin->image.len);
    *count = header->shnum;
    if (*count == 0) { /* extended numbering */
        cv_elf_read_section(cv_span_tail(cubin->image, header->shoff), header->is32, 0, &zero);
        *count = zero.size;
    }
    if (*count == 0)
        return cv_reject(ctx, CV_R_ELF_NO_SECTIONS, shoff_at, 0, 1);
    if (*count > ctx->lim.sections)
        return cv_reject(ctx, CV_R_LIMIT_SECTIONS, shoff_at, *count, ctx->lim.sections);
    len = cv_sat_mul(*count, esize);
    if (!cv_span_sub(cubin->image, header->shoff, len, table))
        return cv_reject(ctx, CV_R_ELF_SHDR_RANGE, shoff_at, cv_sat_add(header->shoff, len),
                         cubin->image.len);
    cubin->extent = cv_max(cubin->extent, header->shoff + len);
    return CUVET_OK;
}

static cuvet_status find_segments(cv_ctx *ctx, cv_cubin *cubin)
{
    const cv_elf_header *header = &cubin->header;
    uint64_t at = cubin->image.off + cv_elf_ehdr_at(header->is32, CV_EH_PHOFF);
    uint64_t len = header->phnum * cv_elf_phdr_size(header->is32);

    if (header->phnum != 0) {
        if (header->phoff < cv_elf_ehdr_size(header->is32) || !cv_span_has(cubin->image, header->phoff, len))
            return cv_reject(ctx, CV_R_ELF_PHDR_RANGE, at, cv_sat_add(header->phoff, len), cubin->image.len);
        cubin->extent = cv_max(cubin->extent, header->phoff + len);
    }
    return CUVET_OK;
}

static cuvet_status decode_sections(cv_ctx *ctx, cv_cubin *cubin, cv_span table, uint64_t count)
{
    cv_span none = no_bytes(cubin);

    if (!cv_work(ctx, count, table.off))
        return CUVET_E_LIMIT;
    if (!cv_secs_room(&ctx->mem, &cubin->sec, count))
        return cv_nomem(ctx, table.off);
    cubin->sec.count = count; /* the elements are set whole below: no copies of records this large */
    for (uint64_t i = 0; i < count; i++) {
        cv_sec *sec = cv_sec_mut(cubin, i);
        const cv_elf_section *header = &sec->header;

        *sec = (cv_sec){ .name = none, .fn = none };
        cv_elf_read_section(table, cubin->header.is32, i, &sec->header);
        if (i == 0 || header->type == CV_SHT_NULL || cv_elf_type_exempt(header->type))
            continue;
        sec->in_file = cv_span_has(cubin->image, header->off, header->size);
        if (CV_LIKELY(sec->in_file))
            cubin->extent = cv_max(cubin->extent, header->off + header->size);
        else
            cv_sec_report(ctx, cubin, i, CV_R_SEC_RANGE, CV_SH_OFFSET, cv_sat_add(header->off, header->size),
                          cubin->image.len);
    }
    return CUVET_OK;
}

/* Names and roles; singletons are remembered by role. */
static void name_sections(cv_ctx *ctx, cv_cubin *cubin)
{
    uint64_t end = cv_strings_end(cubin->shstrtab);

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        cv_sec *sec = cv_sec_mut(cubin, i);

        if (sec->header.name >= end ||
            CV_NEVER(!cv_span_cstr(cubin->shstrtab, sec->header.name, &sec->name))) {
            cv_sec_report(ctx, cubin, i, CV_R_SEC_NAME, CV_SH_NAME, sec->header.name, cubin->shstrtab.len);
            continue;
        }
        if (!cv_name_work(ctx, sec->name))
            return;
        sec->role = cv_cubin_classify(sec->name, &sec->fn, &sec->bank);
        /* Compressed or not what it says: nothing reads its bytes. */
        if (CV_UNLIKELY(sec->header.flags & CV_SHF_COMPRESSED)) {
            cv_sec_report(ctx, cubin, i, CV_R_SEC_COMPRESSED, CV_SH_FLAGS, sec->header.size, 0);
            sec->role = CV_ROLE_NONE;
        }
        cv_cubin_set_first(cubin, sec->role, i);
    }
}

/* Name table: without it no section means anything. */
static cuvet_status find_names(cv_ctx *ctx, cv_cubin *cubin)
{
    uint64_t at = cubin->image.off + cv_elf_ehdr_at(cubin->header.is32, CV_EH_SHSTRNDX);
    uint64_t i = names_index(cubin);
    const cv_sec *sec = cv_cubin_sec(cubin, i);

    if (i == 0 || i >= cubin->sec.count || sec->header.type != CV_SHT_STRTAB)
        return cv_reject(ctx, CV_R_ELF_SHSTRNDX, at, i, cubin->sec.count);
    cubin->shstrtab = cv_cubin_body(cubin, i);
    return CUVET_OK;
}

/* The symbol tables by role and type; their element size decides whether they can be read. */
static cuvet_status find_symbols(cv_ctx *ctx, cv_cubin *cubin, cv_role role, uint32_t type, cv_span *body,
                                 uint32_t *index, uint64_t *count)
{
    uint64_t i = cv_cubin_first(cubin, role), esize = cv_elf_sym_size(cubin->header.is32);
    const cv_sec *sec = cv_cubin_sec(cubin, i);

    if (i == 0 || sec->header.type != type || sec->header.entsize != esize)
        return CUVET_OK;
    if (sec->header.size / esize > ctx->lim.symbols)
        return cv_reject(ctx, CV_R_LIMIT_SYMBOLS, cv_sec_at(cubin, i, CV_SH_SIZE), sec->header.size / esize,
                         ctx->lim.symbols);
    *index = (uint32_t)i;
    *body = cv_cubin_body(cubin, i);
    *count = body->len / esize;
    return CUVET_OK;
}

static cuvet_status find_tables(cv_ctx *ctx, cv_cubin *cubin)
{
    cuvet_status status = find_symbols(ctx, cubin, CV_ROLE_SYMTAB, CV_SHT_SYMTAB, &cubin->symtab,
                                       &cubin->symtab_index, &cubin->n_syms);
    uint64_t i = cv_cubin_first(cubin, CV_ROLE_STRTAB);

    if (status == CUVET_OK)
        status = find_symbols(ctx, cubin, CV_ROLE_MERC_SYMTAB, CV_SHT_MERC_SYMTAB, &cubin->merc_symtab,
                              &cubin->merc_symtab_index, &cubin->n_merc_syms);
    if (i != 0 && cv_cubin_sec(cubin, i)->header.type == CV_SHT_STRTAB)
        cubin->strtab = cv_cubin_body(cubin, i);
    i = cv_cubin_first(cubin, CV_ROLE_SYMTAB_SHNDX);
    if (i != 0 && cv_cubin_sec(cubin, i)->header.type == CV_SHT_SYMTAB_SHNDX)
        cubin->symtab_shndx = cv_cubin_body(cubin, i);
    i = cv_cubin_first(cubin, CV_ROLE_MERC_SYMTAB_SHNDX);
    if (i != 0 && cv_cubin_sec(cubin, i)->header.type == CV_SHT_SYMTAB_SHNDX)
        cubin->merc_shndx = cv_cubin_body(cubin, i);
    cubin->has_capsule = cv_cubin_first(cubin, CV_ROLE_CAPMERC_TEXT) != 0 ||
                         cv_cubin_first(cubin, CV_ROLE_CAPMERC_UFT_REL) != 0;
    cubin->old_tools = cubin->abi8 && cv_cubin_first(cubin, CV_ROLE_CUVER) != 0 &&
                       cv_cubin_first(cubin, CV_ROLE_CUINFO) == 0;
    /* Legacy files say nothing about their tool; hand-assembled ones start with the symbol table. */
    cubin->hand = cubin->legacy && cubin->header.shstrndx != 1;
    return status;
}

cuvet_status cv_cubin_header(cv_ctx *ctx, cv_cubin *cubin, cv_span image, uint64_t *extent)
{
    cv_span table = { 0 };
    uint64_t count = 0;
    cuvet_status status;

    forget_file(cubin, image);
    status = cv_elf_read_header(ctx, image, &cubin->header);
    if (status == CUVET_OK)
        status = identify_conventions(ctx, cubin);
    if (status != CUVET_OK)
        return status;
    read_facts(cubin);
    check_fixed(ctx, cubin);
    cubin->extent = cv_elf_ehdr_size(cubin->header.is32);
    status = find_sections(ctx, cubin, &table, &count);
    if (status == CUVET_OK)
        status = decode_sections(ctx, cubin, table, count);
    if (status == CUVET_OK)
        status = find_segments(ctx, cubin);
    if (status == CUVET_OK)
        status = find_names(ctx, cubin);
    if (status != CUVET_OK)
        return status;
    name_sections(ctx, cubin);
    status = ctx->work_out ? CUVET_E_LIMIT : find_tables(ctx, cubin);
    cv_producer_find(ctx, cubin);
    cv_ctx_begin_profile(ctx, (cv_profile)cubin->producer.profile, cubin->producer.stranger);
    check_tables(ctx, cubin);
    cubin->image.len = cubin->extent;
    *extent = cubin->extent;
    return status;
}

void cv_cubin_check_tail(cv_ctx *ctx, cv_span image, uint64_t extent, uint64_t allowed)
{
    cv_span tail = cv_span_tail(image, extent);

    if (tail.len > allowed || cv_span_find_nonzero(tail) < tail.len)
        cv_report(ctx, CV_R_ELF_TRAILING, tail.off, tail.len, tail.len, allowed);
}

bool cv_cubin_promises_progress(const cv_cubin *cubin)
{
    return cubin->virtual_sm == 0 || cv_gen_has(cv_gen_of(cubin->virtual_sm), CV_GEN_PROGRESS);
}

bool cv_cubin_may_forget(const cv_cubin *cubin, bool code)
{
    uint8_t tool = cubin->producer.tool;

    return tool != CV_TOOL_PTXAS && tool != CV_TOOL_NVASM && tool != CV_TOOL_HAND &&
           (!code || cv_gen_has(cubin->gen, CV_GEN_OLD_GRAPHS));
}

bool cv_cubin_next_kernel(const cv_cubin *cubin, uint64_t *pos, cv_span *name, cv_elf_symbol *sym)
{
    cv_elf_symbol symbol;

    for (; *pos < cubin->n_syms; (*pos)++) {
        cv_elf_read_symbol(cubin->symtab, cubin->header.is32, *pos, &symbol);
        if (cv_elf_sym_type(&symbol) != CV_STT_FUNC || symbol.shndx == CV_SHN_UNDEF ||
            !(symbol.other & CV_STO_ENTRY))
            continue;
        *name = no_bytes(cubin);
        if (!cv_span_cstr(cubin->strtab, symbol.name, name))
            name->len = 0; /* broken, and reported: the kernel is counted all the same */
        *sym = symbol;
        (*pos)++;
        return true;
    }
    return false;
}

/* Everything behind the header, by the profile of who wrote it. */
static cuvet_status examine_rest(cv_ctx *ctx, cv_cubin *cubin, cv_ledger *ledger)
{
    cuvet_status status = CUVET_OK;

    if (cubin->conv)
        cv_cubin_read_notes(ctx, cubin);
    cv_cubin_check_sections(ctx, cubin);
    cv_cubin_check_symbols(ctx, cubin);
    status = cv_cubin_check_unique(ctx, cubin);
    if (status == CUVET_OK)
        status = cv_cubin_check_variables(ctx, cubin);
    if (status == CUVET_OK)
        status = cv_cubin_check_relocs(ctx, cubin);
    if (status == CUVET_OK && cubin->conv) {
        cv_cubin_check_pairs(ctx, cubin);
        status = cv_cubin_check_meta(ctx, cubin);
        if (status == CUVET_OK)
            status = cv_cubin_check_twins(ctx, cubin);
    }
    if (status == CUVET_OK)
        status = cv_cubin_check_ledger(ctx, cubin, ledger);
    if (status == CUVET_OK)
        status = cv_cubin_check_segments(ctx, cubin);
    return status == CUVET_OK && ctx->work_out ? CUVET_E_LIMIT : status;
}

cuvet_status cv_cubin_examine(cv_ctx *ctx, cv_cubin *cubin, cv_span image, cv_ledger *ledger,
                              uint64_t *extent)
{
    cuvet_status status = cv_cubin_header(ctx, cubin, image, extent);

    if (status == CUVET_OK)
        status = examine_rest(ctx, cubin, ledger);
    cv_ctx_end_profile(ctx, image.off);
    return status;
}

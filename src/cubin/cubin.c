/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Header, tables, names and roles of a device ELF: what every other check stands on. */
#include "cubin/cubin.h"

#include "cubin/internal.h"
#include "cubin/producer.h"

void cv_cubin_init(cv_cubin *c)
{
    *c = (cv_cubin){ 0 };
}

void cv_cubin_free(cv_ctx *x, cv_cubin *c)
{
    cv_secs_free(&x->mem, &c->sec);
    cv_keys_free(&x->mem, &c->by_off);
    cv_cubin_init(c);
}

static cv_span nothing(const cv_cubin *c)
{
    cv_span s = c->image;

    s.len = 0;
    return s;
}

/* Forget the last file, keep the memory. */
static void restart(cv_cubin *c, cv_span image)
{
    cv_secs sec = c->sec;
    cv_keys keys = c->by_off;

    cv_secs_clear(&sec);
    cv_keys_clear(&keys);
    *c = (cv_cubin){ .image = image, .sec = sec, .by_off = keys };
    /* What is absent is empty, not nowhere: it has a place in the file. */
    c->shstrtab = c->strtab = c->symtab = c->merc_symtab = c->symtab_shndx = c->merc_shndx = c->compat =
        nothing(c);
}

static void header_report(cv_ctx *x, const cv_cubin *c, cv_rule rule, cv_ehdr_field f, uint64_t got,
                          uint64_t want)
{
    cv_report(x, rule, c->image.off + cv_elf_ehdr_at(c->h.is32, f), 0, got, want);
}

/* Which set of conventions the file follows, if any. */
static cuvet_status identify(cv_ctx *x, cv_cubin *c)
{
    const cv_elf_header *h = &c->h;
    uint64_t at = c->image.off, pair = (uint64_t)h->osabi << 8 | h->abiversion;
    bool mercury;

    if (h->machine != CV_EM_CUDA)
        return cv_reject(x, CV_R_ELF_MACHINE, at + 18, h->machine, CV_EM_CUDA);
    c->abi8 = h->osabi == CV_OSABI_CUDA && h->abiversion == CV_ABI_CUDA;
    c->legacy = h->osabi == CV_OSABI_LEGACY && h->abiversion == CV_ABI_LEGACY;
    c->rel = h->type == CV_ELF_REL;
    c->exe = h->type == CV_ELF_EXEC;
    mercury =
        h->type == CV_ELF_MERCURY || ((c->abi8 || c->legacy) && cv_elf_flags_mercury(h->flags, c->abi8));
    c->conv = (c->abi8 || c->legacy) && !h->is32 && !mercury && (c->rel || c->exe);
    if (h->is32)
        cv_report(x, CV_R_ELF_CLASS32, at + 4, 1, 1, 2);
    if (h->osabi == CV_OSABI_LEGACY && h->abiversion < CV_ABI_LEGACY)
        cv_report(x, CV_R_ELF_ABI_OLD, at + 8, 1, h->abiversion, CV_ABI_LEGACY);
    else if (h->osabi == CV_OSABI_CUDA && h->abiversion > CV_ABI_CUDA)
        cv_report(x, CV_R_ELF_ABI_NEW, at + 8, 1, h->abiversion, CV_ABI_CUDA);
    else if (!c->abi8 && !c->legacy)
        cv_report(x, CV_R_ELF_ABI, at + 7, 2, pair, CV_OSABI_CUDA << 8 | CV_ABI_CUDA);
    if (mercury)
        header_report(x, c, CV_R_ELF_MERCURY, CV_EH_TYPE, h->type == CV_ELF_MERCURY ? h->type : h->flags, 0);
    else if (!c->rel && !c->exe)
        header_report(x, c, CV_R_ELF_TYPE, CV_EH_TYPE, h->type, CV_ELF_EXEC);
    return CUVET_OK;
}

/* What the header says beside its tables. */
static void read_facts(cv_cubin *c)
{
    const cv_elf_header *h = &c->h;

    c->flag_capsule = c->abi8 && cv_elf_flags_capsule(h->flags, true);
    c->sm = cv_elf_flags_sm(h->flags, c->abi8);
    c->gen = cv_gen_of(c->sm);
    if (c->legacy) {
        c->virtual_sm = cv_elf_flags_virtual_sm(h->flags);
        c->toolkit = h->version;
    }
}

/* Releases, times ten, that e_version of the older ABI may name: no toolkit before or after wrote it. */
enum { RELEASE_FIRST = 40, RELEASE_LAST = 199 };

static uint64_t names_index(const cv_cubin *c)
{
    return c->h.shstrndx == CV_SHN_XINDEX ? cv_cubin_sec(c, 0)->h.link : c->h.shstrndx;
}

/* Fields that hang on no table. */
static void check_fixed(cv_ctx *x, const cv_cubin *c)
{
    const cv_elf_header *h = &c->h;
    uint64_t phent = cv_elf_phdr_size(h->is32);

    if (h->pad_nonzero)
        cv_report(x, CV_R_ELF_PAD, c->image.off + h->pad_nonzero, 1, cv_u8_at(c->image, h->pad_nonzero), 0);
    if ((c->abi8 && h->version != 1) ||
        (c->legacy && (h->version < RELEASE_FIRST || h->version > RELEASE_LAST)) || h->version == 0)
        header_report(x, c, CV_R_ELF_VERSION, CV_EH_VERSION, h->version, 1);
    if (h->entry != 0)
        header_report(x, c, CV_R_ELF_ENTRY, CV_EH_ENTRY, h->entry, 0);
    if (h->ehsize != cv_elf_ehdr_size(h->is32))
        header_report(x, c, CV_R_ELF_EHSIZE, CV_EH_EHSIZE, h->ehsize, cv_elf_ehdr_size(h->is32));
    if (h->phentsize != phent && (h->phnum != 0 || h->phentsize != 0))
        header_report(x, c, CV_R_ELF_PHENTSIZE, CV_EH_PHENTSIZE, h->phentsize, phent);
    if (c->rel && h->phnum != 0)
        header_report(x, c, CV_R_ELF_PHDR_REL, CV_EH_PHNUM, h->phnum, 0);
}

/* Where the tables are put is a habit of the producer. */
static void check_tables(cv_ctx *x, const cv_cubin *c)
{
    const cv_elf_header *h = &c->h;
    uint64_t tables = h->shoff + c->sec.n * cv_elf_shdr_size(h->is32);

    /* Dumpers find the names of sections by the name of their section. */
    if (c->conv && cv_cubin_sec(c, names_index(c))->role != CV_ROLE_SHSTRTAB)
        header_report(x, c, CV_R_ELF_SHSTRNDX_NAME, CV_EH_SHSTRNDX, names_index(c),
                      cv_cubin_first(c, CV_ROLE_SHSTRTAB));
    if (c->exe && c->conv && h->phnum == 0)
        header_report(x, c, CV_R_ELF_PHDR_TYPE, CV_EH_PHNUM, 0, 1);
    /* 32-bit files put the tables elsewhere as well: nothing was measured on them. */
    if (h->shoff % 8 != 0 && !h->is32)
        header_report(x, c, CV_R_ELF_SHOFF_ALIGN, CV_EH_SHOFF, h->shoff, 8);
    if (h->phoff != (h->phnum ? tables : 0) && !h->is32)
        header_report(x, c, CV_R_ELF_PHDR_PLACE, CV_EH_PHOFF, h->phoff, h->phnum ? tables : 0);
}

/* Section header table: *n headers in *table. */
static cuvet_status find_sections(cv_ctx *x, cv_cubin *c, cv_span *table, uint64_t *n)
{
    const cv_elf_header *h = &c->h;
    uint64_t esize = cv_elf_shdr_size(h->is32),
             shoff_at = c->image.off + cv_elf_ehdr_at(h->is32, CV_EH_SHOFF), len;
    cv_elf_section zero = { 0 };

    if (h->shnum == 0 && h->shoff == 0)
        return cv_reject(x, CV_R_ELF_NO_SECTIONS, shoff_at, 0, 1);
    if (h->shentsize != esize)
        return cv_reject(x, CV_R_ELF_SHENTSIZE, c->image.off + cv_elf_ehdr_at(h->is32, CV_EH_SHENTSIZE),
                         h->shentsize, esize);
    if (h->shoff < cv_elf_ehdr_size(h->is32) || !cv_span_has(c->image, h->shoff, esize))
        return cv_reject(x, CV_R_ELF_SHDR_RANGE, shoff_at, cv_sat_add(h->shoff, esize), c->image.len);
    *n = h->shnum;
    if (*n == 0) { /* extended numbering */
        cv_elf_read_section(cv_span_tail(c->image, h->shoff), h->is32, 0, &zero);
        *n = zero.size;
    }
    if (*n == 0)
        return cv_reject(x, CV_R_ELF_NO_SECTIONS, shoff_at, 0, 1);
    if (*n > x->lim.sections)
        return cv_reject(x, CV_R_LIMIT_SECTIONS, shoff_at, *n, x->lim.sections);
    len = cv_sat_mul(*n, esize);
    if (!cv_span_sub(c->image, h->shoff, len, table))
        return cv_reject(x, CV_R_ELF_SHDR_RANGE, shoff_at, cv_sat_add(h->shoff, len), c->image.len);
    c->extent = cv_max(c->extent, h->shoff + len);
    return CUVET_OK;
}

static cuvet_status find_segments(cv_ctx *x, cv_cubin *c)
{
    const cv_elf_header *h = &c->h;
    uint64_t at = c->image.off + cv_elf_ehdr_at(h->is32, CV_EH_PHOFF);
    uint64_t len = h->phnum * cv_elf_phdr_size(h->is32);

    if (h->phnum != 0) {
        if (h->phoff < cv_elf_ehdr_size(h->is32) || !cv_span_has(c->image, h->phoff, len))
            return cv_reject(x, CV_R_ELF_PHDR_RANGE, at, cv_sat_add(h->phoff, len), c->image.len);
        c->extent = cv_max(c->extent, h->phoff + len);
    }
    return CUVET_OK;
}

static cuvet_status decode_sections(cv_ctx *x, cv_cubin *c, cv_span table, uint64_t n)
{
    cv_span none = nothing(c);

    if (!cv_work(x, n, table.off))
        return CUVET_E_LIMIT;
    if (!cv_secs_room(&x->mem, &c->sec, n))
        return cv_nomem(x, table.off);
    c->sec.n = n; /* the elements are set whole below: no copies of records this large */
    for (uint64_t i = 0; i < n; i++) {
        cv_sec *s = cv_sec_mut(c, i);
        const cv_elf_section *h = &s->h;

        *s = (cv_sec){ .name = none, .fn = none };
        cv_elf_read_section(table, c->h.is32, i, &s->h);
        if (i == 0 || h->type == CV_SHT_NULL || cv_elf_type_exempt(h->type))
            continue;
        s->in_file = cv_span_has(c->image, h->off, h->size);
        if (CV_LIKELY(s->in_file))
            c->extent = cv_max(c->extent, h->off + h->size);
        else
            cv_sec_report(x, c, i, CV_R_SEC_RANGE, CV_SH_OFFSET, cv_sat_add(h->off, h->size), c->image.len);
    }
    return CUVET_OK;
}

/* Names and roles; singletons are remembered by role. */
static void name_sections(cv_ctx *x, cv_cubin *c)
{
    uint64_t end = cv_strings_end(c->shstrtab);

    for (uint64_t i = 1; i < c->sec.n; i++) {
        cv_sec *s = cv_sec_mut(c, i);

        if (s->h.name >= end || !cv_span_cstr(c->shstrtab, s->h.name, &s->name)) {
            cv_sec_report(x, c, i, CV_R_SEC_NAME, CV_SH_NAME, s->h.name, c->shstrtab.len);
            continue;
        }
        if (!cv_name_work(x, s->name))
            return;
        s->role = cv_cubin_classify(s->name, &s->fn, &s->bank);
        /* Compressed or not what it says: nothing reads its bytes. */
        if (CV_UNLIKELY(s->h.flags & CV_SHF_COMPRESSED)) {
            cv_sec_report(x, c, i, CV_R_SEC_COMPRESSED, CV_SH_FLAGS, s->h.size, 0);
            s->role = CV_ROLE_NONE;
        }
        cv_cubin_set_first(c, s->role, i);
    }
}

/* Name table: without it no section means anything. */
static cuvet_status find_names(cv_ctx *x, cv_cubin *c)
{
    uint64_t at = c->image.off + cv_elf_ehdr_at(c->h.is32, CV_EH_SHSTRNDX);
    uint64_t i = names_index(c);
    const cv_sec *s = cv_cubin_sec(c, i);

    if (i == 0 || i >= c->sec.n || s->h.type != CV_SHT_STRTAB)
        return cv_reject(x, CV_R_ELF_SHSTRNDX, at, i, c->sec.n);
    c->shstrtab = cv_cubin_body(c, i);
    return CUVET_OK;
}

/* The symbol tables by role and type; their element size decides whether they can be read. */
static cuvet_status find_symbols(cv_ctx *x, cv_cubin *c, cv_role role, uint32_t type, cv_span *body,
                                 uint32_t *index, uint64_t *n)
{
    uint64_t i = cv_cubin_first(c, role), esize = cv_elf_sym_size(c->h.is32);
    const cv_sec *s = cv_cubin_sec(c, i);

    if (i == 0 || s->h.type != type || s->h.entsize != esize)
        return CUVET_OK;
    if (s->h.size / esize > x->lim.symbols)
        return cv_reject(x, CV_R_LIMIT_SYMBOLS, cv_sec_at(c, i, CV_SH_SIZE), s->h.size / esize,
                         x->lim.symbols);
    *index = (uint32_t)i;
    *body = cv_cubin_body(c, i);
    *n = body->len / esize;
    return CUVET_OK;
}

static cuvet_status find_tables(cv_ctx *x, cv_cubin *c)
{
    cuvet_status s =
        find_symbols(x, c, CV_ROLE_SYMTAB, CV_SHT_SYMTAB, &c->symtab, &c->symtab_index, &c->n_syms);
    uint64_t i = cv_cubin_first(c, CV_ROLE_STRTAB);

    if (s == CUVET_OK)
        s = find_symbols(x, c, CV_ROLE_MERC_SYMTAB, CV_SHT_MERC_SYMTAB, &c->merc_symtab,
                         &c->merc_symtab_index, &c->n_merc_syms);
    if (i != 0 && cv_cubin_sec(c, i)->h.type == CV_SHT_STRTAB)
        c->strtab = cv_cubin_body(c, i);
    i = cv_cubin_first(c, CV_ROLE_SYMTAB_SHNDX);
    if (i != 0 && cv_cubin_sec(c, i)->h.type == CV_SHT_SYMTAB_SHNDX)
        c->symtab_shndx = cv_cubin_body(c, i);
    i = cv_cubin_first(c, CV_ROLE_MERC_SYMTAB_SHNDX);
    if (i != 0 && cv_cubin_sec(c, i)->h.type == CV_SHT_SYMTAB_SHNDX)
        c->merc_shndx = cv_cubin_body(c, i);
    c->has_capsule =
        cv_cubin_first(c, CV_ROLE_CAPMERC_TEXT) != 0 || cv_cubin_first(c, CV_ROLE_CAPMERC_UFT_REL) != 0;
    c->old_tools = c->abi8 && cv_cubin_first(c, CV_ROLE_CUVER) != 0 && cv_cubin_first(c, CV_ROLE_CUINFO) == 0;
    /* Legacy files say nothing about their tool; hand-assembled ones start with the symbol table. */
    c->hand = c->legacy && c->h.shstrndx != 1;
    return s;
}

cuvet_status cv_cubin_header(cv_ctx *x, cv_cubin *c, cv_span image, uint64_t *extent)
{
    cv_span table = { 0 };
    uint64_t n = 0;
    cuvet_status s;

    restart(c, image);
    s = cv_elf_read_header(x, image, &c->h);
    if (s == CUVET_OK)
        s = identify(x, c);
    if (s != CUVET_OK)
        return s;
    read_facts(c);
    check_fixed(x, c);
    c->extent = cv_elf_ehdr_size(c->h.is32);
    s = find_sections(x, c, &table, &n);
    if (s == CUVET_OK)
        s = decode_sections(x, c, table, n);
    if (s == CUVET_OK)
        s = find_segments(x, c);
    if (s == CUVET_OK)
        s = find_names(x, c);
    if (s != CUVET_OK)
        return s;
    name_sections(x, c);
    s = x->work_out ? CUVET_E_LIMIT : find_tables(x, c);
    cv_producer_find(x, c);
    cv_ctx_begin_profile(x, (cv_profile)c->producer.profile, c->producer.stranger);
    check_tables(x, c);
    c->image.len = c->extent;
    *extent = c->extent;
    return s;
}

void cv_cubin_check_tail(cv_ctx *x, cv_span image, uint64_t extent, uint64_t allowed)
{
    cv_span tail = cv_span_tail(image, extent);

    if (tail.len > allowed || cv_span_find_nonzero(tail) < tail.len)
        cv_report(x, CV_R_ELF_TRAILING, tail.off, tail.len, tail.len, allowed);
}

bool cv_cubin_next_kernel(const cv_cubin *c, uint64_t *pos, cv_span *name, cv_elf_symbol *sym)
{
    cv_elf_symbol s;

    for (; *pos < c->n_syms; (*pos)++) {
        cv_elf_read_symbol(c->symtab, c->h.is32, *pos, &s);
        if (cv_elf_sym_type(&s) != CV_STT_FUNC || s.shndx == CV_SHN_UNDEF || !(s.other & CV_STO_ENTRY))
            continue;
        *name = nothing(c);
        if (!cv_span_cstr(c->strtab, s.name, name))
            name->len = 0; /* broken, and reported: the kernel is counted all the same */
        *sym = s;
        (*pos)++;
        return true;
    }
    return false;
}

/* Everything behind the header, by the profile of who wrote it. */
static cuvet_status examine_rest(cv_ctx *x, cv_cubin *c, cv_ledger *ledger)
{
    cuvet_status s = CUVET_OK;

    if (c->conv)
        cv_cubin_read_notes(x, c);
    cv_cubin_check_sections(x, c);
    cv_cubin_check_symbols(x, c);
    s = cv_cubin_check_unique(x, c);
    if (s == CUVET_OK)
        s = cv_cubin_check_relocs(x, c);
    if (s == CUVET_OK && c->conv) {
        cv_cubin_check_pairs(x, c);
        s = cv_cubin_check_meta(x, c);
    }
    if (s == CUVET_OK)
        s = cv_cubin_check_ledger(x, c, ledger);
    if (s == CUVET_OK)
        s = cv_cubin_check_segments(x, c);
    return s == CUVET_OK && x->work_out ? CUVET_E_LIMIT : s;
}

cuvet_status cv_cubin_examine(cv_ctx *x, cv_cubin *c, cv_span image, cv_ledger *ledger, uint64_t *extent)
{
    cuvet_status s = cv_cubin_header(x, c, image, extent);

    if (s == CUVET_OK)
        s = examine_rest(x, c, ledger);
    cv_ctx_end_profile(x, image.off);
    return s;
}

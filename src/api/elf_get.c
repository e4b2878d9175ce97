/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What can be asked of an open device ELF: header, sections, segments, symbols, relocations, strings,
 * kernels. */
#include "api/elf_int.h"
#include "api/opts.h"

static cuvet_bytes bytes_of(cv_span span)
{
    return (cuvet_bytes){ span.base, (size_t)span.len };
}

static cv_span body_of(const elf_obj *obj, const cv_elf_section *section)
{
    if (section->type == CV_SHT_NULL || cv_elf_type_exempt(section->type))
        return cv_elf_obj_part(obj, 0, 0);
    return cv_elf_obj_part(obj, section->off, section->size);
}

/* Longest string that is given out; longer ones are cut. The longest genuine name has a few thousand bytes.
 */
#define STRING_MAX (UINT64_C(64) * 1024)

/* String at off of string table section 'index', from memory that is the caller's. */
static bool string_at(const elf_obj *obj, uint64_t index, uint64_t off, cuvet_bytes *out)
{
    cv_elf_section section;
    cv_span body;
    uint64_t count;

    *out = bytes_of(cv_elf_obj_part(obj, 0, 0));
    if (!cv_elf_obj_section(obj, index, &section) || section.type != CV_SHT_STRTAB || off >= section.size)
        return false;
    body = body_of(obj, &section);
    if (body.len == 0)
        return false;
    /* Many entries may share one huge string: what is looked at for each of them is bounded. */
    body = cv_elf_obj_part(obj, section.off + off, cv_min(section.size - off, STRING_MAX));
    count = cv_span_find_byte(body, 0);
    if (count == body.len && count < STRING_MAX)
        return false;
    *out = (cuvet_bytes){ body.base, (size_t)count };
    return true;
}

static bool is_symtab(const cv_elf_section *section)
{
    return section->type == CV_SHT_SYMTAB || section->type == CV_SHT_MERC_SYMTAB;
}

/* What an entry point wants to know, and where the answer goes: the type of *out is the entry point's. */
typedef struct elf_query {
    uint64_t table, index; /* of elements; 'index' is an offset where strings are meant */
    unsigned flags;
    void *out;
    size_t known; /* bytes of ours, where *out begins with its size; 0: it has none */
} elf_query;

/* Where an answer is put together, before as much of it is given as the caller has room for. */
typedef union room {
    cuvet_elf_header header;
    cuvet_elf_section section;
    cuvet_elf_segment segment;
    cuvet_elf_symbol symbol;
    cuvet_elf_reloc reloc;
} room;

typedef cuvet_status answer(elf_obj *obj, const elf_query *query);

/* The frame of every entry point that asks an open object: arguments, the object in use, the answer, the
 * object given back on whatever way out. */
static cuvet_status ask(cuvet_ctx *ctx, cuvet_elf elf, answer *get, elf_query query)
{
    void *body = NULL, *given = query.out;
    cuvet_status status = CUVET_OK;
    room ours;

    if (!ctx || !query.out)
        return CUVET_E_NULL;
    if (query.known)
        status = cv_opts_room(ctx, given, query.known);
    if (status == CUVET_OK)
        status = cv_handle_get(ctx, CV_H_ELF, elf.bits, &body);
    if (status != CUVET_OK)
        return status;
    query.out = query.known ? &ours : given;
    status = cv_handle_put(ctx, elf.bits, get(body, &query));
    if (status == CUVET_OK && query.known)
        cv_sized_fill(given, &ours, query.known);
    return status;
}

static cuvet_status header(elf_obj *obj, const elf_query *query)
{
    cuvet_elf_header *out = query->out;

    *out = obj->facts;
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_header(cuvet_ctx *ctx, cuvet_elf elf, cuvet_elf_header *out)
{
    return ask(ctx, elf, header, (elf_query){ .out = out, .known = sizeof(*out) });
}

static const char *role_name(cuvet_bytes name)
{
    static const char *const ROLES[CV_N_ROLES] = {
        [CV_ROLE_NONE] = "",
#define ROLE(role, prefix) [CV_ROLE_##role] = (prefix),
#include "roles.def"
#undef ROLE
    };
    uint32_t bank = 0;
    cv_span fn = { 0 };

    return CV_AT(ROLES, cv_cubin_classify(cv_span_of(name.p, name.n, 0), &fn, &bank));
}

static cuvet_status section(elf_obj *obj, const elf_query *query)
{
    cuvet_elf_section *out = query->out;
    cv_elf_section section;

    if (!cv_elf_obj_section(obj, query->index, &section))
        return CUVET_END;
    *out = (cuvet_elf_section){
        .type = section.type,
        .flags = section.flags,
        .addr = section.addr,
        .off = section.off,
        .length = section.size,
        .link = section.link,
        .info = section.info,
        .align = section.align,
        .entsize = section.entsize,
    };
    (void)string_at(obj, obj->shstrndx, section.name, &out->name); /* a broken name is an empty one */
    out->role = role_name(out->name);
    out->body = bytes_of(body_of(obj, &section));
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_section(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index, cuvet_elf_section *out)
{
    return ask(ctx, elf, section, (elf_query){ .index = index, .out = out, .known = sizeof(*out) });
}

static cuvet_status segment(elf_obj *obj, const elf_query *query)
{
    uint64_t each = cv_elf_phdr_size(obj->header.is32);
    cuvet_elf_segment *out = query->out;
    cv_elf_segment segment;

    if (query->index >= obj->n_segments)
        return CUVET_END;
    cv_elf_read_segment(cv_elf_obj_part(obj, obj->header.phoff + query->index * each, each), obj->header.is32,
                        0, &segment);
    *out = (cuvet_elf_segment){
        .type = segment.type,
        .flags = segment.flags,
        .off = segment.off,
        .vaddr = segment.vaddr,
        .paddr = segment.paddr,
        .filesz = segment.filesz,
        .memsz = segment.memsz,
        .align = segment.align,
    };
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_segment(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index, cuvet_elf_segment *out)
{
    return ask(ctx, elf, segment, (elf_query){ .index = index, .out = out, .known = sizeof(*out) });
}

/* Section index of a symbol whose 16-bit field says that it does not hold it. */
static uint32_t extended_shndx(const elf_obj *obj, uint64_t table, uint64_t at)
{
    uint32_t index = table == obj->symtab ? obj->symtab_shndx : table == obj->merc ? obj->merc_shndx : 0;
    cv_elf_section section;

    if (index == 0 || !cv_elf_obj_section(obj, index, &section))
        return CV_SHN_XINDEX;
    return cv_u32_at(body_of(obj, &section), cv_sat_mul(at, 4));
}

/* @return CUVET_OK · CUVET_END · CUVET_E_USAGE */
static cuvet_status symbol_at(const elf_obj *obj, uint64_t table, uint64_t index, bool named,
                              cuvet_elf_symbol *out)
{
    uint64_t each = cv_elf_sym_size(obj->header.is32);
    cv_elf_section section;
    cv_elf_symbol symbol;
    cv_span body;

    if (!cv_elf_obj_section(obj, table, &section) || !is_symtab(&section))
        return CUVET_E_USAGE;
    body = body_of(obj, &section);
    if (index >= body.len / each)
        return CUVET_END;
    cv_elf_read_symbol(body, obj->header.is32, index, &symbol);
    *out = (cuvet_elf_symbol){ .info = symbol.info,
                               .other = symbol.other,
                               .shndx = symbol.shndx,
                               .value = symbol.value,
                               .length = symbol.size };
    if (symbol.shndx == CV_SHN_XINDEX)
        out->shndx = extended_shndx(obj, table, index);
    if (named)
        (void)string_at(obj, section.link, symbol.name, &out->name); /* a broken name is an empty one */
    return CUVET_OK;
}

static cuvet_status symbol(elf_obj *obj, const elf_query *query)
{
    return symbol_at(obj, query->table, query->index, true, query->out);
}

cuvet_status cuvet_elf_get_symbol(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table, uint64_t index,
                                  cuvet_elf_symbol *out)
{
    return ask(ctx, elf, symbol,
               (elf_query){ .table = table, .index = index, .out = out, .known = sizeof(*out) });
}

static cuvet_status reloc(elf_obj *obj, const elf_query *query)
{
    cuvet_elf_reloc *out = query->out;
    cv_elf_section section;
    cv_elf_reloc reloc;
    cv_span body;
    bool rela;

    if (!cv_elf_obj_section(obj, query->table, &section) || !cv_elf_type_is_reloc(section.type))
        return CUVET_E_USAGE;
    rela = section.type != CV_SHT_REL;
    body = body_of(obj, &section);
    if (query->index >= body.len / cv_elf_rel_size(obj->header.is32, rela))
        return CUVET_END;
    cv_elf_read_reloc(body, obj->header.is32, rela, query->index, &reloc);
    *out = (cuvet_elf_reloc){ .off = reloc.off,
                              .sym = reloc.sym,
                              .type = reloc.type,
                              .flags = rela ? CUVET_RELOC_ADDEND : 0,
                              .addend = reloc.addend };
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_reloc(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table, uint64_t index,
                                 cuvet_elf_reloc *out)
{
    return ask(ctx, elf, reloc,
               (elf_query){ .table = table, .index = index, .out = out, .known = sizeof(*out) });
}

static cuvet_status symtab(elf_obj *obj, const elf_query *query)
{
    uint64_t *table = query->out;

    *table = (query->flags & CUVET_SYMTAB_MERCURY) != 0 ? obj->merc : obj->symtab;
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_symtab(cuvet_ctx *ctx, cuvet_elf elf, unsigned flags, uint64_t *table)
{
    if (flags & ~CUVET_SYMTAB_MERCURY)
        return CUVET_E_USAGE;
    return ask(ctx, elf, symtab, (elf_query){ .flags = flags, .out = table });
}

static cuvet_status string(elf_obj *obj, const elf_query *query)
{
    cv_elf_section section;
    uint64_t at = query->table;

    if (!cv_elf_obj_section(obj, at, &section))
        return CUVET_E_USAGE;
    /* A section that names symbols links to the symbol table, that one to its strings. */
    for (int hops = 0; hops < 2 && section.type != CV_SHT_STRTAB; hops++) {
        at = section.link;
        if (!cv_elf_obj_section(obj, at, &section))
            break;
    }
    return string_at(obj, at, query->index, query->out) ? CUVET_OK : CUVET_E_NO_MATCH;
}

cuvet_status cuvet_elf_get_string(cuvet_ctx *ctx, cuvet_elf elf, uint64_t table, uint64_t off,
                                  cuvet_bytes *out)
{
    return ask(ctx, elf, string, (elf_query){ .table = table, .index = off, .out = out });
}

static bool is_kernel(const cuvet_elf_symbol *symbol)
{
    return (symbol->info & 15) == CV_STT_FUNC && (symbol->other & CV_STO_ENTRY) != 0 &&
           symbol->shndx != CV_SHN_UNDEF;
}

/* Callers count up: the walk goes on where it stopped. */
static cuvet_status kernel(elf_obj *obj, const elf_query *query)
{
    cuvet_bytes *name = query->out;
    cuvet_elf_symbol symbol;
    cuvet_status status;

    if (query->index < obj->next_kernel)
        obj->next_kernel = obj->next_symbol = 0;
    while (obj->symtab != 0 && symbol_at(obj, obj->symtab, obj->next_symbol, false, &symbol) == CUVET_OK) {
        obj->next_symbol++;
        if (!is_kernel(&symbol) || obj->next_kernel++ < query->index)
            continue;
        status = symbol_at(obj, obj->symtab, obj->next_symbol - 1, true, &symbol);
        if (status == CUVET_OK)
            *name = symbol.name;
        return status;
    }
    return CUVET_END;
}

cuvet_status cuvet_elf_get_kernel(cuvet_ctx *ctx, cuvet_elf elf, uint64_t index, cuvet_bytes *name)
{
    return ask(ctx, elf, kernel, (elf_query){ .index = index, .out = name });
}

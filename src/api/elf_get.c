/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What can be asked of an open device ELF: header, sections, segments, symbols, relocations, strings,
 * kernels. */
#include "api/elf_int.h"
#include "api/opts.h"

static cuvet_bytes bytes_of(cv_span s)
{
    return (cuvet_bytes){ s.base, (size_t)s.len };
}

static cv_span body_of(const elf_obj *o, const cv_elf_section *s)
{
    if (s->type == CV_SHT_NULL || cv_elf_type_exempt(s->type))
        return cv_elf_obj_part(o, 0, 0);
    return cv_elf_obj_part(o, s->off, s->size);
}

/* Longest string that is given out; longer ones are cut. The longest genuine name has a few thousand bytes.
 */
#define STRING_MAX (UINT64_C(64) * 1024)

/* String at off of string table section i, from memory that is the caller's. */
static bool string_at(const elf_obj *o, uint64_t i, uint64_t off, cuvet_bytes *out)
{
    cv_elf_section s;
    cv_span body;
    uint64_t n;

    *out = bytes_of(cv_elf_obj_part(o, 0, 0));
    if (!cv_elf_obj_section(o, i, &s) || s.type != CV_SHT_STRTAB || off >= s.size)
        return false;
    body = body_of(o, &s);
    if (body.len == 0)
        return false;
    /* Many entries may share one huge string: what is looked at for each of them is bounded. */
    body = cv_elf_obj_part(o, s.off + off, cv_min(s.size - off, STRING_MAX));
    n = cv_span_find_byte(body, 0);
    if (n == body.len && n < STRING_MAX)
        return false;
    *out = (cuvet_bytes){ body.base, (size_t)n };
    return true;
}

static bool is_symtab(const cv_elf_section *s)
{
    return s->type == CV_SHT_SYMTAB || s->type == CV_SHT_MERC_SYMTAB;
}

/* What an entry point wants to know, and where the answer goes: the type of *out is the entry point's. */
typedef struct query {
    uint64_t table, i; /* of elements; i is an offset where strings are meant */
    bool mercury;
    void *out;
    size_t known; /* bytes of ours, where *out begins with its size; 0: it has none */
} query;

/* Where an answer is put together, before as much of it is given as the caller has room for. */
typedef union room {
    cuvet_elf_header header;
    cuvet_elf_section section;
    cuvet_elf_segment segment;
    cuvet_elf_symbol symbol;
    cuvet_elf_reloc reloc;
} room;

typedef cuvet_status answer(elf_obj *o, const query *q);

/* The frame of every entry point that asks an open object: arguments, the object in use, the answer, the
 * object given back on whatever way out. */
static cuvet_status ask(cuvet_ctx *ctx, cuvet_elf e, answer *f, query q)
{
    void *body = NULL, *given = q.out;
    cuvet_status st = CUVET_OK;
    room ours;

    if (!ctx || !q.out)
        return CUVET_E_NULL;
    if (q.known)
        st = cv_opts_room(ctx, given, q.known);
    if (st == CUVET_OK)
        st = cv_handle_get(ctx, CV_H_ELF, e.bits, &body);
    if (st != CUVET_OK)
        return st;
    q.out = q.known ? &ours : given;
    st = cv_handle_put(ctx, e.bits, f(body, &q));
    if (st == CUVET_OK && q.known && !cv_sized_give(given, &ours, q.known))
        st = CUVET_E_USAGE;
    return st;
}

static cuvet_status header(elf_obj *o, const query *q)
{
    cuvet_elf_header *out = q->out;

    *out = o->facts;
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_header(cuvet_ctx *ctx, cuvet_elf e, cuvet_elf_header *out)
{
    return ask(ctx, e, header, (query){ .out = out, .known = sizeof(*out) });
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

static cuvet_status section(elf_obj *o, const query *q)
{
    cuvet_elf_section *out = q->out;
    cv_elf_section s;

    if (!cv_elf_obj_section(o, q->i, &s))
        return CUVET_END;
    *out = (cuvet_elf_section){
        .type = s.type,
        .flags = s.flags,
        .addr = s.addr,
        .off = s.off,
        .length = s.size,
        .link = s.link,
        .info = s.info,
        .align = s.align,
        .entsize = s.entsize,
    };
    (void)string_at(o, o->shstrndx, s.name, &out->name); /* a broken name is an empty one */
    out->role = role_name(out->name);
    out->body = bytes_of(body_of(o, &s));
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_section(cuvet_ctx *ctx, cuvet_elf e, uint64_t i, cuvet_elf_section *out)
{
    return ask(ctx, e, section, (query){ .i = i, .out = out, .known = sizeof(*out) });
}

static cuvet_status segment(elf_obj *o, const query *q)
{
    uint64_t each = cv_elf_phdr_size(o->h.is32);
    cuvet_elf_segment *out = q->out;
    cv_elf_segment g;

    if (q->i >= o->n_segments)
        return CUVET_END;
    cv_elf_read_segment(cv_elf_obj_part(o, o->h.phoff + q->i * each, each), o->h.is32, 0, &g);
    *out = (cuvet_elf_segment){
        .type = g.type,
        .flags = g.flags,
        .off = g.off,
        .vaddr = g.vaddr,
        .paddr = g.paddr,
        .filesz = g.filesz,
        .memsz = g.memsz,
        .align = g.align,
    };
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_segment(cuvet_ctx *ctx, cuvet_elf e, uint64_t i, cuvet_elf_segment *out)
{
    return ask(ctx, e, segment, (query){ .i = i, .out = out, .known = sizeof(*out) });
}

/* Section index of a symbol whose 16-bit field says that it does not hold it. */
static uint32_t extended_shndx(const elf_obj *o, uint64_t table, uint64_t i)
{
    uint32_t index = table == o->symtab ? o->symtab_shndx : table == o->merc ? o->merc_shndx : 0;
    cv_elf_section s;

    if (index == 0 || !cv_elf_obj_section(o, index, &s))
        return CV_SHN_XINDEX;
    return cv_u32_at(body_of(o, &s), cv_sat_mul(i, 4));
}

/* @return CUVET_OK · CUVET_END · CUVET_E_USAGE */
static cuvet_status symbol_at(const elf_obj *o, uint64_t table, uint64_t i, bool named, cuvet_elf_symbol *out)
{
    uint64_t each = cv_elf_sym_size(o->h.is32);
    cv_elf_section s;
    cv_elf_symbol y;
    cv_span body;

    if (!cv_elf_obj_section(o, table, &s) || !is_symtab(&s))
        return CUVET_E_USAGE;
    body = body_of(o, &s);
    if (i >= body.len / each)
        return CUVET_END;
    cv_elf_read_symbol(body, o->h.is32, i, &y);
    *out = (cuvet_elf_symbol){
        .info = y.info, .other = y.other, .shndx = y.shndx, .value = y.value, .length = y.size
    };
    if (y.shndx == CV_SHN_XINDEX)
        out->shndx = extended_shndx(o, table, i);
    if (named)
        (void)string_at(o, s.link, y.name, &out->name); /* a broken name is an empty one */
    return CUVET_OK;
}

static cuvet_status symbol(elf_obj *o, const query *q)
{
    return symbol_at(o, q->table, q->i, true, q->out);
}

cuvet_status cuvet_elf_get_symbol(cuvet_ctx *ctx, cuvet_elf e, uint64_t table, uint64_t i,
                                  cuvet_elf_symbol *out)
{
    return ask(ctx, e, symbol, (query){ .table = table, .i = i, .out = out, .known = sizeof(*out) });
}

static cuvet_status reloc(elf_obj *o, const query *q)
{
    cuvet_elf_reloc *out = q->out;
    cv_elf_section s;
    cv_elf_reloc r;
    cv_span body;
    bool rela;

    if (!cv_elf_obj_section(o, q->table, &s) || !cv_elf_type_is_reloc(s.type))
        return CUVET_E_USAGE;
    rela = s.type != CV_SHT_REL;
    body = body_of(o, &s);
    if (q->i >= body.len / cv_elf_rel_size(o->h.is32, rela))
        return CUVET_END;
    cv_elf_read_reloc(body, o->h.is32, rela, q->i, &r);
    *out = (cuvet_elf_reloc){
        .off = r.off, .sym = r.sym, .type = r.type, .has_addend = rela, .addend = r.addend
    };
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_reloc(cuvet_ctx *ctx, cuvet_elf e, uint64_t table, uint64_t i,
                                 cuvet_elf_reloc *out)
{
    return ask(ctx, e, reloc, (query){ .table = table, .i = i, .out = out, .known = sizeof(*out) });
}

static cuvet_status symtab(elf_obj *o, const query *q)
{
    uint64_t *table = q->out;

    *table = q->mercury ? o->merc : o->symtab;
    return CUVET_OK;
}

cuvet_status cuvet_elf_get_symtab(cuvet_ctx *ctx, cuvet_elf e, bool mercury, uint64_t *table)
{
    return ask(ctx, e, symtab, (query){ .mercury = mercury, .out = table });
}

static cuvet_status string(elf_obj *o, const query *q)
{
    cv_elf_section s;
    uint64_t at = q->table;

    if (!cv_elf_obj_section(o, at, &s))
        return CUVET_E_USAGE;
    /* A section that names symbols links to the symbol table, that one to its strings. */
    for (int hops = 0; hops < 2 && s.type != CV_SHT_STRTAB; hops++) {
        at = s.link;
        if (!cv_elf_obj_section(o, at, &s))
            break;
    }
    return string_at(o, at, q->i, q->out) ? CUVET_OK : CUVET_E_NO_MATCH;
}

cuvet_status cuvet_elf_get_string(cuvet_ctx *ctx, cuvet_elf e, uint64_t table, uint64_t off, cuvet_bytes *out)
{
    return ask(ctx, e, string, (query){ .table = table, .i = off, .out = out });
}

static bool is_kernel(const cuvet_elf_symbol *y)
{
    return (y->info & 15) == CV_STT_FUNC && (y->other & CV_STO_ENTRY) != 0 && y->shndx != CV_SHN_UNDEF;
}

/* Callers count up: the walk goes on where it stopped. */
static cuvet_status kernel(elf_obj *o, const query *q)
{
    cuvet_bytes *name = q->out;
    cuvet_elf_symbol y;
    cuvet_status st;

    if (q->i < o->next_kernel)
        o->next_kernel = o->next_symbol = 0;
    while (o->symtab != 0 && symbol_at(o, o->symtab, o->next_symbol, false, &y) == CUVET_OK) {
        o->next_symbol++;
        if (!is_kernel(&y) || o->next_kernel++ < q->i)
            continue;
        st = symbol_at(o, o->symtab, o->next_symbol - 1, true, &y);
        if (st == CUVET_OK)
            *name = y.name;
        return st;
    }
    return CUVET_END;
}

cuvet_status cuvet_elf_get_kernel(cuvet_ctx *ctx, cuvet_elf e, uint64_t i, cuvet_bytes *name)
{
    return ask(ctx, e, kernel, (query){ .i = i, .out = name });
}

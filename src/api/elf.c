/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inspection of one device ELF. Elements are decoded from the caller's image on each call, so that a damaged
 * file can be looked at as far as it goes; the model is built once, at open, for its findings and for the
 * facts that come from notes. */
#include <cuvet/elf.h>

#include "api/ctx.h"
#include "api/handle.h"
#include "format/tlv/attr.h"
#include "model/cubin.h"

typedef struct elf_obj {
    const uint8_t *image; /* the caller's */
    uint64_t size;        /* of the ELF: what padding follows it is not looked at */
    cv_elf_header h;
    uint64_t n_sections, n_segments;
    uint32_t shstrndx;                               /* extended numbering applied; 0: none */
    uint32_t symtab, merc, symtab_shndx, merc_shndx; /* section indices, 0: none */
    uint64_t next_kernel, next_symbol;               /* where the walk of cuvet_elf_kernel() stands */
    cuvet_elf_header facts;
    cv_ctx x; /* of the examination */
} elf_obj;

/* A part of the image; the empty span when it does not lie in it. Spans of this file are made for one call
 * and never kept: what callers get must be their own memory, which the copies of sanitizer builds are not. */
static cv_span part(const elf_obj *o, uint64_t off, uint64_t len)
{
    if (!cv_span_has(cv_span_of(o->image, o->size, 0), off, len))
        return cv_span_of(o->image, 0, off);
    return cv_span_of(o->image + off, len, off);
}

static cuvet_bytes bytes_of(cv_span s)
{
    return (cuvet_bytes){ s.base, (size_t)s.len };
}

static cv_span span_of(cuvet_bytes b)
{
    return cv_span_of(b.p, b.n, 0);
}

static bool section_at(const elf_obj *o, uint64_t i, cv_elf_section *out)
{
    uint64_t each = cv_elf_shdr_size(o->h.is32);

    if (i >= o->n_sections)
        return false;
    cv_elf_read_section(part(o, o->h.shoff + i * each, each), o->h.is32, 0, out);
    return true;
}

static cv_span body_of(const elf_obj *o, const cv_elf_section *s)
{
    if (s->type == CV_SHT_NULL || cv_elf_type_exempt(s->type))
        return part(o, 0, 0);
    return part(o, s->off, s->size);
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

    *out = bytes_of(part(o, 0, 0));
    if (!section_at(o, i, &s) || s.type != CV_SHT_STRTAB || off >= s.size)
        return false;
    body = body_of(o, &s);
    if (body.len == 0)
        return false;
    /* Many entries may share one huge string: what is looked at for each of them is bounded. */
    body = part(o, s.off + off, cv_min(s.size - off, STRING_MAX));
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

/* Tables that lie in the image; a table that does not has no elements. */
static void count_tables(elf_obj *o)
{
    cv_elf_section zero = { 0 };
    uint64_t each = cv_elf_shdr_size(o->h.is32), n = o->h.shnum, len;

    cv_elf_read_section(part(o, o->h.shoff, each), o->h.is32, 0, &zero);
    if (n == 0 && o->h.shoff != 0)
        n = zero.size;
    o->shstrndx = o->h.shstrndx == CV_SHN_XINDEX ? zero.link : o->h.shstrndx;
    if (o->h.shoff != 0 && o->h.shentsize == each && cv_mul(n, each, &len) &&
        part(o, o->h.shoff, len).len == len)
        o->n_sections = n;
    each = cv_elf_phdr_size(o->h.is32);
    len = o->h.phnum * each;
    if (o->h.phentsize == each && part(o, o->h.phoff, len).len == len)
        o->n_segments = o->h.phnum;
}

/* First symbol table of each kind and the tables of large section indices that belong to them.
 * Not a part of the frame of examine(), as is fill_facts(). */
static __attribute__((noinline)) cuvet_status find_tables(cv_ctx *x, elf_obj *o)
{
    cv_elf_section s;

    if (o->n_sections > x->lim.sections)
        return cv_reject(x, CV_R_LIMIT_SECTIONS, o->h.shoff, o->n_sections, x->lim.sections);
    if (!cv_work(x, 2 * o->n_sections, o->h.shoff))
        return CUVET_E_LIMIT;
    for (uint32_t i = 1; i < o->n_sections; i++) {
        (void)section_at(o, i, &s); /* i is in range */
        if (s.type == CV_SHT_SYMTAB && o->symtab == 0)
            o->symtab = i;
        if (s.type == CV_SHT_MERC_SYMTAB && o->merc == 0)
            o->merc = i;
    }
    for (uint32_t i = 1; i < o->n_sections; i++) {
        (void)section_at(o, i, &s);
        if (s.type == CV_SHT_SYMTAB_SHNDX && s.link == o->symtab && o->symtab_shndx == 0)
            o->symtab_shndx = i;
        if (s.type == CV_SHT_SYMTAB_SHNDX && s.link == o->merc && o->merc_shndx == 0)
            o->merc_shndx = i;
    }
    return CUVET_OK;
}

static __attribute__((noinline)) void fill_facts(elf_obj *o, const cv_cubin *c, bool examined)
{
    const cv_elf_header *h = &o->h;
    bool legacy = h->osabi == CV_OSABI_LEGACY;

    o->facts = (cuvet_elf_header){
        .is32 = h->is32,
        .osabi = h->osabi,
        .abiversion = h->abiversion,
        .type = h->type,
        .machine = h->machine,
        .version = h->version,
        .flags = h->flags,
        .entry = h->entry,
        .phoff = h->phoff,
        .shoff = h->shoff,
        .ehsize = h->ehsize,
        .phentsize = h->phentsize,
        .phnum = h->phnum,
        .shentsize = h->shentsize,
        .shnum = h->shnum,
        .shstrndx = h->shstrndx,
        .n_sections = o->n_sections,
        .n_segments = o->n_segments,
        .extent = o->size,
        .sm = legacy ? h->flags & 0xFF : h->flags >> 8 & 0xFFFF,
        .virtual_sm = c->virtual_sm,
        .toolkit = c->toolkit,
        .suffix = c->suffix,
        .examined = examined,
    };
}

/* Facts and findings of the whole examination. What cannot be examined can still be shown when its tables are
 * readable. */
/* Its picture of the cubin is large: kept out of the frame of cuvet_elf_open(). */
static __attribute__((noinline)) cuvet_status examine(cv_ctx *x, elf_obj *o, uint64_t n)
{
    cv_span image = cv_span_of(o->image, n, 0);
    cv_cubin c;
    uint64_t extent = n;
    cuvet_status st;

    cv_cubin_init(&c);
    cv_ctx_unit(x, n);
    cv_path_push(x, CUVET_P_ELF, false, 0);
    st = cv_cubin_examine(x, &c, image, NULL, &extent);
    if (st != CUVET_E_NOMEM && cv_elf_peek(image, &o->h)) {
        bool whole = st == CUVET_OK;

        o->size = whole ? extent : n;
        count_tables(o);
        if (st != CUVET_E_LIMIT)
            st = o->n_sections > 0 || whole ? find_tables(x, o) : st;
        fill_facts(o, &c, whole);
    }
    cv_path_pop(x);
    cv_cubin_free(x, &c);
    return st;
}

/* What an entry point wants to know, and where the answer goes: the type of *out is the entry point's. */
typedef struct query {
    uint64_t table, i; /* of elements; i is an offset where strings are meant */
    bool mercury;
    void *out;
} query;

typedef cuvet_status answer(elf_obj *o, const query *q);

/* The frame of every entry point that asks an open object: arguments, the object in use, the answer, the
 * object given back on whatever way out. */
static cuvet_status ask(cuvet_ctx *ctx, cuvet_elf e, answer *f, query q)
{
    void *body = NULL;
    cuvet_status st;

    if (!ctx || !q.out)
        return CUVET_E_USAGE;
    st = cv_handle_get(ctx, CV_H_ELF, e.bits, &body);
    if (st != CUVET_OK)
        return st;
    st = f(body, &q);
    cv_handle_put(ctx, e.bits);
    return st;
}

/* The object owns nothing but its body once it is open: the model is gone. */
static void end(cuvet_ctx *ctx, void *body)
{
    const elf_obj *o = body;

    cv_ctx_note_peak(ctx, o->x.mem.peak);
}

cuvet_status cuvet_elf_open(cuvet_ctx *ctx, const void *image, size_t n, cuvet_elf *out)
{
    cuvet_elf e = { 0 };
    void *body = NULL;
    elf_obj *o;
    cuvet_status st;

    if (!ctx || !out || (!image && n > 0))
        return CUVET_E_USAGE;
    st = cv_handle_new(ctx, CV_H_ELF, sizeof(*o), end, &e.bits, &body);
    if (st != CUVET_OK)
        return st;
    o = body;
    o->image = image;
    cv_ctx_init(&o->x, &ctx->alloc, &ctx->lim);
    o->x.emit = cv_ctx_emit;
    o->x.emit_user = ctx;
    st = examine(&o->x, o, n);
    if (st == CUVET_OK)
        *out = e;
    else if (cv_handle_destroy(ctx, CV_H_ELF, e.bits) != CUVET_OK) /* in use by us: the put below ends it */
        st = CUVET_E_INTERNAL;
    cv_handle_put(ctx, e.bits);
    return st;
}

cuvet_status cuvet_elf_close(cuvet_ctx *ctx, cuvet_elf *e)
{
    cuvet_status st = ctx && e ? cv_handle_destroy(ctx, CV_H_ELF, e->bits) : CUVET_E_USAGE;

    if (st == CUVET_OK)
        e->bits = 0;
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
    return ask(ctx, e, header, (query){ .out = out });
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

    return CV_AT(ROLES, cv_cubin_classify(span_of(name), &fn, &bank));
}

static cuvet_status section(elf_obj *o, const query *q)
{
    cuvet_elf_section *out = q->out;
    cv_elf_section s;

    if (!section_at(o, q->i, &s))
        return CUVET_END;
    *out = (cuvet_elf_section){
        .type = s.type,
        .flags = s.flags,
        .addr = s.addr,
        .off = s.off,
        .size = s.size,
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
    return ask(ctx, e, section, (query){ .i = i, .out = out });
}

static cuvet_status segment(elf_obj *o, const query *q)
{
    uint64_t each = cv_elf_phdr_size(o->h.is32);
    cuvet_elf_segment *out = q->out;
    cv_elf_segment g;

    if (q->i >= o->n_segments)
        return CUVET_END;
    cv_elf_read_segment(part(o, o->h.phoff + q->i * each, each), o->h.is32, 0, &g);
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
    return ask(ctx, e, segment, (query){ .i = i, .out = out });
}

/* Section index of a symbol whose 16-bit field says that it does not hold it. */
static uint32_t extended_shndx(const elf_obj *o, uint64_t table, uint64_t i)
{
    uint32_t index = table == o->symtab ? o->symtab_shndx : table == o->merc ? o->merc_shndx : 0;
    cv_elf_section s;

    if (index == 0 || !section_at(o, index, &s))
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

    if (!section_at(o, table, &s) || !is_symtab(&s))
        return CUVET_E_USAGE;
    body = body_of(o, &s);
    if (i >= body.len / each)
        return CUVET_END;
    cv_elf_read_symbol(body, o->h.is32, i, &y);
    *out = (cuvet_elf_symbol){
        .info = y.info, .other = y.other, .shndx = y.shndx, .value = y.value, .size = y.size
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
    return ask(ctx, e, symbol, (query){ .table = table, .i = i, .out = out });
}

static cuvet_status reloc(elf_obj *o, const query *q)
{
    cuvet_elf_reloc *out = q->out;
    cv_elf_section s;
    cv_elf_reloc r;
    cv_span body;
    bool rela;

    if (!section_at(o, q->table, &s) ||
        (s.type != CV_SHT_REL && s.type != CV_SHT_RELA && s.type != CV_SHT_MERC_RELA))
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
    return ask(ctx, e, reloc, (query){ .table = table, .i = i, .out = out });
}

static cuvet_status symtab(elf_obj *o, const query *q)
{
    uint64_t *table = q->out;

    *table = q->mercury ? o->merc : o->symtab;
    return CUVET_OK;
}

cuvet_status cuvet_elf_symtab(cuvet_ctx *ctx, cuvet_elf e, bool mercury, uint64_t *table)
{
    return ask(ctx, e, symtab, (query){ .mercury = mercury, .out = table });
}

static cuvet_status string(elf_obj *o, const query *q)
{
    cv_elf_section s;
    uint64_t at = q->table;

    if (!section_at(o, at, &s))
        return CUVET_E_USAGE;
    /* A section that names symbols links to the symbol table, that one to its strings. */
    for (int hops = 0; hops < 2 && s.type != CV_SHT_STRTAB; hops++) {
        at = s.link;
        if (!section_at(o, at, &s))
            break;
    }
    return string_at(o, at, q->i, q->out) ? CUVET_OK : CUVET_E_NO_MATCH;
}

cuvet_status cuvet_elf_string(cuvet_ctx *ctx, cuvet_elf e, uint64_t table, uint64_t off, cuvet_bytes *out)
{
    return ask(ctx, e, string, (query){ .table = table, .i = off, .out = out });
}

const char *cuvet_eiattr_name(uint32_t code)
{
    return cv_eiattr_name(code);
}

const char *cuvet_compat_name(uint32_t tag)
{
    return cv_compat_name(tag);
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

cuvet_status cuvet_elf_kernel(cuvet_ctx *ctx, cuvet_elf e, uint64_t i, cuvet_bytes *name)
{
    return ask(ctx, e, kernel, (query){ .i = i, .out = name });
}

/* The records below are read without a context to report to: the examination at open has said what is wrong
 * with them. */
static cuvet_status broken(void)
{
    cuvet_status st = CUVET_E_MALFORMED;

    return st;
}

cuvet_status cuvet_tlv_next(cuvet_bytes section, uint64_t *pos, cuvet_tlv *out)
{
    cv_span s = span_of(section);
    cuvet_tlv t = { 0 };
    uint64_t n;

    if (!pos || !out || (!section.p && section.n > 0) || *pos > s.len)
        return CUVET_E_USAGE;
    if (*pos == s.len)
        return CUVET_END;
    t.off = *pos;
    t.format = cv_u8_at(s, t.off);
    t.code = cv_u8_at(s, t.off + 1);
    t.value = cv_u16_at(s, t.off + 2);
    n = t.format == 4 ? t.value : 0;
    if (t.format < 1 || t.format > 4 || !cv_span_has(s, t.off, 4 + n))
        return broken();
    t.payload = (cuvet_bytes){ section.p + t.off + 4, (size_t)n };
    /* Records begin aligned; the padding of a payload that is not a multiple of four may be missing at the
     * end. */
    *pos = cv_min(cv_sat_align(t.off + 4 + n, 4), s.len);
    *out = t;
    return CUVET_OK;
}

cuvet_status cuvet_note_next(cuvet_bytes section, uint64_t *pos, cuvet_note *out)
{
    cv_span s = span_of(section);
    cuvet_note t = { 0 };
    uint64_t name, desc, at;

    if (!pos || !out || (!section.p && section.n > 0) || *pos > s.len)
        return CUVET_E_USAGE;
    if (*pos == s.len)
        return CUVET_END;
    t.off = *pos;
    t.type = cv_u32_at(s, t.off + 8);
    name = cv_u32_at(s, t.off);
    desc = cv_u32_at(s, t.off + 4);
    at = t.off + 12 + cv_sat_align(name, 4);
    if (!cv_span_has(s, t.off, 12) || !cv_span_has(s, at, desc))
        return broken();
    t.name = (cuvet_bytes){ section.p + t.off + 12, (size_t)name };
    t.desc = (cuvet_bytes){ section.p + at, (size_t)desc };
    *pos = cv_min(at + cv_sat_align(desc, 4), s.len);
    *out = t;
    return CUVET_OK;
}

const char *cuvet_reloc_name(uint32_t type)
{
    return cv_elf_reloc_name(type);
}

const char *cuvet_section_type_name(uint32_t type)
{
    return cv_elf_section_type_name(type);
}

const char *cuvet_segment_type_name(uint32_t type)
{
    return cv_elf_segment_type_name(type);
}

const char *cuvet_symbol_type_name(uint32_t type)
{
    return type < 16 ? cv_elf_symbol_type_name((uint8_t)type) : NULL;
}

const char *cuvet_symbol_bind_name(uint32_t bind)
{
    return bind < 16 ? cv_elf_symbol_bind_name((uint8_t)bind) : NULL;
}

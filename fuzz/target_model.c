/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes to the picture of a device ELF and back. Every number that the picture of a clean file holds names
 * something that is there: later stages look nothing up twice. Every table written again from what was
 * decoded gives the bytes of the file. */
#include "common.h"

#include "cubin/cubin.h"
#include "format/elf/write.h"
#include "format/meta/read.h"
#include "mutate.h"

static bool reserved(uint32_t shndx)
{
    return shndx >= CV_SHN_LORESERVE;
}

static void check_getters(const cv_cubin *c)
{
    FZ_CHECK(cv_cubin_sec(c, c->sec.n)->h.size == 0 && cv_cubin_sec(c, UINT64_MAX)->role == CV_ROLE_NONE,
             "what is not there is nothing");
    FZ_CHECK(cv_cubin_body(c, c->sec.n).len == 0, "and has no bytes");
    FZ_CHECK(cv_cubin_first(c, CV_N_ROLES) == 0, "no such role");
    for (unsigned r = 1; r < CV_N_ROLES; r++) {
        uint32_t i = cv_cubin_first(c, (cv_role)r);

        FZ_CHECK(i < c->sec.n && (i == 0 || cv_cubin_sec(c, i)->role == (cv_role)r), "the first of its role");
    }
    FZ_CHECK(c->symtab_index < c->sec.n && c->merc_symtab_index < c->sec.n, "symbol tables");
}

static void check_section(fz *f, const cv_cubin *c, uint64_t i, bool clean)
{
    const cv_sec *s = cv_cubin_sec(c, i);
    cv_span body = cv_cubin_body(c, i), fn = s->fn;

    fz_inside(f, body);
    FZ_CHECK(body.len == 0 || body.len == s->h.size, "a body is whole or not there");
    FZ_CHECK(s->in_file || body.len == 0, "in the file");
    FZ_CHECK(s->info_sec < c->sec.n && s->capsule < c->sec.n && s->const0 < c->sec.n, "partners");
    FZ_CHECK(s->sym <= c->n_syms && s->merc_sym <= c->n_merc_syms && s->kernel_sym <= c->n_syms, "symbols");
    FZ_CHECK(s->role < CV_N_ROLES && fn.len <= s->name.len + 32, "a role and its function");
    if (clean) {
        FZ_CHECK(s->h.link < c->sec.n, "a clean file links sections that are there");
        FZ_CHECK(s->h.align < 2 || cv_is_pow2(s->h.align), "aligned to powers of two");
    }
    fz_note(f, s->role ^ (uint64_t)s->bank << 16 ^ s->h.size << 24);
}

static void check_symbols(const cv_cubin *c, bool merc)
{
    cv_span table = merc ? c->merc_symtab : c->symtab, name;
    uint64_t n = merc ? c->n_merc_syms : c->n_syms;

    for (uint64_t i = 0; i < n; i++) {
        cv_elf_symbol s;
        uint32_t shndx;

        cv_elf_read_symbol(table, c->h.is32, i, &s);
        shndx = cv_cubin_shndx(c, merc, i, &s);
        FZ_CHECK(cv_span_cstr(c->strtab, s.name, &name), "a symbol has a name");
        FZ_CHECK(shndx < c->sec.n || reserved(shndx), "and a section");
        FZ_CHECK(!merc || i < n, "in either table");
    }
}

/* Entries name symbols, and places in what they patch. */
static void check_relocations(const cv_cubin *c, uint64_t i)
{
    const cv_sec *s = cv_cubin_sec(c, i), *t = cv_cubin_sec(c, s->h.info);
    bool rela = s->role == CV_ROLE_RELA;
    uint64_t each = cv_elf_rel_size(c->h.is32, rela);
    cv_span body = cv_cubin_body(c, i);
    cv_elf_reloc r;

    FZ_CHECK(s->h.info && s->h.info < c->sec.n, "a section that is patched");
    FZ_CHECK(body.len % each == 0, "whole entries");
    for (uint64_t k = 0; k < body.len / each; k++) {
        cv_elf_read_reloc(body, c->h.is32, rela, k, &r);
        FZ_CHECK(r.sym < c->n_syms, "a symbol");
        FZ_CHECK(r.off < t->h.size && cv_reloc_of(r.type)->bytes <= t->h.size - r.off, "a place");
    }
}

static void check_graph(fz *f, const cv_cubin *c)
{
    cv_span graph = cv_cubin_body(c, cv_cubin_first(c, CV_ROLE_CALLGRAPH));
    cv_span protos = cv_cubin_body(c, cv_cubin_first(c, CV_ROLE_PROTOTYPE));
    cv_call_cur cur = { 0 };
    uint64_t pos = 0;
    cv_proto p;
    cv_span text;
    cv_call e;

    while (cv_callgraph_next(&f->x, graph, &cur, &e) == CUVET_OK) {
        FZ_CHECK(e.from < c->n_syms, "an edge begins at a symbol");
        if (e.part == CV_CALL_DIRECT)
            FZ_CHECK(e.to < c->n_syms, "and ends at one");
    }
    while (cv_prototype_next(&f->x, protos, &pos, &p) == CUVET_OK)
        FZ_CHECK(p.symbol < c->n_syms && cv_span_cstr(c->strtab, p.string, &text), "a prototype of a symbol");
}

/* Written again, a table is the bytes it was read from. */
static void same(const cv_builder *b, cv_span where)
{
    FZ_CHECK(!b->failed && cv_span_eq(cv_builder_span(b), where), "write after read gives the same bytes");
}

static void write_table(fz *f, const cv_cubin *c, uint64_t i)
{
    const cv_sec *s = cv_cubin_sec(c, i);
    bool rela = s->role == CV_ROLE_RELA, symbols = s->h.type == CV_SHT_SYMTAB;
    uint64_t each = symbols ? cv_elf_sym_size(c->h.is32) : cv_elf_rel_size(c->h.is32, rela);
    cv_span body = cv_cubin_body(c, i);
    cv_elf_symbol y;
    cv_elf_reloc r;
    cv_builder b;

    if (!symbols && !rela && s->role != CV_ROLE_REL)
        return;
    cv_builder_init(&b, &f->x.mem);
    for (uint64_t k = 0; k < body.len / each; k++) {
        if (symbols) {
            cv_elf_read_symbol(body, c->h.is32, k, &y);
            cv_elf_write_symbol(&b, c->h.is32, &y);
        } else {
            cv_elf_read_reloc(body, c->h.is32, rela, k, &r);
            cv_elf_write_reloc(&b, c->h.is32, rela, &r);
        }
    }
    if (body.len % each == 0 && f->x.lim.live >= CV_MIB)
        same(&b, body);
    cv_builder_free(&b);
}

static void write_headers(fz *f, const cv_cubin *c)
{
    cv_span image = c->image, part;
    cv_elf_segment p;
    cv_builder b;

    cv_builder_init(&b, &f->x.mem);
    cv_elf_write_header(&b, &c->h);
    if (c->h.pad_nonzero == 0 && cv_span_sub(image, 0, cv_elf_ehdr_size(c->h.is32), &part))
        same(&b, part);
    cv_builder_free(&b);
    cv_builder_init(&b, &f->x.mem);
    for (uint64_t i = 0; i < c->sec.n; i++)
        cv_elf_write_section(&b, c->h.is32, &cv_cubin_sec(c, i)->h);
    if (c->sec.n) {
        FZ_CHECK(cv_span_sub(image, c->h.shoff, c->sec.n * cv_elf_shdr_size(c->h.is32), &part), "a table");
        same(&b, part);
    }
    cv_builder_free(&b);
    cv_builder_init(&b, &f->x.mem);
    if (c->h.phnum && cv_span_sub(image, c->h.phoff, c->h.phnum * cv_elf_phdr_size(c->h.is32), &part)) {
        for (uint64_t i = 0; i < c->h.phnum; i++) {
            cv_elf_read_segment(part, c->h.is32, i, &p);
            cv_elf_write_segment(&b, c->h.is32, &p);
        }
        same(&b, part);
    }
    cv_builder_free(&b);
}

static void check(fz *f, const cv_cubin *c)
{
    bool clean = f->x.verdict == CUVET_V_CLEAN && c->conv;

    check_getters(c);
    for (uint64_t i = 0; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        check_section(f, c, i, clean);
        write_table(f, c, i);
        if (clean && (s->role == CV_ROLE_REL || s->role == CV_ROLE_RELA))
            check_relocations(c, i);
    }
    if (f->x.lim.live >= CV_MIB)
        write_headers(f, c);
    if (clean) {
        check_symbols(c, false);
        check_symbols(c, true);
        check_graph(f, c);
    }
}

static void run(fz *f)
{
    uint64_t extent = 0;
    cuvet_status s;
    cv_cubin c;

    cv_cubin_init(&c);
    s = cv_cubin_examine(&f->x, &c, fz_span(f), NULL, &extent);
    fz_status(f, s, 0);
    if (s == CUVET_OK)
        check(f, &c);
    cv_cubin_free(&f->x, &c);
}

CV_FUZZ_TARGET(model)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)

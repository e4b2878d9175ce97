/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A whole link to bytes, and the bytes read again: sections, symbols and relocations of the file are those of
 * the picture it was written from, and nothing is found in it. The second run has another key for its hash
 * tables and gives the same bytes. Parameters: see linking.h. */
#include <stdio.h>

#include "linking.h"

static void check_sections(const cv_link *l, const cv_cubin *c)
{
    FZ_CHECK(c->sec.n == l->order.n, "as many sections");
    for (uint64_t i = 0; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));
        const cv_sec *s = cv_cubin_sec(c, i);
        cv_span body;

        FZ_CHECK(cv_span_eq(s->name, cv_l_text(l, q->name)), "name of a section");
        FZ_CHECK(s->h.type == q->type && s->h.flags == q->flags && s->h.addr == 0, "type and flags");
        FZ_CHECK(s->h.off == q->off && s->h.size == q->size, "place and size");
        FZ_CHECK(s->h.link == q->link && s->h.info == q->info, "link and info");
        FZ_CHECK(s->h.align == q->align && s->h.entsize == q->entsize, "alignment");
        body = cv_cubin_body(c, i);
        if (q->bytes.len)
            FZ_CHECK(cv_span_eq(body, cv_builder_span(&q->bytes)), "bytes that the link made");
        else if (q->group == CV_G_NOBITS)
            FZ_CHECK(body.len == 0, "nothing in the file");
    }
}

static void check_symbols(const cv_link *l, const cv_cubin *c)
{
    FZ_CHECK(c->n_syms == l->sym_order.n + 1, "as many symbols");
    for (uint64_t i = 1; i < c->n_syms; i++) {
        const cv_osym *y = cv_l_osym(l, *cv_u32s_at(&l->sym_order, i - 1));
        uint32_t shndx = y->common_kept && !y->common ? CV_SHN_COMMON
                         : y->sec == CV_NONE          ? CV_SHN_UNDEF
                                                      : cv_l_osec(l, y->sec)->index;
        cv_elf_symbol s;
        cv_span name;

        cv_elf_read_symbol(c->symtab, false, i, &s);
        FZ_CHECK(cv_span_cstr(c->strtab, s.name, &name), "a name");
        FZ_CHECK(cv_span_eq(name, cv_l_text(l, y->name)), "of the symbol");
        FZ_CHECK(s.shndx == shndx && s.value == y->value && s.size == y->size, "place and size");
        FZ_CHECK(s.info >> 4 == y->info >> 4, "binding");
    }
}

static uint64_t patched_size(const cv_link *l, const cv_osec *q)
{
    return cv_l_osec(l, q->target)->size;
}

/* Every relocation that stays, in its order, against its symbol and inside of what it patches. */
static void check_relocations(const cv_link *l, const cv_cubin *c)
{
    uint64_t total = 0;

    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        bool rela = q->type == CV_SHT_RELA;
        uint64_t n = 0;
        cv_span body;

        if (q->group != CV_G_REL || q->is_resolved || q->dead)
            continue;
        body = cv_cubin_body(c, q->index);
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            const cv_irel *e = cv_l_irel(l, r);
            cv_id y = e->osym != CV_NONE ? e->osym : cv_link_symbol_of(l, e->sym);
            cv_elf_reloc got;

            if (!e->keep)
                continue;
            FZ_CHECK(y != CV_NONE, "against something");
            cv_elf_read_reloc(body, false, rela, n++, &got);
            FZ_CHECK(got.off == e->off && got.off < patched_size(l, q), "inside of what it patches");
            FZ_CHECK(got.sym == cv_l_osym(l, y)->index && got.sym < c->n_syms && got.sym,
                     "against its symbol");
        }
        FZ_CHECK(n == q->n_kept && body.len == n * cv_elf_rel_size(false, rela), "all that stay");
        total += n;
    }
    FZ_CHECK(total <= c->n_relocs, "no relocation is lost");
}

/* Bytes that no relocation touches come from the inputs as they are. */
static void check_parts(const cv_link *l, const cv_cubin *c)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        cv_span body;

        if (q->dead || q->bytes.len || q->group == CV_G_NOBITS || q->rel[0] != CV_NONE ||
            q->rel[1] != CV_NONE)
            continue;
        body = cv_cubin_body(c, q->index);
        for (cv_id p = q->first_part; p != CV_NONE; p = cv_lparts_at(&l->part, p)->next) {
            const cv_lpart *e = cv_lparts_at(&l->part, p);
            cv_span want = cv_l_body(l, cv_l_isec(l, e->isec)), got;

            FZ_CHECK(cv_span_sub(body, e->base, want.len, &got), "a part lies in its section");
            FZ_CHECK(cv_span_eq(got, want), "as it was in the input");
        }
    }
}

static void read_back(fz *f, const cv_link *l, cv_span file)
{
    uint64_t extent = 0;
    cuvet_status s;
    cv_cubin c;

    cv_ctx_unit(&f->x, file.len);
    cv_cubin_init(&c);
    f->x.hollow = true; /* long code is lent by the inputs */
    s = cv_cubin_examine(&f->x, &c, file, NULL, &extent);
    f->x.hollow = false;
    if (s != CUVET_E_LIMIT) {
        FZ_CHECK(s == CUVET_OK && extent == file.len, "what was written can be read");
        FZ_CHECK(f->x.n_errors == 0, "without an error");
        check_sections(l, &c);
        check_symbols(l, &c);
        check_relocations(l, &c);
        check_parts(l, &c);
    }
    cv_cubin_free(&f->x, &c);
}

/* What is said about the result; an error ends the run below. */
static void on_result(void *user, const cuvet_diag *d)
{
    (void)fz_diag(d, 0, UINT64_MAX);
    if (d->severity == CUVET_ERROR)
        fprintf(stderr, "in the result: %s\n", cuvet_rule_get(d->rule)->id);
    (void)user;
}

static void run(fz *f)
{
    cv_block whole = { 0 };
    cuvet_status s;
    fz_link k;

    fz_link_open(&k, f, false, f->pass * 0x5EED);
    s = k.l.obj.n ? cv_link_complete(&k.l, &k.out, &k.file) : CUVET_E_REFUSED;
    fz_link_status(s);
    FZ_CHECK(s == CUVET_OK || k.l.obj.n == 0 || fz_reported(f), "a refusal is reported");
    fz_note(f, (uint64_t)s);
    if (s == CUVET_OK) {
        s = cv_block_zero(&f->x, &whole, k.file.len);
        FZ_CHECK(s == CUVET_OK || s == CUVET_E_NOMEM || s == CUVET_E_LIMIT, "room for the file");
    }
    if (s == CUVET_OK) {
        FZ_CHECK(cv_slices_read(&k.file, 0, whole.mem, k.file.len), "the file is as long as it says");
        fz_note_bytes(f, whole.mem, whole.span.len);
        f->x.emit = on_result;
        if (f->pass == 0)
            read_back(f, &k.l, whole.span);
        else
            cv_ctx_unit(&f->x, whole.span.len);
    }
    f->x.verdict = CUVET_V_CLEAN;
    cv_block_free(&f->x, &whole);
    fz_link_close(&k);
}

CV_FUZZ_TARGET(writer)
{
    return fz_some_twice(data, size, 0, run);
}

CV_FUZZ_LINK_MUTATOR

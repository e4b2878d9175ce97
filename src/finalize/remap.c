/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stage: which sections speak of code, what their relocations name, and what becomes of both. */
#include "finalize/remap.h"

#include "format/elf/write.h"

enum { ABS32 = 1, ABS64 = 2 }; /* R_CUDA_32, R_CUDA_64: all that debug sections use for places */

/* ---- what the rewriters share ---- */

cuvet_status cv_remap_no(const cv_remap *r, cv_rule rule, uint64_t at, uint64_t got, uint64_t want)
{
    return cv_reject(r->x, rule, cv_sat_add(r->s.off, at), got, want);
}

cuvet_status cv_remap_bad(const cv_remap *r, const cv_dwarf_bad *bad)
{
    return cv_remap_no(r, bad->rule, bad->at, bad->got, bad->want);
}

void cv_remap_keep(cv_remap *r, uint64_t at)
{
    cv_span part = cv_span_tail(r->s, r->done);

    part.len = cv_min(part.len, at - r->done);
    cv_put_span(&r->out, part);
    r->done = at;
}

bool cv_remap_resume(cv_remap *r, uint64_t at)
{
    r->done = at;
    if (cv_remap_shifted(&r->shifts, at) == r->out.len)
        return true;
    return cv_moves_push(&r->x->mem, &r->shifts, (cv_moved){ at, r->out.len });
}

const cv_site *cv_remap_site(cv_remap *r, uint64_t at, cuvet_status *st)
{
    const cv_site *s;

    while (r->site < r->sites->n && cv_sites_at(r->sites, r->site)->at < at)
        r->site++;
    s = cv_sites_at(r->sites, r->site);
    if (r->site >= r->sites->n || s->at != at || !s->code)
        *st = cv_remap_no(r, CV_R_DWARF_FUNCTION, at, 0, 1);
    else if (r->site + 1 < r->sites->n && cv_sites_at(r->sites, r->site + 1)->at == at)
        *st = cv_remap_no(r, CV_R_DWARF_FUNCTION, at, 2, 1);
    else
        return s;
    return NULL;
}

void cv_remap_uleb(cv_builder *b, uint64_t v)
{
    for (; v > 0x7F; v >>= 7)
        cv_put_u8(b, (uint8_t)(v | 0x80));
    cv_put_u8(b, (uint8_t)v);
}

/* ---- the stage ---- */

typedef enum form { OTHER = 0, LINES, FRAMES } form;

/* A debug section. */
typedef struct part {
    uint32_t section;
    form form;
    bool made; /* 'out' has what it will be */
    cv_sites sites;
    cv_builder out;
    cv_moves shifts;
} part;

CV_VEC(parts, part);

typedef struct stage {
    cv_ctx *x;
    const cv_cubin *c;
    const cv_backend_out *said;
    cv_u32s map_of, part_of; /* of each section, from 1; 0: none */
    parts all;
} stage;

/* What one relocation says. */
typedef struct reference {
    cv_elf_reloc e;
    bool rela, plain;  /* plain: an absolute place */
    uint32_t section;  /* that it names */
    uint64_t value;    /* of the symbol */
    uint64_t addend;   /* in the field, or beside it */
    uint32_t map;      /* CV_STILL: not in code that moved */
    uint64_t from, to; /* place in that code, before and after */
} reference;

static cuvet_status no_memory(const stage *w)
{
    return cv_nomem(w->x, w->c->image.off);
}

static bool is_reloc(const cv_sec *s)
{
    return (s->h.type == CV_SHT_REL || s->h.type == CV_SHT_RELA) && s->in_file;
}

/* The debug section that a relocation section belongs to; NULL: none. */
static part *target_of(const stage *w, const cv_sec *s)
{
    uint32_t p = is_reloc(s) && s->h.info < w->c->sec.n ? *cv_u32s_at(&w->part_of, s->h.info) : 0;

    return p ? parts_at(&w->all, p - 1) : NULL;
}

static uint64_t count_of(const cv_sec *s, cv_span body)
{
    return body.len / cv_elf_rel_size(false, s->h.type == CV_SHT_RELA);
}

/* @return OK · MALFORMED (a place behind its code) */
static cuvet_status refer(const stage *w, const cv_sec *s, cv_span table, uint64_t i, reference *f)
{
    cv_span body = cv_cubin_body(w->c, s->h.info);
    cv_elf_symbol y = { 0 };

    *f = (reference){ .rela = s->h.type == CV_SHT_RELA, .map = CV_STILL };
    cv_elf_read_reloc(table, false, f->rela, i, &f->e);
    f->plain = f->e.type == ABS32 || f->e.type == ABS64;
    if (f->e.sym >= w->c->n_syms)
        return CUVET_OK;
    cv_elf_read_symbol(w->c->symtab, false, f->e.sym, &y);
    f->section = cv_cubin_shndx(w->c, false, f->e.sym, &y);
    f->value = y.value;
    f->addend = f->rela              ? (uint64_t)f->e.addend
                : f->e.type == ABS32 ? cv_u32_at(body, f->e.off)
                                     : cv_u64_at(body, f->e.off);
    if (f->section >= w->c->sec.n || !f->plain)
        return CUVET_OK;
    f->from = f->to = cv_wrap_add(y.value, f->addend);
    if (*cv_u32s_at(&w->map_of, f->section) == 0)
        return CUVET_OK;
    f->map = *cv_u32s_at(&w->map_of, f->section) - 1;
    f->from = cv_wrap_add(cv_remap_origin(w->said, f->map, y.value), f->addend);
    if (cv_remap_place(w->said, f->map, f->from, &f->to))
        return CUVET_OK;
    return cv_reject(w->x, CV_R_DWARF_ADDRESS, body.off + f->e.off, f->from,
                     cv_offset_maps_at(&w->said->maps, f->map)->size_from);
}

/* A place becomes the addend that names it. */
CV_WRAPS static uint64_t addend_of(const reference *f, uint64_t place)
{
    return place - f->value;
}

/* Contents that may be written into. */
static bool begin_out(const stage *w, part *p)
{
    if (!p->made) {
        cv_builder_init(&p->out, &w->x->mem);
        cv_put_span(&p->out, cv_cubin_body(w->c, p->section));
        p->made = true;
    }
    return !p->out.failed;
}

static cuvet_status write_field(const stage *w, part *p, const reference *f, uint64_t at, uint64_t v)
{
    if (!begin_out(w, p))
        return no_memory(w);
    if (f->e.type == ABS64)
        cv_patch_u64(&p->out, at, v);
    else if (v <= UINT32_MAX)
        cv_patch_u32(&p->out, at, (uint32_t)v);
    else
        return cv_reject(w->x, CV_R_DWARF_STEP, cv_cubin_body(w->c, p->section).off + f->e.off, v, 4);
    return p->out.failed ? no_memory(w) : CUVET_OK;
}

/* ---- reading ---- */

static form form_of(const cv_sec *s)
{
    if (cv_span_eq_str(s->name, ".debug_line") || cv_span_eq_str(s->name, ".nv_debug_line_sass"))
        return LINES;
    return cv_span_eq_str(s->name, ".debug_frame") ? FRAMES : OTHER;
}

static cuvet_status list_parts(stage *w)
{
    const cv_cubin *c = w->c;

    if (!cv_u32s_fill(&w->x->mem, &w->map_of, c->sec.n) || !cv_u32s_fill(&w->x->mem, &w->part_of, c->sec.n))
        return no_memory(w);
    for (uint32_t i = 0; i < w->said->maps.n; i++)
        *cv_u32s_at(&w->map_of, cv_offset_maps_at(&w->said->maps, i)->section) = i + 1;
    for (uint32_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        if (!s->in_file || (s->role != CV_ROLE_DEBUG && s->role != CV_ROLE_NV_DEBUG))
            continue;
        if (!parts_push(&w->x->mem, &w->all, (part){ .section = i, .form = form_of(s) }))
            return no_memory(w);
        *cv_u32s_at(&w->part_of, i) = (uint32_t)w->all.n;
        /* Ranges of registers by place, in a form of the vendor's, without relocations. */
        if (cv_span_eq_str(s->name, ".nv_debug_info_reg_sass"))
            cv_report(w->x, CV_R_DWARF_STALE, cv_cubin_body(c, i).off, 0, i, 0);
    }
    return CUVET_OK;
}

/* Relocations of one section: what they name, and fields that hold a place of code. */
static cuvet_status read_relocs(stage *w, uint32_t section, part *p)
{
    const cv_sec *s = cv_cubin_sec(w->c, section);
    cv_span table = cv_cubin_body(w->c, section);
    cuvet_status st = CUVET_OK;
    reference f;

    for (uint64_t i = 0; i < count_of(s, table) && st == CUVET_OK; i++) {
        if (!cv_work(w->x, 1, table.off))
            return cv_cancelled(w->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        st = refer(w, s, table, i, &f);
        if (st != CUVET_OK || !f.plain)
            continue;
        if (!cv_sites_push(
                &w->x->mem, &p->sites,
                (cv_site){ f.e.off, f.from, f.map,
                           f.section < w->c->sec.n && cv_cubin_sec(w->c, f.section)->role == CV_ROLE_TEXT }))
            return no_memory(w);
        if (!f.rela && f.map != CV_STILL && addend_of(&f, f.to) != f.addend)
            st = write_field(w, p, &f, f.e.off, addend_of(&f, f.to));
    }
    return st;
}

static cuvet_status sort_sites(const stage *w, part *p)
{
    cv_sites sorted = { 0 };
    cv_keys keys = { 0 };
    bool ok = cv_sites_reserve(&w->x->mem, &sorted, p->sites.n);

    for (uint64_t i = 0; i < p->sites.n && ok; i++)
        ok = cv_keys_push(&w->x->mem, &keys, (cv_key){ cv_sites_at(&p->sites, i)->at, i });
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.n && ok; i++)
        ok = cv_sites_push(&w->x->mem, &sorted, *cv_sites_at(&p->sites, cv_keys_at(&keys, i)->index));
    cv_keys_free(&w->x->mem, &keys);
    cv_sites_free(&w->x->mem, &p->sites);
    p->sites = sorted;
    return ok ? CUVET_OK : no_memory(w);
}

/* ---- rewriting ---- */

static cuvet_status rewrite(const stage *w, part *p)
{
    cv_span body = cv_cubin_body(w->c, p->section), s = body;
    cv_remap r = { .x = w->x, .sites = &p->sites, .said = w->said };
    cuvet_status st;

    if (p->made)
        s = cv_builder_span(&p->out);
    s.off = body.off;
    r.s = s;
    cv_builder_init(&r.out, &w->x->mem);
    cv_builder_reserve(&r.out, s.len);
    st = p->form == LINES ? cv_remap_lines(&r) : cv_remap_frames(&r);
    if (p->made)
        cv_builder_free(&p->out);
    p->made = true;
    p->out = r.out;
    p->shifts = r.shifts;
    return st;
}

/* What names a place in a section that was rewritten: beside it in a table, or in its field. */
static cuvet_status move_entry(const stage *w, part *p, const reference *f, cv_builder *table)
{
    uint32_t to = f->section < w->c->sec.n && f->plain ? *cv_u32s_at(&w->part_of, f->section) : 0;
    cv_elf_reloc e = f->e;
    uint64_t place = f->to;

    e.off = cv_remap_shifted(&p->shifts, e.off);
    if (to)
        place = cv_remap_shifted(&parts_at(&w->all, to - 1)->shifts, place);
    /* Also for a place that stays where it is: the symbol may have moved. */
    if ((place != f->from || f->map != CV_STILL) && f->rela)
        e.addend = (int64_t)addend_of(f, place);
    cv_elf_write_reloc(table, false, f->rela, &e);
    if (place != f->to && !f->rela)
        return write_field(w, p, f, e.off, addend_of(f, place));
    return CUVET_OK;
}

static cuvet_status move_table(const stage *w, uint32_t section, cv_builder *table)
{
    const cv_sec *s = cv_cubin_sec(w->c, section);
    cv_span body = cv_cubin_body(w->c, section);
    cuvet_status st = CUVET_OK;
    reference f;

    cv_builder_reserve(table, body.len);
    for (uint64_t i = 0; i < count_of(s, body) && st == CUVET_OK; i++) {
        if (!cv_work(w->x, 1, body.off))
            return cv_cancelled(w->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        st = refer(w, s, body, i, &f);
        if (st == CUVET_OK)
            st = move_entry(w, target_of(w, s), &f, table);
    }
    cv_put_span(table,
                cv_span_tail(body, count_of(s, body) * cv_elf_rel_size(false, s->h.type == CV_SHT_RELA)));
    return st == CUVET_OK && table->failed ? no_memory(w) : st;
}

/* New contents are handed over, unless they are the old ones. */
static cuvet_status hand_over(const stage *w, uint32_t section, cv_builder *b, cv_final_bodies *bodies)
{
    cv_builder mine = *b;

    cv_builder_init(b, &w->x->mem);
    if (cv_span_eq(cv_builder_span(&mine), cv_cubin_body(w->c, section)) && !mine.failed) {
        cv_builder_free(&mine);
        return CUVET_OK;
    }
    if (!mine.failed && cv_final_bodies_push(&w->x->mem, bodies, (cv_final_body){ section, mine }))
        return CUVET_OK;
    cv_builder_free(&mine);
    return no_memory(w);
}

/* Tables first: they may still write into fields. */
static cuvet_status move_tables(const stage *w, cv_final_bodies *tables)
{
    cuvet_status st = CUVET_OK;

    for (uint32_t i = 1; i < w->c->sec.n && st == CUVET_OK; i++) {
        cv_builder table;

        if (!target_of(w, cv_cubin_sec(w->c, i)))
            continue;
        cv_builder_init(&table, &w->x->mem);
        st = move_table(w, i, &table);
        if (st == CUVET_OK)
            st = hand_over(w, i, &table, tables);
        cv_builder_free(&table);
    }
    return st;
}

/* Both kinds of new contents, in the order of their sections. */
static cuvet_status merge(const stage *w, cv_final_bodies *tables, cv_final_bodies *bodies)
{
    cuvet_status st = CUVET_OK;
    uint64_t t = 0;

    for (uint64_t i = 0; i <= w->all.n && st == CUVET_OK; i++) {
        part *p = parts_at(&w->all, i);
        uint32_t until = i < w->all.n ? p->section : UINT32_MAX;

        for (; t < tables->n && cv_final_bodies_at(tables, t)->section < until && st == CUVET_OK; t++)
            st = hand_over(w, cv_final_bodies_at(tables, t)->section, &cv_final_bodies_at(tables, t)->bytes,
                           bodies);
        if (i < w->all.n && p->made && st == CUVET_OK)
            st = hand_over(w, p->section, &p->out, bodies);
    }
    return st;
}

static cuvet_status run(stage *w, cv_final_bodies *bodies)
{
    cv_final_bodies tables = { 0 };
    cuvet_status st = list_parts(w);

    for (uint32_t i = 1; i < w->c->sec.n && st == CUVET_OK; i++) {
        part *p = target_of(w, cv_cubin_sec(w->c, i));

        if (p)
            st = read_relocs(w, i, p);
    }
    for (uint64_t i = 0; i < w->all.n && st == CUVET_OK; i++) {
        part *p = parts_at(&w->all, i);

        if (p->form != OTHER)
            st = sort_sites(w, p);
        if (p->form != OTHER && st == CUVET_OK)
            st = rewrite(w, p);
    }
    if (st == CUVET_OK)
        st = move_tables(w, &tables);
    if (st == CUVET_OK)
        st = merge(w, &tables, bodies);
    for (uint64_t i = 0; i < tables.n; i++)
        cv_builder_free(&cv_final_bodies_at(&tables, i)->bytes);
    cv_final_bodies_free(&w->x->mem, &tables);
    return st;
}

static void end(stage *w)
{
    for (uint64_t i = 0; i < w->all.n; i++) {
        part *p = parts_at(&w->all, i);

        cv_sites_free(&w->x->mem, &p->sites);
        cv_moves_free(&w->x->mem, &p->shifts);
        if (p->made)
            cv_builder_free(&p->out);
    }
    parts_free(&w->x->mem, &w->all);
    cv_u32s_free(&w->x->mem, &w->map_of);
    cv_u32s_free(&w->x->mem, &w->part_of);
}

static cv_final code_of(cuvet_status st)
{
    if (st == CUVET_OK)
        return CV_FINAL_OK;
    if (st == CUVET_E_LIMIT)
        return CV_FINAL_LIMIT;
    if (st == CUVET_E_NOMEM)
        return CV_FINAL_MEMORY;
    return st == CUVET_E_CANCELLED ? CV_FINAL_CANCELLED : CV_FINAL_PASSES;
}

cuvet_status cv_final_remap(cv_ctx *x, const cv_cubin *c, const cv_backend_out *said, cv_final_bodies *bodies,
                            cv_final *code)
{
    stage w = { .x = x, .c = c, .said = said };
    uint64_t before = bodies->n;
    cuvet_status st;

    *code = CV_FINAL_OK;
    if (said->maps.n == 0)
        return CUVET_OK;
    st = c->h.is32 ? cv_reject(x, CV_R_DWARF_VERSION, c->image.off, 32, 64) : cv_remap_check(x, said, c);
    if (st != CUVET_OK) {
        *code = st == CUVET_E_MALFORMED ? CV_FINAL_BACKEND_BAD_OUTPUT : code_of(st);
        return st;
    }
    st = run(&w, bodies);
    end(&w);
    for (; st != CUVET_OK && bodies->n > before; bodies->n--)
        cv_builder_free(&cv_final_bodies_at(bodies, bodies->n - 1)->bytes);
    *code = code_of(st);
    return st;
}

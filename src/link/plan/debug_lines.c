/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line information from sm_100 on. The reference linker writes it anew with the code: each unit keeps its
 * header, the rows of functions that are gone go, the others come in the order of the functions' symbols.
 * Before sm_100 the sections are linked like any other debug data. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "format/elf/names.h"
#include "link/plan/pieces.h"

/* A unit's header, or the rows of one function; the piece of the same number says where it is. */
typedef struct rows {
    cv_span bytes;
    uint64_t address; /* where the function is named, from the beginning of the rows */
    uint64_t rank;
    uint64_t names; /* of a header: what is added to its last four bytes */
    bool header;
} rows;

CV_VEC(rows_list, rows);

typedef struct liner {
    cv_link *l;
    cv_id sec, at; /* at: section of an input that is looked at */
    rows_list all;
    cv_pieces place;
    cv_keys rels;
    bool with_names; /* the section has them */
    uint64_t names;  /* where .debug_str of the input that is looked at begins; 0 where it says nothing */
    cv_u32s rank;    /* of each function: place of its symbol, from 1 */
} liner;

/* Names of functions whose code is part of another's are counted from a place in .debug_str. Where there are
 * some it stands in four bytes behind the table of files; its relocation is in the capsule only. */
static bool has_names(cv_span s, const cv_line_unit *u)
{
    uint64_t pos = u->at + (u->version >= 4 ? 15u : 14u) + u->base, skip;
    cv_span text;
    cv_dwarf_bad bad;

    s.len = u->program;
    for (int list = 0; list < 2; list++)
        do {
            if (!cv_span_cstr(s, pos, &text))
                return false;
            pos += text.len + 1;
            for (int i = 0; i < 3 && list && text.len; i++) /* directory, time, size */
                if (!cv_uleb_read(s, s.len, &pos, &skip, &bad))
                    return false;
        } while (text.len);
    return s.len - pos == 4;
}

/* Rows up to the end of a sequence. @return false: they cannot be told apart */
static bool next_rows(cv_span s, const cv_line_unit *u, uint64_t *pos, rows *r)
{
    cv_line_op op = { .kind = CV_LINE_PLAIN };
    uint64_t start = *pos;
    cv_dwarf_bad bad;

    r->address = 0;
    while (op.kind != CV_LINE_END && *pos < u->end) {
        if (!cv_line_op_read(s, u, *pos, &op, &bad))
            return false;
        if (op.kind == CV_LINE_ADDRESS && r->address == 0)
            r->address = op.address - start;
        *pos = op.end;
    }
    return op.kind == CV_LINE_END && r->address != 0 && cv_span_sub(s, start, *pos - start, &r->bytes);
}

static bool add(liner *w, const rows *r, uint64_t at)
{
    rows e = *r;

    return rows_list_push(&w->l->x->mem, &w->all, e) &&
           cv_pieces_push(&w->l->x->mem, &w->place,
                          (cv_piece){ .at = at, .end = at + r->bytes.len, .keep = r->header });
}

/* Unit at *pos, which is advanced. @return END: it cannot be taken apart */
static cuvet_status read_unit(liner *w, cv_span s, uint64_t *pos, uint64_t base)
{
    rows r = { .header = true };
    cv_dwarf_bad bad;
    cv_line_unit u;

    if (!cv_line_unit_read(s, *pos, &u, &bad) || !cv_span_sub(s, u.at, u.program - u.at, &r.bytes))
        return CUVET_END;
    r.names = w->names && has_names(s, &u) ? w->names : 0;
    if (!add(w, &r, base + u.at))
        return cv_l_nomem(w->l);
    r.header = false;
    *pos = u.program;
    while (*pos < u.end) {
        uint64_t at = *pos;

        if (!next_rows(s, &u, pos, &r))
            return CUVET_END;
        if (!add(w, &r, base + at))
            return cv_l_nomem(w->l);
    }
    return CUVET_OK;
}

static uint64_t names_of(const cv_link *l, const cv_lobj *o)
{
    for (cv_id i = 1; i < o->n_sec; i++) {
        const cv_isec *s = cv_l_isec(l, o->first_sec + i);

        if (s->out != CV_NONE && cv_span_eq_str(cv_l_text(l, s->name), ".debug_str"))
            return s->base;
    }
    return 0;
}

static cuvet_status read_part(liner *w, const cv_lpart *p)
{
    cv_span s = cv_l_body(w->l, cv_l_isec(w->l, p->isec));
    cuvet_status st = CUVET_OK;
    uint64_t pos = 0;

    w->at = p->isec;
    w->names = w->with_names ? names_of(w->l, cv_l_obj(w->l, cv_l_isec(w->l, p->isec)->obj)) : 0;
    while (pos < s.len && st == CUVET_OK)
        st = read_unit(w, s, &pos, p->base);
    return st;
}

static cuvet_status read_lines(liner *w)
{
    cuvet_status st = CUVET_OK;

    for (cv_id p = cv_l_osec(w->l, w->sec)->first_part; p != CV_NONE && st == CUVET_OK;
         p = cv_lparts_at(&w->l->part, p)->next)
        st = read_part(w, cv_lparts_at(&w->l->part, p));
    return st == CUVET_OK ? cv_link_rels_of(w->l, w->sec, &w->rels) : st;
}

/* Rows that name no function are of one that is gone. @return END: what is patched lies across two of them */
static cuvet_status choose(liner *w)
{
    const cv_link *l = w->l;
    uint64_t k = 0;

    for (uint64_t i = 0; i < w->all.n; i++) {
        rows *r = rows_list_at(&w->all, i);
        cv_piece *p = cv_pieces_at(&w->place, i);

        for (; k < w->rels.n && cv_keys_at(&w->rels, k)->key < p->end; k++) {
            const cv_irel *e = cv_l_irel(l, (cv_id)cv_keys_at(&w->rels, k)->index);
            const cv_isym *s = cv_l_isym(l, cv_l_canon(l, e->sym));

            w->at = e->target;
            if (r->header && cv_sat_add(e->off, 4) == p->end)
                r->names = 0; /* it has one of its own */
            if (cv_sat_add(e->off, cv_reloc_of(e->type)->bytes) > p->end)
                return CUVET_END;
            if (r->header || e->off != p->at + r->address || s->fn == CV_NONE)
                continue;
            p->keep = cv_l_fn(l, s->fn)->live;
            r->rank = *cv_u32s_at(&w->rank, s->fn);
        }
    }
    return CUVET_OK;
}

static cuvet_status rank_functions(liner *w)
{
    const cv_link *l = w->l;
    uint32_t n = 0;

    if (!cv_u32s_fill(&l->x->mem, &w->rank, cv_max(l->fn.n, 1)))
        return cv_l_nomem(l);
    for (int global = 0; global < 2; global++) {
        const cv_u32s *list = global ? &l->globals : &l->locals;

        for (uint64_t i = 0; i < list->n; i++) {
            cv_id fn = cv_l_osym(l, *cv_u32s_get(list, i))->fn;

            n++;
            if (fn != CV_NONE)
                *cv_u32s_at(&w->rank, fn) = n;
        }
    }
    return CUVET_OK;
}

/* What follows the length. */
static void write_head(cv_builder *b, const rows *head)
{
    cv_span rest = cv_span_tail(head->bytes, 4);

    if (head->names)
        rest.len -= 4;
    cv_put_span(b, rest);
    if (head->names)
        cv_put_u32(b, (uint32_t)(cv_u32_at(head->bytes, head->bytes.len - 4) + head->names));
}

/* Rows of the unit that begins with piece 'first', sorted. */
static bool write_unit(liner *w, uint64_t first, uint64_t *next, cv_keys *order)
{
    cv_builder *b = &cv_l_osec(w->l, w->sec)->bytes;
    const rows *head = rows_list_at(&w->all, first);
    uint64_t len = head->bytes.len, i = first + 1;
    bool ok = true;

    cv_keys_clear(order);
    for (; i < w->all.n && !rows_list_at(&w->all, i)->header && ok; i++) {
        if (!cv_pieces_at(&w->place, i)->keep)
            continue;
        len += rows_list_at(&w->all, i)->bytes.len;
        ok =
            cv_keys_push(&w->l->x->mem, order, (cv_key){ .key = rows_list_at(&w->all, i)->rank, .index = i });
    }
    *next = i;
    cv_keys_sort(order);
    cv_pieces_at(&w->place, first)->to = b->len;
    cv_put_u32(b, (uint32_t)(len - 4));
    write_head(b, head);
    for (uint64_t k = 0; k < order->n && ok; k++) {
        uint64_t r = cv_keys_at(order, k)->index;

        cv_pieces_at(&w->place, r)->to = b->len;
        cv_put_span(b, rows_list_at(&w->all, r)->bytes);
    }
    return ok && !b->failed;
}

static cuvet_status write_lines(liner *w)
{
    cv_osec *q = cv_l_osec(w->l, w->sec);
    cv_keys order = { 0 };
    bool ok = true;

    for (uint64_t i = 0; i < w->all.n && ok;)
        ok = write_unit(w, i, &i, &order);
    cv_keys_free(&w->l->x->mem, &order);
    q->size = q->bytes.len;
    q->first_part = q->last_part = CV_NONE;
    return ok ? CUVET_OK : cv_l_nomem(w->l);
}

/* They come out in the order of the rows. */
static cuvet_status sort_relocations(liner *w)
{
    cv_link *l = w->l;
    cv_id q = CV_ARRAY_GET(cv_l_osec(l, w->sec)->rel, 1), *next;

    if (q == CV_NONE)
        return CUVET_OK;
    cv_keys_clear(&w->rels);
    for (cv_id r = cv_l_osec(l, q)->rels; r != CV_NONE; r = cv_l_irel(l, r)->next)
        if (!cv_keys_push(&l->x->mem, &w->rels, (cv_key){ .key = cv_l_irel(l, r)->off, .index = r }))
            return cv_l_nomem(l);
    cv_keys_sort(&w->rels);
    next = &cv_l_osec(l, q)->rels;
    for (uint64_t i = 0; i < w->rels.n; i++) {
        *next = (cv_id)cv_keys_at(&w->rels, i)->index;
        next = &cv_l_irel(l, *next)->next;
    }
    *next = CV_NONE;
    return CUVET_OK;
}

static cuvet_status link_lines(cv_link *l, cv_id sec, bool with_names, cv_pieces *place)
{
    liner w = { .l = l, .sec = sec, .with_names = with_names };
    cuvet_status st = read_lines(&w);

    if (st == CUVET_OK)
        st = rank_functions(&w);
    if (st == CUVET_OK)
        st = choose(&w);
    if (st == CUVET_OK && w.all.n) {
        st = write_lines(&w);
        if (st == CUVET_OK)
            cv_link_move_rels(l, sec, &w.rels, &w.place);
        if (st == CUVET_OK)
            st = sort_relocations(&w);
    } else if (st == CUVET_END) {
        cv_link_say_section(l, w.at, CV_R_LINK_LINES, 0);
        st = CUVET_OK;
        cv_pieces_clear(&w.place); /* nothing moved */
    }
    *place = w.place;
    rows_list_free(&l->x->mem, &w.all);
    cv_keys_free(&l->x->mem, &w.rels);
    cv_u32s_free(&l->x->mem, &w.rank);
    return st;
}

/* Addends of references from other debug sections: offsets of units. */
static void move_references(cv_link *l, cv_id sec, const cv_pieces *place)
{
    for (cv_id q = 0; q < l->osec.n; q++) {
        if (cv_l_osec(l, q)->group != CV_G_REL)
            continue;
        for (cv_id r = cv_l_osec(l, q)->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            cv_irel *e = cv_l_irel(l, r);
            const cv_isym *s = e->sym == CV_NONE ? NULL : cv_l_isym(l, e->sym);
            uint64_t old;
            const cv_piece *p;

            if (!s || cv_l_type(s) != CV_STT_SECTION || s->sec == CV_NONE || cv_l_isec(l, s->sec)->out != sec)
                continue;
            old = cv_wrap_add(cv_l_isec(l, s->sec)->base, (uint64_t)e->addend);
            p = cv_link_piece_of(place, old);
            if (p->keep && old >= p->at && old < p->end)
                e->addend = (int64_t)(p->to + (old - p->at)) - (int64_t)cv_l_isec(l, s->sec)->base;
        }
    }
}

/* The first has names of functions. */
static const char *const NAMES[] = { ".debug_line", ".nv_debug_line_sass" };

cuvet_status cv_link_lines(cv_link *l)
{
    cuvet_status st = CUVET_OK;

    for (size_t i = 0; i < CV_COUNT(NAMES) && st == CUVET_OK && cv_l_has(l, CV_GEN_REMAKES_DEBUG); i++) {
        cv_id sec = cv_l_find_osec(l, CV_AT(NAMES, i), l->empty);
        cv_pieces place = { 0 };

        if (sec == CV_NONE)
            continue;
        st = link_lines(l, sec, i == 0, &place);
        if (st == CUVET_OK && place.n) {
            move_references(l, sec, &place);
            CV_ARRAY_SET(l->lines, i, sec);
        }
        cv_pieces_free(&l->x->mem, &place);
    }
    return st;
}

/* Units one behind the other fill the section, and what is patched lies inside. */
bool cv_link_lines_holds(const cv_link *l)
{
    for (size_t i = 0; i < CV_COUNT(NAMES); i++) {
        cv_id sec = CV_ARRAY_GET(l->lines, i),
              q = sec == CV_NONE ? CV_NONE : CV_ARRAY_GET(cv_l_osec(l, sec)->rel, 1);
        cv_span s = sec == CV_NONE ? cv_span_of(NULL, 0, 0) : cv_builder_span(&cv_l_osec(l, sec)->bytes);
        uint64_t pos = 0, last = 0;

        while (pos < s.len)
            pos = cv_sat_add(pos, cv_sat_add(4, cv_u32_at(s, pos)));
        if (pos != s.len || (sec != CV_NONE && s.len != cv_l_osec(l, sec)->size))
            return false;
        for (cv_id r = q == CV_NONE ? CV_NONE : cv_l_osec(l, q)->rels; r != CV_NONE;
             r = cv_l_irel(l, r)->next) {
            if (cv_l_irel(l, r)->off < last || cv_l_irel(l, r)->off >= s.len)
                return false;
            last = cv_l_irel(l, r)->off;
        }
    }
    return true;
}

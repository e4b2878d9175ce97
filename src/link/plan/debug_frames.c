/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information from sm_100 on. The reference linker writes it anew with the code: what belongs to a
 * function that is gone goes too, and every description names the common part that stands before it. (The
 * pointers in the objects cannot be used: they count in the frames of the capsule, whose sizes differ.)
 * Before sm_100 the section is linked like any other debug data. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "format/elf/names.h"
#include "link/plan/pieces.h"

#define WIDE UINT32_MAX /* length that follows in 8 bytes */

enum { AT_ID = 12, AT_BODY = 20, AT_SIZE = 28, BARE = 28, RANGE = 16, WORD = 8 };

/* One entry of a contribution; the piece of the same number says where it is. */
typedef struct frame {
    cv_span bytes, other; /* other: its twin in the capsule */
    uint64_t mate;        /* of a description: its common part */
    cv_id fn;
    bool common, bare; /* bare: without instructions */
} frame;

CV_VEC(frames, frame);

typedef struct framer {
    cv_link *l;
    cv_id sec;
    frames all;
    cv_pieces place;
    cv_keys rels; /* relocations by offset */
    cv_id obj;    /* whose capsule was looked at last, and its frames */
    cv_span capsule;
} framer;

/* The same information in an object's capsule, whose code has other sizes. The contributions of one object
 * follow each other. */
static cv_span capsule_frames(framer *w, cv_id obj)
{
    const cv_lobj *o = cv_l_obj(w->l, obj);

    if (obj == w->obj)
        return w->capsule;
    w->obj = obj;
    w->capsule = cv_span_of(NULL, 0, 0);
    for (cv_id i = 1; i < o->n_sec; i++) {
        cv_id sec = o->first_sec + i;

        if (cv_span_eq_str(cv_l_text(w->l, cv_l_isec(w->l, sec)->name), ".nv.merc.debug_frame")) {
            w->capsule = cv_l_body(w->l, cv_l_isec(w->l, sec));
            break;
        }
    }
    return w->capsule;
}

/* Length and identification are wide in every file seen. @return false: not an entry */
static bool next_frame(cv_span s, uint64_t pos, frame *f, uint64_t *end)
{
    cv_dwarf_bad bad;
    cv_frame e;

    if (!cv_frame_read(s, pos, &e, &bad) || !e.wide)
        return false;
    f->common = e.common;
    *end = e.end;
    return cv_span_sub(s, pos, e.end - pos, &f->bytes);
}

static cuvet_status read_part(framer *w, const cv_lpart *p)
{
    cv_link *l = w->l;
    cv_span s = cv_l_body(l, cv_l_isec(l, p->isec)), m = capsule_frames(w, cv_l_isec(l, p->isec)->obj);
    uint64_t pos = 0, twin = 0, end;
    bool common = false;

    for (; pos < s.len; pos = end) {
        frame f = { .fn = CV_NONE }, g;

        if (!next_frame(s, pos, &f, &end) || (!f.common && (!common || f.bytes.len < AT_BODY + RANGE)))
            return cv_link_refuse_section(l, p->isec, CV_R_LINK_FRAMES, pos);
        common = true;
        f.other = next_frame(m, twin, &g, &twin) && g.common == f.common ? g.bytes : f.bytes;
        if (!frames_push(&l->x->mem, &w->all, f) ||
            !cv_pieces_push(&l->x->mem, &w->place, (cv_piece){ .at = p->base + pos, .end = p->base + end }))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

static cuvet_status read_frames(framer *w)
{
    cv_link *l = w->l;
    cuvet_status st = CUVET_OK;

    for (cv_id p = cv_l_osec(l, w->sec)->first_part; p != CV_NONE && st == CUVET_OK;
         p = cv_lparts_at(&l->part, p)->next)
        st = read_part(w, cv_lparts_at(&l->part, p));
    return st == CUVET_OK ? cv_link_rels_of(l, w->sec, &w->rels) : st;
}

/* The function that an entry describes: it is named where its code begins and where that is measured, and
 * nothing else is but the common part, to which the pointer is written here. The relocations are those from
 * *r on. */
static cuvet_status read_function(framer *w, uint64_t i, uint64_t *r)
{
    cv_link *l = w->l;
    const cv_piece *p = cv_pieces_at(&w->place, i);
    frame *f = frames_at(&w->all, i);

    for (; *r < w->rels.n && cv_keys_at(&w->rels, *r)->key < p->end; ++*r) {
        cv_irel *e = cv_l_irel(l, (cv_id)cv_keys_at(&w->rels, *r)->index);
        const cv_isym *s = cv_l_isym(l, cv_l_canon(l, e->sym));

        e->gone = !f->common && e->off == p->at + AT_ID;
        if (e->gone)
            continue;
        if (f->common || s->fn == CV_NONE || (f->fn != CV_NONE && f->fn != s->fn) ||
            (e->off != p->at + AT_BODY && e->off != p->at + AT_SIZE) || cv_reloc_of(e->type)->bytes > WORD)
            return cv_link_refuse_section(w->l, e->target, CV_R_LINK_FRAMES,
                                          e->off - cv_l_isec(l, e->target)->base);
        f->fn = s->fn;
    }
    return CUVET_OK;
}

static cuvet_status choose(framer *w)
{
    uint64_t r = 0, common = 0;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < w->all.n && st == CUVET_OK; i++) {
        frame *f = frames_at(&w->all, i);

        if (f->common)
            common = i;
        f->mate = common;
        st = read_function(w, i, &r);
        cv_pieces_at(&w->place, i)->keep = f->fn != CV_NONE && cv_l_fn(w->l, f->fn)->live;
        if (cv_pieces_at(&w->place, i)->keep)
            cv_pieces_at(&w->place, common)->keep = true;
    }
    return st;
}

/* A weak function may be described for each definition. The reference makes the first description anew, of
 * the code that won, and leaves of the later ones what says where the code was in the capsule. */
static bool settle(framer *w)
{
    cv_u32s first = { 0 };
    bool ok = cv_u32s_fill(&w->l->x->mem, &first, cv_max(w->l->fn.n, 1));

    for (uint64_t i = 0; i < w->all.n && ok; i++) {
        frame *f = frames_at(&w->all, i), *a, *mate = frames_at(&w->all, f->mate);
        uint32_t *at;

        if (f->common || !cv_pieces_at(&w->place, i)->keep)
            continue;
        at = cv_u32s_at(&first, f->fn);
        if (*at == 0) {
            *at = (uint32_t)(i + 1);
            continue;
        }
        a = frames_at(&w->all, *at - 1);
        a->bytes = f->bytes;
        frames_at(&w->all, a->mate)->bytes = mate->bytes;
        f->bytes = f->other;
        f->bare = true;
        mate->bytes = mate->other;
    }
    cv_u32s_free(&w->l->x->mem, &first);
    return ok;
}

static void write_frame(cv_builder *b, const frame *f, uint64_t common)
{
    cv_span rest = cv_span_tail(f->bytes, f->common ? AT_ID : AT_BODY);

    cv_put_u32(b, WIDE);
    cv_put_u64(b, f->bare ? BARE : f->bytes.len - AT_ID);
    if (!f->common)
        cv_put_u64(b, common);
    rest.len = f->bare ? cv_min(rest.len, RANGE) : rest.len;
    cv_put_span(b, rest);
    if (f->bare)
        cv_put_zero(b, BARE - 8 - rest.len);
}

static void write_frames(framer *w)
{
    cv_osec *q = cv_l_osec(w->l, w->sec);

    for (uint64_t i = 0; i < w->all.n; i++) {
        const frame *f = frames_at(&w->all, i);

        cv_pieces_at(&w->place, i)->to = q->bytes.len;
        if (cv_pieces_at(&w->place, i)->keep)
            write_frame(&q->bytes, f, cv_pieces_at(&w->place, f->mate)->to);
    }
    q->size = q->bytes.len;
    q->first_part = q->last_part = CV_NONE;
    q->dead = q->size == 0;
}

cuvet_status cv_link_frames(cv_link *l)
{
    framer w = { .l = l, .obj = CV_NONE };
    cuvet_status st;

    if (!cv_l_has(l, CV_GEN_REMAKES_DEBUG))
        return CUVET_OK;
    w.sec = cv_l_find_osec(l, ".debug_frame", l->empty);
    if (w.sec == CV_NONE)
        return CUVET_OK;
    l->frames = w.sec;
    st = read_frames(&w);
    if (st == CUVET_OK)
        st = choose(&w);
    if (st == CUVET_OK)
        st = settle(&w) ? CUVET_OK : cv_l_nomem(l);
    if (st == CUVET_OK) {
        write_frames(&w);
        cv_link_move_rels(l, w.sec, &w.rels, &w.place);
    }
    if (st == CUVET_OK && cv_l_osec(l, w.sec)->bytes.failed)
        st = cv_l_nomem(l);
    frames_free(&l->x->mem, &w.all);
    cv_pieces_free(&l->x->mem, &w.place);
    cv_keys_free(&l->x->mem, &w.rels);
    return st;
}

/* Entries one behind the other, each description behind the common part that it names. */
bool cv_link_frames_holds(const cv_link *l)
{
    uint64_t pos = 0, common = 0, end;
    bool any = false;
    cv_span s;

    if (l->frames == CV_NONE || cv_l_osec(l, l->frames)->dead)
        return true;
    s = cv_builder_span(&cv_l_osec(l, l->frames)->bytes);
    for (; pos < s.len; pos = end) {
        frame f;

        if (!next_frame(s, pos, &f, &end) || (!f.common && (!any || cv_u64_at(s, pos + AT_ID) != common)))
            return false;
        if (f.common)
            common = pos;
        any = true;
    }
    return s.len == cv_l_osec(l, l->frames)->size;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information: the range of each description, and its steps. */
#include "finalize/remap.h"

enum { RANGE = 16, WORD = 8 };

/* A common part. */
typedef struct common {
    uint64_t at, step;
} common;

CV_VEC(commons, common);

typedef struct framer {
    cv_remap *r;
    commons all;   /* ascending */
    cv_keys names; /* pointers as numbers: what they say, where they are in the output; odd: in four bytes */
} framer;

static cuvet_status no_memory(const framer *w)
{
    return cv_nomem(w->r->x, w->r->s.off);
}

static cuvet_status read_common(framer *w, const cv_frame *f)
{
    cv_frame_common c = { 0 };
    cv_frame_op op = { 0 };
    cv_dwarf_bad bad;

    if (!cv_frame_common_read(w->r->s, f, &c, &bad))
        return cv_remap_bad(w->r, &bad);
    for (uint64_t pos = c.operations; pos < f->end; pos = op.end) {
        if (!cv_work(w->r->x, 1, w->r->s.off + pos))
            return cv_cancelled(w->r->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_op_read(w->r->s, f, pos, &op, &bad))
            return cv_remap_bad(w->r, &bad);
        if (op.advances || op.code == CV_CFA_SET_LOC)
            return cv_remap_no(w->r, CV_R_DWARF_FRAME, pos, op.code, 0);
    }
    return commons_push(&w->r->x->mem, &w->all, (common){ f->at, c.step }) ? CUVET_OK : no_memory(w);
}

/* The part that is named, or the nearest before: objects of ptxas from sm_100 on name offsets of the frames
 * in their capsule, which is longer. */
static cuvet_status find_common(const framer *w, const cv_frame *f, uint64_t names, uint64_t *step)
{
    uint64_t low = 0, high = w->all.n;

    if (w->all.n == 0)
        return cv_remap_no(w->r, CV_R_DWARF_COMMON, f->at, names, UINT64_MAX);
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;

        if (commons_at(&w->all, mid)->at <= names)
            low = mid;
        else
            high = mid;
    }
    if (commons_at(&w->all, low)->at != names)
        low = w->all.n - 1;
    *step = commons_at(&w->all, low)->step;
    return CUVET_OK;
}

/* An advance in place of an operation, no shorter than it was. */
static void put_advance(cv_builder *b, uint8_t code, uint32_t n)
{
    if (code == CV_CFA_ADVANCE && n < 64) {
        cv_put_u8(b, (uint8_t)(CV_CFA_ADVANCE | n));
    } else if ((code == CV_CFA_ADVANCE || code == CV_CFA_ADVANCE1) && n <= UINT8_MAX) {
        cv_put_u8(b, CV_CFA_ADVANCE1);
        cv_put_u8(b, (uint8_t)n);
    } else if (code != CV_CFA_ADVANCE4 && n <= UINT16_MAX) {
        cv_put_u8(b, CV_CFA_ADVANCE2);
        cv_put_u16(b, (uint16_t)n);
    } else {
        cv_put_u8(b, CV_CFA_ADVANCE4);
        cv_put_u32(b, n);
    }
}

/* Where a description is. */
typedef struct state {
    uint64_t from, to, step;
    uint32_t map;
} state;

CV_WRAPS static cuvet_status move(const framer *w, state *s, uint64_t at, uint64_t from, uint64_t *by)
{
    uint64_t to = 0;

    if (!cv_remap_place(w->r->said, s->map, from, &to))
        return cv_remap_no(w->r, CV_R_DWARF_ADDRESS, at, from,
                           cv_offset_maps_at(&w->r->said->maps, s->map)->size_from);
    *by = to - s->to;
    s->from = from;
    s->to = to;
    return CUVET_OK;
}

/* Distances count modulo 2^32: ptxas ends descriptions for sm_75 with a step back, written that way. */
static cuvet_status advance(framer *w, const cv_frame_op *op, state *s)
{
    uint64_t was = cv_sat_mul(op->steps, s->step), by = 0;
    cuvet_status st;

    if (s->map == CV_STILL)
        return CUVET_OK;
    if (was > UINT32_MAX)
        return cv_remap_no(w->r, CV_R_DWARF_STEP, op->at, was, s->step);
    st = move(w, s, op->at, (s->from + was) & UINT32_MAX, &by);
    by &= UINT32_MAX;
    if (st != CUVET_OK || by == was)
        return st;
    cv_remap_keep(w->r, op->at);
    if (by % s->step != 0)
        return cv_remap_no(w->r, CV_R_DWARF_STEP, op->at, by, s->step);
    put_advance(&w->r->out, op->code, (uint32_t)(by / s->step));
    return cv_remap_resume(w->r, op->end) ? CUVET_OK : no_memory(w);
}

/* Begin and size: the begin is the relocation's business, unless nothing moves. */
static cuvet_status read_range(framer *w, const cv_frame *f, state *s)
{
    uint64_t size = cv_u64_at(w->r->s, f->body + WORD), by = 0;
    cuvet_status st = CUVET_OK;
    const cv_site *site;
    state end;

    if (f->end - f->body < RANGE)
        return cv_remap_no(w->r, CV_R_DWARF_LENGTH, f->at, f->end - f->body, RANGE);
    site = cv_remap_site(w->r, f->body, &st);
    if (!site)
        return st;
    s->map = site->map;
    if (s->map == CV_STILL)
        return CUVET_OK;
    st = move(w, s, f->body, site->place, &by);
    end = *s;
    if (st == CUVET_OK)
        st = move(w, &end, f->body + WORD, cv_sat_add(s->from, size), &by);
    if (st != CUVET_OK || by == size)
        return st;
    cv_remap_keep(w->r, f->body + WORD);
    cv_put_u64(&w->r->out, by);
    return cv_remap_resume(w->r, f->body + RANGE) ? CUVET_OK : no_memory(w);
}

static cuvet_status read_operations(framer *w, const cv_frame *f, state *s)
{
    cuvet_status st = CUVET_OK;
    cv_frame_op op = { 0 };
    cv_dwarf_bad bad;

    for (uint64_t pos = f->body + RANGE; pos < f->end && st == CUVET_OK; pos = op.end) {
        if (!cv_work(w->r->x, 1, w->r->s.off + pos))
            return cv_cancelled(w->r->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_op_read(w->r->s, f, pos, &op, &bad))
            return cv_remap_bad(w->r, &bad);
        if (op.code == CV_CFA_SET_LOC)
            return cv_remap_no(w->r, CV_R_DWARF_FRAME, pos, op.code, 0);
        if (op.advances)
            st = advance(w, &op, s);
    }
    return st;
}

/* The pointer: a number here, or a relocation whose place follows the section. */
static cuvet_status read_pointer(framer *w, const cv_frame *f, uint64_t begin, uint64_t *names)
{
    cv_remap *r = w->r;
    const cv_site *site;

    for (; r->site < r->sites->n && cv_sites_at(r->sites, r->site)->at < f->pointer;)
        r->site++;
    site = cv_sites_at(r->sites, r->site);
    if (r->site < r->sites->n && site->at == f->pointer) {
        *names = site->place;
        return CUVET_OK;
    }
    *names = f->names;
    return cv_keys_push(&r->x->mem, &w->names,
                        (cv_key){ f->names, (begin + (f->pointer - f->at)) << 1 | !f->wide })
               ? CUVET_OK
               : no_memory(w);
}

static cuvet_status read_description(framer *w, const cv_frame *f, uint64_t begin)
{
    state s = { .map = CV_STILL };
    uint64_t names = 0;
    cuvet_status st = read_pointer(w, f, begin, &names);

    if (st == CUVET_OK)
        st = find_common(w, f, names, &s.step);
    if (st == CUVET_OK)
        st = read_range(w, f, &s);
    return st == CUVET_OK ? read_operations(w, f, &s) : st;
}

/* Its length, and a length that divides as it did before. */
static cuvet_status finish(framer *w, const cv_frame *f, uint64_t begin)
{
    cv_builder *b = &w->r->out;
    uint64_t head = f->wide ? 12 : 4, len;

    cv_remap_keep(w->r, f->end);
    if (b->len - begin == f->end - f->at)
        return CUVET_OK;
    if ((f->end - f->at) % WORD == 0)
        while ((b->len - begin) % WORD != 0 && !b->failed)
            cv_put_u8(b, CV_CFA_NOP);
    if (!cv_remap_resume(w->r, f->end))
        return no_memory(w);
    len = b->len - begin - head;
    if (f->wide)
        cv_patch_u64(b, begin + 4, len);
    else if (len < UINT32_MAX)
        cv_patch_u32(b, begin, (uint32_t)len);
    else
        return cv_remap_no(w->r, CV_R_DWARF_LENGTH, f->at, len, UINT32_MAX);
    return CUVET_OK;
}

/* Numbers that point into the section itself. */
static cuvet_status settle(const framer *w)
{
    cv_remap *r = w->r;

    for (uint64_t i = 0; i < w->names.n && r->shifts.n; i++) {
        const cv_key *k = cv_keys_at(&w->names, i);
        uint64_t now = cv_remap_shifted(&r->shifts, k->key);

        if (k->index & 1)
            cv_patch_u32(&r->out, k->index >> 1, (uint32_t)now);
        else
            cv_patch_u64(&r->out, k->index >> 1, now);
    }
    return r->out.failed ? no_memory(w) : CUVET_OK;
}

static cuvet_status rewrite(framer *w)
{
    cuvet_status st = CUVET_OK;
    cv_dwarf_bad bad;
    cv_frame f;

    for (uint64_t pos = 0; pos < w->r->s.len && st == CUVET_OK; pos = f.end) {
        uint64_t begin = cv_sat_add(w->r->out.len, pos - w->r->done);

        if (!cv_work(w->r->x, 1, w->r->s.off + pos))
            return cv_cancelled(w->r->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_read(w->r->s, pos, &f, &bad))
            return cv_remap_bad(w->r, &bad);
        st = f.common ? read_common(w, &f) : read_description(w, &f, begin);
        if (st == CUVET_OK)
            st = finish(w, &f, begin);
    }
    return st == CUVET_OK ? settle(w) : st;
}

cuvet_status cv_remap_frames(cv_remap *r)
{
    framer w = { .r = r };
    cuvet_status st = rewrite(&w);

    commons_free(&r->x->mem, &w.all);
    cv_keys_free(&r->x->mem, &w.names);
    return st;
}

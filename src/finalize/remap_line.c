/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line programs: operation by operation, so that rows stay the same ones (those of inlined calls are named by
 * their number), and what did not move stays as it is. */
#include "finalize/remap.h"

#define LONGEST UINT32_C(0xFFFFFFEF) /* of a unit */

/* Where the program is. */
typedef struct state {
    uint64_t from, to;
    uint32_t map;
    bool set;
} state;

/* A step of 'bytes' in place of an operation. */
static cuvet_status put_step(cv_remap *r, const cv_line_unit *u, const cv_line_op *op, uint64_t bytes)
{
    uint64_t n = bytes / u->least, line = 0;

    if (op->code == CV_LINE_FIXED_ADVANCE_PC && op->kind == CV_LINE_STEP && bytes <= UINT16_MAX) {
        cv_put_u8(&r->out, op->code);
        cv_put_u16(&r->out, (uint16_t)bytes);
        return CUVET_OK;
    }
    if (bytes % u->least != 0)
        return cv_remap_no(r, CV_R_DWARF_STEP, op->at, bytes, u->least);
    if (op->kind == CV_LINE_SPECIAL) {
        line = (unsigned)(op->code - u->base) % u->range;
        if (n <= UINT8_MAX && line + u->range * n + u->base <= UINT8_MAX) {
            cv_put_u8(&r->out, (uint8_t)(line + u->range * n + u->base));
            return CUVET_OK;
        }
    }
    if (u->base <= CV_LINE_ADVANCE_PC)
        return cv_remap_no(r, CV_R_DWARF_HEADER, u->at, u->base, CV_LINE_ADVANCE_PC + 1);
    cv_put_u8(&r->out, CV_LINE_ADVANCE_PC);
    cv_remap_uleb(&r->out, n);
    if (op->kind == CV_LINE_SPECIAL)
        cv_put_u8(&r->out, (uint8_t)(line + u->base));
    return CUVET_OK;
}

static cuvet_status step(cv_remap *r, const cv_line_unit *u, const cv_line_op *op, state *at)
{
    uint64_t from = cv_sat_add(at->from, op->step), to = 0;
    cuvet_status st;

    if (at->map == CV_STILL)
        return CUVET_OK;
    if (!cv_remap_place(r->said, at->map, from, &to))
        return cv_remap_no(r, CV_R_DWARF_ADDRESS, op->at, from,
                           cv_offset_maps_at(&r->said->maps, at->map)->size_from);
    if (to - at->to != op->step) {
        cv_remap_keep(r, op->at);
        st = put_step(r, u, op, to - at->to);
        if (st != CUVET_OK)
            return st;
        if (!cv_remap_resume(r, op->end))
            return cv_nomem(r->x, r->s.off);
    }
    at->from = from;
    at->to = to;
    return CUVET_OK;
}

/* The program names a function; its address is the relocation's business. */
static cuvet_status set_address(cv_remap *r, const cv_line_op *op, state *at)
{
    cuvet_status st = CUVET_OK;
    const cv_site *s = cv_remap_site(r, op->address, &st);

    if (!s)
        return st;
    *at = (state){ .from = s->place, .map = s->map, .set = true };
    if (s->map != CV_STILL && !cv_remap_place(r->said, s->map, s->place, &at->to))
        return cv_remap_no(r, CV_R_DWARF_ADDRESS, op->at, s->place,
                           cv_offset_maps_at(&r->said->maps, s->map)->size_from);
    return CUVET_OK;
}

static cuvet_status operation(cv_remap *r, const cv_line_unit *u, const cv_line_op *op, state *at)
{
    switch (op->kind) {
    case CV_LINE_PLAIN: return CUVET_OK;
    case CV_LINE_ADDRESS: return set_address(r, op, at);
    case CV_LINE_ROW:
    case CV_LINE_STEP:
    case CV_LINE_SPECIAL:
    case CV_LINE_END: break;
    }
    if (!at->set)
        return cv_remap_no(r, CV_R_DWARF_SEQUENCE, op->at, op->code, 0);
    if (op->kind == CV_LINE_END)
        *at = (state){ .set = false, .map = CV_STILL };
    return op->kind == CV_LINE_STEP || op->kind == CV_LINE_SPECIAL ? step(r, u, op, at) : CUVET_OK;
}

static cuvet_status rewrite_unit(cv_remap *r, const cv_line_unit *u)
{
    state at = { .map = CV_STILL };
    uint64_t begin = cv_sat_add(r->out.len, u->at - r->done), last = u->program;
    cuvet_status st = CUVET_OK;
    cv_line_op op = { .kind = CV_LINE_END };
    bool open = false;
    cv_dwarf_bad bad;

    for (uint64_t pos = u->program; pos < u->end && st == CUVET_OK; pos = op.end) {
        if (!cv_work(r->x, 1, r->s.off + pos))
            return cv_cancelled(r->x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_line_op_read(r->s, u, pos, &op, &bad))
            return cv_remap_bad(r, &bad);
        st = operation(r, u, &op, &at);
        last = pos;
        open = op.kind != CV_LINE_END;
    }
    if (st == CUVET_OK && open)
        st = cv_remap_no(r, CV_R_DWARF_SEQUENCE, last, op.code, 1);
    if (st != CUVET_OK)
        return st;
    cv_remap_keep(r, u->end);
    if (r->out.len - begin - 4 > LONGEST)
        return cv_remap_no(r, CV_R_DWARF_LENGTH, u->at, r->out.len - begin - 4, LONGEST);
    cv_patch_u32(&r->out, begin, (uint32_t)(r->out.len - begin - 4));
    return CUVET_OK;
}

cuvet_status cv_remap_lines(cv_remap *r)
{
    cuvet_status st = CUVET_OK;
    cv_dwarf_bad bad;
    cv_line_unit u;

    for (uint64_t pos = 0; pos < r->s.len && st == CUVET_OK; pos = u.end) {
        if (!cv_line_unit_read(r->s, pos, &u, &bad))
            return cv_remap_bad(r, &bad);
        st = rewrite_unit(r, &u);
    }
    return st == CUVET_OK && r->out.failed ? cv_nomem(r->x, r->s.off) : st;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Line programs: operation by operation, so that rows stay the same ones (those of inlined calls are named by
 * their number), and what did not move stays as it is. */
#include "finalize/remap.h"

#include "format/dwarf/write.h"

/* Where the program is. */
typedef struct address_state {
    uint64_t from, to;
    uint32_t map;
    bool set;
} address_state;

/* A step of 'bytes' in place of an operation. */
static cuvet_status put_step(cv_remap *remap, const cv_line_unit *unit, const cv_line_op *op, uint64_t bytes)
{
    uint64_t steps = bytes / unit->least, line = 0;

    if (op->code == CV_LINE_FIXED_ADVANCE_PC && op->kind == CV_LINE_STEP && bytes <= UINT16_MAX) {
        cv_put_u8(&remap->out, op->code);
        cv_put_u16(&remap->out, (uint16_t)bytes);
        return CUVET_OK;
    }
    if (bytes % unit->least != 0)
        return cv_remap_no(remap, CV_R_DWARF_STEP, op->at, bytes, unit->least);
    if (op->kind == CV_LINE_SPECIAL) {
        line = (unsigned)(op->code - unit->base) % unit->range;
        if (steps <= UINT8_MAX && line + unit->range * steps + unit->base <= UINT8_MAX) {
            cv_put_u8(&remap->out, (uint8_t)(line + unit->range * steps + unit->base));
            return CUVET_OK;
        }
    }
    if (unit->base <= CV_LINE_ADVANCE_PC)
        return cv_remap_no(remap, CV_R_DWARF_HEADER, unit->at, unit->base, CV_LINE_ADVANCE_PC + 1);
    cv_put_u8(&remap->out, CV_LINE_ADVANCE_PC);
    cv_put_uleb(&remap->out, steps);
    if (op->kind == CV_LINE_SPECIAL)
        cv_put_u8(&remap->out, (uint8_t)(line + unit->base));
    return CUVET_OK;
}

static cuvet_status rewrite_step(cv_remap *remap, const cv_line_unit *unit, const cv_line_op *op,
                                 address_state *at)
{
    uint64_t from = cv_sat_add(at->from, op->step), to = 0;
    cuvet_status status;

    if (at->map == CV_STILL)
        return CUVET_OK;
    if (!cv_remap_place(remap->said, at->map, from, &to))
        return cv_remap_no(remap, CV_R_DWARF_ADDRESS, op->at, from,
                           cv_offset_maps_get(&remap->said->maps, at->map)->size_from);
    if (to - at->to != op->step) {
        cv_remap_keep(remap, op->at);
        status = put_step(remap, unit, op, to - at->to);
        if (status != CUVET_OK)
            return status;
        if (!cv_remap_resume(remap, op->end))
            return cv_nomem(remap->ctx, remap->section.off);
    }
    at->from = from;
    at->to = to;
    return CUVET_OK;
}

/* The program names a function; its address is the relocation's business. */
static cuvet_status set_address(cv_remap *remap, const cv_line_op *op, address_state *at)
{
    cuvet_status status = CUVET_OK;
    const cv_site *site = cv_remap_site(remap, op->address, &status);

    if (!site)
        return status;
    *at = (address_state){ .from = site->place, .map = site->map, .set = true };
    if (site->map != CV_STILL && !cv_remap_place(remap->said, site->map, site->place, &at->to))
        return cv_remap_no(remap, CV_R_DWARF_ADDRESS, op->at, site->place,
                           cv_offset_maps_get(&remap->said->maps, site->map)->size_from);
    return CUVET_OK;
}

static cuvet_status rewrite_operation(cv_remap *remap, const cv_line_unit *unit, const cv_line_op *op,
                                      address_state *at)
{
    switch (op->kind) {
    case CV_LINE_PLAIN: return CUVET_OK;
    case CV_LINE_ADDRESS: return set_address(remap, op, at);
    case CV_LINE_ROW:
    case CV_LINE_STEP:
    case CV_LINE_SPECIAL:
    case CV_LINE_END: break;
    }
    if (!at->set)
        return cv_remap_no(remap, CV_R_DWARF_SEQUENCE, op->at, op->code, 0);
    if (op->kind == CV_LINE_END)
        *at = (address_state){ .set = false, .map = CV_STILL };
    return op->kind == CV_LINE_STEP || op->kind == CV_LINE_SPECIAL ? rewrite_step(remap, unit, op, at)
                                                                   : CUVET_OK;
}

static cuvet_status rewrite_unit(cv_remap *remap, const cv_line_unit *unit)
{
    address_state at = { .map = CV_STILL };
    uint64_t begin = cv_sat_add(remap->out.len, unit->at - remap->done), last = unit->program;
    cuvet_status status = CUVET_OK;
    cv_line_op op = { .kind = CV_LINE_END };
    bool open = false;
    cv_dwarf_bad bad;

    for (uint64_t pos = unit->program; pos < unit->end && status == CUVET_OK; pos = op.end) {
        if (!cv_work(remap->ctx, 1, remap->section.off + pos))
            return cv_cancelled(remap->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_line_op_read(remap->section, unit, pos, &op, &bad))
            return cv_remap_bad(remap, &bad);
        status = rewrite_operation(remap, unit, &op, &at);
        last = pos;
        open = op.kind != CV_LINE_END;
    }
    if (status == CUVET_OK && open)
        status = cv_remap_no(remap, CV_R_DWARF_SEQUENCE, last, op.code, 1);
    if (status != CUVET_OK)
        return status;
    cv_remap_keep(remap, unit->end);
    if (remap->out.len - begin - 4 >= CV_DWARF_LENGTHS)
        return cv_remap_no(remap, CV_R_DWARF_LENGTH, unit->at, remap->out.len - begin - 4,
                           CV_DWARF_LENGTHS - 1);
    cv_patch_u32(&remap->out, begin, (uint32_t)(remap->out.len - begin - 4));
    return CUVET_OK;
}

cuvet_status cv_remap_lines(cv_remap *remap)
{
    cuvet_status status = CUVET_OK;
    cv_dwarf_bad bad;
    cv_line_unit unit;

    for (uint64_t pos = 0; pos < remap->section.len && status == CUVET_OK; pos = unit.end) {
        if (!cv_line_unit_read(remap->section, pos, &unit, &bad))
            return cv_remap_bad(remap, &bad);
        status = rewrite_unit(remap, &unit);
    }
    return status == CUVET_OK && remap->out.failed ? cv_nomem(remap->ctx, remap->section.off) : status;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information: the range of each description, and its steps. */
#include "finalize/remap.h"

/* A common part. */
typedef struct common {
    uint64_t at, step;
} common;

CV_VEC(commons, common);

typedef struct frame_pass {
    cv_remap *remap;
    commons all;   /* ascending */
    cv_keys names; /* pointers as numbers: what they say, where they are in the output; odd: in four bytes */
} frame_pass;

static cuvet_status report_no_memory(const frame_pass *pass)
{
    return cv_nomem(pass->remap->ctx, pass->remap->section.off);
}

static cuvet_status read_common(frame_pass *pass, const cv_frame *frame)
{
    cv_frame_common decoded = { 0 };
    cv_frame_op op = { 0 };
    cv_dwarf_bad bad;

    if (!cv_frame_common_read(pass->remap->section, frame, &decoded, &bad))
        return cv_remap_bad(pass->remap, &bad);
    for (uint64_t pos = decoded.operations; pos < frame->end; pos = op.end) {
        if (!cv_work(pass->remap->ctx, 1, pass->remap->section.off + pos))
            return cv_cancelled(pass->remap->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_op_read(pass->remap->section, frame, pos, &op, &bad))
            return cv_remap_bad(pass->remap, &bad);
        if (op.advances || op.code == CV_CFA_SET_LOC)
            return cv_remap_no(pass->remap, CV_R_DWARF_FRAME, pos, op.code, 0);
    }
    return commons_push(&pass->remap->ctx->mem, &pass->all, (common){ frame->at, decoded.step })
               ? CUVET_OK
               : report_no_memory(pass);
}

/* The part that is named, or the nearest before: objects of ptxas from sm_100 on name offsets of the frames
 * in their capsule, which is longer. */
static cuvet_status find_common(const frame_pass *pass, const cv_frame *frame, uint64_t names, uint64_t *step)
{
    uint64_t low = 0, high = pass->all.count;

    if (pass->all.count == 0)
        return cv_remap_no(pass->remap, CV_R_DWARF_COMMON, frame->at, names, UINT64_MAX);
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;

        if (commons_get(&pass->all, mid)->at <= names)
            low = mid;
        else
            high = mid;
    }
    if (commons_get(&pass->all, low)->at != names)
        low = pass->all.count - 1;
    *step = commons_get(&pass->all, low)->step;
    return CUVET_OK;
}

/* An advance in place of an operation, no shorter than it was. */
static void put_advance(cv_builder *out, uint8_t code, uint32_t steps)
{
    if (code == CV_CFA_ADVANCE && steps < 64) {
        cv_put_u8(out, (uint8_t)(CV_CFA_ADVANCE | steps));
    } else if ((code == CV_CFA_ADVANCE || code == CV_CFA_ADVANCE1) && steps <= UINT8_MAX) {
        cv_put_u8(out, CV_CFA_ADVANCE1);
        cv_put_u8(out, (uint8_t)steps);
    } else if (code != CV_CFA_ADVANCE4 && steps <= UINT16_MAX) {
        cv_put_u8(out, CV_CFA_ADVANCE2);
        cv_put_u16(out, (uint16_t)steps);
    } else {
        cv_put_u8(out, CV_CFA_ADVANCE4);
        cv_put_u32(out, steps);
    }
}

/* Where a description is. */
typedef struct address_state {
    uint64_t from, to, step;
    uint32_t map;
} address_state;

CV_WRAPS static cuvet_status move_address(const frame_pass *pass, address_state *state, uint64_t at,
                                          uint64_t from, uint64_t *by)
{
    uint64_t to = 0;

    if (!cv_remap_place(pass->remap->said, state->map, from, &to))
        return cv_remap_no(pass->remap, CV_R_DWARF_ADDRESS, at, from,
                           cv_offset_maps_get(&pass->remap->said->maps, state->map)->size_from);
    *by = to - state->to;
    state->from = from;
    state->to = to;
    return CUVET_OK;
}

/* Distances count modulo 2^32: ptxas ends descriptions for sm_75 with a step back, written that way. */
static cuvet_status read_advance(frame_pass *pass, const cv_frame_op *op, address_state *state)
{
    uint64_t was = cv_sat_mul(op->steps, state->step), by = 0;
    cuvet_status status;

    if (state->map == CV_STILL)
        return CUVET_OK;
    if (was > UINT32_MAX)
        return cv_remap_no(pass->remap, CV_R_DWARF_STEP, op->at, was, state->step);
    status = move_address(pass, state, op->at, (state->from + was) & UINT32_MAX, &by);
    by &= UINT32_MAX;
    if (status != CUVET_OK || by == was)
        return status;
    cv_remap_keep(pass->remap, op->at);
    if (by % state->step != 0)
        return cv_remap_no(pass->remap, CV_R_DWARF_STEP, op->at, by, state->step);
    put_advance(&pass->remap->out, op->code, (uint32_t)(by / state->step));
    return cv_remap_resume(pass->remap, op->end) ? CUVET_OK : report_no_memory(pass);
}

/* Begin and size: the begin is the relocation's business, unless nothing moves. */
static cuvet_status read_range(frame_pass *pass, const cv_frame *frame, address_state *state)
{
    uint64_t size = cv_u64_at(pass->remap->section, frame->body + CV_FRAME_WORD), by = 0;
    cuvet_status status = CUVET_OK;
    const cv_site *site;
    address_state end;

    if (frame->end - frame->body < CV_FRAME_RANGE)
        return cv_remap_no(pass->remap, CV_R_DWARF_LENGTH, frame->at, frame->end - frame->body,
                           CV_FRAME_RANGE);
    site = cv_remap_site(pass->remap, frame->body, &status);
    if (!site)
        return status;
    state->map = site->map;
    if (state->map == CV_STILL)
        return CUVET_OK;
    status = move_address(pass, state, frame->body, site->place, &by);
    end = *state;
    if (status == CUVET_OK)
        status = move_address(pass, &end, frame->body + CV_FRAME_WORD, cv_sat_add(state->from, size), &by);
    if (status != CUVET_OK || by == size)
        return status;
    cv_remap_keep(pass->remap, frame->body + CV_FRAME_WORD);
    cv_put_u64(&pass->remap->out, by);
    return cv_remap_resume(pass->remap, frame->body + CV_FRAME_RANGE) ? CUVET_OK : report_no_memory(pass);
}

static cuvet_status read_operations(frame_pass *pass, const cv_frame *frame, address_state *state)
{
    cuvet_status status = CUVET_OK;
    cv_frame_op op = { 0 };
    cv_dwarf_bad bad;

    for (uint64_t pos = frame->body + CV_FRAME_RANGE; pos < frame->end && status == CUVET_OK; pos = op.end) {
        if (!cv_work(pass->remap->ctx, 1, pass->remap->section.off + pos))
            return cv_cancelled(pass->remap->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_op_read(pass->remap->section, frame, pos, &op, &bad))
            return cv_remap_bad(pass->remap, &bad);
        if (op.code == CV_CFA_SET_LOC)
            return cv_remap_no(pass->remap, CV_R_DWARF_FRAME, pos, op.code, 0);
        if (op.advances)
            status = read_advance(pass, &op, state);
    }
    return status;
}

/* The pointer: a number here, or a relocation whose place follows the section. */
static cuvet_status read_pointer(frame_pass *pass, const cv_frame *frame, uint64_t begin, uint64_t *names)
{
    cv_remap *remap = pass->remap;
    const cv_site *site;

    for (; remap->site < remap->sites->count && cv_sites_get(remap->sites, remap->site)->at < frame->pointer;)
        remap->site++;
    site = remap->site < remap->sites->count ? cv_sites_get(remap->sites, remap->site) : NULL;
    if (site && site->at == frame->pointer) {
        *names = site->place;
        return CUVET_OK;
    }
    *names = frame->names;
    return cv_keys_push(&remap->ctx->mem, &pass->names,
                        (cv_key){ frame->names, (begin + (frame->pointer - frame->at)) << 1 | !frame->wide })
               ? CUVET_OK
               : report_no_memory(pass);
}

static cuvet_status read_description(frame_pass *pass, const cv_frame *frame, uint64_t begin)
{
    address_state state = { .map = CV_STILL };
    uint64_t names = 0;
    cuvet_status status = read_pointer(pass, frame, begin, &names);

    if (status == CUVET_OK)
        status = find_common(pass, frame, names, &state.step);
    if (status == CUVET_OK)
        status = read_range(pass, frame, &state);
    return status == CUVET_OK ? read_operations(pass, frame, &state) : status;
}

/* Its length, and a length that divides as it did before. */
static cuvet_status finish_description(frame_pass *pass, const cv_frame *frame, uint64_t begin)
{
    cv_builder *out = &pass->remap->out;
    uint64_t head = frame->wide ? 12 : 4, len;

    cv_remap_keep(pass->remap, frame->end);
    if (out->len - begin == frame->end - frame->at)
        return CUVET_OK;
    if ((frame->end - frame->at) % CV_FRAME_WORD == 0)
        while ((out->len - begin) % CV_FRAME_WORD != 0 && !out->failed)
            cv_put_u8(out, CV_CFA_NOP);
    if (!cv_remap_resume(pass->remap, frame->end))
        return report_no_memory(pass);
    len = out->len - begin - head;
    if (frame->wide)
        cv_patch_u64(out, begin + 4, len);
    else if (len < UINT32_MAX)
        cv_patch_u32(out, begin, (uint32_t)len);
    else
        return cv_remap_no(pass->remap, CV_R_DWARF_LENGTH, frame->at, len, UINT32_MAX);
    return CUVET_OK;
}

/* Numbers that point into the section itself. */
static cuvet_status patch_pointers(const frame_pass *pass)
{
    cv_remap *remap = pass->remap;

    for (uint64_t i = 0; i < pass->names.count && remap->shifts.count; i++) {
        const cv_key *key = cv_keys_get(&pass->names, i);
        uint64_t now = cv_remap_shifted(&remap->shifts, key->key);

        if (key->key >= remap->section.len) /* one of the capsule's: nothing of it moved */
            continue;
        if (key->index & 1)
            cv_patch_u32(&remap->out, key->index >> 1, (uint32_t)now);
        else
            cv_patch_u64(&remap->out, key->index >> 1, now);
    }
    return remap->out.failed ? report_no_memory(pass) : CUVET_OK;
}

static cuvet_status rewrite_entries(frame_pass *pass)
{
    cuvet_status status = CUVET_OK;
    cv_dwarf_bad bad;
    cv_frame frame;

    for (uint64_t pos = 0; pos < pass->remap->section.len && status == CUVET_OK; pos = frame.end) {
        uint64_t begin = cv_sat_add(pass->remap->out.len, pos - pass->remap->done);

        if (!cv_work(pass->remap->ctx, 1, pass->remap->section.off + pos))
            return cv_cancelled(pass->remap->ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (!cv_frame_read(pass->remap->section, pos, &frame, &bad))
            return cv_remap_bad(pass->remap, &bad);
        status = frame.common ? read_common(pass, &frame) : read_description(pass, &frame, begin);
        if (status == CUVET_OK)
            status = finish_description(pass, &frame, begin);
    }
    return status == CUVET_OK ? patch_pointers(pass) : status;
}

cuvet_status cv_remap_frames(cv_remap *remap)
{
    frame_pass pass = { .remap = remap };
    cuvet_status status = rewrite_entries(&pass);

    commons_free(&remap->ctx->mem, &pass.all);
    cv_keys_free(&remap->ctx->mem, &pass.names);
    return status;
}

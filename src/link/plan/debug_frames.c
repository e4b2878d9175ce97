/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Call frame information from sm_100 on. The reference linker writes it anew with the code: what belongs to a
 * function that is gone goes too, and every description names the common part that stands before it. (The
 * pointers in the objects cannot be used: they count in the frames of the capsule, whose sizes differ.)
 * Before sm_100 the section is linked like any other debug data. */
#include "base/arith.h"
#include "format/dwarf/read.h"
#include "format/dwarf/write.h"
#include "format/elf/names.h"
#include "link/plan/pieces.h"

/* Zero bytes that the reference writes instead of instructions. */
enum { BARE_PAD = 4 };

/* One entry of a contribution; the piece of the same number says where it is. */
typedef struct debug_frame {
    cv_span bytes, other; /* other: its twin in the capsule */
    uint64_t mate;        /* of a description: its common part */
    cv_id fn;
    bool common, bare; /* bare: without instructions */
} debug_frame;

CV_VEC(frames, debug_frame);

typedef struct debug_framer {
    const cv_view_debug_frames *view;
    cv_id sec;
    frames all;
    cv_pieces place;
    cv_keys rels; /* relocations by offset */
    cv_id obj;    /* whose capsule was looked at last, and its frames */
    cv_span capsule;
} debug_framer;

/* The same information in an object's capsule, whose code has other sizes. The contributions of one object
 * follow each other. */
static cv_span capsule_frames(debug_framer *framer, cv_id obj)
{
    const cv_lobj *object = cv_l_obj(framer->view, obj);

    if (obj == framer->obj)
        return framer->capsule;
    framer->obj = obj;
    framer->capsule = cv_span_of(NULL, 0, 0);
    for (cv_id i = 1; i < object->n_sec; i++) {
        cv_id sec = object->first_sec + i;

        if (cv_span_eq_str(cv_l_text(framer->view, cv_l_isec(framer->view, sec)->name),
                           ".nv.merc.debug_frame")) {
            framer->capsule = cv_l_body(framer->view, cv_l_isec(framer->view, sec));
            break;
        }
    }
    return framer->capsule;
}

/* Length and identification are wide in every file seen. @return false: not an entry */
static bool next_frame(cv_span span, uint64_t pos, debug_frame *frame, uint64_t *end)
{
    cv_dwarf_bad bad;
    cv_frame entry;

    if (!cv_frame_read(span, pos, &entry, &bad) || !entry.wide)
        return false;
    frame->common = entry.common;
    *end = entry.end;
    return cv_span_sub(span, pos, entry.end - pos, &frame->bytes);
}

static cuvet_status read_part(debug_framer *framer, const cv_lpart *part)
{
    const cv_view_debug_frames *view = framer->view;
    cv_span span = cv_l_body(view, cv_l_isec(view, part->isec)),
            message = capsule_frames(framer, cv_l_isec(view, part->isec)->obj);
    uint64_t pos = 0, twin = 0, end;
    bool common = false;

    for (; pos < span.len; pos = end) {
        debug_frame frame = { .fn = CV_NONE }, other;

        if (!next_frame(span, pos, &frame, &end) ||
            (!frame.common && (!common || frame.bytes.len < CV_FRAME_BODY + CV_FRAME_RANGE)))
            return cv_link_refuse_section(view, part->isec, CV_R_LINK_FRAMES, pos);
        common = true;
        frame.other = next_frame(message, twin, &other, &twin) && other.common == frame.common ? other.bytes
                                                                                               : frame.bytes;
        if (!frames_push(&view->ctx->mem, &framer->all, frame) ||
            !cv_pieces_push(&view->ctx->mem, &framer->place,
                            (cv_piece){ .at = part->base + pos, .end = part->base + end }))
            return cv_l_nomem(view);
    }
    return CUVET_OK;
}

static cuvet_status read_frames(debug_framer *framer)
{
    const cv_view_debug_frames *view = framer->view;
    cuvet_status st = CUVET_OK;

    for (cv_id part = cv_l_osec(view, framer->sec)->first_part; part != CV_NONE && st == CUVET_OK;
         part = cv_lparts_at(&view->out->part, part)->next)
        st = read_part(framer, cv_lparts_at(&view->out->part, part));
    return st == CUVET_OK ? cv_out_rels_of(view->ctx, view->out, framer->sec, &framer->rels) : st;
}

static cuvet_status refuse(const debug_framer *framer, cv_id rel)
{
    cv_id target = cv_out_run_of(framer->view->out, rel)->target;

    return cv_link_refuse_section(framer->view, target, CV_R_LINK_FRAMES,
                                  cv_l_irel(framer->view, rel)->off -
                                      cv_l_became(framer->view, target)->base);
}

/* The function that an entry describes: it is named where its code begins and where that is measured, and
 * nothing else is but the common part, to which the pointer is written here. The relocations are those from
 * *r on. */
static cuvet_status read_function(debug_framer *framer, uint64_t index, uint64_t *row)
{
    const cv_view_debug_frames *view = framer->view;
    const cv_piece *piece = cv_pieces_at(&framer->place, index);
    debug_frame *frame = frames_at(&framer->all, index);

    for (; *row < framer->rels.count && cv_keys_at(&framer->rels, *row)->key < piece->end; ++*row) {
        cv_irel *rel = cv_l_irel(view, (cv_id)cv_keys_at(&framer->rels, *row)->index);
        const cv_isym *sym = cv_l_isym(view, cv_l_definition(view, rel->sym));

        rel->gone = !frame->common && rel->off == piece->at + CV_FRAME_POINTER;
        if (rel->gone)
            continue;
        if (frame->common || cv_l_fn_of(framer->view, sym->id) == CV_NONE ||
            (frame->fn != CV_NONE && frame->fn != cv_l_fn_of(framer->view, sym->id)) ||
            (rel->off != piece->at + CV_FRAME_CODE && rel->off != piece->at + CV_FRAME_CODE_SIZE) ||
            cv_reloc_of(rel->type)->bytes > CV_FRAME_WORD)
            return refuse(framer, (cv_id)cv_keys_at(&framer->rels, *row)->index);
        frame->fn = cv_l_fn_of(framer->view, sym->id);
    }
    return CUVET_OK;
}

static cuvet_status choose(debug_framer *framer)
{
    uint64_t row = 0, common = 0;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < framer->all.count && st == CUVET_OK; i++) {
        debug_frame *frame = frames_at(&framer->all, i);

        if (frame->common)
            common = i;
        frame->mate = common;
        st = read_function(framer, i, &row);
        cv_pieces_at(&framer->place, i)->keep =
            frame->fn != CV_NONE && cv_l_fn_calls(framer->view, frame->fn)->live;
        if (cv_pieces_at(&framer->place, i)->keep)
            cv_pieces_at(&framer->place, common)->keep = true;
    }
    return st;
}

/* A weak function may be described for each definition. The reference makes the first description anew, of
 * the code that won, and leaves of the later ones what says where the code was in the capsule. */
static bool settle(debug_framer *framer)
{
    cv_u32s first = { 0 };
    bool ok = cv_u32s_fill(&framer->view->ctx->mem, &first, cv_max(framer->view->functions->fn.count, 1));

    for (uint64_t i = 0; i < framer->all.count && ok; i++) {
        debug_frame *frame = frames_at(&framer->all, i), *piece, *mate = frames_at(&framer->all, frame->mate);
        uint32_t *at;

        if (frame->common || !cv_pieces_at(&framer->place, i)->keep)
            continue;
        at = cv_u32s_at(&first, frame->fn);
        if (*at == 0) {
            *at = (uint32_t)(i + 1);
            continue;
        }
        piece = frames_at(&framer->all, *at - 1);
        piece->bytes = frame->bytes;
        frames_at(&framer->all, piece->mate)->bytes = mate->bytes;
        frame->bytes = frame->other;
        frame->bare = true;
        mate->bytes = mate->other;
    }
    cv_u32s_free(&framer->view->ctx->mem, &first);
    return ok;
}

static void write_frame(cv_builder *builder, const debug_frame *frame, uint64_t common)
{
    cv_span body = cv_span_tail(frame->bytes, CV_FRAME_BODY);
    uint64_t pad = 0;

    if (frame->bare) {
        body.len = cv_min(body.len, CV_FRAME_RANGE);
        pad = CV_FRAME_RANGE + BARE_PAD - body.len;
    }
    cv_put_frame(builder, frame->common ? cv_u64_at(frame->bytes, CV_FRAME_POINTER) : common, body, pad);
}

static void write_frames(debug_framer *framer)
{
    cv_osec *osec = cv_l_osec(framer->view, framer->sec);

    for (uint64_t i = 0; i < framer->all.count; i++) {
        const debug_frame *frame = frames_at(&framer->all, i);

        cv_pieces_at(&framer->place, i)->to = osec->bytes.len;
        if (cv_pieces_at(&framer->place, i)->keep)
            write_frame(&osec->bytes, frame, cv_pieces_at(&framer->place, frame->mate)->to);
    }
    osec->size = osec->bytes.len;
    osec->first_part = osec->last_part = CV_NONE;
    osec->dead = osec->size == 0;
}

cuvet_status cv_stage_debug_frames(const cv_view_debug_frames *view)
{
    debug_framer framer = { .view = view, .obj = CV_NONE };
    cuvet_status st;

    if (!cv_l_has(view, CV_GEN_REMAKES_DEBUG))
        return CUVET_OK;
    framer.sec = cv_l_find_osec(view, ".debug_frame");
    if (framer.sec == CV_NONE)
        return CUVET_OK;
    view->out->frames = framer.sec;
    st = read_frames(&framer);
    if (st == CUVET_OK)
        st = choose(&framer);
    if (st == CUVET_OK)
        st = settle(&framer) ? CUVET_OK : cv_l_nomem(view);
    if (st == CUVET_OK) {
        write_frames(&framer);
        cv_out_move_rels(view->out, &framer.rels, &framer.place);
    }
    if (st == CUVET_OK && cv_l_osec(view, framer.sec)->bytes.failed)
        st = cv_l_nomem(view);
    frames_free(&view->ctx->mem, &framer.all);
    cv_pieces_free(&view->ctx->mem, &framer.place);
    cv_keys_free(&view->ctx->mem, &framer.rels);
    return st;
}

/* Entries one behind the other, each description behind the common part that it names. */
bool cv_stage_debug_frames_holds(const cv_check_debug_frames *view)
{
    uint64_t pos = 0, common = 0, end;
    bool any = false;
    cv_span span;

    if (view->out->frames == CV_NONE || cv_l_osec(view, view->out->frames)->dead)
        return true;
    span = cv_builder_span(&cv_l_osec(view, view->out->frames)->bytes);
    for (; pos < span.len; pos = end) {
        debug_frame frame;

        if (!next_frame(span, pos, &frame, &end) ||
            (!frame.common && (!any || cv_u64_at(span, pos + CV_FRAME_POINTER) != common)))
            return false;
        if (frame.common)
            common = pos;
        any = true;
    }
    return span.len == cv_l_osec(view, view->out->frames)->size;
}

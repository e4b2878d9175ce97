/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bind: what is it, and which members does it hold? Nothing is unpacked. */
#include "drive/select.h"
#include "intake/place.h"
#include "intake/probe.h"
#include "intake/region.h"
#include "intake/walk.h"

/* SM number of a raw device ELF, which the walk has recognised. */
static cuvet_status image_sm(cv_input *in, const cuvet_source *src, const cv_unit *unit, uint32_t *sm)
{
    uint8_t head[64] = { 0 };
    cv_elf_header header;
    cuvet_status status =
        cv_source_read(&in->ctx, src, unit->off, head, (size_t)cv_min(sizeof(head), unit->payload_size));

    if (status == CUVET_OK && cv_elf_peek(cv_span_of(head, sizeof(head), 0), &header))
        *sm = cv_elf_flags_sm(header.flags, header.osabi == CV_OSABI_CUDA);
    return status;
}

/* The same for all members of a container; looking it up costs a look at every section of the host object. */
static cuvet_status is_first(cv_input *in, const cv_unit *unit, const cv_candidates *to, bool *first)
{
    const cuvet_candidate *before = to->count > 1 ? &cv_candidates_get(to, to->count - 2)->pub : NULL;

    if (in->listed) {
        *first = true;
        return CUVET_OK;
    }
    if (before && before->container_off == unit->container_off &&
        before->depth == cv_candidates_get(to, to->count - 1)->pub.depth) {
        *first = (before->flags & CUVET_CANDIDATE_FIRST_CONTAINER) != 0;
        return CUVET_OK;
    }
    if (!cv_work(&in->ctx, in->walk.host.sections.count, unit->off))
        return CUVET_E_LIMIT;
    *first = cv_walk_is_first(&in->walk, unit->container_off);
    return CUVET_OK;
}

static cuvet_status add_candidates(cv_input *in, const cuvet_source *src, uint32_t depth, cv_candidates *to)
{
    const cv_unit *unit = &in->unit;
    cv_span head = cv_span_of(unit->head.bytes, sizeof(unit->head.bytes), unit->off);
    cuvet_status status = CUVET_OK;
    cv_candidate *candidate;
    uint64_t flags;
    bool first = false;

    if (to->count >= in->ctx.lim.candidates)
        return cv_reject(&in->ctx, CV_R_LIMIT_CANDIDATES, unit->off, to->count + 1, in->ctx.lim.candidates);
    if (!cv_candidates_room(&in->ctx.mem, to, to->count + 1))
        return cv_nomem(&in->ctx, unit->off);
    candidate = cv_candidates_at(to, to->count++);
    candidate->unit = *unit;
    candidate->unit.embedded =
        false; /* rules that are relaxed for looking at it hold when it is to be linked */
    candidate->pub = (cuvet_candidate){ .where = unit->path,
                                        .container_off = unit->container_off,
                                        .header_off = unit->off,
                                        .payload_off = unit->off + unit->header_size,
                                        .stored_size = unit->payload_size,
                                        .depth = depth };
    if (cv_unit_is_member(unit)) {
        flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS);
        candidate->pub.kind = cv_unit_kind_of((uint16_t)cv_fatbin_get(head, CV_FB_FIELD_MEMBER_KIND));
        candidate->pub.sm = (uint32_t)cv_fatbin_get(head, CV_FB_FIELD_MEMBER_ARCH);
        candidate->pub.member_flags = flags;
        candidate->pub.suffix = flags & CV_FB_ARCH_A ? 'a' : flags & CV_FB_ARCH_F ? 'f' : 0;
        status = is_first(in, unit, to, &first);
        candidate->pub.flags = first ? CUVET_CANDIDATE_FIRST_CONTAINER : 0;
    } else {
        candidate->pub.kind = unit->row->kind;
        candidate->pub.member_flags = CV_FB_64BIT;
        if (candidate->pub.kind == CUVET_K_CUBIN)
            status = image_sm(in, src, unit, &candidate->pub.sm);
    }
    return status;
}

cuvet_status cv_input_walk(cv_input *in, const cuvet_source *src, uint64_t off, uint64_t end, uint32_t depth,
                           cv_candidates *to)
{
    cuvet_path at = in->ctx.path;
    cv_walk *walk = &in->walk;
    cuvet_status status;

    status = cv_walk_open(&in->ctx, walk, src, off, end, false, false);
    walk->nested = depth > 0;
    while (status == CUVET_OK && (status = cv_walk_next(&in->ctx, walk, &in->unit)) == CUVET_OK) {
        if (cv_input_cancelled(in))
            status = CUVET_E_CANCELLED;
        else if (!cv_place_chosen(in->unit.place))
            cv_report(&in->ctx, CV_R_INPUT_PLACE, in->unit.off, 0, in->unit.place, 0);
        else if (cv_unit_is_member(&in->unit) || in->unit.row->kind == CUVET_K_CUBIN ||
                 in->unit.row->kind == CUVET_K_PTX) /* no linker takes other IR */
            status = add_candidates(in, src, depth, to);
        cv_walk_forget(walk);
    }
    cv_walk_close(&in->ctx, walk);
    in->ctx.path = at;
    if (status != CUVET_END)
        return status;
    return cv_input_cancelled(in) ? CUVET_E_CANCELLED : cv_verdict_status(in->ctx.verdict);
}

/* The payload is one piece of device code itself. */
static cuvet_status add_direct(cv_input *in, const cuvet_content_info *content, cuvet_kind kind,
                               cv_candidates *to)
{
    cv_candidate *candidate;

    if (!cv_candidates_room(&in->ctx.mem, to, 1))
        return cv_nomem(&in->ctx, 0);
    to->count = 1;
    candidate = cv_candidates_at(to, 0);
    *candidate = (cv_candidate){ 0 };
    candidate->pub.kind = kind;
    candidate->pub.sm = content->sm;
    candidate->pub.flags = CUVET_CANDIDATE_FIRST_CONTAINER;
    candidate->pub.stored_size = content->length;
    candidate->unit.row = cv_containers_of(kind);
    candidate->unit.payload_size = content->length;
    candidate->unit.referenced = true;
    return CUVET_OK;
}

static cuvet_status list_members(cv_input *in, const uint8_t *bytes, uint64_t size, cv_candidates *to)
{
    const cuvet_source src = cv_source_memory(bytes, size);
    cuvet_status status;

    status = cv_input_walk(in, &src, 0, size, 0, to);
    if (status == CUVET_OK && to->count == 0)
        status = cv_reject(&in->ctx, CV_R_INPUT_EMPTY, 0, size, 0);
    return status;
}

static cuvet_status list_payload(cv_input *in, const uint8_t *bytes, const cuvet_content_info *content,
                                 cv_candidates *to)
{
    switch (content->type) {
    case CUVET_K_CUBIN: return add_direct(in, content, CUVET_K_CUBIN, to);
    case CUVET_K_PTX: return add_direct(in, content, CUVET_K_PTX, to);
    case CUVET_K_NVVM:
    case CUVET_K_LTOIR: return add_direct(in, content, CUVET_K_LTOIR, to);
    case CUVET_K_WRAPPER:
        return cv_reject(&in->ctx, CV_R_INPUT_WRAPPER, 0, cv_u64_at(cv_span_of(bytes, content->length, 0), 8),
                         0);
    case CUVET_K_FATBIN:
    case CUVET_K_ARCHIVE:
    case CUVET_K_HOST_ELF: return list_members(in, bytes, content->length, to);
    case CUVET_K_MERCURY:
    case CUVET_K_BITCODE:
    case CUVET_K_NONE: break;
    }
    return CUVET_E_INTERNAL; /* the classifier says UNKNOWN */
}

CV_BUF_BEGIN
static const uint8_t *skip_bytes(const uint8_t *bytes, uint64_t by)
{
    return bytes + by;
}
CV_BUF_END

static cuvet_status classify_and_list(cv_input *in, const uint8_t *bytes, size_t size,
                                      cuvet_content_info *content)
{
    const unsigned flags = in->cfg.flags & CUVET_SELECT_LENIENT ? CUVET_CLASSIFY_LENIENT : 0;
    cuvet_status status = cv_classify(&in->ctx, cv_span_of(bytes, size, 0), flags, content);

    content->length =
        size - content->off; /* what follows the first header is not dropped, whatever that says */
    if (status == CUVET_OK)
        status = list_payload(in, skip_bytes(bytes, content->off), content, &in->found);
    return cv_input_settle(in, status);
}

/* All or nothing: what was found takes the place of what was bound. */
static void replace_binding(cv_input *in, const uint8_t *bytes, uint8_t *own, size_t size,
                            const cuvet_content_info *content)
{
    cv_mem *mem = &in->ctx.mem;

    cv_candidates_free(mem, &in->candidates);
    cv_mem_put(mem, in->copy, in->copy_len);
    in->candidates.items = in->found.items;
    in->candidates.count = in->found.count;
    in->candidates.cap = in->found.cap;
    in->found.items = NULL;
    in->found.count = in->found.cap = 0;
    in->copy = own;
    in->copy_len = own ? size : 0;
    in->bytes = bytes;
    in->length = content->length;
    in->content = *content;
    in->state = CUVET_SELECT_BOUND;
}

/* What was said replaces what was said before; without memory nothing has happened. */
static cuvet_status settle_diags(cv_input *in, uint64_t before, cuvet_status status)
{
    uint64_t count = in->diags.count - before;

    if (status == CUVET_E_CANCELLED) /* it has been heard */
        __atomic_store_n(&in->cancel, 0, __ATOMIC_RELAXED);
    if (status == CUVET_E_NOMEM) {
        in->diags.count = before;
        return status;
    }
    for (uint64_t i = 0; i < count && before != 0; i++)
        *cv_diags_at(&in->diags, i) = *cv_diags_at(&in->diags, before + i);
    in->diags.count = count;
    return status;
}

/* The unit as it would be found in the container alone. */
static cv_unit unit_alone(const cv_unit *unit)
{
    cv_unit moved = *unit;
    const cuvet_step last = CV_ARRAY_GET(unit->path.step, unit->path.n - 1);

    moved.path = (cuvet_path){ .n = 2 };
    CV_ARRAY_SET(moved.path.step, 0, ((cuvet_step){ CUVET_P_FATBIN, CUVET_STEP_INDEX, 0 }));
    CV_ARRAY_SET(moved.path.step, 1, last);
    moved.off -= unit->container_off;
    moved.container_off = 0;
    moved.place = CUVET_PLACE_FILE;
    moved.referenced = true;
    moved.ar_name = moved.ar_name_len = 0;
    return moved;
}

cuvet_status cv_input_bind_listed(cv_input *in, cv_span container, const cv_listing *list)
{
    const cuvet_source src = cv_source_memory(container.base, container.len);
    const cuvet_content_info content = { .type = CUVET_K_FATBIN, .length = container.len };
    cuvet_status status = CUVET_OK;

    if (in->state != CUVET_SELECT_NEW)
        return CUVET_E_STATE;
    cv_ctx_unit(&in->ctx, container.len);
    in->listed = true;
    for (uint64_t i = 0; i < list->count && status == CUVET_OK; i++) {
        in->unit = unit_alone(cv_units_get(list->units, list->first + i));
        status = add_candidates(in, &src, 0, &in->found);
    }
    in->listed = false;
    status = cv_input_settle(in, status);
    if (status == CUVET_OK)
        replace_binding(in, container.base, NULL, (size_t)container.len, &content);
    else
        cv_candidates_free(&in->ctx.mem, &in->found);
    return settle_diags(in, 0, status);
}

/* What is kept is what is looked at: it is copied, or read, first. */
static cuvet_status keep_bytes(cv_input *in, const void *bytes, const cuvet_source *src, size_t size,
                               uint8_t **own)
{
    cuvet_status status = CUVET_OK;

    if (size == 0)
        return CUVET_OK;
    *own = cv_mem_get_raw(&in->ctx.mem, size);
    if (!*own)
        return cv_nomem(&in->ctx, 0);
    if (src)
        status = cv_source_read(&in->ctx, src, 0, *own, size);
    else
        cv_span_copy(cv_span_of(bytes, size, 0), *own);
    return status;
}

static cuvet_status bind_payload(cv_input *in, const void *bytes, const cuvet_source *src, size_t size,
                                 bool copy, cuvet_content_info *out)
{
    cuvet_content_info content = { 0 };
    uint64_t said = in->diags.count, length = src ? src->length : size;
    const uint8_t *use = bytes;
    uint8_t *own = NULL;
    cuvet_status status = CUVET_OK;

    if (in->state != CUVET_SELECT_NEW && in->state != CUVET_SELECT_BOUND)
        return CUVET_E_STATE;
    cv_ctx_unit(&in->ctx, size); /* first: what was said before counts for nothing here */
    in->lost = in->has_live = false;
    if (length > in->ctx.lim.input) /* before it is kept */
        status = cv_input_settle(in, cv_reject(&in->ctx, CV_R_LIMIT_INPUT, 0, length, in->ctx.lim.input));
    else if (copy)
        status = keep_bytes(in, bytes, src, size, &own);
    if (own)
        use = own;
    if (status == CUVET_OK)
        status = classify_and_list(in, use, size, &content);
    cv_islands_drop();
    if (status == CUVET_OK) {
        replace_binding(in, skip_bytes(use, content.off), own, size, &content);
    } else {
        cv_candidates_free(&in->ctx.mem, &in->found);
        cv_mem_put(&in->ctx.mem, own, size);
    }
    if (status == CUVET_OK && out)
        *out = content;
    return settle_diags(in, said, status);
}

cuvet_status cv_input_bind(cv_input *in, const void *bytes, size_t size, bool copy, cuvet_content_info *out)
{
    return bind_payload(in, bytes, NULL, size, copy, out);
}

cuvet_status cv_input_bind_source(cv_input *in, const cuvet_source *src, cuvet_content_info *out)
{
    return bind_payload(in, "", src, (size_t)cv_min(src->length, SIZE_MAX), true, out);
}

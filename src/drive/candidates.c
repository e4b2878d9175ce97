/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bind: what is it, and which members does it hold? Nothing is unpacked. */
#include "drive/select.h"
#include "intake/place.h"
#include "intake/probe.h"
#include "intake/walk.h"

/* SM number of a raw device ELF, which the walk has recognised. */
static cuvet_status image_sm(cv_input *in, const cuvet_source *src, const cv_unit *u, uint32_t *sm)
{
    uint8_t head[64] = { 0 };
    cv_elf_header h;
    cuvet_status s = cv_source_read(&in->x, src, u->off, head, (size_t)cv_min(sizeof(head), u->payload_size));

    if (s == CUVET_OK && cv_elf_peek(cv_span_of(head, sizeof(head), 0), &h))
        *sm = cv_elf_flags_sm(h.flags, h.osabi == CV_OSABI_CUDA);
    return s;
}

/* The same for all members of a container; looking it up costs a look at every section of the host object. */
static cuvet_status is_first(cv_input *in, const cv_unit *u, const cv_candidates *to, bool *first)
{
    const cuvet_candidate *before = to->n > 1 ? &cv_candidates_get(to, to->n - 2)->pub : NULL;

    if (before && before->container_off == u->container_off &&
        before->depth == cv_candidates_get(to, to->n - 1)->pub.depth) {
        *first = before->first_container;
        return CUVET_OK;
    }
    if (!cv_work(&in->x, in->walk.host.sections.n, u->off))
        return CUVET_E_LIMIT;
    *first = cv_walk_is_first(&in->walk, u->container_off);
    return CUVET_OK;
}

static cuvet_status add(cv_input *in, const cuvet_source *src, uint32_t depth, cv_candidates *to)
{
    const cv_unit *u = &in->unit;
    cv_span head = cv_span_of(u->head.bytes, sizeof(u->head.bytes), u->off);
    cuvet_status s = CUVET_OK;
    cv_candidate *c;
    uint64_t flags;

    if (to->n >= in->x.lim.candidates)
        return cv_reject(&in->x, CV_R_LIMIT_CANDIDATES, u->off, to->n + 1, in->x.lim.candidates);
    if (!cv_candidates_reserve(&in->x.mem, to, to->n + 1))
        return cv_nomem(&in->x, u->off);
    c = cv_candidates_at(to, to->n++);
    c->unit = *u;
    c->unit.embedded = false; /* rules that are relaxed for looking at it hold when it is to be linked */
    c->pub = (cuvet_candidate){ .where = u->path,
                                .container_off = u->container_off,
                                .header_off = u->off,
                                .payload_off = u->off + u->header_size,
                                .stored_size = u->payload_size,
                                .depth = depth };
    if (u->kind == CV_UNIT_MEMBER) {
        flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS);
        c->pub.kind = cv_unit_kind_of((uint16_t)cv_fatbin_get(head, CV_FB_FIELD_MEMBER_KIND));
        c->pub.sm = (uint32_t)cv_fatbin_get(head, CV_FB_FIELD_MEMBER_ARCH);
        c->pub.flags = flags;
        c->pub.suffix = flags & CV_FB_ARCH_A ? 'a' : flags & CV_FB_ARCH_F ? 'f' : 0;
        s = is_first(in, u, to, &c->pub.first_container);
    } else {
        c->pub.kind = u->kind == CV_UNIT_TEXT ? CUVET_K_PTX : CUVET_K_CUBIN;
        c->pub.flags = CV_FB_64BIT;
        if (c->pub.kind == CUVET_K_CUBIN)
            s = image_sm(in, src, u, &c->pub.sm);
    }
    return s;
}

cuvet_status cv_input_walk(cv_input *in, const cuvet_source *src, uint64_t off, uint64_t end, uint32_t depth,
                           cv_candidates *to)
{
    cuvet_path at = in->x.path;
    cv_walk *w = &in->walk;
    cuvet_status s;

    s = cv_walk_open(&in->x, w, src, off, end, CV_REGION_OBJECT, false);
    w->nested = depth > 0;
    while (s == CUVET_OK && (s = cv_walk_next(&in->x, w, &in->unit)) == CUVET_OK) {
        if (cv_input_cancelled(in))
            s = CUVET_E_CANCELLED;
        else if (!cv_place_chosen(in->unit.place))
            cv_report(&in->x, CV_R_INPUT_PLACE, in->unit.off, 0, in->unit.place, 0);
        else if (in->unit.kind != CV_UNIT_BITCODE &&
                 in->unit.kind != CV_UNIT_LTOIR) /* no linker takes those */
            s = add(in, src, depth, to);
        cv_walk_forget(w);
    }
    cv_walk_close(&in->x, w);
    in->x.path = at;
    if (s != CUVET_END)
        return s;
    return cv_input_cancelled(in) ? CUVET_E_CANCELLED : cv_verdict_status(in->x.verdict);
}

/* The payload is one piece of device code itself. */
static cuvet_status add_direct(cv_input *in, const cuvet_content_info *c, cuvet_kind kind, cv_candidates *to)
{
    cv_candidate *d;

    if (!cv_candidates_reserve(&in->x.mem, to, 1))
        return cv_nomem(&in->x, 0);
    to->n = 1;
    d = cv_candidates_at(to, 0);
    *d = (cv_candidate){ 0 };
    d->pub.kind = kind;
    d->pub.sm = c->sm;
    d->pub.first_container = true;
    d->pub.stored_size = c->length;
    d->unit.kind = kind == CUVET_K_PTX ? CV_UNIT_TEXT : CV_UNIT_IMAGE;
    d->unit.payload_size = c->length;
    d->unit.referenced = true;
    return CUVET_OK;
}

static cuvet_status list_members(cv_input *in, const uint8_t *bytes, uint64_t n, cv_candidates *to)
{
    const cuvet_source src = cv_source_memory(bytes, n);
    cuvet_status s;

    s = cv_input_walk(in, &src, 0, n, 0, to);
    if (s == CUVET_OK && to->n == 0)
        s = cv_reject(&in->x, CV_R_INPUT_EMPTY, 0, n, 0);
    return s;
}

static cuvet_status list(cv_input *in, const uint8_t *bytes, const cuvet_content_info *c, cv_candidates *to)
{
    switch (c->type) {
    case CUVET_K_CUBIN: return add_direct(in, c, CUVET_K_CUBIN, to);
    case CUVET_K_PTX: return add_direct(in, c, CUVET_K_PTX, to);
    case CUVET_K_NVVM:
    case CUVET_K_LTOIR: return add_direct(in, c, CUVET_K_LTOIR, to);
    case CUVET_K_WRAPPER:
        return cv_reject(&in->x, CV_R_INPUT_WRAPPER, 0, cv_u64_at(cv_span_of(bytes, c->length, 0), 8), 0);
    case CUVET_K_FATBIN:
    case CUVET_K_ARCHIVE:
    case CUVET_K_HOST_ELF: return list_members(in, bytes, c->length, to);
    case CUVET_K_MERCURY:
    case CUVET_K_BITCODE:
    case CUVET_K_NONE: break;
    }
    return CUVET_E_INTERNAL; /* the classifier says UNKNOWN */
}

CV_BUF_BEGIN
static const uint8_t *skip(const uint8_t *p, uint64_t n)
{
    return p + n;
}
CV_BUF_END

static cuvet_status classify_and_list(cv_input *in, const uint8_t *bytes, size_t n, cuvet_content_info *c)
{
    cuvet_status s;

    if (n > in->x.lim.input)
        return cv_reject(&in->x, CV_R_LIMIT_INPUT, 0, n, in->x.lim.input);
    s = cv_classify(&in->x, cv_span_of(bytes, n, 0),
                    in->cfg.flags & CUVET_INPUT_LENIENT ? CUVET_CLASSIFY_LENIENT : 0, c);
    c->length = n - c->off; /* what follows the first header is not dropped, whatever that says */
    if (s == CUVET_OK)
        s = list(in, skip(bytes, c->off), c, &in->found);
    return cv_input_settle(in, s);
}

/* All or nothing: what was found takes the place of what was bound. */
static void replace(cv_input *in, const uint8_t *bytes, uint8_t *own, size_t n, const cuvet_content_info *c)
{
    cv_mem *m = &in->x.mem;

    cv_candidates_free(m, &in->candidates);
    cv_mem_put(m, in->copy, in->copy_len);
    in->candidates.v = in->found.v;
    in->candidates.n = in->found.n;
    in->candidates.cap = in->found.cap;
    in->found.v = NULL;
    in->found.n = in->found.cap = 0;
    in->copy = own;
    in->copy_len = own ? n : 0;
    in->bytes = bytes;
    in->length = c->length;
    in->content = *c;
    in->state = CUVET_INPUT_BOUND;
}

/* What was said replaces what was said before; without memory nothing has happened. */
static cuvet_status settle_diags(cv_input *in, uint64_t before, cuvet_status s)
{
    uint64_t n = in->diags.n - before;

    if (s == CUVET_E_CANCELLED) /* it has been heard */
        __atomic_store_n(&in->cancel, false, __ATOMIC_RELAXED);
    if (s == CUVET_E_NOMEM) {
        in->diags.n = before;
        return s;
    }
    for (uint64_t i = 0; i < n && before != 0; i++)
        *cv_diags_at(&in->diags, i) = *cv_diags_at(&in->diags, before + i);
    in->diags.n = n;
    return s;
}

cuvet_status cv_input_bind(cv_input *in, const void *bytes, size_t n, bool copy, cuvet_content_info *out)
{
    cuvet_content_info c = { 0 };
    const uint8_t *use = bytes;
    uint64_t said = in->diags.n;
    uint8_t *own = NULL;
    cuvet_status s;

    if (in->state != CUVET_INPUT_CONFIGURED && in->state != CUVET_INPUT_BOUND)
        return CUVET_E_STATE;
    cv_ctx_unit(&in->x, n); /* first: what was said before counts for nothing here */
    in->lost = in->has_live = false;
    if (copy && n != 0) { /* first: what is looked at is what is kept */
        own = cv_mem_get_raw(&in->x.mem, n);
        if (!own)
            return settle_diags(in, said, cv_nomem(&in->x, 0));
        cv_span_copy(cv_span_of(bytes, n, 0), own);
        use = own;
    }
    s = classify_and_list(in, use, n, &c);
    cv_islands_drop();
    if (s == CUVET_OK) {
        replace(in, skip(use, c.off), own, n, &c);
    } else {
        cv_candidates_free(&in->x.mem, &in->found);
        cv_mem_put(&in->x.mem, own, n);
    }
    if (s == CUVET_OK && out)
        *out = c;
    return settle_diags(in, said, s);
}

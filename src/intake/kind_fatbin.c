/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One container: its header, then its members one by one. */
#include "intake/place.h"
#include "intake/walk_int.h"

#include "base/arith.h"

static cv_ledger *ledger_of(cv_walk *w)
{
    return w->ledger ? &w->claims : NULL;
}

/* The reference takes the first of two members with the same target; a second one is worth a word. */
static cuvet_status note_target(cv_ctx *x, cv_walk *w, cv_span head)
{
    uint64_t flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS),
             suffix = flags & (CV_FB_ARCH_A | CV_FB_ARCH_F);
    uint64_t target = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_KIND) << 48 | suffix << 12 |
                      cv_fatbin_get(head, CV_FB_FIELD_MEMBER_ARCH);

    if (!cv_work(x, w->targets.n, head.off))
        return CUVET_OK;
    for (uint64_t i = 0; i < w->targets.n; i++) {
        if (*cv_u64s_at(&w->targets, i) == target) {
            cv_report(x, CV_R_FATBIN_DUPLICATE, head.off, 0, i, 0);
            break;
        }
    }
    return cv_u64s_push(&x->mem, &w->targets, target) ? CUVET_OK : cv_nomem(x, head.off);
}

/* A container whose members could not all be walked: the search goes on where the walk stopped, so that
 * nothing hides in it. */
static void leave(cv_ctx *x, cv_walk *w)
{
    cv_region *r = cv_walk_top(w);

    w->in_container = false;
    r->covered = w->at;
    r->pos = w->at;
    r->rest_end = w->body_end;
    cv_path_pop(x);
    if (w->broken && w->at < w->body_end)
        r->pos = cv_min(w->at + 4, w->body_end);
}

cuvet_status cv_walk_container(cv_ctx *x, cv_walk *w, cv_step *step, cv_unit *out)
{
    uint64_t left = w->body_end - w->at;
    cv_span head = cv_span_of(&w->head, cv_min(left, sizeof(w->head)), w->at);
    cuvet_status s;

    if (left == 0 || w->broken) {
        leave(x, w);
        return CUVET_OK;
    }
    if (w->entry >= x->lim.members) {
        cv_report(x, CV_R_LIMIT_MEMBERS, w->at, 0, w->entry + 1, x->lim.members);
        w->broken = true;
        return CUVET_OK;
    }
    s = cv_window_read(x, &w->window, w->src, w->at, &w->head, (size_t)head.len, cv_walk_top(w)->end);
    if (s != CUVET_OK)
        return s;
    cv_path_push(x, CUVET_P_ENTRY, true, w->entry);
    s = cv_walk_unit(x, w, CV_UNIT_MEMBER, w->at, out);
    if (s == CUVET_OK && !cv_fatbin_member_extent(head, left, &out->header_size, &out->payload_size)) {
        /* A clipped container has said already why its last member is cut off. */
        if (!(w->clipped && head.len < CV_FATBIN_MEMBER))
            s = cv_fatbin_reject_member(x, head, left);
        cv_path_pop(x);
        w->broken = true;
        return s == CUVET_E_MALFORMED ? CUVET_OK : s;
    }
    if (s == CUVET_OK)
        s = note_target(x, w, head);
    out->unpacks = cv_budget_cost(&x->lim, head);
    w->unpacked = cv_sat_add(w->unpacked, out->unpacks);
    out->container_off = w->container;
    out->referenced = w->referenced;
    out->head = w->head; /* all of it: a shorter one has no extent */
    cv_path_pop(x);
    w->at += out->header_size + out->payload_size;
    w->stored += out->payload_size;
    w->entry++;
    w->n_members++;
    *step = CV_STEP_UNIT;
    return s;
}

/* Fatbin section that the offset lies in: its end, or UINT64_MAX. */
static uint64_t section_end(cv_ctx *x, const cv_walk *w, const cv_region *r, uint64_t at)
{
    /* A hostile table may have millions of sections of that name: each look at them is paid for. */
    if (!r->host || !cv_work(x, w->host.sections.n, at))
        return UINT64_MAX;
    for (uint64_t i = 0; i < w->host.sections.n; i++) {
        const cv_host_section *s = cv_host_sections_get(&w->host.sections, i);

        if (cv_walk_holds_containers(s) && at >= s->off && at - s->off < s->size)
            return s->off + s->size;
    }
    return UINT64_MAX;
}

static bool is_referenced(const cv_walk *w, const cv_region *r, uint64_t at)
{
    return r->bare || (r->host && cv_host_names(&w->host, at));
}

static cuvet_status begin(cv_ctx *x, cv_walk *w, uint64_t at, const cv_fatbin_container *c)
{
    cv_region *r = cv_walk_top(w);
    uint64_t limit = section_end(x, w, r, at), end = at + CV_FATBIN_HEADER + c->body_size;

    w->container = at;
    w->at = at + CV_FATBIN_HEADER;
    w->body_end = end;
    w->entry = 0;
    w->broken = false;
    w->clipped = c->body_size != c->size;
    w->in_container = true;
    w->referenced = is_referenced(w, r, at);
    w->place = cv_place_at(x, w, at, true);
    cv_walk_say_place(x, w, at, w->place);
    cv_u64s_clear(&w->targets);
    w->n_containers++;
    if (r->host && !w->referenced) {
        w->n_unreferenced++;
        cv_report(x, CV_R_FATBIN_UNREFERENCED, at, CV_FATBIN_HEADER, at, 0);
    }
    if (limit != UINT64_MAX && end > limit)
        cv_report(x, CV_R_FATBIN_CROSSES_SECTION, at + 8, 8, end, limit);
    cv_ledger_claim(x, ledger_of(w), at, CV_FATBIN_HEADER, CV_CLAIM_CONTAINER_HEADER, 0, false);
    return cv_u64s_push(&x->mem, &w->found, at) ? CUVET_OK : cv_nomem(x, at);
}

/* Where nothing says that a container must be: all eight bytes at an aligned place are one. At an odd place
 * they may be an instruction's operand (the tool that writes containers has them in its code), unless the
 * size or a first member fits as well. */
static bool looks_like_container(cv_span head, uint64_t left, uint64_t object_off)
{
    uint64_t size = cv_u64_at(head, 8);

    if (cv_u32_at(head, 4) != CV_FATBIN_TAIL)
        return false;
    if (object_off % 8 == 0)
        return true;
    return (size % 8 == 0 && size >= CV_FATBIN_MEMBER && size <= left) ||
           cv_fatbin_begins_member(cv_span_tail(head, CV_FATBIN_HEADER),
                                   left - cv_min(left, CV_FATBIN_HEADER));
}

/* A header that says that it is longer. No tool writes one, but readers step over as many bytes as it says:
 * it counts when a member begins there. */
static cuvet_status has_long_header(cv_ctx *x, const cv_walk *w, uint64_t at, cv_span head, uint64_t left,
                                    bool *yes)
{
    uint8_t bytes[CV_FATBIN_MEMBER] = { 0 };
    uint64_t size = cv_u16_at(head, 6), n = cv_min(left - cv_min(left, size), sizeof(bytes));
    cuvet_status s = CUVET_OK;

    *yes = false;
    if (cv_fatbin_get(head, CV_FB_FIELD_CONTAINER_VERSION) != CV_FATBIN_VERSION || size == CV_FATBIN_HEADER ||
        !cv_work(x, n, at))
        return CUVET_OK;
    /* The window stays where it is: the head lies in it. */
    s = cv_source_read(x, w->src, at + size, bytes, (size_t)n);
    *yes =
        s == CUVET_OK && cv_fatbin_begins_member(cv_span_of(bytes, n, at + size), left - cv_min(left, size));
    return s;
}

/* Alignment is judged in objects whose start is known; in other bytes it may be anything. */
static uint64_t object_off(const cv_region *r, uint64_t at)
{
    return r->bare || r->host ? at - r->off : 0;
}

cuvet_status cv_walk_enter(cv_ctx *x, cv_walk *w, uint64_t at, cv_span head, bool must)
{
    cv_region *r = cv_walk_top(w);
    cv_fatbin_container c;
    cuvet_status s;

    if (!must && !looks_like_container(head, r->end - at, at - r->off)) {
        s = has_long_header(x, w, at, head, r->end - at, &must);
        if (s != CUVET_OK)
            return s;
    }
    if (!must && !looks_like_container(head, r->end - at, at - r->off)) {
        if ((at - r->off) % 8 == 0 || (cv_u16_at(head, 4) < 16 && cv_u16_at(head, 6) < 256))
            cv_report(x, CV_R_FILE_STRAY_MAGIC, at, 4, cv_u32_at(head, 4), CV_FATBIN_TAIL);
        r->pos = at + 4;
        return CUVET_OK;
    }
    if (w->n_containers >= x->lim.containers) {
        cv_report(x, CV_R_LIMIT_CONTAINERS, at, 0, w->n_containers + 1, x->lim.containers);
        w->over = true;
        r->pos = r->end;
        return CUVET_OK;
    }
    s = cv_walk_gap(x, w, at);
    if (s != CUVET_OK)
        return s;
    cv_path_push(x, CUVET_P_FATBIN, true, r->n_fatbin++);
    s = cv_fatbin_read_container(x, head, r->end - at, object_off(r, at), &c);
    if (s == CUVET_OK)
        return begin(x, w, at, &c); /* the path step stays until the container is left */
    cv_path_pop(x);
    r->pos = at + 4;
    r->rest_end = cv_max(r->rest_end, cv_min(at + CV_FATBIN_HEADER, r->end)); /* one cause, one finding */
    return s == CUVET_E_MALFORMED ? CUVET_OK : s;
}

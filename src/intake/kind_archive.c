/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of an ar archive; each becomes a region of its own. */
#include "intake/walk_int.h"

static cv_ledger *ledger_of(cv_walk *w)
{
    return w->ledger ? &w->claims : NULL;
}

static cuvet_status start(cv_ctx *x, cv_walk *w)
{
    cv_region *r = cv_walk_top(w);
    cuvet_status s = cv_block_load(x, &w->tmp, w->src, r->off, CV_AR_MAGIC_SIZE);
    cv_ar_kind kind;

    /* It was an archive when its first bytes were looked at. */
    if (s == CUVET_OK && cv_ar_probe(w->tmp.span) == CV_AR_NONE)
        return cv_reject(x, CV_R_IO_CHANGED, r->off, cv_u64_at(w->tmp.span, 0), CV_AR_MAGIC);
    if (s == CUVET_OK)
        s = cv_ar_read_magic(x, w->tmp.span, &kind);
    if (s != CUVET_OK)
        return s;
    r->thin = kind == CV_AR_THIN;
    cv_ledger_claim(x, ledger_of(w), r->off, CV_AR_MAGIC_SIZE, CV_CLAIM_AR_MAGIC, 0, false);
    r->pos = r->covered = r->rest_end = r->off + CV_AR_MAGIC_SIZE;
    r->index = 0;
    return CUVET_OK;
}

/* Keep the name for the items of this member. */
static cuvet_status keep_name(cv_ctx *x, cv_walk *w, cv_span name)
{
    uint64_t len = cv_min(name.len, CV_AR_NAME_MAX);

    cv_u8s_clear(&w->name);
    w->named = false;
    if (!cv_work(x, len, name.off))
        return CUVET_OK;
    for (uint64_t i = 0; i < len; i++) {
        if (!cv_u8s_push(&x->mem, &w->name, cv_u8_at(name, i)))
            return cv_nomem(x, name.off);
    }
    return CUVET_OK;
}

static cuvet_status member_name(cv_ctx *x, cv_walk *w, uint64_t at, const cv_ar_header *h, cv_span *name)
{
    cuvet_status s = CUVET_OK;

    *name = h->name;
    if (h->entry == CV_AR_LONG_NAME) {
        *name = cv_span_of(NULL, 0, at);
        /* A name that cannot be read is a finding, not a reason to skip the member. */
        if (cv_ar_long_name(x, w->ar_table.span, h->name_at, at, name) != CUVET_OK)
            *name = cv_span_of(NULL, 0, at);
    } else if (h->entry == CV_AR_BSD_NAME) {
        s = cv_block_load(x, &w->tmp, w->src, at + CV_AR_HEADER_SIZE, h->name_size);
        if (s == CUVET_OK)
            *name = cv_ar_bsd_name(w->tmp.span);
    }
    return s;
}

/* Padding byte and, for tables, the names that later headers refer to. */
static cuvet_status read_rest(cv_ctx *x, cv_walk *w, uint64_t at, const cv_ar_header *h)
{
    cuvet_status s = CUVET_OK;

    if (h->entry == CV_AR_NAMES)
        s = cv_block_load(x, &w->ar_table, w->src, at + h->body, h->body_size);
    if (s == CUVET_OK && h->next > h->end) {
        s = cv_block_load(x, &w->tmp, w->src, at + h->end, 1);
        if (s == CUVET_OK)
            cv_ar_check_padding(x, w->tmp.span);
    }
    return s;
}

static cuvet_status enter_part(cv_ctx *x, cv_walk *w, uint64_t index, uint64_t off, uint64_t end,
                               cv_region_kind kind)
{
    cuvet_status s;

    if (off == end)
        return CUVET_OK;
    cv_path_push(x, CUVET_P_MEMBER, true, index);
    s = cv_walk_push(x, w, off, end, kind);
    cv_path_pop(x);
    return s;
}

static cuvet_status enter_member(cv_ctx *x, cv_walk *w, uint64_t at, const cv_ar_header *h)
{
    cv_region *r = cv_walk_top(w);
    bool table = h->entry == CV_AR_SYMBOLS || h->entry == CV_AR_NAMES, hidden;
    uint64_t index;
    cv_span name;
    /* The name first: it may lie in the block that read_rest() loads anew. */
    cuvet_status s = member_name(x, w, at, h, &name);

    if (s == CUVET_OK)
        s = keep_name(x, w, name);
    if (s == CUVET_OK)
        s = read_rest(x, w, at, h);
    if (s != CUVET_OK)
        return s;
    /* A name that is large enough to hold something is searched like a member. */
    hidden = h->body - CV_AR_HEADER_SIZE >= CV_FATBIN_HEADER;
    cv_ledger_claim(x, ledger_of(w), at, hidden ? CV_AR_HEADER_SIZE : h->body, CV_CLAIM_AR_HEADER,
                    (uint32_t)r->index, false);
    cv_ledger_claim(x, ledger_of(w), at + h->end, h->next - h->end, CV_CLAIM_AR_HEADER, (uint32_t)r->index,
                    false);
    r->pos = r->covered = r->rest_end = at + h->next;
    index = r->index++;
    /* Tables are searched as raw bytes: code may hide there as well. */
    s = enter_part(x, w, index, at + h->body, at + h->body + h->body_size,
                   table ? CV_REGION_RAW : CV_REGION_OBJECT);
    if (s == CUVET_OK && hidden)
        s = enter_part(x, w, index, at + CV_AR_HEADER_SIZE, at + h->body, CV_REGION_RAW);
    return s;
}

/* What is left cannot be an archive any more: search it as raw bytes. */
static cuvet_status rest_as_raw(cv_ctx *x, cv_walk *w)
{
    cv_region *r = cv_walk_top(w);
    uint64_t from = r->pos;

    r->pos = r->covered = r->end;
    cv_u8s_clear(&w->name);
    w->named = false;
    return enter_part(x, w, r->index, from, r->end, CV_REGION_RAW);
}

cuvet_status cv_walk_archive(cv_ctx *x, cv_walk *w, cv_step *step)
{
    cv_region *r = cv_walk_top(w);
    uint64_t left = r->end - r->pos;
    cv_ar_header h;
    cuvet_status s;

    if (r->pos == r->off)
        return start(x, w);
    if (left == 0 || w->over) {
        *step = CV_STEP_POP;
        return CUVET_OK;
    }
    if (r->index >= x->lim.containers) {
        cv_report(x, CV_R_LIMIT_CONTAINERS, r->pos, 0, r->index + 1, x->lim.containers);
        return rest_as_raw(x, w);
    }
    s = cv_block_load(x, &w->tmp, w->src, r->pos, cv_min(left, CV_AR_HEADER_SIZE));
    if (s != CUVET_OK)
        return s;
    cv_path_push(x, CUVET_P_MEMBER, true, r->index);
    s = cv_ar_read_header(x, w->tmp.span, left, r->thin ? CV_AR_THIN : CV_AR_NORMAL, &h);
    cv_path_pop(x);
    if (s == CUVET_E_MALFORMED)
        return rest_as_raw(x, w);
    if (s != CUVET_OK)
        return s;
    return enter_member(x, w, r->pos, &h);
}

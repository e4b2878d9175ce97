/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Members of an ar archive; each becomes a region of its own. */
#include "intake/walk_int.h"

static cv_ledger *ledger_of(cv_walk *walk)
{
    return walk->ledger ? &walk->claims : NULL;
}

static cuvet_status start(cv_ctx *ctx, cv_walk *walk)
{
    cv_region *region = cv_walk_top(walk);
    cuvet_status status = cv_block_load(ctx, &walk->tmp, walk->src, region->off, CV_AR_MAGIC_SIZE);
    cv_ar_kind kind;

    /* It was an archive when its first bytes were looked at. */
    if (status == CUVET_OK && cv_ar_probe(walk->tmp.span) == CV_AR_NONE)
        return cv_reject(ctx, CV_R_IO_CHANGED, region->off, cv_u64_at(walk->tmp.span, 0), CV_AR_MAGIC);
    if (status == CUVET_OK)
        status = cv_ar_read_magic(ctx, walk->tmp.span, &kind);
    if (status != CUVET_OK)
        return status;
    region->thin = kind == CV_AR_THIN;
    cv_ledger_claim(ctx, ledger_of(walk), region->off, CV_AR_MAGIC_SIZE, CV_CLAIM_AR_MAGIC, 0, false);
    region->pos = region->covered = region->rest_end = region->off + CV_AR_MAGIC_SIZE;
    region->index = 0;
    return CUVET_OK;
}

/* Keep the name for the items of this member. */
static cuvet_status keep_name(cv_ctx *ctx, cv_walk *walk, cv_span name)
{
    uint64_t len = cv_min(name.len, CV_AR_NAME_MAX);

    cv_u8s_clear(&walk->name);
    walk->named = false;
    if (!cv_work(ctx, len, name.off))
        return CUVET_OK;
    for (uint64_t i = 0; i < len; i++) {
        if (!cv_u8s_push(&ctx->mem, &walk->name, cv_u8_at(name, i)))
            return cv_nomem(ctx, name.off);
    }
    return CUVET_OK;
}

static cuvet_status member_name(cv_ctx *ctx, cv_walk *walk, uint64_t at, const cv_ar_header *header,
                                cv_span *name)
{
    cuvet_status status = CUVET_OK;

    *name = header->name;
    if (header->entry == CV_AR_LONG_NAME) {
        *name = cv_span_of(NULL, 0, at);
        /* A name that cannot be read is a finding, not a reason to skip the member. */
        if (cv_ar_long_name(ctx, walk->ar_table.span, header->name_at, at, name) != CUVET_OK)
            *name = cv_span_of(NULL, 0, at);
    } else if (header->entry == CV_AR_BSD_NAME) {
        status = cv_block_load(ctx, &walk->tmp, walk->src, at + CV_AR_HEADER_SIZE, header->name_size);
        if (status == CUVET_OK)
            *name = cv_ar_bsd_name(walk->tmp.span);
    }
    return status;
}

/* Padding byte and, for tables, the names that later headers refer to. */
static cuvet_status read_rest(cv_ctx *ctx, cv_walk *walk, uint64_t at, const cv_ar_header *header)
{
    cuvet_status status = CUVET_OK;

    if (header->entry == CV_AR_NAMES)
        status = cv_block_load(ctx, &walk->ar_table, walk->src, at + header->body, header->body_size);
    if (status == CUVET_OK && header->next > header->end) {
        status = cv_block_load(ctx, &walk->tmp, walk->src, at + header->end, 1);
        if (status == CUVET_OK)
            cv_ar_check_padding(ctx, walk->tmp.span);
    }
    return status;
}

static cuvet_status enter_part(cv_ctx *ctx, cv_walk *walk, uint64_t index, uint64_t off, uint64_t end,
                               cv_region_kind kind)
{
    cuvet_status status;

    if (off == end)
        return CUVET_OK;
    cv_path_push(ctx, CUVET_P_MEMBER, true, index);
    status = cv_walk_push(ctx, walk, off, end, kind);
    cv_path_pop(ctx);
    return status;
}

static cuvet_status enter_member(cv_ctx *ctx, cv_walk *walk, uint64_t at, const cv_ar_header *header)
{
    cv_region *region = cv_walk_top(walk);
    bool table = header->entry == CV_AR_SYMBOLS || header->entry == CV_AR_NAMES, hidden;
    uint64_t index;
    cv_span name;
    /* The name first: it may lie in the block that read_rest() loads anew. */
    cuvet_status status = member_name(ctx, walk, at, header, &name);

    if (status == CUVET_OK)
        status = keep_name(ctx, walk, name);
    if (status == CUVET_OK)
        status = read_rest(ctx, walk, at, header);
    if (status != CUVET_OK)
        return status;
    /* A name that is large enough to hold something is searched like a member. */
    hidden = header->body - CV_AR_HEADER_SIZE >= CV_FATBIN_HEADER;
    cv_ledger_claim(ctx, ledger_of(walk), at, hidden ? CV_AR_HEADER_SIZE : header->body, CV_CLAIM_AR_HEADER,
                    (uint32_t)region->index, false);
    cv_ledger_claim(ctx, ledger_of(walk), at + header->end, header->next - header->end, CV_CLAIM_AR_HEADER,
                    (uint32_t)region->index, false);
    region->pos = region->covered = region->rest_end = at + header->next;
    index = region->index++;
    /* Tables are searched as raw bytes: code may hide there as well. */
    status = enter_part(ctx, walk, index, at + header->body, at + header->body + header->body_size,
                        table ? CV_REGION_RAW : CV_REGION_OBJECT);
    if (status == CUVET_OK && hidden)
        status = enter_part(ctx, walk, index, at + CV_AR_HEADER_SIZE, at + header->body, CV_REGION_RAW);
    return status;
}

/* What is left cannot be an archive any more: search it as raw bytes. */
static cuvet_status rest_as_raw(cv_ctx *ctx, cv_walk *walk)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t from = region->pos;

    region->pos = region->covered = region->end;
    cv_u8s_clear(&walk->name);
    walk->named = false;
    return enter_part(ctx, walk, region->index, from, region->end, CV_REGION_RAW);
}

cuvet_status cv_walk_archive(cv_ctx *ctx, cv_walk *walk, cv_step *step)
{
    cv_region *region = cv_walk_top(walk);
    uint64_t left = region->end - region->pos;
    cv_ar_header header;
    cuvet_status status;

    if (region->pos == region->off)
        return start(ctx, walk);
    if (left == 0 || walk->over) {
        *step = CV_STEP_POP;
        return CUVET_OK;
    }
    if (region->index >= ctx->lim.containers) {
        cv_report(ctx, CV_R_LIMIT_CONTAINERS, region->pos, 0, region->index + 1, ctx->lim.containers);
        return rest_as_raw(ctx, walk);
    }
    status = cv_block_load(ctx, &walk->tmp, walk->src, region->pos, cv_min(left, CV_AR_HEADER_SIZE));
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_MEMBER, true, region->index);
    status = cv_ar_read_header(ctx, walk->tmp.span, left, region->thin ? CV_AR_THIN : CV_AR_NORMAL, &header);
    cv_path_pop(ctx);
    if (status == CUVET_E_MALFORMED)
        return rest_as_raw(ctx, walk);
    if (status != CUVET_OK)
        return status;
    return enter_member(ctx, walk, region->pos, &header);
}

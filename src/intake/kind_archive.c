/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ar archives: each member is a region of its own. */
#include "intake/probe.h"
#include "intake/region.h"

typedef struct archive_state {
    bool thin;
    bool content; /* the content of the member comes next, …*/
    cv_piece next;
    uint64_t index; /* of the next member */
    cv_u8s name;    /* of the member that the archive lies in … */
    cv_block table; /* … and the table that the names of those around it are in */
} archive_state;

static cv_probe_result probe_archive(cv_span head)
{
    return cv_ar_probe(head) == CV_AR_NONE ? CV_PROBE_NO : CV_PROBE_YES;
}

static cuvet_status describe_archive(cv_look *look)
{
    if (cv_ar_probe(look->span) == CV_AR_THIN)
        look->out->flags |= CUVET_CLASSIFIED_THIN;
    return cv_look_found(look, CUVET_K_ARCHIVE);
}

static cuvet_status open_archive(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head)
{
    archive_state *state = region->state;
    cv_ar_kind kind;
    cuvet_status status = cv_ar_read_magic(ctx, head, &kind);

    state->name = walk->name;
    state->table = walk->ar_table;
    walk->name = (cv_u8s){ 0 };
    walk->ar_table = (cv_block){ 0 };
    walk->named = false;
    if (status != CUVET_OK)
        return status;
    state->thin = kind == CV_AR_THIN;
    cv_walk_claim(ctx, walk, region->off, CV_AR_MAGIC_SIZE, CV_CLAIM_AR_MAGIC, 0);
    region->pos = region->covered = region->rest_end = region->off + CV_AR_MAGIC_SIZE;
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

static cv_piece part_of(cv_piece_kind what, uint64_t off, uint64_t end, uint64_t index)
{
    return (cv_piece){ .what = what, .off = off, .end = end, .step = CUVET_P_MEMBER, .index = index };
}

static cuvet_status next_member(cv_ctx *ctx, cv_walk *walk, cv_region *region, uint64_t at,
                                const cv_ar_header *header, cv_piece *piece)
{
    archive_state *state = region->state;
    bool table = header->entry == CV_AR_SYMBOLS || header->entry == CV_AR_NAMES, hidden;
    uint64_t body = at + header->body, index = state->index;
    cv_span name;
    /* The name first: it may lie in the block that read_rest() loads anew. */
    cuvet_status status = member_name(ctx, walk, at, header, &name);

    name.len = cv_min(name.len, CV_AR_NAME_MAX);
    if (status == CUVET_OK)
        status = cv_walk_name(ctx, walk, name);
    if (status == CUVET_OK)
        status = read_rest(ctx, walk, at, header);
    if (status != CUVET_OK)
        return status;
    /* A name that is large enough to hold something is searched like a member. */
    hidden = header->body - CV_AR_HEADER_SIZE >= CV_FATBIN_HEADER;
    cv_walk_claim(ctx, walk, at, hidden ? CV_AR_HEADER_SIZE : header->body, CV_CLAIM_AR_HEADER,
                  (uint32_t)index);
    cv_walk_claim(ctx, walk, at + header->end, header->next - header->end, CV_CLAIM_AR_HEADER,
                  (uint32_t)index);
    region->pos = region->covered = region->rest_end = at + header->next;
    state->index++;
    /* Code may hide in tables as well. */
    state->next = part_of(table ? CV_PIECE_TABLE : CV_PIECE_REGION, body, body + header->body_size, index);
    *piece = state->next;
    state->content = hidden;
    if (hidden)
        *piece = part_of(CV_PIECE_TABLE, at + CV_AR_HEADER_SIZE, body, index);
    return CUVET_OK;
}

/* What is left cannot be a part of this archive any more. */
static void rest_as_table(cv_walk *walk, cv_region *region, cv_piece *piece)
{
    const archive_state *state = region->state;

    *piece = part_of(CV_PIECE_TABLE, region->pos, region->end, state->index);
    region->pos = region->covered = region->end;
    cv_u8s_clear(&walk->name);
    walk->named = false;
}

static cuvet_status next_in_archive(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece,
                                    cv_unit *unit)
{
    archive_state *state = region->state;
    uint64_t left = region->end - region->pos;
    cv_ar_header header;
    cuvet_status status;

    (void)unit; /* what is in it are regions */
    if (state->content) {
        *piece = state->next;
        state->content = false;
        return CUVET_OK;
    }
    if (left == 0 || walk->over) {
        region->covered = region->end; /* what is not looked at has no owner */
        piece->what = CV_PIECE_END;
        return CUVET_OK;
    }
    if (state->index >= ctx->lim.containers) {
        cv_report(ctx, CV_R_LIMIT_CONTAINERS, region->pos, 0, state->index + 1, ctx->lim.containers);
        rest_as_table(walk, region, piece);
        return CUVET_OK;
    }
    status = cv_block_load(ctx, &walk->tmp, walk->src, region->pos, cv_min(left, CV_AR_HEADER_SIZE));
    if (status != CUVET_OK)
        return status;
    cv_path_push(ctx, CUVET_P_MEMBER, true, state->index);
    status = cv_ar_read_header(ctx, walk->tmp.span, left, state->thin ? CV_AR_THIN : CV_AR_NORMAL, &header);
    cv_path_pop(ctx);
    if (status == CUVET_OK)
        return next_member(ctx, walk, region, region->pos, &header, piece);
    if (status == CUVET_E_MALFORMED)
        rest_as_table(walk, region, piece);
    return status == CUVET_E_MALFORMED ? CUVET_OK : status;
}

static cuvet_status close_archive(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole)
{
    archive_state *state = region->state;

    (void)whole;
    if (!state) /* there was no memory for it */
        return CUVET_OK;
    cv_u8s_free(&ctx->mem, &walk->name);
    cv_block_free(ctx, &walk->ar_table);
    walk->name = state->name;
    walk->ar_table = state->table;
    walk->named = false;
    return CUVET_OK;
}

static const cv_magic MAGIC[] = {
    { UINT64_C(0x0A3E686372613C21), 8, 2, CUVET_K_ARCHIVE }, /* "!<arch>\n" */
    { UINT64_C(0x0A3E6E6968743C21), 8, 2, CUVET_K_ARCHIVE }, /* "!<thin>\n" */
};

const cv_container_ops cv_kind_archive = { .name = "archive",
                                           .kind = CUVET_K_ARCHIVE,
                                           .step = CUVET_P_MEMBER,
                                           .holds = true,
                                           .nests = true,
                                           .state_size = sizeof(archive_state),
                                           .magic = MAGIC,
                                           .n_magics = CV_COUNT(MAGIC),
                                           .probe = probe_archive,
                                           .describe = describe_archive,
                                           .open = open_archive,
                                           .next = next_in_archive,
                                           .close = close_archive };

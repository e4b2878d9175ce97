/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A member of a container in the worker: its record is read again, its content is unpacked and judged against
 * what the record says. */
#include "bytes/search.h"
#include "intake/examine.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"
#include "proc/compile.h"

static void examine_content(const cv_examine_job *job, const cv_fatbin_member *member, cv_span content,
                            bool inner)
{
    cv_result *result = job->result;

    result->payload = content;
    result->item.flags |= CUVET_ITEM_EXAMINED;
    if (cv_u32_at(content, 0) == CV_FATBIN_MAGIC) {
        cv_report(job->ctx, CV_R_FATBIN_NESTED, job->unit->off + job->unit->header_size, 0, 0, 0);
        result->item.kind = CUVET_K_FATBIN;
        cv_job_nest(job, content, inner, 0);
        result->nested_whole = true;
        return;
    }
    if (!cv_agree_kind(job->ctx, member, job->unit->off, content))
        return;
    if (member->kind == CV_FB_KIND_ELF) {
        cv_job_elf(job, member, content, inner);
    } else if (member->kind == CV_FB_KIND_PTX) {
        cv_job_ptx(job, member, content, inner);
    } else if (member->kind == CV_FB_KIND_LTOIR) {
        cv_path_push(job->ctx, CUVET_P_LTOIR, false, 0);
        cv_agree_ltoir(job->ctx, member, job->unit->off, content);
        cv_path_pop(job->ctx);
    } else {
        result->item.flags &= ~CUVET_ITEM_EXAMINED; /* a rule about its kind has said so */
    }
}

/* Padding behind a compressed payload. */
static void check_padding(const cv_examine_job *job, cv_span pad)
{
    if (cv_span_find_nonzero(pad) != pad.len)
        cv_report(job->ctx, CV_R_FATBIN_PAYLOAD_PADDING, pad.off, pad.len, 1, pad.len);
}

/* The payload as it is stored: read by who needs it first. */
static cuvet_status load_stored(cv_examine_job *job)
{
    uint64_t off = job->unit->off + job->unit->header_size, len = job->unit->payload_size;
    cuvet_status status = CUVET_OK;

    if (job->loaded)
        return CUVET_OK;
    if (!cv_near(job->near, off, len, &job->stored)) {
        status = cv_job_keep(job, cv_block_load(job->ctx, &job->worker->stored, job->src, off, len));
        job->stored = job->worker->stored.span;
    }
    job->loaded = status == CUVET_OK;
    return status;
}

/* A copy of what is stored raw, which can be handed on without the file. */
static bool own_content(const cv_examine_job *job, cv_span *content)
{
    content->off = 0;
    if (cv_job_keep(job, cv_block_copy(job->ctx, &job->worker->unpacked, *content)) != CUVET_OK)
        return false;
    *content = job->worker->unpacked.span;
    return true;
}

/* Payload of a member: padding, method, limits, bytes. *inner: content is decompressed. False: no content. */
static bool unpack_member(cv_examine_job *job, const cv_fatbin_member *member, cv_span *content, bool *inner)
{
    cv_codec_kind method = job->unit->packing == CV_PACK_LZ4 ? CV_CODEC_LZ4 : CV_CODEC_ZSTD;
    cv_span stored;

    *inner = false;
    if (load_stored(job) != CUVET_OK)
        return false;
    *content = job->stored;
    if (job->unit->packing == CV_PACK_RAW)
        return !job->opt->own || own_content(job, content);
    check_padding(job, cv_span_tail(job->stored, member->compressed_size));
    if (job->unit->packing == CV_PACK_OPAQUE) {
        cv_report(job->ctx, CV_R_FATBIN_OPAQUE, job->stored.off, member->compressed_size,
                  member->compressed_size, 0);
        return false;
    }
    if (!cv_span_sub(job->stored, 0, member->compressed_size, &stored))
        return false;
    if (cv_job_keep(job, cv_codec_decode(job->ctx, &job->worker->codec, method, stored,
                                         member->uncompressed_size, &job->worker->unpacked)) != CUVET_OK)
        return false;
    *content = job->worker->unpacked.span;
    *inner = true;
    return true;
}

static cuvet_compression method_of(const cv_fatbin_member *member)
{
    uint64_t flags = member->flags & CV_FB_COMPRESSED;

    if (flags == 0)
        return CUVET_Z_NONE;
    if (member->flags & CV_FB_SCRAMBLED)
        return CUVET_Z_OPAQUE;
    return flags == CV_FB_LZ4 ? CUVET_Z_LZ4 : flags == CV_FB_ZSTD ? CUVET_Z_ZSTD : CUVET_Z_UNKNOWN;
}

static void fill_item(const cv_examine_job *job, const cv_fatbin_member *member)
{
    cuvet_item *item = &job->result->item;

    item->kind = cv_unit_kind_of(member->kind);
    item->compression = method_of(member);
    item->raw_kind = member->kind;
    item->major = member->major;
    item->minor = member->minor;
    item->arch = member->arch;
    item->suffix = member->flags & CV_FB_ARCH_A ? 'a' : member->flags & CV_FB_ARCH_F ? 'f' : 0;
    item->member_flags = member->flags;
    item->stored_size = member->flags & CV_FB_COMPRESSED
                            ? cv_min(member->compressed_size, member->payload_size)
                            : member->payload_size;
    item->unpacked_size = member->flags & CV_FB_COMPRESSED ? member->uncompressed_size : member->payload_size;
    for (uint64_t k = 0; k < member->ident.len; k++) {
        if (!cv_u8s_push(job->result->mem, &job->result->ident, cv_u8_at(member->ident, k))) {
            job->result->status = CUVET_E_NOMEM;
            return;
        }
    }
}

static void claim_member(const cv_examine_job *job, const cv_fatbin_member *member, cv_span header)
{
    cv_ledger *ledger = &job->result->file;
    uint64_t at = header.off + CV_FATBIN_MEMBER,
             ident = member->ident.len ? cv_sat_align(member->ident.len + 1, 8) : 0;
    uint64_t payload = header.off + header.len, stored = job->result->item.stored_size;

    cv_ledger_claim(job->ctx, ledger, header.off, CV_FATBIN_MEMBER, CV_CLAIM_MEMBER_HEADER, 0, false);
    cv_ledger_claim(job->ctx, ledger, at, ident, CV_CLAIM_IDENTIFIER, 0, false);
    if (member->has_options)
        cv_ledger_claim(job->ctx, ledger, at + ident, header.len - CV_FATBIN_MEMBER - ident, CV_CLAIM_OPTIONS,
                        0, false);
    else
        cv_ledger_claim(job->ctx, ledger, at + ident, header.len - CV_FATBIN_MEMBER - ident,
                        CV_CLAIM_HEADER_PADDING, 0, false);
    /* A raw ELF claims its own parts; everything else is one payload. */
    if (job->result->claimed && job->result->item.compression == CUVET_Z_NONE)
        stored = cv_min(job->result->item.unpacked_size, member->payload_size);
    else
        cv_ledger_claim(job->ctx, ledger, payload, stored, CV_CLAIM_PAYLOAD, 0, false);
    cv_ledger_claim(job->ctx, ledger, payload + stored, member->payload_size - stored,
                    CV_CLAIM_PAYLOAD_PADDING, 0, false);
}

/* Without the payload: the true size of what is stored raw comes from its tables, or from where its text
 * ends. */
static void size_raw(const cv_examine_job *job, const cv_fatbin_member *member)
{
    uint64_t at = job->unit->off + job->unit->header_size, end = at + member->payload_size, extent = 0, tail;
    cv_located found = CV_LOCATED_NO;

    if (member->flags & CV_FB_COMPRESSED || member->payload_size == 0)
        return;
    if (member->kind == CV_FB_KIND_ELF) {
        if (cv_job_keep(job, cv_locate_extent(job->ctx, &job->worker->stored, job->src, at, end, &found,
                                              &extent)) == CUVET_OK &&
            found == CV_LOCATED_YES)
            job->result->item.unpacked_size = extent;
    } else if (member->kind == CV_FB_KIND_PTX) {
        tail = cv_min(member->payload_size, 16);
        if (cv_job_keep(job, cv_block_load(job->ctx, &job->worker->stored, job->src, end - tail, tail)) !=
            CUVET_OK)
            return;
        while (tail && cv_u8_at(job->worker->stored.span, tail - 1) == 0)
            tail--;
        job->result->item.unpacked_size =
            cv_min(member->payload_size, member->payload_size - job->worker->stored.span.len + tail + 1);
    }
}

/* Everything that was stored, whatever became of it, and what it was unpacked to. */
static void search_member(cv_examine_job *job, cv_span content, bool inner)
{
    if (inner)
        cv_job_find_hidden(job, content, true);
    if (job->result->nested || (!inner && job->result->text))
        return;
    if (load_stored(job) == CUVET_OK)
        cv_job_find(job, job->stored, false, job->result->item.compression != CUVET_Z_NONE, 0,
                    job->stored.len);
}

/* What begins 'at' bytes behind the start of the member: is it device code? The rest of it may lie in the
 * payload. */
static cuvet_status look_behind(cv_examine_job *job, uint64_t at, bool *yes)
{
    uint8_t bytes[2 * CV_FATBIN_MEMBER] = { 0 };
    uint64_t off = job->unit->off + at, whole = job->unit->header_size + job->unit->payload_size;
    cv_span head = cv_span_of(bytes, cv_min(sizeof(bytes), whole - at), off);
    cuvet_status status = cv_job_keep(job, cv_source_read(job->ctx, job->src, off, bytes, (size_t)head.len));

    *yes = status == CUVET_OK && cv_job_is_hidden(head, false);
    return status;
}

/* Is one of the last bytes the beginning of a magic that goes on in the payload? Good headers end in zeros.
 */
static uint64_t find_across(cv_span header)
{
    uint64_t at = header.len - 3;

    while (at < header.len && cv_u8_at(header, at) != (uint8_t)CV_FATBIN_MAGIC &&
           cv_u8_at(header, at) != (uint8_t)CV_ELF_MAGIC)
        at++;
    return at;
}

/* Options, identifiers and what else is in front of a payload can hold device code as well as that can. */
static void search_header(cv_examine_job *job, cv_span header)
{
    uint64_t at = 0;
    bool yes = false;

    if (!cv_work(job->ctx, header.len / 16, header.off))
        return;
    for (;; at++) {
        uint64_t hit = cv_span_find_u32(header, at, CV_FATBIN_MAGIC, CV_ELF_MAGIC);

        if (hit == header.len && at < header.len)
            hit = cv_max(at, find_across(header));
        at = hit;
        if (at >= header.len || !cv_work(job->ctx, CV_HIT_WORK, header.off + at) ||
            look_behind(job, at, &yes) != CUVET_OK)
            return;
        if (yes)
            break;
    }
    cv_report(job->ctx, CV_R_FATBIN_HIDDEN_HEADER, header.off + at, 8, at, header.len);
    job->result->area = true;
    job->result->area_off = at;
    /* The walk through what is there goes on to the end of the member. */
    if (job->result->nested && !job->result->nested_inner && !job->result->nested_whole)
        job->result->nested = false;
}

/* The header, and of a small member the payload with it. */
static cuvet_status load_header(cv_examine_job *job, bool full, cv_span *header)
{
    const cv_unit *unit = job->unit;
    uint64_t len = unit->header_size + (full ? unit->payload_size : 0);
    cuvet_status status = CUVET_OK;

    if (len > CV_NEAR_MAX)
        cv_window_free(job->ctx, &job->worker->window); /* a large one has the whole budget */
    else if (!cv_near(job->opt->near, unit->off, len, &job->near))
        status = cv_job_keep(job, cv_window_near(job->ctx, &job->worker->window, job->src, unit->off, len,
                                                 job->src->length, &job->near));
    if (status != CUVET_OK || cv_near(job->near, unit->off, unit->header_size, header))
        return status;
    status =
        cv_job_keep(job, cv_block_load(job->ctx, &job->worker->head, job->src, unit->off, unit->header_size));
    *header = job->worker->head.span;
    return status;
}

void cv_fatbin_examine(cv_examine_job *job)
{
    const cv_unit *unit = job->unit;
    bool full = job->opt->depth == CUVET_DEPTH_FULL && !unit->skip_payload, inner = false, readable;
    cv_span header, content, fixed;
    cv_fatbin_member member;

    if (load_header(job, full, &header) != CUVET_OK)
        return;
    fixed = header;
    fixed.len = cv_min(fixed.len, sizeof(unit->head));
    if (!cv_span_eq(cv_span_of(&unit->head, sizeof(unit->head), 0), fixed)) {
        cv_report(job->ctx, CV_R_IO_CHANGED, unit->off, 0, cv_u64_at(header, 0),
                  cv_u64_at(cv_span_of(&unit->head, sizeof(unit->head), 0), 0));
        return;
    }
    readable = cv_fatbin_read_member(job->ctx, header, &member) == CUVET_OK;
    if (member.options.len)
        cv_member_options_look(job->ctx, member.options, member.kind == CV_FB_KIND_LTOIR);
    fill_item(job, &member);
    if (readable && !full)
        size_raw(job, &member);
    content = header;
    if (readable && full && unpack_member(job, &member, &content, &inner))
        examine_content(job, &member, content, inner);
    if (full && !job->result->nested)
        search_member(job, content, inner);
    /* Who takes the content of a piece that was judged has had this answer: the file is not read for it. */
    if (full && !job->opt->take)
        search_header(job, header);
    if (job->opt->ledger)
        claim_member(job, &member, header);
}

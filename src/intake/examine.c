/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/unit.h"

#include "bytes/search.h"
#include "cubin/admit.h"
#include "cubin/producer.h"
#include "format/elf/read.h"
#include "format/ptx/read.h"
#include "intake/kind_code.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"

void cv_worker_init(cv_worker *worker, const cuvet_alloc *alloc, const cuvet_limits *lim)
{
    cv_ctx_init(&worker->ctx, alloc, lim);
    worker->codec = (cv_codec){ 0 };
    worker->head = worker->stored = worker->unpacked = (cv_block){ 0 };
    worker->window = (cv_window){ 0 };
    cv_cubin_init(&worker->cubin);
}

void cv_worker_free(cv_worker *worker)
{
    cv_cubin_free(&worker->ctx, &worker->cubin);
    cv_block_free(&worker->ctx, &worker->head);
    cv_block_free(&worker->ctx, &worker->stored);
    cv_block_free(&worker->ctx, &worker->unpacked);
    cv_window_free(&worker->ctx, &worker->window);
    cv_codec_free(&worker->ctx, &worker->codec);
}

CV_BUF_BEGIN
static uint32_t seen_so_far(const uint32_t *seen, cuvet_rule rule)
{
    return rule < CV_N_RULES ? seen[rule] : 0;
}
CV_BUF_END

CV_BUF_BEGIN
static bool keep_totals(const cv_ctx *ctx, cv_result *result)
{
    bool ok = true;

    for (uint32_t i = 0; ok && i < CV_N_RULES; i++)
        ok = ctx->seen[i] == 0 || cv_keys_push(result->mem, &result->totals, (cv_key){ i, ctx->seen[i] });
    return ok;
}
CV_BUF_END

/* A diagnostic that cannot be kept makes the unit fail: nothing is ever dropped silently. */
static void keep_diag(void *user, const cuvet_diag *diag)
{
    cv_result *result = user;

    if (result->seen && seen_so_far(result->seen, diag->rule) >= result->cap)
        return; /* counted, and would not be delivered */
    if (!cv_diags_push(result->mem, &result->diags, *diag))
        result->status = CUVET_E_NOMEM;
    else if (diag->rule == CV_R_LIMIT_LIVE)
        result->live_said = true;
}

typedef struct examine_job {
    cv_worker *worker;
    cv_ctx *ctx;
    const cuvet_source *src;
    const cv_unit *unit;
    const cv_examine_options *opt;
    cv_result *result;
    cv_span near;   /* all of a small unit, or empty */
    cv_span stored; /* its payload, … */
    bool loaded;    /* … once that was read */
} examine_job;

/* The content of a unit lies in decompressed bytes; whatever is reported there is inner. */
static void enter(const examine_job *job, uint64_t anchor, bool inner)
{
    if (inner)
        cv_ctx_enter_inner(job->ctx, anchor);
}

static void leave(const examine_job *job)
{
    if (!job->opt->inner)
        cv_ctx_leave_inner(job->ctx);
}

static void examine_elf(const examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner)
{
    cv_result *result = job->result;
    cv_ledger *ledger = !job->opt->ledger ? NULL : inner ? &result->inner : &result->file;
    uint64_t extent = 0;
    cuvet_status status;

    if (member)
        cv_path_push(job->ctx, CUVET_P_ELF, false, 0);
    enter(job, job->unit->off + job->unit->header_size, inner);
    status = cv_cubin_examine(job->ctx, &job->worker->cubin, content, ledger, &extent);
    if (status == CUVET_OK && job->opt->admit)
        cv_admit_note(job->ctx, &job->worker->cubin, job->opt->admit);
    leave(job);
    if (member)
        cv_path_pop(job->ctx);
    if (status == CUVET_E_NOMEM)
        result->status = status;
    if (status != CUVET_OK) {
        result->item.unpacked_size = content.len;
        if (ledger)
            cv_claims_clear(&ledger->claims); /* half an account is none */
        return;
    }
    result->cubin = true;
    result->claimed = ledger != NULL;
    result->item.unpacked_size = extent;
    result->item.kernels = job->worker->cubin.n_kernels;
    result->item.producer =
        (cuvet_producer){ cv_tool_name((cv_tool)job->worker->cubin.producer.tool),
                          job->worker->cubin.producer.release, job->worker->cubin.producer.inferred };
    result->item.arch = job->worker->cubin.sm;
    result->payload.len = extent;
    if (!member) {
        result->item.suffix = cv_admit_suffix(&job->worker->cubin);
        cv_cubin_check_tail(job->ctx, content, extent, 0);
        cv_ledger_claim(job->ctx, ledger, content.off + extent, content.len - extent, CV_CLAIM_ELF_UNCLAIMED,
                        0, false);
        return;
    }
    result->item.arch = member->arch;
    cv_ctx_begin_profile(job->ctx, cv_fatbin_writer(member), false);
    cv_agree_elf(job->ctx, member, job->unit->off, &job->worker->cubin);
    if (!inner)
        cv_cubin_check_tail(job->ctx, content, extent, 7); /* padded to 8 */
    else if (extent != content.len)
        cv_report(job->ctx, CV_R_AGREE_EXTENT, job->unit->off + CV_FB_AT_MEMBER_UNPACKED_SIZE, 8, extent,
                  content.len);
}

static void examine_ptx(const examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner)
{
    cv_ptx_form form = !member ? CV_PTX_BARE : inner ? CV_PTX_MEMBER : CV_PTX_PADDED;
    uint64_t errors = job->ctx->n_errors;
    cv_result *result = job->result;
    cuvet_status status;
    cv_ptx ptx;

    if (member)
        cv_path_push(job->ctx, CUVET_P_PTX, false, 0);
    enter(job, job->unit->off + job->unit->header_size, inner);
    status = cv_ptx_read(job->ctx, content, form, &ptx);
    leave(job);
    if (member)
        cv_path_pop(job->ctx);
    if (status != CUVET_OK)
        return;
    result->text = job->ctx->n_errors == errors; /* no byte of it can be part of a magic */
    /* The text alone is what a person wants to read; its NUL and padding stay behind. */
    result->payload.len = ptx.text_len;
    result->item.unpacked_size = member ? ptx.text_len + 1 : content.len;
    if (member) {
        cv_agree_ptx(job->ctx, member, job->unit->off, &ptx);
        return;
    }
    result->item.arch = ptx.target;
    result->item.suffix = ptx.suffix;
    result->item.major = (uint16_t)ptx.major;
    result->item.minor = (uint16_t)ptx.minor;
}

/* More device code in the content: walked after this unit was delivered. Until then only the place is kept;
 * what was decompressed is unpacked once more, so that a batch of such units never holds more than one
 * content. What is stored raw is walked where it lies. */
static void nest(const examine_job *job, cv_span content, bool inner, uint64_t from)
{
    job->result->nested = true;
    job->result->nested_off = from;
    job->result->nested_len = content.len - from;
    job->result->nested_inner = inner;
    if (inner && job->opt->ledger &&
        !job->result->claimed) /* no part of it has an owner; from there on the next level has */
        cv_ledger_claim(job->ctx, &job->result->inner, content.off, from, CV_CLAIM_PAYLOAD, 0, false);
    if (!inner || !job->opt->take)
        return;
    job->result->content = job->worker->unpacked;
    job->result->content.span = content;
    job->worker->unpacked = (cv_block){ 0 };
}

/* Stored bytes of a compressed ELF may keep its header verbatim: there only a container counts. */
static bool is_hidden(cv_span content, uint64_t at, bool packed)
{
    cv_span head = cv_span_tail(content, at), first = cv_span_tail(head, cv_u16_at(head, 6));

    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_u32_at(head, 4) == CV_FATBIN_TAIL ||
               (cv_fatbin_get(head, CV_FB_FIELD_CONTAINER_VERSION) == CV_FATBIN_VERSION &&
                cv_fatbin_begins_member(first, first.len));
    return at != 0 && !packed && cv_locate_is_device(head);
}

/* A hit costs as much as the search of so many bytes. */
#define HIT_WORK UINT64_C(32)

/* Look for a container or a device ELF in [from, end) of the content: that is paid for. */
static void find_in(const examine_job *job, cv_span content, bool inner, bool packed, uint64_t from,
                    uint64_t end)
{
    cv_span part = content;
    uint64_t at = from;

    part.len = cv_min(end, content.len);
    if (!cv_work(job->ctx, (part.len - cv_min(from, part.len)) / 16, content.off + from))
        return;
    while (!job->result->nested) {
        at = cv_span_find_u32(part, at, CV_FATBIN_MAGIC, CV_ELF_MAGIC);
        if (at >= part.len || !cv_work(job->ctx, HIT_WORK, content.off + at))
            return;
        if (is_hidden(content, at, packed)) {
            enter(job, job->unit->off + job->unit->header_size, inner);
            cv_report(job->ctx, CV_R_FATBIN_HIDDEN, content.off + at, 8, at, 0);
            leave(job);
            nest(job, content, inner, at);
        }
        at += 4;
    }
}

/* Bytes that a format leaves free (debug data, string tables, opaque payloads) can hold a whole container:
 * they are searched at every offset, as the file itself is. Unpacked machine code is not: reading it once
 * more would cost more than everything else that is done with it. Whatever lies outside of it is. */
static void find_hidden(const examine_job *job, cv_span content, bool inner)
{
    const cv_cubin *cubin = &job->worker->cubin;
    uint64_t pos = 0;

    if (job->result->text)
        return;
    for (uint64_t k = 0; inner && job->result->cubin && k < cubin->by_off.count && !job->result->nested;
         k++) {
        uint64_t i = cv_keys_get(&cubin->by_off, k)->index;
        const cv_sec *sec = i < cubin->sec.count ? cv_cubin_sec(cubin, i) : NULL;

        if (!sec || !sec->in_file || (sec->role != CV_ROLE_TEXT && sec->role != CV_ROLE_CAPMERC_TEXT) ||
            sec->header.off < pos)
            continue;
        find_in(job, content, inner, false, pos, sec->header.off + 3); /* a magic may end in the code */
        pos = sec->header.off + sec->header.size;
    }
    find_in(job, content, inner, false, pos, content.len);
}

static void examine_content(const examine_job *job, const cv_fatbin_member *member, cv_span content,
                            bool inner)
{
    cv_result *result = job->result;

    result->payload = content;
    result->item.examined = true;
    if (cv_u32_at(content, 0) == CV_FATBIN_MAGIC) {
        cv_report(job->ctx, CV_R_FATBIN_NESTED, job->unit->off + job->unit->header_size, 0, 0, 0);
        result->item.kind = CUVET_K_FATBIN;
        nest(job, content, inner, 0);
        result->nested_whole = true;
        return;
    }
    if (!cv_agree_kind(job->ctx, member, job->unit->off, content))
        return;
    if (member->kind == CV_FB_KIND_ELF) {
        examine_elf(job, member, content, inner);
    } else if (member->kind == CV_FB_KIND_PTX) {
        examine_ptx(job, member, content, inner);
    } else if (member->kind == CV_FB_KIND_LTOIR) {
        cv_path_push(job->ctx, CUVET_P_LTOIR, false, 0);
        cv_agree_ltoir(job->ctx, member, job->unit->off, content);
        cv_path_pop(job->ctx);
    } else {
        result->item.examined = false; /* CV_R_FATBIN_KIND has said so */
    }
}

/* A status that is not a finding ends the scan. */
static cuvet_status keep(const examine_job *job, cuvet_status status)
{
    if (status == CUVET_E_NOMEM || status == CUVET_E_INTERNAL)
        job->result->status = status;
    return status;
}

/* Padding behind a compressed payload. */
static void check_padding(const examine_job *job, cv_span pad)
{
    if (cv_span_find_nonzero(pad) != pad.len)
        cv_report(job->ctx, CV_R_FATBIN_PAYLOAD_PADDING, pad.off, pad.len, 1, pad.len);
}

/* The payload as it is stored: read by who needs it first. */
static cuvet_status load_stored(examine_job *job)
{
    uint64_t off = job->unit->off + job->unit->header_size, len = job->unit->payload_size;
    cuvet_status status = CUVET_OK;

    if (job->loaded)
        return CUVET_OK;
    if (!cv_near(job->near, off, len, &job->stored)) {
        status = keep(job, cv_block_load(job->ctx, &job->worker->stored, job->src, off, len));
        job->stored = job->worker->stored.span;
    }
    job->loaded = status == CUVET_OK;
    return status;
}

/* A copy of what is stored raw, which can be handed on without the file. */
static bool own_content(const examine_job *job, cv_span *content)
{
    content->off = 0;
    if (keep(job, cv_block_copy(job->ctx, &job->worker->unpacked, *content)) != CUVET_OK)
        return false;
    *content = job->worker->unpacked.span;
    return true;
}

/* Payload of a member: padding, method, limits, bytes. *inner: content is decompressed. False: no content. */
static bool unpack_member(examine_job *job, const cv_fatbin_member *member, cv_span *content, bool *inner)
{
    cv_codec_kind method = member->flags & CV_FB_LZ4 ? CV_CODEC_LZ4 : CV_CODEC_ZSTD;
    cv_span stored;

    *inner = false;
    if (load_stored(job) != CUVET_OK)
        return false;
    *content = job->stored;
    if (!(member->flags & CV_FB_COMPRESSED))
        return !job->opt->own || own_content(job, content);
    check_padding(job, cv_span_tail(job->stored, member->compressed_size));
    if (member->flags & CV_FB_SCRAMBLED) {
        cv_report(job->ctx, CV_R_FATBIN_OPAQUE, job->stored.off, member->compressed_size,
                  member->compressed_size, 0);
        return false;
    }
    if (!cv_span_sub(job->stored, 0, member->compressed_size, &stored))
        return false;
    if (keep(job, cv_codec_decode(job->ctx, &job->worker->codec, method, stored, member->uncompressed_size,
                                  &job->worker->unpacked)) != CUVET_OK)
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

static void fill_item(const examine_job *job, const cv_fatbin_member *member)
{
    cuvet_item *item = &job->result->item;

    item->kind = cv_unit_kind_of(member->kind);
    item->compression = method_of(member);
    item->raw_kind = member->kind;
    item->major = member->major;
    item->minor = member->minor;
    item->arch = member->arch;
    item->suffix = member->flags & CV_FB_ARCH_A ? 'a' : member->flags & CV_FB_ARCH_F ? 'f' : 0;
    item->flags = member->flags;
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

static void claim_member(const examine_job *job, const cv_fatbin_member *member, cv_span header)
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
static void size_raw(const examine_job *job, const cv_fatbin_member *member)
{
    uint64_t at = job->unit->off + job->unit->header_size, end = at + member->payload_size, extent = 0, tail;
    cv_located found = CV_LOCATED_NO;

    if (member->flags & CV_FB_COMPRESSED || member->payload_size == 0)
        return;
    if (member->kind == CV_FB_KIND_ELF) {
        if (keep(job, cv_locate_extent(job->ctx, &job->worker->stored, job->src, at, end, &found, &extent)) ==
                CUVET_OK &&
            found == CV_LOCATED_YES)
            job->result->item.unpacked_size = extent;
    } else if (member->kind == CV_FB_KIND_PTX) {
        tail = cv_min(member->payload_size, 16);
        if (keep(job, cv_block_load(job->ctx, &job->worker->stored, job->src, end - tail, tail)) != CUVET_OK)
            return;
        while (tail && cv_u8_at(job->worker->stored.span, tail - 1) == 0)
            tail--;
        job->result->item.unpacked_size =
            cv_min(member->payload_size, member->payload_size - job->worker->stored.span.len + tail + 1);
    }
}

/* Everything that was stored, whatever became of it, and what it was unpacked to. */
static void search_member(examine_job *job, cv_span content, bool inner)
{
    if (inner)
        find_hidden(job, content, true);
    if (job->result->nested || (!inner && job->result->text))
        return;
    if (load_stored(job) == CUVET_OK)
        find_in(job, job->stored, false, job->result->item.compression != CUVET_Z_NONE, 0, job->stored.len);
}

/* The header, and of a small member the payload with it. */
static cuvet_status load_header(examine_job *job, bool full, cv_span *header)
{
    const cv_unit *unit = job->unit;
    uint64_t len = unit->header_size + (full ? unit->payload_size : 0);
    cuvet_status status = CUVET_OK;

    if (len > CV_NEAR_MAX)
        cv_window_free(job->ctx, &job->worker->window); /* a large one has the whole budget */
    else if (!cv_near(job->opt->near, unit->off, len, &job->near))
        status = keep(job, cv_window_near(job->ctx, &job->worker->window, job->src, unit->off, len,
                                          job->src->length, &job->near));
    if (status != CUVET_OK || cv_near(job->near, unit->off, unit->header_size, header))
        return status;
    status = keep(job, cv_block_load(job->ctx, &job->worker->head, job->src, unit->off, unit->header_size));
    *header = job->worker->head.span;
    return status;
}

static void examine_member(examine_job *job)
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
    fill_item(job, &member);
    if (readable && !full)
        size_raw(job, &member);
    content = header;
    if (readable && full && unpack_member(job, &member, &content, &inner))
        examine_content(job, &member, content, inner);
    if (full && !job->result->nested)
        search_member(job, content, inner);
    if (job->opt->ledger)
        claim_member(job, &member, header);
}

static void examine_bare(const examine_job *job)
{
    cuvet_item *item = &job->result->item;
    cv_block *block = &job->worker->stored;
    bool full = !job->unit->skip_payload;

    item->kind = job->unit->kind == CV_UNIT_IMAGE ? CUVET_K_CUBIN : CUVET_K_PTX;
    item->stored_size = item->unpacked_size = job->unit->payload_size;
    if (full && keep(job, cv_block_load(job->ctx, block, job->src, job->unit->off,
                                        job->unit->payload_size)) != CUVET_OK)
        return;
    item->examined = full;
    if (full) {
        job->result->payload = block->span;
        if (item->kind == CUVET_K_CUBIN)
            examine_elf(job, NULL, block->span, false);
        else
            examine_ptx(job, NULL, block->span, false);
    }
    if (job->opt->ledger && !job->result->claimed)
        cv_ledger_claim(job->ctx, &job->result->file, job->unit->off, job->unit->payload_size,
                        item->kind == CUVET_K_PTX ? CV_CLAIM_PTX : CV_CLAIM_PAYLOAD, 0, false);
    job->ctx->path = job->unit->path;
    if (full)
        find_hidden(job, block->span, false);
}

static void examine_ir(examine_job *job)
{
    cv_result *result = job->result;
    cv_ir ir = { job->ctx, &job->worker->stored, &job->worker->head,     &job->worker->window,
                 job->src, job->unit->off,       job->unit->payload_size };
    bool bitcode = job->unit->kind == CV_UNIT_BITCODE;
    bool full = job->opt->depth == CUVET_DEPTH_FULL && !job->unit->skip_payload;

    result->item.kind = bitcode ? CUVET_K_BITCODE : CUVET_K_LTOIR;
    result->item.stored_size = result->item.unpacked_size = ir.size;
    if (!job->unit->skip_payload)
        (void)keep(job, bitcode ? cv_ir_bitcode(&ir, result->mem, &result->triple)
                                : cv_ir_ltoir(&ir, &result->item.arch));
    if (job->opt->ledger)
        cv_ledger_claim(job->ctx, &result->file, ir.off, ir.size, CV_CLAIM_PAYLOAD, 0, false);
    result->nested =
        full && keep(job, cv_ir_search(&ir, &result->nested_off)) == CUVET_OK && result->nested_off < ir.size;
    result->nested_len = ir.size - cv_min(result->nested_off, ir.size);
}

/* … even when there was no room left to keep it with the others. */
static void say_live(cv_worker *worker, const cv_unit *unit, cv_result *result)
{
    result->live_said = false;
    result->live = (cuvet_diag){ .rule = CV_R_LIMIT_LIVE,
                                 .severity = CUVET_ERROR,
                                 .file_off = worker->ctx.anchor ? worker->ctx.anchor : unit->off,
                                 .got = worker->ctx.mem.live,
                                 .want = worker->ctx.mem.limit,
                                 .where = unit->path };
    result->has_live = true;
    result->item.errors++;
    if (result->verdict < CUVET_V_LIMIT)
        result->verdict = CUVET_V_LIMIT;
}

void cv_examine(cv_worker *worker, const cuvet_source *src, const cv_unit *unit,
                const cv_examine_options *opt, cv_result *result)
{
    examine_job job = {
        .worker = worker, .ctx = &worker->ctx, .src = src, .unit = unit, .opt = opt, .result = result
    };
    uint64_t declared = unit->kind == CV_UNIT_MEMBER
                            ? cv_fatbin_member_claim(cv_span_of(&unit->head, sizeof(unit->head), 0)).unpacked
                            : 0;

    *result = (cv_result){
        .mem = &worker->ctx.mem, .status = CUVET_OK, .seen = opt->seen, .cap = worker->ctx.lim.diagnostics
    };
    result->item = (cuvet_item){ .where = unit->path,
                                 .in_container = unit->kind == CV_UNIT_MEMBER,
                                 .referenced = unit->referenced,
                                 .place = unit->place,
                                 .producer = { .tool = "" },
                                 .container_off = unit->container_off,
                                 .header_off = unit->off,
                                 .payload_off = unit->off + unit->header_size };
    if (!opt->follows)
        cv_window_forget(&worker->window);
    worker->ctx.emit = keep_diag;
    worker->ctx.emit_user = result;
    /* A lying declared size cannot buy work: it is capped by the limit that the decoder enforces. */
    cv_ctx_unit(&worker->ctx,
                cv_sat_add(unit->payload_size + unit->header_size, cv_min(declared, worker->ctx.lim.member)));
    cv_ctx_cap_work(&worker->ctx, unit->work_most ? unit->work_most : UINT64_MAX);
    worker->ctx.path = unit->path;
    worker->ctx.embedded = unit->embedded;
    if (opt->inner)
        cv_ctx_enter_inner(&worker->ctx, opt->anchor);
    if (unit->kind == CV_UNIT_MEMBER)
        examine_member(&job);
    else if (unit->kind == CV_UNIT_BITCODE || unit->kind == CV_UNIT_LTOIR)
        examine_ir(&job);
    else
        examine_bare(&job);
    if (result->file.failed || result->inner.failed || !cv_ledger_sort(&worker->ctx, &result->file) ||
        !cv_ledger_sort(&worker->ctx, &result->inner))
        result->status = CUVET_E_NOMEM;
    result->item.triple = result->triple.count ? (const char *)result->triple.items : NULL;
    result->item.triple_len = (size_t)result->triple.count;
    result->item.ident = result->ident.count ? (const char *)result->ident.items : NULL;
    result->item.ident_len = (size_t)result->ident.count;
    result->item.errors = (uint32_t)cv_min(worker->ctx.n_errors, UINT32_MAX);
    result->item.warnings = (uint32_t)cv_min(worker->ctx.n_warnings, UINT32_MAX);
    result->n_notes = worker->ctx.n_notes;
    result->work = cv_ctx_spent(&worker->ctx);
    result->verdict = worker->ctx.verdict;
    result->suppressed =
        worker->ctx.n_errors + worker->ctx.n_warnings + worker->ctx.n_notes - result->diags.count;
    if (result->suppressed > 0 && !keep_totals(&worker->ctx, result))
        result->status = CUVET_E_NOMEM;
    if (result->status == CUVET_E_NOMEM && cv_mem_status(&worker->ctx.mem) == CUVET_E_LIMIT) {
        result->status = CUVET_OK; /* a limit is a finding of this unit … */
        if (!result->live_said)
            say_live(worker, unit, result);
    }
}

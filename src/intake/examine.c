/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/examine.h"

#include "bytes/search.h"
#include "cubin/admit.h"
#include "cubin/producer.h"
#include "format/elf/read.h"
#include "format/ptx/read.h"
#include "intake/kind_fatbin_agree.h"
#include "intake/locate.h"
#include "intake/region.h"

void cv_worker_init(cv_worker *worker, const cuvet_alloc *alloc, const cuvet_limits *lim)
{
    cv_ctx_init(&worker->ctx, alloc, lim);
    worker->codec = (cv_codec){ 0 };
    worker->head = worker->stored = worker->unpacked = (cv_block){ 0 };
    worker->window = (cv_window){ 0 };
    worker->islands = (cv_islands){ 0 };
    cv_cubin_init(&worker->cubin);
}

void cv_worker_free(cv_worker *worker)
{
    cv_cubin_free(&worker->ctx, &worker->cubin);
    cv_islands_free(&worker->islands);
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

/* The content of a unit lies in decompressed bytes; whatever is reported there is inner. */
static void enter_content(const cv_examine_job *job, uint64_t anchor, bool inner)
{
    if (inner)
        cv_ctx_enter_inner(job->ctx, anchor);
}

static void leave_content(const cv_examine_job *job)
{
    if (!job->opt->inner)
        cv_ctx_leave_inner(job->ctx);
}

cuvet_status cv_job_keep(const cv_examine_job *job, cuvet_status status)
{
    if (status == CUVET_E_NOMEM || CV_NEVER(status == CUVET_E_INTERNAL))
        job->result->status = status;
    return status;
}

void cv_job_elf(const cv_examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner)
{
    cv_result *result = job->result;
    cv_ledger *ledger = !job->opt->ledger ? NULL : inner ? &result->inner : &result->file;
    uint64_t extent = 0;
    cuvet_status status;

    if (member)
        cv_path_push(job->ctx, CUVET_P_ELF, false, 0);
    enter_content(job, job->unit->off + job->unit->header_size, inner);
    status = cv_cubin_examine(job->ctx, &job->worker->cubin, content, ledger, &extent);
    if (status == CUVET_OK && job->opt->admit)
        cv_admit_note(job->ctx, &job->worker->cubin, job->opt->admit);
    leave_content(job);
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

void cv_job_ptx(const cv_examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner)
{
    cv_ptx_form form = !member ? CV_PTX_BARE : inner ? CV_PTX_MEMBER : CV_PTX_PADDED;
    uint64_t errors = job->ctx->n_errors;
    cv_result *result = job->result;
    cuvet_status status;
    cv_ptx ptx;

    if (member)
        cv_path_push(job->ctx, CUVET_P_PTX, false, 0);
    enter_content(job, job->unit->off + job->unit->header_size, inner);
    status = cv_ptx_read(job->ctx, content, form, &ptx);
    leave_content(job);
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
void cv_job_nest(const cv_examine_job *job, cv_span content, bool inner, uint64_t from)
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
bool cv_job_is_hidden(cv_span head, bool packed)
{
    cv_span first = cv_span_tail(head, cv_u16_at(head, 6));

    if (cv_u32_at(head, 0) == CV_FATBIN_MAGIC)
        return cv_u32_at(head, 4) == CV_FATBIN_TAIL ||
               (cv_fatbin_get(head, CV_FB_FIELD_CONTAINER_VERSION) == CV_FATBIN_VERSION &&
                cv_fatbin_begins_member(first, first.len));
    return !packed && cv_locate_is_device(head);
}

/* Look for a container or a device ELF in [from, end) of the content: that is paid for. */
void cv_job_find(const cv_examine_job *job, cv_span content, bool inner, bool packed, uint64_t from,
                 uint64_t end)
{
    cv_span part = content;
    uint64_t at = from;

    part.len = cv_min(end, content.len);
    if (!cv_work(job->ctx, (part.len - cv_min(from, part.len)) / 16, content.off + from))
        return;
    while (!job->result->nested) {
        at = cv_span_find_u32(part, at, CV_FATBIN_MAGIC, CV_ELF_MAGIC);
        if (at >= part.len || !cv_work(job->ctx, CV_HIT_WORK, content.off + at))
            return;
        if (cv_job_is_hidden(cv_span_tail(content, at), packed || at == 0)) {
            enter_content(job, job->unit->off + job->unit->header_size, inner);
            cv_report(job->ctx, CV_R_FATBIN_HIDDEN, content.off + at, 8, at, 0);
            leave_content(job);
            cv_job_nest(job, content, inner, at);
        }
        at += 4;
    }
}

/* Bytes that a format leaves free (debug data, string tables, opaque payloads) can hold a whole container:
 * they are searched at every offset, as the file itself is. Unpacked machine code is not: reading it once
 * more would cost more than everything else that is done with it. Whatever lies outside of it is. */
void cv_job_find_hidden(const cv_examine_job *job, cv_span content, bool inner)
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
        cv_job_find(job, content, inner, false, pos, sec->header.off + 3); /* a magic may end in the code */
        pos = sec->header.off + sec->header.size - cv_min(sec->header.size, 3); /* or begin there */
    }
    cv_job_find(job, content, inner, false, pos, content.len);
}

void cv_job_whole(cv_examine_job *job)
{
    cuvet_item *item = &job->result->item;
    cv_block *block = &job->worker->stored;
    bool full = !job->unit->skip_payload;

    item->kind = job->unit->row->kind;
    item->stored_size = item->unpacked_size = job->unit->payload_size;
    if (full && cv_job_keep(job, cv_block_load(job->ctx, block, job->src, job->unit->off,
                                               job->unit->payload_size)) != CUVET_OK)
        return;
    if (full) {
        item->flags |= CUVET_ITEM_EXAMINED;
        if (job->opt->own)
            block->span.off = 0;
        job->result->own = job->opt->own;
        job->result->payload = block->span;
        if (item->kind == CUVET_K_CUBIN)
            cv_job_elf(job, NULL, block->span, false);
        else
            cv_job_ptx(job, NULL, block->span, false);
    }
    if (job->opt->ledger && !job->result->claimed)
        cv_ledger_claim(job->ctx, &job->result->file, job->unit->off, job->unit->payload_size,
                        item->kind == CUVET_K_PTX ? CV_CLAIM_PTX : CV_CLAIM_PAYLOAD, 0, false);
    job->ctx->path = job->unit->path;
    if (full)
        cv_job_find_hidden(job, block->span, false);
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
    cv_examine_job job = {
        .worker = worker, .ctx = &worker->ctx, .src = src, .unit = unit, .opt = opt, .result = result
    };
    bool strict = worker->ctx.strict;
    uint64_t declared = cv_unit_is_member(unit)
                            ? cv_fatbin_member_claim(cv_span_of(&unit->head, sizeof(unit->head), 0)).unpacked
                            : 0;

    *result = (cv_result){
        .mem = &worker->ctx.mem, .status = CUVET_OK, .seen = opt->seen, .cap = worker->ctx.lim.diagnostics
    };
    result->item = (cuvet_item){ .where = unit->path,
                                 .flags = (cv_unit_is_member(unit) ? CUVET_ITEM_IN_CONTAINER : 0) |
                                          (unit->referenced ? CUVET_ITEM_REFERENCED : 0),
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
    worker->ctx.strict = strict || opt->strict;
    unit->row->examine(&job);
    worker->ctx.strict = strict;
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

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scanner.h"

#include <stdlib.h>

#include "base/arith.h"

static bool refuse(fz_alloc *alloc)
{
    uint64_t count = __atomic_add_fetch(&alloc->calls, 1, __ATOMIC_RELAXED);
    bool fail = alloc->fail_at && (alloc->fail_on ? count >= alloc->fail_at : count == alloc->fail_at);

    if (fail)
        __atomic_store_n(&alloc->failed, true, __ATOMIC_RELAXED);
    return fail;
}

static void count_bytes(fz_alloc *alloc, uint64_t more)
{
    uint64_t live = __atomic_add_fetch(&alloc->live, more, __ATOMIC_RELAXED);

    if (live > __atomic_load_n(&alloc->peak, __ATOMIC_RELAXED))
        __atomic_store_n(&alloc->peak, live, __ATOMIC_RELAXED);
}

static void *get(void *user, size_t size)
{
    fz_alloc *alloc = user;
    void *block;

    FZ_CHECK(size != 0, "the allocator is never asked for nothing");
    block = refuse(alloc) ? NULL : fz_pool_get(size);
    if (block)
        count_bytes(alloc, size);
    return block;
}

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    fz_alloc *alloc = user;
    void *data;

    FZ_CHECK(block && new_size != 0, "the allocator is never asked for nothing");
    data = refuse(alloc) ? NULL : fz_pool_resize(block, old_size, new_size);
    if (data)
        count_bytes(alloc, (uint64_t)new_size - old_size);
    return data;
}

static void put(void *user, void *block, size_t size)
{
    fz_alloc *alloc = user;

    FZ_CHECK(block != NULL, "only blocks are released");
    __atomic_fetch_sub(&alloc->live, size, __ATOMIC_RELAXED);
    fz_pool_put(block, size);
}

cuvet_alloc fz_alloc_of(fz_alloc *alloc)
{
    return (cuvet_alloc){ sizeof(cuvet_alloc), get, resize, put, alloc };
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    fz_scan *scan = user;
    cuvet_verdict verdict = cuvet_diag_verdict(diag);

    scan->hash = fz_mix(scan->hash, fz_diag(diag, 0, scan->in->len));
    scan->n_diags++;
    scan->n_wanted += diag->rule == scan->wanted;
    scan->n_notes += diag->severity == CUVET_NOTE;
    scan->n_warnings += diag->severity == CUVET_WARNING;
    scan->n_errors += diag->severity == CUVET_ERROR;
    scan->profile = scan->profile ||
                    (diag->severity == CUVET_WARNING && cuvet_rule_get(diag->rule)->cls == CUVET_C_PROFILE);
    scan->rule_limit = scan->rule_limit || verdict == CUVET_V_LIMIT;
    scan->unsupported = scan->unsupported || verdict == CUVET_V_UNSUPPORTED;
    if (verdict > scan->worst)
        scan->worst = verdict;
}

static void on_claim(void *user, const cuvet_claim_info *claim)
{
    fz_scan *scan = user;

    FZ_CHECK(claim->owner && *claim->owner && claim->length != 0, "a claim has an owner and bytes");
    if ((claim->flags & CUVET_CLAIM_INNER) != 0)
        return;
    if (scan->n_list == scan->cap_list) {
        size_t cap = scan->cap_list ? 2 * scan->cap_list : 64;
        fz_claim *list = realloc(scan->list, cap * sizeof(*list));

        if (!list)
            abort();
        scan->list = list;
        scan->cap_list = cap;
    }
    scan->list[scan->n_list++] =
        (fz_claim){ claim->off, claim->length, (claim->flags & CUVET_CLAIM_SHARED) != 0 };
}

static unsigned kind_of(const cuvet_item *item)
{
    static const cuvet_kind KINDS[FZ_KINDS - 1] = { CUVET_K_CUBIN, CUVET_K_PTX, CUVET_K_LTOIR,
                                                    CUVET_K_BITCODE };
    unsigned kind = 0;

    while (kind < FZ_KINDS - 1 && KINDS[kind] != item->kind)
        kind++;
    return kind;
}

static void check_item(fz_scan *scan, const cuvet_item *item)
{
    uint64_t hash = fz_mix(scan->hash, (uint64_t)item->kind << 8 | (unsigned)item->compression);
    char text[256];

    FZ_CHECK(cuvet_path_text(&item->where, text, sizeof(text)) > 0, "an item has a path");
    if (item->where.n == 2 || item->where.n == 1) { /* in the file itself, not in other content */
        FZ_CHECK(item->header_off <= scan->in->len && item->payload_off <= scan->in->len,
                 "an item lies in the file");
        FZ_CHECK(item->stored_size <= scan->in->len - item->payload_off, "the stored bytes lie in the file");
    }
    FZ_CHECK((item->ident != NULL) == (item->ident_len != 0), "an identifier has characters");
    hash = fz_mix(fz_mix(hash, item->arch), item->header_off);
    hash = fz_mix(fz_mix(hash, item->stored_size), item->unpacked_size);
    hash = fz_mix(fz_mix(hash, item->member_flags), item->kernels);
    hash = fz_mix(fz_mix(hash, item->errors), item->warnings);
    hash = fz_mix_bytes(hash, item->ident, item->ident_len);
    hash = fz_mix_bytes(hash, item->ar_name, item->ar_name_len);
    scan->hash = fz_mix(hash, item->flags & (CUVET_ITEM_EXAMINED | CUVET_ITEM_REFERENCED));
    scan->kind[kind_of(item)]++;
    scan->n_items++;
    if (scan->each)
        scan->each(scan->user, item);
}

static void check_payload(cuvet_ctx *ctx, cuvet_scan handle, fz_scan *scan, const cuvet_item *item)
{
    const void *bytes = NULL;
    size_t count = 0;
    cuvet_status st = cuvet_scan_payload(ctx, handle, &bytes, &count);

    if (scan->jobs > 1 || scan->ahead) {
        FZ_CHECK(st == CUVET_E_USAGE, "payloads are for one job");
        return;
    }
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NO_MATCH, "payload");
    FZ_CHECK(st != CUVET_OK || (item->flags & CUVET_ITEM_EXAMINED) != 0,
             "only what was examined has a payload");
    if (st == CUVET_OK && !scan->claims)
        (void)fz_mix_bytes(0, bytes, count); /* all of it can be read */
}

/* What is said of each rule adds up to what is said of all. */
static void check_rules(cuvet_ctx *ctx, cuvet_scan handle, const fz_scan *scan)
{
    uint64_t all = 0, count;

    for (cuvet_rule rule = 0; cuvet_rule_get(rule); rule++) {
        FZ_CHECK(cuvet_scan_rule_count(ctx, handle, rule, &count) == CUVET_OK, "every rule has a count");
        all += count;
    }
    FZ_CHECK(all == scan->sum.notes + scan->sum.warnings + scan->sum.errors, "counts of rules add up");
}

static void check_summary(const fz_scan *scan)
{
    const cuvet_summary *summary = &scan->sum;

    FZ_CHECK(summary->members + summary->images == scan->n_items, "every item is counted");
    FZ_CHECK(summary->elf == scan->kind[0] && summary->ptx == scan->kind[1] &&
                 summary->ltoir == scan->kind[2] && summary->bitcode == scan->kind[3] &&
                 summary->other == scan->kind[4],
             "by kind as well");
    FZ_CHECK(summary->notes + summary->warnings + summary->errors == scan->n_diags + summary->suppressed,
             "every diagnostic is delivered or counted");
    FZ_CHECK(summary->notes >= scan->n_notes && summary->warnings >= scan->n_warnings &&
                 summary->errors >= scan->n_errors,
             "by severity as well");
    FZ_CHECK(summary->verdict >= scan->worst, "the verdict is the worst");
    FZ_CHECK(summary->suppressed || summary->verdict == scan->worst, "and no worse");
    FZ_CHECK(summary->verdict == CUVET_V_CLEAN || scan->n_diags, "a verdict has a reason");
}

static void scan(fz_scan *scanning, cuvet_ctx *ctx, const cuvet_source *src)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = scanning->depth, .jobs = scanning->jobs };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_scan handle;

    if (scanning->claims) {
        opt.claim = on_claim;
        opt.claim_user = scanning;
    }
    scanning->status = cuvet_scan_create(ctx, src, &opt, &handle);
    if (scanning->status != CUVET_OK)
        return;
    if (scanning->ahead) {
        cuvet_status st = cuvet_scan_ahead(ctx, handle);

        FZ_CHECK(st == CUVET_OK || st == CUVET_END, "nothing keeps a scan from going ahead");
    }
    while ((scanning->status = cuvet_scan_next(ctx, handle, &item)) == CUVET_OK) {
        check_item(scanning, &item);
        check_payload(ctx, handle, scanning, &item);
    }
    scanning->sum.size = sizeof(scanning->sum);
    FZ_CHECK(cuvet_scan_summary(ctx, handle, &scanning->sum) == CUVET_OK, "a summary after the end");
    if (scanning->status == CUVET_END) {
        check_summary(scanning);
        check_rules(ctx, handle, scanning);
    }
    scanning->hash = fz_mix(fz_mix(scanning->hash, (uint64_t)scanning->status), scanning->sum.verdict);
    scanning->hash = fz_mix(fz_mix(scanning->hash, scanning->sum.unpacked), scanning->sum.gap_bytes);
    FZ_CHECK(cuvet_scan_destroy(ctx, &handle) == CUVET_OK && handle.bits == 0, "a scan can be closed");
}

void fz_scan_run(fz_scan *scanning, const cuvet_limits *lim, fz_alloc *other_alloc)
{
    cuvet_alloc alloc = fz_alloc_of(other_alloc);
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = &alloc, .limits = lim, .diag = on_diag, .diag_user = scanning
    };
    cuvet_ctx *ctx = NULL;
    cuvet_source src = { .size = sizeof(src) };

    if (scanning->source)
        src = *scanning->source;
    else
        FZ_CHECK(cuvet_source_memory(scanning->in->bytes, scanning->in->len, &src) == CUVET_OK, "source");
    scanning->status = cuvet_ctx_create(&opt, &ctx);
    if (scanning->status == CUVET_OK)
        scan(scanning, ctx, &src);
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(other_alloc->live == 0, "nothing stays allocated");
    /* Handles and what belongs to no unit are not counted; a second thread has a limit of its own. */
    if (scanning->jobs <= 1 && !scanning->ahead)
        FZ_CHECK(other_alloc->peak <= cv_sat_add(lim->live, 32 * CV_KIB),
                 "no more memory than the limit says");
}

void fz_scan_free(fz_scan *scan)
{
    free(scan->list);
    scan->list = NULL;
}

static int by_off(const void *left, const void *right)
{
    const fz_claim *claim = left, *other_claim = right;

    if (claim->off != other_claim->off)
        return claim->off < other_claim->off ? -1 : 1;
    return claim->len < other_claim->len ? -1 : claim->len > other_claim->len;
}

bool fz_scan_covered(fz_scan *scan)
{
    uint64_t at = 0;

    if (scan->n_list)
        qsort(scan->list, scan->n_list, sizeof(*scan->list), by_off);
    for (size_t i = 0; i < scan->n_list; i++) {
        if (scan->list[i].shared)
            continue;
        if (scan->list[i].off != at)
            return false;
        at += scan->list[i].len;
    }
    return at == scan->in->len;
}

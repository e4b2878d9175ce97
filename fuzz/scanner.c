/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "scanner.h"

#include <stdlib.h>

static bool refuse(fz_alloc *a)
{
    uint64_t n = __atomic_add_fetch(&a->calls, 1, __ATOMIC_RELAXED);
    bool fail = a->fail_at && (a->fail_on ? n >= a->fail_at : n == a->fail_at);

    if (fail)
        __atomic_store_n(&a->failed, true, __ATOMIC_RELAXED);
    return fail;
}

static void *get(void *user, size_t size)
{
    fz_alloc *a = user;
    void *p;

    FZ_CHECK(size != 0, "the allocator is never asked for nothing");
    p = refuse(a) ? NULL : malloc(size);
    if (p)
        __atomic_fetch_add(&a->live, size, __ATOMIC_RELAXED);
    return p;
}

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    fz_alloc *a = user;
    void *p;

    FZ_CHECK(block && new_size != 0, "the allocator is never asked for nothing");
    p = refuse(a) ? NULL : realloc(block, new_size);
    if (p)
        __atomic_fetch_add(&a->live, (uint64_t)new_size - old_size, __ATOMIC_RELAXED);
    return p;
}

static void put(void *user, void *block, size_t size)
{
    fz_alloc *a = user;

    FZ_CHECK(block != NULL, "only blocks are released");
    __atomic_fetch_sub(&a->live, size, __ATOMIC_RELAXED);
    free(block);
}

cuvet_alloc fz_alloc_of(fz_alloc *a)
{
    return (cuvet_alloc){ sizeof(cuvet_alloc), get, resize, put, a };
}

static void on_diag(void *user, const cuvet_diag *d)
{
    fz_scan *s = user;
    cuvet_verdict v = cuvet_diag_verdict(d);

    s->hash = fz_mix(s->hash, fz_diag(d, 0, s->in->len));
    s->n_diags++;
    s->n_notes += d->severity == CUVET_NOTE;
    s->n_warnings += d->severity == CUVET_WARNING;
    s->n_errors += d->severity == CUVET_ERROR;
    s->rule_limit = s->rule_limit || v == CUVET_V_LIMIT;
    if (v > s->worst)
        s->worst = v;
}

static void on_claim(void *user, const cuvet_claim_info *c)
{
    fz_scan *s = user;

    FZ_CHECK(c->owner && *c->owner && c->length != 0, "a claim has an owner and bytes");
    if (c->inner)
        return;
    if (s->n_list == s->cap_list) {
        size_t cap = s->cap_list ? 2 * s->cap_list : 64;
        fz_claim *list = realloc(s->list, cap * sizeof(*list));

        if (!list)
            abort();
        s->list = list;
        s->cap_list = cap;
    }
    s->list[s->n_list++] = (fz_claim){ c->off, c->length, c->shared };
}

static void check_item(fz_scan *s, const cuvet_item *i)
{
    uint64_t h = fz_mix(s->hash, (uint64_t)i->kind << 8 | (unsigned)i->compression);
    char text[256];

    FZ_CHECK(cuvet_path_text(&i->where, text, sizeof(text)) > 0, "an item has a path");
    if (i->where.n == 2 || i->where.n == 1) { /* in the file itself, not in other content */
        FZ_CHECK(i->header_off <= s->in->len && i->payload_off <= s->in->len, "an item lies in the file");
        FZ_CHECK(i->stored_size <= s->in->len - i->payload_off, "the stored bytes lie in the file");
    }
    FZ_CHECK((i->ident != NULL) == (i->ident_len != 0), "an identifier has characters");
    h = fz_mix(fz_mix(h, i->arch), i->header_off);
    h = fz_mix(fz_mix(h, i->stored_size), i->unpacked_size);
    h = fz_mix(fz_mix(h, i->flags), i->kernels);
    h = fz_mix(fz_mix(h, i->errors), i->warnings);
    h = fz_mix_bytes(h, i->ident, i->ident_len);
    h = fz_mix_bytes(h, i->ar_name, i->ar_name_len);
    s->hash = fz_mix(h, (uint64_t)i->examined << 1 | i->referenced);
    s->n_items++;
}

static void check_payload(cuvet_ctx *ctx, cuvet_scan h, fz_scan *s, const cuvet_item *i)
{
    const void *bytes = NULL;
    size_t n = 0;
    cuvet_status st = cuvet_scan_payload(ctx, h, &bytes, &n);

    if (s->jobs > 1 || s->ahead) {
        FZ_CHECK(st == CUVET_E_USAGE, "payloads are for one job");
        return;
    }
    FZ_CHECK(st == CUVET_OK || st == CUVET_E_NO_MATCH, "payload");
    FZ_CHECK(st != CUVET_OK || i->examined, "only what was examined has a payload");
    if (st == CUVET_OK && !s->claims)
        (void)fz_mix_bytes(0, bytes, n); /* all of it can be read */
}

/* What is said of each rule adds up to what is said of all. */
static void check_rules(cuvet_ctx *ctx, cuvet_scan h, const fz_scan *s)
{
    uint64_t all = 0, n;

    for (cuvet_rule i = 0; cuvet_rule_get(i); i++) {
        FZ_CHECK(cuvet_scan_rule_count(ctx, h, i, &n) == CUVET_OK, "every rule has a count");
        all += n;
    }
    FZ_CHECK(all == s->sum.notes + s->sum.warnings + s->sum.errors, "counts of rules add up");
}

static void check_summary(const fz_scan *s)
{
    const cuvet_summary *u = &s->sum;

    FZ_CHECK(u->members + u->images == s->n_items, "every item is counted");
    FZ_CHECK(u->elf + u->ptx + u->ltoir + u->bitcode + u->other == s->n_items, "by kind as well");
    FZ_CHECK(u->notes + u->warnings + u->errors == s->n_diags + u->suppressed,
             "every diagnostic is delivered or counted");
    FZ_CHECK(u->notes >= s->n_notes && u->warnings >= s->n_warnings && u->errors >= s->n_errors,
             "by severity as well");
    FZ_CHECK(u->verdict >= s->worst, "the verdict is the worst");
    FZ_CHECK(u->suppressed || u->verdict == s->worst, "and no worse");
    FZ_CHECK(u->verdict == CUVET_V_CLEAN || s->n_diags, "a verdict has a reason");
}

static void scan(fz_scan *s, cuvet_ctx *ctx, const cuvet_source *src)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .depth = s->depth, .jobs = s->jobs };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_scan h;

    if (s->claims) {
        opt.claim = on_claim;
        opt.claim_user = s;
    }
    s->status = cuvet_scan_create(ctx, src, &opt, &h);
    if (s->status != CUVET_OK)
        return;
    if (s->ahead) {
        cuvet_status st = cuvet_scan_ahead(ctx, h);

        FZ_CHECK(st == CUVET_OK || st == CUVET_END, "nothing keeps a scan from going ahead");
    }
    while ((s->status = cuvet_scan_next(ctx, h, &item)) == CUVET_OK) {
        check_item(s, &item);
        check_payload(ctx, h, s, &item);
    }
    s->sum.size = sizeof(s->sum);
    FZ_CHECK(cuvet_scan_summary(ctx, h, &s->sum) == CUVET_OK, "a summary after the end");
    if (s->status == CUVET_END) {
        check_summary(s);
        check_rules(ctx, h, s);
    }
    s->hash = fz_mix(fz_mix(s->hash, (uint64_t)s->status), s->sum.verdict);
    s->hash = fz_mix(fz_mix(s->hash, s->sum.unpacked), s->sum.gap_bytes);
    FZ_CHECK(cuvet_scan_destroy(ctx, &h) == CUVET_OK && h.bits == 0, "a scan can be closed");
}

void fz_scan_run(fz_scan *s, const cuvet_limits *lim, fz_alloc *a)
{
    cuvet_alloc alloc = fz_alloc_of(a);
    cuvet_ctx_options opt = { sizeof(opt), &alloc, lim, on_diag, s };
    cuvet_ctx *ctx = NULL;
    cuvet_source src = { .size = sizeof(src) };

    FZ_CHECK(cuvet_source_memory(s->in->bytes, s->in->len, &src) == CUVET_OK, "source");
    s->status = cuvet_ctx_create(&opt, &ctx);
    if (s->status == CUVET_OK)
        scan(s, ctx, &src);
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(a->live == 0, "nothing stays allocated");
}

void fz_scan_free(fz_scan *s)
{
    free(s->list);
    s->list = NULL;
}

static int by_off(const void *a, const void *b)
{
    const fz_claim *p = a, *q = b;

    if (p->off != q->off)
        return p->off < q->off ? -1 : 1;
    return p->len < q->len ? -1 : p->len > q->len;
}

bool fz_scan_covered(fz_scan *s)
{
    uint64_t at = 0;

    if (s->n_list)
        qsort(s->list, s->n_list, sizeof(*s->list), by_off);
    for (size_t i = 0; i < s->n_list; i++) {
        if (s->list[i].shared)
            continue;
        if (s->list[i].off != at)
            return false;
        at += s->list[i].len;
    }
    return at == s->in->len;
}

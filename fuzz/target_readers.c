/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any bytes, for everybody who reads files: a scan, a link, a selection, who opens an ELF. What one of them
 * takes no other calls broken, and all see the same pieces in the same places. A file that cannot be read to
 * its end, or that is another one each time somebody looks, gets an end as well. Parameters: bits 8..15 which
 * read is the first to fail, or to give other bytes; 16 it gives other bytes; 17 only that once. */
#include <stdlib.h>
#include <string.h>

#include "linking.h"
#include "mutate.h"
#include "scanner.h"

enum { MOST_PIECES = 4096 };

/* A piece that the scan found in the file itself. */
typedef struct readers_piece {
    uint64_t container, header, payload;
    cuvet_kind kind;
    bool examined, broken;
} readers_piece;

typedef struct readers_run {
    const fz_input *in;
    cuvet_limits lim;
    readers_piece piece[MOST_PIECES];
    size_t count;
    bool all; /* they all are in there */
} readers_run;

static void on_item(void *user, const cuvet_item *item)
{
    readers_run *run = user;

    if (item->place == CUVET_PLACE_NESTED)
        return;
    run->all = run->all && run->count < MOST_PIECES;
    if (run->count < MOST_PIECES)
        run->piece[run->count++] = (readers_piece){ item->container_off,
                                                    item->header_off,
                                                    item->payload_off,
                                                    item->kind,
                                                    (item->flags & CUVET_ITEM_EXAMINED) != 0,
                                                    item->errors != 0 };
}

/* ---- a source that is looked at ---- */

typedef struct readers_source {
    const fz_input *in;
    uint64_t reads, from; /* from which read on something is wrong; 0: nothing is */
    bool other, once;     /* other bytes, or a failure; that read alone */
    uint8_t flip;
} readers_source;

static cuvet_status read_at(void *user, uint64_t off, void *buf, size_t len)
{
    readers_source *source = user;
    bool wrong = ++source->reads >= source->from && source->from > 0;

    FZ_CHECK(len > 0 && off <= source->in->len && len <= source->in->len - off,
             "what is read lies in the file");
    wrong = wrong && (!source->once || source->reads == source->from);
    if (wrong && !source->other)
        return CUVET_E_IO;
    memcpy(buf, source->in->bytes + off, len);
    for (size_t i = 0; wrong && i < len; i += 1 + source->reads % 7)
        ((uint8_t *)buf)[i] ^= (uint8_t)(source->flip + i);
    return CUVET_OK;
}

static void scan_source(fz_scan *scan, readers_source *source, const readers_run *run)
{
    const cuvet_source src = { sizeof(src), run->in->len, read_at, source, -1 };
    fz_alloc alloc = { 0 };

    *scan = (fz_scan){ .in = run->in, .jobs = 1, .depth = CUVET_DEPTH_FULL, .source = &src };
    fz_scan_run(scan, &run->lim, &alloc);
}

/* The same file out of a source; one that cannot be read is not judged; one that changes comes to an end. */
static void sources(const readers_run *run, const fz_scan *first)
{
    uint32_t param = run->in->param;
    readers_source source = { .in = run->in, .flip = (uint8_t)(param >> 18) };
    uint64_t reads;
    fz_scan scan;

    scan_source(&scan, &source, run);
    FZ_CHECK(scan.hash == first->hash, "a source is as good as memory");
    reads = source.reads;
    if (reads == 0)
        return;
    source = (readers_source){ .in = run->in,
                               .from = 1 + (param >> 8 & 255) % reads,
                               .other = param >> 16 & 1,
                               .once = param >> 17 & 1,
                               .flip = (uint8_t)(1 + (param >> 18)) };
    scan_source(&scan, &source, run);
    /* What was read ahead in vain is asked for again: one failure may leave no trace at all. */
    FZ_CHECK(source.other || scan.status == CUVET_E_IO || scan.sum.verdict == CUVET_V_ERROR ||
                 (source.once && scan.hash == first->hash),
             "what cannot be read is said to be so");
}

/* ---- others who read ---- */

static cuvet_ctx *context(const readers_run *run, fz_alloc *counting)
{
    const cuvet_alloc alloc = fz_alloc_of(counting);
    const cuvet_ctx_options opt = { .size = sizeof(opt), .alloc = &alloc, .limits = &run->lim };
    cuvet_ctx *ctx = NULL;

    FZ_CHECK(cuvet_ctx_create(&opt, &ctx) == CUVET_OK, "a context");
    return ctx;
}

/* A file that is one device ELF, and is clean, is one for who opens ELFs; an object that a linker takes is
 * clean of errors. */
static void objects(const readers_run *run, const fz_scan *first)
{
    const fz_input *in = run->in;
    fz_alloc alloc = { 0 };
    cuvet_linker_options opt = fz_linker_options(in);
    cuvet_ctx *ctx = context(run, &alloc);
    cuvet_linker linker = { 0 };
    cuvet_elf elf = { 0 };
    bool whole = run->count == 1 && run->piece[0].payload == 0 && run->piece[0].examined &&
                 (run->piece[0].kind == CUVET_K_CUBIN || run->piece[0].kind == CUVET_K_MERCURY);

    if (whole && first->n_errors == 0 && !first->unsupported)
        FZ_CHECK(cuvet_elf_create(ctx, in->bytes, in->len, &elf) == CUVET_OK, "a clean ELF is an ELF");
    FZ_CHECK(cuvet_linker_create(ctx, &opt, &linker) == CUVET_OK, "a linker");
    if (cuvet_linker_add(ctx, linker, in->bytes, in->len, "") == CUVET_OK)
        FZ_CHECK(whole && first->n_errors == 0 && !first->profile,
                 "what is linked has no errors for a scan, and is as its producer writes it");
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(alloc.live == 0, "nothing stays allocated");
}

static const readers_piece *find(const readers_run *run, uint64_t header)
{
    for (size_t i = 0; i < run->count; i++)
        if (run->piece[i].header == header)
            return &run->piece[i];
    return NULL;
}

/* What may be chosen is what the scan found, in its place; what was chosen and is device code has no
 * errors. */
static void selection(const readers_run *run)
{
    cuvet_select_options opt = { .size = sizeof(opt), .target = { .sm = 90 } };
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    fz_alloc alloc = { 0 };
    cuvet_ctx *ctx = context(run, &alloc);
    cuvet_select handle = { 0 };
    cuvet_status status;

    FZ_CHECK(cuvet_select_create(ctx, &opt, &handle) == CUVET_OK, "a selection");
    status = cuvet_select_bind(ctx, handle, run->in->bytes, run->in->len, CUVET_BIND_BORROW, NULL);
    if (status == CUVET_OK)
        status = cuvet_select_run(ctx, handle);
    for (uint64_t i = 0; cuvet_select_get_candidate(ctx, handle, i, &candidate) == CUVET_OK; i++) {
        const readers_piece *piece = candidate.depth > 0 ? NULL : find(run, candidate.header_off);

        /* A file of IR alone is not a piece for a scan, which calls it unsupported. */
        if (candidate.depth > 0 || (run->count == 0 && candidate.kind == CUVET_K_LTOIR))
            continue;
        FZ_CHECK(piece, "a scan sees all candidates");
        if (status == CUVET_OK && (candidate.flags & CUVET_CANDIDATE_CHOSEN) != 0 && piece->examined)
            FZ_CHECK(!piece->broken, "what is chosen has no errors for a scan");
    }
    cuvet_ctx_destroy(ctx);
    FZ_CHECK(alloc.live == 0, "nothing stays allocated");
}

CV_FUZZ_TARGET(readers)
{
    readers_run *run = calloc(1, sizeof(*run));
    fz_scan first;
    fz_alloc alloc = { 0 };
    fz_input in;

    FZ_CHECK(run != NULL, "memory");
    fz_open(&in, data, size);
    run->in = &in;
    run->all = true;
    run->lim.size = sizeof(run->lim);
    fz_limits(in.param, &run->lim);
    first = (fz_scan){ .in = &in, .jobs = 1, .depth = CUVET_DEPTH_FULL, .each = on_item, .user = run };
    fz_scan_run(&first, &run->lim, &alloc);
    if (run->lim.live >= CV_MIB) {
        FZ_CHECK(first.status == CUVET_END, "a scan comes to an end");
        sources(run, &first);
        /* A limit ends each of them somewhere else. */
        if (run->all && !first.rule_limit && first.sum.suppressed == 0) {
            objects(run, &first);
            selection(run);
        }
    }
    fz_close(&in);
    free(run);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)

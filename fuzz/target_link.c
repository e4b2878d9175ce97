/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Up to three objects, linked. Every place where an ELF begins begins an object: the first byte of the input,
 * and each magic after it until there are three. Parameters: bits 8..12 target, 13 relocatable, 14 in the
 * reference's form, 15 debug, 16 preserve_relocs, 17 no_stack_warning, 18 warnings_are_errors, 19
 * kernels_used, 20 other order, 21 exact policy, 24..31 the allocation that fails, in steps of 8. */
#include <stdlib.h>
#include <string.h>

#include "format/elf/names.h"
#include "mutate.h"
#include "scanner.h"

#define OBJECTS 3

typedef struct piece {
    const uint8_t *p;
    size_t n;
    bool added;
} piece;

typedef struct run {
    const fz_input *in;
    piece piece[OBJECTS];
    size_t n;
    cuvet_linker_options opt;
    cuvet_ctx *ctx;
    cuvet_linker h;
    fz_alloc alloc;
    uint64_t hash;
    uint64_t n_diags, n_errors, n_warnings; /* delivered since the call began */
    uint64_t warned;                        /* warnings about inputs */
    bool capped;                            /* what a rule says a second time is not delivered */
} run;

static void note(run *r, uint64_t v)
{
    r->hash = fz_mix(r->hash, v);
}

/* Offsets count in one of the objects, or in none: the context does not know which. */
static void on_diag(void *user, const cuvet_diag *d)
{
    run *r = user;

    note(r, fz_diag(d, 0, r->in->len));
    r->n_diags++;
    r->n_errors += d->severity == CUVET_ERROR;
    r->n_warnings += d->severity == CUVET_WARNING;
}

/* Where the next object begins. */
static size_t next_magic(const uint8_t *p, size_t n, size_t from)
{
    static const uint8_t MAGIC[4] = { 0x7F, 'E', 'L', 'F' };

    for (size_t at = from; at < n && n - at >= sizeof(MAGIC); at++)
        if (memcmp(p + at, MAGIC, sizeof(MAGIC)) == 0)
            return at;
    return n;
}

static size_t split(const uint8_t *p, size_t n, piece *out)
{
    size_t count = 0, at = 0;

    while (at < n && count < OBJECTS) {
        size_t end = count + 1 < OBJECTS ? next_magic(p, n, at + 1) : n;

        out[count++] = (piece){ .p = p + at, .n = end - at };
        at = end;
    }
    return count;
}

static void open_context(run *r, const cuvet_limits *lim)
{
    cuvet_alloc a = fz_alloc_of(&r->alloc);
    cuvet_ctx_options opt = { sizeof(opt), &a, lim, on_diag, r };

    r->ctx = NULL;
    if (cuvet_ctx_create(&opt, &r->ctx) != CUVET_OK)
        FZ_CHECK(r->alloc.failed, "a context");
}

static bool add_status(const run *r, cuvet_status s)
{
    return s == CUVET_E_MALFORMED || s == CUVET_E_REFUSED || s == CUVET_E_UNKNOWN || s == CUVET_E_TRUNCATED ||
           s == CUVET_E_UNSUPPORTED || s == CUVET_E_LIMIT || (s == CUVET_E_NOMEM && r->alloc.failed);
}

static uint64_t add_all(run *r)
{
    uint64_t added = 0;

    for (size_t i = 0; i < r->n; i++) {
        piece *p = &r->piece[r->in->param >> 20 & 1 ? r->n - 1 - i : i];
        const char *name;
        cuvet_status s;

        r->n_errors = r->n_diags = r->n_warnings = 0;
        s = cuvet_linker_add(r->ctx, r->h, p->p, p->n, i & 1 ? "odd" : "even");
        note(r, (uint64_t)s);
        p->added = s == CUVET_OK;
        if (s == CUVET_OK) {
            FZ_CHECK(r->n_errors == 0, "what has errors is not added");
            FZ_CHECK(cuvet_linker_name(r->ctx, r->h, added, &name) == CUVET_OK, "an input has a name");
            FZ_CHECK(strcmp(name, i & 1 ? "odd" : "even") == 0, "its own");
            r->warned += r->n_warnings;
            added++;
        } else {
            FZ_CHECK(add_status(r, s), "a status that add has");
            FZ_CHECK(r->n_errors || r->capped || s == CUVET_E_NOMEM ||
                         (s == CUVET_E_UNSUPPORTED && r->n_diags),
                     "a reason is given");
        }
    }
    return added;
}

static bool is_kernel(const cuvet_elf_symbol *y)
{
    return (y->info & 15) == CV_STT_FUNC && (y->other & CV_STO_ENTRY) && y->shndx != 0;
}

static bool has_kernel(cuvet_ctx *ctx, cuvet_elf e, cuvet_bytes name)
{
    uint64_t table = 0;
    cuvet_elf_symbol y;

    FZ_CHECK(cuvet_elf_symtab(ctx, e, false, &table) == CUVET_OK && table, "a result has symbols");
    for (uint64_t i = 1; cuvet_elf_get_symbol(ctx, e, table, i, &y) == CUVET_OK; i++)
        if (is_kernel(&y) && y.name.n == name.n && memcmp(y.name.p, name.p, name.n) == 0)
            return true;
    return false;
}

/* Every kernel of an input that was added is in the result. */
static void check_kernels(cuvet_ctx *ctx, cuvet_elf result, const piece *p)
{
    uint64_t table = 0;
    cuvet_elf_symbol y;
    cuvet_elf e;

    FZ_CHECK(cuvet_elf_open(ctx, p->p, p->n, &e) == CUVET_OK, "what was added can be read");
    if (cuvet_elf_symtab(ctx, e, false, &table) != CUVET_OK)
        table = 0;
    for (uint64_t i = 1; table && cuvet_elf_get_symbol(ctx, e, table, i, &y) == CUVET_OK; i++)
        if (is_kernel(&y))
            FZ_CHECK(has_kernel(ctx, result, y.name), "no kernel is lost");
    FZ_CHECK(cuvet_elf_close(ctx, &e) == CUVET_OK, "close");
}

/* A result is a file like any other: clean, whole, and in a relocatable link an input again. */
static void check_result(const run *r, const cuvet_link_result *got, const cuvet_limits *lim)
{
    fz_input file = { .bytes = malloc(got->n), .len = got->n };
    fz_scan s = { .in = &file, .jobs = 1, .claims = true };
    run a = { .in = &file, .opt = r->opt };
    fz_alloc alloc = { 0 };
    cuvet_elf e;

    FZ_CHECK(file.bytes != NULL, "memory for a copy");
    memcpy(file.bytes, got->bytes, got->n);
    fz_scan_run(&s, lim, &alloc);
    FZ_CHECK(s.status == CUVET_END, "a result can be scanned");
    FZ_CHECK(s.n_errors == 0 && (s.n_warnings == 0 || r->warned), "and is clean");
    FZ_CHECK(fz_scan_covered(&s), "to the last byte");
    fz_scan_free(&s);
    open_context(&a, lim);
    FZ_CHECK(cuvet_elf_open(a.ctx, file.bytes, file.len, &e) == CUVET_OK, "a result is a whole ELF");
    for (size_t i = 0; i < r->n && !r->opt.n_kernels_used; i++)
        if (r->piece[i].added)
            check_kernels(a.ctx, e, &r->piece[i]);
    FZ_CHECK(cuvet_linker_create(a.ctx, &a.opt, &a.h) == CUVET_OK, "a second linker");
    if (r->opt.relocatable)
        FZ_CHECK(cuvet_linker_add(a.ctx, a.h, file.bytes, file.len, "") == CUVET_OK, "takes the result");
    else
        FZ_CHECK(cuvet_linker_add(a.ctx, a.h, file.bytes, file.len, "") == CUVET_E_REFUSED,
                 "takes no program");
    cuvet_ctx_destroy(a.ctx);
    FZ_CHECK(a.alloc.live == 0, "nothing stays allocated");
    free(file.bytes);
}

static void complete(run *r, const cuvet_limits *lim, uint64_t added, unsigned pass)
{
    cuvet_link_result got;
    cuvet_status s;

    r->n_errors = r->n_diags = r->n_warnings = 0;
    s = cuvet_linker_complete(r->ctx, r->h);
    note(r, (uint64_t)s);
    FZ_CHECK(s == CUVET_OK || s == CUVET_E_REFUSED || s == CUVET_E_LIMIT ||
                 (s == CUVET_E_NOMEM && r->alloc.failed),
             "a status that complete has");
    FZ_CHECK(added || s != CUVET_OK, "nothing is made of nothing");
    if (s != CUVET_OK) {
        FZ_CHECK(r->n_errors || r->capped || s == CUVET_E_NOMEM ||
                     (r->opt.warnings_are_errors && r->n_warnings),
                 "a reason is given");
        FZ_CHECK(cuvet_linker_result(r->ctx, r->h, &got) == CUVET_E_STATE && !got.bytes, "no result");
    } else {
        FZ_CHECK(r->n_errors == 0, "no error in a link that is done");
        FZ_CHECK(cuvet_linker_result(r->ctx, r->h, &got) == CUVET_OK && got.n, "a result");
        FZ_CHECK(got.objects == added, "of all inputs");
        note(r, fz_mix_bytes(got.kernels ^ got.functions << 32, got.bytes, got.n));
        if (pass == 0)
            check_result(r, &got, lim);
    }
    FZ_CHECK(cuvet_linker_complete(r->ctx, r->h) == CUVET_E_STATE, "once");
    FZ_CHECK(cuvet_linker_add(r->ctx, r->h, r->in->bytes, r->in->len, "") == CUVET_E_STATE, "nothing more");
}

static uint64_t once(run *r, const cuvet_limits *lim, unsigned pass)
{
    cuvet_status s;

    open_context(r, lim);
    if (r->ctx) {
        s = cuvet_linker_create(r->ctx, &r->opt, &r->h);
        FZ_CHECK(s == CUVET_OK || (s == CUVET_E_NOMEM && r->alloc.failed) ||
                     (s == CUVET_E_UNSUPPORTED && r->opt.target.sm >= 100 && r->n_errors) ||
                     (s == CUVET_E_LIMIT && lim->live < CV_MIB),
                 "a linker");
        if (s == CUVET_OK) {
            complete(r, lim, add_all(r), pass);
            FZ_CHECK(cuvet_linker_destroy(r->ctx, &r->h) == CUVET_OK && r->h.bits == 0, "destroy");
        }
    }
    cuvet_ctx_destroy(r->ctx);
    FZ_CHECK(r->alloc.live == 0, "nothing stays allocated");
    return r->hash;
}

static cuvet_linker_options options(uint32_t param, const char *const *used)
{
    cuvet_linker_options o = { .size = sizeof(o) };
    size_t n = 0, want = param >> 8 & 31;

    while (cuvet_target_get(n, &o.target) == CUVET_OK)
        n++;
    /* sm_90 without parameters: most of the samples have code for it */
    for (size_t i = 0; cuvet_target_get(i, &o.target) == CUVET_OK && o.target.sm < 90; i++)
        want++;
    FZ_CHECK(cuvet_target_get(want % n, &o.target) == CUVET_OK, "a target");
    o.relocatable = param >> 13 & 1;
    o.exact_relocatable = o.relocatable && param >> 14 & 1;
    o.debug = param >> 15 & 1;
    o.preserve_relocs = param >> 16 & 1;
    o.no_stack_warning = param >> 17 & 1;
    o.warnings_are_errors = param >> 18 & 1;
    o.kernels_used = used;
    o.n_kernels_used = param >> 19 & 1;
    o.policy = param >> 21 & 1 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    return o;
}

CV_FUZZ_TARGET(link)
{
    static const char *const USED[1] = { "k" };
    uint64_t hash[2];
    cuvet_limits lim;
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    for (unsigned pass = 0; pass < 2; pass++) {
        run r = { .in = &in, .opt = options(in.param, USED) };

        r.capped = lim.diagnostics < OBJECTS + 1;
        r.alloc.fail_at = (uint64_t)(in.param >> 24) * 8;
        r.n = split(in.bytes, in.len, r.piece);
        hash[pass] = once(&r, &lim, pass);
    }
    FZ_CHECK(hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

/* One of the objects is edited as an ELF, the others stay; now and then the parameters, or whatever else. */
static size_t mutate(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    piece p[OBJECTS];
    size_t n = split(data, size, p), which = n ? seed / 8 % n : 0, at, tail, room, len;
    uint8_t *copy;

    if (n < 2 || seed % 8 == 0 || size > max)
        return cv_mutate_file(data, size, max, seed, raw);
    at = (size_t)(p[which].p - data);
    len = p[which].n;
    if (which == n - 1 && len > FZ_TRAILER && memcmp(data + size - 4, "CVFZ", 4) == 0)
        len -= FZ_TRAILER;
    tail = size - at - len;
    room = max - size + len;
    copy = malloc(room ? room : 1);
    if (!copy)
        return size;
    memcpy(copy, data + at, len);
    room = cv_mutate_elf(copy, len, room, seed / 8, raw);
    if (room >= FZ_TRAILER && memcmp(copy + room - 4, "CVFZ", 4) == 0)
        room -= FZ_TRAILER; /* an object has no parameters */
    memmove(data + at + room, data + at + len, tail);
    memcpy(data + at, copy, room);
    free(copy);
    return at + room + tail;
}

CV_FUZZ_MUTATOR(mutate)

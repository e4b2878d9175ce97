/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Up to three objects, linked through the public interface. Parameters: see linking.h; bits 24..31 the
 * allocation that fails, in steps of 8. */
#include <stdlib.h>
#include <string.h>

#include "format/elf/names.h"
#include "linking.h"
#include "scanner.h"

typedef struct run {
    const fz_input *in;
    fz_piece piece[FZ_OBJECTS];
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

    /* what is said about the result is said without an input */
    note(r, fz_diag(d, 0, d->where.n && d->where.step[0].kind == CUVET_P_MEMBER ? r->in->len : UINT64_MAX));
    r->n_diags++;
    r->n_errors += d->severity == CUVET_ERROR;
    r->n_warnings += d->severity == CUVET_WARNING;
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
        fz_piece *p = &r->piece[r->in->param >> 20 & 1 ? r->n - 1 - i : i];
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
    cuvet_elf_symbol y = { .size = sizeof(y) };

    FZ_CHECK(cuvet_elf_get_symtab(ctx, e, false, &table) == CUVET_OK && table, "a result has symbols");
    for (uint64_t i = 1; cuvet_elf_get_symbol(ctx, e, table, i, &y) == CUVET_OK; i++)
        if (is_kernel(&y) && y.name.n == name.n && memcmp(y.name.p, name.p, name.n) == 0)
            return true;
    return false;
}

/* Every kernel of an input that was added is in the result. The input has been examined. */
static void check_kernels(cuvet_ctx *ctx, cuvet_elf result, const fz_piece *p)
{
    cv_span image = cv_span_of(p->p, p->n, 0), symtab, strtab = image;
    uint64_t shoff = cv_u64_at(image, 40), shnum = cv_u16_at(image, 60), n = 0;
    cv_elf_section h, s;
    cv_elf_symbol y;

    for (uint64_t i = 0; i < shnum; i++) {
        cv_elf_read_section(cv_span_tail(image, shoff), false, i, &h);
        if (h.type != CV_SHT_SYMTAB)
            continue;
        cv_elf_read_section(cv_span_tail(image, shoff), false, h.link, &s);
        symtab = cv_span_tail(image, h.off);
        strtab = cv_span_tail(image, s.off);
        n = h.size / cv_elf_sym_size(false);
    }
    for (uint64_t i = 1; i < n; i++) {
        cv_span name;

        cv_elf_read_symbol(symtab, false, i, &y);
        if ((y.info & 15) == CV_STT_FUNC && (y.other & CV_STO_ENTRY) && y.shndx != 0)
            FZ_CHECK(cv_span_cstr(strtab, y.name, &name) &&
                         has_kernel(ctx, result, (cuvet_bytes){ name.base, name.len }),
                     "no kernel is lost");
    }
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
    FZ_CHECK(cuvet_elf_create(a.ctx, file.bytes, file.len, &e) == CUVET_OK, "a result is a whole ELF");
    for (size_t i = 0; i < r->n && !r->opt.n_kernels_used; i++)
        if (r->piece[i].added)
            check_kernels(a.ctx, e, &r->piece[i]);
    FZ_CHECK(cuvet_linker_create(a.ctx, &a.opt, &a.h) == CUVET_OK, "a second linker");
    FZ_CHECK(cuvet_linker_add(a.ctx, a.h, file.bytes, file.len, "") ==
                 (r->opt.flags & CUVET_LINK_RELOCATABLE ? CUVET_OK : CUVET_E_REFUSED),
             "takes the result of a relocatable link, and no program");
    cuvet_ctx_destroy(a.ctx);
    FZ_CHECK(a.alloc.live == 0, "nothing stays allocated");
    free(file.bytes);
}

static void complete(run *r, const cuvet_limits *lim, uint64_t added, unsigned pass)
{
    cuvet_link_result got = { .size = sizeof(got) };
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
                     ((r->opt.flags & CUVET_LINK_WARNINGS_ARE_ERRORS) && r->n_warnings),
                 "a reason is given");
        FZ_CHECK(cuvet_linker_result(r->ctx, r->h, &got) == CUVET_E_STATE && !got.bytes, "no result");
    } else {
        FZ_CHECK(r->n_errors == 0, "no error in a link that is done");
        FZ_CHECK(cuvet_linker_result(r->ctx, r->h, &got) == CUVET_OK && got.n, "a result");
        FZ_CHECK(got.objects == added, "of all inputs");
        note(r, fz_mix_bytes(got.kernels ^ got.functions << 32, got.bytes, got.n));
        if (pass == 0 && fz_one_in(r->in, 3))
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

CV_FUZZ_TARGET(link)
{
    unsigned passes;
    uint64_t hash[2];
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    passes = fz_one_in(&in, 4) ? 2 : 1;
    hash[1] = 0;
    for (unsigned pass = 0; pass < passes; pass++) {
        run r = { .in = &in, .opt = fz_linker_options(&in) };

        r.capped = lim.diagnostics < FZ_OBJECTS + 1;
        r.alloc.fail_at = (uint64_t)(in.param >> 24) * 8;
        r.n = fz_split(in.bytes, in.len, r.piece);
        hash[pass] = once(&r, &lim, pass);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_LINK_MUTATOR

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Up to three objects, linked through the public interface. Parameters: see linking.h; bits 24..31 the
 * allocation that fails, in steps of 8. */
#include <stdlib.h>
#include <string.h>

#include "format/elf/names.h"
#include "linking.h"
#include "scanner.h"

#define KEPT (UINT64_C(1) << 20) /* bytes, in every second run */

typedef struct link_trial {
    const fz_input *in;
    fz_piece piece[FZ_OBJECTS];
    size_t count;
    cuvet_linker_options opt;
    cuvet_ctx *ctx;
    cuvet_linker handle;
    fz_alloc alloc;
    uint64_t hash;
    uint64_t n_diags, n_errors, n_warnings; /* delivered since the call began */
    uint64_t warned;                        /* warnings about inputs */
    bool capped;                            /* what a rule says a second time is not delivered */
} link_trial;

static void note(link_trial *run, uint64_t value)
{
    run->hash = fz_mix(run->hash, value);
}

/* Offsets count in one of the objects, or in none: the context does not know which. */
static void on_diag(void *user, const cuvet_diag *diag)
{
    link_trial *run = user;

    /* what is said about the result is said without an input */
    note(run,
         fz_diag(diag, 0,
                 diag->where.n && diag->where.step[0].kind == CUVET_P_MEMBER ? run->in->len : UINT64_MAX));
    run->n_diags++;
    run->n_errors += diag->severity == CUVET_ERROR;
    run->n_warnings += diag->severity == CUVET_WARNING;
}

static void open_context(link_trial *run, const cuvet_limits *lim)
{
    cuvet_alloc alloc = fz_alloc_of(&run->alloc);
    cuvet_ctx_options opt = { .size = sizeof(opt),
                              .alloc = &alloc,
                              .limits = lim,
                              .diag = on_diag,
                              .diag_user = run,
                              .keep = run->in->param >> 20 & 1 ? KEPT : 0 };

    run->ctx = NULL;
    if (cuvet_ctx_create(&opt, &run->ctx) != CUVET_OK)
        FZ_CHECK(run->alloc.failed, "a context");
}

static bool add_status(const link_trial *run, cuvet_status status)
{
    return status == CUVET_E_MALFORMED || status == CUVET_E_REFUSED || status == CUVET_E_UNKNOWN ||
           status == CUVET_E_TRUNCATED || status == CUVET_E_UNSUPPORTED || status == CUVET_E_LIMIT ||
           (status == CUVET_E_NOMEM && run->alloc.failed);
}

static uint64_t add_all(link_trial *run)
{
    uint64_t added = 0;

    for (size_t i = 0; i < run->count; i++) {
        fz_piece *piece = &run->piece[run->in->param >> 20 & 1 ? run->count - 1 - i : i];
        const char *name;
        cuvet_status status;

        run->n_errors = run->n_diags = run->n_warnings = 0;
        /* both ways of adding in one link, each piece now by one and now by the other */
        status = ((run->in->param >> 21 ^ i) & 1 ? cuvet_linker_add_borrowed : cuvet_linker_add)(
            run->ctx, run->handle, piece->bytes, piece->size, i & 1 ? "odd" : "even");
        note(run, (uint64_t)status);
        piece->added = status == CUVET_OK;
        if (status == CUVET_OK) {
            FZ_CHECK(run->n_errors == 0, "what has errors is not added");
            FZ_CHECK(cuvet_linker_get_name(run->ctx, run->handle, added, &name) == CUVET_OK,
                     "an input has a name");
            FZ_CHECK(strcmp(name, i & 1 ? "odd" : "even") == 0, "its own");
            run->warned += run->n_warnings;
            added++;
        } else {
            FZ_CHECK(add_status(run, status), "a status that add has");
            FZ_CHECK(run->n_errors || run->capped || status == CUVET_E_NOMEM ||
                         (status == CUVET_E_UNSUPPORTED && run->n_diags),
                     "a reason is given");
        }
    }
    return added;
}

static bool is_kernel(const cuvet_elf_symbol *symbol)
{
    return (symbol->info & 15) == CV_STT_FUNC && (symbol->other & CV_STO_ENTRY) && symbol->shndx != 0;
}

static bool has_kernel(cuvet_ctx *ctx, cuvet_elf elf, cuvet_bytes name)
{
    uint64_t table = 0;
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    FZ_CHECK(cuvet_elf_get_symtab(ctx, elf, 0, &table) == CUVET_OK && table, "a result has symbols");
    for (uint64_t i = 1; cuvet_elf_get_symbol(ctx, elf, table, i, &symbol) == CUVET_OK; i++)
        if (is_kernel(&symbol) && symbol.name.n == name.n && memcmp(symbol.name.p, name.p, name.n) == 0)
            return true;
    return false;
}

/* Every kernel of an input that was added is in the result. The input has been examined. */
static void check_kernels(cuvet_ctx *ctx, cuvet_elf result, const fz_piece *piece)
{
    cv_span image = cv_span_of(piece->bytes, piece->size, 0), symtab, strtab = image;
    uint64_t shoff = cv_u64_at(image, 40), shnum = cv_u16_at(image, 60), count = 0;
    cv_elf_section header, section;
    cv_elf_symbol symbol;

    for (uint64_t i = 0; i < shnum; i++) {
        cv_elf_read_section(cv_span_tail(image, shoff), false, i, &header);
        if (header.type != CV_SHT_SYMTAB)
            continue;
        cv_elf_read_section(cv_span_tail(image, shoff), false, header.link, &section);
        symtab = cv_span_tail(image, header.off);
        strtab = cv_span_tail(image, section.off);
        count = header.size / cv_elf_sym_size(false);
    }
    for (uint64_t i = 1; i < count; i++) {
        cv_span name;

        cv_elf_read_symbol(symtab, false, i, &symbol);
        if ((symbol.info & 15) == CV_STT_FUNC && (symbol.other & CV_STO_ENTRY) && symbol.shndx != 0)
            FZ_CHECK(cv_span_cstr(strtab, symbol.name, &name) &&
                         has_kernel(ctx, result, (cuvet_bytes){ name.base, name.len }),
                     "no kernel is lost");
    }
}

/* A result is a file like any other: clean, whole, and in a relocatable link an input again. */
static void check_result(const link_trial *run, const cuvet_link_result *got, const cuvet_limits *lim)
{
    fz_input file = { .bytes = malloc(got->n), .len = got->n };
    fz_scan scan = { .in = &file, .jobs = 1, .claims = true };
    link_trial trial = { .in = &file, .opt = run->opt };
    fz_alloc alloc = { 0 };
    cuvet_elf elf;

    FZ_CHECK(file.bytes != NULL, "memory for a copy");
    memcpy(file.bytes, got->bytes, got->n);
    fz_scan_run(&scan, lim, &alloc);
    FZ_CHECK(scan.status == CUVET_END, "a result can be scanned");
    FZ_CHECK(scan.n_errors == 0 && (scan.n_warnings == 0 || run->warned), "and is clean");
    FZ_CHECK(fz_scan_covered(&scan), "to the last byte");
    fz_scan_free(&scan);
    open_context(&trial, lim);
    FZ_CHECK(cuvet_elf_create(trial.ctx, file.bytes, file.len, &elf) == CUVET_OK, "a result is a whole ELF");
    for (size_t i = 0; i < run->count && !run->opt.n_kernels_used; i++)
        if (run->piece[i].added)
            check_kernels(trial.ctx, elf, &run->piece[i]);
    FZ_CHECK(cuvet_linker_create(trial.ctx, &trial.opt, &trial.handle) == CUVET_OK, "a second linker");
    FZ_CHECK(cuvet_linker_add(trial.ctx, trial.handle, file.bytes, file.len, "") ==
                 (run->opt.flags & CUVET_LINK_RELOCATABLE ? CUVET_OK : CUVET_E_REFUSED),
             "takes the result of a relocatable link, and no program");
    cuvet_ctx_destroy(trial.ctx);
    FZ_CHECK(trial.alloc.live == 0, "nothing stays allocated");
    free(file.bytes);
}

static void complete(link_trial *run, const cuvet_limits *lim, uint64_t added, unsigned pass)
{
    cuvet_link_result got = { .size = sizeof(got) };
    cuvet_status status;

    run->n_errors = run->n_diags = run->n_warnings = 0;
    status = cuvet_linker_complete(run->ctx, run->handle);
    note(run, (uint64_t)status);
    FZ_CHECK(status == CUVET_OK || status == CUVET_E_REFUSED || status == CUVET_E_LIMIT ||
                 (status == CUVET_E_NOMEM && run->alloc.failed),
             "a status that complete has");
    FZ_CHECK(added || status != CUVET_OK, "nothing is made of nothing");
    if (status != CUVET_OK) {
        FZ_CHECK(run->n_errors || run->capped || status == CUVET_E_NOMEM ||
                     ((run->opt.flags & CUVET_LINK_WARNINGS_ARE_ERRORS) && run->n_warnings),
                 "a reason is given");
        FZ_CHECK(cuvet_linker_get_result(run->ctx, run->handle, &got) == CUVET_E_STATE && !got.bytes,
                 "no result");
    } else {
        FZ_CHECK(run->n_errors == 0, "no error in a link that is done");
        FZ_CHECK(cuvet_linker_get_result(run->ctx, run->handle, &got) == CUVET_OK && got.n, "a result");
        FZ_CHECK(got.objects == added, "of all inputs");
        note(run, fz_mix_bytes(got.kernels ^ got.functions << 32, got.bytes, got.n));
        if (pass == 0 && fz_one_in(run->in, 3))
            check_result(run, &got, lim);
    }
    FZ_CHECK(cuvet_linker_complete(run->ctx, run->handle) == CUVET_E_STATE, "once");
    FZ_CHECK(cuvet_linker_add(run->ctx, run->handle, run->in->bytes, run->in->len, "") == CUVET_E_STATE,
             "nothing more");
}

/* Threads as far as the link can tell: parts in another order, one of them twice and one not at all. */
static void run_parts(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    (void)user;
    for (uint32_t left = count; left > 1; left--)
        work(arg, left - 1);
    work(arg, count - 1);
}

static uint64_t once(link_trial *run, const cuvet_limits *lim, unsigned pass)
{
    const cuvet_executor lanes = { .size = sizeof(lanes), .lanes = 3, .least = 1, .run = run_parts };
    cuvet_status status;

    /* Which allocation fails depends on lanes; nothing else does. */
    run->opt.executor = pass && !run->alloc.fail_at ? &lanes : NULL;

    open_context(run, lim);
    if (run->ctx) {
        status = cuvet_linker_create(run->ctx, &run->opt, &run->handle);
        FZ_CHECK(status == CUVET_OK || (status == CUVET_E_NOMEM && run->alloc.failed) ||
                     (status == CUVET_E_LIMIT && lim->live < CV_MIB),
                 "a linker");
        if (status == CUVET_OK) {
            complete(run, lim, add_all(run), pass);
            FZ_CHECK(cuvet_linker_destroy(run->ctx, &run->handle) == CUVET_OK && run->handle.bits == 0,
                     "destroy");
        }
    }
    cuvet_ctx_destroy(run->ctx);
    FZ_CHECK(run->alloc.live == 0, "nothing stays allocated");
    return run->hash;
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
        link_trial run = { .in = &in, .opt = fz_linker_options(&in) };

        run.capped = lim.diagnostics < FZ_OBJECTS + 1;
        run.alloc.fail_at = (uint64_t)(in.param >> 24) * 8;
        run.count = fz_split(in.bytes, in.len, run.piece);
        hash[pass] = once(&run, &lim, pass);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1],
             "the second run, in lanes where no allocation fails, is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_LINK_MUTATOR

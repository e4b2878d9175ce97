/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The whole examination of a device ELF with its byte ledger. */
#include "common.h"

#include "cubin/cubin.h"
#include "mutate.h"

static void kernels(fz_state *fuzz, const cv_cubin *cubin)
{
    uint64_t pos = 0, count = 0;
    cv_elf_symbol sym;
    cv_span name;

    while (cv_cubin_next_kernel(cubin, &pos, &name, &sym)) {
        count++;
        fz_note_bytes(fuzz, name.base, name.len);
    }
    /* Symbols in places where no code may be, and unknown ABIs, are named but not counted. */
    FZ_CHECK(count >= cubin->n_kernels && (count == cubin->n_kernels || fuzz->ctx.verdict != CUVET_V_CLEAN),
             "as many kernels as were counted");
    FZ_CHECK(cubin->n_kernels <= cubin->n_functions, "every kernel is a function");
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    /* With a small memory limit the ledger itself may be what breaks it. */
    bool ledger = fuzz->pass == 0 || fuzz->ctx.lim.live < CV_MIB;
    uint64_t extent = 0, bad = 0;
    cv_ledger account = { 0 };
    cuvet_status st;
    cv_cubin cubin;

    cv_cubin_init(&cubin);
    st = cv_cubin_examine(&fuzz->ctx, &cubin, span, ledger ? &account : NULL, &extent);
    fz_status(fuzz, st, 0);
    if (st == CUVET_OK) {
        FZ_CHECK(extent >= 52 && extent <= span.len && cubin.image.len == extent,
                 "the extent lies in the image");
        if (ledger && fuzz->ctx.lim.live >= CV_MIB)
            FZ_CHECK(cv_ledger_complete(&fuzz->ctx, &account, span.off, extent, &bad),
                     "every byte of the extent has one owner");
        kernels(fuzz, &cubin);
        cv_cubin_check_tail(&fuzz->ctx, span, extent, 7);
        fz_note(fuzz, extent ^ cubin.sec.count << 32 ^ cubin.n_relocs << 48);
        fz_note(fuzz, (uint64_t)cubin.sm << 32 | (uint64_t)cubin.toolkit << 8 | (uint8_t)cubin.suffix);
    }
    FZ_CHECK(fuzz->ctx.verdict != CUVET_V_ERROR, "no finding says that we are wrong");
    cv_ledger_free(&fuzz->ctx, &account);
    cv_cubin_free(&fuzz->ctx, &cubin);
}

CV_FUZZ_TARGET(cubin)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)

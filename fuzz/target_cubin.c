/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The whole examination of a device ELF with its byte ledger. */
#include "common.h"

#include "cubin/cubin.h"
#include "mutate.h"

static void kernels(fz *f, const cv_cubin *c)
{
    uint64_t pos = 0, n = 0;
    cv_elf_symbol sym;
    cv_span name;

    while (cv_cubin_next_kernel(c, &pos, &name, &sym)) {
        n++;
        fz_note_bytes(f, name.base, name.len);
    }
    /* Symbols in places where no code may be, and unknown ABIs, are named but not counted. */
    FZ_CHECK(n >= c->n_kernels && (n == c->n_kernels || f->x.verdict != CUVET_V_CLEAN),
             "as many kernels as were counted");
    FZ_CHECK(c->n_kernels <= c->n_functions, "every kernel is a function");
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    /* With a small memory limit the ledger itself may be what breaks it. */
    bool ledger = f->pass == 0 || f->x.lim.live < CV_MIB;
    uint64_t extent = 0, bad = 0;
    cv_ledger l = { 0 };
    cuvet_status st;
    cv_cubin c;

    cv_cubin_init(&c);
    st = cv_cubin_examine(&f->x, &c, s, ledger ? &l : NULL, &extent);
    fz_status(f, st, 0);
    if (st == CUVET_OK) {
        FZ_CHECK(extent >= 52 && extent <= s.len && c.image.len == extent, "the extent lies in the image");
        if (ledger && f->x.lim.live >= CV_MIB)
            FZ_CHECK(cv_ledger_complete(&f->x, &l, s.off, extent, &bad),
                     "every byte of the extent has one owner");
        kernels(f, &c);
        cv_cubin_check_tail(&f->x, s, extent, 7);
        fz_note(f, extent ^ c.sec.n << 32 ^ c.n_relocs << 48);
        fz_note(f, (uint64_t)c.sm << 32 | (uint64_t)c.toolkit << 8 | (uint8_t)c.suffix);
    }
    FZ_CHECK(f->x.verdict != CUVET_V_ERROR, "no finding says that we are wrong");
    cv_ledger_free(&f->x, &l);
    cv_cubin_free(&f->x, &c);
}

CV_FUZZ_TARGET(cubin)
{
    return fz_twice(data, size, FZ_OFF, run);
}

CV_FUZZ_MUTATOR(cv_mutate_elf)

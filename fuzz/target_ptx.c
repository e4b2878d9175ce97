/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX text in each of the ways it is stored. */
#include "common.h"

#include "format/ptx/read.h"

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    bool probe = cv_ptx_probe(span);

    for (int form = CV_PTX_BARE; form <= CV_PTX_PADDED; form++) {
        uint64_t before = fz_reported(fuzz);
        cv_ptx ptx = { .text_len = 77 };
        cuvet_status st = cv_ptx_read(&fuzz->ctx, span, (cv_ptx_form)form, &ptx);

        fz_status(fuzz, st, before);
        if (st != CUVET_OK) {
            FZ_CHECK(ptx.text_len == 77, "a failure leaves the result alone");
            continue;
        }
        FZ_CHECK(ptx.text_len <= span.len && cv_span_find_byte(span, 0) == ptx.text_len,
                 "the text ends at the first zero byte");
        FZ_CHECK(ptx.version_off < ptx.text_len && ptx.target_off < ptx.text_len &&
                     ptx.address_off <= ptx.text_len,
                 "the values lie in the text");
        FZ_CHECK(ptx.version_off < ptx.target_off && (!ptx.address_off || ptx.address_off > ptx.target_off),
                 "in their order");
        FZ_CHECK(ptx.address_size == 0 || ptx.address_size == 32 || ptx.address_size == 64, "address size");
        FZ_CHECK(probe || ptx.version_off > CV_PTX_PROBE - 9, "what is read as PTX is probed as PTX");
        fz_note(fuzz, ptx.text_len ^ (uint64_t)ptx.major << 56 ^ (uint64_t)ptx.minor << 48 ^
                          (uint64_t)ptx.target << 24);
        fz_note(fuzz, (uint64_t)(uint8_t)ptx.suffix << 8 | ptx.debug);
    }
    fz_note(fuzz, probe);
}

CV_FUZZ_TARGET(ptx)
{
    return fz_twice(data, size, FZ_OFF, run);
}

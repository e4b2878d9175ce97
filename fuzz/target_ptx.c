/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX text in each of the ways it is stored. */
#include "common.h"

#include "format/ptx/read.h"

static void run(fz *f)
{
    cv_span s = fz_span(f);
    bool probe = cv_ptx_probe(s);

    for (int form = CV_PTX_BARE; form <= CV_PTX_PADDED; form++) {
        uint64_t before = fz_reported(f);
        cv_ptx p = { .text_len = 77 };
        cuvet_status st = cv_ptx_read(&f->x, s, (cv_ptx_form)form, &p);

        fz_status(f, st, before);
        if (st != CUVET_OK) {
            FZ_CHECK(p.text_len == 77, "a failure leaves the result alone");
            continue;
        }
        FZ_CHECK(p.text_len <= s.len && cv_span_find_byte(s, 0) == p.text_len,
                 "the text ends at the first zero byte");
        FZ_CHECK(p.version_off < p.text_len && p.target_off < p.text_len && p.address_off <= p.text_len,
                 "the values lie in the text");
        FZ_CHECK(p.version_off < p.target_off && (!p.address_off || p.address_off > p.target_off),
                 "in their order");
        FZ_CHECK(p.address_size == 0 || p.address_size == 32 || p.address_size == 64, "address size");
        FZ_CHECK(probe || p.version_off > CV_PTX_PROBE - 9, "what is read as PTX is probed as PTX");
        fz_note(f, p.text_len ^ (uint64_t)p.major << 56 ^ (uint64_t)p.minor << 48 ^ (uint64_t)p.target << 24);
        fz_note(f, (uint64_t)(uint8_t)p.suffix << 8 | p.debug);
    }
    fz_note(f, probe);
}

CV_FUZZ_TARGET(ptx)
{
    return fz_twice(data, size, FZ_OFF, run);
}

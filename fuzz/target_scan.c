/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Any bytes as a file, through the public interface: with claims, without, now and then with two threads or
 * ahead. */
#include "mutate.h"
#include "scanner.h"

CV_FUZZ_TARGET(scan)
{
    fz_alloc alloc[4] = { { 0 } };
    fz_scan scan[4] = { { 0 } };
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    for (unsigned i = 0; i < 2; i++) {
        scan[i] = (fz_scan){ .in = &in,
                             .jobs = 1,
                             .depth = in.param >> 8 & 1 ? CUVET_DEPTH_HEADERS : CUVET_DEPTH_FULL,
                             .claims = i == 0 };
        fz_scan_run(&scan[i], &lim, &alloc[i]);
        FZ_CHECK(scan[i].status == CUVET_END || (scan[i].status == CUVET_E_LIMIT && lim.live < CV_MIB),
                 "a scan comes to an end");
    }
    if (scan[0].status == CUVET_END && scan[0].sum.verdict != CUVET_V_LIMIT)
        FZ_CHECK(fz_scan_covered(&scan[0]), "every byte of the file has one owner");
    /* With little memory the ledger and the workers' blocks decide where it ends. */
    if (lim.live >= CV_MIB) {
        FZ_CHECK(scan[0].hash == scan[1].hash, "the second run is the same, claims or not");
        if ((scan[0].hash & 15) == 0) {
            scan[2] = (fz_scan){ .in = &in, .jobs = 2, .depth = scan[0].depth };
            fz_scan_run(&scan[2], &lim, &alloc[2]);
            FZ_CHECK(scan[0].hash == scan[2].hash, "two jobs give the same");
        } else if ((scan[0].hash & 3) == 1) {
            scan[3] = (fz_scan){ .in = &in, .jobs = 1, .ahead = true, .depth = scan[0].depth };
            fz_scan_run(&scan[3], &lim, &alloc[3]);
            FZ_CHECK(scan[0].hash == scan[3].hash, "going ahead gives the same");
        }
    }
    for (unsigned i = 0; i < 4; i++)
        fz_scan_free(&scan[i]);
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)

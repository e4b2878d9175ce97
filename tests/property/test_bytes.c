/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every byte of every sample becomes 00, 01, 7F, 80, FF in turn (make check: one byte in 61, another one in
 * each sample): the scan comes to its end, says the same with the byte ledger and without, and the ledger
 * owns every byte. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

static const uint8_t VALUES[] = { 0x00, 0x01, 0x7F, 0x80, 0xFF };

static void one(const sample *s, const uint8_t *bytes, size_t at)
{
    outcome a = sweep_scan(bytes, s->n, NULL, true), b = sweep_scan(bytes, s->n, NULL, false);

    ck_assert_msg(a.status == CUVET_END && b.status == CUVET_END, "%s: byte %zu = %02x: status %d, %d",
                  s->name, at, bytes[at], a.status, b.status);
    ck_assert_msg(a.hash == b.hash, "%s: byte %zu = %02x: two scans differ", s->name, at, bytes[at]);
    ck_assert_msg(a.covered || a.sum.verdict == CUVET_V_LIMIT,
                  "%s: byte %zu = %02x: bytes without an owner, or with two", s->name, at, bytes[at]);
    ck_assert_msg(a.sum.verdict != CUVET_V_ERROR, "%s: byte %zu = %02x: an error of ours", s->name, at,
                  bytes[at]);
}

START_TEST(every_byte)
{
    size_t step = sweep_full() ? 1 : 61, scans = 0;
    sample *s;
    size_t n = sweep_load("samples", NULL, &s);

    for (size_t i = 0; i < n; i++) {
        uint8_t *copy = malloc(s[i].n);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, s[i].bytes, s[i].n);
        /* Headers lie at the start: the first 64 bytes always. */
        for (size_t at = 0; at < s[i].n; at += at < 64 ? 1 : step - (at == 64 ? i % step : 0)) {
            for (size_t k = 0; k < sizeof(VALUES); k++, scans++) {
                copy[at] = VALUES[k];
                one(&s[i], copy, at);
            }
            copy[at] = s[i].bytes[at];
        }
        free(copy);
    }
    ck_assert_uint_gt(scans, 10000);
    sweep_free(s, n);
}
END_TEST

Suite *suite_bytes_sweep(void);
Suite *suite_bytes_sweep(void)
{
    Suite *s = suite_create("every byte");
    TCase *t = tcase_create("samples");

    tcase_set_timeout(t, sweep_full() ? 14000 : 110);
    tcase_add_test(t, every_byte);
    suite_add_tcase(s, t);
    return s;
}

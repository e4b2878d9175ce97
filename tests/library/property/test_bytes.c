/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Every byte of every sample becomes 00, 01, 7F, 80, FF in turn (make check: one byte in 61, another one in
 * each sample): the scan comes to its end, says the same with the byte ledger and without, and the ledger
 * owns every byte. A byte that has the value already changes nothing: the unchanged sample is looked at once.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

static const uint8_t VALUES[] = { 0x00, 0x01, 0x7F, 0x80, 0xFF };

static void one(const sample *s, const uint8_t *bytes, size_t at)
{
    outcome a = sweep_scan(bytes, s->n, NULL, true), b = sweep_scan(bytes, s->n, NULL, false);

    SWEEP_CHECK(a.status == CUVET_END && b.status == CUVET_END, "%s: byte %zu = %02x: status %d, %d", s->name,
                at, bytes[at], a.status, b.status);
    SWEEP_CHECK(a.hash == b.hash, "%s: byte %zu = %02x: two scans differ", s->name, at, bytes[at]);
    SWEEP_CHECK(a.covered || a.sum.verdict == CUVET_V_LIMIT,
                "%s: byte %zu = %02x: bytes without an owner, or with two", s->name, at, bytes[at]);
    SWEEP_CHECK(a.sum.verdict != CUVET_V_ERROR, "%s: byte %zu = %02x: an error of ours", s->name, at,
                bytes[at]);
}

/* Headers lie at the start: the first 64 bytes always; then one in 'step', the first of them at 64 + 'first'.
 */
static size_t next_byte(size_t at, size_t step, size_t first)
{
    return at + (at < 63 ? 1 : at == 63 ? 1 + first : step);
}

/* @return changes looked at, with those that change nothing */
static size_t sweep_sample(const sample *s, size_t step, size_t first)
{
    uint8_t *copy = malloc(s->n); /* not one byte behind the end */
    size_t changes = 0;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, s->bytes, s->n);
    one(s, copy, 0);
    for (size_t at = 0; at < s->n; at = next_byte(at, step, first)) {
        for (size_t k = 0; k < sizeof(VALUES); k++, changes++) {
            copy[at] = VALUES[k];
            if (VALUES[k] != s->bytes[at])
                one(s, copy, at);
        }
        copy[at] = s->bytes[at];
    }
    free(copy);
    return changes;
}

START_TEST(every_byte)
{
    size_t step = sweep_full() ? 1 : 61, changes = 0;
    sweep w = sweep_load("samples");

    for (size_t i = 0; i < w.n; i++)
        changes += sweep_sample(&w.v[i], step, i % step);
    if (sweep_full())
        ck_assert_uint_eq(changes, sweep_bytes(&w) * sizeof(VALUES));
    ck_assert(changes > 10000 || sweep_is_part());
    sweep_end(&w, "every byte", w.n, changes);
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

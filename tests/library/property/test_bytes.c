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

static void one(const sweep_piece *sample, const uint8_t *bytes, size_t at)
{
    sweep_outcome left = sweep_scan(bytes, sample->size, NULL, true),
                  right = sweep_scan(bytes, sample->size, NULL, false);

    SWEEP_CHECK(left.status == CUVET_END && right.status == CUVET_END, "%s: byte %zu = %02x: status %d, %d",
                sample->name, at, bytes[at], left.status, right.status);
    SWEEP_CHECK(left.hash == right.hash, "%s: byte %zu = %02x: two scans differ", sample->name, at,
                bytes[at]);
    SWEEP_CHECK(left.covered || left.sum.verdict == CUVET_V_LIMIT,
                "%s: byte %zu = %02x: bytes without an owner, or with two", sample->name, at, bytes[at]);
    SWEEP_CHECK(left.sum.verdict != CUVET_V_ERROR, "%s: byte %zu = %02x: an error of ours", sample->name, at,
                bytes[at]);
}

/* Headers lie at the start: the first 64 bytes always; then one in 'step', the first of them at 64 + 'first'.
 */
static size_t next_byte(size_t at, size_t step, size_t first)
{
    return at + (at < 63 ? 1 : at == 63 ? 1 + first : step);
}

/* @return changes looked at, with those that change nothing */
static size_t sweep_sample(const sweep_piece *sample, size_t step, size_t first)
{
    uint8_t *copy = malloc(sample->size); /* not one byte behind the end */
    size_t changes = 0;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, sample->bytes, sample->size);
    one(sample, copy, 0);
    for (size_t at = 0; at < sample->size; at = next_byte(at, step, first)) {
        for (size_t k = 0; k < sizeof(VALUES); k++, changes++) {
            copy[at] = VALUES[k];
            if (VALUES[k] != sample->bytes[at])
                one(sample, copy, at);
        }
        copy[at] = sample->bytes[at];
    }
    free(copy);
    return changes;
}

START_TEST(every_byte)
{
    size_t step = sweep_full() ? sweep_step() : 61, changes = 0;
    sweep_state sweep = sweep_load("samples");

    for (size_t i = 0; i < sweep.count; i++)
        changes += sweep_sample(&sweep.samples[i], step, i % step);
    if (step == 1)
        ck_assert_uint_eq(changes, sweep_bytes(&sweep) * sizeof(VALUES));
    ck_assert(changes > 10000 || sweep_is_part());
    sweep_end(&sweep, "every byte", sweep.count, changes);
}
END_TEST

Suite *suite_bytes_sweep(void);
Suite *suite_bytes_sweep(void)
{
    Suite *suite = suite_create("every byte");
    TCase *tcase = tcase_create("samples");

    tcase_set_timeout(tcase, sweep_full() ? 14000 : 110);
    tcase_add_test(tcase, every_byte);
    suite_add_tcase(suite, tcase);
    return suite;
}

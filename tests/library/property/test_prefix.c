/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* No part of a good file passes for a good file: every prefix of every sample is scanned, and only those that
 * end where the format lets a file end are accepted. The legal ends are:
 *
 * - PTX text: everywhere behind its .target, there is no length
 * - containers: behind each container, and in the zero bytes between two, a multiple of 8 behind it
 * - archives: behind each member, with or without the byte that pads it
 * - device ELF, host ELF: none */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

static uint64_t word(const sweep_piece *sample, size_t at, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width && at + i < sample->size; i++)
        value |= (uint64_t)sample->bytes[at + i] << (8 * i);
    return value;
}

static void mark(uint8_t *legal, const sweep_piece *sample, uint64_t at)
{
    if (at < sample->size)
        legal[at] = 1;
}

static void containers(const sweep_piece *sample, uint8_t *legal)
{
    uint64_t at = 0;

    while (at + 16 <= sample->size && word(sample, at, 4) == 0xBA55ED50) {
        at += 16 + word(sample, at + 8, 8);
        for (mark(legal, sample, at); at + 8 <= sample->size && word(sample, at, 8) == 0; at += 8)
            mark(legal, sample, at + 8);
    }
}

static void members(const sweep_piece *sample, uint8_t *legal)
{
    for (uint64_t at = 8; at + 60 <= sample->size;) {
        char size[11] = { 0 };

        memcpy(size, sample->bytes + at + 48, 10);
        at += 60 + strtoull(size, NULL, 10);
        mark(legal, sample, at);
        at += at & 1;
        mark(legal, sample, at);
    }
}

static uint8_t *legal_ends(const sweep_piece *sample)
{
    uint8_t *legal = calloc(1, sample->size + 1);

    ck_assert_ptr_nonnull(legal);
    if (word(sample, 0, 4) == 0xBA55ED50)
        containers(sample, legal);
    else if (sample->size > 8 && memcmp(sample->bytes, "!<arch>\n", 8) == 0)
        members(sample, legal);
    else if (strstr(sample->name, ".ptx") && !strstr(sample->name, ".fatbin"))
        memset(legal, 1, sample->size);
    return legal;
}

static sweep_outcome scan_prefix(const sweep_piece *sample, size_t len)
{
    uint8_t *part = malloc(len ? len : 1); /* not one byte behind the end */
    sweep_outcome outcome;

    SWEEP_CHECK(part != NULL, "out of memory");
    memcpy(part, sample->bytes, len);
    outcome = sweep_scan(part, len, NULL, false);
    free(part);
    return outcome;
}

/* @return prefixes looked at */
static size_t sweep_sample(const sweep_piece *sample, size_t step, size_t *accepted)
{
    uint8_t *legal = legal_ends(sample);
    size_t looked_at = 0;

    for (size_t len = 0; len < sample->size; len++) {
        sweep_outcome outcome;

        if (len % step && len > 160 && sample->size - len > 64 && !legal[len])
            continue;
        outcome = scan_prefix(sample, len);
        looked_at++;
        *accepted += sweep_accepted(&outcome);
        SWEEP_CHECK(outcome.status == CUVET_END, "%s: %zu bytes: status %d", sample->name, len,
                    outcome.status);
        SWEEP_CHECK(!sweep_accepted(&outcome) || legal[len], "%s: the first %zu bytes pass for a good file",
                    sample->name, len);
    }
    free(legal);
    return looked_at;
}

START_TEST(every_prefix)
{
    size_t step = sweep_full() ? 1 : 5, looked_at = 0, accepted = 0;
    sweep_state sweep = sweep_load("samples");

    for (size_t i = 0; i < sweep.count; i++)
        looked_at += sweep_sample(&sweep.samples[i], step, &accepted);
    if (sweep_full())
        ck_assert_uint_eq(looked_at, sweep_bytes(&sweep));
    if (!sweep_is_part()) { /* a part of the samples may have no legal end */
        ck_assert_uint_gt(looked_at, 10000);
        ck_assert_uint_gt(accepted, 0); /* the legal ends are reached */
    }
    sweep_end(&sweep, "every prefix", sweep.count, looked_at);
}
END_TEST

Suite *suite_prefix(void);
Suite *suite_prefix(void)
{
    Suite *suite = suite_create("prefix");
    TCase *tcase = tcase_create("samples");

    tcase_set_timeout(tcase, sweep_full() ? 7200 : 110);
    tcase_add_test(tcase, every_prefix);
    suite_add_tcase(suite, tcase);
    return suite;
}

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

static uint64_t word(const sample *s, size_t at, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < width && at + i < s->n; i++)
        v |= (uint64_t)s->bytes[at + i] << (8 * i);
    return v;
}

static void mark(uint8_t *legal, const sample *s, uint64_t at)
{
    if (at < s->n)
        legal[at] = 1;
}

static void containers(const sample *s, uint8_t *legal)
{
    uint64_t at = 0;

    while (at + 16 <= s->n && word(s, at, 4) == 0xBA55ED50) {
        at += 16 + word(s, at + 8, 8);
        for (mark(legal, s, at); at + 8 <= s->n && word(s, at, 8) == 0; at += 8)
            mark(legal, s, at + 8);
    }
}

static void members(const sample *s, uint8_t *legal)
{
    for (uint64_t at = 8; at + 60 <= s->n;) {
        char size[11] = { 0 };

        memcpy(size, s->bytes + at + 48, 10);
        at += 60 + strtoull(size, NULL, 10);
        mark(legal, s, at);
        at += at & 1;
        mark(legal, s, at);
    }
}

static uint8_t *legal_ends(const sample *s)
{
    uint8_t *legal = calloc(1, s->n + 1);

    ck_assert_ptr_nonnull(legal);
    if (word(s, 0, 4) == 0xBA55ED50)
        containers(s, legal);
    else if (s->n > 8 && memcmp(s->bytes, "!<arch>\n", 8) == 0)
        members(s, legal);
    else if (strstr(s->name, ".ptx") && !strstr(s->name, ".fatbin"))
        memset(legal, 1, s->n);
    return legal;
}

static outcome scan_prefix(const sample *s, size_t len)
{
    uint8_t *part = malloc(len ? len : 1); /* not one byte behind the end */
    outcome o;

    SWEEP_CHECK(part != NULL, "out of memory");
    memcpy(part, s->bytes, len);
    o = sweep_scan(part, len, NULL, false);
    free(part);
    return o;
}

/* @return prefixes looked at */
static size_t sweep_sample(const sample *s, size_t step, size_t *accepted)
{
    uint8_t *legal = legal_ends(s);
    size_t looked_at = 0;

    for (size_t len = 0; len < s->n; len++) {
        outcome o;

        if (len % step && len > 160 && s->n - len > 64 && !legal[len])
            continue;
        o = scan_prefix(s, len);
        looked_at++;
        *accepted += sweep_accepted(&o);
        SWEEP_CHECK(o.status == CUVET_END, "%s: %zu bytes: status %d", s->name, len, o.status);
        SWEEP_CHECK(!sweep_accepted(&o) || legal[len], "%s: the first %zu bytes pass for a good file",
                    s->name, len);
    }
    free(legal);
    return looked_at;
}

START_TEST(every_prefix)
{
    size_t step = sweep_full() ? 1 : 5, looked_at = 0, accepted = 0;
    sweep w = sweep_load("samples");

    for (size_t i = 0; i < w.n; i++)
        looked_at += sweep_sample(&w.v[i], step, &accepted);
    if (sweep_full())
        ck_assert_uint_eq(looked_at, sweep_bytes(&w));
    if (!sweep_is_part()) { /* a part of the samples may have no legal end */
        ck_assert_uint_gt(looked_at, 10000);
        ck_assert_uint_gt(accepted, 0); /* the legal ends are reached */
    }
    sweep_end(&w, "every prefix", w.n, looked_at);
}
END_TEST

Suite *suite_prefix(void);
Suite *suite_prefix(void)
{
    Suite *s = suite_create("prefix");
    TCase *t = tcase_create("samples");

    tcase_set_timeout(t, sweep_full() ? 7200 : 110);
    tcase_add_test(t, every_prefix);
    suite_add_tcase(s, t);
    return s;
}

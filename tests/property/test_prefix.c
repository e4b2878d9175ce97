/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* No part of a good file passes for a good file: every prefix of every sample is scanned, and only those that
 * end where the format lets a file end are accepted. The legal ends are: PTX text     everywhere behind its
 * .target: there is no length containers   behind each container, and in the zero bytes between two, a
 * multiple of 8 behind it archives     behind each member, with or without the byte that pads it device ELF,
 * host ELF: none */
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

START_TEST(every_prefix)
{
    size_t step = sweep_full() ? 1 : 5, scans = 0, accepted = 0;
    sample *s;
    size_t n = sweep_load("samples", NULL, &s);

    for (size_t i = 0; i < n; i++) {
        uint8_t *legal = legal_ends(&s[i]);

        for (size_t len = 0; len < s[i].n; len++) {
            uint8_t *part;
            outcome o;

            if (len % step && len > 160 && s[i].n - len > 64 && !legal[len])
                continue;
            part = malloc(len ? len : 1); /* not one byte behind the end */
            ck_assert_ptr_nonnull(part);
            memcpy(part, s[i].bytes, len);
            o = sweep_scan(part, len, NULL, false);
            free(part);
            scans++;
            accepted += sweep_accepted(&o);
            ck_assert_msg(o.status == CUVET_END, "%s: %zu bytes: status %d", s[i].name, len, o.status);
            ck_assert_msg(!sweep_accepted(&o) || legal[len], "%s: the first %zu bytes pass for a good file",
                          s[i].name, len);
        }
        free(legal);
    }
    ck_assert_uint_gt(scans, 10000);
    if (!getenv("CV_SAMPLES"))          /* a part of the samples may have no legal end */
        ck_assert_uint_gt(accepted, 0); /* the legal ends are reached */
    sweep_free(s, n);
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

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/text.h"

void cv_text_char(cv_text *t, char c)
{
    if (t->len < t->cap)
        t->buf[t->len] = c;
    t->len++;
}

void cv_text_str(cv_text *t, const char *s)
{
    while (*s)
        cv_text_char(t, *s++);
}

static void put_radix(cv_text *t, uint64_t v, unsigned radix)
{
    char digits[20];
    size_t n = 0;

    do {
        digits[n++] = "0123456789abcdef"[v % radix];
        v /= radix;
    } while (v);
    while (n)
        cv_text_char(t, digits[--n]);
}

void cv_text_dec(cv_text *t, uint64_t v)
{
    put_radix(t, v, 10);
}

void cv_text_hex(cv_text *t, uint64_t v)
{
    cv_text_str(t, "0x");
    put_radix(t, v, 16);
}

void cv_text_end(cv_text *t)
{
    if (t->cap)
        t->buf[t->len < t->cap ? t->len : t->cap - 1] = '\0';
}

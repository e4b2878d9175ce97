/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/text.h"

void cv_text_char(cv_text *text, char ch)
{
    if (text->len < text->cap)
        text->buf[text->len] = ch;
    text->len++;
}

void cv_text_str(cv_text *text, const char *string)
{
    while (*string)
        cv_text_char(text, *string++);
}

static void put_radix(cv_text *text, uint64_t value, unsigned radix)
{
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = "0123456789abcdef"[value % radix];
        value /= radix;
    } while (value);
    while (count)
        cv_text_char(text, digits[--count]);
}

void cv_text_dec(cv_text *text, uint64_t value)
{
    put_radix(text, value, 10);
}

void cv_text_hex(cv_text *text, uint64_t value)
{
    cv_text_str(text, "0x");
    put_radix(text, value, 16);
}

void cv_text_end(cv_text *text)
{
    if (text->cap)
        text->buf[text->len < text->cap ? text->len : text->cap - 1] = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bounded text: appends what fits, counts what was needed. The library formats with this, never with printf.
 */
#ifndef CV_BASE_TEXT_H
#define CV_BASE_TEXT_H

#include "base/base.h"

typedef struct cv_text {
    char *buf; /* may be NULL when cap is 0 */
    size_t cap;
    size_t len; /* needed so far, without the NUL */
} cv_text;

void cv_text_char(cv_text *text, char ch);
void cv_text_str(cv_text *text, const char *string);
void cv_text_dec(cv_text *text, uint64_t value);
void cv_text_hex(cv_text *text, uint64_t value); /* with 0x */
/* Terminate with NUL (cutting the last byte if it must). */
void cv_text_end(cv_text *text);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* PTX text: is it PTX, where does it end, which version and target does it declare. The instructions are not
 * parsed. */
#ifndef CV_FORMAT_PTX_READ_H
#define CV_FORMAT_PTX_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

/* How text is stored: what may, and what must, follow its last character. */
typedef enum cv_ptx_form {
    CV_PTX_BARE = 0,   /* a file of its own: zero bytes at the end are allowed */
    CV_PTX_MEMBER = 1, /* decompressed member: exactly one zero byte, the last byte */
    CV_PTX_PADDED = 2  /* stored member: one zero byte and up to seven bytes of padding */
} cv_ptx_form;

typedef struct cv_ptx {
    uint64_t text_len;                             /* without the zero bytes at the end */
    uint32_t major, minor;                         /* .version */
    uint32_t target;                               /* number behind sm_ */
    char suffix;                                   /* 'a', 'f' or 0 */
    bool suffix_known;                             /* false: another letter, reported */
    bool debug;                                    /* option "debug" of .target */
    uint32_t address_size;                         /* 32 or 64; 0: not given, or wrong and reported */
    uint64_t version_off, target_off, address_off; /* of the values, in the span; address_off 0: not given */
} cv_ptx;

/* Tab, line feed, vertical tab, form feed, carriage return, space: whatever the locale says. */
bool cv_ptx_is_blank(uint8_t byte);
/* The grammar of everything between two words: *at goes behind blanks and comments, in one pass. A comment
 * without an end: false, *at is where it begins. loose: the asterisk that opens a comment may close it too,
 * as in the probe of the reference. */
CV_MUST bool cv_ptx_skip(cv_span span, bool loose, uint64_t *at);

/* The first word of a text. CUT: it ends before it could be told, also within what may open a comment. */
typedef enum cv_ptx_word { CV_PTX_WORD_OTHER = 0, CV_PTX_WORD_CUT, CV_PTX_WORD_VERSION } cv_ptx_word;
#define CV_PTX_VERSION_LEN UINT64_C(8)
/* What the span, behind blanks and comments, begins with; whatever follows .version. */
cv_ptx_word cv_ptx_first(cv_span span);

/* Bytes that the probe looks at: licence texts come before .version. */
#define CV_PTX_PROBE UINT64_C(16384)

/* What the first bytes of a file say: MORE as long as what follows can still make them PTX. Silent. */
typedef enum cv_ptx_guess { CV_PTX_NO = 0, CV_PTX_YES, CV_PTX_MORE } cv_ptx_guess;
cv_ptx_guess cv_ptx_look(cv_span head);

/* The text begins with .version, behind blanks and comments. Looks at CV_PTX_PROBE bytes at most; silent. */
CV_MUST bool cv_ptx_probe(cv_span head);

/* Judge the whole text and read the directives at its head. Findings that leave the text readable are
 * reported and do not fail.
 * @return OK: *out is whole. MALFORMED: version or target could not be read, *out untouched. LIMIT: work. */
CV_MUST cuvet_status cv_ptx_read(cv_ctx *ctx, cv_span text, cv_ptx_form form, cv_ptx *out);

#endif

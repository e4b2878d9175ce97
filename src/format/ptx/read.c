/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/ptx/read.h"

#include "bytes/search.h"

/* Zero byte and padding to a multiple of 8. */
#define PADDED_TAIL UINT64_C(8)
#define CHUNK       UINT64_C(4096)
#define VERSION     ".version"

bool cv_ptx_is_blank(uint8_t b)
{
    return b == ' ' || (b >= '\t' && b <= '\r');
}

static bool is_word(uint8_t b)
{
    return (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || b == '_' || b == '$';
}

/* Offset of the first asterisk and slash from at on, or s.len. Slashes are rarer in comments than asterisks.
 */
static uint64_t comment_end(cv_span s, uint64_t at)
{
    uint64_t i = at + 1;

    while (i < s.len) {
        i += cv_span_find_byte(cv_span_tail(s, i), '/');
        if (i < s.len && cv_u8_at(s, i - 1) == '*')
            return i - 1;
        i++;
    }
    return s.len;
}

bool cv_ptx_skip(cv_span s, bool loose, uint64_t *at)
{
    uint64_t i = *at, end;

    for (;;) {
        while (cv_ptx_is_blank(cv_u8_at(s, i))) /* a place outside the span reads as 0 */
            i++;
        *at = i;
        if (cv_u16_at(s, i) == 0x2F2F) { /* two slashes */
            i += cv_span_find_byte(cv_span_tail(s, i), '\n');
        } else if (cv_u16_at(s, i) == 0x2A2F) { /* slash, asterisk */
            end = comment_end(s, loose ? i + 1 : i + 2);
            if (end == s.len)
                return false;
            i = end + 2;
        } else {
            return true;
        }
    }
}

static bool skip(cv_span s, uint64_t *at)
{
    return cv_ptx_skip(s, false, at);
}

/* The directive stands at *at, as a whole word: then behind it and its blanks and comments. */
static bool directive(cv_span s, const char *name, uint64_t *at)
{
    cv_span rest;

    if (!cv_span_after(cv_span_tail(s, *at), name, &rest) || is_word(cv_u8_at(rest, 0)))
        return false;
    *at = rest.off - s.off;
    return skip(s, at);
}

/* A byte order mark is no part of the language, but must not hide a text from a scan. */
static uint64_t mark_size(cv_span s)
{
    return (cv_u32_at(s, 0) & 0xFFFFFF) == 0xBFBBEF ? 3 : 0;
}

cv_ptx_word cv_ptx_first(cv_span s)
{
    cv_span word = cv_span_of(VERSION, CV_PTX_VERSION_LEN, 0);
    uint64_t n = 0;

    while (n < word.len && n < s.len && cv_u8_at(s, n) == cv_u8_at(word, n))
        n++;
    if (n == word.len)
        return CV_PTX_WORD_VERSION;
    return n == s.len || (s.len == 1 && cv_u8_at(s, 0) == '/') ? CV_PTX_WORD_CUT : CV_PTX_WORD_OTHER;
}

cv_ptx_guess cv_ptx_look(cv_span head)
{
    uint64_t at = mark_size(head);
    cv_ptx_word first;

    if (!skip(head, &at))
        return CV_PTX_MORE;
    first = cv_ptx_first(cv_span_tail(head, at));
    if (first != CV_PTX_WORD_VERSION)
        return first == CV_PTX_WORD_CUT ? CV_PTX_MORE : CV_PTX_NO;
    at += CV_PTX_VERSION_LEN;
    if (is_word(cv_u8_at(head, at)))
        return CV_PTX_NO;
    return skip(head, &at) && at < head.len ? CV_PTX_YES : CV_PTX_MORE;
}

bool cv_ptx_probe(cv_span head)
{
    if (head.len > CV_PTX_PROBE)
        head.len = CV_PTX_PROBE;
    return cv_ptx_look(head) == CV_PTX_YES;
}

static bool is_control(uint8_t b)
{
    return (b < ' ' && !cv_ptx_is_blank(b)) || b == 0x7F;
}

/* The first control byte and the first byte outside of ASCII, each once per text. */
typedef struct seen {
    bool control, high;
} seen;

static void report_bytes(cv_ctx *x, cv_span part, seen *k)
{
    for (uint64_t i = 0; i < part.len; i++) {
        uint8_t b = cv_u8_at(part, i);

        if (b >= 0x80 && !k->high) {
            cv_report(x, CV_R_PTX_NON_ASCII, part.off + i, 1, b, 0);
            k->high = true;
        } else if (is_control(b) && !k->control) {
            cv_report(x, CV_R_PTX_CONTROL, part.off + i, 1, b, 0);
            k->control = true;
        }
    }
}

/* Judge the bytes up to the first zero byte, in one pass. Returns where that is, or s.len. */
static uint64_t check_bytes(cv_ctx *x, cv_span s)
{
    seen k = { 0 };
    uint64_t at, n;
    cv_span part, text;

    for (at = 0; at < s.len && !(k.control && k.high); at += CHUNK) {
        part = cv_span_tail(s, at);
        part.len = cv_min(part.len, CHUNK);
        if (CV_LIKELY(cv_span_is_text(part)))
            continue;
        n = cv_span_find_byte(part, 0);
        text = part;
        text.len = n;
        report_bytes(x, text, &k);
        if (n < part.len)
            return at + n;
    }
    /* Everything there is to report was found: only the end is left. */
    return at < s.len ? at + cv_span_find_byte(cv_span_tail(s, at), 0) : s.len;
}

/* What follows the text of n bytes. */
static void check_end(cv_ctx *x, cv_span s, cv_ptx_form form, uint64_t n)
{
    cv_span rest = cv_span_tail(s, n);
    uint64_t other = cv_span_find_nonzero(rest);

    if (n == s.len && form != CV_PTX_BARE)
        cv_report(x, CV_R_PTX_NO_NUL, s.off + n, 0, 0, s.len);
    else if (other < rest.len)
        cv_report(x, CV_R_PTX_NUL_INSIDE, s.off + n, 1, s.off + n, rest.off + other);
    else if (rest.len > PADDED_TAIL && form != CV_PTX_BARE)
        cv_report(x, CV_R_PTX_TAIL, s.off + n, rest.len, rest.len, PADDED_TAIL);
}

/* Up to eight bytes at the place, for a message. */
static uint64_t peek(cv_span s, uint64_t at)
{
    uint64_t v = 0;

    for (uint64_t i = 8; i > 0; i--)
        v = v << 8 | cv_u8_at(s, at + i - 1);
    return v;
}

static cuvet_status reject_at(cv_ctx *x, cv_rule rule, cv_span s, uint64_t at)
{
    /* When a comment has no end nothing behind it can be there. */
    if (cv_u16_at(s, at) == 0x2A2F)
        return cv_reject(x, CV_R_PTX_COMMENT_END, s.off + at, s.off + at, 0);
    return cv_reject(x, rule, s.off + at, peek(s, at), 0);
}

static cuvet_status read_version(cv_ctx *x, cv_span s, uint64_t *at, cv_ptx *p)
{
    uint64_t i;

    if (!skip(s, at) || !directive(s, VERSION, at))
        return reject_at(x, CV_R_PTX_VERSION_MISSING, s, *at);
    p->version_off = i = *at;
    if (!cv_span_decimal(s, i, &p->major, &i) || cv_u8_at(s, i) != '.' ||
        !cv_span_decimal(s, i + 1, &p->minor, &i) || is_word(cv_u8_at(s, i)))
        return reject_at(x, CV_R_PTX_VERSION, s, i);
    *at = i;
    return CUVET_OK;
}

/* Genuine texts have two at most. */
#define OPTION_WORK UINT64_C(32)

/* Options of .target: words behind commas. Their end is the start of the next directive, which nobody needs
 * to find exactly. */
static cuvet_status read_options(cv_ctx *x, cv_span s, uint64_t *at, cv_ptx *p)
{
    cv_span rest;

    while (skip(s, at) && cv_u8_at(s, *at) == ',') {
        if (!cv_work(x, OPTION_WORK, s.off + *at))
            return CUVET_E_LIMIT;
        ++*at;
        if (!skip(s, at))
            break;
        if (cv_span_after(cv_span_tail(s, *at), "debug", &rest) && !is_word(cv_u8_at(rest, 0)))
            p->debug = true;
        while (is_word(cv_u8_at(s, *at)))
            ++*at;
    }
    return CUVET_OK;
}

static cuvet_status read_target(cv_ctx *x, cv_span s, uint64_t *at, cv_ptx *p)
{
    cv_span rest;
    uint64_t i;
    uint8_t letter;

    if (!skip(s, at) || !directive(s, ".target", at))
        return reject_at(x, CV_R_PTX_TARGET_MISSING, s, *at);
    p->target_off = i = *at;
    if (!cv_span_after(cv_span_tail(s, i), "sm_", &rest) || !cv_span_decimal(s, i + 3, &p->target, &i))
        return reject_at(x, CV_R_PTX_TARGET, s, i);
    letter = cv_u8_at(s, i);
    p->suffix_known = true;
    if (is_word(letter)) {
        p->suffix_known = letter == 'a' || letter == 'f';
        p->suffix = p->suffix_known ? (char)letter : 0;
        if (is_word(cv_u8_at(s, ++i)))
            return reject_at(x, CV_R_PTX_TARGET, s, i);
        if (!p->suffix_known)
            cv_report(x, CV_R_PTX_TARGET_SUFFIX, s.off + i - 1, 1, letter, 0);
    }
    *at = i;
    return read_options(x, s, at, p);
}

static void read_address_size(cv_ctx *x, cv_span s, uint64_t at, cv_ptx *p)
{
    uint64_t end;

    if (!directive(s, ".address_size", &at))
        return;
    if (!cv_span_decimal(s, at, &p->address_size, &end) || (p->address_size != 32 && p->address_size != 64)) {
        cv_report(x, CV_R_PTX_ADDRESS_SIZE, s.off + at, 0, p->address_size, 64);
        p->address_size = 0;
        return;
    }
    p->address_off = at;
}

cuvet_status cv_ptx_read(cv_ctx *x, cv_span text, cv_ptx_form form, cv_ptx *out)
{
    cv_ptx p = { 0 };
    uint64_t at = mark_size(text);
    cuvet_status s;

    if (!cv_work(x, text.len / 8 + 1, text.off))
        return CUVET_E_LIMIT;
    p.text_len = check_bytes(x, text);
    check_end(x, text, form, p.text_len);
    text.len = p.text_len;
    s = read_version(x, text, &at, &p);
    if (s == CUVET_OK)
        s = read_target(x, text, &at, &p);
    if (s != CUVET_OK)
        return s;
    read_address_size(x, text, at, &p);
    *out = p;
    return CUVET_OK;
}

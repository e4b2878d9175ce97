/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/ptx/read.h"

#include "bytes/search.h"

/* Zero byte and padding to a multiple of 8. */
#define PADDED_TAIL UINT64_C(8)
#define CHUNK       UINT64_C(4096)
#define VERSION     ".version"

bool cv_ptx_is_blank(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_word(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '_' || byte == '$';
}

/* Offset of the first asterisk and slash from at on, or s.len. Slashes are rarer in comments than asterisks.
 */
static uint64_t comment_end(cv_span span, uint64_t at)
{
    uint64_t i = at + 1;

    while (i < span.len) {
        i += cv_span_find_byte(cv_span_tail(span, i), '/');
        if (i < span.len && cv_u8_at(span, i - 1) == '*')
            return i - 1;
        i++;
    }
    return span.len;
}

bool cv_ptx_skip(cv_span span, bool loose, uint64_t *at)
{
    uint64_t i = *at, end;

    for (;;) {
        while (cv_ptx_is_blank(cv_u8_at(span, i))) /* a place outside the span reads as 0 */
            i++;
        *at = i;
        if (cv_u16_at(span, i) == 0x2F2F) { /* two slashes */
            i += cv_span_find_byte(cv_span_tail(span, i), '\n');
        } else if (cv_u16_at(span, i) == 0x2A2F) { /* slash, asterisk */
            end = comment_end(span, loose ? i + 1 : i + 2);
            if (end == span.len)
                return false;
            i = end + 2;
        } else {
            return true;
        }
    }
}

static bool skip(cv_span span, uint64_t *at)
{
    return cv_ptx_skip(span, false, at);
}

/* The directive stands at *at, as a whole word: then behind it and its blanks and comments. */
static bool directive(cv_span span, const char *name, uint64_t *at)
{
    cv_span rest;

    if (!cv_span_after(cv_span_tail(span, *at), name, &rest) || is_word(cv_u8_at(rest, 0)))
        return false;
    *at = rest.off - span.off;
    return skip(span, at);
}

/* A byte order mark is no part of the language, but must not hide a text from a scan. */
static uint64_t mark_size(cv_span span)
{
    return (cv_u32_at(span, 0) & 0xFFFFFF) == 0xBFBBEF ? 3 : 0;
}

cv_ptx_word cv_ptx_first(cv_span span)
{
    cv_span word = cv_span_of(VERSION, CV_PTX_VERSION_LEN, 0);
    uint64_t count = 0;

    while (count < word.len && count < span.len && cv_u8_at(span, count) == cv_u8_at(word, count))
        count++;
    if (count == word.len)
        return CV_PTX_WORD_VERSION;
    return count == span.len || (span.len == 1 && cv_u8_at(span, 0) == '/') ? CV_PTX_WORD_CUT
                                                                            : CV_PTX_WORD_OTHER;
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

static bool is_control(uint8_t byte)
{
    return (byte < ' ' && !cv_ptx_is_blank(byte)) || byte == 0x7F;
}

/* The first control byte and the first byte outside of ASCII, each once per text. */
typedef struct ptx_seen {
    bool control, high;
} ptx_seen;

static void report_bytes(cv_ctx *ctx, cv_span part, ptx_seen *seen)
{
    for (uint64_t i = 0; i < part.len; i++) {
        uint8_t byte = cv_u8_at(part, i);

        if (byte >= 0x80 && !seen->high) {
            cv_report(ctx, CV_R_PTX_NON_ASCII, part.off + i, 1, byte, 0);
            seen->high = true;
        } else if (is_control(byte) && !seen->control) {
            cv_report(ctx, CV_R_PTX_CONTROL, part.off + i, 1, byte, 0);
            seen->control = true;
        }
    }
}

/* Judge the bytes up to the first zero byte, in one pass. Returns where that is, or s.len. */
static uint64_t check_bytes(cv_ctx *ctx, cv_span span)
{
    ptx_seen seen = { 0 };
    uint64_t at, count;
    cv_span part, text;

    for (at = 0; at < span.len && !(seen.control && seen.high); at += CHUNK) {
        part = cv_span_tail(span, at);
        part.len = cv_min(part.len, CHUNK);
        if (CV_LIKELY(cv_span_is_text(part)))
            continue;
        count = cv_span_find_byte(part, 0);
        text = part;
        text.len = count;
        report_bytes(ctx, text, &seen);
        if (count < part.len)
            return at + count;
    }
    /* Everything there is to report was found: only the end is left. */
    return at < span.len ? at + cv_span_find_byte(cv_span_tail(span, at), 0) : span.len;
}

/* What follows the text of n bytes. */
static void check_end(cv_ctx *ctx, cv_span span, cv_ptx_form form, uint64_t count)
{
    cv_span rest = cv_span_tail(span, count);
    uint64_t other = cv_span_find_nonzero(rest);

    if (count == span.len && form != CV_PTX_BARE)
        cv_report(ctx, CV_R_PTX_NO_NUL, span.off + count, 0, 0, span.len);
    else if (other < rest.len)
        cv_report(ctx, CV_R_PTX_NUL_INSIDE, span.off + count, 1, span.off + count, rest.off + other);
    else if (rest.len > PADDED_TAIL && form != CV_PTX_BARE)
        cv_report(ctx, CV_R_PTX_TAIL, span.off + count, rest.len, rest.len, PADDED_TAIL);
}

/* Up to eight bytes at the place, for a message. */
static uint64_t peek(cv_span span, uint64_t at)
{
    uint64_t value = 0;

    for (uint64_t i = 8; i > 0; i--)
        value = value << 8 | cv_u8_at(span, at + i - 1);
    return value;
}

static cuvet_status reject_at(cv_ctx *ctx, cv_rule rule, cv_span span, uint64_t at)
{
    /* When a comment has no end nothing behind it can be there. */
    if (cv_u16_at(span, at) == 0x2A2F)
        return cv_reject(ctx, CV_R_PTX_COMMENT_END, span.off + at, span.off + at, 0);
    return cv_reject(ctx, rule, span.off + at, peek(span, at), 0);
}

static cuvet_status read_version(cv_ctx *ctx, cv_span span, uint64_t *at, cv_ptx *ptx)
{
    uint64_t i;

    if (!skip(span, at) || !directive(span, VERSION, at))
        return reject_at(ctx, CV_R_PTX_VERSION_MISSING, span, *at);
    ptx->version_off = i = *at;
    if (!cv_span_decimal(span, i, &ptx->major, &i) || cv_u8_at(span, i) != '.' ||
        !cv_span_decimal(span, i + 1, &ptx->minor, &i) || is_word(cv_u8_at(span, i)))
        return reject_at(ctx, CV_R_PTX_VERSION, span, i);
    *at = i;
    return CUVET_OK;
}

/* Genuine texts have two at most. */
#define OPTION_WORK UINT64_C(32)

/* Options of .target: words behind commas. Their end is the start of the next directive, which nobody needs
 * to find exactly. */
static cuvet_status read_options(cv_ctx *ctx, cv_span span, uint64_t *at, cv_ptx *ptx)
{
    cv_span rest;

    while (skip(span, at) && cv_u8_at(span, *at) == ',') {
        if (!cv_work(ctx, OPTION_WORK, span.off + *at))
            return CUVET_E_LIMIT;
        ++*at;
        if (!skip(span, at))
            break;
        if (cv_span_after(cv_span_tail(span, *at), "debug", &rest) && !is_word(cv_u8_at(rest, 0)))
            ptx->debug = true;
        while (is_word(cv_u8_at(span, *at)))
            ++*at;
    }
    return CUVET_OK;
}

static cuvet_status read_target(cv_ctx *ctx, cv_span span, uint64_t *at, cv_ptx *ptx)
{
    cv_span rest;
    uint64_t i;
    uint8_t letter;

    if (!skip(span, at) || !directive(span, ".target", at))
        return reject_at(ctx, CV_R_PTX_TARGET_MISSING, span, *at);
    ptx->target_off = i = *at;
    if (!cv_span_after(cv_span_tail(span, i), "sm_", &rest) ||
        !cv_span_decimal(span, i + 3, &ptx->target, &i))
        return reject_at(ctx, CV_R_PTX_TARGET, span, i);
    letter = cv_u8_at(span, i);
    ptx->suffix_known = true;
    if (is_word(letter)) {
        ptx->suffix_known = letter == 'a' || letter == 'f';
        ptx->suffix = ptx->suffix_known ? (char)letter : 0;
        if (is_word(cv_u8_at(span, ++i)))
            return reject_at(ctx, CV_R_PTX_TARGET, span, i);
        if (!ptx->suffix_known)
            cv_report(ctx, CV_R_PTX_TARGET_SUFFIX, span.off + i - 1, 1, letter, 0);
    }
    *at = i;
    return read_options(ctx, span, at, ptx);
}

static void read_address_size(cv_ctx *ctx, cv_span span, uint64_t at, cv_ptx *ptx)
{
    uint64_t end;

    if (!directive(span, ".address_size", &at))
        return;
    if (!cv_span_decimal(span, at, &ptx->address_size, &end) ||
        (ptx->address_size != 32 && ptx->address_size != 64)) {
        cv_report(ctx, CV_R_PTX_ADDRESS_SIZE, span.off + at, 0, ptx->address_size, 64);
        ptx->address_size = 0;
        return;
    }
    ptx->address_off = at;
}

cuvet_status cv_ptx_read(cv_ctx *ctx, cv_span text, cv_ptx_form form, cv_ptx *out)
{
    cv_ptx ptx = { 0 };
    uint64_t at = mark_size(text);
    cuvet_status status;

    if (!cv_work(ctx, text.len / 8 + 1, text.off))
        return CUVET_E_LIMIT;
    ptx.text_len = check_bytes(ctx, text);
    check_end(ctx, text, form, ptx.text_len);
    text.len = ptx.text_len;
    status = read_version(ctx, text, &at, &ptx);
    if (status == CUVET_OK)
        status = read_target(ctx, text, &at, &ptx);
    if (status != CUVET_OK)
        return status;
    read_address_size(ctx, text, at, &ptx);
    *out = ptx;
    return CUVET_OK;
}

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

/* The compiler drops this byte wherever a blank may be. */
#define DROPPED 0x1A

static uint64_t blanks_end(cv_span span, uint64_t at)
{
    while (cv_ptx_is_blank(cv_u8_at(span, at)) && cv_u8_at(span, at) != '\n')
        at++;
    return at;
}

static uint64_t digits_end(cv_span span, uint64_t at)
{
    while (cv_u8_at(span, at) >= '0' && cv_u8_at(span, at) <= '9')
        at++;
    return at;
}

typedef enum ptx_marker { MARKER_NONE, MARKER_CUT, MARKER_WHOLE } ptx_marker;

/* A line marker, as preprocessors leave them: #, perhaps "line", a number, a file in quotes, perhaps
 * numbers, the end of the line. The compiler skips it as it skips blanks. *end: behind it. */
static ptx_marker read_marker(cv_span span, uint64_t at, uint64_t *end)
{
    uint64_t here, number;
    cv_span rest;

    if (cv_u8_at(span, at) != '#')
        return MARKER_NONE;
    here = blanks_end(span, at + 1);
    if (cv_span_after(cv_span_tail(span, here), "line", &rest))
        here = blanks_end(span, rest.off - span.off);
    else if (span.len - here < 4)
        return MARKER_CUT; /* within "line", or before it */
    number = here;
    here = digits_end(span, here);
    if (here < span.len && here == number)
        return MARKER_NONE;
    here = blanks_end(span, here);
    if (here < span.len && cv_u8_at(span, here) != '"')
        return MARKER_NONE;
    if (here < span.len)
        here += 1 + cv_span_find_byte(cv_span_tail(span, here + 1), '"') + 1;
    while (here < span.len && cv_u8_at(span, here) != '\n') {
        uint64_t from = here;

        here = digits_end(span, blanks_end(span, here));
        if (here == from)
            return MARKER_NONE;
    }
    *end = here + 1;
    return here < span.len ? MARKER_WHOLE : MARKER_CUT;
}

/* Everything that the compiler skips between two words. *marker: place of the first line marker, unless it
 * had one; may be NULL. False: what is skipped begins at *at and has no end. */
static bool skip_all(cv_span span, uint64_t *at, uint64_t *marker)
{
    uint64_t end = 0;

    while (cv_ptx_skip(span, false, at)) {
        ptx_marker found = read_marker(span, *at, &end);

        if (cv_u8_at(span, *at) == DROPPED) {
            ++*at;
        } else if (found == MARKER_WHOLE) {
            if (marker && *marker == UINT64_MAX)
                *marker = *at;
            *at = end;
        } else {
            return found == MARKER_NONE;
        }
    }
    return false;
}

static bool skip(cv_span span, uint64_t *at)
{
    return skip_all(span, at, NULL);
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

/* The number of an architecture stands at 'at', behind this prefix. */
static bool has_arch(cv_span span, uint64_t at, const char *prefix, uint32_t *target, uint64_t *end)
{
    cv_span rest;

    return cv_span_after(cv_span_tail(span, at), prefix, &rest) &&
           cv_span_decimal(span, rest.off - span.off, target, end);
}

/* One more architecture at 'at', if there is one: the compiler goes by the last. */
static bool target_again(cv_ctx *ctx, cv_span span, uint64_t at, cv_ptx *ptx)
{
    uint32_t first = ptx->target, target = 0;
    uint64_t end = at;
    uint8_t letter;

    if (!has_arch(span, at, "sm_", &target, &end) && !has_arch(span, at, "compute_", &target, &end))
        return false;
    letter = cv_u8_at(span, end);
    ptx->target = target;
    ptx->suffix = letter == 'a' || letter == 'f' ? (char)letter : 0;
    ptx->suffix_known = ptx->suffix != 0 || !is_word(letter);
    cv_report(ctx, CV_R_PTX_TARGET_AGAIN, span.off + at, 0, target, first);
    return true;
}

/* Of those that change nothing here. */
static bool is_option(cv_span word)
{
    return cv_span_eq_str(word, "texmode_unified") || cv_span_eq_str(word, "texmode_independent") ||
           cv_span_eq_str(word, "map_f64_to_f32");
}

/* Genuine texts have two at most. */
#define OPTION_WORK UINT64_C(32)

/* Options of .target: words behind commas. Their end is the start of the next directive, which nobody needs
 * to find exactly. */
static cuvet_status read_options(cv_ctx *ctx, cv_span span, uint64_t *at, cv_ptx *ptx)
{
    while (skip(span, at) && cv_u8_at(span, *at) == ',') {
        cv_span word;

        if (!cv_work(ctx, OPTION_WORK, span.off + *at))
            return CUVET_E_LIMIT;
        ++*at;
        if (!skip(span, at))
            break;
        word = cv_span_tail(span, *at);
        while (is_word(cv_u8_at(span, *at)))
            ++*at;
        word.len = *at - (word.off - span.off);
        if (cv_span_eq_str(word, "debug"))
            ptx->debug = true;
        else if (!is_option(word) && !target_again(ctx, span, word.off - span.off, ptx))
            cv_report(ctx, CV_R_PTX_TARGET_OPTION, word.off, word.len, peek(word, 0), 0);
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

/* Goes from *from, which is in no comment and no string, to the first such place at or behind 'to'. True:
 * that is 'to' itself. Strings have no escapes. */
static bool is_code(cv_span span, uint64_t *from, uint64_t to)
{
    uint64_t here = *from;

    while (here < to) {
        uint8_t byte = cv_u8_at(span, here);

        if (byte == '"')
            here += 1 + cv_span_find_byte(cv_span_tail(span, here + 1), '"') + 1;
        else if (byte == '/' && cv_u8_at(span, here + 1) == '/')
            here += cv_span_find_byte(cv_span_tail(span, here), '\n');
        else if (byte == '/' && cv_u8_at(span, here + 1) == '*')
            here = comment_end(span, here + 2) + 2;
        else
            here++;
    }
    *from = here;
    return here == to;
}

#define TARGET_WORD UINT32_C(0x7261742E) /* .tar */

/* Behind the head, in the middle of functions as well, .target may be said once more. */
static cuvet_status read_later_targets(cv_ctx *ctx, cv_span span, uint64_t at, cv_ptx *ptx)
{
    uint64_t code = at, hit = at, place;
    cuvet_status status = CUVET_OK;

    if (!cv_work(ctx, span.len / 8 + 1, span.off))
        return CUVET_E_LIMIT;
    for (; status == CUVET_OK; hit++) {
        cv_span rest;

        hit = cv_span_find_u32(span, hit, TARGET_WORD, TARGET_WORD);
        if (hit >= span.len)
            break;
        if (!cv_span_after(cv_span_tail(span, hit), ".target", &rest) || is_word(cv_u8_at(rest, 0)))
            continue;
        if (!cv_work(ctx, OPTION_WORK + hit - cv_min(code, hit), span.off + hit))
            return CUVET_E_LIMIT;
        /* First, so that no comment is passed twice. */
        if (!is_code(span, &code, hit))
            continue;
        place = rest.off - span.off;
        if (!skip(span, &place))
            break;
        if (!cv_work(ctx, (place - hit) / 8, span.off + hit))
            return CUVET_E_LIMIT;
        if (!target_again(ctx, span, place, ptx))
            continue;
        while (is_word(cv_u8_at(span, place)))
            place++;
        status = read_options(ctx, span, &place, ptx);
    }
    return status;
}

/* The directives at the head, in their order, and a target that is said again. */
static cuvet_status read_directives(cv_ctx *ctx, cv_span text, cv_ptx *ptx)
{
    uint64_t at = mark_size(text), marker = UINT64_MAX, behind;
    cuvet_status status = read_version(ctx, text, &at, ptx);

    if (status == CUVET_OK)
        status = read_target(ctx, text, &at, ptx);
    if (status != CUVET_OK)
        return status;
    behind = at;
    read_address_size(ctx, text, at, ptx);
    /* Once more over the head: words are passed byte by byte, what is between them as a whole. */
    for (at = mark_size(text); at < behind && skip_all(text, &at, &marker); at++)
        ;
    if (marker < behind)
        cv_report(ctx, CV_R_PTX_LINE_MARKER, text.off + marker, 1, 0, 0);
    return read_later_targets(ctx, text, behind, ptx);
}

cuvet_status cv_ptx_read(cv_ctx *ctx, cv_span text, cv_ptx_form form, cv_ptx *out)
{
    cv_ptx ptx = { 0 };
    cuvet_status status;

    if (!cv_work(ctx, text.len / 8 + 1, text.off))
        return CUVET_E_LIMIT;
    ptx.text_len = check_bytes(ctx, text);
    check_end(ctx, text, form, ptx.text_len);
    text.len = ptx.text_len;
    status = read_directives(ctx, text, &ptx);
    if (status == CUVET_OK)
        *out = ptx;
    return status;
}

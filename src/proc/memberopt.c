/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options of a member: a stranger's bytes on their way to a command line. What is passed on is never a copy
 * of them but what spec/member_options.def says: our name, and a number or one of our words. */
#include "proc/compile.h"

typedef enum shape { V_NONE, V_NUMBER, V_LEVEL, V_WORD, V_TEXT, V_FILE } shape;
enum { K_PTX, K_IR };

typedef struct option {
    int kind;
    const char *long_name, *short_name;
    shape takes;
    uint32_t low, high;
    const char *words; /* of a file: the only name that is good */
} option;

/* Those that may reach a compiler come first. */
static const option ROWS[] = {
#define MEMBER_OPTION(kind, long_name, short_name, takes, low, high, words)                                  \
    { K_##kind, long_name, short_name, V_##takes, low, high, words },
#define MEMBER_OPTION_KNOWN(kind, long_name, short_name, takes)
#define MEMBER_OPTION_FILE(kind, long_name, short_name, file)
#include "member_options.def"
#undef MEMBER_OPTION
#undef MEMBER_OPTION_KNOWN
#undef MEMBER_OPTION_FILE
#define MEMBER_OPTION(kind, long_name, short_name, takes, low, high, words)
#define MEMBER_OPTION_KNOWN(kind, long_name, short_name, takes)                                              \
    { K_##kind, long_name, short_name, V_##takes, 0, 0, "" },
#define MEMBER_OPTION_FILE(kind, long_name, short_name, file)                                                \
    { K_##kind, long_name, short_name, V_FILE, 0, 0, file },
#include "member_options.def"
#undef MEMBER_OPTION
#undef MEMBER_OPTION_KNOWN
#undef MEMBER_OPTION_FILE
};

enum {
    N_ROWS = 0
#define MEMBER_OPTION(kind, long_name, short_name, takes, low, high, words) +1
#define MEMBER_OPTION_KNOWN(kind, long_name, short_name, takes)
#define MEMBER_OPTION_FILE(kind, long_name, short_name, file)
#include "member_options.def"
#undef MEMBER_OPTION
#undef MEMBER_OPTION_KNOWN
#undef MEMBER_OPTION_FILE
};

#define N_KNOWN CV_COUNT(ROWS)

/* One option of the text. */
typedef struct option_item {
    uint64_t at, len; /* all of it, in the text */
    size_t row;       /* the number of rows: unknown */
    bool valid;       /* its value is one that it takes */
    uint64_t value_at, value_len;
} option_item;

/* The last valid occurrence of each option: the one that counts. */
typedef struct last_valid {
    uint32_t at, value_at, value_len; /* at + 1; 0: none */
} last_valid;

static bool is_blank(uint8_t letter)
{
    return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static uint64_t skip_blanks(cv_span span, uint64_t at)
{
    while (at < span.len && is_blank(cv_u8_at(span, at)))
        at++;
    return at;
}

/* End of the word at 'at'; quotation marks hold it together, as they did when it was written. */
static uint64_t find_word_end(cv_span span, uint64_t at)
{
    bool quoted = false;

    for (; at < span.len; at++) {
        uint8_t letter = cv_u8_at(span, at);

        if (letter == '"')
            quoted = !quoted;
        else if (!quoted && is_blank(letter))
            break;
    }
    return at;
}

static cv_span get_part(cv_span span, uint64_t at, uint64_t len)
{
    cv_span out = { NULL, 0, span.off };

    return cv_span_sub(span, at, len, &out) ? out : (cv_span){ NULL, 0, span.off };
}

/* How a word begins with this name: 0 not at all, otherwise the bytes up to its value; *given: it has one. */
static uint64_t match_name(cv_span word, const char *dashes, const char *name, bool attached, bool *given)
{
    cv_span rest, value;

    if (!cv_span_after(word, dashes, &rest) || !cv_span_after(rest, name, &value))
        return 0;
    *given = true;
    if (cv_u8_at(value, 0) == '=' && value.len > 0)
        return word.len - value.len + 1;
    if (attached && cv_u8_at(value, 0) >= '0' && cv_u8_at(value, 0) <= '9')
        return word.len - value.len;
    *given = false;
    return value.len == 0 ? word.len : 0;
}

/* Row of a word among the first 'rows', or their number. *value: where its value begins in the word; *next:
 * the value is the next word. */
static size_t find_row(cv_span word, int kind, size_t rows, uint64_t *value, bool *next)
{
    for (size_t i = 0; i < rows; i++) {
        const option *row = &CV_AT(ROWS, i);
        bool given = false;

        /* A scan of LTO-IR knows both kinds: fatbinary keeps what ptxas is given there when it is told no
         * more. */
        if (row->kind != kind && (kind != K_IR || rows != N_KNOWN))
            continue;
        *value = match_name(word, row->kind == K_IR ? "-" : "--", row->long_name, false, &given);
        *next = *value && !given && row->takes != V_NONE;
        if (!*value) {
            *value = match_name(word, "-", row->short_name, row->takes == V_LEVEL, &given);
            /* ptxas takes "-O 2" for a file named 2. */
            *next = *value && !given && row->takes != V_NONE && row->takes != V_LEVEL;
        }
        /* "-g=" is no "-g": its sign is part of a value that it does not take. */
        *value -= given && row->takes == V_NONE;
        if (*value)
            return i;
    }
    *value = 0;
    *next = false;
    return rows;
}

static bool is_among(const char *words, cv_span value)
{
    cv_span left = cv_span_of(words, 0, 0), word;

    while (words[left.len])
        left.len++;
    while (left.len > 0) {
        uint64_t count = cv_span_find_byte(left, ' ');

        if (cv_span_sub(left, 0, count, &word) && cv_span_eq(word, value))
            return true;
        left = cv_span_tail(left, count + 1);
    }
    return false;
}

static bool is_valid_value(const option *row, cv_span value)
{
    uint64_t end = 0;
    uint32_t count = 0;

    if (row->takes == V_NONE)
        return value.len == 0;
    if (value.len > 0 && is_among(row->words, value))
        return true;
    if (row->takes == V_WORD || !cv_span_decimal(value, 0, &count, &end) || end != value.len)
        return false;
    /* "010" is eight to some. */
    return count >= row->low && count <= row->high && (value.len == 1 || cv_u8_at(value, 0) != '0');
}

/* The option at or behind 'at'; false: none left. */
static bool next_item(cv_span text, int kind, size_t rows, uint64_t at, option_item *out)
{
    uint64_t begin = skip_blanks(text, at), end = find_word_end(text, begin), after, value = 0;
    option_item item = { .at = begin, .row = rows };
    bool next = false, dash;
    cv_span word;

    if (begin >= text.len)
        return false;
    word = get_part(text, begin, end - begin);
    item.row = find_row(word, kind, rows, &value, &next);
    item.value_at = begin + value;
    item.value_len = end - item.value_at;
    after = skip_blanks(text, end);
    dash = cv_u8_at(text, after) == '-';
    /* An unknown option may have a value behind it as well: one finding, not two. */
    if (item.row == rows)
        next = cv_u8_at(word, 0) == '-' && cv_span_find_byte(word, '=') == word.len;
    if (next && after < text.len && !dash) {
        item.value_at = after;
        end = find_word_end(text, after);
        item.value_len = end - after;
    }
    item.len = end - begin;
    item.valid =
        item.row < rows && is_valid_value(&ROWS[item.row], get_part(text, item.value_at, item.value_len));
    *out = item;
    return true;
}

static bool emit_option(cv_ctx *ctx, const option *row, cv_span value, cv_u8s *out)
{
    bool ok = cv_u8s_push(&ctx->mem, out, '-') && (row->kind == K_IR || cv_u8s_push(&ctx->mem, out, '-'));

    for (const char *copy = row->long_name; ok && *copy; copy++)
        ok = cv_u8s_push(&ctx->mem, out, (uint8_t)*copy);
    if (ok && row->takes != V_NONE)
        ok = cv_u8s_push(&ctx->mem, out, '=');
    for (uint64_t i = 0; ok && i < value.len; i++)
        ok = cv_u8s_push(&ctx->mem, out, cv_u8_at(value, i));
    return ok && cv_u8s_push(&ctx->mem, out, 0);
}

/* Options that the caller gives, in any of their spellings. */
static void find_caller(const cv_u8s *caller, int kind, bool *given)
{
    cv_span all = cv_span_of(caller->items, caller->count, 0), word;
    uint64_t at = 0, value;
    bool next;

    while (cv_span_cstr(all, at, &word)) {
        size_t row = find_row(word, kind, N_ROWS, &value, &next);

        if (row < N_ROWS)
            given[row] = true;
        at += word.len + 1;
    }
}

/* What to do with one option: reported, passed on, or (a repetition of what counts anyway) neither. */
static cuvet_status choose_last(cv_ctx *ctx, cv_span text, const option_item *item, const last_valid *last,
                                bool caller, cv_u8s *out)
{
    uint64_t off = text.off + item->at;
    cv_span value = get_part(text, item->value_at, item->value_len);

    if (item->row == N_ROWS) {
        cv_report(ctx, CV_R_COMPILE_OPTION_UNKNOWN, off, item->len, item->len, 0);
    } else if (!item->valid) {
        cv_report(ctx, CV_R_COMPILE_OPTION_VALUE, off, item->len, item->value_len, 0);
    } else if (caller) {
        cv_report(ctx, CV_R_COMPILE_OPTION_CALLER, off, item->len, 0, 0);
    } else if (last->at != item->at + 1) {
        if (!cv_span_eq(value, get_part(text, last->value_at, last->value_len)))
            cv_report(ctx, CV_R_COMPILE_OPTION_TWICE, off, item->len, 0, text.off + last->at - 1);
    } else if (!emit_option(ctx, &ROWS[item->row], value, out)) {
        return cv_nomem(ctx, off);
    }
    return CUVET_OK;
}

cuvet_status cv_member_options(cv_ctx *ctx, cv_span text, bool ltoir, const cv_u8s *caller, cv_u8s *out)
{
    int kind = ltoir ? K_IR : K_PTX;
    bool given[N_ROWS] = { false };
    last_valid seen[N_ROWS] = { { 0 } };
    cuvet_status status = CUVET_OK;
    option_item item;

    /* Its descriptor has 32 bits for the length, and limits.header_area is far below. */
    if (CV_NEVER(text.len >= UINT32_MAX))
        return CUVET_E_INTERNAL;
    find_caller(caller, kind, given);
    for (uint64_t at = 0; next_item(text, kind, N_ROWS, at, &item); at = item.at + item.len) {
        if (!cv_work(ctx, 1, text.off + item.at))
            return cv_cancelled(ctx) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (item.valid)
            seen[item.row] =
                (last_valid){ (uint32_t)item.at + 1, (uint32_t)item.value_at, (uint32_t)item.value_len };
    }
    for (uint64_t at = 0; status == CUVET_OK && next_item(text, kind, N_ROWS, at, &item);
         at = item.at + item.len) {
        size_t row = item.row < N_ROWS ? item.row : 0;

        status = choose_last(ctx, text, &item, &seen[row], given[row], out);
    }
    return status;
}

/* A value that is no file, no quotation and no second word to anybody. */
static bool is_plain(cv_span value)
{
    static const char OTHERS[] = "_$%,.+:-";

    for (uint64_t index = 0; index < value.len; index++) {
        uint8_t letter = cv_u8_at(value, index);
        bool other = false;

        for (const char *at = OTHERS; *at; at++)
            other = other || letter == (uint8_t)*at;
        if (!other && !(letter >= '0' && letter <= '9') &&
            !((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z'))
            return false;
    }
    return true;
}

/* Is the file of this name what the value names, wherever it lies? The name may be in quotation marks. */
static bool names_file(const char *name, cv_span value)
{
    cv_span end = value, want = cv_span_of(name, 0, 0);

    while (name[want.len])
        want.len++;
    if (end.len > 1 && cv_u8_at(end, 0) == '"' && cv_u8_at(end, end.len - 1) == '"')
        end = get_part(end, 1, end.len - 2);
    if (want.len == 0 || cv_span_find_byte(end, '"') != end.len || end.len <= want.len ||
        cv_u8_at(end, end.len - want.len - 1) != '/')
        return false;
    return cv_span_eq(cv_span_tail(end, end.len - want.len), want);
}

/* Eight bytes from 'at' on, for a message, which ends where zero bytes begin. */
static uint64_t get_letters(cv_span text, uint64_t at)
{
    uint64_t letters = 0;

    for (uint64_t index = 0; index < 8 && at + index < text.len; index++)
        letters |= (uint64_t)(cv_u8_at(text, at + index) ? cv_u8_at(text, at + index) : '?') << (8 * index);
    return letters;
}

static cv_rule judge_item(cv_span text, const option_item *item)
{
    cv_span value = get_part(text, item->value_at, item->value_len);
    const option *row = item->row < N_KNOWN ? &CV_AT(ROWS, item->row) : NULL;

    if (!row)
        return CV_R_FATBIN_OPTION_UNKNOWN;
    if (row->takes == V_FILE)
        return names_file(row->words, value) ? CV_N_RULES : CV_R_FATBIN_OPTION_FILE;
    return (row->takes == V_NONE ? value.len == 0 : is_plain(value)) ? CV_N_RULES
                                                                     : CV_R_FATBIN_OPTION_UNKNOWN;
}

void cv_member_options_look(cv_ctx *ctx, cv_span text, bool ltoir)
{
    option_item item;

    for (uint64_t at = 0; next_item(text, ltoir ? K_IR : K_PTX, N_KNOWN, at, &item);
         at = item.at + item.len) {
        cv_span all;
        cv_rule rule;

        /* Each word is compared with every row. */
        if (!cv_work(ctx, 16, text.off + item.at))
            return;
        rule = judge_item(text, &item);
        all = get_part(text, item.at, item.len);
        if (rule != CV_N_RULES)
            cv_report(ctx, rule, all.off, all.len, get_letters(all, 0), get_letters(all, 8));
    }
}

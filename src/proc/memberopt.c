/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options of a member: a stranger's bytes on their way to a command line. What is passed on is never a copy
 * of them but what spec/member_options.def says: our name, and a number or one of our words. */
#include "proc/compile.h"

typedef enum shape { V_NONE, V_NUMBER, V_LEVEL, V_WORD } shape;
enum { K_PTX, K_IR };

typedef struct option {
    int kind;
    const char *lng, *shrt;
    shape takes;
    uint32_t low, high;
    const char *words;
} option;

static const option ROWS[] = {
#define MEMBER_OPTION(kind, lng, shrt, takes, low, high, words)                                              \
    { K_##kind, lng, shrt, V_##takes, low, high, words },
#include "member_options.def"
#undef MEMBER_OPTION
};

#define N_ROWS CV_COUNT(ROWS)

/* One option of the text. */
typedef struct item {
    uint64_t at, len; /* all of it, in the text */
    size_t row;       /* N_ROWS: unknown */
    bool valid;       /* its value is one that it takes */
    uint64_t value_at, value_len;
} item;

/* The last valid occurrence of each option: the one that counts. */
typedef struct last {
    uint32_t at, value_at, value_len; /* at + 1; 0: none */
} last;

static bool blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static uint64_t skip_blanks(cv_span s, uint64_t at)
{
    while (at < s.len && blank(cv_u8_at(s, at)))
        at++;
    return at;
}

/* End of the word at 'at'; quotation marks hold it together, as they did when it was written. */
static uint64_t word_end(cv_span s, uint64_t at)
{
    bool quoted = false;

    for (; at < s.len; at++) {
        uint8_t c = cv_u8_at(s, at);

        if (c == '"')
            quoted = !quoted;
        else if (!quoted && blank(c))
            break;
    }
    return at;
}

static cv_span part(cv_span s, uint64_t at, uint64_t len)
{
    cv_span out = { NULL, 0, s.off };

    return cv_span_sub(s, at, len, &out) ? out : (cv_span){ NULL, 0, s.off };
}

/* How a word begins with this name: 0 not at all, otherwise the bytes up to its value; *given: it has one. */
static uint64_t match(cv_span word, const char *dashes, const char *name, bool attached, bool *given)
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

/* Row of a word, or N_ROWS. *value: where its value begins in the word; *next: the value is the next word. */
static size_t find(cv_span word, int kind, uint64_t *value, bool *next)
{
    for (size_t i = 0; i < N_ROWS; i++) {
        const option *r = &ROWS[i];
        bool given = false;

        if (r->kind != kind)
            continue;
        *value = match(word, kind == K_IR ? "-" : "--", r->lng, false, &given);
        *next = *value && !given && r->takes != V_NONE;
        if (!*value) {
            *value = match(word, "-", r->shrt, r->takes == V_LEVEL, &given);
            /* ptxas takes "-O 2" for a file named 2. */
            *next = *value && !given && r->takes != V_NONE && r->takes != V_LEVEL;
        }
        /* "-g=" is no "-g": its sign is part of a value that it does not take. */
        *value -= given && r->takes == V_NONE;
        if (*value)
            return i;
    }
    return N_ROWS;
}

static bool among(const char *words, cv_span v)
{
    cv_span left = cv_span_of(words, 0, 0), word;

    while (words[left.len])
        left.len++;
    while (left.len > 0) {
        uint64_t n = cv_span_find_byte(left, ' ');

        if (cv_span_sub(left, 0, n, &word) && cv_span_eq(word, v))
            return true;
        left = cv_span_tail(left, n + 1);
    }
    return false;
}

static bool takes(const option *r, cv_span v)
{
    uint64_t end = 0;
    uint32_t n = 0;

    if (r->takes == V_NONE)
        return v.len == 0;
    if (v.len > 0 && among(r->words, v))
        return true;
    if (r->takes == V_WORD || !cv_span_decimal(v, 0, &n, &end) || end != v.len)
        return false;
    /* "010" is eight to some. */
    return n >= r->low && n <= r->high && (v.len == 1 || cv_u8_at(v, 0) != '0');
}

/* The option at or behind 'at'; false: none left. */
static bool next_item(cv_span text, int kind, uint64_t at, item *out)
{
    uint64_t begin = skip_blanks(text, at), end = word_end(text, begin), after, value = 0;
    item it = { .at = begin, .row = N_ROWS };
    bool next = false, dash;
    cv_span word;

    if (begin >= text.len)
        return false;
    word = part(text, begin, end - begin);
    it.row = find(word, kind, &value, &next);
    it.value_at = begin + value;
    it.value_len = end - it.value_at;
    after = skip_blanks(text, end);
    dash = cv_u8_at(text, after) == '-';
    /* An unknown option may have a value behind it as well: one finding, not two. */
    if (it.row == N_ROWS)
        next = cv_u8_at(word, 0) == '-' && cv_span_find_byte(word, '=') == word.len;
    if (next && after < text.len && !dash) {
        it.value_at = after;
        end = word_end(text, after);
        it.value_len = end - after;
    }
    it.len = end - begin;
    it.valid = it.row < N_ROWS && takes(&ROWS[it.row], part(text, it.value_at, it.value_len));
    *out = it;
    return true;
}

static bool emit(cv_ctx *x, const option *r, cv_span v, cv_u8s *out)
{
    bool ok = cv_u8s_push(&x->mem, out, '-') && (r->kind == K_IR || cv_u8s_push(&x->mem, out, '-'));

    for (const char *p = r->lng; ok && *p; p++)
        ok = cv_u8s_push(&x->mem, out, (uint8_t)*p);
    if (ok && r->takes != V_NONE)
        ok = cv_u8s_push(&x->mem, out, '=');
    for (uint64_t i = 0; ok && i < v.len; i++)
        ok = cv_u8s_push(&x->mem, out, cv_u8_at(v, i));
    return ok && cv_u8s_push(&x->mem, out, 0);
}

/* Options that the caller gives, in any of their spellings. */
static void find_caller(const cv_u8s *caller, int kind, bool *given)
{
    cv_span all = cv_span_of(caller->v, caller->n, 0), word;
    uint64_t at = 0, value;
    bool next;

    while (cv_span_cstr(all, at, &word)) {
        size_t row = find(word, kind, &value, &next);

        if (row < N_ROWS)
            given[row] = true;
        at += word.len + 1;
    }
}

/* What to do with one option: reported, passed on, or (a repetition of what counts anyway) neither. */
static cuvet_status settle(cv_ctx *x, cv_span text, const item *it, const last *l, bool caller, cv_u8s *out)
{
    uint64_t off = text.off + it->at;
    cv_span v = part(text, it->value_at, it->value_len);

    if (it->row == N_ROWS) {
        cv_report(x, CV_R_COMPILE_OPTION_UNKNOWN, off, it->len, it->len, 0);
    } else if (!it->valid) {
        cv_report(x, CV_R_COMPILE_OPTION_VALUE, off, it->len, it->value_len, 0);
    } else if (caller) {
        cv_report(x, CV_R_COMPILE_OPTION_CALLER, off, it->len, 0, 0);
    } else if (l->at != it->at + 1) {
        if (!cv_span_eq(v, part(text, l->value_at, l->value_len)))
            cv_report(x, CV_R_COMPILE_OPTION_TWICE, off, it->len, 0, text.off + l->at - 1);
    } else if (!emit(x, &ROWS[it->row], v, out)) {
        return cv_nomem(x, off);
    }
    return CUVET_OK;
}

cuvet_status cv_member_options(cv_ctx *x, cv_span text, bool ltoir, const cv_u8s *caller, cv_u8s *out)
{
    int kind = ltoir ? K_IR : K_PTX;
    bool given[N_ROWS] = { false };
    last seen[N_ROWS] = { { 0 } };
    cuvet_status s = CUVET_OK;
    item it;

    /* Its descriptor has 32 bits for the length, and limits.header_area is far below. */
    if (CV_NEVER(text.len >= UINT32_MAX))
        return CUVET_E_INTERNAL;
    find_caller(caller, kind, given);
    for (uint64_t at = 0; next_item(text, kind, at, &it); at = it.at + it.len) {
        if (!cv_work(x, 1, text.off + it.at))
            return cv_cancelled(x) ? CUVET_E_CANCELLED : CUVET_E_LIMIT;
        if (it.valid)
            seen[it.row] = (last){ (uint32_t)it.at + 1, (uint32_t)it.value_at, (uint32_t)it.value_len };
    }
    for (uint64_t at = 0; s == CUVET_OK && next_item(text, kind, at, &it); at = it.at + it.len) {
        size_t row = it.row < N_ROWS ? it.row : 0;

        s = settle(x, text, &it, &seen[row], given[row], out);
    }
    return s;
}

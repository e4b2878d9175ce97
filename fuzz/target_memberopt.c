/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Options of a member on their way to a compiler. A second reading of spec/member_options.def, word by word
 * instead of byte by byte, must come to the same list; nothing that the broker would refuse comes out; and
 * what came out, read again, is taken as it is.
 *
 * The input is the text. With bit 9 of the parameters the options of the caller stand before it, each with
 * its NUL, up to an empty one. Bit 8: the text of an LTO-IR member. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "proc/compile.h"

enum { IS_PTX, IS_IR, TAKES_NONE, TAKES_NUMBER, TAKES_LEVEL, TAKES_WORD };

static const struct spec {
    int kind;
    const char *lng, *shrt;
    int takes;
    long low, high;
    const char *words;
} SPEC[] = {
#define MEMBER_OPTION(kind, lng, shrt, takes, low, high, words)                                              \
    { IS_##kind, lng, shrt, TAKES_##takes, low, high, words },
#define MEMBER_OPTION_KNOWN(kind, lng, shrt, takes)
#define MEMBER_OPTION_FILE(kind, lng, shrt, name)
#include "member_options.def"
#undef MEMBER_OPTION_FILE
#undef MEMBER_OPTION_KNOWN
#undef MEMBER_OPTION
};

#define N_SPEC (sizeof(SPEC) / sizeof(SPEC[0]))

typedef struct memberopt_word {
    const char *at;
    size_t size;
} memberopt_word;

/* One option, as the model reads it. */
typedef struct memberopt_reading {
    size_t spec; /* N_SPEC: unknown */
    memberopt_word value;
    bool valid;
    size_t words; /* 1 or 2 */
} memberopt_reading;

static bool is_blank(char ch)
{
    return ch && strchr(" \t\n\v\f\r", ch);
}

static bool begins(memberopt_word word, const char *prefix, memberopt_word *rest)
{
    size_t len = strlen(prefix);

    if (word.size < len || memcmp(word.at, prefix, len) != 0)
        return false;
    *rest = (memberopt_word){ word.at + len, word.size - len };
    return true;
}

/* The words of a text: quotation marks hold blanks. @return their number */
static size_t split(const char *text, size_t len, memberopt_word *out)
{
    size_t count = 0;

    for (size_t i = 0; i < len;) {
        bool quoted = false;
        size_t from = i;

        if (is_blank(text[i])) {
            i++;
            continue;
        }
        for (; i < len && (quoted || !is_blank(text[i])); i++)
            quoted ^= text[i] == '"';
        out[count++] = (memberopt_word){ text + from, i - from };
    }
    return count;
}

static bool value_fits(const struct spec *other_spec, memberopt_word word)
{
    char text[32];
    const char *words = other_spec->words;
    char *end;
    long number;

    if (other_spec->takes == TAKES_NONE)
        return word.size == 0;
    if (word.size == 0 || word.size >= sizeof(text) || memchr(word.at, '\0', word.size) ||
        memchr(word.at, ' ', word.size))
        return false;
    memcpy(text, word.at, word.size);
    text[word.size] = '\0';
    while (*words) { /* one of its words? */
        size_t len = strcspn(words, " ");

        if (len == word.size && memcmp(words, text, len) == 0)
            return true;
        words += len + (words[len] == ' ');
    }
    if (other_spec->takes == TAKES_WORD || strspn(text, "0123456789") != word.size ||
        (text[0] == '0' && word.size > 1))
        return false;
    number = word.size < 10 ? strtol(text, &end, 10) : other_spec->high + 1;
    return number >= other_spec->low && number <= other_spec->high;
}

/* @param own: the value has to be in the word itself */
static memberopt_reading read_word(memberopt_word word, const memberopt_word *next, int kind)
{
    memberopt_reading reading = { .spec = N_SPEC, .words = 1 };
    bool given = false, follows = false;

    for (size_t i = 0; i < N_SPEC && reading.spec == N_SPEC; i++) {
        const struct spec *spec = &SPEC[i];
        memberopt_word name, rest = { 0 };
        bool is_long = begins(word, kind == IS_IR ? "-" : "--", &name) && begins(name, spec->lng, &rest) &&
                       (rest.size == 0 || rest.at[0] == '=');
        bool is_short = !is_long && begins(word, "-", &name) && begins(name, spec->shrt, &rest) &&
                        (rest.size == 0 || rest.at[0] == '=' ||
                         (spec->takes == TAKES_LEVEL && rest.at[0] >= '0' && rest.at[0] <= '9'));

        if (spec->kind != kind || (!is_long && !is_short))
            continue;
        reading.spec = i;
        given = rest.size > 0;
        /* A flag takes no value: with one, its sign is part of what it does not take. */
        reading.value = rest;
        if (given && rest.at[0] == '=' && spec->takes != TAKES_NONE)
            reading.value = (memberopt_word){ rest.at + 1, rest.size - 1 };
        follows = !given && spec->takes != TAKES_NONE && (is_long || spec->takes != TAKES_LEVEL);
    }
    if (reading.spec == N_SPEC)
        follows = word.at[0] == '-' && !memchr(word.at, '=', word.size);
    if (follows && next && next->at[0] != '-') {
        reading.value = *next;
        reading.words = 2;
    }
    reading.valid = reading.spec < N_SPEC && value_fits(&SPEC[reading.spec], reading.value);
    return reading;
}

/* What the model passes on, each with its NUL. @return bytes; *findings: options that are reported */
static size_t model(const char *text, size_t len, int kind, const bool *caller, char *out, uint64_t *findings)
{
    memberopt_word *words = malloc((len + 1) * sizeof(*words));
    size_t count, used = 0, last[N_SPEC];
    memberopt_word wins[N_SPEC] = { { NULL, 0 } };

    FZ_CHECK(words != NULL, "memory");
    count = split(text, len, words);
    *findings = 0;
    for (size_t i = 0; i < N_SPEC; i++)
        last[i] = SIZE_MAX;
    for (size_t i = 0; i < count;) {
        memberopt_reading reading = read_word(words[i], i + 1 < count ? &words[i + 1] : NULL, kind);

        if (reading.valid) {
            last[reading.spec] = i;
            wins[reading.spec] = reading.value;
        }
        i += reading.words;
    }
    for (size_t i = 0; i < count;) {
        memberopt_reading reading = read_word(words[i], i + 1 < count ? &words[i + 1] : NULL, kind);
        bool best = reading.valid && last[reading.spec] == i;

        if (!reading.valid || caller[reading.spec]) {
            ++*findings;
        } else if (!best) {
            *findings += reading.value.size != wins[reading.spec].size ||
                         memcmp(reading.value.at, wins[reading.spec].at, reading.value.size) != 0;
        } else {
            const struct spec *spec = &SPEC[reading.spec];
            const char *parts[] = { kind == IS_IR ? "-" : "--", spec->lng,
                                    spec->takes == TAKES_NONE ? "" : "=" };

            for (size_t k = 0; k < 3; k++) {
                memcpy(out + used, parts[k], strlen(parts[k]));
                used += strlen(parts[k]);
            }
            memcpy(out + used, reading.value.at ? reading.value.at : "", reading.value.size);
            used += reading.value.size;
            out[used++] = '\0';
        }
        i += reading.words;
    }
    free(words);
    return used;
}

/* Nothing that the broker of the command would hang up at, and one line of ASCII each. */
static void all_allowed(const cv_u8s *out, bool ltoir)
{
    static const cli_broker_rules NO_OWN = { .options = UINT64_MAX };

    FZ_CHECK(out->count == 0 || out->items[out->count - 1] == 0, "each option ends in NUL");
    for (size_t at = 0; at < out->count;) {
        const char *option = (const char *)out->items + at;

        FZ_CHECK(cli_broker_option_ok(&NO_OWN, option, ltoir), "the broker takes what is passed on");
        for (const char *text = option; *text; text++)
            FZ_CHECK(*text > ' ' && *text < 0x7f && *text != '"' && *text != '\'' && *text != '/' &&
                         *text != '@',
                     "no byte that means something to somebody");
        at += strlen(option) + 1;
    }
}

/* Read again it is the same, without a word. */
static void again(fz_state *fuzz, const cv_u8s *out, bool ltoir)
{
    cv_u8s joined = { 0 }, second = { 0 }, none = { 0 };
    uint64_t before = fz_reported(fuzz);
    bool ok = true;

    for (size_t i = 0; ok && i < out->count; i++)
        ok = cv_u8s_push(&fuzz->ctx.mem, &joined, out->items[i] ? out->items[i] : ' ');
    if (ok && cv_member_options(&fuzz->ctx, cv_span_of(joined.items, joined.count, fuzz->base), ltoir, &none,
                                &second) == CUVET_OK) {
        FZ_CHECK(fz_reported(fuzz) == before, "our own spelling is no finding");
        FZ_CHECK(second.count == out->count &&
                     (out->count == 0 || memcmp(second.items, out->items, out->count) == 0),
                 "our own spelling stays as it is");
    }
    cv_u8s_free(&fuzz->ctx.mem, &joined);
    cv_u8s_free(&fuzz->ctx.mem, &second);
}

static void compare(const fz_state *fuzz, cv_span text, const cv_u8s *caller, const cv_u8s *out, bool ltoir,
                    uint64_t found)
{
    const size_t room = text.len + 1;
    char *want = malloc(room * 40 + 64); /* a short name becomes a long one */
    const int kind = ltoir ? IS_IR : IS_PTX;
    bool given[N_SPEC] = { false };
    uint64_t findings;
    size_t nth;

    FZ_CHECK(want != NULL, "memory");
    for (size_t at = 0; at < caller->count;) {
        size_t len = strlen((const char *)caller->items + at);
        memberopt_reading reading =
            len ? read_word((memberopt_word){ (const char *)caller->items + at, len }, NULL, kind)
                : (memberopt_reading){ .spec = N_SPEC };

        if (reading.spec < N_SPEC)
            given[reading.spec] = true;
        at += len + 1;
    }
    nth = model((const char *)fuzz->in->bytes + (text.off - fuzz->base), text.len, kind, given, want,
                &findings);
    FZ_CHECK(nth == out->count && (nth == 0 || memcmp(want, out->items, nth) == 0),
             "the same options as the model");
    FZ_CHECK(findings == found, "as many findings as the model");
    free(want);
}

/* The options of the caller, where there are any. @return bytes of them */
static size_t take_caller(fz_state *fuzz, cv_u8s *caller)
{
    size_t at = 0, count = fuzz->in->len;

    if (!(fuzz->in->param & 1u << 9))
        return 0;
    while (at < count && fuzz->in->bytes[at]) {
        size_t len = strnlen((const char *)fuzz->in->bytes + at, count - at);

        if (at + len == count)
            break;
        for (size_t i = 0; i <= len; i++)
            (void)!cv_u8s_push(&fuzz->ctx.mem, caller,
                               fuzz->in->bytes[at + i]); /* fewer, when there is no memory */
        at += len + 1;
    }
    while (caller->count > 0 && caller->items[caller->count - 1] != 0)
        caller->count--;
    return at < count && !fuzz->in->bytes[at] ? at + 1 : at;
}

static void run(fz_state *fuzz)
{
    const bool ltoir = fuzz->in->param & 1u << 8;
    cv_u8s caller = { 0 }, out = { 0 };
    size_t skip = take_caller(fuzz, &caller);
    cv_span text = cv_span_tail(fz_span(fuzz), skip);
    uint64_t before = fz_reported(fuzz);
    cuvet_status status = cv_member_options(&fuzz->ctx, text, ltoir, &caller, &out);

    fz_note(fuzz, status);
    fz_note_bytes(fuzz, out.items, out.count);
    if (status == CUVET_OK) {
        all_allowed(&out, ltoir);
        compare(fuzz, text, &caller, &out, ltoir, fz_reported(fuzz) - before);
        again(fuzz, &out, ltoir);
    } else {
        FZ_CHECK(status == CUVET_E_NOMEM || status == CUVET_E_LIMIT, "nothing else ends it");
    }
    cv_u8s_free(&fuzz->ctx.mem, &caller);
    cv_u8s_free(&fuzz->ctx.mem, &out);
}

CV_FUZZ_TARGET(memberopt)
{
    return fz_twice(data, size, FZ_OFF, run);
}

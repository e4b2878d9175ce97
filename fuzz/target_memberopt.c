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
#include "member_options.def"
#undef MEMBER_OPTION
};

#define N_SPEC (sizeof(SPEC) / sizeof(SPEC[0]))

typedef struct word {
    const char *p;
    size_t n;
} word;

/* One option, as the model reads it. */
typedef struct reading {
    size_t spec; /* N_SPEC: unknown */
    word value;
    bool valid;
    size_t words; /* 1 or 2 */
} reading;

static bool is_blank(char c)
{
    return c && strchr(" \t\n\v\f\r", c);
}

static bool begins(word w, const char *prefix, word *rest)
{
    size_t n = strlen(prefix);

    if (w.n < n || memcmp(w.p, prefix, n) != 0)
        return false;
    *rest = (word){ w.p + n, w.n - n };
    return true;
}

/* The words of a text: quotation marks hold blanks. @return their number */
static size_t split(const char *text, size_t n, word *out)
{
    size_t count = 0;

    for (size_t i = 0; i < n;) {
        bool quoted = false;
        size_t from = i;

        if (is_blank(text[i])) {
            i++;
            continue;
        }
        for (; i < n && (quoted || !is_blank(text[i])); i++)
            quoted ^= text[i] == '"';
        out[count++] = (word){ text + from, i - from };
    }
    return count;
}

static bool value_fits(const struct spec *s, word v)
{
    char text[32];
    const char *words = s->words;
    char *end;
    long number;

    if (s->takes == TAKES_NONE)
        return v.n == 0;
    if (v.n == 0 || v.n >= sizeof(text) || memchr(v.p, '\0', v.n) || memchr(v.p, ' ', v.n))
        return false;
    memcpy(text, v.p, v.n);
    text[v.n] = '\0';
    while (*words) { /* one of its words? */
        size_t len = strcspn(words, " ");

        if (len == v.n && memcmp(words, text, len) == 0)
            return true;
        words += len + (words[len] == ' ');
    }
    if (s->takes == TAKES_WORD || strspn(text, "0123456789") != v.n || (text[0] == '0' && v.n > 1))
        return false;
    number = v.n < 10 ? strtol(text, &end, 10) : s->high + 1;
    return number >= s->low && number <= s->high;
}

/* @param own: the value has to be in the word itself */
static reading read_word(word w, const word *next, int kind)
{
    reading r = { .spec = N_SPEC, .words = 1 };
    bool given = false, follows = false;

    for (size_t i = 0; i < N_SPEC && r.spec == N_SPEC; i++) {
        const struct spec *s = &SPEC[i];
        word name, rest = { 0 };
        bool is_long = begins(w, kind == IS_IR ? "-" : "--", &name) && begins(name, s->lng, &rest) &&
                       (rest.n == 0 || rest.p[0] == '=');
        bool is_short = !is_long && begins(w, "-", &name) && begins(name, s->shrt, &rest) &&
                        (rest.n == 0 || rest.p[0] == '=' ||
                         (s->takes == TAKES_LEVEL && rest.p[0] >= '0' && rest.p[0] <= '9'));

        if (s->kind != kind || (!is_long && !is_short))
            continue;
        r.spec = i;
        given = rest.n > 0;
        /* A flag takes no value: with one, its sign is part of what it does not take. */
        r.value = rest;
        if (given && rest.p[0] == '=' && s->takes != TAKES_NONE)
            r.value = (word){ rest.p + 1, rest.n - 1 };
        follows = !given && s->takes != TAKES_NONE && (is_long || s->takes != TAKES_LEVEL);
    }
    if (r.spec == N_SPEC)
        follows = w.p[0] == '-' && !memchr(w.p, '=', w.n);
    if (follows && next && next->p[0] != '-') {
        r.value = *next;
        r.words = 2;
    }
    r.valid = r.spec < N_SPEC && value_fits(&SPEC[r.spec], r.value);
    return r;
}

/* What the model passes on, each with its NUL. @return bytes; *findings: options that are reported */
static size_t model(const char *text, size_t n, int kind, const bool *caller, char *out, uint64_t *findings)
{
    word *words = malloc((n + 1) * sizeof(*words));
    size_t count, used = 0, last[N_SPEC];
    word wins[N_SPEC] = { { NULL, 0 } };

    FZ_CHECK(words != NULL, "memory");
    count = split(text, n, words);
    *findings = 0;
    for (size_t i = 0; i < N_SPEC; i++)
        last[i] = SIZE_MAX;
    for (size_t i = 0; i < count;) {
        reading r = read_word(words[i], i + 1 < count ? &words[i + 1] : NULL, kind);

        if (r.valid) {
            last[r.spec] = i;
            wins[r.spec] = r.value;
        }
        i += r.words;
    }
    for (size_t i = 0; i < count;) {
        reading r = read_word(words[i], i + 1 < count ? &words[i + 1] : NULL, kind);
        bool best = r.valid && last[r.spec] == i;

        if (!r.valid || caller[r.spec]) {
            ++*findings;
        } else if (!best) {
            *findings += r.value.n != wins[r.spec].n || memcmp(r.value.p, wins[r.spec].p, r.value.n) != 0;
        } else {
            const struct spec *s = &SPEC[r.spec];
            const char *parts[] = { kind == IS_IR ? "-" : "--", s->lng, s->takes == TAKES_NONE ? "" : "=" };

            for (size_t k = 0; k < 3; k++) {
                memcpy(out + used, parts[k], strlen(parts[k]));
                used += strlen(parts[k]);
            }
            memcpy(out + used, r.value.p ? r.value.p : "", r.value.n);
            used += r.value.n;
            out[used++] = '\0';
        }
        i += r.words;
    }
    free(words);
    return used;
}

/* Nothing that the broker of the command would hang up at, and one line of ASCII each. */
static void all_allowed(const cv_u8s *out, bool ltoir)
{
    static const cli_broker_rules NO_OWN = { .options = UINT64_MAX };

    FZ_CHECK(out->n == 0 || out->v[out->n - 1] == 0, "each option ends in NUL");
    for (size_t at = 0; at < out->n;) {
        const char *option = (const char *)out->v + at;

        FZ_CHECK(cli_broker_option_ok(&NO_OWN, option, ltoir), "the broker takes what is passed on");
        for (const char *p = option; *p; p++)
            FZ_CHECK(*p > ' ' && *p < 0x7f && *p != '"' && *p != '\'' && *p != '/' && *p != '@',
                     "no byte that means something to somebody");
        at += strlen(option) + 1;
    }
}

/* Read again it is the same, without a word. */
static void again(fz *f, const cv_u8s *out, bool ltoir)
{
    cv_u8s joined = { 0 }, second = { 0 }, none = { 0 };
    uint64_t before = fz_reported(f);
    bool ok = true;

    for (size_t i = 0; ok && i < out->n; i++)
        ok = cv_u8s_push(&f->x.mem, &joined, out->v[i] ? out->v[i] : ' ');
    if (ok && cv_member_options(&f->x, cv_span_of(joined.v, joined.n, f->base), ltoir, &none, &second) ==
                  CUVET_OK) {
        FZ_CHECK(fz_reported(f) == before, "our own spelling is no finding");
        FZ_CHECK(second.n == out->n && (out->n == 0 || memcmp(second.v, out->v, out->n) == 0),
                 "our own spelling stays as it is");
    }
    cv_u8s_free(&f->x.mem, &joined);
    cv_u8s_free(&f->x.mem, &second);
}

static void compare(const fz *f, cv_span text, const cv_u8s *caller, const cv_u8s *out, bool ltoir,
                    uint64_t found)
{
    const size_t room = text.len + 1;
    char *want = malloc(room * 40 + 64); /* a short name becomes a long one */
    const int kind = ltoir ? IS_IR : IS_PTX;
    bool given[N_SPEC] = { false };
    uint64_t findings;
    size_t n;

    FZ_CHECK(want != NULL, "memory");
    for (size_t at = 0; at < caller->n;) {
        size_t len = strlen((const char *)caller->v + at);
        reading r = len ? read_word((word){ (const char *)caller->v + at, len }, NULL, kind)
                        : (reading){ .spec = N_SPEC };

        if (r.spec < N_SPEC)
            given[r.spec] = true;
        at += len + 1;
    }
    n = model((const char *)f->in->bytes + (text.off - f->base), text.len, kind, given, want, &findings);
    FZ_CHECK(n == out->n && (n == 0 || memcmp(want, out->v, n) == 0), "the same options as the model");
    FZ_CHECK(findings == found, "as many findings as the model");
    free(want);
}

/* The options of the caller, where there are any. @return bytes of them */
static size_t take_caller(fz *f, cv_u8s *caller)
{
    size_t at = 0, n = f->in->len;

    if (!(f->in->param & 1u << 9))
        return 0;
    while (at < n && f->in->bytes[at]) {
        size_t len = strnlen((const char *)f->in->bytes + at, n - at);

        if (at + len == n)
            break;
        for (size_t i = 0; i <= len; i++)
            (void)!cv_u8s_push(&f->x.mem, caller, f->in->bytes[at + i]); /* fewer, when there is no memory */
        at += len + 1;
    }
    while (caller->n > 0 && caller->v[caller->n - 1] != 0)
        caller->n--;
    return at < n && !f->in->bytes[at] ? at + 1 : at;
}

static void run(fz *f)
{
    const bool ltoir = f->in->param & 1u << 8;
    cv_u8s caller = { 0 }, out = { 0 };
    size_t skip = take_caller(f, &caller);
    cv_span text = cv_span_tail(fz_span(f), skip);
    uint64_t before = fz_reported(f);
    cuvet_status s = cv_member_options(&f->x, text, ltoir, &caller, &out);

    fz_note(f, s);
    fz_note_bytes(f, out.v, out.n);
    if (s == CUVET_OK) {
        all_allowed(&out, ltoir);
        compare(f, text, &caller, &out, ltoir, fz_reported(f) - before);
        again(f, &out, ltoir);
    } else {
        FZ_CHECK(s == CUVET_E_NOMEM || s == CUVET_E_LIMIT, "nothing else ends it");
    }
    cv_u8s_free(&f->x.mem, &caller);
    cv_u8s_free(&f->x.mem, &out);
}

CV_FUZZ_TARGET(memberopt)
{
    return fz_twice(data, size, FZ_OFF, run);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a payload is: every probe of the specification, strict and lenient, cut off at every length inside
 * memory that ends with it, every byte changed to every value, and texts against a second implementation. */
#include <check.h>
#include <string.h>

#include "class_oracle.h"
#include "intake/probe.h"
#include "support/guard.h"

#define OFF   UINT64_C(0x300)
#define PROBE UINT64_C(1048576)

static cv_ctx x;
static cuvet_diag last;
static unsigned n_diags;

static void emit(void *user, const cuvet_diag *d)
{
    (void)user;
    last = *d;
    n_diags++;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    x.emit = emit;
    n_diags = 0;
    memset(&last, 0, sizeof(last));
}

#define SAMPLES
#include "class_rows.def"
#undef SAMPLES

typedef struct answer {
    cuvet_status s;
    cuvet_kind type;
} answer;

/* What the routine of the reference said to the same bytes: the type, NO for unknown, or UNMEASURED. */
enum { UNMEASURED = -1, NO = 0 };
/* Where lenient is not what the reference does, and why. */
typedef enum hard {
    SAME = 0,
    OURS /* a kind that the reference does not know */
} hard;

typedef struct row {
    const char *name, *bytes;
    size_t n;
    answer strict;
    cv_rule rule; /* of the strict answer … */
    uint64_t at;  /* … and its place */
    answer lenient;
    int reference;
    hard why;
} row;

#define ROWS
static const row rows[] = {
#include "class_rows.def"
};
#undef ROWS
#define N_ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static const uint8_t *bytes_of(const row *r)
{
    return (const uint8_t *)r->bytes;
}

/* Millions of comparisons: Check writes a line for every assertion that holds, so these ask first. */
#define MUST(cond)                                                                                           \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            ck_abort_msg("%s", #cond);                                                                       \
    } while (0)

static answer ask(const void *p, size_t n, uint64_t probe, bool lenient, cuvet_content_info *i)
{
    cv_class_why why = { .rule = CV_N_RULES };
    cuvet_status s =
        cv_classify_look(cv_span_of(p, n, OFF), probe, lenient ? CUVET_CLASSIFY_LENIENT : 0, i, &why);

    MUST(i->off <= n && i->length <= n - i->off);
    if (s == CUVET_OK)
        return (answer){ s, i->type };
    MUST(why.rule != CV_N_RULES && why.off >= OFF && why.off - OFF <= n && why.len <= n - (why.off - OFF));
    MUST(i->off == 0 && i->length == 0 && i->sm == 0 && !i->capsule && !i->mercury && !i->is32 && !i->thin);
    MUST((s == CUVET_E_TRUNCATED || s == CUVET_E_MALFORMED) == (i->type != CUVET_K_NONE));
    return (answer){ s, i->type };
}

/* The answer is the one of the oracle, in every field. */
static answer compare(const void *p, size_t n, uint64_t probe, bool lenient)
{
    oracle o = oracle_classify(p, n, probe, lenient);
    cuvet_content_info i = { .size = sizeof(i) };
    answer a = ask(p, n, probe, lenient, &i);

    MUST(a.s == o.s && i.type == o.i.type);
    if (a.s == CUVET_OK)
        MUST(i.off == o.i.off && i.length == o.i.length && i.sm == o.i.sm && i.capsule == o.i.capsule &&
             i.mercury == o.i.mercury && i.is32 == o.i.is32 && i.thin == o.i.thin);
    return a;
}

static void compare_both(const void *p, size_t n, uint64_t probe)
{
    answer strict = compare(p, n, probe, false), lenient = compare(p, n, probe, true);

    if (strict.s == CUVET_OK)
        MUST(lenient.s == CUVET_OK && lenient.type == strict.type);
}

/* What the message says besides the place. */
static void check_words(const row *r)
{
    bool eight = r->strict.type == CUVET_K_ARCHIVE || r->bytes[0] == 0;

    if (last.rule == CV_R_CLASS_PTX_NUL || last.rule == CV_R_CLASS_PTX_COMMENT)
        ck_assert_uint_eq(last.got, OFF + r->at);
    if (last.rule != CV_R_CLASS_MAGIC_SHORT)
        return;
    ck_assert_uint_eq(last.got, r->n - r->at);
    ck_assert_uint_eq(last.want, r->strict.type == CUVET_K_PTX ? 9 : eight ? 8 : 4);
}

START_TEST(table)
{
    const row *r = &rows[_i];
    cuvet_content_info i = { .size = sizeof(i) };

    ck_assert_msg(cv_classify(&x, cv_span_of(r->bytes, r->n, OFF), 0, &i) == r->strict.s, "%s", r->name);
    ck_assert_msg(i.type == r->strict.type, "%s", r->name);
    ck_assert_msg(n_diags == (r->strict.s != CUVET_OK), "%s", r->name);
    if (n_diags) {
        ck_assert_msg(last.rule == r->rule, "%s: %s", r->name, cuvet_rule_get(last.rule)->id);
        ck_assert_msg(last.file_off == OFF + r->at, "%s: %u", r->name, (unsigned)(last.file_off - OFF));
        check_words(r);
    }
    n_diags = 0;
    ck_assert_msg(cv_classify(&x, cv_span_of(r->bytes, r->n, OFF), CUVET_CLASSIFY_LENIENT, &i) ==
                      r->lenient.s,
                  "%s, lenient", r->name);
    ck_assert_msg(i.type == r->lenient.type, "%s, lenient", r->name);
    ck_assert_int_eq(n_diags, r->lenient.s != CUVET_OK);
    compare_both(r->bytes, r->n, PROBE);
}
END_TEST

/* Lenient is what the reference said, and a kind that it does not know is one of ours. */
static void legacy_of(const row *r)
{
    bool accepted = r->lenient.s == CUVET_OK;

    if (r->reference == UNMEASURED)
        return;
    if (r->why == OURS) {
        ck_assert(r->reference == NO && accepted && cv_class_number(r->lenient.type) >= 100);
        return;
    }
    ck_assert_msg(accepted == (r->reference != NO), "%s", r->name);
    if (accepted)
        ck_assert_msg((int)cv_class_number(r->lenient.type) == r->reference, "%s", r->name);
}

START_TEST(legacy)
{
    for (int k = 0; k < N_ROWS; k++)
        legacy_of(&rows[k]);
}
END_TEST

/* Every row cut off at every length, in memory that ends there, and in memory that begins there. */
static void every_length_of(const row *r)
{
    guard g;

    guard_open(&g, 4096);
    for (size_t n = 0; n <= 64 && n <= r->n; n++) {
        compare_both(guard_end(&g, r->bytes, n), n, PROBE);
        compare_both(guard_start(&g, r->bytes, n), n, PROBE);
        for (uint64_t probe = 0; probe <= n; probe++)
            compare_both(guard_end(&g, r->bytes, n), n, probe);
    }
    guard_close(&g);
}

START_TEST(every_length)
{
    for (int k = 0; k < N_ROWS; k++)
        every_length_of(&rows[k]);
}
END_TEST

/* Truncated is not unknown: what was accepted stays what it is while two bytes of its magic are there. */
static void truncated_is_not_unknown_of(const row *r)
{
    cuvet_content_info i = { .size = sizeof(i) };

    if (r->strict.s != CUVET_OK || r->strict.type == CUVET_K_PTX)
        return;
    for (size_t n = r->bytes[0] ? 2 : 6; n < r->n; n++) {
        answer a = ask(r->bytes, n, PROBE, false, &i);

        ck_assert_msg(a.s == CUVET_OK || a.s == CUVET_E_TRUNCATED, "%s: %u", r->name, (unsigned)n);
        ck_assert_msg(a.type == r->strict.type || n < CV_CLASS_ELF_LENIENT, "%s: %u", r->name, (unsigned)n);
        ck_assert(a.type != CUVET_K_NONE);
    }
}

START_TEST(truncated_is_not_unknown)
{
    for (int k = 0; k < N_ROWS; k++)
        truncated_is_not_unknown_of(&rows[k]);
}
END_TEST

/* All values of each of the first bytes. */
static void every_byte_of(const row *r)
{
    uint8_t buf[256];

    ck_assert_uint_le(r->n, sizeof(buf));
    for (size_t at = 0; at < 20 && at < r->n; at++)
        for (unsigned v = 0; v < 256; v++) {
            memcpy(buf, bytes_of(r), r->n);
            buf[at] = (uint8_t)v;
            compare_both(buf, r->n, PROBE);
        }
}

START_TEST(every_byte)
{
    for (int k = 0; k < N_ROWS; k++)
        every_byte_of(&rows[k]);
}
END_TEST

/* All values of the header fields that lie behind them. */
static void every_flag_of(const row *r)
{
    static const size_t places[] = { 36, 37, 38, 39, 40, 41, 48, 49, 50, 51, 52, 53 };
    uint8_t buf[256];

    for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
        for (unsigned v = 0; v < 256 && places[k] < r->n; v++) {
            memcpy(buf, bytes_of(r), r->n);
            buf[places[k]] = (uint8_t)v;
            compare_both(buf, r->n, PROBE);
        }
}

START_TEST(every_flag)
{
    for (int k = 0; k < N_ROWS; k++)
        every_flag_of(&rows[k]);
}
END_TEST

static const struct {
    const char *image;
    size_t n;
    uint32_t sm;
    bool capsule, mercury, is32;
} flags[] = {
    { BYTES(ELF64("\x41", CUDA, "\4\x5A\0\6")), 90, false, false, false },
    { BYTES(ELF64("\x41", CUDA, "\2\x64\0\6")), 100, true, false, false },
    { BYTES(ELF64("\x41", CUDA, "\1\x64\0\6")), 100, false, true, false },
    { BYTES(ELF64("\x41", CUDA, "\3\x64\0\6")), 100, true, false, false }, /* both: as with a capsule */
    { BYTES(ELF64("\x41", CUDA, "\0\x79\0\6")), 121, false, false, false },
    { BYTES(ELF64("\x41", CUDA, "\4\1\1\xFF")), 257, false, false, false },
    { BYTES(ELF64("\x33", CUDA, "\x4B\5\x4B\0")), 75, false, false, false },
    { BYTES(ELF64("\x33", CUDA, "\x4B\x45\x4B\0")), 75, true, false, false },
    { BYTES(ELF64("\x33", CUDA, "\x4B\5\x4B\x80")), 75, false, true, false },
    { BYTES(ELF64("\x33", CUDA, "\x4B\x45\x4B\x80")), 75, true, false, false },
    { BYTES(ELF32("\x33", CUDA, "\x14\1\x14\0")), 20, false, false, true },
    { BYTES(ELF64("\0", CUDA, "\4\x5A\0\6")), 0, false, false, false }, /* lenient: no layout, no guess */
    { FIRST(51, ELF64("\x41", CUDA, "\4\x5A\0\6")), 0, false, false, false },
    { FIRST(52, ELF64("\x41", CUDA, "\4\x5A\0\6")), 90, false, false, false },
};

START_TEST(e_flags)
{
    cuvet_content_info i = { .size = sizeof(i) };

    ck_assert_int_eq(ask(flags[_i].image, flags[_i].n, PROBE, true, &i).s, CUVET_OK);
    ck_assert_uint_eq(i.sm, flags[_i].sm);
    ck_assert_int_eq(i.capsule, flags[_i].capsule);
    ck_assert_int_eq(i.mercury, flags[_i].mercury);
    ck_assert_int_eq(i.is32, flags[_i].is32);
    ck_assert(i.off == 0 && i.length == flags[_i].n);
}
END_TEST

/* e_type 0xFF00: code before finalization whatever its flags say, unless there is a capsule. */
START_TEST(mercury_by_type)
{
    uint8_t image[] = ELF64("\x41", CUDA, "\4\x64\0\6");
    cuvet_content_info i = { .size = sizeof(i) };

    image[16] = 0;
    image[17] = 0xFF;
    ck_assert_int_eq(ask(image, 64, PROBE, false, &i).s, CUVET_OK);
    ck_assert(i.mercury && !i.capsule && i.sm == 100);
    image[48] = 2;
    ck_assert_int_eq(ask(image, 64, PROBE, false, &i).s, CUVET_OK);
    ck_assert(!i.mercury && i.capsule);
}
END_TEST

START_TEST(extents)
{
    static const struct {
        const char *bytes;
        size_t n;
        uint64_t off, length;
        unsigned flags;
    } ext[] = {
        { BYTES(FATBIN BODY "next"), 0, 24, 0 },
        { BYTES(FATBIN "\0\0\0\0\0\0\0\0"
                       "next"),
          0, 16, 0 },
        { BYTES(FATBIN BODY "next"), 0, 24, CUVET_CLASSIFY_LENIENT },
        { BYTES(FATBIN "\x0D\0\0\0\0\0\0\0"
                       "next"),
          0, 20, CUVET_CLASSIFY_LENIENT },
        { BYTES(FATBIN), 0, 8, CUVET_CLASSIFY_LENIENT },
        { BYTES("\0\0\0\0\1\x5A\xE5\x1E"
                "rest"),
          4, 8, 0 },
        { BYTES("\1\x5A\xE5\x1E"
                "rest"),
          0, 8, 0 },
        { BYTES(WRAPPER "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                        "more"),
          0, 24, 0 },
        { BYTES(WRAPPER "\0\0\0\0"), 0, 12, CUVET_CLASSIFY_LENIENT },
        { BYTES("// c\n" V " 9\0\0"), 0, 17, 0 },
        { BYTES("!<thin>\n"
                "x"),
          0, 9, 0 },
    };

    for (size_t k = 0; k < sizeof(ext) / sizeof(ext[0]); k++) {
        cuvet_content_info i = { .size = sizeof(i) };

        ck_assert_int_eq(ask(ext[k].bytes, ext[k].n, PROBE, ext[k].flags != 0, &i).s, CUVET_OK);
        ck_assert_uint_eq(i.off, ext[k].off);
        ck_assert_uint_eq(i.length, ext[k].length);
        ck_assert_int_eq(i.thin, i.type == CUVET_K_ARCHIVE);
    }
}
END_TEST

/* --- PTX against the second implementation --- */

static uint32_t state;

static uint32_t next(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void compare_text(const uint8_t *p, size_t n, uint64_t probe)
{
    for (int lenient = 0; lenient < 2; lenient++) {
        oracle o = oracle_ptx(p, n, probe, lenient);
        cuvet_content_info i = { .size = sizeof(i) };

        MUST(ask(p, n, probe, lenient, &i).s == o.s && i.type == o.i.type && i.length == o.i.length);
    }
}

START_TEST(random_texts)
{
    static const struct {
        const char *p;
        size_t n;
    } words[] = { { BYTES("/") },    { BYTES("*") },        { BYTES("\n") },   { BYTES(" ") },
                  { BYTES(".") },    { BYTES("/*") },       { BYTES("*/") },   { BYTES("//") },
                  { BYTES(V) },      { BYTES("version") },  { BYTES(V " ") },  { BYTES("\0") },
                  { BYTES("\\") },   { BYTES("x") },        { BYTES("\xA0") }, { BYTES("/*/") },
                  { BYTES(".ver") }, { BYTES("\t\r\v\f") }, { BYTES("**") },   { BYTES("//\n") } };
    uint64_t ok = 0, cut = 0, bad = 0, limit = 0;
    guard g;

    guard_open(&g, 4096);
    state = 7u + (uint32_t)_i;
    for (unsigned round = 0; round < 60000; round++) {
        uint8_t buf[128];
        size_t n = 0;
        uint64_t probe;
        const uint8_t *p;
        oracle o;

        for (uint32_t k = 1 + next(10); k > 0; k--) {
            uint32_t w = next(sizeof(words) / sizeof(words[0]));

            memcpy(buf + n, words[w].p, words[w].n);
            n += words[w].n;
        }
        probe = next(3) ? PROBE : next(40);
        p = guard_end(&g, buf, n);
        o = oracle_ptx(p, n, probe, false);
        ok += o.s == CUVET_OK;
        cut += o.s == CUVET_E_TRUNCATED;
        bad += o.s == CUVET_E_MALFORMED;
        limit += o.s == CUVET_E_LIMIT;
        compare_text(p, n, probe);
    }
    guard_close(&g);
    ck_assert(ok > 500 && cut > 500 && bad > 500 && limit > 500); /* it is not all refusal */
}
END_TEST

/* Every string of up to seven characters out of those that open and close comments. */
START_TEST(all_short_comments)
{
    static const char letters[] = "/*\n.\0";
    uint8_t buf[7 + 9];
    unsigned total = 1;

    for (size_t n = 0; n <= 7; n++, total *= 5)
        for (unsigned code = 0; code < total; code++) {
            unsigned c = code;

            for (size_t k = 0; k < n; k++, c /= 5)
                buf[k] = (uint8_t)letters[c % 5];
            compare_text(buf, n, PROBE);
            memcpy(buf + n, V " ", 9);
            compare_text(buf, n + 9, PROBE);
        }
}
END_TEST

/* Every byte value before the word and behind it. */
START_TEST(blanks)
{
    for (unsigned v = 0; v < 256; v++) {
        bool blank = v == ' ' || (v >= 9 && v <= 13);
        uint8_t before[] = "?" V " ", behind[] = V "?x";
        cuvet_content_info i = { .size = sizeof(i) };

        before[0] = behind[8] = (uint8_t)v;
        ck_assert_int_eq(ask(before, 10, PROBE, false, &i).s == CUVET_OK, blank);
        ck_assert_int_eq(ask(before, 10, PROBE, true, &i).s == CUVET_OK, blank);
        ck_assert_int_eq(ask(behind, 10, PROBE, false, &i).s == CUVET_OK, blank);
        ck_assert_int_eq(ask(behind, 10, PROBE, true, &i).s, CUVET_OK);
    }
}
END_TEST

/* The probe stops at its limit, one byte before and at every byte of the word; never before. */
START_TEST(limit)
{
    static uint8_t text[8192];
    const struct {
        const char *fill, *close;
    } forms[] = { { " ", "" }, { "/*", "*/" }, { "//", "\n" } };
    size_t form = (size_t)_i, open = strlen(forms[form].fill), word = 4000;
    cuvet_content_info i = { .size = sizeof(i) };

    memset(text, ' ', sizeof(text));
    memset(text, 'c', form ? word : 0);
    memcpy(text, forms[form].fill, open);
    memcpy(text + word - strlen(forms[form].close), forms[form].close, strlen(forms[form].close));
    memcpy(text + word, V " ", 9);
    for (uint64_t probe = 0; probe < word + 9; probe++) {
        x.lim.ptx_probe = probe;
        n_diags = 0;
        ck_assert_int_eq(cv_classify(&x, cv_span_of(text, sizeof(text), OFF), 0, &i), CUVET_E_LIMIT);
        ck_assert_int_eq(i.type, CUVET_K_NONE);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, CV_R_LIMIT_PTX_PROBE);
        ck_assert_uint_eq(last.file_off, OFF + probe);
        ck_assert_uint_eq(last.want, probe);
        x.seen[CV_R_LIMIT_PTX_PROBE] = 0;
    }
    x.lim.ptx_probe = word + 9;
    ck_assert_int_eq(cv_classify(&x, cv_span_of(text, sizeof(text), OFF), 0, &i), CUVET_OK);
    ck_assert_int_eq(i.type, CUVET_K_PTX);
    /* A zero byte behind the probe is for who reads the text. */
    text[word + 20] = 0;
    ck_assert_int_eq(cv_classify(&x, cv_span_of(text, sizeof(text), OFF), 0, &i), CUVET_OK);
    x.lim.ptx_probe = word + 22;
    ck_assert_int_eq(cv_classify(&x, cv_span_of(text, sizeof(text), OFF), 0, &i), CUVET_E_UNKNOWN);
    ck_assert_uint_eq(last.rule, CV_R_CLASS_PTX_NUL);
    ck_assert_uint_eq(last.file_off, OFF + word + 20);
}
END_TEST

Suite *suite_model_classify(void);
Suite *suite_model_classify(void)
{
    Suite *s = suite_create("intake/classify");
    TCase *t = tcase_create("classify");

    tcase_add_checked_fixture(t, setup, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, table, 0, N_ROWS);
    tcase_add_test(t, legacy);
    tcase_add_test(t, every_length);
    tcase_add_test(t, truncated_is_not_unknown);
    tcase_add_test(t, every_byte);
    tcase_add_test(t, every_flag);
    tcase_add_loop_test(t, e_flags, 0, (int)(sizeof(flags) / sizeof(flags[0])));
    tcase_add_test(t, mercury_by_type);
    tcase_add_test(t, extents);
    tcase_add_loop_test(t, random_texts, 0, 4);
    tcase_add_test(t, all_short_comments);
    tcase_add_test(t, blanks);
    tcase_add_loop_test(t, limit, 0, 3);
    suite_add_tcase(s, t);
    return s;
}

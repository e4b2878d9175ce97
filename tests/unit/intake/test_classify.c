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

static cv_ctx ctx;
static cuvet_diag last;
static unsigned n_diags;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    last = *diag;
    n_diags++;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = emit;
    n_diags = 0;
    memset(&last, 0, sizeof(last));
}

#define SAMPLES
#include "class_rows.def"
#undef SAMPLES

typedef struct classify_answer {
    cuvet_status status;
    cuvet_kind type;
} classify_answer;

/* What the routine of the reference said to the same bytes: the type, NO for unknown, or UNMEASURED. */
enum { UNMEASURED = -1, NO = 0 };
/* Where lenient is not what the reference does, and why. */
typedef enum hard {
    SAME = 0,
    OURS /* a kind that the reference does not know */
} hard;

typedef struct classify_row {
    const char *name, *bytes;
    size_t len;
    classify_answer strict;
    cv_rule rule; /* of the strict answer … */
    uint64_t at;  /* … and its place */
    classify_answer lenient;
    int reference;
    hard why;
} classify_row;

#define ROWS
static const classify_row rows[] = {
#include "class_rows.def"
};
#undef ROWS
#define N_ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static const uint8_t *bytes_of(const classify_row *row)
{
    return (const uint8_t *)row->bytes;
}

/* Millions of comparisons: Check writes a line for every assertion that holds, so these ask first. */
#define MUST(cond)                                                                                           \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            ck_abort_msg("%s", #cond);                                                                       \
    } while (0)

static classify_answer ask(const void *block, size_t size, uint64_t probe, bool lenient,
                           cuvet_content_info *info)
{
    cv_class_why why = { .rule = CV_N_RULES };
    cuvet_status status = cv_classify_look(cv_span_of(block, size, OFF), probe,
                                           lenient ? CUVET_CLASSIFY_LENIENT : 0, info, &why);

    MUST(info->off <= size && info->length <= size - info->off);
    if (status == CUVET_OK)
        return (classify_answer){ status, info->type };
    MUST(why.rule != CV_N_RULES && why.off >= OFF && why.off - OFF <= size &&
         why.len <= size - (why.off - OFF));
    MUST(info->off == 0 && info->length == 0 && info->sm == 0 && !(info->flags & CUVET_CLASSIFIED_CAPSULE) &&
         !(info->flags & CUVET_CLASSIFIED_MERCURY) && !(info->flags & CUVET_CLASSIFIED_32BIT) &&
         !(info->flags & CUVET_CLASSIFIED_THIN));
    MUST((status == CUVET_E_TRUNCATED || status == CUVET_E_MALFORMED) == (info->type != CUVET_K_NONE));
    return (classify_answer){ status, info->type };
}

/* The answer is the one of the oracle, in every field. */
static classify_answer compare(const void *block, size_t nth, uint64_t probe, bool lenient)
{
    class_oracle oracle = oracle_classify(block, nth, probe, lenient);
    cuvet_content_info info = { .size = sizeof(info) };
    classify_answer answer = ask(block, nth, probe, lenient, &info);

    MUST(answer.status == oracle.status && info.type == oracle.info.type);
    if (answer.status == CUVET_OK)
        MUST(info.off == oracle.info.off && info.length == oracle.info.length && info.sm == oracle.info.sm &&
             ((info.flags & CUVET_CLASSIFIED_CAPSULE) != 0) ==
                 ((oracle.info.flags & CUVET_CLASSIFIED_CAPSULE) != 0) &&
             ((info.flags & CUVET_CLASSIFIED_MERCURY) != 0) ==
                 ((oracle.info.flags & CUVET_CLASSIFIED_MERCURY) != 0) &&
             ((info.flags & CUVET_CLASSIFIED_32BIT) != 0) ==
                 ((oracle.info.flags & CUVET_CLASSIFIED_32BIT) != 0) &&
             ((info.flags & CUVET_CLASSIFIED_THIN) != 0) ==
                 ((oracle.info.flags & CUVET_CLASSIFIED_THIN) != 0));
    return answer;
}

static void compare_both(const void *block, size_t size, uint64_t probe)
{
    classify_answer strict = compare(block, size, probe, false), lenient = compare(block, size, probe, true);

    if (strict.status == CUVET_OK)
        MUST(lenient.status == CUVET_OK && lenient.type == strict.type);
}

/* What the message says besides the place. */
static void check_words(const classify_row *row)
{
    bool eight = row->strict.type == CUVET_K_ARCHIVE || row->bytes[0] == 0;

    if (last.rule == CV_R_CLASS_PTX_NUL || last.rule == CV_R_CLASS_PTX_COMMENT)
        ck_assert_uint_eq(last.got, OFF + row->at);
    if (last.rule != CV_R_CLASS_MAGIC_SHORT)
        return;
    ck_assert_uint_eq(last.got, row->len - row->at);
    ck_assert_uint_eq(last.want, row->strict.type == CUVET_K_PTX ? 9 : eight ? 8 : 4);
}

START_TEST(table)
{
    const classify_row *row = &rows[_i];
    cuvet_content_info info = { .size = sizeof(info) };

    ck_assert_msg(cv_classify(&ctx, cv_span_of(row->bytes, row->len, OFF), 0, &info) == row->strict.status,
                  "%s", row->name);
    ck_assert_msg(info.type == row->strict.type, "%s", row->name);
    ck_assert_msg(n_diags == (row->strict.status != CUVET_OK), "%s", row->name);
    if (n_diags) {
        ck_assert_msg(last.rule == row->rule, "%s: %s", row->name, cuvet_rule_get(last.rule)->id);
        ck_assert_msg(last.file_off == OFF + row->at, "%s: %u", row->name, (unsigned)(last.file_off - OFF));
        check_words(row);
    }
    n_diags = 0;
    ck_assert_msg(cv_classify(&ctx, cv_span_of(row->bytes, row->len, OFF), CUVET_CLASSIFY_LENIENT, &info) ==
                      row->lenient.status,
                  "%s, lenient", row->name);
    ck_assert_msg(info.type == row->lenient.type, "%s, lenient", row->name);
    ck_assert_int_eq(n_diags, row->lenient.status != CUVET_OK);
    compare_both(row->bytes, row->len, PROBE);
}
END_TEST

/* Lenient is what the reference said, and a kind that it does not know is one of ours. */
static void legacy_of(const classify_row *row)
{
    bool accepted = row->lenient.status == CUVET_OK;

    if (row->reference == UNMEASURED)
        return;
    if (row->why == OURS) {
        ck_assert(row->reference == NO && accepted && cv_class_number(row->lenient.type) >= 100);
        return;
    }
    ck_assert_msg(accepted == (row->reference != NO), "%s", row->name);
    if (accepted)
        ck_assert_msg((int)cv_class_number(row->lenient.type) == row->reference, "%s", row->name);
}

START_TEST(legacy)
{
    for (int k = 0; k < N_ROWS; k++)
        legacy_of(&rows[k]);
}
END_TEST

/* Every row cut off at every length, in memory that ends there, and in memory that begins there. */
static void every_length_of(const classify_row *row)
{
    guard_state guard;

    guard_open(&guard, 4096);
    for (size_t count = 0; count <= 64 && count <= row->len; count++) {
        compare_both(guard_end(&guard, row->bytes, count), count, PROBE);
        compare_both(guard_start(&guard, row->bytes, count), count, PROBE);
        for (uint64_t probe = 0; probe <= count; probe++)
            compare_both(guard_end(&guard, row->bytes, count), count, probe);
    }
    guard_close(&guard);
}

START_TEST(every_length)
{
    for (int k = 0; k < N_ROWS; k++)
        every_length_of(&rows[k]);
}
END_TEST

/* Truncated is not unknown: what was accepted stays what it is while two bytes of its magic are there. */
static void truncated_is_not_unknown_of(const classify_row *row)
{
    cuvet_content_info info = { .size = sizeof(info) };

    if (row->strict.status != CUVET_OK || row->strict.type == CUVET_K_PTX)
        return;
    for (size_t count = row->bytes[0] ? 2 : 6; count < row->len; count++) {
        classify_answer answer = ask(row->bytes, count, PROBE, false, &info);

        ck_assert_msg(answer.status == CUVET_OK || answer.status == CUVET_E_TRUNCATED, "%s: %u", row->name,
                      (unsigned)count);
        ck_assert_msg(answer.type == row->strict.type || count < CV_CLASS_ELF_LENIENT, "%s: %u", row->name,
                      (unsigned)count);
        ck_assert(answer.type != CUVET_K_NONE);
    }
}

START_TEST(truncated_is_not_unknown)
{
    for (int k = 0; k < N_ROWS; k++)
        truncated_is_not_unknown_of(&rows[k]);
}
END_TEST

/* All values of each of the first bytes. */
static void every_byte_of(const classify_row *row)
{
    uint8_t buf[256];

    ck_assert_uint_le(row->len, sizeof(buf));
    for (size_t at = 0; at < 20 && at < row->len; at++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(buf, bytes_of(row), row->len);
            buf[at] = (uint8_t)value;
            compare_both(buf, row->len, PROBE);
        }
}

START_TEST(every_byte)
{
    for (int k = 0; k < N_ROWS; k++)
        every_byte_of(&rows[k]);
}
END_TEST

/* All values of the header fields that lie behind them. */
static void every_flag_of(const classify_row *row)
{
    static const size_t places[] = { 36, 37, 38, 39, 40, 41, 48, 49, 50, 51, 52, 53 };
    uint8_t buf[256];

    for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
        for (unsigned value = 0; value < 256 && places[k] < row->len; value++) {
            memcpy(buf, bytes_of(row), row->len);
            buf[places[k]] = (uint8_t)value;
            compare_both(buf, row->len, PROBE);
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
    size_t len;
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
    cuvet_content_info info = { .size = sizeof(info) };

    ck_assert_int_eq(ask(flags[_i].image, flags[_i].len, PROBE, true, &info).status, CUVET_OK);
    ck_assert_uint_eq(info.sm, flags[_i].sm);
    ck_assert_int_eq((info.flags & CUVET_CLASSIFIED_CAPSULE) != 0, flags[_i].capsule);
    ck_assert_int_eq((info.flags & CUVET_CLASSIFIED_MERCURY) != 0, flags[_i].mercury);
    ck_assert_int_eq((info.flags & CUVET_CLASSIFIED_32BIT) != 0, flags[_i].is32);
    ck_assert(info.off == 0 && info.length == flags[_i].len);
}
END_TEST

/* e_type 0xFF00 with segments: code before finalization whatever its flags say, unless there is a capsule.
 * Without them it is an object of nvcc -ewp. */
START_TEST(mercury_by_type)
{
    uint8_t image[] = ELF64("\x41", CUDA, "\4\x64\0\6");
    cuvet_content_info info = { .size = sizeof(info) };

    image[16] = 0;
    image[17] = 0xFF;
    ck_assert_int_eq(ask(image, 64, PROBE, false, &info).status, CUVET_OK);
    ck_assert(!(info.flags & (CUVET_CLASSIFIED_MERCURY | CUVET_CLASSIFIED_CAPSULE)) && info.sm == 100);
    image[56] = 1; /* e_phnum */
    ck_assert_int_eq(ask(image, 64, PROBE, false, &info).status, CUVET_OK);
    ck_assert((info.flags & CUVET_CLASSIFIED_MERCURY) != 0 && !(info.flags & CUVET_CLASSIFIED_CAPSULE) &&
              info.sm == 100);
    image[48] = 2;
    ck_assert_int_eq(ask(image, 64, PROBE, false, &info).status, CUVET_OK);
    ck_assert(!(info.flags & CUVET_CLASSIFIED_MERCURY) && (info.flags & CUVET_CLASSIFIED_CAPSULE) != 0);
}
END_TEST

START_TEST(extents)
{
    static const struct {
        const char *bytes;
        size_t len;
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
        cuvet_content_info info = { .size = sizeof(info) };

        ck_assert_int_eq(ask(ext[k].bytes, ext[k].len, PROBE, ext[k].flags != 0, &info).status, CUVET_OK);
        ck_assert_uint_eq(info.off, ext[k].off);
        ck_assert_uint_eq(info.length, ext[k].length);
        ck_assert_int_eq((info.flags & CUVET_CLASSIFIED_THIN) != 0, info.type == CUVET_K_ARCHIVE);
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

static void compare_text(const uint8_t *bytes, size_t size, uint64_t probe)
{
    for (int lenient = 0; lenient < 2; lenient++) {
        class_oracle oracle = oracle_ptx(bytes, size, probe, lenient);
        cuvet_content_info info = { .size = sizeof(info) };

        MUST(ask(bytes, size, probe, lenient, &info).status == oracle.status &&
             info.type == oracle.info.type && info.length == oracle.info.length);
    }
}

START_TEST(random_texts)
{
    static const struct {
        const char *at;
        size_t len;
    } words[] = { { BYTES("/") },    { BYTES("*") },        { BYTES("\n") },   { BYTES(" ") },
                  { BYTES(".") },    { BYTES("/*") },       { BYTES("*/") },   { BYTES("//") },
                  { BYTES(V) },      { BYTES("version") },  { BYTES(V " ") },  { BYTES("\0") },
                  { BYTES("\\") },   { BYTES("x") },        { BYTES("\xA0") }, { BYTES("/*/") },
                  { BYTES(".ver") }, { BYTES("\t\r\v\f") }, { BYTES("**") },   { BYTES("//\n") } };
    uint64_t ok = 0, cut = 0, bad = 0, limit = 0;
    guard_state guard;

    guard_open(&guard, 4096);
    state = 7u + (uint32_t)_i;
    for (unsigned round = 0; round < 60000; round++) {
        uint8_t buf[128];
        size_t count = 0;
        uint64_t probe;
        const uint8_t *bytes;
        class_oracle oracle;

        for (uint32_t k = 1 + next(10); k > 0; k--) {
            uint32_t word = next(sizeof(words) / sizeof(words[0]));

            memcpy(buf + count, words[word].at, words[word].len);
            count += words[word].len;
        }
        probe = next(3) ? PROBE : next(40);
        bytes = guard_end(&guard, buf, count);
        oracle = oracle_ptx(bytes, count, probe, false);
        ok += oracle.status == CUVET_OK;
        cut += oracle.status == CUVET_E_TRUNCATED;
        bad += oracle.status == CUVET_E_MALFORMED;
        limit += oracle.status == CUVET_E_LIMIT;
        compare_text(bytes, count, probe);
    }
    guard_close(&guard);
    ck_assert(ok > 500 && cut > 500 && bad > 500 && limit > 500); /* it is not all refusal */
}
END_TEST

/* Every string of up to seven characters out of those that open and close comments. */
START_TEST(all_short_comments)
{
    static const char letters[] = "/*\n.\0";
    uint8_t buf[7 + 9];
    unsigned total = 1;

    for (size_t count = 0; count <= 7; count++, total *= 5)
        for (unsigned code = 0; code < total; code++) {
            unsigned other_code = code;

            for (size_t k = 0; k < count; k++, other_code /= 5)
                buf[k] = (uint8_t)letters[other_code % 5];
            compare_text(buf, count, PROBE);
            memcpy(buf + count, V " ", 9);
            compare_text(buf, count + 9, PROBE);
        }
}
END_TEST

/* Every byte value before the word and behind it. */
START_TEST(blanks)
{
    for (unsigned value = 0; value < 256; value++) {
        bool blank = value == ' ' || (value >= 9 && value <= 13);
        uint8_t before[] = "?" V " ", behind[] = V "?x";
        cuvet_content_info info = { .size = sizeof(info) };

        before[0] = behind[8] = (uint8_t)value;
        ck_assert_int_eq(ask(before, 10, PROBE, false, &info).status == CUVET_OK, blank);
        ck_assert_int_eq(ask(before, 10, PROBE, true, &info).status == CUVET_OK, blank);
        ck_assert_int_eq(ask(behind, 10, PROBE, false, &info).status == CUVET_OK, blank);
        ck_assert_int_eq(ask(behind, 10, PROBE, true, &info).status, CUVET_OK);
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
    cuvet_content_info info = { .size = sizeof(info) };

    memset(text, ' ', sizeof(text));
    memset(text, 'c', form ? word : 0);
    memcpy(text, forms[form].fill, open);
    memcpy(text + word - strlen(forms[form].close), forms[form].close, strlen(forms[form].close));
    memcpy(text + word, V " ", 9);
    for (uint64_t probe = 0; probe < word + 9; probe++) {
        ctx.lim.ptx_probe = probe;
        n_diags = 0;
        ck_assert_int_eq(cv_classify(&ctx, cv_span_of(text, sizeof(text), OFF), 0, &info), CUVET_E_LIMIT);
        ck_assert_int_eq(info.type, CUVET_K_NONE);
        ck_assert_uint_eq(n_diags, 1);
        ck_assert_uint_eq(last.rule, CV_R_LIMIT_PTX_PROBE);
        ck_assert_uint_eq(last.file_off, OFF + probe);
        ck_assert_uint_eq(last.want, probe);
        ctx.seen[CV_R_LIMIT_PTX_PROBE] = 0;
    }
    ctx.lim.ptx_probe = word + 9;
    ck_assert_int_eq(cv_classify(&ctx, cv_span_of(text, sizeof(text), OFF), 0, &info), CUVET_OK);
    ck_assert_int_eq(info.type, CUVET_K_PTX);
    /* A zero byte behind the probe is for who reads the text. */
    text[word + 20] = 0;
    ck_assert_int_eq(cv_classify(&ctx, cv_span_of(text, sizeof(text), OFF), 0, &info), CUVET_OK);
    ctx.lim.ptx_probe = word + 22;
    ck_assert_int_eq(cv_classify(&ctx, cv_span_of(text, sizeof(text), OFF), 0, &info), CUVET_E_UNKNOWN);
    ck_assert_uint_eq(last.rule, CV_R_CLASS_PTX_NUL);
    ck_assert_uint_eq(last.file_off, OFF + word + 20);
}
END_TEST

Suite *suite_model_classify(void);
Suite *suite_model_classify(void)
{
    Suite *suite = suite_create("intake/classify");
    TCase *tcase = tcase_create("classify");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, table, 0, N_ROWS);
    tcase_add_test(tcase, legacy);
    tcase_add_test(tcase, every_length);
    tcase_add_test(tcase, truncated_is_not_unknown);
    tcase_add_test(tcase, every_byte);
    tcase_add_test(tcase, every_flag);
    tcase_add_loop_test(tcase, e_flags, 0, (int)(sizeof(flags) / sizeof(flags[0])));
    tcase_add_test(tcase, mercury_by_type);
    tcase_add_test(tcase, extents);
    tcase_add_loop_test(tcase, random_texts, 0, 4);
    tcase_add_test(tcase, all_short_comments);
    tcase_add_test(tcase, blanks);
    tcase_add_loop_test(tcase, limit, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite;
}

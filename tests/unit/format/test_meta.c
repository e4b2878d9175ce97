/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Small tables: every record comes out once and in order, every rule fires at its place. */
#include <check.h>
#include <string.h>

#include "bytes/builder.h"
#include "fixture.h"
#include "format/meta/read.h"

#define BASE 0x300u

static cv_span words(cv_builder *builder, const uint32_t *width, uint64_t n_bytes)
{
    cv_span span;

    cv_builder_init(builder, &the_ctx.mem);
    for (uint64_t i = 0; i < (n_bytes + 3) / 4; i++)
        cv_put_u32(builder, width[i]);
    span = cv_builder_span(builder);
    span.len = n_bytes;
    span.off = BASE;
    return span;
}

/* A marker opens part p. */
#define PART(value) 0, (uint32_t) - (value)

static const struct {
    const char *label;
    uint32_t word[24];
    uint64_t bytes;
    bool loose;
    unsigned records;
    cv_rule rule;
    uint64_t at, got, want;
} CALLS[] = {
    { "empty parts", { PART(1), PART(2), PART(3), PART(4) }, 32, false, 0, NONE, 0, 0, 0 },
    { "a record in each part",
      { PART(1), 5, 6, PART(2), 6, 9, PART(3), 7, 9, PART(4), 7, 6 },
      64,
      false,
      4,
      NONE,
      0,
      0,
      0 },
    { "null caller is a record",
      { PART(1), 0, 0x7FFFFFFF, PART(2), PART(3), PART(4) },
      40,
      false,
      1,
      NONE,
      0,
      0,
      0 },
    { "no section", { 0 }, 0, false, 0, CV_R_CALL_MARKER, 0, 0, 1 },
    { "record first", { 5, 6, PART(1), PART(2), PART(3), PART(4) }, 40, false, 0, CV_R_CALL_MARKER, 0, 0, 1 },
    { "part 2 first", { PART(2), PART(1), PART(3), PART(4) }, 32, false, 0, CV_R_CALL_MARKER, 0, 2, 1 },
    { "part 1 twice",
      { PART(1), PART(1), PART(2), PART(3), PART(4) },
      40,
      false,
      0,
      CV_R_CALL_MARKER,
      8,
      1,
      2 },
    { "part 5", { PART(1), PART(2), PART(3), PART(4), PART(5) }, 40, false, 0, CV_R_CALL_MARKER, 32, 5, 5 },
    { "most negative marker", { PART(1), 0, 0x80000000 }, 16, false, 0, CV_R_CALL_MARKER, 8, 0x80000000, 2 },
    { "part 4 missing", { PART(1), PART(2), PART(3) }, 24, false, 0, CV_R_CALL_MARKER, 24, 0, 4 },
    { "loose without part 4", { PART(1), PART(2), PART(3) }, 24, true, 0, NONE, 0, 0, 0 },
    { "loose, two rounds",
      { PART(1), 1, 2, PART(2), PART(3), PART(1), 3, 4, PART(2), PART(3) },
      64,
      true,
      2,
      NONE,
      0,
      0,
      0 },
    { "loose as tools write it", { PART(1), PART(2), PART(3), PART(4) }, 32, true, 0, NONE, 0, 0, 0 },
    { "loose, after part 4",
      { PART(1), PART(2), PART(3), PART(4), PART(1) },
      40,
      true,
      0,
      CV_R_CALL_MARKER,
      32,
      1,
      5 },
    { "loose, round in part 2", { PART(1), PART(2), PART(1) }, 24, true, 0, CV_R_CALL_MARKER, 16, 1, 3 },
    { "loose, part 3 then part 2",
      { PART(1), PART(2), PART(3), PART(2) },
      32,
      true,
      0,
      CV_R_CALL_MARKER,
      24,
      2,
      4 },
    { "two rounds", { PART(1), PART(2), PART(3), PART(1) }, 32, false, 0, CV_R_CALL_MARKER, 24, 1, 4 },
    { "loose, cut in part 2", { PART(1), PART(2) }, 16, true, 0, CV_R_CALL_MARKER, 16, 0, 3 },
    { "rest of a record",
      { PART(1), PART(2), PART(3), PART(4), 1 },
      36,
      false,
      0,
      CV_R_META_RAGGED,
      32,
      4,
      8 },
};

START_TEST(calls)
{
    cv_call_cur cur = { .loose = CALLS[_i].loose };
    unsigned count = 0;
    cuvet_status st;
    cv_builder builder;
    cv_call call;
    cv_span span = words(&builder, CALLS[_i].word, CALLS[_i].bytes);

    for (; (st = cv_callgraph_next(&the_ctx, span, &cur, &call)) == CUVET_OK; count++) {
        ck_assert_uint_eq(call.from, cv_u32_at(span, call.off));
        ck_assert_uint_eq(call.to, cv_u32_at(span, call.off + 4));
        if (CALLS[_i].records == 4)
            ck_assert_uint_eq(call.part, count + 1);
    }
    cv_builder_free(&builder);
    ck_assert_msg(count == CALLS[_i].records, "%s: %u records", CALLS[_i].label, count);
    ck_assert_int_eq(st, CALLS[_i].rule == NONE ? CUVET_END : CUVET_E_MALFORMED);
    expect_finding(CALLS[_i].label, CALLS[_i].rule, BASE + CALLS[_i].at, CALLS[_i].got, CALLS[_i].want);
}
END_TEST

/* Tables of 'count' bytes: whole records come out, a rest is reported where it starts. */
START_TEST(records)
{
    static const uint32_t word[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

    for (uint64_t count = 0; count <= sizeof(word); count++) {
        uint64_t pos = 0, got = 0;
        cuvet_status st;
        cv_builder builder;
        cv_unified unified;
        cv_proto proto;
        cv_span span = words(&builder, word, count);

        n_diags = 0;
        for (; (st = cv_prototype_next(&the_ctx, span, &pos, &proto)) == CUVET_OK; got++) {
            ck_assert_uint_eq(proto.off, 8 * got);
            ck_assert_uint_eq(proto.symbol, 1 + 2 * got);
            ck_assert_uint_eq(proto.string, 2 + 2 * got);
        }
        ck_assert_uint_eq(got, count / 8);
        ck_assert_int_eq(st, count % 8 ? CUVET_E_MALFORMED : CUVET_END);
        ck_assert_uint_eq(n_diags, count % 8 != 0);
        if (n_diags)
            ck_assert(last.rule == CV_R_META_RAGGED && last.file_off == BASE + count / 8 * 8 &&
                      last.got == count % 8);
        n_diags = 0;
        for (pos = got = 0; (st = cv_unified_next(&the_ctx, span, &pos, &unified)) == CUVET_OK; got++) {
            ck_assert_uint_eq(unified.off, 32 * got);
            ck_assert_uint_eq(unified.symbol, 1 + 8 * got);
            ck_assert_uint_eq(unified.flags, 2 + 8 * got);
            ck_assert_uint_eq(unified.slot, (3 + 8 * got) | (4 + 8 * got) << 32);
            ck_assert_uint_eq(unified.uuid_lo, (5 + 8 * got) | (6 + 8 * got) << 32);
            ck_assert_uint_eq(unified.uuid_hi, (7 + 8 * got) | (8 + 8 * got) << 32);
        }
        ck_assert_uint_eq(got, count / 32);
        ck_assert_int_eq(st, count % 32 ? CUVET_E_MALFORMED : CUVET_END);
        ck_assert_uint_eq(n_diags, count % 32 != 0);
        if (n_diags)
            ck_assert(last.rule == CV_R_META_RAGGED && last.file_off == BASE + count / 32 * 32 &&
                      last.want == 32);
        cv_builder_free(&builder);
    }
}
END_TEST

static const struct {
    uint32_t word[6];
    uint64_t bytes;
    bool legacy, newer;
    cv_rule rule;
} ACTIONS[] = {
    { { 0x73, 0, 0x11000000, 0x36050025 }, 16, false, false, NONE },
    { { 0x73, 0, 0x11000000, 0x36050025 }, 16, true, false, NONE },
    { { 0x73, 0, 0x11000000, 0x36050025 }, 16, false, true, NONE },
    { { 0x74, 0, 0x11000000, 0x36050025 }, 16, false, false, CV_R_REL_ACTION },
    { { 0x74, 0, 0x11000000, 0x36050025 }, 16, false, true, CV_R_REL_ACTION_NEW },
    { { 0x73, 0, 0x11000000, 0x36050026 }, 16, false, false, CV_R_REL_ACTION },
    { { 0x73, 0, 0x11000000, 0x36050025, 0, 0 }, 24, false, false, CV_R_REL_ACTION },
    { { 0x73, 0 }, 8, false, false, CV_R_REL_ACTION },
    { { 0x4B, 0, 1, 2, 3, 4 }, 24, true, false, NONE },
    { { 0x4B, 0, 1, 2, 3, 4 }, 24, false, false, CV_R_REL_ACTION },
    { { 0x4B, 0, 1, 2, 3, 4 }, 20, true, false, CV_R_REL_ACTION },
    { { 0x4C, 0, 1, 2, 3, 4 }, 24, true, false, CV_R_REL_ACTION },
    { { 0 }, 0, true, false, CV_R_REL_ACTION },
};

START_TEST(actions)
{
    cv_builder builder;

    cv_rel_action_check(&the_ctx, words(&builder, ACTIONS[_i].word, ACTIONS[_i].bytes), ACTIONS[_i].legacy,
                        ACTIONS[_i].newer);
    cv_builder_free(&builder);
    ck_assert_uint_eq(n_diags, ACTIONS[_i].rule != NONE);
    if (n_diags)
        ck_assert(last.rule == (cuvet_rule)ACTIONS[_i].rule && last.file_off == BASE);
}
END_TEST

static const struct {
    const char *text;
    uint64_t len;
    unsigned names;
    uint64_t cut_at; /* UINT64_MAX: not cut */
} LISTS[] = {
    { "", 0, 0, UINT64_MAX },
    { "\0", 1, 0, UINT64_MAX },
    { "\0\0\0", 3, 0, UINT64_MAX },
    { "a*\0", 3, 1, UINT64_MAX },
    { "a*\0_Z1b*\0", 9, 2, UINT64_MAX },
    { "\0a*\0\0dv\0", 8, 2, UINT64_MAX },
    { "a*", 2, 0, 0 },
    { "a*\0b", 4, 1, 3 },
};

START_TEST(host_references)
{
    cv_span span = cv_span_of(LISTS[_i].text, LISTS[_i].len, BASE), name;
    uint64_t pos = 0;
    unsigned count = 0;

    for (; cv_hostref_next(span, &pos, &name); count++) {
        ck_assert_uint_gt(name.len, 0);
        ck_assert_uint_eq(cv_span_find_byte(name, 0), name.len);
        ck_assert_uint_eq(name.off + name.len + 1, BASE + pos);
    }
    ck_assert_uint_eq(count, LISTS[_i].names);
    ck_assert_uint_eq(pos, cv_min(LISTS[_i].cut_at, span.len));
}
END_TEST

Suite *suite_meta(void)
{
    Suite *suite = suite_create("meta");
    TCase *tcase = tcase_create("meta");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, calls, 0, (int)CV_COUNT(CALLS));
    tcase_add_test(tcase, records);
    tcase_add_loop_test(tcase, actions, 0, (int)CV_COUNT(ACTIONS));
    tcase_add_loop_test(tcase, host_references, 0, (int)CV_COUNT(LISTS));
    suite_add_tcase(suite, tcase);
    return suite;
}

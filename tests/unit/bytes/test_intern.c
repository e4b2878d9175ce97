/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of a link: one number for each text, whatever the key, and the hash that finds them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "bytes/intern.h"

static cv_mem mem;
static cv_names names;

static void setup(void)
{
    cv_mem_init(&mem, NULL, CV_GIB);
    cv_names_init(&names, 1, 2);
}

static void teardown(void)
{
    cv_names_free(&mem, &names);
    cv_islands_drop();
    ck_assert_uint_eq(mem.live, 0);
}

static cv_span text(const char *string)
{
    return cv_span_of(string, strlen(string), 0);
}

/* Key 00 01 .. 0f, message 00 01 .., bytes modulo 256. The first value is that of the reference vectors of
 * SipHash-1-3; all come from a second implementation, which gives the vectors of SipHash-2-4 as well. */
static const struct {
    uint64_t count, hash;
} VECTORS[] = {
    { 0, UINT64_C(0xabac0158050fc4dc) },   { 1, UINT64_C(0xc9f49bf37d57ca93) },
    { 7, UINT64_C(0xd3927d989bb11140) },   { 8, UINT64_C(0x369095118d299a8e) },
    { 9, UINT64_C(0x25a48eb36c063de4) },   { 15, UINT64_C(0xd320d86d2a519956) },
    { 16, UINT64_C(0xcc4fdd1a7d908b66) },  { 63, UINT64_C(0x9d199062b7bbb3a8) },
    { 255, UINT64_C(0xf76214e3153c4a15) }, { 256, UINT64_C(0x75b3e64e167de370) },
    { 300, UINT64_C(0x4016a23bda5a2224) },
};

START_TEST(siphash)
{
    static const uint64_t KEY[2] = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
    uint8_t message[300];

    for (unsigned i = 0; i < sizeof(message); i++)
        message[i] = (uint8_t)i;
    for (size_t i = 0; i < CV_COUNT(VECTORS); i++)
        ck_assert_msg(cv_siphash(KEY, cv_span_of(message, VECTORS[i].count, 0)) == VECTORS[i].hash,
                      "%llu bytes", (unsigned long long)VECTORS[i].count);
}
END_TEST

START_TEST(one_number_each)
{
    cv_id left, right, none;

    ck_assert_uint_eq(cv_names_find(&names, text("alpha")), CV_NONE); /* there is not even a table */
    left = cv_names_put(&mem, &names, text("alpha"));
    ck_assert_uint_eq(cv_names_find(&names, text("alpha")), left);
    ck_assert_uint_eq(cv_names_find(&names, text("beta")), CV_NONE);
    right = cv_names_put(&mem, &names, text("beta"));
    none = cv_names_put(&mem, &names, text(""));
    ck_assert(left == 0 && right == 1 && none == 2);
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("alpha")), left);
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("")), none);
    ck_assert_uint_eq(cv_names_put(&mem, &names, cv_span_of(NULL, 0, 0)), none);
    ck_assert_uint_eq(cv_names_put(&mem, &names, cv_span_of("beta and more", 4, 0)), right);
    ck_assert(cv_span_eq_str(cv_names_text(&names, left), "alpha"));
    ck_assert(cv_span_eq_str(cv_names_text(&names, right), "beta"));
    ck_assert_uint_eq(cv_names_text(&names, none).len, 0);
    ck_assert_uint_eq(cv_names_find(&names, text("")), none);
    ck_assert_uint_eq(names.list.count, 3);
}
END_TEST

/* Bytes, not texts: a NUL inside, and names that differ behind one. */
START_TEST(any_bytes)
{
    cv_id left = cv_names_put(&mem, &names, cv_span_of("a\0b", 3, 0));
    cv_id right = cv_names_put(&mem, &names, cv_span_of("a\0c", 3, 0));

    ck_assert(left != right && cv_names_put(&mem, &names, text("a")) == 2);
    ck_assert_uint_eq(cv_names_put(&mem, &names, cv_span_of("a\0b", 3, 0)), left);
}
END_TEST

START_TEST(joined)
{
    cv_id left = cv_names_join(&mem, &names, ".text.", text("kernel")), right;

    ck_assert_uint_eq(cv_names_put(&mem, &names, text(".text.kernel")), left);
    right = cv_names_join(&mem, &names, "", text("kernel"));
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("kernel")), right);
    ck_assert_uint_eq(cv_names_join(&mem, &names, ".text.", cv_span_of(NULL, 0, 0)), 2);
    ck_assert(cv_span_eq_str(cv_names_text(&names, 2), ".text."));
    /* A name of the pool itself: it may move while it is copied. */
    for (unsigned i = 0; i < 40; i++)
        ck_assert_uint_eq(cv_names_join(&mem, &names, "x", cv_names_text(&names, 2 + i)), 3 + i);
    ck_assert_uint_eq(cv_names_text(&names, 42).len, 46);
}
END_TEST

/* The table grows, and every number stays what it was; the key decides nothing but places. */
START_TEST(many)
{
    static const uint64_t KEYS[][2] = { { 1, 2 }, { 0, 0 }, { UINT64_MAX, UINT64_MAX } };
    char suffix[32];

    cv_names_free(&mem, &names);
    cv_names_init(&names, KEYS[_i][0], KEYS[_i][1]);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 5000; i++) {
            snprintf(suffix, sizeof(suffix), "name-%u", i);
            ck_assert_uint_eq(cv_names_put(&mem, &names, text(suffix)), i);
        }
    ck_assert_uint_eq(names.list.count, 5000);
    ck_assert_uint_ge(names.table.count, 2 * names.list.count);
    ck_assert(cv_span_eq_str(cv_names_text(&names, 4999), "name-4999"));
}
END_TEST

/* Without memory there is no number, and what was there stays. */
START_TEST(no_memory)
{
    char suffix[32];
    unsigned count = 0;

    mem.limit = 64 * CV_KIB;
    for (;; count++) {
        snprintf(suffix, sizeof(suffix), "a name of some length %u", count);
        if (cv_names_put(&mem, &names, text(suffix)) == CV_NONE)
            break;
        ck_assert_uint_lt(count, 100000);
    }
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_eq(names.list.count, count);
    for (unsigned i = 0; i < count; i++) {
        snprintf(suffix, sizeof(suffix), "a name of some length %u", i);
        ck_assert_uint_eq(cv_names_find(&names, text(suffix)), i); /* it asks for none */
        ck_assert(cv_span_eq_str(cv_names_text(&names, i), suffix));
    }
    mem.limit = CV_GIB;
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("more")), count);
}
END_TEST

/* Room changes no number, and is enough for as many texts as it was asked for. */
START_TEST(room)
{
    char suffix[24];
    uint64_t slots, live;
    cv_id first = cv_names_put(&mem, &names, text("the first"));

    ck_assert(cv_names_room(&mem, &names, 3000));
    ck_assert_uint_eq(cv_names_find(&names, text("the first")), first);
    slots = names.table.count;
    live = mem.live;
    for (unsigned i = 1; i < 3000; i++) {
        snprintf(suffix, sizeof(suffix), "number %u", i);
        ck_assert_uint_eq(cv_names_put(&mem, &names, text(suffix)), i);
    }
    ck_assert_uint_eq(names.table.count, slots);
    ck_assert_uint_eq(mem.live, live);
    ck_assert(cv_names_room(&mem, &names, 10)); /* which it has */
    ck_assert_uint_eq(mem.live, live);
    ck_assert_uint_eq(cv_names_find(&names, text("the first")), first);
    ck_assert_uint_eq(cv_names_find(&names, text("number 2999")), 2999);
    mem.limit = mem.live;
    ck_assert(!cv_names_room(&mem, &names, 100000));
    ck_assert_uint_eq(cv_names_find(&names, text("number 2999")), 2999);
}
END_TEST

/* Whoever finds two texts with one hash gets two names: of other lengths, and of the same one. */
START_TEST(same_hash)
{
    cv_id left = cv_names_put(&mem, &names, text("alpha")), right;

    cv_name_list_at(&names.list, left)->hash = cv_siphash(names.key, text("beta"));
    ck_assert(cv_names_room(&mem, &names, 1000)); /* the table is made anew, of the hashes */
    ck_assert_uint_eq(cv_names_find(&names, text("beta")), CV_NONE);
    right = cv_names_put(&mem, &names, text("beta"));
    ck_assert_uint_ne(right, left);
    ck_assert_uint_eq(cv_names_find(&names, text("beta")), right);
    cv_name_list_at(&names.list, left)->hash = cv_siphash(names.key, text("gamma"));
    ck_assert(cv_names_room(&mem, &names, 3000));
    ck_assert_uint_eq(cv_names_find(&names, text("gamma")), CV_NONE);
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("gamma")), 2);
    ck_assert_uint_eq(cv_names_find(&names, text("gamma")), 2);
    ck_assert(cv_span_eq_str(cv_names_text(&names, left), "alpha"));
}
END_TEST

/* More than any table can hold. */
START_TEST(room_without_end)
{
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("alpha")), 0);
    ck_assert(!cv_names_room(&mem, &names, UINT64_MAX));
    ck_assert(!cv_names_room(&mem, &names, UINT64_C(1) << 32));
    ck_assert_uint_eq(cv_names_find(&names, text("alpha")), 0);
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("beta")), 1);
}
END_TEST

/* Numbers have an end: what has one keeps it, and nothing new is taken. */
START_TEST(every_number_given)
{
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("alpha")), 0);
    for (uint64_t count = CV_NONE - 1; count <= CV_NONE; count++) {
        names.list.count = count;
        ck_assert_uint_eq(cv_names_put(&mem, &names, text("beta")), CV_NONE);
        ck_assert_uint_eq(cv_names_put(&mem, &names, text("alpha")), 0);
        ck_assert_uint_eq(names.list.count, count);
    }
    names.list.count = 1;
    ck_assert_uint_eq(cv_names_put(&mem, &names, text("beta")), 1);
}
END_TEST

Suite *suite_link_names(void)
{
    Suite *suite = suite_create("link names");
    TCase *tcase = tcase_create("names");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, siphash);
    tcase_add_test(tcase, one_number_each);
    tcase_add_test(tcase, any_bytes);
    tcase_add_test(tcase, joined);
    tcase_add_loop_test(tcase, many, 0, 3);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, room);
    tcase_add_test(tcase, same_hash);
    tcase_add_test(tcase, room_without_end);
    tcase_add_test(tcase, every_number_given);
    suite_add_tcase(suite, tcase);
    return suite;
}

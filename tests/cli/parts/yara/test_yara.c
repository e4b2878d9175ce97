/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the process with libyara may say, when somebody else speaks in its place. */
#include "yara/wire.h"

#include <check.h>
#include <string.h>

static const yara_ask ASK = { .n_sections = 3, .size = 100 };

static yara_hit good_hit(void)
{
    yara_hit hit = { .section = 3, .severity = 2, .n_places = 1, .n_metas = 1, .places = 7 };

    strcpy(hit.rule, "rule_1");
    strcpy(hit.space, "default");
    strcpy(hit.tags, "a b_2");
    strcpy(hit.description, "any \x1b bytes");
    strcpy(hit.meta[0].name, "author");
    hit.place[0] = (yara_place){ .off = 90, .length = 10, .string = "$a" };
    return hit;
}

START_TEST(hits)
{
    yara_hit hit = good_hit();

    ck_assert(yara_hit_ok(&hit, &ASK));
#define WRONG(change)                                                                                        \
    do {                                                                                                     \
        hit = good_hit();                                                                                    \
        change;                                                                                              \
        ck_assert_msg(!yara_hit_ok(&hit, &ASK), "%s", #change);                                              \
    } while (0)
    WRONG(hit.section = 4);
    WRONG(hit.severity = 3);
    WRONG(hit.n_places = YARA_PLACES + 1);
    WRONG(hit.n_metas = YARA_METAS + 1);
    WRONG(hit.places = 0);
    WRONG(hit.places = UINT64_MAX);
    WRONG(hit.place[0].length = 11);
    WRONG(hit.place[0].length = UINT64_MAX);
    WRONG(hit.place[0].off = 101);
    WRONG(hit.place[0].off = UINT64_MAX);
    WRONG(strcpy(hit.place[0].string, "a$"));
    WRONG(strcpy(hit.rule, ""));
    WRONG(strcpy(hit.rule, "a\n"));
    WRONG(strcpy(hit.rule, "\x1b[31m"));
    WRONG(strcpy(hit.space, "a b"));
    WRONG(strcpy(hit.tags, "a\tb"));
    WRONG(strcpy(hit.meta[0].name, "a\"b"));
    WRONG(memset(hit.rule, 'a', sizeof(hit.rule)));
    WRONG(memset(hit.space, 'a', sizeof(hit.space)));
    WRONG(memset(hit.tags, 'a', sizeof(hit.tags)));
    WRONG(memset(hit.description, 'a', sizeof(hit.description)));
    WRONG(memset(hit.meta[0].name, 'a', sizeof(hit.meta[0].name)));
    WRONG(memset(hit.meta[0].value, 'a', sizeof(hit.meta[0].value)));
    WRONG(memset(hit.place[0].string, 'a', sizeof(hit.place[0].string)));
    hit = good_hit();
    hit.place[1].off = UINT64_MAX; /* is not looked at */
    ck_assert(yara_hit_ok(&hit, &ASK));
}
END_TEST

START_TEST(first_and_last)
{
    static yara_hello hello;
    yara_end end = { .outcome = YARA_TIME, .hits = { 1, 2, 3 } };

    ck_assert(yara_end_ok(&end));
    end.outcome = YARA_OUTCOMES;
    ck_assert(!yara_end_ok(&end));
    end = (yara_end){ .hits = { 0, UINT64_MAX, 0 } };
    ck_assert(!yara_end_ok(&end));
    hello.n_remarks = YARA_REMARKS;
    for (int i = 0; i < YARA_REMARKS; i++)
        memset(hello.remark[i].text, 'a', sizeof(hello.remark[i].text));
    ck_assert(yara_hello_ok(&hello));
    for (int i = 0; i < YARA_REMARKS; i++)
        ck_assert_uint_eq(strlen(hello.remark[i].text), YARA_TEXT_CAP - 1);
    hello.n_remarks = YARA_REMARKS + 1;
    ck_assert(!yara_hello_ok(&hello));
    hello = (yara_hello){ .state = YARA_STATES };
    ck_assert(!yara_hello_ok(&hello));
}
END_TEST

Suite *suite_yara(void);
Suite *suite_yara(void)
{
    Suite *suite = suite_create("yara");
    TCase *tcase = tcase_create("wire");

    tcase_add_test(tcase, hits);
    tcase_add_test(tcase, first_and_last);
    suite_add_tcase(suite, tcase);
    return suite;
}

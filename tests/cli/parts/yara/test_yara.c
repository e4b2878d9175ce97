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
    static const uint64_t NONE[3];
    static yara_hello hello;
    yara_end end = { .outcome = YARA_TIME, .hits = { 1, 2, 3 } };

    ck_assert(yara_end_ok(&end, NONE) && yara_end_ok(&end, end.hits));
    for (int i = 0; i < 3; i++) {
        uint64_t said[3] = { 0 };

        said[i] = end.hits[i] + 1; /* it said more hits than it says that there were */
        ck_assert(!yara_end_ok(&end, said));
    }
    end.outcome = YARA_OUTCOMES;
    ck_assert(!yara_end_ok(&end, NONE));
    end = (yara_end){ .hits = { 0, UINT64_MAX, 0 } };
    ck_assert(!yara_end_ok(&end, NONE));
    hello.n_remarks = YARA_REMARKS;
    for (int i = 0; i < YARA_REMARKS; i++)
        memset(hello.remark[i].text, 'a', sizeof(hello.remark[i].text));
    ck_assert(yara_hello_ok(&hello));
    for (int i = 0; i < YARA_REMARKS; i++)
        ck_assert_uint_eq(strlen(hello.remark[i].text), YARA_TEXT_CAP - 1);
    hello.n_remarks = YARA_REMARKS + 1;
    ck_assert(!yara_hello_ok(&hello));
    hello = (yara_hello){ .state = YARA_STATES, .n_remarks = 1 };
    ck_assert(!yara_hello_ok(&hello));
    /* Texts of remarks that are not counted end as well, and why nothing goes on is said. */
    memset(&hello, 'a', sizeof(hello));
    hello.state = YARA_READY;
    hello.n_remarks = 1;
    ck_assert(yara_hello_ok(&hello));
    ck_assert_uint_eq(strlen(hello.remark[0].text), YARA_TEXT_CAP - 1);
    for (int i = 1; i < YARA_REMARKS; i++)
        ck_assert_str_eq(hello.remark[i].text, "");
    hello.n_remarks = 0;
    ck_assert(yara_hello_ok(&hello));
    for (uint32_t state = YARA_READY + 1; state < YARA_STATES; state++) {
        hello.state = state;
        ck_assert(!yara_hello_ok(&hello));
    }
}
END_TEST

/* Two sections, seven variables of a letter, two names, five bytes. */
typedef struct question_block {
    yara_section section[2];
    char texts[14], names[4];
    uint8_t bytes[5];
} question_block;

static const question_block BLOCK = { .section = { { 0, 5, 0, 1 }, { 5, 0, 2, 2 } },
                                      .texts = "a\0b\0c\0d\0e\0f\0g",
                                      .names = "x\0y" };

static bool take_block(const yara_ask *ask, const question_block *block)
{
    yara_question question = { .ask = *ask };
    uint64_t size;
    bool ok;

    ck_assert(yara_ask_size(ask, &size) && size <= sizeof(*block));
    ok = yara_question_ok(&question, block);
    if (ok) {
        ck_assert_ptr_eq(question.bytes, block->bytes);
        ck_assert_str_eq(question.variable[YARA_V_FILENAME], "g");
        ck_assert_str_eq(question.names + question.section[1].name, "y");
    }
    return ok;
}

START_TEST(questions)
{
    static const yara_ask GOOD = { .texts = 14, .n_sections = 2, .names = 4, .size = 5 };
    yara_ask ask = { .size = UINT64_MAX };
    question_block block = BLOCK;
    uint64_t size;

    ck_assert(take_block(&GOOD, &block));
#define BAD(change)                                                                                          \
    do {                                                                                                     \
        ask = GOOD;                                                                                          \
        block = BLOCK;                                                                                       \
        change;                                                                                              \
        ck_assert_msg(!take_block(&ask, &block), "%s", #change);                                             \
    } while (0)
    BAD(ask.texts = 13);
    BAD(ask.texts = 0);
    BAD(block.texts[1] = 'x');
    BAD(block.texts[0] = '\0'); /* one more than there are */
    BAD(block.names[3] = 'x');
    BAD(ask.names = 3);
    BAD(block.section[1].name = 4);
    BAD(block.section[1].name = UINT32_MAX);
    BAD(block.section[0].size = 6);
    BAD(block.section[0].size = UINT64_MAX);
    BAD(block.section[1].off = 6);
    BAD(block.section[1].off = UINT64_MAX);
    BAD(block.section[1].size = 1);
    ask = (yara_ask){ .size = SIZE_MAX };
    ck_assert(yara_ask_size(&ask, &size) && size == SIZE_MAX);
    ask.names = 1;
    ck_assert(!yara_ask_size(&ask, &size));
    /* What comes before the bytes alone may be more than a size of 32 bits. */
    ask = (yara_ask){ .texts = UINT32_MAX, .names = UINT32_MAX, .size = 1 };
    ck_assert(yara_ask_size(&ask, &size) == (SIZE_MAX > UINT32_MAX));
    ask =
        (yara_ask){ .n_sections = UINT32_MAX, .texts = UINT32_MAX, .names = UINT32_MAX, .size = UINT64_MAX };
    ck_assert(!yara_ask_size(&ask, &size));
}
END_TEST

Suite *suite_yara(void);
Suite *suite_yara(void)
{
    Suite *suite = suite_create("yara");
    TCase *tcase = tcase_create("wire");

    tcase_add_test(tcase, hits);
    tcase_add_test(tcase, first_and_last);
    tcase_add_test(tcase, questions);
    suite_add_tcase(suite, tcase);
    return suite;
}

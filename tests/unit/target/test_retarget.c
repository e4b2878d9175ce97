/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For which machines code may be made again, and on which its bytes run as they are: all answers for the
 * machines that the reference was asked about, written down. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "target/retarget.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* Rows and columns of the tables below: from, to. 101 came out as 110, 104 as 120, 130 as 107. */
static const uint32_t SM[] = { 80, 89, 90, 100, 101, 102, 103, 104, 105, 107, 110, 111, 120, 121, 130 };

/* clang-format off */
/* Only the same machine, under whichever number. */
static const char *const NOWHERE[] = {
    "y--------------", /* 80 */
    "-y-------------", /* 89 */
    "--y------------", /* 90 */
    "---y-----------", /* 100 */
    "----y-----y----", /* 101 */
    "-----y---------", /* 102 */
    "------y--------", /* 103 */
    "-------y----y--", /* 104 */
    "--------y------", /* 105 */
    "---------y----y", /* 107 */
    "----y-----y----", /* 110 */
    "-----------y---", /* 111 */
    "-------y----y--", /* 120 */
    "-------------y-", /* 121 */
    "---------y----y", /* 130 */
};
/* The same family, upwards, but 110. */
static const char *const FAMILY[] = {
    "yy-------------", /* 80 */
    "-y-------------", /* 89 */
    "--y------------", /* 90 */
    "---y-yy-yy----y", /* 100 */
    "----y-----y----", /* 101 */
    "-----yy-yy----y", /* 102 */
    "------y-yy----y", /* 103 */
    "-------y----yy-", /* 104 */
    "--------yy----y", /* 105 */
    "---------y----y", /* 107 */
    "----y-----y----", /* 110 */
    "-----------y---", /* 111 */
    "-------y----yy-", /* 120 */
    "-------------y-", /* 121 */
    "---------y----y", /* 130 */
};
/* Upwards, but 110; 121 only from its family. */
static const char *const WIDE[] = {
    "yyyy-yyyyy-yy-y", /* 80 */
    "-yyy-yyyyy-yy-y", /* 89 */
    "--yy-yyyyy-yy-y", /* 90 */
    "---y-yyyyy-yy-y", /* 100 */
    "----y-----y----", /* 101 */
    "-----yyyyy-yy-y", /* 102 */
    "------yyyy-yy-y", /* 103 */
    "-------y----yy-", /* 104 */
    "-------yyy-yy-y", /* 105 */
    "-------y-y-yy-y", /* 107 */
    "----y-----y----", /* 110 */
    "-------y---yy--", /* 111 */
    "-------y----yy-", /* 120 */
    "-------------y-", /* 121 */
    "-------y-y-yy-y", /* 130 */
};
/* The own family upwards, and 110 and 121 from everywhere below, from 110 also 120 and 121. */
static const char *const WIDEST[] = {
    "yy--y-----y--y-", /* 80 */
    "-y--y-----y--y-", /* 89 */
    "--y-y-----y--y-", /* 90 */
    "---yyyy-yyy--yy", /* 100 */
    "----y--y--yyyy-", /* 101 */
    "----yyy-yyy--yy", /* 102 */
    "----y-y-yyy--yy", /* 103 */
    "-------y----yy-", /* 104 */
    "----y---yyy--yy", /* 105 */
    "----y----yy--yy", /* 107 */
    "----y--y--yyyy-", /* 110 */
    "-----------y-y-", /* 111 */
    "-------y----yy-", /* 120 */
    "-------------y-", /* 121 */
    "----y----yy--yy", /* 130 */
};
/* The same for code that is bound to its machine: not within the family. */
static const char *const WIDEST_ACCEL[] = {
    "y---y-----y--y-", /* 80 */
    "-y--y-----y--y-", /* 89 */
    "--y-y-----y--y-", /* 90 */
    "---yy-----y--y-", /* 100 */
    "----y--y--y-yy-", /* 101 */
    "----yy----y--y-", /* 102 */
    "----y-y---y--y-", /* 103 */
    "-------y----y--", /* 104 */
    "----y---y-y--y-", /* 105 */
    "----y----yy--yy", /* 107 */
    "----y--y--y-yy-", /* 110 */
    "-----------y-y-", /* 111 */
    "-------y----y--", /* 120 */
    "-------------y-", /* 121 */
    "----y----yy--yy", /* 130 */
};
/* clang-format on */

static const struct {
    uint8_t level, accel;
    const char *const *table;
} LEVELS[] = {
    { 0, 0, FAMILY },  { 0, 1, NOWHERE }, { 1, 0, FAMILY },  { 1, 1, NOWHERE }, { 2, 0, FAMILY },
    { 2, 1, FAMILY },  { 3, 0, WIDE },    { 3, 1, WIDE },    { 4, 0, WIDEST },  { 4, 1, WIDEST_ACCEL },
    { 5, 0, NOWHERE }, { 5, 1, NOWHERE }, { 6, 0, NOWHERE }, { 6, 1, NOWHERE }, { 255, 0, NOWHERE },
};

static cv_compat claims(uint8_t level, uint8_t accel, uint16_t isa)
{
    cv_compat compat = { .isa = isa, .level = level, .accel = accel };

    return compat;
}

START_TEST(finalize)
{
    const char *const *table = LEVELS[_i].table;
    cv_compat compat = claims(LEVELS[_i].level, LEVELS[_i].accel, 0x0101);

    for (unsigned step = 0; step < N(SM); step++) {
        ck_assert_uint_eq(strlen(table[step]), N(SM));
        for (unsigned distance = 0; distance < N(SM); distance++)
            ck_assert_msg(cv_can_finalize(&compat, SM[step], SM[distance]) ==
                              (table[step][distance] == 'y' ? CV_FINAL_OK : CV_FINAL_INCOMPATIBLE),
                          "level %u accel %u: %u to %u", compat.level, compat.accel, SM[step], SM[distance]);
    }
}
END_TEST

/* What goes before the tables: no claims at all, and claims about an instruction set that is newer. */
START_TEST(finalize_claims)
{
    static const uint16_t ISA[] = { 0, 0x0100, 0x0101, 0x0102, 0x0200, 0xFFFF };

    for (unsigned step = 0; step < N(SM); step++)
        for (unsigned distance = 0; distance < N(SM); distance++) {
            ck_assert_int_eq(cv_can_finalize(NULL, SM[step], SM[distance]), CV_FINAL_NO_COMPAT);
            for (unsigned i = 0; i < N(ISA); i++) {
                cv_compat compat = claims(1, 0, ISA[i]);
                cv_final want = ISA[i] > 0x0101                 ? CV_FINAL_ISA
                                : FAMILY[step][distance] == 'y' ? CV_FINAL_OK
                                                                : CV_FINAL_INCOMPATIBLE;

                ck_assert_msg(cv_can_finalize(&compat, SM[step], SM[distance]) == want, "isa %x: %u to %u",
                              ISA[i], SM[step], SM[distance]);
            }
        }
}
END_TEST

/* Bit of the mask that stands for a machine; -1: none does. */
static const int BIT[] = { -1, -1, -1, 0, 1, -1, 3, -1, -1, -1, 1, -1, -1, 6, -1 };

/* Is it the same machine? The table that allows nothing else says so. */
static const char *const *table_of(uint8_t level, uint8_t accel)
{
    for (unsigned i = 0; i < N(LEVELS); i++)
        if (LEVELS[i].level == level && LEVELS[i].accel == accel)
            return LEVELS[i].table;
    return NOWHERE;
}

/* A claim that is believed up to a level is allowed by its own table, and by that of the level. */
START_TEST(believed)
{
    for (uint8_t most = 0; most <= 4; most++)
        for (uint8_t accel = 0; accel < 2; accel++)
            for (unsigned step = 0; step < N(SM); step++)
                for (unsigned distance = 0; distance < N(SM); distance++) {
                    cv_compat compat = claims((uint8_t)_i, accel, 0x0101);
                    bool claimed = table_of((uint8_t)_i, accel)[step][distance] == 'y',
                         same = NOWHERE[step][distance] == 'y';
                    bool held = _i <= most || same || table_of(most, accel)[step][distance] == 'y', level;
                    cv_final code = cv_can_finalize_most(&compat, SM[step], SM[distance], most, &level);

                    ck_assert_msg((code == CV_FINAL_OK) == (claimed && held),
                                  "level %d of %u accel %u: %u to %u", _i, most, accel, SM[step],
                                  SM[distance]);
                    ck_assert_int_eq(level, claimed && !held);
                }
}
END_TEST

START_TEST(fastpath)
{
    static const uint64_t MASKS[] = { 0,    0x01, 0x09, 0x50,       0x02,           0x08,
                                      0x40, 0x10, 0xB4, UINT64_MAX, ~UINT64_C(0x4B) };

    for (unsigned step = 0; step < N(SM); step++)
        for (unsigned distance = 0; distance < N(SM); distance++) {
            bool same = NOWHERE[step][distance] == 'y';
            cv_compat compat = claims(0, 1, 0xFFFF); /* nothing of this matters */

            ck_assert(cv_can_fastpath(NULL, SM[step], SM[distance], true) == same);
            ck_assert(!cv_can_fastpath(NULL, SM[step], SM[distance], false));
            compat.fastpath = UINT64_MAX; /* a mask that no record gave */
            ck_assert(cv_can_fastpath(&compat, SM[step], SM[distance], true) == same);
            compat.has = UINT32_C(1) << CV_COMPAT_CAN_FASTPATH_FINALIZE;
            for (unsigned most = 0; most < N(MASKS); most++) {
                bool covered = BIT[distance] >= 0 && (MASKS[most] >> BIT[distance] & 1);

                compat.fastpath = MASKS[most];
                ck_assert_msg(cv_can_fastpath(&compat, SM[step], SM[distance], true) == (same || covered),
                              "mask %llx: %u to %u", (unsigned long long)MASKS[most], SM[step], SM[distance]);
                ck_assert(!cv_can_fastpath(&compat, SM[step], SM[distance], false));
            }
        }
}
END_TEST

Suite *suite_retarget(void)
{
    Suite *suite = suite_create("retarget");
    TCase *tcase = tcase_create("tables");

    tcase_add_loop_test(tcase, finalize, 0, (int)N(LEVELS));
    tcase_add_test(tcase, finalize_claims);
    tcase_add_test(tcase, fastpath);
    tcase_add_loop_test(tcase, believed, 0, 7);
    suite_add_tcase(suite, tcase);
    return suite;
}

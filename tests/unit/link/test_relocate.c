/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fields of relocations: one row for each type that the link applies, with the values that the reference
 * linker was seen to write, and what is refused because it does not fit (CV-LINK-025). */
#include <check.h>
#include <string.h>

#include "link/plan/reloc_table.h"
#include "link/plan/scan_relocs.h"

typedef struct relocate_row {
    uint32_t type;
    cv_reloc_use use;
    uint64_t value, bank;
    unsigned pos, bits; /* what is looked at … */
    uint64_t want;      /* … and what must be there */
    uint64_t most;      /* largest value that fits */
} relocate_row;

static const relocate_row ROWS[] = {
    { 1, CV_USE_OFFSET, 0x1234, 0, 0, 32, 0x1234, 0xFFFFFFFF },
    { 1, CV_USE_BANK, 0x14, 3, 0, 32, 0x14, 0xFFFFFFFF },
    { 2, CV_USE_OFFSET, 0x1234, 0, 0, 64, 0x1234, UINT64_MAX },
    { 2, CV_USE_BANK, 0x14, 3, 0, 64, 0x14, UINT64_MAX },
    { 55, CV_USE_OFFSET, 0x1234, 0, 32, 32, 0x1234, 0xFFFFFFFF },
    { 55, CV_USE_BANK, 0x54, 3, 32, 32, 0x54, 0xFFFFFFFF },
    { 55, CV_USE_SLOT, 0x170, 0, 32, 32, 0x170, 0xFFFFFFFF },
    { 59, CV_USE_SLOT, 0x170, 0, 32, 16, 0x170, 0xFFFF },
    { 59, CV_USE_OFFSET, 0x54, 0, 32, 16, 0x54, 0xFFFF },
    { 59, CV_USE_BANK, 0x54, 3, 32, 16, 0x54, 0xFFFF },
    { 60, CV_USE_OFFSET, 0xABCDEF, 0, 32, 24, 0xABCDEF, 0xFFFFFF },
    { 60, CV_USE_BANK, 0x54, 3, 32, 24, 0x54, 0xFFFFFF },
    { 64, CV_USE_BANK, 0x30, 3, 40, 19, 0xC00C, 0xFFFC },
    { 65, CV_USE_SLOT, 0x170, 0, 40, 14, 92, 0xFFFC },
    { 66, CV_USE_BANK, 0x54, 3, 38, 21, 0x30054, 0xFFFF },
    { 66, CV_USE_BANK, UINT64_MAX - 0x8000 + 1 + 36, 2, 38, 21, 0x28024, 0xFFFF },
    { 66, CV_USE_SLOT, 0x170, 0, 38, 21, 0x170, 0xFFFF },
    { 64, CV_USE_SLOT, 0x170, 0, 40, 19, 0x5C, 0xFFFC },
    { 74, CV_USE_OFFSET, 0xD0, 0, 40, 24, 0xD0, 0xFFFFFF },
    { 74, CV_USE_BANK, 0x54, 3, 40, 24, 0x54, 0xFFFFFF },
    { 100, CV_USE_OFFSET, 0xABCDE, 0, 44, 20, 0xABCDE, 0xFFFFF },
    { 100, CV_USE_BANK, 0x54, 3, 44, 20, 0x54, 0xFFFFF },
    { 102, CV_USE_OFFSET, 0x1234, 0, 0, 64, 0x1234, UINT64_MAX },
    { 102, CV_USE_BANK, 0x14, 3, 0, 64, 0x14, UINT64_MAX },
    { 103, CV_USE_OFFSET, 0x1234, 0, 0, 32, 0x1234, 0xFFFFFFFF },
    { 103, CV_USE_BANK, 0x14, 3, 0, 32, 0x14, 0xFFFFFFFF },
    { 115, CV_USE_BANK, 0x54, 3, 37, 22, 0x60054, 0x1FFFF },
    { 115, CV_USE_SLOT, 0x170, 0, 37, 22, 0x170, 0x1FFFF },
};

static uint64_t bits_of(const uint8_t *bytes, unsigned pos, unsigned bits)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bits; i++)
        value |= (uint64_t)(bytes[(pos + i) / 8] >> (pos + i) % 8 & 1) << i;
    return value;
}

static cv_span all_of(const uint8_t *bytes, size_t size)
{
    return cv_span_of(bytes, size, 0);
}

static bool apply(const cv_fix *fix, uint8_t *bytes, uint64_t size, uint64_t off)
{
    bool ok = true;

    for (unsigned i = 0; i < fix->count && ok; i++)
        ok = cv_link_put_field(&fix->field[i], bytes, size, off);
    return ok;
}

/* The field gets the value, and not a bit beside it changes, whatever was there. */
START_TEST(applied)
{
    const relocate_row *row = &ROWS[_i];

    for (unsigned fill = 0; fill < 256; fill += 255) {
        uint8_t code[48], was[48];
        cv_fix fix = { 0 };

        memset(code, (int)fill, sizeof(code));
        memcpy(was, code, sizeof(was));
        ck_assert(cv_link_field(&fix, row->type, row->use, row->value, row->bank, false));
        ck_assert(cv_link_fits(&fix, all_of(code, sizeof(code)), 16));
        ck_assert(apply(&fix, code, sizeof(code), 16));
        ck_assert_uint_eq(bits_of(code + 16, row->pos, row->bits), row->want);
        for (unsigned i = 0; i < 48 * 8; i++)
            if (i < 128 + row->pos || i >= 128 + row->pos + row->bits)
                ck_assert_uint_eq(bits_of(code, i, 1), bits_of(was, i, 1));
    }
}
END_TEST

/* REL: what is in the field counts. */
START_TEST(added)
{
    const relocate_row *row = &ROWS[_i];
    uint8_t code[16] = { 0 };
    cv_fix fix = { 0 }, twice = { 0 };

    if (row->value > row->most)
        return; /* with a sign: there is nothing to add it to */
    ck_assert(cv_link_field(&fix, row->type, row->use, row->value, row->bank, false));
    ck_assert(apply(&fix, code, sizeof(code), 0));
    ck_assert(cv_link_field(&twice, row->type, row->use, 8, row->bank, true));
    ck_assert(cv_link_fits(&twice, all_of(code, sizeof(code)), 0));
    ck_assert(apply(&twice, code, sizeof(code), 0));
    memset(&fix, 0, sizeof(fix));
    ck_assert(cv_link_field(&fix, row->type, row->use, row->value + 8, row->bank, false));
    {
        uint8_t once[16] = { 0 };

        ck_assert(apply(&fix, once, sizeof(once), 0));
        ck_assert_mem_eq(once, code, sizeof(once));
    }
}
END_TEST

START_TEST(most_and_one_more)
{
    const relocate_row *row = &ROWS[_i];
    uint64_t step = row->most == 0xFFFC ? 4 : 1;
    uint8_t code[16] = { 0 };
    cv_fix fix = { 0 }, over = { 0 }, sum = { 0 };

    if (row->most == UINT64_MAX)
        return; /* everything fits */
    ck_assert(cv_link_field(&fix, row->type, row->use, row->most, row->bank, false));
    ck_assert(cv_link_fits(&fix, all_of(code, sizeof(code)), 0));
    ck_assert(cv_link_field(&over, row->type, row->use, row->most + step, row->bank, false));
    ck_assert_msg(!cv_link_fits(&over, all_of(code, sizeof(code)), 0), "type %u", row->type);
    /* the same when only the sum with the old field is too large */
    ck_assert(apply(&fix, code, sizeof(code), 0));
    ck_assert(cv_link_field(&sum, row->type, row->use, step, row->bank, true));
    ck_assert(!cv_link_fits(&sum, all_of(code, sizeof(code)), 0));
}
END_TEST

/* A word offset has no rest; a field ends inside of its section. */
START_TEST(refused)
{
    static const uint32_t WORDS[] = { 64, 65 };
    uint8_t code[16] = { 0 };
    cv_fix fix = { 0 };

    for (size_t i = 0; i < 2; i++)
        for (uint64_t rest = 0; rest < 4; rest++) {
            memset(&fix, 0, sizeof(fix));
            ck_assert(cv_link_field(&fix, WORDS[i], WORDS[i] == 64 ? CV_USE_BANK : CV_USE_SLOT, 0x40 + rest,
                                    3, false));
            ck_assert_int_eq(cv_link_fits(&fix, all_of(code, sizeof(code)), 0), rest == 0);
        }
    memset(&fix, 0, sizeof(fix));
    ck_assert(cv_link_field(&fix, 55, CV_USE_OFFSET, 1, 0, false));
    ck_assert(cv_link_fits(&fix, all_of(code, 8), 0));
    ck_assert(!cv_link_fits(&fix, all_of(code, 7), 0));
    ck_assert(!cv_link_fits(&fix, all_of(code, 8), 1));
    ck_assert(!cv_link_fits(&fix, all_of(code, 8), UINT64_MAX));
    ck_assert(!apply(&fix, code, 7, 0));
}
END_TEST

/* Types that hold a part of a value: where, how many bits, from which on. */
static const struct part {
    uint32_t type;
    unsigned pos, bits, from;
} PARTS[] = {
    { 56, 32, 32, 0 },   { 57, 32, 32, 32 }, { 70, 0, 32, 0 },  { 71, 0, 32, 32 }, { 112, 32, 32, 0 },
    { 113, 32, 32, 32 }, { 76, 0, 8, 0 },    { 77, 0, 8, 8 },   { 78, 0, 8, 16 },  { 79, 0, 8, 24 },
    { 80, 0, 8, 32 },    { 81, 0, 8, 40 },   { 82, 0, 8, 48 },  { 83, 0, 8, 56 },  { 104, 0, 8, 0 },
    { 105, 0, 8, 8 },    { 106, 0, 8, 16 },  { 107, 0, 8, 24 }, { 108, 0, 8, 32 }, { 109, 0, 8, 40 },
    { 110, 0, 8, 48 },   { 111, 0, 8, 56 },
};

/* The part of the value, whatever is above and below it; never added to what is there, which would lose a
 * carry. */
START_TEST(parts)
{
    static const uint64_t VALUES[] = { 0, 1, 0x14, UINT64_C(0x123456789ABCDEF0), UINT64_MAX };
    const struct part *part = &PARTS[_i];

    for (size_t value = 0; value < 5; value++) {
        uint8_t code[16] = { 0 }, none[16] = { 0 };
        uint64_t want = VALUES[value] >> part->from & (part->bits == 8 ? 0xFF : 0xFFFFFFFF);
        cv_fix fix = { 0 }, again = { 0 };

        ck_assert(cv_link_field(&fix, part->type, CV_USE_BANK, VALUES[value], 3, false));
        ck_assert_uint_eq(fix.count, 1);
        ck_assert(cv_link_fits(&fix, all_of(code, sizeof(code)), 0));
        ck_assert(apply(&fix, code, sizeof(code), 0));
        ck_assert_uint_eq(bits_of(code, part->pos, part->bits), want);
        ck_assert(cv_link_field(&again, part->type, CV_USE_OFFSET, VALUES[value], 0, true));
        ck_assert(cv_link_fits(&again, all_of(none, sizeof(none)), 0));
        ck_assert_int_eq(cv_link_fits(&again, all_of(code, sizeof(code)), 0), want == 0);
    }
}
END_TEST

/* Every other type, and every use that a type is not for, has no field. */
START_TEST(nothing_else)
{
    static const cv_reloc_use USES[] = { CV_USE_OFFSET, CV_USE_BANK, CV_USE_SLOT };

    for (uint32_t type = 0; type < 300; type++)
        for (size_t unit = 0; unit < 3; unit++) {
            cv_fix fix = { 0 };
            bool known = false;

            for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
                known = known || (ROWS[i].type == type && ROWS[i].use == USES[unit]);
            for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
                known = known || (PARTS[i].type == type && USES[unit] != CV_USE_SLOT);
            ck_assert_int_eq(cv_link_field(&fix, type, USES[unit], 0, 0, false), known);
            ck_assert_int_eq(fix.count != 0, known);
        }
}
END_TEST

/* What becomes of each type, from 0 on, for each kind of symbol: refused (.), kept, applied, added (+),
 * cleared, dropped. The code that stood here before there was a table, and asked for single types, gave these
 * answers for every type and symbol. A change here is a change of what a link does. */
static const char *const ACTIONS[CV_N_CLASSES] = {
    [CV_CLASS_FUNCTION] = ".KKKK.KKKK........................KK................KK.KKKK."
                          ".KKK...KDDKK.D.KKKKKKKKKKKKKKKKKKKKKKKKK.KKKKKKKKKKKKKK..",
    [CV_CLASS_ADDRESS] = ".KKKK.KKKK..........................................KK.KKKK."
                         ".......KDDKK.D.KKKKKKKKKKKKKKKKK.........KKKKKKKKKKKKKK..",
    [CV_CLASS_LATER_FUNCTION] = ".KKKK.KKKK........................KK................KK.KKKKK"
                                "KKKKKKKKDDKKKDKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK.",
    [CV_CLASS_LATER] = ".KKKK.KKKK..........................................KK.KKKKK"
                       "K...KKKKDDKKKDKKKKKKKKKKKKKKKKKK........KKKKKKKKKKKKKKKK.",
    [CV_CLASS_LATER_BANK] = ".++KK.KKKK..........................................KK.+++K+"
                            "+...+.+KDD++.D+K++++++++KKKKKKKK........+K++++++++++++K+.",
    [CV_CLASS_DEAD] = "DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD"
                      "DDDDDDDDDDDDDCDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDD",
    [CV_CLASS_CONSTANT] = ".AAKK.KKKK..........................................KK.AAAKA"
                          "A...A.AKDDAA.DAKAAAAAAAAKKKKKKKK........AKAAAAAAAAAAAAKA.",
    [CV_CLASS_SHARED] = ".AA....................................................AAA.A"
                        "A.......DDAA.DA.AAAAAAAA................A.AAAAAAAAAAAA...",
    [CV_CLASS_DEBUG_SECTION] = ".AA....................................................AAA.A"
                               "A.......DDAA.DA.AAAAAAAA................A.AAAAAAAAAAAA...",
    [CV_CLASS_UNDEFINED_LOCAL] = ".AA....................................................AAA.A"
                                 "A.......DDAA.DA.AAAAAAAA................A.AAAAAAAAAAAA...",
    [CV_CLASS_SLOT] = ".KKKK.KKKK..........................................KK.AKKKA"
                      "....AAAKDDKK.D.KKKKKKKKKKKKKKKKK.........KKKKKKKKKKKKKKA.",
    [CV_CLASS_GIVEN_UP] = ".KKKK.KKKK..........................................KK.KKKKA"
                          "A...AAAKDDKKKDAKKKKKKKKKKKKKKKKK........AKKKKKKKKKKKKKKA.",
    [CV_CLASS_NO_TABLE] = "............................................................"
                          "........DD...D........................................D..",
    [CV_CLASS_NO_PLACE] = "............................................................"
                          "........DD...D...........................................",
};

START_TEST(every_type_and_symbol)
{
    for (unsigned symbol = 0; symbol < CV_N_CLASSES; symbol++) {
        ck_assert_uint_eq(strlen(ACTIONS[symbol]), CV_R_CUDA_LAST + 1);
        for (uint32_t type = 0; type <= CV_R_CUDA_LAST + 8; type++) {
            uint32_t known = type <= CV_R_CUDA_LAST ? type : 0; /* what is no type is like type 0 */
            cv_reloc_action action = cv_reloc_action_of(type, (cv_reloc_class)symbol);

            ck_assert_msg(".KA+CD"[action] == ACTIONS[symbol][known], "type %u, symbol %u: %c", type, symbol,
                          ".KA+CD"[action]);
        }
    }
    ck_assert_int_eq(cv_reloc_action_of(CV_R_MERC_BASE, CV_CLASS_ADDRESS), CV_RELOC_REFUSE);
    ck_assert_int_eq(cv_reloc_action_of(UINT32_MAX, CV_CLASS_DEAD), CV_RELOC_DROP);
}
END_TEST

/* Types that become another one in an executable have the same field. */
START_TEST(final_types)
{
    unsigned changed = 0;

    for (uint32_t type = 0; type <= CV_R_CUDA_LAST; type++) {
        const cv_reloc_facts *from = cv_reloc_of(type), *to = cv_reloc_of(from->final);

        if (from->final == 0)
            continue;
        changed++;
        ck_assert_uint_eq(to->final, 0);
        ck_assert_uint_eq(from->pos, to->pos);
        ck_assert_uint_eq(from->bits, to->bits);
        ck_assert_uint_eq(from->shift, to->shift);
        ck_assert_uint_eq(from->bytes, to->bytes);
    }
    ck_assert_uint_eq(changed, CV_R_CUDA_UNIFIED32_HI_32 - CV_R_CUDA_UNIFIED + 1);
}
END_TEST

Suite *suite_link_relocate(void)
{
    Suite *suite = suite_create("link relocate");
    TCase *tcase = tcase_create("relocate");

    tcase_add_loop_test(tcase, applied, 0, (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    tcase_add_loop_test(tcase, added, 0, (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    tcase_add_loop_test(tcase, most_and_one_more, 0, (int)(sizeof(ROWS) / sizeof(ROWS[0])));
    tcase_add_loop_test(tcase, parts, 0, (int)(sizeof(PARTS) / sizeof(PARTS[0])));
    tcase_add_test(tcase, refused);
    tcase_add_test(tcase, nothing_else);
    tcase_add_test(tcase, every_type_and_symbol);
    tcase_add_test(tcase, final_types);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Traits of functions: how records that a kernel inherits are read and joined. */
#include "link/in/inherit.h"

#include "base/arith.h"

static const cv_heir_row ROWS[CV_N_HEIR] = {
#define INHERITED(code, name, format, rule, leaves) { code, format, CV_RULE_##rule, (leaves) != 0 },
#include "inherit.def"
};

/* By code: the row and one more; 0: not known. */
static const uint8_t BY_CODE[UINT8_MAX + 1] = {
#define INHERITED(code, name, format, rule, leaves) [code] = CV_H_##name + 1,
#define STAYS(code, name)                           [code] = CV_H_STAYS + 1,
#include "inherit.def"
};

cv_heir cv_heir_of(uint8_t code)
{
    uint8_t row = CV_AT(BY_CODE, code);

    return row ? (cv_heir)(row - 1) : CV_H_UNKNOWN;
}

const cv_heir_row *cv_heir_get(cv_heir row)
{
    return &CV_AT(ROWS, row);
}

uint32_t cv_heir_bits(cv_heir_rule rule)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < CV_N_HEIR; i++)
        if (CV_AT(ROWS, i).rule == rule)
            bits |= CV_H_BIT(i);
    return bits;
}

static void take_value(cv_traits *traits, unsigned row, uint32_t value)
{
    uint32_t before = cv_trait(traits, row);

    switch ((cv_heir_rule)CV_AT(ROWS, row).rule) {
    case CV_RULE_MOST:
    case CV_RULE_PATH: cv_trait_set(traits, row, before > value ? before : value); break;
    case CV_RULE_BITS: cv_trait_set(traits, row, before | value); break;
    case CV_RULE_SUM:
    case CV_RULE_ANY:
    case CV_RULE_WORDS:
    case CV_RULE_NAMES: break;
    }
}

/* What a record cannot hold, nor say to be unknown by chance. */
static uint32_t sum_of(uint32_t left, uint32_t right)
{
    if (left == CV_SUM_UNKNOWN || right == CV_SUM_UNKNOWN)
        return CV_SUM_UNKNOWN;
    return cv_sat_add(left, right) < CV_SUM_UNKNOWN ? left + right : CV_H_SUM_EXCEEDS;
}

void cv_traits_record(cv_traits *traits, cv_heir row, cv_span span, const cv_tlv *tlv)
{
    uint32_t value = tlv->value;

    if (row >= CV_N_HEIR || tlv->format != CV_AT(ROWS, row).format)
        return;
    if (tlv->format == CV_TLV_SVAL)
        value = tlv->value >= 4 ? cv_u32_at(span, tlv->payload) : 0;
    traits->has |= CV_H_BIT(row);
    if (CV_AT(ROWS, row).rule == CV_RULE_SUM)
        cv_trait_set(traits, row, sum_of(cv_trait(traits, row), value));
    else
        take_value(traits, row, value);
}

void cv_traits_merge(cv_traits *into, const cv_traits *from)
{
    into->has |= from->has;
    for (unsigned i = 0; i < CV_N_HEIR && from->has >> i; i++)
        if (from->has >> i & 1)
            take_value(into, i, cv_trait(from, i));
}

void cv_traits_add(cv_traits *into, const cv_traits *from)
{
    for (unsigned i = 0; i < CV_N_HEIR && from->has >> i; i++)
        if (from->has >> i & 1 && CV_AT(ROWS, i).rule == CV_RULE_SUM) {
            into->has |= CV_H_BIT(i);
            cv_trait_set(into, i, sum_of(cv_trait(into, i), cv_trait(from, i)));
        }
}

bool cv_traits_cover(const cv_traits *all, const cv_traits *part)
{
    if (part->has & ~all->has)
        return false;
    for (unsigned i = 0; i < CV_N_HEIR && part->has >> i; i++) {
        uint32_t whole = cv_trait(all, i), needed = cv_trait(part, i);

        if (!(part->has >> i & 1))
            continue;
        switch ((cv_heir_rule)CV_AT(ROWS, i).rule) {
        case CV_RULE_MOST:
        case CV_RULE_PATH:
            if (whole < needed)
                return false;
            break;
        case CV_RULE_BITS:
            if (needed & ~whole)
                return false;
            break;
        case CV_RULE_SUM:
        case CV_RULE_ANY:
        case CV_RULE_WORDS:
        case CV_RULE_NAMES: break;
        }
    }
    return true;
}

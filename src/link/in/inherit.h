/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a kernel inherits from the functions that it reaches, row by row of spec/inherit.def. */
#ifndef CV_LINK_IN_INHERIT_H
#define CV_LINK_IN_INHERIT_H

#include "format/tlv/attr.h"

typedef enum cv_heir {
#define INHERITED(code, name, format, rule, leaves) CV_H_##name,
#include "inherit.def"
    CV_N_HEIR,   /* rows … */
    CV_H_STAYS,  /* … a code that belongs to the function alone … */
    CV_H_UNKNOWN /* … and one of which that is not known */
} cv_heir;

typedef enum cv_heir_rule {
    CV_RULE_ANY,
    CV_RULE_MOST,
    CV_RULE_BITS,
    CV_RULE_SUM,
    CV_RULE_PATH,
    CV_RULE_WORDS,
    CV_RULE_NAMES
} cv_heir_rule;

typedef struct cv_heir_row {
    uint8_t code, format, rule;
    bool leaves;
} cv_heir_row;

/* What the records of one function say, or those of all that it reaches. */
typedef struct cv_traits {
    uint32_t has; /* a bit for each row */
    uint32_t value[CV_N_HEIR];
} cv_traits;

#define CV_H_BIT(row) (UINT32_C(1) << (row))

/* A sum that no record can hold. */
#define CV_H_SUM_EXCEEDS (CV_SUM_UNKNOWN + 1)

CV_BUF_BEGIN
static inline uint32_t cv_trait(const cv_traits *traits, unsigned row)
{
    return row < CV_N_HEIR ? traits->value[row] : 0;
}

static inline void cv_trait_set(cv_traits *traits, unsigned row, uint32_t value)
{
    if (row < CV_N_HEIR)
        traits->value[row] = value;
}
CV_BUF_END

/* Row of a code, or one of the two behind the rows. */
cv_heir cv_heir_of(uint8_t code);
const cv_heir_row *cv_heir_get(cv_heir row);
/* Bits of the rows that have a rule. */
uint32_t cv_heir_bits(cv_heir_rule rule);
/* Take in what a record of the section s says. */
void cv_traits_record(cv_traits *traits, cv_heir row, cv_span span, const cv_tlv *tlv);
/* What both of them need. Sums are left alone: they count each function once, and two callers may share one.
 */
void cv_traits_merge(cv_traits *into, const cv_traits *from);
/* Add the sums of one more function. */
void cv_traits_add(cv_traits *into, const cv_traits *from);
/* Does one who has these traits know all of those? Sums are not looked at. */
CV_MUST bool cv_traits_cover(const cv_traits *all, const cv_traits *part);

#endif

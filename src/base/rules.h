/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The rule table as an enum. Rows live in spec/rules_*.def, one file per area; ids are append-only. */
#ifndef CV_BASE_RULES_H
#define CV_BASE_RULES_H

#include <cuvet/diag.h>

typedef enum cv_rule {
#define RULE(name, id, severity, cls, title, message, why) CV_R_##name,
#include "rules.def"
#undef RULE
    CV_N_RULES
} cv_rule;

/* Who wrote a device ELF, as far as rules of class PROFILE ask: rows of spec/producers.def. */
typedef enum cv_profile {
    CV_PROFILE_NONE = 0, /* nothing is known about a producer here: every profile rule applies */
#define PRODUCER(name, tool, first, last, text) CV_PROFILE_##name,
#include "producers.def"
#undef PRODUCER
    CV_N_PROFILES
} cv_profile;

const char *cv_profile_text(cv_profile profile);
/* Text of a cuvet_place, for a message. */
const char *cv_place_text(uint64_t place);
/* Producers that do not keep the rule, a bit (1 << profile) each. */
uint32_t cv_rule_exempt(cv_rule rule);
/* Does a rule of class PROFILE hold for producers that are not known as well? */
bool cv_rule_holds(cv_rule rule);

#endif

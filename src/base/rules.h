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

#endif

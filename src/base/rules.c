/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/rules.h"

#include <string.h>

#include "base/base.h"

static const cuvet_rule_info RULES[] = {
#define RULE(name, id, severity, cls, title, message, why)                                                   \
    { id, CUVET_##severity, CUVET_C_##cls, title, message, why },
#include "rules.def"
#undef RULE
};

const cuvet_rule_info *cuvet_rule_get(cuvet_rule rule)
{
    return rule < CV_COUNT(RULES) ? &RULES[rule] : NULL;
}

cuvet_status cuvet_rule_find(const char *id, cuvet_rule *out)
{
    if (!id || !out)
        return CUVET_E_USAGE;
    for (size_t i = 0; i < CV_COUNT(RULES); i++) {
        if (strcmp(RULES[i].id, id) == 0) {
            *out = (cuvet_rule)i;
            return CUVET_OK;
        }
    }
    return CUVET_E_NO_MATCH;
}

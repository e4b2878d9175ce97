/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/rules.h"

#include <string.h>

#include "base/base.h"
#include "base/text.h"

static const cuvet_rule_info RULES[] = {
#define RULE(name, id, severity, cls, title, message, why)                                                   \
    { sizeof(cuvet_rule_info), id, CUVET_##severity, CUVET_C_##cls, title, message, why },
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
        return CUVET_E_NULL;
    for (size_t i = 0; i < CV_COUNT(RULES); i++) {
        if (strcmp(RULES[i].id, id) == 0) {
            *out = (cuvet_rule)i;
            return CUVET_OK;
        }
    }
    return CUVET_E_NO_MATCH;
}

const char *cv_profile_text(cv_profile profile)
{
    static const char *const TEXTS[] = {
        [CV_PROFILE_NONE] = "no known producer",
#define PRODUCER(name, tool, first, last, text) [CV_PROFILE_##name] = (text),
#include "producers.def"
#undef PRODUCER
    };

    return (size_t)profile < CV_COUNT(TEXTS) ? TEXTS[profile] : "?";
}

const char *cv_place_text(uint64_t place)
{
    static const char *const TEXTS[] = {
#define PLACE(name, part, rule, chosen, text) (text),
#include "places.def"
#undef PLACE
    };

    return place < CV_COUNT(TEXTS) ? CV_AT(TEXTS, place) : "?";
}

uint32_t cv_rule_exempt(cv_rule rule)
{
    static const uint32_t EXEMPTIONS[CV_N_RULES] = {
#define BY(name)         | UINT32_C(1) << CV_PROFILE_##name
#define EXEMPT(name, by) [CV_R_##name] = (0 by),
#define HOLDS(name)
#include "profiles.def"
#undef HOLDS
#undef EXEMPT
#undef BY
    };

    return (size_t)rule < CV_N_RULES ? EXEMPTIONS[rule] : 0;
}

bool cv_rule_holds(cv_rule rule)
{
    static const bool HELD[CV_N_RULES] = {
#define EXEMPT(name, by)
#define HOLDS(name) [CV_R_##name] = true,
#include "profiles.def"
#undef HOLDS
#undef EXEMPT
    };

    return (size_t)rule < CV_N_RULES && HELD[rule];
}

size_t cuvet_rule_exempt(cuvet_rule rule, char *buf, size_t cap)
{
    cv_text text = { buf, buf ? cap : 0, 0 };
    uint32_t mask = rule < CV_N_RULES ? cv_rule_exempt((cv_rule)rule) : 0;

    for (unsigned profile = CV_PROFILE_NONE + 1; profile < CV_N_PROFILES; profile++) {
        if (!(mask >> profile & 1))
            continue;
        if (text.len)
            cv_text_str(&text, ", ");
        cv_text_str(&text, cv_profile_text((cv_profile)profile));
    }
    cv_text_end(&text);
    return text.len;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- architectures ---- */

bool check_take_code(const char *word, check_code *code)
{
    const char *at = strncmp(word, "sm_", 3) == 0        ? word + 3
                     : strncmp(word, "compute_", 8) == 0 ? word + 8
                                                         : NULL;
    size_t digits = at ? strspn(at, "0123456789") : 0;
    const char *end = at ? at + digits : NULL;
    uint32_t arch = 0;

    if (digits == 0 || digits > 4 || *at == '0' || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0))
        return false;
    while (at < end)
        arch = 10 * arch + (uint32_t)(*at++ - '0');
    *code = (check_code){ .ptx = word[0] == 'c', .arch = arch, .suffix = *end };
    return true;
}

void check_code_text(const check_code *code, char out[CHECK_CODE_CAP])
{
    snprintf(out, CHECK_CODE_CAP, "%s%" PRIu32 "%.1s", code->ptx ? "compute_" : "sm_", code->arch,
             (char[]){ code->suffix, '\0' });
}

check_code *check_find_code(check_codes *list, const check_code *code)
{
    for (size_t i = 0; i < list->count; i++) {
        check_code *one = &list->code[i];

        if (one->ptx == code->ptx && one->arch == code->arch && one->suffix == code->suffix)
            return one;
    }
    return NULL;
}

/* ---- kinds ---- */

static const cuvet_kind KINDS[] = { CUVET_K_PTX, CUVET_K_LTOIR, CUVET_K_BITCODE };

uint32_t check_take_kind(const char *word)
{
    for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
        if (strcmp(word, cuvet_kind_name(KINDS[i])) == 0)
            return CLI_BIT(KINDS[i]);
    return 0;
}

/* ---- problems ---- */

/* Of a file or package. */
enum { PROBLEMS_MOST = 1000 };

const char *check_rule_id(check_rule rule)
{
    static const char *const ID[] = {
#define RULE(name, id, title) id,
        CHECK_RULES(RULE)
#undef RULE
    };

    return ID[rule];
}

const char *check_rule_title(check_rule rule)
{
    static const char *const TITLE[] = {
#define RULE(name, id, title) title,
        CHECK_RULES(RULE)
#undef RULE
    };

    return TITLE[rule];
}

void check_add_problem(check_subject *subject, check_rule rule, const char *text, const char *where)
{
    check_problem *list = subject->problem;

    for (size_t i = 0; i < subject->n_problems; i++)
        if (list[i].rule == rule && strcmp(list[i].text, text) == 0) {
            list[i].count++;
            return;
        }
    if (subject->n_problems >= PROBLEMS_MOST) {
        rule = CHECK_UNREAD;
        text = "more is wrong than is told";
        where = "";
        for (size_t i = 0; i < subject->n_problems; i++)
            if (list[i].rule == rule && strcmp(list[i].text, text) == 0)
                return;
    }
    if (subject->n_problems == subject->cap_problems) {
        size_t cap = subject->cap_problems ? 2 * subject->cap_problems : 16;

        list = reallocarray(list, cap, sizeof(*list));
        if (!list) {
            (void)cli_json_failed();
            return;
        }
        subject->problem = list;
        subject->cap_problems = cap;
    }
    list += subject->n_problems;
    *list = (check_problem){ .rule = rule, .text = strdup(text), .where = strdup(where), .count = 1 };
    if (list->text && list->where) {
        subject->n_problems++;
        return;
    }
    free(list->text);
    free(list->where);
    (void)cli_json_failed();
}

void check_drop_problems(check_subject *subject)
{
    for (size_t i = 0; i < subject->n_problems; i++) {
        free(subject->problem[i].text);
        free(subject->problem[i].where);
    }
    subject->n_problems = 0;
}

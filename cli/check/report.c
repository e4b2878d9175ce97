/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* For people, and one object per line. */
#include "check.h"

#include <inttypes.h>
#include <string.h>

static bool nothing_to_begin(const cli_args *args)
{
    (void)args;
    return true;
}

static void nothing_to_end(int rc)
{
    (void)rc;
}

/* ---- text ---- */

/* "; lacks sm_80, sm_90" */
static void put_list(const check_subject *subject, check_rule rule, const char *before)
{
    const char *sep = before;

    for (size_t i = 0; i < subject->n_problems; i++)
        if (subject->problem[i].rule == rule) {
            printf("%s %s", sep, subject->problem[i].text);
            sep = ",";
        }
}

static void put_has(const check_subject *subject)
{
    const char *sep = "; has";
    char word[CHECK_CODE_CAP];

    if (subject->has->count == 0)
        fputs("; no device code", stdout);
    for (size_t i = 0; i < subject->has->count; i++) {
        check_code_text(&subject->has->code[i], word);
        printf("%s %s", sep, word);
        sep = ",";
    }
    if (subject->over)
        fputs(", and more", stdout);
}

/* What the first line has no room for. */
static void put_more(const check_problem *problem)
{
    printf("  %s: ", check_rule_id(problem->rule));
    cli_put_str(stdout, problem->text);
    if (*problem->where) {
        fputs("  in ", stdout);
        cli_put_str(stdout, problem->where);
    }
    if (problem->count > 1)
        printf("  and %" PRIu64 " more", problem->count - 1);
    putchar('\n');
}

static void say_text(const check_subject *subject)
{
    cli_put_str(stdout, subject->name);
    fputs(subject->n_problems ? ": not ok" : ": ok", stdout);
    if (subject->worst != CUVET_V_CLEAN)
        printf("; %s", cuvet_verdict_name(subject->worst));
    for (size_t i = 0; i < subject->n_problems; i++)
        if (subject->problem[i].rule == CHECK_UNREAD && !subject->over) {
            fputs("; not all of it could be read", stdout);
            break;
        }
    put_list(subject, CHECK_ARCHITECTURE, "; lacks");
    put_list(subject, CHECK_KIND, "; may not have");
    put_has(subject);
    putchar('\n');
    for (size_t i = 0; i < subject->n_problems; i++)
        if (subject->problem[i].rule > CHECK_UNREAD)
            put_more(&subject->problem[i]);
}

/* ---- NDJSON ---- */

static json_t *texts_of(const check_subject *subject, check_rule rule)
{
    json_t *array = json_array();

    for (size_t i = 0; i < subject->n_problems; i++)
        if (subject->problem[i].rule == rule)
            cli_json_append(array, cli_json_text(subject->problem[i].text));
    return array;
}

static json_t *codes_of(const check_codes *list)
{
    json_t *array = json_array();
    char word[CHECK_CODE_CAP];

    for (size_t i = 0; i < list->count; i++) {
        check_code_text(&list->code[i], word);
        cli_json_append(array, json_string(word));
    }
    return array;
}

static json_t *problems_of(const check_subject *subject)
{
    json_t *array = json_array();

    for (size_t i = 0; i < subject->n_problems; i++) {
        const check_problem *problem = &subject->problem[i];
        json_t *object = json_object();

        cli_json_set(object, "rule", json_string(check_rule_id(problem->rule)));
        cli_json_set(object, "text", cli_json_text(problem->text));
        cli_json_set(object, "where", cli_json_text(problem->where));
        cli_json_set(object, "count", cli_json_u64(problem->count));
        cli_json_append(array, object);
    }
    return array;
}

static void say_ndjson(const check_subject *subject)
{
    json_t *object = cli_json_begin("check", subject->name);

    cli_json_set(object, "ok", json_boolean(subject->n_problems == 0));
    cli_json_set(object, "verdict", json_string(cuvet_verdict_name(subject->worst)));
    cli_json_set(object, "has", codes_of(subject->has));
    cli_json_set(object, "lacks", texts_of(subject, CHECK_ARCHITECTURE));
    cli_json_set(object, "forbidden", texts_of(subject, CHECK_KIND));
    cli_json_set(object, "problems", problems_of(subject));
    cli_json_put(object);
}

const check_report check_text = {
    .name = "text", .begin = nothing_to_begin, .subject = say_text, .end = nothing_to_end
};
const check_report check_ndjson = {
    .name = "ndjson", .begin = nothing_to_begin, .subject = say_ndjson, .end = nothing_to_end
};

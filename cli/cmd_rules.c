/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <string.h>

static void put_json(cuvet_rule rule)
{
    const cuvet_rule_info *info = cuvet_rule_get(rule);
    json_t *object = cli_json_begin("rule", NULL);
    char exempt[512];

    cli_json_set(object, "rule", json_string(info->id));
    cli_json_set(object, "severity", json_string(cuvet_severity_name(info->severity)));
    cli_json_set(object, "class", json_string(cuvet_class_name(info->cls)));
    cli_json_set(object, "title", json_string(info->title));
    cli_json_set(object, "message", json_string(info->message));
    cli_json_set(object, "why", json_string(info->why));
    if (cuvet_rule_exempt(rule, exempt, sizeof(exempt)) != 0)
        cli_json_set(object, "not_of", json_string(exempt));
    cli_json_put(object);
}

static void put_row(cuvet_rule rule)
{
    const cuvet_rule_info *info = cuvet_rule_get(rule);

    printf("%-14s %-8s %-12s %s\n", info->id, cuvet_severity_name(info->severity),
           cuvet_class_name(info->cls), info->title);
}

static void put_page(cuvet_rule rule)
{
    const cuvet_rule_info *info = cuvet_rule_get(rule);
    cuvet_diag diag = { .rule = rule, .severity = info->severity };
    char exempt[512];

    printf("%s  %s\n\n", info->id, info->title);
    printf("severity  %s\n", cuvet_severity_name(info->severity));
    printf("class     %s\n", cuvet_class_name(info->cls));
    printf("verdict   %s (of a file with no worse finding)\n", cuvet_verdict_name(cuvet_diag_verdict(&diag)));
    printf("message   %s\n\n%s\n", info->message, info->why);
    if (cuvet_rule_exempt(rule, exempt, sizeof(exempt)) != 0)
        printf("\nNot of: %s.\n", exempt);
}

/* Ids are accepted in small letters too. */
static bool find_rule(const char *text, cuvet_rule *out)
{
    char id[32];
    size_t len = strlen(text);

    if (len >= sizeof(id))
        return false;
    for (size_t i = 0; i <= len; i++)
        id[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] & ~0x20 : text[i]);
    return cuvet_rule_find(id, out) == CUVET_OK;
}

static int unknown_rule(const char *given)
{
    cli_suggestion suggestion = { .given = given };

    cli_complain(given, "no such rule; 'cuvet rules' lists them");
    for (cuvet_rule rule = 0; cuvet_rule_get(rule); rule++)
        cli_suggest_word(&suggestion, cuvet_rule_get(rule)->id, strlen(cuvet_rule_get(rule)->id));
    cli_suggest_end(&suggestion, "");
    return CLI_X_USAGE;
}

int cmd_rules(int argc, char **argv)
{
    cli_args args;
    bool json;
    int rc;

    if (!cli_parse(CLI_C_RULES, argc, argv, &args, &rc))
        return rc;
    json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    if (args.n_operands == 0) {
        for (cuvet_rule rule = 0; cuvet_rule_get(rule); rule++)
            (json ? put_json : put_row)(rule);
    }
    for (int k = 0; k < args.n_operands; k++) {
        cuvet_rule rule;

        if (!find_rule(args.operands[k], &rule)) {
            rc = unknown_rule(args.operands[k]);
            continue;
        }
        if (k > 0 && !json)
            putchar('\n');
        (json ? put_json : put_page)(rule);
    }
    if (!cli_json_ok())
        rc = cli_worse(rc, CLI_X_INTERNAL);
    return cli_finish_stdout(rc);
}

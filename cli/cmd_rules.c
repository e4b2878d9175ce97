/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <string.h>

static const char *class_name(cuvet_class c)
{
    switch (c) {
    case CUVET_C_FORM: return "form";
    case CUVET_C_UNSUPPORTED: return "unsupported";
    case CUVET_C_LIMIT: return "limit";
    case CUVET_C_IO: return "io";
    case CUVET_C_INTERNAL: return "internal";
    case CUVET_C_TARGET: return "target";
    case CUVET_C_PROFILE: return "profile";
    }
    return "?";
}

static void put_json(cuvet_rule i)
{
    const cuvet_rule_info *r = cuvet_rule_get(i);
    json_t *o = cli_json_begin("rule", NULL);
    char exempt[512];

    cli_json_set(o, "rule", json_string(r->id));
    cli_json_set(o, "severity", json_string(cuvet_severity_name(r->severity)));
    cli_json_set(o, "class", json_string(class_name(r->cls)));
    cli_json_set(o, "title", json_string(r->title));
    cli_json_set(o, "message", json_string(r->message));
    cli_json_set(o, "why", json_string(r->why));
    if (cuvet_rule_exempt(i, exempt, sizeof(exempt)) != 0)
        cli_json_set(o, "not_of", json_string(exempt));
    cli_json_put(o);
}

static void put_row(cuvet_rule i)
{
    const cuvet_rule_info *r = cuvet_rule_get(i);

    printf("%-14s %-8s %-12s %s\n", r->id, cuvet_severity_name(r->severity), class_name(r->cls), r->title);
}

static void put_page(cuvet_rule i)
{
    const cuvet_rule_info *r = cuvet_rule_get(i);
    cuvet_diag d = { .rule = i, .severity = r->severity };
    char exempt[512];

    printf("%s  %s\n\n", r->id, r->title);
    printf("severity  %s\n", cuvet_severity_name(r->severity));
    printf("class     %s\n", class_name(r->cls));
    printf("verdict   %s (of a file with no worse finding)\n", cuvet_verdict_name(cuvet_diag_verdict(&d)));
    printf("message   %s\n\n%s\n", r->message, r->why);
    if (cuvet_rule_exempt(i, exempt, sizeof(exempt)) != 0)
        printf("\nNot of: %s.\n", exempt);
}

/* Ids are accepted in small letters too. */
static bool find_rule(const char *text, cuvet_rule *out)
{
    char id[32];
    size_t n = strlen(text);

    if (n >= sizeof(id))
        return false;
    for (size_t i = 0; i <= n; i++)
        id[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] & ~0x20 : text[i]);
    return cuvet_rule_find(id, out) == CUVET_OK;
}

static int unknown_rule(const char *given)
{
    cli_suggestion s = { .given = given };

    cli_complain(given, "no such rule; 'cuvet rules' lists them");
    for (cuvet_rule i = 0; cuvet_rule_get(i); i++)
        cli_suggest_word(&s, cuvet_rule_get(i)->id, strlen(cuvet_rule_get(i)->id));
    cli_suggest_end(&s, "");
    return CLI_X_USAGE;
}

int cmd_rules(int argc, char **argv)
{
    cli_args a;
    bool json;
    int rc;

    if (!cli_parse(CLI_C_RULES, argc, argv, &a, &rc))
        return rc;
    json = a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0;
    if (a.n_operands == 0) {
        for (cuvet_rule i = 0; cuvet_rule_get(i); i++)
            (json ? put_json : put_row)(i);
    }
    for (int k = 0; k < a.n_operands; k++) {
        cuvet_rule i;

        if (!find_rule(a.operands[k], &i)) {
            rc = unknown_rule(a.operands[k]);
            continue;
        }
        if (k > 0 && !json)
            putchar('\n');
        (json ? put_json : put_page)(i);
    }
    if (!cli_json_ok())
        rc = cli_worse(rc, CLI_X_INTERNAL);
    return cli_finish_stdout(rc);
}

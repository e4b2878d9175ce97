/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Findings that were there before: the NDJSON of an earlier scan. The same rule at the same place of a file
 * of the same name is the same finding; of a package, the name in it: that of a wheel has its version. */
#include "policy.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a baseline. */
#define FILE_MOST (UINT64_C(64) << 20)
#define KEY_CAP   CLI_SHA256_CAP

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void make_key(char key[KEY_CAP], const char *rule, const char *file, const char *path)
{
    const char *inner = strstr(file, "!/");
    char place[CLI_SHA256_CAP];

    cli_fingerprint_of(path, inner ? inner : file, place);
    cli_fingerprint_of(rule, place, key);
}

static bool keep_key(check_policy *policy, const char *key)
{
    if (policy->n_known == policy->cap_known) {
        size_t cap = policy->cap_known ? 2 * policy->cap_known : 256;
        char **more = reallocarray(policy->known, cap, sizeof(*more));

        if (!more)
            return false;
        policy->known = more;
        policy->cap_known = cap;
    }
    policy->known[policy->n_known] = strdup(key);
    return policy->known[policy->n_known] && ++policy->n_known;
}

/* A line that is a finding. False: out of memory. */
static bool take_line(check_policy *policy, const json_t *line)
{
    const char *type = json_string_value(json_object_get(line, "type"));
    const char *rule = json_string_value(json_object_get(line, "rule"));
    const char *file = json_string_value(json_object_get(line, "file"));
    const char *path = json_string_value(json_object_get(line, "path"));
    char key[KEY_CAP];

    if (!type || strcmp(type, "finding") != 0 || !rule || !file || !path)
        return true;
    make_key(key, rule, file, path);
    return keep_key(policy, key);
}

static bool is_record(const json_t *line)
{
    const char *schema = json_string_value(json_object_get(line, "schema"));

    return schema && strcmp(schema, CLI_SCHEMA) == 0;
}

/* One object a line. */
int check_baseline_take(const char *name, const char *text, check_policy *policy)
{
    size_t number = 1;

    for (const char *at = text, *end; *at; at = end, number++) {
        json_t *line;
        bool good;

        end = strchrnul(at, '\n');
        line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
        good = is_record(line);
        if (!good)
            cli_complain(name, "no baseline: line %zu is not of cuvet scan --format=ndjson", number);
        else if (!take_line(policy, line))
            cli_complain(name, "out of memory");
        json_decref(line);
        if (!good)
            return CLI_X_USAGE;
        if (!cli_json_ok())
            return CLI_X_INTERNAL;
        end += *end == '\n';
    }
    if (policy->n_known)
        qsort(policy->known, policy->n_known, sizeof(*policy->known), by_text);
    return CLI_X_CLEAN;
}

int check_baseline_load(const char *path, check_policy *policy)
{
    int rc = CLI_X_CLEAN;
    char *text = check_read_file(path, FILE_MOST, &rc);

    if (!text)
        return rc;
    rc = check_baseline_take(path, text, policy);
    free(text);
    return rc;
}

bool check_known(const check_policy *policy, const char *file, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char key[KEY_CAP], path[CLI_PATH_CAP], *at = key, *name;
    bool known;

    if (policy->n_known == 0 || !rule)
        return false;
    cli_path(&diag->where, path, sizeof(path));
    /* As NDJSON has it. */
    name = malloc(4 * CLI_JSON_CAP + 64);
    if (!name)
        return cli_json_failed();
    cli_escape(file, strlen(file), CLI_JSON_CAP, name, 4 * CLI_JSON_CAP + 64);
    make_key(key, rule->id, name, path);
    known = bsearch(&at, policy->known, policy->n_known, sizeof(*policy->known), by_text) != NULL;
    free(name);
    return known;
}

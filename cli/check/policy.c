/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "policy.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct policy_loading {
    check_policy *policy;
    bool wrong;
    char today[16];
} policy_loading;

/* A key of a table. */
typedef void policy_take_fn(policy_loading *loading, const char *where, json_t *value);
typedef struct policy_key {
    const char *name;
    policy_take_fn *take;
} policy_key;

static void refuse(policy_loading *loading, const char *where, const char *want)
{
    char what[512];

    snprintf(what, sizeof(what), "%.200s: %.200s", loading->policy->name, where);
    cli_complain(what, "%s", want);
    loading->wrong = true;
}

static void join(char out[128], const char *where, const char *name)
{
    snprintf(out, 128, "%.60s%s%.60s", where, *where ? "." : "", name);
}

/* Every key that there is has to be known: one that is misspelt would ask for nothing. */
static void take_table(policy_loading *loading, const char *where, json_t *table, const policy_key *keys,
                       size_t count)
{
    if (!json_is_object(table)) {
        refuse(loading, where, "is a table");
        return;
    }
    for (void *at = json_object_iter(table); at; at = json_object_iter_next(table, at)) {
        const char *name = json_object_iter_key(at);
        cli_suggestion suggestion = { .given = name };
        char inner[128];
        size_t i = 0;

        join(inner, where, name);
        while (i < count && strcmp(keys[i].name, name) != 0) {
            cli_suggest_word(&suggestion, keys[i].name, strlen(keys[i].name));
            i++;
        }
        if (i < count) {
            keys[i].take(loading, inner, json_object_iter_value(at));
        } else {
            refuse(loading, inner, "there is no such key");
            cli_suggest_end(&suggestion, "");
        }
    }
}

#define TAKE_TABLE(loading, where, table, keys)                                                              \
    take_table(loading, where, table, keys, sizeof(keys) / sizeof((keys)[0]))

static bool is_texts(const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) == 0)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)) || !*json_string_value(json_array_get(value, i)))
            return false;
    return true;
}

static const json_t *take_patterns(policy_loading *loading, const char *where, const json_t *value)
{
    if (is_texts(value))
        return value;
    refuse(loading, where, "is a list of patterns that is not empty");
    return NULL;
}

static bool take_bool(policy_loading *loading, const char *where, const json_t *value)
{
    if (!json_is_boolean(value))
        refuse(loading, where, "is true or false");
    return json_is_true(value);
}

/* ---- require ---- */

static void take_architectures(policy_loading *loading, const char *where, json_t *value)
{
    check_codes *list = &loading->policy->required;

    for (size_t i = 0; is_texts(value) && i < json_array_size(value); i++) {
        if (list->count == CHECK_MOST_CODES ||
            !check_take_code(json_string_value(json_array_get(value, i)), &list->code[list->count])) {
            refuse(loading, where, "takes sm_N and compute_N");
            return;
        }
        list->count++;
    }
    if (!is_texts(value))
        refuse(loading, where, "is a list of architectures that is not empty");
}

static void take_kernels_required(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->kernels_required = take_patterns(loading, where, value);
}

static void take_require(policy_loading *loading, const char *where, json_t *value)
{
    static const policy_key KEYS[] = { { "architectures", take_architectures },
                                       { "kernels", take_kernels_required } };

    TAKE_TABLE(loading, where, value, KEYS);
}

/* ---- forbid ---- */

static void take_kinds(policy_loading *loading, const char *where, json_t *value)
{
    bool good = is_texts(value);

    for (size_t i = 0; good && i < json_array_size(value); i++) {
        uint32_t kind = check_take_kind(json_string_value(json_array_get(value, i)));

        good = kind != 0;
        loading->policy->forbidden |= kind;
    }
    if (!good)
        refuse(loading, where, "takes ptx, lto-ir and bitcode");
}

static void take_kernels_forbidden(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->kernels_forbidden = take_patterns(loading, where, value);
}

static void take_debug(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->no_debug = take_bool(loading, where, value);
}

static void take_sources(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->no_sources = take_bool(loading, where, value);
}

static void take_forbid(policy_loading *loading, const char *where, json_t *value)
{
    static const policy_key KEYS[] = { { "kinds", take_kinds },
                                       { "kernels", take_kernels_forbidden },
                                       { "debug", take_debug },
                                       { "sources", take_sources } };

    TAKE_TABLE(loading, where, value, KEYS);
}

/* ---- allow ---- */

static void take_producers(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->producers = take_patterns(loading, where, value);
}

static void take_compression(policy_loading *loading, const char *where, json_t *value)
{
    static const cuvet_compression ALL[] = { CUVET_Z_NONE, CUVET_Z_LZ4, CUVET_Z_ZSTD };
    const json_t *list = take_patterns(loading, where, value);

    for (size_t i = 0; i < check_n_patterns(list); i++) {
        size_t found = 0;

        while (found < sizeof(ALL) / sizeof(ALL[0]) &&
               strcmp(check_pattern(list, i), cuvet_compression_name(ALL[found])) != 0)
            found++;
        if (found == sizeof(ALL) / sizeof(ALL[0]))
            refuse(loading, where, "takes none, lz4 and zstd");
    }
    loading->policy->compressions = list;
}

static void take_allow(policy_loading *loading, const char *where, json_t *value)
{
    static const policy_key KEYS[] = { { "producers", take_producers }, { "compression", take_compression } };

    TAKE_TABLE(loading, where, value, KEYS);
}

/* ---- size ---- */

static bool take_size(const json_t *value, uint64_t *size)
{
    *size = 0;
    if (json_is_integer(value) && json_integer_value(value) > 0)
        *size = (uint64_t)json_integer_value(value);
    return *size > 0 || (json_is_string(value) && cli_number(json_string_value(value), size) && *size > 0);
}

/* Keys are architectures, and "total". */
static void take_sizes(policy_loading *loading, const char *where, json_t *value)
{
    check_codes *most = &loading->policy->most;

    if (!json_is_object(value)) {
        refuse(loading, where, "is a table");
        return;
    }
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at)) {
        const char *name = json_object_iter_key(at);
        check_code code = { .arch = 0 };
        char inner[128];
        uint64_t size;

        join(inner, where, name);
        if (!take_size(json_object_iter_value(at), &size)) {
            refuse(loading, inner, "is a number of bytes, or a text as \"100M\"");
        } else if (strcmp(name, "total") == 0) {
            loading->policy->most_stored = size;
        } else if (check_take_code(name, &code) && most->count < CHECK_MOST_CODES) {
            code.stored = size;
            most->code[most->count++] = code;
        } else {
            refuse(loading, inner, "takes total, sm_N and compute_N");
        }
    }
}

/* ---- findings ---- */

static void take_unsupported(policy_loading *loading, const char *where, json_t *value)
{
    loading->policy->no_unsupported = take_bool(loading, where, value);
}

static void take_findings(policy_loading *loading, const char *where, json_t *value)
{
    static const policy_key KEYS[] = { { "unsupported", take_unsupported } };

    TAKE_TABLE(loading, where, value, KEYS);
}

static bool is_date(const char *text)
{
    static const char FORM[] = "dddd-dd-dd";

    if (!text || strlen(text) != strlen(FORM))
        return false;
    for (size_t i = 0; FORM[i]; i++)
        if (FORM[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != FORM[i])
            return false;
    return true;
}

static bool is_rule(const char *id)
{
    const cuvet_rule_info *rule;

    for (cuvet_rule i = 0; (rule = cuvet_rule_get(i)) != NULL; i++)
        if (strcmp(rule->id, id) == 0)
            return true;
    return false;
}

static void take_waiver(policy_loading *loading, const char *where, json_t *table)
{
    static const char *const NAMES[] = { "rule", "file", "path", "fingerprint", "reason", "until" };
    check_waiver *waiver = &loading->policy->waiver[loading->policy->n_waivers++];
    const char *text[sizeof(NAMES) / sizeof(NAMES[0])] = { NULL };

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        text[i] = json_string_value(json_object_get(table, NAMES[i]));
    *waiver = (check_waiver){
        .rule = text[0], .file = text[1], .path = text[2], .fingerprint = text[3], .reason = text[4]
    };
    for (void *at = json_object_iter(table); at; at = json_object_iter_next(table, at)) {
        size_t i = 0;

        while (i < sizeof(NAMES) / sizeof(NAMES[0]) && strcmp(NAMES[i], json_object_iter_key(at)) != 0)
            i++;
        if (i == sizeof(NAMES) / sizeof(NAMES[0]) || !text[i] || !*text[i])
            refuse(loading, where, "takes rule, file, path, fingerprint, reason and until, each a text");
    }
    if (!waiver->rule || !is_rule(waiver->rule))
        refuse(loading, where, "needs a rule that cuvet rules lists");
    if (!waiver->reason)
        refuse(loading, where, "needs a reason");
    if (text[5] && !is_date(text[5]))
        refuse(loading, where, "until is a day as 2027-01-31");
    waiver->ended = text[5] && strcmp(text[5], loading->today) < 0;
}

static void take_suppress(policy_loading *loading, const char *where, json_t *value)
{
    size_t count = json_array_size(value);
    char inner[128];

    if (!json_is_array(value)) {
        refuse(loading, where, "is a list of tables");
        return;
    }
    loading->policy->waiver = calloc(count + 1, sizeof(*loading->policy->waiver));
    for (size_t i = 0; loading->policy->waiver && i < count; i++) {
        snprintf(inner, sizeof(inner), "%.60s[%zu]", where, i);
        if (json_is_object(json_array_get(value, i)))
            take_waiver(loading, inner, json_array_get(value, i));
        else
            refuse(loading, inner, "is a table");
    }
    if (!loading->policy->waiver)
        refuse(loading, where, "out of memory");
}

/* ---- the whole ---- */

static void take_schema(policy_loading *loading, const char *where, json_t *value)
{
    if (!json_is_string(value) || strcmp(json_string_value(value), CHECK_POLICY_SCHEMA) != 0)
        refuse(loading, where, "is not \"" CHECK_POLICY_SCHEMA "\"");
}

int check_policy_take(const char *name, json_t *root, check_policy *policy)
{
    static const policy_key KEYS[] = { { "schema", take_schema },    { "require", take_require },
                                       { "forbid", take_forbid },    { "allow", take_allow },
                                       { "size", take_sizes },       { "findings", take_findings },
                                       { "suppress", take_suppress } };
    policy_loading loading = { .policy = policy };
    time_t now = time(NULL);
    struct tm parts;

    policy->name = name;
    policy->root = root;
    if (!gmtime_r(&now, &parts) || strftime(loading.today, sizeof(loading.today), "%Y-%m-%d", &parts) == 0)
        return CLI_X_INTERNAL;
    if (json_is_object(policy->root) && !json_object_get(policy->root, "schema"))
        refuse(&loading, "schema", "is missing; it is \"" CHECK_POLICY_SCHEMA "\"");
    TAKE_TABLE(&loading, "", policy->root, KEYS);
    return loading.wrong ? CLI_X_USAGE : CLI_X_CLEAN;
}

int check_policy_load(const char *path, check_policy *policy)
{
    int rc = CLI_X_CLEAN;
    json_t *root = check_policy_read(path, &rc);

    return root ? check_policy_take(path, root, policy) : rc;
}

void check_policy_drop(check_policy *policy)
{
    for (size_t i = 0; i < policy->n_known; i++)
        free(policy->known[i]);
    free(policy->known);
    free(policy->waiver);
    json_decref(policy->root);
}

bool check_policy_looks_inside(const check_policy *policy)
{
    return policy->kernels_required || policy->kernels_forbidden || policy->no_debug || policy->no_sources;
}

size_t check_n_patterns(const json_t *patterns)
{
    return patterns ? json_array_size(patterns) : 0;
}

const char *check_pattern(const json_t *patterns, size_t index)
{
    return json_string_value(json_array_get(patterns, index));
}

bool check_fits(const json_t *patterns, const char *text, bool *seen)
{
    bool fits = false;

    for (size_t i = 0; i < check_n_patterns(patterns) && (seen || !fits); i++) {
        bool now = strlen(text) <= CHECK_TEXT_MOST && fnmatch(check_pattern(patterns, i), text, 0) == 0;

        fits = fits || now;
        if (seen && now)
            seen[i] = true;
    }
    return fits;
}

/* ---- waivers ---- */

static bool is_of(const char *pattern, const char *text)
{
    return !pattern || (strlen(text) <= CHECK_TEXT_MOST && fnmatch(pattern, text, 0) == 0);
}

bool check_waived(check_policy *policy, const char *file, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char path[CLI_PATH_CAP], print[CLI_SHA256_CAP];
    bool waived = false;

    if (policy->n_waivers == 0 || !rule)
        return false;
    cli_path(&diag->where, path, sizeof(path));
    cli_fingerprint_of(rule->id, path, print);
    for (size_t i = 0; i < policy->n_waivers; i++) {
        check_waiver *waiver = &policy->waiver[i];

        if (strcmp(waiver->rule, rule->id) != 0 || !is_of(waiver->file, file) || !is_of(waiver->path, path) ||
            (waiver->fingerprint && strcmp(waiver->fingerprint, print) != 0))
            continue;
        waiver->used = true;
        waived = waived || !waiver->ended;
    }
    return waived;
}

void check_policy_end(const check_policy *policy)
{
    for (size_t i = 0; i < policy->n_waivers; i++) {
        const check_waiver *waiver = &policy->waiver[i];
        char what[512];

        snprintf(what, sizeof(what), "%.200s: suppress[%zu]", policy->name, i);
        if (!waiver->used)
            cli_complain(what, "nothing is a finding of %s there any more", waiver->rule);
        else if (waiver->ended)
            cli_complain(what, "its day is over: findings of %s count", waiver->rule);
    }
}

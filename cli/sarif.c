/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sarif.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE_ID "%SRCROOT%"

/* Absolute, without "." and ".."; NULL where unknown. The root as it was given, and what it is without
 * symbolic links: shells know their folder by the first, the system by the second. */
static char *here, *root, *real_root;
static const cli_args *command_line;

/* Only by the text: no name is looked up, inside of the cage none can be. */
static char *absolute(const char *from, const char *name)
{
    size_t size = (from ? strlen(from) : 0) + strlen(name) + 3, used = 0;
    char *joined = malloc(size), *out = malloc(size);

    if (!joined || !out || (*name != '/' && !from)) {
        free(joined);
        free(out);
        return NULL;
    }
    snprintf(joined, size, "%s/%s", *name == '/' ? "" : from, name);
    for (const char *at = joined; *at;) {
        size_t len;

        at += strspn(at, "/");
        len = strcspn(at, "/");
        if (len == 2 && memcmp(at, "..", 2) == 0) {
            while (used > 0 && out[--used] != '/')
                continue;
        } else if (len > 0 && !(len == 1 && *at == '.')) {
            out[used++] = '/';
            memcpy(out + used, at, len);
            used += len;
        }
        at += len;
    }
    out[used] = '\0'; /* the root of the file system is "" */
    free(joined);
    return out;
}

bool sarif_begin(const cli_args *args)
{
    const char *given = args->value[CLI_O_SOURCE_ROOT];
    char *folder = getcwd(NULL, 0), *resolved;

    command_line = args;
    if (!folder) /* a folder that is gone: then names are what they are */
        return true;
    here = absolute(NULL, folder);
    root = here ? absolute(here, given ? given : folder) : NULL;
    resolved = realpath(given ? given : folder, NULL);
    real_root = resolved ? absolute(NULL, resolved) : NULL;
    free(resolved);
    free(folder);
    return here && root;
}

void sarif_end(void)
{
    free(here);
    free(root);
    free(real_root);
    here = root = real_root = NULL;
}

size_t sarif_outer(const char *name, bool entry)
{
    const char *inner;
    size_t from = 0;

    if (!entry)
        return strlen(name);
    /* A folder of the command line may have "!/" in its own name. */
    for (int i = 0; i < command_line->n_operands; i++) {
        size_t len = strlen(command_line->operands[i]);

        if (len > from && strncmp(name, command_line->operands[i], len) == 0)
            from = len;
    }
    inner = strstr(name + from, "!/");
    return inner ? (size_t)(inner - name) : strlen(name);
}

const char *sarif_inner(const char *name, bool entry)
{
    size_t outer = sarif_outer(name, entry);

    return name[outer] ? name + outer + strlen("!/") : "";
}

/* What is left of a path below a folder, or NULL. */
static const char *below(const char *path, const char *folder)
{
    size_t len = folder ? strlen(folder) : 0;

    return folder && strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* The URI of a name's file, and whether it counts from the root. NULL: out of memory */
static char *uri_of(const char *name, bool entry, bool *relative)
{
    char *file = strndup(name, sarif_outer(name, entry));
    char *path = file ? absolute(here, file) : NULL, *uri = NULL;
    const char *rest = path ? below(path, root) : NULL, *scheme = "";
    size_t size;

    if (path && !rest)
        rest = below(path, real_root);
    *relative = rest != NULL || !path;
    if (file && strcmp(file, "-") == 0) {
        rest = "stdin";
        *relative = true;
    } else if (!rest) {
        scheme = path ? "file://" : "";
        rest = path ? path : file;
    }
    if (rest) {
        size = strlen(scheme) + 3 * strlen(rest) + 1 + 4;
        uri = malloc(size);
        if (uri) {
            size_t used = strlen(scheme);

            memcpy(uri, scheme, used);
            cli_uri(rest, strlen(rest), uri + used, size - used);
        }
    }
    free(path);
    free(file);
    return uri;
}

json_t *sarif_file(const char *name, bool entry)
{
    bool relative;
    char *uri = uri_of(name, entry, &relative);
    json_t *object = json_object();

    cli_json_set(object, "uri", uri ? json_string(uri) : NULL);
    if (relative)
        cli_json_set(object, "uriBaseId", json_string(BASE_ID));
    free(uri);
    return object;
}

json_t *sarif_bases(void)
{
    return json_pack("{s:{s:{s:s}}}", BASE_ID, "description", "text",
                     "The root of the sources: --source-root, or the folder that cuvet was started in");
}

json_t *sarif_first_line(void)
{
    return json_pack("{s:i}", "startLine", 1);
}

/* "[text](target)" is a link in a message of SARIF: a blank takes it apart. */
json_t *sarif_message(const char *text)
{
    size_t size = 2 * strlen(text) + 1, used = 0;
    char *plain = malloc(size);
    json_t *object = json_object();

    if (plain) {
        for (const char *at = text; *at; at++) {
            plain[used++] = *at;
            if (at[0] == ']' && at[1] == '(')
                plain[used++] = ' ';
        }
        plain[used] = '\0';
    }
    cli_json_set(object, "text", plain ? cli_json_text(plain) : NULL);
    free(plain);
    return object;
}

json_t *sarif_fingerprints(const char *rule, const char *name, bool entry)
{
    bool relative;
    char *uri = uri_of(name, entry, &relative), *place = NULL;
    const char *inner = sarif_inner(name, entry);
    char hex[CLI_SHA256_CAP], line[24];
    size_t size;

    if (uri) {
        size = strlen(uri) + strlen(inner) + 3;
        place = malloc(size);
        if (place) {
            snprintf(place, size, "%s%s%s", uri, *inner ? "!/" : "", inner);
            cli_fingerprint_of(rule, place, hex);
        }
    }
    if (!place) {
        free(uri);
        return NULL;
    }
    free(uri);
    free(place);
    /* GitHub knows a result again by the second, and would hash the first line of the file without it. */
    snprintf(line, sizeof(line), "%.16s:1", hex);
    return json_pack("{s:s,s:s}", "ruleFile/v1", hex, "primaryLocationLineHash", line);
}

static json_t *help_of(const sarif_rule *rule)
{
    char text[4096];
    json_t *help = json_object();

    snprintf(text, sizeof(text), "%s\n\n%s%s%s", rule->title, rule->why, rule->advice ? "\n\n" : "",
             rule->advice ? rule->advice : "");
    cli_json_set(help, "text", json_string(text)); /* lines of our own */
    snprintf(text, sizeof(text), "**%s** (%s)\n\n%s%s%s", rule->title, rule->id, rule->why,
             rule->advice ? "\n\n" : "", rule->advice ? rule->advice : "");
    cli_json_set(help, "markdown", json_string(text));
    return help;
}

json_t *sarif_rule_object(const sarif_rule *rule)
{
    const char *base = command_line->value[CLI_O_HELP_URI];
    json_t *object = json_object(), *properties = json_object(), *tags = json_array();

    if (rule->score)
        cli_json_append(tags, json_string("security"));
    if (rule->tag)
        cli_json_append(tags, json_string(rule->tag));
    cli_json_set(properties, "tags", tags);
    if (rule->score)
        cli_json_set(properties, "security-severity", json_string(rule->score));
    cli_json_set(object, "id", json_string(rule->id));
    cli_json_set(object, "shortDescription", sarif_message(rule->title));
    cli_json_set(object, "fullDescription", sarif_message(*rule->why ? rule->why : rule->title));
    cli_json_set(object, "help", help_of(rule));
    if (base && strncmp(rule->id, "CV-", 3) == 0) {
        char uri[PATH_MAX];

        snprintf(uri, sizeof(uri), "%s%s%s", base, *base && base[strlen(base) - 1] == '/' ? "" : "/",
                 rule->id);
        cli_json_set(object, "helpUri", cli_json_text(uri));
    }
    cli_json_set(object, "defaultConfiguration", json_pack("{s:s}", "level", rule->level));
    cli_json_set(object, "properties", properties);
    return object;
}

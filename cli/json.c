/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_memory;

bool cli_json_ok(void)
{
    return !out_of_memory;
}

bool cli_json_failed(void)
{
    out_of_memory = true;
    return false;
}

void cli_json_set(json_t *object, const char *key, json_t *value)
{
    if (!object || !value || json_object_set_new(object, key, value) != 0)
        out_of_memory = true;
}

void cli_json_append(json_t *array, json_t *value)
{
    if (!array || !value || json_array_append_new(array, value) != 0)
        out_of_memory = true;
}

json_t *cli_json_bytes(const void *bytes, size_t size)
{
    size_t taken = size < CLI_JSON_CAP ? size : CLI_JSON_CAP, cap = 4 * taken + 64;
    char *buf = malloc(cap);
    json_t *out = NULL;

    if (buf)
        out = json_stringn(buf, cli_escape(bytes, size, CLI_JSON_CAP, buf, cap));
    free(buf);
    return out;
}

json_t *cli_json_text(const char *text)
{
    return cli_json_bytes(text, strlen(text));
}

json_t *cli_json_u64(uint64_t value)
{
    char hex[24];

    if (value <= CLI_JSON_EXACT_MAX)
        return json_integer((json_int_t)value);
    snprintf(hex, sizeof(hex), "0x%" PRIx64, value);
    return json_string(hex);
}

void cli_json_put(json_t *object)
{
    if (!object || json_dumpf(object, stdout, JSON_COMPACT) != 0)
        out_of_memory = true;
    fputc('\n', stdout);
    fflush(stdout); /* a failure stays in ferror(stdout), which the session watches */
    json_decref(object);
}

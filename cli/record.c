/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "record.h"

#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024u

static bool fail(cli_record *r)
{
    r->failed = true;
    return cli_json_failed();
}

static bool grow(cli_record *r, size_t n)
{
    size_t cap = r->cap ? r->cap : FIRST_ROOM;
    char *text;

    while (cap - r->n <= n) {
        if (cap > SIZE_MAX / 2)
            return fail(r);
        cap *= 2;
    }
    text = realloc(r->text, cap);
    if (!text)
        return fail(r);
    r->text = text;
    r->cap = cap;
    return true;
}

/* For n more bytes. */
static inline bool room(cli_record *r, size_t n)
{
    return r->cap - r->n > n || grow(r, n);
}

static void add(cli_record *r, const void *bytes, size_t n)
{
    if (!room(r, n))
        return;
    memcpy(r->text + r->n, bytes, n);
    r->n += n;
}

static void add_char(cli_record *r, char c)
{
    if (room(r, 1))
        r->text[r->n++] = c;
}

/* Bytes at s that are written as they are. */
static size_t plain_run(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

/* As jansson writes it: the short escapes where there are some, DEL and everything above as it is. */
static void add_special(cli_record *r, char c)
{
    static const char SHORT[] = "\b\f\n\r\t\"\\", LETTER[] = "bfnrt\"\\";
    const char *at = c ? strchr(SHORT, c) : NULL;
    char hex[8];

    if (at) {
        add_char(r, '\\');
        add_char(r, LETTER[at - SHORT]);
        return;
    }
    (void)snprintf(hex, sizeof(hex), "\\u%04X", (unsigned)(unsigned char)c);
    add(r, hex, strlen(hex));
}

static void add_quoted(cli_record *r, const char *s, size_t n)
{
    add_char(r, '"');
    for (size_t i = 0; i < n;) {
        size_t end = i + plain_run(s + i, n - i);

        add(r, s + i, end - i);
        if (end < n)
            add_special(r, s[end++]);
        i = end;
    }
    add_char(r, '"');
}

static void begin_value(cli_record *r, const char *key)
{
    size_t n = key ? strlen(key) : 0;
    bool comma = r->more;

    r->more = true;
    if (!room(r, n + 4))
        return;
    if (comma)
        r->text[r->n++] = ',';
    if (!key)
        return;
    r->text[r->n++] = '"';
    memcpy(r->text + r->n, key, n);
    r->n += n;
    r->text[r->n++] = '"';
    r->text[r->n++] = ':';
}

void cli_record_begin(cli_record *r, const char *type, const char *file)
{
    r->n = 0;
    r->more = r->failed = false;
    add_char(r, '{');
    cli_record_string(r, "schema", CLI_SCHEMA);
    cli_record_string(r, "type", type);
    if (file)
        cli_record_text(r, "file", file);
}

void cli_record_string(cli_record *r, const char *key, const char *s)
{
    begin_value(r, key);
    add_quoted(r, s, strlen(s));
}

void cli_record_bytes(cli_record *r, const char *key, const void *bytes, size_t n)
{
    size_t taken = n < CLI_JSON_CAP ? n : CLI_JSON_CAP, cap = 4 * taken + 64;
    char *escaped = r->escaped_cap >= cap ? r->escaped : realloc(r->escaped, cap);

    if (!escaped) {
        (void)fail(r);
        return;
    }
    r->escaped = escaped;
    r->escaped_cap = cap > r->escaped_cap ? cap : r->escaped_cap;
    begin_value(r, key);
    add_quoted(r, escaped, cli_escape(bytes, n, CLI_JSON_CAP, escaped, cap));
}

void cli_record_text(cli_record *r, const char *key, const char *s)
{
    cli_record_bytes(r, key, s, strlen(s));
}

static void add_decimal(cli_record *r, uint64_t v)
{
    char digits[20];
    size_t n = sizeof(digits);

    do
        digits[--n] = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    add(r, digits + n, sizeof(digits) - n);
}

void cli_record_u64(cli_record *r, const char *key, uint64_t v)
{
    char hex[24];

    if (v > CLI_JSON_EXACT_MAX) {
        (void)snprintf(hex, sizeof(hex), "0x%" PRIx64, v);
        cli_record_string(r, key, hex);
        return;
    }
    begin_value(r, key);
    add_decimal(r, v);
}

void cli_record_signed(cli_record *r, const char *key, int64_t v)
{
    begin_value(r, key);
    if (v < 0)
        add_char(r, '-');
    add_decimal(r, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v);
}

void cli_record_bool(cli_record *r, const char *key, bool v)
{
    begin_value(r, key);
    add(r, v ? "true" : "false", v ? 4 : 5);
}

void cli_record_null(cli_record *r, const char *key)
{
    begin_value(r, key);
    add(r, "null", 4);
}

void cli_record_open(cli_record *r, const char *key, char bracket)
{
    begin_value(r, key);
    add_char(r, bracket);
    r->more = false;
}

void cli_record_close(cli_record *r, char bracket)
{
    add_char(r, bracket);
    r->more = true;
}

void cli_record_put(cli_record *r, FILE *to)
{
    add(r, "}\n", 2);
    if (!r->failed)
        fwrite(r->text, 1, r->n, to); /* a failure stays in ferror(to), which the session watches */
}

void cli_record_free(cli_record *r)
{
    free(r->text);
    free(r->escaped);
    *r = (cli_record){ .text = NULL };
}

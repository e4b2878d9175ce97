/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "record.h"

#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 1024u

static bool fail_record(cli_record *record)
{
    record->failed = true;
    return cli_json_failed();
}

static bool grow_record(cli_record *record, size_t count)
{
    size_t cap = record->cap ? record->cap : FIRST_ROOM;
    char *text;

    while (cap - record->len <= count) {
        if (cap > SIZE_MAX / 2)
            return fail_record(record);
        cap *= 2;
    }
    text = realloc(record->text, cap);
    if (!text)
        return fail_record(record);
    record->text = text;
    record->cap = cap;
    return true;
}

/* For 'count' more bytes. */
static inline bool make_room(cli_record *record, size_t count)
{
    return record->cap - record->len > count || grow_record(record, count);
}

static void add_bytes(cli_record *record, const void *bytes, size_t size)
{
    if (!make_room(record, size))
        return;
    memcpy(record->text + record->len, bytes, size);
    record->len += size;
}

static void add_char(cli_record *record, char ch)
{
    if (make_room(record, 1))
        record->text[record->len++] = ch;
}

/* Bytes at 'text' that are written as they are. */
static size_t plain_run(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && (unsigned char)text[i] >= 0x20 && text[i] != '"' && text[i] != '\\')
        i++;
    return i;
}

/* As jansson writes it: the short escapes where there are some, DEL and everything above as it is. */
static void add_special(cli_record *record, char ch)
{
    static const char SHORT[] = "\b\f\n\r\t\"\\", LETTER[] = "bfnrt\"\\";
    const char *at = ch ? strchr(SHORT, ch) : NULL;
    char hex[8];

    if (at) {
        add_char(record, '\\');
        add_char(record, LETTER[at - SHORT]);
        return;
    }
    (void)snprintf(hex, sizeof(hex), "\\u%04X", (unsigned)(unsigned char)ch);
    add_bytes(record, hex, strlen(hex));
}

static void add_quoted(cli_record *record, const char *text, size_t len)
{
    add_char(record, '"');
    for (size_t i = 0; i < len;) {
        size_t end = i + plain_run(text + i, len - i);

        add_bytes(record, text + i, end - i);
        if (end < len)
            add_special(record, text[end++]);
        i = end;
    }
    add_char(record, '"');
}

static void begin_value(cli_record *record, const char *key)
{
    size_t count = key ? strlen(key) : 0;
    bool comma = record->more;

    record->more = true;
    if (!make_room(record, count + 4))
        return;
    if (comma)
        record->text[record->len++] = ',';
    if (!key)
        return;
    record->text[record->len++] = '"';
    memcpy(record->text + record->len, key, count);
    record->len += count;
    record->text[record->len++] = '"';
    record->text[record->len++] = ':';
}

void cli_record_start(cli_record *record)
{
    record->len = 0;
    record->more = record->failed = false;
    add_char(record, '{');
}

void cli_record_begin(cli_record *record, const char *type, const char *file)
{
    cli_record_start(record);
    cli_record_string(record, "schema", CLI_SCHEMA);
    cli_record_string(record, "type", type);
    if (file)
        cli_record_text(record, "file", file);
}

void cli_record_string(cli_record *record, const char *key, const char *text)
{
    begin_value(record, key);
    add_quoted(record, text, strlen(text));
}

void cli_record_cut(cli_record *record, const char *key, const void *bytes, size_t size, size_t most)
{
    size_t taken = size < most ? size : most, cap = 4 * taken + 64;
    char *escaped = record->escaped_cap >= cap ? record->escaped : realloc(record->escaped, cap);

    if (!escaped) {
        (void)fail_record(record);
        return;
    }
    record->escaped = escaped;
    record->escaped_cap = cap > record->escaped_cap ? cap : record->escaped_cap;
    begin_value(record, key);
    add_quoted(record, escaped, cli_escape(bytes, size, most, escaped, cap));
}

void cli_record_bytes(cli_record *record, const char *key, const void *bytes, size_t size)
{
    cli_record_cut(record, key, bytes, size, CLI_JSON_CAP);
}

void cli_record_text(cli_record *record, const char *key, const char *text)
{
    cli_record_bytes(record, key, text, strlen(text));
}

static void add_decimal(cli_record *record, uint64_t value)
{
    char digits[20];
    size_t size = sizeof(digits);

    do
        digits[--size] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    add_bytes(record, digits + size, sizeof(digits) - size);
}

void cli_record_u64(cli_record *record, const char *key, uint64_t value)
{
    char hex[24];

    if (value > CLI_JSON_EXACT_MAX) {
        (void)snprintf(hex, sizeof(hex), "0x%" PRIx64, value);
        cli_record_string(record, key, hex);
        return;
    }
    begin_value(record, key);
    add_decimal(record, value);
}

void cli_record_signed(cli_record *record, const char *key, int64_t value)
{
    begin_value(record, key);
    if (value < 0)
        add_char(record, '-');
    add_decimal(record, value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value);
}

void cli_record_bool(cli_record *record, const char *key, bool value)
{
    begin_value(record, key);
    add_bytes(record, value ? "true" : "false", value ? 4 : 5);
}

void cli_record_null(cli_record *record, const char *key)
{
    begin_value(record, key);
    add_bytes(record, "null", 4);
}

void cli_record_open(cli_record *record, const char *key, char bracket)
{
    begin_value(record, key);
    add_char(record, bracket);
    record->more = false;
}

void cli_record_close(cli_record *record, char bracket)
{
    add_char(record, bracket);
    record->more = true;
}

void cli_record_flush(cli_record *record, FILE *to)
{
    if (!record->failed)
        fwrite(record->text, 1, record->len,
               to); /* a failure stays in ferror(to), which the session watches */
    record->len = 0;
}

void cli_record_put(cli_record *record, FILE *to)
{
    add_bytes(record, "}\n", 2);
    cli_record_flush(record, to);
}

void cli_record_free(cli_record *record)
{
    free(record->text);
    free(record->escaped);
    *record = (cli_record){ .text = NULL };
}

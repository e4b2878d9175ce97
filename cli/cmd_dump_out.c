/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of a dump as lines for people or as NDJSON. */
#include "cmd_dump.h"
#include "demangle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 24

/* The command has one thread and prints one name at a time; too large for a stack frame. */
static char escaped[4 * DUMP_NAME_CAP + 64];

void out_title(dump_out *out, const char *format, ...)
{
    va_list ap;

    out->titled = true;
    if (out->json)
        return;
    fputc('\n', out->to);
    va_start(ap, format);
    vfprintf(out->to, format, ap);
    va_end(ap);
    fputc('\n', out->to);
}

void out_section_title(dump_out *out, const char *what, uint64_t index, cuvet_bytes name)
{
    out->titled = true;
    if (out->json)
        return;
    fprintf(out->to, "\n%s: section %" PRIu64 " ", what, index);
    dump_put(out, out->to, name);
    fputc('\n', out->to);
}

void out_head(dump_out *out, const char *line)
{
    if (!out->json)
        fprintf(out->to, "%s\n", line);
}

void out_begin(dump_out *out, const char *type, bool vertical)
{
    /* Records of several lines are set apart from each other; the first follows its title. */
    if (!out->json && vertical && !out->titled)
        fputc('\n', out->to);
    out->titled = false;
    out->vertical = vertical;
    out->first = true;
    if (!out->json)
        return;
    cli_record_begin(&out->rec, type, out->file);
    cli_record_string(&out->rec, "path", out->path);
}

/* What stands between two fields of a line, or before a line of a vertical record. */
static void separate_fields(dump_out *out, const char *key)
{
    if (out->vertical)
        fprintf(out->to, "%s  %-*s", out->first ? "" : "\n", LABEL_WIDTH, key);
    else
        fputs("  ", out->to);
    out->first = false;
}

static void pad_to(const dump_out *out, size_t used, int width)
{
    static const char BLANKS[] = "                                ";
    size_t want = (size_t)width, count;

    for (; used < want; used += count) {
        count = want - used < sizeof(BLANKS) - 1 ? want - used : sizeof(BLANKS) - 1;
        fwrite(BLANKS, 1, count, out->to);
    }
}

static void text_field(dump_out *out, const char *key, int width, const char *value)
{
    size_t len = strlen(value);

    if (out->vertical && *value == '\0') { /* no blanks behind a label without a value */
        fprintf(out->to, "%s  %s", out->first ? "" : "\n", key);
        out->first = false;
        return;
    }
    separate_fields(out, key);
    if (!out->vertical && width > 0)
        pad_to(out, len, width);
    fwrite(value, 1, len, out->to);
    if (!out->vertical && width < 0)
        pad_to(out, len, -width);
}

/* printf is most of what a dump of numbers costs. */
static const char *dec_text(char buf[32], uint64_t value)
{
    char *at = buf + 31;

    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return at;
}

void out_dec(dump_out *out, const char *key, int width, uint64_t value)
{
    char buf[32];

    if (out->json)
        cli_record_u64(&out->rec, key, value);
    else
        text_field(out, key, width, dec_text(buf, value));
}

void dump_put_dec(FILE *to, uint64_t value)
{
    char buf[32];

    fputs(dec_text(buf, value), to);
}

void out_number(dump_out *out, const char *key, uint64_t value)
{
    if (out->json)
        cli_record_u64(&out->rec, key, value);
}

static const char *hex_text(char buf[32], uint64_t value, bool minus)
{
    char *at = buf + 31;

    *at = '\0';
    do
        *--at = "0123456789abcdef"[value & 15];
    while ((value >>= 4) != 0);
    *--at = 'x';
    *--at = '0';
    if (minus)
        *--at = '-';
    return at;
}

void dump_put_hex(FILE *to, uint64_t value)
{
    char buf[32];

    fputs(hex_text(buf, value, false), to);
}

void out_signed(dump_out *out, const char *key, int width, int64_t value)
{
    char buf[32];

    if (out->json)
        cli_record_signed(&out->rec, key, value);
    else
        text_field(out, key, width,
                   hex_text(buf, value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value, value < 0));
}

void out_hex(dump_out *out, const char *key, int width, uint64_t value)
{
    char buf[32];

    if (out->json)
        cli_record_u64(&out->rec, key, value);
    else
        text_field(out, key, width, hex_text(buf, value, false));
}

void out_text(dump_out *out, const char *key, int width, const char *value)
{
    if (out->json)
        cli_record_string(&out->rec, key, value);
    else
        text_field(out, key, width, value);
}

/* What finding and printing a name costs; finding the end of a long one takes time even when it is cut short.
 * JSON has each backslash twice. */
static uint64_t name_cost(const dump_out *out, cuvet_bytes bytes, const char *printed)
{
    uint64_t count = bytes.n / 16;

    for (; *printed; printed++)
        count += out->json && *printed == '\\' ? 2 : 1;
    return count;
}

void out_name(dump_out *out, const char *key, int width, cuvet_bytes bytes)
{
    cuvet_bytes plain;

    if (bytes.n == 0 && width == 0 && !out->json && !out->vertical)
        return; /* an empty last column leaves no blanks behind */
    plain = cli_demangle(bytes);
    if (!out->json)
        bytes = plain;
    (void)cli_escape(bytes.p, bytes.n, DUMP_NAME_CAP, escaped, sizeof(escaped)); /* cut names carry a mark */
    (void)out_spend(out, name_cost(out, bytes, escaped));
    out_text(out, key, width, escaped);
    if (plain.p != bytes.p) {
        char other[64];

        (void)cli_escape(plain.p, plain.n, DUMP_NAME_CAP, escaped, sizeof(escaped));
        (void)out_spend(out, name_cost(out, plain, escaped));
        (void)snprintf(other, sizeof(other), "%s_demangled", key);
        out_text(out, other, 0, escaped);
    }
}

FILE *out_detail(dump_out *out, const char *key)
{
    if (!out->json) {
        separate_fields(out, key);
        return out->to;
    }
    out->memory = open_memstream(&out->memory_text, &out->memory_size);
    return out->memory ? out->memory
                       : stderr; /* out of memory: the record loses the field, the dump ends with an error */
}

void out_detail_end(dump_out *out, const char *key)
{
    if (!out->json || !out->memory)
        return;
    if (fclose(out->memory) == 0)
        cli_record_string(&out->rec, key, out->memory_text);
    free(out->memory_text);
    out->memory = NULL;
    out->memory_text = NULL;
}

void out_wrap(const dump_out *out, FILE *to)
{
    if (out->json)
        fputc(' ', to);
    else
        fprintf(to, "\n%*s", out->vertical ? LABEL_WIDTH + 2 : 8, "");
}

void out_end(dump_out *out)
{
    if (!out->json) {
        fputc('\n', out->to);
        return;
    }
    out->file_left -= out->rec.len < out->file_left ? out->rec.len : out->file_left; /* keys are most of it */
    out->cut = out->cut || out->file_left == 0;
    cli_record_put(&out->rec, out->to); /* write errors are found at the end */
}

void out_damage(dump_out *out, uint64_t section, uint64_t at)
{
    out_begin(out, "damage", false);
    if (out->json)
        out_dec(out, "section", 0, section);
    out_hex(out, "offset", 6, at);
    if (!out->json)
        out_text(out, "", 0, "the rest cannot be decoded");
    out_end(out);
}

bool out_spend(dump_out *out, uint64_t count)
{
    out->spent += count;
    if (out->spent > out->budget)
        out->cut = true;
    return !out->cut;
}

void dump_put(dump_out *out, FILE *to, cuvet_bytes bytes)
{
    size_t count;

    bytes = cli_demangle(bytes);
    count = cli_escape(bytes.p, bytes.n, DUMP_NAME_CAP, escaped, sizeof(escaped));
    (void)out_spend(out,
                    name_cost(out, bytes, escaped)); /* loops over elements ask whether anything is left */
    fwrite(escaped, 1, count, to);
}

bool dump_is(cuvet_bytes bytes, const char *text)
{
    return bytes.n == strlen(text) && memcmp(bytes.p, text, bytes.n) == 0;
}

bool dump_starts(cuvet_bytes bytes, const char *text)
{
    size_t len = strlen(text);

    return bytes.n >= len && memcmp(bytes.p, text, len) == 0;
}

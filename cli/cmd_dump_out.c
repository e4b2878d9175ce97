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

void out_title(dump_out *o, const char *format, ...)
{
    va_list ap;

    o->titled = true;
    if (o->json)
        return;
    fputc('\n', o->to);
    va_start(ap, format);
    vfprintf(o->to, format, ap);
    va_end(ap);
    fputc('\n', o->to);
}

void out_section_title(dump_out *o, const char *what, uint64_t index, cuvet_bytes name)
{
    o->titled = true;
    if (o->json)
        return;
    fprintf(o->to, "\n%s: section %" PRIu64 " ", what, index);
    dump_put(o, o->to, name);
    fputc('\n', o->to);
}

void out_head(dump_out *o, const char *line)
{
    if (!o->json)
        fprintf(o->to, "%s\n", line);
}

void out_begin(dump_out *o, const char *type, bool vertical)
{
    /* Records of several lines are set apart from each other; the first follows its title. */
    if (!o->json && vertical && !o->titled)
        fputc('\n', o->to);
    o->titled = false;
    o->vertical = vertical;
    o->first = true;
    if (!o->json)
        return;
    cli_record_begin(&o->rec, type, o->file);
    cli_record_string(&o->rec, "path", o->path);
}

/* What stands between two fields of a line, or before a line of a vertical record. */
static void separate(dump_out *o, const char *key)
{
    if (o->vertical)
        fprintf(o->to, "%s  %-*s", o->first ? "" : "\n", LABEL_WIDTH, key);
    else
        fputs("  ", o->to);
    o->first = false;
}

static void pad(const dump_out *o, size_t used, int width)
{
    static const char BLANKS[] = "                                ";
    size_t want = (size_t)width, n;

    for (; used < want; used += n) {
        n = want - used < sizeof(BLANKS) - 1 ? want - used : sizeof(BLANKS) - 1;
        fwrite(BLANKS, 1, n, o->to);
    }
}

static void text_field(dump_out *o, const char *key, int width, const char *v)
{
    size_t n = strlen(v);

    if (o->vertical && *v == '\0') { /* no blanks behind a label without a value */
        fprintf(o->to, "%s  %s", o->first ? "" : "\n", key);
        o->first = false;
        return;
    }
    separate(o, key);
    if (!o->vertical && width > 0)
        pad(o, n, width);
    fwrite(v, 1, n, o->to);
    if (!o->vertical && width < 0)
        pad(o, n, -width);
}

/* printf is most of what a dump of numbers costs. */
static const char *dec_text(char buf[32], uint64_t v)
{
    char *p = buf + 31;

    *p = '\0';
    do
        *--p = (char)('0' + v % 10);
    while ((v /= 10) != 0);
    return p;
}

void out_dec(dump_out *o, const char *key, int width, uint64_t v)
{
    char buf[32];

    if (o->json)
        cli_record_u64(&o->rec, key, v);
    else
        text_field(o, key, width, dec_text(buf, v));
}

void dump_put_dec(FILE *t, uint64_t v)
{
    char buf[32];

    fputs(dec_text(buf, v), t);
}

void out_number(dump_out *o, const char *key, uint64_t v)
{
    if (o->json)
        cli_record_u64(&o->rec, key, v);
}

static const char *hex_text(char buf[32], uint64_t v, bool minus)
{
    char *p = buf + 31;

    *p = '\0';
    do
        *--p = "0123456789abcdef"[v & 15];
    while ((v >>= 4) != 0);
    *--p = 'x';
    *--p = '0';
    if (minus)
        *--p = '-';
    return p;
}

void dump_put_hex(FILE *t, uint64_t v)
{
    char buf[32];

    fputs(hex_text(buf, v, false), t);
}

void out_signed(dump_out *o, const char *key, int width, int64_t v)
{
    char buf[32];

    if (o->json)
        cli_record_signed(&o->rec, key, v);
    else
        text_field(o, key, width, hex_text(buf, v < 0 ? ~(uint64_t)v + 1 : (uint64_t)v, v < 0));
}

void out_hex(dump_out *o, const char *key, int width, uint64_t v)
{
    char buf[32];

    if (o->json)
        cli_record_u64(&o->rec, key, v);
    else
        text_field(o, key, width, hex_text(buf, v, false));
}

void out_text(dump_out *o, const char *key, int width, const char *v)
{
    if (o->json)
        cli_record_string(&o->rec, key, v);
    else
        text_field(o, key, width, v);
}

/* What finding and printing a name costs; finding the end of a long one takes time even when it is cut short.
 * JSON has each backslash twice. */
static uint64_t name_cost(const dump_out *o, cuvet_bytes v, const char *printed)
{
    uint64_t n = v.n / 16;

    for (; *printed; printed++)
        n += o->json && *printed == '\\' ? 2 : 1;
    return n;
}

void out_name(dump_out *o, const char *key, int width, cuvet_bytes v)
{
    cuvet_bytes plain;

    if (v.n == 0 && width == 0 && !o->json && !o->vertical)
        return; /* an empty last column leaves no blanks behind */
    plain = cli_demangle(v);
    if (!o->json)
        v = plain;
    (void)cli_escape(v.p, v.n, DUMP_NAME_CAP, escaped, sizeof(escaped)); /* cut names carry a mark */
    (void)out_spend(o, name_cost(o, v, escaped));
    out_text(o, key, width, escaped);
    if (plain.p != v.p) {
        char other[64];

        (void)cli_escape(plain.p, plain.n, DUMP_NAME_CAP, escaped, sizeof(escaped));
        (void)out_spend(o, name_cost(o, plain, escaped));
        (void)snprintf(other, sizeof(other), "%s_demangled", key);
        out_text(o, other, 0, escaped);
    }
}

FILE *out_detail(dump_out *o, const char *key)
{
    if (!o->json) {
        separate(o, key);
        return o->to;
    }
    o->memory = open_memstream(&o->memory_text, &o->memory_size);
    return o->memory ? o->memory
                     : stderr; /* out of memory: the record loses the field, the dump ends with an error */
}

void out_detail_end(dump_out *o, const char *key)
{
    if (!o->json || !o->memory)
        return;
    if (fclose(o->memory) == 0)
        cli_record_string(&o->rec, key, o->memory_text);
    free(o->memory_text);
    o->memory = NULL;
    o->memory_text = NULL;
}

void out_wrap(const dump_out *o, FILE *t)
{
    if (o->json)
        fputc(' ', t);
    else
        fprintf(t, "\n%*s", o->vertical ? LABEL_WIDTH + 2 : 8, "");
}

void out_end(dump_out *o)
{
    if (!o->json) {
        fputc('\n', o->to);
        return;
    }
    o->file_left -= o->rec.n < o->file_left ? o->rec.n : o->file_left; /* keys are most of it */
    o->cut = o->cut || o->file_left == 0;
    cli_record_put(&o->rec, o->to); /* write errors are found at the end */
}

void out_damage(dump_out *o, uint64_t section, uint64_t at)
{
    out_begin(o, "damage", false);
    if (o->json)
        out_dec(o, "section", 0, section);
    out_hex(o, "offset", 6, at);
    if (!o->json)
        out_text(o, "", 0, "the rest cannot be decoded");
    out_end(o);
}

bool out_spend(dump_out *o, uint64_t n)
{
    o->spent += n;
    if (o->spent > o->budget)
        o->cut = true;
    return !o->cut;
}

void dump_put(dump_out *o, FILE *t, cuvet_bytes v)
{
    size_t n;

    v = cli_demangle(v);
    n = cli_escape(v.p, v.n, DUMP_NAME_CAP, escaped, sizeof(escaped));
    (void)out_spend(o, name_cost(o, v, escaped)); /* loops over elements ask whether anything is left */
    fwrite(escaped, 1, n, t);
}

bool dump_is(cuvet_bytes v, const char *text)
{
    return v.n == strlen(text) && memcmp(v.p, text, v.n) == 0;
}

bool dump_starts(cuvet_bytes v, const char *text)
{
    size_t n = strlen(text);

    return v.n >= n && memcmp(v.p, text, n) == 0;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: bytes of sections that have no decoder, and PTX text. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

#define LINE_BYTES   16u
#define RECORD_BYTES 1024u /* of one NDJSON object */

static void hex_line(dump_out *o, uint64_t i, cuvet_bytes b, uint64_t at, uint64_t n)
{
    FILE *t;

    out_begin(o, "data", false);
    out_number(o, "section", i);
    out_hex(o, "offset", 8, at);
    t = out_detail(o, "bytes");
    for (uint64_t k = 0; k < n; k++)
        fprintf(t, "%s%02x", k > 0 && k % 4 == 0 && !o->json ? " " : "", b.p[at + k]);
    out_detail_end(o, "bytes");
    out_end(o);
}

/* NUL-terminated lines, such as the PTX that code was compiled from. */
static void text_lines(dump_out *o, uint64_t i, cuvet_bytes b)
{
    for (uint64_t at = 0; at < b.n && out_spend(o, 16);) {
        const uint8_t *end = memchr(b.p + at, 0, b.n - at);
        uint64_t n = end ? (uint64_t)(end - (b.p + at)) : b.n - at;

        out_begin(o, "text", false);
        out_number(o, "section", i);
        out_hex(o, "offset", 8, at);
        out_name(o, "text", 0, (cuvet_bytes){ b.p + at, (size_t)n });
        out_end(o);
        at += n + 1;
    }
}

void dump_data(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    dump_out *o = &d->o;
    uint64_t step = o->json ? RECORD_BYTES : LINE_BYTES;

    out_section_title(o, "Data", i, s->name);
    if (dump_starts(s->name, ".nv_debug_ptx_txt") || dump_is(s->name, ".debug_str")) {
        text_lines(o, i, s->body);
        return;
    }
    for (uint64_t at = 0; at < s->body.n && out_spend(o, 3 * step + 16); at += step)
        hex_line(o, i, s->body, at, s->body.n - at < step ? s->body.n - at : step);
}

static bool is_directive(cuvet_bytes line)
{
    return dump_starts(line, ".version") || dump_starts(line, ".target") ||
           dump_starts(line, ".address_size") || dump_starts(line, ".entry") ||
           dump_starts(line, ".visible .entry") || dump_starts(line, ".weak .entry");
}

void dump_ptx(dump *d, cuvet_bytes text, bool whole)
{
    dump_out *o = &d->o;

    out_title(o, whole ? "Text" : "Directives");
    for (uint64_t at = 0, number = 1; at < text.n; number++) {
        const uint8_t *end = memchr(text.p + at, '\n', text.n - at);
        cuvet_bytes line = { text.p + at, end ? (size_t)(end - (text.p + at)) : (size_t)(text.n - at) };

        at += line.n + 1;
        while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == 0))
            line.n--;
        if (line.n == 0 || (!whole && !is_directive(line)))
            continue;
        out_begin(o, "ptx_line", false);
        out_dec(o, "line", 6, number);
        out_name(o, "text", 0, line);
        out_end(o);
    }
}

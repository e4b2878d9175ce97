/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: bytes of sections that have no decoder, and PTX text. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <string.h>

#define LINE_BYTES   16u
#define RECORD_BYTES 1024u /* of one NDJSON object */

static void hex_line(dump_out *out, uint64_t index, cuvet_bytes bytes, uint64_t at, uint64_t count)
{
    FILE *to;

    out_begin(out, "data", false);
    out_number(out, "section", index);
    out_hex(out, "offset", 8, at);
    to = out_detail(out, "bytes");
    for (uint64_t k = 0; k < count; k++)
        fprintf(to, "%s%02x", k > 0 && k % 4 == 0 && !out->json ? " " : "", bytes.p[at + k]);
    out_detail_end(out, "bytes");
    out_end(out);
}

/* NUL-terminated lines, such as the PTX that code was compiled from. */
static void text_lines(dump_out *out, uint64_t index, cuvet_bytes bytes)
{
    for (uint64_t at = 0; at < bytes.n && out_spend(out, 16);) {
        const uint8_t *end = memchr(bytes.p + at, 0, (size_t)(bytes.n - at));
        uint64_t count = end ? (uint64_t)(end - (bytes.p + at)) : bytes.n - at;

        out_begin(out, "text", false);
        out_number(out, "section", index);
        out_hex(out, "offset", 8, at);
        out_name(out, "text", 0, (cuvet_bytes){ bytes.p + at, (size_t)count });
        out_end(out);
        at += count + 1;
    }
}

void dump_data(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    dump_out *out = &dump->out;
    uint64_t step = out->json ? RECORD_BYTES : LINE_BYTES;

    out_section_title(out, "Data", index, section->name);
    if (dump_starts(section->name, ".nv_debug_ptx_txt") || dump_is(section->name, ".debug_str")) {
        text_lines(out, index, section->body);
        return;
    }
    for (uint64_t at = 0; at < section->body.n && out_spend(out, 3 * step + 16); at += step)
        hex_line(out, index, section->body, at, section->body.n - at < step ? section->body.n - at : step);
}

static bool is_directive(cuvet_bytes line)
{
    return dump_starts(line, ".version") || dump_starts(line, ".target") ||
           dump_starts(line, ".address_size") || dump_starts(line, ".entry") ||
           dump_starts(line, ".visible .entry") || dump_starts(line, ".weak .entry");
}

void dump_ptx(dump_state *dump, cuvet_bytes text, bool whole)
{
    dump_out *out = &dump->out;

    out_title(out, whole ? "Text" : "Directives");
    for (uint64_t at = 0, number = 1; at < text.n; number++) {
        const uint8_t *end = memchr(text.p + at, '\n', (size_t)(text.n - at));
        cuvet_bytes line = { text.p + at, end ? (size_t)(end - (text.p + at)) : (size_t)(text.n - at) };

        at += line.n + 1;
        while (line.n > 0 && (line.p[line.n - 1] == '\r' || line.p[line.n - 1] == 0))
            line.n--;
        if (line.n == 0 || (!whole && !is_directive(line)))
            continue;
        out_begin(out, "ptx_line", false);
        out_dec(out, "line", 6, number);
        out_name(out, "text", 0, line);
        out_end(out);
    }
}

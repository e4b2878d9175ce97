/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: call frame information (.debug_frame), the one debug section that every file with code has. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPS_PER_LINE 6u
/* What an operation takes with its operands. */
#define OP_TEXT 32u

/* Relocations of the section, by offset: they name the function that an entry describes. */
typedef struct frame_site {
    uint64_t off;
    uint32_t sym;
} frame_site;

typedef struct frame_tables {
    dump_state *dump;
    uint64_t index;
    frame_site *sites;
    size_t n_sites;
    uint64_t symbols; /* table the sites refer to */
} frame_tables;

static void put_register(FILE *to, uint64_t result)
{
    uint64_t number = cuvet_cfi_register_number(result);

    if (number == UINT64_MAX) {
        dump_put_hex(to, result);
        return;
    }
    fputc('R', to);
    dump_put_dec(to, number);
}

static void put_operand(FILE *to, cuvet_cfi_operand kind, uint64_t value)
{
    if (kind != CUVET_CFI_NONE)
        fputc(' ', to);
    switch (kind) {
    case CUVET_CFI_NONE: break;
    case CUVET_CFI_REGISTER: put_register(to, value); break;
    case CUVET_CFI_COLUMN: fprintf(to, "r%" PRIu64, value); break;
    case CUVET_CFI_SIGNED: fprintf(to, "%" PRId64, (int64_t)value); break;
    case CUVET_CFI_BLOCK: fprintf(to, "%" PRIu64 " bytes", value); break;
    case CUVET_CFI_UNSIGNED:
    case CUVET_CFI_ADDRESS:
    case CUVET_CFI_DISTANCE: dump_put_hex(to, value); break;
    }
}

static void put_op(const dump_state *dump, FILE *to, uint64_t count, const cuvet_cfi_op *op)
{
    if (count > 0)
        fputc(';', to);
    if (count > 0 && count % OPS_PER_LINE == 0)
        out_wrap(&dump->out, to);
    else if (count > 0)
        fputc(' ', to);
    if (!op->name) {
        fprintf(to, "unknown 0x%02" PRIx32, op->code);
        return;
    }
    fputs(op->name, to);
    put_operand(to, op->first, op->first_value);
    put_operand(to, op->second, op->second_value);
}

static void put_program(dump_state *dump, FILE *to, const cuvet_cfi_entry *entry)
{
    uint64_t count = 0, nops = 0, pos = 0;
    cuvet_cfi_op op = { .size = sizeof(op) };
    cuvet_status status = CUVET_OK;

    while (out_spend(&dump->out, 1) && (status = cuvet_cfi_op_next(entry, &pos, &op)) == CUVET_OK) {
        if (op.code == 0)
            nops++; /* padding to the length of the entry */
        else if (out_spend(&dump->out, OP_TEXT))
            put_op(dump, to, count++, &op);
    }
    if (status == CUVET_E_UNSUPPORTED)
        put_op(dump, to, count++, &op);
    fprintf(to, "%s%" PRIu64 " nops%s", count ? "; " : "", nops,
            (entry->flags & CUVET_CFI_CUT) != 0 || status == CUVET_E_MALFORMED ? " (cut short)" : "");
}

static int by_offset(const void *left, const void *right)
{
    const frame_site *first = left, *second = right;

    return first->off < second->off ? -1 : first->off > second->off;
}

/* Collect the sites of all relocation sections of the one that is shown. Out of memory: no names. */
static void find_sites(frame_tables *frames)
{
    dump_state *dump = frames->dump;
    cuvet_elf_section section = { .size = sizeof(section) };
    cuvet_elf_reloc reloc = { .size = sizeof(reloc) };
    size_t cap = 0;

    for (uint64_t table = 0; out_spend(&dump->out, 4) && dump_section(dump, table, &section); table++) {
        if (cuvet_section_get_content(&section) != CUVET_CONTENT_RELOCATIONS || section.info != frames->index)
            continue;
        frames->symbols = dump_symtab_of(dump, &section);
        for (uint64_t i = 0; out_spend(&dump->out, 4) &&
                             cuvet_elf_get_reloc(dump->ctx, dump->elf, table, i, &reloc) == CUVET_OK;
             i++) {
            if (frames->n_sites == cap) {
                frame_site *more = realloc(frames->sites, (cap ? 2 * cap : 64) * sizeof(*more));

                if (!more)
                    return;
                frames->sites = more;
                cap = cap ? 2 * cap : 64;
            }
            frames->sites[frames->n_sites++] = (frame_site){ reloc.off, reloc.sym };
        }
    }
    if (frames->n_sites > 1)
        qsort(frames->sites, frames->n_sites, sizeof(*frames->sites), by_offset);
}

/* Function whose address is stored at `off`. */
static cuvet_bytes function_at(const frame_tables *frames, uint64_t off)
{
    const frame_site key = { off, 0 };
    const frame_site *found =
        frames->n_sites ? bsearch(&key, frames->sites, frames->n_sites, sizeof(key), by_offset) : NULL;

    return found ? dump_symbol_name(frames->dump, frames->symbols, found->sym) : (cuvet_bytes){ NULL, 0 };
}

static void common_entry(frame_tables *frames, const cuvet_cfi_entry *entry)
{
    dump_out *out = &frames->dump->out;
    FILE *to;

    out_begin(out, "frame_common", true);
    out_number(out, "section", frames->index);
    out_hex(out, "common_entry", 0, entry->off);
    out_hex(out, "size", 0, entry->length);
    out_dec(out, "version", 0, entry->version);
    out_hex(out, "augmentation", 0,
            entry->augmentation); /* empty string; other ones would need their own decoder */
    out_dec(out, "code_alignment", 0, entry->code_alignment);
    out_signed(out, "data_alignment", 0, entry->data_alignment);
    to = out_detail(out, "return_register");
    put_register(to, entry->return_register);
    out_detail_end(out, "return_register");
    put_program(frames->dump, out_detail(out, "program"), entry);
    out_detail_end(out, "program");
    out_end(out);
}

static void function_entry(frame_tables *frames, const cuvet_cfi_entry *entry)
{
    dump_out *out = &frames->dump->out;

    out_begin(out, "frame", true);
    out_number(out, "section", frames->index);
    out_hex(out, "function_entry", 0, entry->off);
    out_hex(out, "size", 0, entry->length);
    out_hex(out, "common", 0, entry->parent);
    out_hex(out, "start", 0, entry->start);
    out_hex(out, "range", 0, entry->range);
    out_name(out, "function", 0, function_at(frames, entry->start_off));
    put_program(frames->dump, out_detail(out, "program"), entry);
    out_detail_end(out, "program");
    out_end(out);
}

void dump_frames(dump_state *dump, uint64_t index, const cuvet_elf_section *section)
{
    frame_tables frames = { .dump = dump, .index = index };
    cuvet_cfi_entry entry = { .size = sizeof(entry) };
    cuvet_status status = CUVET_OK;
    uint64_t at = 0;

    find_sites(&frames);
    out_section_title(&dump->out, "Frames", index, section->name);
    while (out_spend(&dump->out, 256) &&
           (status = cuvet_cfi_next(section->body, &dump->header, &at, &entry)) == CUVET_OK) {
        if (entry.flags & CUVET_CFI_COMMON)
            common_entry(&frames, &entry);
        else
            function_entry(&frames, &entry);
    }
    if (status != CUVET_OK && status != CUVET_END)
        out_damage(&dump->out, index, at);
    free(frames.sites);
}

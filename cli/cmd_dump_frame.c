/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: call frame information (.debug_frame), the one debug section that every file with code has. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPS_PER_LINE 6u

/* Relocations of the section, by offset: they name the function that an entry describes. */
typedef struct site {
    uint64_t off;
    uint32_t sym;
} site;

typedef struct frames {
    dump *d;
    uint64_t index;
    site *sites;
    size_t n_sites;
    uint64_t symbols; /* table the sites refer to */
} frames;

static void put_register(FILE *t, uint64_t r)
{
    uint64_t number = cuvet_cfi_register_number(r);

    if (number == UINT64_MAX) {
        dump_put_hex(t, r);
        return;
    }
    fputc('R', t);
    dump_put_dec(t, number);
}

static void put_operand(FILE *t, cuvet_cfi_operand kind, uint64_t value)
{
    if (kind != CUVET_CFI_NONE)
        fputc(' ', t);
    switch (kind) {
    case CUVET_CFI_NONE: break;
    case CUVET_CFI_REGISTER: put_register(t, value); break;
    case CUVET_CFI_COLUMN: fprintf(t, "r%" PRIu64, value); break;
    case CUVET_CFI_SIGNED: fprintf(t, "%" PRId64, (int64_t)value); break;
    case CUVET_CFI_BLOCK: fprintf(t, "%" PRIu64 " bytes", value); break;
    case CUVET_CFI_UNSIGNED:
    case CUVET_CFI_ADDRESS:
    case CUVET_CFI_DISTANCE: dump_put_hex(t, value); break;
    }
}

static void put_op(const dump *d, FILE *t, uint64_t n, const cuvet_cfi_op *op)
{
    if (n > 0)
        fputc(';', t);
    if (n > 0 && n % OPS_PER_LINE == 0)
        out_wrap(&d->o, t);
    else if (n > 0)
        fputc(' ', t);
    if (!op->name) {
        fprintf(t, "unknown 0x%02" PRIx32, op->code);
        return;
    }
    fputs(op->name, t);
    put_operand(t, op->first, op->first_value);
    put_operand(t, op->second, op->second_value);
}

static void put_program(const dump *d, FILE *t, const cuvet_cfi_entry *e)
{
    uint64_t n = 0, nops = 0, pos = 0;
    cuvet_cfi_op op = { .size = sizeof(op) };
    cuvet_status st;

    while ((st = cuvet_cfi_op_next(e, &pos, &op)) == CUVET_OK) {
        if (op.code == 0)
            nops++; /* padding to the length of the entry */
        else
            put_op(d, t, n++, &op);
    }
    if (st == CUVET_E_UNSUPPORTED)
        put_op(d, t, n++, &op);
    fprintf(t, "%s%" PRIu64 " nops%s", n ? "; " : "", nops,
            e->cut || st == CUVET_E_MALFORMED ? " (cut short)" : "");
}

static int by_offset(const void *a, const void *b)
{
    const site *x = a, *y = b;

    return x->off < y->off ? -1 : x->off > y->off;
}

/* Collect the sites of all relocation sections of the one that is shown. Out of memory: no names. */
static void find_sites(frames *f)
{
    dump *d = f->d;
    cuvet_elf_section s = { .size = sizeof(s) };
    cuvet_elf_reloc r = { .size = sizeof(r) };
    size_t cap = 0;

    for (uint64_t t = 0; out_spend(&d->o, 4) && dump_section(d, t, &s); t++) {
        if (cuvet_section_get_content(&s) != CUVET_CONTENT_RELOCATIONS || s.info != f->index)
            continue;
        f->symbols = dump_symtab_of(d, &s);
        for (uint64_t i = 0; out_spend(&d->o, 4) && cuvet_elf_get_reloc(d->ctx, d->elf, t, i, &r) == CUVET_OK;
             i++) {
            if (f->n_sites == cap) {
                site *more = realloc(f->sites, (cap ? 2 * cap : 64) * sizeof(*more));

                if (!more)
                    return;
                f->sites = more;
                cap = cap ? 2 * cap : 64;
            }
            f->sites[f->n_sites++] = (site){ r.off, r.sym };
        }
    }
    if (f->n_sites > 1)
        qsort(f->sites, f->n_sites, sizeof(*f->sites), by_offset);
}

/* Function whose address is stored at `off`. */
static cuvet_bytes function_at(const frames *f, uint64_t off)
{
    const site key = { off, 0 };
    const site *found = f->n_sites ? bsearch(&key, f->sites, f->n_sites, sizeof(key), by_offset) : NULL;

    return found ? dump_symbol_name(f->d, f->symbols, found->sym) : (cuvet_bytes){ NULL, 0 };
}

static void common_entry(frames *f, const cuvet_cfi_entry *e)
{
    dump_out *o = &f->d->o;
    FILE *t;

    out_begin(o, "frame_common", true);
    out_number(o, "section", f->index);
    out_hex(o, "common_entry", 0, e->off);
    out_hex(o, "size", 0, e->length);
    out_dec(o, "version", 0, e->version);
    out_hex(o, "augmentation", 0,
            e->augmentation); /* empty string; other ones would need their own decoder */
    out_dec(o, "code_alignment", 0, e->code_alignment);
    out_signed(o, "data_alignment", 0, e->data_alignment);
    t = out_detail(o, "return_register");
    put_register(t, e->return_register);
    out_detail_end(o, "return_register");
    put_program(f->d, out_detail(o, "program"), e);
    out_detail_end(o, "program");
    out_end(o);
}

static void function_entry(frames *f, const cuvet_cfi_entry *e)
{
    dump_out *o = &f->d->o;

    out_begin(o, "frame", true);
    out_number(o, "section", f->index);
    out_hex(o, "function_entry", 0, e->off);
    out_hex(o, "size", 0, e->length);
    out_hex(o, "common", 0, e->parent);
    out_hex(o, "start", 0, e->start);
    out_hex(o, "range", 0, e->range);
    out_name(o, "function", 0, function_at(f, e->start_off));
    put_program(f->d, out_detail(o, "program"), e);
    out_detail_end(o, "program");
    out_end(o);
}

void dump_frames(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    frames f = { .d = d, .index = i };
    cuvet_cfi_entry e = { .size = sizeof(e) };
    cuvet_status st = CUVET_OK;
    uint64_t at = 0;

    find_sites(&f);
    out_section_title(&d->o, "Frames", i, s->name);
    while (out_spend(&d->o, 256) && (st = cuvet_cfi_next(s->body, &d->h, &at, &e)) == CUVET_OK) {
        if (e.flags & CUVET_CFI_COMMON)
            common_entry(&f, &e);
        else
            function_entry(&f, &e);
    }
    if (st != CUVET_OK && st != CUVET_END)
        out_damage(&d->o, i, at);
    free(f.sites);
}

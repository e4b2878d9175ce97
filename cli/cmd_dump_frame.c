/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet dump: call frame information (.debug_frame), the one debug section that every file with code has. */
#include "cmd_dump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPS_PER_LINE 6u

typedef struct cursor {
    cuvet_bytes b;
    uint64_t pos;
    bool failed;
} cursor;

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

static uint64_t take(cursor *c, uint64_t n)
{
    uint64_t v = 0;

    if (c->failed || n > c->b.n - c->pos) {
        c->failed = true;
        return 0;
    }
    for (uint64_t i = 0; i < n; i++)
        v |= (uint64_t)c->b.p[c->pos + i] << (8 * i);
    c->pos += n;
    return v;
}

/* LEB128; bits above 64 are dropped. */
static uint64_t take_leb(cursor *c, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)take(c, 1);
        if (shift < 64)
            v |= (uint64_t)(byte & (shift == 63 ? 1 : 0x7F)) << shift;
        shift += shift < 64 ? 7 : 0;
    } while (byte & 0x80 && !c->failed);
    if (is_signed && byte & 0x40 && shift < 64)
        v |= ~((UINT64_C(1) << shift) - 1);
    return v;
}

/* The high byte of a register number tells its class; class 5 are the general ones. */
static void put_register(FILE *t, uint64_t r)
{
    if (r >> 24 == 5)
        fprintf(t, "R%" PRIu64, r & 0xFFFFFF);
    else
        fprintf(t, "0x%" PRIx64, r);
}

/* Operands: r register, u unsigned, s signed, 1 2 4 bytes of a distance, a address, b block. */
typedef struct op_row {
    const char *name, *operands;
} op_row;

static const op_row OPS[] = {
    { "nop", "" },
    { "set_loc", "a" },
    { "advance", "1" },
    { "advance", "2" },
    { "advance", "4" },
    { "offset", "ru" },
    { "restore", "r" },
    { "undefined", "r" },
    { "same_value", "r" },
    { "register", "rr" },
    { "remember_state", "" },
    { "restore_state", "" },
    { "def_cfa", "ru" },
    { "def_cfa_register", "r" },
    { "def_cfa_offset", "u" },
    { "def_cfa_expression", "b" },
    { "expression", "rb" },
    { "offset", "rs" },
    { "def_cfa", "rs" },
    { "def_cfa_offset", "s" },
    { "val_offset", "ru" },
};

static void put_operand(FILE *t, cursor *c, char kind, bool is32)
{
    fputc(' ', t);
    switch (kind) {
    case 'r': put_register(t, take_leb(c, false)); break;
    case 'u': fprintf(t, "0x%" PRIx64, take_leb(c, false)); break;
    case 's': fprintf(t, "%" PRId64, (int64_t)take_leb(c, true)); break;
    case 'a': fprintf(t, "0x%" PRIx64, take(c, is32 ? 4 : 8)); break;
    case 'b': {
        uint64_t n = take_leb(c, false);

        fprintf(t, "%" PRIu64 " bytes", n);
        if (n > c->b.n - c->pos)
            c->failed = true;
        else
            c->pos += n;
        break;
    }
    default: fprintf(t, "0x%" PRIx64, take(c, (uint64_t)(kind - '0'))); break;
    }
}

/* One instruction. @return false: not known, so that its length is not either. */
static bool put_op(FILE *t, cursor *c, bool is32)
{
    uint8_t op = (uint8_t)take(c, 1), low = op & 0x3F;

    switch (op >> 6) {
    case 1: fprintf(t, "advance 0x%x", low); return true;
    case 2: fprintf(t, "offset r%u 0x%" PRIx64, low, take_leb(c, false)); return true;
    case 3: fprintf(t, "restore r%u", low); return true;
    default: break;
    }
    if (op >= sizeof(OPS) / sizeof(OPS[0])) {
        fprintf(t, "unknown 0x%02x", op);
        return false;
    }
    fputs(OPS[op].name, t);
    for (const char *p = OPS[op].operands; *p; p++)
        put_operand(t, c, *p, is32);
    return true;
}

static void put_program(const dump *d, FILE *t, cursor *c)
{
    uint64_t n = 0, nops = 0;

    while (c->pos < c->b.n && !c->failed) {
        if (c->b.p[c->pos] == 0) { /* padding to the length of the entry */
            nops++;
            c->pos++;
            continue;
        }
        if (n > 0)
            fputc(';', t);
        if (n > 0 && n % OPS_PER_LINE == 0)
            out_wrap(&d->o, t);
        else if (n > 0)
            fputc(' ', t);
        n++;
        if (!put_op(t, c, d->h.is32))
            break;
    }
    fprintf(t, "%s%" PRIu64 " nops%s", n ? "; " : "", nops, c->failed ? " (cut short)" : "");
}

static int by_offset(const void *a, const void *b)
{
    const site *x = a, *y = b;

    return x->off < y->off ? -1 : x->off > y->off;
}

static bool is_reloc(const cuvet_elf_section *s)
{
    return s->type == 4 || s->type == 9 || s->type == 0x70000082;
}

/* Collect the sites of all relocation sections of the one that is shown. Out of memory: no names. */
static void find_sites(frames *f)
{
    dump *d = f->d;
    cuvet_elf_section s;
    cuvet_elf_reloc r;
    size_t cap = 0;

    for (uint64_t t = 0; out_spend(&d->o, 4) && dump_section(d, t, &s); t++) {
        if (!is_reloc(&s) || s.info != f->index)
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

static void common_entry(frames *f, uint64_t at, cursor *c)
{
    dump_out *o = &f->d->o;
    FILE *t;

    out_begin(o, "frame_common", true);
    out_number(o, "section", f->index);
    out_hex(o, "common_entry", 0, at);
    out_hex(o, "size", 0, c->b.n);
    out_dec(o, "version", 0, take(c, 1));
    out_hex(o, "augmentation", 0, take(c, 1)); /* empty string; other ones would need their own decoder */
    out_dec(o, "code_alignment", 0, take_leb(c, false));
    out_signed(o, "data_alignment", 0, (int64_t)take_leb(c, true));
    t = out_detail(o, "return_register");
    put_register(t, take_leb(c, false));
    out_detail_end(o, "return_register");
    t = out_detail(o, "program");
    put_program(f->d, t, c);
    out_detail_end(o, "program");
    out_end(o);
}

static void function_entry(frames *f, uint64_t at, uint64_t location_off, uint64_t parent, cursor *c)
{
    dump_out *o = &f->d->o;
    uint64_t width = f->d->h.is32 ? 4 : 8;
    FILE *t;

    out_begin(o, "frame", true);
    out_number(o, "section", f->index);
    out_hex(o, "function_entry", 0, at);
    out_hex(o, "size", 0, c->b.n);
    out_hex(o, "common", 0, parent);
    out_hex(o, "start", 0, take(c, width));
    out_hex(o, "range", 0, take(c, width));
    out_name(o, "function", 0, function_at(f, location_off));
    t = out_detail(o, "program");
    put_program(f->d, t, c);
    out_detail_end(o, "program");
    out_end(o);
}

/* One entry at *at. @return false: damaged. */
static bool one_entry(frames *f, cuvet_bytes b, uint64_t *at)
{
    cursor c = { b, *at, false };
    uint64_t len = take(&c, 4), id, id_bytes = 4, location_off;

    if (len == UINT32_MAX) {
        id_bytes = 8;
        len = take(&c, 8);
    }
    if (c.failed || len > b.n - c.pos || len < id_bytes)
        return false;
    c.b.n = c.pos + len;
    id = take(&c, id_bytes);
    location_off = c.pos;
    /* The cursor sees the entry alone. */
    c = (cursor){ { b.p + c.pos, len - id_bytes }, 0, false };
    if (id == (id_bytes == 8 ? UINT64_MAX : UINT32_MAX))
        common_entry(f, *at, &c);
    else
        function_entry(f, *at, location_off, id, &c);
    *at = location_off + len - id_bytes;
    return true;
}

void dump_frames(dump *d, uint64_t i, const cuvet_elf_section *s)
{
    frames f = { .d = d, .index = i };
    uint64_t at = 0;

    find_sites(&f);
    out_section_title(&d->o, "Frames", i, s->name);
    while (at < s->body.n && out_spend(&d->o, 256)) {
        if (!one_entry(&f, s->body, &at)) {
            out_damage(&d->o, i, at);
            break;
        }
    }
    free(f.sites);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ELF readers and writers: header, tables, extent. */
#include "common.h"

#include "format/elf/names.h"
#include "format/elf/read.h"
#include "format/elf/write.h"

static void same(const cv_builder *b, cv_span from, uint64_t off, uint64_t n)
{
    cv_span s = cv_span_tail(from, off);

    if (b->failed && b->mem->limited)
        return;
    s.len = n;
    FZ_CHECK(!b->failed && cv_span_eq(cv_builder_span(b), s), "write after read is the same bytes");
}

/* Element i of a table that begins at off, as each of the kinds of record; written again in the first run
 * only. */
static void records(fz *f, cv_span s, bool is32, uint64_t off, uint64_t i)
{
    cv_span table = cv_span_tail(s, off);
    uint64_t size[] = { cv_elf_shdr_size(is32), cv_elf_phdr_size(is32), cv_elf_sym_size(is32),
                        cv_elf_rel_size(is32, false), cv_elf_rel_size(is32, true) };
    cv_elf_section sh;
    cv_elf_segment ph;
    cv_elf_symbol sym;
    cv_elf_reloc rel[2];

    cv_elf_read_section(table, is32, i, &sh);
    cv_elf_read_segment(table, is32, i, &ph);
    cv_elf_read_symbol(table, is32, i, &sym);
    cv_elf_read_reloc(table, is32, false, i, &rel[0]);
    cv_elf_read_reloc(table, is32, true, i, &rel[1]);
    fz_note(f, sh.off + sh.size + cv_elf_type_exempt(sh.type) + (cv_elf_section_type_name(sh.type) != NULL));
    fz_note(f, ph.off + ph.filesz + (cv_elf_segment_type_name(ph.type) != NULL));
    fz_note(f, sym.value + (cv_elf_symbol_type_name(cv_elf_sym_type(&sym)) != NULL) +
                   (cv_elf_symbol_bind_name(cv_elf_sym_bind(&sym)) != NULL));
    fz_note(f, rel[1].off + cv_reloc_of(rel[1].type)->insn + (cv_elf_reloc_name(rel[1].type) != NULL));
    FZ_CHECK(cv_reloc_of(rel[0].type)->bytes <= 16, "a field has 16 bytes at most");
    for (unsigned k = 0; f->pass == 0 && k < CV_COUNT(size); k++) {
        cv_builder b;

        if (!cv_span_has(table, cv_sat_mul(i, size[k]), size[k]))
            continue;
        cv_builder_init(&b, &f->x.mem);
        if (k == 0)
            cv_elf_write_section(&b, is32, &sh);
        else if (k == 1)
            cv_elf_write_segment(&b, is32, &ph);
        else if (k == 2)
            cv_elf_write_symbol(&b, is32, &sym);
        else
            cv_elf_write_reloc(&b, is32, k == 4, &rel[k - 3]);
        same(&b, table, i * size[k], size[k]);
        cv_builder_free(&b);
    }
}

static void extent(fz *f, cv_span s, bool readable)
{
    uint64_t end = 77, again = 78;
    bool ok = cv_elf_extent(&f->x, s, &end);

    fz_note(f, ok ? end : 0);
    FZ_CHECK(ok || end == 77, "a failure leaves the result alone");
    FZ_CHECK(!ok || readable, "only what can be read has an extent");
    FZ_CHECK(!ok || (end >= 52 && end <= s.len), "the extent lies in the image");
    if (ok) { /* what is cut off behind the extent was no part of it */
        s.len = end;
        if (cv_elf_extent(&f->x, s, &again))
            FZ_CHECK(again == end, "the extent of the extent is the same");
        else
            FZ_CHECK(f->x.work_out, "the extent is an image");
    }
}

static void run(fz *f)
{
    cv_span s = fz_span(f);
    cv_elf_header h = { 0 }, peek = { 0 };
    cuvet_status st = cv_elf_read_header(&f->x, s, &h);
    uint64_t n;

    fz_status(f, st, 0);
    FZ_CHECK(cv_elf_peek(s, &peek) == (st == CUVET_OK), "peek and read agree");
    extent(f, s, st == CUVET_OK);
    if (st != CUVET_OK)
        return;
    if (h.pad_nonzero == 0) {
        cv_builder b;

        cv_builder_init(&b, &f->x.mem);
        cv_elf_write_header(&b, &h);
        same(&b, s, 0, cv_elf_ehdr_size(h.is32));
        cv_builder_free(&b);
    }
    n = cv_min(h.shnum, 3);
    for (uint64_t i = 0; i <= n; i++) {
        records(f, s, h.is32, h.shoff, i);
        records(f, s, h.is32, h.phoff, i);
    }
    records(f, s, h.is32, 0, fz_mix(f->hash, 1)); /* far outside */
}

CV_FUZZ_TARGET(elf)
{
    return fz_twice(data, size, FZ_OFF, run);
}

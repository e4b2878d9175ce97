/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The ELF readers and writers: header, tables, extent. */
#include "common.h"

#include "format/elf/names.h"
#include "format/elf/read.h"
#include "format/elf/write.h"

static void same(const cv_builder *builder, cv_span from, uint64_t off, uint64_t count)
{
    cv_span span = cv_span_tail(from, off);

    if (builder->failed && builder->mem->limited)
        return;
    span.len = count;
    FZ_CHECK(!builder->failed && cv_span_eq(cv_builder_span(builder), span),
             "write after read is the same bytes");
}

/* Element 'index' of a table that begins at off, as each of the kinds of record; written again in the first
 * run only. */
static void records(fz_state *fuzz, cv_span span, bool is32, uint64_t off, uint64_t index)
{
    cv_span table = cv_span_tail(span, off);
    uint64_t size[] = { cv_elf_shdr_size(is32), cv_elf_phdr_size(is32), cv_elf_sym_size(is32),
                        cv_elf_rel_size(is32, false), cv_elf_rel_size(is32, true) };
    cv_elf_section sh;
    cv_elf_segment ph;
    cv_elf_symbol sym;
    cv_elf_reloc rel[2];

    cv_elf_read_section(table, is32, index, &sh);
    cv_elf_read_segment(table, is32, index, &ph);
    cv_elf_read_symbol(table, is32, index, &sym);
    cv_elf_read_reloc(table, is32, false, index, &rel[0]);
    cv_elf_read_reloc(table, is32, true, index, &rel[1]);
    fz_note(fuzz,
            sh.off + sh.size + cv_elf_type_exempt(sh.type) + (cv_elf_section_type_name(sh.type) != NULL));
    fz_note(fuzz, ph.off + ph.filesz + (cv_elf_segment_type_name(ph.type) != NULL));
    fz_note(fuzz, sym.value + (cv_elf_symbol_type_name(cv_elf_sym_type(&sym)) != NULL) +
                      (cv_elf_symbol_bind_name(cv_elf_sym_bind(&sym)) != NULL));
    fz_note(fuzz, rel[1].off + cv_reloc_of(rel[1].type)->insn + (cv_elf_reloc_name(rel[1].type) != NULL));
    FZ_CHECK(cv_reloc_of(rel[0].type)->bytes <= 16, "a field has 16 bytes at most");
    for (unsigned k = 0; fuzz->pass == 0 && k < CV_COUNT(size); k++) {
        cv_builder builder;

        if (!cv_span_has(table, cv_sat_mul(index, size[k]), size[k]))
            continue;
        cv_builder_init(&builder, &fuzz->ctx.mem);
        if (k == 0)
            cv_elf_write_section(&builder, is32, &sh);
        else if (k == 1)
            cv_elf_write_segment(&builder, is32, &ph);
        else if (k == 2)
            cv_elf_write_symbol(&builder, is32, &sym);
        else
            cv_elf_write_reloc(&builder, is32, k == 4, &rel[k - 3]);
        same(&builder, table, index * size[k], size[k]);
        cv_builder_free(&builder);
    }
}

static void extent(fz_state *fuzz, cv_span span, bool readable)
{
    uint64_t end = 77, again = 78;
    bool ok = cv_elf_extent(&fuzz->ctx, span, &end);

    fz_note(fuzz, ok ? end : 0);
    FZ_CHECK(ok || end == 77, "a failure leaves the result alone");
    FZ_CHECK(!ok || readable, "only what can be read has an extent");
    FZ_CHECK(!ok || (end >= 52 && end <= span.len), "the extent lies in the image");
    if (ok) { /* what is cut off behind the extent was no part of it */
        span.len = end;
        if (cv_elf_extent(&fuzz->ctx, span, &again))
            FZ_CHECK(again == end, "the extent of the extent is the same");
        else
            FZ_CHECK(fuzz->ctx.work_out, "the extent is an image");
    }
}

static void run(fz_state *fuzz)
{
    cv_span span = fz_span(fuzz);
    cv_elf_header header = { 0 }, peek = { 0 };
    cuvet_status st = cv_elf_read_header(&fuzz->ctx, span, &header);
    uint64_t count;

    fz_status(fuzz, st, 0);
    FZ_CHECK(cv_elf_peek(span, &peek) == (st == CUVET_OK), "peek and read agree");
    extent(fuzz, span, st == CUVET_OK);
    if (st != CUVET_OK)
        return;
    if (header.pad_nonzero == 0) {
        cv_builder builder;

        cv_builder_init(&builder, &fuzz->ctx.mem);
        cv_elf_write_header(&builder, &header);
        same(&builder, span, 0, cv_elf_ehdr_size(header.is32));
        cv_builder_free(&builder);
    }
    count = cv_min(header.shnum, 3);
    for (uint64_t i = 0; i <= count; i++) {
        records(fuzz, span, header.is32, header.shoff, i);
        records(fuzz, span, header.is32, header.phoff, i);
    }
    records(fuzz, span, header.is32, 0, fz_mix(fuzz->hash, 1)); /* far outside */
}

CV_FUZZ_TARGET(elf)
{
    return fz_twice(data, size, FZ_OFF, run);
}

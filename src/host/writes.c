/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The relocations that a loader applies: plain ones, those of the procedure linkage table, and packed
 * relative ones, where the dynamic section says that they are. */
#include "host/parts.h"

/* Entries of the dynamic section that are read; real ones have a few dozen. */
#define DYNAMIC_MAX    UINT64_C(65536)
#define RELOCS_AT_ONCE UINT64_C(8192)
/* A place that a relocation may write, for those that are looked at. */
#define WRITE_WORK UINT64_C(16)
/* The most that one relocation writes, but for a copy. */
#define WRITE_MOST UINT64_C(16)

/* The section is read for the wrappers, and once more when all device code is known. */
static void report_dynamic(cv_host_read_ctx *reader, uint64_t bytes, uint64_t where)
{
    if (!reader->host->dynamic_read && !reader->quiet)
        cv_report(reader->ctx, CV_R_HOST_DYNAMIC,
                  reader->base + cv_min(reader->host->dynamic.off, reader->size), 0, bytes, where);
}

static uint64_t word_at(const cv_host_read_ctx *reader, uint64_t at)
{
    return reader->header.is32 ? cv_u32_at(reader->part.span, at) : cv_u64_at(reader->part.span, at);
}

/* Tags up to the end of the list, in reader->part; 0: no list. */
static cuvet_status read_list(cv_host_read_ctx *reader, cv_host_relocs *out, uint64_t *count)
{
    const cv_elf_segment *dynamic = &reader->host->dynamic;
    uint64_t one = cv_hostobj_dyn_size(reader->header.is32), off = 0,
             most = cv_min(dynamic->filesz / one, DYNAMIC_MAX);
    cuvet_status status;

    if (!cv_host_has(reader, dynamic->off, dynamic->filesz)) {
        report_dynamic(reader, dynamic->filesz, dynamic->off);
        return CUVET_OK;
    }
    /* The loader goes by the address. */
    if (!cv_host_map(reader, dynamic->vaddr, dynamic->filesz, &off)) {
        report_dynamic(reader, dynamic->filesz, dynamic->vaddr);
        return CUVET_OK;
    }
    if (off != dynamic->off)
        report_dynamic(reader, dynamic->filesz, dynamic->vaddr);
    out->dynamic = (cv_host_entries){ off, dynamic->filesz, one };
    status = cv_work(reader->ctx, most * CV_DT_TAGS, reader->base + off) ? CUVET_OK : CUVET_E_LIMIT;
    if (status == CUVET_OK)
        status = cv_host_load(reader, &reader->part, off, most * one);
    while (status == CUVET_OK && *count < most && word_at(reader, *count * one) != CV_DT_NULL)
        ++*count;
    if (status == CUVET_OK && *count == most)
        report_dynamic(reader, dynamic->filesz, dynamic->off); /* the loader reads on behind it */
    return status;
}

/* Of two values of a tag the last one counts. */
static uint64_t value_of(const cv_host_read_ctx *reader, uint64_t count, uint64_t tag, uint64_t otherwise)
{
    uint64_t one = cv_hostobj_dyn_size(reader->header.is32);

    for (uint64_t i = count; i > 0; i--)
        if (word_at(reader, (i - 1) * one) == tag)
            return word_at(reader, (i - 1) * one + one / 2);
    return otherwise;
}

static cuvet_status use_table(cv_host_read_ctx *reader, cv_host_entries *table, uint64_t addr, uint64_t bytes,
                              uint64_t entry)
{
    uint64_t off = 0;

    if (bytes == 0)
        return CUVET_OK;
    if (entry != table->entry) {
        if (!reader->host->dynamic_read && !reader->quiet)
            cv_report(reader->ctx, CV_R_HOST_RELOC_ENTRY, reader->base + reader->host->dynamic.off, 0, entry,
                      table->entry);
        return CUVET_OK;
    }
    if (!cv_host_map(reader, addr, bytes, &off)) {
        report_dynamic(reader, bytes, addr);
        return CUVET_OK;
    }
    if (bytes / entry > reader->ctx->lim.symbols)
        return cv_reject(reader->ctx, CV_R_LIMIT_RELOCS, reader->base + off, bytes / entry,
                         reader->ctx->lim.symbols);
    table->off = off;
    table->bytes = bytes;
    return CUVET_OK;
}

/* Of the list in reader->part. */
static cuvet_status use_tables(cv_host_read_ctx *reader, uint64_t count, cv_host_relocs *out)
{
    bool is32 = reader->header.is32;
    uint64_t rel = cv_elf_rel_size(is32, false), rela = cv_elf_rel_size(is32, true), word = is32 ? 4 : 8;
    bool addends = value_of(reader, count, CV_DT_PLTREL, CV_DT_RELA) != CV_DT_REL;
    cuvet_status status;

    out->symbols = value_of(reader, count, CV_DT_SYMTAB, 0);
    out->packed.entry = word;
    out->rel.entry = rel;
    out->rela.entry = rela;
    out->plt.entry = addends ? rela : rel;
    status =
        use_table(reader, &out->packed, value_of(reader, count, CV_DT_RELR, 0),
                  value_of(reader, count, CV_DT_RELRSZ, 0), value_of(reader, count, CV_DT_RELRENT, word));
    if (status == CUVET_OK)
        status =
            use_table(reader, &out->rel, value_of(reader, count, CV_DT_REL, 0),
                      value_of(reader, count, CV_DT_RELSZ, 0), value_of(reader, count, CV_DT_RELENT, rel));
    if (status == CUVET_OK)
        status =
            use_table(reader, &out->rela, value_of(reader, count, CV_DT_RELA, 0),
                      value_of(reader, count, CV_DT_RELASZ, 0), value_of(reader, count, CV_DT_RELAENT, rela));
    return status == CUVET_OK ? use_table(reader, &out->plt, value_of(reader, count, CV_DT_JMPREL, 0),
                                          value_of(reader, count, CV_DT_PLTRELSZ, 0), out->plt.entry)
                              : status;
}

cuvet_status cv_host_read_dynamic(cv_host_read_ctx *reader, cv_host_relocs *out)
{
    uint64_t count = 0;
    cuvet_status status = CUVET_OK;

    *out = (cv_host_relocs){ 0 };
    if (reader->host->dynamic.filesz != 0)
        status = read_list(reader, out, &count);
    else if (reader->host->dynamic.type != 0)
        report_dynamic(reader, 0, reader->host->dynamic.vaddr); /* the loader asks for the address alone */
    if (status == CUVET_OK && count != 0)
        status = use_tables(reader, count, out);
    reader->host->dynamic_read = reader->host->dynamic_read || !reader->quiet;
    return status;
}

/* ---- the writes ---- */

typedef struct write_walk {
    cv_host_read_ctx *reader;
    const cv_host_relocs *relocs;
    uint64_t low, high;
    cv_host_visit visit;
    void *user;
} write_walk;

/* A loader adds its base to the place: behind the last address comes the first. */
static bool wraps(uint64_t place, uint64_t len)
{
    return len != 0 && len - 1 > UINT64_MAX - place;
}

static cuvet_status visit(const write_walk *walk, const cv_host_write *write)
{
    cv_host_write low = *write;

    if (write->place >= walk->high && wraps(write->place, write->len)) {
        low.len = cv_wrap_add(write->place, write->len);
        low.place = 0;
    }
    if (low.len == 0 || low.place >= walk->high || cv_sat_add(low.place, low.len) <= walk->low)
        return CUVET_OK;
    if (!cv_work(walk->reader->ctx, WRITE_WORK, write->off))
        return CUVET_E_LIMIT;
    return walk->visit(walk->reader, &low, walk->user);
}

/* As many bytes as the symbol says; all there are when nobody knows. */
static cuvet_status copied_bytes(const write_walk *walk, uint32_t sym, uint64_t *len)
{
    cv_host_read_ctx *reader = walk->reader;
    uint64_t one = cv_elf_sym_size(reader->header.is32), addr, off;
    cv_elf_symbol symbol;
    cuvet_status status;

    *len = UINT64_MAX;
    if (!cv_add(walk->relocs->symbols, cv_sat_mul(sym, one), &addr) || !cv_host_map(reader, addr, one, &off))
        return reader->ctx->work_out ? CUVET_E_LIMIT : CUVET_OK;
    status = cv_host_load(reader, &reader->one, off, one);
    if (status == CUVET_OK) {
        cv_elf_read_symbol(reader->one.span, reader->header.is32, 0, &symbol);
        *len = symbol.size;
    }
    return status;
}

static cuvet_status one_reloc(const write_walk *walk, cv_host_table kind, bool addends, uint64_t index,
                              uint64_t off)
{
    cv_host_read_ctx *reader = walk->reader;
    bool is32 = reader->header.is32;
    cuvet_status status = CUVET_OK;
    cv_host_write write;
    cv_elf_reloc reloc;

    cv_elf_read_reloc(reader->part.span, is32, addends, index, &reloc);
    write = (cv_host_write){ .table = kind,
                             .off = off,
                             .place = reloc.off,
                             .len = cv_hostobj_loaded_bytes(reader->header.machine, is32, reloc.type),
                             .type = reloc.type,
                             .has_addend = addends,
                             .addend = (uint64_t)reloc.addend };
    if (write.len == CV_RELOC_COPY)
        status = copied_bytes(walk, reloc.sym, &write.len);
    return status == CUVET_OK ? visit(walk, &write) : status;
}

/* Most have nothing to do with device code: only the place is looked at, and of what lies before it the
 * type, which may be that of a copy. What begins in the upper half may go on at the first address. */
static bool is_far(const write_walk *walk, uint64_t at)
{
    const cv_host_read_ctx *reader = walk->reader;
    bool is32 = reader->header.is32;
    uint64_t place = word_at(reader, at);
    uint32_t type;

    if (CV_LIKELY(place >= walk->high && place <= INT64_MAX))
        return true;
    if (place >= walk->low || walk->low - place < WRITE_MOST)
        return false;
    type = is32 ? cv_u8_at(reader->part.span, at + 4) : cv_u32_at(reader->part.span, at + 8);
    return cv_hostobj_loaded_bytes(reader->header.machine, is32, type) != CV_RELOC_COPY;
}

static cuvet_status each_reloc(const write_walk *walk, cv_host_table kind, const cv_host_entries *table)
{
    cv_host_read_ctx *reader = walk->reader;
    bool addends = table->entry == cv_elf_rel_size(reader->header.is32, true);
    uint64_t count = table->bytes / cv_max(table->entry, 1);
    cuvet_status status =
        cv_work(reader->ctx, count * 2, reader->base + table->off) ? CUVET_OK : CUVET_E_LIMIT;

    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        uint64_t in = i % RELOCS_AT_ONCE;

        if (in == 0)
            status = cv_host_load(reader, &reader->part, table->off + i * table->entry,
                                  cv_min(count - i, RELOCS_AT_ONCE) * table->entry);
        if (status == CUVET_OK && !is_far(walk, in * table->entry))
            status = one_reloc(walk, kind, addends, in, reader->base + table->off + i * table->entry);
    }
    return status;
}

/* A word of a packed table: an address, or, when it is odd, a bit for each of the words behind the last. */
static cuvet_status one_word(const write_walk *walk, uint64_t word, uint64_t off, uint64_t size,
                             uint64_t *next)
{
    cv_host_write write = { .table = CV_HOST_RELR, .off = off, .len = size };
    uint64_t bits = size * 8 - 1, begin = *next;
    bool above = begin >= walk->high && !wraps(begin, bits * size);
    cuvet_status status = CUVET_OK;

    if ((word & 1) == 0) {
        *next = cv_wrap_add(word, size);
        write.place = word;
        return visit(walk, &write);
    }
    *next = cv_wrap_add(begin, bits * size);
    if (above || cv_sat_add(begin, bits * size) <= walk->low)
        return CUVET_OK;
    if (!cv_work(walk->reader->ctx, bits, off))
        return CUVET_E_LIMIT;
    for (uint64_t bit = 0; bit < bits && status == CUVET_OK; bit++) {
        write.place = cv_wrap_add(begin, bit * size);
        if (word >> (bit + 1) & 1)
            status = visit(walk, &write);
    }
    return status;
}

static cuvet_status each_word(const write_walk *walk, const cv_host_entries *table)
{
    cv_host_read_ctx *reader = walk->reader;
    uint64_t one = cv_max(table->entry, 1), count = table->bytes / one, next = 0;
    cuvet_status status =
        cv_work(reader->ctx, count * 4, reader->base + table->off) ? CUVET_OK : CUVET_E_LIMIT;

    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        uint64_t in = i % RELOCS_AT_ONCE;

        if (in == 0)
            status = cv_host_load(reader, &reader->part, table->off + i * one,
                                  cv_min(count - i, RELOCS_AT_ONCE) * one);
        if (status == CUVET_OK)
            status =
                one_word(walk, word_at(reader, in * one), reader->base + table->off + i * one, one, &next);
    }
    return status;
}

cuvet_status cv_host_each_write(cv_host_read_ctx *reader, const cv_host_relocs *relocs, uint64_t low,
                                uint64_t high, cv_host_visit each, void *user)
{
    write_walk walk = { reader, relocs, low, high, each, user };
    cuvet_status status = each_word(&walk, &relocs->packed);

    if (status == CUVET_OK)
        status = each_reloc(&walk, CV_HOST_REL, &relocs->rel);
    if (status == CUVET_OK)
        status = each_reloc(&walk, CV_HOST_RELA, &relocs->rela);
    return status == CUVET_OK ? each_reloc(&walk, CV_HOST_PLT, &relocs->plt) : status;
}

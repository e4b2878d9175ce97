/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program gets of the device code in its file is what was examined: whatever a loader or a linker
 * writes and maps is compared with the places of the code, and with those of the relocations themselves. */
#include "host/parts.h"

/* A stretch of memory that nothing may write to. */
typedef struct kept_part {
    uint64_t addr, end, off; /* off: of its first byte, in the region */
    uint64_t reach;          /* the largest end up to this one */
    cv_rule rule;
} kept_part;

CV_VEC(kept_parts, kept_part);

typedef struct intact_check {
    cv_host_read_ctx *reader;
    kept_parts parts; /* by address */
} intact_check;

/* [off, end) of the region, at each address where it is loaded. */
static cuvet_status keep(intact_check *check, uint64_t off, uint64_t end, cv_rule rule)
{
    cv_host_read_ctx *reader = check->reader;
    const cv_host_loads *loads = &reader->host->loads;

    if (!cv_work(reader->ctx, loads->count, reader->base + off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < loads->count; i++) {
        const cv_elf_segment *segment = cv_host_loads_get(loads, i);
        uint64_t from = cv_max(off, segment->off),
                 to = cv_min(end, cv_sat_add(segment->off, segment->filesz));
        kept_part part = { .off = from, .rule = rule };

        if (from >= to)
            continue;
        part.addr = cv_wrap_add(segment->vaddr, from - segment->off);
        part.end = cv_sat_add(part.addr, to - from);
        if (!cv_work(reader->ctx, 16, reader->base + off))
            return CUVET_E_LIMIT;
        if (!kept_parts_push(&reader->ctx->mem, &check->parts, part))
            return cv_nomem(reader->ctx, reader->base + off);
    }
    return CUVET_OK;
}

static cuvet_status sort_parts(intact_check *check)
{
    cv_mem *mem = &check->reader->ctx->mem;
    cv_keys order = { 0 };
    kept_parts sorted = { 0 };
    uint64_t reach = 0;
    bool room = true;

    for (uint64_t i = 0; i < check->parts.count && room; i++)
        room = cv_keys_push(mem, &order, (cv_key){ kept_parts_get(&check->parts, i)->addr, i });
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.count && room; i++) {
        kept_part part = *kept_parts_get(&check->parts, cv_keys_at(&order, i)->index);

        part.reach = reach = cv_max(reach, part.end);
        room = kept_parts_push(mem, &sorted, part);
    }
    cv_keys_free(mem, &order);
    kept_parts_free(mem, room ? &check->parts : &sorted);
    if (room)
        check->parts = sorted;
    return room ? CUVET_OK : cv_nomem(check->reader->ctx, check->reader->base);
}

/* Parts before this one begin below the address. */
static uint64_t parts_below(const kept_parts *parts, uint64_t addr)
{
    uint64_t low = 0, high = parts->count;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (kept_parts_get(parts, mid)->addr < addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The last part that begins before the write ends, and those that reach as far. */
static cuvet_status touch(intact_check *check, uint64_t off, uint64_t place, uint64_t len)
{
    cv_host_read_ctx *reader = check->reader;

    for (uint64_t i = parts_below(&check->parts, cv_sat_add(place, len)); i > 0; i--) {
        const kept_part *part = kept_parts_get(&check->parts, i - 1);

        if (part->reach <= place)
            break;
        if (!cv_work(reader->ctx, 4, off))
            return CUVET_E_LIMIT;
        if (part->end > place) {
            cv_report(reader->ctx, part->rule, off, 0, len,
                      reader->base + part->off + (cv_max(place, part->addr) - part->addr));
            break;
        }
    }
    return CUVET_OK;
}

static cuvet_status visit_parts(cv_host_read_ctx *reader, const cv_host_write *write, void *user)
{
    (void)reader;
    return touch(user, write->off, write->place, write->len);
}

/* Other segments must not lie over [off, end) of the region. */
static void check_loaded(cv_host_read_ctx *reader, uint64_t off, uint64_t end)
{
    uint64_t bad = 0;

    if (!cv_host_loaded_whole(reader, off, end, &bad))
        cv_report(reader->ctx, CV_R_HOST_OVERLAID, reader->base + off, end - off, reader->base + bad,
                  end - bad);
}

static cuvet_status keep_table(intact_check *check, const cv_host_entries *table)
{
    if (table->bytes == 0)
        return CUVET_OK;
    check_loaded(check->reader, table->off, table->off + table->bytes);
    return keep(check, table->off, table->off + table->bytes, CV_R_HOST_RELOC_TABLE);
}

static cuvet_status keep_relocs(intact_check *check, cv_host_relocs *relocs)
{
    cuvet_status status = cv_host_read_dynamic(check->reader, relocs);

    if (status == CUVET_OK)
        status = keep_table(check, &relocs->packed);
    if (status == CUVET_OK)
        status = keep_table(check, &relocs->rel);
    if (status == CUVET_OK)
        status = keep_table(check, &relocs->rela);
    if (status == CUVET_OK)
        status = keep_table(check, &relocs->plt);
    return status == CUVET_OK ? keep_table(check, &relocs->dynamic) : status;
}

static cuvet_status check_program(cv_host_read_ctx *reader, const cv_host_extents *code)
{
    intact_check check = { .reader = reader };
    const cv_host *host = reader->host;
    cuvet_status status = CUVET_OK;
    cv_host_relocs relocs;

    for (uint64_t i = 0; i < host->wrappers.count; i++) {
        uint64_t off = cv_host_wrappers_get(&host->wrappers, i)->off - reader->base;

        check_loaded(reader, off, off + CV_WRAPPER_SIZE);
    }
    for (uint64_t i = 0; i < code->count && status == CUVET_OK; i++) {
        const cv_host_extent *extent = cv_host_extents_get(code, i);

        check_loaded(reader, extent->off - reader->base, extent->end - reader->base);
        status = keep(&check, extent->off - reader->base, extent->end - reader->base, CV_R_HOST_RELOC_CODE);
    }
    if (status == CUVET_OK)
        status = keep_relocs(&check, &relocs);
    if (status == CUVET_OK)
        status = sort_parts(&check);
    if (status == CUVET_OK && check.parts.count > 0)
        status = cv_host_each_write(reader, &relocs, kept_parts_get(&check.parts, 0)->addr,
                                    kept_parts_get(&check.parts, check.parts.count - 1)->reach, visit_parts,
                                    &check);
    kept_parts_free(&reader->ctx->mem, &check.parts);
    return status;
}

/* ---- relocatable objects ---- */

#define RELOCS_AT_ONCE UINT64_C(4096)

/* The code in a section; places are those of the section. */
static cuvet_status keep_section(intact_check *check, const cv_elf_section *section,
                                 const cv_host_extents *code)
{
    cv_host_read_ctx *reader = check->reader;
    uint64_t begin = reader->base + section->off, end = begin + section->size;

    kept_parts_clear(&check->parts);
    if (!cv_work(reader->ctx, code->count, begin))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < code->count; i++) {
        const cv_host_extent *extent = cv_host_extents_get(code, i);
        uint64_t from = cv_max(extent->off, begin), to = cv_min(extent->end, end);
        kept_part part = { .rule = CV_R_HOST_RELOC_CODE };

        if (from >= to)
            continue;
        part.addr = from - begin;
        part.end = to - begin;
        part.off = from - reader->base;
        if (!kept_parts_push(&reader->ctx->mem, &check->parts, part))
            return cv_nomem(reader->ctx, begin);
    }
    return check->parts.count > 0 ? sort_parts(check) : CUVET_OK;
}

static cuvet_status check_table(intact_check *check, const cv_elf_section *table)
{
    cv_host_read_ctx *reader = check->reader;
    bool addends = table->type == CV_SHT_RELA, is32 = reader->header.is32;
    uint64_t one = cv_elf_rel_size(is32, addends), count = table->size / one;
    cuvet_status status = CUVET_OK;

    if (!cv_work(reader->ctx, cv_sat_mul(count, 16), reader->base + table->off))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        uint64_t in = i % RELOCS_AT_ONCE, len;
        cv_elf_reloc reloc;

        if (in == 0)
            status = cv_host_load(reader, &reader->part, table->off + i * one,
                                  cv_min(count - i, RELOCS_AT_ONCE) * one);
        if (status != CUVET_OK)
            break;
        cv_elf_read_reloc(reader->part.span, is32, addends, in, &reloc);
        len = cv_hostobj_linked_bytes(reader->header.machine, reloc.type);
        if (len > 0)
            status = touch(check, reader->base + table->off + i * one, reloc.off, len);
    }
    return status;
}

/* One section with relocations: of a section with code? */
static cuvet_status check_relocs(intact_check *check, uint64_t index, const cv_elf_section *table,
                                 const cv_host_extents *code)
{
    cv_host_read_ctx *reader = check->reader;
    bool plain = table->type == CV_SHT_RELA || table->type == CV_SHT_REL;
    cv_elf_section section;
    cuvet_status status;

    if ((!plain && !cv_hostobj_packed_relocs(table->type)) || table->info == 0 ||
        table->info >= reader->n_sections || !cv_host_has(reader, table->off, table->size))
        return CUVET_OK;
    status = cv_host_header(reader, table->info, &section);
    if (status != CUVET_OK || section.type == CV_SHT_NOBITS ||
        !cv_host_has(reader, section.off, section.size))
        return status;
    status = keep_section(check, &section, code);
    if (status != CUVET_OK || check->parts.count == 0)
        return status;
    if (plain)
        return check_table(check, table);
    cv_report_at(reader->ctx, CUVET_P_SECTION, index, CV_R_HOST_RELOC_FORM, reader->base + table->off,
                 table->size, table->type, CV_SHT_RELA);
    return CUVET_OK;
}

static cuvet_status check_object(cv_host_read_ctx *reader, const cv_host_extents *code)
{
    intact_check check = { .reader = reader };
    cuvet_status status =
        cv_work(reader->ctx, reader->n_sections * 4, reader->base) ? CUVET_OK : CUVET_E_LIMIT;

    for (uint64_t i = 1; i < reader->n_sections && status == CUVET_OK; i++) {
        cv_elf_section header;

        status = cv_host_header(reader, i, &header);
        if (status == CUVET_OK)
            status = check_relocs(&check, i, &header, code);
    }
    kept_parts_free(&reader->ctx->mem, &check.parts);
    return status;
}

cuvet_status cv_host_check_intact(cv_ctx *ctx, const cuvet_source *src, cv_host *host,
                                  const cv_host_extents *code)
{
    cv_host_read_ctx reader = { .ctx = ctx,
                                .src = src,
                                .base = host->base,
                                .size = host->size,
                                .host = host,
                                .header = host->header,
                                .n_sections = host->n_sections };
    cuvet_status status = CUVET_OK;

    if (code->count == 0)
        return CUVET_OK;
    cv_path_push(ctx, CUVET_P_HOST, false, 0);
    if (host->type == CV_ELF_REL) {
        status = check_object(&reader, code);
    } else if (host->type == CV_ELF_EXEC || host->type == CV_ELF_DYN) {
        status = cv_host_read_loads(&reader);
        if (status == CUVET_OK && host->loads.count > 0)
            status = check_program(&reader, code);
    }
    cv_path_pop(ctx);
    cv_host_free_blocks(&reader);
    return status;
}

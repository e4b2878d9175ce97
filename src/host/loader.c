/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Segments: what a loader makes of the file. Whole pages are mapped, so that bytes beside a segment come
 * along with it and hide what another segment has there; what memory has behind the bytes of the file is
 * zero. */
#include "host/parts.h"

cuvet_status cv_host_read_loads(cv_host_read_ctx *reader)
{
    uint64_t one = cv_elf_phdr_size(reader->header.is32), count = reader->header.phnum,
             left = reader->size - cv_min(reader->header.phoff, reader->size);
    cuvet_status status;

    if (reader->host->segments_read || count == 0 || reader->header.phoff == 0)
        return CUVET_OK;
    reader->host->segments_read = true;
    if (reader->header.phentsize != one) {
        cv_report(reader->ctx, CV_R_HOST_PHENTSIZE,
                  reader->base + cv_elf_ehdr_at(reader->header.is32, CV_EH_PHENTSIZE), 2,
                  reader->header.phentsize, one);
        return CUVET_OK;
    }
    if (count * one > left) {
        cv_report(reader->ctx, CV_R_HOST_PHDR_RANGE,
                  reader->base + cv_min(reader->header.phoff, reader->size), 0, count * one, left);
        return CUVET_OK;
    }
    status = cv_host_load(reader, &reader->part, reader->header.phoff, count * one);
    for (uint64_t i = 0; i < count && status == CUVET_OK; i++) {
        cv_elf_segment segment;

        cv_elf_read_segment(reader->part.span, reader->header.is32, i, &segment);
        if (segment.type == CV_HOST_PT_DYNAMIC)
            reader->host->dynamic = segment;
        if (segment.type == CV_PT_LOAD &&
            !cv_host_loads_push(&reader->ctx->mem, &reader->host->loads, segment))
            status = cv_nomem(reader->ctx, reader->base + reader->header.phoff);
    }
    return status;
}

bool cv_host_map(cv_host_read_ctx *reader, uint64_t addr, uint64_t len, uint64_t *off)
{
    const cv_host_loads *loads = &reader->host->loads;

    if (!cv_work(reader->ctx, loads->count, reader->base + reader->header.phoff))
        return false;
    for (uint64_t i = loads->count; i > 0; i--) {
        const cv_elf_segment *segment = cv_host_loads_get(loads, i - 1);

        if (addr >= segment->vaddr && addr - segment->vaddr < segment->filesz &&
            len <= segment->filesz - (addr - segment->vaddr) &&
            cv_host_has(reader, segment->off, segment->filesz)) {
            *off = segment->off + (addr - segment->vaddr);
            return true;
        }
    }
    return false;
}

bool cv_host_address(cv_host_read_ctx *reader, uint64_t off, uint64_t *addr)
{
    const cv_host_loads *loads = &reader->host->loads;

    if (!cv_work(reader->ctx, loads->count, reader->base + off))
        return false;
    for (uint64_t i = loads->count; i > 0; i--) {
        const cv_elf_segment *segment = cv_host_loads_get(loads, i - 1);

        if (off >= segment->off && off - segment->off < segment->filesz)
            return cv_add(segment->vaddr, off - segment->off, addr);
    }
    return false;
}

/* The largest pages that the loader can have: it refuses segments that are aligned to less than a page. */
static uint64_t page_size(const cv_host_read_ctx *reader)
{
    uint64_t least, page;

    cv_hostobj_pages(reader->header.machine, &least, &page);
    for (uint64_t i = 0; i < reader->host->loads.count; i++) {
        uint64_t align = cv_host_loads_get(&reader->host->loads, i)->align;

        while (page > least && (align & (page - 1)) != 0)
            page /= 2;
    }
    return page;
}

/* The pages that end behind this address. */
static uint64_t page_end(uint64_t addr, uint64_t page)
{
    return cv_sat_add(addr, page - 1) & ~(page - 1);
}

/* Memory [addr, end), which is at this distance from its bytes in the file, stays as it is when 'other' is
 * mapped. */
static bool is_spared(const cv_elf_segment *other, uint64_t page, uint64_t distance, uint64_t addr,
                      uint64_t end, uint64_t *bad)
{
    uint64_t first = other->vaddr & ~(page - 1), bytes = cv_sat_add(other->vaddr, other->filesz),
             last = page_end(cv_max(bytes, cv_sat_add(other->vaddr, other->memsz)), page);

    if (end <= first || addr >= last)
        return true;
    *bad = cv_max(addr, first);
    if (cv_wrap_sub(other->vaddr, other->off) != distance)
        return false;
    /* The same bytes once more, up to where zeros are. */
    if (other->memsz <= other->filesz)
        return true;
    *bad = cv_max(*bad, bytes);
    return cv_min(end, last) <= bytes;
}

bool cv_host_loaded_whole(cv_host_read_ctx *reader, uint64_t off, uint64_t end, uint64_t *bad)
{
    const cv_host_loads *loads = &reader->host->loads;
    uint64_t page = page_size(reader), count = loads->count;

    for (uint64_t i = 0; i < count; i++) {
        const cv_elf_segment *segment = cv_host_loads_get(loads, i);
        uint64_t segment_end = cv_sat_add(segment->off, segment->filesz),
                 distance = cv_wrap_sub(segment->vaddr, segment->off), at = 0;

        if (!cv_work(reader->ctx, 1, reader->base + off))
            return true;
        if (end <= segment->off || off >= segment_end)
            continue;
        *bad = off < segment->off ? off : segment_end;
        if (off < segment->off || end > segment_end)
            return false;
        if (!cv_work(reader->ctx, count * 4, reader->base + off))
            return true;
        for (uint64_t k = 0; k < count; k++)
            if (k != i && !is_spared(cv_host_loads_get(loads, k), page, distance, cv_wrap_add(off, distance),
                                     cv_wrap_add(end, distance), &at)) {
                *bad = cv_wrap_sub(at, distance);
                return false;
            }
    }
    return true;
}

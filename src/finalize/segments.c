/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Program headers of a file that is written again: each covers what is left of what it covered, or goes. */
#include "finalize/rewrite_int.h"

#include "format/elf/write.h"

static bool has_bytes(const cv_rewrite *rewrite, uint64_t index)
{
    uint64_t i = cv_keys_get(&rewrite->order, index)->index;

    return cv_final_in_file(rewrite->cubin, i) && cv_cubin_sec(rewrite->cubin, i)->header.size != 0;
}

/* Variables without bytes in the file: they follow what is initialised. */
static bool is_zero(const cv_sec *sec)
{
    const uint64_t want = CV_SHF_WRITE | CV_SHF_ALLOC;

    return cv_elf_type_exempt(sec->header.type) && (sec->header.flags & want) == want &&
           !(sec->header.flags & CV_SHF_CUDA_MERC);
}

/* What the bytes and the variables behind them take in memory. */
static uint64_t memory_size(const cv_cubin *cubin, uint64_t filesz)
{
    uint64_t end = filesz;

    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (is_zero(sec))
            end = cv_sat_add(cv_sat_align(end, cv_max(sec->header.align, 1)), sec->header.size);
    }
    return end;
}

/* Where the bytes of a segment end now: with its last section, or where the variables without bytes begin
 * that it ended at. */
static uint64_t end_of(const cv_rewrite *rewrite, uint64_t last, uint64_t old_end)
{
    uint64_t i = cv_keys_get(&rewrite->order, last)->index,
             at = cv_keys_lower_bound(&rewrite->order, old_end);
    uint64_t end = cv_sat_add(*cv_u64s_get(&rewrite->place, i), *cv_u64s_get(&rewrite->size, i));
    const cv_sec *sec = cv_cubin_sec(rewrite->cubin, i);

    if (sec->header.off + sec->header.size == old_end || at >= rewrite->order.count ||
        cv_keys_get(&rewrite->order, at)->key != old_end)
        return end;
    return cv_max(end, *cv_u64s_get(&rewrite->place, cv_keys_get(&rewrite->order, at)->index));
}

/* False: nothing of it is left. */
static bool move_segment(const cv_rewrite *rewrite, cv_elf_segment *segment)
{
    uint64_t filesz = segment->filesz, old_end = segment->off + filesz;
    uint64_t first = cv_keys_lower_bound(&rewrite->order, segment->off),
             last = cv_keys_lower_bound(&rewrite->order, old_end);

    if (filesz == 0) {
        segment->off = first < rewrite->order.count
                           ? *cv_u64s_get(&rewrite->place, cv_keys_get(&rewrite->order, first)->index)
                           : rewrite->shoff;
        return true;
    }
    while (first < last && !has_bytes(rewrite, first))
        first++;
    while (last > first && !has_bytes(rewrite, last - 1))
        last--;
    if (first == last)
        return false;
    segment->off = *cv_u64s_get(&rewrite->place, cv_keys_get(&rewrite->order, first)->index);
    segment->filesz = end_of(rewrite, last - 1, old_end) - segment->off;
    if (segment->memsz == filesz)
        segment->memsz = segment->filesz;
    else if (memory_size(rewrite->cubin, filesz) == segment->memsz)
        segment->memsz = memory_size(rewrite->cubin, segment->filesz);
    else
        segment->memsz = cv_sat_add(segment->filesz, segment->memsz - filesz);
    return true;
}

static bool is_table(const cv_cubin *cubin, const cv_elf_segment *segment)
{
    return segment->type == CV_PT_PHDR || (segment->filesz != 0 && segment->off == cubin->header.phoff);
}

cuvet_status cv_rewrite_segments(cv_ctx *ctx, cv_rewrite *rewrite)
{
    const cv_cubin *cubin = rewrite->cubin;
    uint64_t esize = cv_elf_phdr_size(false);
    cv_elf_segment segment;
    cv_span table;

    if (cubin->header.phnum == 0)
        return CUVET_OK;
    /* Two passes, and each may ask twice what all sections take in memory. */
    if (!cv_work(ctx, cv_sat_mul(cubin->header.phnum, cv_sat_mul(cv_sat_add(cubin->sec.count, 1), 4)),
                 cubin->image.off + cubin->header.phoff))
        return CUVET_E_LIMIT;
    table = cv_span_tail(cubin->image, cubin->header.phoff);
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t count = 0;

        for (uint64_t i = 0; i < cubin->header.phnum; i++) {
            cv_elf_read_segment(table, false, i, &segment);
            if (is_table(cubin, &segment)) {
                segment.off = rewrite->total;
                segment.filesz = segment.memsz = rewrite->phnum * esize;
            } else if (!move_segment(rewrite, &segment)) {
                continue;
            }
            count++;
            if (pass == 1)
                cv_elf_write_segment(&rewrite->segments, false, &segment);
        }
        rewrite->phnum = count;
    }
    return rewrite->segments.failed ? cv_nomem(ctx, cubin->image.off) : CUVET_OK;
}

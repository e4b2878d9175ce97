/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Program headers of a file that is written again: each covers what is left of what it covered, or goes. */
#include "finalize/rewrite_int.h"

#include "format/elf/write.h"

static bool has_bytes(const cv_rewrite *r, uint64_t k)
{
    uint64_t i = cv_keys_at(&r->order, k)->index;

    return cv_final_in_file(r->c, i) && cv_cubin_sec(r->c, i)->h.size != 0;
}

/* Variables without bytes in the file: they follow what is initialised. */
static bool is_zero(const cv_sec *s)
{
    const uint64_t want = CV_SHF_WRITE | CV_SHF_ALLOC;

    return cv_elf_type_exempt(s->h.type) && (s->h.flags & want) == want && !(s->h.flags & CV_SHF_CUDA_MERC);
}

/* What the bytes and the variables behind them take in memory. */
static uint64_t memory(const cv_cubin *c, uint64_t filesz)
{
    uint64_t end = filesz;

    for (uint64_t i = 1; i < c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(c, i);

        if (is_zero(s))
            end = cv_sat_add(cv_sat_align(end, cv_max(s->h.align, 1)), s->h.size);
    }
    return end;
}

/* Where the bytes of a segment end now: with its last section, or where the variables without bytes begin
 * that it ended at. */
static uint64_t end_of(const cv_rewrite *r, uint64_t last, uint64_t old_end)
{
    uint64_t i = cv_keys_at(&r->order, last)->index, k = cv_keys_lower_bound(&r->order, old_end);
    uint64_t end = cv_sat_add(*cv_u64s_at(&r->place, i), *cv_u64s_at(&r->size, i));
    const cv_sec *s = cv_cubin_sec(r->c, i);

    if (s->h.off + s->h.size == old_end || k >= r->order.n || cv_keys_at(&r->order, k)->key != old_end)
        return end;
    return cv_max(end, *cv_u64s_at(&r->place, cv_keys_at(&r->order, k)->index));
}

/* False: nothing of it is left. */
static bool move(const cv_rewrite *r, cv_elf_segment *s)
{
    uint64_t filesz = s->filesz, old_end = s->off + filesz;
    uint64_t first = cv_keys_lower_bound(&r->order, s->off), last = cv_keys_lower_bound(&r->order, old_end);

    if (filesz == 0) {
        s->off = first < r->order.n ? *cv_u64s_at(&r->place, cv_keys_at(&r->order, first)->index) : r->shoff;
        return true;
    }
    while (first < last && !has_bytes(r, first))
        first++;
    while (last > first && !has_bytes(r, last - 1))
        last--;
    if (first == last)
        return false;
    s->off = *cv_u64s_at(&r->place, cv_keys_at(&r->order, first)->index);
    s->filesz = end_of(r, last - 1, old_end) - s->off;
    if (s->memsz == filesz)
        s->memsz = s->filesz;
    else if (memory(r->c, filesz) == s->memsz)
        s->memsz = memory(r->c, s->filesz);
    else
        s->memsz = cv_sat_add(s->filesz, s->memsz - filesz);
    return true;
}

static bool is_table(const cv_cubin *c, const cv_elf_segment *s)
{
    return s->type == CV_PT_PHDR || (s->filesz != 0 && s->off == c->h.phoff);
}

cuvet_status cv_rewrite_segments(cv_ctx *x, cv_rewrite *r)
{
    const cv_cubin *c = r->c;
    uint64_t esize = cv_elf_phdr_size(false);
    cv_elf_segment s;
    cv_span table;

    if (c->h.phnum == 0)
        return CUVET_OK;
    /* Two passes, and each may ask twice what all sections take in memory. */
    if (!cv_work(x, cv_sat_mul(c->h.phnum, cv_sat_mul(cv_sat_add(c->sec.n, 1), 4)),
                 c->image.off + c->h.phoff))
        return CUVET_E_LIMIT;
    table = cv_span_tail(c->image, c->h.phoff);
    for (unsigned pass = 0; pass < 2; pass++) {
        uint64_t n = 0;

        for (uint64_t i = 0; i < c->h.phnum; i++) {
            cv_elf_read_segment(table, false, i, &s);
            if (is_table(c, &s)) {
                s.off = r->total;
                s.filesz = s.memsz = r->phnum * esize;
            } else if (!move(r, &s)) {
                continue;
            }
            n++;
            if (pass == 1)
                cv_elf_write_segment(&r->segments, false, &s);
        }
        r->phnum = n;
    }
    return r->segments.failed ? cv_nomem(x, c->image.off) : CUVET_OK;
}

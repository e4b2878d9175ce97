/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Program headers of executables, against the ranges that the ledger sorted. */
#include "model/cubin_int.h"

/* Bytes that fill the last word of a segment: fewer than that. */
#define PADDING 8u

static void seg_report(cv_ctx *x, const cv_cubin *c, uint64_t i, cv_rule rule, cv_phdr_field f, uint64_t got,
                       uint64_t want)
{
    bool is32 = c->h.is32;

    cv_report_at(x, CUVET_P_SEGMENT, i, rule,
                 c->image.off + c->h.phoff + i * cv_elf_phdr_size(is32) + cv_elf_phdr_at(is32, f), 0, got,
                 want);
}

static bool starts_range(const cv_cubin *c, uint64_t off)
{
    uint64_t k = cv_keys_lower_bound(&c->by_off, off);

    return k < c->by_off.n && cv_keys_at(&c->by_off, k)->key == off;
}

/* off is the end of a range, or lies in the padding behind the initialised data. */
static bool ends_range(const cv_cubin *c, uint64_t off)
{
    uint64_t k = cv_keys_lower_bound(&c->by_off, off);
    const cv_sec *s;

    /* Sections without bytes may stand between: go back to the first one that ends here or before. */
    for (unsigned tries = 0; k > 0 && tries < 64; tries++) {
        s = cv_cubin_sec(c, cv_keys_at(&c->by_off, --k)->index);
        if (!s->in_file || s->h.size == 0)
            continue;
        return s->h.off + s->h.size == off || (s->role == CV_ROLE_GLOBAL_INIT && s->h.off + s->h.size < off);
    }
    return false;
}

static void check_boundaries(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_elf_segment *s)
{
    uint64_t end = s->off + s->filesz;

    if (s->filesz == 0 || s->off == c->h.phoff)
        return;
    if (!starts_range(c, s->off))
        seg_report(x, c, i, CV_R_SEG_BOUNDARY, CV_PH_OFFSET, s->off, 0);
    if (!ends_range(c, end) && !starts_range(c, end))
        seg_report(x, c, i, CV_R_SEG_BOUNDARY, CV_PH_FILESZ, end, 0);
}

static void check_segment(cv_ctx *x, const cv_cubin *c, uint64_t i, const cv_elf_segment *s)
{
    uint64_t table = c->h.phnum * cv_elf_phdr_size(c->h.is32);

    if (!cv_span_has(c->image, s->off, s->filesz)) {
        seg_report(x, c, i, CV_R_SEG_RANGE, CV_PH_OFFSET, cv_sat_add(s->off, s->filesz), c->image.len);
        return;
    }
    if (s->align > x->lim.alignment)
        seg_report(x, c, i, CV_R_LIMIT_ALIGNMENT, CV_PH_ALIGN, s->align, x->lim.alignment);
    if (!c->conv)
        return;
    if (s->type != CV_PT_LOAD && s->type != CV_PT_PHDR)
        seg_report(x, c, i, CV_R_SEG_TYPE, CV_PH_TYPE, s->type, CV_PT_LOAD);
    if ((s->vaddr | s->paddr) != 0)
        seg_report(x, c, i, CV_R_SEG_ADDRESS, CV_PH_VADDR, s->vaddr | s->paddr, 0);
    if (s->align != 8)
        seg_report(x, c, i, CV_R_SEG_ALIGN, CV_PH_ALIGN, s->align, 8);
    if (s->memsz < s->filesz)
        seg_report(x, c, i, s->filesz - s->memsz < PADDING ? CV_R_SEG_MEMORY_SMALL : CV_R_SEG_MEMORY,
                   CV_PH_MEMSZ, s->memsz, s->filesz);
    if (s->type == CV_PT_PHDR && s->off != c->h.phoff)
        seg_report(x, c, i, CV_R_SEG_TABLE, CV_PH_OFFSET, s->off, c->h.phoff);
    else if (s->off == c->h.phoff && s->filesz != table)
        seg_report(x, c, i, CV_R_SEG_TABLE, CV_PH_FILESZ, s->filesz, table);
    else
        check_boundaries(x, c, i, s);
}

void cv_cubin_check_segments(cv_ctx *x, cv_cubin *c)
{
    bool is32 = c->h.is32;
    cv_elf_segment s;
    cv_span table;

    if (c->h.phnum == 0 || c->h.phentsize != cv_elf_phdr_size(is32) ||
        !cv_work(x, c->h.phnum, c->image.off + c->h.phoff) ||
        !cv_span_sub(c->image, c->h.phoff, c->h.phnum * cv_elf_phdr_size(is32), &table))
        return;
    for (uint64_t i = 0; i < c->h.phnum; i++) {
        cv_elf_read_segment(table, is32, i, &s);
        check_segment(x, c, i, &s);
    }
}

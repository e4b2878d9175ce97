/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Program headers of executables, against the ranges that the ledger sorted. Whether a driver goes by
 * segments or by sections is its own affair: both must say the same about which bytes are loaded, and as
 * what. */
#include "cubin/internal.h"

/* Bytes that fill the last word of a segment: fewer than that. */
#define PADDING 8u
/* Bytes of code that old linkers leave behind the end of its segment: 4,154 were seen. */
#define LOST 0x4000u

/* Segments with file bytes, in the order of the file; the tables among them. */
typedef struct loads {
    cv_ctx *x;
    const cv_cubin *c;
    cv_span table;
    cv_keys by_off; /* offset, number of the segment */
    uint64_t room; /* most memory that the sections without file bytes can ask for, alignments included … */
    uint64_t last; /* … and where the last of them ends: old tools gave each a place of its own */
} loads;

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

    return k < c->by_off.n && cv_keys_get(&c->by_off, k)->key == off;
}

/* off is the end of a range, or lies in the padding behind the initialised data. */
static bool ends_range(const cv_cubin *c, uint64_t off)
{
    uint64_t k = cv_keys_lower_bound(&c->by_off, off);
    const cv_sec *s;

    /* Sections without bytes may stand between: go back to the first one that ends here or before. */
    for (unsigned tries = 0; k > 0 && tries < 64; tries++) {
        s = cv_cubin_sec(c, cv_keys_get(&c->by_off, --k)->index);
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

/* What memory a segment stands for: constants, code with constants, or variables; the table is none. */
static bool flags_known(const cv_cubin *c, const cv_elf_segment *s)
{
    bool variables = s->flags == (CV_PF_R | CV_PF_W) && s->type == CV_PT_LOAD && s->off != c->h.phoff;

    return s->flags == CV_PF_R || s->flags == (CV_PF_R | CV_PF_X) || variables;
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
    if (!flags_known(c, s))
        seg_report(x, c, i, CV_R_SEG_FLAGS, CV_PH_FLAGS, s->flags, CV_PF_R);
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

/* Bytes of a section that a file's segments must have: those of the native world that are memory. */
static bool is_memory(const cv_sec *s)
{
    return (s->h.flags & (CV_SHF_ALLOC | CV_SHF_CUDA_MERC)) == CV_SHF_ALLOC;
}

static void count_room(loads *l)
{
    for (uint64_t i = 1; i < l->c->sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(l->c, i);

        if (!cv_elf_type_exempt(s->h.type) || !is_memory(s))
            continue;
        l->room = cv_sat_add(l->room, cv_sat_add(s->h.size, cv_max(s->h.align, 1) - 1));
        l->last = cv_max(l->last, cv_sat_add(s->h.off, s->h.size));
    }
}

/* Memory behind the file bytes: no more than the sections have, beside the variables. */
static void check_memory(const loads *l, uint64_t i, const cv_elf_segment *s)
{
    uint64_t more, end = cv_sat_add(s->off, s->filesz), most = l->room;

    if (s->memsz <= s->filesz)
        return;
    more = s->memsz - s->filesz;
    if (s->type != CV_PT_LOAD || s->off == l->c->h.phoff)
        most = 0;
    else if (l->last > end)
        most = cv_max(most, l->last - end);
    if (more > most)
        seg_report(l->x, l->c, i, CV_R_SEG_MEMORY_MORE, CV_PH_MEMSZ, s->memsz, cv_sat_add(s->filesz, most));
    else if (!(s->flags & CV_PF_W))
        seg_report(l->x, l->c, i, CV_R_SEG_MEMORY_PLACE, CV_PH_MEMSZ, s->memsz, s->filesz);
}

static cuvet_status read_loads(loads *l)
{
    bool headers = false;
    cv_elf_segment s;

    for (uint64_t i = 0; i < l->c->h.phnum; i++) {
        cv_elf_read_segment(l->table, l->c->h.is32, i, &s);
        check_segment(l->x, l->c, i, &s);
        if (!l->c->conv || !l->c->exe)
            continue;
        check_memory(l, i, &s);
        if (s.type == CV_PT_PHDR && headers)
            seg_report(l->x, l->c, i, CV_R_SEG_TABLE, CV_PH_TYPE, s.type, CV_PT_LOAD);
        headers = headers || s.type == CV_PT_PHDR;
        if (s.type == CV_PT_LOAD && s.filesz != 0 && cv_span_has(l->c->image, s.off, s.filesz) &&
            !cv_keys_push(&l->x->mem, &l->by_off, (cv_key){ s.off, i }))
            return cv_nomem(l->x, l->table.off);
    }
    cv_keys_sort(&l->by_off);
    return CUVET_OK;
}

static void read_load(const loads *l, uint64_t k, cv_elf_segment *s, uint64_t *i)
{
    *i = cv_keys_get(&l->by_off, k)->index;
    cv_elf_read_segment(l->table, l->c->h.is32, *i, s);
}

/* The header and the section table are nobody's memory. */
static bool holds_table(const cv_cubin *c, const cv_elf_segment *s, uint64_t end)
{
    uint64_t tables = c->h.shoff + c->sec.n * cv_elf_shdr_size(c->h.is32);

    return s->off < cv_elf_ehdr_size(c->h.is32) || (s->off < tables && end > c->h.shoff) ||
           (s->off < c->h.phoff && end > c->h.phoff);
}

static void check_overlaps(const loads *l)
{
    uint64_t end = 0, before = 0, i;
    cv_elf_segment s;

    for (uint64_t k = 0; k < l->by_off.n; k++) {
        uint64_t stop;

        read_load(l, k, &s, &i);
        stop = s.off + s.filesz;
        if (s.off < end)
            seg_report(l->x, l->c, i, CV_R_SEG_OVERLAP, CV_PH_OFFSET, s.off, before);
        if (holds_table(l->c, &s, stop))
            seg_report(l->x, l->c, i, CV_R_SEG_FOREIGN, CV_PH_OFFSET, s.off, 0);
        if (stop > end) {
            end = stop;
            before = i;
        }
    }
}

/* Flags of the segment for what a section holds; constants lie beside code up to sm_90. */
static bool fits(const cv_sec *sec, const cv_elf_segment *s)
{
    if (sec->h.flags & CV_SHF_EXECINSTR)
        return (s->flags & (CV_PF_X | CV_PF_W)) == CV_PF_X && !(sec->h.flags & CV_SHF_WRITE);
    if (sec->h.flags & CV_SHF_WRITE)
        return (s->flags & (CV_PF_X | CV_PF_W)) == CV_PF_W;
    return !(s->flags & CV_PF_W);
}

static uint64_t wanted(const cv_sec *sec)
{
    return CV_PF_R | (sec->h.flags & CV_SHF_EXECINSTR ? CV_PF_X : sec->h.flags & CV_SHF_WRITE ? CV_PF_W : 0);
}

/* A section that no segment has. Old linkers lose the padding between functions when they sum up the segment
 * of the code, so that the last ones lie behind its end. */
static void left_out(const loads *l, uint64_t i, const cv_sec *sec, const cv_elf_segment *before)
{
    uint64_t end = before->off + before->filesz;
    bool lost =
        l->c->legacy && before->flags & CV_PF_X && sec->h.flags & CV_SHF_EXECINSTR && sec->h.off - end < LOST;

    cv_sec_report(l->x, l->c, i, lost ? CV_R_SEG_LEFT_OUT_END : CV_R_SEG_LEFT_OUT, CV_SH_OFFSET, sec->h.off,
                  end);
}

/* Section i and the segment that has its first byte, or the first one behind it, which is 'number': NULL when
 * there is none. before: the one before. */
static void check_section(const loads *l, uint64_t i, const cv_sec *sec, const cv_elf_segment *s,
                          uint64_t number, const cv_elf_segment *before)
{
    if (!s || s->off >= sec->h.off + sec->h.size) {
        if (is_memory(sec))
            left_out(l, i, sec, before);
    } else if (!(sec->h.flags & CV_SHF_ALLOC)) {
        seg_report(l->x, l->c, number, CV_R_SEG_FOREIGN, CV_PH_OFFSET, s->off, i);
    } else if (!fits(sec, s)) {
        seg_report(l->x, l->c, number, CV_R_SEG_KIND, CV_PH_FLAGS, s->flags, wanted(sec));
    }
}

/* Sections and segments in the order of the file, side by side. */
static void compare(const loads *l)
{
    cv_elf_segment s = { 0 }, before = { 0 };
    uint64_t k = 0, i = 0;

    if (l->by_off.n != 0)
        read_load(l, 0, &s, &i);
    for (uint64_t n = 0; n < l->c->by_off.n; n++) {
        uint64_t index = cv_keys_get(&l->c->by_off, n)->index;
        const cv_sec *sec = cv_cubin_sec(l->c, index);

        if (index >= l->c->sec.n || !sec->in_file || sec->h.size == 0)
            continue;
        while (k < l->by_off.n && s.off + s.filesz <= sec->h.off) {
            before = s;
            if (++k < l->by_off.n)
                read_load(l, k, &s, &i);
        }
        check_section(l, index, sec, k < l->by_off.n ? &s : NULL, i, &before);
    }
}

cuvet_status cv_cubin_check_segments(cv_ctx *x, cv_cubin *c)
{
    bool is32 = c->h.is32;
    loads l = { .x = x, .c = c };
    cuvet_status st;

    if (c->h.phnum == 0 || c->h.phentsize != cv_elf_phdr_size(is32) ||
        !cv_work(x, c->h.phnum + c->sec.n / 4, c->image.off + c->h.phoff) ||
        !cv_span_sub(c->image, c->h.phoff, c->h.phnum * cv_elf_phdr_size(is32), &l.table))
        return CUVET_OK;
    if (c->conv && c->exe)
        count_room(&l);
    st = read_loads(&l);
    if (st == CUVET_OK && c->conv && c->exe) {
        check_overlaps(&l);
        compare(&l);
    }
    cv_keys_free(&x->mem, &l.by_off);
    return st;
}

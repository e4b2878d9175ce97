/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Program headers of executables, against the ranges that the ledger sorted. Whether a driver goes by
 * segments or by sections is its own affair: both must say the same about which bytes are loaded, and as
 * what. */
#include "cubin/internal.h"

/* Bytes that fill the last word of a segment: fewer than that; and those up to where the memory behind it
 * begins. */
#define PADDING  8u
#define DISTANCE 256u
/* Bytes of code that old linkers leave behind the end of its segment: 4,154 were seen. */
#define LOST 0x4000u

/* Segments with file bytes, in the order of the file; the tables among them. */
typedef struct load_list {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_span table;
    cv_keys by_off; /* offset, number of the segment */
    uint64_t room; /* most memory that the sections without file bytes can ask for, alignments included … */
    uint64_t last; /* … and where the last of them ends: old tools gave each a place of its own */
} load_list;

static void seg_report(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, cv_rule rule, cv_phdr_field field,
                       uint64_t got, uint64_t want)
{
    bool is32 = cubin->header.is32;

    cv_report_at(ctx, CUVET_P_SEGMENT, index, rule,
                 cubin->image.off + cubin->header.phoff + index * cv_elf_phdr_size(is32) +
                     cv_elf_phdr_at(is32, field),
                 0, got, want);
}

static bool starts_range(const cv_cubin *cubin, uint64_t off)
{
    uint64_t at = cv_keys_lower_bound(&cubin->by_off, off);

    return at < cubin->by_off.count && cv_keys_get(&cubin->by_off, at)->key == off;
}

/* off is the end of a range, or lies in the padding behind the initialised data. */
static bool ends_range(const cv_cubin *cubin, uint64_t off)
{
    uint64_t at = cv_keys_lower_bound(&cubin->by_off, off);
    const cv_sec *sec;

    /* Sections without bytes may stand between: go back to the first one that ends here or before. */
    for (unsigned tries = 0; at > 0 && tries < 64; tries++) {
        sec = cv_cubin_sec(cubin, cv_keys_get(&cubin->by_off, --at)->index);
        if (!sec->in_file || sec->header.size == 0)
            continue;
        return sec->header.off + sec->header.size == off ||
               (sec->role == CV_ROLE_GLOBAL_INIT && sec->header.off + sec->header.size < off);
    }
    return false;
}

static void check_boundaries(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index,
                             const cv_elf_segment *segment)
{
    uint64_t end = segment->off + segment->filesz;

    if (segment->filesz == 0 || segment->off == cubin->header.phoff)
        return;
    if (!starts_range(cubin, segment->off))
        seg_report(ctx, cubin, index, CV_R_SEG_BEGIN, CV_PH_OFFSET, segment->off, 0);
    if (!ends_range(cubin, end) && !starts_range(cubin, end))
        seg_report(ctx, cubin, index, CV_R_SEG_BOUNDARY, CV_PH_FILESZ, end, 0);
}

/* What memory a segment stands for: constants, code with constants, or variables; the table is none. */
static bool flags_known(const cv_cubin *cubin, const cv_elf_segment *segment)
{
    bool variables = segment->flags == (CV_PF_R | CV_PF_W) && segment->type == CV_PT_LOAD &&
                     segment->off != cubin->header.phoff;

    return segment->flags == CV_PF_R || segment->flags == (CV_PF_R | CV_PF_X) || variables;
}

/* What is left out of the memory of a segment holds no byte of a section. */
static bool leaves_padding(cv_ctx *ctx, const cv_cubin *cubin, const cv_elf_segment *segment)
{
    uint64_t from = segment->off + segment->memsz, to = segment->off + segment->filesz;

    if (to - from < PADDING)
        return true;
    if (to - from >= DISTANCE || !cv_work(ctx, cubin->sec.count, cubin->image.off))
        return false;
    for (uint64_t i = 1; i < cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(cubin, i);

        if (sec->in_file && sec->header.size != 0 && sec->header.off < to &&
            sec->header.off + sec->header.size > from)
            return false;
    }
    return true;
}

static void check_segment(cv_ctx *ctx, const cv_cubin *cubin, uint64_t index, const cv_elf_segment *segment)
{
    uint64_t table = cubin->header.phnum * cv_elf_phdr_size(cubin->header.is32);

    if (!cv_span_has(cubin->image, segment->off, segment->filesz)) {
        seg_report(ctx, cubin, index, CV_R_SEG_RANGE, CV_PH_OFFSET, cv_sat_add(segment->off, segment->filesz),
                   cubin->image.len);
        return;
    }
    if (segment->align > ctx->lim.alignment)
        seg_report(ctx, cubin, index, CV_R_LIMIT_ALIGNMENT, CV_PH_ALIGN, segment->align, ctx->lim.alignment);
    if (!cubin->conv)
        return;
    if (segment->type != CV_PT_LOAD && segment->type != CV_PT_PHDR)
        seg_report(ctx, cubin, index, CV_R_SEG_TYPE, CV_PH_TYPE, segment->type, CV_PT_LOAD);
    if (!flags_known(cubin, segment))
        seg_report(ctx, cubin, index, CV_R_SEG_FLAGS, CV_PH_FLAGS, segment->flags, CV_PF_R);
    if ((segment->vaddr | segment->paddr) != 0)
        seg_report(ctx, cubin, index, CV_R_SEG_ADDRESS, CV_PH_VADDR, segment->vaddr | segment->paddr, 0);
    if (segment->align != 8)
        seg_report(ctx, cubin, index, CV_R_SEG_ALIGN, CV_PH_ALIGN, segment->align, 8);
    if (segment->memsz < segment->filesz)
        seg_report(ctx, cubin, index,
                   leaves_padding(ctx, cubin, segment) ? CV_R_SEG_MEMORY_SMALL : CV_R_SEG_MEMORY, CV_PH_MEMSZ,
                   segment->memsz, segment->filesz);
    if (segment->type == CV_PT_PHDR && segment->off != cubin->header.phoff)
        seg_report(ctx, cubin, index, CV_R_SEG_TABLE, CV_PH_OFFSET, segment->off, cubin->header.phoff);
    else if (segment->off == cubin->header.phoff && segment->filesz != table)
        seg_report(ctx, cubin, index, CV_R_SEG_TABLE, CV_PH_FILESZ, segment->filesz, table);
    else
        check_boundaries(ctx, cubin, index, segment);
}

/* Bytes of a section that a file's segments must have: those of the native world that are memory. */
static bool is_memory(const cv_sec *sec)
{
    return (sec->header.flags & (CV_SHF_ALLOC | CV_SHF_CUDA_MERC)) == CV_SHF_ALLOC;
}

static void count_room(load_list *loads)
{
    for (uint64_t i = 1; i < loads->cubin->sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(loads->cubin, i);

        if (!cv_elf_type_exempt(sec->header.type) || !is_memory(sec))
            continue;
        loads->room = cv_sat_add(loads->room, cv_sat_add(sec->header.size, cv_max(sec->header.align, 1) - 1));
        loads->last = cv_max(loads->last, cv_sat_add(sec->header.off, sec->header.size));
    }
}

/* Memory behind the file bytes: no more than the sections have, beside the variables. */
static void check_memory(const load_list *loads, uint64_t index, const cv_elf_segment *segment)
{
    uint64_t more, end = cv_sat_add(segment->off, segment->filesz), most = loads->room;

    if (segment->memsz <= segment->filesz)
        return;
    more = segment->memsz - segment->filesz;
    if (segment->type != CV_PT_LOAD || segment->off == loads->cubin->header.phoff)
        most = 0;
    else if (loads->last > end)
        most = cv_max(most, loads->last - end);
    if (more > most)
        seg_report(loads->ctx, loads->cubin, index, CV_R_SEG_MEMORY_MORE, CV_PH_MEMSZ, segment->memsz,
                   cv_sat_add(segment->filesz, most));
    else if (!(segment->flags & CV_PF_W))
        seg_report(loads->ctx, loads->cubin, index, CV_R_SEG_MEMORY_PLACE, CV_PH_MEMSZ, segment->memsz,
                   segment->filesz);
}

static cuvet_status read_loads(load_list *loads)
{
    bool headers = false;
    cv_elf_segment segment;

    for (uint64_t i = 0; i < loads->cubin->header.phnum; i++) {
        cv_elf_read_segment(loads->table, loads->cubin->header.is32, i, &segment);
        check_segment(loads->ctx, loads->cubin, i, &segment);
        if (!loads->cubin->conv || !loads->cubin->exe)
            continue;
        check_memory(loads, i, &segment);
        if (segment.type == CV_PT_PHDR && headers)
            seg_report(loads->ctx, loads->cubin, i, CV_R_SEG_TABLE, CV_PH_TYPE, segment.type, CV_PT_LOAD);
        headers = headers || segment.type == CV_PT_PHDR;
        if (segment.type == CV_PT_LOAD && segment.filesz != 0 &&
            cv_span_has(loads->cubin->image, segment.off, segment.filesz) &&
            !cv_keys_push(&loads->ctx->mem, &loads->by_off, (cv_key){ segment.off, i }))
            return cv_nomem(loads->ctx, loads->table.off);
    }
    cv_keys_sort(&loads->by_off);
    return CUVET_OK;
}

static void read_load(const load_list *loads, uint64_t index, cv_elf_segment *segment, uint64_t *section)
{
    *section = cv_keys_get(&loads->by_off, index)->index;
    cv_elf_read_segment(loads->table, loads->cubin->header.is32, *section, segment);
}

/* The header and the section table are nobody's memory. */
static bool holds_table(const cv_cubin *cubin, const cv_elf_segment *segment, uint64_t end)
{
    uint64_t tables = cubin->header.shoff + cubin->sec.count * cv_elf_shdr_size(cubin->header.is32);

    return segment->off < cv_elf_ehdr_size(cubin->header.is32) ||
           (segment->off < tables && end > cubin->header.shoff) ||
           (segment->off < cubin->header.phoff && end > cubin->header.phoff);
}

static void check_overlaps(const load_list *loads)
{
    uint64_t end = 0, before = 0, i;
    cv_elf_segment segment;

    for (uint64_t k = 0; k < loads->by_off.count; k++) {
        uint64_t stop;

        read_load(loads, k, &segment, &i);
        stop = segment.off + segment.filesz;
        if (segment.off < end)
            seg_report(loads->ctx, loads->cubin, i, CV_R_SEG_OVERLAP, CV_PH_OFFSET, segment.off, before);
        if (holds_table(loads->cubin, &segment, stop))
            seg_report(loads->ctx, loads->cubin, i, CV_R_SEG_FOREIGN, CV_PH_OFFSET, segment.off, 0);
        if (stop > end) {
            end = stop;
            before = i;
        }
    }
}

/* Flags of the segment for what a section holds; constants lie beside code up to sm_90. */
static bool fits_flags(const cv_sec *sec, const cv_elf_segment *segment)
{
    if (sec->header.flags & CV_SHF_EXECINSTR)
        return (segment->flags & (CV_PF_X | CV_PF_W)) == CV_PF_X && !(sec->header.flags & CV_SHF_WRITE);
    if (sec->header.flags & CV_SHF_WRITE)
        return (segment->flags & (CV_PF_X | CV_PF_W)) == CV_PF_W;
    return !(segment->flags & CV_PF_W);
}

static uint64_t wanted_alignment(const cv_sec *sec)
{
    if (sec->header.flags & CV_SHF_EXECINSTR && sec->header.flags & CV_SHF_WRITE)
        return 0;
    return CV_PF_R | (sec->header.flags & CV_SHF_EXECINSTR ? CV_PF_X
                      : sec->header.flags & CV_SHF_WRITE   ? CV_PF_W
                                                           : 0);
}

/* A section that no segment has. Old linkers lose the padding between functions when they sum up the segment
 * of the code, so that the last ones lie behind its end. */
static void left_out(const load_list *loads, uint64_t index, const cv_sec *sec, const cv_elf_segment *before)
{
    uint64_t end = before->off + before->filesz;
    bool lost = loads->cubin->legacy && before->flags & CV_PF_X && sec->header.flags & CV_SHF_EXECINSTR &&
                sec->header.off - end < LOST;

    cv_sec_report(loads->ctx, loads->cubin, index, lost ? CV_R_SEG_LEFT_OUT_END : CV_R_SEG_LEFT_OUT,
                  CV_SH_OFFSET, sec->header.off, end);
}

/* Section i and the segment that has its first byte, or the first one behind it, which is 'number': NULL when
 * there is none. before: the one before. */
static void check_section(const load_list *loads, uint64_t index, const cv_sec *sec,
                          const cv_elf_segment *segment, uint64_t number, const cv_elf_segment *before)
{
    if (!segment || segment->off >= sec->header.off + sec->header.size) {
        if (is_memory(sec))
            left_out(loads, index, sec, before);
    } else if (!(sec->header.flags & CV_SHF_ALLOC)) {
        seg_report(loads->ctx, loads->cubin, number, CV_R_SEG_FOREIGN, CV_PH_OFFSET, segment->off, index);
    } else if (!fits_flags(sec, segment)) {
        seg_report(loads->ctx, loads->cubin, number, CV_R_SEG_KIND, CV_PH_FLAGS, segment->flags,
                   wanted_alignment(sec));
    }
}

/* Sections and segments in the order of the file, side by side. */
static void compare_order(const load_list *loads)
{
    cv_elf_segment segment = { 0 }, before = { 0 };
    uint64_t at = 0, i = 0;

    if (loads->by_off.count != 0)
        read_load(loads, 0, &segment, &i);
    for (uint64_t nth = 0; nth < loads->cubin->by_off.count; nth++) {
        uint64_t index = cv_keys_get(&loads->cubin->by_off, nth)->index;
        const cv_sec *sec = cv_cubin_sec(loads->cubin, index);

        if (index >= loads->cubin->sec.count || !sec->in_file || sec->header.size == 0)
            continue;
        while (at < loads->by_off.count && segment.off + segment.filesz <= sec->header.off) {
            before = segment;
            if (++at < loads->by_off.count)
                read_load(loads, at, &segment, &i);
        }
        check_section(loads, index, sec, at < loads->by_off.count ? &segment : NULL, i, &before);
    }
}

/* Sections that follow each other from the begin of a segment on. */
typedef struct section_run {
    cv_elf_segment segment;
    uint64_t number, end, padding;
    bool open;
} section_run;

/* Old linkers sum up the sizes of the sections, so that a segment ends earlier than they do by the padding
 * between them, and by no byte more. */
static void end_run(const load_list *loads, section_run *run)
{
    uint64_t stop = run->segment.off + run->segment.filesz;

    if (run->open && run->end > stop && run->end - stop > run->padding)
        seg_report(loads->ctx, loads->cubin, run->number, CV_R_SEG_CUT, CV_PH_FILESZ, stop,
                   run->end - run->padding);
    run->open = false;
}

static void add_to_run(section_run *run, const cv_sec *sec)
{
    if (sec->header.off > run->end)
        run->padding += sec->header.off - run->end;
    run->end = cv_max(run->end, sec->header.off + sec->header.size);
}

/* Segments of code that end before their sections do. */
static void check_ends(const load_list *loads)
{
    section_run run = { .open = false };
    uint64_t at = 0;

    for (uint64_t nth = 0; nth < loads->cubin->by_off.count; nth++) {
        uint64_t index = cv_keys_get(&loads->cubin->by_off, nth)->index;
        const cv_sec *sec = cv_cubin_sec(loads->cubin, index);

        if (index >= loads->cubin->sec.count || !sec->in_file || sec->header.size == 0)
            continue;
        for (; at < loads->by_off.count && cv_keys_get(&loads->by_off, at)->key <= sec->header.off; at++) {
            end_run(loads, &run);
            read_load(loads, at, &run.segment, &run.number);
            run.open = (run.segment.flags & CV_PF_X) != 0;
            run.end = run.segment.off;
            run.padding = 0;
        }
        if (run.open && is_memory(sec))
            add_to_run(&run, sec);
        else
            end_run(loads, &run);
    }
    end_run(loads, &run);
}

cuvet_status cv_cubin_check_segments(cv_ctx *ctx, cv_cubin *cubin)
{
    bool is32 = cubin->header.is32;
    load_list loads = { .ctx = ctx, .cubin = cubin };
    cuvet_status status;

    if (cubin->header.phnum == 0 || cubin->header.phentsize != cv_elf_phdr_size(is32) ||
        !cv_work(ctx, cubin->header.phnum + cubin->sec.count / 4, cubin->image.off + cubin->header.phoff))
        return CUVET_OK;
    if (CV_NEVER(!cv_span_sub(cubin->image, cubin->header.phoff, cubin->header.phnum * cv_elf_phdr_size(is32),
                              &loads.table)))
        return CUVET_OK;
    if (cubin->conv && cubin->exe)
        count_room(&loads);
    status = read_loads(&loads);
    if (status == CUVET_OK && cubin->conv && cubin->exe) {
        check_overlaps(&loads);
        compare_order(&loads);
        if (cubin->legacy)
            check_ends(&loads);
    }
    cv_keys_free(&ctx->mem, &loads.by_off);
    return status;
}

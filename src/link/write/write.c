/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage write: the file. Section contents at their offsets, relocations applied, section headers, program
 * headers. */
#include "link/write/write.h"
#include "base/arith.h"
#include "bytes/lanes.h"

/* What is shorter is copied: that costs less than a slice. The deep builds lend all code, so that every case
 * goes this way. */
enum { LEND_LEAST = CV_DEEP ? 1 : 8192 };

typedef struct out_segment {
    uint32_t type, flags;
    uint64_t off, filesz, memsz;
} out_segment;

/* Of borrowed code, what relocations write into is copied in pieces of this size. */
enum { PATCH = 256, PATCH_GAP = 4096 / PATCH };

/* A place in the file that is being written. */
static cv_span part_of(const cv_block *out, uint64_t off, uint64_t len)
{
    return cv_span_tail(cv_span_of(out->mem, off + len, 0), off);
}

static bool put_at(cv_block *out, uint64_t size, uint64_t off, cv_span bytes)
{
    return off <= size && bytes.len <= size - off && cv_block_put(out, off, bytes);
}

/* The bytes of an input section. */
static cv_span borrowed_bytes(const cv_view_write *view, const cv_osec *osec)
{
    const cv_isec *isec = cv_l_isec(view, cv_lparts_get(&view->out->part, osec->first_part)->isec);
    const cv_lobj *obj = cv_l_obj(view, isec->obj);
    cv_span bytes = cv_span_tail(obj->image, cv_cubin_sec(&obj->cubin, isec->index)->header.off);

    bytes.len = cv_min(bytes.len, osec->size);
    return bytes;
}

/* Long code of one piece is not copied: the file is put together from it. */
static bool can_lend(const cv_view_write *view, const cv_osec *osec)
{
    const cv_lpart *part;
    const cv_isec *isec;

    if (osec->group != CV_G_CODE || osec->dead || osec->size < LEND_LEAST || osec->bytes.len ||
        osec->first_part == CV_NONE || osec->first_part != osec->last_part)
        return false;
    part = cv_lparts_get(&view->out->part, osec->first_part);
    isec = cv_l_isec(view, part->isec);
    return part->base == 0 && isec->size == osec->size &&
           cv_cubin_sec(&cv_l_obj(view, isec->obj)->cubin, isec->index)->in_file;
}

/* The entries of a relocation section, at their place. */
static bool put_relocations(const cv_view_write *view, cv_block *out, const cv_osec *osec)
{
    uint8_t *place = cv_block_at(out, osec->off, osec->size);
    bool rela = osec->type == CV_SHT_RELA;
    cv_builder entries;

    if (!place)
        return false;
    cv_builder_at(&entries, place, osec->size);
    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
        const cv_fixup *fixup = cv_l_fixup(view, cur.id);

        if (!fixup->keep)
            continue;
        if (CV_NEVER(fixup->osym == CV_NONE)) /* dangling.c */
            return false;
        cv_put_u64(&entries, cur.rel->off);
        cv_put_u64(&entries, (uint64_t)cv_l_osym(view, fixup->osym)->index << 32 | fixup->type);
        if (rela)
            cv_put_u64(&entries, (uint64_t)fixup->addend);
    }
    return !entries.failed && entries.len == osec->size;
}

static bool put_section(const cv_view_write *view, cv_block *out, const cv_osec *osec)
{
    bool ok = true;

    if (osec->group == CV_G_NOBITS)
        return true;
    if (osec->group == CV_G_REL && !osec->is_resolved)
        return osec->size == 0 || put_relocations(view, out, osec);
    if (osec->borrowed)
        return osec->off <= view->file->size && osec->size <= view->file->size - osec->off;
    if (osec->bytes.len)
        return osec->bytes.len == osec->size &&
               put_at(out, view->file->size, osec->off, cv_builder_span(&osec->bytes));
    if (osec->off > view->file->size || osec->size > view->file->size - osec->off)
        return false;
    cv_block_clear(out, osec->off, osec->size); /* between the parts */
    for (cv_id part = osec->first_part; part != CV_NONE && ok;
         part = cv_lparts_get(&view->out->part, part)->next) {
        const cv_lpart *chunk = cv_lparts_get(&view->out->part, part);
        cv_span body = cv_l_body(view, cv_l_isec(view, chunk->isec));

        ok = body.len <= osec->size && chunk->base <= osec->size - body.len &&
             put_at(out, view->file->size, osec->off + chunk->base, body);
    }
    return ok;
}

/* Relocations of this section write into the section that they are about. */
static bool is_applied(const cv_view_write *view, cv_id id)
{
    const cv_osec *osec = cv_l_osec(view, id), *target;

    if (osec->group != CV_G_REL || osec->is_resolved || cv_l_fixed(view, id)->n_applied == 0)
        return false;
    target = cv_l_osec(view, osec->target);
    return !target->dead && target->group != CV_G_NOBITS;
}

static bool apply_fixups(const cv_view_write *view, cv_block *out, cv_id id)
{
    const cv_osec *osec = cv_l_osec(view, id), *target = cv_l_osec(view, osec->target);
    const cv_fixed *fixed = cv_l_fixed(view, id);
    uint8_t *bytes = cv_block_at(out, target->off, target->size);
    bool ok = bytes != NULL;

    for (cv_rel_cur cur = cv_out_rels(osec); ok && cv_rel_next(view->out, &cur);) {
        const cv_fixup *fixup = cv_l_fixup(view, cur.id);

        if (fixup->n_fields)
            ok = cv_fixups_apply(view->fixups, fixed, fixup, bytes, target->size, cur.rel->off);
    }
    return ok;
}

/* The pieces of the file that relocations of borrowed code write into: 1 in 'patched' for each. */
static bool mark_patches(const cv_view_write *view, cv_id id, cv_u8s *patched)
{
    const cv_osec *osec = cv_l_osec(view, id), *target = cv_l_osec(view, osec->target);
    const cv_fixed *fixed = cv_l_fixed(view, id);
    uint64_t len;

    for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(view->out, &cur);) {
        const cv_irel *irel = cur.rel;
        const cv_fixup *fixup = cv_l_fixup(view, cur.id);

        if (fixup->n_fields == 0)
            continue;
        len = cv_fixups_reach(view->fixups, fixed, fixup);
        if (len > target->size || irel->off > target->size - len)
            return false;
        for (uint64_t at = (target->off + irel->off) / PATCH; at * PATCH < target->off + irel->off + len;
             at++)
            *cv_u8s_at(patched, at) = 1;
    }
    return true;
}

/* From 'at' on to 'end', the first stretch of a borrowed section that is copied or not, in one piece each;
 * few bytes between two that are copied are copied too: a slice of their own would cost more. */
static bool next_stretch(const cv_u8s *patched, uint64_t at, uint64_t end, uint64_t *len)
{
    uint64_t first = at / PATCH, i = first, until = (end + PATCH - 1) / PATCH, gap = 0;
    bool copied = first < until && *cv_u8s_get(patched, first);

    if (!copied)
        i += cv_span_find_nonzero(
            cv_span_tail(cv_span_of(patched->items, cv_min(until, patched->count), 0), i));
    for (; copied && i < until && gap < PATCH_GAP; i++)
        gap = *cv_u8s_get(patched, i) ? 0 : gap + 1;
    i -= gap;
    *len = cv_min(end, i * PATCH) - at;
    return copied;
}

/* What the relocations write into is copied to its place: the input stays as it is. */
static bool copy_patches(const cv_view_write *view, cv_block *out, const cv_osec *osec, const cv_u8s *patched)
{
    cv_span all = borrowed_bytes(view, osec), part;
    uint64_t end = osec->off + all.len, len;
    bool ok = true;

    for (uint64_t at = osec->off; at < end && ok; at += len) {
        if (!next_stretch(patched, at, end, &len))
            continue;
        part = cv_span_tail(all, at - osec->off);
        part.len = len;
        ok = put_at(out, view->file->size, at, part);
    }
    return ok;
}

/* What is copied of borrowed code. */
static bool copy_all_patches(const cv_view_write *view, cv_block *out, cv_u8s *patched)
{
    bool ok = true;

    for (cv_id i = 0; i < view->out->osec.count && ok; i++)
        if (is_applied(view, i) && cv_l_osec(view, cv_l_osec(view, i)->target)->borrowed)
            ok = mark_patches(view, i, patched);
    for (cv_id i = 0; i < view->out->osec.count && ok; i++)
        if (cv_l_osec(view, i)->borrowed)
            ok = copy_patches(view, out, cv_l_osec(view, i), patched);
    return ok;
}

/* Relocations of the sections from 'first' to 'end' are applied: of those that they are about. */
static bool apply_all(const cv_view_write *view, cv_block *out, cv_id first, cv_id end)
{
    bool ok = true;

    for (cv_id i = 0; i < view->out->osec.count && ok; i++)
        if (is_applied(view, i) && cv_l_osec(view, i)->target >= first && cv_l_osec(view, i)->target < end)
            ok = apply_fixups(view, out, i);
    return ok;
}

static void section_header(const cv_view_write *view, cv_builder *builder, const cv_osec *osec)
{
    bool count = osec->index == 0 &&
                 view->layout->order.count >= CV_SHN_LORESERVE; /* that does not fit the file header */

    cv_put_u32(builder, (uint32_t)cv_name_places_get(&view->layout->name, osec->name)->sh_off);
    cv_put_u32(builder, osec->type);
    cv_put_u64(builder, osec->flags);
    cv_put_u64(builder, 0);
    cv_put_u64(builder, osec->off);
    cv_put_u64(builder, count ? view->layout->order.count : osec->size);
    cv_put_u32(builder, osec->link);
    cv_put_u32(builder, osec->info);
    cv_put_u64(builder, osec->align);
    cv_put_u64(builder, osec->entsize);
}

static void put_segment(cv_builder *builder, const out_segment *segment)
{
    cv_put_u32(builder, segment->type);
    cv_put_u32(builder, segment->flags);
    cv_put_u64(builder, segment->off);
    cv_put_u64(builder, 0);
    cv_put_u64(builder, 0);
    cv_put_u64(builder, segment->filesz);
    cv_put_u64(builder, segment->memsz);
    cv_put_u64(builder, 8);
}

/* The sections of these groups are one run. */
static bool find_groups(const cv_view_write *view, cv_group first, cv_group last, out_segment *segment)
{
    bool any = false;

    for (uint64_t i = 0; i < view->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        if (osec->group != first && osec->group != last)
            continue;
        if (!any)
            segment->off = osec->off;
        any = true;
        segment->filesz = segment->memsz = osec->off + osec->size - segment->off;
    }
    return any;
}

/* Initialised and zero data. The file part ends where the last zero section would begin. */
static bool find_data(const cv_view_write *view, out_segment *segment)
{
    bool any = false, zero = false;
    uint64_t end = 0;

    for (uint64_t i = 0; i < view->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        if (osec->group != CV_G_INIT && osec->group != CV_G_NOBITS)
            continue;
        if (!any)
            segment->off = osec->off;
        any = true;
        if (osec->group == CV_G_NOBITS) {
            zero = true;
            segment->filesz = osec->off - segment->off;
        } else if (!zero) {
            segment->filesz = osec->off + osec->size - segment->off;
        }
    }
    end =
        cv_sat_add(segment->off, segment->filesz); /* aligned as places in the file are, not from its begin */
    for (uint64_t i = 0; i < view->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        if (osec->group == CV_G_NOBITS)
            end = cv_sat_add(cv_sat_align(end, cv_max(osec->align, 1)), osec->size);
    }
    segment->memsz = end - segment->off;
    return any;
}

/* From sm_100 on only code is executable. */
static void split_segments(const cv_view_write *view, cv_builder *builder)
{
    out_segment table = { CV_PT_PHDR, CV_PF_R, view->synthetics->phoff, 0, 0 };
    out_segment segment[4] = { { CV_PT_LOAD, CV_PF_R, 0, 0, 0 },
                               { CV_PT_LOAD, CV_PF_R | CV_PF_X, 0, 0, 0 },
                               { CV_PT_LOAD, CV_PF_R | CV_PF_W, 0, 0, 0 },
                               { CV_PT_LOAD, CV_PF_R, 0, 0, 0 } };
    const bool has[4] = { find_groups(view, CV_G_CONST, CV_G_CONST, CV_ARRAY_AT(segment, 0)),
                          find_groups(view, CV_G_CODE, CV_G_CODE, CV_ARRAY_AT(segment, 1)),
                          find_data(view, CV_ARRAY_AT(segment, 2)),
                          find_groups(view, CV_G_PARAM, CV_G_PARAM, CV_ARRAY_AT(segment, 3)) };

    view->file->phnum = 2;
    for (size_t i = 0; i < CV_COUNT(segment); i++)
        view->file->phnum += CV_ARRAY_GET(has, i);
    table.filesz = table.memsz = view->file->phnum * cv_elf_phdr_size(false);
    put_segment(builder, &table);
    table.type = CV_PT_LOAD;
    put_segment(builder, &table);
    for (size_t i = 0; i < CV_COUNT(segment); i++)
        if (CV_ARRAY_GET(has, i))
            put_segment(builder, CV_ARRAY_AT(segment, i));
}

static void write_segments(const cv_view_write *view, cv_builder *builder)
{
    out_segment code = { CV_PT_LOAD, CV_PF_R | CV_PF_X, 0, 0, 0 },
                data = { CV_PT_LOAD, CV_PF_R | CV_PF_W, 0, 0, 0 };
    bool has_code = find_groups(view, CV_G_CONST, CV_G_CODE, &code), has_data = find_data(view, &data);
    uint64_t count = 2u + has_code + has_data;
    out_segment table = { CV_PT_PHDR, CV_PF_R | CV_PF_X, view->synthetics->phoff,
                          count * cv_elf_phdr_size(false), count * cv_elf_phdr_size(false) };

    view->file->phnum = count;
    put_segment(builder, &table);
    if (has_code)
        put_segment(builder, &code);
    if (has_data)
        put_segment(builder, &data);
    table.type = CV_PT_LOAD;
    put_segment(builder, &table);
}

static void file_header(const cv_view_write *view, cv_builder *builder)
{
    uint32_t note = cv_l_osec(view, view->out->cuinfo)->index;

    cv_put_u32(builder, CV_ELF_MAGIC);
    cv_put_u8(builder, 2);
    cv_put_u8(builder, 1);
    cv_put_u8(builder, 1);
    cv_put_u8(builder, CV_OSABI_CUDA);
    cv_put_u8(builder, CV_ABI_CUDA);
    cv_put_zero(builder, 7);
    cv_put_u16(builder, view->options->relocatable ? CV_ELF_REL : CV_ELF_EXEC);
    cv_put_u16(builder, CV_EM_CUDA);
    cv_put_u32(builder, 1);
    cv_put_u64(builder, 0);
    cv_put_u64(builder, view->file->phnum ? view->synthetics->phoff : 0);
    cv_put_u64(builder, view->synthetics->shoff);
    cv_put_u32(builder, cv_elf_flags(note, view->options->target.sm, CV_EF_SASS));
    cv_put_u16(builder, (uint16_t)cv_elf_ehdr_size(false));
    cv_put_u16(builder, (uint16_t)cv_elf_phdr_size(false));
    cv_put_u16(builder, (uint16_t)view->file->phnum);
    cv_put_u16(builder, (uint16_t)cv_elf_shdr_size(false));
    cv_put_u16(builder,
               view->layout->order.count < CV_SHN_LORESERVE ? (uint16_t)view->layout->order.count : 0);
    cv_put_u16(builder, 1);
}

/* Where a section of the file ends. */
static uint64_t end_of(const cv_osec *osec)
{
    return osec->group == CV_G_NOBITS ? osec->off : cv_sat_add(osec->off, osec->size);
}

static void lend_all(const cv_view_write *view)
{
    for (uint64_t i = 1; i < view->layout->order.count; i++) {
        cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        osec->borrowed = can_lend(view, osec);
    }
}

/* Everything but what is borrowed, from one section in the order to another: sections, and zeros before each
 * of them, from 'pos' on. */
static bool put_all(const cv_view_write *view, cv_block *out, uint64_t first, uint64_t end, uint64_t pos)
{
    bool ok = true;

    for (uint64_t i = first; i < end && ok; i++) {
        const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));

        cv_block_clear(out, pos, osec->off - cv_min(osec->off, pos));
        ok = put_section(view, out, osec);
        pos = end_of(osec);
    }
    return ok;
}

/* Shares of the file: sections in the order of the file, and relocations by what they are about, since two
 * tables may be about one section. */
typedef struct write_job {
    const cv_view_write *view;
    cv_block *out;
    uint64_t begin; /* behind the header */
    cv_shares place, target;
} write_job;

static bool put_lane(void *user, uint32_t index)
{
    const write_job *job = user;
    uint32_t first = cv_share_first(&job->place, index);
    uint64_t pos = job->begin;

    if (first > 1)
        pos = end_of(cv_l_osec(job->view, *cv_u32s_get(&job->view->layout->order, first - 1)));
    return put_all(job->view, job->out, first, cv_share_end(&job->place, index), pos);
}

static bool apply_lane(void *user, uint32_t index)
{
    const write_job *job = user;

    return apply_all(job->view, job->out, cv_share_first(&job->target, index),
                     cv_share_end(&job->target, index));
}

static void share_bytes(write_job *job, uint32_t count)
{
    const cv_u32s *order = &job->view->layout->order;

    cv_shares_begin(&job->place, count, 1, job->view->file->size);
    for (uint32_t i = 1; i < order->count; i++)
        cv_shares_add(&job->place, i, cv_l_osec(job->view, *cv_u32s_get(order, i))->size);
    cv_shares_end(&job->place, (uint32_t)cv_max(order->count, 1));
}

static void share_targets(write_job *job, uint32_t count)
{
    const cv_part_out *out = job->view->out;

    cv_shares_begin(&job->target, count, 0, out->irel.count);
    for (cv_id i = 0; i < out->osec.count; i++)
        if (is_applied(job->view, i)) /* near what they are about, in the order of the plan */
            cv_shares_add(&job->target, cv_l_osec(job->view, i)->target,
                          cv_out_count_rels(out, cv_l_osec(job->view, i)));
    cv_shares_end(&job->target, (cv_id)out->osec.count);
}

/* Sections, and zeros between them; then what relocations write. */
static __attribute__((noinline)) bool fill_file(const cv_view_write *view, cv_block *out, uint64_t begin,
                                                cv_u8s *patched)
{
    const cuvet_executor *executor = view->options->executor;
    uint32_t count = cv_lanes_for(executor, view->out->irel.count);
    write_job job = { .view = view, .out = out, .begin = begin };

    lend_all(view);
    if (count == 0)
        return put_all(view, out, 1, view->layout->order.count, begin) &&
               copy_all_patches(view, out, patched) && apply_all(view, out, 0, CV_NONE);
    share_bytes(&job, count);
    share_targets(&job, count);
    return cv_lanes_run_plain(executor, count, put_lane, &job) && copy_all_patches(view, out, patched) &&
           cv_lanes_run_plain(executor, count, apply_lane, &job);
}

/* All of the file but what is borrowed. */
static bool put_file(const cv_view_write *view, cv_block *out, const cv_builder *header,
                     const cv_builder *tables, cv_u8s *patched)
{
    const cv_u32s *order = &view->layout->order;
    uint64_t shoff = view->synthetics->shoff, pos = header->len;

    if (order->count > 1)
        pos = end_of(cv_l_osec(view, *cv_u32s_get(order, order->count - 1)));
    cv_block_clear(out, pos, shoff - cv_min(shoff, pos));
    return put_at(out, view->file->size, 0, cv_builder_span(header)) &&
           put_at(out, view->file->size, shoff, cv_builder_span(tables)) &&
           fill_file(view, out, header->len, patched);
}

/* The file: what is borrowed where it lies in the inputs, everything else from the block. */
static void list_slices(const cv_view_write *view, const cv_block *out, const cv_u8s *patched,
                        cv_slices *file)
{
    cv_mem *mem = &view->ctx->mem;
    uint64_t pos = 0, len;

    for (uint64_t i = 1; i < view->layout->order.count; i++) {
        const cv_osec *osec = cv_l_osec(view, *cv_u32s_get(&view->layout->order, i));
        uint64_t end = osec->off + osec->size;
        cv_span borrowed;

        for (uint64_t at = osec->off; osec->borrowed && at < end; at += len) {
            if (next_stretch(patched, at, end, &len))
                continue;
            borrowed = cv_span_tail(borrowed_bytes(view, osec), at - osec->off);
            borrowed.len = cv_min(borrowed.len, len);
            cv_slices_borrow(mem, file, part_of(out, pos, at - cv_min(at, pos)));
            cv_slices_borrow(mem, file, borrowed);
            pos = at + len;
        }
    }
    cv_slices_borrow(mem, file, part_of(out, pos, view->file->size - cv_min(view->file->size, pos)));
}

cuvet_status cv_stage_write(const cv_view_write *view)
{
    cv_block *out = view->file->block;
    cv_slices *file = view->file->slices;
    cv_builder tables, header;
    cv_u8s patched = { 0 };
    cuvet_status status;

    cv_builder_init(&tables, &view->ctx->mem);
    cv_builder_init(&header, &view->ctx->mem);
    for (uint64_t i = 0; i < view->layout->order.count; i++)
        section_header(view, &tables, cv_l_osec(view, *cv_u32s_get(&view->layout->order, i)));
    if (!view->options->relocatable)
        (cv_l_has(view, CV_GEN_SPLIT_SEGMENTS) ? split_segments : write_segments)(view, &tables);
    file_header(view, &header);
    view->file->size = cv_sat_add(view->synthetics->shoff, tables.len);
    status = tables.failed || header.failed ? cv_l_nomem(view)
                                            : cv_block_exact(view->ctx, out, view->file->size, 0);
    if (status == CUVET_OK && !cv_u8s_fill(&view->ctx->mem, &patched, view->file->size / PATCH + 1))
        status = cv_l_nomem(view);
    if (status == CUVET_OK) {
        cv_block_filled(out, view->file->size);
        status = put_file(view, out, &header, &tables, &patched) ? CUVET_OK : cv_link_broken(view);
    }
    if (status == CUVET_OK) {
        list_slices(view, out, &patched, file);
        status = file->failed                    ? cv_l_nomem(view)
                 : file->len == view->file->size ? CUVET_OK
                                                 : cv_link_broken(view);
    }
    cv_u8s_free(&view->ctx->mem, &patched);
    cv_builder_free(&tables);
    cv_builder_free(&header);
    return status;
}

/* The file ends with its tables. */
bool cv_stage_write_holds(const cv_check_write *view)
{
    uint64_t tables = cv_sat_add(view->layout->order.count * cv_elf_shdr_size(false),
                                 view->file->phnum * cv_elf_phdr_size(false));

    return view->file->block->span.len == view->file->size &&
           cv_sat_add(view->synthetics->shoff, tables) == view->file->size &&
           (view->file->phnum != 0) == !view->options->relocatable;
}

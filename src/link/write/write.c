/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage write: the file. Section contents at their offsets, relocations applied, section headers, program
 * headers. */
#include "base/arith.h"
#include "link/in/stages.h"

/* What is shorter is copied: that costs less than a slice. The deep builds lend all code, so that every case
 * goes this way. */
enum { LEND_LEAST = CV_DEEP ? 1 : 8192 };

typedef struct segment {
    uint32_t type, flags;
    uint64_t off, filesz, memsz;
} segment;

/* Of lent code, what relocations write into is copied in pieces of this size. */
enum { PATCH = 256, PATCH_GAP = 4096 / PATCH };

/* A place in the file that is being written. */
static cv_span part_of(const cv_block *out, uint64_t off, uint64_t len)
{
    return cv_span_tail(cv_span_of(out->mem, off + len, 0), off);
}

static bool put(cv_block *out, uint64_t size, uint64_t off, cv_span bytes)
{
    return off <= size && bytes.len <= size - off && cv_block_put(out, off, bytes);
}

/* The bytes of an input section. */
static cv_span lent_bytes(const cv_link *l, const cv_osec *q)
{
    const cv_isec *s = cv_l_isec(l, cv_lparts_get(&l->part, q->first_part)->isec);
    const cv_lobj *o = cv_l_obj(l, s->obj);
    cv_span bytes = cv_span_tail(o->image, cv_cubin_sec(&o->cubin, s->index)->h.off);

    bytes.len = cv_min(bytes.len, q->size);
    return bytes;
}

/* Long code of one piece is not copied: the file is put together from it. */
static bool can_lend(const cv_link *l, const cv_osec *q)
{
    const cv_lpart *p;
    const cv_isec *s;

    if (q->group != CV_G_CODE || q->dead || q->size < LEND_LEAST || q->bytes.len ||
        q->first_part == CV_NONE || q->first_part != q->last_part)
        return false;
    p = cv_lparts_get(&l->part, q->first_part);
    s = cv_l_isec(l, p->isec);
    return p->base == 0 && s->size == q->size && cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->in_file;
}

static bool put_section(const cv_link *l, cv_block *out, const cv_osec *q)
{
    bool ok = true;

    if (q->group == CV_G_NOBITS)
        return true;
    if (q->lent)
        return q->off <= l->size && q->size <= l->size - q->off;
    if (q->bytes.len)
        return q->bytes.len == q->size && put(out, l->size, q->off, cv_builder_span(&q->bytes));
    if (q->off > l->size || q->size > l->size - q->off)
        return false;
    cv_block_clear(out, q->off, q->size); /* between the parts */
    for (cv_id p = q->first_part; p != CV_NONE && ok; p = cv_lparts_get(&l->part, p)->next) {
        const cv_lpart *e = cv_lparts_get(&l->part, p);
        cv_span body = cv_l_body(l, cv_l_isec(l, e->isec));

        ok =
            body.len <= q->size && e->base <= q->size - body.len && put(out, l->size, q->off + e->base, body);
    }
    return ok;
}

/* Relocations of this section write into the section that they are about. */
static bool is_applied(const cv_link *l, const cv_osec *q)
{
    const cv_osec *t;

    if (q->group != CV_G_REL || q->is_resolved || q->n_applied == 0)
        return false;
    t = cv_l_osec(l, q->target);
    return !t->dead && t->group != CV_G_NOBITS;
}

static bool apply(const cv_link *l, cv_block *out, const cv_osec *q)
{
    const cv_osec *t = cv_l_osec(l, q->target);
    uint8_t *bytes = cv_block_at(out, t->off, t->size);
    bool ok = bytes != NULL;

    for (cv_id r = q->rels; r != CV_NONE && ok; r = cv_l_irel(l, r)->next)
        if (cv_l_irel(l, r)->n_fields)
            ok = cv_link_apply(l, cv_l_irel(l, r), bytes, t->size);
    return ok;
}

/* The pieces of the file that relocations of lent code write into: 1 in 'patched' for each. */
static bool mark_patches(const cv_link *l, const cv_osec *q, cv_u8s *patched)
{
    const cv_osec *t = cv_l_osec(l, q->target);
    uint64_t len;

    for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
        const cv_irel *e = cv_l_irel(l, r);

        if (e->n_fields == 0)
            continue;
        len = cv_link_reach_of(l, e);
        if (len > t->size || e->off > t->size - len)
            return false;
        for (uint64_t at = (t->off + e->off) / PATCH; at * PATCH < t->off + e->off + len; at++)
            *cv_u8s_at(patched, at) = 1;
    }
    return true;
}

/* From 'at' on to 'end', the first stretch of a lent section that is copied or not, in one piece each; few
 * bytes between two that are copied are copied too: a slice of their own would cost more. */
static bool next_stretch(const cv_u8s *patched, uint64_t at, uint64_t end, uint64_t *len)
{
    uint64_t first = at / PATCH, i = first, until = (end + PATCH - 1) / PATCH, gap = 0;
    bool copied = first < until && *cv_u8s_get(patched, first);

    for (; i < until && gap < (copied ? PATCH_GAP : 1); i++)
        gap = *cv_u8s_get(patched, i) == copied ? 0 : gap + 1;
    i -= gap;
    *len = cv_min(end, i * PATCH) - at;
    return copied;
}

/* What the relocations write into is copied to its place: the input stays as it is. */
static bool copy_patches(const cv_link *l, cv_block *out, const cv_osec *q, const cv_u8s *patched)
{
    cv_span all = lent_bytes(l, q), part;
    uint64_t end = q->off + all.len, len;
    bool ok = true;

    for (uint64_t at = q->off; at < end && ok; at += len) {
        if (!next_stretch(patched, at, end, &len))
            continue;
        part = cv_span_tail(all, at - q->off);
        part.len = len;
        ok = put(out, l->size, at, part);
    }
    return ok;
}

static bool patch_all(const cv_link *l, cv_block *out, cv_u8s *patched)
{
    bool ok = true;

    for (cv_id i = 0; i < l->osec.n && ok; i++)
        if (is_applied(l, cv_l_osec(l, i)) && cv_l_osec(l, cv_l_osec(l, i)->target)->lent)
            ok = mark_patches(l, cv_l_osec(l, i), patched);
    for (cv_id i = 0; i < l->osec.n && ok; i++)
        if (cv_l_osec(l, i)->lent)
            ok = copy_patches(l, out, cv_l_osec(l, i), patched);
    for (cv_id i = 0; i < l->osec.n && ok; i++)
        if (is_applied(l, cv_l_osec(l, i)))
            ok = apply(l, out, cv_l_osec(l, i));
    return ok;
}

static void section_header(const cv_link *l, cv_builder *b, const cv_osec *q)
{
    bool count = q->index == 0 && l->order.n >= CV_SHN_LORESERVE; /* that does not fit the file header */

    cv_put_u32(b, (uint32_t)cv_l_mean(l, q->name)->sh_off);
    cv_put_u32(b, q->type);
    cv_put_u64(b, q->flags);
    cv_put_u64(b, 0);
    cv_put_u64(b, q->off);
    cv_put_u64(b, count ? l->order.n : q->size);
    cv_put_u32(b, q->link);
    cv_put_u32(b, q->info);
    cv_put_u64(b, q->align);
    cv_put_u64(b, q->entsize);
}

static void put_segment(cv_builder *b, const segment *s)
{
    cv_put_u32(b, s->type);
    cv_put_u32(b, s->flags);
    cv_put_u64(b, s->off);
    cv_put_u64(b, 0);
    cv_put_u64(b, 0);
    cv_put_u64(b, s->filesz);
    cv_put_u64(b, s->memsz);
    cv_put_u64(b, 8);
}

/* The sections of these groups are one run. */
static bool find_groups(const cv_link *l, cv_group first, cv_group last, segment *s)
{
    bool any = false;

    for (uint64_t i = 0; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_get(&l->order, i));

        if (q->group != first && q->group != last)
            continue;
        if (!any)
            s->off = q->off;
        any = true;
        s->filesz = s->memsz = q->off + q->size - s->off;
    }
    return any;
}

/* Initialised and zero data. The file part ends where the last zero section would begin. */
static bool find_data(const cv_link *l, segment *s)
{
    bool any = false, zero = false;
    uint64_t end = 0;

    for (uint64_t i = 0; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_get(&l->order, i));

        if (q->group != CV_G_INIT && q->group != CV_G_NOBITS)
            continue;
        if (!any)
            s->off = q->off;
        any = true;
        if (q->group == CV_G_NOBITS) {
            zero = true;
            s->filesz = q->off - s->off;
        } else if (!zero) {
            s->filesz = q->off + q->size - s->off;
        }
    }
    end = s->filesz;
    for (uint64_t i = 0; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_get(&l->order, i));

        if (q->group == CV_G_NOBITS)
            end = cv_sat_add(cv_sat_align(end, cv_max(q->align, 1)), q->size);
    }
    s->memsz = end;
    return any;
}

/* Sections of one group: one run. */
/* From sm_100 on only code is executable. */
static void split_segments(cv_link *l, cv_builder *b)
{
    segment table = { CV_PT_PHDR, CV_PF_R, l->phoff, 0, 0 };
    segment s[4] = { { CV_PT_LOAD, CV_PF_R, 0, 0, 0 },
                     { CV_PT_LOAD, CV_PF_R | CV_PF_X, 0, 0, 0 },
                     { CV_PT_LOAD, CV_PF_R | CV_PF_W, 0, 0, 0 },
                     { CV_PT_LOAD, CV_PF_R, 0, 0, 0 } };
    const bool has[4] = { find_groups(l, CV_G_CONST, CV_G_CONST, CV_ARRAY_AT(s, 0)),
                          find_groups(l, CV_G_CODE, CV_G_CODE, CV_ARRAY_AT(s, 1)),
                          find_data(l, CV_ARRAY_AT(s, 2)),
                          find_groups(l, CV_G_PARAM, CV_G_PARAM, CV_ARRAY_AT(s, 3)) };

    l->phnum = 2;
    for (size_t i = 0; i < CV_COUNT(s); i++)
        l->phnum += CV_ARRAY_GET(has, i);
    table.filesz = table.memsz = l->phnum * cv_elf_phdr_size(false);
    put_segment(b, &table);
    table.type = CV_PT_LOAD;
    put_segment(b, &table);
    for (size_t i = 0; i < CV_COUNT(s); i++)
        if (CV_ARRAY_GET(has, i))
            put_segment(b, CV_ARRAY_AT(s, i));
}

static void segments(cv_link *l, cv_builder *b)
{
    segment code = { CV_PT_LOAD, CV_PF_R | CV_PF_X, 0, 0, 0 },
            data = { CV_PT_LOAD, CV_PF_R | CV_PF_W, 0, 0, 0 };
    bool has_code = find_groups(l, CV_G_CONST, CV_G_CODE, &code), has_data = find_data(l, &data);
    uint64_t n = 2u + has_code + has_data;
    segment table = { CV_PT_PHDR, CV_PF_R | CV_PF_X, l->phoff, n * cv_elf_phdr_size(false),
                      n * cv_elf_phdr_size(false) };

    l->phnum = n;
    put_segment(b, &table);
    if (has_code)
        put_segment(b, &code);
    if (has_data)
        put_segment(b, &data);
    table.type = CV_PT_LOAD;
    put_segment(b, &table);
}

static void file_header(const cv_link *l, cv_builder *b)
{
    uint32_t note = cv_l_osec(l, l->cuinfo)->index;

    cv_put_u32(b, CV_ELF_MAGIC);
    cv_put_u8(b, 2);
    cv_put_u8(b, 1);
    cv_put_u8(b, 1);
    cv_put_u8(b, CV_OSABI_CUDA);
    cv_put_u8(b, CV_ABI_CUDA);
    cv_put_zero(b, 7);
    cv_put_u16(b, l->o.relocatable ? CV_ELF_REL : CV_ELF_EXEC);
    cv_put_u16(b, CV_EM_CUDA);
    cv_put_u32(b, 1);
    cv_put_u64(b, 0);
    cv_put_u64(b, l->phnum ? l->phoff : 0);
    cv_put_u64(b, l->shoff);
    cv_put_u32(b, cv_elf_flags(note, l->o.target.sm, CV_EF_SASS));
    cv_put_u16(b, (uint16_t)cv_elf_ehdr_size(false));
    cv_put_u16(b, (uint16_t)cv_elf_phdr_size(false));
    cv_put_u16(b, (uint16_t)l->phnum);
    cv_put_u16(b, (uint16_t)cv_elf_shdr_size(false));
    cv_put_u16(b, l->order.n < CV_SHN_LORESERVE ? (uint16_t)l->order.n : 0);
    cv_put_u16(b, 1);
}

/* Everything but what is lent: sections, and zeros between them. */
static bool put_all(cv_link *l, cv_block *out, const cv_builder *header, const cv_builder *tables)
{
    uint64_t pos = header->len;
    bool ok =
        put(out, l->size, 0, cv_builder_span(header)) && put(out, l->size, l->shoff, cv_builder_span(tables));

    for (uint64_t i = 1; i < l->order.n && ok; i++) {
        cv_osec *q = cv_l_osec(l, *cv_u32s_at(&l->order, i));

        q->lent = can_lend(l, q);
        cv_block_clear(out, pos, q->off - cv_min(q->off, pos));
        ok = put_section(l, out, q);
        pos = q->group == CV_G_NOBITS ? q->off : cv_sat_add(q->off, q->size);
    }
    cv_block_clear(out, pos, l->shoff - cv_min(l->shoff, pos));
    return ok;
}

/* The file: what is lent where it lies in the inputs, everything else from the block. */
static void list_slices(const cv_link *l, const cv_block *out, const cv_u8s *patched, cv_slices *file)
{
    cv_mem *m = &l->x->mem;
    uint64_t pos = 0, len;

    for (uint64_t i = 1; i < l->order.n; i++) {
        const cv_osec *q = cv_l_osec(l, *cv_u32s_get(&l->order, i));
        uint64_t end = q->off + q->size;
        cv_span lent;

        for (uint64_t at = q->off; q->lent && at < end; at += len) {
            if (next_stretch(patched, at, end, &len))
                continue;
            lent = cv_span_tail(lent_bytes(l, q), at - q->off);
            lent.len = cv_min(lent.len, len);
            cv_slices_borrow(m, file, part_of(out, pos, at - cv_min(at, pos)));
            cv_slices_borrow(m, file, lent);
            pos = at + len;
        }
    }
    cv_slices_borrow(m, file, part_of(out, pos, l->size - cv_min(l->size, pos)));
}

cuvet_status cv_link_emit(cv_link *l, cv_block *out, cv_slices *file)
{
    cv_builder tables, header;
    cv_u8s patched = { 0 };
    cuvet_status st;

    cv_builder_init(&tables, &l->x->mem);
    cv_builder_init(&header, &l->x->mem);
    for (uint64_t i = 0; i < l->order.n; i++)
        section_header(l, &tables, cv_l_osec(l, *cv_u32s_at(&l->order, i)));
    if (!l->o.relocatable)
        (cv_l_has(l, CV_GEN_SPLIT_SEGMENTS) ? split_segments : segments)(l, &tables);
    file_header(l, &header);
    l->size = cv_sat_add(l->shoff, tables.len);
    st = tables.failed || header.failed ? cv_l_nomem(l) : cv_block_room(l->x, out, l->size, 0);
    if (st == CUVET_OK && !cv_u8s_fill(&l->x->mem, &patched, l->size / PATCH + 1))
        st = cv_l_nomem(l);
    if (st == CUVET_OK) {
        cv_block_filled(out, l->size);
        st = put_all(l, out, &header, &tables) && patch_all(l, out, &patched) ? CUVET_OK : cv_link_broken(l);
    }
    if (st == CUVET_OK) {
        list_slices(l, out, &patched, file);
        st = file->failed ? cv_l_nomem(l) : file->len == l->size ? CUVET_OK : cv_link_broken(l);
    }
    cv_u8s_free(&l->x->mem, &patched);
    cv_builder_free(&tables);
    cv_builder_free(&header);
    return st;
}

/* The file ends with its tables. */
bool cv_link_write_holds(const cv_link *l)
{
    uint64_t tables = cv_sat_add(l->order.n * cv_elf_shdr_size(false), l->phnum * cv_elf_phdr_size(false));

    return l->out->span.len == l->size && cv_sat_add(l->shoff, tables) == l->size &&
           (l->phnum != 0) == !l->o.relocatable;
}

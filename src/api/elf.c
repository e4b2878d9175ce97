/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An open device ELF, from its examination to its end. Elements are decoded from the caller's image on each
 * call (elf_get.c), so that a damaged file can be looked at as far as it goes; the model is built once, at
 * open, for its findings and for the facts that come from notes. */
#include "api/elf_int.h"
#include "cubin/admit.h"

cv_span cv_elf_obj_part(const elf_obj *obj, uint64_t off, uint64_t len)
{
    if (!cv_span_has(cv_span_of(obj->image, obj->size, 0), off, len))
        return cv_span_of(obj->image, 0, off);
    return cv_span_of(obj->image + off, len, off);
}

bool cv_elf_obj_section(const elf_obj *obj, uint64_t index, cv_elf_section *out)
{
    uint64_t each = cv_elf_shdr_size(obj->header.is32);

    if (index >= obj->n_sections)
        return false;
    cv_elf_read_section(cv_elf_obj_part(obj, obj->header.shoff + index * each, each), obj->header.is32, 0,
                        out);
    return true;
}

/* Tables that lie in the image; a table that does not has no elements. */
static __attribute__((noinline)) void count_tables(elf_obj *obj)
{
    cv_elf_section zero = { 0 };
    uint64_t each = cv_elf_shdr_size(obj->header.is32), count = obj->header.shnum, len;

    cv_elf_read_section(cv_elf_obj_part(obj, obj->header.shoff, each), obj->header.is32, 0, &zero);
    if (count == 0 && obj->header.shoff != 0)
        count = zero.size;
    obj->shstrndx = obj->header.shstrndx == CV_SHN_XINDEX ? zero.link : obj->header.shstrndx;
    if (obj->header.shoff != 0 && obj->header.shentsize == each && cv_mul(count, each, &len) &&
        cv_elf_obj_part(obj, obj->header.shoff, len).len == len)
        obj->n_sections = count;
    each = cv_elf_phdr_size(obj->header.is32);
    len = obj->header.phnum * each;
    if (obj->header.phentsize == each && cv_elf_obj_part(obj, obj->header.phoff, len).len == len)
        obj->n_segments = obj->header.phnum;
}

/* First symbol table of each kind and the tables of large section indices that belong to them.
 * Not a part of the frame of examine_elf(), as is fill_facts(). */
static __attribute__((noinline)) cuvet_status find_tables(cv_ctx *ctx, elf_obj *obj)
{
    cv_elf_section section = { 0 };

    if (obj->n_sections > ctx->lim.sections)
        return cv_reject(ctx, CV_R_LIMIT_SECTIONS, obj->header.shoff, obj->n_sections, ctx->lim.sections);
    if (!cv_work(ctx, 2 * obj->n_sections, obj->header.shoff))
        return CUVET_E_LIMIT;
    for (uint32_t i = 1; i < obj->n_sections; i++) {
        (void)cv_elf_obj_section(obj, i, &section); /* i is in range */
        if (section.type == CV_SHT_SYMTAB && obj->symtab == 0)
            obj->symtab = i;
        if (section.type == CV_SHT_MERC_SYMTAB && obj->merc == 0)
            obj->merc = i;
    }
    for (uint32_t i = 1; i < obj->n_sections; i++) {
        (void)cv_elf_obj_section(obj, i, &section);
        if (section.type == CV_SHT_SYMTAB_SHNDX && section.link == obj->symtab && obj->symtab_shndx == 0)
            obj->symtab_shndx = i;
        if (section.type == CV_SHT_SYMTAB_SHNDX && section.link == obj->merc && obj->merc_shndx == 0)
            obj->merc_shndx = i;
    }
    return CUVET_OK;
}

static __attribute__((noinline)) void fill_facts(elf_obj *obj, const cv_cubin *cubin, bool examined)
{
    const cv_elf_header *header = &obj->header;
    bool legacy = header->osabi == CV_OSABI_LEGACY;

    obj->facts = (cuvet_elf_header){
        .marks = (header->is32 ? CUVET_ELF_32BIT : 0) | (examined ? CUVET_ELF_EXAMINED : 0),
        .osabi = header->osabi,
        .abiversion = header->abiversion,
        .type = header->type,
        .machine = header->machine,
        .version = header->version,
        .flags = header->flags,
        .entry = header->entry,
        .phoff = header->phoff,
        .shoff = header->shoff,
        .ehsize = header->ehsize,
        .phentsize = header->phentsize,
        .phnum = header->phnum,
        .shentsize = header->shentsize,
        .shnum = header->shnum,
        .shstrndx = header->shstrndx,
        .n_sections = obj->n_sections,
        .n_segments = obj->n_segments,
        .extent = obj->size,
        .sm = cv_elf_flags_sm(header->flags, !legacy),
        .virtual_sm = cubin->virtual_sm,
        .toolkit = cubin->toolkit,
        .suffix = cv_admit_suffix(cubin),
    };
}

/* Facts and findings of the whole examination. What cannot be examined can still be shown when its tables are
 * readable. */
/* The parsed cubin is large: kept out of the frame of cuvet_elf_create(). */
static __attribute__((noinline)) cuvet_status examine_elf(cv_ctx *ctx, elf_obj *obj, uint64_t count)
{
    cv_span image = cv_span_of(obj->image, count, 0);
    cv_cubin cubin;
    uint64_t extent = count;
    cuvet_status status;

    cv_cubin_init(&cubin);
    cv_ctx_unit(ctx, count);
    cv_path_push(ctx, CUVET_P_ELF, false, 0);
    status = cv_cubin_examine(ctx, &cubin, image, NULL, &extent);
    if (status != CUVET_E_NOMEM && cv_elf_peek(image, &obj->header)) {
        bool whole = status == CUVET_OK;

        obj->size = whole ? extent : count;
        count_tables(obj);
        if (status != CUVET_E_LIMIT)
            status = obj->n_sections > 0 || whole ? find_tables(ctx, obj) : status;
        fill_facts(obj, &cubin, whole);
    }
    cv_path_pop(ctx);
    cv_cubin_free(ctx, &cubin);
    return status;
}

/* The object owns nothing but its body once it is open: the model is gone. */
static void end_elf(cuvet_ctx *ctx, void *body)
{
    const elf_obj *obj = body;

    cv_ctx_note_peak(ctx, obj->ctx.mem.peak);
}

typedef struct elf_opening {
    const void *image;
    uint64_t size;
} elf_opening;

static cuvet_status begin_elf(cuvet_ctx *ctx, void *body, const void *how)
{
    const elf_opening *opening = how;
    elf_obj *obj = body;

    obj->image = opening->image;
    cv_ctx_derive(ctx, &obj->ctx);
    return examine_elf(&obj->ctx, obj, opening->size);
}

cuvet_status cuvet_elf_create(cuvet_ctx *ctx, const void *image, size_t size, cuvet_elf *out)
{
    static const cv_handle_class CLASS = { CV_H_ELF, sizeof(elf_obj), begin_elf, end_elf };
    const elf_opening opening = { image, size };
    cuvet_elf elf = { 0 };
    cuvet_status status;

    if (!ctx || !out || (!image && size > 0))
        return CUVET_E_NULL;
    status = cv_handle_create(ctx, &CLASS, &opening, &elf.bits);
    if (status == CUVET_OK)
        *out = elf;
    return status;
}

cuvet_status cuvet_elf_destroy(cuvet_ctx *ctx, cuvet_elf *elf)
{
    return cv_handle_close(ctx, CV_H_ELF, elf ? &elf->bits : NULL);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An open device ELF, from its examination to its end. Elements are decoded from the caller's image on each
 * call (elf_get.c), so that a damaged file can be looked at as far as it goes; the model is built once, at
 * open, for its findings and for the facts that come from notes. */
#include "api/elf_int.h"
#include "cubin/admit.h"

cv_span cv_elf_obj_part(const elf_obj *o, uint64_t off, uint64_t len)
{
    if (!cv_span_has(cv_span_of(o->image, o->size, 0), off, len))
        return cv_span_of(o->image, 0, off);
    return cv_span_of(o->image + off, len, off);
}

bool cv_elf_obj_section(const elf_obj *o, uint64_t i, cv_elf_section *out)
{
    uint64_t each = cv_elf_shdr_size(o->h.is32);

    if (i >= o->n_sections)
        return false;
    cv_elf_read_section(cv_elf_obj_part(o, o->h.shoff + i * each, each), o->h.is32, 0, out);
    return true;
}

/* Tables that lie in the image; a table that does not has no elements. */
static __attribute__((noinline)) void count_tables(elf_obj *o)
{
    cv_elf_section zero = { 0 };
    uint64_t each = cv_elf_shdr_size(o->h.is32), n = o->h.shnum, len;

    cv_elf_read_section(cv_elf_obj_part(o, o->h.shoff, each), o->h.is32, 0, &zero);
    if (n == 0 && o->h.shoff != 0)
        n = zero.size;
    o->shstrndx = o->h.shstrndx == CV_SHN_XINDEX ? zero.link : o->h.shstrndx;
    if (o->h.shoff != 0 && o->h.shentsize == each && cv_mul(n, each, &len) &&
        cv_elf_obj_part(o, o->h.shoff, len).len == len)
        o->n_sections = n;
    each = cv_elf_phdr_size(o->h.is32);
    len = o->h.phnum * each;
    if (o->h.phentsize == each && cv_elf_obj_part(o, o->h.phoff, len).len == len)
        o->n_segments = o->h.phnum;
}

/* First symbol table of each kind and the tables of large section indices that belong to them.
 * Not a part of the frame of examine(), as is fill_facts(). */
static __attribute__((noinline)) cuvet_status find_tables(cv_ctx *x, elf_obj *o)
{
    cv_elf_section s;

    if (o->n_sections > x->lim.sections)
        return cv_reject(x, CV_R_LIMIT_SECTIONS, o->h.shoff, o->n_sections, x->lim.sections);
    if (!cv_work(x, 2 * o->n_sections, o->h.shoff))
        return CUVET_E_LIMIT;
    for (uint32_t i = 1; i < o->n_sections; i++) {
        (void)cv_elf_obj_section(o, i, &s); /* i is in range */
        if (s.type == CV_SHT_SYMTAB && o->symtab == 0)
            o->symtab = i;
        if (s.type == CV_SHT_MERC_SYMTAB && o->merc == 0)
            o->merc = i;
    }
    for (uint32_t i = 1; i < o->n_sections; i++) {
        (void)cv_elf_obj_section(o, i, &s);
        if (s.type == CV_SHT_SYMTAB_SHNDX && s.link == o->symtab && o->symtab_shndx == 0)
            o->symtab_shndx = i;
        if (s.type == CV_SHT_SYMTAB_SHNDX && s.link == o->merc && o->merc_shndx == 0)
            o->merc_shndx = i;
    }
    return CUVET_OK;
}

static __attribute__((noinline)) void fill_facts(elf_obj *o, const cv_cubin *c, bool examined)
{
    const cv_elf_header *h = &o->h;
    bool legacy = h->osabi == CV_OSABI_LEGACY;

    o->facts = (cuvet_elf_header){
        .is32 = h->is32,
        .osabi = h->osabi,
        .abiversion = h->abiversion,
        .type = h->type,
        .machine = h->machine,
        .version = h->version,
        .flags = h->flags,
        .entry = h->entry,
        .phoff = h->phoff,
        .shoff = h->shoff,
        .ehsize = h->ehsize,
        .phentsize = h->phentsize,
        .phnum = h->phnum,
        .shentsize = h->shentsize,
        .shnum = h->shnum,
        .shstrndx = h->shstrndx,
        .n_sections = o->n_sections,
        .n_segments = o->n_segments,
        .extent = o->size,
        .sm = cv_elf_flags_sm(h->flags, !legacy),
        .virtual_sm = c->virtual_sm,
        .toolkit = c->toolkit,
        .suffix = cv_admit_suffix(c),
        .examined = examined,
    };
}

/* Facts and findings of the whole examination. What cannot be examined can still be shown when its tables are
 * readable. */
/* Its picture of the cubin is large: kept out of the frame of cuvet_elf_create(). */
static __attribute__((noinline)) cuvet_status examine(cv_ctx *x, elf_obj *o, uint64_t n)
{
    cv_span image = cv_span_of(o->image, n, 0);
    cv_cubin c;
    uint64_t extent = n;
    cuvet_status st;

    cv_cubin_init(&c);
    cv_ctx_unit(x, n);
    cv_path_push(x, CUVET_P_ELF, false, 0);
    st = cv_cubin_examine(x, &c, image, NULL, &extent);
    if (st != CUVET_E_NOMEM && cv_elf_peek(image, &o->h)) {
        bool whole = st == CUVET_OK;

        o->size = whole ? extent : n;
        count_tables(o);
        if (st != CUVET_E_LIMIT)
            st = o->n_sections > 0 || whole ? find_tables(x, o) : st;
        fill_facts(o, &c, whole);
    }
    cv_path_pop(x);
    cv_cubin_free(x, &c);
    return st;
}

/* The object owns nothing but its body once it is open: the model is gone. */
static void end(cuvet_ctx *ctx, void *body)
{
    const elf_obj *o = body;

    cv_ctx_note_peak(ctx, o->x.mem.peak);
}

typedef struct opening {
    const void *image;
    uint64_t n;
} opening;

static cuvet_status begin(cuvet_ctx *ctx, void *body, const void *how)
{
    const opening *q = how;
    elf_obj *o = body;

    o->image = q->image;
    cv_ctx_lend(ctx, &o->x);
    return examine(&o->x, o, q->n);
}

cuvet_status cuvet_elf_create(cuvet_ctx *ctx, const void *image, size_t n, cuvet_elf *out)
{
    static const cv_handle_class CLASS = { CV_H_ELF, sizeof(elf_obj), begin, end };
    const opening q = { image, n };
    cuvet_elf e = { 0 };
    cuvet_status st;

    if (!ctx || !out || (!image && n > 0))
        return CUVET_E_NULL;
    st = cv_handle_create(ctx, &CLASS, &q, &e.bits);
    if (st == CUVET_OK)
        *out = e;
    return st;
}

cuvet_status cuvet_elf_destroy(cuvet_ctx *ctx, cuvet_elf *e)
{
    cuvet_status st = ctx && e ? cv_handle_destroy(ctx, CV_H_ELF, e->bits) : CUVET_E_NULL;

    if (st == CUVET_OK)
        e->bits = 0;
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Between the files that read a host ELF: host.c (tables, sections) and host_wrap.c (wrappers and where they
 * point). */
#ifndef CV_HOST_PARTS_H
#define CV_HOST_PARTS_H

#include "format/elf/read.h"
#include "host/host.h"

CV_VEC(cv_host_loads, cv_elf_segment);

typedef struct cv_host_read_ctx {
    cv_ctx *ctx;
    const cuvet_source *src;
    uint64_t base, size;
    cv_host *host;
    cv_elf_header header;
    bool tables; /* the section table can be read */
    uint64_t n_sections;
    uint32_t names_index;      /* section index of the name table, 0: none */
    cv_block headers;          /* a run of section headers … */
    uint64_t first, n_headers; /* … which ones */
    cv_block names;            /* the whole name table */
    cv_block part;             /* whatever is looked at for a moment */
    cv_host_loads loads;       /* PT_LOAD segments with bytes in the file */
    cv_elf_segment dynamic;    /* PT_DYNAMIC, or zero */
    cv_keys slots;             /* wrappers by the address of their pointer */
} cv_host_read_ctx;

/* [off, off + len) lies in the region. */
static inline bool cv_host_has(const cv_host_read_ctx *reader, uint64_t off, uint64_t len)
{
    return off <= reader->size && len <= reader->size - off;
}

/* Load a range of the region that cv_host_has(). */
CV_MUST cuvet_status cv_host_load(cv_host_read_ctx *reader, cv_block *block, uint64_t off, uint64_t len);
/* Section header index < n_sections. */
CV_MUST cuvet_status cv_host_header(cv_host_read_ctx *reader, uint64_t index, cv_elf_section *out);
/* Pointers of the wrappers of a relocatable object; absolute: the relocation type that sets a pointer. */
CV_MUST cuvet_status cv_host_resolve_object(cv_host_read_ctx *reader, uint32_t absolute);
/* All wrappers of the sections, or by search; then their pointers. */
CV_MUST cuvet_status cv_host_read_wrappers(cv_host_read_ctx *reader);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the public inspection of device ELFs share. */
#ifndef CV_API_ELF_INT_H
#define CV_API_ELF_INT_H

#include <cuvet/elf.h>

#include "api/ctx.h"
#include "cubin/cubin.h"

typedef struct elf_obj {
    const uint8_t *image; /* the caller's */
    uint64_t size;        /* of the ELF: what padding follows it is not looked at */
    cv_elf_header header;
    uint64_t n_sections, n_segments;
    uint32_t shstrndx;                               /* extended numbering applied; 0: none */
    uint32_t symtab, merc, symtab_shndx, merc_shndx; /* section indices, 0: none */
    uint64_t next_kernel, next_symbol;               /* where the walk of cuvet_elf_get_kernel() stands */
    cuvet_elf_header facts;
    cv_ctx ctx; /* of the examination */
} elf_obj;

/* A part of the image; the empty span when it does not lie in it. Such spans are made for one call and never
 * kept: what callers get must be their own memory, which the copies of sanitizer builds are not. */
cv_span cv_elf_obj_part(const elf_obj *obj, uint64_t off, uint64_t len);
/* False: there are not so many sections. */
bool cv_elf_obj_section(const elf_obj *obj, uint64_t index, cv_elf_section *out);

#endif

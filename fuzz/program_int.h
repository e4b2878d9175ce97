/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An object of a program while it is written: program_elf.c chooses its sections and symbols, program_body.c
 * writes what is in them. */
#ifndef CV_FUZZ_PROGRAM_INT_H
#define CV_FUZZ_PROGRAM_INT_H

#include "program.h"

#define FZ_SECTIONS 64
#define FZ_SYMBOLS  64
#define FZ_RELOCS   64

typedef struct fz_out {
    uint8_t *bytes;
    size_t len;
} fz_out;

typedef struct fz_section {
    char name[40];
    uint32_t type, link, info;
    uint64_t flags, align, entsize, off, size;
} fz_section;

typedef struct fz_symbol {
    char name[40];
    uint8_t info, other;
    uint16_t shndx;
    uint64_t value, size;
} fz_symbol;

typedef struct fz_reloc {
    unsigned target, type; /* target: fz_section */
    const unsigned *sym;   /* numbered when symbols are, which need the size of the code */
    uint64_t off;
    bool rela;
} fz_reloc;

typedef struct fz_object {
    const md_program *program;
    unsigned unit, n_sections, n_symbols, n_relocs, first_global;
    fz_section section[FZ_SECTIONS];
    fz_symbol symbol[FZ_SYMBOLS];
    fz_reloc reloc[FZ_RELOCS];
    md_set mentioned; /* functions that have a symbol here */
    unsigned text[MD_FNS], info[MD_FNS], bank[MD_FNS], shared[MD_FNS];
    unsigned fn_sym[MD_FNS], bank_sym[MD_FNS], var_sym[MD_VARS], image_sym[MD_IMAGES];
    unsigned callgraph, prototype, init, debug_shared, tkinfo, strings_len;
    char strings[2048]; /* .strtab */
} fz_object;

/* Is the function defined in this object? */
bool fz_is_here(const fz_object *obj, unsigned fn);
void fz_put(fz_out *to, uint64_t value, unsigned bytes);
void fz_put_text(fz_out *to, const char *text);
void fz_pad(fz_out *to, uint64_t align);
/* What lies in a section, but for names and symbols: true, when it has bytes. */
bool fz_write_body(fz_object *obj, fz_out *to, unsigned at);

#endif

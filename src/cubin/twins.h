/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the twins*.c files: the two sides of an image, and what on one is what on the other. */
#ifndef CV_CUBIN_TWINS_H
#define CV_CUBIN_TWINS_H

#include "cubin/internal.h"

/* Data that is on both sides. */
typedef enum cv_twin_which {
    CV_TWIN_CONSTANTS,
    CV_TWIN_ADDRESSES,
    CV_TWIN_INITIAL,
    CV_TWIN_UNIFIED,
    CV_N_TWIN_DATA
} cv_twin_which;

typedef struct cv_twin_data {
    uint64_t native, merc; /* sections; 0: none */
} cv_twin_data;

typedef struct cv_twins {
    cv_ctx *ctx;
    const cv_cubin *cubin;
    cv_twin_data data[CV_N_TWIN_DATA];
    uint32_t native, merc; /* sections that were found to be twins by their names, last */
    uint32_t same;         /* symbol that was found to be the same thing on both sides, last */
    uint32_t reserved;     /* Mercury symbol that was found to be of reserved shared memory, last */
    cv_keys tables;        /* code section, its bank of tables */
    uint64_t next_debug;   /* where the next native debug section is looked for first */
} cv_twins;

/* What one side says where it has nothing. */
#define CV_TWIN_NONE UINT64_MAX

/* A symbol of one side. */
typedef struct cv_twin_symbol {
    cv_elf_symbol symbol;
    uint64_t index; /* in its table */
    uint32_t shndx;
    uint8_t type;
} cv_twin_symbol;

/* False: there is none of that number. */
static inline CV_MUST bool cv_twin_symbol_at(const cv_twins *pass, bool merc, uint64_t index,
                                             cv_twin_symbol *out)
{
    const cv_cubin *cubin = pass->cubin;

    if (CV_UNLIKELY(index >= (merc ? cubin->n_merc_syms : cubin->n_syms)))
        return false;
    cv_elf_read_symbol(merc ? cubin->merc_symtab : cubin->symtab, false, index, &out->symbol);
    out->index = index;
    out->shndx = cv_cubin_shndx(cubin, merc, index, &out->symbol);
    out->type = cv_elf_sym_type(&out->symbol);
    if (out->type == CV_STT_CUDA_OBJECT) /* of the native side a linker makes plain objects */
        out->type = CV_STT_OBJECT;
    return true;
}
/* Does a number of the one table stand for the same thing as one of the other? */
CV_MUST bool cv_twin_same_symbol(cv_twins *pass, uint64_t native, uint64_t merc);
/* What a name is told apart by, in numbers. */
uint64_t cv_twin_number(const cv_twins *pass, bool merc, uint64_t index);

/* A relocation section of the file, or 0: how many there are, one of them, a finding at it. */
uint64_t cv_twin_count(const cv_twins *pass, uint64_t section);
static inline void cv_twin_reloc(const cv_twins *pass, uint64_t section, uint64_t index, cv_elf_reloc *out)
{
    cv_elf_read_reloc(cv_cubin_body(pass->cubin, section), false, true, index, out);
}
void cv_twin_reloc_report(const cv_twins *pass, cv_rule rule, uint64_t section, uint64_t index, uint64_t got,
                          uint64_t want);
/* The bytes of two sections of one size, but for words of 'word' bytes that are relocated. OK or NOMEM. */
CV_MUST cuvet_status cv_twin_check_bytes(cv_twins *pass, const cv_twin_data *data, cv_rule rule,
                                         uint64_t word);

/* twins_records.c: two sections of records. */
void cv_twin_check_records(cv_twins *pass, uint64_t native, uint64_t merc);
/* twins_code.c: what code and textures name; branch tables. OK or NOMEM. */
void cv_twin_check_code(cv_twins *pass, uint64_t code);
void cv_twin_check_textures(cv_twins *pass, uint64_t section);
CV_MUST cuvet_status cv_twin_check_table(cv_twins *pass, uint64_t section);
/* twins_debug.c: what debug data names. OK or NOMEM. */
CV_MUST cuvet_status cv_twin_check_debug(cv_twins *pass, uint64_t section);

#endif

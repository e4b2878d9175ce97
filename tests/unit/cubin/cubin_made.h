/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The picture of a cubin, put together section by section for one stage that is asked alone: no header and
 * no names table, only what that stage reads. */
#ifndef TESTS_UNIT_CUBIN_CUBIN_MADE_H
#define TESTS_UNIT_CUBIN_CUBIN_MADE_H

#include "cubin/twins.h"

enum { MADE_SYMBOLS = 64, MADE_TEXT = 2048, MADE_BODIES = 8192 };

typedef struct cubin_made {
    cv_ctx *ctx;
    cv_cubin cubin;
    /* Both tables of symbols, the strings, then the bodies in the order in which they were added. */
    uint8_t bytes[2 * MADE_SYMBOLS * 24 + MADE_TEXT + MADE_BODIES];
    uint64_t text, used; /* ends of the strings and of the bodies */
    bool cut;            /* the last string has no end */
} cubin_made;

/* An executable for 'sm', with the null section and the null symbols. */
void cubin_made_begin(cubin_made *made, cv_ctx *ctx, uint32_t sm);
void cubin_made_free(cubin_made *made);
/* A section and its number. 'body' NULL: zeros. */
uint32_t cubin_made_section(cubin_made *made, cv_role role, const char *name, const void *body,
                            uint64_t size);
/* The same of numbers of 32 bits, of 'size' bytes, as a file has them on any machine. */
uint32_t cubin_made_words(cubin_made *made, cv_role role, const char *name, const uint32_t *words,
                          uint64_t size);
cv_sec *cubin_made_at(cubin_made *made, uint32_t section);
/* Relocations with addends of a section, 'merc': by the Mercury table; the section of the relocations. */
uint32_t cubin_made_relocs(cubin_made *made, uint32_t target, bool merc, const cv_elf_reloc *relocs,
                           uint64_t count);
/* The place of a string, which is new each time; 0: the empty one. */
uint32_t cubin_made_text(cubin_made *made, const char *text);
/* A symbol and its number; size 16. */
uint32_t cubin_made_symbol(cubin_made *made, bool merc, const char *name, uint8_t info, uint8_t other,
                           uint32_t section, uint64_t value, uint64_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the mutators: random numbers, little-endian fields, ranges that grow and shrink. */
#ifndef CV_FUZZ_MUTATE_INT_H
#define CV_FUZZ_MUTATE_INT_H

#include "mutate.h"

typedef struct mut {
    uint8_t *data;
    size_t size, max;
    uint64_t rng;
    fz_raw_fn *raw;
} mut;

typedef struct mut_field {
    uint8_t off, width;
} mut_field;

uint64_t mut_rand(mut *m);
uint64_t mut_below(mut *m, uint64_t n);                       /* 0 for n == 0 */
uint64_t mut_get(const mut *m, uint64_t off, unsigned width); /* 0 outside */
void mut_set(mut *m, uint64_t off, unsigned width, uint64_t v);
/* Give the field a value at a boundary: of its width, of the file, next to its old one. */
void mut_edge(mut *m, uint64_t off, unsigned width);
/* [off, off + old) becomes new bytes long; what follows moves. New bytes are zero. False: no room, nothing
 * done. */
bool mut_resize(mut *m, uint64_t off, uint64_t old, uint64_t new_len);
/* The engine's mutation inside a range; its length stays. */
void mut_raw(mut *m, uint64_t off, uint64_t len);

/* Where the next ELF magic begins, from a place on; n: nowhere. */
size_t mut_next_object(const uint8_t *p, size_t n, size_t from);
void mut_put_trailer(uint8_t *at, uint32_t param);

/* One structured edit; false: the bytes are not of the format. Limited to [0, m->size). */
bool mut_elf(mut *m);
bool mut_fatbin(mut *m);

#endif

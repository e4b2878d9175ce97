/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared by the mutators: random numbers, little-endian fields, ranges that grow and shrink. */
#ifndef CV_FUZZ_MUTATE_INT_H
#define CV_FUZZ_MUTATE_INT_H

#include "mutate.h"

typedef struct mut_state {
    uint8_t *data;
    size_t size, max;
    uint64_t rng;
    fz_raw_fn *raw;
} mut_state;

typedef struct mut_field {
    uint8_t off, width;
} mut_field;

uint64_t mut_rand(mut_state *mutator);
uint64_t mut_below(mut_state *mutator, uint64_t count);                   /* 0 for n == 0 */
uint64_t mut_get(const mut_state *mutator, uint64_t off, unsigned width); /* 0 outside */
void mut_set(mut_state *mutator, uint64_t off, unsigned width, uint64_t value);
/* Give the field a value at a boundary: of its width, of the file, next to its old one. */
void mut_edge(mut_state *mutator, uint64_t off, unsigned width);
/* [off, off + old) becomes new bytes long; what follows moves. New bytes are zero. False: no room, nothing
 * done. */
bool mut_resize(mut_state *mutator, uint64_t off, uint64_t old, uint64_t new_len);
/* The engine's mutation inside a range; its length stays. */
void mut_raw(mut_state *mutator, uint64_t off, uint64_t len);

/* Where the next ELF magic begins, from a place on; 'size': nowhere. */
size_t mut_next_object(const uint8_t *bytes, size_t size, size_t from);
void mut_put_trailer(uint8_t *at, uint32_t param);

/* One structured edit; false: the bytes are not of the format. Limited to [0, mutator->size). */
bool mut_elf(mut_state *mutator);
bool mut_fatbin(mut_state *mutator);

#endif

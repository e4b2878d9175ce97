/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Mutators that know the formats: a lenient look at the input, one edit, and every length and offset repaired
 * that the edit would break, or all but one. Files that are nearly right are those that find bugs. Plain C,
 * for libFuzzer (LLVMFuzzerCustomMutator) and for AFL++ (engine/afl_mutator.c). */
#ifndef CV_FUZZ_MUTATE_H
#define CV_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The engine's own mutation of a buffer that may grow to max; NULL: a plain one is used. */
typedef size_t fz_raw_fn(uint8_t *data, size_t size, size_t max);
typedef size_t fz_mutate_fn(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw);

fz_mutate_fn cv_mutate_fatbin; /* containers and their members, compressed ones included */
fz_mutate_fn cv_mutate_elf;    /* device and host ELF */
fz_mutate_fn cv_mutate_file;   /* whatever the bytes look like */

/* Would a linker take this object? */
typedef bool fz_judge_fn(const uint8_t *bytes, size_t size);

/* Several objects, one after the other. One edit that a compiler might have caused: a name, a binding, a
 * size, a relocation, an edge of the call graph, an object more or less. With a judge most edits that make an
 * object unlinkable are taken back. */
size_t cv_mutate_link(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw,
                      fz_judge_fn *judge);

#define CV_FUZZ_MUTATOR(fn)                                                                                  \
    size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) __attribute__((weak));                   \
    __attribute__((visibility("default"))) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,        \
                                                                          size_t max, unsigned seed);        \
    size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)                    \
    {                                                                                                        \
        return fn(data, size, max, seed, LLVMFuzzerMutate);                                                  \
    }

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload binaries, as spec/rules_offload.def and LLVM's documentation of llvm-offload-binary describe them:
 * what one of them holds, read from the whole of its bytes. */
#ifndef CV_TESTS_MODEL_OFFLOAD_H
#define CV_TESTS_MODEL_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct md_offload {
    const char *broken; /* the rule for which nothing can be read; NULL: none */
    bool odd_entry;     /* version 1 says another size of its entry */
    bool compressed;
    uint64_t size, next, n_entries,
        first; /* bytes, where the next one begins, entries, offset of the first */
    unsigned version;
} md_offload;

typedef struct md_offload_image {
    bool fits;
    uint64_t off, size;
    const char *bad_strings; /* the rule for which its strings cannot be read; NULL: none */
    bool twice;              /* a key is there twice, which is said */
    const uint8_t *triple;   /* NULL: it has none */
    uint64_t n_triple;
    bool cuda; /* it is for a CUDA device, as far as its entry says */
} md_offload_image;

/* The binary at 'bytes', of which 'left' are left of the file or section. */
void md_offload_read(const uint8_t *bytes, size_t left, md_offload *out);

/* One image of it; its strings are looked for in the first 'tables' bytes. */
void md_offload_image_at(const uint8_t *bytes, const md_offload *binary, uint64_t index, size_t tables,
                         md_offload_image *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A tar file as most readers take it, beside the library that unpacks it: what the two see has to be the
 * same. Where readers are known to differ there is one answer: that it depends on the reader. Bytes are
 * handed in as they are read, and what is jumped over is said; pure functions, which tests reach without a
 * process. */
#ifndef CLI_PACKAGE_TAR_H
#define CLI_PACKAGE_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_WORDS_MOST = 1 << 20 };

/* An entry, from the first of the blocks that describe it. */
typedef struct package_tar_entry {
    uint64_t at, size;
    bool file, sparse; /* it has bytes of its own; with holes, which its size does not have */
} package_tar_entry;

typedef struct package_tar package_tar;

/** NULL: out of memory. */
package_tar *package_tar_new(void);
void package_tar_free(package_tar *tar);

/** The next bytes of it. */
void package_tar_add(package_tar *tar, const uint8_t *bytes, size_t size);
/** As many were not read. */
void package_tar_skip(package_tar *tar, uint64_t size);

/** The library has an entry there. @param file it has bytes @param size of them @return false: here is
 *  another one, or none */
bool package_tar_take(package_tar *tar, uint64_t at, bool file, uint64_t size);
/** Is there an entry that nobody took? */
bool package_tar_left(const package_tar *tar);
/** Why readers differ about it, and where; NULL: no reason was met. */
const char *package_tar_fault(const package_tar *tar, uint64_t *at);

#endif

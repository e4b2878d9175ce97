/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A page that is touched for the first time stops the process until the kernel has cleared it, and memory
 * that goes back to the system comes again as such pages. So the pages that the smallest job touches are
 * asked for in one piece, and what was given back is kept. Only the command may do that: in the library the
 * heap belongs to somebody else. (Large pages: docs/evidence/bench.md.) */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"

#if defined(__GLIBC__) && !defined(CLI_INSTRUMENTED)

#include <malloc.h>

/* In bytes: what the smallest job touches; what comes from the heap and goes back to it; by how much it
 * grows. */
enum { FIRST = 128 * 1024, KEEP = 32 * 1024 * 1024, GROW = 1024 * 1024 };

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, which older headers do not have: Linux 5.14 */

void cli_heap_ready(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *bytes;

    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    (void)mallopt(M_MMAP_THRESHOLD, KEEP);
    (void)mallopt(M_TOP_PAD, GROW);
    bytes = malloc(FIRST);
    if (!bytes)
        return;
    (void)madvise(bytes + (page - (uintptr_t)bytes % page), FIRST - page, POPULATE_WRITE);
    free(bytes);
}

#else

void cli_heap_ready(void)
{
}

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A page that is touched for the first time stops the process until the kernel has cleared it: of a link of
 * 7 MB that was a third of the time, of a tiny one a tenth. So the heap gets its addresses at once and asks for
 * large pages; what the smallest job touches anyway is asked for in one piece; and memory that was given back
 * is kept. Only the command may do that: in the library the heap belongs to somebody else. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "heap.h"

#if defined(__GLIBC__) && !defined(CLI_INSTRUMENTED)

#include <malloc.h>

/* What is smaller comes from the heap when the reserve is used up, and goes back to it. */
#define KEEP  (32 * 1024 * 1024)
#define FIRST (128 * 1024)

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, which older headers do not have: Linux 5.14 */

void cli_heap_ready(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = CLI_HEAP_RESERVE;
    size_t head;
    uint8_t *p;

    (void)mallopt(M_TRIM_THRESHOLD, (int)(2 * size));
    (void)mallopt(M_MMAP_THRESHOLD, (int)(2 * size)); /* the reserve is a part of the heap, not a piece beside it */
    p = malloc(size);
    (void)mallopt(M_MMAP_THRESHOLD, KEEP);
    if (!p)
        return;
    head = page - (uintptr_t)p % page;
    (void)madvise(p + head, size - page, MADV_HUGEPAGE);
    (void)madvise(p + head, FIRST, POPULATE_WRITE);
    free(p);
}

#else

void cli_heap_ready(void)
{
}

#endif

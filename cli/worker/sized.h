/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Structures that begin with their size: a caller's may be older, and end earlier, or newer, and then what is
 * not known here has to be zero. */
#ifndef CLI_WORKER_SIZED_H
#define CLI_WORKER_SIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SIZED_MOST 4096u /* no structure is larger */

static inline size_t sized_of(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof(size));
    return size >= sizeof(size) && size <= SIZED_MOST ? size : 0;
}

/** Copy one that is given to 'to', of 'known' bytes. */
static inline bool sized_take(void *to, size_t known, const void *given)
{
    size_t size = sized_of(given);

    if (size == 0)
        return false;
    for (size_t at = known; at < size; at++) {
        if (((const unsigned char *)given)[at] != 0)
            return false;
    }
    memset(to, 0, known);
    memcpy(to, given, size < known ? size : known);
    memcpy(to, &known, sizeof(known));
    return true;
}

/** Fill one in that a caller has; its size stays. */
static inline bool sized_give(void *to, const void *from, size_t known)
{
    size_t size = sized_of(to);

    if (size == 0)
        return false;
    memset(to, 0, size);
    memcpy(to, from, size < known ? size : known);
    memcpy(to, &size, sizeof(size));
    return true;
}

#endif

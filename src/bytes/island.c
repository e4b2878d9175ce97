/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

#if defined(CV_ISLANDS) && CV_ISLANDS

#include <stdlib.h>
#include <string.h>

/* Sanitizer builds only: blocks live until the unit that made them ends. */
struct block {
    struct block *next;
    uint8_t *bytes;
};

static _Thread_local struct block *blocks;

cv_span cv_island(cv_span s)
{
    struct block *b = malloc(sizeof(*b));
    uint8_t *bytes = malloc(s.len ? (size_t)s.len : 1);

    if (!b || !bytes) {
        free(b);
        free(bytes);
        return s;
    }
    if (s.len)
        memcpy(bytes, s.base, (size_t)s.len);
    *b = (struct block){ blocks, bytes };
    blocks = b;
    /* An empty span gets a pointer one past a one-byte block: every read of it is seen. */
    return (cv_span){ s.len ? bytes : bytes + 1, s.len, s.off };
}

static void drop(struct block *b)
{
    while (b) {
        struct block *next = b->next;

        free(b->bytes);
        free(b);
        b = next;
    }
}

void cv_islands_drop(void)
{
    drop(blocks);
    blocks = NULL;
}

void cv_islands_keep(cv_islands *to)
{
    struct block *last = blocks;

    if (!last)
        return;
    while (last->next)
        last = last->next;
    last->next = to->first;
    to->first = blocks;
    blocks = NULL;
}

void cv_islands_free(cv_islands *kept)
{
    drop(kept->first);
    kept->first = NULL;
}

#else

void cv_islands_drop(void)
{
}

void cv_islands_keep(cv_islands *to)
{
    (void)to;
}

void cv_islands_free(cv_islands *kept)
{
    (void)kept;
}

#endif

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

cv_span cv_island(cv_span span)
{
    struct block *island = malloc(sizeof(*island));
    uint8_t *bytes = malloc(span.len ? (size_t)span.len : 1);

    if (CV_NEVER(!island || !bytes)) { /* the sanitizer ends the process before */
        free(island);
        free(bytes);
        return span;
    }
    if (span.len)
        memcpy(bytes, span.base, (size_t)span.len);
    *island = (struct block){ blocks, bytes };
    blocks = island;
    /* An empty span gets a pointer one past a one-byte block: every read of it is seen. */
    return (cv_span){ span.len ? bytes : bytes + 1, span.len, span.off };
}

static void drop(struct block *island)
{
    while (island) {
        struct block *next = island->next;

        free(island->bytes);
        free(island);
        island = next;
    }
}

void cv_islands_drop(void)
{
    drop(blocks);
    blocks = NULL;
}

/* All of 'from' in front of 'to'. */
static struct block *join(struct block *from, struct block *to)
{
    struct block *last = from;

    if (!last)
        return to;
    while (last->next)
        last = last->next;
    last->next = to;
    return from;
}

void cv_islands_keep(cv_islands *to)
{
    to->first = join(blocks, to->first);
    blocks = NULL;
}

void cv_islands_take(cv_islands *kept)
{
    blocks = join(kept->first, blocks);
    kept->first = NULL;
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

void cv_islands_take(cv_islands *kept)
{
    (void)kept;
}

void cv_islands_free(cv_islands *kept)
{
    (void)kept;
}

#endif

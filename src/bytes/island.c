/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/span.h"

#include "base/platform.h"

#if defined(CV_ISLANDS) && CV_ISLANDS

#include <stdlib.h>
#include <string.h>

/* Sanitizer builds only: islands live until the unit that made them ends.
 *
 * With AddressSanitizer they stand side by side in stretches of memory: all of a stretch is poisoned but the
 * bytes of its islands, so that one byte before, behind or after its time is as much of an error as on the
 * heap, for less than the heap takes. A thread may keep its stretches; then they rest in a queue before they
 * are used again: what was dropped stays poisoned for a while. Without ASan each island is a heap block. */
enum { STRETCH = CV_GUARDED ? 1 << 16 : 0, RESTING = 16 };

#define GRAIN ((size_t)8)

struct stretch {
    struct stretch *next;
    size_t used, room;
    uint8_t *bytes;
};

static _Thread_local struct stretch *mine; /* the first one is filled */

/* What this thread keeps, when it keeps any. */
static _Thread_local bool keeps;
static _Thread_local struct stretch *resting, *last_resting;
static _Thread_local unsigned n_resting;

/* In front of an island, and with it behind the one before: more for larger ones, as on the heap. */
static size_t gap(size_t len)
{
    return CV_GUARDED * (len < 256 ? 64u : len < 4096 ? 256u : 1024u);
}

/* What an island takes behind its gap. It begins at a whole grain and ends before one does: what is said of a
 * byte is said of those in front of it in its grain as well. */
static size_t room_of(size_t len)
{
    return CV_GUARDED ? (len / GRAIN + 1) * GRAIN : len + !len;
}

static struct stretch *fresh(size_t room)
{
    struct stretch *stretch = malloc(sizeof(*stretch));
    uint8_t *bytes = malloc(room);

    if (CV_NEVER(!stretch || !bytes)) {
        free(stretch);
        free(bytes);
        return NULL;
    }
    CV_GUARD(bytes, room);
    *stretch = (struct stretch){ NULL, 0, room, bytes };
    return stretch;
}

static void destroy(struct stretch *stretch)
{
    CV_UNGUARD(stretch->bytes, stretch->room);
    free(stretch->bytes);
    free(stretch);
}

/* The one that rested longest, when enough of them do. */
static struct stretch *rested(void)
{
    struct stretch *stretch = resting;

    if (n_resting < RESTING)
        return NULL;
    resting = stretch->next;
    n_resting--;
    return stretch;
}

static void rest(struct stretch *stretch)
{
    CV_GUARD(stretch->bytes, stretch->used);
    stretch->used = 0;
    stretch->next = NULL;
    if (n_resting++)
        last_resting->next = stretch;
    else
        resting = stretch;
    last_resting = stretch;
}

void cv_islands_reuse(void)
{
    keeps = true;
}

/* The first stretch has room for so many bytes more. */
static bool make_room(size_t want)
{
    struct stretch *stretch = mine;

    if (stretch && want <= stretch->room - stretch->used)
        return true;
    stretch = want <= STRETCH ? rested() : NULL;
    if (!stretch)
        stretch = fresh(cv_max(want, STRETCH));
    if (CV_NEVER(!stretch))
        return false;
    stretch->next = mine;
    mine = stretch;
    return true;
}

cv_span cv_island(cv_span span)
{
    size_t len = (size_t)span.len, room = gap(len) + room_of(len);
    uint8_t *bytes;

    if (CV_NEVER(!make_room(room))) /* the sanitizer ends the process before */
        return span;
    bytes = mine->bytes + mine->used + gap(len);
    mine->used += room;
    CV_UNGUARD(bytes, len);
    if (len)
        memcpy(bytes, span.base, len);
    /* Every read of an empty span is seen: its byte is behind the only one of a block, or guarded. */
    return (cv_span){ bytes + (!len & !CV_GUARDED), span.len, span.off };
}

static void drop(struct stretch *stretch)
{
    while (stretch) {
        struct stretch *next = stretch->next;

        if (keeps && stretch->room == STRETCH)
            rest(stretch);
        else
            destroy(stretch);
        stretch = next;
    }
}

void cv_islands_drop(void)
{
    drop(mine);
    mine = NULL;
}

/* All of 'from' in front of 'to'. */
static struct stretch *join(struct stretch *from, struct stretch *to)
{
    struct stretch *last = from;

    if (!last)
        return to;
    while (last->next)
        last = last->next;
    last->next = to;
    return from;
}

void cv_islands_keep(cv_islands *to)
{
    to->first = join(mine, to->first);
    mine = NULL;
}

void cv_islands_take(cv_islands *kept)
{
    mine = join(kept->first, mine);
    kept->first = NULL;
}

void cv_islands_free(cv_islands *kept)
{
    drop(kept->first);
    kept->first = NULL;
}

#else

void cv_islands_reuse(void)
{
}

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

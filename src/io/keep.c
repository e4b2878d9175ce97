/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "io/keep.h"

#include <string.h>
#include <sys/mman.h>

#include "base/arith.h"
#include "base/platform.h"

#define LEAST (UINT64_C(64) * CV_KIB) /* the heap is better at what is smaller */
#define LARGE (UINT64_C(4) * CV_MIB)  /* what has room for a large page wherever it begins */
#define PAGE  ((uintptr_t)4096)

/* Blocks of a class are of one size, so that who gives one back need not know which it was: eight classes to
 * each doubling, an eighth too much at most. 0: nothing like it is kept. */
static uint64_t class_of(const cv_keep *keep, uint64_t size)
{
    uint64_t step = LEAST / 8;

    if (keep->most == 0 || size < LEAST || size > SIZE_MAX / 2)
        return 0;
    while (step < size / 16)
        step *= 2;
    return (size + step - 1) / step * step;
}

/* Pages are given by the system when they are touched first: it is told before that. */
static void *asked_large(const cv_keep *keep, void *block, uint64_t size)
{
    uintptr_t begin, end;

    if (!keep->huge || !block || size < LARGE)
        return block;
    /* Whole pages, so that it stays one piece of memory for the system, which can be moved when it grows. */
    begin = (uintptr_t)block / PAGE * PAGE;
    end = ((uintptr_t)block + (uintptr_t)size + PAGE - 1) / PAGE * PAGE;
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* a wish: without it all is as it was */
    return block;
}

/* One block that is kept leaves; false: none is. */
static bool remove_kept(cv_keep *keep, uint32_t index, cv_kept_block *gone)
{
    if (index >= keep->count)
        return false;
    *gone = keep->kept[index];
    keep->bytes -= gone->size;
    keep->count--;
    memmove(&keep->kept[index], &keep->kept[index + 1], (keep->count - index) * sizeof(keep->kept[0]));
    return true;
}

static void *take(cv_keep *keep, uint64_t size)
{
    cv_kept_block taken;
    void *found = NULL;

    pthread_mutex_lock(&keep->lock);
    for (uint32_t at = keep->count; at > 0 && !found; at--) {
        if (keep->kept[at - 1].size != size)
            continue;
        found = keep->kept[at - 1].block;
        (void)remove_kept(keep, at - 1, &taken);
    }
    pthread_mutex_unlock(&keep->lock);
    if (found)
        CV_UNGUARD(found, size);
    return found;
}

static void give_below(const cv_keep *keep, const cv_kept_block *block)
{
    CV_UNGUARD(block->block, block->size);
    keep->below.release(keep->below.user, block->block, (size_t)block->size);
}

/* There is no more memory: what is kept goes back. False: nothing was. */
static bool give_up(cv_keep *keep)
{
    cv_kept_block gone;
    bool any = false, more = true;

    while (more) {
        pthread_mutex_lock(&keep->lock);
        more = remove_kept(keep, 0, &gone);
        pthread_mutex_unlock(&keep->lock);
        if (more)
            give_below(keep, &gone);
        any |= more;
    }
    return any;
}

static void *keep_get(void *user, size_t size)
{
    cv_keep *keep = user;
    uint64_t rounded = class_of(keep, size), room = cv_max(rounded, size);
    void *block = rounded ? take(keep, rounded) : NULL;

    if (block)
        return block;
    block = keep->below.alloc(keep->below.user, (size_t)room);
    if (!block && give_up(keep))
        block = keep->below.alloc(keep->below.user, (size_t)room);
    return asked_large(keep, block, room);
}

/* Who goes for one more: of too many the smallest, of too large ones the oldest. */
static uint32_t least_wanted(const cv_keep *keep)
{
    uint32_t index = 0;

    for (uint32_t at = 0; keep->count == CV_KEEP_BLOCKS && at < keep->count; at++)
        if (keep->kept[at].size < keep->kept[index].size)
            index = at;
    return index;
}

/* The block is kept, or another one has to go first; it is in '*gone' then. */
static bool add(cv_keep *keep, const cv_kept_block *block, cv_kept_block *gone)
{
    bool room = keep->bytes <= keep->most - block->size && keep->count < CV_KEEP_BLOCKS;

    if (!room && remove_kept(keep, least_wanted(keep), gone))
        return false;
    keep->kept[keep->count++] = *block;
    keep->bytes += block->size;
    return true;
}

static void keep_put(void *user, void *block, size_t size)
{
    cv_keep *keep = user;
    cv_kept_block now = { block, class_of(keep, size) }, gone;
    bool done = false;

    if (now.size == 0 || now.size > keep->most) {
        keep->below.release(keep->below.user, block, (size_t)cv_max(now.size, size));
        return;
    }
    CV_GUARD(block, now.size); /* whoever still uses it is found out */
    while (!done) {
        pthread_mutex_lock(&keep->lock);
        done = add(keep, &now, &gone);
        pthread_mutex_unlock(&keep->lock);
        if (!done)
            give_below(keep, &gone);
    }
}

static void *keep_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    cv_keep *keep = user;
    uint64_t before = cv_max(class_of(keep, old_size), old_size),
             after = cv_max(class_of(keep, new_size), new_size);
    void *other = class_of(keep, new_size) != 0 && after > before ? take(keep, after) : NULL;

    if (after == before)
        return block;
    if (other) {
        memcpy(other, block, old_size);
        keep_put(keep, block, old_size);
        return other;
    }
    other = keep->below.resize(keep->below.user, block, (size_t)before, (size_t)after);
    if (!other && give_up(keep))
        other = keep->below.resize(keep->below.user, block, (size_t)before, (size_t)after);
    return after > before ? asked_large(keep, other, after) : other;
}

cuvet_status cv_keep_init(cv_keep *keep, const cuvet_alloc *below, uint64_t most, bool huge)
{
    memset(keep, 0, sizeof(*keep));
    keep->below = *below;
    keep->most = most;
    keep->huge = huge;
    return pthread_mutex_init(&keep->lock, NULL) == 0 ? CUVET_OK : CUVET_E_NOMEM;
}

void cv_keep_end(cv_keep *keep)
{
    while (keep->count > 0)
        give_below(keep, &keep->kept[--keep->count]);
    keep->bytes = 0;
    pthread_mutex_destroy(&keep->lock);
}

cuvet_alloc cv_keep_alloc(cv_keep *keep)
{
    return (cuvet_alloc){ sizeof(cuvet_alloc), keep_get, keep_resize, keep_put, keep };
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"
#include "common.h"

#define STRETCH ((size_t)1 << 17)
#define LARGEST ((size_t)1 << 14) /* more is the heap's */
#define RESTING 6u                /* stretches that wait at least */
#define GRAIN   ((size_t)16)

/* In front of each block, and poisoned as well. */
typedef struct pool_head {
    uint64_t size, mark;
} pool_head;

#define MARK UINT64_C(0x6B636F6C42767563)

/* Begins at a multiple of its size, so that a block leads to it. */
typedef struct pool_stretch {
    struct pool_stretch *next;
    size_t used;
    size_t blocks; /* in use */
} pool_stretch;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pool_stretch *filling;
static pool_stretch *resting, **last_resting = &resting;
static unsigned n_resting;

/* Heads are poisoned for everybody else. */
__attribute__((no_sanitize("address"), noinline)) static pool_head head_get(const uint8_t *block)
{
    return ((const pool_head *)(const void *)block)[-1];
}

__attribute__((no_sanitize("address"), noinline)) static void head_set(uint8_t *block, pool_head head)
{
    ((pool_head *)(void *)block)[-1] = head;
}

static pool_stretch *fresh(void)
{
    pool_stretch *stretch = aligned_alloc(STRETCH, STRETCH);

    if (!stretch)
        abort();
    CV_GUARD((uint8_t *)stretch + sizeof(*stretch), STRETCH - sizeof(*stretch));
    return stretch;
}

static void rest(pool_stretch *stretch)
{
    stretch->next = NULL;
    *last_resting = stretch;
    last_resting = &stretch->next;
    n_resting++;
}

static void fill_another(void)
{
    pool_stretch *stretch;

    if (filling && filling->blocks == 0)
        rest(filling);
    if (n_resting > RESTING) {
        stretch = resting;
        resting = stretch->next;
        n_resting--;
    } else {
        stretch = fresh();
    }
    *stretch = (pool_stretch){ .used = sizeof(*stretch) };
    filling = stretch;
}

/* A gap of at least a head is in front of each block, and the end of a stretch is the heap's. */
static uint8_t *take(size_t size)
{
    size_t gap = size < 512 ? 32 : 256, room = gap + size / GRAIN * GRAIN + GRAIN;
    uint8_t *block;

    pthread_mutex_lock(&lock);
    if (!filling || room > STRETCH - filling->used)
        fill_another();
    block = (uint8_t *)filling + (filling->used + GRAIN - 1) / GRAIN * GRAIN + gap;
    filling->used = (size_t)(block - (uint8_t *)filling) + room - gap;
    filling->blocks++;
    pthread_mutex_unlock(&lock);
    return block;
}

static bool pooled(size_t size)
{
    return CV_GUARDED && !fz_thorough && size <= LARGEST;
}

static uint8_t *get_pooled(size_t size)
{
    uint8_t *block = take(size);

    head_set(block, (pool_head){ size, MARK });
    CV_UNGUARD(block, size);
    return block;
}

/* Once in each process: is what is not in use guarded, and nothing else? */
static void prove(void)
{
    static const size_t SIZES[] = { 1, 7, 8, 15, 16, 17, 500, 4097, LARGEST };

    for (unsigned i = 0; i < CV_COUNT(SIZES); i++) {
        uint8_t *block = get_pooled(SIZES[i]);

        FZ_CHECK(CV_GUARDS(block - 1, 1) && CV_GUARDS(block + SIZES[i], 1),
                 "the ends of a block are guarded");
        FZ_CHECK(!CV_GUARDS(block, SIZES[i]), "a block can be used");
        fz_pool_put(block, SIZES[i]);
        FZ_CHECK(CV_GUARDS(block, 1) && CV_GUARDS(block + SIZES[i] - 1, 1),
                 "a block that was released is guarded");
    }
}

void *fz_pool_get(size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!pooled(size))
        return malloc(size);
    pthread_once(&once, prove);
    return get_pooled(size);
}

void fz_pool_put(void *block, size_t size)
{
    pool_head head;
    pool_stretch *stretch;

    if (!pooled(size)) {
        free(block);
        return;
    }
    head = head_get(block);
    FZ_CHECK(head.mark == MARK && head.size == size,
             "what is released is a block, of that size, for the first time");
    head_set(block, (pool_head){ 0, 0 });
    CV_GUARD(block, size);
    stretch = (pool_stretch *)((uintptr_t)block / STRETCH * STRETCH);
    pthread_mutex_lock(&lock);
    if (--stretch->blocks == 0 && stretch != filling)
        rest(stretch);
    pthread_mutex_unlock(&lock);
}

/* Always another place, as on ASan's heap: a pointer to the old one is found. */
void *fz_pool_resize(void *block, size_t old_size, size_t new_size)
{
    void *fresh_block;

    if (!pooled(old_size) && !pooled(new_size))
        return realloc(block, new_size);
    fresh_block = fz_pool_get(new_size);
    if (!fresh_block)
        return NULL;
    memcpy(fresh_block, block, old_size < new_size ? old_size : new_size);
    fz_pool_put(block, old_size);
    return fresh_block;
}

static void *get(void *user, size_t size)
{
    (void)user;
    return fz_pool_get(size);
}

static void *resize(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    return fz_pool_resize(block, old_size, new_size);
}

static void put(void *user, void *block, size_t size)
{
    (void)user;
    fz_pool_put(block, size);
}

const cuvet_alloc fz_pool = { sizeof(cuvet_alloc), get, resize, put, NULL };

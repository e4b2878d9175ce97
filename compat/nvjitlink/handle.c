/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The table behind the handles. A slot is never given back to the system, so that whoever holds an old handle
 * finds a lock and a generation there, and not somebody else's memory. */
#include "face.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK      64u
#define MAX_CHUNKS 1024u
#define TAG        0x5u /* low bits of every handle: no object of a program has such an address */
#define TAG_BITS   4u
#define SLOT_BITS  16u

typedef struct jit_slot {
    pthread_mutex_t lock;
    uint32_t generation; /* odd: in use */
    uint32_t next_free;  /* index + 1 */
    cv_jit_link link;
} jit_slot;

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(jit_slot *) chunks[MAX_CHUNKS];
static uint32_t n_slots, first_free; /* index + 1 */

static jit_slot *slot_at(uint32_t index)
{
    jit_slot *chunk = index < CHUNK * MAX_CHUNKS
                          ? atomic_load_explicit(&chunks[index / CHUNK], memory_order_acquire)
                          : NULL;

    return chunk ? &chunk[index % CHUNK] : NULL;
}

/* One more chunk, with the table locked. */
static bool grow(void)
{
    jit_slot *chunk;

    if (n_slots / CHUNK == MAX_CHUNKS)
        return false;
    chunk = calloc(CHUNK, sizeof(*chunk));
    if (!chunk)
        return false;
    for (uint32_t i = CHUNK; i > 0; i--) {
        (void)pthread_mutex_init(&chunk[i - 1].lock, NULL); /* of the default kind it cannot fail */
        chunk[i - 1].next_free = first_free;
        first_free = n_slots + i;
    }
    atomic_store_explicit(&chunks[n_slots / CHUNK], chunk, memory_order_release);
    n_slots += CHUNK;
    return true;
}

static uintptr_t bits_of(uint32_t index, uint32_t generation)
{
    return (uintptr_t)((uint64_t)generation << (TAG_BITS + SLOT_BITS) | (uint64_t)index << TAG_BITS | TAG);
}

static jit_slot *slot_of(uintptr_t bits, uint32_t *generation)
{
    uint64_t wide = bits;

    *generation = (uint32_t)(wide >> (TAG_BITS + SLOT_BITS));
    if ((wide & ((1u << TAG_BITS) - 1)) != TAG || wide >> (TAG_BITS + SLOT_BITS) >> 32 != 0)
        return NULL;
    return slot_at((uint32_t)(wide >> TAG_BITS & ((1u << SLOT_BITS) - 1)));
}

uintptr_t cv_jit_handle_new(cv_jit_link **link)
{
    jit_slot *slot;
    uint32_t index;

    (void)pthread_mutex_lock(&table_lock);
    if (first_free == 0 && !grow()) {
        (void)pthread_mutex_unlock(&table_lock);
        return 0;
    }
    index = first_free - 1;
    slot = slot_at(index);
    first_free = slot->next_free;
    (void)pthread_mutex_unlock(&table_lock);

    (void)pthread_mutex_lock(&slot->lock);
    slot->generation++;
    memset(&slot->link, 0, sizeof(slot->link));
    *link = &slot->link;
    return bits_of(index, slot->generation);
}

cv_jit_link *cv_jit_handle_get(uintptr_t bits)
{
    uint32_t generation;
    jit_slot *slot = slot_of(bits, &generation);

    if (!slot)
        return NULL;
    (void)pthread_mutex_lock(&slot->lock);
    if (generation % 2 == 1 && slot->generation == generation)
        return &slot->link;
    (void)pthread_mutex_unlock(&slot->lock);
    return NULL;
}

void cv_jit_release(uintptr_t bits)
{
    uint32_t generation;

    (void)pthread_mutex_unlock(&slot_of(bits, &generation)->lock);
}

void cv_jit_handle_end(uintptr_t bits)
{
    uint32_t generation;
    jit_slot *slot = slot_of(bits, &generation);
    bool worn = ++slot->generation == 0; /* its generations are used up: it is left out from now on */

    (void)pthread_mutex_unlock(&slot->lock);
    if (worn)
        return;
    (void)pthread_mutex_lock(&table_lock);
    slot->next_free = first_free;
    first_free = (uint32_t)((uint64_t)bits >> TAG_BITS & ((1u << SLOT_BITS) - 1)) + 1;
    (void)pthread_mutex_unlock(&table_lock);
}

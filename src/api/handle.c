/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/handle.h"

#include <string.h>

#include "api/ctx.h"

/* bits: kind 63..56, generation 55..32, salt 31..16, slot 15..0 */
static uint64_t make_bits(const cv_handles *handles, const cv_slot *slot, uint32_t index)
{
    return (uint64_t)slot->kind << 56 | (uint64_t)slot->generation << 32 | (uint64_t)handles->salt << 16 |
           index;
}

cuvet_status cv_handles_init(cv_handles *handles)
{
    if (pthread_mutex_init(&handles->lock, NULL) != 0)
        return CUVET_E_NOMEM;
    cv_random(&handles->salt, sizeof(handles->salt)); /* without: told apart by slot and generation only */
    return CUVET_OK;
}

/* Of a chunk. */
static uint32_t slots_of(uint32_t chunk)
{
    return chunk == 0 ? CV_HANDLE_CHUNK : CV_HANDLE_CHUNK << (chunk - 1);
}

static uint32_t chunk_of(uint32_t index)
{
    uint32_t chunk = 0;

    for (uint32_t rest = index / CV_HANDLE_CHUNK; rest != 0; rest >>= 1)
        chunk++;
    return chunk;
}

static cv_slot *slot_at(cv_handles *handles, uint32_t index)
{
    uint32_t chunk = chunk_of(index);

    return &handles->chunk[chunk][chunk == 0 ? index : index - slots_of(chunk)];
}

/* Poison, then release: a pointer that somebody kept shows at once. The slot goes on with the next
 * generation. */
static void scrub_body(cuvet_ctx *ctx, cv_slot *slot)
{
    slot->end(ctx, slot->body);
    memset(slot->body, 0xDB, (size_t)slot->size);
    cv_ctx_mem_put(ctx, slot->body, slot->size);
    slot->body = NULL;
    slot->size = 0;
    slot->broken = false;
    if (slot->generation == CV_HANDLE_LAST_GENERATION) {
        slot->state = CV_SLOT_RETIRED;
        return;
    }
    slot->generation++;
    slot->state = CV_SLOT_FREE;
}

void cv_handles_free(cuvet_ctx *ctx, cv_handles *handles)
{
    for (uint32_t i = 0; i < handles->n_slots; i++) {
        if (slot_at(handles, i)->body)
            scrub_body(ctx, slot_at(handles, i));
    }
    for (uint32_t chunk = 0; chunk < CV_HANDLE_CHUNKS && handles->chunk[chunk]; chunk++)
        cv_ctx_mem_put(ctx, handles->chunk[chunk], slots_of(chunk) * sizeof(cv_slot));
    pthread_mutex_destroy(&handles->lock);
}

/* A free slot, oldest first, or a new one. */
static cuvet_status find_free(cuvet_ctx *ctx, cv_handles *handles, uint32_t *index)
{
    uint32_t chunk = chunk_of(handles->n_slots);

    for (uint32_t i = 0; i < handles->n_slots; i++) {
        if (slot_at(handles, i)->state == CV_SLOT_FREE) {
            *index = i;
            return CUVET_OK;
        }
    }
    if (handles->n_slots >= CV_HANDLE_SLOTS)
        return CUVET_E_LIMIT;
    if (!handles->chunk[chunk])
        handles->chunk[chunk] = cv_ctx_mem_get(ctx, slots_of(chunk) * sizeof(cv_slot));
    if (!handles->chunk[chunk])
        return cv_mem_status(&ctx->mem);
    *index = handles->n_slots++;
    slot_at(handles, *index)->generation = 1;
    return CUVET_OK;
}

cuvet_status cv_handle_new(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t size, cv_handle_end *end,
                           uint64_t *bits, void **body)
{
    cv_handles *handles = cv_ctx_handles(ctx);
    uint32_t index = 0;
    cuvet_status status;
    cv_slot *slot;

    pthread_mutex_lock(&handles->lock);
    status = find_free(ctx, handles, &index);
    if (status == CUVET_OK) {
        slot = slot_at(handles, index);
        slot->body = cv_ctx_mem_get(ctx, size);
        if (slot->body) {
            slot->size = size;
            slot->end = end;
            slot->kind = (uint8_t)kind;
            slot->state = CV_SLOT_BUSY;
            slot->wrong = cv_trap_count();
            handles->n_busy++;
            *bits = make_bits(handles, slot, index);
            *body = slot->body;
        } else {
            status = cv_mem_status(&ctx->mem);
        }
    }
    pthread_mutex_unlock(&handles->lock);
    return status;
}

/* The misuse table: what is wrong with these bits? The slot is set when it is the object they name. */
static cuvet_status look_up(cv_handles *handles, cv_handle_kind kind, uint64_t bits, cv_slot **out)
{
    uint32_t index = (uint32_t)(bits & 0xFFFF), generation = (uint32_t)(bits >> 32 & 0xFFFFFF);
    cv_slot *slot;

    if (bits == 0 || index >= handles->n_slots || (uint16_t)(bits >> 16) != handles->salt)
        return CUVET_E_HANDLE;
    slot = slot_at(handles, index);
    if (generation == 0 || generation > slot->generation)
        return CUVET_E_HANDLE; /* never issued */
    if (generation != slot->generation || !slot->body || slot->state == CV_SLOT_DYING)
        return slot->state == CV_SLOT_FREE && generation == slot->generation ? CUVET_E_HANDLE
                                                                             : CUVET_E_STALE_HANDLE;
    if ((uint8_t)(bits >> 56) != slot->kind || slot->kind != (uint8_t)kind)
        return CUVET_E_HANDLE_KIND;
    *out = slot;
    return CUVET_OK;
}

cuvet_status cv_handle_get(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, void **body)
{
    cv_handles *handles = cv_ctx_handles(ctx);
    cv_slot *slot = NULL;
    cuvet_status status;

    pthread_mutex_lock(&handles->lock);
    status = look_up(handles, kind, bits, &slot);
    if (status == CUVET_OK && slot->state == CV_SLOT_BUSY)
        status = CUVET_E_BUSY;
    if (CV_NEVER(status == CUVET_OK && slot->broken))
        status = CUVET_E_POISONED;
    if (status == CUVET_OK) {
        slot->state = CV_SLOT_BUSY;
        slot->wrong = cv_trap_count();
        handles->n_busy++;
        *body = slot->body;
    }
    pthread_mutex_unlock(&handles->lock);
    return status;
}

cuvet_status cv_handle_signal(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, void (*fn)(void *body))
{
    cv_handles *handles = cv_ctx_handles(ctx);
    cv_slot *slot = NULL;
    cuvet_status status;

    pthread_mutex_lock(&handles->lock);
    status = look_up(handles, kind, bits, &slot);
    if (status == CUVET_OK)
        fn(slot->body);
    pthread_mutex_unlock(&handles->lock);
    return status;
}

/* False: the object or the context is gone. */
static bool put_back(cuvet_ctx *ctx, uint64_t bits, cuvet_status *st)
{
    cv_handles *handles = cv_ctx_handles(ctx);
    bool alive = false, last;
    cv_slot *slot;

    pthread_mutex_lock(&handles->lock);
    slot = slot_at(handles, (uint32_t)(bits & 0xFFFF));
    if (CV_NEVER(slot->wrong != cv_trap_count())) {
        slot->broken = true;
        *st = CUVET_E_INTERNAL;
    }
    if (slot->state == CV_SLOT_DYING) {
        scrub_body(ctx, slot);
    } else if (slot->state == CV_SLOT_BUSY) {
        slot->state = CV_SLOT_LIVE;
        alive = true;
    }
    handles->n_busy--;
    last = handles->dying && handles->n_busy == 0;
    alive = alive && !handles->dying;
    pthread_mutex_unlock(&handles->lock);
    if (last)
        cv_ctx_end(ctx);
    return alive;
}

cuvet_status cv_handle_put(cuvet_ctx *ctx, uint64_t bits, cuvet_status status)
{
    (void)put_back(ctx, bits, &status); /* nothing that belongs to the object was given out */
    return status;
}

cuvet_status cv_handle_done(cuvet_ctx *ctx, uint64_t bits, cuvet_status status)
{
    return put_back(ctx, bits, &status) ? status : CUVET_E_STALE_HANDLE;
}

/* In use: marked, the user's put ends it. */
static cuvet_status destroy_object(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits)
{
    cv_handles *handles = cv_ctx_handles(ctx);
    cv_slot *slot = NULL;
    cuvet_status status;

    pthread_mutex_lock(&handles->lock);
    status = look_up(handles, kind, bits, &slot);
    if (status == CUVET_OK) {
        if (slot->state == CV_SLOT_BUSY)
            slot->state = CV_SLOT_DYING;
        else
            scrub_body(ctx, slot);
    }
    pthread_mutex_unlock(&handles->lock);
    return status;
}

cuvet_status cv_handle_create(cuvet_ctx *ctx, const cv_handle_class *cls, const void *how, uint64_t *bits)
{
    const uint64_t wrong = cv_trap_count();
    void *body = NULL;
    uint64_t handle = 0;
    cuvet_status status;

    status = cv_handle_new(ctx, cls->kind, cls->size, cls->end, &handle, &body);
    if (status != CUVET_OK)
        return cv_ctx_told(ctx, &ctx->mem, status);
    status = cls->begin(ctx, body, how);
    if (CV_NEVER(wrong != cv_trap_count()))
        status = CUVET_E_INTERNAL;
    if (status == CUVET_OK)
        *bits = handle;
    else if (destroy_object(ctx, cls->kind, handle) != CUVET_OK) /* in use by us: the put below ends it */
        status = CUVET_E_INTERNAL;
    return cv_handle_put(ctx, handle, status);
}

cuvet_status cv_handle_close(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t *bits)
{
    cuvet_status status = ctx && bits ? destroy_object(ctx, kind, *bits) : CUVET_E_NULL;

    if (status == CUVET_OK)
        *bits = 0;
    return status;
}

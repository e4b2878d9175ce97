/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api/handle.h"

#include <string.h>

#include "api/ctx.h"

/* bits: kind 63..56, generation 55..32, salt 31..16, slot 15..0 */
static uint64_t make_bits(const cv_handles *t, const cv_slot *s, uint32_t index)
{
    return (uint64_t)s->kind << 56 | (uint64_t)s->generation << 32 | (uint64_t)t->salt << 16 | index;
}

cuvet_status cv_handles_init(cv_handles *t)
{
    *t = (cv_handles){ 0 };
    if (pthread_mutex_init(&t->lock, NULL) != 0)
        return CUVET_E_NOMEM;
    cv_random(&t->salt, sizeof(t->salt)); /* without: told apart by slot and generation only */
    return CUVET_OK;
}

static cv_slot *slot_at(cv_handles *t, uint32_t index)
{
    return &t->chunk[index / CV_HANDLE_CHUNK][index % CV_HANDLE_CHUNK];
}

/* Poison, then release: a pointer that somebody kept shows at once. The slot goes on with the next
 * generation. */
static void bury(cuvet_ctx *ctx, cv_slot *s)
{
    s->end(ctx, s->body);
    memset(s->body, 0xDB, (size_t)s->size);
    cv_ctx_mem_put(ctx, s->body, s->size);
    s->body = NULL;
    s->size = 0;
    s->broken = false;
    if (s->generation == CV_HANDLE_LAST_GENERATION) {
        s->state = CV_SLOT_RETIRED;
        return;
    }
    s->generation++;
    s->state = CV_SLOT_FREE;
}

void cv_handles_free(cuvet_ctx *ctx, cv_handles *t)
{
    for (uint32_t i = 0; i < t->n_slots; i++) {
        if (slot_at(t, i)->body)
            bury(ctx, slot_at(t, i));
    }
    for (uint32_t c = 0; c < CV_HANDLE_CHUNKS && t->chunk[c]; c++)
        cv_ctx_mem_put(ctx, t->chunk[c], CV_HANDLE_CHUNK * sizeof(cv_slot));
    pthread_mutex_destroy(&t->lock);
}

/* A free slot, oldest first, or a new one. */
static cuvet_status find_free(cuvet_ctx *ctx, cv_handles *t, uint32_t *index)
{
    uint32_t c = t->n_slots / CV_HANDLE_CHUNK;

    for (uint32_t i = 0; i < t->n_slots; i++) {
        if (slot_at(t, i)->state == CV_SLOT_FREE) {
            *index = i;
            return CUVET_OK;
        }
    }
    if (c >= CV_HANDLE_CHUNKS)
        return CUVET_E_LIMIT;
    if (!t->chunk[c])
        t->chunk[c] = cv_ctx_mem_get(ctx, CV_HANDLE_CHUNK * sizeof(cv_slot));
    if (!t->chunk[c])
        return cv_mem_status(&ctx->mem);
    *index = t->n_slots++;
    slot_at(t, *index)->generation = 1;
    return CUVET_OK;
}

cuvet_status cv_handle_new(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t size, cv_handle_end *end,
                           uint64_t *bits, void **body)
{
    cv_handles *t = cv_ctx_handles(ctx);
    uint32_t index = 0;
    cuvet_status st;
    cv_slot *s;

    pthread_mutex_lock(&t->lock);
    st = find_free(ctx, t, &index);
    if (st == CUVET_OK) {
        s = slot_at(t, index);
        s->body = cv_ctx_mem_get(ctx, size);
        if (s->body) {
            s->size = size;
            s->end = end;
            s->kind = (uint8_t)kind;
            s->state = CV_SLOT_BUSY;
            s->wrong = cv_trap_count();
            t->n_busy++;
            *bits = make_bits(t, s, index);
            *body = s->body;
        } else {
            st = cv_mem_status(&ctx->mem);
        }
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* The misuse table: what is wrong with these bits? The slot is set when it is the object they name. */
static cuvet_status look_up(cv_handles *t, cv_handle_kind kind, uint64_t bits, cv_slot **out)
{
    uint32_t index = (uint32_t)(bits & 0xFFFF), generation = (uint32_t)(bits >> 32 & 0xFFFFFF);
    cv_slot *s;

    if (bits == 0 || index >= t->n_slots || (uint16_t)(bits >> 16) != t->salt)
        return CUVET_E_HANDLE;
    s = slot_at(t, index);
    if (generation == 0 || generation > s->generation)
        return CUVET_E_HANDLE; /* never issued */
    if (generation != s->generation || !s->body || s->state == CV_SLOT_DYING)
        return s->state == CV_SLOT_FREE && generation == s->generation ? CUVET_E_HANDLE
                                                                       : CUVET_E_STALE_HANDLE;
    if ((uint8_t)(bits >> 56) != s->kind || s->kind != (uint8_t)kind)
        return CUVET_E_HANDLE_KIND;
    *out = s;
    return CUVET_OK;
}

cuvet_status cv_handle_get(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, void **body)
{
    cv_handles *t = cv_ctx_handles(ctx);
    cv_slot *s = NULL;
    cuvet_status st;

    pthread_mutex_lock(&t->lock);
    st = look_up(t, kind, bits, &s);
    if (st == CUVET_OK && s->state == CV_SLOT_BUSY)
        st = CUVET_E_BUSY;
    if (CV_NEVER(st == CUVET_OK && s->broken))
        st = CUVET_E_POISONED;
    if (st == CUVET_OK) {
        s->state = CV_SLOT_BUSY;
        s->wrong = cv_trap_count();
        t->n_busy++;
        *body = s->body;
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

cuvet_status cv_handle_signal(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, void (*fn)(void *body))
{
    cv_handles *t = cv_ctx_handles(ctx);
    cv_slot *s = NULL;
    cuvet_status st;

    pthread_mutex_lock(&t->lock);
    st = look_up(t, kind, bits, &s);
    if (st == CUVET_OK)
        fn(s->body);
    pthread_mutex_unlock(&t->lock);
    return st;
}

/* False: the object or the context is gone. */
static bool put(cuvet_ctx *ctx, uint64_t bits, cuvet_status *st)
{
    cv_handles *t = cv_ctx_handles(ctx);
    bool alive = false, last;
    cv_slot *s;

    pthread_mutex_lock(&t->lock);
    s = slot_at(t, (uint32_t)(bits & 0xFFFF));
    if (CV_NEVER(s->wrong != cv_trap_count())) {
        s->broken = true;
        *st = CUVET_E_INTERNAL;
    }
    if (s->state == CV_SLOT_DYING) {
        bury(ctx, s);
    } else if (s->state == CV_SLOT_BUSY) {
        s->state = CV_SLOT_LIVE;
        alive = true;
    }
    t->n_busy--;
    last = t->dying && t->n_busy == 0;
    alive = alive && !t->dying;
    pthread_mutex_unlock(&t->lock);
    if (last)
        cv_ctx_end(ctx);
    return alive;
}

cuvet_status cv_handle_put(cuvet_ctx *ctx, uint64_t bits, cuvet_status s)
{
    (void)put(ctx, bits, &s); /* nothing that belongs to the object was given out */
    return s;
}

cuvet_status cv_handle_done(cuvet_ctx *ctx, uint64_t bits, cuvet_status s)
{
    return put(ctx, bits, &s) ? s : CUVET_E_STALE_HANDLE;
}

cuvet_status cv_handle_create(cuvet_ctx *ctx, const cv_handle_class *c, const void *how, uint64_t *bits)
{
    const uint64_t wrong = cv_trap_count();
    void *body = NULL;
    uint64_t b = 0;
    cuvet_status s;

    s = cv_handle_new(ctx, c->kind, c->size, c->end, &b, &body);
    if (s != CUVET_OK)
        return cv_ctx_told(ctx, s);
    s = c->begin(ctx, body, how);
    if (CV_NEVER(wrong != cv_trap_count()))
        s = CUVET_E_INTERNAL;
    if (s == CUVET_OK)
        *bits = b;
    else if (cv_handle_destroy(ctx, c->kind, b) != CUVET_OK) /* in use by us: the put below ends it */
        s = CUVET_E_INTERNAL;
    return cv_handle_put(ctx, b, s);
}

cuvet_status cv_handle_destroy(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits)
{
    cv_handles *t = cv_ctx_handles(ctx);
    cv_slot *s = NULL;
    cuvet_status st;

    pthread_mutex_lock(&t->lock);
    st = look_up(t, kind, bits, &s);
    if (st == CUVET_OK) {
        if (s->state == CV_SLOT_BUSY)
            s->state = CV_SLOT_DYING;
        else
            bury(ctx, s);
    }
    pthread_mutex_unlock(&t->lock);
    return st;
}

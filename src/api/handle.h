/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handles are values: slot, generation and kind, looked up in the table of their context. A stale, foreign or
 * made-up handle is recognised without touching the memory of an object that is gone. Slots are never given
 * back while the context lives. */
#ifndef CV_API_HANDLE_H
#define CV_API_HANDLE_H

#include <pthread.h>

#include <cuvet/context.h>

#include "base/mem.h"

typedef enum cv_handle_kind {
    CV_H_SCAN = 1,
    CV_H_ELF = 2,
    CV_H_SELECT = 3,
    CV_H_LINKER = 4,
    CV_H_FINALIZER = 5,
    CV_H_FINDINGS = 6,
    CV_H_IMAGE = 7
} cv_handle_kind;

/* Ends an object: releases what it owns. The body itself is scrubbed and released by the table. */
typedef void cv_handle_end(cuvet_ctx *ctx, void *body);

typedef enum cv_slot_state {
    CV_SLOT_FREE = 0,
    CV_SLOT_LIVE,
    CV_SLOT_BUSY,
    CV_SLOT_DYING,
    CV_SLOT_RETIRED
} cv_slot_state;

typedef struct cv_slot {
    void *body;
    uint64_t size;
    cv_handle_end *end;
    uint32_t generation; /* 24 bits; the value of the object that is, or will be, here */
    uint8_t kind;
    uint8_t state;
    bool broken;    /* an index went wrong while it was in use: it can only be destroyed */
    uint64_t wrong; /* cv_trap_count() when it was taken in use */
} cv_slot;

/* The first chunks have so many slots each; every later one as many as all before it. */
#define CV_HANDLE_CHUNK           16u
#define CV_HANDLE_CHUNKS          13u
#define CV_HANDLE_SLOTS           (CV_HANDLE_CHUNK << (CV_HANDLE_CHUNKS - 1))
#define CV_HANDLE_LAST_GENERATION 0xFFFFFFu

typedef struct cv_handles {
    pthread_mutex_t lock;
    cv_slot *chunk[CV_HANDLE_CHUNKS];
    uint32_t n_slots; /* ever used */
    uint32_t n_busy;  /* objects in use, on whatever thread */
    bool dying;       /* the context was destroyed while objects were in use: the last put ends it */
    uint16_t salt;    /* of this context: another context's handle does not pass for one of ours */
} cv_handles;

/* *handles is zero. */
CV_MUST cuvet_status cv_handles_init(cv_handles *handles);
/* Ends every object that is left. */
void cv_handles_free(cuvet_ctx *ctx, cv_handles *handles);

/* New object: a zeroed body of 'size' bytes, in use by the caller until cv_handle_put(). @return OK · NOMEM ·
 * LIMIT */
CV_MUST cuvet_status cv_handle_new(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t size, cv_handle_end *end,
                                   uint64_t *bits, void **body);

/* Begins a new object with what its creator was given. Where it fails the object is ended, as any other. */
typedef cuvet_status cv_handle_begin(cuvet_ctx *ctx, void *body, const void *how);

typedef struct cv_handle_class {
    cv_handle_kind kind;
    uint64_t size; /* of the body */
    cv_handle_begin *begin;
    cv_handle_end *end;
} cv_handle_class;

/* New object that has begun and is not in use; the memory limit is told. The bits are set when it is OK.
 * @return as cv_handle_new and begin */
CV_MUST cuvet_status cv_handle_create(cuvet_ctx *ctx, const cv_handle_class *cls, const void *how,
                                      uint64_t *bits);
/* Take an object in use. @return OK · HANDLE · STALE_HANDLE · HANDLE_KIND · BUSY (another thread, or a
 * callback of its own) · POISONED */
CV_MUST cuvet_status cv_handle_get(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits, void **body);
/* Tell an object something while it may be in use on another thread: fn runs under the table's lock and
 * touches nothing but atomics. @return OK · HANDLE · STALE_HANDLE · HANDLE_KIND */
CV_MUST cuvet_status cv_handle_signal(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t bits,
                                      void (*fn)(void *body));
/* The end of an operation on the thread that began it: ends the object if it was destroyed meanwhile.
 * @return s · INTERNAL (an index went wrong meanwhile; the object can only be destroyed from now on) */
CV_MUST cuvet_status cv_handle_put(cuvet_ctx *ctx, uint64_t bits, cuvet_status status);
/* The same. @return as cv_handle_put · STALE_HANDLE (a callback had destroyed the object or the context,
 * which is gone now) */
CV_MUST cuvet_status cv_handle_done(cuvet_ctx *ctx, uint64_t bits, cuvet_status status);
/* Destroy, and make the bits 0. In use: marked, the user's put ends it. @return as cv_handle_get, never BUSY
 * or POISONED · NULL (no context, or no bits) */
CV_MUST cuvet_status cv_handle_close(cuvet_ctx *ctx, cv_handle_kind kind, uint64_t *bits);

#endif

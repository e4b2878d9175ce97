/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two contexts and what was made in them: what each handle is, what a callback does to the object in use, and
 * what a call must say about a handle. */
#ifndef FUZZ_API_WORLD_H
#define FUZZ_API_WORLD_H

#include <cuvet/cuvet.h>

#include "mutate.h"
#include "scanner.h"

#define OBJECTS 12u

typedef enum object_kind { SCAN, ELF, INPUT } object_kind;

/* What the next callback of a call that uses an object does, once. */
typedef enum deed { NO_DEED, REENTER, CANCEL, DESTROY_ANOTHER, DESTROY_SELF, DESTROY_CONTEXT, DEEDS } deed;

typedef struct api_object {
    object_kind kind;
    unsigned ctx;
    uint64_t bits;
    bool closed, over;
    cuvet_select_state state;
} api_object;

typedef struct api_world {
    const fz_input *in;
    size_t file; /* bytes of the input that are the file */
    cuvet_source src;
    cuvet_ctx *ctx[2];
    fz_alloc alloc[2];
    api_object obj[OBJECTS];
    unsigned count;
    bool same_salt;     /* of both contexts: 1 in 65,536 */
    api_object *active; /* in use by the call that runs */
    deed next, done;
    const cuvet_limits *lim;
    fz_ops ops;
    uint64_t hash;
} api_world;

void api_open_context(api_world *world, unsigned index);
/* A context is gone with its objects; what was taken from them stays. */
void api_context_gone(api_world *world, unsigned ctx);
/* A new object: its handle was never given out before. */
void api_add(api_world *world, object_kind kind, unsigned ctx, uint64_t bits);
cuvet_status api_destroy(api_world *world, const api_object *object);
/* An object, or NULL, and the context to use it in. */
api_object *api_pick(api_world *world, unsigned *ctx);
/* In a callback: what it was armed with, to the object in use. */
void api_act(api_world *world);
/* What the next callback does. */
void api_arm(api_world *world);
/* What a call for 'want' must say about the handle of 'object' used in context ctx. */
void api_judge(const api_world *world, const api_object *object, object_kind want, unsigned ctx,
               cuvet_status st);
/* After a call that may have run callbacks. False: its context is gone, and 'object' with it. */
bool api_settle(api_world *world, api_object *object, object_kind want, unsigned ctx, cuvet_status st);

#endif

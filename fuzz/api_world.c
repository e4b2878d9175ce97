/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "api_world.h"

#include "api/ctx.h"

cuvet_status api_destroy(api_world *world, const api_object *object)
{
    cuvet_select in = { object->bits };
    cuvet_scan scan = { object->bits };
    cuvet_elf elf = { object->bits };
    cuvet_status st = CUVET_E_INTERNAL;
    uint64_t left = 0;

    switch (object->kind) {
    case SCAN:
        st = cuvet_scan_destroy(world->ctx[object->ctx], &scan);
        left = scan.bits;
        break;
    case ELF:
        st = cuvet_elf_destroy(world->ctx[object->ctx], &elf);
        left = elf.bits;
        break;
    case INPUT:
        st = cuvet_select_destroy(world->ctx[object->ctx], &in);
        left = in.bits;
        break;
    }
    FZ_CHECK(left == (st == CUVET_OK ? 0 : object->bits), "a handle that was closed becomes 0, others stay");
    return st;
}

/* From a callback: the object is in use, by a call of this very thread. */
static void reenter(const api_world *world)
{
    cuvet_ctx *ctx = world->ctx[world->active->ctx];
    cuvet_select in = { world->active->bits };
    cuvet_scan scan = { world->active->bits };
    cuvet_select_state st;
    cuvet_summary sum = { .size = sizeof(sum) };

    if (world->active->kind == INPUT) {
        FZ_CHECK(cuvet_select_run(ctx, in) == CUVET_E_BUSY, "an input that is in use is busy");
        FZ_CHECK(cuvet_select_get_state(ctx, in, &st) == CUVET_E_BUSY, "also for a look at it");
        FZ_CHECK(cuvet_scan_summary(ctx, scan, &sum) == CUVET_E_HANDLE_KIND, "and still no scan");
    } else {
        FZ_CHECK(cuvet_scan_summary(ctx, scan, &sum) == CUVET_E_BUSY, "a scan that is in use is busy");
        FZ_CHECK(cuvet_select_run(ctx, in) == CUVET_E_HANDLE_KIND, "and still no input");
    }
}

static void destroy_another(api_world *world)
{
    for (unsigned i = 0; i < world->count; i++) {
        api_object *object = &world->obj[i];

        if (object == world->active || object->closed)
            continue;
        FZ_CHECK(api_destroy(world, object) == CUVET_OK, "another object can be destroyed");
        object->closed = true;
        return;
    }
}

void api_act(api_world *world)
{
    cuvet_ctx *ctx;

    if (!world->active || world->next == NO_DEED)
        return;
    ctx = world->ctx[world->active->ctx];
    world->done = world->next;
    world->next = NO_DEED;
    switch (world->done) {
    case REENTER: reenter(world); break;
    case CANCEL:
        FZ_CHECK(cuvet_select_cancel(ctx, (cuvet_select){ world->active->bits }) ==
                     (world->active->kind == INPUT ? CUVET_OK : CUVET_E_HANDLE_KIND),
                 "cancel is for inputs, at any time");
        break;
    case DESTROY_ANOTHER: destroy_another(world); break;
    case DESTROY_SELF:
        FZ_CHECK(api_destroy(world, world->active) == CUVET_OK, "destroyed while in use");
        FZ_CHECK(api_destroy(world, world->active) == CUVET_E_STALE_HANDLE, "and stale at once");
        break;
    case DESTROY_CONTEXT: cuvet_ctx_destroy(ctx); break;
    case NO_DEED:
    case DEEDS: break;
    }
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    api_world *world = user;

    world->hash = fz_mix(world->hash, fz_diag(diag, 0, world->file));
    api_act(world);
}

void api_open_context(api_world *world, unsigned index)
{
    cuvet_alloc alloc = fz_alloc_of(&world->alloc[index]);
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = &alloc, .limits = world->lim, .diag = on_diag, .diag_user = world
    };

    FZ_CHECK(cuvet_ctx_create(&opt, &world->ctx[index]) == CUVET_OK, "a context");
    /* One pair of contexts in 65,536, also before there is an object in both: a slot whose object was never
     * made is enough for another answer. */
    if (world->ctx[!index] &&
        cv_ctx_handles(world->ctx[index])->salt == cv_ctx_handles(world->ctx[!index])->salt)
        world->same_salt = true;
}

void api_context_gone(api_world *world, unsigned ctx)
{
    unsigned at = 0;

    FZ_CHECK(world->alloc[ctx].live == 0, "nothing stays allocated");
    for (unsigned i = 0; i < world->count; i++)
        if (world->obj[i].ctx != ctx)
            world->obj[at++] = world->obj[i];
    world->count = at;
}

void api_add(api_world *world, object_kind kind, unsigned ctx, uint64_t bits)
{
    FZ_CHECK(bits != 0, "an object has a handle");
    for (unsigned i = 0; i < world->count; i++) {
        FZ_CHECK(world->obj[i].ctx != ctx || world->obj[i].bits != bits, "a handle is never given out twice");
    }
    world->obj[world->count++] = (api_object){ .kind = kind, .ctx = ctx, .bits = bits };
}

void api_judge(const api_world *world, const api_object *object, object_kind want, unsigned ctx,
               cuvet_status st)
{
    bool handle = st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND;

    FZ_CHECK(st != CUVET_E_INTERNAL && st != CUVET_E_BUSY && st != CUVET_E_POISONED,
             "misuse is no error of ours");
    if (object->ctx != ctx) {
        FZ_CHECK(handle || world->same_salt, "another context's handle is refused");
        FZ_CHECK(world->same_salt || st == CUVET_E_HANDLE, "as no handle at all");
    } else if (object->closed) {
        FZ_CHECK(st == CUVET_E_STALE_HANDLE, "a closed handle is stale");
    } else if (object->kind != want) {
        FZ_CHECK(st == CUVET_E_HANDLE_KIND, "a handle of another kind is named so");
    } else {
        FZ_CHECK(!handle, "a good handle is taken");
    }
}

api_object *api_pick(api_world *world, unsigned *ctx)
{
    unsigned how = fz_u8(&world->ops);
    api_object *object = world->count ? &world->obj[(how >> 1) % world->count] : NULL;

    *ctx = object && how & 1 ? fz_u8(&world->ops) & 1 : object ? object->ctx : 0;
    return object;
}

bool api_settle(api_world *world, api_object *object, object_kind want, unsigned ctx, cuvet_status st)
{
    deed done = world->done;

    world->active = NULL;
    world->done = NO_DEED;
    world->hash = fz_mix(world->hash, (uint64_t)st);
    if (done == DESTROY_SELF || done == DESTROY_CONTEXT)
        FZ_CHECK(st == CUVET_E_STALE_HANDLE, "a call whose object goes tells so");
    else
        api_judge(world, object, want, ctx, st);
    if (done == DESTROY_SELF)
        object->closed = true;
    if (done != DESTROY_CONTEXT)
        return true;
    api_context_gone(world, ctx);
    api_open_context(world, ctx);
    return false;
}

void api_arm(api_world *world)
{
    world->next = (deed)(fz_u8(&world->ops) % DEEDS);
}

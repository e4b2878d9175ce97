/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fault loops over the life of an input: create, options, bind, bind again, select, take, with the Nth
 * allocation failing, once alone and once with every later one, and with less and less memory allowed. The
 * call that meets it says so and leaves the object as it was; the same call again gives what it would have
 * given; and whatever ends then, nothing stays allocated. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cuvet/cuvet.h>

#include "support/fatbins.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* Everything that can be seen of an input from outside, as numbers. */
typedef struct fault_input_picture {
    uint64_t state, options, candidates, result, log, diags, n_diags;
} fault_input_picture;

enum step { CREATE, OPTION, FIRST_BIND, BIND, MORE_OPTION, SELECT, TAKE, STEPS };

static const char *const STEP_NAME[STEPS] = { "create", "option", "first bind", "bind",
                                              "option", "select", "take" };

typedef struct scenario {
    const char *payload; /* a sample, members for fb_make(), or what payload() knows besides */
    cuvet_target target;
    cuvet_request request;
    unsigned flags;
    bool compiler;
    cuvet_status select;
} scenario;

static const scenario SCENARIOS[] = {
    { "=sm_75 sm_80 sm_90 compute_75", { 90, 0 }, 0, CUVET_BIND_BORROW, false, CUVET_OK },
    { "=sm_75 sm_80 sm_90a lto_90", { 90, 0 }, 0, CUVET_BIND_COPY, false, CUVET_OK }, /* says something */
    { "=sm_75 sm_75 sm_90", { 90, 0 }, 0, CUVET_BIND_COPY, false, CUVET_OK }, /* says something when bound */
    { "=sm_75 sm_100 compute_100", { 90, 0 }, 0, CUVET_BIND_COPY, false, CUVET_E_NO_MATCH },
    { "=exe:sm_90", { 90, 0 }, 0, CUVET_BIND_BORROW, false, CUVET_E_REFUSED },
    { "=sm_75 compute_80", { 90, 'a' }, 0, CUVET_BIND_COPY, true, CUVET_OK },
    { "=sm_75 compute_80", { 90, 'a' }, 0, CUVET_BIND_COPY, false, CUVET_E_COMPILER },
    { "nested", { 90, 0 }, 0, CUVET_BIND_COPY, false, CUVET_OK },
    { "nested-zstd", { 90, 0 }, 0, CUVET_BIND_BORROW, false, CUVET_OK },
    { "multi.fatbin", { 121, 'f' }, CUVET_REQUEST_PTX, CUVET_BIND_BORROW, false, CUVET_OK },
    { "multi.fatbin", { 90, 0 }, CUVET_REQUEST_SASS, CUVET_BIND_COPY, false, CUVET_E_REFUSED },
    { "multi-lz4.fatbin", { 90, 'a' }, CUVET_REQUEST_PTX, CUVET_BIND_COPY, false, CUVET_OK },
    { "ptx-only.fatbin", { 90, 0 }, CUVET_REQUEST_LINK, CUVET_BIND_BORROW, true, CUVET_OK },
    { "lto-raw.fatbin", { 90, 0 }, CUVET_REQUEST_LTOIR, CUVET_BIND_BORROW, false, CUVET_OK },
    { "host-two_a.o", { 75, 0 }, 0, CUVET_BIND_COPY, false, CUVET_OK },
    { "long-names.a", { 75, 0 }, 0, CUVET_BIND_BORROW, false, CUVET_OK },
    { "plain.ptx", { 90, 0 }, 0, CUVET_BIND_BORROW, true, CUVET_OK },
    { "plain.ptx", { 90, 0 }, CUVET_REQUEST_PTX, CUVET_BIND_COPY, false, CUVET_OK },
    { "plain.sm_90.rdc.cubin", { 90, 'a' }, 0, CUVET_BIND_COPY, false, CUVET_OK },
};

typedef struct fault_input_world {
    heap_state heap;
    const scenario *sc;
    const uint8_t *bytes;
    size_t size;
    cuvet_ctx *ctx;
    cuvet_select in;
    cuvet_image image;
    unsigned long calls, releases; /* of the compiler */
    bool said_live;                /* a diagnostic named the memory limit since the last step */
} fault_input_world;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value ^ hash >> 31) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t mix_bytes(uint64_t hash, const void *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = mix(hash, ((const uint8_t *)block)[i]);
    return mix(hash, size);
}

static uint64_t mix_path(uint64_t hash, const cuvet_path *path)
{
    for (uint32_t i = 0; i < path->n; i++)
        hash = mix(hash, path->step[i].index << 8 | path->step[i].kind);
    return mix(hash, path->n);
}

static uint64_t mix_candidate(uint64_t hash, const cuvet_candidate *candidate)
{
    hash = mix(mix_path(hash, &candidate->where),
               (uint64_t)candidate->kind << 40 | (uint64_t)(uint8_t)candidate->suffix << 32 | candidate->sm);
    hash = mix(hash, (uint64_t)candidate->reason << 40 | (uint64_t)candidate->rank << 8 | candidate->flags);
    hash = mix(mix(hash, candidate->container_off), candidate->header_off);
    return mix(mix(mix(mix(hash, candidate->payload_off), candidate->stored_size), candidate->member_flags),
               candidate->depth);
}

static void look_at_lists(const fault_input_world *world, fault_input_picture *picture)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    const char *text;
    cuvet_diag diag = { .size = sizeof(diag) };
    size_t count;

    for (uint64_t i = 0; cuvet_select_get_candidate(world->ctx, world->in, i, &candidate) == CUVET_OK; i++)
        picture->candidates = mix_candidate(picture->candidates, &candidate);
    for (size_t i = 0; cuvet_select_get_option(world->ctx, world->in, i, &text, &count) == CUVET_OK; i++) {
        ck_assert_uint_eq(strlen(text), count);
        picture->options = mix_bytes(picture->options, text, count);
    }
    while (cuvet_select_get_diag(world->ctx, world->in, picture->n_diags, &diag) == CUVET_OK) {
        picture->diags = mix(mix(mix(picture->diags, diag.rule), diag.file_off), diag.inner_off);
        picture->diags = mix_path(mix(mix(picture->diags, diag.got), diag.want), &diag.where);
        picture->n_diags++;
    }
}

/* Needs no memory, so it may be done at any time. */
static fault_input_picture look(const fault_input_world *world)
{
    cuvet_select_state st;
    fault_input_picture picture = { 0 };
    cuvet_select_result result = { .size = sizeof(result) };
    const char *text;
    size_t count;

    ck_assert_int_eq(cuvet_select_get_state(world->ctx, world->in, &st), CUVET_OK);
    picture.state = (uint64_t)st;
    ck_assert_int_eq(cuvet_select_get_log(world->ctx, world->in, &text, &count), CUVET_OK);
    picture.log = mix_bytes(0, text, count);
    if (cuvet_select_get_result(world->ctx, world->in, &result) == CUVET_OK)
        picture.result = mix(mix_bytes(mix(result.sm, (uint64_t)result.kind), result.bytes, result.n),
                             result.candidate << 1 | (result.flags & CUVET_IMAGE_COMPILED));
    look_at_lists(world, &picture);
    return picture;
}

static void ck_same(const fault_input_picture *left, const fault_input_picture *right, enum step other_step,
                    unsigned long at)
{
    const char *name = STEP_NAME[other_step];

    ck_assert_msg(left->state == right->state, "%s, allocation %lu: state", name, at);
    ck_assert_msg(left->options == right->options, "%s, allocation %lu: options", name, at);
    ck_assert_msg(left->candidates == right->candidates, "%s, allocation %lu: candidates", name, at);
    ck_assert_msg(left->result == right->result, "%s, allocation %lu: result", name, at);
    ck_assert_msg(left->log == right->log, "%s, allocation %lu: log", name, at);
    ck_assert_msg(left->n_diags == right->n_diags, "%s, allocation %lu: %lu diagnostics, not %lu", name, at,
                  (unsigned long)right->n_diags, (unsigned long)left->n_diags);
    ck_assert_msg(left->diags == right->diags, "%s, allocation %lu: diagnostics", name, at);
}

static void said(void *user, const cuvet_diag *diag)
{
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);

    ck_assert(rule != NULL);
    if (strcmp(rule->id, "CV-LIMIT-013") == 0)
        ((fault_input_world *)user)->said_live = true;
}

static void give_back(cuvet_compile_result *result, void *user)
{
    ((fault_input_world *)user)->releases++;
    free(result->bytes);
}

/* The sample for the target, in memory that the heap of the library knows nothing of. */
static cuvet_status compile(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    fault_input_world *world = user;
    const uint8_t *bytes;

    world->calls++;
    ck_assert_uint_ge(request->n_options, 2);
    out->release = give_back;
    if (heap_fails(&world->heap))
        return CUVET_E_NOMEM;
    bytes = sample("plain.sm_90.rdc.cubin", &out->n, 2);
    out->bytes = malloc(out->n);
    memcpy(out->bytes, bytes, out->n);
    out->log = (char *)(uintptr_t) "a word\n";
    out->n_log = 7;
    return CUVET_OK;
}

/* A container whose one member is a container, packed or not. */
static void wrap(fb_state *fatbin, bool packed)
{
    static fb_state inner;
    static uint8_t small[FATBIN_MAX];
    uint64_t full;
    size_t count;

    inner = *fatbin;
    full = inner.size;
    count = packed ? ZSTD_compress(small, sizeof(small), inner.bytes, inner.size, 3) : 0;
    ck_assert(!ZSTD_isError(count));
    fatbin->size = 0;
    fb_begin(fatbin);
    fb_bytes(fatbin, 2, 90, 0, packed ? small : inner.bytes, packed ? count : inner.size);
    if (packed) {
        memcpy(fatbin->bytes + 16 + 16, &count, 4); /* packed bytes */
        fatbin->bytes[16 + 41] |= 0x80;             /* zstd */
        memcpy(fatbin->bytes + 16 + 56, &full, 8);  /* unpacked bytes */
    }
    fb_end(fatbin);
}

static const uint8_t *payload(const char *name, size_t *len)
{
    static fb_state fatbin;

    if (strncmp(name, "nested", 6) == 0) {
        fb_make(&fatbin, "sm_75 sm_90");
        for (unsigned i = 0; i < 2; i++)
            wrap(&fatbin, name[6] != 0);
    } else if (*name == '=') {
        fb_make(&fatbin, name + 1);
    } else {
        return sample(name, len, 0);
    }
    *len = fatbin.size;
    return fatbin.bytes;
}

static cuvet_status create(fault_input_world *world)
{
    const cuvet_compiler cc = { sizeof(cc), compile, world };
    const cuvet_select_options config = { .size = sizeof(config),
                                          .target = world->sc->target,
                                          .request = world->sc->request,
                                          .threads = 3,
                                          .compiler = world->sc->compiler ? &cc : NULL };
    cuvet_status status = cuvet_select_create(world->ctx, &config, &world->in);

    ck_assert((status == CUVET_OK) == (world->in.bits != 0));
    return status;
}

static cuvet_status take(fault_input_world *world)
{
    cuvet_status status = cuvet_select_take_image(world->ctx, world->in, &world->image);

    ck_assert((status == CUVET_OK) == (world->image.bits != 0));
    return status;
}

static cuvet_status do_step(fault_input_world *world, enum step other_step)
{
    char text[300];
    const uint8_t *first;
    size_t count;

    world->said_live = false;
    switch (other_step) {
    case CREATE: return create(world);
    case OPTION: return cuvet_select_add_option(world->ctx, world->in, "-v", 2);
    case FIRST_BIND:
        first = sample("nocode.sm_75.rdc.cubin", &count, 1);
        return cuvet_select_bind(world->ctx, world->in, first, count, world->sc->flags, NULL);
    case BIND:
        return cuvet_select_bind(world->ctx, world->in, world->bytes, world->size, world->sc->flags, NULL);
    case MORE_OPTION: /* long enough for the room to grow again */
        memset(text, 'x', sizeof(text));
        memcpy(text, "-O", 2);
        return cuvet_select_add_option(world->ctx, world->in, text, sizeof(text));
    case SELECT: return cuvet_select_run(world->ctx, world->in);
    case TAKE: return take(world);
    case STEPS: break;
    }
    return CUVET_E_INTERNAL;
}

static cuvet_status wanted(const fault_input_world *world, enum step other_step)
{
    if (other_step == SELECT)
        return world->sc->select;
    return other_step == TAKE && world->sc->select != CUVET_OK ? CUVET_E_STATE : CUVET_OK;
}

static cuvet_status begin(fault_input_world *world, const scenario *sc, const cuvet_limits *lim)
{
    const cuvet_alloc alloc = heap_alloc(&world->heap);
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = &alloc, .limits = lim, .diag = said, .diag_user = world
    };

    world->sc = sc;
    world->bytes = payload(sc->payload, &world->size);
    return cuvet_ctx_create(&opt, &world->ctx);
}

/* In the order that 'how' says: the image by itself or with its context, and the selection. */
static void finish(fault_input_world *world, unsigned how)
{
    if (world->image.bits && how & 1)
        ck_assert_int_eq(cuvet_image_destroy(world->ctx, &world->image), CUVET_OK);
    if (world->in.bits && how & 2)
        ck_assert_int_eq(cuvet_select_destroy(world->ctx, &world->in), CUVET_OK);
    cuvet_ctx_destroy(world->ctx);
    ck_assert_int_eq(world->heap.live, 0);
    ck_assert_uint_eq(world->calls, world->releases);
}

/* As it goes when nothing fails: the pictures after each step. */
static void reference(const scenario *sc, fault_input_picture pic[STEPS])
{
    fault_input_world world = { 0 };

    ck_assert_int_eq(begin(&world, sc, NULL), CUVET_OK);
    for (enum step step = CREATE; step < STEPS; step++) {
        cuvet_status st = do_step(&world, step);

        ck_assert_msg(st == wanted(&world, step), "%s: %s", STEP_NAME[step], cuvet_status_name(st));
        pic[step] = look(&world);
    }
    ck_assert_int_eq(pic[BIND].state, CUVET_SELECT_BOUND);
    ck_assert_int_eq(pic[SELECT].state, sc->select == CUVET_OK ? CUVET_SELECT_SELECTED : CUVET_SELECT_FAILED);
    finish(&world, 3);
}

/* How it would end with the first payload. */
static cuvet_status first_select(const scenario *sc)
{
    cuvet_status st = CUVET_E_INTERNAL;
    fault_input_world world = { 0 };

    ck_assert_int_eq(begin(&world, sc, NULL), CUVET_OK);
    for (enum step step = CREATE; step <= FIRST_BIND; step++)
        ck_assert_int_eq(do_step(&world, step), CUVET_OK);
    st = do_step(&world, SELECT);
    finish(&world, 0);
    return st;
}

/* The step met a failed allocation: NOMEM, and as if it had not been called. False: the end. */
static bool met(fault_input_world *world, enum step other_step, cuvet_status st,
                const fault_input_picture pic[STEPS], bool again)
{
    unsigned long at = world->heap.calls;

    ck_assert_msg(st == CUVET_E_NOMEM, "%s, allocation %lu: %s", STEP_NAME[other_step], at,
                  cuvet_status_name(st));
    if (other_step != CREATE) {
        fault_input_picture now = look(world);

        ck_same(&pic[other_step - 1], &now, other_step, at);
    }
    heap_mend(&world->heap);          /* memory is back */
    if (!again && other_step == BIND) /* what was bound before is still there to be selected from */
        ck_assert_int_eq(do_step(world, SELECT), first_select(world->sc));
    if (!again)
        return false;
    st = do_step(world, other_step);
    ck_assert_msg(st == wanted(world, other_step), "%s again, allocation %lu: %s", STEP_NAME[other_step], at,
                  cuvet_status_name(st));
    return true;
}

/* @return false: there is no Nth allocation */
static bool attempt(const scenario *sc, const fault_input_picture pic[STEPS], unsigned long count, bool later,
                    bool again)
{
    fault_input_world world = { 0 };
    unsigned long failed;
    cuvet_status st;
    bool there;

    heap_fail(&world.heap, count, later);
    st = begin(&world, sc, NULL);
    if (st != CUVET_OK) {
        ck_assert_int_eq(st, CUVET_E_NOMEM);
        ck_assert_int_eq(world.heap.live, 0);
        return true;
    }
    for (enum step step = CREATE; step < STEPS; step++) {
        fault_input_picture now;

        failed = world.heap.failed;
        st = do_step(&world, step);
        if (world.heap.failed != failed) {
            if (!met(&world, step, st, pic, again))
                break;
        } else {
            ck_assert_msg(st == wanted(&world, step), "%s, of %lu: %s", STEP_NAME[step], count,
                          cuvet_status_name(st));
        }
        now = look(&world);
        ck_same(&pic[step], &now, step, count);
    }
    there = world.heap.failed != 0;
    finish(&world, (unsigned)count);
    return there;
}

START_TEST(allocations)
{
    const scenario *sc = &SCENARIOS[_i / 4];
    bool later = (_i & 1) != 0, again = (_i & 2) != 0;
    fault_input_picture pic[STEPS];
    unsigned long count = 1;

    reference(sc, pic);
    while (attempt(sc, pic, count, later, again))
        count++;
    ck_assert_uint_gt(count, 10);
}
END_TEST

/* With a limit on memory: LIMIT, said by name, never NOMEM; the object as it was, but for select, which is
 * its end. @return true: all steps went through */
static bool squeezed(const scenario *sc, const fault_input_picture pic[STEPS], uint64_t live)
{
    cuvet_status st = CUVET_OK;
    cuvet_limits lim = { .size = sizeof(lim) };
    enum step step = CREATE;
    fault_input_world world = { 0 };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.live = live;
    ck_assert_int_eq(begin(&world, sc, &lim), CUVET_OK);
    for (; step < STEPS; step++) {
        fault_input_picture now;

        st = do_step(&world, step);
        if (st != wanted(&world, step))
            break;
        now = look(&world);
        ck_same(&pic[step], &now, step, (unsigned long)live);
    }
    if (step < STEPS)
        ck_assert_msg(st == CUVET_E_LIMIT && step != TAKE, "%s with %lu bytes: %s", STEP_NAME[step],
                      (unsigned long)live, cuvet_status_name(st));
    if (step < STEPS)
        ck_assert_msg(world.said_live, "%s with %lu bytes: not told why", STEP_NAME[step],
                      (unsigned long)live);
    if (step < STEPS && step != CREATE) {
        fault_input_picture now = look(&world);

        if (step == SELECT)
            ck_assert_int_eq(now.state, CUVET_SELECT_FAILED);
        else
            ck_assert(now.state == pic[step - 1].state && now.options == pic[step - 1].options &&
                      now.candidates == pic[step - 1].candidates);
        ck_assert_int_eq(do_step(&world, step), step == SELECT ? CUVET_E_STATE : CUVET_E_LIMIT);
    }
    finish(&world, (unsigned)live);
    return step == STEPS;
}

START_TEST(little_memory)
{
    const scenario *sc = &SCENARIOS[_i];
    fault_input_picture pic[STEPS];
    uint64_t live = 64;

    reference(sc, pic);
    while (!squeezed(sc, pic, live)) {
        live += live / 64 + 8;
        ck_assert_uint_lt(live, UINT64_C(1) << 30);
    }
    ck_assert_uint_gt(live, 1024);
}
END_TEST

Suite *suite_fault_input(void)
{
    Suite *suite = suite_create("fault_input");
    TCase *tcase = tcase_create("fault_input");

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, allocations, 0, 4 * (int)N(SCENARIOS));
    tcase_add_loop_test(tcase, little_memory, 0, (int)N(SCENARIOS));
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences of calls with right, stale, foreign, swapped and made-up handles in two contexts, against a table
 * of what each handle is; callbacks may destroy what is being used, or its context. The lowest two parameter
 * bytes say how many bytes before the trailer are the program; 0: a built-in one. */
#include <cuvet/cuvet.h>

#include "api_world.h"

#define STEPS_MAX 48u
/* Calls are what is tested here, not what a file holds. */
#define FILE_MAX 2048u

static void open_one(api_world *world)
{
    unsigned how = fz_u8(&world->ops), ctx = how & 1;
    cuvet_scan_options opt = { .size = sizeof(opt),
                               .depth = how & 2 ? CUVET_DEPTH_HEADERS : CUVET_DEPTH_FULL };
    cuvet_scan scan = { 0 };
    cuvet_elf elf = { 0 };
    cuvet_status st;

    if (world->count == OBJECTS)
        return;
    if (how & 4) {
        st = cuvet_elf_create(world->ctx[ctx], world->in->bytes, world->file, &elf);
        FZ_CHECK((st == CUVET_OK) == (elf.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            api_add(world, ELF, ctx, elf.bits);
    } else {
        st = cuvet_scan_create(world->ctx[ctx], &world->src, &opt, &scan);
        FZ_CHECK((st == CUVET_OK) == (scan.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            api_add(world, SCAN, ctx, scan.bits);
    }
    world->hash = fz_mix(world->hash, (uint64_t)st);
}

static void close_one(api_world *world)
{
    unsigned ctx;
    api_object *object = api_pick(world, &ctx);
    bool other = (fz_u8(&world->ops) & 15) == 0;
    cuvet_status st;
    api_object as;

    if (!object || (object->ctx != ctx && world->same_salt))
        return;
    as = *object;
    as.ctx = ctx;
    if (other)
        as.kind = object->kind == SCAN ? ELF : object->kind == ELF ? INPUT : SCAN;
    st = api_destroy(world, &as);
    api_judge(world, object, as.kind, ctx, st);
    if (st == CUVET_OK)
        object->closed = true;
}

static void step_scan(api_world *world)
{
    unsigned ctx;
    api_object *object = api_pick(world, &ctx);
    cuvet_summary sum = { .size = sizeof(sum) };
    const void *bytes = NULL;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_status st;
    size_t count = 0;

    if (!object)
        return;
    world->active = object;
    st = cuvet_scan_next(world->ctx[ctx], (cuvet_scan){ object->bits }, &item);
    if (!api_settle(world, object, SCAN, ctx, st))
        return;
    if (object->ctx == ctx && object->kind == SCAN && !object->closed) {
        FZ_CHECK(!object->over || st == CUVET_END, "after its end a scan stays at its end");
        object->over = object->over || st != CUVET_OK;
    }
    api_judge(world, object, SCAN, ctx,
              cuvet_scan_summary(world->ctx[ctx], (cuvet_scan){ object->bits }, &sum));
    api_judge(world, object, SCAN, ctx,
              cuvet_scan_payload(world->ctx[ctx], (cuvet_scan){ object->bits }, &bytes, &count));
    world->hash = fz_mix(fz_mix_bytes(world->hash, bytes, cv_min(count, 64)), (uint64_t)st);
}

static void step_elf(api_world *world)
{
    unsigned ctx;
    api_object *object = api_pick(world, &ctx);
    uint64_t i = fz_edge(&world->ops, 16), j = fz_edge(&world->ops, 16), at = 0;
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_elf_section sec = { .size = sizeof(sec) };
    cuvet_elf_segment seg = { .size = sizeof(seg) };
    cuvet_elf_symbol sym = { .size = sizeof(sym) };
    cuvet_elf_reloc rel = { .size = sizeof(rel) };
    cuvet_bytes name = { 0 };
    cuvet_status st[7];
    cuvet_elf elf;

    if (!object)
        return;
    elf = (cuvet_elf){ object->bits };
    st[0] = cuvet_elf_get_header(world->ctx[ctx], elf, &header);
    st[1] = cuvet_elf_get_section(world->ctx[ctx], elf, i, &sec);
    st[2] = cuvet_elf_get_segment(world->ctx[ctx], elf, i, &seg);
    st[3] = cuvet_elf_get_symbol(world->ctx[ctx], elf, i, j, &sym);
    st[4] = cuvet_elf_get_reloc(world->ctx[ctx], elf, i, j, &rel);
    st[5] = cuvet_elf_get_symtab(world->ctx[ctx], elf, i & CUVET_SYMTAB_MERCURY, &at);
    st[6] = cuvet_elf_get_kernel(world->ctx[ctx], elf, i, &name);
    for (unsigned k = 0; k < CV_COUNT(st); k++) {
        api_judge(world, object, ELF, ctx, st[k]);
        world->hash = fz_mix(world->hash, (uint64_t)st[k]);
    }
    if (st[1] == CUVET_OK)
        world->hash = fz_mix_bytes(fz_mix_bytes(world->hash, sec.name.p, sec.name.n), sec.body.p, sec.body.n);
    world->hash = fz_mix_bytes(world->hash, name.p, name.n);
    world->hash = fz_mix(world->hash, header.extent ^ sym.value ^ rel.off ^ seg.off ^ at);
}

static void refused(const api_world *world, cuvet_status st)
{
    FZ_CHECK(st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND ||
                 world->same_salt,
             "made up: refused");
}

/* Handles nobody gave out. */
static void made_up(api_world *world)
{
    uint64_t bits = fz_edge(&world->ops, 0), flip = fz_u8(&world->ops);
    cuvet_item item = { .size = sizeof(item) };
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_select in;
    unsigned ctx;
    api_object *object = api_pick(world, &ctx);

    if (object && flip & 0x80)
        bits = object->bits ^ UINT64_C(1) << (flip & 63);
    for (unsigned i = 0; i < world->count; i++)
        if (world->obj[i].bits == bits)
            return;
    in.bits = bits;
    refused(world, cuvet_scan_next(world->ctx[0], (cuvet_scan){ bits }, &item));
    refused(world, cuvet_elf_get_header(world->ctx[1], (cuvet_elf){ bits }, &header));
    refused(world, cuvet_select_destroy(world->ctx[bits >> 32 & 1], &in));
}

/* The compiler of these inputs is a callback like any other, and delivers the file. */
static cuvet_status compile(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    api_world *world = user;

    world->hash = fz_mix(world->hash, request->n);
    api_act(world);
    out->bytes = world->in->bytes;
    out->n = world->file;
    return CUVET_OK;
}

static cuvet_select_options config(api_world *world)
{
    cuvet_select_options config = { .size = sizeof(config) };
    uint8_t how = fz_u8(&world->ops);

    /* now and then a target that there is not, or a request */
    if (cuvet_target_get(how & 31, &config.target) != CUVET_OK)
        config.target = (cuvet_target){ 90, how & 1 ? 'f' : 0 };
    config.request = (cuvet_request)(how >> 5 & 3);
    if (how == 0xFF)
        config.request = (cuvet_request)4;
    return config;
}

static void open_input(api_world *world)
{
    const cuvet_compiler cc = { sizeof(cc), compile, world };
    unsigned how = fz_u8(&world->ops), ctx = how & 1;
    cuvet_select_options settings = config(world);
    cuvet_select in = { 1 };
    cuvet_status st;

    if (world->count == OBJECTS)
        return;
    settings.compiler = how & 4 ? NULL : &cc;
    st = cuvet_select_create(world->ctx[ctx], how & 2 ? NULL : &settings, &in);
    FZ_CHECK((st == CUVET_OK) == (in.bits != 0), "a handle comes with OK");
    FZ_CHECK(!(how & 2) || st == CUVET_E_NULL, "and with options");
    if (st == CUVET_OK) {
        api_add(world, INPUT, ctx, in.bits);
        world->obj[world->count - 1].state = CUVET_SELECT_NEW;
    }
    world->hash = fz_mix(world->hash, (uint64_t)st);
}

typedef enum call {
    OPTION,
    BIND,
    BIND_SOURCE,
    SELECT,
    CANCEL_IT,
    GET_OPTION, /* from here on they only look at it */
    GET_CANDIDATE,
    GET_RESULT,
    TAKE_RESULT,
    GET_DIAG,
    GET_LOG,
    CALLS
} call;

/* Calls that change it. */
static cuvet_status change(api_world *world, cuvet_ctx *ctx, cuvet_select in, call what)
{
    uint8_t how = fz_u8(&world->ops);

    switch (what) {
    case OPTION:
        return cuvet_select_add_option(ctx, in, (const char *)world->in->bytes, cv_min(world->file, how));
    case BIND: return cuvet_select_bind(ctx, in, world->in->bytes, world->file, how & 1, NULL);
    case BIND_SOURCE: return cuvet_select_bind_source(ctx, in, &world->src, NULL);
    case SELECT: return cuvet_select_run(ctx, in);
    default: return cuvet_select_cancel(ctx, in);
    }
}

/* Half of the images stay until their context goes. */
static cuvet_status take(api_world *world, unsigned ctx, cuvet_select in)
{
    cuvet_image_info info = { .size = sizeof(info) };
    cuvet_image img = { 1 };
    cuvet_status st = cuvet_select_take_image(world->ctx[ctx], in, &img);

    FZ_CHECK((st == CUVET_OK) == (img.bits != 0), "an image comes with OK");
    if (st != CUVET_OK)
        return st;
    FZ_CHECK(cuvet_image_get_info(world->ctx[ctx], img, &info) == CUVET_OK && info.bytes && info.n, "bytes");
    world->hash = fz_mix_bytes(world->hash, info.bytes, info.n);
    if (fz_u8(&world->ops) & 1) {
        cuvet_image again = img;

        FZ_CHECK(cuvet_image_destroy(world->ctx[ctx], &img) == CUVET_OK && !img.bits, "it ends");
        FZ_CHECK(cuvet_image_destroy(world->ctx[ctx], &again) == CUVET_E_STALE_HANDLE, "once");
    }
    return st;
}

/* Calls that look at it. */
static cuvet_status look(api_world *world, unsigned ctx, cuvet_select in, call what)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) };
    cuvet_select_result result = { .size = sizeof(result) };
    uint64_t i = fz_edge(&world->ops, 4);
    const char *at = NULL;
    cuvet_status st;
    cuvet_diag diag = { .size = sizeof(diag) };
    size_t count = 0;

    switch (what) {
    case GET_OPTION: st = cuvet_select_get_option(world->ctx[ctx], in, (size_t)i, &at, &count); break;
    case GET_CANDIDATE: st = cuvet_select_get_candidate(world->ctx[ctx], in, i, &candidate); break;
    case GET_DIAG: st = cuvet_select_get_diag(world->ctx[ctx], in, i, &diag); break;
    case GET_LOG: st = cuvet_select_get_log(world->ctx[ctx], in, &at, &count); break;
    case TAKE_RESULT: return take(world, ctx, in);
    default: st = cuvet_select_get_result(world->ctx[ctx], in, &result); break;
    }
    FZ_CHECK(!at || at[count] == 0, "text ends where it says");
    world->hash = fz_mix_bytes(fz_mix_bytes(world->hash, at, count), result.bytes, result.n);
    world->hash = fz_mix(world->hash, candidate.header_off ^ candidate.rank << 8 ^ diag.rule);
    return st;
}

/* May it be called in this state? What was taken is no result any more. */
static bool in_state(const api_object *object, call what)
{
    switch (what) {
    case OPTION: return object->state <= CUVET_SELECT_BOUND;
    case BIND:
    case BIND_SOURCE: return object->state == CUVET_SELECT_NEW || object->state == CUVET_SELECT_BOUND;
    case SELECT: return object->state == CUVET_SELECT_BOUND;
    case GET_CANDIDATE: return object->state >= CUVET_SELECT_BOUND;
    case GET_RESULT:
    case TAKE_RESULT: return object->state == CUVET_SELECT_SELECTED && !object->over;
    default: return true;
    }
}

/* The state that the call led to, and that it was one for the call. */
static void follow(api_world *world, api_object *object, call what, cuvet_status st)
{
    cuvet_select_state now;

    FZ_CHECK((st == CUVET_E_STATE) == !in_state(object, what), "STATE when it is not in a state for it");
    if (st == CUVET_OK && (what == BIND || what == BIND_SOURCE))
        object->state = CUVET_SELECT_BOUND;
    if (st != CUVET_E_STATE && what == SELECT)
        object->state = st == CUVET_OK ? CUVET_SELECT_SELECTED : CUVET_SELECT_FAILED;
    object->over = object->over || (st == CUVET_OK && what == TAKE_RESULT);
    FZ_CHECK(cuvet_select_get_state(world->ctx[object->ctx], (cuvet_select){ object->bits }, &now) ==
                 CUVET_OK,
             "state");
    FZ_CHECK(now == object->state, "a state changes with a call that is made for it, and succeeds");
}

static void step_input(api_world *world)
{
    unsigned ctx;
    api_object *object = api_pick(world, &ctx);
    call what = (call)(fz_u8(&world->ops) % CALLS);
    cuvet_select in;
    cuvet_status st;

    if (!object || (object->ctx != ctx && world->same_salt))
        return;
    in.bits = object->bits;
    world->active = object;
    st = what >= GET_OPTION ? look(world, ctx, in, what) : change(world, world->ctx[ctx], in, what);
    if (api_settle(world, object, INPUT, ctx, st) && object->kind == INPUT && object->ctx == ctx &&
        !object->closed)
        follow(world, object, what, st);
}

static void run(api_world *world)
{
    static void (*const STEPS[])(api_world *) = { open_one,   step_scan,  open_one,   step_elf,
                                                  close_one,  step_scan,  made_up,    step_elf,
                                                  open_input, step_input, api_arm,    step_input,
                                                  step_input, step_input, open_input, close_one };

    for (unsigned i = 0; i < 2; i++)
        api_open_context(world, i);
    world->src.size = sizeof(world->src);
    FZ_CHECK(cuvet_source_memory(world->in->bytes, world->file, &world->src) == CUVET_OK, "source");
    for (unsigned i = 0; i < STEPS_MAX && fz_ops_left(&world->ops); i++)
        STEPS[fz_u8(&world->ops) % CV_COUNT(STEPS)](world);
    /* Whatever is still open goes with its context. */
    for (unsigned i = 0; i < 2; i++) {
        cuvet_ctx_destroy(world->ctx[i]);
        api_context_gone(world, i);
    }
}

CV_FUZZ_TARGET(api_sequence)
{
    /* An input from its creation to its end and beyond, one that is destroyed while it is selected; then
     * scans and ELFs. */
    static const uint8_t PROGRAM[] = { 8, 0, 6,    9,    0, 5, 0, 1,  9, 0, 4, 0,    3, 9, 0, 6,  0, 1,
                                       9, 0, 7,    0,    0, 9, 0, 11, 0, 9, 0, 13,   0, 9, 0, 14, 0, 15,
                                       0, 1, 9,    0,    7, 0, 0, 8,  1, 0, 9, 2,    6, 0, 0, 10, 4, 9,
                                       2, 7, 0,    0,    9, 2, 7, 0,  0, 0, 2, 4,    0, 1, 1, 0,  1, 0,
                                       3, 2, 0x15, 0x10, 1, 0, 4, 0,  1, 6, 3, 0x88, 0, 4, 4, 0,  1 };
    unsigned passes;
    uint64_t hash[2] = { 0, 0 };
    cuvet_limits lim = { .size = sizeof(lim) };
    bool salt = false;
    fz_input in;
    size_t count;

    fz_open(&in, data, size);
    fz_limits(0, &lim);
    count = cv_min(in.param & 0xFFFF, in.len);
    passes = fz_one_in(&in, 4) ? 2 : 1;
    for (unsigned pass = 0; pass < passes; pass++) {
        api_world world = { .in = &in,
                            .file = cv_min(in.len - count, FILE_MAX),
                            .lim = &lim,
                            .ops = { PROGRAM, sizeof(PROGRAM), 0 } };

        if (count)
            world.ops = (fz_ops){ in.bytes + in.len - count, count, 0 };
        run(&world);
        hash[pass] = world.hash;
        salt = salt || world.same_salt;
    }
    FZ_CHECK(passes < 2 || salt || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences of calls with right, stale, foreign, swapped and made-up handles in two contexts, against a table
 * of what each handle is; callbacks may destroy what is being used, or its context. The lowest two parameter
 * bytes say how many bytes before the trailer are the program; 0: a built-in one. */
#include <cuvet/cuvet.h>

#include "mutate.h"
#include "scanner.h"

#define OBJECTS   12u
#define STEPS_MAX 48u
#define IMAGES    4u
/* Calls are what is tested here, not what a file holds. */
#define FILE_MAX 2048u

typedef enum object_kind { SCAN, ELF, INPUT } object_kind;

/* What the next callback of a call that uses an object does, once. */
typedef enum deed { NO_DEED, REENTER, CANCEL, DESTROY_ANOTHER, DESTROY_SELF, DESTROY_CONTEXT, DEEDS } deed;

typedef struct object {
    object_kind kind;
    unsigned ctx;
    uint64_t bits;
    bool closed, over;
    cuvet_input_state state;
} object;

typedef struct world {
    const fz_input *in;
    size_t file; /* bytes of the input that are the file */
    cuvet_source src;
    cuvet_ctx *ctx[2];
    fz_alloc alloc[2];
    object obj[OBJECTS];
    unsigned n;
    bool same_salt; /* of both contexts: 1 in 65,536 */
    object *active; /* in use by the call that runs */
    deed next, done;
    cuvet_image image[IMAGES];
    unsigned image_ctx[IMAGES], n_images;
    const cuvet_limits *lim;
    fz_ops ops;
    uint64_t hash;
} world;

static cuvet_status destroy(world *w, const object *o)
{
    cuvet_input in = { o->bits };
    cuvet_scan scan = { o->bits };
    cuvet_elf elf = { o->bits };
    cuvet_status st = CUVET_E_INTERNAL;
    uint64_t left = 0;

    switch (o->kind) {
    case SCAN:
        st = cuvet_scan_destroy(w->ctx[o->ctx], &scan);
        left = scan.bits;
        break;
    case ELF:
        st = cuvet_elf_destroy(w->ctx[o->ctx], &elf);
        left = elf.bits;
        break;
    case INPUT:
        st = cuvet_input_destroy(w->ctx[o->ctx], &in);
        left = in.bits;
        break;
    }
    FZ_CHECK(left == (st == CUVET_OK ? 0 : o->bits), "a handle that was closed becomes 0, others stay");
    return st;
}

/* From a callback: the object is in use, by a call of this very thread. */
static void reenter(const world *w)
{
    cuvet_ctx *c = w->ctx[w->active->ctx];
    cuvet_input in = { w->active->bits };
    cuvet_scan scan = { w->active->bits };
    cuvet_input_state st;
    cuvet_summary sum = { .size = sizeof(sum) };

    if (w->active->kind == INPUT) {
        FZ_CHECK(cuvet_input_select(c, in) == CUVET_E_BUSY, "an input that is in use is busy");
        FZ_CHECK(cuvet_input_get_state(c, in, &st) == CUVET_E_BUSY, "also for a look at it");
        FZ_CHECK(cuvet_scan_summary(c, scan, &sum) == CUVET_E_HANDLE_KIND, "and still no scan");
    } else {
        FZ_CHECK(cuvet_scan_summary(c, scan, &sum) == CUVET_E_BUSY, "a scan that is in use is busy");
        FZ_CHECK(cuvet_input_select(c, in) == CUVET_E_HANDLE_KIND, "and still no input");
    }
}

static void destroy_another(world *w)
{
    for (unsigned i = 0; i < w->n; i++) {
        object *o = &w->obj[i];

        if (o == w->active || o->closed)
            continue;
        FZ_CHECK(destroy(w, o) == CUVET_OK, "another object can be destroyed");
        o->closed = true;
        return;
    }
}

static void act(world *w)
{
    cuvet_ctx *c;

    if (!w->active || w->next == NO_DEED)
        return;
    c = w->ctx[w->active->ctx];
    w->done = w->next;
    w->next = NO_DEED;
    switch (w->done) {
    case REENTER: reenter(w); break;
    case CANCEL:
        FZ_CHECK(cuvet_input_cancel(c, (cuvet_input){ w->active->bits }) ==
                     (w->active->kind == INPUT ? CUVET_OK : CUVET_E_HANDLE_KIND),
                 "cancel is for inputs, at any time");
        break;
    case DESTROY_ANOTHER: destroy_another(w); break;
    case DESTROY_SELF:
        FZ_CHECK(destroy(w, w->active) == CUVET_OK, "destroyed while in use");
        FZ_CHECK(destroy(w, w->active) == CUVET_E_STALE_HANDLE, "and stale at once");
        break;
    case DESTROY_CONTEXT: cuvet_ctx_destroy(c); break;
    case NO_DEED:
    case DEEDS: break;
    }
}

static void on_diag(void *user, const cuvet_diag *d)
{
    world *w = user;

    w->hash = fz_mix(w->hash, fz_diag(d, 0, w->file));
    act(w);
}

static void open_context(world *w, unsigned i)
{
    cuvet_alloc alloc = fz_alloc_of(&w->alloc[i]);
    cuvet_ctx_options opt = { sizeof(opt), &alloc, w->lim, on_diag, w };

    FZ_CHECK(cuvet_ctx_create(&opt, &w->ctx[i]) == CUVET_OK, "a context");
}

/* A context is gone with its objects; what was taken from them stays. */
static void context_gone(world *w, unsigned ctx)
{
    unsigned k = 0;

    for (unsigned i = 0; i < w->n_images; i++) {
        if (w->image_ctx[i] != ctx)
            continue;
        w->hash = fz_mix_bytes(w->hash, w->image[i].bytes, w->image[i].n);
        cuvet_image_destroy(&w->image[i]);
        FZ_CHECK(!w->image[i].bytes && !w->image[i].n, "an image that was released is none");
    }
    FZ_CHECK(w->alloc[ctx].live == 0, "nothing stays allocated");
    for (unsigned i = 0; i < w->n; i++)
        if (w->obj[i].ctx != ctx)
            w->obj[k++] = w->obj[i];
    w->n = k;
}

static void add(world *w, object_kind kind, unsigned ctx, uint64_t bits)
{
    FZ_CHECK(bits != 0, "an object has a handle");
    for (unsigned i = 0; i < w->n; i++) {
        FZ_CHECK(w->obj[i].ctx != ctx || w->obj[i].bits != bits, "a handle is never given out twice");
        if (w->obj[i].ctx != ctx && (uint16_t)(w->obj[i].bits >> 16) == (uint16_t)(bits >> 16))
            w->same_salt = true;
    }
    w->obj[w->n++] = (object){ .kind = kind, .ctx = ctx, .bits = bits };
}

static void open_one(world *w)
{
    unsigned how = fz_u8(&w->ops), ctx = how & 1;
    cuvet_scan_options opt = { .size = sizeof(opt),
                               .depth = how & 2 ? CUVET_DEPTH_HEADERS : CUVET_DEPTH_FULL };
    cuvet_scan scan = { 0 };
    cuvet_elf elf = { 0 };
    cuvet_status st;

    if (w->n == OBJECTS)
        return;
    if (how & 4) {
        st = cuvet_elf_create(w->ctx[ctx], w->in->bytes, w->file, &elf);
        FZ_CHECK((st == CUVET_OK) == (elf.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            add(w, ELF, ctx, elf.bits);
    } else {
        st = cuvet_scan_create(w->ctx[ctx], &w->src, &opt, &scan);
        FZ_CHECK((st == CUVET_OK) == (scan.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            add(w, SCAN, ctx, scan.bits);
    }
    w->hash = fz_mix(w->hash, (uint64_t)st);
}

/* What a call for 'want' must say about the handle of o used in context ctx. */
static void judge(const world *w, const object *o, object_kind want, unsigned ctx, cuvet_status st)
{
    bool handle = st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND;

    FZ_CHECK(st != CUVET_E_INTERNAL && st != CUVET_E_BUSY && st != CUVET_E_POISONED,
             "misuse is no error of ours");
    if (o->ctx != ctx) {
        FZ_CHECK(handle || w->same_salt, "another context's handle is refused");
        FZ_CHECK(w->same_salt || st == CUVET_E_HANDLE, "as no handle at all");
    } else if (o->closed) {
        FZ_CHECK(st == CUVET_E_STALE_HANDLE, "a closed handle is stale");
    } else if (o->kind != want) {
        FZ_CHECK(st == CUVET_E_HANDLE_KIND, "a handle of another kind is named so");
    } else {
        FZ_CHECK(!handle, "a good handle is taken");
    }
}

static object *pick(world *w, unsigned *ctx)
{
    unsigned how = fz_u8(&w->ops);
    object *o = w->n ? &w->obj[(how >> 1) % w->n] : NULL;

    *ctx = o && how & 1 ? fz_u8(&w->ops) & 1 : o ? o->ctx : 0;
    return o;
}

/* After a call that may have run callbacks. False: its context is gone, and o with it. */
static bool settle(world *w, object *o, object_kind want, unsigned ctx, cuvet_status st)
{
    deed done = w->done;

    w->active = NULL;
    w->done = NO_DEED;
    w->hash = fz_mix(w->hash, (uint64_t)st);
    if (done == DESTROY_SELF || done == DESTROY_CONTEXT)
        FZ_CHECK(st == CUVET_E_STALE_HANDLE, "a call whose object goes tells so");
    else
        judge(w, o, want, ctx, st);
    if (done == DESTROY_SELF)
        o->closed = true;
    if (done != DESTROY_CONTEXT)
        return true;
    context_gone(w, ctx);
    open_context(w, ctx);
    return false;
}

static void arm(world *w)
{
    w->next = (deed)(fz_u8(&w->ops) % DEEDS);
}

static void close_one(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    bool other = (fz_u8(&w->ops) & 15) == 0;
    cuvet_status st;
    object as;

    if (!o || (o->ctx != ctx && w->same_salt))
        return;
    as = *o;
    as.ctx = ctx;
    if (other)
        as.kind = o->kind == SCAN ? ELF : o->kind == ELF ? INPUT : SCAN;
    st = destroy(w, &as);
    judge(w, o, as.kind, ctx, st);
    if (st == CUVET_OK)
        o->closed = true;
}

static void step_scan(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    cuvet_summary sum = { .size = sizeof(sum) };
    const void *bytes = NULL;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_status st;
    size_t n = 0;

    if (!o)
        return;
    w->active = o;
    st = cuvet_scan_next(w->ctx[ctx], (cuvet_scan){ o->bits }, &item);
    if (!settle(w, o, SCAN, ctx, st))
        return;
    if (o->ctx == ctx && o->kind == SCAN && !o->closed) {
        FZ_CHECK(!o->over || st == CUVET_END, "after its end a scan stays at its end");
        o->over = o->over || st != CUVET_OK;
    }
    judge(w, o, SCAN, ctx, cuvet_scan_summary(w->ctx[ctx], (cuvet_scan){ o->bits }, &sum));
    judge(w, o, SCAN, ctx, cuvet_scan_payload(w->ctx[ctx], (cuvet_scan){ o->bits }, &bytes, &n));
    w->hash = fz_mix(fz_mix_bytes(w->hash, bytes, cv_min(n, 64)), (uint64_t)st);
}

static void step_elf(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    uint64_t i = fz_edge(&w->ops, 16), j = fz_edge(&w->ops, 16), at = 0;
    cuvet_elf_header h = { .size = sizeof(h) };
    cuvet_elf_section sec = { .size = sizeof(sec) };
    cuvet_elf_segment seg = { .size = sizeof(seg) };
    cuvet_elf_symbol sym = { .size = sizeof(sym) };
    cuvet_elf_reloc rel = { .size = sizeof(rel) };
    cuvet_bytes name = { 0 };
    cuvet_status st[7];
    cuvet_elf e;

    if (!o)
        return;
    e = (cuvet_elf){ o->bits };
    st[0] = cuvet_elf_get_header(w->ctx[ctx], e, &h);
    st[1] = cuvet_elf_get_section(w->ctx[ctx], e, i, &sec);
    st[2] = cuvet_elf_get_segment(w->ctx[ctx], e, i, &seg);
    st[3] = cuvet_elf_get_symbol(w->ctx[ctx], e, i, j, &sym);
    st[4] = cuvet_elf_get_reloc(w->ctx[ctx], e, i, j, &rel);
    st[5] = cuvet_elf_get_symtab(w->ctx[ctx], e, (i & 1) != 0, &at);
    st[6] = cuvet_elf_get_kernel(w->ctx[ctx], e, i, &name);
    for (unsigned k = 0; k < CV_COUNT(st); k++) {
        judge(w, o, ELF, ctx, st[k]);
        w->hash = fz_mix(w->hash, (uint64_t)st[k]);
    }
    if (st[1] == CUVET_OK)
        w->hash = fz_mix_bytes(fz_mix_bytes(w->hash, sec.name.p, sec.name.n), sec.body.p, sec.body.n);
    w->hash = fz_mix_bytes(w->hash, name.p, name.n);
    w->hash = fz_mix(w->hash, h.extent ^ sym.value ^ rel.off ^ seg.off ^ at);
}

static void refused(const world *w, cuvet_status st)
{
    FZ_CHECK(st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND || w->same_salt,
             "made up: refused");
}

/* Handles nobody gave out. */
static void made_up(world *w)
{
    uint64_t bits = fz_edge(&w->ops, 0), flip = fz_u8(&w->ops);
    cuvet_item item = { .size = sizeof(item) };
    cuvet_elf_header h = { .size = sizeof(h) };
    cuvet_input in;
    unsigned ctx;
    object *o = pick(w, &ctx);

    if (o && flip & 0x80)
        bits = o->bits ^ UINT64_C(1) << (flip & 63);
    for (unsigned i = 0; i < w->n; i++)
        if (w->obj[i].bits == bits)
            return;
    in.bits = bits;
    refused(w, cuvet_scan_next(w->ctx[0], (cuvet_scan){ bits }, &item));
    refused(w, cuvet_elf_get_header(w->ctx[1], (cuvet_elf){ bits }, &h));
    refused(w, cuvet_input_destroy(w->ctx[bits >> 32 & 1], &in));
}

/* The compiler of these inputs is a callback like any other, and delivers the file. */
static cuvet_status compile(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    world *w = user;

    w->hash = fz_mix(w->hash, q->n);
    act(w);
    out->bytes = w->in->bytes;
    out->n = w->file;
    return CUVET_OK;
}

static cuvet_input_config config(world *w)
{
    cuvet_input_config c = { .size = sizeof(c) };
    uint8_t how = fz_u8(&w->ops);

    /* now and then a target that there is not, or a request */
    if (cuvet_target_get(how & 31, &c.target) != CUVET_OK)
        c.target = (cuvet_target){ 90, how & 1 ? 'f' : 0 };
    c.request = (cuvet_request)(how >> 5 & 3);
    if (how == 0xFF)
        c.request = (cuvet_request)4;
    return c;
}

static void open_input(world *w)
{
    unsigned how = fz_u8(&w->ops), ctx = how & 1;
    cuvet_input_config c = config(w);
    cuvet_input in = { 1 };
    cuvet_status st;

    if (w->n == OBJECTS)
        return;
    st = cuvet_input_create(w->ctx[ctx], how & 2 ? NULL : &c, &in);
    FZ_CHECK((st == CUVET_OK) == (in.bits != 0), "a handle comes with OK");
    if (st == CUVET_OK) {
        add(w, INPUT, ctx, in.bits);
        w->obj[w->n - 1].state = how & 2 ? CUVET_INPUT_NEW : CUVET_INPUT_CONFIGURED;
    }
    w->hash = fz_mix(w->hash, (uint64_t)st);
}

typedef enum call {
    CONFIGURE,
    SET_TARGET,
    SET_REQUEST,
    SET_ADDRESS32,
    OPTION,
    SET_COMPILER,
    BIND,
    SELECT,
    CANCEL_IT,
    GET_CONFIG, /* from here on they only look at it */
    GET_OPTION,
    GET_CANDIDATE,
    GET_RESULT,
    TAKE_RESULT,
    GET_DIAG,
    GET_LOG,
    CALLS
} call;

/* Calls that change it. */
static cuvet_status change(world *w, cuvet_ctx *ctx, cuvet_input in, call what)
{
    const cuvet_compiler cc = { sizeof(cc), compile, w };
    cuvet_input_config c = config(w);
    uint8_t how = fz_u8(&w->ops);

    switch (what) {
    case CONFIGURE: return cuvet_input_configure(ctx, in, &c);
    case SET_TARGET: return cuvet_input_set_target(ctx, in, c.target);
    case SET_REQUEST: return cuvet_input_set_request(ctx, in, c.request);
    case SET_ADDRESS32: return cuvet_input_set_flags(ctx, in, how & 1);
    case OPTION: return cuvet_input_option(ctx, in, (const char *)w->in->bytes, cv_min(w->file, how));
    case SET_COMPILER: return cuvet_input_set_compiler(ctx, in, how & 7 ? &cc : NULL);
    case BIND: return cuvet_input_bind(ctx, in, w->in->bytes, w->file, how & 1, NULL);
    case SELECT: return cuvet_input_select(ctx, in);
    default: return cuvet_input_cancel(ctx, in);
    }
}

static cuvet_status take(world *w, unsigned ctx, cuvet_input in)
{
    cuvet_image img = { .size = sizeof(img) };
    cuvet_status st = cuvet_input_take_result(w->ctx[ctx], in, &img);

    FZ_CHECK((st == CUVET_OK) == (img.bytes != NULL), "an image comes with OK");
    if (st == CUVET_OK && w->n_images < IMAGES) {
        w->image_ctx[w->n_images] = ctx;
        w->image[w->n_images++] = img;
    } else {
        cuvet_image_destroy(&img);
    }
    return st;
}

/* Calls that look at it. */
static cuvet_status look(world *w, unsigned ctx, cuvet_input in, call what)
{
    cuvet_input_config c = { 0 };
    cuvet_candidate k = { .size = sizeof(k) };
    cuvet_result r = { .size = sizeof(r) };
    uint64_t i = fz_edge(&w->ops, 4);
    const char *p = NULL;
    cuvet_status st;
    cuvet_diag d = { .size = sizeof(d) };
    size_t n = 0;

    switch (what) {
    case GET_CONFIG: st = cuvet_input_get_config(w->ctx[ctx], in, &c); break;
    case GET_OPTION: st = cuvet_input_get_option(w->ctx[ctx], in, (size_t)i, &p, &n); break;
    case GET_CANDIDATE: st = cuvet_input_get_candidate(w->ctx[ctx], in, i, &k); break;
    case GET_DIAG: st = cuvet_input_get_diag(w->ctx[ctx], in, i, &d); break;
    case GET_LOG: st = cuvet_input_get_log(w->ctx[ctx], in, &p, &n); break;
    case TAKE_RESULT: return take(w, ctx, in);
    default: st = cuvet_input_get_result(w->ctx[ctx], in, &r); break;
    }
    FZ_CHECK(!p || p[n] == 0, "text ends where it says");
    w->hash = fz_mix_bytes(fz_mix_bytes(w->hash, p, n), r.bytes, r.n);
    w->hash = fz_mix(fz_mix(w->hash, c.target.sm ^ c.threads << 8), k.header_off ^ k.rank << 8 ^ d.rule);
    return st;
}

/* May it be called in this state? What was taken is no result any more. */
static bool in_state(const object *o, call what)
{
    switch (what) {
    case CONFIGURE:
    case SET_TARGET: return o->state <= CUVET_INPUT_CONFIGURED;
    case SET_REQUEST:
    case SET_ADDRESS32: return o->state == CUVET_INPUT_CONFIGURED;
    case OPTION:
    case SET_COMPILER: return o->state <= CUVET_INPUT_BOUND;
    case BIND: return o->state == CUVET_INPUT_CONFIGURED || o->state == CUVET_INPUT_BOUND;
    case SELECT: return o->state == CUVET_INPUT_BOUND;
    case GET_CONFIG: return o->state != CUVET_INPUT_NEW;
    case GET_CANDIDATE: return o->state >= CUVET_INPUT_BOUND;
    case GET_RESULT:
    case TAKE_RESULT: return o->state == CUVET_INPUT_SELECTED && !o->over;
    default: return true;
    }
}

/* The state that the call led to, and that it was one for the call. */
static void follow(world *w, object *o, call what, cuvet_status st)
{
    cuvet_input_state now;

    FZ_CHECK((st == CUVET_E_STATE) == !in_state(o, what), "STATE when it is not in a state for it");
    if (st == CUVET_OK && (what == CONFIGURE || what == SET_TARGET))
        o->state = CUVET_INPUT_CONFIGURED;
    if (st == CUVET_OK && what == BIND)
        o->state = CUVET_INPUT_BOUND;
    if (st != CUVET_E_STATE && what == SELECT)
        o->state = st == CUVET_OK ? CUVET_INPUT_SELECTED : CUVET_INPUT_FAILED;
    o->over = o->over || (st == CUVET_OK && what == TAKE_RESULT);
    FZ_CHECK(cuvet_input_get_state(w->ctx[o->ctx], (cuvet_input){ o->bits }, &now) == CUVET_OK, "state");
    FZ_CHECK(now == o->state, "a state changes with a call that is made for it, and succeeds");
}

static void step_input(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    call what = (call)(fz_u8(&w->ops) % CALLS);
    cuvet_input in;
    cuvet_status st;

    if (!o || (o->ctx != ctx && w->same_salt))
        return;
    in.bits = o->bits;
    w->active = o;
    st = what >= GET_CONFIG ? look(w, ctx, in, what) : change(w, w->ctx[ctx], in, what);
    if (settle(w, o, INPUT, ctx, st) && o->kind == INPUT && o->ctx == ctx && !o->closed)
        follow(w, o, what, st);
}

static void run(world *w)
{
    static void (*const STEPS[])(world *) = { open_one,   step_scan,  open_one,   step_elf,
                                              close_one,  step_scan,  made_up,    step_elf,
                                              open_input, step_input, arm,        step_input,
                                              step_input, step_input, open_input, close_one };

    for (unsigned i = 0; i < 2; i++)
        open_context(w, i);
    w->src.size = sizeof(w->src);
    FZ_CHECK(cuvet_source_memory(w->in->bytes, w->file, &w->src) == CUVET_OK, "source");
    for (unsigned i = 0; i < STEPS_MAX && fz_ops_left(&w->ops); i++)
        STEPS[fz_u8(&w->ops) % CV_COUNT(STEPS)](w);
    /* Whatever is still open goes with its context. */
    for (unsigned i = 0; i < 2; i++) {
        cuvet_ctx_destroy(w->ctx[i]);
        context_gone(w, i);
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
    uint64_t hash[2];
    cuvet_limits lim = { .size = sizeof(lim) };
    bool salt = false;
    fz_input in;
    size_t n;

    fz_open(&in, data, size);
    fz_limits(0, &lim);
    n = cv_min(in.param & 0xFFFF, in.len);
    for (unsigned pass = 0; pass < 2; pass++) {
        world w = { .in = &in,
                    .file = cv_min(in.len - n, FILE_MAX),
                    .lim = &lim,
                    .ops = { PROGRAM, sizeof(PROGRAM), 0 } };

        if (n)
            w.ops = (fz_ops){ in.bytes + in.len - n, n, 0 };
        run(&w);
        hash[pass] = w.hash;
        salt = salt || w.same_salt;
    }
    FZ_CHECK(salt || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)

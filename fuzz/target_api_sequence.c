/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sequences of calls with right, stale, foreign, swapped and made-up handles in two contexts, against a table
 * of what each handle is. The lowest two parameter bytes say how many bytes before the trailer are the
 * program; 0: a built-in one. */
#include <cuvet/cuvet.h>

#include "mutate.h"
#include "scanner.h"

#define OBJECTS   12u
#define STEPS_MAX 32u
/* Calls are what is tested here, not what a file holds. */
#define FILE_MAX 2048u

typedef enum what { NOTHING, SCAN, ELF } what;

typedef struct object {
    what kind;
    unsigned ctx;
    uint64_t bits;
    bool closed, over;
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
    fz_ops ops;
    uint64_t hash;
} world;

static void on_diag(void *user, const cuvet_diag *d)
{
    world *w = user;

    w->hash = fz_mix(w->hash, fz_diag(d, 0, w->file));
}

static void add(world *w, what kind, unsigned ctx, uint64_t bits)
{
    FZ_CHECK(bits != 0, "an object has a handle");
    for (unsigned i = 0; i < w->n; i++) {
        FZ_CHECK(w->obj[i].ctx != ctx || w->obj[i].bits != bits, "a handle is never given out twice");
        if (w->obj[i].ctx != ctx && (uint16_t)(w->obj[i].bits >> 16) == (uint16_t)(bits >> 16))
            w->same_salt = true;
    }
    w->obj[w->n++] = (object){ kind, ctx, bits, false, false };
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
        st = cuvet_elf_open(w->ctx[ctx], w->in->bytes, w->file, &elf);
        FZ_CHECK((st == CUVET_OK) == (elf.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            add(w, ELF, ctx, elf.bits);
    } else {
        st = cuvet_scan_open(w->ctx[ctx], &w->src, &opt, &scan);
        FZ_CHECK((st == CUVET_OK) == (scan.bits != 0), "a handle comes with OK");
        if (st == CUVET_OK)
            add(w, SCAN, ctx, scan.bits);
    }
    w->hash = fz_mix(w->hash, (uint64_t)st);
}

/* What a call for 'want' must say about the handle of o used in context ctx. */
static void judge(const world *w, const object *o, what want, unsigned ctx, cuvet_status st)
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

static void close_one(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    what want = fz_u8(&w->ops) & 15 ? NOTHING : SCAN;
    cuvet_status st;
    uint64_t bits;

    if (!o || (o->ctx != ctx && w->same_salt))
        return;
    bits = o->bits;
    want = want == NOTHING ? o->kind : o->kind == SCAN ? ELF : SCAN;
    if (want == SCAN) {
        cuvet_scan h = { bits };

        st = cuvet_scan_close(w->ctx[ctx], &h);
        bits = h.bits;
    } else {
        cuvet_elf h = { bits };

        st = cuvet_elf_close(w->ctx[ctx], &h);
        bits = h.bits;
    }
    judge(w, o, want, ctx, st);
    FZ_CHECK((st == CUVET_OK) == (bits == 0), "a handle that was closed becomes 0, others stay");
    if (st == CUVET_OK)
        o->closed = true;
}

static void step_scan(world *w)
{
    unsigned ctx;
    object *o = pick(w, &ctx);
    cuvet_summary sum = { 0 };
    const void *bytes = NULL;
    cuvet_item item;
    cuvet_status st;
    size_t n = 0;

    if (!o)
        return;
    st = cuvet_scan_next(w->ctx[ctx], (cuvet_scan){ o->bits }, &item);
    judge(w, o, SCAN, ctx, st);
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
    cuvet_elf_header h = { 0 };
    cuvet_elf_section sec = { 0 };
    cuvet_elf_segment seg = { 0 };
    cuvet_elf_symbol sym = { 0 };
    cuvet_elf_reloc rel = { 0 };
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
    st[5] = cuvet_elf_symtab(w->ctx[ctx], e, (i & 1) != 0, &at);
    st[6] = cuvet_elf_kernel(w->ctx[ctx], e, i, &name);
    for (unsigned k = 0; k < CV_COUNT(st); k++) {
        judge(w, o, ELF, ctx, st[k]);
        w->hash = fz_mix(w->hash, (uint64_t)st[k]);
    }
    if (st[1] == CUVET_OK)
        w->hash = fz_mix_bytes(fz_mix_bytes(w->hash, sec.name.p, sec.name.n), sec.body.p, sec.body.n);
    w->hash = fz_mix_bytes(w->hash, name.p, name.n);
    w->hash = fz_mix(w->hash, h.extent ^ sym.value ^ rel.off ^ seg.off ^ at);
}

/* Handles nobody gave out. */
static void made_up(world *w)
{
    uint64_t bits = fz_edge(&w->ops, 0), flip = fz_u8(&w->ops);
    cuvet_item item;
    cuvet_elf_header h;
    cuvet_status st;
    unsigned ctx;
    object *o = pick(w, &ctx);

    if (o && flip & 0x80)
        bits = o->bits ^ UINT64_C(1) << (flip & 63);
    for (unsigned i = 0; i < w->n; i++)
        if (w->obj[i].bits == bits)
            return;
    st = cuvet_scan_next(w->ctx[0], (cuvet_scan){ bits }, &item);
    FZ_CHECK(st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND || w->same_salt,
             "made up: refused");
    st = cuvet_elf_get_header(w->ctx[1], (cuvet_elf){ bits }, &h);
    FZ_CHECK(st == CUVET_E_HANDLE || st == CUVET_E_STALE_HANDLE || st == CUVET_E_HANDLE_KIND || w->same_salt,
             "made up: refused");
}

static void run(world *w, const cuvet_limits *lim)
{
    static void (*const STEPS[])(world *) = { open_one,  step_scan, open_one, step_elf,
                                              close_one, step_scan, made_up,  step_elf };

    for (unsigned i = 0; i < 2; i++) {
        cuvet_alloc alloc = fz_alloc_of(&w->alloc[i]);
        cuvet_ctx_options opt = { sizeof(opt), &alloc, lim, on_diag, w };

        FZ_CHECK(cuvet_ctx_create(&opt, &w->ctx[i]) == CUVET_OK, "a context");
    }
    FZ_CHECK(cuvet_source_memory(w->in->bytes, w->file, &w->src) == CUVET_OK, "source");
    for (unsigned i = 0; i < STEPS_MAX && fz_ops_left(&w->ops); i++)
        STEPS[fz_u8(&w->ops) % CV_COUNT(STEPS)](w);
    /* Whatever is still open goes with its context. */
    for (unsigned i = 0; i < 2; i++) {
        cuvet_ctx_destroy(w->ctx[i]);
        FZ_CHECK(w->alloc[i].live == 0, "nothing stays allocated");
    }
}

CV_FUZZ_TARGET(api_sequence)
{
    static const uint8_t PROGRAM[] = { 0, 0, 2,    4, 0, 1, 1, 0, 1, 0, 3, 2, 0x15, 0x10, 1,
                                       0, 4, 0,    1, 1, 0, 4, 2, 1, 3, 2, 0, 5,    1,    0,
                                       6, 3, 0x88, 0, 4, 4, 0, 1, 4, 3, 4, 0, 0x20 };
    uint64_t hash[2];
    cuvet_limits lim;
    bool salt = false;
    fz_input in;
    size_t n;

    fz_open(&in, data, size);
    fz_limits(0, &lim);
    n = cv_min(in.param & 0xFFFF, in.len);
    for (unsigned pass = 0; pass < 2; pass++) {
        world w = { .in = &in, .file = cv_min(in.len - n, FILE_MAX), .ops = { PROGRAM, sizeof(PROGRAM), 0 } };

        if (n)
            w.ops = (fz_ops){ in.bytes + in.len - n, n, 0 };
        run(&w, &lim);
        hash[pass] = w.hash;
        salt = salt || w.same_salt;
    }
    FZ_CHECK(salt || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

CV_FUZZ_MUTATOR(cv_mutate_file)

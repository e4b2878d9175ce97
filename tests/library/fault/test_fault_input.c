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

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* Everything that can be seen of an input from outside, as numbers. */
typedef struct picture {
    uint64_t state, config, options, candidates, result, log, diags, n_diags;
} picture;

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

typedef struct world {
    heap h;
    const scenario *sc;
    const uint8_t *bytes;
    size_t n;
    cuvet_ctx *ctx;
    cuvet_input in;
    cuvet_image image;
    unsigned long calls, releases; /* of the compiler */
    bool said_live;                /* a diagnostic named the memory limit since the last step */
} world;

static uint64_t mix(uint64_t h, uint64_t v)
{
    return (h ^ v ^ h >> 31) * UINT64_C(0x9E3779B97F4A7C15);
}

static uint64_t mix_bytes(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = mix(h, ((const uint8_t *)p)[i]);
    return mix(h, n);
}

static uint64_t mix_path(uint64_t h, const cuvet_path *p)
{
    for (uint32_t i = 0; i < p->n; i++)
        h = mix(h, p->step[i].index << 8 | p->step[i].kind);
    return mix(h, p->n);
}

static uint64_t mix_candidate(uint64_t h, const cuvet_candidate *c)
{
    h = mix(mix_path(h, &c->where), (uint64_t)c->kind << 40 | (uint64_t)(uint8_t)c->suffix << 32 | c->sm);
    h = mix(h, (uint64_t)c->reason << 40 | (uint64_t)c->rank << 8 | c->chosen | c->first_container << 1);
    h = mix(mix(h, c->container_off), c->header_off);
    return mix(mix(mix(mix(h, c->payload_off), c->stored_size), c->flags), c->depth);
}

static void look_at_lists(const world *w, picture *p)
{
    cuvet_candidate c = { .size = sizeof(c) };
    const char *text;
    cuvet_diag d = { .size = sizeof(d) };
    size_t n;

    for (uint64_t i = 0; cuvet_input_get_candidate(w->ctx, w->in, i, &c) == CUVET_OK; i++)
        p->candidates = mix_candidate(p->candidates, &c);
    for (size_t i = 0; cuvet_input_get_option(w->ctx, w->in, i, &text, &n) == CUVET_OK; i++) {
        ck_assert_uint_eq(strlen(text), n);
        p->options = mix_bytes(p->options, text, n);
    }
    while (cuvet_input_get_diag(w->ctx, w->in, p->n_diags, &d) == CUVET_OK) {
        p->diags = mix(mix(mix(p->diags, d.rule), d.file_off), d.inner_off);
        p->diags = mix_path(mix(mix(p->diags, d.got), d.want), &d.where);
        p->n_diags++;
    }
}

/* Needs no memory, so it may be done at any time. */
static picture look(const world *w)
{
    cuvet_input_config c = { .size = sizeof(c) };
    cuvet_input_state st;
    picture p = { 0 };
    cuvet_result r = { .size = sizeof(r) };
    const char *text;
    size_t n;

    ck_assert_int_eq(cuvet_input_get_state(w->ctx, w->in, &st), CUVET_OK);
    p.state = (uint64_t)st;
    ck_assert_int_eq(cuvet_input_get_config(w->ctx, w->in, &c), CUVET_OK);
    p.config = mix(mix(mix(0, c.target.sm), (uint8_t)c.target.suffix), (uint64_t)c.request);
    p.config = mix(mix(mix(p.config, (uint64_t)c.policy), c.toolkit), c.threads);
    ck_assert_int_eq(cuvet_input_get_log(w->ctx, w->in, &text, &n), CUVET_OK);
    p.log = mix_bytes(0, text, n);
    if (cuvet_input_get_result(w->ctx, w->in, &r) == CUVET_OK)
        p.result = mix(mix_bytes(mix(r.sm, (uint64_t)r.kind), r.bytes, r.n), r.candidate << 1 | r.compiled);
    look_at_lists(w, &p);
    return p;
}

static void ck_same(const picture *a, const picture *b, enum step s, unsigned long at)
{
    const char *name = STEP_NAME[s];

    ck_assert_msg(a->state == b->state, "%s, allocation %lu: state", name, at);
    ck_assert_msg(a->config == b->config, "%s, allocation %lu: config", name, at);
    ck_assert_msg(a->options == b->options, "%s, allocation %lu: options", name, at);
    ck_assert_msg(a->candidates == b->candidates, "%s, allocation %lu: candidates", name, at);
    ck_assert_msg(a->result == b->result, "%s, allocation %lu: result", name, at);
    ck_assert_msg(a->log == b->log, "%s, allocation %lu: log", name, at);
    ck_assert_msg(a->n_diags == b->n_diags, "%s, allocation %lu: %lu diagnostics, not %lu", name, at,
                  (unsigned long)b->n_diags, (unsigned long)a->n_diags);
    ck_assert_msg(a->diags == b->diags, "%s, allocation %lu: diagnostics", name, at);
}

static void said(void *u, const cuvet_diag *d)
{
    const cuvet_rule_info *r = cuvet_rule_get(d->rule);

    ck_assert(r != NULL);
    if (strcmp(r->id, "CV-LIMIT-013") == 0)
        ((world *)u)->said_live = true;
}

static void give_back(cuvet_compile_result *r, void *u)
{
    ((world *)u)->releases++;
    free(r->bytes);
}

/* The sample for the target, in memory that the heap of the library knows nothing of. */
static cuvet_status compile(void *u, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    world *w = u;
    const uint8_t *p;

    w->calls++;
    ck_assert_uint_ge(q->n_options, 2);
    out->release = give_back;
    if (heap_fails(&w->h))
        return CUVET_E_NOMEM;
    p = sample("plain.sm_90.rdc.cubin", &out->n, 2);
    out->bytes = malloc(out->n);
    memcpy(out->bytes, p, out->n);
    out->log = (char *)(uintptr_t) "a word\n";
    out->n_log = 7;
    return CUVET_OK;
}

/* A container whose one member is a container, packed or not. */
static void wrap(fb *f, bool packed)
{
    static fb inner;
    static uint8_t small[FATBIN_MAX];
    uint64_t full;
    size_t n;

    inner = *f;
    full = inner.n;
    n = packed ? ZSTD_compress(small, sizeof(small), inner.bytes, inner.n, 3) : 0;
    ck_assert(!ZSTD_isError(n));
    f->n = 0;
    fb_begin(f);
    fb_bytes(f, 2, 90, 0, packed ? small : inner.bytes, packed ? n : inner.n);
    if (packed) {
        memcpy(f->bytes + 16 + 16, &n, 4);    /* packed bytes */
        f->bytes[16 + 41] |= 0x80;            /* zstd */
        memcpy(f->bytes + 16 + 56, &full, 8); /* unpacked bytes */
    }
    fb_end(f);
}

static const uint8_t *payload(const char *name, size_t *n)
{
    static fb f;

    if (strncmp(name, "nested", 6) == 0) {
        fb_make(&f, "sm_75 sm_90");
        for (unsigned i = 0; i < 2; i++)
            wrap(&f, name[6] != 0);
    } else if (*name == '=') {
        fb_make(&f, name + 1);
    } else {
        return sample(name, n, 0);
    }
    *n = f.n;
    return f.bytes;
}

static cuvet_status create(world *w)
{
    const cuvet_input_config c = {
        .size = sizeof(c), .target = w->sc->target, .request = w->sc->request, .threads = 3
    };
    const cuvet_compiler cc = { sizeof(cc), compile, w };
    cuvet_status s = cuvet_input_create(w->ctx, &c, &w->in);

    ck_assert((s == CUVET_OK) == (w->in.bits != 0));
    if (s == CUVET_OK && w->sc->compiler)
        ck_assert_int_eq(cuvet_input_set_compiler(w->ctx, w->in, &cc), CUVET_OK);
    return s;
}

static cuvet_status take(world *w)
{
    cuvet_status s = cuvet_input_take_result(w->ctx, w->in, &w->image);

    ck_assert((s == CUVET_OK) == (w->image.bytes != NULL));
    return s;
}

static cuvet_status do_step(world *w, enum step s)
{
    char text[300];
    const uint8_t *first;
    size_t n;

    w->said_live = false;
    switch (s) {
    case CREATE: return create(w);
    case OPTION: return cuvet_input_option(w->ctx, w->in, "-v", 2);
    case FIRST_BIND:
        first = sample("nocode.sm_75.rdc.cubin", &n, 1);
        return cuvet_input_bind(w->ctx, w->in, first, n, w->sc->flags, NULL);
    case BIND: return cuvet_input_bind(w->ctx, w->in, w->bytes, w->n, w->sc->flags, NULL);
    case MORE_OPTION: /* long enough for the room to grow again */
        memset(text, 'x', sizeof(text));
        memcpy(text, "-O", 2);
        return cuvet_input_option(w->ctx, w->in, text, sizeof(text));
    case SELECT: return cuvet_input_select(w->ctx, w->in);
    case TAKE: return take(w);
    case STEPS: break;
    }
    return CUVET_E_INTERNAL;
}

static cuvet_status wanted(const world *w, enum step s)
{
    if (s == SELECT)
        return w->sc->select;
    return s == TAKE && w->sc->select != CUVET_OK ? CUVET_E_STATE : CUVET_OK;
}

static cuvet_status begin(world *w, const scenario *sc, const cuvet_limits *lim)
{
    const cuvet_alloc a = heap_alloc(&w->h);
    cuvet_ctx_options opt = { sizeof(opt), &a, lim, said, w };

    w->sc = sc;
    w->image.size = sizeof(w->image);
    w->bytes = payload(sc->payload, &w->n);
    return cuvet_ctx_create(&opt, &w->ctx);
}

/* In the order that 'how' says: the image before or after the rest, the input by itself or with its context.
 */
static void finish(world *w, unsigned how)
{
    if (how & 1)
        cuvet_image_destroy(&w->image);
    if (w->in.bits && how & 2)
        ck_assert_int_eq(cuvet_input_destroy(w->ctx, &w->in), CUVET_OK);
    cuvet_ctx_destroy(w->ctx);
    cuvet_image_destroy(&w->image);
    ck_assert_int_eq(w->h.live, 0);
    ck_assert_uint_eq(w->calls, w->releases);
}

/* As it goes when nothing fails: the pictures after each step. */
static void reference(const scenario *sc, picture pic[STEPS])
{
    world w = { 0 };

    ck_assert_int_eq(begin(&w, sc, NULL), CUVET_OK);
    for (enum step s = CREATE; s < STEPS; s++) {
        cuvet_status st = do_step(&w, s);

        ck_assert_msg(st == wanted(&w, s), "%s: %s", STEP_NAME[s], cuvet_status_name(st));
        pic[s] = look(&w);
    }
    ck_assert_int_eq(pic[BIND].state, CUVET_INPUT_BOUND);
    ck_assert_int_eq(pic[SELECT].state, sc->select == CUVET_OK ? CUVET_INPUT_SELECTED : CUVET_INPUT_FAILED);
    finish(&w, 3);
}

/* How it would end with the first payload. */
static cuvet_status first_select(const scenario *sc)
{
    cuvet_status st = CUVET_E_INTERNAL;
    world w = { 0 };

    ck_assert_int_eq(begin(&w, sc, NULL), CUVET_OK);
    for (enum step s = CREATE; s <= FIRST_BIND; s++)
        ck_assert_int_eq(do_step(&w, s), CUVET_OK);
    st = do_step(&w, SELECT);
    finish(&w, 0);
    return st;
}

/* The step met a failed allocation: NOMEM, and as if it had not been called. False: the end. */
static bool met(world *w, enum step s, cuvet_status st, const picture pic[STEPS], bool again)
{
    unsigned long at = w->h.calls;

    ck_assert_msg(st == CUVET_E_NOMEM, "%s, allocation %lu: %s", STEP_NAME[s], at, cuvet_status_name(st));
    if (s != CREATE) {
        picture now = look(w);

        ck_same(&pic[s - 1], &now, s, at);
    }
    heap_mend(&w->h);        /* memory is back */
    if (!again && s == BIND) /* what was bound before is still there to be selected from */
        ck_assert_int_eq(do_step(w, SELECT), first_select(w->sc));
    if (!again)
        return false;
    st = do_step(w, s);
    ck_assert_msg(st == wanted(w, s), "%s again, allocation %lu: %s", STEP_NAME[s], at,
                  cuvet_status_name(st));
    return true;
}

/* @return false: there is no Nth allocation */
static bool attempt(const scenario *sc, const picture pic[STEPS], unsigned long n, bool later, bool again)
{
    world w = { 0 };
    unsigned long failed;
    cuvet_status st;
    bool there;

    heap_fail(&w.h, n, later);
    st = begin(&w, sc, NULL);
    if (st != CUVET_OK) {
        ck_assert_int_eq(st, CUVET_E_NOMEM);
        ck_assert_int_eq(w.h.live, 0);
        return true;
    }
    for (enum step s = CREATE; s < STEPS; s++) {
        picture now;

        failed = w.h.failed;
        st = do_step(&w, s);
        if (w.h.failed != failed) {
            if (!met(&w, s, st, pic, again))
                break;
        } else {
            ck_assert_msg(st == wanted(&w, s), "%s, of %lu: %s", STEP_NAME[s], n, cuvet_status_name(st));
        }
        now = look(&w);
        ck_same(&pic[s], &now, s, n);
    }
    there = w.h.failed != 0;
    finish(&w, (unsigned)n);
    return there;
}

START_TEST(allocations)
{
    const scenario *sc = &SCENARIOS[_i / 4];
    bool later = (_i & 1) != 0, again = (_i & 2) != 0;
    picture pic[STEPS];
    unsigned long n = 1;

    reference(sc, pic);
    while (attempt(sc, pic, n, later, again))
        n++;
    ck_assert_uint_gt(n, 10);
}
END_TEST

/* With a limit on memory: LIMIT, said by name, never NOMEM; the object as it was, but for select, which is
 * its end. @return true: all steps went through */
static bool squeezed(const scenario *sc, const picture pic[STEPS], uint64_t live)
{
    cuvet_status st = CUVET_OK;
    cuvet_limits lim = { .size = sizeof(lim) };
    enum step s = CREATE;
    world w = { 0 };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    lim.live = live;
    ck_assert_int_eq(begin(&w, sc, &lim), CUVET_OK);
    for (; s < STEPS; s++) {
        picture now;

        st = do_step(&w, s);
        if (st != wanted(&w, s))
            break;
        now = look(&w);
        ck_same(&pic[s], &now, s, (unsigned long)live);
    }
    if (s < STEPS)
        ck_assert_msg(st == CUVET_E_LIMIT && s != TAKE, "%s with %lu bytes: %s", STEP_NAME[s],
                      (unsigned long)live, cuvet_status_name(st));
    if (s < STEPS)
        ck_assert_msg(w.said_live, "%s with %lu bytes: not told why", STEP_NAME[s], (unsigned long)live);
    if (s < STEPS && s != CREATE) {
        picture now = look(&w);

        if (s == SELECT)
            ck_assert_int_eq(now.state, CUVET_INPUT_FAILED);
        else
            ck_assert(now.state == pic[s - 1].state && now.options == pic[s - 1].options &&
                      now.candidates == pic[s - 1].candidates);
        ck_assert_int_eq(do_step(&w, s), s == SELECT ? CUVET_E_STATE : CUVET_E_LIMIT);
    }
    finish(&w, (unsigned)live);
    return s == STEPS;
}

START_TEST(little_memory)
{
    const scenario *sc = &SCENARIOS[_i];
    picture pic[STEPS];
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
    Suite *s = suite_create("fault_input");
    TCase *t = tcase_create("fault_input");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, allocations, 0, 4 * (int)N(SCENARIOS));
    tcase_add_loop_test(t, little_memory, 0, (int)N(SCENARIOS));
    suite_add_tcase(s, t);
    return s;
}

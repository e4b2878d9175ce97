/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "linking.h"

#include <string.h>

#include "cubin/admit.h"
#include "intake/probe.h"
#include "mutate_int.h"
#include "target/arch.h"

size_t fz_split(const uint8_t *p, size_t n, fz_piece *out)
{
    size_t count = 0, at = 0;

    while (at < n && count < FZ_OBJECTS) {
        size_t end = count + 1 < FZ_OBJECTS ? mut_next_object(p, n, at + 1) : n;

        out[count++] = (fz_piece){ .p = p + at, .n = end - at };
        at = end;
    }
    return count;
}

/* SM of the first object, as its header says. */
static uint32_t own_sm(const fz_input *in)
{
    return in->len > 49 ? in->bytes[49] : 0;
}

cuvet_linker_options fz_linker_options(const fz_input *in)
{
    static const char *const USED[1] = { "k" };
    cuvet_linker_options o = { .size = sizeof(o) };
    size_t n = 0, want = in->param >> 8 & 31, first = SIZE_MAX;

    while (cuvet_target_get(n, &o.target) == CUVET_OK) {
        if (first == SIZE_MAX && o.target.sm == (want ? 90 : own_sm(in)))
            first = n;
        n++;
    }
    for (size_t i = 0; first == SIZE_MAX; i++) {
        FZ_CHECK(cuvet_target_get(i, &o.target) == CUVET_OK, "sm_90 is a target");
        first = o.target.sm == 90 ? i : SIZE_MAX;
    }
    FZ_CHECK(cuvet_target_get((first + want) % n, &o.target) == CUVET_OK, "a target");
    o.flags |= (in->param >> 13 & 1) ? CUVET_LINK_RELOCATABLE : 0;
    o.flags |= ((o.flags & CUVET_LINK_RELOCATABLE) && in->param >> 14 & 1) ? CUVET_LINK_EXACT_RELOCATABLE : 0;
    o.flags |= (in->param >> 15 & 1) ? CUVET_LINK_DEBUG : 0;
    o.flags |= (in->param >> 16 & 1) ? CUVET_LINK_PRESERVE_RELOCS : 0;
    o.flags |= (in->param >> 17 & 1) ? CUVET_LINK_NO_STACK_WARNING : 0;
    o.flags |= (in->param >> 18 & 1) ? CUVET_LINK_WARNINGS_ARE_ERRORS : 0;
    o.kernels_used = USED;
    o.n_kernels_used = in->param >> 19 & 1;
    o.policy = in->param >> 21 & 1 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE;
    return o;
}

/* The same options as the public linker makes of them. */
static cv_link_options inner(const cuvet_linker_options *o, uint64_t key)
{
    return (cv_link_options){ .target = o->target,
                              .policy = o->policy,
                              .toolkit = CV_ADMIT_TOOLKIT,
                              .relocatable = (o->flags & CUVET_LINK_RELOCATABLE) != 0,
                              .compat = (o->flags & CUVET_LINK_EXACT_RELOCATABLE) != 0,
                              .debug = (o->flags & CUVET_LINK_DEBUG) != 0,
                              .preserve = (o->flags & CUVET_LINK_PRESERVE_RELOCS) != 0,
                              .no_stack_warning = (o->flags & CUVET_LINK_NO_STACK_WARNING) != 0,
                              .warnings_are_errors = (o->flags & CUVET_LINK_WARNINGS_ARE_ERRORS) != 0,
                              .kernels_used = o->kernels_used,
                              .n_kernels_used = o->n_kernels_used,
                              .key = { key, ~key } };
}

/* Class, rules, admission, in this order, as the public linker does. */
static bool take(cv_link *l, cv_span image, const char *name)
{
    const cv_admit_for a = {
        .target = l->o.target, .policy = l->o.policy, .toolkit = l->o.toolkit, .finished = true
    };
    cuvet_content_info c = { .size = sizeof(c) };
    uint64_t extent = 0;
    cv_cubin picture;
    cuvet_status s;

    cv_ctx_unit(l->x, image.len);
    if (cv_classify(l->x, image, 0, &c) != CUVET_OK || c.type != CUVET_K_CUBIN)
        return false;
    cv_cubin_init(&picture);
    s = cv_cubin_examine(l->x, &picture, image, NULL, &extent);
    if (s == CUVET_OK)
        cv_cubin_check_tail(l->x, image, extent, 0);
    if (s == CUVET_OK)
        s = cv_verdict_status(l->x->verdict);
    if (s == CUVET_OK)
        s = cv_admit(l->x, &picture, &a);
    if (s == CUVET_OK)
        s = cv_link_add(l, image, &picture, name);
    if (s != CUVET_OK)
        cv_cubin_free(l->x, &picture);
    return s == CUVET_OK;
}

void fz_link_open(fz_link *k, fz *f, bool turned, uint64_t key)
{
    static const char *const NAMES[FZ_OBJECTS] = { "a", "b", "c" };
    cv_emit_fn *emit = f->x.emit;
    cv_link_options o;

    *k = (fz_link){ .f = f, .opt = fz_linker_options(f->in) };
    k->n = fz_split(f->in->bytes, f->in->len, k->piece);
    o = inner(&k->opt, key);
    cv_link_begin(&k->l, &f->x, &o);
    f->x.emit = NULL;
    for (size_t i = 0; i < k->n; i++) {
        size_t which = turned != (f->in->param >> 20 & 1) ? k->n - 1 - i : i;
        fz_piece *p = &k->piece[which];

        k->from[k->l.obj.n] = which;
        p->added = cv_block_copy(&f->x, &k->image[i], cv_span_of(p->p, p->n, 0)) == CUVET_OK &&
                   take(&k->l, k->image[i].span, NAMES[which]);
    }
    k->l.out = &k->out;
    k->l.file = &k->file;
    f->x.emit = emit;
    cv_ctx_unit(&f->x, 2 * f->in->len);
}

void fz_link_status(cuvet_status s)
{
    FZ_CHECK(s != CUVET_E_INTERNAL, "no stage leaves behind what its checker refuses");
    FZ_CHECK(s != CUVET_E_NOMEM, "there is memory for a link within the limits");
    FZ_CHECK(s == CUVET_OK || s == CUVET_E_REFUSED || s == CUVET_E_LIMIT, "a status that a link has");
}

cuvet_status fz_link_run(fz_link *k, const char *stage)
{
    uint64_t last = 0;
    cuvet_status s;

    while (stage && cv_link_stage(last) && strcmp(cv_link_stage(last), stage) != 0)
        last++;
    FZ_CHECK(cv_link_stage(last) != NULL, "a stage of that name");
    s = cv_link_run_to(&k->l, stage ? last : UINT64_MAX);
    fz_link_status(s);
    FZ_CHECK(s == CUVET_OK || fz_reported(k->f), "a refusal is reported");
    return s;
}

void fz_link_close(fz_link *k)
{
    cv_link_end(&k->l);
    cv_slices_free(&k->f->x.mem, &k->file);
    cv_block_free(&k->f->x, &k->out);
    for (size_t i = 0; i < FZ_OBJECTS; i++)
        cv_block_free(&k->f->x, &k->image[i]);
}

bool fz_link_roomy(const fz *f)
{
    return f->x.lim.live >= CV_MIB && !(f->in->param & 0xFF);
}

/* Would a linker for its own target take it? Asked by the mutator. */
static bool linkable(const uint8_t *p, size_t n)
{
    fz_input in = { .bytes = (uint8_t *)(uintptr_t)p, .len = n };
    fz f = { .in = &in };
    cuvet_limits lim = { .size = sizeof(lim) };
    bool taken;
    fz_link k;

    fz_limits(0, &lim);
    cv_ctx_init(&f.x, NULL, &lim);
    fz_link_open(&k, &f, false, 1);
    taken = k.piece[0].added && k.piece[0].n == n;
    fz_link_close(&k);
    cv_islands_drop();
    return taken;
}

size_t fz_mutate_link(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return cv_mutate_link(data, size, max, seed, raw, linkable);
}

/* An object of one input and one of another. */
size_t fz_cross_link(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, size_t max,
                     unsigned seed)
{
    fz_piece p[FZ_OBJECTS], q[FZ_OBJECTS], two[2];
    size_t n, m, len = 0;

    na -= na >= FZ_TRAILER && memcmp(a + na - 4, "CVFZ", 4) == 0 ? FZ_TRAILER : 0;
    n = fz_split(a, na, p);
    m = fz_split(b, nb, q); /* keeps its parameters when its last object is taken */
    if (n == 0 || m == 0)
        return 0;
    two[0] = p[seed / 2 % n];
    two[1] = q[seed / 8 % m];
    for (unsigned i = 0; i < 2 && two[i].n <= max - len; i++) {
        memcpy(out + len, two[i].p, two[i].n);
        len += two[i].n;
    }
    return len;
}

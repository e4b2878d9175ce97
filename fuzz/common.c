/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fz_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, what);
    abort();
}

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void fz_open(fz_input *in, const uint8_t *data, size_t size)
{
    *in = (fz_input){ 0 };
    if (size >= FZ_TRAILER && u32(data + size - 4) == FZ_MAGIC) {
        size -= FZ_TRAILER;
        in->param = u32(data + size);
    }
    in->len = size;
    in->block = malloc(size ? size : 1);
    if (!in->block)
        abort();
    if (size)
        memcpy(in->block, data, size);
    in->bytes = size ? in->block : in->block + 1; /* empty: not one byte may be read */
}

void fz_close(fz_input *in)
{
    free(in->block);
    *in = (fz_input){ 0 };
}

void fz_limits(uint32_t param, cuvet_limits *lim)
{
    static const uint64_t WORK[] = { 64, 8, 1, 0 }, COUNT[] = { 0, 1, 3, 16 };
    uint64_t few = COUNT[param >> 2 & 3];

    lim->size = sizeof(*lim);
    if (cuvet_limits_preset("tiny", lim) != CUVET_OK)
        abort();
    lim->work = WORK[param & 3];
    if (few)
        lim->sections = lim->symbols = lim->containers = lim->members = few;
    if (param & 0x10)
        lim->live = 16 * CV_KIB;
    if (param & 0x20)
        lim->member = lim->header_area = lim->window = 2 * CV_KIB;
    if (param & 0x40)
        lim->diagnostics = 1;
    if (param & 0x80)
        lim->ratio = lim->lz4_ratio = lim->nesting = 1;
}

uint64_t fz_mix(uint64_t h, uint64_t v)
{
    h ^= v;
    __asm__("" : "+r"(h)); /* one multiplication, not a table of them */
    return (h ^ h >> 29) * UINT64_C(0x9E3779B97F4A7C15);
}

uint64_t fz_mix_bytes(uint64_t h, const void *p, uint64_t n)
{
    const uint8_t *b = p;
    uint64_t v;

    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&v, b, 8);
        h = fz_mix(h, v);
    }
    for (v = n; n; n--)
        v = v << 8 | *b++;
    return fz_mix(h, v);
}

bool fz_thorough;

bool fz_one_in(const fz_input *in, unsigned n)
{
    return fz_thorough || fz_mix_bytes(n, in->bytes, in->len) % n == 0;
}

uint64_t fz_diag(const cuvet_diag *d, uint64_t base, uint64_t len)
{
    const cuvet_rule_info *info = cuvet_rule_get(d->rule);
    uint64_t h;

    FZ_CHECK(info != NULL, "a diagnostic has a rule");
    /* What is to be linked or finalized must keep the profile of its producer. */
    FZ_CHECK(d->severity == info->severity || d->severity == CUVET_NOTE ||
                 (info->cls == CUVET_C_PROFILE && d->severity == CUVET_ERROR),
             "a diagnostic has the severity of its rule, or is a note");
    FZ_CHECK(d->where.n <= CUVET_PATH_MAX, "the path of a diagnostic is whole");
    FZ_CHECK(d->file_off >= base && d->file_off - base <= len, "the offset of a diagnostic lies in the file");
    FZ_CHECK(d->inner || d->length <= len - (d->file_off - base),
             "the range of a diagnostic lies in the file");
    h = fz_mix(fz_mix(d->rule, d->file_off), d->length);
    h = fz_mix(fz_mix(h, d->inner), d->inner_off);
    h = fz_mix(fz_mix(h, d->got), d->want);
    for (uint32_t i = 0; i < d->where.n; i++)
        h = fz_mix(h, d->where.step[i].index << 8 | (unsigned)d->where.step[i].kind << 1 |
                          d->where.step[i].has_index);
    return h;
}

static void record(void *user, const cuvet_diag *d)
{
    fz *f = user;

    f->n_diags++;
    fz_note(f, fz_diag(d, f->base, f->in->len));
}

cv_span fz_span(const fz *f)
{
    return cv_span_of(f->in->bytes, f->in->len, f->base);
}

void fz_note(fz *f, uint64_t v)
{
    f->hash = fz_mix(f->hash, v);
}

void fz_note_bytes(fz *f, const void *p, uint64_t n)
{
    f->hash = fz_mix_bytes(f->hash, p, n);
}

uint64_t fz_reported(const fz *f)
{
    return f->x.n_errors + f->x.n_warnings + f->x.n_notes;
}

void fz_status(fz *f, cuvet_status s, uint64_t before)
{
    bool known = s == CUVET_OK || s == CUVET_END || s == CUVET_E_MALFORMED || s == CUVET_E_UNSUPPORTED ||
                 s == CUVET_E_LIMIT;

    FZ_CHECK(known, "a parser ends in OK, END, MALFORMED, UNSUPPORTED or LIMIT");
    FZ_CHECK(s == CUVET_OK || s == CUVET_END || fz_reported(f) > before || f->x.work_out,
             "a rejection is reported");
    fz_note(f, (uint64_t)s);
}

void fz_inside(const fz *f, cv_span s)
{
    FZ_CHECK(s.len == 0 || (s.off >= f->base && s.off - f->base <= f->in->len &&
                            s.len <= f->in->len - (s.off - f->base)),
             "a span that was returned lies in the input");
}

/* The second pass for one input in n. */
static int repeat(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn, unsigned n)
{
    uint64_t hash[2] = { 0, 0 };
    unsigned passes;
    cuvet_limits lim = { .size = sizeof(lim) };
    fz_input in;
    fz f;

    fz_open(&in, data, size);
    fz_limits(in.param, &lim);
    passes = fz_one_in(&in, n) ? 2 : 1;
    for (unsigned pass = 0; pass < passes; pass++) {
        cv_ctx_init(&f.x, NULL, &lim);
        f.in = &in;
        f.base = base;
        f.hash = f.n_diags = 0;
        f.pass = pass;
        f.x.emit = record;
        f.x.emit_user = &f;
        cv_ctx_unit(&f.x, in.len);
        fn(&f);
        cv_islands_drop();
        FZ_CHECK(f.x.mem.live == 0, "nothing stays allocated");
        FZ_CHECK(f.x.path.n == 0, "the path is empty again");
        hash[pass] = fz_mix(f.hash, f.x.verdict);
    }
    FZ_CHECK(passes < 2 || hash[0] == hash[1], "the second run is the same");
    fz_close(&in);
    return 0;
}

int fz_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn)
{
    return repeat(data, size, base, fn, 1);
}

int fz_some_twice(const uint8_t *data, size_t size, uint64_t base, fz_fn *fn)
{
    return repeat(data, size, base, fn, 4);
}

bool fz_ops_left(const fz_ops *o)
{
    return o->at < o->n;
}

uint8_t fz_u8(fz_ops *o)
{
    return o->at < o->n ? o->p[o->at++] : 0;
}

uint64_t fz_u64(fz_ops *o)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)fz_u8(o) << (8 * i);
    return v;
}

uint64_t fz_edge(fz_ops *o, uint64_t len)
{
    uint8_t how = fz_u8(o);
    uint64_t delta = how >> 4;

    switch (how & 7) {
    case 0: return delta;
    case 1: return len - cv_min(delta, len);
    case 2: return len + delta;
    case 3: return UINT64_MAX - delta;
    case 4: return (UINT64_C(1) << 32) - 8 + delta;
    case 5: return len ? fz_u8(o) % len : 0;
    case 6: return UINT64_MAX - len + delta;
    default: return fz_u64(o);
    }
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a payload is, strict and lenient, with and without a context. Second and third parameter byte: the
 * limit of the probe, 0 for the one of the preset. */
#include "common.h"

#include <string.h>

#include "format/ptx/read.h"
#include "intake/probe.h"

typedef struct answer {
    cuvet_status s;
    cuvet_content_info i;
} answer;

static bool same(const cuvet_content_info *a, const cuvet_content_info *b)
{
    return a->type == b->type && a->off == b->off && a->length == b->length && a->sm == b->sm &&
           a->capsule == b->capsule && a->mercury == b->mercury && a->is32 == b->is32 && a->thin == b->thin;
}

static void check(const answer *a, uint64_t n)
{
    cuvet_content_info only = { .size = sizeof(only), .type = a->i.type };
    bool named = a->s == CUVET_E_TRUNCATED || a->s == CUVET_E_MALFORMED;

    FZ_CHECK(a->s == CUVET_OK || named || a->s == CUVET_E_UNKNOWN || a->s == CUVET_E_LIMIT,
             "an answer is OK, TRUNCATED, MALFORMED, UNKNOWN or LIMIT");
    FZ_CHECK((a->i.type == CUVET_K_NONE) == (a->s == CUVET_E_UNKNOWN || a->s == CUVET_E_LIMIT),
             "what is cut off or broken has a kind, what is unknown has none");
    FZ_CHECK(a->s == CUVET_OK || same(&a->i, &only), "a refusal says the kind and nothing else");
    FZ_CHECK(a->i.off <= n && a->i.length <= n - a->i.off, "the content lies in the payload");
    FZ_CHECK(a->i.off == 0 || (a->i.off == 4 && a->i.type == CUVET_K_NVVM), "only NVVM has a pad");
    FZ_CHECK(!a->i.capsule || !a->i.mercury, "one kind of code");
    FZ_CHECK((!a->i.sm && !a->i.capsule && !a->i.mercury) || a->i.type == CUVET_K_CUBIN,
             "only device code has an architecture");
    FZ_CHECK(!a->i.thin || a->i.type == CUVET_K_ARCHIVE, "only archives are thin");
}

/* Through the library's own entry, which reports, and the public one, which answers with a diagnostic. */
static answer ask(fz *f, unsigned flags)
{
    uint64_t before = fz_reported(f);
    answer a, b;
    cuvet_diag d = { .size = sizeof(d) };

    memset(&a, 0x5A, sizeof(a));
    memset(&b, 0xA5, sizeof(b));
    a.s = cv_classify(&f->x, fz_span(f), flags, &a.i);
    check(&a, f->in->len);
    FZ_CHECK(fz_reported(f) - before == (a.s != CUVET_OK), "a refusal is reported once");
    b.i.size = sizeof(b.i);
    b.s = cuvet_classify(f->in->bytes, f->in->len, &f->x.lim, flags, &b.i, &d);
    FZ_CHECK(a.s == b.s && same(&a.i, &b.i), "with and without a context the answer is one");
    FZ_CHECK((cuvet_rule_get(d.rule) != NULL) == (b.s != CUVET_OK), "a diagnostic unless OK");
    if (b.s != CUVET_OK) {
        FZ_CHECK(f->x.seen[d.rule] > 0, "and the same one");
        fz_note(f, fz_diag(&d, 0, f->in->len));
    }
    fz_note(f, (uint64_t)a.s << 32 | (unsigned)a.i.type);
    fz_note(f, fz_mix(a.i.off << 32 | a.i.sm, a.i.length));
    fz_note(f, (unsigned)a.i.capsule | (unsigned)a.i.mercury << 1 | (unsigned)a.i.is32 << 2);
    return a;
}

static void run(fz *f)
{
    uint64_t probe = f->in->param >> 8 & 0xFFFF;
    answer strict, lenient;

    if (probe != 0)
        f->x.lim.ptx_probe = probe;
    strict = ask(f, 0);
    lenient = ask(f, CUVET_CLASSIFY_LENIENT);
    if (strict.s == CUVET_OK)
        FZ_CHECK(lenient.s == CUVET_OK && same(&strict.i, &lenient.i), "lenient accepts what strict accepts");
    if (strict.s == CUVET_OK && strict.i.type == CUVET_K_PTX)
        FZ_CHECK(cv_ptx_look(fz_span(f)) != CV_PTX_NO, "a scan does not overlook it");
    if (cv_ptx_look(fz_span(f)) == CV_PTX_YES)
        FZ_CHECK(strict.i.type == CUVET_K_PTX || strict.s == CUVET_E_UNKNOWN || strict.s == CUVET_E_LIMIT,
                 "what a scan takes for PTX is nothing else");
}

CV_FUZZ_TARGET(classify)
{
    return fz_twice(data, size, FZ_OFF, run);
}

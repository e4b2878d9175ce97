/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a payload is, strict and lenient, with and without a context. Second and third parameter byte: the
 * limit of the probe, 0 for the one of the preset. */
#include "common.h"

#include <string.h>

#include "format/ptx/read.h"
#include "intake/probe.h"

typedef struct classify_answer {
    cuvet_status status;
    cuvet_content_info info;
} classify_answer;

static bool same(const cuvet_content_info *left, const cuvet_content_info *right)
{
    return left->type == right->type && left->off == right->off && left->length == right->length &&
           left->sm == right->sm &&
           ((left->flags & CUVET_CLASSIFIED_CAPSULE) != 0) ==
               ((right->flags & CUVET_CLASSIFIED_CAPSULE) != 0) &&
           ((left->flags & CUVET_CLASSIFIED_MERCURY) != 0) ==
               ((right->flags & CUVET_CLASSIFIED_MERCURY) != 0) &&
           ((left->flags & CUVET_CLASSIFIED_32BIT) != 0) == ((right->flags & CUVET_CLASSIFIED_32BIT) != 0) &&
           ((left->flags & CUVET_CLASSIFIED_THIN) != 0) == ((right->flags & CUVET_CLASSIFIED_THIN) != 0);
}

static void check(const classify_answer *answer, uint64_t count)
{
    cuvet_content_info only = { .size = sizeof(only), .type = answer->info.type };
    bool named = answer->status == CUVET_E_TRUNCATED || answer->status == CUVET_E_MALFORMED;

    FZ_CHECK(answer->status == CUVET_OK || named || answer->status == CUVET_E_UNKNOWN ||
                 answer->status == CUVET_E_LIMIT,
             "an answer is OK, TRUNCATED, MALFORMED, UNKNOWN or LIMIT");
    FZ_CHECK((answer->info.type == CUVET_K_NONE) ==
                 (answer->status == CUVET_E_UNKNOWN || answer->status == CUVET_E_LIMIT),
             "what is cut off or broken has a kind, what is unknown has none");
    FZ_CHECK(answer->status == CUVET_OK || same(&answer->info, &only),
             "a refusal says the kind and nothing else");
    FZ_CHECK(answer->info.off <= count && answer->info.length <= count - answer->info.off,
             "the content lies in the payload");
    FZ_CHECK(answer->info.off == 0 || (answer->info.off == 4 && answer->info.type == CUVET_K_NVVM),
             "only NVVM has a pad");
    FZ_CHECK(!(answer->info.flags & CUVET_CLASSIFIED_CAPSULE) ||
                 !(answer->info.flags & CUVET_CLASSIFIED_MERCURY),
             "one kind of code");
    FZ_CHECK((!answer->info.sm && !(answer->info.flags & CUVET_CLASSIFIED_CAPSULE) &&
              !(answer->info.flags & CUVET_CLASSIFIED_MERCURY)) ||
                 answer->info.type == CUVET_K_CUBIN,
             "only device code has an architecture");
    FZ_CHECK(!(answer->info.flags & CUVET_CLASSIFIED_THIN) || answer->info.type == CUVET_K_ARCHIVE,
             "only archives are thin");
}

/* Through the library's own entry, which reports, and the public one, which answers with a diagnostic. */
static classify_answer ask(fz_state *fuzz, unsigned flags)
{
    uint64_t before = fz_reported(fuzz);
    classify_answer left, right;
    cuvet_diag diag = { .size = sizeof(diag) };

    memset(&left, 0x5A, sizeof(left));
    memset(&right, 0xA5, sizeof(right));
    left.status = cv_classify(&fuzz->ctx, fz_span(fuzz), flags, &left.info);
    check(&left, fuzz->in->len);
    FZ_CHECK(fz_reported(fuzz) - before == (left.status != CUVET_OK), "a refusal is reported once");
    right.info.size = sizeof(right.info);
    right.status = cuvet_classify(fuzz->in->bytes, fuzz->in->len, &fuzz->ctx.lim, flags, &right.info, &diag);
    FZ_CHECK(left.status == right.status && same(&left.info, &right.info),
             "with and without a context the answer is one");
    FZ_CHECK((cuvet_rule_get(diag.rule) != NULL) == (right.status != CUVET_OK), "a diagnostic unless OK");
    if (right.status != CUVET_OK) {
        FZ_CHECK(fuzz->ctx.seen[diag.rule] > 0, "and the same one");
        fz_note(fuzz, fz_diag(&diag, 0, fuzz->in->len));
    }
    fz_note(fuzz, (uint64_t)left.status << 32 | (unsigned)left.info.type);
    fz_note(fuzz, fz_mix(left.info.off << 32 | left.info.sm, left.info.length));
    fz_note(fuzz, left.info.flags);
    return left;
}

static void run(fz_state *fuzz)
{
    uint64_t probe = fuzz->in->param >> 8 & 0xFFFF;
    classify_answer strict, lenient;

    if (probe != 0)
        fuzz->ctx.lim.ptx_probe = probe;
    strict = ask(fuzz, 0);
    lenient = ask(fuzz, CUVET_CLASSIFY_LENIENT);
    if (strict.status == CUVET_OK)
        FZ_CHECK(lenient.status == CUVET_OK && same(&strict.info, &lenient.info),
                 "lenient accepts what strict accepts");
    if (strict.status == CUVET_OK && strict.info.type == CUVET_K_PTX)
        FZ_CHECK(cv_ptx_look(fz_span(fuzz)) != CV_PTX_NO, "a scan does not overlook it");
    if (cv_ptx_look(fz_span(fuzz)) == CV_PTX_YES)
        FZ_CHECK(strict.info.type == CUVET_K_PTX || strict.status == CUVET_E_UNKNOWN ||
                     strict.status == CUVET_E_LIMIT,
                 "what a scan takes for PTX is nothing else");
}

CV_FUZZ_TARGET(classify)
{
    return fz_twice(data, size, FZ_OFF, run);
}

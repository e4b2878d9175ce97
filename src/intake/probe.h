/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What do these bytes begin with? Pure functions over a span: no allocation, one forward pass. */
#ifndef CV_INTAKE_PROBE_H
#define CV_INTAKE_PROBE_H

#include <cuvet/classify.h>

#include "base/ctx.h"
#include "bytes/span.h"

/* Why the answer is not OK: what a diagnostic says. */
typedef struct cv_class_why {
    cv_rule rule;
    uint64_t off, len; /* off: as the span counts */
    uint64_t got, want;
} cv_class_why;

/* The reference loads that much at least: what it accepts has that much. */
#define CV_CLASS_FATBIN_LENIENT UINT64_C(8)
#define CV_CLASS_ELF_LENIENT    UINT64_C(20)

/* The number of a kind in diagnostics: that of the reference tools, or one of our own above them. */
uint64_t cv_class_number(cuvet_kind kind);

/* Silent. probe: limits.ptx_probe. *out is zeroed first; unless OK only its type is set. *why is set unless
 * OK. @return as cuvet_classify(), without USAGE and NULL. */
CV_MUST cuvet_status cv_classify_look(cv_span span, uint64_t probe, unsigned flags, cuvet_content_info *out,
                                      cv_class_why *why);

/* An answer that is handed on instead of being asked for again. */
typedef struct cv_class {
    cuvet_status status;
    cuvet_content_info content;
    cv_class_why why; /* unless the status is OK */
} cv_class;

/* Reported, when there is something to report. */
cuvet_status cv_class_say(cv_ctx *ctx, const cv_class *answer);

/* Look and report. */
CV_MUST cuvet_status cv_classify(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out);

/* For the rows of the table: a look at bytes that the probe has told to be of their kind. */
typedef struct cv_look {
    cv_span span;
    bool lenient;
    uint64_t probe;
    cuvet_content_info *out;
    cv_class_why *why;
} cv_look;

/* How a look ends. The place of 'why' is one in the span. */
CV_MUST cuvet_status cv_look_end(cv_look *look, cuvet_status status, cv_class_why why);
/* A refusal leaves nothing but the type behind. */
cuvet_status cv_look_found(cv_look *look, cuvet_kind type);
CV_MUST cuvet_status cv_look_unknown(cv_look *look, cv_rule rule, uint64_t at, uint64_t got, uint64_t want);
CV_MUST cuvet_status cv_look_cut(cv_look *look, cuvet_kind type, cv_class_why why);
CV_MUST cuvet_status cv_look_broken(cv_look *look, cuvet_kind type, cv_class_why why);
/* Too short: of its bytes, 'want' are needed. */
CV_MUST cuvet_status cv_look_short(cv_look *look, cuvet_kind type, cv_rule rule, uint64_t want);
/* Up to eight bytes at the place, for a message. */
uint64_t cv_look_peek(cv_span span, uint64_t at);
/* ELFs of both kinds (probe_elf.c). */
CV_MUST cuvet_status cv_look_elf(cv_look *look);

#endif

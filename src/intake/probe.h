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

/* The same, reported. */
CV_MUST cuvet_status cv_classify(cv_ctx *ctx, cv_span span, unsigned flags, cuvet_content_info *out);

#endif

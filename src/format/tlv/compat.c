/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.compat, and the copy of it in the option block of a container member. */
#include "format/tlv/attr.h"

static const cv_compat_row TAGS[] = {
#define NEVER CV_COMPAT_NEVER
#define COMPAT(tag, name, format, size, merge, absent)                                                       \
    [tag] = { #name, format, size, CV_MERGE_##merge, absent },
#include "compat.def"
#undef NEVER
};
_Static_assert(CV_COUNT(TAGS) == CV_N_COMPAT && CV_N_COMPAT <= 32, "one row per tag, no holes, one bit each");

const cv_compat_row *cv_compat_get(uint32_t tag)
{
    return tag < CV_N_COMPAT ? &CV_AT(TAGS, tag) : NULL;
}

const char *cv_compat_name(uint32_t tag)
{
    return tag < CV_N_COMPAT ? CV_AT(TAGS, tag).name : NULL;
}

/* A tag in its known form. */
static void keep(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, cv_compat *compat)
{
    uint64_t off = span.off + tlv->off + 2;

    compat->has |= UINT32_C(1) << tlv->code;
    switch (tlv->code) {
    case CV_COMPAT_ISA_CLASS: compat->isa_class = (uint8_t)tlv->value; break;
    case CV_COMPAT_ENABLE_OPPORTUNISTIC_FINALIZATION: compat->level = (uint8_t)tlv->value; break;
    case CV_COMPAT_CAN_FASTPATH_FINALIZE:
        compat->fastpath = cv_u64_at(span, tlv->payload);
        compat->fastpath_at = tlv->payload;
        break;
    case CV_COMPAT_MERCURY_ISA_MAJOR_MINOR_VERSION:
        compat->isa = tlv->value;
        if (tlv->value != CV_MERCURY_ISA && tlv->value != CV_MERCURY_ISA_UNSAID)
            cv_report(ctx, tlv->value > CV_MERCURY_ISA ? CV_R_COMPAT_ISA_NEW : CV_R_COMPAT_ISA, off, 2,
                      tlv->value, CV_MERCURY_ISA);
        break;
    case CV_COMPAT_CUDA_ACCELERATOR_TARGET:
        compat->accel = (uint8_t)tlv->value;
        if (tlv->value > 1)
            cv_report(ctx, CV_R_COMPAT_ACCEL_VALUE, off, 1, tlv->value, 1);
        break;
    default: break;
    }
}

bool cv_compat_known(uint8_t tag)
{
    return tag < CV_N_COMPAT && CV_AT(TAGS, tag).format != 0;
}

static void take(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, cv_compat *compat)
{
    const cv_compat_row *row;

    if (!cv_compat_known(tlv->code)) {
        cv_report(ctx, CV_R_COMPAT_UNKNOWN, span.off + tlv->off + 1, 1, tlv->code, tlv->format);
        return;
    }
    row = &CV_AT(TAGS, tlv->code);
    if (compat->has >> tlv->code & 1) {
        cv_report(ctx, CV_R_COMPAT_TWICE, span.off + tlv->off, tlv->next - tlv->off, tlv->code, 1);
        return;
    }
    if (tlv->format != row->format) {
        cv_report(ctx, CV_R_COMPAT_FORMAT, span.off + tlv->off, 1, tlv->format, row->format);
        return;
    }
    if (tlv->format == CV_TLV_SVAL && tlv->value != row->size) {
        cv_report(ctx, CV_R_COMPAT_SIZE, span.off + tlv->off + 2, 2, tlv->value, row->size);
        return;
    }
    keep(ctx, span, tlv, compat);
}

cuvet_status cv_compat_read(cv_ctx *ctx, cv_span span, cv_compat *out)
{
    cv_compat compat = { 0 };
    cv_tlv tlv;
    uint64_t pos = 0;
    cuvet_status st;

    if (!cv_work(ctx, span.len * 4 + 16, span.off))
        return CUVET_E_LIMIT;
    while ((st = cv_tlv_next(ctx, span, &pos, &tlv)) == CUVET_OK)
        take(ctx, span, &tlv, &compat);
    *out = compat;
    return st == CUVET_END ? CUVET_OK : st;
}

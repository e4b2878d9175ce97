/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* .nv.compat, and the copy of it in the option block of a container member. */
#include "format/tlv/attr.h"

static const cv_compat_row TAGS[] = {
#define COMPAT(tag, name, format, size, merge) [tag] = { #name, format, size, CV_MERGE_##merge },
#include "compat.def"
};
_Static_assert(CV_COUNT(TAGS) == CV_N_COMPAT && CV_N_COMPAT <= 32, "one row per tag, no holes, one bit each");

/* The newest Mercury ISA that is described, major and minor in one byte each. */
#define MERCURY_ISA 0x0101u

const cv_compat_row *cv_compat_get(uint32_t tag)
{
    return tag < CV_N_COMPAT ? &CV_AT(TAGS, tag) : NULL;
}

const char *cv_compat_name(uint32_t tag)
{
    return tag < CV_N_COMPAT ? CV_AT(TAGS, tag).name : NULL;
}

/* A tag in its known form. */
static void keep(cv_ctx *x, cv_span s, const cv_tlv *t, cv_compat *c)
{
    uint64_t off = s.off + t->off + 2;

    c->has |= UINT32_C(1) << t->code;
    switch (t->code) {
    case CV_COMPAT_ISA_CLASS: c->isa_class = (uint8_t)t->value; break;
    case CV_COMPAT_ENABLE_OPPORTUNISTIC_FINALIZATION: c->level = (uint8_t)t->value; break;
    case CV_COMPAT_CAN_FASTPATH_FINALIZE:
        c->fastpath = cv_u64_at(s, t->payload);
        c->fastpath_at = t->payload;
        break;
    case CV_COMPAT_MERCURY_ISA_MAJOR_MINOR_VERSION:
        c->isa = t->value;
        if (t->value != MERCURY_ISA)
            cv_report(x, t->value > MERCURY_ISA ? CV_R_COMPAT_ISA_NEW : CV_R_COMPAT_ISA, off, 2, t->value,
                      MERCURY_ISA);
        break;
    case CV_COMPAT_CUDA_ACCELERATOR_TARGET:
        c->accel = (uint8_t)t->value;
        if (t->value > 1)
            cv_report(x, CV_R_COMPAT_ACCEL_VALUE, off, 1, t->value, 1);
        break;
    default: break;
    }
}

bool cv_compat_known(uint8_t tag)
{
    return tag < CV_N_COMPAT && CV_AT(TAGS, tag).format != 0;
}

static void take(cv_ctx *x, cv_span s, const cv_tlv *t, cv_compat *c)
{
    const cv_compat_row *row;

    if (!cv_compat_known(t->code)) {
        cv_report(x, CV_R_COMPAT_UNKNOWN, s.off + t->off + 1, 1, t->code, t->format);
        return;
    }
    row = &CV_AT(TAGS, t->code);
    if (c->has >> t->code & 1) {
        cv_report(x, CV_R_COMPAT_TWICE, s.off + t->off, t->next - t->off, t->code, 1);
        return;
    }
    if (t->format != row->format) {
        cv_report(x, CV_R_COMPAT_FORMAT, s.off + t->off, 1, t->format, row->format);
        return;
    }
    if (t->format == CV_TLV_SVAL && t->value != row->size) {
        cv_report(x, CV_R_COMPAT_SIZE, s.off + t->off + 2, 2, t->value, row->size);
        return;
    }
    keep(x, s, t, c);
}

cuvet_status cv_compat_read(cv_ctx *x, cv_span s, cv_compat *out)
{
    cv_compat c = { 0 };
    cv_tlv t;
    uint64_t pos = 0;
    cuvet_status st;

    if (!cv_work(x, s.len * 4 + 16, s.off))
        return CUVET_E_LIMIT;
    while ((st = cv_tlv_next(x, s, &pos, &t)) == CUVET_OK)
        take(x, s, &t, &c);
    *out = c;
    return st == CUVET_END ? CUVET_OK : st;
}

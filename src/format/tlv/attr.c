/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/tlv/attr.h"

enum { MANY = 1, ONCE = 0 };

static const cv_attr ATTRS[] = {
#define ATTR(code, name, format, scope, repeat, shape, size, words)                                          \
    [code] = { #name, format, CV_SCOPE_##scope, repeat, CV_SHAPE_##shape, size, CV_WORDS_##words },
#include "eiattr.def"
};
_Static_assert(CV_COUNT(ATTRS) == CV_N_ATTRS, "one row per code, no holes");

const cv_attr *cv_attr_get(uint32_t code)
{
    return code < CV_N_ATTRS ? &CV_AT(ATTRS, code) : NULL;
}

const char *cv_eiattr_name(uint32_t code)
{
    return code < CV_N_ATTRS ? CV_AT(ATTRS, code).name : NULL;
}

/* {branch offset, 0 or on old machines 1, count, targets[count]} up to the end. */
static bool check_branches(cv_ctx *ctx, cv_span span, const cv_tlv *tlv)
{
    uint64_t pos = tlv->payload, end = tlv->next;

    while (pos < end) {
        uint64_t left = end - pos, count = left < 12 ? 0 : cv_u32_at(span, pos + 8);

        if (left < 12 + 4 * count) {
            cv_report(ctx, CV_R_TLV_BRANCHES, span.off + pos, left, left, 12 + 4 * count);
            return false;
        }
        if (cv_u32_at(span, pos + 4) != 0)
            cv_report(ctx, CV_R_TLV_BRANCH_WORD, span.off + pos + 4, 4, cv_u32_at(span, pos + 4), 0);
        pos += 12 + 4 * count;
    }
    return true;
}

/* {1, text offset} up to the end; other types are public knowledge only. */
static bool check_notes(cv_ctx *ctx, cv_span span, const cv_tlv *tlv)
{
    uint64_t pos = tlv->payload, end = tlv->next;

    for (; pos < end; pos += 8) {
        uint32_t type = cv_u32_at(span, pos);

        if (type != 1) {
            cv_report(ctx, CV_R_TLV_ANNOTATION_TYPE, span.off + pos, 0, type, 1);
            return false;
        }
        if (end - pos < 8) {
            cv_report(ctx, CV_R_TLV_ANNOTATION_CUT, span.off + pos, 0, end - pos, 8);
            return false;
        }
    }
    return true;
}

/* Only formats with a payload have rows with a size, branches or annotations. */
static bool check_shape(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, const cv_attr *row)
{
    bool fixed = row->shape == CV_SHAPE_FIXED, list = row->shape == CV_SHAPE_ARRAY;

    if ((fixed && tlv->value != row->size) || (list && tlv->value % row->size != 0)) {
        cv_report(ctx, CV_R_TLV_SIZE, span.off + tlv->off + 2, 2, tlv->value, row->size);
        return false;
    }
    if (row->shape == CV_SHAPE_BRANCHES)
        return check_branches(ctx, span, tlv);
    return row->shape != CV_SHAPE_NOTES || check_notes(ctx, span, tlv);
}

/* Local memory of a thread. */
#define ATTR_STACK 0x80000u

static cv_rule limit_rule(uint32_t code, bool stack)
{
    if (code == CV_ATTR_REGCOUNT)
        return CV_R_TLV_REGCOUNT;
    return stack ? CV_R_TLV_STACK : CV_R_TLV_NO_MACHINE;
}

/* What the words of a code can be; most is 0 where nothing is said of a word. */
#define LIMITED_WORDS 3u
typedef struct attr_limits {
    uint32_t least[LIMITED_WORDS], most[LIMITED_WORDS];
} attr_limits;

static const attr_limits LIMITS[CV_N_ATTRS] = {
#define ATTR_LIMIT(name, word, low, high)                                                                    \
    [CV_ATTR_##name].least[word] = (low), [CV_ATTR_##name].most[word] = (high),
#include "eiattr.def"
};

/* Values that no machine has, whoever wrote them. */
static void check_limits(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, const cv_attr *row)
{
    const attr_limits *limits = &CV_AT(LIMITS, tlv->code);

    if ((CV_ARRAY_GET(limits->most, 0) | CV_ARRAY_GET(limits->most, 1) | CV_ARRAY_GET(limits->most, 2)) == 0)
        return;
    for (size_t i = 0; i < LIMITED_WORDS; i++) {
        uint32_t least = CV_ARRAY_GET(limits->least, i), most = CV_ARRAY_GET(limits->most, i), number;
        bool stack = most == ATTR_STACK, value = row->shape == CV_SHAPE_VALUE;
        uint64_t at = value ? tlv->off + 2 : tlv->payload + 4 * (uint64_t)i;

        if (most == 0)
            continue;
        number = value ? tlv->value : cv_u32_at(span, at);
        if (stack && number == UINT32_MAX)
            continue;
        if (number > most || number < least)
            cv_report(ctx, limit_rule(tlv->code, stack), span.off + at, value ? 2 : 4, number,
                      number < least ? least : most);
    }
}

bool cv_attr_check(cv_ctx *ctx, cv_span span, const cv_tlv *tlv, const cv_attr **row)
{
    const cv_attr *attr = cv_attr_get(tlv->code);

    *row = attr;
    if (!attr) {
        cv_report(ctx, CV_R_TLV_UNKNOWN, span.off + tlv->off + 1, tlv->next - tlv->off - 1, tlv->code,
                  CV_N_ATTRS - 1);
        return false;
    }
    if (attr->format == 0) {
        cv_report(ctx, CV_R_TLV_UNSEEN, span.off + tlv->off + 1, tlv->next - tlv->off - 1, tlv->code,
                  tlv->format);
        return false;
    }
    if (tlv->format != attr->format) {
        cv_report(ctx, CV_R_TLV_ATTR_FORMAT, span.off + tlv->off, 1, tlv->format, attr->format);
        return false;
    }
    if (!check_shape(ctx, span, tlv, attr))
        return false;
    check_limits(ctx, span, tlv, attr);
    return true;
}

void cv_attr_kparam(cv_span span, const cv_tlv *tlv, cv_kparam *out)
{
    uint64_t at = tlv->payload;
    uint32_t packed = cv_u32_at(span, at + 8);

    *out = (cv_kparam){ .index = cv_u32_at(span, at),
                        .ordinal = cv_u16_at(span, at + 4),
                        .offset = cv_u16_at(span, at + 6) };
    if (tlv->code == CV_ATTR_KPARAM_INFO_V2) {
        out->size = packed & 0xFFFF;
        return;
    }
    out->log_align = (uint8_t)packed;
    out->space = packed >> 8 & 15;
    out->cbank = packed >> 12 & 31;
    out->size = packed >> 18;
}

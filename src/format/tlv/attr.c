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
static bool check_branches(cv_ctx *x, cv_span s, const cv_tlv *t)
{
    uint64_t pos = t->payload, end = t->next;

    while (pos < end) {
        uint64_t left = end - pos, n = left < 12 ? 0 : cv_u32_at(s, pos + 8);

        if (left < 12 + 4 * n) {
            cv_report(x, CV_R_TLV_BRANCHES, s.off + pos, left, left, 12 + 4 * n);
            return false;
        }
        if (cv_u32_at(s, pos + 4) != 0)
            cv_report(x, CV_R_TLV_BRANCH_WORD, s.off + pos + 4, 4, cv_u32_at(s, pos + 4), 0);
        pos += 12 + 4 * n;
    }
    return true;
}

/* {1, text offset} up to the end; other types are public knowledge only. */
static bool check_notes(cv_ctx *x, cv_span s, const cv_tlv *t)
{
    uint64_t pos = t->payload, end = t->next;

    for (; pos < end; pos += 8) {
        uint32_t type = cv_u32_at(s, pos);

        if (type != 1) {
            cv_report(x, CV_R_TLV_ANNOTATION_TYPE, s.off + pos, 0, type, 1);
            return false;
        }
        if (end - pos < 8) {
            cv_report(x, CV_R_TLV_ANNOTATION_CUT, s.off + pos, 0, end - pos, 8);
            return false;
        }
    }
    return true;
}

/* Only formats with a payload have rows with a size, branches or annotations. */
static bool check_shape(cv_ctx *x, cv_span s, const cv_tlv *t, const cv_attr *row)
{
    bool fixed = row->shape == CV_SHAPE_FIXED, list = row->shape == CV_SHAPE_ARRAY;

    if ((fixed && t->value != row->size) || (list && t->value % row->size != 0)) {
        cv_report(x, CV_R_TLV_SIZE, s.off + t->off + 2, 2, t->value, row->size);
        return false;
    }
    if (row->words == CV_WORDS_ZERO && cv_u32_at(s, t->payload) != 0)
        cv_report(x, CV_R_TLV_ZERO, s.off + t->payload, 4, cv_u32_at(s, t->payload), 0);
    if (row->shape == CV_SHAPE_BRANCHES)
        return check_branches(x, s, t);
    return row->shape != CV_SHAPE_NOTES || check_notes(x, s, t);
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
typedef struct limits {
    uint32_t least[LIMITED_WORDS], most[LIMITED_WORDS];
} limits;

static const limits LIMITS[CV_N_ATTRS] = {
#define ATTR_LIMIT(name, word, low, high)                                                                    \
    [CV_ATTR_##name].least[word] = (low), [CV_ATTR_##name].most[word] = (high),
#include "eiattr.def"
};

/* Values that no machine has, whoever wrote them. */
static void check_limits(cv_ctx *x, cv_span s, const cv_tlv *t, const cv_attr *row)
{
    const limits *l = &CV_AT(LIMITS, t->code);

    if ((CV_ARRAY_GET(l->most, 0) | CV_ARRAY_GET(l->most, 1) | CV_ARRAY_GET(l->most, 2)) == 0)
        return;
    for (size_t i = 0; i < LIMITED_WORDS; i++) {
        uint32_t least = CV_ARRAY_GET(l->least, i), most = CV_ARRAY_GET(l->most, i), v;
        bool stack = most == ATTR_STACK, value = row->shape == CV_SHAPE_VALUE;
        uint64_t at = value ? t->off + 2 : t->payload + 4 * (uint64_t)i;

        if (most == 0)
            continue;
        v = value ? t->value : cv_u32_at(s, at);
        if (stack && v == UINT32_MAX)
            continue;
        if (v > most || v < least)
            cv_report(x, limit_rule(t->code, stack), s.off + at, value ? 2 : 4, v, v < least ? least : most);
    }
}

bool cv_attr_check(cv_ctx *x, cv_span s, const cv_tlv *t, const cv_attr **row)
{
    const cv_attr *r = cv_attr_get(t->code);

    *row = r;
    if (!r) {
        cv_report(x, CV_R_TLV_UNKNOWN, s.off + t->off + 1, t->next - t->off - 1, t->code, CV_N_ATTRS - 1);
        return false;
    }
    if (r->format == 0) {
        cv_report(x, CV_R_TLV_UNSEEN, s.off + t->off + 1, t->next - t->off - 1, t->code, t->format);
        return false;
    }
    if (t->format != r->format) {
        cv_report(x, CV_R_TLV_ATTR_FORMAT, s.off + t->off, 1, t->format, r->format);
        return false;
    }
    if (!check_shape(x, s, t, r))
        return false;
    check_limits(x, s, t, r);
    return true;
}

void cv_attr_kparam(cv_span s, const cv_tlv *t, cv_kparam *out)
{
    uint64_t at = t->payload;
    uint32_t packed = cv_u32_at(s, at + 8);

    *out = (cv_kparam){ .index = cv_u32_at(s, at),
                        .ordinal = cv_u16_at(s, at + 4),
                        .offset = cv_u16_at(s, at + 6) };
    if (t->code == CV_ATTR_KPARAM_INFO_V2) {
        out->size = packed & 0xFFFF;
        return;
    }
    out->log_align = (uint8_t)packed;
    out->space = packed >> 8 & 15;
    out->cbank = packed >> 12 & 31;
    out->size = packed >> 18;
}

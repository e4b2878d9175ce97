/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of functions on the Mercury side of an image beside the native ones: parameters, threads, barriers,
 * registers. */
#include "cubin/twins.h"

#include "format/tlv/attr.h"

/* Parameters that have no number are made up for the code of the capsule: programs give none (libcuvs). */
static bool is_made_up(cv_span span, const cv_tlv *tlv)
{
    cv_kparam param;

    if (tlv->code != CV_ATTR_KPARAM_INFO_V2 || tlv->format != CV_TLV_SVAL)
        return false;
    cv_attr_kparam(span, tlv, &param);
    return param.ordinal == UINT16_MAX;
}

/* Bytes of a record by its first word; 0: it has no end that is known. */
static uint64_t record_size(uint32_t head)
{
    uint8_t format = (uint8_t)head;
    uint64_t size = CV_TLV_HEAD + (format == CV_TLV_SVAL ? head >> 16 : 0);

    return format < CV_TLV_NVAL || format > CV_TLV_SVAL || size % CV_TLV_HEAD != 0 ? 0 : size;
}

static bool is_compared(uint32_t head, bool global)
{
    uint8_t code = (uint8_t)(head >> 8);

    return global ? code == CV_ATTR_REGCOUNT : cv_attr_has_twin(code);
}

/* Over records that each side has for itself. Were there any? */
static bool pass_over(cv_span span, uint64_t *at, bool global)
{
    uint64_t begin = *at;

    while (span.len - *at >= CV_TLV_HEAD) {
        uint32_t head = cv_u32_at(span, *at);
        uint64_t size = record_size(head);

        if (size == 0 || size > span.len - *at || is_compared(head, global))
            break;
        *at += size;
    }
    return *at != begin;
}

/* The next record of a code that both sides have alike. */
static bool next_record(cv_span span, uint64_t *at, bool global, cv_tlv *out)
{
    (void)pass_over(span, at, global); /* what matters is what is there now */
    while (span.len - *at >= CV_TLV_HEAD) {
        uint64_t size = record_size(cv_u32_at(span, *at));

        if (size == 0 || size > span.len - *at)
            return false;
        if (CV_NEVER(cv_tlv_at(span, *at, out) != CV_TLV_OK)) /* its size is known */
            return false;
        *at += size;
        if (global || !is_made_up(span, out))
            return true;
        (void)pass_over(span, at, global);
    }
    return false;
}

static bool same_record(cv_twins *pass, bool global, cv_span native, const cv_tlv *left, cv_span merc,
                        const cv_tlv *right)
{
    cv_span own, other;

    if (left->code != right->code || left->format != right->format || left->stored != right->stored)
        return false;
    if (left->format != CV_TLV_SVAL)
        return true;
    if (global)
        return left->value == 8 &&
               cv_twin_same_symbol(pass, cv_u32_at(native, left->payload), cv_u32_at(merc, right->payload)) &&
               cv_u32_at(native, left->payload + 4) == cv_u32_at(merc, right->payload + 4);
    if (CV_NEVER(!cv_span_sub(native, left->payload, left->value, &own) ||
                 !cv_span_sub(merc, right->payload, right->value, &other)))
        return false;
    return cv_span_eq(own, other);
}

/* The code of a record that the other side lacks, or the first word that makes two different. */
static void report_record(const cv_twins *pass, uint64_t section, bool global, cv_span native,
                          const cv_tlv *left, cv_span merc, const cv_tlv *right)
{
    uint64_t off = right ? right->off : left->off, got = right ? right->code : CV_TWIN_NONE,
             want = left ? left->code : CV_TWIN_NONE;

    if (got == want) {
        got = right->stored;
        want = left->stored;
    }
    for (uint64_t i = 0; got == want && left->format == CV_TLV_SVAL && i + 4 <= left->value; i += 4) {
        got = cv_u32_at(merc, right->payload + i);
        want = cv_u32_at(native, left->payload + i);
        if (global && i == 0) {
            got = cv_twin_number(pass, true, got);
            want = cv_twin_number(pass, false, want);
        }
    }
    cv_body_report(pass->ctx, pass->cubin, section, CV_R_TWIN_DATA, off, got, want);
}

/* Most records are the same on both sides, behind one that only one of them has: those are passed over. What
 * is the same here is the same thing, as symbols have one number on both sides. */
static void skip_equal(cv_span native, uint64_t *at, cv_span merc, uint64_t *merc_at)
{
    uint64_t same = cv_span_agree(cv_span_tail(native, *at), cv_span_tail(merc, *merc_at)), done = 0;

    while (same - done >= CV_TLV_HEAD) {
        uint64_t size = record_size(cv_u32_at(native, *at + done));

        if (size == 0 || size > same - done)
            break;
        done += size;
    }
    *at += done;
    *merc_at += done;
}

/* Parameters, threads, barriers of a function; registers of all of them. */
void cv_twin_check_records(cv_twins *pass, uint64_t native_sec, uint64_t merc_sec)
{
    cv_span native = cv_cubin_body(pass->cubin, native_sec), merc = cv_cubin_body(pass->cubin, merc_sec);
    bool global = cv_cubin_sec(pass->cubin, native_sec)->role == CV_ROLE_NV_INFO;
    uint64_t at = 0, merc_at = 0;
    cv_tlv left = { 0 }, right = { 0 };

    for (;;) {
        bool one, other, more = true;

        while (more) {
            skip_equal(native, &at, merc, &merc_at);
            more = pass_over(native, &at, global);
            more = pass_over(merc, &merc_at, global) || more;
        }
        one = next_record(native, &at, global, &left);
        other = next_record(merc, &merc_at, global, &right);

        if (!one && !other)
            return;
        if (one == other && same_record(pass, global, native, &left, merc, &right))
            continue;
        report_record(pass, other ? merc_sec : native_sec, global, native, one ? &left : NULL, merc,
                      other ? &right : NULL);
        return;
    }
}

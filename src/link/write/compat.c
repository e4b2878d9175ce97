/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage synthetics: .nv.compat, what the inputs claim of other machines put together. */
#include "format/tlv/read.h"
#include "format/tlv/write.h"
#include "link/write/synthetics.h"
#include "target/arch.h"

/* What the inputs say of one tag (spec/compat.def says what becomes of it). */
typedef struct synthetic_tag {
    cv_tlv first;
    const cv_compat_row *row;
    uint32_t max, bits;
    uint64_t mask;  /* of a payload: bits that all inputs have */
    uint64_t count; /* inputs with code that have it */
    cv_id other;    /* the first object that says something else */
    bool zero, differs;
} synthetic_tag;

CV_VEC(tags, synthetic_tag);

/* A payload of the size that the table says. */
static bool has_mask(const cv_tlv *tlv)
{
    const cv_compat_row *row = cv_compat_get(tlv->code);

    return tlv->format == CV_TLV_SVAL && row && row->size == sizeof(uint64_t) && tlv->value == row->size;
}

/* code: the object has code, of which a payload speaks. */
static bool merge_tag(const cv_view_synthetics *view, tags *all, cv_span span, const cv_tlv *tlv, cv_id obj)
{
    bool code = cv_cubin_first(&cv_l_obj(view, obj)->cubin, CV_ROLE_TEXT) != 0;
    uint64_t mask = !code ? UINT64_MAX : has_mask(tlv) ? cv_u64_at(span, tlv->payload) : 0;
    synthetic_tag fresh = { .first = *tlv,
                            .row = cv_compat_get(tlv->code),
                            .max = tlv->value,
                            .bits = tlv->value,
                            .mask = mask,
                            .count = code,
                            .other = CV_NONE,
                            .zero = tlv->value == 0 };

    if (!fresh.row || fresh.row->merge == CV_MERGE_DROP)
        return true;
    for (uint64_t i = 0; i < all->count; i++) {
        synthetic_tag *tag = tags_at(all, i);

        if (tag->first.code != tlv->code)
            continue;
        tag->zero = tag->zero || tlv->value == 0;
        tag->differs = tag->differs || tlv->value != tag->first.value;
        tag->other = tag->other == CV_NONE && tlv->value != tag->first.value ? obj : tag->other;
        tag->max = tag->max > tlv->value ? tag->max : tlv->value;
        tag->bits |= tlv->value;
        tag->mask &= mask;
        tag->count += code;
        return true;
    }
    return tags_push(&view->ctx->mem, all, fresh);
}

/* The records of an object, and what it stands for by having none of a tag. */
static bool merge_object(const cv_view_synthetics *view, tags *all, cv_id obj)
{
    cv_span span = cv_cubin_body(&cv_l_obj(view, obj)->cubin, cv_l_obj(view, obj)->compat);
    uint64_t pos = 0;
    uint32_t has = 0;
    cv_tlv tlv;

    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        if (!merge_tag(view, all, span, &tlv, obj))
            return false;
        has |= tlv.code < CV_N_COMPAT ? UINT32_C(1) << tlv.code : 0;
    }
    for (uint32_t code = 0; code < CV_N_COMPAT; code++) {
        const cv_compat_row *row = cv_compat_get(code);
        cv_tlv absent = { .code = (uint8_t)code, .format = row->format, .value = (uint16_t)row->absent };

        if ((has >> code & 1) == 0 && row->absent != CV_COMPAT_NEVER &&
            !merge_tag(view, all, span, &absent, obj))
            return false;
    }
    return true;
}

/* Different claims of which nobody knows what they mean together. */
static cuvet_status judge_tag(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    const cv_lobj *obj = tag->other == CV_NONE ? NULL : cv_l_obj(view, tag->other);

    if (!obj || tag->row->merge != CV_MERGE_ONE || tag->zero)
        return CUVET_OK;
    return cv_link_refuse_section(view, obj->first_sec + (cv_id)obj->compat, CV_R_LINK_COMPAT,
                                  tag->first.code);
}

/* Do all inputs with code say so? One that says nothing, or that is for the one machine and loses the mark of
 * it here, runs nowhere else. */
static bool all_claim(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    uint64_t count = 0;

    for (cv_id i = 0; i < view->inputs->obj.count; i++) {
        const cv_cubin *cubin = &cv_l_obj(view, i)->cubin;

        if (cv_cubin_first(cubin, CV_ROLE_TEXT) == 0)
            continue;
        count++;
        if (cubin->compat_accel_known && cubin->compat_accel && view->options->target.suffix != 'a')
            return false;
    }
    return count == tag->count;
}

/* Other machines that the code runs on as it is: those of all inputs, none behind a step to another machine.
 * */
static uint64_t common_mask(const cv_view_synthetics *view, const synthetic_tag *tag)
{
    bool kept = cv_arch_has(cv_arch_of(view->options->target.sm), CV_ARCH_KEEPS_MASK) && tag->count != 0;

    return kept && all_claim(view, tag) ? tag->mask : 0;
}

static uint32_t merged_value(const synthetic_tag *tag)
{
    switch (tag->row->merge) {
    case CV_MERGE_ZERO:
    case CV_MERGE_ONE: return tag->zero ? 0 : tag->max;
    case CV_MERGE_DIFFERENT: return tag->differs ? 1 : tag->max;
    case CV_MERGE_BITS: return tag->bits;
    default: return tag->max;
    }
}

static void put_tag(cv_builder *builder, const synthetic_tag *tag)
{
    if (tag->row->merge == CV_MERGE_WIDE)
        cv_tlv_put_hval(builder, tag->first.code, (uint16_t)tag->max);
    else if (tag->row->merge != CV_MERGE_AND && tag->row->merge != CV_MERGE_TARGET)
        cv_tlv_put_head(builder, tag->first.format, tag->first.code, (uint16_t)merged_value(tag));
}

static void put_mask(const cv_view_synthetics *view, cv_builder *builder, const synthetic_tag *tag)
{
    if (tag->row->merge != CV_MERGE_AND || !cv_l_has(view, CV_GEN_COMPAT_MASK) || !has_mask(&tag->first))
        return;
    cv_tlv_put_head(builder, CV_TLV_SVAL, tag->first.code, tag->first.value);
    cv_put_u64(builder, common_mask(view, tag));
}

cuvet_status cv_fill_compat(const cv_view_synthetics *view)
{
    cuvet_status status = CUVET_OK;
    tags all = { 0 };
    bool ok = true;

    if (view->out->compat == CV_NONE)
        return CUVET_OK;
    for (cv_id i = 0; i < view->inputs->obj.count && ok; i++)
        ok = cv_l_obj(view, i)->compat == 0 || merge_object(view, &all, i);
    cv_tlv_put_bval(cv_synthetic_bytes(view, view->out->compat), CV_COMPAT_CUDA_ACCELERATOR_TARGET,
                    view->options->target.suffix == 'a');
    /* Of no input: what an input without the tag stands for, as no file may be without it. */
    if (view->inputs->obj.count == 0 && cv_l_has(view, CV_GEN_COMPAT_ISA_CLASS))
        cv_tlv_put_bval(cv_synthetic_bytes(view, view->out->compat), CV_COMPAT_ISA_CLASS,
                        (uint8_t)cv_compat_get(CV_COMPAT_ISA_CLASS)->absent);
    for (uint64_t i = 0; i < all.count && status == CUVET_OK; i++) {
        status = judge_tag(view, tags_at(&all, i));
        put_tag(cv_synthetic_bytes(view, view->out->compat), tags_at(&all, i));
    }
    for (uint64_t i = 0; i < all.count; i++)
        put_mask(view, cv_synthetic_bytes(view, view->out->compat), tags_at(&all, i));
    tags_free(&view->ctx->mem, &all);
    if (status != CUVET_OK)
        return status;
    return ok ? cv_synthetic_end(view, view->out->compat) : cv_l_nomem(view);
}

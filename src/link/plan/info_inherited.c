/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of stage info_records: the records that a kernel inherits (spec/inherit.def), in the order of the
 * reference. */
#include "link/plan/info_records.h"

/* Words of a function's records of one row that are not in the list yet. */
static bool join_words(info_describer *describer, const cv_lfn *function, cv_heir row)
{
    cv_span span = cv_d_info_body(describer->view, function);
    uint64_t pos = 0;
    cv_tlv tlv;

    if (!cv_work(describer->view->ctx, 1 + span.len / 16, 0))
        return false;
    for (; cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        if (tlv.code != cv_heir_get(row)->code || tlv.format != CV_TLV_SVAL)
            continue;
        for (uint64_t i = 0; i + 4 <= tlv.value; i += 4) {
            uint32_t word = cv_u32_at(span, tlv.payload + i);
            uint64_t at = 0;

            if (!cv_work(describer->view->ctx, 1 + describer->words.count / 4, 0))
                return false;
            while (at < describer->words.count && *cv_u32s_at(&describer->words, at) != word)
                at++;
            if (at == describer->words.count &&
                !cv_u32s_push(&describer->view->ctx->mem, &describer->words, word))
                return false;
        }
    }
    return true;
}

static bool has_row(const info_describer *describer, const cv_lfn *function, cv_heir row)
{
    return cv_l_fn_usage(describer->view, function->id)->has_info &&
           cv_l_fn_usage(describer->view, function->id)->own.has & CV_H_BIT(row);
}

/* Words of the kernel and of all that it reaches; of all that stays, when it is the only one: then its own
 * stand where its records do among those of the inputs. */
static bool collect_words(info_describer *describer, cv_id fn, cv_heir row, const kernel_facts *facts)
{
    const cv_view_info_records *view = describer->view;
    const cv_lfn *function = cv_l_fn(view, fn);
    bool ok = true, own = !has_row(describer, function, row);

    cv_u32s_clear(&describer->words);
    for (uint64_t i = 0; i < facts->below.count && ok; i++) {
        const cv_lfn *callee = cv_l_fn(view, cv_keys_get(&facts->below, i)->index);

        if (!own && (describer->n_kernels != 1 || cv_d_place(view, callee) > cv_d_place(view, function))) {
            own = true;
            ok = join_words(describer, function, row);
        }
        if (ok && has_row(describer, callee, row))
            ok = join_words(describer, callee, row);
    }
    return ok && (own || join_words(describer, function, row));
}

static bool add_row(info_describer *describer, cv_id fn, cv_heir row, const kernel_facts *facts)
{
    const cv_view_info_records *view = describer->view;

    if (cv_heir_get(row)->rule == CV_RULE_WORDS) {
        if (!collect_words(describer, fn, row, facts))
            return false;
        if (describer->words.count <= UINT16_MAX / 4)
            return cv_d_add_words(describer, row);
        cv_link_say(view, cv_l_fn(view, fn)->def, CV_R_LINK_SUM, cv_heir_get(row)->code, UINT16_MAX / 4);
        return true; /* said: the link ends with this stage */
    }
    return cv_d_add_value(describer->view, row, cv_trait(&cv_l_fn_usage(describer->view, fn)->all, row));
}

/* Copied: where there is one kernel alone, the reference does not change what it says of these itself, unless
 * some function says nothing of sparse multiplication, or is gone. */
static bool is_left_to_only(const cv_view_info_records *view, cv_heir row)
{
    return (row == CV_H_SPARSE_MMA_MASK && !view->usage->silent) || row == CV_H_VRC_CTA_INIT_COUNT;
}

/* The list of the only kernel is made anew behind everything else when it grows. */
static bool own_words(info_describer *describer, cv_id fn, cv_heir row, kernel_facts *facts)
{
    uint64_t all;

    if (!collect_words(describer, fn, row, facts))
        return false;
    all = describer->words.count;
    cv_u32s_clear(&describer->words);
    if (!join_words(describer, cv_l_fn(describer->view, fn), row))
        return false;
    if (describer->words.count == all)
        return cv_d_add_words(describer, row);
    facts->told &= ~CV_H_BIT(row);
    return true;
}

bool cv_d_own_record(info_describer *describer, cv_id fn, cv_heir row, kernel_facts *facts)
{
    if (describer->n_kernels == 1 && cv_heir_get(row)->rule == CV_RULE_WORDS)
        return own_words(describer, fn, row, facts);
    if (describer->n_kernels == 1 && is_left_to_only(describer->view, row))
        return cv_d_add_value(describer->view, row, cv_trait(&cv_l_fn_usage(describer->view, fn)->own, row));
    return add_row(describer, fn, row, facts);
}

static bool add_once(info_describer *describer, cv_id fn, cv_heir row, kernel_facts *facts)
{
    if (facts->told & CV_H_BIT(row))
        return true;
    facts->told |= CV_H_BIT(row);
    return add_row(describer, fn, row, facts);
}

static bool add_names(info_describer *describer, kernel_facts *facts)
{
    if (facts->externs)
        return true;
    facts->externs = true;
    return cv_d_add_externs(describer);
}

/* The only kernel hears of numbers that are not 0 only. */
static bool is_silent_zero(const info_describer *describer, const cv_lfn *function, cv_heir row)
{
    return (row == CV_H_NUM_BARRIERS || row == CV_H_NUM_MBARRIERS || row == CV_H_CRS_STACK_SIZE) &&
           cv_trait(&cv_l_fn_usage(describer->view, function->id)->all, row) == 0;
}

/* Barriers that no record tells, but flags of old code. */
static bool flags_alone(const info_describer *describer, const kernel_facts *facts)
{
    for (uint64_t i = 0; i < facts->below.count; i++) {
        const cv_lfn *callee = cv_l_fn(describer->view, cv_keys_get(&facts->below, i)->index);

        if (has_row(describer, callee, CV_H_NUM_BARRIERS) &&
            !cv_l_fn_usage(describer->view, callee->id)->flag_bars)
            return false;
    }
    return true;
}

uint32_t cv_d_kept_barriers(const info_describer *describer, cv_id fn, const kernel_facts *facts)
{
    const cv_fn_usage *usage = cv_l_fn_usage(describer->view, fn);

    return usage->flag_bars && !flags_alone(describer, facts) ? cv_trait(&usage->own, CV_H_NUM_BARRIERS) : 0;
}

/* Then they come behind everything else. */
static bool are_last(const info_describer *describer, const cv_lfn *function, const kernel_facts *facts)
{
    return cv_l_fn_usage(describer->view, function->id)->all.has & CV_H_BIT(CV_H_NUM_BARRIERS) &&
           !(facts->told & CV_H_BIT(CV_H_NUM_BARRIERS)) && flags_alone(describer, facts);
}

/* In the order of the rows. */
static bool add_to_only(info_describer *describer, cv_id fn, kernel_facts *facts)
{
    const cv_lfn *function = cv_l_fn(describer->view, fn);
    bool ok = true, late = are_last(describer, function, facts);

    for (unsigned i = 0; i < CV_N_HEIR && ok; i++) {
        cv_heir row = (cv_heir)i;

        if (cv_heir_get(row)->rule == CV_RULE_NAMES)
            ok = add_names(describer, facts);
        else if (cv_l_fn_usage(describer->view, function->id)->all.has & CV_H_BIT(row) &&
                 !is_silent_zero(describer, function, row) && !(late && row == CV_H_NUM_BARRIERS))
            ok = add_once(describer, fn, row, facts);
    }
    return ok && (!late || is_silent_zero(describer, function, CV_H_NUM_BARRIERS) ||
                  add_once(describer, fn, CV_H_NUM_BARRIERS, facts));
}

/* Has a function below a record of a row that the kernel has none of yet? Many kernels reach the same ones.
 */
static bool has_more(const info_describer *describer, const cv_lfn *callee, uint8_t tells,
                     const kernel_facts *facts)
{
    uint32_t rows = cv_l_fn_usage(describer->view, callee->id)->own.has &
                    ~(uint32_t)(CV_H_BIT(CV_H_CRS_STACK_SIZE) | CV_H_BIT(CV_H_EXTERNS));

    return (rows & ~facts->told) != 0 || (!facts->externs && tells & CV_D_NAMES);
}

/* In the order of the records of a function that it reaches. */
static bool add_from(info_describer *describer, cv_id fn, cv_id from, kernel_facts *facts)
{
    const cv_lfn *callee = cv_l_fn(describer->view, from);
    uint8_t tells = *cv_u8s_at(&describer->tells, from);
    bool ok, more = has_more(describer, callee, tells, facts);
    cv_span span = more ? cv_d_info_body(describer->view, callee) : cv_span_of(NULL, 0, 0);
    uint64_t pos = 0;
    cv_tlv tlv;

    ok = cv_work(describer->view->ctx, 1 + span.len / 16, 0); /* of one function for all kernels above it */
    for (; ok && cv_tlv_at(span, pos, &tlv) == CV_TLV_OK; pos = tlv.next) {
        cv_heir row = cv_heir_of(tlv.code);

        if (row >= CV_N_HEIR || tlv.format != cv_heir_get(row)->format || row == CV_H_CRS_STACK_SIZE)
            continue;
        if (cv_heir_get(row)->rule != CV_RULE_NAMES)
            ok = add_once(describer, fn, row, facts);
        else
            ok = add_names(describer, facts); /* here, also when nothing of this list stays */
    }
    return ok;
}

/* Function by function, in the order in which the kernel reaches them. */
static bool add_from_all(info_describer *describer, cv_id fn, kernel_facts *facts)
{
    bool ok = true, late = are_last(describer, cv_l_fn(describer->view, fn), facts);

    if (late)
        facts->told |= CV_H_BIT(CV_H_NUM_BARRIERS);
    for (uint64_t i = 0; i < facts->below.count && ok; i++)
        ok = add_from(describer, fn, (cv_id)cv_keys_at(&facts->below, i)->index, facts);
    ok = ok && add_names(describer, facts);
    return ok && (!late || add_row(describer, fn, CV_H_NUM_BARRIERS, facts));
}

bool cv_d_missing(info_describer *describer, cv_id fn, kernel_facts *facts)
{
    const cv_lfn *function = cv_l_fn(describer->view, fn);
    bool ok = true;

    facts->externs = facts->in_place || describer->list.count == 0;
    if (cv_l_fn_usage(describer->view, function->id)->recursive ||
        !is_silent_zero(describer, function, CV_H_CRS_STACK_SIZE))
        ok = add_once(describer, fn, CV_H_CRS_STACK_SIZE, facts);
    if (ok && cv_l_fn_usage(describer->view, function->id)->marked)
        ok = add_once(describer, fn, CV_H_SPARSE_MMA_MASK, facts);
    return ok && (describer->n_kernels == 1 ? add_to_only(describer, fn, facts)
                                            : add_from_all(describer, fn, facts));
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Of stage describe: the records that a kernel inherits (spec/inherit.def), in the order of the reference. */
#include "link/plan/info_records.h"

/* Words of a function's records of one row that are not in the list yet. */
static bool join_words(describer *d, const cv_lfn *f, cv_heir row)
{
    cv_span s = cv_d_info_body(d->l, f);
    uint64_t pos = 0;
    cv_tlv t;

    for (; cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        if (t.code != cv_heir_get(row)->code || t.format != CV_TLV_SVAL)
            continue;
        for (uint64_t i = 0; i + 4 <= t.value; i += 4) {
            uint32_t word = cv_u32_at(s, t.payload + i);
            uint64_t at = 0;

            if (!cv_work(d->l->x, 1 + d->words.n / 4, 0))
                return false;
            while (at < d->words.n && *cv_u32s_at(&d->words, at) != word)
                at++;
            if (at == d->words.n && !cv_u32s_push(&d->l->x->mem, &d->words, word))
                return false;
        }
    }
    return true;
}

static bool has_row(const cv_lfn *f, cv_heir row)
{
    return f->has_info && f->own.has & CV_H_BIT(row);
}

/* Words of the kernel and of all that it reaches; of all that stays, when it is the only one: then its own
 * stand where its records do among those of the inputs. */
static bool collect_words(describer *d, cv_id fn, cv_heir row, const kernel_facts *k)
{
    const cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    bool ok = true, own = !has_row(f, row);

    cv_u32s_clear(&d->words);
    for (uint64_t i = 0; i < k->below.n && ok; i++) {
        const cv_lfn *g = cv_l_fn(l, cv_keys_get(&k->below, i)->index);

        if (!own && (d->n_kernels != 1 || cv_d_place(l, g) > cv_d_place(l, f))) {
            own = true;
            ok = join_words(d, f, row);
        }
        if (ok && has_row(g, row))
            ok = join_words(d, g, row);
    }
    return ok && (own || join_words(d, f, row));
}

static bool add_row(describer *d, cv_id fn, cv_heir row, const kernel_facts *k)
{
    cv_link *l = d->l;

    if (cv_heir_get(row)->rule == CV_RULE_WORDS) {
        if (!collect_words(d, fn, row, k))
            return false;
        if (d->words.n <= UINT16_MAX / 4)
            return cv_d_add_words(d, row);
        cv_link_say(l, cv_l_fn(l, fn)->def, CV_R_LINK_SUM, cv_heir_get(row)->code, UINT16_MAX / 4);
        return true; /* said: the link ends with this stage */
    }
    return cv_d_add_value(d->l, row, cv_trait(&cv_l_fn(d->l, fn)->all, row));
}

/* Copied: where there is one kernel alone, the reference does not change what it says of these itself, unless
 * some function, dead or not, says nothing of sparse multiplication. */
static bool is_left_to_only(const cv_link *l, cv_heir row)
{
    return (row == CV_H_SPARSE_MMA_MASK && !l->silent) || row == CV_H_VRC_CTA_INIT_COUNT;
}

/* The list of the only kernel is made anew behind everything else when it grows. */
static bool own_words(describer *d, cv_id fn, cv_heir row, kernel_facts *k)
{
    uint64_t all;

    if (!collect_words(d, fn, row, k))
        return false;
    all = d->words.n;
    cv_u32s_clear(&d->words);
    if (!join_words(d, cv_l_fn(d->l, fn), row))
        return false;
    if (d->words.n == all)
        return cv_d_add_words(d, row);
    k->told &= ~CV_H_BIT(row);
    return true;
}

bool cv_d_own_record(describer *d, cv_id fn, cv_heir row, kernel_facts *k)
{
    if (d->n_kernels == 1 && cv_heir_get(row)->rule == CV_RULE_WORDS)
        return own_words(d, fn, row, k);
    if (d->n_kernels == 1 && is_left_to_only(d->l, row))
        return cv_d_add_value(d->l, row, cv_trait(&cv_l_fn(d->l, fn)->own, row));
    return add_row(d, fn, row, k);
}

static bool add_once(describer *d, cv_id fn, cv_heir row, kernel_facts *k)
{
    if (k->told & CV_H_BIT(row))
        return true;
    k->told |= CV_H_BIT(row);
    return add_row(d, fn, row, k);
}

static bool add_names(describer *d, kernel_facts *k)
{
    if (k->externs)
        return true;
    k->externs = true;
    return cv_d_add_externs(d);
}

/* The only kernel hears of numbers that are not 0 only. */
static bool is_silent_zero(const cv_lfn *f, cv_heir row)
{
    return (row == CV_H_NUM_BARRIERS || row == CV_H_NUM_MBARRIERS || row == CV_H_CRS_STACK_SIZE) &&
           cv_trait(&f->all, row) == 0;
}

/* Barriers that no record tells, but flags of old code. */
static bool flags_alone(const describer *d, const kernel_facts *k)
{
    for (uint64_t i = 0; i < k->below.n; i++) {
        const cv_lfn *g = cv_l_fn(d->l, cv_keys_get(&k->below, i)->index);

        if (has_row(g, CV_H_NUM_BARRIERS) && !g->flag_bars)
            return false;
    }
    return true;
}

/* In the order of the rows. */
static bool add_to_only(describer *d, cv_id fn, kernel_facts *k)
{
    const cv_lfn *f = cv_l_fn(d->l, fn);
    bool ok = true, late = f->all.has & CV_H_BIT(CV_H_NUM_BARRIERS) && flags_alone(d, k);

    for (unsigned i = 0; i < CV_N_HEIR && ok; i++) {
        cv_heir row = (cv_heir)i;

        if (cv_heir_get(row)->rule == CV_RULE_NAMES)
            ok = add_names(d, k);
        else if (f->all.has & CV_H_BIT(row) && !is_silent_zero(f, row) && !(late && row == CV_H_NUM_BARRIERS))
            ok = add_once(d, fn, row, k);
    }
    return ok && (!late || is_silent_zero(f, CV_H_NUM_BARRIERS) || add_once(d, fn, CV_H_NUM_BARRIERS, k));
}

/* Has a function below a record of a row that the kernel has none of yet? Many kernels reach the same ones.
 */
static bool has_more(const cv_lfn *g, uint8_t tells, const kernel_facts *k)
{
    uint32_t rows = g->own.has & ~(uint32_t)(CV_H_BIT(CV_H_CRS_STACK_SIZE) | CV_H_BIT(CV_H_EXTERNS));

    return (rows & ~k->told) != 0 || (!k->externs && tells & CV_D_KEEPS);
}

/* In the order of the records of a function that it reaches. */
static bool add_from(describer *d, cv_id fn, cv_id from, kernel_facts *k)
{
    const cv_lfn *g = cv_l_fn(d->l, from);
    uint8_t tells = *cv_u8s_at(&d->tells, from);
    bool ok = true, more = has_more(g, tells, k);
    cv_span s = more ? cv_d_info_body(d->l, g) : cv_span_of(NULL, 0, 0);
    uint64_t pos = 0;
    cv_tlv t;

    for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        cv_heir row = cv_heir_of(t.code);

        if (row >= CV_N_HEIR || t.format != cv_heir_get(row)->format || row == CV_H_CRS_STACK_SIZE)
            continue;
        if (cv_heir_get(row)->rule != CV_RULE_NAMES)
            ok = add_once(d, fn, row, k);
        else if (tells & CV_D_KEEPS)
            ok = add_names(d, k);
    }
    if (ok && g->flag_bars) /* the reference makes a record of it behind the others */
        ok = add_once(d, fn, CV_H_NUM_BARRIERS, k);
    return ok;
}

bool cv_d_missing(describer *d, cv_id fn, kernel_facts *k)
{
    const cv_lfn *f = cv_l_fn(d->l, fn);
    bool ok = true;

    k->externs = k->in_place || d->list.n == 0;
    if (f->recursive || !is_silent_zero(f, CV_H_CRS_STACK_SIZE))
        ok = add_once(d, fn, CV_H_CRS_STACK_SIZE, k);
    if (ok && f->flag_bars)
        ok = add_once(d, fn, CV_H_NUM_BARRIERS, k);
    if (ok && f->marked)
        ok = add_once(d, fn, CV_H_SPARSE_MMA_MASK, k);
    if (ok && d->n_kernels == 1)
        ok = add_to_only(d, fn, k);
    for (uint64_t i = 0; i < k->below.n && ok && d->n_kernels != 1; i++)
        ok = add_from(d, fn, (cv_id)cv_keys_at(&k->below, i)->index, k);
    return ok && add_names(d, k);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage describe: the .nv.info records of the output. Records of the inputs come out in reverse order,
 * symbols become those of the output, and what was propagated replaces what a function alone knew. */
#include "link/plan/info_records.h"

#include "cubin/admit.h"
#include "format/tlv/attr.h"

static bool add_word(cv_link *l, uint32_t value, bool symbol)
{
    cv_iword w = { value, symbol };

    return l->word.n < CV_NONE && cv_iwords_push(&l->x->mem, &l->word, w);
}

static bool add_record(cv_link *l, const cv_irec *r)
{
    cv_irec e = *r;

    return cv_irecs_push(&l->x->mem, &l->rec, e);
}

static bool add_pair(cv_link *l, uint8_t code, cv_id osym, uint32_t value)
{
    const cv_irec r = { .format = CV_TLV_SVAL, .code = code, .first = (cv_id)l->word.n, .n = 2 };

    return add_word(l, osym, true) && add_word(l, value, false) && add_record(l, &r);
}

static bool add_raw(cv_link *l, cv_span s, const cv_tlv *t)
{
    cv_irec r = { .format = t->format, .code = t->code, .value = t->value };

    if (t->format == CV_TLV_SVAL) {
        r.raw = true;
        if (!cv_span_sub(s, t->payload, t->value, &r.bytes))
            return false;
    }
    return add_record(l, &r);
}

bool cv_d_add_externs(describer *d)
{
    cv_link *l = d->l;
    const cv_irec r = {
        .format = CV_TLV_SVAL, .code = CV_ATTR_EXTERNS, .first = (cv_id)l->word.n, .n = (uint32_t)d->list.n
    };

    for (uint64_t i = 0; i < d->list.n; i++)
        if (!add_word(l, *cv_u32s_at(&d->list, i), true))
            return false;
    return add_record(l, &r);
}

/* A record of one value, as its row says. */
bool cv_d_add_value(cv_link *l, cv_heir row, uint32_t value)
{
    cv_irec r = { .format = cv_heir_get(row)->format, .code = cv_heir_get(row)->code };

    if (r.format == CV_TLV_SVAL) {
        r.first = (cv_id)l->word.n;
        r.n = 1;
        if (!add_word(l, value, false))
            return false;
    } else {
        r.value = r.format == CV_TLV_NVAL ? 0 : (uint16_t)value;
    }
    return add_record(l, &r);
}

/* What was joined of many. */
bool cv_d_add_words(describer *d, cv_heir row)
{
    cv_link *l = d->l;
    const cv_irec r = { .format = cv_heir_get(row)->format,
                        .code = cv_heir_get(row)->code,
                        .first = (cv_id)l->word.n,
                        .n = (uint32_t)d->words.n };

    for (uint64_t i = 0; i < d->words.n; i++)
        if (!add_word(l, *cv_u32s_at(&d->words, i), false))
            return false;
    return add_record(l, &r);
}

/* Where the loader finds the slots: bank 0. */
static bool add_bindless(cv_link *l, uint8_t code)
{
    const cv_irec r = { .format = CV_TLV_BVAL, .code = code };

    return add_record(l, &r);
}

/* A record whose first word is a symbol. False, said: no symbol of the output. */
static bool add_renumbered(describer *d, const cv_lobj *o, cv_span s, const cv_tlv *t)
{
    cv_link *l = d->l;
    const cv_irec r = {
        .format = CV_TLV_SVAL, .code = t->code, .first = (cv_id)l->word.n, .n = t->value / 4u
    };
    uint32_t index = cv_u32_at(s, t->payload);
    cv_id y = cv_d_output_symbol(l, o, index);
    bool ok;

    if (y == CV_NONE) {
        cv_link_say(l, index < o->n_sym ? o->first_sym + index : CV_NONE, CV_R_LINK_REFERENCE, index,
                    t->code);
        return true; /* the link ends with this stage */
    }
    ok = add_word(l, y, true);
    for (uint32_t i = 1; i < r.n && ok; i++)
        ok = add_word(l, cv_u32_at(s, t->payload + 4 * (uint64_t)i), false);
    return ok && add_record(l, &r);
}

/* A record that no stage makes anew: as it is, but for its symbol. isec: the section it lies in. */
static bool copy_plain(describer *d, cv_id isec, cv_span s, const cv_tlv *t)
{
    cv_link *l = d->l;
    const cv_attr *row = cv_attr_get(t->code);
    bool words = t->format == CV_TLV_SVAL && t->value >= 4 && t->value % 4 == 0;

    switch (row ? (cv_attr_words)row->words : CV_WORDS_MERGED) {
    case CV_WORDS_PLAIN:
    case CV_WORDS_TEXT:
    case CV_WORDS_ZERO: return add_raw(l, s, t);
    case CV_WORDS_FUNC:
    case CV_WORDS_SYM:
    case CV_WORDS_SECTION:
        if (words)
            return add_renumbered(d, cv_l_obj(l, cv_l_isec(l, isec)->obj), s, t);
        break;
    case CV_WORDS_FUNCS:
    case CV_WORDS_MERGED: break;
    }
    cv_link_say_section(l, isec, CV_R_LINK_ATTR, t->code);
    return true;
}

/* One record of a function, as it comes out. kernel: in a final link. */
static bool copy_record(describer *d, cv_id fn, cv_span s, const cv_tlv *t, kernel_facts *k)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    const cv_lobj *o = cv_l_obj(l, cv_l_isym(l, f->def)->obj);

    cv_heir row = cv_heir_of(t->code);

    if (t->code == CV_ATTR_EXPLICIT_CLUSTER && cv_l_has(l, CV_GEN_REMAKES_CODE) && o->cubin.has_capsule)
        cv_link_say(l, f->def, CV_R_LINK_OTHER_CODE, 0, 0);
    /* Ours would be older than this record. A file without a version of its own was admitted without one. */
    if (t->code == CV_ATTR_CUDA_API_VERSION && cv_u32_at(s, t->payload) > CV_ADMIT_TOOLKIT)
        cv_link_say(l, f->def, CV_R_ADMIT_TOOLKIT_NEWER, cv_u32_at(s, t->payload), CV_ADMIT_TOOLKIT);
    if (t->code == CV_ATTR_EXTERNS)
        return (k && !k->in_place) || d->list.n == 0 || cv_d_add_externs(d);
    if (t->code == CV_ATTR_PARAM_CBANK && t->format == CV_TLV_SVAL && t->value == 8) {
        uint32_t bank = cv_u32_at(s, t->payload);
        cv_id y = cv_d_output_symbol(l, o, bank);

        if (y != CV_NONE && cv_l_osym(l, y)->is_section &&
            cv_l_osec(l, cv_l_osym(l, y)->sec)->infosec == f->sec) /* its own */
            return add_pair(l, t->code, y, cv_u32_at(s, t->payload + 4));
        cv_link_say(l, f->def, CV_R_LINK_REFERENCE, bank, t->code);
        return true; /* said: the link ends with this stage */
    }
    if (row < CV_N_HEIR && t->format == cv_heir_get(row)->format) {
        if (k)
            return cv_d_own_record(d, fn, row, k);
        if (cv_heir_get(row)->leaves && !l->o.relocatable)
            return true; /* the kernels that reach it have it */
    }
    return copy_plain(d, cv_l_isec(l, cv_l_isym(l, f->def)->sec)->info_sec, s, t);
}

/* What the reference writes anew with the code comes last. */
static bool is_late(const cv_link *l, uint8_t code)
{
    return cv_l_has(l, CV_GEN_LATE_RECORDS) &&
           (code == CV_ATTR_CBANK_PARAM_SIZE || code == CV_ATTR_PARAM_CBANK || code == CV_ATTR_SW_WAR);
}

static bool copy_records(describer *d, cv_id fn, kernel_facts *k, bool late)
{
    cv_span s = cv_d_info_body(d->l, cv_l_fn(d->l, fn));
    uint64_t pos = 0;
    bool ok = true;
    cv_tlv t;

    for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        if (is_late(d->l, t.code) == late)
            ok = copy_record(d, fn, s, &t, k);
    }
    return ok;
}

static void turn_round(cv_link *l, uint64_t first)
{
    for (uint64_t a = first, b = l->rec.n; b > a + 1; a++, b--) {
        cv_irec r = *cv_irecs_at(&l->rec, a);

        *cv_irecs_at(&l->rec, a) = *cv_irecs_at(&l->rec, b - 1);
        *cv_irecs_at(&l->rec, b - 1) = r;
    }
}

/* Records of one function: forwards into the list, then turned round. */
static cuvet_status describe_function(describer *d, cv_id fn)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    cv_oinfo out = { .fn = fn, .sec = CV_NONE, .first = l->rec.n };
    bool kernel = f->kernel && !l->o.relocatable, ok;
    kernel_facts k = { .told = f->own.has };

    if (f->flag_bars)
        k.told &= ~CV_H_BIT(CV_H_NUM_BARRIERS);
    if (f->marked)
        k.told &= ~CV_H_BIT(CV_H_SPARSE_MMA_MASK);
    cv_d_new_list(d);
    ok = kernel ? cv_d_find_facts(d, fn, &k) : cv_d_list_kept(d, f);
    ok = ok && copy_records(d, fn, kernel ? &k : NULL, false);
    turn_round(l, out.first);
    if (ok && kernel)
        ok = cv_d_missing(d, fn, &k);
    else if (ok && f->flag_bars)
        ok = cv_d_add_value(l, CV_H_NUM_BARRIERS, cv_trait(&f->own, CV_H_NUM_BARRIERS));
    if (ok && !kernel && f->marked)
        ok = cv_d_add_value(l, CV_H_SPARSE_MMA_MASK, CV_H_SPARSE_SILENT);
    ok = ok && copy_records(d, fn, kernel ? &k : NULL, true);
    if (ok && cv_l_has(l, CV_GEN_BINDLESS_RECORDS) && f->slots)
        ok = add_bindless(l, CV_ATTR_BINDLESS_TEXTURE_BANK) && add_bindless(l, CV_ATTR_BINDLESS_SURFACE_BANK);
    cv_keys_free(&l->x->mem, &k.below);
    out.n = l->rec.n - out.first;
    return ok && cv_oinfos_push(&l->x->mem, &l->oinfo, out) ? CUVET_OK : cv_l_nomem(l);
}

/* The record of the program: what it keeps of each object, the last one first. */
static bool copy_global(describer *d, const cv_lobj *o, cv_span s, const cv_tlv *t)
{
    cv_link *l = d->l;
    uint32_t index = cv_u32_at(s, t->payload), value = cv_u32_at(s, t->payload + 4);
    const cv_isym *y;
    const cv_lfn *f;

    if (t->code != CV_ATTR_FRAME_SIZE && t->code != CV_ATTR_REGCOUNT && t->code != CV_ATTR_MAX_STACK_SIZE &&
        t->code != CV_ATTR_MIN_STACK_SIZE)
        return copy_plain(d, o->first_sec + (cv_id)o->info, s, t);
    if (index >= o->n_sym)
        return true;
    y = cv_l_isym(l, o->first_sym + index);
    if (y->fn == CV_NONE)
        return true;
    f = cv_l_fn(l, y->fn);
    if (f->def != o->first_sym + index || !f->live ||
        (t->code == CV_ATTR_MAX_STACK_SIZE && !l->o.relocatable))
        return true;
    if (t->code == CV_ATTR_REGCOUNT && f->kernel && !l->o.relocatable)
        value = f->all_regs;
    return add_pair(l, t->code, y->out, value);
}

static cuvet_status describe_program(describer *d)
{
    cv_link *l = d->l;
    uint64_t first = l->rec.n;
    bool ok = true;

    for (cv_id i = 0; i < l->obj.n && ok; i++) {
        const cv_lobj *o = cv_l_obj(l, i);
        cv_span s = cv_cubin_body(&o->cubin, o->info);
        uint64_t pos = 0;
        cv_tlv t;

        for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
            ok = copy_global(d, o, s, &t);
    }
    turn_round(l, first);
    for (int global = 0; global < 2 && ok && !l->o.relocatable; global++) {
        const cv_u32s *list = global ? &l->globals : &l->locals;

        for (uint64_t i = 0; i < list->n && ok; i++) {
            cv_id id = *cv_u32s_get(list, i), fn = cv_l_osym(l, id)->fn;
            const cv_lfn *f = fn == CV_NONE ? NULL : cv_l_fn(l, fn);

            if (f && f->kernel && f->def != CV_NONE && f->live && f->sym == id)
                ok = add_pair(l, CV_ATTR_MIN_STACK_SIZE, id, (uint32_t)f->stack);
        }
    }
    l->program_first = first;
    l->program_n = l->rec.n - first;
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* A function is heard of when it has something that a kernel has no record of, words to join, or symbols that
 * somebody else has to provide. With a single kernel nobody asks who reaches what. */
static cuvet_status find_tellers(describer *d)
{
    cv_link *l = d->l;
    uint32_t words = cv_heir_bits(CV_RULE_WORDS), names = cv_heir_bits(CV_RULE_NAMES);
    bool ok =
        cv_u32s_fill(&l->x->mem, &d->only, l->fn.n) && cv_u8s_fill(&l->x->mem, &d->tells, cv_max(l->fn.n, 1));

    for (cv_id i = 0; i < l->fn.n; i++)
        if (cv_link_is_kernel(cv_l_fn(l, i))) {
            d->n_kernels++;
            d->lacked |= ~cv_l_fn(l, i)->own.has;
        }
    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || f->kernel || !f->has_info)
            continue;
        ok = cv_d_look_at_lists(d, f, cv_u8s_at(&d->tells, i));
        *cv_u32s_at(&d->only, i) =
            *cv_u8s_at(&d->tells, i) & CV_D_KEEPS || f->own.has & (words | (d->lacked & ~names));
    }
    return ok ? cv_link_above(l, &d->only) : cv_l_nomem(l);
}

static cuvet_status describe_functions(describer *d)
{
    cv_link *l = d->l;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || !f->live || !f->has_info || cv_l_osec(l, f->sec)->fn != i)
            continue;
        st = describe_function(d, i);
    }
    return st;
}

cuvet_status cv_link_describe(cv_link *l)
{
    cv_mem *m = &l->x->mem;
    describer d = { .l = l };
    cuvet_status st;

    if (!cv_u32s_fill(m, &d.mark, cv_max(l->osym.n, 1)) ||
        !cv_u32s_fill(m, &d.seen, cv_max(l->n_proto_nodes, 1)))
        st = cv_l_nomem(l);
    else
        st = l->o.relocatable ? CUVET_OK : find_tellers(&d);
    if (st == CUVET_OK)
        st = describe_functions(&d);
    if (st == CUVET_OK)
        st = describe_program(&d);
    cv_u32s_free(m, &d.list);
    cv_u32s_free(m, &d.words);
    cv_u32s_free(m, &d.below);
    cv_u32s_free(m, &d.seen);
    cv_u32s_free(m, &d.only);
    cv_u8s_free(m, &d.tells);
    cv_u32s_free(m, &d.mark);
    return st;
}

/* Is word i of a payload a symbol, as the table of attributes has it? */
static bool is_symbol_word(const cv_irec *r, uint64_t i)
{
    const cv_attr *row = cv_attr_get(r->code);

    switch (row ? (cv_attr_words)row->words : CV_WORDS_MERGED) {
    case CV_WORDS_PLAIN:
    case CV_WORDS_TEXT:
    case CV_WORDS_ZERO: return false;
    case CV_WORDS_FUNCS: return true;
    case CV_WORDS_FUNC:
    case CV_WORDS_SYM:
    case CV_WORDS_SECTION:
    case CV_WORDS_MERGED:
    default: return i == 0;
    }
}

static bool record_holds(const cv_link *l, const cv_irec *r)
{
    if (r->raw) /* bytes of an input: nothing in them was renumbered */
        return r->bytes.len <= UINT16_MAX && !is_symbol_word(r, 0);
    if (r->n == 0)
        return true;
    if (cv_sat_add(r->first, r->n) > l->word.n || r->n > UINT16_MAX / 4)
        return false;
    for (uint64_t i = 0; i < r->n; i++) {
        const cv_iword *w = cv_iwords_get(&l->word, r->first + i);

        if (w->symbol != is_symbol_word(r, i) || (w->symbol && w->value >= l->osym.n))
            return false;
    }
    return true;
}

static bool has_records(const cv_link *l, cv_id fn)
{
    const cv_lfn *f;

    if (fn >= l->fn.n)
        return false;
    f = cv_l_fn(l, fn);
    return f->def != CV_NONE && f->live && f->has_info && cv_l_osec(l, f->sec)->fn == fn;
}

/* The value of a record, wherever it stands. */
static uint32_t value_of(const cv_link *l, const cv_irec *r)
{
    if (r->raw)
        return r->bytes.len >= 4 ? cv_u32_at(r->bytes, 0) : 0;
    if (r->n)
        return cv_iwords_get(&l->word, r->first)->value;
    return r->value;
}

/* Where there is one kernel alone, the reference leaves what that says of these itself; and nobody hears of
 * numbers that are 0. */
static bool tells_enough(cv_heir row, uint32_t told, uint32_t want, bool only)
{
    switch ((cv_heir_rule)cv_heir_get(row)->rule) {
    case CV_RULE_MOST:
    case CV_RULE_BITS: return told == want || (only && told < want);
    case CV_RULE_SUM:
    case CV_RULE_PATH: return told == want;
    case CV_RULE_ANY:
    case CV_RULE_WORDS:
    case CV_RULE_NAMES: break;
    }
    return true;
}

/* A kernel tells all that it inherits; what leaves a function is not told by it. */
static bool heirs_hold(const cv_link *l, const cv_oinfo *e, bool only)
{
    const cv_lfn *f = cv_l_fn(l, e->fn);
    uint32_t told = cv_heir_bits(CV_RULE_NAMES);

    for (uint64_t i = e->first; i < e->first + e->n; i++) {
        const cv_irec *r = cv_irecs_get(&l->rec, i);
        cv_heir row = cv_heir_of(r->code);

        if (row >= CV_N_HEIR || r->format != cv_heir_get(row)->format)
            continue;
        if (!f->kernel && cv_heir_get(row)->leaves && cv_heir_get(row)->rule != CV_RULE_NAMES)
            return false;
        if (f->kernel && !tells_enough(row, value_of(l, r), cv_trait(&f->all, row), only))
            return false;
        told |= CV_H_BIT(row);
    }
    for (unsigned i = 0; i < CV_N_HEIR && f->kernel; i++)
        if (f->all.has & ~told & CV_H_BIT(i) &&
            (cv_trait(&f->all, i) || cv_heir_get((cv_heir)i)->rule == CV_RULE_ANY))
            return false;
    return true;
}

static uint64_t count_kernels(const cv_link *l)
{
    uint64_t n = 0;

    for (cv_id i = 0; i < l->fn.n; i++)
        n += cv_link_is_kernel(cv_l_fn(l, i));
    return n;
}

/* Records of the functions one after the other, those of the program behind them; words and symbols exist;
 * every function that had records has some. */
bool cv_link_describe_holds(const cv_link *l)
{
    uint64_t at = 0, functions = 0, kernels = count_kernels(l);

    for (uint64_t i = 0; i < l->oinfo.n; i++) {
        const cv_oinfo *e = cv_oinfos_get(&l->oinfo, i);

        if (e->first != at || !has_records(l, e->fn))
            return false;
        at = cv_sat_add(at, e->n);
        if (at > l->rec.n || (!l->o.relocatable && !heirs_hold(l, e, kernels == 1)))
            return false;
    }
    if (l->program_first != at || cv_sat_add(at, l->program_n) != l->rec.n)
        return false;
    for (cv_id i = 0; i < l->fn.n; i++)
        functions += has_records(l, i);
    if (functions != l->oinfo.n)
        return false;
    for (uint64_t i = 0; i < l->rec.n; i++)
        if (!record_holds(l, cv_irecs_get(&l->rec, i)))
            return false;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage describe: the .nv.info records of the output. Records of the inputs come out in reverse order,
 * symbols become those of the output, and what was propagated replaces what a function alone knew. */
#include "link/describe.h"

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

static bool add_externs(describer *d)
{
    cv_link *l = d->l;
    const cv_irec r = {
        .format = CV_TLV_SVAL, .code = A_EXTERNS, .first = (cv_id)l->word.n, .n = (uint32_t)d->list.n
    };

    for (uint64_t i = 0; i < d->list.n; i++)
        if (!add_word(l, *cv_u32s_at(&d->list, i), true))
            return false;
    return add_record(l, &r);
}

static bool add_recursion(cv_link *l)
{
    const cv_irec r = { .format = CV_TLV_SVAL, .code = A_CRS_STACK_SIZE, .first = (cv_id)l->word.n, .n = 1 };

    return add_word(l, UINT32_MAX, false) && add_record(l, &r);
}

static bool add_barriers(cv_link *l, uint32_t n)
{
    const cv_irec r = { .format = CV_TLV_BVAL, .code = A_NUM_BARRIERS, .value = (uint16_t)n };

    return add_record(l, &r);
}

/* Where the loader finds the slots: bank 0. */
static bool add_bindless(cv_link *l, uint8_t code)
{
    const cv_irec r = { .format = CV_TLV_BVAL, .code = code };

    return add_record(l, &r);
}

static bool add_sparse(cv_link *l, uint32_t mask)
{
    const cv_irec r = { .format = CV_TLV_HVAL, .code = A_SPARSE_MMA_MASK, .value = (uint16_t)mask };

    return add_record(l, &r);
}

/* One record of a function, as it comes out. kernel: in a final link. */
static bool copy_record(describer *d, cv_id fn, cv_span s, const cv_tlv *t, const kernel_facts *k)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    const cv_lobj *o = cv_l_obj(l, cv_l_isym(l, f->def)->obj);

    if (t->code == A_EXPLICIT_CLUSTER && l->o.target.sm >= 100 && o->cubin.has_capsule)
        cv_link_say(l, f->def, CV_R_LINK_OTHER_CODE, 0, 0);
    if (t->code == A_EXTERNS)
        return (k && !k->in_place) || d->list.n == 0 || add_externs(d);
    if (t->code == A_PARAM_CBANK && t->format == CV_TLV_SVAL && t->value == 8) {
        uint32_t bank = cv_u32_at(s, t->payload);
        cv_id y = cv_d_output_symbol(l, o, bank);

        if (y != CV_NONE && cv_l_osym(l, y)->is_section &&
            cv_l_osec(l, cv_l_osym(l, y)->sec)->infosec == f->sec) /* its own */
            return add_pair(l, t->code, y, cv_u32_at(s, t->payload + 4));
        cv_link_say(l, f->def, CV_R_LINK_REFERENCE, bank, t->code);
        return true; /* said: the link ends with this stage */
    }
    if (k && t->code == A_NUM_BARRIERS)
        return add_barriers(l, f->all_bars);
    if (k && t->code == A_SPARSE_MMA_MASK && t->format == CV_TLV_HVAL)
        return add_sparse(l, f->all_sparse);
    if (k && t->code == A_CRS_STACK_SIZE && f->recursive)
        return add_recursion(l);
    return add_raw(l, s, t);
}

/* What a kernel without such records gets from a function that it reaches. */
static bool add_from(describer *d, const cv_lfn *f, kernel_facts *k, cv_id fn)
{
    const cv_lfn *g = cv_l_fn(d->l, fn);
    bool ok = true;

    if (g->bars && !k->bars) {
        k->bars = true;
        ok = add_barriers(d->l, f->all_bars);
    }
    if (!ok || k->externs || d->n_kernels == 1) /* the only kernel gets its list at the end */
        return ok;
    if (*cv_u8s_at(&d->tells, fn) & CV_D_KEEPS) {
        k->externs = true;
        ok = add_externs(d);
    }
    return ok;
}

/* What a kernel gets from below and has no record for. */
static bool add_missing(describer *d, cv_id fn, kernel_facts *k, bool crs)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    bool ok = crs || !f->recursive || add_recursion(l);

    if (ok && f->flag_bars)
        ok = add_barriers(l, f->all_bars);
    k->bars = k->bars || f->bars != 0; /* a record of no barriers is one, too */
    k->externs = k->in_place || d->list.n == 0;
    for (uint64_t i = 0; i < k->below.n && ok; i++)
        ok = add_from(d, f, k, (cv_id)cv_keys_at(&k->below, i)->index);
    if (ok && !k->bars && f->all_bars) /* of the only kernel: from what it does not reach */
        ok = add_barriers(l, f->all_bars);
    return ok && (k->externs || add_externs(d));
}

/* What the reference writes anew with the code comes last, from sm_100 on. */
static bool is_late(const cv_link *l, uint8_t code)
{
    return l->o.target.sm >= 100 && (code == A_CBANK_PARAM_SIZE || code == A_PARAM_CBANK || code == A_SW_WAR);
}

static bool copy_records(describer *d, cv_id fn, kernel_facts *k, bool late, bool *crs)
{
    cv_span s = cv_d_info_body(d->l, cv_l_fn(d->l, fn));
    uint64_t pos = 0;
    bool ok = true;
    cv_tlv t;

    for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        *crs = *crs || t.code == A_CRS_STACK_SIZE;
        if (k)
            k->bars = k->bars || t.code == A_NUM_BARRIERS;
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
    bool kernel = f->kernel && !l->o.relocatable, crs = false, ok;
    kernel_facts k = { 0 };

    cv_d_new_list(d);
    ok = kernel ? cv_d_find_facts(d, fn, &k) : cv_d_list_kept(d, f);
    ok = ok && copy_records(d, fn, kernel ? &k : NULL, false, &crs);
    turn_round(l, out.first);
    if (ok && f->aliased && !kernel && !l->o.relocatable)
        ok = add_sparse(l, SPARSE_ALIAS);
    if (ok && kernel)
        ok = add_missing(d, fn, &k, crs);
    else if (ok && f->flag_bars)
        ok = add_barriers(l, f->bars);
    ok = ok && copy_records(d, fn, kernel ? &k : NULL, true, &crs);
    if (ok && l->o.target.sm >= 100 && f->slots)
        ok = add_bindless(l, A_BINDLESS_TEXTURE) && add_bindless(l, A_BINDLESS_SURFACE);
    cv_keys_free(&l->x->mem, &k.below);
    out.n = l->rec.n - out.first;
    return ok && cv_oinfos_push(&l->x->mem, &l->oinfo, out) ? CUVET_OK : cv_l_nomem(l);
}

/* The record of the program: what it keeps of each object, the last one first. */
static bool copy_global(cv_link *l, const cv_lobj *o, cv_span s, const cv_tlv *t)
{
    uint32_t index = cv_u32_at(s, t->payload), value = cv_u32_at(s, t->payload + 4);
    const cv_isym *y;
    const cv_lfn *f;

    if (t->code != A_FRAME_SIZE && t->code != A_REGCOUNT && t->code != A_MAX_STACK_SIZE &&
        t->code != A_MIN_STACK_SIZE)
        return add_raw(l, s, t);
    if (index >= o->n_sym)
        return true;
    y = cv_l_isym(l, o->first_sym + index);
    if (y->fn == CV_NONE)
        return true;
    f = cv_l_fn(l, y->fn);
    if (f->def != o->first_sym + index || !f->live || (t->code == A_MAX_STACK_SIZE && !l->o.relocatable))
        return true;
    if (t->code == A_REGCOUNT && f->kernel && !l->o.relocatable)
        value = f->all_regs;
    return add_pair(l, t->code, y->out, value);
}

static cuvet_status describe_program(cv_link *l)
{
    uint64_t first = l->rec.n;
    bool ok = true;

    for (cv_id i = 0; i < l->obj.n && ok; i++) {
        const cv_lobj *o = cv_l_obj(l, i);
        cv_span s = cv_cubin_body(&o->cubin, o->info);
        uint64_t pos = 0;
        cv_tlv t;

        for (; ok && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
            ok = copy_global(l, o, s, &t);
    }
    turn_round(l, first);
    for (int global = 0; global < 2 && ok && !l->o.relocatable; global++) {
        const cv_u32s *list = global ? &l->globals : &l->locals;

        for (uint64_t i = 0; i < list->n && ok; i++) {
            cv_id id = *cv_u32s_at(list, i), fn = cv_l_osym(l, id)->fn;
            const cv_lfn *f = fn == CV_NONE ? NULL : cv_l_fn(l, fn);

            if (f && f->kernel && f->def != CV_NONE && f->live && f->sym == id)
                ok = add_pair(l, A_MIN_STACK_SIZE, id, (uint32_t)f->stack);
        }
    }
    l->program_first = first;
    l->program_n = l->rec.n - first;
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* Barriers, and symbols that somebody else has to provide, are what a kernel hears of from below. */
static cuvet_status find_tellers(describer *d)
{
    cv_link *l = d->l;
    bool ok =
        cv_u32s_fill(&l->x->mem, &d->only, l->fn.n) && cv_u8s_fill(&l->x->mem, &d->tells, cv_max(l->fn.n, 1));

    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        const cv_lfn *f = cv_l_fn(l, i);

        if (f->def == CV_NONE || f->kernel || !f->has_info)
            continue;
        ok = cv_d_look_at_lists(d, f, cv_u8s_at(&d->tells, i));
        *cv_u32s_at(&d->only, i) = *cv_u8s_at(&d->tells, i) & CV_D_KEEPS || f->bars != 0;
    }
    return ok ? cv_link_above(l, &d->only) : cv_l_nomem(l);
}

static cuvet_status describe_functions(describer *d)
{
    cv_link *l = d->l;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->fn.n; i++)
        d->n_kernels += cv_l_fn(l, i)->kernel && cv_l_fn(l, i)->def != CV_NONE && cv_l_fn(l, i)->live;
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
        st = describe_program(l);
    cv_u32s_free(m, &d.list);
    cv_u32s_free(m, &d.below);
    cv_u32s_free(m, &d.seen);
    cv_u32s_free(m, &d.only);
    cv_u8s_free(m, &d.tells);
    cv_u32s_free(m, &d.mark);
    return st;
}

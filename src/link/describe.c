/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage describe: the .nv.info records of the output. Records of the inputs come out in reverse order,
 * symbols become those of the output, and what was propagated replaces what a function alone knew. */
#include "format/tlv/read.h"
#include "link/stages.h"

enum {
    A_PARAM_CBANK = 0x0A,
    A_BINDLESS_TEXTURE = 0x15,
    A_BINDLESS_SURFACE = 0x16,
    A_EXTERNS = 0x0F,
    A_FRAME_SIZE = 0x11,
    A_MIN_STACK_SIZE = 0x12,
    A_CBANK_PARAM_SIZE = 0x19,
    A_CRS_STACK_SIZE = 0x1E,
    A_MAX_STACK_SIZE = 0x23,
    A_REGCOUNT = 0x2F,
    A_EXPLICIT_CLUSTER = 0x3E,
    A_SW_WAR = 0x36,
    A_NUM_BARRIERS = 0x4C,
    A_SPARSE_MMA_MASK = 0x50,
    SPARSE_ALIAS = 0x8000
};

typedef struct describer {
    cv_link *l;
    cv_u32s post; /* device functions, callees first */
    cv_u32s list; /* osyms of one EXTERNS record */
    cv_u32s below, seen;
    cv_u32s only; /* by function: it reaches one that has something to tell a kernel */
    cv_u32s mark; /* by osym: stamp of the list it is in */
    uint32_t stamp;
    uint64_t n_kernels;
} describer;

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

/* Symbol of the output that a symbol index of an input's record becomes. */
static cv_id output_symbol(const cv_link *l, const cv_lobj *o, uint32_t index)
{
    const cv_isym *s;
    const cv_lfn *f;

    if (index >= o->n_sym)
        return CV_NONE;
    s = cv_l_isym(l, o->first_sym + index);
    if (cv_l_type(s) == CV_STT_SECTION)
        return s->sec == CV_NONE || cv_l_isec(l, s->sec)->out == CV_NONE
                   ? CV_NONE
                   : cv_l_osec(l, cv_l_isec(l, s->sec)->out)->sym;
    if (s->fn == CV_NONE)
        return s->out;
    f = cv_l_fn(l, s->fn);
    if (f->sec != CV_NONE && cv_l_osec(l, f->sec)->fn != s->fn)
        return cv_l_fn(l, cv_l_osec(l, f->sec)->fn)->sym; /* an alias: the function that owns the code */
    return s->out;
}

cv_id cv_link_symbol_of(const cv_link *l, cv_id isym)
{
    const cv_isym *s = cv_l_isym(l, isym);

    return output_symbol(l, cv_l_obj(l, s->obj), s->index);
}

static cv_span info_body(const cv_link *l, const cv_lfn *f)
{
    return cv_l_body(l, cv_l_isec(l, cv_l_isec(l, cv_l_isym(l, f->def)->sec)->info_sec));
}

static bool in_list(const describer *d, cv_id osym)
{
    return *cv_u32s_at(&d->mark, osym) == d->stamp;
}

static bool list_once(describer *d, cv_id osym)
{
    if (in_list(d, osym))
        return true;
    *cv_u32s_at(&d->mark, osym) = d->stamp;
    return cv_u32s_push(&d->l->x->mem, &d->list, osym);
}

static void new_list(describer *d)
{
    cv_u32s_clear(&d->list);
    d->stamp++;
}

/* A called symbol stays in the list when nobody defines it, or when it is a kernel to be launched. */
static bool stays(const cv_link *l, cv_id osym)
{
    const cv_osym *y = cv_l_osym(l, osym);

    return y->win == CV_NONE || (y->fn != CV_NONE && cv_l_fn(l, y->fn)->kernel);
}

/* Kept entries of a function's own EXTERNS records. any: whether there is one. */
static bool list_kept(describer *d, const cv_lfn *f, bool add, bool *any)
{
    cv_link *l = d->l;
    const cv_lobj *o = cv_l_obj(l, cv_l_isym(l, f->def)->obj);
    cv_span s = info_body(l, f);
    uint64_t pos = 0;
    bool ok = true;
    cv_tlv t;

    for (; f->has_info && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        if (t.code != A_EXTERNS || t.format != CV_TLV_SVAL)
            continue;
        for (uint64_t i = 0; i + 4 <= t.value && ok; i += 4) {
            uint32_t index = cv_u32_at(s, t.payload + i);
            cv_id y = index < o->n_sym ? cv_l_isym(l, o->first_sym + index)->out : CV_NONE;

            if (y == CV_NONE || !stays(l, y))
                continue;
            *any = true;
            ok = !add || list_once(d, y);
        }
    }
    return ok;
}

static bool has_externs(const cv_link *l, const cv_lfn *f)
{
    cv_span s = info_body(l, f);
    uint64_t pos = 0;
    cv_tlv t;

    for (; f->has_info && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next)
        if (t.code == A_EXTERNS)
            return true;
    return false;
}

/* Device functions in post-order over direct calls, begun in the order of their code. */
static bool walk_from(describer *d, cv_id start, cv_u32s *stack, cv_u32s *at)
{
    cv_link *l = d->l;

    if (!cv_u32s_push(&l->x->mem, stack, start))
        return false;
    cv_l_fn(l, start)->mark = l->stamp;
    *cv_u32s_at(at, start) = cv_l_fn(l, start)->calls;
    while (stack->n) {
        cv_id fn = *cv_u32s_at(stack, stack->n - 1), to;
        uint32_t *edge = cv_u32s_at(at, fn);

        if (*edge == CV_NONE) {
            stack->n--;
            cv_l_fn(l, fn)->order = (uint32_t)d->post.n;
            if (!cv_u32s_push(&l->x->mem, &d->post, fn))
                return false;
            continue;
        }
        to = cv_edges_at(&l->edge, *edge)->to;
        *edge = cv_edges_at(&l->edge, *edge)->next;
        if (cv_l_fn(l, to)->mark == l->stamp || cv_l_fn(l, to)->def == CV_NONE)
            continue;
        cv_l_fn(l, to)->mark = l->stamp;
        *cv_u32s_at(at, to) = cv_l_fn(l, to)->calls;
        if (!cv_u32s_push(&l->x->mem, stack, to))
            return false;
    }
    return true;
}

static bool post_order(describer *d)
{
    cv_link *l = d->l;
    cv_u32s stack = { 0 }, at = { 0 };
    cv_keys begin = { 0 };
    bool ok = cv_u32s_fill(&l->x->mem, &at, cv_max(l->fn.n, 1));

    l->stamp++;
    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        cv_l_fn(l, i)->order = CV_NONE;
        if (cv_l_fn(l, i)->def != CV_NONE && !cv_l_fn(l, i)->kernel)
            ok = cv_keys_push(&l->x->mem, &begin, (cv_key){ .key = cv_l_fn(l, i)->sec, .index = i });
    }
    cv_keys_sort(&begin);
    for (uint64_t i = 0; i < begin.n && ok; i++)
        if (cv_l_fn(l, cv_keys_at(&begin, i)->index)->mark != l->stamp)
            ok = walk_from(d, (cv_id)cv_keys_at(&begin, i)->index, &stack, &at);
    cv_keys_free(&l->x->mem, &begin);
    cv_u32s_free(&l->x->mem, &stack);
    cv_u32s_free(&l->x->mem, &at);
    return ok;
}

/* What a kernel's records need to know about the functions below it. */
typedef struct kernel_facts {
    cv_keys below; /* device functions below it in post-order */
    bool own_externs, grown, in_place, bars, externs;
} kernel_facts;

static bool find_below(describer *d, cv_id k, kernel_facts *f)
{
    cv_link *l = d->l;
    bool ok = true;

    if (*cv_u32s_at(&d->only, k) == 0)
        return true;
    ok = cv_link_below(l, k, &d->only, &d->below, &d->seen) == CUVET_OK;

    for (uint64_t i = 0; i < d->below.n && ok; i++) {
        cv_id g = *cv_u32s_at(&d->below, i);

        if (g != k && cv_l_fn(l, g)->order != CV_NONE)
            ok = cv_keys_push(&l->x->mem, &f->below, (cv_key){ .key = cv_l_fn(l, g)->order, .index = g });
    }
    cv_keys_sort(&f->below);
    return ok;
}

/* With a single kernel the reference collects the list anew: undefined callees of each function first. */
static bool list_direct(describer *d, cv_id k)
{
    cv_link *l = d->l;
    cv_u32s todo = { 0 };
    bool ok = cv_u32s_push(&l->x->mem, &todo, k);

    new_list(d);
    l->stamp++;
    cv_l_fn(l, k)->mark = l->stamp;
    while (todo.n && ok) {
        cv_id g = *cv_u32s_at(&todo, todo.n - 1), e;
        uint64_t first = --todo.n;

        for (e = cv_l_fn(l, g)->calls; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next) {
            const cv_lfn *h = cv_l_fn(l, cv_edges_at(&l->edge, e)->to);

            if (h->def == CV_NONE && h->sym != CV_NONE)
                ok = list_once(d, h->sym);
        }
        /* depth first, in the order of the list: pushed backwards */
        for (e = cv_l_fn(l, g)->calls; e != CV_NONE && ok; e = cv_edges_at(&l->edge, e)->next) {
            cv_id to = cv_edges_at(&l->edge, e)->to;

            if (cv_l_fn(l, to)->def != CV_NONE && cv_l_fn(l, to)->mark != l->stamp)
                ok = cv_u32s_push(&l->x->mem, &todo, to);
        }
        for (uint64_t a = first, b = todo.n; b > a + 1; a++, b--) {
            uint32_t t = *cv_u32s_at(&todo, a);

            *cv_u32s_at(&todo, a) = *cv_u32s_at(&todo, b - 1);
            *cv_u32s_at(&todo, b - 1) = t;
        }
        while (todo.n && cv_l_fn(l, *cv_u32s_at(&todo, todo.n - 1))->mark == l->stamp)
            todo.n--;
        if (todo.n)
            cv_l_fn(l, *cv_u32s_at(&todo, todo.n - 1))->mark = l->stamp;
    }
    cv_u32s_free(&l->x->mem, &todo);
    return ok;
}

static bool find_facts(describer *d, cv_id k, kernel_facts *f)
{
    cv_link *l = d->l;
    const cv_lfn *fn = cv_l_fn(l, k);
    uint64_t own;
    bool any = false, ok;

    new_list(d);
    ok = list_kept(d, fn, true, &any) && find_below(d, k, f);
    own = d->list.n;
    for (uint64_t i = 0; i < f->below.n && ok; i++)
        ok = list_kept(d, cv_l_fn(l, cv_keys_at(&f->below, i)->index), true, &any);
    f->own_externs = has_externs(l, fn);
    f->grown = d->list.n != own;
    f->in_place = f->own_externs && !(d->n_kernels == 1 && f->grown);
    if (ok && d->n_kernels == 1 && f->grown)
        ok = list_direct(d, k);
    return ok;
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
        cv_id y = output_symbol(l, o, bank);

        if (y != CV_NONE && cv_l_osym(l, y)->is_section)
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

/* Does a function call what was not there yet when its file was read? */
static bool leaves_open(const cv_link *l, const cv_lfn *f)
{
    cv_id obj = cv_l_isym(l, f->def)->obj;
    const cv_lobj *o = cv_l_obj(l, obj);
    cv_span s = info_body(l, f);
    uint64_t pos = 0;
    cv_tlv t;

    for (; f->has_info && cv_tlv_at(s, pos, &t) == CV_TLV_OK; pos = t.next) {
        if (t.code != A_EXTERNS || t.format != CV_TLV_SVAL)
            continue;
        for (uint64_t i = 0; i + 4 <= t.value; i += 4) {
            uint32_t index = cv_u32_at(s, t.payload + i);
            cv_id win = index < o->n_sym ? cv_l_canon(l, o->first_sym + index) : CV_NONE;

            if (win != CV_NONE && (!cv_l_isym(l, win)->defined || cv_l_isym(l, win)->obj > obj))
                return true;
        }
    }
    return false;
}

/* What a kernel without such records gets from g, which it reaches. open: as its file alone would show it. */
static bool add_from(describer *d, const cv_lfn *f, kernel_facts *k, const cv_lfn *g, bool open)
{
    bool any = open && leaves_open(d->l, g), ok = true;

    if (g->bars && !k->bars) {
        k->bars = true;
        ok = add_barriers(d->l, f->all_bars);
    }
    if (!ok || k->externs || d->n_kernels == 1) /* the only kernel gets its list at the end */
        return ok;
    ok = open || list_kept(d, g, false, &any);
    if (ok && any) {
        k->externs = true;
        ok = add_externs(d);
    }
    return ok;
}

static bool same_file(const cv_link *l, const cv_lfn *f, const cv_lfn *g)
{
    return cv_l_isym(l, f->def)->obj == cv_l_isym(l, g->def)->obj;
}

/* What a kernel gets from below and has no record for. What its own file leaves open comes before the rest.
 */
static bool add_missing(describer *d, cv_id fn, kernel_facts *k, bool crs)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    bool ok = crs || !f->recursive || add_recursion(l), open = false;

    if (ok && f->flag_bars)
        ok = add_barriers(l, f->all_bars);
    k->bars = k->bars || f->bars != 0; /* a record of no barriers is one, too */
    k->externs = k->in_place || d->list.n == 0;
    for (uint64_t i = 0; i < k->below.n && !open; i++) {
        const cv_lfn *g = cv_l_fn(l, cv_keys_at(&k->below, i)->index);

        open = same_file(l, f, g) && leaves_open(l, g);
    }
    for (uint64_t i = 0; i < k->below.n && ok && open; i++) {
        const cv_lfn *g = cv_l_fn(l, cv_keys_at(&k->below, i)->index);

        ok = !same_file(l, f, g) || add_from(d, f, k, g, true);
    }
    for (uint64_t i = 0; i < k->below.n && ok; i++)
        ok = add_from(d, f, k, cv_l_fn(l, cv_keys_at(&k->below, i)->index), false);
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
    cv_span s = info_body(d->l, cv_l_fn(d->l, fn));
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

/* Records of one function: forwards into the list, then turned round. */
static cuvet_status describe_function(describer *d, cv_id fn)
{
    cv_link *l = d->l;
    const cv_lfn *f = cv_l_fn(l, fn);
    cv_oinfo out = { .fn = fn, .sec = CV_NONE, .first = l->rec.n };
    bool kernel = f->kernel && !l->o.relocatable, any = false, crs = false, ok;
    kernel_facts k = { 0 };

    new_list(d);
    ok = kernel ? find_facts(d, fn, &k) : list_kept(d, f, true, &any);
    ok = ok && copy_records(d, fn, kernel ? &k : NULL, false, &crs);
    for (uint64_t a = out.first, b = l->rec.n; b > a + 1; a++, b--) {
        cv_irec r = *cv_irecs_at(&l->rec, a);

        *cv_irecs_at(&l->rec, a) = *cv_irecs_at(&l->rec, b - 1);
        *cv_irecs_at(&l->rec, b - 1) = r;
    }
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
    for (uint64_t a = first, b = l->rec.n; b > a + 1; a++, b--) {
        cv_irec r = *cv_irecs_at(&l->rec, a);

        *cv_irecs_at(&l->rec, a) = *cv_irecs_at(&l->rec, b - 1);
        *cv_irecs_at(&l->rec, b - 1) = r;
    }
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
    if (l->program_n == 0)
        cv_l_osec(l, l->info)->dead = true;
    return ok ? CUVET_OK : cv_l_nomem(l);
}

/* Barriers, and symbols that somebody else has to provide, are what a kernel hears of from below. */
static cuvet_status find_tellers(describer *d)
{
    cv_link *l = d->l;
    bool ok = cv_u32s_fill(&l->x->mem, &d->only, l->fn.n);

    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        const cv_lfn *f = cv_l_fn(l, i);
        bool any = false;

        if (f->def == CV_NONE || f->kernel || !f->has_info)
            continue;
        ok = list_kept(d, f, false, &any);
        *cv_u32s_at(&d->only, i) = any || f->bars != 0;
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
        !cv_u32s_fill(m, &d.seen, cv_max(l->n_proto_nodes, 1)) || !post_order(&d))
        st = cv_l_nomem(l);
    else
        st = l->o.relocatable ? CUVET_OK : find_tellers(&d);
    if (st == CUVET_OK)
        st = describe_functions(&d);
    if (st == CUVET_OK)
        st = describe_program(l);
    cv_u32s_free(m, &d.post);
    cv_u32s_free(m, &d.list);
    cv_u32s_free(m, &d.below);
    cv_u32s_free(m, &d.seen);
    cv_u32s_free(m, &d.only);
    cv_u32s_free(m, &d.mark);
    return st;
}

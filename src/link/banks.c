/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Banks and what the link adds to them: common variables, branch tables of device functions, slots of
 * textures and surfaces. */
#include "base/arith.h"
#include "link/sort.h"
#include "link/stages.h"

enum {
    SHT_PROGBITS = 1,
    SHF_BANK = 0x42,
    BANK_MOST = 0x10000,
    R_TEX_HEADER = 6,
    R_SURF_HEADER = 52,
    STT_SURFACE = 12
};

static bool is_kernel(const cv_lfn *f)
{
    return f->kernel && f->def != CV_NONE && f->live;
}

/* Common variables follow everything else in .nv.global; the largest size and the first alignment count, as
 * in the reference linker. */
static void place_common(cv_link *l, cv_id sym, cv_osec *q)
{
    cv_osym *y = cv_l_osym(l, sym);
    const cv_meaning *m = cv_l_mean(l, y->name);
    uint64_t align = 0, size = 0;

    for (cv_id i = m->first; i != CV_NONE; i = cv_l_isym(l, i)->next) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!s->common)
            continue;
        align = align ? align : s->value;
        size = cv_max(size, s->size);
    }
    y->value = cv_sat_align(q->size, cv_max(align, 1));
    y->size = size;
    y->common = true;
    q->size = cv_sat_add(y->value, size);
    q->align = cv_max(q->align, align);
}

void cv_link_commons(cv_link *l)
{
    cv_id q = cv_l_find_osec(l, ".nv.global", l->empty);

    if (l->o.relocatable || q == CV_NONE)
        return;
    for (uint64_t i = 0; i < l->globals.n; i++) {
        cv_id id = *cv_u32s_at(&l->globals, i), win = cv_l_osym(l, id)->win;

        if (win == CV_NONE || cv_l_type(cv_l_isym(l, win)) != CV_STT_CUDA_OBJECT ||
            !cv_l_isym(l, win)->common)
            continue;
        place_common(l, id, cv_l_osec(l, q));
        cv_l_osym(l, id)->sec = q;
    }
}

/* The kernel's own table bank, and the tables that it reaches. */
typedef struct tables {
    cv_link *l;
    cv_u32s fns;   /* with a table, last function first */
    cv_u32s marks; /* by function: stamp of the kernel that reaches it */
    cv_u32s only;  /* by function: it reaches one with a table */
    uint64_t align, start;
} tables;

static cv_id own_bank(cv_link *l, const cv_lfn *k)
{
    cv_id name = cv_l_name_join(l, ".nv.constant2.", k->name);

    for (cv_id i = cv_l_osec(l, k->sec)->own_first; i != CV_NONE; i = cv_l_osec(l, i)->own_next)
        if (cv_l_osec(l, i)->name == name)
            return i;
    return CV_NONE;
}

static cuvet_status find_tables(tables *t)
{
    cv_link *l = t->l;
    cv_keys order = { 0 };
    bool ok = true;

    for (cv_id i = 0; i < l->fn.n && ok; i++) {
        const cv_lfn *f = cv_l_fn(l, i);
        cv_id bank = is_kernel(f) ? own_bank(l, f) : CV_NONE;

        if (bank != CV_NONE) {
            t->start = cv_max(t->start, cv_l_osec(l, bank)->size);
            t->align = cv_max(t->align, cv_l_osec(l, bank)->align);
        }
        if (f->table != CV_NONE && f->live && *cv_u32s_at(&t->marks, i) != 0) {
            t->align = cv_max(t->align, cv_l_isec(l, f->table)->align);
            ok = cv_keys_push(&l->x->mem, &order, (cv_key){ .key = CV_NONE - f->sec, .index = i });
        }
    }
    cv_keys_sort(&order);
    for (uint64_t i = 0; i < order.n && ok; i++)
        ok = cv_u32s_push(&l->x->mem, &t->fns, (uint32_t)cv_keys_at(&order, i)->index);
    cv_keys_free(&l->x->mem, &order);
    return ok ? CUVET_OK : cv_l_nomem(l);
}

static void place_tables(tables *t)
{
    uint64_t off = t->start;

    for (uint64_t i = 0; i < t->fns.n; i++) {
        cv_isec *s = cv_l_isec(t->l, cv_l_fn(t->l, *cv_u32s_at(&t->fns, i))->table);

        off = cv_sat_align(off, cv_max(t->align, 1));
        s->bank_off = off;
        off = cv_sat_add(off, s->size);
    }
}

static cuvet_status make_bank(cv_link *l, const cv_lfn *k, uint64_t align, cv_id *out)
{
    const cv_new_section n = { .name = cv_l_name_join(l, ".nv.constant2.", k->name),
                               .group = CV_G_CONST,
                               .type = SHT_PROGBITS,
                               .flags = SHF_BANK,
                               .align = align,
                               .symbol = true,
                               .named = true };
    cv_id code = k->sec;

    *out = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
    if (*out == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, *out)->infosec = code;
    cv_l_osec(l, *out)->own_next = cv_l_osec(l, code)->own_first;
    cv_l_osec(l, code)->own_first = *out;
    return CUVET_OK;
}

/* Functions that a kernel reaches get its stamp. */
static cuvet_status mark_below(tables *t, cv_id k, cv_u32s *below, cv_u32s *seen)
{
    cuvet_status st = cv_link_below(t->l, k, &t->only, below, seen);

    for (uint64_t i = 0; i < below->n && st == CUVET_OK; i++)
        *cv_u32s_at(&t->marks, *cv_u32s_at(below, i)) = k + 1;
    return st;
}

static cuvet_status fill_bank(tables *t, cv_id k)
{
    cv_link *l = t->l;
    cv_id bank = own_bank(l, cv_l_fn(l, k));
    cuvet_status st = CUVET_OK;
    bool any = false;

    if (!cv_work(l->x, t->fns.n, 0))
        return CUVET_E_LIMIT;
    for (uint64_t i = 0; i < t->fns.n && st == CUVET_OK; i++) {
        cv_id fn = *cv_u32s_at(&t->fns, i), table = cv_l_fn(l, fn)->table;
        const cv_isec *s = cv_l_isec(l, table);

        if (*cv_u32s_at(&t->marks, fn) != k + 1)
            continue;
        if (!any && bank == CV_NONE)
            st = make_bank(l, cv_l_fn(l, k), t->align, &bank);
        if (st == CUVET_OK && !cv_l_add_part(l, bank, table, s->bank_off))
            st = cv_l_nomem(l);
        if (st == CUVET_OK)
            cv_l_osec(l, bank)->size = cv_max(cv_l_osec(l, bank)->size, cv_sat_add(s->bank_off, s->size));
        any = true;
    }
    if (any && st == CUVET_OK) {
        cv_osec *q = cv_l_osec(l, bank);

        q->align = cv_max(q->align, t->align);
        q->size = cv_sat_align(q->size, cv_max(t->align, 1));
    }
    return st;
}

static cuvet_status tables_of_kernels(tables *t, cv_u32s *below, cv_u32s *seen)
{
    cv_link *l = t->l;
    cuvet_status st = CUVET_OK;
    bool any = false;

    for (cv_id i = 0; i < l->fn.n; i++) {
        bool has = cv_l_fn(l, i)->table != CV_NONE;

        *cv_u32s_at(&t->only, i) = has;
        any = any || has;
    }
    if (!any)
        return CUVET_OK;
    st = cv_link_above(l, &t->only);
    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++)
        if (is_kernel(cv_l_fn(l, i)) && *cv_u32s_at(&t->only, i) != 0)
            st = mark_below(t, i, below, seen);
    if (st != CUVET_OK)
        return st;
    st = find_tables(t);
    place_tables(t);
    for (cv_id i = (cv_id)l->fn.n; i > 0 && st == CUVET_OK && t->fns.n; i--) {
        if (!is_kernel(cv_l_fn(l, i - 1)) || *cv_u32s_at(&t->only, i - 1) == 0)
            continue;
        st = mark_below(t, i - 1, below, seen);
        if (st == CUVET_OK)
            st = fill_bank(t, i - 1);
    }
    return st;
}

cuvet_status cv_link_tables(cv_link *l)
{
    cv_u32s below = { 0 }, seen = { 0 };
    tables t = { .l = l };
    cuvet_status st;

    if (l->o.relocatable)
        return CUVET_OK;
    if (!cv_u32s_fill(&l->x->mem, &t.marks, cv_max(l->fn.n, 1)) ||
        !cv_u32s_fill(&l->x->mem, &t.only, l->fn.n) ||
        !cv_u32s_fill(&l->x->mem, &seen, cv_max(l->n_proto_nodes, 1)))
        st = cv_l_nomem(l);
    else
        st = tables_of_kernels(&t, &below, &seen);
    cv_u32s_free(&l->x->mem, &t.marks);
    cv_u32s_free(&l->x->mem, &t.only);
    cv_u32s_free(&l->x->mem, &t.fns);
    cv_u32s_free(&l->x->mem, &below);
    cv_u32s_free(&l->x->mem, &seen);
    return st;
}

/* Texture symbols in reverse order, then surfaces in reverse order, sorted as if all were equal. */
static bool never(void *user, uint32_t a, uint32_t b)
{
    (void)user;
    (void)a;
    (void)b;
    return false;
}

static bool list_slots(const cv_link *l, cv_u32s *out)
{
    bool ok = true;

    for (int surface = 0; surface < 2; surface++)
        for (uint64_t i = l->globals.n; i > 0 && ok; i--) {
            cv_id id = *cv_u32s_at(&l->globals, i - 1);
            const cv_isym *s = cv_l_isym(l, cv_l_osym(l, id)->src);

            if (cv_l_is_texture(s) && cv_l_osym(l, id)->win == CV_NONE &&
                (cv_l_type(s) == STT_SURFACE) == (surface == 1))
                ok = cv_u32s_push(&l->x->mem, out, id);
        }
    return ok && cv_list_sort(&l->x->mem, out, never, NULL, false);
}

/* Functions whose code refers to a texture or a surface. */
static void mark_texture_users(const cv_link *l, cv_u32s *users)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);

        if (q->group != CV_G_REL || cv_l_osec(l, q->target)->group != CV_G_CODE)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next)
            if (cv_l_is_texture(cv_l_isym(l, cv_l_irel(l, r)->sym))) {
                *cv_u32s_at(users, cv_l_osec(l, q->target)->fn) = 1;
                break;
            }
    }
}

static cuvet_status add_slots(cv_link *l, cv_id bank, uint64_t base, const cv_u32s *slots)
{
    bool rela = l->o.target.sm >= 100;
    cv_id rel = CV_ARRAY_GET(cv_l_osec(l, bank)->rel, rela);

    if (!cv_work(l->x, slots->n, 0))
        return CUVET_E_LIMIT;
    cv_l_osec(l, bank)->size = cv_sat_add(base, 4 * slots->n);
    cv_l_osec(l, bank)->group = CV_G_CONST; /* the loader writes into it */
    for (uint64_t i = 0; i < slots->n; i++) {
        cv_id y = *cv_u32s_at(slots, i);
        bool surface = cv_l_type(cv_l_isym(l, cv_l_osym(l, y)->src)) == STT_SURFACE;
        const cv_irel r = { .off = base + 4 * i,
                            .type = surface ? R_SURF_HEADER : R_TEX_HEADER,
                            .sym = cv_l_osym(l, y)->src,
                            .osym = y,
                            .target = CV_NONE,
                            .keep = true };

        if (!cv_l_add_rel(l, rel, &r))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

static void set_slot(cv_osym *y, uint64_t slot)
{
    y->slot = slot;
    y->has_slot = true;
}

/* users: functions that use one, or reach one that does. */
static cuvet_status slots_of_kernels(cv_link *l, const cv_u32s *slots, const cv_u32s *users)
{
    cv_u32s banks = { 0 };
    cuvet_status st = CUVET_OK;
    uint64_t base = 0;
    bool ok = true;

    for (uint64_t i = 0; i < l->const0.n && ok; i++) {
        cv_id bank = *cv_u32s_at(&l->const0, i);
        cv_id fn = cv_l_osec(l, cv_l_osec(l, bank)->infosec)->fn;

        if (!cv_l_fn(l, fn)->live)
            continue;
        base = cv_max(base, cv_sat_align(cv_l_osec(l, bank)->size, l->o.target.sm >= 100 ? 16 : 4));
        cv_l_fn(l, fn)->slots = *cv_u32s_at(users, fn) != 0;
        if (cv_l_fn(l, fn)->slots)
            ok = cv_u32s_push(&l->x->mem, &banks, bank);
    }
    for (uint64_t i = 0; i < slots->n && banks.n; i++)
        set_slot(cv_l_osym(l, *cv_u32s_at(slots, i)), base + 4 * i);
    for (uint64_t i = 0; i < banks.n && ok && st == CUVET_OK; i++)
        st = add_slots(l, *cv_u32s_at(&banks, i), base, slots);
    cv_u32s_free(&l->x->mem, &banks);
    return ok ? st : cv_l_nomem(l);
}

cuvet_status cv_link_slots(cv_link *l)
{
    cv_u32s slots = { 0 }, users = { 0 };
    cuvet_status st = CUVET_OK;

    if (l->o.relocatable)
        return CUVET_OK;
    if (!list_slots(l, &slots))
        st = cv_l_nomem(l);
    if (st == CUVET_OK && slots.n) {
        if (!cv_u32s_fill(&l->x->mem, &users, l->fn.n)) {
            st = cv_l_nomem(l);
        } else {
            mark_texture_users(l, &users);
            st = cv_link_above(l, &users);
        }
        if (st == CUVET_OK)
            st = slots_of_kernels(l, &slots, &users);
    }
    cv_u32s_free(&l->x->mem, &slots);
    cv_u32s_free(&l->x->mem, &users);
    return st;
}

/* Bank 3 has the constants of the whole program, the others those of one kernel. */
void cv_link_check_banks(cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n && !l->o.relocatable; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        const cv_isec *s;

        if (q->group != CV_G_CONST || q->size <= BANK_MOST)
            continue;
        s = q->first_part == CV_NONE ? NULL : cv_l_isec(l, cv_lparts_at(&l->part, q->first_part)->isec);
        cv_link_say(l, CV_NONE, CV_R_LINK_BANK, q->size,
                    s ? cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->bank : 0);
    }
}

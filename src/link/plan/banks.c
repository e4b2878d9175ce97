/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Banks and what the link adds to them: common variables, branch tables of device functions, slots of
 * textures and surfaces. */
#include "base/arith.h"
#include "bytes/order.h"
#include "link/in/stages.h"

enum {
    TEXTURES_MOST = 256, /* as in the reference, of a kernel */
    SAMPLERS_MOST = 32,
    SURFACES_MOST = 32
};

static bool is_kernel(const cv_lfn *f)
{
    return f->kernel && f->def != CV_NONE && f->live;
}

/* Common variables follow everything else in .nv.global, each with the largest size and alignment that one of
 * its declarations asks for. */
static void place_common(cv_link *l, cv_id sym, cv_osec *q)
{
    cv_osym *y = cv_l_osym(l, sym);
    uint64_t align;

    cv_link_largest_common(l, cv_l_mean(l, y->name), &y->size, &align);
    y->value = cv_sat_align(q->size, cv_max(align, 1));
    y->common = true;
    q->size = cv_sat_add(y->value, y->size);
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

/* A kernel's table bank, as it grows: its own tables, then those of the functions that it reaches. */
typedef struct bank2 {
    cv_id sec; /* CV_NONE: not made yet */
    uint64_t end, align;
} bank2;

CV_VEC(bank2s, bank2);

typedef struct tables {
    cv_link *l;
    bank2s bank;  /* by function; those of kernels count */
    cv_keys uses; /* a table and a kernel that reaches its function: last table first, then last kernel */
    cv_u32s only; /* by function: it reaches one with a table */
} tables;

static cv_id own_bank(cv_link *l, const cv_lfn *k)
{
    cv_id name = cv_l_name_join(l, ".nv.constant2.", k->name);

    for (cv_id i = cv_l_osec(l, k->sec)->own_first; i != CV_NONE; i = cv_l_osec(l, i)->own_next)
        if (cv_l_osec(l, i)->name == name)
            return i;
    return CV_NONE;
}

static bool has_table(const cv_link *l, cv_id fn)
{
    return cv_l_fn(l, fn)->table != CV_NONE && cv_l_fn(l, fn)->live;
}

/* A use has its table before its kernel in the key, both counted from the end. */
static cv_key use_of(cv_id table, cv_id kernel)
{
    return (cv_key){ (uint64_t)(CV_NONE - table) << 32 | (CV_NONE - kernel), kernel };
}

static cv_id table_of(const tables *t, uint64_t use)
{
    return CV_NONE - (cv_id)(cv_keys_get(&t->uses, use)->key >> 32);
}

static bank2 *bank_of(tables *t, uint64_t use)
{
    return bank2s_at(&t->bank, cv_keys_get(&t->uses, use)->index);
}

static cuvet_status add_uses(tables *t, cv_id k, cv_u32s *below, cv_u32s *seen)
{
    cv_link *l = t->l;
    cuvet_status st = cv_link_below(l, k, &t->only, below, seen);

    for (uint64_t i = 0; i < below->n && st == CUVET_OK; i++) {
        cv_id fn = *cv_u32s_at(below, i);

        if (has_table(l, fn) && !cv_keys_push(&l->x->mem, &t->uses, use_of(cv_l_fn(l, fn)->table, k)))
            st = cv_l_nomem(l);
    }
    return st;
}

static cuvet_status find_uses(tables *t, cv_u32s *below, cv_u32s *seen)
{
    cv_link *l = t->l;
    cuvet_status st = CUVET_OK;

    for (cv_id i = 0; i < l->fn.n && st == CUVET_OK; i++) {
        bool kernel = is_kernel(cv_l_fn(l, i));
        cv_id sec = kernel ? own_bank(l, cv_l_fn(l, i)) : CV_NONE;
        bank2 b = { .sec = sec };

        if (sec != CV_NONE) {
            b.end = cv_l_osec(l, sec)->size;
            b.align = cv_l_osec(l, sec)->align;
        }
        if (!bank2s_push(&l->x->mem, &t->bank, b))
            st = cv_l_nomem(l);
        else if (kernel && *cv_u32s_at(&t->only, i) != 0)
            st = add_uses(t, i, below, seen);
    }
    if (st == CUVET_OK && !cv_work(l->x, t->uses.n, 0))
        return CUVET_E_LIMIT;
    cv_keys_sort(&t->uses);
    return st;
}

/* A table has one place for all kernels that reach it: behind what any of their banks has so far, and
 * aligned for all of them. A kernel that reaches none of the same functions is not asked. */
static void place_tables(tables *t)
{
    uint64_t n = t->uses.n, next;

    for (uint64_t first = 0; first < n; first = next) {
        cv_id table = table_of(t, first);
        cv_isec *s = cv_l_isec(t->l, table);
        uint64_t align = s->align;

        s->bank_off = 0;
        for (next = first; next < n && table_of(t, next) == table; next++) {
            s->bank_off = cv_max(s->bank_off, bank_of(t, next)->end);
            align = cv_max(align, bank_of(t, next)->align);
        }
        s->bank_off = cv_sat_align(s->bank_off, cv_max(align, 1));
        for (uint64_t i = first; i < next; i++) {
            bank_of(t, i)->end = cv_sat_add(s->bank_off, s->size);
            bank_of(t, i)->align = align;
        }
    }
}

static cuvet_status make_bank(cv_link *l, const cv_lfn *k, uint64_t align, cv_id *out)
{
    cv_new_section n = cv_l_section(l, CV_ROLE_CONSTANT_FN, CV_G_CONST);
    cv_id code = k->sec;

    n.name = cv_l_name_join(l, ".nv.constant2.", k->name);
    n.align = align;
    n.symbol = n.named = true;
    *out = n.name == CV_NONE ? CV_NONE : cv_l_new_osec(l, &n);
    if (*out == CV_NONE)
        return cv_l_nomem(l);
    cv_l_osec(l, *out)->infosec = code;
    cv_l_osec(l, *out)->own_next = cv_l_osec(l, code)->own_first;
    cv_l_osec(l, code)->own_first = *out;
    return CUVET_OK;
}

/* Banks that are not there yet are made when the first table comes. */
static cuvet_status fill_banks(tables *t)
{
    cv_link *l = t->l;
    cuvet_status st = CUVET_OK;

    for (uint64_t i = 0; i < t->uses.n && st == CUVET_OK; i++) {
        cv_id table = table_of(t, i);
        bank2 *b = bank_of(t, i);
        cv_osec *q;

        if (b->sec == CV_NONE)
            st = make_bank(l, cv_l_fn(l, (cv_id)cv_keys_at(&t->uses, i)->index), b->align, &b->sec);
        if (st == CUVET_OK && !cv_l_add_part(l, b->sec, table, cv_l_isec(l, table)->bank_off))
            st = cv_l_nomem(l);
        if (st != CUVET_OK)
            break;
        q = cv_l_osec(l, b->sec);
        q->align = b->align;
        q->size = cv_sat_align(b->end, cv_max(b->align, 1));
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
    if (st == CUVET_OK)
        st = find_uses(t, below, seen);
    if (st != CUVET_OK)
        return st;
    place_tables(t);
    return fill_banks(t);
}

cuvet_status cv_link_tables(cv_link *l)
{
    cv_u32s below = { 0 }, seen = { 0 };
    tables t = { .l = l };
    cuvet_status st;

    if (l->o.relocatable)
        return CUVET_OK;
    if (!cv_u32s_fill(&l->x->mem, &t.only, l->fn.n) ||
        !cv_u32s_fill(&l->x->mem, &seen, cv_max(l->n_proto_nodes, 1)))
        st = cv_l_nomem(l);
    else
        st = tables_of_kernels(&t, &below, &seen);
    bank2s_free(&l->x->mem, &t.bank);
    cv_keys_free(&l->x->mem, &t.uses);
    cv_u32s_free(&l->x->mem, &t.only);
    cv_u32s_free(&l->x->mem, &below);
    cv_u32s_free(&l->x->mem, &seen);
    return st;
}

/* Symbols of textures in reverse order, of samplers, of surfaces, sorted as if all were equal. */
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

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++)
        for (uint64_t i = l->globals.n; i > 0 && ok; i--) {
            cv_id id = *cv_u32s_get(&l->globals, i - 1);
            const cv_isym *s = cv_l_isym(l, cv_l_osym(l, id)->src);

            if (cv_l_type(s) == type && cv_l_osym(l, id)->win == CV_NONE)
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

/* What the loader writes into a slot: the number of a header, of a texture or a surface, or of a sampler. */
static uint32_t header_type(const cv_link *l, uint8_t symbol)
{
    switch (symbol) {
    case CV_STT_CUDA_SURFACE: return CV_R_CUDA_SURF_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return cv_l_has(l, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0 : CV_R_CUDA_SAMP_HEADER_INDEX;
    default: return CV_R_CUDA_TEX_HEADER_INDEX;
    }
}

static cuvet_status add_slots(cv_link *l, cv_id bank, uint64_t base, const cv_u32s *slots)
{
    bool rela = cv_l_has(l, CV_GEN_BANK_RELA);
    cv_id rel = CV_ARRAY_GET(cv_l_osec(l, bank)->rel, rela);

    if (!cv_work(l->x, slots->n, 0))
        return CUVET_E_LIMIT;
    cv_l_osec(l, bank)->size = cv_sat_add(base, 4 * slots->n);
    cv_l_osec(l, bank)->group = CV_G_CONST; /* the loader writes into it */
    for (uint64_t i = 0; i < slots->n; i++) {
        cv_id y = *cv_u32s_get(slots, i);
        const cv_irel r = { .off = base + 4 * i,
                            .type = header_type(l, cv_l_type(cv_l_isym(l, cv_l_osym(l, y)->src))),
                            .sym = cv_l_osym(l, y)->src,
                            .osym = y,
                            .target = CV_NONE,
                            .keep = true };

        if (!cv_l_add_rel(l, rel, &r))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

/* What a kernel can have, whatever it uses of it: the loader has no room for more. */
static cuvet_status check_slots(cv_link *l, const cv_u32s *slots, cv_id kernel)
{
    static const uint64_t MOST[] = { TEXTURES_MOST, SAMPLERS_MOST, SURFACES_MOST };

    for (unsigned type = CV_STT_CUDA_TEXTURE; type <= CV_STT_CUDA_SURFACE; type++) {
        uint64_t n = 0, most = CV_ARRAY_GET(MOST, type - CV_STT_CUDA_TEXTURE);

        for (uint64_t i = 0; i < slots->n; i++)
            n += cv_l_type(cv_l_isym(l, cv_l_osym(l, *cv_u32s_get(slots, i))->src)) == type;
        if (n <= most)
            continue;
        cv_link_say(l, cv_l_fn(l, kernel)->def, CV_R_LINK_SLOTS, n, most);
        return CUVET_E_REFUSED;
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
        base = cv_max(base, cv_sat_align(cv_l_osec(l, bank)->size, l->o.gen->slots));
        cv_l_fn(l, fn)->slots = *cv_u32s_get(users, fn) != 0;
        if (cv_l_fn(l, fn)->slots)
            ok = cv_u32s_push(&l->x->mem, &banks, bank);
    }
    for (uint64_t i = 0; i < slots->n && banks.n; i++)
        set_slot(cv_l_osym(l, *cv_u32s_get(slots, i)), base + 4 * i);
    if (banks.n)
        st = check_slots(l, slots, cv_l_osec(l, cv_l_osec(l, *cv_u32s_at(&banks, 0))->infosec)->fn);
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

/* Bank 3 has the constants of the whole program, the others those of one kernel, which is named. */
void cv_link_check_banks(cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n && !l->o.relocatable; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        cv_id fn = q->infosec == CV_NONE ? CV_NONE : cv_l_osec(l, q->infosec)->fn;
        const cv_isec *s;

        if (q->group != CV_G_CONST || q->size <= CV_BANK_MOST)
            continue;
        s = q->first_part == CV_NONE ? NULL : cv_l_isec(l, cv_lparts_at(&l->part, q->first_part)->isec);
        cv_link_say(l, fn == CV_NONE ? CV_NONE : cv_l_fn(l, fn)->def, CV_R_LINK_BANK, q->size,
                    s ? cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, s->index)->bank : 0);
    }
}

/* Branch tables lie in the banks of the kernels, beside each other and beside the kernels' own. */
bool cv_link_tables_holds(const cv_link *l)
{
    return cv_link_parts_hold(l);
}

/* Common variables have a place in zero memory. */
bool cv_link_commons_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++) {
        const cv_osym *y = cv_l_osym(l, i);

        if (!y->common)
            continue;
        if (y->sec >= l->osec.n || cv_l_osec(l, y->sec)->group != CV_G_NOBITS ||
            cv_sat_add(y->value, y->size) > cv_l_osec(l, y->sec)->size)
            return false;
    }
    return true;
}

/* The loader writes into a slot what its symbol is: header of a texture or a surface, or a sampler. */
static bool fits_kind(const cv_link *l, const cv_irel *e)
{
    switch (cv_l_type(cv_l_isym(l, cv_l_osym(l, e->osym)->src))) {
    case CV_STT_CUDA_TEXTURE: return e->type == CV_R_CUDA_TEX_HEADER_INDEX;
    case CV_STT_CUDA_SAMPLER:
        return e->type ==
               (cv_l_has(l, CV_GEN_SAMPLER_0) ? CV_R_CUDA_SAMP_HEADER_INDEX_0 : CV_R_CUDA_SAMP_HEADER_INDEX);
    case CV_STT_CUDA_SURFACE: return e->type == CV_R_CUDA_SURF_HEADER_INDEX;
    default: return false;
    }
}

/* Slots are words of a bank, each of one symbol, and what the loader writes there is in the bank. */
bool cv_link_slots_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++)
        if (cv_l_osym(l, i)->has_slot && cv_l_osym(l, i)->slot % 4 != 0)
            return false;
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);
        uint64_t last = UINT64_MAX;

        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next) {
            const cv_irel *e = cv_l_irel(l, r);

            if (e->target != CV_NONE)
                continue;
            if (e->osym >= l->osym.n || !cv_l_osym(l, e->osym)->has_slot ||
                cv_sat_add(e->off, 4) > cv_l_osec(l, q->target)->size)
                return false;
            if (e->off != cv_l_osym(l, e->osym)->slot || e->off >= last || !fits_kind(l, e))
                return false;
            last = e->off; /* they descend: none is there twice */
        }
    }
    return true;
}

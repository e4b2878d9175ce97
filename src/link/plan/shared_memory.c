/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory of a final link. Each kernel gets a section with its own variables and those that device
 * functions below it use. A variable that only one kernel reaches moves to that kernel; the others are
 * coloured, so that those which no kernel needs together lie over each other. */
#include "base/arith.h"
#include "bytes/order.h"
#include "link/in/stages.h"

enum { LARGE_ALIGN = 16 };

/* A link of a list. */
typedef struct item {
    cv_id value, next;
} item;

CV_VEC(items, item);

/* A variable that functions share. */
typedef struct var {
    cv_id sym;
    cv_id kernels; /* list of items, last first */
    cv_id last;    /* kernel that was added last */
    uint64_t n_kernels;
    cv_id next; /* of the same colour */
} var;

typedef struct colour {
    uint64_t align;
    cv_id first, last;
} colour;

typedef struct kernel {
    cv_id fn;
    cv_u32s own;  /* isyms */
    cv_u32s used; /* bits: colours of its variables */
    uint32_t low; /* all colours below it are used */
    uint64_t end, align;
    cv_id unit; /* extern arrays, CV_NONE: none */
} kernel;

/* Functions and kernels that refer to the same extern arrays; a forest. */
typedef struct unit {
    cv_id parent;
    uint64_t align, off;
    bool reached; /* by a kernel */
} unit;

CV_VEC(vars, var);
CV_VEC(colours, colour);
CV_VEC(kernels, kernel);
CV_VEC(units, unit);

typedef struct shared {
    cv_link *l;
    kernels kernel;
    vars var;
    items item;
    colours colour;
    units unit;
    cv_u32s uses;     /* by function: list of the variables that its code refers to, + 1 */
    cv_u32s user;     /* by symbol: the function that was seen last to refer to it */
    cv_u32s arrays;   /* by function: unit, + 1 */
    uint64_t end;     /* of the coloured variables */
    uint64_t largest; /* alignment of all variables that functions share */
    bool has_array;   /* somebody names an extern array */
} shared;

static cv_mem *mem(const shared *s)
{
    return &s->l->x->mem;
}

static cv_id push_item(shared *s, cv_id value, cv_id next)
{
    item e = { value, next };

    return s->item.n < CV_NONE && items_push(mem(s), &s->item, e) ? (cv_id)(s->item.n - 1) : CV_NONE;
}

static cv_role role_of(const cv_link *l, const cv_isym *y)
{
    return cv_cubin_sec(&cv_l_obj(l, y->obj)->cubin, cv_l_isec(l, y->sec)->index)->role;
}

static bool is_common(const cv_link *l, const cv_isym *y)
{
    return role_of(l, y) == CV_ROLE_NV_DEBUG_SHARED;
}

static cv_id find_unit(shared *s, cv_id u)
{
    while (units_at(&s->unit, u)->parent != u) {
        unit *e = units_at(&s->unit, u);

        e->parent = units_at(&s->unit, e->parent)->parent;
        u = e->parent;
    }
    return u;
}

static cv_id join_units(shared *s, cv_id a, cv_id b)
{
    unit *x, *y;

    a = find_unit(s, a);
    b = find_unit(s, b);
    x = units_at(&s->unit, a);
    y = units_at(&s->unit, b);
    y->parent = a;
    x->align = cv_max(x->align, y->align);
    return a;
}

static bool use_array(shared *s, cv_id fn, uint64_t align)
{
    uint32_t *at = cv_u32s_at(&s->arrays, fn);
    unit u = { .parent = (cv_id)s->unit.n, .align = LARGE_ALIGN };

    if (*at == 0) {
        if (!units_push(mem(s), &s->unit, u))
            return false;
        *at = (uint32_t)s->unit.n;
    }
    units_at(&s->unit, *at - 1)->align = cv_max(units_at(&s->unit, *at - 1)->align, align);
    return true;
}

/* A relocation of code against a shared variable, or an array that nobody defines. Those of a function lie
 * together: what it refers to often is listed once. */
static bool use(shared *s, cv_id sym, cv_id fn)
{
    cv_id canon = cv_l_canon(s->l, sym);
    cv_isym *y = cv_l_isym(s->l, canon);
    uint32_t *head = cv_u32s_at(&s->uses, fn);
    cv_id id;

    if (y->sec == CV_NONE) {
        *cv_u32s_at(&s->user, cv_l_mean(s->l, y->name)->first) = fn;
        return use_array(s, fn, cv_l_isym(s->l, sym)->value);
    }
    y->referred = true;
    if (*cv_u32s_at(&s->user, canon) == fn)
        return true;
    *cv_u32s_at(&s->user, canon) = fn;
    id = push_item(s, canon, *head == 0 ? CV_NONE : *head - 1);
    if (id == CV_NONE)
        return false;
    *cv_u32s_at(&s->uses, fn) = id + 1;
    return true;
}

static bool any_shared(const cv_link *l)
{
    for (cv_id i = 0; i < l->isym.n; i++)
        if (cv_l_is_shared(cv_l_isym(l, i)))
            return true;
    return false;
}

static cuvet_status find_uses(shared *s)
{
    const cv_link *l = s->l;

    if (!any_shared(l))
        return CUVET_OK;
    if (!cv_u32s_fill(mem(s), &s->user, l->isym.n))
        return cv_l_nomem(l);
    for (cv_id i = 0; i < l->isym.n; i++)
        *cv_u32s_at(&s->user, i) = CV_NONE;
    for (cv_id i = 0; i < l->osec.n; i++) {
        const cv_osec *q = cv_l_osec(l, i);

        if (q->group != CV_G_REL || q->is_resolved || cv_l_osec(l, q->target)->group != CV_G_CODE)
            continue;
        for (cv_id r = q->rels; r != CV_NONE; r = cv_l_irel(l, r)->next)
            if (cv_l_is_shared(cv_l_isym(l, cv_l_irel(l, r)->sym)) &&
                !use(s, cv_l_irel(l, r)->sym, cv_l_osec(l, q->target)->fn))
                return cv_l_nomem(l);
    }
    return CUVET_OK;
}

static cuvet_status list_kernels(shared *s)
{
    cv_link *l = s->l;

    for (cv_id i = 0; i < l->fn.n; i++) {
        cv_lfn *f = cv_l_fn(l, i);
        kernel k = { .fn = i, .unit = CV_NONE };

        f->order = CV_NONE;
        if (!f->kernel || f->sec == CV_NONE || !f->live)
            continue;
        f->order = (uint32_t)s->kernel.n;
        if (!kernels_push(mem(s), &s->kernel, k))
            return cv_l_nomem(l);
    }
    return CUVET_OK;
}

/* A variable lies in the section of its kernel, or in the one that functions share. */
static bool list_variable(shared *s, cv_id id)
{
    cv_link *l = s->l;
    cv_isym *y = cv_l_isym(l, id);
    const cv_isec *sec = cv_l_isec(l, y->sec), *code;
    var v = { .sym = id, .kernels = CV_NONE, .last = CV_NONE, .next = CV_NONE };
    uint32_t k;

    if (is_common(l, y)) {
        s->largest = cv_max(s->largest, y->value);
        if (!y->referred && cv_l_bind(y) != CV_STB_LOCAL)
            return true;
        y->var = (cv_id)s->var.n;
        return vars_push(mem(s), &s->var, v);
    }
    if (role_of(l, y) != CV_ROLE_SHARED_FN) { /* among those of no kernel */
        if (role_of(l, y) != CV_ROLE_SHARED_RESERVED)
            cv_link_say(l, id, CV_R_LINK_SPACE, y->other, 0);
        return true;
    }
    code = cv_l_isec(l, cv_l_obj(l, y->obj)->first_sec + sec->info);
    if (code->out == CV_NONE || code->lost)
        return true;
    k = cv_l_fn(l, cv_l_osec(l, code->out)->fn)->order;
    return k == CV_NONE || cv_u32s_push(mem(s), &kernels_at(&s->kernel, k)->own, id);
}

static cuvet_status list_variables(shared *s)
{
    for (cv_id i = 0; i < s->l->isym.n; i++) {
        const cv_isym *y = cv_l_isym(s->l, i);

        if (!cv_l_is_shared(y))
            continue;
        if (y->value != 0 && !cv_is_pow2(y->value)) /* of a shared variable or array it is the alignment */
            cv_link_say(s->l, i, CV_R_LINK_ALIGN, y->value, 0);
        if (y->sec != CV_NONE && !list_variable(s, i))
            return cv_l_nomem(s->l);
    }
    return CUVET_OK;
}

/* Kernel k reaches a function: its variables and arrays are k's. */
static bool meet(shared *s, cv_id k, cv_id fn)
{
    uint32_t array = *cv_u32s_at(&s->arrays, fn), head = *cv_u32s_at(&s->uses, fn);
    kernel *e = kernels_at(&s->kernel, k);

    if (array != 0)
        e->unit = e->unit == CV_NONE ? find_unit(s, array - 1) : join_units(s, e->unit, array - 1);
    for (cv_id i = head == 0 ? CV_NONE : head - 1; i != CV_NONE; i = items_at(&s->item, i)->next) {
        cv_id id = cv_l_isym(s->l, items_at(&s->item, i)->value)->var;
        var *v = id == CV_NONE ? NULL : vars_at(&s->var, id);

        if (!v || v->last == k)
            continue;
        v->last = k;
        v->n_kernels++;
        v->kernels = push_item(s, k, v->kernels);
        if (v->kernels == CV_NONE)
            return false;
    }
    return true;
}

static cuvet_status find_reach(shared *s)
{
    cv_u32s below = { 0 }, seen = { 0 }, only = { 0 };
    cuvet_status st = CUVET_OK;

    if (s->item.n == 0 && s->unit.n == 0)
        return CUVET_OK;
    if (!cv_u32s_fill(mem(s), &seen, cv_max(s->l->n_proto_nodes, 1)) ||
        !cv_u32s_fill(mem(s), &only, s->l->fn.n))
        st = cv_l_nomem(s->l);
    for (cv_id i = 0; i < only.n; i++)
        *cv_u32s_at(&only, i) = *cv_u32s_at(&s->arrays, i) != 0 || *cv_u32s_at(&s->uses, i) != 0;
    if (st == CUVET_OK)
        st = cv_link_above(s->l, &only);
    for (cv_id k = 0; k < s->kernel.n && st == CUVET_OK; k++) {
        if (*cv_u32s_at(&only, kernels_at(&s->kernel, k)->fn) == 0)
            continue;
        st = cv_link_below(s->l, kernels_at(&s->kernel, k)->fn, &only, &below, &seen);
        for (uint64_t i = 0; i < below.n && st == CUVET_OK; i++)
            if (!meet(s, k, *cv_u32s_at(&below, i)))
                st = cv_l_nomem(s->l);
    }
    cv_u32s_free(mem(s), &below);
    cv_u32s_free(mem(s), &seen);
    cv_u32s_free(mem(s), &only);
    return st;
}

static bool by_size(void *user, uint32_t a, uint32_t b)
{
    const shared *s = user;

    return cv_l_isym(s->l, vars_get(&s->var, a)->sym)->size >
           cv_l_isym(s->l, vars_get(&s->var, b)->sym)->size;
}

static bool is_used(const kernel *k, uint32_t c)
{
    return c / 32 < k->used.n && (*cv_u32s_get(&k->used, c / 32) >> c % 32 & 1) != 0;
}

static bool set_used(shared *s, kernel *k, uint32_t c)
{
    while (k->used.n <= c / 32)
        if (!cv_work(s->l->x, 1, 0) || !cv_u32s_push(mem(s), &k->used, 0))
            return false;
    *cv_u32s_at(&k->used, c / 32) |= UINT32_C(1) << c % 32;
    while (is_used(k, k->low))
        k->low++;
    return true;
}

/* First colour that none of the variable's kernels uses. */
static cuvet_status paint(shared *s, cv_id id)
{
    var *v = vars_at(&s->var, id);
    const cv_isym *y = cv_l_isym(s->l, v->sym);
    colour fresh = { .first = CV_NONE, .last = CV_NONE }, *c;
    uint32_t n = 0;
    bool moved = true;

    while (moved) {
        moved = false;
        for (cv_id i = v->kernels; i != CV_NONE; i = items_at(&s->item, i)->next) {
            const kernel *k = kernels_at(&s->kernel, items_at(&s->item, i)->value);

            if (!cv_work(s->l->x, 1, 0))
                return CUVET_E_LIMIT;
            if (n < k->low)
                n = k->low;
            for (; is_used(k, n); moved = true)
                n++;
        }
    }
    if (n >= s->colour.n && !colours_push(mem(s), &s->colour, fresh))
        return cv_l_nomem(s->l);
    for (cv_id i = v->kernels; i != CV_NONE; i = items_at(&s->item, i)->next)
        if (!set_used(s, kernels_at(&s->kernel, items_at(&s->item, i)->value), n))
            return cv_l_nomem(s->l);
    c = colours_at(&s->colour, n);
    c->align = cv_max(c->align, y->value);
    if (c->last == CV_NONE)
        c->first = id;
    else
        vars_at(&s->var, c->last)->next = id;
    c->last = id;
    return CUVET_OK;
}

static cuvet_status colour_all(shared *s)
{
    cv_u32s order = { 0 };
    cuvet_status st = CUVET_OK;
    bool ok = true;

    for (uint32_t i = 0; i < s->var.n && ok; i++)
        ok = cv_u32s_push(mem(s), &order, i);
    ok = ok && cv_list_sort(mem(s), &order, by_size, s, true);
    for (uint64_t i = 0; i < order.n && ok && st == CUVET_OK; i++) {
        cv_id id = *cv_u32s_at(&order, i);
        const var *v = vars_at(&s->var, id);

        if (v->n_kernels == 1)
            ok = cv_u32s_push(mem(s), &kernels_at(&s->kernel, v->last)->own, v->sym);
        else
            st = paint(s, id);
    }
    cv_u32s_free(mem(s), &order);
    return ok ? st : cv_l_nomem(s->l);
}

static void place_colour(shared *s, const colour *c)
{
    uint64_t start = cv_sat_align(s->end, cv_max(c->align, 1)), end = start;

    for (cv_id id = c->first; id != CV_NONE; id = vars_at(&s->var, id)->next) {
        const var *v = vars_at(&s->var, id);
        cv_isym *y = cv_l_isym(s->l, v->sym);

        y->shared_off = cv_sat_align(start, cv_max(y->value, 1));
        y->placed = true;
        end = cv_max(end, cv_sat_add(y->shared_off, y->size));
        for (cv_id i = v->kernels; i != CV_NONE; i = items_at(&s->item, i)->next) {
            kernel *k = kernels_at(&s->kernel, items_at(&s->item, i)->value);

            k->end = cv_max(k->end, cv_sat_add(y->shared_off, y->size));
            k->align = cv_max(k->align, y->value);
        }
    }
    s->end = end;
}

static bool by_align(void *user, uint32_t a, uint32_t b)
{
    const shared *s = user;
    const cv_isym *x = cv_l_isym(s->l, a), *y = cv_l_isym(s->l, b);

    return x->value > y->value || (x->value == y->value && x->size < y->size);
}

static bool place_own(shared *s, kernel *k)
{
    if (!cv_list_sort(mem(s), &k->own, by_align, s, false))
        return false;
    for (uint64_t i = 0; i < k->own.n; i++) {
        cv_isym *y = cv_l_isym(s->l, *cv_u32s_at(&k->own, i));

        y->shared_off = cv_sat_align(k->end, cv_max(y->value, 1));
        y->placed = true;
        k->end = cv_sat_add(y->shared_off, y->size);
        k->align = cv_max(k->align, y->value);
    }
    return true;
}

/* One offset for all arrays of a unit: behind the data of each of its kernels. */
static void place_arrays(shared *s)
{
    for (cv_id i = 0; i < s->kernel.n; i++) {
        kernel *k = kernels_at(&s->kernel, i);
        unit *u;

        if (k->unit == CV_NONE)
            continue;
        u = units_at(&s->unit, find_unit(s, k->unit));
        u->off = cv_max(u->off, k->end ? cv_sat_align(k->end, u->align) : 0);
        u->reached = true;
    }
    for (cv_id i = 0; i < s->kernel.n; i++) {
        kernel *k = kernels_at(&s->kernel, i);
        const unit *u;

        if (k->unit == CV_NONE)
            continue;
        u = units_at(&s->unit, find_unit(s, k->unit));
        k->end = u->off;
        k->align = cv_max(k->align, u->align);
    }
    for (cv_id i = 0; i < s->l->fn.n; i++) {
        const unit *u;

        if (*cv_u32s_at(&s->arrays, i) == 0)
            continue;
        u = units_at(&s->unit, find_unit(s, *cv_u32s_at(&s->arrays, i) - 1));
        cv_l_fn(s->l, i)->extern_off = u->reached ? u->off : UINT64_MAX; /* nobody gets there */
    }
}

/* For a debugger an array is where it is for the function that was seen last to refer to it. */
static void show_arrays(const shared *s)
{
    for (cv_id i = 0; i < s->user.n; i++) {
        cv_isym *y = cv_l_isym(s->l, i);
        cv_id fn = *cv_u32s_get(&s->user, i);
        uint64_t off = fn == CV_NONE ? UINT64_MAX : cv_l_fn(s->l, fn)->extern_off;

        if (y->sec == CV_NONE && off != UINT64_MAX)
            y->shared_off = off;
    }
}

/* What a kernel may have without asking for more at run time. */
#define STATIC_MOST UINT64_C(0xC000)

static void finish_kernel(shared *s, kernel *k)
{
    cv_link *l = s->l;
    const cv_lfn *f = cv_l_fn(l, k->fn);
    cv_osec *q = cv_l_osec(l, cv_l_osec(l, f->sec)->shared);
    bool needed;

    k->align = cv_max(k->align, s->colour.n ? s->largest : 0);
    /* A program with an extern array has room for it in every kernel that is aligned for one. */
    needed = k->end > 0 ||
             (s->has_array && (k->align == LARGE_ALIGN || (k->align > LARGE_ALIGN && cv_link_reserves(l))));
    if (k->end > STATIC_MOST)
        cv_link_say(l, f->def, CV_R_LINK_SHARED, k->end, STATIC_MOST);
    if (needed && cv_link_reserves(l))
        k->end = cv_sat_add(k->end, l->o.gen->reserved);
    for (uint64_t i = 0; i < k->own.n; i++)
        cv_l_isym(l, *cv_u32s_at(&k->own, i))->shared_sec = cv_l_osec(l, f->sec)->shared;
    q->dead = !needed;
    q->size = k->end;
    q->align = k->align ? k->align : q->align;
    q->infosec = f->sec;
}

static cuvet_status lay_out(shared *s)
{
    cv_link *l = s->l;
    cuvet_status st = list_kernels(s);
    cv_id d = cv_l_find_osec(l, ".nv_debug.shared", l->empty);

    s->has_array = d != CV_NONE && cv_l_osec(l, d)->extern_array;
    if (st == CUVET_OK)
        st = find_uses(s);
    if (st == CUVET_OK)
        st = list_variables(s);
    if (st == CUVET_OK)
        st = find_reach(s);
    if (st == CUVET_OK)
        st = colour_all(s);
    if (st != CUVET_OK)
        return st;
    for (uint64_t i = 0; i < s->colour.n; i++)
        place_colour(s, colours_at(&s->colour, i));
    for (uint64_t i = 0; i < s->kernel.n; i++)
        if (!place_own(s, kernels_at(&s->kernel, i)))
            return cv_l_nomem(l);
    place_arrays(s);
    l->coloured = s->end != 0;
    if (l->o.debug)
        show_arrays(s);
    for (uint64_t i = 0; i < s->kernel.n; i++)
        finish_kernel(s, kernels_at(&s->kernel, i));
    if (d == CV_NONE)
        return CUVET_OK;
    cv_l_osec(l, d)->size = 0; /* unless the symbols in it are to be seen */
    if ((l->o.preserve || l->o.debug) && s->end)
        cv_l_osec(l, d)->size = cv_sat_add(s->end, cv_link_reserves(l) ? l->o.gen->reserved : 0);
    cv_l_osec(l, d)->dead =
        cv_l_osec(l, d)->size == 0 && !(s->has_array && cv_l_osec(l, d)->align == LARGE_ALIGN);
    if ((cv_l_has(l, CV_GEN_RESERVED_SHOWN) || l->o.preserve || l->o.debug) && cv_link_reserves(l) &&
        cv_l_osec(l, d)->size == 0)
        cv_l_osec(l, d)->size = l->o.gen->reserved;
    return CUVET_OK;
}

cuvet_status cv_link_shared(cv_link *l)
{
    shared s = { .l = l };
    cuvet_status st;

    for (cv_id i = 0; i < l->osec.n; i++)
        if (cv_l_osec(l, i)->pre)
            cv_l_osec(l, i)->dead = true;
    if (!cv_u32s_fill(mem(&s), &s.uses, cv_max(l->fn.n, 1)) ||
        !cv_u32s_fill(mem(&s), &s.arrays, cv_max(l->fn.n, 1)))
        st = cv_l_nomem(l);
    else
        st = l->o.relocatable ? cv_link_shared_partial(l) : lay_out(&s);
    if (st == CUVET_OK && !l->o.relocatable)
        cv_link_place_reserved(l);
    for (uint64_t i = 0; i < s.kernel.n; i++) {
        cv_u32s_free(mem(&s), &kernels_at(&s.kernel, i)->own);
        cv_u32s_free(mem(&s), &kernels_at(&s.kernel, i)->used);
    }
    kernels_free(mem(&s), &s.kernel);
    vars_free(mem(&s), &s.var);
    items_free(mem(&s), &s.item);
    colours_free(mem(&s), &s.colour);
    units_free(mem(&s), &s.unit);
    cv_u32s_free(mem(&s), &s.uses);
    cv_u32s_free(mem(&s), &s.user);
    cv_u32s_free(mem(&s), &s.arrays);
    return st;
}

/* Variables of a kernel lie in its section, aligned. */
bool cv_link_shared_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (!s->placed)
            continue;
        if (s->value && s->shared_off % s->value != 0)
            return false;
        if (s->shared_sec != CV_NONE &&
            cv_sat_add(s->shared_off, s->size) > cv_l_osec(l, s->shared_sec)->size)
            return false;
    }
    return cv_link_reserved_holds(l);
}

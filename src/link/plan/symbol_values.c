/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each symbol of the output is: section, value, size, binding; and which of them stay. */
#include "base/arith.h"
#include "link/in/stages.h"

static bool is_shared_space(uint8_t other)
{
    return (other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}

/* Where shared memory of functions begins behind what is reserved, the reference counts that for arrays, too.
 */
static bool counts_reserved(const cv_link *l)
{
    return cv_link_reserves(l) && l->coloured;
}

/* A debugger finds extern shared arrays by name. What has no place has the value of all ones; when the
 * reserved part is added, the reference does not see that and keeps the name. */
static bool keeps_extern(const cv_link *l, const cv_isym *s)
{
    return (l->o.debug || (l->o.preserve && cv_l_has(l, CV_GEN_KEEPS_EXTERN) && counts_reserved(l))) &&
           !l->o.relocatable && cv_l_type(s) == CV_STT_CUDA_OBJECT && is_shared_space(s->other);
}

/* Nobody defines it. */
static void undefined(const cv_link *l, cv_osym *y)
{
    const cv_isym *s = cv_l_isym(l, y->src);
    uint8_t type = cv_l_type(s);

    y->sec = CV_NONE;
    y->size = s->size;
    y->value = 0;
    if (l->o.relocatable && l->o.compat && is_shared_space(s->other) && type == CV_STT_CUDA_OBJECT) {
        y->sec = l->debug_shared;
        y->size = 0;
    } else if (keeps_extern(l, s)) {
        y->sec = l->debug_shared;
        y->size = 0;
        y->info = CV_STB_GLOBAL << 4 | CV_STT_OBJECT;
        y->other = l->o.debug ? 0 : 1;
        y->value = l->o.debug ? cv_l_isym(l, cv_l_mean(l, y->name)->first)->shared_off : UINT64_MAX;
        y->value = cv_wrap_add(y->value, counts_reserved(l) ? l->o.gen->reserved : 0);
    } else if (cv_l_bind(s) == CV_STB_WEAK && type == CV_STT_OBJECT) {
        y->info =
            CV_STB_GLOBAL << 4 | (cv_l_has(l, CV_GEN_WEAK_CUDA_OBJECT) ? CV_STT_CUDA_OBJECT : CV_STT_OBJECT);
    } else if (l->o.relocatable && l->o.compat && type != CV_STT_FUNC && !cv_l_is_texture(s)) {
        y->value = UINT64_MAX;
    }
    /* a place in the memory that the driver reserves */
    if (cv_l_has(l, CV_GEN_RESERVED_SYMBOLS) && cv_span_starts(cv_l_text(l, y->name), ".nv.reservedSmem."))
        y->value = s->value;
}

bool cv_link_is_bank_size(const cv_link *l, const cv_isym *s)
{
    return cv_l_is_nowhere(s) && cv_span_eq_str(cv_l_text(l, s->name), ".nv.ptx.const0.size");
}

uint64_t cv_link_nowhere(const cv_link *l, const cv_isym *s)
{
    return l->bank3 != CV_NONE && cv_link_is_bank_size(l, s) ? cv_l_osec(l, l->bank3)->size : UINT64_MAX;
}

static void shared_value(const cv_link *l, cv_osym *y, const cv_isym *w)
{
    y->value = w->placed ? w->shared_off : 0;
    if (w->shared_sec != CV_NONE)
        y->sec = w->shared_sec;
    if (w->placed && cv_link_reserves(l)) /* the symbol counts what comes first, code does not */
        y->value = cv_sat_add(y->value, l->o.gen->reserved);
}

static void defined(const cv_link *l, cv_osym *y)
{
    const cv_isym *w = cv_l_isym(l, y->win);
    bool object = cv_l_type(w) == CV_STT_CUDA_OBJECT;

    y->size = w->size;
    y->other = w->other;
    if (w->common) {
        cv_link_largest_common(l, cv_l_mean(l, y->name), &y->size, &y->value);
        y->common_kept = true;
        return;
    }
    if (cv_l_is_nowhere(w)) {
        y->value = cv_link_nowhere(l, w);
        y->info = CV_STB_LOCAL << 4 | CV_STT_CUDA_OBJECT;
        return;
    }
    if (w->sec == CV_NONE || cv_l_isec(l, w->sec)->table) {
        y->sec = CV_NONE;
        return;
    }
    y->sec = cv_l_isec(l, w->sec)->out;
    y->value = w->value;
    if (cv_l_is_reserved(w)) /* of a relocatable link it stays an alignment */
        y->value = l->o.relocatable ? w->value : w->shared_off;
    else if (cv_l_type(w) != CV_STT_FUNC && !is_shared_space(w->other))
        y->value = cv_sat_add(y->value, cv_l_isec(l, w->sec)->base);
    y->info = w->info;
    if (l->o.relocatable || !object)
        return;
    y->info = (uint8_t)(cv_l_bind(w) << 4 | CV_STT_OBJECT);
    y->other = w->other & CV_STO_MANAGED;
    if (is_shared_space(w->other))
        shared_value(l, y, w);
    if (l->o.preserve && ((is_shared_space(w->other) && !l->o.debug) || cv_l_is_hidden_bank(w)))
        y->other = CV_STV_INTERNAL;
}

void cv_link_values(cv_link *l)
{
    l->debug_shared = cv_l_find_osec(l, ".nv_debug.shared", l->empty);
    l->bank3 = cv_l_find_osec(l, ".nv.constant3", l->empty);
    for (cv_id i = 0; i < l->osym.n; i++) {
        cv_osym *y = cv_l_osym(l, i);

        if (y->is_section || y->common || y->instance)
            continue;
        if (y->win == CV_NONE)
            undefined(l, y);
        else
            defined(l, y);
    }
}

static bool keeps_shared(const cv_link *l, uint8_t other)
{
    return l->o.preserve || (l->o.debug && is_shared_space(other));
}

static bool drop_section(const cv_link *l, const cv_osym *y)
{
    const cv_osec *s = cv_l_osec(l, y->sec);

    bool lone = cv_l_has(l, CV_GEN_RESERVED_SHOWN) && cv_link_reserves(l) && !l->o.relocatable &&
                s->group == CV_G_NOBITS && s->size == l->o.gen->reserved;

    if (lone && (y->sec == l->debug_shared || s->infosec != CV_NONE)) /* nothing but the reserved part */
        return true;
    return s->dead || ((s->group == CV_G_NOBITS || s->group == CV_G_INIT || s->group == CV_G_CONST ||
                        s->group == CV_G_PARAM || s->group == CV_G_DEBUG) &&
                       (s->size == 0 || s->hollow));
}

static bool drop_undefined(const cv_link *l, const cv_osym *y)
{
    const cv_isym *s = cv_l_isym(l, y->src);

    if (cv_l_type(s) == CV_STT_FUNC)
        return y->fn == CV_NONE || !cv_l_fn(l, y->fn)->live;
    return cv_span_starts(cv_l_text(l, y->name), "__U") || (is_shared_space(s->other) && !keeps_extern(l, s));
}

bool cv_link_drops(const cv_link *l, cv_id id)
{
    const cv_osym *y = cv_l_osym(l, id);
    const cv_isym *w = y->win == CV_NONE ? NULL : cv_l_isym(l, y->win);

    if (y->is_section)
        return drop_section(l, y);
    if (y->sec != CV_NONE && cv_l_osec(l, y->sec)->dead)
        return true;
    if (l->o.relocatable || y->instance)
        return false;
    if (y->fn != CV_NONE && !cv_l_fn(l, y->fn)->live)
        return true;
    if (!w)
        return drop_undefined(l, y);
    if (cv_l_is_shared(w) && w->sec != CV_NONE && (cv_l_isec(l, w->sec)->lost || !w->placed))
        return true; /* it has no room: of a kernel that lost, or nobody names it */
    if (y->hidden)
        return !keeps_shared(l, w->other);
    return cv_l_is_shared(w) && !keeps_shared(l, w->other);
}

static bool is_variable(const cv_link *l, const cv_osym *y)
{
    const cv_isym *w = y->win == CV_NONE ? NULL : cv_l_isym(l, y->win);

    return w && y->sec != CV_NONE && cv_l_type(w) != CV_STT_FUNC && !cv_l_is_shared(w) &&
           !(cv_l_is_reserved(w) && l->o.relocatable);
}

/* A symbol is in a section that exists, its own when it is a section symbol, and ends there. */
bool cv_link_values_holds(const cv_link *l)
{
    for (cv_id i = 0; i < l->osym.n; i++) {
        const cv_osym *y = cv_l_osym(l, i);

        if (!cv_l_below(y->sec, l->osec.n) || (y->is_section && cv_l_osec(l, y->sec)->sym != i))
            return false;
        if (is_variable(l, y) && cv_sat_add(y->value, y->size) > cv_l_osec(l, y->sec)->size)
            return false;
    }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage resolve: for every global name, do its declarations agree, and which definition wins? Strong before
 * weak before common; of weak functions the one with the fewest registers, else the first. */
#include "link/in/stages.h"
#include "target/provided.h"

static cv_id number(const cv_link *link, const cv_isym *sym)
{
    return cv_l_obj(link, sym->obj)->first_sym + sym->index;
}

/* 'sym' does not agree with the earlier f. */
static void say(cv_link *link, const cv_isym *sym, const cv_isym *function, cv_rule rule, uint64_t got,
                uint64_t want)
{
    cv_link_say_two(link, number(link, sym), number(link, function), rule, got, want);
}

/* Text of a prototype up to the bar: what is behind it is not compared. */
static bool same_proto(const cv_link *link, cv_id left, cv_id right)
{
    cv_span first = cv_l_text(link, left), second = cv_l_text(link, right);

    if (left == right || !cv_work(link->ctx, 1 + (first.len + second.len) / 16, 0))
        return true; /* without work the link ends anyway */
    first.len = cv_span_find_byte(first, '|');
    second.len = cv_span_find_byte(second, '|');
    return cv_span_eq(first, second);
}

static bool is_reserved(const cv_link *link, const cv_isym *sym)
{
    cv_span name = cv_l_text(link, sym->name);

    return (cv_l_type(sym) == CV_STT_OBJECT || cv_l_type(sym) == CV_STT_CUDA_OBJECT) &&
           (cv_span_starts(name, "__U") || cv_span_starts(name, ".nv.res"));
}

/* A common variable that is smaller than an initialised one of its name is a part of that, as in the
 * reference. */
static bool is_part(const cv_link *link, const cv_isym *common, const cv_isym *sym)
{
    const cv_isec *sec = sym->sec == CV_NONE ? NULL : cv_l_isec(link, sym->sec);

    return common->common && sec && common->size < sym->size &&
           cv_cubin_sec(&cv_l_obj(link, sec->obj)->cubin, sec->index)->role == CV_ROLE_GLOBAL_INIT;
}

/* Sizes that cannot be those of one variable. */
static bool sizes_differ(const cv_link *link, const cv_isym *sym, const cv_isym *function)
{
    return sym->size != function->size && sym->size && function->size && !(sym->common && function->common) &&
           !is_part(link, sym, function) && !is_part(link, function, sym);
}

/* Where there is a definition, a common variable is compared with that, when all declarations are known. */
static bool is_judged_later(const cv_link *link, const cv_isym *sym, const cv_isym *function)
{
    cv_id win = cv_l_mean(link, sym->name)->win;

    return (sym->common || function->common) && win != CV_NONE && !cv_l_isym(link, win)->common;
}

static void compare(cv_link *link, const cv_isym *sym, const cv_isym *function)
{
    uint8_t space = sym->other & CV_STO_SPACE, first = function->other & CV_STO_SPACE;

    if (cv_l_type(sym) == CV_STT_FUNC && cv_l_type(function) == CV_STT_FUNC) {
        if ((sym->other ^ function->other) & CV_STO_ENTRY)
            say(link, sym, function, CV_R_LINK_ENTRY, sym->other & CV_STO_ENTRY, function->obj);
        else if (sym->proto != CV_NONE && function->proto != CV_NONE &&
                 !same_proto(link, sym->proto, function->proto))
            say(link, sym, function, CV_R_LINK_PROTOTYPE, sym->obj, function->obj);
    } else if (is_reserved(link, sym)) {
        return;
    } else if (cv_l_type(sym) != cv_l_type(function) || space != first) {
        say(link, sym, function, CV_R_LINK_SPACE, sym->other, function->other);
    } else if ((sym->other ^ function->other) &
               CV_STO_MANAGED) { /* type and space are the same: two variables */
        say(link, sym, function, CV_R_LINK_MANAGED, sym->other & CV_STO_MANAGED, function->obj);
    } else if (sizes_differ(link, sym, function) && !is_judged_later(link, sym, function)) {
        say(link, sym, function, CV_R_LINK_SIZE, sym->size, function->size);
    }
}

static void consider(cv_link *link, cv_meaning *entry, cv_id id, const cv_isym *sym)
{
    if (!sym->defined)
        return;
    if (sym->common) {
        if (entry->common == CV_NONE)
            entry->common = id;
    } else if (cv_l_bind(sym) == CV_STB_GLOBAL) {
        if (entry->strong == CV_NONE)
            entry->strong = id;
        else
            say(link, sym, cv_l_isym(link, entry->strong), CV_R_LINK_MULTIPLE, sym->obj,
                cv_l_isym(link, entry->strong)->obj);
    } else if (entry->weak == CV_NONE || (cv_l_type(cv_l_isym(link, entry->weak)) == CV_STT_FUNC &&
                                          sym->regs < cv_l_isym(link, entry->weak)->regs)) {
        entry->weak = id;
    } else {
        *cv_u8s_at(&link->resolution->beaten, id) = true;
    }
    if (entry->strong != CV_NONE && entry->strong != id)
        *cv_u8s_at(&link->resolution->beaten, id) = true;
    entry->win = entry->strong != CV_NONE ? entry->strong
                 : entry->weak != CV_NONE ? entry->weak
                                          : entry->common;
}

static bool takes_part(const cv_link *link, const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) != CV_STB_LOCAL && cv_l_type(sym) != CV_STT_SECTION &&
           cv_l_text(link, sym->name).len != 0;
}

static void resolve_symbol(cv_link *link, cv_id id)
{
    const cv_isym *sym = cv_l_isym(link, id);
    cv_meaning *entry;

    if (!takes_part(link, sym)) {
        link->resolution->unnamed =
            link->resolution->unnamed || (sym->index != 0 && cv_l_bind(sym) != CV_STB_LOCAL);
        return;
    }
    entry = cv_l_mean(link, sym->name);
    if (entry->first == CV_NONE) {
        entry->first = id;
    } else {
        if (cv_l_isym(link, entry->last)->obj == sym->obj)
            say(link, sym, cv_l_isym(link, entry->last), CV_R_LINK_TWICE, sym->index,
                cv_l_isym(link, entry->last)->index);
        compare(link, sym, cv_l_isym(link, entry->first));
        entry->loose_size = entry->loose_size || sym->common || cv_l_isym(link, entry->first)->common ||
                            (cv_l_isym(link, entry->first)->size == 0 && sym->size != 0);
        *cv_u32s_at(&link->resolution->next, entry->last) = id;
    }
    entry->last = id;
    consider(link, entry, id, sym);
}

void cv_link_largest_common(const cv_link *link, const cv_meaning *entry, uint64_t *size, uint64_t *align)
{
    *size = *align = 0;
    for (cv_id i = entry->first; i != CV_NONE; i = cv_l_next_of(link, i)) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (sym->common) {
            *size = cv_max(*size, sym->size);
            *align = cv_max(*align, sym->value);
        }
    }
}

/* The area that sm_90 and later set aside: every kernel with shared memory has it once an input names it. */
static bool mentions_reserved(const cv_link *link)
{
    for (cv_id count = 0; count < link->resolution->mean.count; count++)
        if (cv_l_mean(link, count)->first != CV_NONE &&
            cv_span_eq_str(cv_l_text(link, count), ".nv.reservedSmem.offset0"))
            return true;
    for (cv_id i = 0; i < link->inputs->obj.count; i++)
        if (cv_l_obj(link, i)->cubin.legacy) /* had no name for it yet */
            return true;
    return false;
}

/* Where the definition lies, what was compiled for the common variable finds its alignment. */
static bool is_aligned(const cv_link *link, const cv_isym *win, uint64_t align)
{
    uint64_t sec = win->sec == CV_NONE ? 0 : cv_l_isec(link, win->sec)->align;

    return align < 2 || (cv_max(sec, 1) % align == 0 && win->value % align == 0);
}

/* The first declaration of a name says nothing of its size where it has none, or where it is common: others
 * that agree with it may disagree with the definition. */
static void compare_with_winner(cv_link *link, const cv_meaning *entry)
{
    const cv_isym *win = cv_l_isym(link, entry->win);

    for (cv_id i = entry->first; i != CV_NONE; i = cv_l_next_of(link, i)) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (i == entry->win || cv_l_type(sym) != CV_STT_CUDA_OBJECT)
            continue;
        if (!win->common && sizes_differ(link, sym, win))
            say(link, sym, win, CV_R_LINK_SIZE, sym->size, win->size);
        else if (sym->common && !win->common && !is_aligned(link, win, sym->value))
            say(link, sym, win, CV_R_LINK_COMMON_ALIGN, sym->value, cv_l_isec(link, win->sec)->align);
    }
}

bool cv_l_fill_none(cv_mem *mem, cv_u32s *list, uint64_t count)
{
    if (!cv_u32s_room(mem, list, count))
        return false;
    while (list->count < count)
        if (!cv_u32s_push(mem, list, CV_NONE))
            return false;
    return true;
}

static bool begin(cv_link *link)
{
    static const cv_meaning NOTHING = { CV_NONE, CV_NONE, CV_NONE, CV_NONE, CV_NONE, CV_NONE, false };
    cv_part_resolution *resolution = link->resolution;
    cv_mem *mem = &link->ctx->mem;

    if (!cv_l_fill_none(mem, &resolution->next, link->inputs->isym.count) ||
        !cv_u8s_fill(mem, &resolution->beaten, link->inputs->isym.count) ||
        !cv_meanings_room(mem, &resolution->mean, link->names->set.list.count))
        return false;
    while (resolution->mean.count < link->names->set.list.count)
        if (!cv_meanings_push(mem, &resolution->mean, NOTHING))
            return false;
    return true;
}

/* All that is wrong with one input is said before the link ends. */
cuvet_status cv_link_resolve(cv_link *link)
{
    uint64_t before;

    if (!begin(link))
        return cv_l_nomem(link);
    for (cv_id object = 0; object < link->inputs->obj.count; object++) {
        const cv_lobj *obj = cv_l_obj(link, object);

        before = link->ctx->n_errors;
        for (cv_id i = 0; i < obj->n_sym; i++)
            resolve_symbol(link, obj->first_sym + i);
        if (link->ctx->n_errors != before)
            return CUVET_E_REFUSED;
    }
    before = link->ctx->n_errors;
    for (cv_id count = 0; count < link->resolution->mean.count; count++) {
        const cv_meaning *entry = cv_l_mean(link, count);

        if (entry->loose_size && entry->win != CV_NONE &&
            cv_l_type(cv_l_isym(link, entry->win)) == CV_STT_CUDA_OBJECT &&
            !is_reserved(link, cv_l_isym(link, entry->win)))
            compare_with_winner(link, entry);
    }
    link->resolution->reserved = mentions_reserved(link);
    return link->ctx->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}

/* Checker: the winner of a name is one of its definitions, and no better one is left. */
bool cv_link_resolve_holds(const cv_link *link)
{
    for (cv_id count = 0; count < link->resolution->mean.count; count++) {
        const cv_meaning *entry = cv_l_mean(link, count);
        bool strong = false, any = false;

        for (cv_id i = entry->first; i != CV_NONE; i = cv_l_next_of(link, i)) {
            const cv_isym *sym = cv_l_isym(link, i);

            if (sym->name != count || (i == entry->win && !sym->defined))
                return false;
            any = any || sym->defined;
            strong = strong || (sym->defined && !sym->common && cv_l_bind(sym) == CV_STB_GLOBAL);
        }
        if (any != (entry->win != CV_NONE))
            return false;
        if (strong && cv_l_bind(cv_l_isym(link, entry->win)) != CV_STB_GLOBAL)
            return false;
    }
    return true;
}

bool cv_link_may_stay_undefined(const cv_link *link, const cv_isym *sym)
{
    const cv_meaning *entry = cv_l_mean(link, sym->name);
    const cv_isym *function;

    if (entry->win != CV_NONE)
        return true;
    if (entry->first == CV_NONE) /* a symbol that takes no part, such as a local one */
        return false;
    function = cv_l_isym(link, entry->first);
    return (cv_l_type(function) == CV_STT_FUNC && cv_is_provided(cv_l_text(link, sym->name))) ||
           cv_l_bind(function) == CV_STB_WEAK || cv_l_is_texture(function) ||
           ((function->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED &&
            function->size == 0); /* an array of any size */
}

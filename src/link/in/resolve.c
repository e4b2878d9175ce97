/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stage resolve: for every global name, do its declarations agree, and which definition wins? Strong before
 * weak before common; of weak functions the one with the fewest registers; with as many, the last one for a
 * newer virtual architecture than the first definition is for, else the first. */
#include "link/in/link.h"
#include "target/provided.h"

static cv_id symbol_number(const cv_view_resolve *view, const cv_isym *sym)
{
    return cv_l_obj(view, sym->obj)->first_sym + sym->index;
}

/* 'sym' does not agree with the earlier f. */
static void say_conflict(const cv_view_resolve *view, const cv_isym *sym, const cv_isym *function,
                         cv_rule rule, uint64_t got, uint64_t want)
{
    cv_link_say_two(view, symbol_number(view, sym), symbol_number(view, function), rule, got, want);
}

/* Text of a prototype up to the bar: what is behind it is not compared. */
static bool same_proto(const cv_view_resolve *view, cv_id left, cv_id right)
{
    cv_span first = cv_l_text(view, left), second = cv_l_text(view, right);

    if (left == right || !cv_work(view->ctx, 1 + (first.len + second.len) / 16, 0))
        return true; /* without work the link ends anyway */
    first.len = cv_span_find_byte(first, '|');
    second.len = cv_span_find_byte(second, '|');
    return cv_span_eq(first, second);
}

bool cv_link_is_table_name(cv_span name)
{
    static const char *const ENDS[] = { "", "_END", "_OFFSET", "_CANONICAL" };
    cv_span rest;

    if (!cv_span_after(name, "__UFT", &rest) && !cv_span_after(name, "__UDT", &rest))
        return false;
    for (size_t i = 0; i < CV_COUNT(ENDS); i++)
        if (cv_span_eq_str(rest, CV_AT(ENDS, i)))
            return true;
    return false;
}

/* What the linker or the system makes is named by compilers as one type of symbol and by relocatable links as
 * another; nobody has a definition of it. A variable of such a name is one like all others. */
static bool is_reserved(const cv_view_resolve *view, const cv_isym *sym)
{
    cv_span name = cv_l_text(view, sym->name);

    return !sym->defined && (cv_l_type(sym) == CV_STT_OBJECT || cv_l_type(sym) == CV_STT_CUDA_OBJECT) &&
           (cv_link_is_table_name(name) || cv_span_starts(name, ".nv.reservedSmem."));
}

/* A common variable that is smaller than an initialised one of its name is a part of that, as in the
 * reference. */
static bool is_part(const cv_view_resolve *view, const cv_isym *common, const cv_isym *sym)
{
    const cv_isec *sec = sym->sec == CV_NONE ? NULL : cv_l_isec(view, sym->sec);

    return common->common && sec && common->size < sym->size &&
           cv_cubin_sec(&cv_l_obj(view, sec->obj)->cubin, sec->index)->role == CV_ROLE_GLOBAL_INIT;
}

/* Who only names a variable may not know how large it is; where it lies, it has as many bytes as that says.
 * An extern shared array of a relocatable link for the debugger has a section and lies nowhere. */
static bool has_size(const cv_view_resolve *view, const cv_isym *sym)
{
    const cv_isec *sec = sym->sec == CV_NONE ? NULL : cv_l_isec(view, sym->sec);

    return sym->size != 0 ||
           (sym->defined && !(sec && cv_cubin_sec(&cv_l_obj(view, sec->obj)->cubin, sec->index)->role ==
                                         CV_ROLE_NV_DEBUG_SHARED));
}

/* Sizes that cannot be those of one variable. */
static bool sizes_differ(const cv_view_resolve *view, const cv_isym *sym, const cv_isym *function)
{
    return sym->size != function->size && has_size(view, sym) && has_size(view, function) &&
           !(sym->common && function->common) && !is_part(view, sym, function) &&
           !is_part(view, function, sym);
}

/* Where there is a definition, a common variable is compared with that, when all declarations are known. */
static bool is_judged_later(const cv_view_resolve *view, const cv_isym *sym, const cv_isym *function)
{
    cv_id win = cv_l_entry(view, sym->name)->win;

    return (sym->common || function->common) && win != CV_NONE && !cv_l_isym(view, win)->common;
}

static void compare_declarations(const cv_view_resolve *view, const cv_isym *sym, const cv_isym *function)
{
    uint8_t space = sym->other & CV_STO_SPACE, first = function->other & CV_STO_SPACE;

    if (cv_l_type(sym) == CV_STT_FUNC && cv_l_type(function) == CV_STT_FUNC) {
        if ((sym->other ^ function->other) & CV_STO_ENTRY)
            say_conflict(view, sym, function, CV_R_LINK_ENTRY, sym->other & CV_STO_ENTRY, function->obj);
        else if (sym->proto != CV_NONE && function->proto != CV_NONE &&
                 !same_proto(view, sym->proto, function->proto))
            say_conflict(view, sym, function, CV_R_LINK_PROTOTYPE, sym->obj, function->obj);
    } else if (is_reserved(view, sym) && is_reserved(view, function)) {
        return;
    } else if (cv_l_type(sym) != cv_l_type(function) || space != first) {
        say_conflict(view, sym, function, CV_R_LINK_SPACE, sym->other, function->other);
    } else if ((sym->other ^ function->other) &
               CV_STO_MANAGED) { /* type and space are the same: two variables */
        say_conflict(view, sym, function, CV_R_LINK_MANAGED, sym->other & CV_STO_MANAGED, function->obj);
    } else if (sizes_differ(view, sym, function) && !is_judged_later(view, sym, function)) {
        say_conflict(view, sym, function, CV_R_LINK_SIZE, sym->size, function->size);
    }
}

/* The reference asks of the first definition what it was compiled for, also when that is beaten already. */
static bool is_better(const cv_view_resolve *view, const cv_resolution_entry *entry, const cv_isym *sym)
{
    const cv_isym *best = cv_l_isym(view, entry->weak), *first = cv_l_isym(view, entry->weak_first);

    if (cv_l_type(best) != CV_STT_FUNC)
        return false;
    if (sym->regs != best->regs)
        return sym->regs < best->regs;
    return cv_l_obj(view, sym->obj)->cubin.virtual_sm > cv_l_obj(view, first->obj)->cubin.virtual_sm;
}

static void consider_definition(const cv_view_resolve *view, cv_resolution_entry *entry, cv_id id,
                                const cv_isym *sym)
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
            say_conflict(view, sym, cv_l_isym(view, entry->strong), CV_R_LINK_MULTIPLE, sym->obj,
                         cv_l_isym(view, entry->strong)->obj);
    } else if (entry->weak == CV_NONE || is_better(view, entry, sym)) {
        entry->weak_first = entry->weak == CV_NONE ? id : entry->weak_first;
        entry->weak = id;
    } else {
        *cv_u8s_at(&view->resolution->beaten, id) = true;
    }
    if (entry->strong != CV_NONE && entry->strong != id)
        *cv_u8s_at(&view->resolution->beaten, id) = true;
    entry->win = entry->strong != CV_NONE ? entry->strong
                 : entry->weak != CV_NONE ? entry->weak
                                          : entry->common;
}

static bool takes_part(const cv_view_resolve *view, const cv_isym *sym)
{
    return sym->index != 0 && cv_l_bind(sym) != CV_STB_LOCAL && cv_l_type(sym) != CV_STT_SECTION &&
           cv_l_text(view, sym->name).len != 0;
}

static void resolve_symbol(const cv_view_resolve *view, cv_id id)
{
    const cv_isym *sym = cv_l_isym(view, id);
    cv_resolution_entry *entry;

    if (!takes_part(view, sym)) {
        view->resolution->unnamed =
            view->resolution->unnamed || (sym->index != 0 && cv_l_bind(sym) != CV_STB_LOCAL);
        return;
    }
    entry = cv_l_entry(view, sym->name);
    if (entry->first == CV_NONE) {
        entry->first = id;
    } else {
        if (cv_l_isym(view, entry->last)->obj == sym->obj)
            say_conflict(view, sym, cv_l_isym(view, entry->last), CV_R_LINK_TWICE, sym->index,
                         cv_l_isym(view, entry->last)->index);
        compare_declarations(view, sym, cv_l_isym(view, entry->first));
        entry->loose_size = entry->loose_size || sym->common || cv_l_isym(view, entry->first)->common ||
                            (cv_l_isym(view, entry->first)->size == 0 && sym->size != 0);
        *cv_u32s_at(&view->resolution->next, entry->last) = id;
    }
    entry->last = id;
    consider_definition(view, entry, id, sym);
}

void cv_in_largest_common(const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                          const cv_resolution_entry *entry, uint64_t *size, uint64_t *align)
{
    *size = *align = 0;
    for (cv_id i = entry->first; i != CV_NONE; i = *cv_u32s_get(&resolution->next, i)) {
        const cv_isym *sym = cv_l_isym_get(inputs, i);

        if (sym->common) {
            *size = cv_max(*size, sym->size);
            *align = cv_max(*align, sym->value);
        }
    }
}

/* Where the definition lies, what was compiled for the common variable finds its alignment. */
static bool is_aligned(const cv_view_resolve *view, const cv_isym *win, uint64_t align)
{
    uint64_t sec = win->sec == CV_NONE ? 0 : cv_l_isec(view, win->sec)->align;

    return align < 2 || (cv_max(sec, 1) % align == 0 && win->value % align == 0);
}

/* The first declaration of a name says nothing of its size where it has none, or where it is common: others
 * that agree with it may disagree with the definition. */
static void compare_with_winner(const cv_view_resolve *view, const cv_resolution_entry *entry)
{
    const cv_isym *win = cv_l_isym(view, entry->win);

    for (cv_id i = entry->first; i != CV_NONE; i = cv_l_next_of(view, i)) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (i == entry->win || cv_l_type(sym) != CV_STT_CUDA_OBJECT)
            continue;
        if (!win->common && sizes_differ(view, sym, win))
            say_conflict(view, sym, win, CV_R_LINK_SIZE, sym->size, win->size);
        else if (sym->common && !win->common && !is_aligned(view, win, sym->value))
            say_conflict(view, sym, win, CV_R_LINK_COMMON_ALIGN, sym->value,
                         cv_l_isec(view, win->sec)->align);
    }
}

static bool begin_entries(const cv_view_resolve *view)
{
    static const cv_resolution_entry NOTHING = { CV_NONE, CV_NONE, CV_NONE, CV_NONE,
                                                 CV_NONE, CV_NONE, CV_NONE, false };
    cv_part_resolution *resolution = view->resolution;
    cv_mem *mem = &view->ctx->mem;

    if (!cv_l_fill_none(mem, &resolution->next, view->inputs->isym.count) ||
        !cv_u8s_fill(mem, &resolution->beaten, view->inputs->isym.count) ||
        !cv_resolution_entries_room(mem, &resolution->entries, view->names->set.list.count))
        return false;
    while (resolution->entries.count < view->names->set.list.count)
        if (!cv_resolution_entries_push(mem, &resolution->entries, NOTHING))
            return false;
    return true;
}

/* All that is wrong with one input is said before the link ends. */
cuvet_status cv_stage_resolve(const cv_view_resolve *view)
{
    uint64_t before;

    if (!begin_entries(view))
        return cv_l_nomem(view);
    for (cv_id object = 0; object < view->inputs->obj.count; object++) {
        const cv_lobj *obj = cv_l_obj(view, object);

        before = view->ctx->n_errors;
        for (cv_id i = 0; i < obj->n_sym; i++)
            resolve_symbol(view, obj->first_sym + i);
        if (view->ctx->n_errors != before)
            return CUVET_E_REFUSED;
    }
    before = view->ctx->n_errors;
    for (cv_id count = 0; count < view->resolution->entries.count; count++) {
        const cv_resolution_entry *entry = cv_l_entry(view, count);

        if (entry->loose_size && entry->win != CV_NONE &&
            cv_l_type(cv_l_isym(view, entry->win)) == CV_STT_CUDA_OBJECT)
            compare_with_winner(view, entry);
    }
    return view->ctx->n_errors == before ? CUVET_OK : CUVET_E_REFUSED;
}

/* Checker: the winner of a name is one of its definitions, and no better one is left. */
bool cv_stage_resolve_holds(const cv_check_resolve *view)
{
    for (cv_id count = 0; count < view->resolution->entries.count; count++) {
        const cv_resolution_entry *entry = cv_l_entry(view, count);
        bool strong = false, any = false;

        for (cv_id i = entry->first; i != CV_NONE; i = cv_l_next_of(view, i)) {
            const cv_isym *sym = cv_l_isym(view, i);

            if (sym->name != count || (i == entry->win && !sym->defined))
                return false;
            any = any || sym->defined;
            strong = strong || (sym->defined && !sym->common && cv_l_bind(sym) == CV_STB_GLOBAL);
        }
        if (any != (entry->win != CV_NONE))
            return false;
        if (strong && cv_l_bind(cv_l_isym(view, entry->win)) != CV_STB_GLOBAL)
            return false;
    }
    return true;
}

/* Compilers name the tables weakly, a relocatable link makes that a strong name (the reference's as well as
 * ours); where there is no table, whoever counts in it counts from nothing. */
static bool is_table(const cv_part_names *names, const cv_isym *sym)
{
    return !sym->defined && (sym->other & CV_STO_SPACE) == 0 &&
           (cv_l_type(sym) == CV_STT_OBJECT || cv_l_type(sym) == CV_STT_CUDA_OBJECT) &&
           cv_link_is_table_name(cv_names_text(&names->set, sym->name));
}

bool cv_in_may_stay_undefined(const cv_link_options *options, const cv_part_names *names,
                              const cv_part_inputs *inputs, const cv_part_resolution *resolution,
                              const cv_isym *sym)
{
    const cv_resolution_entry *entry = cv_l_entry_get(resolution, sym->name);
    const cv_isym *first;

    if (entry->win != CV_NONE)
        return true;
    if (entry->first == CV_NONE) /* a symbol that takes no part, such as a local one */
        return false;
    first = cv_l_isym_get(inputs, entry->first);
    return (cv_l_type(first) == CV_STT_FUNC && cv_is_provided(cv_names_text(&names->set, sym->name))) ||
           cv_l_bind(first) == CV_STB_WEAK || is_table(names, first) || cv_l_is_texture(first) ||
           (options->undefined_variables && cv_l_is_global(first)) ||
           ((first->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED &&
            first->size == 0); /* an array of any size */
}

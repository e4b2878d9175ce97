/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory of a relocatable link in the exact form of the reference linker. It gives up what a later
 * link needs: an extern array becomes an instance behind the data of its kernel, and a use in a device
 * function is gone. Only on request; otherwise the relocations stay. */
#include "base/arith.h"
#include "link/plan/shared_memory.h"

static uint64_t largest_alignment(const cv_view_shared_memory *view)
{
    uint64_t most = 0;

    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);

        if (cv_l_is_shared(sym) && sym->sec != CV_NONE &&
            cv_cubin_sec(&cv_l_obj(view, sym->obj)->cubin, cv_l_isec(view, sym->sec)->index)->role ==
                CV_ROLE_NV_DEBUG_SHARED)
            most = cv_max(most, sym->value);
    }
    return most;
}

static bool is_shared_section(const cv_view_shared_memory *view, const cv_osec *osec)
{
    return osec->group == CV_G_NOBITS && (cv_span_starts(cv_l_text(view, osec->name), ".nv.shared.") ||
                                          cv_span_eq_str(cv_l_text(view, osec->name), ".nv_debug.shared"));
}

bool cv_shared_has_room(const cv_view_shared_memory *view, cv_id id)
{
    const cv_resolution_entry *entry;

    if (cv_l_definition(view, id) == id)
        return true;
    entry = cv_l_entry(view, cv_l_isym(view, id)->name);
    return entry->weak == id && id < entry->strong && entry->strong != CV_NONE;
}

/* A section is as large as all that lies in it together, whatever the alignments: that of the system, too. */
static void sum_sizes(const cv_view_shared_memory *view)
{
    for (cv_id i = 0; i < view->out->osec.count; i++)
        if (is_shared_section(view, cv_l_osec(view, i)))
            cv_l_osec(view, i)->size = 0;
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);
        const cv_isec *sec = sym->sec == CV_NONE ? NULL : cv_l_isec(view, sym->sec);

        if ((cv_l_is_shared(sym) || cv_l_is_reserved(sym)) && sec &&
            cv_l_became(view, sec->id)->out != CV_NONE && !cv_l_became(view, sec->id)->lost &&
            cv_shared_has_room(view, i))
            cv_l_osec(view, cv_l_became(view, sec->id)->out)->size =
                cv_sat_add(cv_l_osec(view, cv_l_became(view, sec->id)->out)->size, sym->size);
    }
}

/* One that is not larger than its alignment is made larger by that much: nobody knows why, but the compiler
 * does the same to its objects. */
static void pad_sizes(const cv_view_shared_memory *view)
{
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(view, i);

        if (!is_shared_section(view, osec) || osec->dead || osec->size > osec->align)
            continue;
        osec->no_contents = osec->size == 0;
        osec->size = cv_sat_add(osec->size, osec->align);
    }
}

/* Arrays stand behind a kernel's own data. A kernel without any loses its section where variables of device
 * functions are aligned to more. @return where they begin */
static uint64_t grow(const cv_view_shared_memory *view, cv_id fn, uint64_t align)
{
    cv_osec *sized = cv_l_osec(view, cv_l_osec(view, cv_l_fn_out(view, fn)->sec)->shared);

    if (sized->size || align <= CV_SHARED_LARGE_ALIGN)
        sized->dead = false;
    sized->size = cv_sat_align(sized->size, CV_SHARED_LARGE_ALIGN);
    sized->align = cv_max(sized->align, CV_SHARED_LARGE_ALIGN);
    return sized->size;
}

static cuvet_status make_instance(const cv_view_shared_memory *view, cv_u32s *instance, cv_id fn, cv_id src,
                                  uint64_t value)
{
    cv_osym osym = { .sec = CV_NONE,
                     .win = CV_NONE,
                     .src = src,
                     .fn = CV_NONE,
                     .value = value,
                     .info = cv_elf_info(CV_STB_WEAK, CV_STT_CUDA_OBJECT),
                     .other = CV_STO_SPACE_SHARED | CV_STV_INTERNAL,
                     .instance = true,
                     .local = true };
    cv_id id;

    osym.name = cv_l_out_join(view, "externsharedinstance", view->names->empty);
    id = osym.name == CV_NONE ? CV_NONE : cv_l_new_osym(view, &osym);
    if (id == CV_NONE || !cv_u32s_push(&view->ctx->mem, &view->out->locals, id) ||
        !cv_l_use_str(view, CV_NONE, osym.name))
        return cv_l_nomem(view);
    *cv_u32s_at(instance, fn) = id;
    return CUVET_OK;
}

/* For a debugger an array is at one place: behind the data of every kernel that names it, or names another
 * array together with it. */
typedef struct shown_arrays {
    cv_u32s names;  /* by function: an array that this kernel names, + 1 */
    cv_u32s parent; /* by symbol: of an array that a kernel names, the one that it goes with, + 1; a forest */
    uint64_t align;
} shown_arrays;

static cv_id find_array(shown_arrays *shown, cv_id array)
{
    while (*cv_u32s_at(&shown->parent, array) != array + 1) {
        uint32_t *at = cv_u32s_at(&shown->parent, array);

        *at = *cv_u32s_at(&shown->parent, *at - 1);
        array = *at - 1;
    }
    return array;
}

/* A kernel names an array, whose data end at 'place'. */
static void show_array(const cv_view_shared_memory *view, shown_arrays *shown, cv_id fn, cv_id array,
                       uint64_t place)
{
    uint32_t *named = cv_u32s_at(&shown->names, fn);

    if (*cv_u32s_at(&shown->parent, array) == 0)
        *cv_u32s_at(&shown->parent, array) = array + 1;
    array = find_array(shown, array);
    if (*named != 0) {
        cv_id other = find_array(shown, *named - 1);

        *cv_u32s_at(&shown->parent, array) = other + 1;
        place = cv_max(place, cv_l_shared(view, array)->off);
        array = other;
    }
    *named = array + 1;
    cv_l_shared(view, array)->off = cv_max(cv_l_shared(view, array)->off, place);
}

static void show_arrays(const cv_view_shared_memory *view, shown_arrays *shown)
{
    for (cv_id i = 0; i < shown->parent.count; i++)
        if (*cv_u32s_at(&shown->parent, i) != 0)
            cv_l_shared(view, i)->off = cv_l_shared(view, find_array(shown, i))->off;
    for (cv_id i = 0; i < shown->names.count; i++) {
        uint32_t named = *cv_u32s_at(&shown->names, i);
        cv_osec *sized;

        if (named == 0 || cv_l_shared(view, named - 1)->off == 0)
            continue;
        sized = cv_l_osec(view, cv_l_osec(view, cv_l_fn_out(view, i)->sec)->shared);
        sized->size = cv_l_shared(view, named - 1)->off;
        sized->align = cv_max(sized->align, shown->align);
        sized->dead = false;
    }
}

static cuvet_status rewrite(const cv_view_shared_memory *view, cv_u32s *instance, cv_id fn,
                            const cv_rel_cur *cur, uint64_t align, shown_arrays *shown)
{
    cv_id sym = cur->rel->sym;
    cuvet_status st = CUVET_OK;

    if (!cv_link_has_instance(view->options, cv_l_fn(view, fn))) { /* stage scan_relocs writes a place */
        if (cv_l_fn(view, fn)->kernel)
            show_array(view, shown, fn, cv_l_entry(view, cv_l_isym(view, sym)->name)->first,
                       grow(view, fn, align));
        return CUVET_OK;
    }
    if (*cv_u32s_at(instance, fn) == CV_NONE)
        st = make_instance(view, instance, fn, sym, grow(view, fn, align));
    if (st == CUVET_OK &&
        !cv_out_set_rel_osym(view->ctx, view->out, cur->run, cur->id, *cv_u32s_at(instance, fn)))
        st = cv_l_nomem(view);
    return st;
}

/* A variable of a definition that lost keeps its name and its size, in the section of the winner: two that
 * differ are no definitions of the same thing. */
static void check_losers(const cv_view_shared_memory *view)
{
    for (cv_id i = 0; i < view->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(view, i);
        cv_id out = sym->sec == CV_NONE ? CV_NONE : cv_l_became(view, sym->sec)->out;

        if (out != CV_NONE && cv_l_is_shared(sym) && is_shared_section(view, cv_l_osec(view, out)) &&
            sym->size > cv_l_osec(view, out)->size)
            cv_link_say(view, i, CV_R_SYM_RANGE, sym->size, cv_l_osec(view, out)->size);
    }
}

/* Uses of extern arrays. */
static cuvet_status rewrite_all(const cv_view_shared_memory *view, uint64_t align)
{
    cv_u32s instance = { 0 }; /* by function: that of a kernel */
    shown_arrays shown = { .align = align };
    cuvet_status st = CUVET_OK;

    if (!cv_l_fill_none(&view->ctx->mem, &instance, view->functions->fn.count) ||
        !cv_u32s_fill(&view->ctx->mem, &shown.names, view->functions->fn.count) ||
        !cv_u32s_fill(&view->ctx->mem, &shown.parent, view->memory->shared.count))
        st = cv_l_nomem(view);
    for (cv_id i = 0; i < view->out->osec.count && st == CUVET_OK; i++) {
        const cv_osec *osec = cv_l_osec(view, i);

        if (osec->group != CV_G_REL || osec->is_resolved || cv_l_osec(view, osec->target)->group != CV_G_CODE)
            continue;
        for (cv_rel_cur cur = cv_out_rels(osec); st == CUVET_OK && cv_rel_next(view->out, &cur);)
            if (cv_l_is_array(view, cv_l_isym(view, cv_l_definition(view, cur.rel->sym))))
                st = rewrite(view, &instance, cv_l_osec(view, osec->target)->fn, &cur, align, &shown);
    }
    cv_u32s_free(&view->ctx->mem, &instance);
    if (st == CUVET_OK)
        show_arrays(view, &shown);
    cv_u32s_free(&view->ctx->mem, &shown.names);
    cv_u32s_free(&view->ctx->mem, &shown.parent);
    return st;
}

cuvet_status cv_shared_partial(const cv_view_shared_memory *view)
{
    cv_id shared = cv_l_find_osec(view, ".nv_debug.shared");
    bool array = shared != CV_NONE && cv_l_osec(view, shared)->extern_array;
    uint64_t align = largest_alignment(view);
    cuvet_status st;

    sum_sizes(view);
    if (!view->options->compat) {
        pad_sizes(view);
        check_losers(view);
        return CUVET_OK;
    }
    for (cv_id i = 0; i < view->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(view, i);

        if (!cv_span_starts(cv_l_text(view, osec->name), ".nv.shared.") || osec->infosec == CV_NONE)
            continue; /* that of the system belongs to no kernel */
        if (osec->size)
            osec->align = cv_max(osec->align, align);
        else if (array && align == CV_SHARED_LARGE_ALIGN) { /* room for an array, also where none is used */
            osec->align = cv_max(osec->align, align);
            osec->dead = false;
        }
    }
    st = rewrite_all(view, align);
    pad_sizes(view);
    check_losers(view);
    return st;
}

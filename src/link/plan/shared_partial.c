/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory of a relocatable link in the exact form of the reference linker. It gives up what a later
 * link needs: an extern array becomes an instance behind the data of its kernel, and a use in a device
 * function is gone. Only on request; otherwise the relocations stay. */
#include "base/arith.h"
#include "link/in/stages.h"

enum { LARGE_ALIGN = 16 };

static uint64_t largest_alignment(const cv_link *link)
{
    uint64_t most = 0;

    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);

        if (cv_l_is_shared(sym) && sym->sec != CV_NONE &&
            cv_cubin_sec(&cv_l_obj(link, sym->obj)->cubin, cv_l_isec(link, sym->sec)->index)->role ==
                CV_ROLE_NV_DEBUG_SHARED)
            most = cv_max(most, sym->value);
    }
    return most;
}

static bool is_shared_section(const cv_link *link, const cv_osec *osec)
{
    return osec->group == CV_G_NOBITS && (cv_span_starts(cv_l_text(link, osec->name), ".nv.shared.") ||
                                          cv_span_eq_str(cv_l_text(link, osec->name), ".nv_debug.shared"));
}

/* A section is as large as all that lies in it together, whatever the alignments: that of the system, too. */
static void sum_sizes(cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++)
        if (is_shared_section(link, cv_l_osec(link, i)))
            cv_l_osec(link, i)->size = 0;
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);
        const cv_isec *sec = sym->sec == CV_NONE ? NULL : cv_l_isec(link, sym->sec);

        if ((cv_l_is_shared(sym) || cv_l_is_reserved(sym)) && sec &&
            cv_l_became(link, sec->id)->out != CV_NONE && !cv_l_became(link, sec->id)->lost &&
            cv_l_canon(link, i) == i)
            cv_l_osec(link, cv_l_became(link, sec->id)->out)->size =
                cv_sat_add(cv_l_osec(link, cv_l_became(link, sec->id)->out)->size, sym->size);
    }
}

/* One that is not larger than its alignment is made larger by that much: nobody knows why, but the compiler
 * does the same to its objects. */
static void pad_sizes(cv_link *link)
{
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(link, i);

        if (!is_shared_section(link, osec) || osec->dead || osec->size > osec->align)
            continue;
        osec->hollow = osec->size == 0;
        osec->size = cv_sat_add(osec->size, osec->align);
    }
}

/* The instance of a kernel: behind its own data. A kernel without any loses its section where variables of
 * device functions are aligned to more. */
static cuvet_status make_instance(cv_link *link, cv_u32s *instance, cv_id fn, cv_id src, uint64_t align)
{
    cv_osec *sized = cv_l_osec(link, cv_l_osec(link, cv_l_fn_out(link, fn)->sec)->shared);
    cv_osym osym = { .sec = CV_NONE,
                     .win = CV_NONE,
                     .src = src,
                     .fn = CV_NONE,
                     .info = cv_elf_info(CV_STB_WEAK, CV_STT_CUDA_OBJECT),
                     .other = CV_STO_SPACE_SHARED | CV_STV_INTERNAL,
                     .instance = true,
                     .local = true };
    cv_id id;

    if (sized->size || align <= LARGE_ALIGN)
        sized->dead = false;
    sized->size = cv_sat_align(sized->size, LARGE_ALIGN);
    sized->align = cv_max(sized->align, LARGE_ALIGN);
    osym.value = sized->size;
    osym.name = cv_l_out_join(link, "externsharedinstance", link->names->empty);
    id = osym.name == CV_NONE ? CV_NONE : cv_l_new_osym(link, &osym);
    if (id == CV_NONE || !cv_u32s_push(&link->ctx->mem, &link->out->locals, id) ||
        !cv_l_use_str(link, osym.name))
        return cv_l_nomem(link);
    *cv_u32s_at(instance, fn) = id;
    return CUVET_OK;
}

static cuvet_status rewrite(cv_link *link, cv_u32s *instance, cv_id fn, cv_id rel, uint64_t align)
{
    cuvet_status st = CUVET_OK;

    if (!cv_l_fn(link, fn)->kernel) {
        cv_l_irel(link, rel)->type = CV_R_CUDA_YIELD_OPCODE9_0; /* nothing is left of it */
        return CUVET_OK;
    }
    if (*cv_u32s_at(instance, fn) == CV_NONE)
        st = make_instance(link, instance, fn, cv_l_irel(link, rel)->sym, align);
    cv_l_irel(link, rel)->osym = *cv_u32s_at(instance, fn);
    return st;
}

/* A variable of a definition that lost keeps its name and its size, in the section of the winner: two that
 * differ are no definitions of the same thing. */
static void check_losers(cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->isym.count; i++) {
        const cv_isym *sym = cv_l_isym(link, i);
        cv_id out = sym->sec == CV_NONE ? CV_NONE : cv_l_became(link, sym->sec)->out;

        if (out != CV_NONE && cv_l_is_shared(sym) && is_shared_section(link, cv_l_osec(link, out)) &&
            sym->size > cv_l_osec(link, out)->size)
            cv_link_say(link, i, CV_R_SYM_RANGE, sym->size, cv_l_osec(link, out)->size);
    }
}

/* Uses of extern arrays. */
static cuvet_status rewrite_all(cv_link *link, uint64_t align)
{
    cv_u32s instance = { 0 }; /* by function: that of a kernel */
    cuvet_status st = CUVET_OK;

    if (!cv_l_fill_none(&link->ctx->mem, &instance, link->functions->fn.count))
        st = cv_l_nomem(link);
    for (cv_id i = 0; i < link->out->osec.count && st == CUVET_OK; i++) {
        const cv_osec *osec = cv_l_osec(link, i);

        if (osec->group != CV_G_REL || osec->is_resolved || cv_l_osec(link, osec->target)->group != CV_G_CODE)
            continue;
        for (cv_id rel = osec->rels; rel != CV_NONE && st == CUVET_OK; rel = cv_l_irel(link, rel)->next) {
            cv_id sym = cv_l_irel(link, rel)->sym;

            if (cv_l_is_shared(cv_l_isym(link, sym)) &&
                cv_l_isym(link, cv_l_canon(link, sym))->sec == CV_NONE)
                st = rewrite(link, &instance, cv_l_osec(link, osec->target)->fn, rel, align);
        }
    }
    cv_u32s_free(&link->ctx->mem, &instance);
    return st;
}

cuvet_status cv_link_shared_partial(cv_link *link)
{
    cv_id shared = cv_l_find_osec(link, ".nv_debug.shared", link->names->empty);
    bool array = shared != CV_NONE && cv_l_osec(link, shared)->extern_array;
    uint64_t align = largest_alignment(link);
    cuvet_status st;

    sum_sizes(link);
    if (!link->options->compat) {
        pad_sizes(link);
        check_losers(link);
        return CUVET_OK;
    }
    for (cv_id i = 0; i < link->out->osec.count; i++) {
        cv_osec *osec = cv_l_osec(link, i);

        if (!cv_span_starts(cv_l_text(link, osec->name), ".nv.shared.") || osec->infosec == CV_NONE)
            continue; /* that of the system belongs to no kernel */
        if (osec->size)
            osec->align = cv_max(osec->align, align);
        else if (array && align == LARGE_ALIGN) { /* room for an array, also where none is used */
            osec->align = cv_max(osec->align, align);
            osec->dead = false;
        }
    }
    st = rewrite_all(link, align);
    pad_sizes(link);
    check_losers(link);
    return st;
}

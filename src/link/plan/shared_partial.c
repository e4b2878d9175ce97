/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory of a relocatable link in the exact form of the reference linker. It gives up what a later
 * link needs: an extern array becomes an instance behind the data of its kernel, and a use in a device
 * function is gone. Only on request; otherwise the relocations stay. */
#include "base/arith.h"
#include "link/in/stages.h"

enum { LARGE_ALIGN = 16 };

static uint64_t largest_alignment(const cv_link *l)
{
    uint64_t most = 0;

    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);

        if (cv_l_is_shared(s) && s->sec != CV_NONE &&
            cv_cubin_sec(&cv_l_obj(l, s->obj)->cubin, cv_l_isec(l, s->sec)->index)->role ==
                CV_ROLE_NV_DEBUG_SHARED)
            most = cv_max(most, s->value);
    }
    return most;
}

static bool is_shared_section(const cv_link *l, const cv_osec *q)
{
    return q->group == CV_G_NOBITS && (cv_span_starts(cv_l_text(l, q->name), ".nv.shared.") ||
                                       cv_span_eq_str(cv_l_text(l, q->name), ".nv_debug.shared"));
}

/* A section is as large as all that lies in it together, whatever the alignments: that of the system, too. */
static void sum_sizes(cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++)
        if (is_shared_section(l, cv_l_osec(l, i)))
            cv_l_osec(l, i)->size = 0;
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);
        const cv_isec *sec = s->sec == CV_NONE ? NULL : cv_l_isec(l, s->sec);

        if ((cv_l_is_shared(s) || cv_l_is_reserved(s)) && sec && sec->out != CV_NONE && !sec->lost &&
            cv_l_canon(l, i) == i)
            cv_l_osec(l, sec->out)->size = cv_sat_add(cv_l_osec(l, sec->out)->size, s->size);
    }
}

/* One that is not larger than its alignment is made larger by that much: nobody knows why, but the compiler
 * does the same to its objects. */
static void pad_sizes(cv_link *l)
{
    for (cv_id i = 0; i < l->osec.n; i++) {
        cv_osec *q = cv_l_osec(l, i);

        if (!is_shared_section(l, q) || q->dead || q->size > q->align)
            continue;
        q->hollow = q->size == 0;
        q->size = cv_sat_add(q->size, q->align);
    }
}

/* The instance of a kernel: behind its own data. A kernel without any loses its section where variables of
 * device functions are aligned to more. */
static cuvet_status make_instance(cv_link *l, cv_id fn, cv_id src, uint64_t align)
{
    cv_osec *z = cv_l_osec(l, cv_l_osec(l, cv_l_fn(l, fn)->sec)->shared);
    cv_osym y = { .sec = CV_NONE,
                  .win = CV_NONE,
                  .src = src,
                  .fn = CV_NONE,
                  .info = cv_elf_info(CV_STB_WEAK, CV_STT_CUDA_OBJECT),
                  .other = CV_STO_SPACE_SHARED | CV_STV_INTERNAL,
                  .instance = true,
                  .local = true };
    cv_id id;

    if (z->size || align <= LARGE_ALIGN)
        z->dead = false;
    z->size = cv_sat_align(z->size, LARGE_ALIGN);
    z->align = cv_max(z->align, LARGE_ALIGN);
    y.value = z->size;
    y.name = cv_l_name_join(l, "externsharedinstance", l->empty);
    id = y.name == CV_NONE ? CV_NONE : cv_l_new_osym(l, &y);
    if (id == CV_NONE || !cv_u32s_push(&l->x->mem, &l->locals, id) || !cv_l_use_str(l, y.name))
        return cv_l_nomem(l);
    cv_l_fn(l, fn)->instance = id;
    return CUVET_OK;
}

static cuvet_status rewrite(cv_link *l, cv_id fn, cv_id rel, uint64_t align)
{
    cuvet_status st = CUVET_OK;

    if (!cv_l_fn(l, fn)->kernel) {
        cv_l_irel(l, rel)->type = CV_R_CUDA_YIELD_OPCODE9_0; /* nothing is left of it */
        return CUVET_OK;
    }
    if (cv_l_fn(l, fn)->instance == CV_NONE)
        st = make_instance(l, fn, cv_l_irel(l, rel)->sym, align);
    cv_l_irel(l, rel)->osym = cv_l_fn(l, fn)->instance;
    return st;
}

/* A variable of a definition that lost keeps its name and its size, in the section of the winner: two that
 * differ are no definitions of the same thing. */
static void check_losers(cv_link *l)
{
    for (cv_id i = 0; i < l->isym.n; i++) {
        const cv_isym *s = cv_l_isym(l, i);
        cv_id out = s->sec == CV_NONE ? CV_NONE : cv_l_isec(l, s->sec)->out;

        if (out != CV_NONE && cv_l_is_shared(s) && is_shared_section(l, cv_l_osec(l, out)) &&
            s->size > cv_l_osec(l, out)->size)
            cv_link_say(l, i, CV_R_SYM_RANGE, s->size, cv_l_osec(l, out)->size);
    }
}

cuvet_status cv_link_shared_partial(cv_link *l)
{
    cv_id shared = cv_l_find_osec(l, ".nv_debug.shared", l->empty);
    bool array = shared != CV_NONE && cv_l_osec(l, shared)->extern_array;
    uint64_t align = largest_alignment(l);
    cuvet_status st = CUVET_OK;

    sum_sizes(l);
    if (!l->o.compat) {
        pad_sizes(l);
        check_losers(l);
        return CUVET_OK;
    }
    for (cv_id i = 0; i < l->osec.n; i++) {
        cv_osec *q = cv_l_osec(l, i);

        if (!cv_span_starts(cv_l_text(l, q->name), ".nv.shared.") || q->infosec == CV_NONE)
            continue; /* that of the system belongs to no kernel */
        if (q->size)
            q->align = cv_max(q->align, align);
        else if (array && align == LARGE_ALIGN) { /* room for an array, also where none is used */
            q->align = cv_max(q->align, align);
            q->dead = false;
        }
    }
    for (cv_id i = 0; i < l->osec.n && st == CUVET_OK; i++) {
        const cv_osec *q = cv_l_osec(l, i);

        if (q->group != CV_G_REL || q->is_resolved || cv_l_osec(l, q->target)->group != CV_G_CODE)
            continue;
        for (cv_id r = q->rels; r != CV_NONE && st == CUVET_OK; r = cv_l_irel(l, r)->next) {
            cv_id sym = cv_l_irel(l, r)->sym;

            if (cv_l_is_shared(cv_l_isym(l, sym)) && cv_l_isym(l, cv_l_canon(l, sym))->sec == CV_NONE)
                st = rewrite(l, cv_l_osec(l, q->target)->fn, r, align);
        }
    }
    pad_sizes(l);
    check_losers(l);
    return st;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Before the stages: which inputs take part. Marks are by input, not 0: it does not. */
#include "link/in/stages.h"
#include "target/provided.h"

enum { REFERRED = 1, DEFINED = 2 };

/* Functions that one input refers to and defines. */
static cuvet_status note_functions(cv_link *l, const cv_lobj *o, cv_names *names, cv_u8s *what)
{
    cv_mem *m = &l->x->mem;

    for (uint64_t i = 1; i < o->cubin.n_syms; i++) {
        cv_elf_symbol s;
        cv_span text;
        cv_id name;

        if (!cv_work(l->x, 1, 0))
            return CUVET_E_LIMIT;
        cv_elf_read_symbol(o->cubin.symtab, false, i, &s);
        if (cv_elf_sym_type(&s) != CV_STT_FUNC || cv_elf_sym_bind(&s) == CV_STB_LOCAL ||
            !cv_span_cstr(o->cubin.strtab, s.name, &text))
            continue;
        name = cv_names_put(m, names, text);
        if (name == CV_NONE || (name >= what->n && !cv_u8s_push(m, what, 0)))
            return cv_l_nomem(l);
        *cv_u8s_at(what, name) |= s.shndx == CV_SHN_UNDEF ? REFERRED : DEFINED;
    }
    return CUVET_OK;
}

cuvet_status cv_link_lacks_functions(cv_link *l, const cv_u8s *out, bool *lacks)
{
    cv_names names;
    cv_u8s what = { 0 };
    cuvet_status s = CUVET_OK;

    *lacks = false;
    cv_names_init(&names, CV_ARRAY_GET(l->o.key, 0), CV_ARRAY_GET(l->o.key, 1));
    for (uint64_t i = 0; i < l->obj.n && s == CUVET_OK; i++)
        if (!*cv_u8s_get(out, i))
            s = note_functions(l, cv_l_obj(l, i), &names, &what);
    for (cv_id n = 0; n < what.n && s == CUVET_OK && !*lacks; n++)
        *lacks = *cv_u8s_at(&what, n) == REFERRED && !cv_is_provided(cv_names_text(&names, n));
    cv_names_free(&l->x->mem, &names);
    cv_u8s_free(&l->x->mem, &what);
    return s;
}

void cv_link_leave_out(cv_link *l, const cv_u8s *out)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < l->obj.n; i++) {
        if (*cv_u8s_get(out, i))
            cv_cubin_free(l->x, &cv_l_obj(l, i)->cubin);
        else
            *cv_l_obj(l, n++) = *cv_l_obj(l, i);
    }
    l->obj.n = n;
}

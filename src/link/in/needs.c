/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Before the stages: which inputs take part. Marks are by input, not 0: it does not. */
#include "link/in/stages.h"
#include "target/provided.h"

enum { REFERRED = 1, DEFINED = 2 };

/* Functions that one input refers to and defines. */
static cuvet_status note_functions(cv_link *link, const cv_lobj *obj, cv_names *names, cv_u8s *what)
{
    cv_mem *mem = &link->ctx->mem;

    for (uint64_t i = 1; i < obj->cubin.n_syms; i++) {
        cv_elf_symbol symbol;
        cv_span text;
        cv_id name;

        if (!cv_work(link->ctx, 1, 0))
            return CUVET_E_LIMIT;
        cv_elf_read_symbol(obj->cubin.symtab, false, i, &symbol);
        if (cv_elf_sym_type(&symbol) != CV_STT_FUNC || cv_elf_sym_bind(&symbol) == CV_STB_LOCAL ||
            !cv_span_cstr(obj->cubin.strtab, symbol.name, &text))
            continue;
        name = cv_names_put(mem, names, text);
        if (name == CV_NONE || (name >= what->count && !cv_u8s_push(mem, what, 0)))
            return cv_l_nomem(link);
        *cv_u8s_at(what, name) |= symbol.shndx == CV_SHN_UNDEF ? REFERRED : DEFINED;
    }
    return CUVET_OK;
}

cuvet_status cv_link_lacks_functions(cv_link *link, const cv_u8s *out, bool *lacks)
{
    cv_names names;
    cv_u8s what = { 0 };
    cuvet_status status = CUVET_OK;

    *lacks = false;
    cv_names_init(&names, CV_ARRAY_GET(link->options->key, 0), CV_ARRAY_GET(link->options->key, 1));
    for (uint64_t i = 0; i < link->inputs->obj.count && status == CUVET_OK; i++)
        if (!*cv_u8s_get(out, i))
            status = note_functions(link, cv_l_obj(link, i), &names, &what);
    for (cv_id name = 0; name < what.count && status == CUVET_OK && !*lacks; name++)
        *lacks = *cv_u8s_at(&what, name) == REFERRED && !cv_is_provided(cv_names_text(&names, name));
    cv_names_free(&link->ctx->mem, &names);
    cv_u8s_free(&link->ctx->mem, &what);
    return status;
}

void cv_link_leave_out(cv_link *link, const cv_u8s *out)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < link->inputs->obj.count; i++) {
        if (*cv_u8s_get(out, i))
            cv_cubin_free(link->ctx, &cv_l_obj(link, i)->cubin);
        else
            *cv_l_obj(link, count++) = *cv_l_obj(link, i);
    }
    link->inputs->obj.count = count;
}

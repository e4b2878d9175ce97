/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Before the stages: which inputs take part. Marks are by input, not 0: it does not. */
#include "link/in/link.h"
#include "target/provided.h"

enum { REFERRED = 1, DEFINED = 2 };

/* Functions that one input refers to and defines. */
static cuvet_status note_functions(cv_ctx *ctx, const cv_lobj *obj, cv_names *names, cv_u8s *what)
{
    cv_mem *mem = &ctx->mem;

    for (uint64_t i = 1; i < obj->cubin.n_syms; i++) {
        cv_elf_symbol symbol;
        cv_span text;
        cv_id name;

        if (!cv_work(ctx, 1, 0))
            return CUVET_E_LIMIT;
        cv_elf_read_symbol(obj->cubin.symtab, false, i, &symbol);
        if (cv_elf_sym_type(&symbol) != CV_STT_FUNC || cv_elf_sym_bind(&symbol) == CV_STB_LOCAL ||
            !cv_span_cstr(obj->cubin.strtab, symbol.name, &text))
            continue;
        name = cv_names_put(mem, names, text);
        if (name == CV_NONE || (name >= what->count && !cv_u8s_push(mem, what, 0)))
            return cv_in_nomem(ctx);
        *cv_u8s_at(what, name) |= symbol.shndx == CV_SHN_UNDEF ? REFERRED : DEFINED;
    }
    return CUVET_OK;
}

cuvet_status cv_in_lacks_functions(cv_ctx *ctx, const cv_link_options *options, const cv_part_inputs *inputs,
                                   const cv_u8s *out, bool *lacks)
{
    cv_names names;
    cv_u8s what = { 0 };
    cuvet_status status = CUVET_OK;

    *lacks = false;
    cv_names_init(&names, CV_ARRAY_GET(options->key, 0), CV_ARRAY_GET(options->key, 1));
    for (uint64_t i = 0; i < inputs->obj.count && status == CUVET_OK; i++)
        if (!*cv_u8s_get(out, i))
            status = note_functions(ctx, cv_l_obj_get(inputs, i), &names, &what);
    for (cv_id name = 0; name < what.count && status == CUVET_OK && !*lacks; name++)
        *lacks = *cv_u8s_at(&what, name) == REFERRED && !cv_is_provided(cv_names_text(&names, name));
    cv_names_free(&ctx->mem, &names);
    cv_u8s_free(&ctx->mem, &what);
    return status;
}

void cv_in_leave_out(cv_ctx *ctx, cv_part_inputs *inputs, const cv_u8s *out)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < inputs->obj.count; i++) {
        if (*cv_u8s_get(out, i))
            cv_cubin_free(ctx, &cv_l_obj_at(inputs, i)->cubin);
        else
            *cv_l_obj_at(inputs, count++) = *cv_l_obj_at(inputs, i);
    }
    inputs->obj.count = count;
}

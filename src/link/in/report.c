/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Diagnostics about inputs: where a symbol or a section lies in its file. */
#include "link/in/link.h"

void cv_in_say(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isym, cv_rule rule, uint64_t got,
               uint64_t want)
{
    cv_in_say_two(ctx, inputs, isym, CV_NONE, rule, got, want);
}

void cv_in_say_two(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isym, cv_id other, cv_rule rule,
                   uint64_t got, uint64_t want)
{
    const cv_isym *sym = isym == CV_NONE ? NULL : cv_l_isym_get(inputs, isym),
                  *target = other == CV_NONE ? NULL : cv_l_isym_get(inputs, other);
    const cv_lobj *obj = sym ? cv_l_obj_get(inputs, sym->obj) : NULL;
    uint64_t entry = cv_elf_sym_size(false), at;

    ctx->path.n = 0;
    if (!obj) {
        cv_report(ctx, rule, 0, 0, got, want);
        return;
    }
    at = cv_cubin_sec(&obj->cubin, obj->cubin.symtab_index)->header.off;
    cv_path_push(ctx, CUVET_P_MEMBER, true, sym->obj);
    cv_path_push(ctx, CUVET_P_ELF, false, 0);
    if (target) {
        cv_path_push(ctx, CUVET_P_SYMBOL, true, sym->index);
        cv_path_push(ctx, CUVET_P_MEMBER, true, target->obj);
    }
    cv_report_at(ctx, CUVET_P_SYMBOL, target ? target->index : sym->index, rule, at + sym->index * entry,
                 entry, got, want);
    ctx->path.n = 0;
}

/* The header of a section of an input. @return its offset */
static uint64_t point_at(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec)
{
    const cv_isec *home = cv_l_isec_get(inputs, isec);

    ctx->path.n = 0;
    cv_path_push(ctx, CUVET_P_MEMBER, true, home->obj);
    cv_path_push(ctx, CUVET_P_ELF, false, 0);
    cv_path_push(ctx, CUVET_P_SECTION, true, home->index);
    return cv_l_obj_get(inputs, home->obj)->cubin.header.shoff + home->index * cv_elf_shdr_size(false);
}

void cv_in_say_section(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule, uint64_t got)
{
    cv_report(ctx, rule, point_at(ctx, inputs, isec), 0, got, 0);
    ctx->path.n = 0;
}

void cv_in_say_record(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule, const cv_tlv *tlv)
{
    const cv_isec *home = cv_l_isec_get(inputs, isec);
    uint64_t at = cv_cubin_sec(&cv_l_obj_get(inputs, home->obj)->cubin, home->index)->header.off + tlv->off;

    (void)point_at(ctx, inputs, isec);
    cv_report(ctx, rule, at, tlv->next - tlv->off, tlv->code, 0);
    ctx->path.n = 0;
}

cuvet_status cv_in_refuse_section(cv_ctx *ctx, const cv_part_inputs *inputs, cv_id isec, cv_rule rule,
                                  uint64_t got)
{
    cuvet_status status = cv_reject(ctx, rule, point_at(ctx, inputs, isec), got, 0);

    ctx->path.n = 0;
    return status;
}

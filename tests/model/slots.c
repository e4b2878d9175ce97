/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* linking.md section 5: slots of textures and surfaces behind the parameters of kernels. */
#include "model/model.h"

static bool all_equal(const void *user, unsigned left, unsigned right)
{
    (void)user;
    (void)left;
    (void)right;
    return false;
}

/* Input by input, each name at its first appearance, in the order of the symbols: as in the output. */
static unsigned symbols_in_order(const md_program *program, unsigned *list)
{
    unsigned count = 0;

    for (unsigned unit = 0; unit < program->n_units; unit++)
        for (unsigned i = 0; i < program->n_images; i++) {
            bool here = false, before = false;

            for (unsigned fn = 0; fn < program->n_fns; fn++)
                here = here || (program->fn[fn].unit == unit && (program->fn[fn].images & MD_BIT(i)));
            for (unsigned k = 0; k < count; k++)
                before = before || list[k] == i;
            if (here && !before)
                list[count++] = i;
        }
    return count;
}

void md_find_slots(const md_program *program, const md_reach *reach, md_slots *slots)
{
    unsigned symbol[MD_IMAGES], list[MD_IMAGES], n_symbols = symbols_in_order(program, symbol), count = 0;
    uint64_t base = 0;

    *slots = (md_slots){ 0 };
    /* "texture symbols in REVERSE output symbol order followed by the surface symbols in reverse order" */
    for (unsigned kind = 10; kind <= 12; kind += 2)
        for (unsigned i = n_symbols; i > 0; i--)
            if (program->image[symbol[i - 1]].kind == kind)
                list[count++] = symbol[i - 1];
    md_list_sort(list, count, all_equal, program, false);
    for (unsigned k = 0; k < program->n_fns; k++) {
        if (!(reach->kernels & MD_BIT(k)))
            continue;
        slots->size[k] = program->fn[k].bank;
        if (base < (slots->size[k] + 3) / 4 * 4)
            base = (slots->size[k] + 3) / 4 * 4;
        for (unsigned i = 0; i < program->n_fns; i++)
            if ((reach->below[k] & MD_BIT(i)) && program->fn[i].images)
                slots->users |= MD_BIT(k);
    }
    for (unsigned i = 0; i < count; i++)
        slots->off[list[i]] = base + 4 * i;
    for (unsigned k = 0; k < program->n_fns && count; k++)
        if (slots->users & MD_BIT(k))
            slots->size[k] = base + 4 * count;
    slots->count = count;
}

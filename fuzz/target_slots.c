/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to "texture_slots": slots of textures and surfaces, sizes of parameter banks; compared with
 * tests/model/slots.c. */
#include "program.h"

#include <stdio.h>
#include <string.h>

static cv_id symbol_of(const cv_link *link, unsigned image)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "t%u", image);
    for (cv_id i = 0; i < link->out->osym.count; i++)
        if (cv_span_eq(cv_l_text(link, cv_l_osym(link, i)->name), cv_span_of(name, strlen(name), 0)))
            return i;
    return CV_NONE;
}

/* The slots that the loader writes in a bank: how many, and is each that of its symbol? */
static unsigned count_written(const cv_link *link, cv_id bank)
{
    unsigned count = 0;

    for (cv_id i = 0; i < link->out->osec.count; i++) {
        const cv_osec *osec = cv_l_osec(link, i);

        if (osec->group != CV_G_REL || osec->target != bank)
            continue;
        for (cv_rel_cur cur = cv_out_rels(osec); cv_rel_next(link->out, &cur);) {
            FZ_CHECK(cur.rel->off == cv_l_osym(link, cv_rel_osym(link->out, &cur))->slot,
                     "the slot of its symbol");
            count++;
        }
    }
    return count;
}

static cv_id bank_of(const cv_link *link, cv_id fn)
{
    for (uint64_t i = 0; i < link->out->const0.count; i++) {
        cv_id bank = *cv_u32s_get(&link->out->const0, i);

        if (cv_l_osec(link, cv_l_osec(link, bank)->infosec)->fn == fn)
            return bank;
    }
    fz_fail(__FILE__, __LINE__, "a kernel has a bank");
}

static void compare(const md_program *program, fz_linked *linked, cuvet_status status)
{
    const cv_link *link = &linked->link;
    md_reach reach;
    md_slots model;

    md_find_reach(program, &reach);
    FZ_CHECK((status == CUVET_E_REFUSED) == reach.undefined, "refused where something is missing");
    if (reach.undefined)
        return;
    md_find_slots(program, &reach, &model);
    for (unsigned i = 0; i < program->n_images; i++) {
        cv_id sym = symbol_of(link, i);

        FZ_CHECK(sym == CV_NONE || cv_l_osym(link, sym)->has_slot == (model.users != 0), "which have slots");
        FZ_CHECK(sym == CV_NONE || !model.users || cv_l_osym(link, sym)->slot == model.off[i], "and which");
    }
    for (unsigned i = 0; i < program->n_fns; i++) {
        cv_id bank;

        if (!(reach.kernels & MD_BIT(i)))
            continue;
        bank = bank_of(link, linked->fn[i]);
        FZ_CHECK(cv_l_osec(link, bank)->size == model.size[i], "the size of a bank");
        FZ_CHECK(count_written(link, bank) == (model.users & MD_BIT(i) ? model.count : 0), "what is written");
    }
}

CV_FUZZ_TARGET(slots)
{
    return fz_program_run(data, size, FZ_SLOTS, "texture_slots", compare);
}

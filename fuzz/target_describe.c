/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The link up to "info_records": what .nv.info says of functions; compared with tests/model/describe.c. */
#include "program.h"

#include "format/tlv/attr.h"

static uint32_t word_of(const cv_link *link, const cv_irec *rec, unsigned at)
{
    if (rec->raw)
        return cv_u32_at(rec->bytes, 4 * (uint64_t)at);
    return cv_iwords_get(&link->records->word, rec->first + at)->value;
}

static void compare_function(const cv_link *link, const md_traits *want, cv_id fn)
{
    uint32_t count[MD_TRAITS] = { 0 };

    for (uint64_t i = 0; i < link->records->oinfo.count; i++) {
        const cv_oinfo *info = cv_oinfos_get(&link->records->oinfo, i);

        for (uint64_t k = 0; info->fn == fn && k < info->count; k++) {
            const cv_irec *rec = cv_irecs_get(&link->records->rec, info->first + k);

            for (unsigned t = 0; t < MD_TRAITS; t++) {
                if (rec->code != fz_trait_code[t])
                    continue;
                count[t]++;
                FZ_CHECK(rec->format == cv_attr_get(rec->code)->format, "in its format");
                FZ_CHECK(rec->format == 1 ||
                             (rec->format == 4 ? word_of(link, rec, 0) : rec->value) == want->value[t],
                         "what a record says");
            }
        }
    }
    for (unsigned t = 0; t < MD_TRAITS; t++)
        FZ_CHECK(count[t] == ((want->has & MD_BIT(t)) != 0), "which records a function has, each once");
}

/* The value of a function in .nv.info; each has one of a code at most. */
static bool find_value(const cv_link *link, uint8_t code, cv_id osym, uint32_t *value)
{
    unsigned count = 0;

    for (uint64_t i = 0; i < link->records->program_n; i++) {
        const cv_irec *rec = cv_irecs_get(&link->records->rec, link->records->program_first + i);
        const cv_iword *first =
            rec->raw || rec->count == 0 ? NULL : cv_iwords_get(&link->records->word, rec->first);

        if (rec->code != code || !first || !first->symbol || first->value != osym)
            continue;
        *value = word_of(link, rec, 1);
        count++;
    }
    FZ_CHECK(count <= 1, "once");
    return count != 0;
}

static void compare(const md_program *program, fz_linked *linked, cuvet_status status)
{
    const cv_link *link = &linked->link;
    md_reach reach;
    md_usage usage;
    md_said said;

    md_find_reach(program, &reach);
    md_find_usage(program, &reach, &usage);
    if (reach.undefined || usage.too_many || usage.sum_exceeds)
        return;
    FZ_CHECK(status == CUVET_OK, "a link that nothing is wrong with");
    md_find_said(program, &reach, &usage, &said);
    for (unsigned i = 0; i < program->n_fns; i++) {
        uint32_t value = 0;
        cv_id sym;

        if (!(said.described & MD_BIT(i)))
            continue;
        sym = cv_l_fn_out(link, linked->fn[i])->sym;
        compare_function(link, &said.of[i], linked->fn[i]);
        FZ_CHECK(find_value(link, CV_ATTR_REGCOUNT, sym, &value) && value == said.registers[i], "registers");
        FZ_CHECK(find_value(link, CV_ATTR_FRAME_SIZE, sym, &value) && value == said.frame[i], "frame");
        FZ_CHECK(!find_value(link, CV_ATTR_MAX_STACK_SIZE, sym, &value), "no longer told");
        FZ_CHECK(find_value(link, CV_ATTR_MIN_STACK_SIZE, sym, &value) ==
                         ((reach.kernels & MD_BIT(i)) != 0) &&
                     (!(reach.kernels & MD_BIT(i)) || value == said.stack[i]),
                 "stack, of kernels");
    }
}

CV_FUZZ_TARGET(describe)
{
    return fz_program_run(data, size, FZ_TRAITS, "info_records", compare);
}

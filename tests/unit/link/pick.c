/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"

#include <check.h>

cv_id kept_relocation(const cv_link *link)
{
    for (cv_id i = 0; i < link->fixups->fixup.count; i++)
        if (cv_l_fixup(link, i)->keep)
            return i;
    ck_abort_msg("no relocation stays");
}

void kept_names(cv_link *link, uint8_t space)
{
    cv_id rel = kept_relocation(link), sym = cv_l_irel(link, rel)->sym;

    cv_l_fixup(link, rel)->type = 2;
    cv_l_isym(link, sym)->info = CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT;
    cv_l_isym(link, sym)->other = space;
}

cv_irel *added_relocation(cv_link *link)
{
    for (uint64_t i = 0; i < link->out->run.count; i++)
        if (cv_rel_runs_get(&link->out->run, i)->target == CV_NONE)
            return cv_l_irel(link, cv_rel_runs_get(&link->out->run, i)->first);
    ck_abort_msg("no relocation was added");
}

cv_irec *record_with_symbol(cv_link *link)
{
    for (uint64_t i = 0; i < link->records->rec.count; i++) {
        cv_irec *record = cv_irecs_at(&link->records->rec, i);

        if (!record->raw && record->count && cv_iwords_at(&link->records->word, record->first)->symbol)
            return record;
    }
    ck_abort_msg("no record names a symbol");
}

cv_irec *raw_record(cv_link *link)
{
    for (uint64_t i = 0; i < link->records->rec.count; i++)
        if (cv_irecs_at(&link->records->rec, i)->raw && cv_irecs_at(&link->records->rec, i)->format == 4)
            return cv_irecs_at(&link->records->rec, i);
    ck_abort_msg("no record is an input's");
}

cv_irec *record_of(cv_link *link, uint8_t code)
{
    for (uint64_t i = 0; i < link->records->program_first; i++)
        if (cv_irecs_at(&link->records->rec, i)->code == code)
            return cv_irecs_at(&link->records->rec, i);
    ck_abort_msg("no such record");
}

cv_osec *pieced(cv_link *link)
{
    for (uint64_t i = 0; i < link->out->osec.count; i++)
        if (cv_l_osec(link, i)->first_part != cv_l_osec(link, i)->last_part)
            return cv_l_osec(link, i);
    ck_abort_msg("no section has two pieces");
}

cv_isym *placed(cv_link *link)
{
    for (uint64_t i = 0; i < link->inputs->isym.count; i++)
        if (cv_l_shared(link, i)->placed && cv_l_isym(link, i)->value > 1 &&
            cv_l_shared(link, i)->sec != CV_NONE)
            return cv_l_isym(link, i);
    ck_abort_msg("no shared variable");
}

cv_isym *reserved(cv_link *link)
{
    for (cv_id i = 0; i < link->inputs->isym.count; i++)
        if (cv_l_is_reserved(cv_l_isym(link, i)) && cv_l_shared(link, i)->placed)
            return cv_l_isym(link, i);
    ck_abort_msg("no such variable");
}

cv_id patched(cv_link *link)
{
    for (cv_id i = 0; i < link->fixups->fixed.count; i++)
        if (cv_l_fixed(link, i)->n_kept)
            return i;
    ck_abort_msg("no relocation stays");
}

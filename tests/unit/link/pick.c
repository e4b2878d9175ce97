/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "pick.h"

#include <check.h>

cv_irel *kept_relocation(cv_link *l)
{
    for (uint64_t i = 0; i < l->irel.n; i++)
        if (cv_l_irel(l, i)->keep)
            return cv_l_irel(l, i);
    ck_abort_msg("no relocation stays");
}

void kept_names(cv_link *l, uint8_t space)
{
    cv_irel *r = kept_relocation(l);

    r->type = 2;
    cv_l_isym(l, r->sym)->info = CV_STB_GLOBAL << 4 | CV_STT_CUDA_OBJECT;
    cv_l_isym(l, r->sym)->other = space;
}

cv_irel *added_relocation(cv_link *l)
{
    for (uint64_t i = 0; i < l->irel.n; i++)
        if (cv_l_irel(l, i)->target == CV_NONE)
            return cv_l_irel(l, i);
    ck_abort_msg("no relocation was added");
}

cv_irec *record_with_symbol(cv_link *l)
{
    for (uint64_t i = 0; i < l->rec.n; i++) {
        cv_irec *r = cv_irecs_at(&l->rec, i);

        if (!r->raw && r->n && cv_iwords_at(&l->word, r->first)->symbol)
            return r;
    }
    ck_abort_msg("no record names a symbol");
}

cv_irec *raw_record(cv_link *l)
{
    for (uint64_t i = 0; i < l->rec.n; i++)
        if (cv_irecs_at(&l->rec, i)->raw && cv_irecs_at(&l->rec, i)->format == 4)
            return cv_irecs_at(&l->rec, i);
    ck_abort_msg("no record is an input's");
}

cv_irec *record_of(cv_link *l, uint8_t code)
{
    for (uint64_t i = 0; i < l->program_first; i++)
        if (cv_irecs_at(&l->rec, i)->code == code)
            return cv_irecs_at(&l->rec, i);
    ck_abort_msg("no such record");
}

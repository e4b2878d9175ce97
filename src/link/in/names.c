/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names as numbers: entering one is paid for, and gives it a meaning. */
#include "link/in/stages.h"

/* Work that was used up was reported where that happened. */
cuvet_status cv_l_nomem(const cv_link *l)
{
    return l->x->work_out ? CUVET_E_LIMIT : cv_nomem(l->x, 0);
}

/* Texts are read as often as somebody names them: they cost. */
static bool pay(cv_link *l, cv_span text)
{
    return cv_work(l->x, 1 + text.len / 16, 0);
}

static bool add_meanings(cv_link *l)
{
    static const cv_meaning NOTHING = { CV_NONE, CV_NONE, CV_NONE, CV_NONE, CV_NONE, CV_NONE,
                                        CV_NONE, CV_NONE, CV_NONE, CV_NONE, CV_NONE, 0,
                                        0,       0,       false,   false };

    while (l->mean.n < l->names.list.n)
        if (!cv_meanings_push(&l->x->mem, &l->mean, NOTHING))
            return false;
    return true;
}

cv_id cv_l_name(cv_link *l, cv_span text)
{
    cv_id id = pay(l, text) ? cv_names_put(&l->x->mem, &l->names, text) : CV_NONE;

    return id != CV_NONE && add_meanings(l) ? id : CV_NONE;
}

cv_id cv_l_name_join(cv_link *l, const char *prefix, cv_id rest)
{
    cv_span text = cv_l_text(l, rest);
    cv_id id = pay(l, text) ? cv_names_join(&l->x->mem, &l->names, prefix, text) : CV_NONE;

    return id != CV_NONE && add_meanings(l) ? id : CV_NONE;
}

cv_id cv_l_name_join_span(cv_link *l, const char *prefix, cv_span rest)
{
    cv_id id = pay(l, rest) ? cv_names_join(&l->x->mem, &l->names, prefix, rest) : CV_NONE;

    return id != CV_NONE && add_meanings(l) ? id : CV_NONE;
}

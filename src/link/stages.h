/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The stages of a link, in their order, and what they share. Each returns OK, or the status of what it
 * reported. */
#ifndef CV_LINK_STAGES_H
#define CV_LINK_STAGES_H

#include "link/link.h"

CV_MUST cuvet_status cv_link_read(cv_link *l);    /* read.c: the inputs' tables */
CV_MUST cuvet_status cv_link_resolve(cv_link *l); /* resolve.c: which definition wins */
CV_MUST cuvet_status cv_link_collect(cv_link *l); /* collect.c: functions, sections, symbols of the output */

/* Short ways to elements. */
static inline cv_lobj *cv_l_obj(const cv_link *l, uint64_t i)
{
    return cv_lobjs_at(&l->obj, i);
}
static inline cv_isec *cv_l_isec(const cv_link *l, uint64_t i)
{
    return cv_isecs_at(&l->isec, i);
}
static inline cv_isym *cv_l_isym(const cv_link *l, uint64_t i)
{
    return cv_isyms_at(&l->isym, i);
}
static inline cv_irel *cv_l_irel(const cv_link *l, uint64_t i)
{
    return cv_irels_at(&l->irel, i);
}
static inline cv_osec *cv_l_osec(const cv_link *l, uint64_t i)
{
    return cv_osecs_at(&l->osec, i);
}
static inline cv_osym *cv_l_osym(const cv_link *l, uint64_t i)
{
    return cv_osyms_at(&l->osym, i);
}
static inline cv_lfn *cv_l_fn(const cv_link *l, uint64_t i)
{
    return cv_lfns_at(&l->fn, i);
}
static inline cv_meaning *cv_l_mean(const cv_link *l, cv_id name)
{
    return cv_meanings_at(&l->mean, name);
}
static inline cv_span cv_l_text(const cv_link *l, cv_id name)
{
    return cv_names_text(&l->names, name);
}
static inline uint8_t cv_l_bind(const cv_isym *s)
{
    return (uint8_t)(s->info >> 4);
}
static inline uint8_t cv_l_type(const cv_isym *s)
{
    return s->info & 15;
}
static inline bool cv_l_is_shared(const cv_isym *s)
{
    return cv_l_type(s) == CV_STT_CUDA_OBJECT && (s->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED;
}
static inline bool cv_l_is_texture(const cv_isym *s)
{
    return cv_l_type(s) >= 10 && cv_l_type(s) <= 12;
}

/* Number of a name, with a meaning; CV_NONE: no memory. */
CV_MUST cv_id cv_l_name(cv_link *l, cv_span text);
CV_MUST cv_id cv_l_name_join(cv_link *l, const char *prefix, cv_id rest);
/* Body of an input section. */
cv_span cv_l_body(const cv_link *l, const cv_isec *s);
/* The definition that stands for a symbol: its own when it is local or won, else the winner, else itself. */
cv_id cv_l_canon(const cv_link *l, cv_id isym);
CV_MUST cuvet_status cv_l_nomem(const cv_link *l);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names that are known from outside of the program, and the note that says who linked it. */
#include "link/stages.h"

typedef struct known {
    const char *text;
    bool prefix;
} known;

static const known DRIVER_NAMES[] = {
#define DRIVER(name)        { name, false },
#define DRIVER_PREFIX(text) { text, true },
#include "driver.def"
#undef DRIVER
#undef DRIVER_PREFIX
};

bool cv_link_is_provided(cv_span name)
{
    for (size_t i = 0; i < CV_COUNT(DRIVER_NAMES); i++) {
        const known *k = &CV_AT(DRIVER_NAMES, i);

        if (k->prefix ? cv_span_starts(name, k->text) : cv_span_eq_str(name, k->text))
            return true;
    }
    return false;
}

bool cv_link_may_stay_undefined(const cv_link *l, const cv_isym *s)
{
    const cv_isym *f = cv_l_isym(l, cv_l_mean(l, s->name)->first);

    if (cv_l_mean(l, s->name)->win != CV_NONE)
        return true;
    return (cv_l_type(f) == CV_STT_FUNC && cv_link_is_provided(cv_l_text(l, s->name))) ||
           cv_l_bind(f) == CV_STB_WEAK || cv_l_is_texture(f) ||
           ((f->other & CV_STO_SPACE) == CV_STO_SPACE_SHARED && f->size == 0); /* an array of any size */
}

static cv_span part_of(cv_span name, uint64_t at, uint64_t n)
{
    cv_span part = cv_span_tail(name, at);

    part.len = n;
    return part;
}

CV_BUF_BEGIN
/* The parts between the stars, one behind the other, with anything in between, before and behind. */
static bool holds(cv_span name, const char *parts)
{
    uint64_t at = 0, n;

    for (; *parts; parts += n + (parts[n] == '*')) {
        for (n = 0; parts[n] && parts[n] != '*';)
            n++;
        while (at + n <= name.len && !cv_span_eq(part_of(name, at, n), cv_span_of(parts, n, 0)))
            at++;
        if (at + n > name.len)
            return false;
        at += n;
    }
    return true;
}

bool cv_link_is_root(const cv_link *l, cv_id fn)
{
    if (!cv_l_fn(l, fn)->kernel || cv_l_fn(l, fn)->unreferred)
        return false;
    for (uint64_t i = 0; i < l->o.n_kernels_used; i++)
        if (holds(cv_l_text(l, cv_l_fn(l, fn)->name), l->o.kernels_used[i]))
            return true;
    /* a kernel that other code launches begins like one that the host launches */
    return l->o.n_kernels_used == 0 || cv_l_fn(l, fn)->taken != CV_NONE;
}
CV_BUF_END

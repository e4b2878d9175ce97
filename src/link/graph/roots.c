/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels that a program begins with: by option, by host code, or because code launches them. */
#include "link/in/stages.h"

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

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels that a program begins with: by option, by host code, or because code launches them. */
#include "link/graph/graph.h"

static cv_span part_of(cv_span name, uint64_t at, uint64_t count)
{
    cv_span part = cv_span_tail(name, at);

    part.len = count;
    return part;
}

CV_BUF_BEGIN
/* The parts between the stars, one behind the other, with anything in between, before and behind. */
static bool matches_pattern(cv_span name, const char *parts)
{
    uint64_t at = 0, count;

    for (; *parts; parts += count + (parts[count] == '*')) {
        for (count = 0; parts[count] && parts[count] != '*';)
            count++;
        while (at + count <= name.len && !cv_span_eq(part_of(name, at, count), cv_span_of(parts, count, 0)))
            at++;
        if (at + count > name.len)
            return false;
        at += count;
    }
    return true;
}

bool cv_link_is_used(const cv_link_options *options, cv_span name)
{
    for (uint64_t i = 0; i < options->n_kernels_used; i++)
        if (matches_pattern(name, options->kernels_used[i]))
            return true;
    return options->n_kernels_used == 0;
}
CV_BUF_END

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/sized.h"

#include <string.h>

#include "bytes/span.h"

/* A size above this was never set: nobody reads or writes so far because of it. */
enum { SIZE_MOST = 16384 };

size_t cv_sized_size(const void *given)
{
    size_t size;

    memcpy(&size, given, sizeof(size));
    return size;
}

/* Members are never cut in half: every structure ends at a multiple of its widest member. */
static bool is_possible(size_t size)
{
    return size >= sizeof(size) && size <= SIZE_MOST && size % sizeof(size) == 0;
}

static size_t smaller(size_t left, size_t right)
{
    return left < right ? left : right;
}

bool cv_sized_is_possible(const void *given)
{
    return is_possible(cv_sized_size(given));
}

CV_BUF_BEGIN
bool cv_sized_take(const void *given, void *ours, size_t known)
{
    const size_t size = cv_sized_size(given), both = smaller(size, known);
    const cv_span rest = cv_span_of((const uint8_t *)given + both, is_possible(size) ? size - both : 0, 0);

    if (!is_possible(size) || cv_span_find_nonzero(rest) != rest.len)
        return false;
    memcpy(ours, given, both);
    memcpy(ours, &known, sizeof(known));
    return true;
}

void cv_sized_fill(void *given, const void *ours, size_t known)
{
    const size_t size = cv_sized_size(given), both = smaller(size, known);

    memcpy(given, ours, both);
    memset((uint8_t *)given + both, 0, size - both);
    memcpy(given, &size, sizeof(size));
}

bool cv_sized_give(void *given, const void *ours, size_t known)
{
    const bool possible = cv_sized_is_possible(given);

    if (possible)
        cv_sized_fill(given, ours, known);
    return possible;
}
CV_BUF_END

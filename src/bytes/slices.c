/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/slices.h"

#include <string.h>

static const uint8_t ZEROS[4096];

static void append(cv_mem *m, cv_slices *s, cv_slice slice)
{
    uint64_t len = 0;

    if (s->failed || !cv_add(s->len, slice.bytes.len, &len) || !cv_slice_vec_push(m, &s->v, slice)) {
        s->failed = true;
        cv_mem_put(m, slice.owned, slice.bytes.len);
        return;
    }
    s->len = len;
}

void cv_slices_borrow(cv_mem *m, cv_slices *s, cv_span bytes)
{
    if (bytes.len)
        append(m, s, (cv_slice){ bytes, NULL });
}

void cv_slices_copy(cv_mem *m, cv_slices *s, cv_span bytes)
{
    uint8_t *p;

    if (bytes.len == 0 || s->failed)
        return;
    p = cv_mem_get_raw(m, bytes.len);
    if (!p) {
        s->failed = true;
        return;
    }
    memcpy(p, bytes.base, (size_t)bytes.len);
    append(m, s, (cv_slice){ cv_span_of(p, bytes.len, bytes.off), p });
}

void cv_slices_zero(cv_mem *m, cv_slices *s, uint64_t n)
{
    if (n)
        append(m, s, (cv_slice){ cv_span_of(NULL, n, 0), NULL });
}

void cv_slices_align(cv_mem *m, cv_slices *s, uint64_t align)
{
    uint64_t end;

    if (!cv_align(s->len, align, &end))
        s->failed = true;
    else
        cv_slices_zero(m, s, end - s->len);
}

void cv_slices_free(cv_mem *m, cv_slices *s)
{
    for (uint64_t i = 0; i < s->v.n; i++) {
        const cv_slice *p = cv_slice_vec_at(&s->v, i);

        cv_mem_put(m, p->owned, p->bytes.len);
    }
    cv_slice_vec_free(m, &s->v);
    *s = (cv_slices){ 0 };
}

bool cv_slices_next(const cv_slices *s, cv_slice_pos *pos, cv_span *run)
{
    const cv_slice *p;
    uint64_t n;

    if (s->failed || pos->slice >= s->v.n)
        return false;
    p = cv_slice_vec_get(&s->v, pos->slice);
    n = p->bytes.len - pos->done;
    if (p->bytes.base) {
        *run = (cv_span){ p->bytes.base + pos->done, n, p->bytes.off + pos->done };
    } else {
        n = cv_min(n, sizeof(ZEROS));
        *run = cv_span_of(ZEROS, n, 0);
    }
    pos->done += n;
    if (pos->done == p->bytes.len)
        *pos = (cv_slice_pos){ pos->slice + 1, 0 };
    return true;
}

bool cv_slices_read(const cv_slices *s, uint64_t off, void *buf, size_t n)
{
    cv_slice_pos pos = { 0 };
    uint8_t *to = buf;
    uint64_t at = 0;
    cv_span run;

    if (s->failed || off > s->len || n > s->len - off)
        return false;
    while (n && cv_slices_next(s, &pos, &run)) {
        uint64_t skip = off > at ? cv_min(off - at, run.len) : 0, take = cv_min(run.len - skip, n);

        at += run.len;
        if (take == 0)
            continue;
        memcpy(to, run.base + skip, (size_t)take);
        to += take;
        off += take;
        n -= (size_t)take;
    }
    return n == 0;
}

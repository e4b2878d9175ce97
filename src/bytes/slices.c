/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/slices.h"

#include <string.h>

static const uint8_t ZEROS[4096];

static void append(cv_mem *mem, cv_slices *slices, cv_slice slice)
{
    uint64_t len = 0;

    if (slices->failed || !cv_add(slices->len, slice.bytes.len, &len) ||
        !cv_slice_vec_push(mem, &slices->slices, slice)) {
        slices->failed = true;
        cv_mem_put(mem, slice.owned, slice.bytes.len);
        return;
    }
    slices->len = len;
}

void cv_slices_borrow(cv_mem *mem, cv_slices *slices, cv_span bytes)
{
    if (bytes.len)
        append(mem, slices, (cv_slice){ bytes, NULL });
}

void cv_slices_copy(cv_mem *mem, cv_slices *slices, cv_span bytes)
{
    uint8_t *copy;

    if (bytes.len == 0 || slices->failed)
        return;
    copy = cv_mem_get_raw(mem, bytes.len);
    if (!copy) {
        slices->failed = true;
        return;
    }
    memcpy(copy, bytes.base, (size_t)bytes.len);
    append(mem, slices, (cv_slice){ cv_span_of(copy, bytes.len, bytes.off), copy });
}

void cv_slices_zero(cv_mem *mem, cv_slices *slices, uint64_t count)
{
    if (count)
        append(mem, slices, (cv_slice){ cv_span_of(NULL, count, 0), NULL });
}

void cv_slices_align(cv_mem *mem, cv_slices *slices, uint64_t align)
{
    uint64_t end;

    if (!cv_align(slices->len, align, &end))
        slices->failed = true;
    else
        cv_slices_zero(mem, slices, end - slices->len);
}

void cv_slices_free(cv_mem *mem, cv_slices *slices)
{
    for (uint64_t i = 0; i < slices->slices.count; i++) {
        const cv_slice *slice = cv_slice_vec_at(&slices->slices, i);

        cv_mem_put(mem, slice->owned, slice->bytes.len);
    }
    cv_slice_vec_free(mem, &slices->slices);
    *slices = (cv_slices){ 0 };
}

bool cv_slices_next(const cv_slices *slices, cv_slice_pos *pos, cv_span *run)
{
    const cv_slice *slice;
    uint64_t count;

    if (slices->failed || pos->slice >= slices->slices.count)
        return false;
    slice = cv_slice_vec_get(&slices->slices, pos->slice);
    count = slice->bytes.len - pos->done;
    if (slice->bytes.base) {
        *run = (cv_span){ slice->bytes.base + pos->done, count, slice->bytes.off + pos->done };
    } else {
        count = cv_min(count, sizeof(ZEROS));
        *run = cv_span_of(ZEROS, count, 0);
    }
    pos->done += count;
    if (pos->done == slice->bytes.len)
        *pos = (cv_slice_pos){ pos->slice + 1, 0 };
    return true;
}

bool cv_slices_read(const cv_slices *slices, uint64_t off, void *buf, size_t size)
{
    cv_slice_pos pos = { 0 };
    uint8_t *to = buf;
    uint64_t at = 0;
    cv_span run;

    if (slices->failed || off > slices->len || size > slices->len - off)
        return false;
    while (size && cv_slices_next(slices, &pos, &run)) {
        uint64_t skip = off > at ? cv_min(off - at, run.len) : 0, take = cv_min(run.len - skip, size);

        at += run.len;
        if (take == 0)
            continue;
        memcpy(to, run.base + skip, (size_t)take);
        to += take;
        off += take;
        size -= (size_t)take;
    }
    return size == 0;
}

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
    while (size) {
        uint64_t skip, take;

        if (CV_NEVER(!cv_slices_next(slices, &pos, &run))) /* their lengths add up to slices->len */
            return false;
        skip = off > at ? cv_min(off - at, run.len) : 0;
        take = cv_min(run.len - skip, size);
        at += run.len;
        if (take == 0)
            continue;
        memcpy(to, run.base + skip, (size_t)take);
        to += take;
        off += take;
        size -= (size_t)take;
    }
    return true;
}

bool cv_slices_index_of(cv_mem *mem, const cv_slices *slices, cv_slices_index *index)
{
    uint64_t at = 0;

    index->slices = slices;
    index->last = 0;
    index->run = cv_span_of(NULL, 0, 0);
    index->from = 0;
    if (!cv_u64s_room(mem, &index->starts, slices->slices.count))
        return false;
    for (uint64_t i = 0; i < slices->slices.count; i++) {
        if (CV_NEVER(!cv_u64s_push(mem, &index->starts, at))) /* it has the room */
            return false;
        at = cv_sat_add(at, cv_slice_vec_get(&slices->slices, i)->bytes.len);
    }
    return true;
}

/* Does this slice have the place? */
static bool has_place(const cv_slices_index *index, uint64_t slice, uint64_t off)
{
    uint64_t start;

    if (slice >= index->starts.count)
        return false;
    start = *cv_u64s_get(&index->starts, slice);
    return start <= off && off - start < cv_slice_vec_get(&index->slices->slices, slice)->bytes.len;
}

static uint64_t slice_at(const cv_slices_index *index, uint64_t off)
{
    uint64_t low = 0, high = index->starts.count;

    /* Questions go forwards or backwards, some of them over one slice. */
    for (uint64_t step = 0; step <= 2; step++) {
        if (has_place(index, index->last + step, off))
            return index->last + step;
        if (step <= index->last && has_place(index, index->last - step, off))
            return index->last - step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (*cv_u64s_get(&index->starts, middle) <= off)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The run that has the place becomes the one that is at hand. */
static void turn_to(cv_slices_index *index, uint64_t off)
{
    uint64_t start;

    index->last = slice_at(index, off);
    start = *cv_u64s_get(&index->starts, index->last);
    index->run = cv_slice_vec_get(&index->slices->slices, index->last)->bytes;
    index->from = start;
    if (!index->run.base) {
        index->from = off;
        index->run =
            cv_span_of(ZEROS, cv_min(index->run.len - cv_min(index->run.len, off - start), sizeof(ZEROS)), 0);
    }
}

/* The output from off on, as far as one slice goes; nothing: it ends before. */
static cv_span run_at(cv_slices_index *index, uint64_t off)
{
    if (off < index->from || off - index->from >= index->run.len) {
        if (index->starts.count == 0)
            return cv_span_of(NULL, 0, 0);
        turn_to(index, off);
    }
    return cv_span_tail(index->run, off - index->from);
}

uint64_t cv_slices_agree(cv_slices_index *index, uint64_t off, cv_span bytes)
{
    uint64_t done = 0;

    while (done < bytes.len) {
        cv_span run = run_at(index, cv_sat_add(off, done)), rest = cv_span_tail(bytes, done);
        uint64_t want = cv_min(run.len, rest.len), same = cv_span_agree(run, rest);

        done += same;
        if (want == 0 || same < want)
            break;
    }
    return done;
}

cv_pair cv_slices_pair_apart(cv_slices_index *index, uint64_t off, uint64_t len)
{
    uint8_t bytes[16] = { 0 };
    cv_span run = run_at(index, off);
    uint64_t done = 0;

    len = cv_min(len, sizeof(bytes));
    while (done < len && run.len > 0) {
        run.len = cv_min(run.len, len - done);
        memcpy(bytes + done, run.base, (size_t)run.len);
        done += run.len;
        run = run_at(index, cv_sat_add(off, done));
    }
    return cv_pair_at(cv_span_of(bytes, sizeof(bytes), 0), 0);
}

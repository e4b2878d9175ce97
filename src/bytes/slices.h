/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The form of every output: a list of slices in order. Borrowed slices are ranges of bytes that did not
 * change and are never copied; owned ones were generated or patched; zero slices have no memory at all. */
#ifndef CV_BYTES_SLICES_H
#define CV_BYTES_SLICES_H

#include "base/vec.h"
#include "bytes/span.h"

typedef struct cv_slice {
    cv_span bytes; /* base NULL: zeros */
    void *owned;   /* the same memory, where it belongs to the list; NULL: borrowed */
} cv_slice;

CV_VEC(cv_slice_vec, cv_slice);

typedef struct cv_slices {
    cv_slice_vec slices;
    uint64_t len; /* bytes of the whole output */
    bool failed;  /* sticky: out of memory or over 2^64 */
} cv_slices;

/* The span must outlive the list. */
void cv_slices_borrow(cv_mem *mem, cv_slices *slices, cv_span bytes);
/* A copy that the list owns. */
void cv_slices_copy(cv_mem *mem, cv_slices *slices, cv_span bytes);
void cv_slices_zero(cv_mem *mem, cv_slices *slices, uint64_t count);
/* Zeros up to a multiple of align, a power of two. */
void cv_slices_align(cv_mem *mem, cv_slices *slices, uint64_t align);
void cv_slices_free(cv_mem *mem, cv_slices *slices);

/* Walk: next run of at most the whole slice; zeros come in runs of a static block. *pos counts bytes, start
 * with {0}. */
typedef struct cv_slice_pos {
    uint64_t slice, done;
} cv_slice_pos;
bool cv_slices_next(const cv_slices *slices, cv_slice_pos *pos, cv_span *run);
/* Copy [off, off + size) of the output into buf; false when it does not fit the output. */
CV_MUST bool cv_slices_read(const cv_slices *slices, uint64_t off, void *buf, size_t size);
/* For questions about places in the output, most of which lie near each other. */
typedef struct cv_slices_index {
    const cv_slices *slices;
    cv_u64s starts; /* where each slice begins */
    uint64_t last;  /* the slice of the last question */
    cv_span run;    /* bytes of that slice … */
    uint64_t from;  /* … from this place of the output on */
} cv_slices_index;
/* False: no memory. */
CV_MUST bool cv_slices_index_of(cv_mem *mem, const cv_slices *slices, cv_slices_index *index);
/* How many bytes of 'bytes' the output has at off. */
uint64_t cv_slices_agree(cv_slices_index *index, uint64_t off, cv_span bytes);
/* Has the output all of 'bytes' at off? *agree: how many of them it has, where it has not all. */
static inline bool cv_slices_same(cv_slices_index *index, uint64_t off, cv_span bytes, uint64_t *agree);
/* 'len' bytes of the output at off, at most 16, as two words; the rest of them is 0. */
static inline cv_pair cv_slices_pair(cv_slices_index *index, uint64_t off, uint64_t len);

/* The same where the run of the last question does not have 16 bytes there. */
cv_pair cv_slices_pair_apart(cv_slices_index *index, uint64_t off, uint64_t len);

/* The first 'len' bytes of a pair. */
static inline cv_pair cv_pair_cut(cv_pair pair, uint64_t len)
{
    if (len < 16)
        pair.high &= len <= 8 ? 0 : (UINT64_C(1) << 8 * (len - 8)) - 1;
    if (len < 8)
        pair.low &= (UINT64_C(1) << 8 * len) - 1;
    return pair;
}

static inline cv_pair cv_slices_pair(cv_slices_index *index, uint64_t off, uint64_t len)
{
    cv_row row;

    if (CV_UNLIKELY(off < index->from || !cv_span_has(index->run, off - index->from, 16)))
        return cv_slices_pair_apart(index, off, len);
    row = cv_row_at(index->run, off - index->from, 2);
    return cv_pair_cut((cv_pair){ row.first, row.second }, len);
}

static inline bool cv_slices_same(cv_slices_index *index, uint64_t off, cv_span bytes, uint64_t *agree)
{
    if (CV_LIKELY(off >= index->from && cv_span_has(index->run, off - index->from, bytes.len)) &&
        cv_span_eq((cv_span){ cv_span_tail(index->run, off - index->from).base, bytes.len, 0 }, bytes))
        return true;
    *agree = cv_slices_agree(index, off, bytes);
    return *agree == bytes.len;
}

#endif

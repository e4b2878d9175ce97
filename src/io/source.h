/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes nobody vouches for, by position: read into owned, budgeted memory, never mapped (a mapped file can
 * change after the check and kills the process when it shrinks). The public cuvet_source is the interface;
 * here are its users' tools. */
#ifndef CV_IO_SOURCE_H
#define CV_IO_SOURCE_H

#include <cuvet/context.h>

#include "base/ctx.h"
#include "bytes/span.h"

/* Exact read; reports CV-IO-001 when the source fails. The caller has checked the range against src->length.
 */
CV_MUST cuvet_status cv_source_read(cv_ctx *ctx, const cuvet_source *src, uint64_t off, void *buf,
                                    size_t len);

/* A source over bytes in memory, which are borrowed. */
cuvet_source cv_source_memory(const void *bytes, uint64_t size);

/* As cuvet_source_path(), for a source of our own size; the system's number of a failure in *error, 0 where
 * it is another one. */
CV_MUST cuvet_status cv_source_open(const char *path, cuvet_source *src, int *error);

/* Where the file system has the next bytes of a file, from off on; all before them are zeros that it did not
 * store. Without an answer, and for sources that are no files, off itself; src->length when nothing more
 * comes. */
uint64_t cv_source_next_data(const cuvet_source *src, uint64_t off);

/* Length and time of modification of a regular file that a source reads by descriptor; 0 for other sources.
 */
typedef struct cv_source_state {
    uint64_t size;
    int64_t seconds, nanoseconds;
} cv_source_state;

cv_source_state cv_source_look(const cuvet_source *src);
/* Was the file written to since? Reports CV-IO-003. */
CV_MUST cuvet_status cv_source_unchanged(cv_ctx *ctx, const cuvet_source *src, const cv_source_state *before);

/* Owned bytes of one exact range. The memory is kept and reused by the next load. */
typedef struct cv_block {
    uint8_t *mem;
    uint64_t cap;
    cv_span span; /* the range that was loaded; off = offset in the source */
} cv_block;

/* Load [off, off + len). MALFORMED is never returned: a range outside the source is the caller's error
 * (INTERNAL). */
CV_MUST cuvet_status cv_block_load(cv_ctx *ctx, cv_block *block, const cuvet_source *src, uint64_t off,
                                   uint64_t len);
/* Room for len bytes that a decoder will fill; the span is set by cv_block_filled(). */
CV_MUST cuvet_status cv_block_room(cv_ctx *ctx, cv_block *block, uint64_t len, uint64_t off);
/* The same without room above it, for a block that is filled once. */
CV_MUST cuvet_status cv_block_exact(cv_ctx *ctx, cv_block *block, uint64_t len, uint64_t off);
void cv_block_filled(cv_block *block, uint64_t len);
/* Room for len bytes, all zero, and they count. */
CV_MUST cuvet_status cv_block_zero(cv_ctx *ctx, cv_block *block, uint64_t len);
/* Part of a block that was made by cv_block_room(), which does not clear; outside of it nothing happens. */
void cv_block_clear(cv_block *block, uint64_t off, uint64_t len);
/* Bytes of the block that may be written; NULL: not all of them are there. */
uint8_t *cv_block_at(cv_block *block, uint64_t off, uint64_t len);
/* Bytes from elsewhere to a place of the block; false, and nothing happens, where they do not fit. */
CV_MUST bool cv_block_put(cv_block *block, uint64_t off, cv_span bytes);
/* An empty block shows bytes of somebody else, which stay as they are until it is freed. */
void cv_block_borrow(cv_block *block, cv_span bytes);
/* Bytes that are in memory already become the block's. They may lie in it. */
CV_MUST cuvet_status cv_block_copy(cv_ctx *ctx, cv_block *block, cv_span bytes);
void cv_block_free(cv_ctx *ctx, cv_block *block);

/* A window that moves forward over the source with an overlap, for searches. */
#define CV_WINDOW_SIZE (UINT64_C(256) * 1024)

/* Ranges up to this size are worth reading ahead for; one behind the last by no more than this follows it. */
#define CV_NEAR_MAX (UINT64_C(16) * 1024)

typedef struct cv_window {
    cv_block block;
    uint64_t off;   /* of the window in the source */
    uint64_t ahead; /* what cv_window_near() went for the last time, or 0 */
} cv_window;

/* Window that contains off, with at least min(need, end - off) bytes from it on; *out starts at off and ends
 * with the window or at end. need <= CV_WINDOW_SIZE / 2. */
CV_MUST cuvet_status cv_window_at(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off,
                                  uint64_t need, uint64_t end, cv_span *out);
/* The part of a loaded span that is [off, off + len) of the source; false when it is not all there. */
CV_MUST bool cv_near(cv_span loaded, uint64_t off, uint64_t len, cv_span *out);
/* Exactly [off, off + len) from the window. A range that is not in it is read alone, or together with what
 * follows it (never beyond end) when ranges have been asked for one after the other: one system call for each
 * would cost more than what is done with tiny ones. *out is empty when that was not possible, and nothing was
 * reported: the caller loads a block of its own, and if that fails as well, it was for the range itself.
 * @return OK · NOMEM */
CV_MUST cuvet_status cv_window_near(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off,
                                    uint64_t len, uint64_t end, cv_span *out);
/* The same, copied to buf; reads it alone when there is no other way. */
CV_MUST cuvet_status cv_window_read(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off,
                                    void *buf, size_t len, uint64_t end);
/* The bytes are no longer those of the source that is asked for next; the memory is kept. */
void cv_window_forget(cv_window *window);
void cv_window_free(cv_ctx *ctx, cv_window *window);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Bytes with nothing around them: they end (or begin) exactly where memory that may be touched does, so that
 * a read of one byte too many is a crash, in any build. */
#ifndef CV_TESTS_GUARD_H
#define CV_TESTS_GUARD_H

#include <stddef.h>
#include <stdint.h>

typedef struct guard_state {
    uint8_t *map, *room; /* three parts: closed, open, closed */
    size_t page, cap;
} guard_state;

/* Room for at least cap bytes. Aborts when there is none. */
void guard_open(guard_state *guard, size_t cap);
void guard_close(guard_state *guard);
/* A copy whose last byte is the last one of the room; 'size' may be 0. Valid until the next call. */
const uint8_t *guard_end(guard_state *guard, const void *bytes, size_t size);
/* A copy whose first byte is the first one of the room. */
const uint8_t *guard_start(guard_state *guard, const void *bytes, size_t size);

#endif

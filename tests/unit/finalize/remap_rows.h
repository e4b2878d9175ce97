/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What debug sections say, read from their bytes and relocations by a decoder that shares nothing with the
 * library. now: new contents that a remap made, where there are some; otherwise those of the file. */
#ifndef CV_TESTS_REMAP_ROWS_H
#define CV_TESTS_REMAP_ROWS_H

#include "remap_files.h"

#define MAX_ROWS 4096u

typedef struct remap_rows_row {
    uint32_t section; /* of code */
    uint64_t place;
    int64_t line;
    uint64_t file;
    bool end;
} remap_rows_row;

typedef struct remap_rows {
    remap_rows_row items[MAX_ROWS];
    unsigned count;
} remap_rows;

/* Entries of frames: begin, end, and each place at which the rule changes. */
typedef struct frame_row {
    uint32_t section;
    uint64_t place, names;
} frame_row;

typedef struct frame_rows {
    frame_row items[MAX_ROWS];
    unsigned count;
} frame_rows;

void decode_lines(uint32_t section, bool now, remap_rows *out);
void decode_frames(uint32_t section, bool now, frame_rows *out);
/* What a relocation at a place names: section of the symbol, and symbol + addend. */
bool named_at(uint32_t target, bool now, uint64_t at, uint32_t *section, uint64_t *place);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Device ELFs with debug information, and code in them that moves. */
#ifndef CV_TESTS_REMAP_FILES_H
#define CV_TESTS_REMAP_FILES_H

#include "finalize/remap.h"

extern cv_ctx the_ctx;
extern cv_cubin cubin;
extern cv_backend_out said;
extern cv_final_bodies bodies;
extern cv_final code;
extern uint64_t size; /* of the file */
extern unsigned n_errors, n_stale;
extern cuvet_diag last;

/* What is done to the code of each function: 'in' bytes come in at 'at' in place of 'out'. */
typedef struct remap_files_change {
    const char *label;
    uint64_t at, in, out;
} remap_files_change;

/* Checked fixture. */
void remap_setup(void);
void remap_teardown(void);
void drop_bodies(void);
/* A file of corpus/, without its suffix, examined. */
void load(const char *name);
/* Other bytes in its place. */
void load_bytes(cv_span span);
/* All bytes of the file. */
cv_span loaded(void);
void patch_loaded(uint64_t at, uint8_t value);
void change_code(const remap_files_change *change);
/* Where a place of code of that size should be afterwards. */
uint64_t expect_place(const remap_files_change *change, uint64_t was, uint64_t code_size);
/* Of code that moved, as it was; 0: it did not move. */
uint64_t size_before(uint32_t section);
uint32_t section_named(const char *name);

#endif

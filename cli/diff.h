/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What two files or packages have, compared: for each architecture its pieces and kernels. */
#ifndef CLI_DIFF_H
#define CLI_DIFF_H

#include "contents.h"

typedef enum cli_diff_state {
    CLI_SAME,
    CLI_CHANGED,
    CLI_LOST, /* only the old one has it */
    CLI_ADDED /* only the new one */
} cli_diff_state;

/* "same", "changed", "lost", "new" */
const char *cli_diff_state_name(cli_diff_state state);

/* Elements of a list of cli_contents that lie beside each other. */
typedef struct cli_diff_run {
    size_t first, count;
} cli_diff_run;

/* Both sides of an architecture, or of a kind that has none. */
typedef struct cli_diff_code {
    const char *code;
    cli_diff_run old_pieces, new_pieces, old_kernels, new_kernels;
    uint64_t old_stored, new_stored;
    uint64_t same_bytes, same_code;  /* pieces of the new side that the old one has as well, or under other
                                     * metadata */
    uint64_t kernels[CLI_ADDED + 1]; /* names, by state */
} cli_diff_code;

/** The next one; begin with zeros. The contents are sorted, and their marks are used.
 *  @return false: no more */
bool cli_diff_next(cli_contents *before, cli_contents *after, cli_diff_code *at);
/** What it comes to. */
cli_diff_state cli_diff_state_of(const cli_diff_code *at);

/* All kernels of one name, of both sides: an internal one may be in many pieces. One of the runs may be
 * empty. */
typedef void cli_diff_kernel_fn(void *user, const cli_diff_code *at, cli_diff_state state,
                                const cli_diff_run *before, const cli_diff_run *after);
/** Each name in order. After cli_diff_next(). */
void cli_diff_each_kernel(const cli_contents *before, const cli_contents *after, const cli_diff_code *at,
                          cli_diff_kernel_fn *each, void *user);
/** The first of a run behind 'at' that is not the same, or its end. */
size_t cli_diff_variant(const cli_contents *contents, const cli_diff_run *run, size_t at);

#endif

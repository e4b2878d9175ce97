/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --kind, --arch, --member: which pieces of device code a command is about. One implementation for all of
 * them. What is judged is always the whole file: a filter decides about what is shown, and says what it left
 * out. */
#ifndef CLI_PICK_H
#define CLI_PICK_H

#include "session.h"

typedef struct cli_pick {
    const char *kind, *arch, *member; /* NULL: any */
    bool active, by_number;
    uint64_t number;  /* of the piece in its file, from 0 */
    uint64_t matches; /* in all files */
    /* cli_pick_sink() */
    const cli_sink *inner;
    void *user;
    uint64_t at;      /* number of the next piece of the present file */
    cuvet_diag *held; /* what was said since the last piece: it may be about the next one */
    size_t n_held, cap_held;
    uint64_t pieces, findings; /* of the present file: left out */
    uint64_t above;            /* findings of pieces that are shown, above the cap */
    uint64_t hits;             /* of rules, that were shown for the next piece */
} cli_pick;

/** false: an option makes no sense; it was said. */
bool cli_pick_init(cli_pick *pick, const cli_args *args);
/** Is this piece, the at-th of its file, one of them? */
bool cli_picked(cli_pick *pick, const cuvet_item *item, uint64_t at);
/** Put the filter in front of the session's sink. Findings that are about no piece pass, and so does what
 * memory ran out for. */
void cli_pick_sink(cli_pick *pick, cli_session *session);
/** After the run: complain if nothing was picked anywhere. */
void cli_pick_end(cli_pick *pick, bool ran);

#endif

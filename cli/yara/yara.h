/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --yara: rules look at each unpacked piece of device code. They are read before the cage is entered, and run
 * in a process and a cage of their own (process.h). */
#ifndef CLI_YARA_YARA_H
#define CLI_YARA_YARA_H

#include "../inside.h"
#include "wire.h"

enum { YARA_RULE_CAP = YARA_NAME_CAP + 8, YARA_TOLD_MOST = 1000, YARA_NESTED_MOST = 16 };

/* What a rule found in a piece: given to the sink before the piece is. */
struct cli_hit {
    const cuvet_item *item;
    const yara_hit *what;
    char section[4 * CLI_MEMBER_CAP + 1]; /* escaped; "" is the whole piece */
    char rule[YARA_RULE_CAP];             /* "YARA:" and its name */
    cuvet_severity severity;
    uint64_t file_off;          /* where the piece is stored; of a nested one, where what it lies in is */
    bool exact;                 /* it is stored as it is: its bytes begin there */
    uint64_t inner_off, length; /* the first place, in the bytes of the piece */
};

/** "what it is about": its description, or its name. */
const char *cli_hit_text(const cli_hit *hit);
/** Where a place is in the file: that of the piece where it is not stored as it is. */
uint64_t cli_hit_file_off(const cli_hit *hit, uint64_t inner_off);

/* Containers in containers: offsets in one that was compressed are none of the file's. */
typedef struct yara_outer {
    cuvet_path where;
    uint64_t file_off;
    bool inner;
} yara_outer;

/* How often a rule was told of in the present file. */
typedef struct yara_told {
    char rule[YARA_NAME_CAP];
    uint64_t count;
} yara_told;

typedef struct cli_yara {
    int fd; /* -1: the process is gone */
    bool wants_sections, wants_kernels;
    const cli_sink *inner;
    void *user;
    cli_looking looking;
    int64_t left_ms;                  /* of the present file */
    uint64_t hits[3], hidden, unseen; /* of the present file; pieces that could not be unpacked */
    yara_told *told;
    size_t n_told, n_hits;
    yara_outer outer[YARA_NESTED_MOST];
    size_t n_outer;
    cuvet_verdict verdict; /* beyond what was found: a limit, or an error … */
    char why[200];         /* … for this reason */
    const char *missed;    /* what rules did not see of it, while they went on; NULL */
} cli_yara;

/** Start the rules that the command line names. @return CLI_X_CLEAN, or the exit code; it was said */
int cli_yara_begin(cli_yara *yara, const cli_args *args, cli_needs *needs);
/** Put rules in front of the session's sink. */
void cli_yara_sink(cli_yara *yara, cli_session *session);
void cli_yara_end(cli_yara *yara);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A policy: what has to be there, what may not, and which findings do not count. Of a file, in TOML or JSON
 * (docs/policy.md, docs/policy.schema.json), and of the command line. */
#ifndef CLI_CHECK_POLICY_H
#define CLI_CHECK_POLICY_H

#include "check.h"

#define CHECK_POLICY_SCHEMA "cuvet-policy/1"
#define CHECK_TEXT_MOST     4096                /* bytes of a text that a pattern is held against */
#define CHECK_POLICY_MOST   (UINT64_C(1) << 20) /* bytes of a file, and of its JSON */

/* A finding that does not count. Borrowed from the file; NULL: any. */
typedef struct check_waiver {
    const char *rule, *file, *path, *fingerprint;
    const char *reason;
    bool ended; /* its day is over */
    bool used;
} check_waiver;

typedef struct check_policy {
    const char *name; /* of the file */
    json_t *root;     /* what all texts are borrowed from */
    check_codes required;
    uint32_t forbidden;                                                            /* kinds, as bits */
    const json_t *kernels_required, *kernels_forbidden, *producers, *compressions; /* patterns; NULL: none */
    bool no_debug, no_sources, no_unsupported;
    uint64_t most_stored; /* 0: any */
    check_codes most;     /* by architecture */
    check_waiver *waiver;
    size_t n_waivers;
    char **known; /* findings of a baseline, sorted */
    size_t n_known, cap_known;
} check_policy;

/** Read a file, before the cage: TOML by a Python in a process of its own. What is wrong with it is said,
 *  with its place. @return CLI_X_CLEAN, or the exit code */
int check_policy_load(const char *path, check_policy *policy);
/** The same of what was read. @param root is kept, and released by check_policy_drop() */
int check_policy_take(const char *name, json_t *root, check_policy *policy);
void check_policy_drop(check_policy *policy);
/** Has it to be known what is in device ELFs and PTX? */
bool check_policy_looks_inside(const check_policy *policy);
/** Does one of the patterns fit? @param seen by pattern: set for each that does; NULL */
bool check_fits(const json_t *patterns, const char *text, bool *seen);
size_t check_n_patterns(const json_t *patterns);
const char *check_pattern(const json_t *patterns, size_t index);
/** Does this finding not count? */
bool check_waived(check_policy *policy, const char *file, const cuvet_diag *diag);
/** After the run: say what is of no use any more. */
void check_policy_end(const check_policy *policy);

/* policy_file.c. NULL: it was said, and *rc is the exit code. */
/** A regular file of at most so many bytes, terminated; a NUL in it is an error. To be freed. */
char *check_read_file(const char *path, uint64_t most, int *rc);
/** The text of a policy as JSON. */
json_t *check_policy_read(const char *path, int *rc);

/* baseline.c */
/** Read the NDJSON of an earlier scan, before the cage. What is wrong with it is said. @return CLI_X_CLEAN,
 *  or the exit code */
int check_baseline_load(const char *path, check_policy *policy);
/** The same of its text. */
int check_baseline_take(const char *name, const char *text, check_policy *policy);
/** Was this finding there before? */
bool check_known(const check_policy *policy, const char *file, const cuvet_diag *diag);

#endif

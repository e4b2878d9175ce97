/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is asked of files and packages, what they have, and what is wrong with them. */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

#include "../report.h"

enum { CHECK_MOST_CODES = 512, CHECK_CODE_CAP = 32 };

/* An architecture that there is code for, or has to be: machine code, or PTX. */
typedef struct check_code {
    bool ptx;
    char suffix;
    uint32_t arch;
    uint64_t stored; /* bytes that there are, or may be */
} check_code;

typedef struct check_codes {
    check_code code[CHECK_MOST_CODES];
    size_t count;
} check_codes;

/** "sm_90a", "compute_90" @return false: it is none */
bool check_take_code(const char *word, check_code *code);
void check_code_text(const check_code *code, char out[CHECK_CODE_CAP]);
/** One that is the same, or NULL. */
check_code *check_find_code(check_codes *list, const check_code *code);

/* Kinds that may be forbidden, as bits of cuvet_kind: what is compiled where it runs, or says more than
 * machine code does. @return 0: there is no such kind */
uint32_t check_take_kind(const char *word);

/* ---- what is wrong ---- */

/* RULE(name, id, title): an id is what reports call it. */
#define CHECK_RULES(RULE)                                                                                    \
    RULE(ARCHITECTURE, "architecture", "There is no code for an architecture that is required")              \
    RULE(KIND, "kind", "There is code of a kind that may not be there")                                      \
    RULE(VERDICT, "verdict", "A scan has a finding")                                                         \
    RULE(UNREAD, "unread", "Not all of it could be looked at")                                               \
    RULE(KERNEL_MISSING, "kernel-missing", "A kernel that is required is not there")                         \
    RULE(KERNEL_FORBIDDEN, "kernel-forbidden", "There is a kernel that may not be there")                    \
    RULE(DEBUG, "debug", "There is debug information")                                                       \
    RULE(SOURCES, "sources", "There are names of source files")                                              \
    RULE(PRODUCER, "producer", "Code was made by a tool that is not allowed")                                \
    RULE(COMPRESSION, "compression", "Code is compressed in a way that is not allowed")                      \
    RULE(SIZE, "size", "There is more code than is allowed")

typedef enum check_rule {
#define RULE(name, id, title) CHECK_##name,
    CHECK_RULES(RULE)
#undef RULE
        CHECK_N_RULES
} check_rule;

const char *check_rule_id(check_rule rule);
const char *check_rule_title(check_rule rule);

typedef struct check_problem {
    check_rule rule;
    char *text;     /* what, without where: "ptxas 12.4" */
    char *where;    /* the first place, or "" */
    uint64_t count; /* of places */
} check_problem;

/* A file, or a package as a whole. */
typedef struct check_subject {
    const char *name;
    bool entry;          /* the name is that of a file in a package */
    cuvet_verdict worst; /* of what is in it */
    const check_codes *has;
    bool over; /* more architectures than are told apart */
    check_problem *problem;
    size_t n_problems, cap_problems;
} check_subject;

/** One more place of it. A problem that memory ran out for is told by cli_json_ok(). */
void check_add_problem(check_subject *subject, check_rule rule, const char *text, const char *where);
void check_drop_problems(check_subject *subject);

/* ---- reports ---- */

typedef struct check_report {
    const char *name; /* of --format */
    bool (*begin)(const cli_args *args);
    void (*subject)(const check_subject *subject);
    void (*end)(int rc);
} check_report;

extern const check_report check_text, check_ndjson, check_junit, check_sarif;

#endif

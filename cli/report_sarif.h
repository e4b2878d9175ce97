/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The SARIF log of a scan while it grows. */
#ifndef CLI_REPORT_SARIF_H
#define CLI_REPORT_SARIF_H

#include "sarif.h"

/* What a file says by one rule. */
typedef struct sarif_group {
    cuvet_rule rule;
    cuvet_severity severity; /* the worst of them */
    uint64_t count;          /* delivered; in the end those above the cap too */
    json_t *places;
} sarif_group;

/* The same of a rule of the user's. */
typedef struct sarif_hits {
    struct sarif_hit_group *group;
    size_t count, cap;
    json_t *rule_at; /* by id: its index in rules */
} sarif_hits;

/* Beyond them a result has its first place alone. */
enum { SARIF_MOST_PLACES_OF_RUN = 100000 };

struct cli_sarif_report {
    const cli_args *args;
    json_t *artifacts, *results, *notifications, *rules;
    size_t notes, places; /* results that are notes; places of all results */
    uint64_t left_out;    /* results that there was no room for */
    uint64_t unnotified;  /* files that were not looked into, the same */
    size_t n_rules;
    size_t *rule_at; /* by rule: its index in rules, from 1; 0: it is not there */
    size_t malformed_at;
    /* of the present file */
    struct sarif_group *group;
    size_t *group_of; /* by rule, from 1 */
    size_t n_groups;
    sarif_hits hits;      /* and of all files, which of their rules are in the log */
    json_t *known;        /* path text → index of its artifact; "" is the file */
    bool has_artifact;    /* an entry of a package gets one when there is something to say of it */
    size_t file_artifact; /* index */
    struct {
        char *name;
        size_t artifact;
    } package; /* around it */
};

/* sarif_artifacts.c: each input is an artifact, the pieces that findings lie in are artifacts nested in
 * it. */

/** That of the package around an entry. */
size_t sarif_package_artifact(cli_sarif_report *report, const char *name);
/** That of the present input. */
void sarif_need_artifact(cli_sarif_report *report, const cli_session *session);
/** That of the innermost piece of a path; 'content': of the unpacked content that inner offsets count in. */
size_t sarif_piece_artifact(cli_sarif_report *report, const cuvet_path *where, bool content);
void sarif_on_member(void *user, const cli_session *session, const cuvet_item *item);

/* report_sarif.c, for all that becomes a result. */

/** @param path of a piece; "" is the file as a whole  @param off UINT64_MAX: none */
json_t *sarif_location(const cli_sarif_report *report, const cli_session *session, const char *path,
                       uint64_t off, uint64_t length);
/** What GitHub takes of one run. @return false: it is left out, which the log will say */
bool sarif_has_room(cli_sarif_report *report, bool note);
/** Give a result its text and its places, which get numbers. @param places at least one */
void sarif_tell_places(const cli_sarif_report *report, const cli_session *session, json_t *result,
                       json_t *places, uint64_t count);

/* sarif_hits.c */

void sarif_on_hit(void *user, const cli_session *session, const cli_hit *hit);
void sarif_add_hits(cli_sarif_report *report, const cli_session *session);
void sarif_forget_hits(cli_sarif_report *report);

#endif

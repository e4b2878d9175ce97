/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the SARIF of a scan and that of a check share: where files are for a viewer, texts, rules. */
#ifndef CLI_SARIF_H
#define CLI_SARIF_H

#include "report.h"

/* What GitHub takes of one run; it shows fewer. Notes may not take the room of findings. */
enum {
    SARIF_MOST_RESULTS = 25000,
    SARIF_MOST_NOTES = 5000,
    SARIF_MOST_PLACES = 100,
    SARIF_MOST_NOTIFICATIONS = 1000
};

/** Find out where this process is: before the cage. @return false: out of memory */
bool sarif_begin(const cli_args *args);
void sarif_end(void);

/** Bytes of a name that are the file on the disk: "dist/a.whl" of "dist/a.whl!/lib/b.so". */
size_t sarif_outer(const char *name, bool entry);
/** "lib/b.so", or "" for what is in no package. */
const char *sarif_inner(const char *name, bool entry);
/** artifactLocation of the file on the disk. Below the root of the sources: relative to it. */
json_t *sarif_file(const char *name, bool entry);
/** originalUriBaseIds. Without the path of this machine: the viewer knows where its sources are. */
json_t *sarif_bases(void);
/** The first line of a file: binary files have none, and viewers show a result at a line. */
json_t *sarif_first_line(void);

/** Text for people. What names of strangers have in it does not become a link. */
json_t *sarif_message(const char *text);
/** The same rule in the same file is the same result, whatever moves in it. */
json_t *sarif_fingerprints(const char *rule, const char *name, bool entry);

typedef struct sarif_rule {
    const char *id, *title, *why;
    const char *advice; /* the last line of the help, or NULL */
    const char *level;  /* "error", "warning", "note" */
    const char *tag;    /* or NULL */
    const char *score;  /* security-severity; NULL: the rule is not about security */
} sarif_rule;

json_t *sarif_rule_object(const sarif_rule *rule);

#endif

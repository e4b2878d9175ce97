/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One run over all inputs of a command: opens a scan per input and hands what it tells to a sink (a
 * report, or unpack). */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "input.h"

typedef struct cli_session cli_session;

/* A set of verdicts. */
#define CLI_BIT(verdict) (1u << (verdict))
#define CLI_FINDINGS                                                                                         \
    (CLI_BIT(CUVET_V_SUSPICIOUS) | CLI_BIT(CUVET_V_MALFORMED) | CLI_BIT(CUVET_V_LIMIT) |                     \
     CLI_BIT(CUVET_V_ERROR))

/* How one input ended. */
typedef struct cli_result {
    cuvet_summary sum; /* all zero when the input could not be read */
    cuvet_verdict verdict;
    const char *why;   /* the scan did not come to its end, for this reason; NULL */
    unsigned verdicts; /* all that something in it amounts to, of which `verdict` is the worst: CLI_BIT() */
    int rc;            /* of those that make the exit code, see cli_session.fail_on */
    /* by a filter, see pick.h; all the rest is about the whole file */
    bool filtered;
    uint64_t left_out, left_out_findings; /* pieces that are not shown, and what was found in them */
    uint64_t above;                       /* findings of pieces that are shown, above the cap */
    /* of rules of the user's, which are findings in the sum as well, see yara/yara.h */
    bool ruled;
    uint64_t hits, unseen; /* unseen: pieces that no rule could look at */
} cli_result;

/* What all inputs have come to, by verdict. */
typedef struct cli_tally {
    uint64_t files[CUVET_V_ERROR + 1], errors[CUVET_V_ERROR + 1], warnings[CUVET_V_ERROR + 1];
} cli_tally;

/* What a rule of the user's found, see yara/yara.h. */
typedef struct cli_hit cli_hit;

/* Any function may be NULL. `user` is the sink's own state. */
typedef struct cli_sink {
    void (*begin)(void *user, const cli_session *session);
    void (*finding)(void *user, const cli_session *session, const cuvet_diag *diag);
    void (*hit)(void *user, const cli_session *session, const cli_hit *hit); /* before its member */
    void (*member)(void *user, const cli_session *session, const cuvet_item *item);
    void (*claim)(void *user, const cli_session *session, const cuvet_claim_info *info);
    void (*closing)(void *user, const cli_session *session); /* the scan is over, and can still be asked */
    void (*settle)(void *user, const cli_session *session, cli_result *result); /* it may become worse */
    void (*end)(void *user, const cli_session *session, const cli_result *result);
} cli_sink;

/* Verdicts of an earlier run. */
typedef struct cli_session_cache {
    const struct cli_keeper *keeper; /* NULL: none are kept */
    const struct cli_retold *retold; /* of the present input; NULL: it is scanned */
    bool any;                        /* there is such a keeper, or was */
    uint64_t inputs;                 /* that were not scanned again */
} cli_session_cache;

struct cli_session {
    const cli_args *args;
    const cli_sink *sink;
    void *user;
    cuvet_depth depth;
    cuvet_target target;    /* of the notes about admission; sm 0: any */
    unsigned fail_on;       /* verdicts that make the exit code; 0: CLI_FINDINGS */
    const cli_needs *needs; /* NULL: inputs and standard streams only */
    /* what is set while an input is open */
    const cli_input *in;
    cuvet_ctx *ctx;
    cuvet_scan scan;
    /* what the run has come to */
    uint64_t n_inputs;
    bool cut_short; /* not all inputs were seen: no summary */
    cli_tally tally;
    int rc;
    struct {
        bool on, shown;
        int64_t at; /* milliseconds */
    } progress;
    uint64_t members;
    /* several inputs at a time */
    cli_means means;
    struct cli_pool *pool; /* NULL: one after the other */
    cli_session_cache cache;
};

/** How often a rule was reported for the present input, in the sink's closing().
 *  @return 0: it is not known */
uint64_t cli_session_count(const cli_session *session, cuvet_rule rule);
/** Does it say that a file is packed, and was not opened? */
bool cli_is_closed(const cuvet_diag *diag);
/** Something in an input amounts to this verdict, and to this exit code if it counts. A defect of ours is
 * never left out. */
void cli_result_amounts(cli_result *result, const cli_session *session, cuvet_verdict verdict, int rc);
/** Is an input that ended like this one to be shown to somebody who asked for findings only? */
bool cli_is_finding(const cli_result *result);
/** Run over all operands. @return the exit code, standard output not yet flushed. */
int cli_session_run(cli_session *session);
/** The same with as many threads as the command line says, over the pieces of large inputs and over small
 * inputs. The sink is called as before, in order and by one thread; it gets no bytes of pieces. */
int cli_session_run_ahead(cli_session *session);

/* progress.c: one line on standard error, only on a terminal, at most ten times a second. */
void cli_progress_begin(cli_session *session);
void cli_progress_step(cli_session *session, uint64_t at);
/** Take the line away before anything else is printed. */
void cli_progress_clear(cli_session *session);

/* names.c: short texts that several outputs share. */
#define CLI_PATH_CAP 320
/** "sm_90a", "compute_90", "lto_90"; "" when unknown. */
void cli_arch_text(const cuvet_item *item, char *out, size_t cap);
#define CLI_RELEASE_CAP 16
/** Version of a tool, "12.8"; "" when unknown. */
void cli_release_text(uint32_t version, char *out, size_t cap);
#define CLI_PLAIN_CAP 4096
/** A name without the hashes of its source file, and the number of the compiler's process, which names of
 *  what is internal to it have: zeros in their place, as long as the name.
 *  @return false: it has none, or is too long */
bool cli_plain_name(cuvet_bytes name, char out[CLI_PLAIN_CAP]);
/* The hashes of a piece: with several, two names may differ by them alone. */
typedef struct cli_path_hash {
    char digits[16]; /* of the path, and of what the file has */
    bool any, several;
} cli_path_hash;
void cli_note_hashes(cli_path_hash *hash, cuvet_bytes text);
/** Tool and version, "ptxas 12.8"; "" when unknown. */
void cli_producer_text(const cuvet_producer *producer, char *out, size_t cap);
void cli_path(const cuvet_path *path, char *out, size_t cap);
#define CLI_MESSAGE_CAP 512
/** What a diagnostic says: the title of its rule, and what was met. The same text in every format. */
void cli_message(const cuvet_diag *diag, char *out, size_t cap);
/** "deleted", "replaced", "unused": what becomes of a file of an image archive; NULL: it is content. */
const char *cli_fate_name(cli_fate fate);
#define CLI_FATE_CAP 64
/** "in no image: deleted by layer 2"; "" of content. */
void cli_fate_text(const cli_input *in, char out[CLI_FATE_CAP]);
/** Point to scan for what list, unpack and map only count. */
void cli_point_to_scan(const cli_session *session, const cuvet_summary *sum);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All that one file or package has of device code, kept: files, pieces, kernels. For commands that have to
 * know the whole before they can say anything. */
#ifndef CLI_CONTENTS_H
#define CLI_CONTENTS_H

#include "fingerprint.h"

#define CONTENTS_CODE_CAP 32

typedef struct cli_kernel_seen {
    cuvet_bytes name;
    const char *code;   /* of its piece */
    cli_digest print;   /* of its function; zeros: it is not known */
    cli_digest machine; /* of its section of code alone; zeros: there is none */
    uint32_t registers, stack, barriers;
    uint64_t shared, local;
} cli_kernel_seen;

typedef struct cli_piece_seen {
    const char *code; /* "sm_90a", "compute_90", "lto_90"; the name of the kind where that is not known */
    /* Both with the options of its header; zeros: there is none. */
    cli_digest bytes; /* SHA-256 of what is unpacked, or of what is stored */
    cli_digest print; /* of a device ELF, and of PTX */
    uint64_t stored;
    bool unknown; /* a device ELF without a fingerprint, or a piece without bytes */
    bool matched; /* for whoever compares */
} cli_piece_seen;

/* A file with device code, by its name in its package ("": it is what was given), or who made pieces: a tool
 * and its version. */
typedef struct cli_named_seen {
    const char *name;
    uint64_t pieces;
    cli_digest bytes; /* of a file: of its pieces, in their order */
} cli_named_seen;

typedef struct cli_contents {
    const char *name; /* as given */
    cuvet_verdict worst;
    bool unread; /* something of it could not be looked at */
    bool closed; /* the present file is packed, and was not opened */
    cli_kernel_seen *kernel;
    cli_piece_seen *piece;
    cli_named_seen *file, *producer;
    size_t n_kernels, n_pieces, n_files, n_producers;
    size_t cap_kernels, cap_pieces, cap_files, cap_producers;
    cli_digest options;          /* what the headers of the next piece say to a compiler */
    struct contents_block *text; /* names */
    uint64_t room;               /* bytes that may still be kept */
} cli_contents;

/** Before the first input. What is kept is bounded by the limit 'live'. */
void cli_contents_begin(cli_contents *contents, const cli_args *args, const char *name);
/** In the sink's claim(). */
void cli_contents_claim(cli_contents *contents, cli_looking *looking, const cli_session *session,
                        const cuvet_claim_info *claim);
/** In the sink's member(). What cannot be kept is said, is in looking->rc, and makes the contents unread. */
void cli_contents_add(cli_contents *contents, cli_looking *looking, const cli_session *session,
                      const cuvet_item *item);
/** In the sink's finding(). */
void cli_contents_finding(cli_contents *contents, const cuvet_diag *diag);
/** In the sink's end(). @return false: more of this file or package is to come */
bool cli_contents_end(cli_contents *contents, const cli_session *session, const cli_result *result);
int cli_name_order(cuvet_bytes left, cuvet_bytes right);
/** By code, name, fingerprint, and what it uses. */
int cli_kernel_order(const cli_kernel_seen *left, const cli_kernel_seen *right);
/** Sort everything: kernels as above, pieces by code and bytes, the rest by name, each of these once. */
void cli_contents_sort(cli_contents *contents);
void cli_contents_free(cli_contents *contents);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files about known code share. */
#ifndef CLI_KNOWN_KNOWN_INT_H
#define CLI_KNOWN_KNOWN_INT_H

#include "../fingerprint.h"
#include "../record.h"
#include "keeper.h"
#include "known.h"

enum { GROUPS_MOST = 256 };

/* How much of a piece is known. */
typedef enum known_share {
    SHARE_BYTES,
    SHARE_CODE,
    SHARE_KERNELS,
    SHARE_SOME,
    SHARE_NONE,
    SHARE_EMPTY,
    SHARE_CLOSED
} known_share;

/* Names of sources, each with its NUL. */
typedef struct known_sources {
    char text[KNOWN_TELL * (KNOWN_SOURCE_MOST + 1)];
    size_t size;
    uint32_t count, more;
} known_sources;

/* Pieces of one file of which the same is known. */
typedef struct known_group {
    known_share share;
    char code[KNOWN_CODE_MOST + 1];
    known_sources sources;
    uint64_t pieces, kernels, kernels_known;
} known_group;

typedef struct known_piece {
    known_share share;
    char code[KNOWN_CODE_MOST + 1];
    uint64_t kernels, kernels_known;
    known_sources sources;
} known_piece;

struct cli_known {
    cli_keeper keeper;
    const cli_sink *inner;
    void *user;
    cli_looking looking;
    bool json, adding, all, each_kernel, lost;
    const char *as;
    char source[KNOWN_SOURCE_MOST + 1]; /* told the keeper last */
    known_group *group;
    size_t n_groups;
    uint64_t beyond; /* pieces that no group had room for */
    unsigned met;    /* shares that were met: bits */
    uint64_t pieces, kernels, passed_over, empty;
    cli_record record;
};

/* known_say.c */
void known_say_kernel(cli_known *known, const cli_session *session, const cuvet_item *item, cuvet_bytes name,
                      const known_sources *sources);
void known_say_piece(cli_known *known, const cli_session *session, const cuvet_item *item,
                     const known_piece *piece);
/** At the end of a file. */
void known_say_groups(cli_known *known, const cli_session *session);

#endif

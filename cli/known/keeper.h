/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The process that has the database. The caged process has no file, and may have been taken over by what it
 * looked at; the keeper answers it, and takes from it no more than the rules of frame.h allow. It is caged
 * itself: of the file system it has the folder of the database alone.
 *
 * Verdicts belong to contents, and whoever is taken over by one file must not lie about any other, for all
 * time. So the keeper hashes inputs itself: the opener, outside of the cage, sends it each one with a number
 * (cli_keeper_announce), and the caged side speaks of numbers alone. What was written to meanwhile is not
 * kept. */
#ifndef CLI_KNOWN_KEEPER_H
#define CLI_KNOWN_KEEPER_H

#include "database.h"

/* What one run keeps and finds verdicts by, besides the bytes of a file. */
typedef struct cli_keeper_options {
    known_purpose purpose;
    const char *path;
    uint64_t most;    /* bytes of all verdicts */
    cli_digest about; /* program, limits, depth, target */
} cli_keeper_options;

typedef struct cli_keeper {
    int fd;       /* of the caged side; -1: there is none */
    int announce; /* of the opener; -1 */
} cli_keeper;

#define CLI_NO_KEEPER                                                                                        \
    {                                                                                                        \
        .fd = -1, .announce = -1                                                                             \
    }

/** Fork it, before the cage; cli_database_load() was called. @return CLI_X_CLEAN: the database is open ·
 * another exit code; it was said. */
int cli_keeper_start(cli_keeper *keeper, const cli_keeper_options *options);

/* ---- the opener's side ---- */

/* One packet, with the descriptor. */
typedef struct keeper_announcement {
    uint64_t size;   /* bytes that the caged side will look at */
    uint32_t number; /* under which it is handed over, from 1 on */
    uint32_t owned;  /* nobody else can write to it */
} keeper_announcement;

/** @return false: nobody hears it any more */
bool cli_keeper_announce(int announce, const keeper_announcement *packet, int fd);

/* ---- the caged side: one for the process ---- */

/** Without an answer. @return false: the keeper is gone, which was said */
bool cli_keeper_tell(const cli_keeper *keeper, const known_order *order, const char *text);
/** With one. @param text KNOWN_TEXT_MOST bytes of room @return false: the keeper is gone, or has failed;
 * either was said */
bool cli_keeper_ask(const cli_keeper *keeper, const known_order *order, known_reply *reply, char *text);
/** Everything was said. @param fresh NULL, or rows that are new @return an exit code; it was said */
int cli_keeper_end(cli_keeper *keeper, uint64_t *fresh);

/** The recording of an input that was announced, to be freed; whether it can be told or not, cli_keeper_put()
 * ends the input. NULL: there is none. */
uint8_t *cli_keeper_get(const cli_keeper *keeper, uint32_t number, size_t *size);
/** Keep this; NULL: nothing is kept. */
void cli_keeper_put(const cli_keeper *keeper, uint32_t number, const uint8_t *bytes, size_t size);

/** For tests: the keeper's side, until the caged side ends. @param announce -1: there is none */
void cli_keeper_serve(int fd, int announce, const cli_keeper_options *options);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The file of known code and of verdicts: a database of SQLite. Everything that knows SQL is here.
 *
 * What is wrong with a database is said in one word for the user; nothing in it is believed: a schema that is
 * not ours, to the letter, is none of ours. */
#ifndef CLI_KNOWN_DATABASE_H
#define CLI_KNOWN_DATABASE_H

#include "frame.h"

typedef enum database_state {
    DATABASE_OK,
    DATABASE_MISSING,
    DATABASE_FOREIGN, /* something else */
    DATABASE_NEWER,   /* of a later release */
    DATABASE_OLDER,   /* of an earlier one, whose fingerprints are others */
    DATABASE_DAMAGED,
    DATABASE_BUSY, /* somebody else writes to it, for too long */
    DATABASE_FULL, /* no room on the disk, or it may not be written */
    DATABASE_TORN, /* a transaction has to be undone, and it may not be written */
    DATABASE_NO_MEMORY,
    DATABASE_IO
} database_state;

/** What to tell the user: "is damaged; …". */
const char *database_state_text(database_state state);
int database_state_exit(database_state state);

typedef struct cli_database cli_database;

/** Load SQLite, before the cage. @return false: it was said. */
bool cli_database_load(void);

typedef enum database_mode { DATABASE_READ, DATABASE_WRITE, DATABASE_MAKE } database_mode;
/** @param path absolute. DATABASE_MAKE makes one where there is none. */
database_state database_open(cli_database **out, const char *path, database_mode mode);
/** One that somebody else gave: in memory, taken in any case, read only. All of it is checked. */
database_state database_open_bytes(cli_database **out, void *bytes, size_t size);
void database_close(cli_database *database);

/* ---- known code ---- */

/** Sources of a piece or of a kernel: the first names in `text`, KNOWN_TEXT_MOST bytes of room. */
database_state database_ask_piece(cli_database *database, const known_order *order, known_reply *reply,
                                  char *text);
database_state database_ask_kernel(cli_database *database, const known_order *order, known_reply *reply,
                                   char *text);
/** What is added is kept aside until database_commit(). */
database_state database_add_source(cli_database *database, const char *name, size_t size);
database_state database_add_piece(cli_database *database, const known_order *order);
database_state database_add_kernel(cli_database *database, const known_order *order, const char *name);
/** All that was added is there, or nothing. @param fresh rows that were not there before */
database_state database_commit(cli_database *database, uint64_t *fresh);

typedef struct database_counts {
    uint64_t sources, pieces, kernels, verdicts, verdict_bytes;
} database_counts;
database_state database_count(cli_database *database, database_counts *counts);

/* A row of known code. @return false: stop */
typedef bool database_row_fn(void *user, const known_order *order, const char *text);
/** Tell all known code as orders: all sources, then all pieces, then all kernels; in front of what a source
 * has it is told once more. @return DATABASE_IO: it was stopped */
database_state database_each(cli_database *database, database_row_fn *each, void *user);

/* ---- verdicts ---- */

/** @param bytes to be freed; NULL: there is none of at most RECORDING_MOST bytes */
database_state database_get(cli_database *database, const cli_digest *key, uint8_t **bytes, size_t *size);
/** Kept aside until database_commit_verdicts(). */
database_state database_put(cli_database *database, const cli_digest *key, const void *bytes, size_t size);
/** @param most bytes of all recordings: those that were not used for the longest time go */
database_state database_commit_verdicts(cli_database *database, uint64_t most);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the database share. */
#ifndef CLI_KNOWN_DATABASE_INT_H
#define CLI_KNOWN_DATABASE_INT_H

#include "database.h"

#include <sqlite3.h>

#define CLI_SQLITE_SO "libsqlite3.so.0"

#define OF_SQLITE(USE)                                                                                       \
    USE(sqlite3_bind_blob)                                                                                   \
    USE(sqlite3_bind_int64)                                                                                  \
    USE(sqlite3_bind_text)                                                                                   \
    USE(sqlite3_busy_timeout)                                                                                \
    USE(sqlite3_changes)                                                                                     \
    USE(sqlite3_close)                                                                                       \
    USE(sqlite3_column_blob)                                                                                 \
    USE(sqlite3_column_bytes)                                                                                \
    USE(sqlite3_column_int64)                                                                                \
    USE(sqlite3_column_text)                                                                                 \
    USE(sqlite3_db_config)                                                                                   \
    USE(sqlite3_deserialize)                                                                                 \
    USE(sqlite3_errcode)                                                                                     \
    USE(sqlite3_exec)                                                                                        \
    USE(sqlite3_finalize)                                                                                    \
    USE(sqlite3_initialize)                                                                                  \
    USE(sqlite3_limit)                                                                                       \
    USE(sqlite3_open_v2)                                                                                     \
    USE(sqlite3_prepare_v2)                                                                                  \
    USE(sqlite3_reset)                                                                                       \
    USE(sqlite3_step)

typedef struct database_functions {
#define FIELD(name) __typeof__(name) *name;
    OF_SQLITE(FIELD)
#undef FIELD
} database_functions;

/* SQLite's functions, by their own names. */
extern database_functions sq;

typedef enum database_statement {
    FIND_BYTES,
    FIND_PRINT,
    FIND_KERNEL,
    ADD_SOURCE,
    FIND_SOURCE,
    ADD_PIECE,
    ADD_KERNEL,
    GET_FRESH,
    GET,
    PUT,
    TOUCH,
    N_STATEMENTS
} database_statement;

struct cli_database {
    sqlite3 *handle;
    sqlite3_stmt *made[N_STATEMENTS];
    int64_t source; /* that what is added comes from */
    bool aside;     /* the tables for what is added are there */
};

database_state database_state_of(int rc);
database_state database_run(cli_database *database, const char *sql);
database_state database_prepare(cli_database *database, const char *sql, sqlite3_stmt **out);
database_state database_ready(cli_database *database, database_statement which, sqlite3_stmt **out);
void database_bind_digest(sqlite3_stmt *made, int place, const cli_digest *digest);
database_state database_finish(sqlite3_stmt *made);
database_state database_number(cli_database *database, const char *sql, int64_t *out);
database_state database_set_aside(cli_database *database);

#endif

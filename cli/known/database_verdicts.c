/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Verdicts in the database. */
#include "database_int.h"

#include "recording.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECONDS_OF_DAY = 86400 };

/* A copy of the first column; NULL as well where memory ran out: then the file is scanned. */
static uint8_t *copy_result(sqlite3_stmt *made, size_t *size)
{
    const void *bytes = sq.sqlite3_column_blob(made, 0);
    int count = sq.sqlite3_column_bytes(made, 0);
    uint8_t *copy = bytes && count > 0 && (size_t)count <= RECORDING_MOST ? malloc((size_t)count) : NULL;

    *size = copy ? (size_t)count : 0;
    if (copy)
        memcpy(copy, bytes, *size);
    return copy;
}

database_state database_get(cli_database *database, const cli_digest *key, uint8_t **bytes, size_t *size)
{
    database_state state = database_set_aside(database);
    sqlite3_stmt *made;

    *bytes = NULL;
    *size = 0;
    for (int turn = 0; state == DATABASE_OK && !*bytes && turn < 2; turn++) {
        state = database_ready(database, turn ? GET : GET_FRESH, &made);
        if (state != DATABASE_OK)
            break;
        database_bind_digest(made, 1, key);
        if (sq.sqlite3_step(made) == SQLITE_ROW)
            *bytes = copy_result(made, size);
        /* At once: a statement under way keeps everybody else from writing. */
        state = database_state_of(sq.sqlite3_reset(made));
    }
    if (state != DATABASE_OK || !*bytes)
        return state;
    state = database_ready(database, TOUCH, &made);
    if (state == DATABASE_OK)
        database_bind_digest(made, 1, key);
    return state == DATABASE_OK ? database_finish(made) : state;
}

database_state database_put(cli_database *database, const cli_digest *key, const void *bytes, size_t size)
{
    database_state state = database_set_aside(database);
    sqlite3_stmt *made;

    if (state == DATABASE_OK)
        state = database_ready(database, PUT, &made);
    if (state != DATABASE_OK)
        return state;
    database_bind_digest(made, 1, key);
    (void)sq.sqlite3_bind_blob(made, 2, bytes, (int)size, SQLITE_STATIC);
    return database_finish(made);
}

/* The oldest go, one by one, until the rest fits. */
static database_state make_fit(cli_database *database, uint64_t most)
{
    database_state state = DATABASE_OK;
    int64_t all = 0;

    for (;;) {
        state = database_number(database, "SELECT coalesce(sum(size), 0) FROM verdict", &all);
        if (state != DATABASE_OK || all < 0 || (uint64_t)all <= most)
            return state;
        state = database_run(database, "DELETE FROM verdict WHERE rowid IN "
                                       "(SELECT rowid FROM verdict ORDER BY used, rowid "
                                       "LIMIT (SELECT 1 + count(*) / 8 FROM verdict))");
        if (state != DATABASE_OK)
            return state;
        if (sq.sqlite3_changes(database->handle) == 0)
            return DATABASE_DAMAGED; /* an index that speaks of rows which are not there */
    }
}

database_state database_commit_verdicts(cli_database *database, uint64_t most)
{
    char move_sql[256], touch_sql[192];
    long long day = (long long)(time(NULL) / SECONDS_OF_DAY);
    int64_t fresh = 0;
    database_state state = database->aside ? DATABASE_OK : DATABASE_MISSING;

    if (state != DATABASE_OK)
        return DATABASE_OK; /* nothing happened */
    state = database_number(
        database, "SELECT (SELECT count(*) FROM aside.verdict) + (SELECT count(*) FROM aside.touched)",
        &fresh);
    if (state != DATABASE_OK || fresh == 0)
        return state;
    snprintf(move_sql, sizeof(move_sql),
             "INSERT OR REPLACE INTO main.verdict(key, used, size, result) "
             "SELECT key, %lld, length(result) + 64, result FROM aside.verdict",
             day);
    snprintf(
        touch_sql, sizeof(touch_sql),
        "UPDATE main.verdict SET used = %lld WHERE used < %lld AND key IN (SELECT key FROM aside.touched)",
        day, day);
    state = database_run(database, "BEGIN IMMEDIATE");
    if (state != DATABASE_OK)
        return state;
    state = database_run(database, move_sql);
    if (state == DATABASE_OK)
        state = database_run(database, touch_sql);
    if (state == DATABASE_OK)
        state = make_fit(database, most);
    if (state == DATABASE_OK)
        state = database_run(database, "COMMIT");
    if (state == DATABASE_OK)
        return database_run(database, "DELETE FROM aside.verdict; DELETE FROM aside.touched");
    (void)database_run(database, "ROLLBACK"); /* as far as it got */
    return state;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Known code in the database. */
#include "database_int.h"

#include <string.h>

static database_state find_sources(cli_database *database, database_statement which, const cli_digest *digest,
                                   known_reply *reply, char *text)
{
    sqlite3_stmt *made;
    database_state state = database_ready(database, which, &made);
    uint32_t told = 0;

    if (state != DATABASE_OK)
        return state;
    database_bind_digest(made, 1, digest);
    while (sq.sqlite3_step(made) == SQLITE_ROW) {
        const char *name = (const char *)sq.sqlite3_column_text(made, 0);
        size_t size = (size_t)sq.sqlite3_column_bytes(made, 0);

        if (!name || size > KNOWN_SOURCE_MOST || strlen(name) != size)
            continue; /* nobody of ours wrote it */
        if (told == KNOWN_TELL) {
            reply->more++;
            continue;
        }
        memcpy(text + reply->n_text, name, size + 1);
        reply->n_text += (uint32_t)size + 1;
        told++;
    }
    return database_state_of(sq.sqlite3_reset(made));
}

database_state database_ask_piece(cli_database *database, const known_order *order, known_reply *reply,
                                  char *text)
{
    database_state state = DATABASE_OK;

    if (cli_digest_known(&order->bytes))
        state = find_sources(database, FIND_BYTES, &order->bytes, reply, text);
    if (reply->n_text > 0)
        reply->match = KNOWN_BYTES;
    if (state != DATABASE_OK || reply->n_text > 0 || !cli_digest_known(&order->print))
        return state;
    state = find_sources(database, FIND_PRINT, &order->print, reply, text);
    if (reply->n_text > 0)
        reply->match = KNOWN_CODE;
    return state;
}

database_state database_ask_kernel(cli_database *database, const known_order *order, known_reply *reply,
                                   char *text)
{
    database_state state = DATABASE_OK;

    if (cli_digest_known(&order->print))
        state = find_sources(database, FIND_KERNEL, &order->print, reply, text);
    if (reply->n_text > 0)
        reply->match = KNOWN_CODE;
    return state;
}

database_state database_add_source(cli_database *database, const char *name, size_t size)
{
    database_state state = database_set_aside(database);
    sqlite3_stmt *made;

    for (int turn = 0; state == DATABASE_OK && turn < 2; turn++) {
        state = database_ready(database, turn ? FIND_SOURCE : ADD_SOURCE, &made);
        if (state != DATABASE_OK)
            break;
        (void)sq.sqlite3_bind_text(made, 1, name, (int)size, SQLITE_STATIC);
        if (turn && sq.sqlite3_step(made) == SQLITE_ROW) {
            database->source = sq.sqlite3_column_int64(made, 0);
            state = database_state_of(sq.sqlite3_reset(made));
        } else {
            state = database_finish(made);
        }
    }
    return state;
}

static database_state add(cli_database *database, database_statement which, const known_order *order)
{
    sqlite3_stmt *made = database->made[which];

    (void)sq.sqlite3_bind_text(made, 3, order->code, -1, SQLITE_STATIC);
    (void)sq.sqlite3_bind_int64(made, 4, database->source);
    return database_finish(made);
}

database_state database_add_piece(cli_database *database, const known_order *order)
{
    database_state state = database_set_aside(database);
    sqlite3_stmt *made;

    if (state == DATABASE_OK)
        state = database_ready(database, ADD_PIECE, &made);
    if (state != DATABASE_OK)
        return state;
    database_bind_digest(made, 1, &order->bytes);
    database_bind_digest(made, 2, &order->print);
    return add(database, ADD_PIECE, order);
}

database_state database_add_kernel(cli_database *database, const known_order *order, const char *name)
{
    database_state state = database_set_aside(database);
    sqlite3_stmt *made;

    if (state == DATABASE_OK)
        state = database_ready(database, ADD_KERNEL, &made);
    if (state != DATABASE_OK)
        return state;
    database_bind_digest(made, 1, &order->print);
    (void)sq.sqlite3_bind_blob(made, 2, order->n_text ? name : "", (int)order->n_text, SQLITE_STATIC);
    return add(database, ADD_KERNEL, order);
}

/* Run, and count what it changed. */
static database_state move(cli_database *database, const char *sql, uint64_t *fresh)
{
    database_state state = database_run(database, sql);

    if (state == DATABASE_OK)
        *fresh += (uint64_t)sq.sqlite3_changes(database->handle);
    return state;
}

database_state database_commit(cli_database *database, uint64_t *fresh)
{
    database_state state = database->aside ? database_run(database, "BEGIN IMMEDIATE") : DATABASE_OK;
    uint64_t sources = 0;

    *fresh = 0;
    if (state != DATABASE_OK || !database->aside)
        return state;
    state =
        move(database, "INSERT OR IGNORE INTO main.source(name) SELECT name FROM aside.source ORDER BY id",
             &sources);
    if (state == DATABASE_OK)
        state = move(database,
                     "INSERT OR IGNORE INTO main.piece(bytes, print, code, source) "
                     "SELECT piece.bytes, piece.print, piece.code, there.id FROM aside.piece AS piece "
                     "JOIN aside.source AS here ON here.id = piece.source "
                     "JOIN main.source AS there ON there.name = here.name",
                     fresh);
    if (state == DATABASE_OK)
        state = move(database,
                     "INSERT OR IGNORE INTO main.kernel(print, name, code, source) "
                     "SELECT kernel.print, kernel.name, kernel.code, there.id FROM aside.kernel AS kernel "
                     "JOIN aside.source AS here ON here.id = kernel.source "
                     "JOIN main.source AS there ON there.name = here.name",
                     fresh);
    if (state == DATABASE_OK)
        state = database_run(database, "COMMIT");
    if (state != DATABASE_OK)
        (void)database_run(database, "ROLLBACK"); /* as far as it got */
    return state;
}

database_state database_count(cli_database *database, database_counts *counts)
{
    static const char *const OF[] = { "SELECT count(*) FROM source", "SELECT count(*) FROM piece",
                                      "SELECT count(*) FROM kernel", "SELECT count(*) FROM verdict",
                                      "SELECT coalesce(sum(size), 0) FROM verdict" };
    uint64_t *const to[] = { &counts->sources, &counts->pieces, &counts->kernels, &counts->verdicts,
                             &counts->verdict_bytes };
    database_state state = DATABASE_OK;

    for (size_t i = 0; state == DATABASE_OK && i < sizeof(OF) / sizeof(OF[0]); i++) {
        int64_t value;

        state = database_number(database, OF[i], &value);
        *to[i] = value > 0 ? (uint64_t)value : 0;
    }
    return state;
}

/* ---- all of it, for whoever takes it over ---- */

static bool take_digest(sqlite3_stmt *made, int place, cli_digest *digest)
{
    const void *bytes = sq.sqlite3_column_blob(made, place);

    if (!bytes || sq.sqlite3_column_bytes(made, place) != (int)sizeof(digest->byte))
        return false;
    memcpy(digest->byte, bytes, sizeof(digest->byte));
    return true;
}

/* One row: its source, and what it says. @return false: it is none that we would write */
static bool take_row(sqlite3_stmt *made, bool kernel, known_order *order, const char **text)
{
    const char *code = (const char *)sq.sqlite3_column_text(made, 1);
    int len = sq.sqlite3_column_bytes(made, 1);

    *order = (known_order){ .verb = kernel ? KNOWN_ADD_KERNEL : KNOWN_ADD_PIECE };
    *text = "";
    if (!code || len <= 0 || len > KNOWN_CODE_MOST || strlen(code) != (size_t)len)
        return false; /* an order has no room for it */
    memcpy(order->code, code, (size_t)len);
    if (!take_digest(made, 2, &order->print))
        return false;
    if (!kernel)
        return take_digest(made, 3, &order->bytes);
    len = sq.sqlite3_column_bytes(made, 3);
    if (len > 0)
        *text = sq.sqlite3_column_blob(made, 3);
    order->n_text = len > 0 ? (uint32_t)len : 0;
    return *text && order->n_text <= KNOWN_KERNEL_MOST;
}

/* What is added from now on has this source. */
static database_state tell_source(sqlite3_stmt *made, database_row_fn *each, void *user)
{
    const char *name = (const char *)sq.sqlite3_column_text(made, 1);
    int len = sq.sqlite3_column_bytes(made, 1);
    known_order order = { .verb = KNOWN_SOURCE, .n_text = len > 0 ? (uint32_t)len : 0 };

    if (!name || !known_order_ok(&order, sizeof(order) + order.n_text, name, KNOWN_FOR_ADDING))
        return DATABASE_DAMAGED;
    return each(user, &order, name) ? DATABASE_OK : DATABASE_IO;
}

static database_state find_source(sqlite3_stmt *find, int64_t source, database_row_fn *each, void *user)
{
    database_state state = DATABASE_DAMAGED;

    (void)sq.sqlite3_bind_int64(find, 1, source);
    if (sq.sqlite3_step(find) == SQLITE_ROW)
        state = tell_source(find, each, user);
    (void)sq.sqlite3_reset(find); /* where it gave no row, that is damage */
    return state;
}

/* Rows in the order of their sources: they are sorted once, where looking for those of each source would read
 * the whole table for each. */
static database_state each_of(cli_database *database, bool kernel, database_row_fn *each, void *user)
{
    sqlite3_stmt *made = NULL, *find = NULL;
    database_state state =
        database_prepare(database,
                         kernel ? "SELECT source, code, print, name FROM kernel ORDER BY source"
                                : "SELECT source, code, print, bytes FROM piece ORDER BY source",
                         &made);
    bool any = false;
    int64_t last = 0;

    if (state == DATABASE_OK)
        state = database_prepare(database, "SELECT id, name FROM source WHERE id = ?1", &find);
    while (state == DATABASE_OK && sq.sqlite3_step(made) == SQLITE_ROW) {
        int64_t source = sq.sqlite3_column_int64(made, 0);
        known_order order;
        const char *text;

        if (!any || source != last)
            state = find_source(find, source, each, user);
        any = true;
        last = source;
        if (state == DATABASE_OK &&
            (!take_row(made, kernel, &order, &text) ||
             !known_order_ok(&order, sizeof(order) + order.n_text, text, KNOWN_FOR_ADDING)))
            state = DATABASE_DAMAGED;
        if (state == DATABASE_OK && !each(user, &order, text))
            state = DATABASE_IO;
    }
    (void)sq.sqlite3_finalize(find); /* each step was looked at */
    if (state == DATABASE_OK)
        return database_state_of(sq.sqlite3_finalize(made));
    (void)sq.sqlite3_finalize(made); /* the first that was wrong is told */
    return state;
}

static database_state each_source(cli_database *database, database_row_fn *each, void *user)
{
    sqlite3_stmt *made = NULL;
    database_state state = database_prepare(database, "SELECT id, name FROM source ORDER BY name", &made);

    while (state == DATABASE_OK && sq.sqlite3_step(made) == SQLITE_ROW)
        state = tell_source(made, each, user);
    if (state == DATABASE_OK)
        return database_state_of(sq.sqlite3_finalize(made));
    (void)sq.sqlite3_finalize(made); /* the first that was wrong is told */
    return state;
}

database_state database_each(cli_database *database, database_row_fn *each, void *user)
{
    database_state state = each_source(database, each, user);

    if (state == DATABASE_OK)
        state = each_of(database, false, each, user);
    return state == DATABASE_OK ? each_of(database, true, each, user) : state;
}

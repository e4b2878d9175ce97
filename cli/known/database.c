/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "database_int.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    APPLICATION = 'C' << 24 | 'V' << 16 | 'v' << 8 | 'd', /* in the header of the file */
    /* Of the tables, and of what fingerprints are made of: who changes either adds one. */
    VERSION = 2,
    BUSY_MS = 30000,
    /* Of one value, or one row: the longest that is ours is a recording, RECORDING_MOST bytes. */
    VALUE_MOST = 16 << 20
};

database_functions sq;

/* What the schema of ours says, in the order of names. */
static const char *const TABLE[][2] = {
    { "kernel", "CREATE TABLE kernel(print BLOB NOT NULL, source INTEGER NOT NULL, code TEXT NOT NULL, "
                "name BLOB NOT NULL, PRIMARY KEY(print, source, code, name)) STRICT, WITHOUT ROWID" },
    { "piece", "CREATE TABLE piece(bytes BLOB NOT NULL, source INTEGER NOT NULL, code TEXT NOT NULL, "
               "print BLOB NOT NULL, PRIMARY KEY(bytes, source, code)) STRICT, WITHOUT ROWID" },
    { "piece_print", "CREATE INDEX piece_print ON piece(print)" },
    { "source", "CREATE TABLE source(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT" },
    { "verdict", "CREATE TABLE verdict(key BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, "
                 "size INTEGER NOT NULL, result BLOB NOT NULL) STRICT" },
    { "verdict_used", "CREATE INDEX verdict_used ON verdict(used, size)" },
};

/* What is added stands aside first, with numbers of its own: the file is locked for a moment only. */
#define ASIDE                                                                                                \
    "ATTACH ':memory:' AS aside;"                                                                            \
    "PRAGMA aside.max_page_count=524288;" /* of 4 KiB: nobody fills the memory of the machine */             \
    "CREATE TABLE aside.source(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"                   \
    "CREATE TABLE aside.piece(bytes BLOB, source INTEGER, code TEXT, print BLOB, "                           \
    "PRIMARY KEY(bytes, source, code)) STRICT, WITHOUT ROWID;"                                               \
    "CREATE TABLE aside.kernel(print BLOB, source INTEGER, code TEXT, name BLOB, "                           \
    "PRIMARY KEY(print, source, code, name)) STRICT, WITHOUT ROWID;"                                         \
    "CREATE TABLE aside.verdict(key BLOB PRIMARY KEY, result BLOB) STRICT;"                                  \
    "CREATE TABLE aside.touched(key BLOB PRIMARY KEY) STRICT;"

static const char *const SQL[N_STATEMENTS] = {
    [FIND_BYTES] = "SELECT DISTINCT source.name FROM main.piece JOIN main.source ON source.id = piece.source "
                   "WHERE piece.bytes = ?1 ORDER BY source.name",
    [FIND_PRINT] = "SELECT DISTINCT source.name FROM main.piece JOIN main.source ON source.id = piece.source "
                   "WHERE piece.print = ?1 ORDER BY source.name",
    [FIND_KERNEL] =
        "SELECT DISTINCT source.name FROM main.kernel JOIN main.source ON source.id = kernel.source "
        "WHERE kernel.print = ?1 ORDER BY source.name",
    [ADD_SOURCE] = "INSERT OR IGNORE INTO aside.source(name) VALUES(?1)",
    [FIND_SOURCE] = "SELECT id FROM aside.source WHERE name = ?1",
    [ADD_PIECE] = "INSERT OR IGNORE INTO aside.piece(bytes, print, code, source) VALUES(?1, ?2, ?3, ?4)",
    [ADD_KERNEL] = "INSERT OR IGNORE INTO aside.kernel(print, name, code, source) VALUES(?1, ?2, ?3, ?4)",
    [GET_FRESH] = "SELECT result FROM aside.verdict WHERE key = ?1",
    [GET] = "SELECT result FROM main.verdict WHERE key = ?1",
    [PUT] = "INSERT OR REPLACE INTO aside.verdict(key, result) VALUES(?1, ?2)",
    [TOUCH] = "INSERT OR IGNORE INTO aside.touched(key) VALUES(?1)",
};

/* ---- states ---- */

const char *database_state_text(database_state state)
{
    static const char *const TEXT[] = {
        [DATABASE_OK] = "is whole",
        [DATABASE_MISSING] = "does not exist; cuvet known add makes it",
        [DATABASE_FOREIGN] = "is no database of known code",
        [DATABASE_NEWER] = "was made by a newer cuvet, which this one does not understand",
        [DATABASE_OLDER] =
            "was made by an older cuvet, whose fingerprints are others; cuvet known reset begins it anew",
        [DATABASE_DAMAGED] = "is damaged; cuvet known reset begins it anew",
        [DATABASE_BUSY] = "is written to by somebody else, who does not end",
        [DATABASE_FULL] = "cannot be written: no room, or no right to",
        [DATABASE_TORN] =
            "was left by somebody who did not end writing; whoever writes next (known add) puts it right",
        [DATABASE_NO_MEMORY] = "out of memory",
        [DATABASE_IO] = "cannot be read or written",
    };

    return TEXT[state];
}

int database_state_exit(database_state state)
{
    return state == DATABASE_OK ? CLI_X_CLEAN : state == DATABASE_NO_MEMORY ? CLI_X_INTERNAL : CLI_X_IO;
}

database_state database_state_of(int rc)
{
    switch (rc & UINT8_MAX) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return DATABASE_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return DATABASE_BUSY;
    case SQLITE_READONLY:
        if (rc == SQLITE_READONLY_ROLLBACK)
            return DATABASE_TORN;
        return DATABASE_FULL;
    case SQLITE_FULL:
    case SQLITE_PERM: return DATABASE_FULL;
    case SQLITE_NOMEM: return DATABASE_NO_MEMORY;
    case SQLITE_NOTADB: return DATABASE_FOREIGN;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH: return DATABASE_IO;
    default: return DATABASE_DAMAGED;
    }
}

/* ---- statements ---- */

bool cli_database_load(void)
{
    void *lib = dlopen(CLI_SQLITE_SO, RTLD_NOW | RTLD_LOCAL), *found;
    bool all = lib != NULL;

    /* POSIX: a function's address goes through void *, which C has no cast for. */
#define TAKE(name)                                                                                           \
    found = all ? dlsym(lib, #name) : NULL;                                                                  \
    memcpy(&sq.name, &found, sizeof(found));                                                                 \
    all = all && found;
    OF_SQLITE(TAKE)
#undef TAKE
    if (all && sq.sqlite3_initialize() == SQLITE_OK)
        return true;
    cli_complain(NULL, "known code needs a library: %s", all ? "it does not start" : dlerror());
    return false;
}

database_state database_run(cli_database *database, const char *sql)
{
    return database_state_of(sq.sqlite3_exec(database->handle, sql, NULL, NULL, NULL));
}

database_state database_prepare(cli_database *database, const char *sql, sqlite3_stmt **out)
{
    return database_state_of(sq.sqlite3_prepare_v2(database->handle, sql, -1, out, NULL));
}

database_state database_ready(cli_database *database, database_statement which, sqlite3_stmt **out)
{
    database_state state = DATABASE_OK;

    if (!database->made[which])
        state = database_prepare(database, SQL[which], &database->made[which]);
    *out = database->made[which];
    return state;
}

void database_bind_digest(sqlite3_stmt *made, int place, const cli_digest *digest)
{
    (void)sq.sqlite3_bind_blob(made, place, digest->byte, sizeof(digest->byte), SQLITE_STATIC);
}

/* A step that gives no row. */
database_state database_finish(sqlite3_stmt *made)
{
    (void)sq.sqlite3_step(made); /* reset says how it went */
    return database_state_of(sq.sqlite3_reset(made));
}

database_state database_number(cli_database *database, const char *sql, int64_t *out)
{
    sqlite3_stmt *made = NULL;
    database_state state = database_prepare(database, sql, &made);
    int rc = SQLITE_DONE;

    *out = 0;
    if (state == DATABASE_OK)
        rc = sq.sqlite3_step(made);
    if (rc == SQLITE_ROW)
        *out = sq.sqlite3_column_int64(made, 0);
    return state == DATABASE_OK ? database_state_of(sq.sqlite3_finalize(made)) : state;
}

/* ---- opening ---- */

static database_state make_tables(cli_database *database)
{
    database_state state = DATABASE_OK;
    char pragma[96];

    for (size_t i = 0; state == DATABASE_OK && i < sizeof(TABLE) / sizeof(TABLE[0]); i++)
        state = database_run(database, TABLE[i][1]);
    snprintf(pragma, sizeof(pragma), "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION,
             VERSION);
    return state == DATABASE_OK ? database_run(database, pragma) : state;
}

/* Exactly our tables: no view, no trigger, no column that is computed. */
static database_state check_tables(cli_database *database)
{
    sqlite3_stmt *made = NULL;
    database_state state = database_prepare(
        database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", &made);
    size_t count = 0;
    bool same = true;

    while (state == DATABASE_OK && sq.sqlite3_step(made) == SQLITE_ROW) {
        const char *text = (const char *)sq.sqlite3_column_text(made, 0);

        same = same && count < sizeof(TABLE) / sizeof(TABLE[0]) && text && strcmp(text, TABLE[count][1]) == 0;
        count++;
    }
    if (state == DATABASE_OK)
        state = database_state_of(sq.sqlite3_finalize(made));
    same = same && count == sizeof(TABLE) / sizeof(TABLE[0]);
    return state == DATABASE_OK && !same ? DATABASE_DAMAGED : state;
}

/* In a transaction, so that all is of one moment. @param empty nothing was ever written into it */
static database_state check_header(cli_database *database, bool *empty)
{
    int64_t application, version, tables;
    database_state state = database_number(database, "SELECT count(*) FROM sqlite_schema", &tables);

    *empty = false;
    if (state == DATABASE_OK)
        state = database_number(database, "PRAGMA application_id", &application);
    if (state == DATABASE_OK)
        state = database_number(database, "PRAGMA user_version", &version);
    if (state != DATABASE_OK)
        return state;
    *empty = tables == 0 && application == 0 && version == 0;
    return application != APPLICATION ? DATABASE_FOREIGN
           : version > VERSION        ? DATABASE_NEWER
           : version < VERSION        ? DATABASE_OLDER
                                      : DATABASE_OK;
}

static database_state check(cli_database *database, database_mode mode)
{
    bool empty = false;
    database_state state = database_run(database, "BEGIN"), ended;

    if (state != DATABASE_OK)
        return state;
    state = check_header(database, &empty);
    ended = database_run(database, "COMMIT");
    if (state == DATABASE_OK)
        state = ended;
    if (empty && mode == DATABASE_MAKE) {
        /* Two may begin it at the same time: it is asked again by the one who has it. */
        state = database_run(database, "BEGIN IMMEDIATE");
        if (state != DATABASE_OK)
            return state;
        state = check_header(database, &empty);
        if (empty)
            state = make_tables(database);
        if (state == DATABASE_OK)
            state = database_run(database, "COMMIT");
    }
    return state == DATABASE_OK ? check_tables(database) : state;
}

static database_state begin(cli_database *database)
{
    (void)sq.sqlite3_busy_timeout(database->handle, BUSY_MS);
    (void)sq.sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, VALUE_MOST);
    /* Nothing that stands in the schema is run. These exist since 3.37, and cannot fail. */
    (void)sq.sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sq.sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sq.sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sq.sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return database_run(database, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0");
}

database_state database_open(cli_database **out, const char *path, database_mode mode)
{
    static const int FLAGS[] = { [DATABASE_READ] = SQLITE_OPEN_READONLY,
                                 [DATABASE_WRITE] = SQLITE_OPEN_READWRITE,
                                 [DATABASE_MAKE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE };
    cli_database *database = calloc(1, sizeof(*database));
    database_state state;

    *out = NULL;
    if (!database)
        return DATABASE_NO_MEMORY;
    state =
        database_state_of(sq.sqlite3_open_v2(path, &database->handle,
                                             FLAGS[mode] | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                                                 SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE,
                                             NULL));
    if (state == DATABASE_OK)
        state = begin(database);
    if (state == DATABASE_OK)
        state = check(database, mode);
    if (state == DATABASE_OK)
        *out = database;
    else
        database_close(database);
    return state;
}

static database_state check_all(cli_database *database)
{
    sqlite3_stmt *made = NULL;
    database_state state = database_prepare(database, "PRAGMA quick_check(1)", &made);
    bool good = false;

    if (state == DATABASE_OK && sq.sqlite3_step(made) == SQLITE_ROW) {
        const char *text = (const char *)sq.sqlite3_column_text(made, 0);

        good = text && strcmp(text, "ok") == 0;
    }
    if (state == DATABASE_OK)
        state = database_state_of(sq.sqlite3_finalize(made));
    return state == DATABASE_OK && !good ? DATABASE_DAMAGED : state;
}

database_state database_open_bytes(cli_database **out, void *bytes, size_t size)
{
    cli_database *database = calloc(1, sizeof(*database));
    database_state state = DATABASE_NO_MEMORY;
    uint64_t length = size; /* a size of 32 bits is always below the limit, which compilers complain of */

    *out = NULL;
    if (!database)
        return state;
    if (length > INT64_MAX)
        state = DATABASE_FOREIGN;
    else
        state = database_state_of(
            sq.sqlite3_open_v2(":memory:", &database->handle,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL));
    if (state == DATABASE_OK)
        state = begin(database);
    if (state == DATABASE_OK) /* borrowed: the caller frees it */
        state = database_state_of(sq.sqlite3_deserialize(database->handle, "main", bytes, (sqlite3_int64)size,
                                                         (sqlite3_int64)size, SQLITE_DESERIALIZE_READONLY));
    if (state == DATABASE_OK)
        state = check(database, DATABASE_READ);
    if (state == DATABASE_OK)
        state = check_all(database);
    if (state == DATABASE_OK)
        *out = database;
    else
        database_close(database);
    return state;
}

void database_close(cli_database *database)
{
    if (!database)
        return;
    for (size_t i = 0; i < N_STATEMENTS; i++)
        (void)sq.sqlite3_finalize(database->made[i]); /* how it went was said by its last step */
    (void)sq.sqlite3_close(database->handle);         /* nothing is under way */
    free(database);
}

database_state database_set_aside(cli_database *database)
{
    database_state state = database->aside ? DATABASE_OK : database_run(database, ASIDE);

    database->aside = state == DATABASE_OK;
    return state;
}

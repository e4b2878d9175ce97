/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Known code: what it is called, and where it is met again. */
#include "known/known.h"

#include "known/keeper.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLD_MOST = 100, OLD_CAP = 4096 };

static int run_lookup(cli_args *args, const char *database)
{
    cli_session session = { .args = args, .depth = CUVET_DEPTH_FULL };
    cli_needs needs = CLI_NO_NEEDS;
    bool json = args->value[CLI_O_FORMAT] && strcmp(args->value[CLI_O_FORMAT], "ndjson") == 0;
    cli_known *known;
    int rc = cli_known_start(&known, &session, &needs, database, json);

    if (rc != CLI_X_CLEAN)
        return rc;
    rc = cli_session_run(&session);
    return cli_worse(rc, cli_known_end(known, args->value[CLI_O_FAIL_ON]));
}

static int run_add(cli_args *args, const char *database)
{
    cli_session session = { .args = args, .depth = CUVET_DEPTH_FULL };
    cli_needs needs = CLI_NO_NEEDS;
    const char *as = args->value[CLI_O_AS];
    cli_known *known;
    int rc;

    if (as && !known_name_ok(as, strlen(as))) {
        cli_complain(as, "--as takes a name of one line, of at most %d bytes", KNOWN_SOURCE_MOST);
        return CLI_X_USAGE;
    }
    rc = cli_known_start_adding(&known, &session, &needs, database, as);
    if (rc != CLI_X_CLEAN)
        return rc;
    rc = cli_session_run(&session);
    return cli_worse(rc, cli_known_end(known, NULL));
}

/* ---- other databases ---- */

typedef struct known_run {
    const cli_args *args;
    cli_keeper keeper;
    bool json, gone;
    uint64_t told;
    cli_record record;
    int rc;
} known_run;

static bool hand_on(void *user, const known_order *order, const char *text)
{
    known_run *run = user;

    run->told += order->verb != KNOWN_SOURCE;
    run->gone = !cli_keeper_tell(&run->keeper, order, text);
    return !run->gone;
}

static bool name_source(void *user, const known_order *order, const char *text)
{
    uint64_t *left = user; /* all of them come first */

    if (order->verb == KNOWN_SOURCE && *left > 0) {
        --*left;
        fputs("  ", stdout);
        cli_put(stdout, text, order->n_text);
        putchar('\n');
    }
    return true;
}

static database_state take_over(known_run *run, cli_database *database)
{
    return database_each(database, hand_on, run);
}

static database_state tell(known_run *run, cli_database *database)
{
    database_counts counts = { .sources = 0 };
    database_state state = database_count(database, &counts);

    (void)run;
    if (state != DATABASE_OK)
        return state;
    printf("%" PRIu64 " sources, %" PRIu64 " pieces, %" PRIu64 " kernels; %" PRIu64 " verdicts of %" PRIu64
           " bytes\n",
           counts.sources, counts.pieces, counts.kernels, counts.verdicts, counts.verdict_bytes);
    return database_each(database, name_source, &counts.sources);
}

typedef database_state known_fn(known_run *run, cli_database *database);

/* Somebody else's database is an input like any other: it is read in the cage, from memory. */
static void with_database(known_run *run, const cli_input *in, known_fn *with)
{
    cli_database *database = NULL;
    const char *why = in->why;
    void *bytes = NULL;
    cuvet_status status = CUVET_OK;
    database_state state;

    if (!why)
        status = cli_input_load(in, &run->args->limits, &bytes, &why);
    if (in->why || status != CUVET_OK) {
        cli_complain(in->name, "%s", why ? why : cli_status_text(status));
        run->rc = cli_worse(run->rc, in->why ? in->rc : cli_exit_of(status));
        free(bytes);
        return;
    }
    state = database_open_bytes(&database, bytes, (size_t)in->source.length);
    if (state == DATABASE_OK)
        state = with(run, database);
    if (state != DATABASE_OK && !run->gone) {
        cli_complain(in->name, "%s", database_state_text(state));
        run->rc = cli_worse(run->rc, database_state_exit(state));
    }
    database_close(database);
    free(bytes);
}

static bool on_merge(void *user, cli_input *in)
{
    with_database(user, in, take_over);
    return !((known_run *)user)->gone;
}

static bool on_info(void *user, cli_input *in)
{
    with_database(user, in, tell);
    return true;
}

static int run_merge(cli_args *args, const char *database)
{
    const cli_keeper_options options = { .purpose = KNOWN_FOR_ADDING, .path = database };
    known_run run = { .args = args, .keeper = CLI_NO_KEEPER };
    cli_needs needs = CLI_NO_NEEDS;
    uint64_t fresh = 0;
    int rc;

    if (!cli_load_hash() || !cli_database_load())
        return CLI_X_IO;
    rc = cli_keeper_start(&run.keeper, &options);
    if (rc != CLI_X_CLEAN)
        return rc;
    needs.helper = run.keeper.fd;
    rc = cli_each_input(args, &needs, on_merge, &run);
    rc = cli_worse(rc, run.rc);
    if (rc != CLI_X_CLEAN) { /* nothing of it is taken: the keeper forgets what it was not told the end of */
        (void)close(run.keeper.fd);
        return rc;
    }
    rc = cli_keeper_end(&run.keeper, &fresh);
    if (rc == CLI_X_CLEAN)
        printf("%" PRIu64 " rows, %" PRIu64 " of them new\n", run.told, fresh);
    return rc;
}

static int run_info(cli_args *args)
{
    known_run run = { .args = args, .keeper = CLI_NO_KEEPER };
    int rc;

    if (!cli_database_load())
        return CLI_X_IO;
    rc = cli_each_input(args, NULL, on_info, &run);
    return cli_worse(rc, run.rc);
}

/* What was there keeps its bytes under another name. */
static int run_reset(const char *database)
{
    const cli_keeper_options options = { .purpose = KNOWN_FOR_ADDING, .path = database };
    cli_keeper keeper = CLI_NO_KEEPER;
    char old[OLD_CAP] = "";
    struct stat st;
    bool moved = false;
    int rc;

    if (!cli_database_load())
        return CLI_X_IO;
    if (stat(database, &st) == 0 && !S_ISREG(st.st_mode)) {
        cli_complain(database, "is no file");
        return CLI_X_IO;
    }
    for (int i = 1; !moved && i <= OLD_MOST; i++) {
        int len = snprintf(old, sizeof(old), "%s.old.%d", database, i);

        if (len < 0 || (size_t)len >= sizeof(old))
            break;
        moved = renameat2(AT_FDCWD, database, AT_FDCWD, old, RENAME_NOREPLACE) == 0;
        if (!moved && errno != EEXIST)
            break;
    }
    if (!moved && errno != ENOENT) {
        cli_complain(database, "cannot be renamed: %s", strerror(errno));
        return CLI_X_IO;
    }
    if (moved) {
        cli_put_str(stdout, old);
        fputs(" is what was there\n", stdout);
    }
    rc = cli_keeper_start(&keeper, &options);
    return cli_worse(rc, cli_keeper_end(&keeper, NULL));
}

static bool is_action(const char *action)
{
    static const char *const ACTION[] = { "add", "lookup", "merge", "info", "reset" };
    cli_suggestion suggestion = { .given = action };

    for (size_t i = 0; i < sizeof(ACTION) / sizeof(ACTION[0]); i++) {
        if (strcmp(action, ACTION[i]) == 0)
            return true;
        cli_suggest_word(&suggestion, ACTION[i], strlen(ACTION[i]));
    }
    cli_complain(action, "known takes add, lookup, merge, info or reset, then the database");
    cli_suggest_end(&suggestion, "");
    return false;
}

static int run_action(cli_args *args)
{
    const char *action = args->operands[0];
    char *database = args->operands[1];
    bool alone;

    args->operands += 2;
    args->n_operands -= 2;
    alone = strcmp(action, "info") == 0 || strcmp(action, "reset") == 0;
    if (alone && args->n_operands > 0) {
        cli_complain(args->operands[0], "known %s takes a database and no more", action);
        return CLI_X_USAGE;
    }
    if (strcmp(action, "info") == 0) {
        args->operands--; /* the database itself is the input */
        args->n_operands = 1;
        return run_info(args);
    }
    if (strcmp(action, "reset") == 0)
        return run_reset(database);
    if (!cli_has_inputs(args))
        return CLI_X_USAGE;
    return strcmp(action, "lookup") == 0 ? run_lookup(args, database)
           : strcmp(action, "add") == 0  ? run_add(args, database)
                                         : run_merge(args, database);
}

int cmd_known(int argc, char **argv)
{
    cli_args args;
    int rc;

    if (!cli_parse(CLI_C_KNOWN, argc, argv, &args, &rc))
        return rc;
    if (!is_action(args.n_operands > 0 ? args.operands[0] : ""))
        return CLI_X_USAGE;
    if (args.n_operands < 2) {
        cli_complain(args.operands[0], "the database is missing");
        return CLI_X_USAGE;
    }
    rc = run_action(&args);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}

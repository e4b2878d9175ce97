/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "printing.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

typedef struct map_run {
    cli_printing printing;
    bool package; /* a file of one was told */
    bool over;    /* nothing more of this file is told */
    int rc;
} map_run;

/* What a line costs beside its path: more than it has. A file may be unpacked to millions of sections. */
#define TEXT_LINE 48
#define JSON_LINE 160

/* False: no more of this file is told. */
static bool spend_claim(map_run *run, const cli_session *session, const cuvet_claim_info *claim, size_t count)
{
    if (run->over)
        return false;
    if (cli_printing_spend(&run->printing, count))
        return true;
    run->printing.by_file = true;
    run->over = true;
    run->rc = cli_worse(run->rc, cli_printing_end(&run->printing, session, &claim->where, "the map"));
    return false;
}

static void claim_text(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    char path[CLI_PATH_CAP];
    int indent = 2 * (int)(claim->where.n < CUVET_PATH_MAX ? claim->where.n : CUVET_PATH_MAX) +
                 ((claim->flags & CUVET_CLAIM_INNER) != 0 ? 2 : 0);

    cli_path(&claim->where, path, sizeof(path));
    if (!spend_claim(user, session, claim, TEXT_LINE + (size_t)indent + strlen(path)))
        return;
    printf("%*s%s0x%08" PRIx64 "  %10" PRIu64 "  %s", indent, "",
           (claim->flags & CUVET_CLAIM_INNER) != 0 ? "~" : " ", claim->off, claim->length, claim->owner);
    if (strcmp(claim->owner, "section") == 0)
        printf(" %" PRIu32, claim->index);
    if (*path)
        printf("  %s", path);
    puts((claim->flags & CUVET_CLAIM_SHARED) != 0 ? "  shared" : "");
}

static void claim_json(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    char path[CLI_PATH_CAP];
    json_t *object;

    cli_path(&claim->where, path, sizeof(path));
    if (!spend_claim(user, session, claim, JSON_LINE + strlen(path) + strlen(session->in->name)))
        return;
    object = cli_json_begin("claim", session->in->name);
    cli_json_set(object, "path", json_string(path));
    cli_json_set(object, "owner", json_string(claim->owner));
    if (strcmp(claim->owner, "section") == 0)
        cli_json_set(object, "index", cli_json_u64(claim->index));
    cli_json_set(object, "inner", json_boolean((claim->flags & CUVET_CLAIM_INNER) != 0));
    cli_json_set(object, "offset", cli_json_u64(claim->off));
    cli_json_set(object, "length", cli_json_u64(claim->length));
    cli_json_set(object, "shared", json_boolean((claim->flags & CUVET_CLAIM_SHARED) != 0));
    cli_json_put(object);
}

static void begin_json(void *user, const cli_session *session)
{
    map_run *run = user;

    run->over = false;
    if (run->package && session->in->what == CLI_ENTRY)
        cli_printing_next(&run->printing, session);
    else
        cli_printing_begin(&run->printing, session);
    run->package = session->in->what == CLI_ENTRY;
}

static void begin_text(void *user, const cli_session *session)
{
    begin_json(user, session);
    if (session->in->why)
        return;
    cli_put_str(stdout, session->in->name);
    printf("  %" PRIu64 " bytes\n", session->in->source.length);
}

static void end_text(void *user, const cli_session *session, const cli_result *result)
{
    (void)user;
    if (session->in->what == CLI_PACKAGE)
        cli_put_package(session);
    else
        cli_point_to_scan(session, &result->sum);
}

int cmd_map(int argc, char **argv)
{
    cli_args args;
    cli_sink sink = { .begin = begin_text, .claim = claim_text, .end = end_text };
    map_run run = { .rc = CLI_X_CLEAN };
    cli_session session = { .args = &args, .sink = &sink, .user = &run, .depth = CUVET_DEPTH_FULL };
    int rc;

    if (!cli_parse(CLI_C_MAP, argc, argv, &args, &rc))
        return rc;
    if (args.n_operands > 1) {
        cli_complain(NULL, "one file at a time");
        return CLI_X_USAGE;
    }
    if (args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0) {
        sink = cli_ndjson_sink;
        sink.member = NULL;
        sink.claim = claim_json;
        sink.begin = begin_json;
    }
    rc = cli_session_run(&session); /* before run.rc is looked at */
    rc = cli_worse(rc, run.rc);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}

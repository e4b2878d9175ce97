/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <inttypes.h>
#include <string.h>

static void claim_text(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    char path[CLI_PATH_CAP];
    int indent =
        2 * (int)(claim->where.n < CUVET_PATH_MAX ? claim->where.n : CUVET_PATH_MAX) + (claim->inner ? 2 : 0);

    (void)user;
    (void)session;
    cli_path(&claim->where, path, sizeof(path));
    printf("%*s%s0x%08" PRIx64 "  %10" PRIu64 "  %s", indent, "", claim->inner ? "~" : " ", claim->off,
           claim->length, claim->owner);
    if (strcmp(claim->owner, "section") == 0)
        printf(" %" PRIu32, claim->index);
    if (*path)
        printf("  %s", path);
    puts(claim->shared ? "  shared" : "");
}

static void claim_json(void *user, const cli_session *session, const cuvet_claim_info *claim)
{
    char path[CLI_PATH_CAP];
    json_t *object = cli_json_begin("claim", session->in->name);

    (void)user;
    cli_path(&claim->where, path, sizeof(path));
    cli_json_set(object, "path", json_string(path));
    cli_json_set(object, "owner", json_string(claim->owner));
    if (strcmp(claim->owner, "section") == 0)
        cli_json_set(object, "index", cli_json_u64(claim->index));
    cli_json_set(object, "inner", json_boolean(claim->inner));
    cli_json_set(object, "offset", cli_json_u64(claim->off));
    cli_json_set(object, "length", cli_json_u64(claim->length));
    cli_json_set(object, "shared", json_boolean(claim->shared));
    cli_json_put(object);
}

static void begin_text(void *user, const cli_session *session)
{
    (void)user;
    if (session->in->why)
        return;
    cli_put_str(stdout, session->in->name);
    printf("  %" PRIu64 " bytes\n", session->in->source.length);
}

static void end_text(void *user, const cli_session *session, const cli_result *result)
{
    (void)user;
    cli_point_to_scan(session, &result->sum);
}

int cmd_map(int argc, char **argv)
{
    cli_args args;
    cli_sink sink = { .begin = begin_text, .claim = claim_text, .end = end_text };
    cli_session session = { .args = &args, .sink = &sink, .depth = CUVET_DEPTH_FULL };
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
    }
    rc = cli_session_run(&session);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}

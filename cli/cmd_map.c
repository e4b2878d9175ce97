/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "report.h"

#include <inttypes.h>
#include <string.h>

static void claim_text(void *user, const cli_session *s, const cuvet_claim_info *c)
{
    char path[CLI_PATH_CAP];
    int indent = 2 * (int)(c->where.n < CUVET_PATH_MAX ? c->where.n : CUVET_PATH_MAX) + (c->inner ? 2 : 0);

    (void)user;
    (void)s;
    cli_path(&c->where, path, sizeof(path));
    printf("%*s%s0x%08" PRIx64 "  %10" PRIu64 "  %s", indent, "", c->inner ? "~" : " ", c->off, c->length,
           c->owner);
    if (strcmp(c->owner, "section") == 0)
        printf(" %" PRIu32, c->index);
    if (*path)
        printf("  %s", path);
    puts(c->shared ? "  shared" : "");
}

static void claim_json(void *user, const cli_session *s, const cuvet_claim_info *c)
{
    char path[CLI_PATH_CAP];
    json_t *o = cli_json_begin("claim", s->in->name);

    (void)user;
    cli_path(&c->where, path, sizeof(path));
    cli_json_set(o, "path", json_string(path));
    cli_json_set(o, "owner", json_string(c->owner));
    if (strcmp(c->owner, "section") == 0)
        cli_json_set(o, "index", cli_json_u64(c->index));
    cli_json_set(o, "inner", json_boolean(c->inner));
    cli_json_set(o, "offset", cli_json_u64(c->off));
    cli_json_set(o, "length", cli_json_u64(c->length));
    cli_json_set(o, "shared", json_boolean(c->shared));
    cli_json_put(o);
}

static void begin_text(void *user, const cli_session *s)
{
    (void)user;
    if (s->in->why)
        return;
    cli_put_str(stdout, s->in->name);
    printf("  %" PRIu64 " bytes\n", s->in->source.length);
}

static void end_text(void *user, const cli_session *s, const cli_result *r)
{
    (void)user;
    cli_point_to_scan(s, &r->sum);
}

int cmd_map(int argc, char **argv)
{
    cli_args a;
    cli_sink sink = { .begin = begin_text, .claim = claim_text, .end = end_text };
    cli_session s = { .args = &a, .sink = &sink, .depth = CUVET_DEPTH_FULL };
    int rc;

    if (!cli_parse(CLI_C_MAP, argc, argv, &a, &rc))
        return rc;
    if (a.n_operands > 1) {
        cli_complain(NULL, "one file at a time");
        return CLI_X_USAGE;
    }
    if (a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0) {
        sink = cli_ndjson_sink;
        sink.member = NULL;
        sink.claim = claim_json;
    }
    rc = cli_session_run(&s);
    return cli_finish_stdout(cli_json_ok() ? rc : cli_worse(rc, CLI_X_INTERNAL));
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Which member of a file goes to a target, and why the others do not. */
#include "outfile.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

typedef struct selection {
    const cli_args *args;
    cuvet_input_config cfg;
    cli_broker broker;
    bool json;
    cli_outfile out;
    FILE *to; /* what is said goes there: standard output, unless that gets the bytes */
    /* while a file is looked at */
    const char *file;
    cuvet_ctx *ctx;
    int rc;
} selection;

static const char *code_prefix(cuvet_kind k)
{
    return k == CUVET_K_PTX ? "compute_" : k == CUVET_K_LTOIR ? "lto_" : "sm_";
}

/* What was chosen or made: IR of whatever kind is one word. */
static const char *made_of(cuvet_kind k)
{
    return k == CUVET_K_NONE    ? "none"
           : k == CUVET_K_CUBIN ? "cubin"
           : k == CUVET_K_LTOIR ? "ir"
                                : cuvet_kind_name(k);
}

static void target_text(const char *prefix, uint32_t sm, char suffix, char *out, size_t cap)
{
    if (sm == 0)
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%s%" PRIu32 "%.1s", prefix, sm, suffix ? &suffix : "");
}

static void on_diag(void *user, const cuvet_diag *d)
{
    selection *s = user;
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP];
    json_t *o;

    if (d->severity != CUVET_NOTE)
        s->rc = cli_worse(s->rc, rule && rule->cls == CUVET_C_LIMIT ? CLI_X_LIMIT : CLI_X_FINDINGS);
    cli_path(&d->where, path, sizeof(path));
    cli_message(d, message, sizeof(message));
    if (s->json) {
        o = cli_json_begin("finding", s->file);
        cli_json_set(o, "rule", json_string(rule ? rule->id : "?"));
        cli_json_set(o, "severity", json_string(cuvet_severity_name(d->severity)));
        cli_json_set(o, "path", json_string(path));
        cli_json_set(o, "offset", cli_json_u64(d->inner ? d->inner_off : d->file_off));
        cli_json_set(o, "inner", json_boolean(d->inner));
        cli_json_set(o, "message", cli_json_text(message));
        cli_json_put(o);
        return;
    }
    fprintf(s->to, "  %-7s  %s  %s  at 0x%" PRIx64 "\n           ", cuvet_severity_name(d->severity),
            rule ? rule->id : "?", *path ? path : "file", d->inner ? d->inner_off : d->file_off);
    cli_put_str(s->to, message);
    fputc('\n', s->to);
}

static void candidate_json(const selection *s, uint64_t index, const cuvet_candidate *c)
{
    char path[CLI_PATH_CAP], arch[40];
    json_t *o = cli_json_begin("candidate", s->file);

    cli_path(&c->where, path, sizeof(path));
    target_text(code_prefix(c->kind), c->sm, c->suffix, arch, sizeof(arch));
    cli_json_set(o, "index", cli_json_u64(index));
    cli_json_set(o, "path", json_string(path));
    cli_json_set(o, "kind", json_string(cuvet_kind_name(c->kind)));
    cli_json_set(o, "arch", json_string(arch));
    cli_json_set(o, "rank", cli_json_u64(c->rank));
    cli_json_set(o, "reason", json_string(cuvet_reason_text(c->reason)));
    cli_json_set(o, "chosen", json_boolean(c->chosen));
    cli_json_set(o, "depth", cli_json_u64(c->depth));
    cli_json_set(o, "reference_reads_it", json_boolean(c->first_container));
    cli_json_set(o, "offset", cli_json_u64(c->header_off));
    cli_json_set(o, "stored", cli_json_u64(c->stored_size));
    cli_json_put(o);
}

static void candidate_text(FILE *to, const cuvet_candidate *c)
{
    char path[CLI_PATH_CAP], arch[40], rank[24] = "-";

    cli_path(&c->where, path, sizeof(path));
    target_text(code_prefix(c->kind), c->sm, c->suffix, arch, sizeof(arch));
    if (c->rank)
        snprintf(rank, sizeof(rank), "%" PRIu32, c->rank);
    fprintf(to, "  %c %4s  %-6s  %-12s  %10" PRIu64 "  %-26s  %s\n", c->chosen ? '*' : ' ', rank,
            cuvet_kind_name(c->kind), arch, c->stored_size, *path ? path : "file",
            cuvet_reason_text(c->reason));
}

static void put_candidates(const selection *s, cuvet_input in)
{
    cuvet_candidate c = { .size = sizeof(c) };

    if (!s->json)
        fprintf(s->to, "    %4s  %-6s  %-12s  %10s  %-26s  %s\n", "RANK", "KIND", "FOR", "STORED", "PATH",
                "WHY");
    for (uint64_t i = 0; cuvet_input_get_candidate(s->ctx, in, i, &c) == CUVET_OK; i++) {
        if (s->json)
            candidate_json(s, i, &c);
        else
            candidate_text(s->to, &c);
    }
}

static void put_log(const selection *s, cuvet_input in)
{
    const char *log;
    size_t n;

    if (cuvet_input_get_log(s->ctx, in, &log, &n) != CUVET_OK || n == 0)
        return;
    for (const char *line = log; line < log + n;) {
        size_t len = strcspn(line, "\n");

        fputs("cuvet: compiler: ", stderr);
        cli_put(stderr, line, len);
        fputc('\n', stderr);
        line += len + (line[len] == '\n');
    }
}

static void put_result(const selection *s, cuvet_input in, cuvet_status st)
{
    cuvet_result r = { .size = sizeof(r) };
    char arch[40], target[40];
    json_t *o;

    if (st == CUVET_OK && cuvet_input_get_result(s->ctx, in, &r) != CUVET_OK)
        r = (cuvet_result){ 0 };
    target_text(r.kind == CUVET_K_PTX ? "compute_" : "sm_", r.sm, r.suffix, arch, sizeof(arch));
    target_text("sm_", s->cfg.target.sm, s->cfg.target.suffix, target, sizeof(target));
    if (s->json) {
        o = cli_json_begin("selection", s->file);
        cli_json_set(o, "target", json_string(target));
        cli_json_set(o, "status", json_string(cuvet_status_name(st)));
        cli_json_set(o, "match", json_string(made_of(r.kind)));
        cli_json_set(o, "arch", json_string(arch));
        cli_json_set(o, "compiled", json_boolean(r.compiled));
        cli_json_set(o, "size", cli_json_u64(r.n));
        cli_json_set(o, "candidate", st == CUVET_OK ? cli_json_u64(r.candidate) : json_null());
        cli_json_put(o);
    } else if (st == CUVET_OK) {
        fprintf(s->to, "  %s: %s for %s, %zu bytes%s\n", target, made_of(r.kind), arch, r.n,
                r.compiled ? ", compiled" : "");
    } else {
        fprintf(s->to, "  %s: nothing: %s\n", target, cli_status_text(st));
    }
}

static int save(selection *s, cuvet_input in)
{
    cuvet_result r = { .size = sizeof(r) };
    cuvet_status st = cuvet_input_get_result(s->ctx, in, &r);

    if (st == CUVET_OK)
        st = cli_outfile_save(&s->out, r.bytes, r.n);
    if (st == CUVET_OK)
        return CLI_X_CLEAN;
    cli_complain(s->out.draft.name ? s->out.draft.name : s->out.path, "%s", cli_status_text(st));
    return cli_exit_of(st);
}

static cuvet_status run(selection *s, const void *bytes, size_t n)
{
    cuvet_input in = { 0 };
    cuvet_status st = cuvet_input_create(s->ctx, &s->cfg, &in);

    if (st == CUVET_OK && s->broker.compiler.compile)
        st = cuvet_input_set_compiler(s->ctx, in, &s->broker.compiler);
    if (st == CUVET_OK)
        st = cuvet_input_bind(s->ctx, in, bytes, n, CUVET_BIND_BORROW, NULL);
    if (st == CUVET_OK) {
        st = cuvet_input_select(s->ctx, in);
        put_candidates(s, in);
        put_log(s, in);
    }
    put_result(s, in, st);
    if (st == CUVET_OK && s->out.path)
        s->rc = cli_worse(s->rc, save(s, in));
    if (in.bits && cuvet_input_destroy(s->ctx, &in) != CUVET_OK)
        return CUVET_E_INTERNAL;
    return st;
}

static bool on_input(void *user, cli_input *in)
{
    selection *s = user;
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &s->args->limits, .diag = on_diag, .diag_user = s
    };
    void *bytes = NULL;
    const char *why;
    cuvet_status st;

    s->file = in->name;
    if (in->why) {
        cli_complain(in->name, "%s", in->why);
        s->rc = cli_worse(s->rc, in->rc);
        return true;
    }
    if (!s->json) {
        cli_put_str(s->to, in->name);
        fputc('\n', s->to);
    }
    st = cli_input_load(in, &s->args->limits, &bytes, &why);
    if (st == CUVET_OK)
        st = cuvet_ctx_create(&co, &s->ctx);
    if (st == CUVET_OK)
        st = run(s, bytes, (size_t)in->source.length);
    else
        cli_complain(in->name, "%s", why ? why : cli_status_text(st));
    s->rc = cli_worse(s->rc, cli_exit_of(st));
    cuvet_ctx_destroy(s->ctx);
    s->ctx = NULL;
    free(bytes);
    return !ferror(stdout);
}

static bool configure(selection *s, const cli_args *a)
{
    const char *arch = a->value[CLI_O_ARCH], *policy = a->value[CLI_O_POLICY],
               *request = a->value[CLI_O_REQUEST];

    s->args = a;
    s->json = a->value[CLI_O_FORMAT] && strcmp(a->value[CLI_O_FORMAT], "ndjson") == 0;
    s->cfg = (cuvet_input_config){ .size = sizeof(s->cfg), .threads = a->jobs < 64 ? a->jobs : 64 };
    if (!arch || cuvet_target_parse(arch, &s->cfg.target) != CUVET_OK) {
        if (arch)
            (void)cli_no_target(arch); /* a usage error, as what is said below */
        else
            cli_complain(NULL, "select needs --arch, such as sm_90a");
        return false;
    }
    if (policy && strcmp(policy, "exact") == 0)
        s->cfg.policy = CUVET_ARCH_EXACT;
    if (request && strcmp(request, "link") != 0)
        s->cfg.request = strcmp(request, "sass") == 0  ? CUVET_REQUEST_SASS
                         : strcmp(request, "ptx") == 0 ? CUVET_REQUEST_PTX
                                                       : CUVET_REQUEST_LTOIR;
    if (a->n_operands == 0 || (a->value[CLI_O_OUTPUT] && a->n_operands > 1)) {
        cli_complain(NULL, a->n_operands ? "--output takes the result of one file"
                                         : "no input; name files, or - for standard input");
        return false;
    }
    if (s->json && a->value[CLI_O_OUTPUT] && strcmp(a->value[CLI_O_OUTPUT], "-") == 0) {
        cli_complain(NULL, "standard output takes the objects of --format=ndjson, or the result of -o -");
        return false;
    }
    return true;
}

int cmd_select(int argc, char **argv)
{
    cli_needs needs = CLI_NO_NEEDS;
    selection s = { .out = CLI_NO_OUTFILE };
    cli_porter porter = CLI_NO_PORTER;
    cli_args a;
    const char *why;
    int rc;

    if (!cli_parse(CLI_C_SELECT, argc, argv, &a, &rc))
        return rc;
    if (!configure(&s, &a))
        return CLI_X_USAGE;
    why = cli_outfile_open(&s.out, &porter, a.value[CLI_O_OUTPUT], a.set[CLI_O_FORCE]);
    if (why) {
        cli_complain(a.value[CLI_O_OUTPUT], "%s", why);
        return CLI_X_IO;
    }
    if (cli_outfile_collides((const cli_outfile *const[]){ &s.out }, 1, &a)) {
        cli_outfile_close(&s.out);
        return CLI_X_USAGE;
    }
    s.to = s.out.standard ? stderr : stdout;
    rc = cli_porter_begin(&porter);
    /* outside of the cage, asked through a broker that trusts nobody inside */
    if (rc == CLI_X_CLEAN)
        rc = cli_broker_begin(&s.broker, "compiler", a.value[CLI_O_COMPILER], &a.limits, &needs.broker);
    cli_porter_needs(&porter, &needs);
    if (rc == CLI_X_CLEAN)
        rc = cli_each_input(&a, &needs, on_input, &s);
    cli_broker_stop(&s.broker);
    cli_outfile_close(&s.out);
    cli_porter_stop(&porter);
    return cli_worse(rc, cli_worse(s.rc, cli_json_ok() ? CLI_X_CLEAN : CLI_X_INTERNAL));
}

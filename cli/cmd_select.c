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

typedef struct select_run {
    const cli_args *args;
    cuvet_select_options cfg;
    cli_broker broker;
    bool json;
    cli_outfile out;
    FILE *to; /* what is said goes there: standard output, unless that gets the bytes */
    /* while a file is looked at */
    const char *file;
    cuvet_ctx *ctx;
    int rc;
} select_run;

static const char *code_prefix(cuvet_kind kind)
{
    return kind == CUVET_K_PTX ? "compute_" : kind == CUVET_K_LTOIR ? "lto_" : "sm_";
}

/* What was chosen or made: IR of whatever kind is one word. */
static const char *made_of(cuvet_kind kind)
{
    return kind == CUVET_K_NONE    ? "none"
           : kind == CUVET_K_CUBIN ? "cubin"
           : kind == CUVET_K_LTOIR ? "ir"
                                   : cuvet_kind_name(kind);
}

static void target_text(const char *prefix, uint32_t sm, char suffix, char *out, size_t cap)
{
    if (sm == 0)
        snprintf(out, cap, "-");
    else
        snprintf(out, cap, "%s%" PRIu32 "%.1s", prefix, sm, suffix ? &suffix : "");
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    select_run *selection = user;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char path[CLI_PATH_CAP], message[CLI_MESSAGE_CAP];
    json_t *object;

    if (diag->severity != CUVET_NOTE)
        selection->rc =
            cli_worse(selection->rc, rule && rule->cls == CUVET_C_LIMIT ? CLI_X_LIMIT : CLI_X_FINDINGS);
    cli_path(&diag->where, path, sizeof(path));
    cli_message(diag, message, sizeof(message));
    if (selection->json) {
        object = cli_json_begin("finding", selection->file);
        cli_json_set(object, "rule", json_string(rule ? rule->id : "?"));
        cli_json_set(object, "severity", json_string(cuvet_severity_name(diag->severity)));
        cli_json_set(object, "path", json_string(path));
        cli_json_set(object, "offset",
                     cli_json_u64((diag->flags & CUVET_DIAG_INNER) != 0 ? diag->inner_off : diag->file_off));
        cli_json_set(object, "inner", json_boolean((diag->flags & CUVET_DIAG_INNER) != 0));
        cli_json_set(object, "message", cli_json_text(message));
        cli_json_put(object);
        return;
    }
    fprintf(selection->to, "  %-7s  %s  %s  at 0x%" PRIx64 "\n           ",
            cuvet_severity_name(diag->severity), rule ? rule->id : "?", *path ? path : "file",
            (diag->flags & CUVET_DIAG_INNER) != 0 ? diag->inner_off : diag->file_off);
    cli_put_str(selection->to, message);
    fputc('\n', selection->to);
}

static void candidate_json(const select_run *selection, uint64_t index, const cuvet_candidate *candidate)
{
    char path[CLI_PATH_CAP], arch[40];
    json_t *object = cli_json_begin("candidate", selection->file);

    cli_path(&candidate->where, path, sizeof(path));
    target_text(code_prefix(candidate->kind), candidate->sm, candidate->suffix, arch, sizeof(arch));
    cli_json_set(object, "index", cli_json_u64(index));
    cli_json_set(object, "path", json_string(path));
    cli_json_set(object, "kind", json_string(cuvet_kind_name(candidate->kind)));
    cli_json_set(object, "arch", json_string(arch));
    cli_json_set(object, "rank", cli_json_u64(candidate->rank));
    cli_json_set(object, "reason", json_string(cuvet_reason_text(candidate->reason)));
    cli_json_set(object, "chosen", json_boolean((candidate->flags & CUVET_CANDIDATE_CHOSEN) != 0));
    cli_json_set(object, "depth", cli_json_u64(candidate->depth));
    cli_json_set(object, "reference_reads_it",
                 json_boolean((candidate->flags & CUVET_CANDIDATE_FIRST_CONTAINER) != 0));
    cli_json_set(object, "offset", cli_json_u64(candidate->header_off));
    cli_json_set(object, "stored", cli_json_u64(candidate->stored_size));
    cli_json_put(object);
}

static void candidate_text(FILE *to, const cuvet_candidate *candidate)
{
    char path[CLI_PATH_CAP], arch[40], rank[24] = "-";

    cli_path(&candidate->where, path, sizeof(path));
    target_text(code_prefix(candidate->kind), candidate->sm, candidate->suffix, arch, sizeof(arch));
    if (candidate->rank)
        snprintf(rank, sizeof(rank), "%" PRIu32, candidate->rank);
    fprintf(to, "  %c %4s  %-6s  %-12s  %10" PRIu64 "  %-26s  %s\n",
            (candidate->flags & CUVET_CANDIDATE_CHOSEN) != 0 ? '*' : ' ', rank,
            cuvet_kind_name(candidate->kind), arch, candidate->stored_size, *path ? path : "file",
            cuvet_reason_text(candidate->reason));
}

static void put_candidates(const select_run *selection, cuvet_select in)
{
    cuvet_candidate candidate = { .size = sizeof(candidate) };

    if (!selection->json)
        fprintf(selection->to, "    %4s  %-6s  %-12s  %10s  %-26s  %s\n", "RANK", "KIND", "FOR", "STORED",
                "PATH", "WHY");
    for (uint64_t i = 0; cuvet_select_get_candidate(selection->ctx, in, i, &candidate) == CUVET_OK; i++) {
        if (selection->json)
            candidate_json(selection, i, &candidate);
        else
            candidate_text(selection->to, &candidate);
    }
}

static void put_log(const select_run *selection, cuvet_select in)
{
    const char *log;
    size_t count;

    if (cuvet_select_get_log(selection->ctx, in, &log, &count) != CUVET_OK || count == 0)
        return;
    for (const char *line = log; line < log + count;) {
        size_t len = strcspn(line, "\n");

        fputs("cuvet: compiler: ", stderr);
        cli_put(stderr, line, len);
        fputc('\n', stderr);
        line += len + (line[len] == '\n');
    }
}

static void put_result(const select_run *selection, cuvet_select in, cuvet_status status)
{
    cuvet_select_result result = { .size = sizeof(result) };
    char arch[40], target[40];
    json_t *object;

    if (status == CUVET_OK && cuvet_select_get_result(selection->ctx, in, &result) != CUVET_OK)
        result = (cuvet_select_result){ 0 };
    target_text(result.kind == CUVET_K_PTX ? "compute_" : "sm_", result.sm, result.suffix, arch,
                sizeof(arch));
    target_text("sm_", selection->cfg.target.sm, selection->cfg.target.suffix, target, sizeof(target));
    if (selection->json) {
        object = cli_json_begin("selection", selection->file);
        cli_json_set(object, "target", json_string(target));
        cli_json_set(object, "status", json_string(cuvet_status_name(status)));
        cli_json_set(object, "match", json_string(made_of(result.kind)));
        cli_json_set(object, "arch", json_string(arch));
        cli_json_set(object, "compiled", json_boolean((result.flags & CUVET_IMAGE_COMPILED) != 0));
        cli_json_set(object, "size", cli_json_u64(result.n));
        cli_json_set(object, "candidate", status == CUVET_OK ? cli_json_u64(result.candidate) : json_null());
        cli_json_put(object);
    } else if (status == CUVET_OK) {
        fprintf(selection->to, "  %s: %s for %s, %zu bytes%s\n", target, made_of(result.kind), arch, result.n,
                (result.flags & CUVET_IMAGE_COMPILED) != 0 ? ", compiled" : "");
    } else {
        fprintf(selection->to, "  %s: nothing: %s\n", target, cli_status_text(status));
    }
}

static int save_result(select_run *selection, cuvet_select in)
{
    cuvet_select_result result = { .size = sizeof(result) };
    cuvet_status status = cuvet_select_get_result(selection->ctx, in, &result);

    if (status == CUVET_OK)
        status = cli_outfile_save(&selection->out, result.bytes, result.n);
    if (status == CUVET_OK)
        return CLI_X_CLEAN;
    cli_complain(selection->out.draft.name ? selection->out.draft.name : selection->out.path, "%s",
                 cli_status_text(status));
    return cli_exit_of(status);
}

static cuvet_status select_from(select_run *selection, const void *bytes, size_t size)
{
    cuvet_select_options options = selection->cfg;
    cuvet_select in = { 0 };
    cuvet_status status;

    if (selection->broker.compiler.compile)
        options.compiler = &selection->broker.compiler;
    status = cuvet_select_create(selection->ctx, &options, &in);
    if (status == CUVET_OK)
        status = cuvet_select_bind(selection->ctx, in, bytes, size, CUVET_BIND_BORROW, NULL);
    if (status == CUVET_OK) {
        status = cuvet_select_run(selection->ctx, in);
        put_candidates(selection, in);
        put_log(selection, in);
    }
    put_result(selection, in, status);
    if (status == CUVET_OK && selection->out.path)
        selection->rc = cli_worse(selection->rc, save_result(selection, in));
    if (in.bits && cuvet_select_destroy(selection->ctx, &in) != CUVET_OK)
        return CUVET_E_INTERNAL;
    return status;
}

static bool on_input(void *user, cli_input *in)
{
    select_run *selection = user;
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &selection->args->limits, .diag = on_diag, .diag_user = selection
    };
    void *bytes = NULL;
    const char *why;
    cuvet_status status;

    selection->file = in->name;
    if (in->why) {
        cli_complain(in->name, "%s", in->why);
        selection->rc = cli_worse(selection->rc, in->rc);
        return true;
    }
    if (!selection->json) {
        cli_put_str(selection->to, in->name);
        fputc('\n', selection->to);
    }
    status = cli_input_load(in, &selection->args->limits, &bytes, &why);
    if (status == CUVET_OK)
        status = cuvet_ctx_create(&co, &selection->ctx);
    if (status == CUVET_OK)
        status = select_from(selection, bytes, (size_t)in->source.length);
    else
        cli_complain(in->name, "%s", why ? why : cli_status_text(status));
    selection->rc = cli_worse(selection->rc, cli_exit_of(status));
    cuvet_ctx_destroy(selection->ctx);
    selection->ctx = NULL;
    free(bytes);
    return !ferror(stdout);
}

static bool configure_selection(select_run *selection, const cli_args *args)
{
    const char *arch = args->value[CLI_O_ARCH], *policy = args->value[CLI_O_POLICY],
               *request = args->value[CLI_O_REQUEST];

    selection->args = args;
    selection->json = args->value[CLI_O_FORMAT] && strcmp(args->value[CLI_O_FORMAT], "ndjson") == 0;
    selection->cfg = (cuvet_select_options){ .size = sizeof(selection->cfg),
                                             .threads = args->jobs < 64 ? args->jobs : 64 };
    if (!arch || cuvet_target_parse(arch, &selection->cfg.target) != CUVET_OK) {
        if (arch)
            (void)cli_no_target(arch); /* a usage error, as what is said below */
        else
            cli_complain(NULL, "select needs --arch, such as sm_90a");
        return false;
    }
    if (policy && strcmp(policy, "exact") == 0)
        selection->cfg.policy = CUVET_ARCH_EXACT;
    if (request && strcmp(request, "link") != 0)
        selection->cfg.request = strcmp(request, "sass") == 0  ? CUVET_REQUEST_SASS
                                 : strcmp(request, "ptx") == 0 ? CUVET_REQUEST_PTX
                                                               : CUVET_REQUEST_LTOIR;
    if (args->n_operands == 0 || (args->value[CLI_O_OUTPUT] && args->n_operands > 1)) {
        cli_complain(NULL, args->n_operands ? "--output takes the result of one file"
                                            : "no input; name files, or - for standard input");
        return false;
    }
    if (selection->json && args->value[CLI_O_OUTPUT] && strcmp(args->value[CLI_O_OUTPUT], "-") == 0) {
        cli_complain(NULL, "standard output takes the objects of --format=ndjson, or the result of -o -");
        return false;
    }
    return true;
}

int cmd_select(int argc, char **argv)
{
    cli_needs needs = CLI_NO_NEEDS;
    select_run selection = { .out = CLI_NO_OUTFILE };
    cli_porter porter = CLI_NO_PORTER;
    cli_args args;
    const char *why;
    int rc;

    if (!cli_parse(CLI_C_SELECT, argc, argv, &args, &rc))
        return rc;
    if (!configure_selection(&selection, &args))
        return CLI_X_USAGE;
    why = cli_outfile_open(&selection.out, &porter, args.value[CLI_O_OUTPUT], args.set[CLI_O_FORCE]);
    if (why) {
        cli_complain(args.value[CLI_O_OUTPUT], "%s", why);
        return CLI_X_IO;
    }
    if (cli_outfile_collides((const cli_outfile *const[]){ &selection.out }, 1, &args)) {
        cli_outfile_close(&selection.out);
        return CLI_X_USAGE;
    }
    selection.to = selection.out.standard ? stderr : stdout;
    rc = cli_porter_begin(&porter);
    /* outside of the cage, asked through a broker that trusts nobody inside */
    if (rc == CLI_X_CLEAN)
        rc =
            cli_broker_begin(&selection.broker, &(cli_broker_tools){ .compiler = args.value[CLI_O_COMPILER] },
                             &args.limits, &needs.broker);
    cli_porter_needs(&porter, &needs);
    if (rc == CLI_X_CLEAN)
        rc = cli_each_input(&args, &needs, on_input, &selection);
    cli_broker_stop(&selection.broker);
    cli_outfile_close(&selection.out);
    cli_porter_stop(&porter);
    return cli_worse(rc, cli_worse(selection.rc, cli_json_ok() ? CLI_X_CLEAN : CLI_X_INTERNAL));
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Finalize one device ELF, or explain what would become of some. */
#include "broker.h"
#include "outfile.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_CAP = 512, ARCH_CAP = 24 };

typedef struct finalize_run {
    const cli_args *args;
    cuvet_ctx *ctx;
    cuvet_finalizer finalizer;
    const char *file; /* at hand */
    cli_outfile out;
    bool json, named; /* named: the input of the diagnostics was said */
    cli_broker broker;
    int rc;
} finalize_run;

/* Memory that ran out is a limit here, as for link. */
static int exit_of(cuvet_status status)
{
    return status == CUVET_E_NOMEM ? CLI_X_LIMIT : cli_exit_of(status);
}

static void complain_of_input(const finalize_run *finalization, const char *severity)
{
    fprintf(stderr, "cuvet: %s: ", severity);
    if (finalization->file) {
        cli_put_str(stderr, finalization->file);
        fputs(": ", stderr);
    }
}

static void on_diag(void *user, const cuvet_diag *diag)
{
    finalize_run *finalization = user;
    const cuvet_rule_info *rule = cuvet_rule_get(diag->rule);
    char text[TEXT_CAP], path[CLI_PATH_CAP];

    if (!rule || (diag->severity == CUVET_NOTE && rule->cls != CUVET_C_TARGET))
        return;
    (void)cuvet_diag_message(diag, text, sizeof(text)); /* a cut message is still a message */
    cli_path(&diag->where, path, sizeof(path));
    complain_of_input(finalization, cuvet_severity_name(diag->severity));
    fprintf(stderr, "%s: ", rule->title);
    cli_put_str(stderr, text);
    fprintf(stderr, " (%s at 0x%" PRIx64 " %s)\n", rule->id, diag->file_off, path);
}

static void on_trace(void *user, const char *line)
{
    (void)user;
    cli_put_str(stderr, line);
    fputc('\n', stderr);
}

static void on_log(void *user, const char *text)
{
    const finalize_run *finalization = user;

    cli_broker_log("code generator", finalization->file, text);
}

static void arch_text(cuvet_target target, char *out, size_t cap)
{
    if (target.sm == 0)
        (void)snprintf(out, cap, "?");
    else
        (void)snprintf(out, cap, "sm_%" PRIu32 "%.1s", target.sm,
                       target.suffix ? (const char[]){ target.suffix, 0 } : "");
}

/* Why nothing came out: the code, and which pair and forms it was about. */
static void put_refusal(finalize_run *finalization, const cuvet_final_result *result, cuvet_status status)
{
    char from[ARCH_CAP], to[ARCH_CAP];

    arch_text(result->source, from, sizeof(from));
    arch_text(result->target, to, sizeof(to));
    complain_of_input(finalization, "error");
    fprintf(stderr, "not finalized: code %" PRIu32 " (%s): %s of %s to %s of %s: %s\n", result->code,
            result->text, cuvet_form_name(result->from), from, cuvet_form_name(result->to), to,
            cli_status_text(status));
}

static void note_saved(finalize_run *finalization, cuvet_status status)
{
    if (status == CUVET_OK)
        return;
    finalization->file = finalization->args->value[CLI_O_OUTPUT];
    complain_of_input(finalization, "error");
    fprintf(stderr, "%s\n",
            status == CUVET_E_EXISTS                          ? "exists and is no file"
            : status == CUVET_E_IO || status == CUVET_E_USAGE ? "cannot be written"
                                                              : cli_status_text(status));
    finalization->rc = cli_worse(finalization->rc, status == CUVET_E_USAGE ? CLI_X_IO : exit_of(status));
}

static void finalize_file(finalize_run *finalization, const void *bytes, size_t size)
{
    cuvet_status status =
        cuvet_finalizer_run(finalization->ctx, finalization->finalizer, bytes, size, finalization->file);
    cuvet_final_result result = { .size = sizeof(result) };

    if (status != CUVET_OK) {
        if (cuvet_finalizer_get_result(finalization->ctx, finalization->finalizer, &result) == CUVET_OK) {
            put_refusal(finalization, &result, status);
        } else {
            complain_of_input(finalization, "error");
            fprintf(stderr, "%s\n", cli_status_text(status));
        }
        finalization->rc = cli_worse(finalization->rc, exit_of(status));
        return;
    }
    status = cuvet_finalizer_get_result(finalization->ctx, finalization->finalizer, &result);
    note_saved(finalization,
               status == CUVET_OK ? cli_outfile_save(&finalization->out, result.bytes, result.n) : status);
}

static void put_json(const finalize_run *finalization, const cuvet_final_explanation *explanation,
                     const char *from, const char *to)
{
    json_t *object = cli_json_begin("finalization", finalization->file);

    cli_json_set(object, "code", json_integer(explanation->code));
    cli_json_set(object, "text", json_string(explanation->text));
    cli_json_set(object, "source", json_string(from));
    cli_json_set(object, "target", json_string(to));
    cli_json_set(object, "from", json_string(cuvet_form_name(explanation->from)));
    cli_json_set(object, "to", json_string(cuvet_form_name(explanation->to)));
    cli_json_set(object, "backend", explanation->backend ? json_string(explanation->backend) : json_null());
    cli_json_set(object, "capsules", cli_json_u64(explanation->capsules));
    cli_json_set(object, "linked", json_boolean((explanation->flags & CUVET_EXPLAIN_LINKED) != 0));
    cli_json_set(object, "can_finalize", json_integer(explanation->can));
    cli_json_set(object, "can_fastpath", json_boolean((explanation->flags & CUVET_EXPLAIN_FASTPATH) != 0));
    if (explanation->claims) {
        cli_json_set(object, "isa", json_integer(explanation->claims->isa));
        cli_json_set(object, "level", json_integer(explanation->claims->level));
        cli_json_set(object, "accelerated",
                     json_boolean((explanation->claims->flags & CUVET_CLAIMS_ACCEL) != 0));
    }
    cli_json_set(object, "mask",
                 explanation->claims && (explanation->claims->flags & CUVET_CLAIMS_MASK) != 0
                     ? cli_json_u64(explanation->claims->mask)
                     : json_null());
    cli_json_put(object);
}

/* What the file says of the same bytes on the target. */
static const char *bytes_run(const cuvet_final_explanation *explanation)
{
    if ((explanation->flags & CUVET_EXPLAIN_FASTPATH) != 0)
        return "yes";
    return explanation->flags & CUVET_EXPLAIN_RUNS ? "yes, but the fast path is switched off" : "not said";
}

static void put_text(const finalize_run *finalization, const cuvet_final_explanation *explanation,
                     const char *from, const char *to)
{
    cli_put_str(stdout, finalization->file);
    printf("\n  input:   %s for %s, %" PRIu64 " capsules%s\n", cuvet_form_name(explanation->from), from,
           explanation->capsules, (explanation->flags & CUVET_EXPLAIN_LINKED) != 0 ? ", linked" : "");
    if (explanation->claims)
        printf("  claims:  Mercury %u.%u, level %u, %s, ", (unsigned)explanation->claims->isa >> 8,
               explanation->claims->isa & 255u, explanation->claims->level,
               (explanation->claims->flags & CUVET_CLAIMS_ACCEL) != 0 ? "for its own machine only"
                                                                      : "not bound to its machine");
    else
        printf("  claims:  none, ");
    if (explanation->claims && (explanation->claims->flags & CUVET_CLAIMS_MASK) != 0)
        printf("mask 0x%" PRIx64 "\n", explanation->claims->mask);
    else
        printf("no mask\n");
    printf("  wanted:  %s for %s\n", cuvet_form_name(explanation->to), to);
    printf("  allowed: %s", explanation->can == 0 ? "yes" : "no");
    if (explanation->can != 0)
        printf(", code %" PRIu32, explanation->can);
    printf("; the same bytes run there: %s\n", bytes_run(explanation));
    if (explanation->backend)
        printf("  result:  by backend %s\n", explanation->backend);
    else
        printf("  result:  code %" PRIu32 ", %s\n", explanation->code, explanation->text);
}

static void explain_file(finalize_run *finalization, const void *bytes, size_t size)
{
    char from[ARCH_CAP], to[ARCH_CAP];
    cuvet_final_explanation explanation = { .size = sizeof(explanation) };
    cuvet_status status =
        cuvet_finalizer_explain(finalization->ctx, finalization->finalizer, bytes, size, &explanation);

    arch_text(explanation.source, from, sizeof(from));
    arch_text(explanation.target, to, sizeof(to));
    if (finalization->json)
        put_json(finalization, &explanation, from, to);
    else
        put_text(finalization, &explanation, from, to);
    finalization->rc = cli_worse(finalization->rc, exit_of(status));
}

static bool on_input(void *user, cli_input *in)
{
    finalize_run *finalization = user;
    void *bytes = NULL;
    const char *why;
    cuvet_status status;

    finalization->file = in->name;
    if (in->why) {
        complain_of_input(finalization, "error");
        fprintf(stderr, "%s\n", in->why);
        finalization->rc = cli_worse(finalization->rc, in->rc);
        return true;
    }
    status = cli_input_load(in, &finalization->args->limits, &bytes, &why);
    if (status != CUVET_OK) {
        complain_of_input(finalization, "error");
        fprintf(stderr, "%s\n", why ? why : cli_status_text(status));
        finalization->rc = cli_worse(finalization->rc, exit_of(status));
    } else if (finalization->args->set[CLI_O_EXPLAIN]) {
        explain_file(finalization, bytes, (size_t)in->source.length);
    } else {
        finalize_file(finalization, bytes, (size_t)in->source.length);
    }
    free(bytes);
    return !ferror(stdout);
}

static cuvet_form form_of(const char *text)
{
    if (!text)
        return CUVET_FORM_SAME;
    return strcmp(text, "sass") == 0      ? CUVET_FORM_SASS
           : strcmp(text, "capmerc") == 0 ? CUVET_FORM_CAPMERC
                                          : CUVET_FORM_MERCURY;
}

/* What the parser cannot know. */
static bool check_options(const cli_args *args)
{
    const char *kind = args->value[CLI_O_BINARY_KIND];
    const char *why = NULL;

    if (args->set[CLI_O_CAP_MERC] && kind && strcmp(kind, "capmerc") != 0)
        why = cuvet_final_text(5);
    else if (args->n_operands == 0)
        why = "no input; name a cubin, or - for standard input";
    else if (!args->set[CLI_O_EXPLAIN] && args->n_operands > 1)
        why = "one input at a time";
    else if (args->set[CLI_O_EXPLAIN] == (args->value[CLI_O_OUTPUT] != NULL))
        why = args->set[CLI_O_EXPLAIN] ? "--explain writes no file" : "finalize needs -o FILE, or --explain";
    else if (args->value[CLI_O_BACKEND] && strcmp(args->value[CLI_O_BACKEND], "external") == 0 &&
             !args->value[CLI_O_GENERATOR])
        why = "--backend external needs --code-generator PATH";
    else if (args->value[CLI_O_BACKEND] && strcmp(args->value[CLI_O_BACKEND], "external") != 0 &&
             args->value[CLI_O_GENERATOR])
        why = "--code-generator is asked by --backend external only, or where no --backend is chosen";
    if (why)
        cli_complain(NULL, "%s", why);
    return !why;
}

static bool begin_run(finalize_run *finalization, const cli_args *args)
{
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &args->limits, .diag = on_diag, .diag_user = finalization
    };
    const char *arch = args->value[CLI_O_ARCH], *policy = args->value[CLI_O_POLICY],
               *level = args->value[CLI_O_LEVEL];
    cuvet_finalize_options fo = {
        .size = sizeof(fo),
        .kind = args->set[CLI_O_CAP_MERC] ? CUVET_FORM_CAPMERC : form_of(args->value[CLI_O_BINARY_KIND]),
        .policy = policy && strcmp(policy, "exact") == 0 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE,
        .flags = (args->set[CLI_O_FASTPATH_OFF] ? CUVET_FINALIZE_NO_FASTPATH : 0) |
                 (args->set[CLI_O_SELF_CHECK] ? CUVET_FINALIZE_SELF_CHECK : 0) |
                 (args->set[CLI_O_TKINFO] ? CUVET_FINALIZE_TOOL_NOTE : 0),
        .max_level = level ? (uint8_t)(level[0] - '0') : 0,
        .backend = args->value[CLI_O_BACKEND],
        .trace = args->set[CLI_O_VERBOSE] ? on_trace : NULL,
        .generator = finalization->broker.compiler.compile ? &finalization->broker.compiler : NULL,
        .generator_log = on_log,
        .generator_user = finalization
    };
    cuvet_status status;

    if (arch && cuvet_target_parse(arch, &fo.target) != CUVET_OK) {
        finalization->rc = cli_no_target(arch);
        return false;
    }
    status = cuvet_ctx_create(&co, &finalization->ctx);
    if (status == CUVET_OK)
        status = cuvet_finalizer_create(finalization->ctx, &fo, &finalization->finalizer);
    if (status != CUVET_OK) {
        cli_complain(NULL, "%s", cli_status_text(status));
        finalization->rc = exit_of(status);
    }
    return status == CUVET_OK;
}

int cmd_finalize(int argc, char **argv)
{
    cli_needs needs = CLI_NO_NEEDS;
    finalize_run finalization = { .out = CLI_NO_OUTFILE };
    cli_porter porter = CLI_NO_PORTER;
    cli_args args;
    const char *why;
    int rc;

    if (!cli_parse(CLI_C_FINALIZE, argc, argv, &args, &rc))
        return rc;
    finalization.args = &args;
    finalization.json = args.value[CLI_O_FORMAT] && strcmp(args.value[CLI_O_FORMAT], "ndjson") == 0;
    if (!check_options(&args))
        return CLI_X_USAGE;
    why = cli_outfile_open(&finalization.out, &porter, args.value[CLI_O_OUTPUT], true);
    if (why)
        cli_complain(args.value[CLI_O_OUTPUT], "%s", why);
    if (why)
        return CLI_X_IO;
    if (cli_outfile_collides((const cli_outfile *const[]){ &finalization.out }, 1, &args)) {
        cli_outfile_close(&finalization.out);
        return CLI_X_USAGE;
    }
    finalization.rc = cli_porter_begin(&porter);
    /* outside of the cage, asked through a broker that trusts nobody inside */
    if (finalization.rc == CLI_X_CLEAN)
        finalization.rc = cli_broker_begin(&finalization.broker,
                                           &(cli_broker_tools){ .generator = args.value[CLI_O_GENERATOR] },
                                           &args.limits, &needs.broker);
    cli_porter_needs(&porter, &needs);
    if (finalization.rc == CLI_X_CLEAN && begin_run(&finalization, &args)) {
        rc = cli_each_input(&args, &needs, on_input, &finalization);
        finalization.rc = cli_worse(finalization.rc, rc);
    }
    cuvet_ctx_destroy(finalization.ctx);
    cli_broker_stop(&finalization.broker);
    cli_outfile_close(&finalization.out);
    cli_porter_stop(&porter);
    return cli_worse(finalization.rc, cli_json_ok() ? CLI_X_CLEAN : CLI_X_INTERNAL);
}

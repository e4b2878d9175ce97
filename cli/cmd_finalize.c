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

typedef struct finalization {
    const cli_args *args;
    cuvet_ctx *ctx;
    cuvet_finalizer finalizer;
    const char *file; /* at hand */
    cli_outfile out;
    bool json, named; /* named: the input of the diagnostics was said */
    cli_broker broker;
    int rc;
} finalization;

/* Memory that ran out is a limit here, as for link. */
static int exit_of(cuvet_status s)
{
    return s == CUVET_E_NOMEM ? CLI_X_LIMIT : cli_exit_of(s);
}

static void complain(const finalization *f, const char *severity)
{
    fprintf(stderr, "cuvet: %s: ", severity);
    if (f->file) {
        cli_put_str(stderr, f->file);
        fputs(": ", stderr);
    }
}

static void on_diag(void *user, const cuvet_diag *d)
{
    finalization *f = user;
    const cuvet_rule_info *rule = cuvet_rule_get(d->rule);
    char text[TEXT_CAP], path[CLI_PATH_CAP];

    if (!rule || (d->severity == CUVET_NOTE && rule->cls != CUVET_C_TARGET))
        return;
    (void)cuvet_diag_message(d, text, sizeof(text)); /* a cut message is still a message */
    cli_path(&d->where, path, sizeof(path));
    complain(f, cuvet_severity_name(d->severity));
    fprintf(stderr, "%s: ", rule->title);
    cli_put_str(stderr, text);
    fprintf(stderr, " (%s at 0x%" PRIx64 " %s)\n", rule->id, d->file_off, path);
}

static void on_trace(void *user, const char *line)
{
    (void)user;
    cli_put_str(stderr, line);
    fputc('\n', stderr);
}

static void on_log(void *user, const char *text)
{
    const finalization *f = user;

    cli_broker_log(f->file, text);
}

static void arch_text(cuvet_target t, char *out, size_t cap)
{
    if (t.sm == 0)
        (void)snprintf(out, cap, "?");
    else
        (void)snprintf(out, cap, "sm_%" PRIu32 "%.1s", t.sm, t.suffix ? (const char[]){ t.suffix, 0 } : "");
}

/* Why nothing came out: the code, and which pair and forms it was about. */
static void put_refusal(finalization *f, const cuvet_final_result *r, cuvet_status s)
{
    char from[ARCH_CAP], to[ARCH_CAP];

    arch_text(r->source, from, sizeof(from));
    arch_text(r->target, to, sizeof(to));
    complain(f, "error");
    fprintf(stderr, "not finalized: code %" PRIu32 " (%s): %s of %s to %s of %s: %s\n", r->code, r->text,
            cuvet_form_name(r->from), from, cuvet_form_name(r->to), to, cli_status_text(s));
}

static void saved(finalization *f, cuvet_status s)
{
    if (s == CUVET_OK)
        return;
    f->file = f->args->value[CLI_O_OUTPUT];
    complain(f, "error");
    fprintf(stderr, "%s\n",
            s == CUVET_E_EXISTS                     ? "exists and is no file"
            : s == CUVET_E_IO || s == CUVET_E_USAGE ? "cannot be written"
                                                    : cli_status_text(s));
    f->rc = cli_worse(f->rc, s == CUVET_E_USAGE ? CLI_X_IO : exit_of(s));
}

static void finalize(finalization *f, const void *bytes, size_t n)
{
    cuvet_status s = cuvet_finalizer_run(f->ctx, f->finalizer, bytes, n, f->file);
    cuvet_final_result r = { .size = sizeof(r) };

    if (s != CUVET_OK) {
        if (cuvet_finalizer_get_result(f->ctx, f->finalizer, &r) == CUVET_OK) {
            put_refusal(f, &r, s);
        } else {
            complain(f, "error");
            fprintf(stderr, "%s\n", cli_status_text(s));
        }
        f->rc = cli_worse(f->rc, exit_of(s));
        return;
    }
    s = cuvet_finalizer_get_result(f->ctx, f->finalizer, &r);
    saved(f, s == CUVET_OK ? cli_outfile_save(&f->out, r.bytes, r.n) : s);
}

static void put_json(const finalization *f, const cuvet_final_explanation *e, const char *from,
                     const char *to)
{
    json_t *o = cli_json_begin("finalization", f->file);

    cli_json_set(o, "code", json_integer(e->code));
    cli_json_set(o, "text", json_string(e->text));
    cli_json_set(o, "source", json_string(from));
    cli_json_set(o, "target", json_string(to));
    cli_json_set(o, "from", json_string(cuvet_form_name(e->from)));
    cli_json_set(o, "to", json_string(cuvet_form_name(e->to)));
    cli_json_set(o, "backend", e->backend ? json_string(e->backend) : json_null());
    cli_json_set(o, "capsules", cli_json_u64(e->capsules));
    cli_json_set(o, "linked", json_boolean(e->linked));
    cli_json_set(o, "can_finalize", json_integer(e->can));
    cli_json_set(o, "can_fastpath", json_boolean(e->fastpath));
    if (e->claims) {
        cli_json_set(o, "isa", json_integer(e->claims->isa));
        cli_json_set(o, "level", json_integer(e->claims->level));
        cli_json_set(o, "accelerated", json_boolean(e->claims->accel));
    }
    cli_json_set(o, "mask", e->claims && e->claims->has_mask ? cli_json_u64(e->claims->mask) : json_null());
    cli_json_put(o);
}

/* What the file says of the same bytes on the target. */
static const char *bytes_run(const cuvet_final_explanation *e)
{
    if (e->fastpath)
        return "yes";
    return e->source.sm != 0 && cuvet_can_fastpath(e->claims, e->source.sm, e->target.sm, true)
               ? "yes, but the fast path is switched off"
               : "not said";
}

static void put_text(const finalization *f, const cuvet_final_explanation *e, const char *from,
                     const char *to)
{
    cli_put_str(stdout, f->file);
    printf("\n  input:   %s for %s, %" PRIu64 " capsules%s\n", cuvet_form_name(e->from), from, e->capsules,
           e->linked ? ", linked" : "");
    if (e->claims)
        printf("  claims:  Mercury %u.%u, level %u, %s, ", e->claims->isa >> 8, e->claims->isa & 255u,
               e->claims->level, e->claims->accel ? "for its own machine only" : "not bound to its machine");
    else
        printf("  claims:  none, ");
    if (e->claims && e->claims->has_mask)
        printf("mask 0x%" PRIx64 "\n", e->claims->mask);
    else
        printf("no mask\n");
    printf("  wanted:  %s for %s\n", cuvet_form_name(e->to), to);
    printf("  allowed: %s", e->can == 0 ? "yes" : "no");
    if (e->can != 0)
        printf(", code %" PRIu32, e->can);
    printf("; the same bytes run there: %s\n", bytes_run(e));
    if (e->backend)
        printf("  result:  by backend %s\n", e->backend);
    else
        printf("  result:  code %" PRIu32 ", %s\n", e->code, e->text);
}

static void explain(finalization *f, const void *bytes, size_t n)
{
    char from[ARCH_CAP], to[ARCH_CAP];
    cuvet_final_explanation e = { .size = sizeof(e) };
    cuvet_status s = cuvet_finalizer_explain(f->ctx, f->finalizer, bytes, n, &e);

    arch_text(e.source, from, sizeof(from));
    arch_text(e.target, to, sizeof(to));
    if (f->json)
        put_json(f, &e, from, to);
    else
        put_text(f, &e, from, to);
    f->rc = cli_worse(f->rc, exit_of(s));
}

static bool on_input(void *user, cli_input *in)
{
    finalization *f = user;
    void *bytes = NULL;
    const char *why;
    cuvet_status s;

    f->file = in->name;
    if (in->why) {
        complain(f, "error");
        fprintf(stderr, "%s\n", in->why);
        f->rc = cli_worse(f->rc, in->rc);
        return true;
    }
    s = cli_input_load(in, &f->args->limits, &bytes, &why);
    if (s != CUVET_OK) {
        complain(f, "error");
        fprintf(stderr, "%s\n", why ? why : cli_status_text(s));
        f->rc = cli_worse(f->rc, exit_of(s));
    } else if (f->args->set[CLI_O_EXPLAIN]) {
        explain(f, bytes, (size_t)in->source.length);
    } else {
        finalize(f, bytes, (size_t)in->source.length);
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
static bool check(const cli_args *a)
{
    const char *kind = a->value[CLI_O_BINARY_KIND];
    const char *why = NULL;

    if (a->set[CLI_O_CAP_MERC] && kind && strcmp(kind, "capmerc") != 0)
        why = cuvet_final_text(5);
    else if (a->n_operands == 0)
        why = "no input; name a cubin, or - for standard input";
    else if (!a->set[CLI_O_EXPLAIN] && a->n_operands > 1)
        why = "one input at a time";
    else if (a->set[CLI_O_EXPLAIN] == (a->value[CLI_O_OUTPUT] != NULL))
        why = a->set[CLI_O_EXPLAIN] ? "--explain writes no file" : "finalize needs -o FILE, or --explain";
    else if (a->value[CLI_O_BACKEND] && strcmp(a->value[CLI_O_BACKEND], "external") == 0 &&
             !a->value[CLI_O_GENERATOR])
        why = "--backend external needs --code-generator PATH";
    else if (a->value[CLI_O_BACKEND] && strcmp(a->value[CLI_O_BACKEND], "external") != 0 &&
             a->value[CLI_O_GENERATOR])
        why = "--code-generator is asked by --backend external only, or where no --backend is chosen";
    if (why)
        cli_complain(NULL, "%s", why);
    return !why;
}

static bool begin(finalization *f, const cli_args *a)
{
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &a->limits, .diag = on_diag, .diag_user = f
    };
    const char *arch = a->value[CLI_O_ARCH], *policy = a->value[CLI_O_POLICY], *level = a->value[CLI_O_LEVEL];
    cuvet_finalize_options fo = {
        .size = sizeof(fo),
        .kind = a->set[CLI_O_CAP_MERC] ? CUVET_FORM_CAPMERC : form_of(a->value[CLI_O_BINARY_KIND]),
        .policy = policy && strcmp(policy, "exact") == 0 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE,
        .flags = (a->set[CLI_O_FASTPATH_OFF] ? CUVET_FINALIZE_NO_FASTPATH : 0) |
                 (a->set[CLI_O_SELF_CHECK] ? CUVET_FINALIZE_SELF_CHECK : 0) |
                 (a->set[CLI_O_TKINFO] ? CUVET_FINALIZE_TOOL_NOTE : 0),
        .max_level = level ? (uint8_t)(level[0] - '0') : 0,
        .backend = a->value[CLI_O_BACKEND],
        .trace = a->set[CLI_O_VERBOSE] ? on_trace : NULL,
        .generator = f->broker.compiler.compile ? &f->broker.compiler : NULL,
        .generator_log = on_log,
        .generator_user = f
    };
    cuvet_status s;

    if (arch && cuvet_target_parse(arch, &fo.target) != CUVET_OK) {
        f->rc = cli_no_target(arch);
        return false;
    }
    s = cuvet_ctx_create(&co, &f->ctx);
    if (s == CUVET_OK)
        s = cuvet_finalizer_create(f->ctx, &fo, &f->finalizer);
    if (s != CUVET_OK) {
        cli_complain(NULL, "%s", cli_status_text(s));
        f->rc = exit_of(s);
    }
    return s == CUVET_OK;
}

int cmd_finalize(int argc, char **argv)
{
    cli_needs needs = CLI_NO_NEEDS;
    finalization f = { .out = CLI_NO_OUTFILE };
    cli_porter porter = CLI_NO_PORTER;
    cli_args a;
    const char *why;
    int rc;

    if (!cli_parse(CLI_C_FINALIZE, argc, argv, &a, &rc))
        return rc;
    f.args = &a;
    f.json = a.value[CLI_O_FORMAT] && strcmp(a.value[CLI_O_FORMAT], "ndjson") == 0;
    if (!check(&a))
        return CLI_X_USAGE;
    why = cli_outfile_open(&f.out, &porter, a.value[CLI_O_OUTPUT], true);
    if (why)
        cli_complain(a.value[CLI_O_OUTPUT], "%s", why);
    if (why)
        return CLI_X_IO;
    if (cli_outfile_collides((const cli_outfile *const[]){ &f.out }, 1, &a)) {
        cli_outfile_close(&f.out);
        return CLI_X_USAGE;
    }
    f.rc = cli_porter_begin(&porter);
    /* outside of the cage, asked through a broker that trusts nobody inside */
    if (f.rc == CLI_X_CLEAN)
        f.rc =
            cli_broker_begin(&f.broker, "code generator", a.value[CLI_O_GENERATOR], &a.limits, &needs.broker);
    cli_porter_needs(&porter, &needs);
    if (f.rc == CLI_X_CLEAN && begin(&f, &a)) {
        rc = cli_each_input(&a, &needs, on_input, &f);
        f.rc = cli_worse(f.rc, rc);
    }
    cuvet_ctx_destroy(f.ctx);
    cli_broker_stop(&f.broker);
    cli_outfile_close(&f.out);
    cli_porter_stop(&porter);
    return cli_worse(f.rc, cli_json_ok() ? CLI_X_CLEAN : CLI_X_INTERNAL);
}

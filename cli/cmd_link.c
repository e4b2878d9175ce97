/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Link device code for one target. */
#include "link_int.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_log(void *user, const char *text)
{
    (void)user;
    cli_broker_log(NULL, text);
}

static unsigned flags_of(const link_args *a)
{
    const bool debug = a->set[LINK_O_DEBUG] && !a->set[LINK_O_SUPPRESS_DEBUG];

    return (a->set[LINK_O_RELOCATABLE] ? CUVET_LINK_RELOCATABLE : 0) |
           (a->common.set[CLI_O_COMPAT_R] ? CUVET_LINK_EXACT_RELOCATABLE : 0) |
           (debug ? CUVET_LINK_DEBUG : 0) | (a->set[LINK_O_DEBUG] ? CUVET_LINK_KEEP_DEAD : 0) |
           (a->set[LINK_O_PRESERVE_RELOCS] ? CUVET_LINK_PRESERVE_RELOCS : 0) |
           (a->set[LINK_O_NO_STACK_WARNING] ? CUVET_LINK_NO_STACK_WARNING : 0) |
           (a->set[LINK_O_WERROR] ? CUVET_LINK_WARNINGS_ARE_ERRORS : 0) |
           (a->set[LINK_O_IGNORE_HOST_INFO] ? 0 : CUVET_LINK_HOST_INFO);
}

static bool begin(link_run *r)
{
    const link_args *a = r->args;
    const cuvet_ctx_options co = {
        .size = sizeof(co), .limits = &a->common.limits, .diag = link_on_diag, .diag_user = r
    };
    const char *policy = a->common.value[CLI_O_POLICY];
    const cuvet_linker_options lo = {
        .size = sizeof(lo),
        .target = a->target,
        .policy = policy && strcmp(policy, "exact") == 0 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE,
        .flags = flags_of(a),
        .kernels_used = (const char *const *)a->kernels.v,
        .n_kernels_used = a->kernels.n,
        .generator = r->broker.compiler.compile ? &r->broker.compiler : NULL,
        .generator_log = on_log,
        .event = link_on_event,
        .event_user = r,
    };
    cuvet_status s = cuvet_ctx_create(&co, &r->ctx);

    if (s == CUVET_OK)
        s = cuvet_linker_create(r->ctx, &lo, &r->linker);
    link_say_input(r, NULL);
    if (s != CUVET_OK && r->rc == CLI_X_CLEAN)
        link_error(r, NULL, link_exit_of(s), cli_status_text(s));
    if (s == CUVET_OK && a->set[LINK_O_PRESERVE_RELOCS] && a->target.sm >= 100)
        link_note(r, NULL, "--preserve-relocs: from sm_100 on only references to shared memory are recorded");
    return s == CUVET_OK;
}

static bool on_input(void *user, cli_input *in)
{
    link_run *r = user;

    link_input(r, in);
    r->at++;
    return true;
}

/* A library that is named again adds nothing, as in the reference. */
static bool among(char *const *names, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_archive_name(const char *name)
{
    size_t n = strlen(name);

    return n > 2 && strcmp(name + n - 2, ".a") == 0;
}

static void drop_repeated(link_args *a)
{
    int n = 0;

    for (int i = 0; i < a->common.n_operands; i++) {
        char *name = a->common.operands[i];

        if (is_archive_name(name) && among(a->common.operands, n, name))
            continue;
        a->common.operands[n] = name;
        a->library[n++] = a->library[i];
    }
    a->common.n_operands = n;
}

static void saved(link_run *r, const cli_outfile *p, cuvet_status s)
{
    if (s == CUVET_E_EXISTS)
        link_error(r, p->path, CLI_X_IO, "exists and is no file");
    else if (s == CUVET_E_USAGE || s == CUVET_E_IO)
        link_error(r, p->path, CLI_X_IO, "cannot be written");
    else if (s != CUVET_OK)
        link_error(r, p->path, link_exit_of(s), cli_status_text(s));
}

/* What nvcc compiles into the host program: how many modules were linked, and a line for each. */
static void save_modules(link_run *r, cli_outfile *p)
{
    char *text = NULL;
    size_t n = 0;
    uint64_t modules = 0;
    const char *name;
    FILE *f = open_memstream(&text, &n);
    bool good = f != NULL;

    while (good && cuvet_linker_module(r->ctx, r->linker, modules, &name) == CUVET_OK)
        modules++;
    good = good && fprintf(f, "#define NUM_PRELINKED_OBJECTS %" PRIu64 "\n", modules) > 0;
    for (uint64_t i = 0; i < modules && good; i++)
        good = cuvet_linker_module(r->ctx, r->linker, i, &name) == CUVET_OK &&
               fprintf(f, "DEFINE_REGISTER_FUNC(%s)\n", name) > 0;
    if (f)
        good = fclose(f) == 0 && good;
    if (good)
        saved(r, p, cli_outfile_save(p, text, n));
    else
        link_error(r, p->path, CLI_X_LIMIT, "out of memory");
    free(text);
}

static void save_all(link_run *r, cli_outfile *out, cli_outfile *modules)
{
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status s = CUVET_OK;

    if (r->args->set[LINK_O_VERBOSE]) {
        s = cuvet_linker_result(r->ctx, r->linker, &result);
        if (s == CUVET_OK)
            link_report(r, result.bytes, result.n);
        else
            link_error(r, out->path, link_exit_of(s), cli_status_text(s));
    }
    if (r->rc == CLI_X_CLEAN && modules->path)
        save_modules(r, modules);
    if (r->rc != CLI_X_CLEAN)
        return;
    if (!out->standard) {
        s = cli_outfile_ready(out);
        if (s == CUVET_OK)
            s = cli_outfile_finish(out, cuvet_linker_write(r->ctx, r->linker, out->draft.fd));
        saved(r, out, s);
        return;
    }
    s = cuvet_linker_result(r->ctx, r->linker, &result);
    saved(r, out, s == CUVET_OK ? cli_outfile_save(out, result.bytes, result.n) : s);
}

static void finish(link_run *r, cli_outfile *out, cli_outfile *modules)
{
    cuvet_status s;

    if (r->lost_diag)
        link_error(r, NULL, CLI_X_LIMIT, "out of memory");
    if (r->rc != CLI_X_CLEAN)
        return;
    r->completing = true;
    s = cuvet_linker_complete(r->ctx, r->linker);
    link_say_link(r);
    if (r->args->set[LINK_O_DUMP_CALLGRAPH] || r->args->set[LINK_O_DUMP_CALLGRAPH_RAW])
        link_callgraph(r);
    if (s == CUVET_OK)
        save_all(r, out, modules);
    else if (r->rc == CLI_X_CLEAN)
        link_error(r, NULL, link_exit_of(s), cli_status_text(s));
    r->rc = cli_worse(r->rc, link_exit_of(s));
}

static bool open_product(link_run *r, cli_porter *porter, const char *path, cli_outfile *out)
{
    const char *why = cli_outfile_open(out, porter, path, true);

    if (why)
        link_error(r, path, CLI_X_IO, why);
    return !why;
}

/* Nothing is written when an answer is no. */
static bool may_write(link_run *r, const cli_outfile *out, const cli_outfile *modules)
{
    const cli_outfile *const results[] = { out, modules };
    const link_words *files = &r->args->options_file;
    bool collides = cli_outfile_collides(results, 2, &r->args->common);

    for (size_t i = 0; i < files->n && !collides; i++)
        collides = cli_outfile_is(results, 2, files->v[i]);
    if (collides)
        r->rc = CLI_X_USAGE;
    return !collides;
}

/* Processes outside of the cage, which trust nobody inside: they name the files, and start a code generator.
 */
static bool start_helpers(link_run *r, cli_porter *porter, cli_needs *needs)
{
    int rc = cli_porter_begin(porter);

    if (rc == CLI_X_CLEAN)
        rc = cli_broker_begin(&r->broker, "code generator", r->args->common.value[CLI_O_GENERATOR],
                              &r->args->common.limits, &needs->broker);
    cli_porter_needs(porter, needs);
    r->rc = cli_worse(r->rc, rc);
    return rc == CLI_X_CLEAN;
}

static int run(link_args *a)
{
    cli_needs needs = CLI_NO_NEEDS;
    link_run r = { .args = a };
    cli_outfile out = CLI_NO_OUTFILE, modules = CLI_NO_OUTFILE;
    cli_porter porter = CLI_NO_PORTER;

    drop_repeated(a);
    if (open_product(&r, &porter, a->value[LINK_O_OUTPUT], &out) &&
        open_product(&r, &porter, a->value[LINK_O_REGISTER_BINARIES], &modules) &&
        may_write(&r, &out, &modules) && start_helpers(&r, &porter, &needs) && begin(&r)) {
        int rc = cli_each_input(&a->common, &needs, on_input, &r);

        r.rc = cli_worse(r.rc, rc);
        finish(&r, &out, &modules);
    }
    cuvet_ctx_destroy(r.ctx);
    cli_broker_stop(&r.broker);
    free(r.diag);
    cli_outfile_close(&out);
    cli_outfile_close(&modules);
    cli_porter_stop(&porter);
    return r.rc;
}

int cmd_link(int argc, char **argv)
{
    link_args a;
    int rc = CLI_X_CLEAN;

    if (link_parse(argc, argv, &a, &rc))
        rc = run(&a);
    link_args_release(&a);
    return rc;
}

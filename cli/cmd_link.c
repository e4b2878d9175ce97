/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Link device code for one target. */
#include "link_int.h"
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Inputs of up to this size are not worth asking how many processors there are. */
#define FOR_ONE_THREAD (INT64_C(512) << 10)

static void on_log(void *user, const char *text)
{
    (void)user;
    cli_broker_log("code generator", NULL, text);
}

static bool is_yes(const link_args *args, link_option id)
{
    return args->set[id] && strcmp(args->value[id], "true") == 0;
}

static unsigned flags_of(const link_args *args)
{
    const bool debug = args->set[LINK_O_DEBUG] && !args->set[LINK_O_SUPPRESS_DEBUG];

    return (args->set[LINK_O_RELOCATABLE] ? CUVET_LINK_RELOCATABLE : 0) |
           (args->common.set[CLI_O_COMPAT_R] ? CUVET_LINK_EXACT_RELOCATABLE : 0) |
           (debug ? CUVET_LINK_DEBUG : 0) | (args->set[LINK_O_DEBUG] ? CUVET_LINK_KEEP_DEAD : 0) |
           (args->set[LINK_O_PRESERVE_RELOCS] ? CUVET_LINK_PRESERVE_RELOCS : 0) |
           (args->set[LINK_O_NO_STACK_WARNING] ? CUVET_LINK_NO_STACK_WARNING : 0) |
           (args->set[LINK_O_WERROR] ? CUVET_LINK_WARNINGS_ARE_ERRORS : 0) |
           (args->set[LINK_O_UNDEFINED_GLOBALS] ? CUVET_LINK_UNDEFINED_VARIABLES : 0) |
           (is_yes(args, LINK_O_NO_RESERVATION) ? CUVET_LINK_NO_RESERVED_SHARED : 0) |
           (is_yes(args, LINK_O_EXTENDED_SMEM) ? CUVET_LINK_ALL_SHARED : 0) |
           (args->role->stand_in ? CUVET_LINK_MAY_BE_EMPTY : 0) |
           (args->role->modules_only ? CUVET_LINK_MODULES_ONLY : 0) |
           (args->set[LINK_O_IGNORE_HOST_INFO] ? 0 : CUVET_LINK_HOST_INFO);
}

/* Whoever says how many threads there are to be gets them for little as well. */
static bool begin_link(link_run *run)
{
    const link_args *args = run->args;
    const cuvet_executor executor = {
        .size = sizeof(executor),
        .lanes = args->common.jobs,
        .least = args->common.set[CLI_O_JOBS] ? 1 : 0,
        .run = cli_team_run,
        .user = &run->team,
    };
    const cuvet_ctx_options co = {
        .size = sizeof(co),
        .limits = &args->common.limits,
        .diag = link_on_diag,
        .diag_user = run,
        .flags = args->common.set[CLI_O_HUGE_PAGES] ? CUVET_CTX_HUGE_PAGES : 0,
    };
    const char *policy = args->common.value[CLI_O_POLICY];
    const cuvet_linker_options lo = {
        .size = sizeof(lo),
        .target = args->target,
        .policy = policy && strcmp(policy, "exact") == 0 ? CUVET_ARCH_EXACT : CUVET_ARCH_REFERENCE,
        .flags = flags_of(args),
        .kernels_used = (const char *const *)args->kernels.items,
        .n_kernels_used = args->kernels.count,
        .generator = args->common.set[CLI_O_GENERATOR] ? &run->broker.compiler : NULL,
        .generator_log = on_log,
        .event = link_on_event,
        .event_user = run,
        .compiler = args->common.set[CLI_O_COMPILER] ? &run->broker.compiler : NULL,
        .compiler_options = (const char *const *)args->ptx.items,
        .n_compiler_options = args->ptx.count,
        .compiler_log = link_on_compiler_log,
        .compiler_user = run,
        .executor = executor.lanes > 1 ? &executor : NULL,
    };
    cuvet_status status = cuvet_ctx_create(&co, &run->ctx);

    if (status == CUVET_OK)
        status = cuvet_linker_create(run->ctx, &lo, &run->linker);
    link_say_input(run, NULL);
    if (status != CUVET_OK && run->rc == CLI_X_CLEAN)
        link_error(run, NULL, link_exit_of(status), cli_status_text(status));
    if (status == CUVET_OK && args->set[LINK_O_PRESERVE_RELOCS] && args->target.sm >= 100)
        link_note(run, NULL,
                  "--preserve-relocs: from sm_100 on only references to shared memory are recorded");
    return status == CUVET_OK;
}

static bool on_input(void *user, cli_input *in)
{
    link_run *run = user;

    link_input(run, in);
    run->at++;
    return true;
}

/* A library that is named again adds nothing, as in the reference. */
static bool is_among(char *const *names, int len, const char *name)
{
    for (int i = 0; i < len; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool is_archive_name(const char *name)
{
    size_t len = strlen(name);

    return len > 2 && strcmp(name + len - 2, ".a") == 0;
}

static void drop_repeated(link_args *args)
{
    int count = 0;

    for (int i = 0; i < args->common.n_operands; i++) {
        char *name = args->common.operands[i];

        if (is_archive_name(name) && is_among(args->common.operands, count, name))
            continue;
        args->common.operands[count] = name;
        args->library[count++] = args->library[i];
    }
    args->common.n_operands = count;
}

static void note_saved(link_run *run, const cli_outfile *outfile, cuvet_status status)
{
    if (status == CUVET_E_EXISTS)
        link_error(run, outfile->path, CLI_X_IO, "exists and is no file");
    else if (status == CUVET_E_USAGE || status == CUVET_E_IO)
        link_error(run, outfile->path, CLI_X_IO, "cannot be written");
    else if (status != CUVET_OK)
        link_error(run, outfile->path, link_exit_of(status), cli_status_text(status));
}

/* What nvcc compiles into the host program: how many modules were linked, and a line for each. */
static void save_modules(link_run *run, cli_outfile *outfile)
{
    char *text = NULL;
    size_t count = 0;
    uint64_t modules = 0;
    const char *name;
    FILE *file = open_memstream(&text, &count);
    bool good = file != NULL;

    while (good && cuvet_linker_get_module(run->ctx, run->linker, modules, &name) == CUVET_OK)
        modules++;
    good = good && fprintf(file, "#define NUM_PRELINKED_OBJECTS %" PRIu64 "\n", modules) > 0;
    for (uint64_t i = 0; i < modules && good; i++)
        good = cuvet_linker_get_module(run->ctx, run->linker, i, &name) == CUVET_OK &&
               fprintf(file, "DEFINE_REGISTER_FUNC(%s)\n", name) > 0;
    if (file)
        good = fclose(file) == 0 && good;
    if (good)
        note_saved(run, outfile, cli_outfile_save(outfile, text, count));
    else
        link_error(run, outfile->path, CLI_X_LIMIT, "out of memory");
    free(text);
}

static void save_all(link_run *run, cli_outfile *out, cli_outfile *modules)
{
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status = CUVET_OK;

    if (run->args->set[LINK_O_VERBOSE] && out->path) {
        status = cuvet_linker_get_result(run->ctx, run->linker, &result);
        if (status == CUVET_OK)
            link_report(run, result.bytes, result.n);
        else
            link_error(run, out->path, link_exit_of(status), cli_status_text(status));
    }
    if (run->rc == CLI_X_CLEAN && modules->path)
        save_modules(run, modules);
    if (run->rc != CLI_X_CLEAN || !out->path)
        return;
    if (!out->standard) {
        status = cli_outfile_ready(out);
        if (status == CUVET_OK)
            status = cli_outfile_finish(out, cuvet_linker_write(run->ctx, run->linker, out->draft.fd));
        note_saved(run, out, status);
        return;
    }
    status = cuvet_linker_get_result(run->ctx, run->linker, &result);
    note_saved(run, out, status == CUVET_OK ? cli_outfile_save(out, result.bytes, result.n) : status);
}

static void finish_link(link_run *run, cli_outfile *out, cli_outfile *modules)
{
    cuvet_status status;

    if (run->lost_diag)
        link_error(run, NULL, CLI_X_LIMIT, "out of memory");
    if (run->rc != CLI_X_CLEAN)
        return;
    run->completing = true;
    status = cuvet_linker_complete(run->ctx, run->linker);
    link_say_link(run);
    if (run->args->set[LINK_O_DUMP_CALLGRAPH] || run->args->set[LINK_O_DUMP_CALLGRAPH_RAW])
        link_callgraph(run);
    if (status == CUVET_OK)
        save_all(run, out, modules);
    else if (run->rc == CLI_X_CLEAN)
        link_error(run, NULL, link_exit_of(status), cli_status_text(status));
    run->rc = cli_worse(run->rc, link_exit_of(status));
}

static bool open_product(link_run *run, cli_porter *porter, const char *path, cli_outfile *out)
{
    const char *why = cli_outfile_open(out, porter, path, true);

    if (why)
        link_error(run, path, CLI_X_IO, why);
    return !why;
}

/* Nothing is written when an answer is no. */
static bool may_write(link_run *run, const cli_outfile *out, const cli_outfile *modules)
{
    const cli_outfile *const results[] = { out, modules };
    const link_words *files = &run->args->options_file;
    bool collides = cli_outfile_collides(results, 2, &run->args->common);

    for (size_t i = 0; i < files->count && !collides; i++)
        collides = cli_outfile_is(results, 2, files->items[i]);
    if (collides)
        run->rc = CLI_X_USAGE;
    return !collides;
}

/* Processes outside of the cage, which trust nobody inside: they name the files, and start a compiler or a
 * code generator. */
static bool start_helpers(link_run *run, cli_porter *porter, cli_needs *needs)
{
    const cli_args *common = &run->args->common;
    const cli_broker_tools tools = { .compiler = common->value[CLI_O_COMPILER],
                                     .option = (const char *const *)run->args->ptx.items,
                                     .n_option = run->args->ptx.count,
                                     .generator = common->value[CLI_O_GENERATOR] };
    int rc = cli_porter_begin(porter);

    if (rc == CLI_X_CLEAN)
        rc = cli_broker_begin(&run->broker, &tools, &common->limits, &needs->broker);
    cli_porter_needs(porter, needs);
    run->rc = cli_worse(run->rc, rc);
    return rc == CLI_X_CLEAN;
}

/* Before the cage is entered, where files have names. What cannot be asked about is an error later on. */
static bool is_large(const cli_args *common)
{
    int64_t bytes = 0;
    struct stat about;

    for (int i = 0; i < common->n_operands && bytes <= FOR_ONE_THREAD; i++)
        if (stat(common->operands[i], &about) == 0 && S_ISREG(about.st_mode))
            bytes += about.st_size < FOR_ONE_THREAD ? about.st_size : FOR_ONE_THREAD + 1;
    return bytes > FOR_ONE_THREAD;
}

/* The cage has room for as many. */
static void choose_jobs(cli_args *common)
{
    if (!common->set[CLI_O_JOBS] && is_large(common))
        common->jobs = cli_default_jobs(&common->limits);
    if (common->jobs > CLI_TEAM_MOST)
        common->jobs = CLI_TEAM_MOST;
}

static int run_link(link_args *args)
{
    cli_needs needs = CLI_NO_NEEDS;
    link_run run = { .args = args };
    cli_outfile out = CLI_NO_OUTFILE, modules = CLI_NO_OUTFILE;
    cli_porter porter = CLI_NO_PORTER;

    drop_repeated(args);
    choose_jobs(&args->common);
    cli_team_open(&run.team, args->common.jobs);
    if (open_product(&run, &porter, args->value[LINK_O_OUTPUT], &out) &&
        open_product(&run, &porter, args->value[LINK_O_REGISTER_BINARIES], &modules) &&
        may_write(&run, &out, &modules) && start_helpers(&run, &porter, &needs) && begin_link(&run)) {
        int rc = cli_each_input(&args->common, &needs, on_input, &run);

        run.rc = cli_worse(run.rc, rc);
        finish_link(&run, &out, &modules);
    }
    cli_team_close(&run.team);
    cuvet_ctx_destroy(run.ctx);
    cli_broker_stop(&run.broker);
    free(run.diag);
    cli_outfile_close(&out);
    cli_outfile_close(&modules);
    cli_porter_stop(&porter);
    if (args->role->end)
        *args->role->end = run.end;
    return run.rc;
}

int link_main(int argc, char **argv, const link_role *role)
{
    link_args args;
    int rc = CLI_X_CLEAN;

    if (link_parse(argc, argv, role, &args, &rc))
        rc = run_link(&args);
    link_args_release(&args);
    return rc;
}

int cmd_link(int argc, char **argv)
{
    static const link_role OWN = { .voice = &LINK_OURS };

    return link_main(argc, argv, &OWN);
}

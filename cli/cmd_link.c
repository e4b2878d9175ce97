/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Link device code for one target. */
#include "link_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        .relocatable = a->set[LINK_O_RELOCATABLE],
        .exact_relocatable = a->common.set[CLI_O_COMPAT_R],
        .debug = a->set[LINK_O_DEBUG] && !a->set[LINK_O_SUPPRESS_DEBUG],
        .preserve_relocs = a->set[LINK_O_PRESERVE_RELOCS],
        .no_stack_warning = a->set[LINK_O_NO_STACK_WARNING],
        .warnings_are_errors = a->set[LINK_O_WERROR],
        .kernels_used = (const char *const *)a->kernels.v,
        .n_kernels_used = a->kernels.n,
    };
    cuvet_status s = cuvet_ctx_create(&co, &r->ctx);

    if (s == CUVET_OK)
        s = cuvet_linker_create(r->ctx, &lo, &r->linker);
    link_say_input(r, NULL);
    if (s != CUVET_OK && r->rc == CLI_X_CLEAN)
        link_error(r, NULL, link_exit_of(s), cli_status_text(s));
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

static void save(link_run *r, int dir, const char *name)
{
    cuvet_link_result out;
    cuvet_status s = cuvet_linker_result(r->ctx, r->linker, &out);

    if (s == CUVET_OK && r->args->set[LINK_O_VERBOSE])
        link_report(r, out.bytes, out.n);
    if (s == CUVET_OK && r->rc == CLI_X_CLEAN)
        s = cuvet_save(dir, name, out.bytes, out.n, true, false);
    if (s == CUVET_E_EXISTS)
        link_error(r, r->args->value[LINK_O_OUTPUT], CLI_X_IO, "exists and is no file");
    else if (s == CUVET_E_USAGE || s == CUVET_E_IO)
        link_error(r, r->args->value[LINK_O_OUTPUT], CLI_X_IO, "cannot be written");
    else if (s != CUVET_OK)
        link_error(r, r->args->value[LINK_O_OUTPUT], link_exit_of(s), cli_status_text(s));
}

static void finish(link_run *r, int dir, const char *name)
{
    cuvet_status s;

    if (r->lost_diag)
        link_error(r, NULL, CLI_X_LIMIT, "out of memory");
    if (r->rc != CLI_X_CLEAN)
        return;
    s = cuvet_linker_complete(r->ctx, r->linker);
    link_say_link(r);
    if (r->args->set[LINK_O_DUMP_CALLGRAPH] || r->args->set[LINK_O_DUMP_CALLGRAPH_RAW])
        link_callgraph(r);
    if (s == CUVET_OK)
        save(r, dir, name);
    else if (r->rc == CLI_X_CLEAN)
        link_error(r, NULL, link_exit_of(s), cli_status_text(s));
    r->rc = cli_worse(r->rc, link_exit_of(s));
}

/* The directory of the output, opened before the cage. */
static int open_output(link_run *r, const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    *name = slash ? slash + 1 : path;
    if (fd < 0)
        link_error(r, path, CLI_X_IO, dir ? strerror(errno) : "out of memory");
    free(dir);
    return fd;
}

static int run(link_args *a)
{
    cli_needs needs = { .out_dir = -1, .broker = -1 };
    link_run r = { .args = a };
    const char *name;
    int rc;

    drop_repeated(a);
    needs.out_dir = open_output(&r, a->value[LINK_O_OUTPUT], &name);
    if (needs.out_dir < 0)
        return r.rc;
    if (begin(&r)) {
        rc = cli_each_input(&a->common, &needs, on_input, &r);
        r.rc = cli_worse(r.rc, rc);
        finish(&r, needs.out_dir, name);
    }
    cuvet_ctx_destroy(r.ctx);
    free(r.diag);
    (void)close(needs.out_dir); /* a directory: nothing is buffered in it */
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

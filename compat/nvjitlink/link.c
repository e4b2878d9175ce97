/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A link from its options to its result. Each has a context of its own: nothing is shared between handles. */
#include "face.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;

    return clock_gettime(CLOCK_MONOTONIC, &time) == 0 ? (double)time.tv_sec + 1e-9 * (double)time.tv_nsec : 0;
}

/* Nothing is left out without a word, whatever the link ends with. */
static void put_left_out(cv_jit_link *link, const cuvet_event *event)
{
    cv_jit_print(&link->info, "info    : left out (%s): '", cuvet_event_kind_name(event->kind));
    cv_jit_put_name(&link->info, event->file);
    if (event->member) {
        cv_jit_print(&link->info, "', member '");
        cv_jit_put_name(&link->info, event->member);
    }
    cv_jit_print(&link->info, "'\n");
}

void cv_jit_on_event(void *user, const cuvet_event *event)
{
    cv_jit_link *link = user;

    switch ((int)event->kind) {
    case CUVET_EVENT_NEEDS_COMPILER: link->needs_compiler = true; break;
    case CUVET_EVENT_NEEDS_LTO: link->needs_lto = true; break;
    case CUVET_EVENT_NO_MATCH:
    case CUVET_EVENT_WHOLE_PROGRAM:
    case CUVET_EVENT_ALREADY_LINKED:
    case CUVET_EVENT_NOT_AN_OBJECT:
    case CUVET_EVENT_OUTSIDE: put_left_out(link, event); break;
    default: break;
    }
}

static void on_compiler_log(void *user, const char *file, const char *member, const char *text)
{
    (void)file;
    (void)member;
    cv_jit_text(&((cv_jit_link *)user)->compiler_log, text, strlen(text));
}

/* The compiler of PTX is the caller's: a program that the environment names, in a cage. */
static cv_jit_result open_compiler(cv_jit_link *link)
{
    cuvet_external external = { .size = sizeof(external), .path = secure_getenv("CUVET_PTXAS") };
    const char *folder = secure_getenv("TMPDIR");
    cuvet_status status;

    if (!external.path || external.path[0] == '\0')
        return CV_JIT_SUCCESS;
    if (folder && folder[0] == '/') /* a relative one would be another place for the child */
        external.directory = folder;
    link->compiler.size = sizeof(link->compiler);
    status = cuvet_compiler_external(&external, NULL, &link->compiler);
    if (status != CUVET_OK) {
        cv_jit_print(&link->error, "ERROR: CUVET_PTXAS: %s\n",
                     status == CUVET_E_USAGE ? "no absolute path" : cuvet_status_text(status));
        return CV_JIT_INTERNAL;
    }
    link->has_compiler = true;
    return CV_JIT_SUCCESS;
}

/* A variable name that is given keeps no kernel: as the reference does it, kernels are dead then. */
static const char *const NO_KERNEL[] = { "\n" };

/* In this process. */
static cv_jit_result open_here(cv_jit_link *link, const cuvet_linker_options *options)
{
    cuvet_ctx_options ctx = { .size = sizeof(ctx), .diag = cv_jit_on_diag, .diag_user = link };
    cuvet_status status = cuvet_ctx_create(&ctx, &link->ctx);

    if (status == CUVET_OK)
        status = cuvet_linker_create(link->ctx, options, &link->linker);
    cv_jit_say(link, NULL);
    if (status == CUVET_OK)
        return CV_JIT_SUCCESS;
    cv_jit_print(&link->error, "ERROR: %s\n", cuvet_status_text(status));
    return status == CUVET_E_ARCH ? CV_JIT_UNRECOGNIZED_ARCH : CV_JIT_INTERNAL;
}

static cv_jit_result open_linker(cv_jit_link *link)
{
    cv_jit_settings *set = &link->settings;
    cuvet_linker_options options = { .size = sizeof(options), .event = cv_jit_on_event, .event_user = link };
    cuvet_status status = cuvet_target_parse(set->arch, &options.target);

    if (status != CUVET_OK) {
        cv_jit_print(&link->error, "ERROR: %s\n", cuvet_status_text(status));
        return status == CUVET_E_ARCH ? CV_JIT_UNRECOGNIZED_ARCH : CV_JIT_INTERNAL;
    }
    options.flags = (set->relocatable ? CUVET_LINK_RELOCATABLE : 0) | (set->debug ? CUVET_LINK_DEBUG : 0);
    options.kernels_used = (const char *const *)set->kernels_used.item;
    options.n_kernels_used = set->kernels_used.size;
    if (set->variables_used && set->kernels_used.size == 0) {
        options.kernels_used = NO_KERNEL;
        options.n_kernels_used = 1;
    }
    if (link->has_compiler) {
        options.compiler = &link->compiler;
        options.compiler_options = (const char *const *)set->compiler.item;
        options.n_compiler_options = set->compiler.size;
        options.compiler_log = on_compiler_log;
        options.compiler_user = link;
    }
    return link->workers ? cv_jit_isolate_begin(link, &options) : open_here(link, &options);
}

cv_jit_result cv_jit_open(cv_jit_link *link, uint32_t count, const char *const *options)
{
    cv_jit_result result = cv_jit_options(link, count, options);

    link->started = now();
    if (result == CV_JIT_SUCCESS)
        result = cv_jit_isolate_open(link);
    if (result == CV_JIT_SUCCESS)
        result = open_compiler(link);
    if (result == CV_JIT_SUCCESS)
        result = cv_jit_lto_open(link);
    if (result == CV_JIT_SUCCESS)
        result = open_linker(link);
    if (result == CV_JIT_SUCCESS)
        link->state = CV_JIT_OPEN;
    return result;
}

/* What needs the compiler of IR is refused before anything is linked. */
static cv_jit_result refuse_lto(cv_jit_link *link)
{
    if (link->settings.ptx) {
        cv_jit_print(&link->error, "ERROR: -ptx requires that all inputs are LTO-IR\n");
        return CV_JIT_INCORRECT_INPUT_TYPE;
    }
    cv_jit_print(&link->error, "ERROR: -lto: there is no LTO-IR to compile\n");
    return CV_JIT_NVVM_COMPILE;
}

static cv_jit_result complete_here(cv_jit_link *link)
{
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status = cuvet_linker_complete(link->ctx, link->linker);

    if (status == CUVET_OK)
        status = cuvet_linker_get_result(link->ctx, link->linker, &result);
    cv_jit_say(link, NULL);
    if (status != CUVET_OK) {
        cv_jit_print(&link->error, "ERROR: nothing is linked: %s\n", cuvet_status_text(status));
        return CV_JIT_INTERNAL;
    }
    link->result = result.bytes;
    link->n_result = result.n;
    return CV_JIT_SUCCESS;
}

cv_jit_result cv_jit_complete(cv_jit_link *link)
{
    double begin = now();
    cv_jit_result result;

    if (link->state != CV_JIT_OPEN)
        return CV_JIT_INTERNAL;
    link->state = CV_JIT_FAILED;
    if (link->settings.lto)
        return link->has_ir ? cv_jit_lto_complete(link) : refuse_lto(link);
    result = link->workers ? cv_jit_isolate_complete(link) : complete_here(link);
    if (result != CV_JIT_SUCCESS)
        return result;
    link->state = CV_JIT_LINKED;
    if (link->settings.verbose)
        cv_jit_report(link);
    if (link->settings.timing)
        cv_jit_print(&link->info, "milliseconds before the link: %.6f\nmilliseconds of the link: %.6f\n",
                     1e3 * (begin - link->started), 1e3 * (now() - begin));
    return CV_JIT_SUCCESS;
}

void cv_jit_close(cv_jit_link *link)
{
    cuvet_ctx_destroy(link->ctx); /* the linker goes with it */
    if (link->has_compiler)
        cuvet_compiler_destroy(&link->compiler);
    cv_jit_log_end(&link->error);
    cv_jit_log_end(&link->info);
    cv_jit_log_end(&link->compiler_log);
    cv_jit_list_end(&link->settings.kernels_used);
    cv_jit_list_end(&link->settings.compiler);
    cv_jit_list_end(&link->settings.given);
    cv_jit_lto_close(link);
    cv_jit_isolate_close(link);
    free(link->said.diag);
    memset(link, 0, sizeof(*link));
}

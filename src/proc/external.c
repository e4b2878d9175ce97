/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/external.h"

#include <signal.h>

#include "base/arith.h"
#include "base/text.h"
#include "base/vec.h"
#include "proc/child.h"

#define IN_PTX   "input.ptx"
#define IN_CUBIN "input.cubin" /* nvlink goes by the end of the name, and is silent about others */
#define OUT_NAME "output.cubin"

CV_VEC(arguments, const char *);

/* What a field may be; 0 stands for the default. */
typedef struct field_range {
    uint64_t low, usual, high;
} field_range;

static bool take_field(uint64_t given, field_range range, uint64_t *out)
{
    *out = given ? given : range.usual;
    return *out >= range.low && *out <= range.high;
}

cuvet_status cv_external_check(const cuvet_external *given, cuvet_external *out)
{
    static const field_range SECONDS = { 1, 60, 31536000 };
    static const field_range DEADLINE = { 1, 120000, UINT64_C(31536000000) };
    static const field_range MEMORY = { CV_MIB, 8 * CV_GIB, CV_GIB * CV_GIB };
    static const field_range OUTPUT = { 1, 256 * CV_MIB, CV_GIB * CV_KIB };
    static const field_range LOG = { 1, 64 * CV_KIB, 64 * CV_MIB };
    static const field_range FILES = { 8, 64, CV_MIB };
    static const field_range PROCESSES = { 1, 16, CV_MIB };
    cuvet_external external = { .size = sizeof(external),
                                .path = given->path,
                                .directory = given->directory };

    if (!given->path || given->path[0] != '/')
        return CUVET_E_USAGE;
    if (!external.directory)
        external.directory = "/tmp";
    if (external.directory[0] != '/')
        return CUVET_E_USAGE;
    if (!take_field(given->cpu_seconds, SECONDS, &external.cpu_seconds) ||
        !take_field(given->deadline_ms, DEADLINE, &external.deadline_ms) ||
        !take_field(given->memory, MEMORY, &external.memory) ||
        !take_field(given->output, OUTPUT, &external.output) || !take_field(given->log, LOG, &external.log) ||
        !take_field(given->files, FILES, &external.files) ||
        !take_field(given->processes, PROCESSES, &external.processes))
        return CUVET_E_USAGE;
    *out = external;
    return CUVET_OK;
}

static void release_result(cuvet_compile_result *result, void *user)
{
    const cv_external *external = user;

    if (result->bytes)
        external->alloc.release(external->alloc.user, result->bytes, result->n);
    if (result->log)
        external->alloc.release(external->alloc.user, result->log, result->n_log);
    result->bytes = NULL;
    result->log = NULL;
    result->n = result->n_log = 0;
}

void cv_external_limits(const cuvet_external *conf, cv_child_options *options)
{
    options->path = conf->path;
    options->directory = conf->directory;
    options->output = conf->output;
    options->log = conf->log;
    options->deadline_ms = conf->deadline_ms;
    options->cpu_seconds = conf->cpu_seconds;
    options->memory = conf->memory;
    options->files = conf->files;
    options->processes = conf->processes;
}

static void describe_end(const cuvet_external *conf, const cv_child_result *result, cuvet_compile_result *out)
{
    bool signaled = result->end == CV_CHILD_SIGNALED;
    /* The soft limit is a signal that a program may ignore, the hard one a second later is not. */
    bool cpu =
        signaled && (result->value == SIGXCPU ||
                     (result->value == SIGKILL && result->cpu_ms >= cv_sat_mul(conf->cpu_seconds, 1000)));

    out->detail = result->value;
    if (result->end == CV_CHILD_CANCELLED) {
        out->end = CUVET_COMPILE_CANCELLED;
    } else if (result->end == CV_CHILD_DEADLINE || cpu) {
        out->end = CUVET_COMPILE_TIMEOUT;
        out->detail = (int64_t)(cpu ? conf->cpu_seconds * 1000 : conf->deadline_ms);
    } else if (result->output == CV_CHILD_OVERSIZED || (signaled && result->value == SIGXFSZ)) {
        out->end = CUVET_COMPILE_OVERSIZED;
        out->detail = (int64_t)conf->output;
    } else if (result->end == CV_CHILD_NOT_STARTED) {
        out->end = CUVET_COMPILE_NOT_FOUND;
    } else if (signaled) {
        out->end = CUVET_COMPILE_CRASHED;
    } else if (result->end == CV_CHILD_LOST) {
        out->end = CUVET_COMPILE_CRASHED;
        out->detail = SIGKILL; /* nothing but that ends a supervisor */
    } else if (result->value != 0) {
        out->end = CUVET_COMPILE_FAILED;
    } else {
        out->end = result->bytes ? CUVET_COMPILED : CUVET_COMPILE_EMPTY;
    }
}

void cv_external_end(cv_mem *mem, const cuvet_external *conf, cv_child_result *result,
                     cuvet_compile_result *out)
{
    describe_end(conf, result, out);
    if (out->end != CUVET_COMPILED) {
        cv_mem_put(mem, result->bytes, result->n_bytes);
        result->bytes = NULL;
        result->n_bytes = 0;
    }
    out->bytes = result->bytes;
    out->n = (size_t)result->n_bytes;
    out->log = result->log;
    out->n_log = (size_t)result->n_log;
}

static void put_target(const cuvet_compile_request *req, char *buf, size_t cap)
{
    cv_text text = { buf, cap, 0 };

    cv_text_str(&text, "-arch=sm_");
    cv_text_dec(&text, req->sm);
    if (req->suffix)
        cv_text_char(&text, req->suffix);
    cv_text_end(&text);
}

static bool is_cubin(const cuvet_compile_request *req)
{
    return req->kind == CUVET_K_CUBIN;
}

/* ptxas -arch=sm_90a -m64 -c [-split-compile=N] options... input.ptx -o output.cubin: a linker takes
 * relocatable code, which is what -c asks for; -m64 is the default, and noted in the file by nvcc and nvlink.
 * nvlink -arch=sm_103 -r input.cubin -o output.cubin: a relocatable link of one object, which makes its code
 * again; with -g as it was compiled for a debugger. */
static bool arguments_of(cv_mem *mem, const cuvet_compile_request *req, const char *arch, char *split,
                         size_t cap, arguments *args)
{
    cv_text text = { split, cap, 0 };
    bool ok = arguments_push(mem, args, is_cubin(req) ? "nvlink" : "ptxas") &&
              arguments_push(mem, args, arch) && (is_cubin(req) || arguments_push(mem, args, "-m64")) &&
              arguments_push(mem, args, is_cubin(req) ? "-r" : "-c") &&
              (!(req->flags & CUVET_COMPILE_DEBUG) || arguments_push(mem, args, "-g"));

    cv_text_str(&text, "-split-compile=");
    cv_text_dec(&text, req->threads);
    cv_text_end(&text);
    if (ok && req->threads > 1 && !is_cubin(req))
        ok = arguments_push(mem, args, split);
    for (size_t i = 0; ok && i < req->n_options; i++)
        ok = arguments_push(mem, args, req->option[i]);
    return ok && arguments_push(mem, args, is_cubin(req) ? IN_CUBIN : IN_PTX) &&
           arguments_push(mem, args, "-o") && arguments_push(mem, args, OUT_NAME) &&
           arguments_push(mem, args, NULL);
}

cuvet_status cv_external_compile(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    const cv_external *external = user;
    cv_child_options options = { .in_name = is_cubin(req) ? IN_CUBIN : IN_PTX, .out_name = OUT_NAME };
    char arch[32], split[32];
    cv_child_result result = { 0 };
    arguments args = { 0 };
    cuvet_status status;
    cv_mem mem;

    if (req->size != sizeof(*req) || out->size != sizeof(*out) || !req->bytes || !req->cancel ||
        (req->n_options > 0 && !req->option) || (is_cubin(req) ? req->n_options > 0 : req->flags != 0) ||
        (req->flags & ~CUVET_COMPILE_DEBUG))
        return CUVET_E_INTERNAL;
    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    if ((!is_cubin(req) && req->kind != CUVET_K_PTX) ||
        (req->suffix != 0 && req->suffix != 'a' && req->suffix != 'f'))
        return CUVET_OK;
    cv_external_limits(&external->conf, &options);
    cv_mem_init(&mem, &external->alloc, UINT64_MAX); /* each part has its own limit */
    put_target(req, arch, sizeof(arch));
    status = CUVET_E_NOMEM;
    if (arguments_of(&mem, req, arch, split, sizeof(split), &args)) {
        options.argv = args.items;
        options.in = req->bytes;
        options.n_in = req->n;
        options.cancel = req->cancel;
        status = cv_child_run(&mem, &options, &result);
    }
    arguments_free(&mem, &args);
    if (status != CUVET_OK)
        return status == CUVET_E_LIMIT ? CUVET_E_NOMEM : status;
    cv_external_end(&mem, &external->conf, &result, out);
    out->release = release_result;
    return CUVET_OK;
}

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
typedef struct range {
    uint64_t low, usual, high;
} range;

static bool take(uint64_t given, range r, uint64_t *out)
{
    *out = given ? given : r.usual;
    return *out >= r.low && *out <= r.high;
}

cuvet_status cv_external_check(const cuvet_external *given, cuvet_external *out)
{
    static const range SECONDS = { 1, 60, 31536000 };
    static const range DEADLINE = { 1, 120000, UINT64_C(31536000000) };
    static const range MEMORY = { CV_MIB, 8 * CV_GIB, CV_GIB * CV_GIB };
    static const range OUTPUT = { 1, 256 * CV_MIB, CV_GIB * CV_KIB };
    static const range LOG = { 1, 64 * CV_KIB, 64 * CV_MIB };
    static const range FILES = { 8, 64, CV_MIB };
    static const range PROCESSES = { 1, 16, CV_MIB };
    cuvet_external e = { .size = sizeof(e), .path = given->path, .directory = given->directory };

    if (given->size != sizeof(*given) || !given->path || given->path[0] != '/')
        return CUVET_E_USAGE;
    if (!e.directory)
        e.directory = "/tmp";
    if (e.directory[0] != '/')
        return CUVET_E_USAGE;
    if (!take(given->cpu_seconds, SECONDS, &e.cpu_seconds) ||
        !take(given->deadline_ms, DEADLINE, &e.deadline_ms) || !take(given->memory, MEMORY, &e.memory) ||
        !take(given->output, OUTPUT, &e.output) || !take(given->log, LOG, &e.log) ||
        !take(given->files, FILES, &e.files) || !take(given->processes, PROCESSES, &e.processes))
        return CUVET_E_USAGE;
    *out = e;
    return CUVET_OK;
}

static void release(cuvet_compile_result *r, void *user)
{
    const cv_external *e = user;

    if (r->bytes)
        e->alloc.release(e->alloc.user, r->bytes, r->n);
    if (r->log)
        e->alloc.release(e->alloc.user, r->log, r->n_log);
    r->bytes = NULL;
    r->log = NULL;
    r->n = r->n_log = 0;
}

/* How the child ended, in the words of the interface. */
static void judge(const cuvet_external *conf, const cv_child_result *c, cuvet_compile_result *out)
{
    bool signaled = c->end == CV_CHILD_SIGNALED;
    /* The soft limit is a signal that a program may ignore, the hard one a second later is not. */
    bool cpu = signaled && (c->value == SIGXCPU ||
                            (c->value == SIGKILL && c->cpu_ms >= cv_sat_mul(conf->cpu_seconds, 1000)));

    out->detail = c->value;
    if (c->end == CV_CHILD_CANCELLED) {
        out->end = CUVET_COMPILE_CANCELLED;
    } else if (c->end == CV_CHILD_DEADLINE || cpu) {
        out->end = CUVET_COMPILE_TIMEOUT;
        out->detail = (int64_t)(cpu ? conf->cpu_seconds * 1000 : conf->deadline_ms);
    } else if (c->output == CV_CHILD_OVERSIZED || (signaled && c->value == SIGXFSZ)) {
        out->end = CUVET_COMPILE_OVERSIZED;
        out->detail = (int64_t)conf->output;
    } else if (c->end == CV_CHILD_NOT_STARTED) {
        out->end = CUVET_COMPILE_NOT_FOUND;
    } else if (signaled) {
        out->end = CUVET_COMPILE_CRASHED;
    } else if (c->end == CV_CHILD_LOST) {
        out->end = CUVET_COMPILE_CRASHED;
        out->detail = SIGKILL; /* nothing but that ends a keeper */
    } else if (c->value != 0) {
        out->end = CUVET_COMPILE_FAILED;
    } else {
        out->end = c->bytes ? CUVET_COMPILED : CUVET_COMPILE_EMPTY;
    }
}

static void target(const cuvet_compile_request *req, char *buf, size_t cap)
{
    cv_text t = { buf, cap, 0 };

    cv_text_str(&t, "-arch=sm_");
    cv_text_dec(&t, req->sm);
    if (req->suffix)
        cv_text_char(&t, req->suffix);
    cv_text_end(&t);
}

/* ptxas -arch=sm_90a -c [-split-compile=N] options... input.ptx -o output.cubin: a linker takes relocatable
 * code, which is what -c asks for. nvlink -arch=sm_103 -r input.cubin -o output.cubin: a relocatable link of
 * one object, which makes its code again; with -g as it was compiled for a debugger. */
static bool arguments_of(cv_mem *m, const cuvet_compile_request *req, const char *arch, char *split,
                         size_t cap, arguments *a)
{
    cv_text t = { split, cap, 0 };
    bool ok = arguments_push(m, a, req->cubin ? "nvlink" : "ptxas") && arguments_push(m, a, arch) &&
              arguments_push(m, a, req->cubin ? "-r" : "-c") && (!req->debug || arguments_push(m, a, "-g"));

    cv_text_str(&t, "-split-compile=");
    cv_text_dec(&t, req->threads);
    cv_text_end(&t);
    if (ok && req->threads > 1 && !req->cubin)
        ok = arguments_push(m, a, split);
    for (size_t i = 0; ok && i < req->n_options; i++)
        ok = arguments_push(m, a, req->option[i]);
    return ok && arguments_push(m, a, req->cubin ? IN_CUBIN : IN_PTX) && arguments_push(m, a, "-o") &&
           arguments_push(m, a, OUT_NAME) && arguments_push(m, a, NULL);
}

cuvet_status cv_external_compile(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    const cv_external *e = user;
    cv_child_options o = { .path = e->conf.path,
                           .directory = e->conf.directory,
                           .in_name = req->cubin ? IN_CUBIN : IN_PTX,
                           .out_name = OUT_NAME,
                           .output = e->conf.output,
                           .log = e->conf.log,
                           .deadline_ms = e->conf.deadline_ms,
                           .cpu_seconds = e->conf.cpu_seconds,
                           .memory = e->conf.memory,
                           .files = e->conf.files,
                           .processes = e->conf.processes };
    char arch[32], split[32];
    cv_child_result c = { 0 };
    arguments a = { 0 };
    cuvet_status s;
    cv_mem m;

    if (req->size != sizeof(*req) || out->size != sizeof(*out) || !req->bytes || !req->cancel ||
        (req->n_options > 0 && !req->option) || (req->cubin ? req->ltoir || req->n_options > 0 : req->debug))
        return CUVET_E_INTERNAL;
    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    if (req->ltoir || (req->suffix != 0 && req->suffix != 'a' && req->suffix != 'f'))
        return CUVET_OK;
    cv_mem_init(&m, &e->alloc, UINT64_MAX); /* each part has its own limit */
    target(req, arch, sizeof(arch));
    s = CUVET_E_NOMEM;
    if (arguments_of(&m, req, arch, split, sizeof(split), &a)) {
        o.argv = a.v;
        o.in = req->bytes;
        o.n_in = req->n;
        o.cancel = req->cancel;
        s = cv_child_run(&m, &o, &c);
    }
    arguments_free(&m, &a);
    if (s != CUVET_OK)
        return s == CUVET_E_LIMIT ? CUVET_E_NOMEM : s;
    judge(&e->conf, &c, out);
    if (out->end != CUVET_COMPILED) {
        cv_mem_put(&m, c.bytes, c.n);
        c.bytes = NULL;
        c.n = 0;
    }
    out->bytes = c.bytes;
    out->n = (size_t)c.n;
    out->log = c.log;
    out->n_log = (size_t)c.n_log;
    out->release = release;
    return CUVET_OK;
}

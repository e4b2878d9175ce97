/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* CUVET_ISOLATE: the link of a program happens in another process, a worker in its cage. Of an input nothing is
 * read here but the first bytes that tell what it is. */
#include "face.h"

#include <cuvet/worker.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_WORKERS = 16,
    QUEUE = 1 << 20,
    DEADLINE_MS = 120000 /* as for a compiler */
};

#define MEMORY (UINT64_C(8) << 30)

/* Workers of this process, for each mode; they end with it. A child that was forked has no part in them. */
typedef struct jit_pool {
    cuvet_workers *workers;
    pid_t owner;
} jit_pool;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static jit_pool pools[2];

static cuvet_status open_workers(cuvet_worker_mode mode, cuvet_workers **out)
{
    const char *program = secure_getenv("CUVET_WORKER");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cuvet_workers_options options = { .size = sizeof(options),
                                      .mode = mode,
                                      .flags = 0,
                                      .workers = cores < 1              ? 1
                                                 : cores > MOST_WORKERS ? MOST_WORKERS
                                                                        : (uint32_t)cores,
                                      .queue = QUEUE,
                                      .program = program && program[0] != '\0' ? program : NULL,
                                      .deadline_ms = DEADLINE_MS,
                                      .memory = MEMORY };

    return cuvet_workers_open(&options, out);
}

static cuvet_status get_workers(cuvet_worker_mode mode, cuvet_workers **out)
{
    jit_pool *pool = &pools[mode];
    cuvet_status status = CUVET_OK;

    (void)pthread_mutex_lock(&pool_lock); /* a plain one, that nobody locks twice */
    if (!pool->workers || pool->owner != getpid()) {
        status = open_workers(mode, &pool->workers);
        pool->owner = getpid();
    }
    *out = pool->workers;
    (void)pthread_mutex_unlock(&pool_lock); /* ours */
    return status;
}

cv_jit_result cv_jit_isolate_open(cv_jit_link *link)
{
    const char *how = secure_getenv("CUVET_ISOLATE");
    cuvet_worker_mode mode = CUVET_WORKER_FORK;
    cuvet_status status;

    if (!how || how[0] == '\0' || strcmp(how, "0") == 0)
        return CV_JIT_SUCCESS;
    if (strcmp(how, "persistent") == 0) {
        mode = CUVET_WORKER_PERSISTENT;
    } else if (strcmp(how, "1") != 0 && strcmp(how, "fork") != 0) {
        cv_jit_print(&link->error, "ERROR: CUVET_ISOLATE is none of 0, 1, fork, persistent\n");
        return CV_JIT_INTERNAL;
    }
    status = get_workers(mode, &link->workers);
    if (status == CUVET_OK)
        return CV_JIT_SUCCESS;
    cv_jit_print(&link->error, "ERROR: CUVET_ISOLATE: no worker: %s\n",
                 status == CUVET_E_IO ? strerror(errno) : cuvet_status_text(status));
    return CV_JIT_INTERNAL;
}

cv_jit_result cv_jit_isolate_begin(cv_jit_link *link, const cuvet_linker_options *options)
{
    cuvet_linker_options plain = *options;
    cuvet_job_options job = { .size = sizeof(job), .kind = CUVET_JOB_LINK, .link = &plain };
    cuvet_status status;

    plain.event = NULL;
    plain.event_user = NULL;
    plain.compiler = NULL;
    plain.compiler_options = NULL;
    plain.n_compiler_options = 0;
    plain.compiler_log = NULL;
    plain.compiler_user = NULL;
    status = cuvet_job_create(link->workers, &job, &link->job);
    if (status == CUVET_OK)
        return CV_JIT_SUCCESS;
    cv_jit_print(&link->error, "ERROR: %s\n", cuvet_status_text(status));
    return CV_JIT_INTERNAL;
}

/* ---- what a worker said ---- */

/* "Title 'symbol' in 'file': message", where the reference's words end before the message. */
static void put_text(cv_jit_log *log, const cuvet_job_finding *finding)
{
    const char *words = cv_jit_words(finding->rule), *text = finding->text, *end;
    cuvet_rule rule;
    size_t title =
        cuvet_rule_find(finding->rule, &rule) == CUVET_OK ? strlen(cuvet_rule_get(rule)->title) : 0;

    end = words && strlen(text) > title ? strstr(text + title, "': ") : NULL;
    if (!end) {
        cv_jit_put_name(log, text);
        return;
    }
    cv_jit_print(log, "%s", words);
    cv_jit_put(log, text + title, (size_t)(end + 1 - (text + title)));
}

/* @param name of what was looked at; NULL: the text says it */
static void say_finding(cv_jit_link *link, const cuvet_job_finding *finding, const char *name, bool at)
{
    cv_jit_log *log = finding->severity == CUVET_NOTE ? &link->info : &link->error;
    const char *symbol = cv_jit_is_stack(finding->rule) ? strchr(finding->text, '\'') : NULL;
    const char *end = symbol ? strstr(symbol, "' in '") : NULL;

    if (end) {
        cv_jit_say_stack(link, symbol + 1, (size_t)(end - symbol - 1));
        return;
    }
    cv_jit_print(log, "%-7s : ", cuvet_severity_name(finding->severity));
    put_text(log, finding);
    if (name) {
        cv_jit_print(log, " in '");
        cv_jit_put_name(log, name);
        cv_jit_print(log, "'");
    }
    if (at)
        cv_jit_print(log, " (at 0x%llx)", (unsigned long long)finding->file_off);
    cv_jit_print(log, " [%s]\n", finding->rule);
}

/* @param at of one file: where in it */
static void say_findings(cv_jit_link *link, const cuvet_job *job, const char *name, bool at)
{
    cuvet_job_finding finding = { .size = sizeof(finding) };

    for (uint64_t i = 0; cuvet_job_get_finding(job, i, &finding) == CUVET_OK; i++) {
        if (finding.severity != CUVET_NOTE || link->settings.verbose)
            say_finding(link, &finding, name, at);
    }
}

static void take_events(cv_jit_link *link, const cuvet_job *job)
{
    cuvet_event event = { .size = sizeof(event) };

    for (uint64_t i = 0; cuvet_job_get_event(job, i, &event) == CUVET_OK; i++)
        cv_jit_on_event(link, &event);
}

/* Did it answer? Otherwise the log says what became of the worker. */
static bool has_answered(cv_jit_link *link, const cuvet_answer *answer)
{
    if (answer->end == CUVET_WORKER_ANSWERED)
        return true;
    link->lost = true;
    cv_jit_print(&link->error, "ERROR: worker %s", cuvet_worker_end_name(answer->end));
    if (answer->end == CUVET_WORKER_LOST && answer->signal != 0)
        cv_jit_print(&link->error, ": signal %d", answer->signal);
    cv_jit_print(&link->error, "\n");
    return false;
}

/* ---- one input ---- */

/* Was it refused when it was added, and not by the link of it alone, in which others are missing? */
static bool refused_itself(const cuvet_job *job)
{
    cuvet_job_finding finding = { .size = sizeof(finding) };

    for (uint64_t i = 0; cuvet_job_get_finding(job, i, &finding) == CUVET_OK; i++) {
        if (finding.severity == CUVET_ERROR && strncmp(finding.rule, "CV-LINK-", 8) != 0)
            return true;
    }
    return false;
}

static cuvet_status check(cv_jit_link *link, cuvet_job *job)
{
    cuvet_answer answer = { .size = sizeof(answer) };
    cuvet_status status = cuvet_job_run(job);

    if (status == CUVET_OK)
        status = cuvet_job_get_answer(job, &answer);
    if (status != CUVET_OK)
        return status;
    if (!has_answered(link, &answer))
        return CUVET_E_INTERNAL;
    take_events(link, job);
    if (answer.status == CUVET_OK || (answer.status == CUVET_E_REFUSED && !refused_itself(job)))
        return CUVET_OK;
    return answer.status;
}

cuvet_status cv_jit_isolate_check(cv_jit_link *link, const void *data, size_t size, const char *name)
{
    /* Relocatable: what it needs of others is no question yet. */
    cuvet_linker_options options = { .size = sizeof(options),
                                     .flags = CUVET_LINK_RELOCATABLE | CUVET_LINK_NO_STACK_WARNING };
    cuvet_job_options job_options = { .size = sizeof(job_options), .kind = CUVET_JOB_LINK, .link = &options };
    cuvet_job *job = NULL;
    cuvet_status status = cuvet_target_parse(link->settings.arch, &options.target);

    if (status == CUVET_OK)
        status = cuvet_job_create(link->workers, &job_options, &job);
    if (status == CUVET_OK)
        status = cuvet_job_add_memory(job, data, size, name, CUVET_ADD_LIBRARY);
    if (status == CUVET_OK)
        status = check(link, job);
    cuvet_job_destroy(link->checked);
    link->checked = job;
    return status;
}

void cv_jit_isolate_say(cv_jit_link *link)
{
    if (link->checked)
        say_findings(link, link->checked, NULL, true);
    cuvet_job_destroy(link->checked);
    link->checked = NULL;
}

bool cv_jit_isolate_holds_ir(cv_jit_link *link, const void *data, size_t size)
{
    cuvet_select_options options = { .size = sizeof(options), .request = CUVET_REQUEST_LTOIR };
    cuvet_job_options job_options = { .size = sizeof(job_options),
                                      .kind = CUVET_JOB_SELECT,
                                      .select = &options };
    cuvet_answer answer = { .size = sizeof(answer), .status = CUVET_E_INTERNAL };
    cuvet_job *job = NULL;
    bool found = cuvet_target_parse(link->settings.arch, &options.target) == CUVET_OK &&
                 cuvet_job_create(link->workers, &job_options, &job) == CUVET_OK &&
                 cuvet_job_add_memory(job, data, size, "input", 0) == CUVET_OK &&
                 cuvet_job_run(job) == CUVET_OK && cuvet_job_get_answer(job, &answer) == CUVET_OK;

    cuvet_job_destroy(job);
    /* Packed IR is chosen, and cannot be unpacked by anybody but its compiler. */
    return found && answer.end == CUVET_WORKER_ANSWERED &&
           (answer.status == CUVET_OK || answer.status == CUVET_E_UNSUPPORTED);
}

cuvet_status cv_jit_isolate_add(cv_jit_link *link, const void *data, size_t size, const char *name)
{
    return cuvet_job_add_memory(link->job, data, size, name, CUVET_ADD_LIBRARY);
}

/* ---- results ---- */

cv_jit_result cv_jit_isolate_complete(cv_jit_link *link)
{
    cuvet_answer answer = { .size = sizeof(answer) };
    cuvet_status status = cuvet_job_run(link->job);

    if (status == CUVET_E_USAGE) { /* no inputs: a worker is asked for nothing */
        cv_jit_print(&link->error, "ERROR: nothing is linked: there is no input [CV-LINK-014]\n");
        return CV_JIT_INTERNAL;
    }
    if (status == CUVET_OK)
        status = cuvet_job_get_answer(link->job, &answer);
    if (status == CUVET_OK && !has_answered(link, &answer))
        return CV_JIT_INTERNAL;
    if (status == CUVET_OK) {
        take_events(link, link->job);
        say_findings(link, link->job, NULL, false);
        status = answer.status == CUVET_OK && !answer.bytes ? CUVET_E_INTERNAL : answer.status;
    }
    if (status != CUVET_OK) {
        cv_jit_print(&link->error, "ERROR: nothing is linked: %s\n", cuvet_status_text(status));
        return CV_JIT_INTERNAL;
    }
    link->result = answer.bytes;
    link->n_result = answer.n;
    return CV_JIT_SUCCESS;
}

cuvet_status cv_jit_isolate_scan(cv_jit_link *link, const void *data, size_t size, uint64_t *errors)
{
    cuvet_job_options options = { .size = sizeof(options), .kind = CUVET_JOB_SCAN };
    cuvet_answer answer = { .size = sizeof(answer) };
    cuvet_job *job = NULL;
    cuvet_status status = cuvet_job_create(link->workers, &options, &job);

    if (status == CUVET_OK)
        status = cuvet_job_add_memory(job, data, size, "result", 0);
    if (status == CUVET_OK)
        status = cuvet_job_run(job);
    if (status == CUVET_OK)
        status = cuvet_job_get_answer(job, &answer);
    if (status == CUVET_OK) {
        status = has_answered(link, &answer) ? answer.status : CUVET_E_INTERNAL;
        say_findings(link, job, "result of the library", true);
        *errors = answer.errors;
    }
    cuvet_job_destroy(job);
    return status;
}

void cv_jit_isolate_close(cv_jit_link *link)
{
    cuvet_job_destroy(link->checked);
    cuvet_job_destroy(link->job);
}

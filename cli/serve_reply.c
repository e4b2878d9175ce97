/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "serve.h"

#include <string.h>

/* A copy of what the client calls its request, null without. */
static json_t *id_of(const json_t *id)
{
    return id ? json_deep_copy(id) : json_null();
}

static void set_text(json_t *object, const char *key, const char *text)
{
    cli_json_set(object, key, cli_json_text(text));
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
    cli_json_set(object, key, cli_json_u64(value));
}

json_t *serve_reply_hello(const serve_server *server)
{
    json_t *reply = json_object(), *hello = json_object();

    set_number(hello, "version", SERVE_VERSION);
    set_text(hello, "cuvet", cuvet_version());
    set_text(hello, "mode", cuvet_worker_mode_name(server->mode));
    set_text(hello, "cage", cuvet_workers_cage(server->workers));
    cli_json_set(reply, "hello", hello);
    return reply;
}

json_t *serve_reply_error(const json_t *id, const char *name, const char *text)
{
    json_t *reply = json_object(), *error = json_object();

    cli_json_set(reply, "id", id_of(id));
    set_text(error, "name", name);
    set_text(error, "text", text);
    cli_json_set(reply, "error", error);
    return reply;
}

json_t *serve_reply_counters(const serve_server *server, const json_t *id)
{
    cuvet_workers_counters counters = { .size = sizeof(counters) };
    json_t *reply = json_object(), *object = json_object();

    if (cuvet_workers_get_counters(server->workers, &counters) == CUVET_OK) {
        set_number(object, "jobs", counters.jobs);
        set_number(object, "answered", counters.answered);
        set_number(object, "lost", counters.lost);
        set_number(object, "deadline", counters.deadline);
        set_number(object, "cpu", counters.cpu);
        set_number(object, "memory", counters.memory);
        set_number(object, "protocol", counters.protocol);
        set_number(object, "refused", counters.refused);
        set_number(object, "started", counters.started);
        set_number(object, "busy", counters.busy);
        set_number(object, "waiting", counters.waiting);
    }
    cli_json_set(reply, "id", id_of(id));
    cli_json_set(reply, "counters", object);
    return reply;
}

static json_t *findings_of(const cuvet_job *job)
{
    cuvet_job_finding finding = { .size = sizeof(finding) };
    json_t *list = json_array();

    for (uint64_t i = 0; cuvet_job_get_finding(job, i, &finding) == CUVET_OK; i++) {
        json_t *object = json_object();

        set_text(object, "rule", finding.rule);
        set_text(object, "severity", cuvet_severity_name(finding.severity));
        set_text(object, "place", finding.place);
        set_text(object, "text", finding.text);
        set_number(object, "offset", finding.file_off);
        set_number(object, "length", finding.length);
        if (finding.flags & CUVET_DIAG_INNER)
            set_number(object, "inner_offset", finding.inner_off);
        cli_json_append(list, object);
    }
    return list;
}

static json_t *events_of(const cuvet_job *job)
{
    cuvet_event event = { .size = sizeof(event) };
    json_t *list = json_array();

    for (uint64_t i = 0; cuvet_job_get_event(job, i, &event) == CUVET_OK; i++) {
        json_t *object = json_object();

        set_text(object, "kind", cuvet_event_kind_name(event.kind));
        set_text(object, "status", cuvet_status_name(event.status));
        set_text(object, "file", event.file);
        if (event.member)
            set_text(object, "member", event.member);
        set_number(object, "offset", event.off);
        cli_json_append(list, object);
    }
    return list;
}

static void set_result(json_t *reply, const cuvet_answer *answer)
{
    json_t *result = json_object();

    set_number(result, "fd", 0);
    set_number(result, "offset", answer->result_off);
    set_number(result, "size", answer->n);
    cli_json_set(reply, "result", result);
}

static void set_counts(json_t *reply, const cuvet_answer *answer)
{
    json_t *counts = json_object();

    set_number(counts, "containers", answer->containers);
    set_number(counts, "members", answer->members);
    set_number(counts, "images", answer->images);
    set_number(counts, "notes", answer->notes);
    set_number(counts, "warnings", answer->warnings);
    set_number(counts, "errors", answer->errors);
    cli_json_set(reply, "counts", counts);
}

static void set_target(json_t *reply, cuvet_target target)
{
    char text[32];

    if (target.sm == 0)
        return;
    (void)snprintf(text, sizeof(text), "sm_%u%.1s", target.sm, target.suffix ? &target.suffix : "");
    set_text(reply, "target", text);
}

static void set_kind(json_t *reply, const cuvet_answer *answer, cuvet_job_kind kind)
{
    if (kind == CUVET_JOB_SCAN) {
        set_text(reply, "verdict", cuvet_verdict_name(answer->verdict));
        set_counts(reply, answer);
    }
    if (kind == CUVET_JOB_SELECT)
        set_text(reply, "kind", cuvet_kind_name(answer->kind));
    if (kind == CUVET_JOB_FINALIZE)
        set_text(reply, "code", cuvet_final_code_name(answer->code));
    set_target(reply, answer->target);
}

json_t *serve_reply_answer(const json_t *id, const cuvet_job *job, cuvet_job_kind kind, int *file)
{
    cuvet_answer answer = { .size = sizeof(answer) };
    json_t *reply;

    *file = -1;
    if (cuvet_job_get_answer(job, &answer) != CUVET_OK)
        return serve_reply_error(id, "internal", "there is no answer");
    reply = json_object();
    cli_json_set(reply, "id", id_of(id));
    set_text(reply, "end", cuvet_worker_end_name(answer.end));
    if (answer.end == CUVET_WORKER_LOST)
        set_number(reply, answer.signal ? "signal" : "exit_code",
                   (uint64_t)(answer.signal ? answer.signal : answer.exit_code));
    if (answer.end != CUVET_WORKER_ANSWERED)
        return reply;
    set_text(reply, "status", cuvet_status_name(answer.status));
    set_kind(reply, &answer, kind);
    cli_json_set(reply, "findings", findings_of(job));
    cli_json_set(reply, "events", events_of(job));
    set_number(reply, "dropped", answer.dropped);
    if (answer.fd >= 0) {
        set_result(reply, &answer);
        *file = answer.fd;
    }
    return reply;
}

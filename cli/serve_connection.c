/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "serve.h"

#include <string.h>

static bool say_hello(const serve_server *server, const serve_peer *peer)
{
    serve_frame frame;
    json_t *object;
    int version;

    if (!serve_receive(peer, false, &frame))
        return false;
    object = serve_parse(&frame);
    version = serve_hello(object);
    json_decref(object);
    serve_frame_free(&frame);
    if (version)
        return serve_send(peer, serve_reply_hello(server), -1);
    (void)serve_send(peer,
                     serve_reply_error(NULL, "version", "this server speaks version 1; say hello first"), -1);
    return false;
}

static bool run_job(const serve_server *server, const serve_peer *peer, const serve_frame *frame,
                    const json_t *request, cuvet_job_kind kind)
{
    const json_t *id = json_object_get(request, "id");
    cuvet_job *job;
    const char *wrong = serve_job(server, frame, request, kind, &job);
    cuvet_status status;
    int file = -1;
    bool ok;

    if (wrong)
        return serve_send(peer, serve_reply_error(id, "usage", wrong), -1);
    status = cuvet_job_run(job);
    if (status == CUVET_OK) {
        json_t *reply = serve_reply_answer(id, job, kind, &file);

        ok = serve_send(peer, reply, file);
    } else if (status == CUVET_E_BUSY) {
        ok = serve_send(peer, serve_reply_error(id, "busy", "all workers are busy, and as many wait as may"),
                        -1);
    } else {
        ok = serve_send(peer, serve_reply_error(id, "internal", cuvet_status_text(status)), -1);
    }
    cuvet_job_destroy(job);
    return ok;
}

static bool do_request(const serve_server *server, const serve_peer *peer, const serve_frame *frame,
                       const json_t *request)
{
    const json_t *id = json_object_get(request, "id");
    const char *what = json_string_value(json_object_get(request, "do"));

    for (int kind = CUVET_JOB_LINK; what && kind <= CUVET_JOB_FINALIZE; kind++) {
        if (strcmp(what, cuvet_job_kind_name((cuvet_job_kind)kind)) == 0)
            return run_job(server, peer, frame, request, (cuvet_job_kind)kind);
    }
    if (what && strcmp(what, "counters") == 0 && json_object_size(request) == (id ? 2u : 1u))
        return serve_send(peer, serve_reply_counters(server, id), -1);
    return serve_send(peer,
                      serve_reply_error(id, "usage", "'do' is link, scan, select, finalize or counters"), -1);
}

static bool serve_one(const serve_server *server, const serve_peer *peer)
{
    serve_frame frame;
    json_t *request;
    bool ok = false;

    if (!serve_receive(peer, true, &frame))
        return false;
    request = serve_parse(&frame);
    if (request)
        ok = do_request(server, peer, &frame, request);
    else
        (void)serve_send(peer, serve_reply_error(NULL, "frame", "a frame is one JSON object"), -1);
    json_decref(request);
    serve_frame_free(&frame);
    return ok;
}

void serve_connection(const serve_server *server, int fd)
{
    const serve_peer peer = { fd, server->stall_ms };
    bool ok = say_hello(server, &peer);

    while (ok)
        ok = serve_one(server, &peer);
}

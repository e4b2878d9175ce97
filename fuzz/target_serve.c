/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a client of cuvet serve sends: the input is the stream of its connection, frames of JSON, and two
 * files come with each. A frame is refused with a text, or asks for a job of which the workers take the
 * request: what the server makes of a client's words never breaks its own protocol. No descriptor is left. */
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli.h"
#include "serve.h"
#include "worker/job.h"

enum { FILES = 2, FILE_BYTES = 100 };

/* loaded.c says with it that a library is missing. */
void cli_complain(const char *file, const char *format, ...)
{
    (void)file;
    fz_fail(format, 0, "jansson cannot be loaded");
}

static void check_job(fz_state *fuzz, cuvet_job *job)
{
    size_t size = job_packet_size(job);
    char *packet = malloc(size);
    wire_request_view view;

    FZ_CHECK(job->n_files <= WIRE_FILES, "no more files than go with a packet");
    FZ_CHECK(job->head.n_inputs > 0, "a job has inputs");
    if (packet) {
        bool several = job->head.kind != CUVET_JOB_LINK && job->head.n_inputs > 1;

        job->head.number = 1;
        job_write_packet(job, packet);
        /* cuvet_job_run() refuses several inputs, and what is too long, before anything is sent */
        if (!several && size <= WIRE_PACKET)
            FZ_CHECK(wire_take_request((const uint8_t *)packet, size, job->n_files, &view),
                     "a worker takes what the server asks for");
        fz_note_bytes(fuzz, packet, size);
    }
    free(packet);
}

static void ask(fz_state *fuzz, const serve_frame *frame, const json_t *request)
{
    /* a job that does not run takes their options, and nothing else of them */
    static cuvet_workers workers = { .options = {
                                         .deadline_ms = 1000, .memory = 1 << 30, .output = 1 << 20 } };
    const serve_server server = { .workers = &workers, .mode = CUVET_WORKER_FORK };
    const char *what = json_string_value(json_object_get(request, "do"));

    for (int kind = CUVET_JOB_LINK; what && kind <= CUVET_JOB_FINALIZE; kind++) {
        cuvet_job *job = NULL;
        const char *wrong;

        if (strcmp(what, cuvet_job_kind_name((cuvet_job_kind)kind)) != 0)
            continue;
        wrong = serve_job(&server, frame, request, (cuvet_job_kind)kind, &job);
        FZ_CHECK(!wrong == !!job, "there is a job, or a text says why not");
        fz_note_bytes(fuzz, wrong ? wrong : "", wrong ? strlen(wrong) : 0);
        if (job)
            check_job(fuzz, job);
        cuvet_job_destroy(job);
    }
}

static void give_files(serve_frame *frame)
{
    while (frame->n_files < FILES) {
        int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

        FZ_CHECK(fd >= 0 && ftruncate(fd, FILE_BYTES) == 0, "there is room for a small file");
        frame->file[frame->n_files++] = fd;
    }
}

static void run(fz_state *fuzz)
{
    static bool loaded;
    int pair[2], before = dup(0), after;
    serve_peer peer;
    serve_frame frame;

    FZ_CHECK(loaded || cli_load_for("ndjson"), "jansson is there");
    loaded = true;
    FZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "there are sockets");
    /* what is longer than the socket holds is cut off */
    (void)!send(pair[1], fuzz->in->bytes, fuzz->in->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)close(pair[1]);                 /* nothing was written that is not on its way */
    peer = (serve_peer){ pair[0], 1000 }; /* what is to come is there */
    while (serve_receive(&peer, true, &frame)) {
        json_t *request = serve_parse(&frame);

        fz_note(fuzz, request != NULL);
        fz_note(fuzz, (uint64_t)serve_hello(request));
        give_files(&frame);
        if (request)
            ask(fuzz, &frame, request);
        json_decref(request);
        serve_frame_free(&frame);
    }
    (void)close(pair[0]);
    (void)close(before);
    after = dup(0);
    FZ_CHECK(after == before, "no descriptor is left");
    (void)close(after);
}

CV_FUZZ_TARGET(serve)
{
    return fz_twice(data, size, FZ_OFF, run);
}

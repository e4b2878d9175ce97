/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet serve: workers for programs in other languages, over a Unix socket. docs/serve.md is the protocol. A
 * frame is four bytes with a length, little-endian, and so many bytes of JSON; descriptors come with it. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include <cuvet/worker.h>
#include <pthread.h>

#include "report.h"

enum {
    SERVE_VERSION = 1,
    SERVE_FRAME = 1 << 20, /* most bytes of a frame of a client; answers may be longer */
    SERVE_FILES = 64,      /* descriptors that come with one */
    SERVE_HEAD = 4
};

/* A frame that came. */
typedef struct serve_frame {
    char *text;
    size_t size;
    int file[SERVE_FILES];
    size_t n_files;
} serve_frame;

/* A connection, and how long its client may take for what has begun: a frame that it sends, an answer that
 * it is to take. Each of them as a whole, so that a byte now and then does not keep its place. */
typedef struct serve_peer {
    int fd;
    int stall_ms;
} serve_peer;

/* serve_frame.c: */
/** Length of a frame by its first bytes; 0: none is that long. */
size_t serve_length(const uint8_t head[SERVE_HEAD]);
/** Read one. false: the connection has ended, took too long, or what came is none; nothing is left to be
 *  freed.  @param may_wait whether it may begin at any time, as between two requests */
bool serve_receive(const serve_peer *peer, bool may_wait, serve_frame *frame);
void serve_frame_free(serve_frame *frame);
/** Send one, with a descriptor unless it is -1. The object is released. */
bool serve_send(const serve_peer *peer, json_t *object, int file);

/* What is shared by connections. */
typedef struct serve_server {
    cuvet_workers *workers;
    cuvet_worker_mode mode;
    int stall_ms; /* of each connection */
} serve_server;

/* serve_request.c: */
/** The text of a frame; NULL: it is no object. */
json_t *serve_parse(const serve_frame *frame);
/** The hello of a client. @return the version that both know; 0: none */
int serve_hello(const json_t *object);
/** Make the job that a request asks for. @return NULL, or what is wrong with the request */
const char *serve_job(const serve_server *server, const serve_frame *frame, const json_t *request,
                      cuvet_job_kind kind, cuvet_job **out);

/* serve_reply.c: */
json_t *serve_reply_hello(const serve_server *server);
json_t *serve_reply_error(const json_t *id, const char *name, const char *text);
json_t *serve_reply_counters(const serve_server *server, const json_t *id);
/** What became of a job; *file is a descriptor that goes with it, or -1. */
json_t *serve_reply_answer(const json_t *id, const cuvet_job *job, cuvet_job_kind kind, int *file);

/* serve_connection.c: */
/** Serve one client until it goes, or says what nobody should. */
void serve_connection(const serve_server *server, int fd);

#endif

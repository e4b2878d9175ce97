/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "broker.h"

#include "broker_int.h"
#include "sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How soon a request that was cancelled is given up. */
#define LOOK_MS 50

static void close_pair(const int *end)
{
    (void)close(end[0]);
    (void)close(end[1]);
}

/* ---- the caged side ---- */

static void release_result(struct cuvet_compile_result *result, void *user)
{
    (void)user;
    free(result->bytes);
    free(result->log);
    result->bytes = NULL;
    result->log = NULL;
}

static uint64_t option_bytes(const cuvet_compile_request *request)
{
    uint64_t count = 0;

    for (size_t i = 0; i < request->n_options; i++)
        count += strlen(request->option[i]) + 1;
    return count;
}

static bool send_request(int fd, const cuvet_compile_request *request)
{
    broker_request head = { .mark = BROKER_REQUEST,
                            .ltoir = request->kind == CUVET_K_LTOIR,
                            .suffix = request->suffix,
                            .cubin = request->kind == CUVET_K_CUBIN,
                            .debug = (request->flags & CUVET_COMPILE_DEBUG) != 0,
                            .sm = request->sm,
                            .threads = request->threads,
                            .n_options = (uint32_t)request->n_options,
                            .option_bytes = option_bytes(request),
                            .size = request->n };
    bool ok;

    ok = cli_write_all(fd, &head, sizeof(head));
    for (size_t i = 0; ok && i < request->n_options; i++)
        ok = cli_write_all(fd, request->option[i], strlen(request->option[i]) + 1);
    return ok && cli_write_all(fd, request->bytes, request->n);
}

/* Until there is an answer to be read; says once that nobody wants it any more. */
static bool wait_for_reply(int fd, const int *cancel)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    bool told = false;

    for (;;) {
        int count = poll(&poll_fd, 1, LOOK_MS);

        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return false;
        if (!told && cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
            told = true;
            if (!cli_write_all(fd, &(char){ BROKER_CANCEL }, 1))
                return false;
        }
    }
}

static void *bytes_of(int fd, uint64_t count, bool *ok)
{
    void *block = count > 0 ? malloc((size_t)count) : NULL;

    *ok = *ok && (count == 0 || (block && cli_read_all(fd, block, count)));
    return block;
}

static cuvet_status ask_broker(cli_broker *broker, const cuvet_compile_request *request,
                               cuvet_compile_result *out)
{
    broker_reply reply;
    bool ok = true;

    if (broker->lost)
        return CUVET_E_INTERNAL;
    broker->lost = true; /* until the answer has been read to its end */
    if (!send_request(broker->fd, request) || !wait_for_reply(broker->fd, request->cancel) ||
        !cli_read_all(broker->fd, &reply, sizeof(reply)) || !broker_reply_ok(&reply, &broker->rules))
        return CUVET_E_INTERNAL;
    *out = (cuvet_compile_result){ .size = sizeof(*out),
                                   .end = (cuvet_compile_end)reply.end,
                                   .detail = reply.detail,
                                   .n = (size_t)reply.size,
                                   .n_log = (size_t)reply.n_log,
                                   .release = release_result };
    out->bytes = bytes_of(broker->fd, reply.size, &ok);
    out->log = bytes_of(broker->fd, reply.n_log, &ok);
    if (!ok) {
        release_result(out, NULL);
        *out = (cuvet_compile_result){ .size = sizeof(*out) };
        return CUVET_E_NOMEM;
    }
    broker->lost = false;
    return (cuvet_status)reply.status;
}

static cuvet_status compile_by_broker(void *user, const cuvet_compile_request *request,
                                      cuvet_compile_result *out)
{
    cli_broker *broker = user;
    cuvet_status status;

    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    /* What would only make the broker hang up. */
    if (request->n == 0 || request->n > broker->rules.input || request->n_options > broker->rules.options ||
        option_bytes(request) > broker->rules.option_bytes)
        return CUVET_OK;
    if (pthread_mutex_lock(&broker->lock) != 0)
        return CUVET_E_INTERNAL;
    status = ask_broker(broker, request, out);
    (void)pthread_mutex_unlock(&broker->lock); /* ours */
    return status;
}

cuvet_status cli_broker_start(cli_broker *broker, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    int end[2], error, rc;
    pid_t parent = getpid();

    *broker = (cli_broker){ .fd = -1, .rules = *rules };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return CUVET_E_IO;
    rc = pthread_mutex_init(&broker->lock, NULL);
    broker->pid = rc == 0 ? (int)fork() : -1;
    if (broker->pid < 0) {
        error = rc ? rc : errno;
        close_pair(end);
        errno = error;
        return CUVET_E_IO;
    }
    if (broker->pid == 0) {
        (void)close(end[0]); /* so that the last one to close the other end is the other side */
        broker_settle(end[1], parent, rules);
        cli_broker_serve(end[1], real, rules);
        _exit(0);
    }
    (void)close(end[1]);
    broker->fd = end[0];
    broker->compiler =
        (cuvet_compiler){ .size = sizeof(broker->compiler), .compile = compile_by_broker, .user = broker };
    return CUVET_OK;
}

void cli_broker_stop(cli_broker *broker)
{
    if (!broker->compiler.compile)
        return;
    (void)close(broker->fd); /* nothing is on its way */
    broker->fd = -1;
    broker->compiler = (cuvet_compiler){ .size = 0 };
    (void)pthread_mutex_destroy(&broker->lock); /* nobody waits for it */
}

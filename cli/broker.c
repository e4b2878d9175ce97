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

bool broker_read(int fd, void *buf, uint64_t len)
{
    char *p = buf;

    while (len > 0) {
        size_t part = len < (1u << 30) ? (size_t)len : 1u << 30;
        ssize_t n = read(fd, p, part);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (uint64_t)n;
    }
    return true;
}

bool broker_write(int fd, const void *buf, uint64_t len)
{
    const char *p = buf;

    while (len > 0) {
        size_t part = len < (1u << 30) ? (size_t)len : 1u << 30;
        ssize_t n = write(fd, p, part);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        p += n;
        len -= (uint64_t)n;
    }
    return true;
}

/* ---- the caged side ---- */

static void release(struct cuvet_compile_result *r, void *user)
{
    (void)user;
    free(r->bytes);
    free(r->log);
    r->bytes = NULL;
    r->log = NULL;
}

static uint64_t option_bytes(const cuvet_compile_request *q)
{
    uint64_t n = 0;

    for (size_t i = 0; i < q->n_options; i++)
        n += strlen(q->option[i]) + 1;
    return n;
}

static bool send_request(int fd, const cuvet_compile_request *q)
{
    broker_request head = { .mark = BROKER_REQUEST,
                            .ltoir = q->kind == CUVET_K_LTOIR,
                            .suffix = q->suffix,
                            .cubin = q->kind == CUVET_K_CUBIN,
                            .debug = (q->flags & CUVET_COMPILE_DEBUG) != 0,
                            .sm = q->sm,
                            .threads = q->threads,
                            .n_options = (uint32_t)q->n_options,
                            .option_bytes = option_bytes(q),
                            .n = q->n };
    bool ok;

    ok = broker_write(fd, &head, sizeof(head));
    for (size_t i = 0; ok && i < q->n_options; i++)
        ok = broker_write(fd, q->option[i], strlen(q->option[i]) + 1);
    return ok && broker_write(fd, q->bytes, q->n);
}

/* Until there is an answer to be read; says once that nobody wants it any more. */
static bool wait_for_reply(int fd, const bool *cancel)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    bool told = false;

    for (;;) {
        int n = poll(&p, 1, LOOK_MS);

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        if (!told && cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED)) {
            told = true;
            if (!broker_write(fd, &(char){ BROKER_CANCEL }, 1))
                return false;
        }
    }
}

static void *bytes_of(int fd, uint64_t n, bool *ok)
{
    void *p = n > 0 ? malloc((size_t)n) : NULL;

    *ok = *ok && (n == 0 || (p && broker_read(fd, p, n)));
    return p;
}

static cuvet_status ask(cli_broker *b, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    broker_reply r;
    bool ok = true;

    if (b->lost)
        return CUVET_E_INTERNAL;
    b->lost = true; /* until the answer has been read to its end */
    if (!send_request(b->fd, q) || !wait_for_reply(b->fd, q->cancel) || !broker_read(b->fd, &r, sizeof(r)) ||
        !broker_reply_ok(&r, &b->rules))
        return CUVET_E_INTERNAL;
    *out = (cuvet_compile_result){ .size = sizeof(*out),
                                   .end = (cuvet_compile_end)r.end,
                                   .detail = r.detail,
                                   .n = (size_t)r.n,
                                   .n_log = (size_t)r.n_log,
                                   .release = release };
    out->bytes = bytes_of(b->fd, r.n, &ok);
    out->log = bytes_of(b->fd, r.n_log, &ok);
    if (!ok) {
        release(out, NULL);
        *out = (cuvet_compile_result){ .size = sizeof(*out) };
        return CUVET_E_NOMEM;
    }
    b->lost = false;
    return (cuvet_status)r.status;
}

static cuvet_status compile(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    cli_broker *b = user;
    cuvet_status s;

    *out = (cuvet_compile_result){ .size = sizeof(*out), .end = CUVET_COMPILE_UNSUPPORTED };
    /* What would only make the broker hang up. */
    if (q->n == 0 || q->n > b->rules.input || q->n_options > b->rules.options ||
        option_bytes(q) > b->rules.option_bytes)
        return CUVET_OK;
    if (pthread_mutex_lock(&b->lock) != 0)
        return CUVET_E_INTERNAL;
    s = ask(b, q, out);
    (void)pthread_mutex_unlock(&b->lock); /* ours */
    return s;
}

cuvet_status cli_broker_start(cli_broker *b, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    int end[2], error, rc;
    pid_t parent = getpid();

    *b = (cli_broker){ .fd = -1, .rules = *rules };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return CUVET_E_IO;
    rc = pthread_mutex_init(&b->lock, NULL);
    b->pid = rc == 0 ? (int)fork() : -1;
    if (b->pid < 0) {
        error = rc ? rc : errno;
        close_pair(end);
        errno = error;
        return CUVET_E_IO;
    }
    if (b->pid == 0) {
        (void)close(end[0]); /* so that the last one to close the other end is the other side */
        broker_settle(end[1], parent, rules);
        cli_broker_serve(end[1], real, rules);
        _exit(0);
    }
    (void)close(end[1]);
    b->fd = end[0];
    b->compiler = (cuvet_compiler){ .size = sizeof(b->compiler), .compile = compile, .user = b };
    return CUVET_OK;
}

void cli_broker_stop(cli_broker *b)
{
    if (!b->compiler.compile)
        return;
    (void)close(b->fd); /* nothing is on its way */
    b->fd = -1;
    b->compiler = (cuvet_compiler){ .size = 0 };
    (void)pthread_mutex_destroy(&b->lock); /* nobody waits for it */
}

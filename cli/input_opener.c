/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "frames.h"
#include "input_int.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

typedef union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

static void *wait_for_end(void *channel)
{
    struct pollfd p = { .fd = *(const int *)channel }; /* no events: errors and the end */

    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        continue;
    _exit(CLI_X_CLEAN);
}

/* The opener ends with the other side, also while it waits for somebody to write into a pipe. Not by
 * PR_SET_PDEATHSIG: that is a signal from the cage, and Landlock lets none out. */
static void watch(int *channel)
{
    pthread_t thread;

    /* Without it, it ends at the next request, which does not come. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        pthread_create(&thread, NULL, wait_for_end, channel) == 0)
        (void)pthread_detach(thread); /* ours, and running */
}

int cli_opener_start(int *channel)
{
    pid_t child;
    int end[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0)
        return -1;
    child = fork();
    if (child < 0) {
        (void)close(end[0]);
        (void)close(end[1]);
        return -1;
    }
    *channel = end[child == 0 ? 1 : 0];
    (void)close(end[child == 0 ? 0 : 1]);
    if (child == 0)
        watch(channel);
    return (int)child;
}

static uint32_t length_of(const char *text, size_t max)
{
    return text ? (uint32_t)strnlen(text, max - 1) + 1 : 0;
}

/* Descriptors on their way count against the limit of open ones, all of a user together, and for anybody but
 * root: then there is room again when some have arrived. Should nobody take them any more, watch() ends it.
 */
static bool again(void)
{
    static const struct timespec PAUSE = { 0, 1000000 };

    if (errno == ETOOMANYREFS)
        (void)nanosleep(&PAUSE, NULL);
    else if (errno != EINTR)
        return false;
    return true;
}

/* sendmsg() only reads what its vector, which readv() has as well, points to without const. */
static struct iovec piece(const void *bytes, size_t n)
{
    return (struct iovec){ (void *)(uintptr_t)bytes, n };
}

static bool send_packet(int channel, const cli_found *f)
{
    static const char NUL = '\0';
    opener_packet p = { .end = !f };
    control c = { .bytes = { 0 } };
    struct iovec v[5] = { { &p, sizeof(p) } };
    struct msghdr m = { .msg_iov = v, .msg_iovlen = 5 };
    ssize_t n;

    if (f) {
        p = (opener_packet){ .size = f->size, .rc = f->rc, .remark = f->remark, .opened = f->fd >= 0 };
        p.n_name = length_of(f->name, OPENER_NAME_MOST);
        p.n_why = length_of(f->why, OPENER_WHY_MOST);
    }
    if (p.n_name) {
        v[1] = piece(f->name, p.n_name - 1);
        v[2] = piece(&NUL, 1);
    }
    if (p.n_why) {
        v[3] = piece(f->why, p.n_why - 1);
        v[4] = piece(&NUL, 1);
    }
    if (p.opened) {
        m.msg_control = &c;
        m.msg_controllen = sizeof(c.bytes);
        c.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
        memcpy(CMSG_DATA(&c.head), &f->fd, sizeof(f->fd));
    }
    do
        n = sendmsg(channel, &m, MSG_NOSIGNAL);
    while (n < 0 && again());
    return n > 0;
}

bool cli_opener_serve(int channel, const cli_found *f)
{
    char ask;
    ssize_t n;
    bool sent;

    do
        n = read(channel, &ask, 1);
    while (n < 0 && errno == EINTR);
    sent = n == 1 && send_packet(channel, f);
    if (f && f->owned)
        (void)close(f->fd); /* the other side has its own now */
    return sent;
}

/* A descriptor that came along, -1 without. */
static int descriptor_of(struct msghdr *m)
{
    const struct cmsghdr *h = CMSG_FIRSTHDR(m);
    int fd = -1;

    if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
        h->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    return fd;
}

void cli_opener_ask(int channel)
{
    ssize_t n;

    /* Whether there is somebody to answer tells whoever takes the answer. */
    do
        n = write(channel, "n", 1);
    while (n < 0 && errno == EINTR);
}

cli_opened cli_opener_take(int channel, bool wait, cli_found *out, char *text)
{
    opener_packet p = { 0 };
    control c;
    struct iovec v[2] = { { &p, sizeof(p) }, { text, OPENER_TEXT } };
    struct msghdr m = {
        .msg_iov = v, .msg_iovlen = 2, .msg_control = c.bytes, .msg_controllen = sizeof(c.bytes)
    };
    ssize_t n;
    int fd;

    /* An opener that has answered everything and ended leaves a reset behind if it was asked once more; the
     * answers come after it. */
    do
        n = recvmsg(channel, &m, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n < 0 && !wait && errno == EAGAIN)
        return CLI_OPENED_LATER;
    if (n < (ssize_t)sizeof(p))
        return CLI_OPENED_LOST;
    fd = descriptor_of(&m);
    if (!opener_packet_ok(&p, (size_t)n, text, fd >= 0, !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))) {
        if (fd >= 0)
            (void)close(fd);
        return CLI_OPENED_LOST;
    }
    if (p.end)
        return CLI_OPENED_ALL;
    *out = (cli_found){ .name = text,
                        .why = p.n_why ? text + p.n_name : NULL,
                        .rc = p.rc,
                        .remark = p.remark != 0,
                        .fd = fd,
                        .size = p.size,
                        .owned = true };
    return CLI_OPENED_ONE;
}

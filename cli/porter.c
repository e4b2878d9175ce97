/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caged side of the porter, and its start. */
#include "porter.h"

#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The porter ends when the caged process has ended, and not before: a signal for both, from a terminal, must
 * not leave a file behind. */
static void settle(int fd, const cli_porter *p)
{
    static const int NOT_FOR_US[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP };
    const int keep[] = { fd,
                         p->folder,
                         p->n_drafts > 0 ? p->draft[0]->fd : -1,
                         p->n_drafts > 0 ? p->draft[0]->dir : -1,
                         p->n_drafts > 1 ? p->draft[1]->fd : -1,
                         p->n_drafts > 1 ? p->draft[1]->dir : -1 };
    const cli_cage nothing_else = { CLI_CAGE_NOTHING, .keep = keep,
                                    .n_keep = sizeof(keep) / sizeof(keep[0]) };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t none;

    for (size_t i = 0; i < sizeof(NOT_FOR_US) / sizeof(NOT_FOR_US[0]); i++)
        (void)signal(NOT_FOR_US[i], SIG_IGN);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* what came in the meantime is ignored as well */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        _exit(1);
    /* Standard output is somebody's pipe, whose end must not wait for us. */
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        (void)(null >= 0 ? dup2(null, i) : close(i)); /* nothing is written to them */
    cli_cage_close_others(&nothing_else);
}

/* Directories are the porter's from now on. */
static void close_directories(cli_porter *p)
{
    for (uint32_t i = 0; i < p->n_drafts; i++) {
        if (p->draft[i]->dir >= 0)
            (void)close(p->draft[i]->dir); /* a directory: nothing is buffered in it */
        p->draft[i]->dir = -1;
    }
    p->in_folder = p->folder >= 0;
    if (p->folder >= 0)
        (void)close(p->folder); /* the same */
    p->folder = -1;
}

cuvet_status cli_porter_start(cli_porter *p)
{
    sigset_t all, old;
    int end[2], error;
    pid_t child;

    if (p->n_drafts == 0 && p->folder < 0)
        return CUVET_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0)
        return CUVET_E_IO;
    /* No signal may end the porter before it ignores them. */
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old);
    child = fork();
    if (child != 0)
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
    if (child < 0) {
        error = errno;
        (void)close(end[0]);
        (void)close(end[1]);
        errno = error;
        return CUVET_E_IO;
    }
    if (child == 0) {
        (void)close(end[0]); /* so that the last one to close the other end is the other side */
        settle(end[1], p);
        cli_porter_serve(end[1], p);
        _exit(0);
    }
    (void)close(end[1]);
    p->fd = end[0];
    close_directories(p);
    return CUVET_OK;
}

cuvet_status cli_write_whole(int fd, const void *bytes, size_t n)
{
    const char *p = bytes;

    /* One piece of the disk for the whole file, where the file system can do that. */
    if (n > 0 && n <= INT64_MAX)
        (void)fallocate(fd, 0, 0, (off_t)n);
    while (n > 0) {
        ssize_t put = write(fd, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return CUVET_E_IO;
        p += put;
        n -= (size_t)put;
    }
    return CUVET_OK;
}

/* @param name n bytes, where the order has one */
static bool send_order(const cli_porter *p, uint8_t verb, uint8_t file, const char *name, size_t n)
{
    char packet[sizeof(porter_order) + PORTER_NAME_MOST];
    const porter_order o = { .verb = verb, .file = file, .n_name = (uint16_t)n };
    ssize_t put;

    if (n > PORTER_NAME_MOST)
        return false;
    memcpy(packet, &o, sizeof(o));
    memcpy(packet + sizeof(o), name, n);
    do
        put = write(p->fd, packet, sizeof(o) + n);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)(sizeof(o) + n);
}

typedef union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

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

/* @param fd where a descriptor goes; NULL: none is to come */
static cuvet_status take_reply(const cli_porter *p, int *fd)
{
    porter_reply r = { .mark = 0 };
    control c;
    struct iovec v = { &r, sizeof(r) };
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof(c.bytes)
    };
    ssize_t n;
    int got;

    do
        n = recvmsg(p->fd, &m, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    got = n < 0 ? -1 : descriptor_of(&m);
    if (n < 0 || m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
        !porter_reply_ok(&r, (size_t)n, got >= 0, fd != NULL)) {
        if (got >= 0)
            (void)close(got);
        return CUVET_E_IO;
    }
    if (fd)
        *fd = got;
    return (cuvet_status)r.status;
}

cuvet_status cli_porter_done(cli_porter *p, uint32_t draft)
{
    cuvet_status s = send_order(p, PORTER_DONE, (uint8_t)draft, "", 0) ? take_reply(p, NULL) : CUVET_E_IO;

    if (s == CUVET_OK)
        p->draft[draft]->temporary[0] = '\0'; /* it has its name, or none */
    return s;
}

static cuvet_status save(cli_porter *p, const char *name, const void *bytes, size_t n)
{
    int fd = -1;
    cuvet_status s;

    if (!porter_name_ok(name, strlen(name)))
        return CUVET_E_USAGE;
    s = send_order(p, PORTER_GIVE, PORTER_IN_FOLDER, "", 0) ? take_reply(p, &fd) : CUVET_E_IO;
    if (s != CUVET_OK)
        return s;
    s = cli_write_whole(fd, bytes, n);
    if (close(fd) != 0)
        s = CUVET_E_IO;
    if (s != CUVET_OK)
        return s;
    return send_order(p, PORTER_DONE, PORTER_IN_FOLDER, name, strlen(name)) ? take_reply(p, NULL)
                                                                            : CUVET_E_IO;
}

cuvet_status cli_porter_save(cli_porter *p, const char *name, const void *bytes, size_t n)
{
    cuvet_status s = save(p, name, bytes, n);

    p->left = p->left || s != CUVET_OK;
    return s;
}

/* Is there something that has to be taken away again? Nobody shall see it after our end. */
static bool leaves_something(const cli_porter *p)
{
    bool left = p->left;

    for (uint32_t i = 0; i < p->n_drafts; i++)
        left = left || p->draft[i]->temporary[0] != '\0';
    return left;
}

void cli_porter_stop(cli_porter *p)
{
    if (p->fd < 0)
        return;
    if (leaves_something(p) && send_order(p, PORTER_END, PORTER_IN_FOLDER, "", 0))
        (void)take_reply(p, NULL); /* without an answer it has ended already */
    (void)close(p->fd);            /* it ends by that; there is nothing to wait for */
    p->fd = -1;
}

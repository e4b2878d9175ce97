/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caged side of the porter, and its start. */
#include "porter.h"

#include "descriptor.h"
#include "sandbox.h"
#include "whole.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The porter ends when the caged process has ended, and not before: a signal for both, from a terminal, must
 * not leave a file behind. */
static void settle_porter(int fd, const cli_porter *porter)
{
    static const int NOT_FOR_US[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP };
    const int keep[] = { fd,
                         porter->folder,
                         porter->n_drafts > 0 ? porter->draft[0]->fd : -1,
                         porter->n_drafts > 0 ? porter->draft[0]->dir : -1,
                         porter->n_drafts > 1 ? porter->draft[1]->fd : -1,
                         porter->n_drafts > 1 ? porter->draft[1]->dir : -1 };
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
static void close_directories(cli_porter *porter)
{
    for (uint32_t i = 0; i < porter->n_drafts; i++) {
        if (porter->draft[i]->dir >= 0)
            (void)close(porter->draft[i]->dir); /* a directory: nothing is buffered in it */
        porter->draft[i]->dir = -1;
    }
    porter->in_folder = porter->folder >= 0;
    if (porter->folder >= 0)
        (void)close(porter->folder); /* the same */
    porter->folder = -1;
}

cuvet_status cli_porter_start(cli_porter *porter)
{
    sigset_t all, old;
    int end[2], error;
    pid_t child;

    if (porter->n_drafts == 0 && porter->folder < 0)
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
        settle_porter(end[1], porter);
        cli_porter_serve(end[1], porter);
        _exit(0);
    }
    (void)close(end[1]);
    porter->fd = end[0];
    close_directories(porter);
    return CUVET_OK;
}

cuvet_status cli_write_whole(int fd, const void *bytes, size_t size)
{
    uint64_t length = size; /* a size of 32 bits is always below the limit, which compilers complain of */

    /* One piece of the disk for the whole file, where the file system can do that. */
    if (length > 0 && length <= INT64_MAX)
        (void)fallocate(fd, 0, 0, (off_t)size);
    return cli_write_all(fd, bytes, size) ? CUVET_OK : CUVET_E_IO;
}

/* @param name 'len' bytes, where the order has one */
static bool send_order(const cli_porter *porter, uint8_t verb, uint8_t file, const char *name, size_t len)
{
    char packet[sizeof(porter_order) + PORTER_NAME_MOST];
    const porter_order order = { .verb = verb, .file = file, .n_name = (uint16_t)len };
    ssize_t put;

    if (len > PORTER_NAME_MOST)
        return false;
    memcpy(packet, &order, sizeof(order));
    memcpy(packet + sizeof(order), name, len);
    do
        put = write(porter->fd, packet, sizeof(order) + len);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)(sizeof(order) + len);
}

/* @param fd where a descriptor goes; NULL: none is to come */
static cuvet_status take_reply(const cli_porter *porter, int *fd)
{
    porter_reply reply = { .mark = 0 };
    cli_beside control;
    struct iovec vec = { &reply, sizeof(reply) };
    struct msghdr msg = { .msg_iov = &vec,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof(control.bytes) };
    ssize_t count;
    int got;

    do
        count = recvmsg(porter->fd, &msg, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    got = count < 0 ? -1 : cli_came_with(&msg);
    if (count < 0 || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
        !porter_reply_ok(&reply, (size_t)count, got >= 0, fd != NULL)) {
        if (got >= 0)
            (void)close(got);
        return CUVET_E_IO;
    }
    if (fd)
        *fd = got;
    return (cuvet_status)reply.status;
}

cuvet_status cli_porter_done(cli_porter *porter, uint32_t draft)
{
    cuvet_status status =
        send_order(porter, PORTER_DONE, (uint8_t)draft, "", 0) ? take_reply(porter, NULL) : CUVET_E_IO;

    if (status == CUVET_OK)
        porter->draft[draft]->temporary[0] = '\0'; /* it has its name, or none */
    return status;
}

static cuvet_status save_file(cli_porter *porter, const char *name, const void *bytes, size_t size)
{
    int fd = -1;
    cuvet_status status;

    if (!porter_name_ok(name, strlen(name)))
        return CUVET_E_USAGE;
    status = send_order(porter, PORTER_GIVE, PORTER_IN_FOLDER, "", 0) ? take_reply(porter, &fd) : CUVET_E_IO;
    if (status != CUVET_OK)
        return status;
    status = cli_write_whole(fd, bytes, size);
    if (close(fd) != 0)
        status = CUVET_E_IO;
    if (status != CUVET_OK)
        return status;
    return send_order(porter, PORTER_DONE, PORTER_IN_FOLDER, name, strlen(name)) ? take_reply(porter, NULL)
                                                                                 : CUVET_E_IO;
}

cuvet_status cli_porter_save(cli_porter *porter, const char *name, const void *bytes, size_t size)
{
    cuvet_status status = save_file(porter, name, bytes, size);

    porter->left = porter->left || status != CUVET_OK;
    return status;
}

/* Is there something that has to be taken away again? Nobody shall see it after our end. */
static bool leaves_something(const cli_porter *porter)
{
    bool left = porter->left;

    for (uint32_t i = 0; i < porter->n_drafts; i++)
        left = left || porter->draft[i]->temporary[0] != '\0';
    return left;
}

void cli_porter_stop(cli_porter *porter)
{
    if (porter->fd < 0)
        return;
    if (leaves_something(porter) && send_order(porter, PORTER_END, PORTER_IN_FOLDER, "", 0))
        (void)take_reply(porter, NULL); /* without an answer it has ended already */
    (void)close(porter->fd);            /* it ends by that; there is nothing to wait for */
    porter->fd = -1;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "descriptor.h"
#include "frames.h"
#include "input_int.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void *wait_for_end(void *channel)
{
    struct pollfd poll_fd = { .fd = *(const int *)channel }; /* no events: errors and the end */

    while (poll(&poll_fd, 1, -1) < 0 && errno == EINTR)
        continue;
    _exit(CLI_X_CLEAN);
}

/* The opener ends with the other side, also while it waits for somebody to write into a pipe. Not by
 * PR_SET_PDEATHSIG: that is a signal from the cage, and Landlock lets none out. */
static void watch_reader(int *channel)
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
        watch_reader(channel);
    return (int)child;
}

static uint32_t length_of(const char *text, size_t max)
{
    return text ? (uint32_t)strnlen(text, max - 1) + 1 : 0;
}

/* sendmsg() only reads what its vector, which readv() has as well, points to without const. */
static struct iovec vector_of(const void *bytes, size_t size)
{
    return (struct iovec){ (void *)(uintptr_t)bytes, size };
}

static bool send_packet(int channel, const cli_found *found)
{
    static const char NUL = '\0';
    opener_packet packet = { .end = !found };
    struct iovec vec[5] = { { &packet, sizeof(packet) } };
    struct msghdr msg = { .msg_iov = vec, .msg_iovlen = 5 };

    if (found) {
        packet = (opener_packet){ .size = found->size,
                                  .rc = found->rc,
                                  .remark = found->remark,
                                  .number = found->number,
                                  .opened = found->fd >= 0,
                                  .what = (uint8_t)found->what,
                                  .fate = (uint8_t)found->fate,
                                  .layer = found->layer,
                                  .hash = found->hash };
        packet.n_name = length_of(found->name, OPENER_NAME_MOST);
        packet.n_why = length_of(found->why, OPENER_WHY_MOST);
    }
    if (packet.n_name) {
        vec[1] = vector_of(found->name, packet.n_name - 1);
        vec[2] = vector_of(&NUL, 1);
    }
    if (packet.n_why) {
        vec[3] = vector_of(found->why, packet.n_why - 1);
        vec[4] = vector_of(&NUL, 1);
    }
    return cli_send_with(channel, &msg, packet.opened ? found->fd : -1) > 0;
}

bool cli_opener_serve(int channel, const cli_found *found)
{
    char ask;
    ssize_t got;
    bool sent;

    do
        got = read(channel, &ask, 1);
    while (got < 0 && errno == EINTR);
    sent = got == 1 && send_packet(channel, found);
    if (found && found->owned)
        (void)close(found->fd); /* the other side has its own now */
    return sent;
}

void cli_opener_ask(int channel)
{
    ssize_t got;

    /* Whether there is somebody to answer tells whoever takes the answer. */
    do
        got = write(channel, "n", 1);
    while (got < 0 && errno == EINTR);
}

cli_opened cli_opener_take(int channel, bool wait, cli_found *out, char *text)
{
    opener_packet packet = { 0 };
    cli_beside control;
    struct iovec vec[2] = { { &packet, sizeof(packet) }, { text, OPENER_TEXT } };
    struct msghdr msg = {
        .msg_iov = vec, .msg_iovlen = 2, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
    };
    ssize_t got;
    int fd;

    /* An opener that has answered everything and ended leaves a reset behind if it was asked once more; the
     * answers come after it. */
    do
        got = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && !wait && errno == EAGAIN)
        return CLI_OPENED_LATER;
    if (got < (ssize_t)sizeof(packet))
        return CLI_OPENED_LOST;
    fd = cli_came_with(&msg);
    if (!opener_packet_ok(&packet, (size_t)got, text, fd >= 0, !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))) {
        if (fd >= 0)
            (void)close(fd);
        return CLI_OPENED_LOST;
    }
    if (packet.end)
        return CLI_OPENED_ALL;
    *out = (cli_found){ .name = text,
                        .why = packet.n_why ? text + packet.n_name : NULL,
                        .rc = packet.rc,
                        .remark = packet.remark != 0,
                        .fd = fd,
                        .size = packet.size,
                        .number = packet.number,
                        .owned = true,
                        .what = (cli_what)packet.what,
                        .fate = (cli_fate)packet.fate,
                        .layer = packet.layer,
                        .hash = packet.hash };
    return CLI_OPENED_ONE;
}

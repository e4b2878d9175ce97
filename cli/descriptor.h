/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptors that go along with messages, between the processes of the command. On their way they count
 * against the limit of open ones, all of a user together, and for anybody but root: whoever sends one may
 * have to wait until those of somebody else have arrived. */
#ifndef CLI_DESCRIPTOR_H
#define CLI_DESCRIPTOR_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { CLI_ROOM_TRIES = 60 * 1000 }; /* of a millisecond each: nobody takes so long to arrive */

/* What a message has beside its bytes, in either direction. */
typedef union cli_beside {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
} cli_beside;

/** After a send that failed: shall it be tried again? @param tries how often it was, 0 at first */
static inline bool cli_wait_for_room(unsigned *tries)
{
    static const struct timespec PAUSE = { 0, 1000000 };

    if (errno != ETOOMANYREFS || ++*tries > CLI_ROOM_TRIES)
        return errno == EINTR;
    (void)nanosleep(&PAUSE, NULL);
    return true;
}

/** What goes with a message is this descriptor; -1: nothing. @param beside lives as long as the message */
static inline void cli_put_beside(struct msghdr *msg, cli_beside *beside, int descriptor)
{
    *beside = (cli_beside){ .bytes = { 0 } };
    if (descriptor < 0)
        return;
    msg->msg_control = beside;
    msg->msg_controllen = sizeof(beside->bytes);
    beside->head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(&beside->head), &descriptor, sizeof(descriptor));
}

/** Send it, with this descriptor; -1: without. @return as sendmsg() */
static inline ssize_t cli_send_with(int socket, struct msghdr *msg, int descriptor)
{
    cli_beside beside;
    unsigned tries = 0;
    ssize_t got;

    cli_put_beside(msg, &beside, descriptor);
    do
        got = sendmsg(socket, msg, MSG_NOSIGNAL);
    while (got < 0 && cli_wait_for_room(&tries));
    msg->msg_control = NULL;
    msg->msg_controllen = 0;
    return got;
}

/** The descriptor that came along with a message that was received, -1 without. */
static inline int cli_came_with(struct msghdr *msg)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(msg);
    int fd = -1;

    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA(header), sizeof(fd));
    return fd;
}

#endif

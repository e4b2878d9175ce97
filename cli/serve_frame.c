/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "descriptor.h"
#include "serve.h"
#include "whole.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t serve_length(const uint8_t head[SERVE_HEAD])
{
    uint32_t length = 0;

    for (unsigned i = 0; i < SERVE_HEAD; i++)
        length |= (uint32_t)head[i] << 8 * i;
    return length <= SERVE_FRAME ? length : 0;
}

/* More than there is room for is closed, and makes the frame a bad one. */
static bool keep_files(serve_frame *frame, struct msghdr *message)
{
    bool ok = true;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
            if (frame->n_files < SERVE_FILES) {
                frame->file[frame->n_files++] = fd;
            } else {
                (void)close(fd); /* a stranger's */
                ok = false;
            }
        }
    }
    return ok && (message->msg_flags & MSG_CTRUNC) == 0;
}

static bool receive_bytes(int fd, int64_t end, serve_frame *frame, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(sizeof(int) * SERVE_FILES)];
        } control;
        struct iovec piece = { at, size };
        struct msghdr message = {
            .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        ssize_t got;

        if (!cli_wait_until(fd, POLLIN, end))
            return false;
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0 || !keep_files(frame, &message))
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

void serve_frame_free(serve_frame *frame)
{
    for (size_t i = 0; i < frame->n_files; i++)
        (void)close(frame->file[i]); /* a stranger's, which was only read */
    free(frame->text);
    *frame = (serve_frame){ .text = NULL };
}

bool serve_receive(const serve_peer *peer, bool may_wait, serve_frame *frame)
{
    uint8_t head[SERVE_HEAD];
    int64_t end;

    *frame = (serve_frame){ .text = NULL };
    if (may_wait && !cli_wait_until(peer->fd, POLLIN, CLI_WITHOUT_END))
        return false;
    end = cli_now_ms() + peer->stall_ms;
    if (receive_bytes(peer->fd, end, frame, head, sizeof(head))) {
        frame->size = serve_length(head);
        frame->text = frame->size > 0 ? malloc(frame->size) : NULL;
        if (frame->text && receive_bytes(peer->fd, end, frame, frame->text, frame->size))
            return true;
    }
    serve_frame_free(frame);
    return false;
}

static bool send_bytes(const serve_peer *peer, char *bytes, size_t size, int file)
{
    cli_beside beside;
    int64_t end = cli_now_ms() + peer->stall_ms;
    unsigned tries = 0;

    while (size > 0) {
        struct iovec piece = { bytes, size };
        struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
        ssize_t put;

        if (!cli_wait_until(peer->fd, POLLOUT, end))
            return false;
        cli_put_beside(&message, &beside, file);
        put = sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0 && (errno == EAGAIN || cli_wait_for_room(&tries)))
            continue;
        if (put <= 0)
            return false;
        file = -1; /* it went with the first bytes */
        bytes += put;
        size -= (size_t)put;
    }
    return true;
}

bool serve_send(const serve_peer *peer, json_t *object, int file)
{
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    size_t size = text ? strlen(text) : 0;
    char *frame = text && size <= UINT32_MAX ? malloc(SERVE_HEAD + size + 1) : NULL;
    bool ok = false;

    if (frame) {
        for (unsigned i = 0; i < SERVE_HEAD; i++)
            frame[i] = (char)(uint8_t)(size >> 8 * i);
        memcpy(frame + SERVE_HEAD, text, size + 1);
        ok = send_bytes(peer, frame, SERVE_HEAD + size, file);
    }
    free(frame);
    free(text);
    json_decref(object);
    return ok;
}

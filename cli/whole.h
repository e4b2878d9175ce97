/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads and writes that are whole or have failed: what the kernel does in pieces, or was interrupted at, goes
 * on; and how long they may take. For the command and its processes; in a header, because libcuvet-worker and
 * the fuzz targets have no object in common with them. */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define CLI_WITHOUT_END INT64_MAX

/** Milliseconds, of a clock that goes on. */
static inline int64_t cli_now_ms(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* is always there */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/** Until there is something to read, or room to write; the end of a socket counts as both. @param end by that
 * clock @return false: errno is ETIMEDOUT if it took longer */
static inline bool cli_wait_until(int fd, short events, int64_t end)
{
    struct pollfd ready = { .fd = fd, .events = events };

    for (;;) {
        int64_t left = end - cli_now_ms();
        int count = left > 0 ? poll(&ready, 1, left < INT_MAX ? (int)left : INT_MAX) : 0;

        if (count > 0)
            return true;
        if (count < 0 && errno != EINTR)
            return false;
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
    }
}

/** @param wait_ms how long nothing may come; -1: without end. @return false: it failed, or ended before */
static inline bool cli_read_within(int fd, void *out, uint64_t size, int wait_ms)
{
    uint8_t *at = out;

    while (size > 0) {
        bool ready = wait_ms < 0 || cli_wait_until(fd, POLLIN, cli_now_ms() + wait_ms);
        ssize_t got = ready ? read(fd, at, (size_t)size) : -1;

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (uint64_t)got;
    }
    return true;
}

static inline bool cli_read_all(int fd, void *out, uint64_t size)
{
    return cli_read_within(fd, out, size, -1);
}

/** From a descriptor that does not block. @param end when it is to be there, however it comes @return false:
 * errno is ETIMEDOUT if it took longer */
static inline bool cli_read_until(int fd, void *out, uint64_t size, int64_t end)
{
    uint8_t *at = out;

    while (size > 0) {
        ssize_t got = cli_wait_until(fd, POLLIN, end) ? read(fd, at, (size_t)size) : -1;

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (uint64_t)got;
    }
    return true;
}

/** By position. @return false: it failed, or the file ends before */
static inline bool cli_read_at(int fd, void *out, uint64_t size, uint64_t offset)
{
    uint8_t *at = out;

    while (size > 0) {
        ssize_t got = pread(fd, at, (size_t)size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (uint64_t)got;
    }
    return true;
}

static inline bool cli_write_all(int fd, const void *bytes, uint64_t size)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t put = write(fd, at, (size_t)size);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        size -= (uint64_t)put;
    }
    return true;
}

/** As cli_read_until. */
static inline bool cli_write_until(int fd, const void *bytes, uint64_t size, int64_t end)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t put = cli_wait_until(fd, POLLOUT, end) ? write(fd, at, (size_t)size) : -1;

        if (put < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (put <= 0)
            return false;
        at += put;
        size -= (uint64_t)put;
    }
    return true;
}

static inline bool cli_write_at(int fd, const void *bytes, uint64_t size, uint64_t offset)
{
    const uint8_t *at = bytes;

    while (size > 0) {
        ssize_t put = pwrite(fd, at, (size_t)size, (off_t)offset);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        offset += (uint64_t)put;
        size -= (uint64_t)put;
    }
    return true;
}

#endif

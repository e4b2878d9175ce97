/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Reads and writes that are whole or have failed: what the kernel does in pieces, or was interrupted at, goes
 * on. For the command and its processes; in a header, because libcuvet-worker and the fuzz targets have no
 * object in common with them. */
#ifndef CLI_WHOLE_H
#define CLI_WHOLE_H

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/** @param wait_ms how long nothing may come; -1: without end. @return false: it failed, or ended before */
static inline bool cli_read_within(int fd, void *out, uint64_t size, int wait_ms)
{
    uint8_t *at = out;

    while (size > 0) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };
        int rc = wait_ms < 0 ? 1 : poll(&ready, 1, wait_ms);
        ssize_t got = rc > 0 ? read(fd, at, (size_t)size) : rc;

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

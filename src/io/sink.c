/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "io/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cuvet/context.h>

#define BATCH 32

/* Write a batch of runs whole; writev may stop anywhere. */
static bool write_runs(int fd, struct iovec *vec, int count)
{
    int i = 0;

    while (i < count) {
        ssize_t written = writev(fd, vec + i, count - i);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        for (; i < count && (size_t)written >= vec[i].iov_len; i++)
            written -= (ssize_t)vec[i].iov_len;
        if (i < count) {
            vec[i].iov_base = (uint8_t *)vec[i].iov_base + written;
            vec[i].iov_len -= (size_t)written;
        }
    }
    return true;
}

/* The length is known: one piece of the disk for the whole file, instead of some for each page that is
 * written. And file systems that put off finding room (ext4, xfs) would do it, and start to write, when the
 * file is renamed over another one. Those that cannot do it are as good, and a disk that is full says so
 * again when it is written to. */
static void ready_room(int fd, uint64_t len)
{
    if (len > 0 && len <= INT64_MAX)
        (void)fallocate(fd, 0, 0, (off_t)len);
}

cuvet_status cv_sink_fd(int fd, const cv_slices *out)
{
    struct iovec vec[BATCH];
    cv_slice_pos pos = { 0 };
    cv_span run;
    int count = 0;

    if (out->failed)
        return CUVET_E_NOMEM;
    if (lseek(fd, 0, SEEK_CUR) == 0)
        ready_room(fd, out->len);
    while (cv_slices_next(out, &pos, &run)) {
        vec[count++] = (struct iovec){ cv_without_const(run.base), (size_t)run.len };
        if (count == BATCH) {
            if (!write_runs(fd, vec, count))
                return CUVET_E_IO;
            count = 0;
        }
    }
    return write_runs(fd, vec, count) ? CUVET_OK : CUVET_E_IO;
}

static bool plain_name(const char *name)
{
    cv_span span = cv_span_of(name, name ? strlen(name) : 0, 0);

    return span.len != 0 && span.len <= 200 && cv_span_find_byte(span, '/') == span.len &&
           !cv_span_eq_str(span, ".") && !cv_span_eq_str(span, "..");
}

/* A temporary of ours beside the target. O_EXCL: a link planted under that name is never followed. */
static int open_temporary(int dirfd, const char *name, char *tmp, size_t cap)
{
    for (unsigned i = 0; i < 1000; i++) {
        int len = snprintf(tmp, cap, ".%s.%ld.%u.tmp", name, (long)getpid(), i), fd;

        if (CV_NEVER(len < 0 || (size_t)len >= cap)) /* names are short: plain_name() */
            return -1;
        fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* linkat fails when the name exists, so that "does not exist" and "is created" are one step. */
static cuvet_status publish(int dirfd, const char *tmp, const char *name, bool replace)
{
    struct stat st;

    if (replace) {
        if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
            return CUVET_E_EXISTS;
        return renameat(dirfd, tmp, dirfd, name) == 0 ? CUVET_OK : CUVET_E_IO;
    }
    if (renameat2(dirfd, tmp, dirfd, name, RENAME_NOREPLACE) == 0)
        return CUVET_OK;
    if (errno == EEXIST)
        return CUVET_E_EXISTS;
    /* A file system without RENAME_NOREPLACE: a hard link has the same guarantee. */
    if (linkat(dirfd, tmp, dirfd, name, 0) != 0)
        return errno == EEXIST ? CUVET_E_EXISTS : CUVET_E_IO;
    return unlinkat(dirfd, tmp, 0) == 0 ? CUVET_OK : CUVET_E_IO;
}

cuvet_status cv_sink_file(int dirfd, const char *name, const cv_slices *out, cv_sink_options opt)
{
    char tmp[256];
    struct stat st;
    cuvet_status status;
    int fd;

    if (!plain_name(name))
        return CUVET_E_USAGE;
    if (!opt.replace && fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return CUVET_E_EXISTS;
    fd = open_temporary(dirfd, name, tmp, sizeof(tmp));
    if (fd < 0)
        return CUVET_E_IO;
    status = cv_sink_fd(fd, out);
    if (status == CUVET_OK && opt.sync && fsync(fd) != 0)
        status = CUVET_E_IO;
    if (close(fd) != 0 && status == CUVET_OK)
        status = CUVET_E_IO;
    if (status == CUVET_OK)
        status = publish(dirfd, tmp, name, opt.replace);
    if (status != CUVET_OK)
        (void)unlinkat(dirfd, tmp, 0); /* already failing: the first status is the one that counts */
    return status;
}

cv_sink_options cv_sink_options_of(unsigned flags)
{
    return (cv_sink_options){ (flags & CUVET_SAVE_REPLACE) != 0, (flags & CUVET_SAVE_SYNC) != 0 };
}

cuvet_status cuvet_save(int dirfd, const char *name, const void *bytes, size_t size, unsigned flags)
{
    cv_slices out = { 0 };
    cuvet_status status;
    cv_mem mem;

    if (!name || (size && !bytes))
        return CUVET_E_NULL;
    if (flags & ~(CUVET_SAVE_REPLACE | CUVET_SAVE_SYNC))
        return CUVET_E_USAGE;
    cv_mem_init(&mem, NULL, CV_MIB);
    cv_slices_borrow(&mem, &out, cv_span_of(bytes, size, 0));
    status = cv_sink_file(dirfd, name, &out, cv_sink_options_of(flags));
    cv_slices_free(&mem, &out);
    return status;
}

CV_BUF_BEGIN
static const char *last_part(const char *path)
{
    const char *name = path;

    for (; *path != 0; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}
CV_BUF_END

/* The folder that a path names before its last part, open, or -1. What is too long for a frame is not
 * opened. */
static int open_folder(const char *path, const char *name)
{
    char folder[768];
    const size_t count = (size_t)(name - path);

    if (count == 0)
        return open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (count >= sizeof(folder))
        return -1;
    cv_span_copy(cv_span_of(path, count, 0), folder);
    CV_ARRAY_SET(folder, count, 0);
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

cuvet_status cv_sink_path(const char *path, const void *bytes, size_t size, unsigned flags)
{
    const char *name = last_part(path);
    const int folder = open_folder(path, name);
    cuvet_status status;

    if (folder < 0)
        return CUVET_E_IO;
    status = cuvet_save(folder, name, bytes, size, flags);
    close(folder);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "io/source.h"

#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bytes/sized.h"

cuvet_status cv_source_read(cv_ctx *ctx, const cuvet_source *src, uint64_t off, void *buf, size_t len)
{
    if (len == 0)
        return CUVET_OK;
    if (off > src->length || len > src->length - off)
        return CUVET_E_INTERNAL;
    if (src->read_at(src->user, off, buf, len) != CUVET_OK)
        return cv_reject(ctx, CV_R_IO_READ, off, 0, len);
    return CUVET_OK;
}

#define SLACK_MAX (16 * CV_MIB)

static cuvet_status make_room(cv_ctx *ctx, cv_block *block, uint64_t len, uint64_t slack, uint64_t off)
{
    block->span = (cv_span){ block->mem, 0, off };
    if (len <= block->cap)
        return CUVET_OK;
    /* Release first: old contents are never needed, and two large blocks at once would double the peak. */
    cv_mem_put(&ctx->mem, block->mem, block->cap);
    block->cap = 0;
    if (slack > ctx->mem.limit - cv_min(ctx->mem.limit, cv_sat_add(ctx->mem.live, len)))
        slack = 0;
    block->mem = cv_mem_get_raw(&ctx->mem, len + slack);
    block->span.base = block->mem;
    if (!block->mem)
        return cv_nomem(ctx, off);
    block->cap = len + slack;
    return CUVET_OK;
}

/* Some room above the need: members grow slowly, and each new block is memory the kernel has to clear. */
cuvet_status cv_block_room(cv_ctx *ctx, cv_block *block, uint64_t len, uint64_t off)
{
    return make_room(ctx, block, len, len < CV_WINDOW_SIZE ? 0 : cv_min(len / 4, SLACK_MAX), off);
}

cuvet_status cv_block_exact(cv_ctx *ctx, cv_block *block, uint64_t len, uint64_t off)
{
    return make_room(ctx, block, len, 0, off);
}

void cv_block_filled(cv_block *block, uint64_t len)
{
    block->span.base = block->mem;
    block->span.len = len <= block->cap ? len : 0;
}

/* Smaller blocks come from memory that was used before; of huge ones a part is enough until the source has
 * shown that it has them. */
enum { READY_LEAST = 128 * 1024, READY_MOST = 64 * 1024 * 1024 };

enum { POPULATE_WRITE = 23 }; /* MADV_POPULATE_WRITE, which older headers do not have: Linux 5.14 */

/* Ask for the pages of new memory at once: each one that is touched for the first time would stop whoever
 * fills it. A kernel that cannot do that does it page by page. */
static void ready_pages(uint8_t *mem, uint64_t len)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), head = (page - (uintptr_t)mem % page) % page;

    if (len >= READY_LEAST && len > head)
        (void)madvise(mem + head, (size_t)((cv_min(len, READY_MOST) - head) / page * page), POPULATE_WRITE);
}

cuvet_status cv_block_load(cv_ctx *ctx, cv_block *block, const cuvet_source *src, uint64_t off, uint64_t len)
{
    bool fresh = len > block->cap;
    cuvet_status status = cv_block_room(ctx, block, len, off);

    if (status == CUVET_OK && fresh)
        ready_pages(block->mem, len);
    if (status == CUVET_OK)
        status = cv_source_read(ctx, src, off, block->mem, (size_t)len);
    if (status == CUVET_OK)
        cv_block_filled(block, len);
    return status;
}

cuvet_status cv_block_zero(cv_ctx *ctx, cv_block *block, uint64_t len)
{
    cuvet_status status = cv_block_room(ctx, block, len, 0);

    if (status != CUVET_OK)
        return status;
    memset(block->mem, 0, (size_t)len);
    cv_block_filled(block, len);
    return CUVET_OK;
}

void cv_block_clear(cv_block *block, uint64_t off, uint64_t len)
{
    if (len && off <= block->cap && len <= block->cap - off)
        memset(block->mem + off, 0, (size_t)len);
}

uint8_t *cv_block_at(cv_block *block, uint64_t off, uint64_t len)
{
    return block->mem && off <= block->cap && len <= block->cap - off ? block->mem + off : NULL;
}

bool cv_block_put(cv_block *block, uint64_t off, cv_span bytes)
{
    uint8_t *to = cv_block_at(block, off, bytes.len);

    if (to)
        cv_span_copy(bytes, to);
    return to != NULL;
}

cuvet_status cv_block_copy(cv_ctx *ctx, cv_block *block, cv_span bytes)
{
    cv_block old = *block;
    cuvet_status status;

    /* The old memory goes last: the bytes may be its own. */
    if (bytes.len > block->cap)
        *block = (cv_block){ 0 };
    status = cv_block_room(ctx, block, bytes.len, bytes.off);
    if (status == CUVET_OK) {
        if (block->mem != old.mem)
            ready_pages(block->mem, bytes.len);
        cv_span_copy(bytes, block->mem);
        cv_block_filled(block, bytes.len);
    }
    if (block->mem != old.mem)
        cv_block_free(ctx, &old);
    return status;
}

void cv_block_borrow(cv_block *block, cv_span bytes)
{
    *block = (cv_block){ .span = bytes };
}

void cv_block_free(cv_ctx *ctx, cv_block *block)
{
    cv_mem_put(&ctx->mem, block->mem, block->cap);
    *block = (cv_block){ 0 };
}

cuvet_status cv_window_at(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off,
                          uint64_t need, uint64_t end, cv_span *out)
{
    uint64_t want = cv_min(need, end - off), have_end = cv_sat_add(window->off, window->block.span.len);
    cuvet_status status;

    if (window->block.span.len == 0 || off < window->off || off > have_end || want > have_end - off) {
        status = cv_block_load(ctx, &window->block, src, off, cv_min(CV_WINDOW_SIZE, end - off));
        if (status != CUVET_OK)
            return status;
        window->off = off;
        have_end = off + window->block.span.len;
    }
    *out = cv_span_tail(window->block.span, off - window->off);
    if (have_end > end)
        out->len -= have_end - end;
    return CUVET_OK;
}

bool cv_near(cv_span loaded, uint64_t off, uint64_t len, cv_span *out)
{
    if (off < loaded.off || !cv_span_has(loaded, off - loaded.off, len))
        return false;
    *out = cv_span_tail(loaded, off - loaded.off); /* no island: it lives as long as what was loaded */
    out->len = len;
    return true;
}

/* Twice what was read last while the ranges follow one another: a single small range among large ones costs
 * no more than itself. */
static uint64_t read_ahead(const cv_window *window, uint64_t off)
{
    uint64_t have_end = cv_sat_add(window->off, window->block.span.len);

    if (window->block.span.len == 0 || off < window->off || off - cv_min(off, have_end) > CV_NEAR_MAX)
        return 0;
    return cv_min(cv_max(window->ahead, CV_NEAR_MAX / 4) * 2, CV_WINDOW_SIZE);
}

cuvet_status cv_window_near(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off,
                            uint64_t len, uint64_t end, cv_span *out)
{
    cv_block *block = &window->block;
    uint64_t others = ctx->mem.live - cv_min(block->cap, ctx->mem.live);
    uint64_t room = cv_max(block->cap, ctx->mem.limit - cv_min(others, ctx->mem.limit)), size;
    cuvet_status status;

    if (cv_near(block->span, off, len, out))
        return CUVET_OK;
    *out = (cv_span){ 0 };
    if (len > CV_NEAR_MAX || end > src->length || off > end || len > end - off)
        return CUVET_OK;
    window->ahead = read_ahead(window, off);
    size = cv_max(len, cv_min(window->ahead, cv_min(end - off, room)));
    window->off = off;
    block->span.len = 0;
    if (len > room)
        return CUVET_OK;
    status = cv_block_room(ctx, block, size, off);
    if (status != CUVET_OK)
        return status;
    if (src->read_at(src->user, off, block->mem, (size_t)size) != CUVET_OK)
        return CUVET_OK; /* perhaps for a place further on */
    cv_block_filled(block, size);
    return CV_NEVER(!cv_near(block->span, off, len, out)) ? CUVET_E_INTERNAL : CUVET_OK;
}

cuvet_status cv_window_read(cv_ctx *ctx, cv_window *window, const cuvet_source *src, uint64_t off, void *buf,
                            size_t len, uint64_t end)
{
    cv_span span;
    cuvet_status st = cv_window_near(ctx, window, src, off, len, end, &span);

    if (st != CUVET_OK)
        return st;
    if (span.len != len || len == 0)
        return cv_source_read(ctx, src, off, buf, len);
    memcpy(buf, span.base, len);
    return CUVET_OK;
}

void cv_window_forget(cv_window *window)
{
    window->block.span.len = 0;
    window->off = window->ahead = 0;
}

void cv_window_free(cv_ctx *ctx, cv_window *window)
{
    cv_block_free(ctx, &window->block);
    window->off = window->ahead = 0;
}

/* ---- public sources ---- */

static cuvet_status read_memory(void *user, uint64_t off, void *buf, size_t len)
{
    memcpy(buf, (const uint8_t *)user + off, len);
    return CUVET_OK;
}

cuvet_source cv_source_memory(const void *bytes, uint64_t size)
{
    return (cuvet_source){ sizeof(cuvet_source), size, read_memory, cv_without_const(bytes), -1 };
}

/* The caller's structure may be of another size than ours: what cannot be given is not kept. */
static cuvet_status give(cuvet_source *out, cuvet_source ours)
{
    if (cv_sized_give(out, &ours, sizeof(ours)))
        return CUVET_OK;
    cuvet_source_destroy(&ours);
    return CUVET_E_USAGE;
}

cuvet_status cuvet_source_memory(const void *bytes, size_t size, cuvet_source *out)
{
    return !out || (size && !bytes) ? CUVET_E_NULL : give(out, cv_source_memory(bytes, size));
}

static cuvet_status read_fd(void *user, uint64_t off, void *buf, size_t len)
{
    int fd = (int)(intptr_t)user;
    size_t done = 0;

    while (done < len) {
        ssize_t got = pread(fd, (uint8_t *)buf + done, len - done, (off_t)(off + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* an error, or the file has become shorter than it was when it was opened */
            return CUVET_E_IO;
        done += (size_t)got;
    }
    return CUVET_OK;
}

uint64_t cv_source_next_data(const cuvet_source *src, uint64_t off)
{
    off_t at;

    if (src->read_at != read_fd || off >= src->length)
        return off;
    at = lseek((int)(intptr_t)src->user, (off_t)off, SEEK_DATA);
    if (at < 0)
        return errno == ENXIO ? src->length : off;
    return cv_min(cv_max((uint64_t)at, off), src->length);
}

/* A sandbox may allow looks at open files and none at names. In newer C libraries fstat() is a look at an
 * empty name. */
static int look_at(int fd, struct stat *st)
{
    return CV_FSTAT_CALL >= 0 ? (int)syscall(CV_FSTAT_CALL, fd, st) : fstat(fd, st);
}

cv_source_state cv_source_look(const cuvet_source *src)
{
    cv_source_state state = { 0 };
    struct stat st = { 0 };

    if (src->read_at != read_fd || look_at((int)(intptr_t)src->user, &st) != 0 || !S_ISREG(st.st_mode))
        return state;
    state.size = (uint64_t)st.st_size;
    state.seconds = st.st_mtim.tv_sec;
    state.nanoseconds = st.st_mtim.tv_nsec;
    return state;
}

cuvet_status cv_source_unchanged(cv_ctx *ctx, const cuvet_source *src, const cv_source_state *before)
{
    const cv_source_state now = cv_source_look(src);

    if (now.size == before->size && now.seconds == before->seconds && now.nanoseconds == before->nanoseconds)
        return CUVET_OK;
    return cv_reject(ctx, CV_R_IO_MODIFIED, 0, now.size, before->size);
}

static cuvet_source source_of(int fd, uint64_t length, int owned_fd)
{
    return (cuvet_source){ sizeof(cuvet_source), length, read_fd, (void *)(intptr_t)fd, owned_fd };
}

/* @return IO: no size */
static cuvet_status length_of(int fd, uint64_t *length)
{
    struct stat st;
    off_t end;

    if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
        return CUVET_E_IO;
    end = S_ISREG(st.st_mode) ? st.st_size : lseek(fd, 0, SEEK_END);
    *length = end < 0 ? 0 : (uint64_t)end;
    return end < 0 ? CUVET_E_IO : CUVET_OK;
}

cuvet_status cuvet_source_fd(int fd, cuvet_source *out)
{
    cuvet_status status;
    uint64_t length;

    if (!out)
        return CUVET_E_NULL;
    if (fd < 0)
        return CUVET_E_USAGE;
    status = length_of(fd, &length);
    return status == CUVET_OK ? cuvet_source_fd_sized(fd, length, out) : status;
}

cuvet_status cuvet_source_fd_sized(int fd, uint64_t length, cuvet_source *out)
{
    if (!out)
        return CUVET_E_NULL;
    if (fd < 0 || length > INT64_MAX)
        return CUVET_E_USAGE;
    return give(out, source_of(fd, length, -1));
}

cuvet_status cuvet_source_path(const char *path, cuvet_source *out)
{
    struct stat st;
    int fd;

    if (!path || !out)
        return CUVET_E_NULL;
    /* Without O_NONBLOCK a named pipe would wait for somebody to write. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return CUVET_E_IO;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return give(out, source_of(fd, (uint64_t)st.st_size, fd));
    close(fd);
    return CUVET_E_IO;
}

cuvet_status cv_source_open(const char *path, cuvet_source *src, int *error)
{
    cuvet_status status;

    errno = 0;
    status = cuvet_source_path(path, src);
    *error = errno;
    return status;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Unlinked at once: nothing is left behind whatever happens. */
static int open_unlinked(const char *dir)
{
    char path[768];
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int len;

    if (fd >= 0)
        return fd;
    len = snprintf(path, sizeof(path), "%s/cuvet.XXXXXX", dir);
    if (len < 0 || (size_t)len >= sizeof(path))
        return -1;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

#define SPOOL_CHUNK ((size_t)64 * 1024)

static cuvet_status spool(int in, int tmp, uint8_t *buf, uint64_t max)
{
    uint64_t total = 0;

    for (;;) {
        ssize_t got = read(in, buf, SPOOL_CHUNK);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return CUVET_E_IO;
        if (got == 0)
            return CUVET_OK;
        if ((uint64_t)got > max - total)
            return CUVET_E_LIMIT;
        if (!write_all(tmp, buf, (size_t)got))
            return CUVET_E_IO;
        total += (uint64_t)got;
    }
}

cuvet_status cuvet_source_spool(int fd, const char *dir, uint64_t max, cuvet_source *out)
{
    const char *tmpdir = dir ? dir : getenv("TMPDIR");
    uint64_t length;
    uint8_t *buf;
    cuvet_status status;
    int tmp;

    if (!out)
        return CUVET_E_NULL;
    if (fd < 0)
        return CUVET_E_USAGE;
    tmp = open_unlinked(tmpdir && *tmpdir ? tmpdir : "/tmp");
    buf = tmp >= 0 ? malloc(SPOOL_CHUNK) : NULL;
    status = tmp < 0 ? CUVET_E_IO : !buf ? CUVET_E_NOMEM : spool(fd, tmp, buf, max);
    free(buf);
    if (status == CUVET_OK)
        status = length_of(tmp, &length);
    if (status == CUVET_OK)
        return give(out, source_of(tmp, length, tmp));
    if (tmp >= 0)
        close(tmp);
    return status;
}

void cuvet_source_destroy(cuvet_source *source)
{
    static const cuvet_source NONE = { .owned_fd = -1 };
    cuvet_source ours = NONE;

    if (!source || !cv_sized_take(source, &ours, sizeof(ours)))
        return;
    if (ours.owned_fd >= 0)
        close(ours.owned_fd);
    cv_sized_fill(source, &NONE, sizeof(NONE));
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/nest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* Files that a child may leave and still have removed; nobody waits for more. */
#define MOST_STEPS UINT64_C(4000000)
#define TRIES      16

int cv_fd_lift(int fd)
{
    int up = -1, error;

    if (fd < 0)
        return -1;
    up = fcntl(fd, F_DUPFD_CLOEXEC, CV_FD_LOWEST);
    error = errno;
    close(fd);
    errno = error;
    return up;
}

static void random_name(cv_nest *n)
{
    uint64_t r = 0;
    cv_text t = { n->name, sizeof(n->name), 0 };

    /* Not for secrecy: a name that exists is never used. Without the call the next name is tried. */
    if (syscall(SYS_getrandom, &r, sizeof(r), 0) != (long)sizeof(r))
        r = (uint64_t)getpid();
    cv_text_str(&t, "cuvet-");
    cv_text_hex(&t, r);
    cv_text_end(&t);
}

int cv_nest_open(cv_nest *n, const char *directory)
{
    int error = EEXIST;
    struct stat st;

    *n = (cv_nest){ .base = -1, .dir = -1 };
    n->base = cv_fd_lift(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (n->base < 0)
        return errno;
    for (int i = 0; i < TRIES && error == EEXIST; i++) {
        random_name(n);
        error = mkdirat(n->base, n->name, 0700) == 0 ? 0 : errno;
    }
    if (error == 0) {
        n->dir = cv_fd_lift(openat(n->base, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (n->dir < 0 || fstat(n->dir, &st) != 0)
            error = errno;
        else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
            error = EPERM; /* somebody put another one in its place */
        if (error != 0)
            unlinkat(n->base, n->name, AT_REMOVEDIR);
    }
    if (error != 0)
        cv_nest_close(n);
    return error;
}

void cv_nest_close(cv_nest *n)
{
    if (n->dir >= 0)
        close(n->dir);
    if (n->base >= 0)
        close(n->base);
    n->dir = n->base = -1;
}

int cv_nest_write(const cv_nest *n, const char *name, const void *bytes, size_t len)
{
    int fd = openat(n->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), error = 0;

    if (fd < 0)
        return errno;
    for (size_t done = 0; done < len && error == 0;) {
        ssize_t r = write(fd, (const char *)bytes + done, len - done);

        if (r > 0)
            done += (size_t)r;
        else if (r == 0 || errno != EINTR)
            error = r == 0 ? EIO : errno;
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

void cv_listing_begin(cv_listing *l, int fd)
{
    l->fd = fd;
    l->error = lseek(fd, 0, SEEK_SET) == 0 ? 0 : errno;
    l->at = l->n = 0;
}

const char *cv_listing_next(cv_listing *l)
{
    char *buf = (char *)l->space;

    while (l->error == 0) {
        const char *name;

        if (l->at >= l->n) {
            long r = syscall(SYS_getdents64, l->fd, buf, sizeof(l->space));

            if (r < 0)
                l->error = errno;
            if (r <= 0)
                return NULL;
            l->at = 0;
            l->n = (size_t)r;
        }
        /* struct linux_dirent64: u64 inode, i64 place, u16 length of this entry, u8 type, name */
        name = buf + l->at + 19;
        l->at += (size_t)((unsigned char)buf[l->at + 16] | (unsigned)(unsigned char)buf[l->at + 17] << 8);
        if (name[0] != '.' || (name[1] != 0 && (name[1] != '.' || name[2] != 0)))
            return name;
    }
    return NULL;
}

/* 0: gone · 1: a directory with something in it, open to us now · -1: errno */
static int drop(int at, const char *name)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return -1;
    return fchmodat(at, name, 0700, 0) == 0 ? 1 : -1;
}

/* Under a name of its own in root, so that no tree is ever deeper than one level. */
static int lift(int root, int at, const char *name, uint64_t *serial, uint64_t *left)
{
    char fresh[32];

    while (*left > 0) {
        cv_text t = { fresh, sizeof(fresh), 0 };

        --*left;
        cv_text_str(&t, "~");
        cv_text_dec(&t, (*serial)++);
        cv_text_end(&t);
        if (syscall(SYS_renameat2, at, name, root, fresh, 0) == 0)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return -1;
    }
    errno = E2BIG;
    return -1;
}

/* Empty one directory of root; what has something in it goes up to root. 0 or -1 */
static int flatten(int root, const char *name, uint64_t *serial, uint64_t *left)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), r = fd < 0 ? -1 : 0, error;
    bool found = true;
    cv_listing l;

    while (r == 0 && found) {
        const char *p;

        found = false;
        cv_listing_begin(&l, fd);
        while (r == 0 && (p = cv_listing_next(&l)) != NULL && *left > 0) {
            --*left;
            found = true;
            r = drop(fd, p);
            if (r > 0)
                r = lift(root, fd, p, serial, left);
        }
        if (r == 0 && (l.error != 0 || *left == 0)) {
            errno = l.error ? l.error : E2BIG;
            r = -1;
        }
    }
    error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return r == 0 ? unlinkat(root, name, AT_REMOVEDIR) : r;
}

int cv_nest_remove(const cv_nest *n)
{
    uint64_t serial = 0, left = MOST_STEPS;
    bool found = true;
    cv_listing l;

    /* The child may have taken our rights to its own directory. */
    if (fchmod(n->dir, 0700) != 0)
        return errno;
    while (found) {
        const char *p;

        found = false;
        cv_listing_begin(&l, n->dir);
        while ((p = cv_listing_next(&l)) != NULL) {
            int r = left > 0 ? drop(n->dir, p) : -1;

            if (left-- == 0)
                return E2BIG;
            if (r > 0)
                r = flatten(n->dir, p, &serial, &left);
            if (r < 0)
                return errno;
            found = true;
        }
        if (l.error != 0 && l.error != ENOENT) /* so a directory answers that is gone */
            return l.error;
    }
    return unlinkat(n->base, n->name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/tmpdir.h"

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

static void choose_name(cv_tmpdir *tmpdir)
{
    uint64_t number = 0;
    cv_text text = { tmpdir->name, sizeof(tmpdir->name), 0 };

    /* Not for secrecy: a name that exists is never used. Without the call the next name is tried. */
    if (syscall(SYS_getrandom, &number, sizeof(number), 0) != (long)sizeof(number))
        number = (uint64_t)getpid();
    cv_text_str(&text, "cuvet-");
    cv_text_hex(&text, number);
    cv_text_end(&text);
}

int cv_tmpdir_create(cv_tmpdir *tmpdir, const char *directory)
{
    int error = EEXIST;
    struct stat st;

    *tmpdir = (cv_tmpdir){ .base = -1, .dir = -1 };
    tmpdir->base = cv_fd_lift(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (tmpdir->base < 0)
        return errno;
    for (int i = 0; i < TRIES && error == EEXIST; i++) {
        choose_name(tmpdir);
        error = mkdirat(tmpdir->base, tmpdir->name, 0700) == 0 ? 0 : errno;
    }
    if (error == 0) {
        tmpdir->dir =
            cv_fd_lift(openat(tmpdir->base, tmpdir->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (tmpdir->dir < 0 || fstat(tmpdir->dir, &st) != 0)
            error = errno;
        else if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
            error = EPERM; /* somebody put another one in its place */
        if (error != 0)
            unlinkat(tmpdir->base, tmpdir->name, AT_REMOVEDIR);
    }
    if (error != 0)
        cv_tmpdir_close(tmpdir);
    return error;
}

void cv_tmpdir_close(cv_tmpdir *tmpdir)
{
    if (tmpdir->dir >= 0)
        close(tmpdir->dir);
    if (tmpdir->base >= 0)
        close(tmpdir->base);
    tmpdir->dir = tmpdir->base = -1;
}

int cv_tmpdir_write(const cv_tmpdir *tmpdir, const char *name, const void *bytes, size_t len)
{
    int fd = openat(tmpdir->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), error = 0;

    if (fd < 0)
        return errno;
    for (size_t done = 0; done < len && error == 0;) {
        ssize_t put = write(fd, (const char *)bytes + done, len - done);

        if (put > 0)
            done += (size_t)put;
        else if (put == 0 || errno != EINTR)
            error = put == 0 ? EIO : errno;
    }
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}

void cv_listing_begin(cv_listing *listing, int fd)
{
    listing->fd = fd;
    listing->error = lseek(fd, 0, SEEK_SET) == 0 ? 0 : errno;
    listing->at = listing->end = 0;
}

const char *cv_listing_next(cv_listing *listing)
{
    char *buf = (char *)listing->space;

    while (listing->error == 0) {
        const char *name;

        if (listing->at >= listing->end) {
            long got = syscall(SYS_getdents64, listing->fd, buf, sizeof(listing->space));

            if (got < 0)
                listing->error = errno;
            if (got <= 0)
                return NULL;
            listing->at = 0;
            listing->end = (size_t)got;
        }
        /* struct linux_dirent64: u64 inode, i64 place, u16 length of this entry, u8 type, name */
        name = buf + listing->at + 19;
        listing->at += (size_t)((unsigned char)buf[listing->at + 16] |
                                (unsigned)(unsigned char)buf[listing->at + 17] << 8);
        if (name[0] != '.' || (name[1] != 0 && (name[1] != '.' || name[2] != 0)))
            return name;
    }
    return NULL;
}

/* 0: gone · 1: a directory with something in it, open to us now · -1: errno */
static int remove_entry(int at, const char *name)
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
static int move_up(int root, int at, const char *name, uint64_t *serial, uint64_t *left)
{
    char fresh[32];

    while (*left > 0) {
        cv_text text = { fresh, sizeof(fresh), 0 };

        --*left;
        cv_text_str(&text, "~");
        cv_text_dec(&text, (*serial)++);
        cv_text_end(&text);
        if (syscall(SYS_renameat2, at, name, root, fresh, 0) == 0)
            return 0;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            return -1;
    }
    errno = E2BIG;
    return -1;
}

/* Empty one directory of root; what has something in it goes up to root. 0 or -1 */
static int empty_directory(int root, const char *name, uint64_t *serial, uint64_t *left)
{
    int fd = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), left_over = fd < 0 ? -1 : 0,
        error;
    bool found = true;
    cv_listing listing;

    while (left_over == 0 && found) {
        const char *entry;

        found = false;
        cv_listing_begin(&listing, fd);
        while (left_over == 0 && (entry = cv_listing_next(&listing)) != NULL && *left > 0) {
            --*left;
            found = true;
            left_over = remove_entry(fd, entry);
            if (left_over > 0)
                left_over = move_up(root, fd, entry, serial, left);
        }
        if (left_over == 0 && (listing.error != 0 || *left == 0)) {
            errno = listing.error ? listing.error : E2BIG;
            left_over = -1;
        }
    }
    error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return left_over == 0 ? unlinkat(root, name, AT_REMOVEDIR) : left_over;
}

int cv_tmpdir_remove(const cv_tmpdir *tmpdir)
{
    uint64_t serial = 0, left = MOST_STEPS;
    bool found = true;
    cv_listing listing;

    /* The child may have taken our rights to its own directory. */
    if (fchmod(tmpdir->dir, 0700) != 0)
        return errno;
    while (found) {
        const char *entry;

        found = false;
        cv_listing_begin(&listing, tmpdir->dir);
        while ((entry = cv_listing_next(&listing)) != NULL) {
            int what = left > 0 ? remove_entry(tmpdir->dir, entry) : -1;

            if (left-- == 0)
                return E2BIG;
            if (what > 0)
                what = empty_directory(tmpdir->dir, entry, &serial, &left);
            if (what < 0)
                return errno;
            found = true;
        }
        if (listing.error != 0 && listing.error != ENOENT) /* so a directory answers that is gone */
            return listing.error;
    }
    return unlinkat(tmpdir->base, tmpdir->name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

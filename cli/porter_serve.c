/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The porter's side: outside of the cage, and asked by what may have been taken over inside of it. */
#include "porter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 1000u /* names for a temporary file */

/* ---- one file ---- */

static bool name_ok(const char *name)
{
    size_t n = strlen(name);

    return n > 0 && n <= PORTER_NAME_MOST && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Path that leads to an open file. false: there is none, as without /proc. */
static bool link_path(int fd, char path[64])
{
    struct stat a, b;

    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Without a name: nobody sees it, and it is gone with its last descriptor. Not every file system can do it,
 * and it takes /proc to give it a name later. */
static int open_unnamed(int dir)
{
    int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    char path[64];

    if (fd >= 0 && !link_path(fd, path)) {
        (void)close(fd); /* nothing is in it */
        return -1;
    }
    return fd;
}

static bool temporary_name(char out[CLI_PORTER_TEMPORARY], const char *name, unsigned i)
{
    int n = snprintf(out, CLI_PORTER_TEMPORARY, ".%s.%ld.%u.tmp", name, (long)getpid(), i);

    return n > 0 && n < CLI_PORTER_TEMPORARY;
}

/* O_EXCL: a link planted under that name is never followed. */
static int open_temporary(cli_draft *d)
{
    for (unsigned i = 0; i < TRIES && temporary_name(d->temporary, d->name, i); i++) {
        int fd = openat(d->dir, d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    d->temporary[0] = '\0';
    return -1;
}

void cli_draft_open(cli_draft *d)
{
    d->fd = -1;
    d->temporary[0] = '\0';
    d->status = name_ok(d->name) ? CUVET_OK : CUVET_E_USAGE;
    if (d->status != CUVET_OK)
        return;
    d->fd = open_unnamed(d->dir);
    if (d->fd < 0)
        d->fd = open_temporary(d);
    if (d->fd < 0)
        d->status = CUVET_E_IO;
}

void cli_draft_drop(cli_draft *d)
{
    if (d->fd >= 0)
        (void)close(d->fd); /* written by somebody else, who has looked after his errors */
    d->fd = -1;
    if (d->temporary[0])
        (void)unlinkat(d->dir, d->temporary, 0); /* nothing more can be done about it */
    d->temporary[0] = '\0';
}

/* Give an unnamed file this name, which must be new. @return 0 or errno */
static int name_unnamed(const cli_draft *d, const char *name)
{
    char path[64];

    if (!link_path(d->fd, path))
        return ENOENT;
    return linkat(AT_FDCWD, path, d->dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* The draft gets a temporary name, under which it can be moved over another file. @return 0 or errno */
static int name_temporarily(cli_draft *d)
{
    int e = EEXIST;

    for (unsigned i = 0; i < TRIES && e == EEXIST && temporary_name(d->temporary, d->name, i); i++)
        e = name_unnamed(d, d->temporary);
    if (e != 0)
        d->temporary[0] = '\0';
    return e;
}

/* Only regular files are replaced. */
static cuvet_status publish_over(cli_draft *d)
{
    struct stat st;
    int e = EEXIST;

    if (fstatat(d->dir, d->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(st.st_mode))
            return CUVET_E_EXISTS;
    } else if (!d->temporary[0]) {
        e = name_unnamed(d, d->name); /* nothing there: one step */
        if (e != EEXIST)
            return e == 0 ? CUVET_OK : CUVET_E_IO;
    }
    if (!d->temporary[0] && name_temporarily(d) != 0)
        return CUVET_E_IO;
    if (renameat(d->dir, d->temporary, d->dir, d->name) != 0)
        return CUVET_E_IO;
    d->temporary[0] = '\0';
    return CUVET_OK;
}

/* "Does not exist" and "is created" are one step. */
static cuvet_status publish_new(cli_draft *d)
{
    int e;

    if (!d->temporary[0]) {
        e = name_unnamed(d, d->name);
        return e == 0 ? CUVET_OK : e == EEXIST ? CUVET_E_EXISTS : CUVET_E_IO;
    }
    if (renameat2(d->dir, d->temporary, d->dir, d->name, RENAME_NOREPLACE) == 0) {
        d->temporary[0] = '\0';
        return CUVET_OK;
    }
    if (errno == EEXIST)
        return CUVET_E_EXISTS;
    /* A file system without RENAME_NOREPLACE: a hard link has the same guarantee. */
    if (linkat(d->dir, d->temporary, d->dir, d->name, 0) != 0)
        return errno == EEXIST ? CUVET_E_EXISTS : CUVET_E_IO;
    return CUVET_OK;
}

cuvet_status cli_draft_publish(cli_draft *d)
{
    if (d->status != CUVET_OK)
        return d->status;
    return d->fd < 0 ? CUVET_E_IO : d->replace ? publish_over(d) : publish_new(d);
}

/* ---- orders ---- */

typedef union control {
    struct cmsghdr head; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

static bool answer(int fd, cuvet_status s, int descriptor)
{
    porter_reply r = { .mark = PORTER_REPLY, .status = (uint32_t)s };
    control c = { .bytes = { 0 } };
    struct iovec v = { &r, sizeof(r) };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
    ssize_t n;

    if (descriptor >= 0) {
        m.msg_control = &c;
        m.msg_controllen = sizeof(c.bytes);
        c.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
        memcpy(CMSG_DATA(&c.head), &descriptor, sizeof(descriptor));
    }
    do
        n = sendmsg(fd, &m, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(r);
}

/* What this file takes of what the folder may get. */
static bool charge(cli_porter *p, int fd)
{
    struct stat st;
    uint64_t size;

    if (fstat(fd, &st) != 0 || st.st_size < 0)
        return false;
    size = (uint64_t)st.st_size < PORTER_LEAST ? PORTER_LEAST : (uint64_t)st.st_size;
    if (size > p->most)
        return false;
    p->most -= size;
    return true;
}

static cuvet_status finish_in_folder(cli_porter *p, cli_draft *d, const char *name)
{
    cuvet_status s;

    if (d->fd < 0)
        return CUVET_E_IO;
    if (!charge(p, d->fd))
        return CUVET_E_LIMIT;
    if (p->sync && fsync(d->fd) != 0)
        return CUVET_E_IO;
    d->name = name;
    s = cli_draft_publish(d);
    cli_draft_drop(d);
    return s;
}

static bool obey(int fd, cli_porter *p, cli_draft *piece, const porter_order *o, const char *name)
{
    if (o->verb == PORTER_END) {
        cli_draft_drop(piece);
        for (uint32_t i = 0; i < p->n_drafts; i++)
            cli_draft_drop(p->draft[i]);
        return answer(fd, CUVET_OK, -1);
    }
    if (o->verb == PORTER_GIVE) {
        cli_draft_drop(piece);
        *piece = (cli_draft){ .dir = p->folder, .fd = -1, .name = "piece", .replace = p->replace };
        cli_draft_open(piece);
        return answer(fd, piece->status, piece->fd);
    }
    if (o->file == PORTER_IN_FOLDER)
        return answer(fd, finish_in_folder(p, piece, name), -1);
    return answer(fd, cli_draft_publish(p->draft[o->file]), -1);
}

void cli_porter_serve(int fd, cli_porter *p)
{
    porter_state state = { .n_files = p->n_drafts, .folder = p->folder >= 0 };
    cli_draft piece = { .dir = p->folder, .fd = -1 };
    /* One byte more, so that what is too long shows. */
    char packet[sizeof(porter_order) + PORTER_NAME_MOST + 1], name[PORTER_NAME_MOST + 1];
    porter_order o;

    for (;;) {
        ssize_t n = recv(fd, packet, sizeof(packet), 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !porter_take_order(&state, packet, (size_t)n, &o, name) ||
            !obey(fd, p, &piece, &o, name))
            break;
    }
    cli_draft_drop(&piece);
    for (uint32_t i = 0; i < p->n_drafts; i++)
        cli_draft_drop(p->draft[i]);
}

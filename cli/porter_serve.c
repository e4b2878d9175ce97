/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The porter's side: outside of the cage, and asked by what may have been taken over inside of it. */
#include "descriptor.h"
#include "porter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 1000u /* names for a temporary file */

/* ---- one file ---- */

/* Whoever asks for the file has looked at its name, and said what is wrong with it. */
static bool name_ok(const char *name)
{
    return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Path that leads to an open file. false: there is none, as without /proc. */
static bool link_path(int fd, char path[64])
{
    struct stat left, right;

    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fstat(fd, &left) == 0 && stat(path, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
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

static bool temporary_name(char out[CLI_PORTER_TEMPORARY], const char *name, unsigned index)
{
    int len = snprintf(out, CLI_PORTER_TEMPORARY, ".%.200s.%ld.%u.tmp", name, (long)getpid(), index);

    return len > 0 && len < CLI_PORTER_TEMPORARY;
}

/* O_EXCL: a link planted under that name is never followed. */
static int open_temporary(cli_draft *draft)
{
    for (unsigned i = 0; i < TRIES && temporary_name(draft->temporary, draft->name, i); i++) {
        int fd =
            openat(draft->dir, draft->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    draft->temporary[0] = '\0';
    return -1;
}

void cli_draft_open(cli_draft *draft)
{
    draft->fd = -1;
    draft->temporary[0] = '\0';
    draft->status = name_ok(draft->name) ? CUVET_OK : CUVET_E_USAGE;
    if (draft->status != CUVET_OK)
        return;
    draft->fd = open_unnamed(draft->dir);
    if (draft->fd < 0)
        draft->fd = open_temporary(draft);
    if (draft->fd < 0)
        draft->status = CUVET_E_IO;
}

void cli_draft_drop(cli_draft *draft)
{
    if (draft->fd >= 0)
        (void)close(draft->fd); /* written by somebody else, who has looked after his errors */
    draft->fd = -1;
    if (draft->temporary[0])
        (void)unlinkat(draft->dir, draft->temporary, 0); /* nothing more can be done about it */
    draft->temporary[0] = '\0';
}

/* Give an unnamed file this name, which must be new. @return 0 or errno */
static int name_unnamed(const cli_draft *draft, const char *name)
{
    char path[64];

    if (!link_path(draft->fd, path))
        return ENOENT;
    return linkat(AT_FDCWD, path, draft->dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* The draft gets a temporary name, under which it can be moved over another file. @return 0 or errno */
static int name_temporarily(cli_draft *draft)
{
    int error = EEXIST;

    for (unsigned i = 0; i < TRIES && error == EEXIST && temporary_name(draft->temporary, draft->name, i);
         i++)
        error = name_unnamed(draft, draft->temporary);
    if (error != 0)
        draft->temporary[0] = '\0';
    return error;
}

/* Only regular files are replaced. */
static cuvet_status publish_over(cli_draft *draft)
{
    struct stat st;
    int error = EEXIST;

    if (fstatat(draft->dir, draft->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        if (!S_ISREG(st.st_mode))
            return CUVET_E_EXISTS;
    } else if (!draft->temporary[0]) {
        error = name_unnamed(draft, draft->name); /* nothing there: one step */
        if (error != EEXIST)
            return error == 0 ? CUVET_OK : CUVET_E_IO;
    }
    if (!draft->temporary[0] && name_temporarily(draft) != 0)
        return CUVET_E_IO;
    if (renameat(draft->dir, draft->temporary, draft->dir, draft->name) != 0)
        return CUVET_E_IO;
    draft->temporary[0] = '\0';
    return CUVET_OK;
}

/* "Does not exist" and "is created" are one step. */
static cuvet_status publish_new(cli_draft *draft)
{
    int error;

    if (!draft->temporary[0]) {
        error = name_unnamed(draft, draft->name);
        return error == 0 ? CUVET_OK : error == EEXIST ? CUVET_E_EXISTS : CUVET_E_IO;
    }
    if (renameat2(draft->dir, draft->temporary, draft->dir, draft->name, RENAME_NOREPLACE) == 0) {
        draft->temporary[0] = '\0';
        return CUVET_OK;
    }
    if (errno == EEXIST)
        return CUVET_E_EXISTS;
    /* A file system without RENAME_NOREPLACE: a hard link has the same guarantee. */
    if (linkat(draft->dir, draft->temporary, draft->dir, draft->name, 0) != 0)
        return errno == EEXIST ? CUVET_E_EXISTS : CUVET_E_IO;
    return CUVET_OK;
}

cuvet_status cli_draft_publish(cli_draft *draft)
{
    if (draft->status != CUVET_OK)
        return draft->status;
    return draft->fd < 0 ? CUVET_E_IO : draft->replace ? publish_over(draft) : publish_new(draft);
}

/* ---- orders ---- */

static bool send_answer(int fd, cuvet_status status, int descriptor)
{
    porter_reply reply = { .mark = PORTER_REPLY, .status = (uint32_t)status };
    struct iovec vec = { &reply, sizeof(reply) };
    struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1 };

    return cli_send_with(fd, &msg, descriptor) == (ssize_t)sizeof(reply);
}

/* What this file takes of what the folder may get. */
static bool charge_bytes(cli_porter *porter, int fd)
{
    struct stat st;
    uint64_t size;

    if (fstat(fd, &st) != 0 || st.st_size < 0)
        return false;
    size = (uint64_t)st.st_size < PORTER_LEAST ? PORTER_LEAST : (uint64_t)st.st_size;
    if (size > porter->most)
        return false;
    porter->most -= size;
    return true;
}

static cuvet_status finish_in_folder(cli_porter *porter, cli_draft *draft, const char *name)
{
    cuvet_status status;

    if (draft->fd < 0)
        return CUVET_E_IO;
    if (!charge_bytes(porter, draft->fd))
        return CUVET_E_LIMIT;
    if (porter->sync && fsync(draft->fd) != 0)
        return CUVET_E_IO;
    draft->name = name;
    status = cli_draft_publish(draft);
    cli_draft_drop(draft);
    return status;
}

static bool obey_order(int fd, cli_porter *porter, cli_draft *piece, const porter_order *order,
                       const char *name)
{
    if (order->verb == PORTER_END) {
        cli_draft_drop(piece);
        for (uint32_t i = 0; i < porter->n_drafts; i++)
            cli_draft_drop(porter->draft[i]);
        return send_answer(fd, CUVET_OK, -1);
    }
    if (order->verb == PORTER_GIVE) {
        cli_draft_drop(piece);
        *piece = (cli_draft){ .dir = porter->folder, .fd = -1, .name = "piece", .replace = porter->replace };
        cli_draft_open(piece);
        return send_answer(fd, piece->status, piece->fd);
    }
    if (order->file == PORTER_IN_FOLDER)
        return send_answer(fd, finish_in_folder(porter, piece, name), -1);
    return send_answer(fd, cli_draft_publish(porter->draft[order->file]), -1);
}

void cli_porter_serve(int fd, cli_porter *porter)
{
    porter_state state = { .n_files = porter->n_drafts, .folder = porter->folder >= 0 };
    cli_draft piece = { .dir = porter->folder, .fd = -1 };
    /* One byte more, so that what is too long shows. */
    char packet[sizeof(porter_order) + PORTER_NAME_MOST + 1], name[PORTER_NAME_MOST + 1];
    porter_order order;

    for (;;) {
        ssize_t got = recv(fd, packet, sizeof(packet), 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || !porter_take_order(&state, packet, (size_t)got, &order, name) ||
            !obey_order(fd, porter, &piece, &order, name))
            break;
    }
    cli_draft_drop(&piece);
    for (uint32_t i = 0; i < porter->n_drafts; i++)
        cli_draft_drop(porter->draft[i]);
}

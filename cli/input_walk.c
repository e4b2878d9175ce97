/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The walk over the command line: opens files, what directories hold, and standard input. */
#include "input_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct input_walk {
    const cli_args *args;
    cli_found_fn *fn;
    void *user;
} input_walk;

static bool give_opened(const input_walk *walk, const char *name, int fd, bool owned, uint64_t size)
{
    const cli_found found = { .name = name, .fd = fd, .owned = owned, .size = size };

    return walk->fn(walk->user, &found);
}

static bool fail_input(const input_walk *walk, const char *name, const char *why, int rc)
{
    const cli_found found = { .name = name, .why = why, .rc = rc, .fd = -1 };

    return walk->fn(walk->user, &found);
}

static bool give_remark(const input_walk *walk, const char *name, const char *text)
{
    const cli_found found = { .name = name, .why = text, .remark = true, .fd = -1 };

    return walk->fn(walk->user, &found);
}

/* Pipes and the like have no size: they are copied to a temporary file first, up to the limit of an input. */
static bool spool_input(const input_walk *walk, const char *name, int fd)
{
    cuvet_source src = { .size = sizeof(src) };
    cuvet_status status = cuvet_source_spool(fd, NULL, walk->args->limits.input, &src);

    if (status == CUVET_E_LIMIT)
        return fail_input(walk, name, "more bytes than the limit 'input' allows", CLI_X_LIMIT);
    if (status != CUVET_OK)
        return fail_input(walk, name, "cannot be copied to a temporary file", cli_exit_of(status));
    return give_opened(walk, name, src.owned_fd, true, src.length);
}

static bool seekable(const input_walk *walk, const char *name, int fd, bool owned)
{
    cuvet_source src = { .size = sizeof(src) };
    cuvet_status status = cuvet_source_fd(fd, &src);

    if (status == CUVET_OK)
        return give_opened(walk, name, fd, owned, src.length);
    if (owned)
        (void)close(fd); /* read only: nothing can be lost */
    return fail_input(walk, name, cli_status_text(status), cli_exit_of(status));
}

/* A writer of a named pipe may come a moment later than its reader. */
enum { WRITER_MS = 2000 };

/* A named pipe was opened without waiting. When somebody writes into it, or has, it is read to its end;
 * nobody waits for ever for a writer who does not come. @return NULL, or why it cannot be read */
static const char *await_writer(int fd)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    char byte;

    /* A writer who has sent nothing yet makes this fail. */
    if (poll(&poll_fd, 1, WRITER_MS) <= 0 && read(fd, &byte, 1) >= 0)
        return "is a named pipe, and nobody writes into it";
    return fcntl(fd, F_SETFL, O_RDONLY) != 0 ? strerror(errno) : NULL;
}

static bool named_pipe(const input_walk *walk, const char *name, int fd)
{
    const char *why = await_writer(fd);

    return why ? fail_input(walk, name, why, CLI_X_IO) : spool_input(walk, name, fd);
}

int cli_open_list(const char *path, const char **why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st = { 0 };

    *why = fd < 0 || fstat(fd, &st) != 0 ? strerror(errno) : NULL;
    if (!*why && S_ISFIFO(st.st_mode))
        *why = await_writer(fd);
    /* A terminal waits for its user. Some files of /proc, which are regular, wait for what never comes. */
    else if (!*why && !S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, O_RDONLY) != 0)
        *why = strerror(errno);
    if (!*why || fd < 0)
        return fd;
    (void)close(fd); /* read only: nothing can be lost */
    return -1;
}

/* Files of /proc and /sys say that they have no bytes, and have some. */
static bool has_hidden_bytes(int fd, const struct stat *st)
{
    char byte;

    return S_ISREG(st->st_mode) && st->st_size == 0 && pread(fd, &byte, 1, 0) != 0;
}

/* What kind of file it is was looked up by name before; the answer that counts is the one of the open
 * file. */
static bool open_input(const input_walk *walk, const char *name, int folder, const char *path, bool found)
{
    struct stat st;
    int fd;
    bool go_on;

    if (fstatat(folder, path, &st, found ? AT_SYMLINK_NOFOLLOW : 0) != 0)
        return fail_input(walk, name, strerror(errno), CLI_X_IO);
    if (S_ISDIR(st.st_mode))
        return fail_input(walk, name, "is a directory (-r scans the files in it)", CLI_X_IO);
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode) && !S_ISFIFO(st.st_mode))
        return fail_input(walk, name, "is a special file", CLI_X_IO);
    fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (found ? O_NOFOLLOW : 0));
    if (fd < 0)
        return fail_input(walk, name, strerror(errno), CLI_X_IO);
    if (fstat(fd, &st) != 0)
        go_on = fail_input(walk, name, strerror(errno), CLI_X_IO);
    else if (found && !S_ISREG(st.st_mode))
        go_on = fail_input(walk, name, "changed into a special file", CLI_X_IO);
    else if (S_ISFIFO(st.st_mode))
        go_on = named_pipe(walk, name, fd);
    else if (has_hidden_bytes(fd, &st))
        go_on = fail_input(walk, name, "says that it has no bytes, but has some (copy it, or pipe it in)",
                           CLI_X_IO);
    else
        return seekable(walk, name, fd, true);
    (void)close(fd); /* read only: nothing can be lost */
    return go_on;
}

/* ---- folders ---- */

/* Each has a descriptor while it is walked, and what is in it is opened relative to that: a name is one
 * component, which is not followed, so that nobody who renames or replaces folders decides where the walk
 * goes. */
#define DEEPEST 256

typedef struct input_folder {
    int fd;
    dev_t device;
    ino_t inode;
    char **names; /* in order */
    size_t count, next;
    size_t path; /* bytes of its own */
} input_folder;

typedef struct tree_walk {
    const input_walk *walk;
    input_folder stack[DEEPEST];
    size_t depth;
    char *path; /* of what is looked at */
    size_t cap;
} tree_walk;

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void close_folder(input_folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->names[i]);
    free(folder->names);
    (void)close(folder->fd); /* read only: nothing can be lost */
    *folder = (input_folder){ .fd = -1 };
}

static bool add_name(input_folder *folder, size_t *cap, const char *name)
{
    if (folder->count == *cap) {
        size_t more = *cap ? 2 * *cap : 64;
        char **names = reallocarray(folder->names, more, sizeof(*names));

        if (!names)
            return false;
        folder->names = names;
        *cap = more;
    }
    folder->names[folder->count] = strdup(name);
    return folder->names[folder->count] && ++folder->count;
}

/* @return 0, or why they are not all there */
static int read_names(input_folder *folder)
{
    int copy = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0), why = 0;
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    size_t cap = 0;

    if (!dir) {
        why = errno;
        if (copy >= 0)
            (void)close(copy);
        return why;
    }
    for (errno = 0; why == 0 && (entry = readdir(dir)) != NULL; errno = 0) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !add_name(folder, &cap, entry->d_name))
            why = ENOMEM;
    }
    why = why ? why : errno;
    (void)closedir(dir);
    if (folder->count > 0)
        qsort(folder->names, folder->count, sizeof(*folder->names), by_name);
    return why;
}

/* The name behind the path of its folder. */
static bool set_path(tree_walk *tree, size_t len, const char *name)
{
    size_t size = len + strlen(name) + 2;

    if (!tree->path || size > tree->cap) {
        char *path = realloc(tree->path, 2 * size);

        if (!path)
            return false;
        tree->path = path;
        tree->cap = 2 * size;
    }
    if (len > 0 && tree->path[len - 1] != '/')
        tree->path[len++] = '/';
    memcpy(tree->path + len, name, strlen(name) + 1);
    return true;
}

/* The folder at tree->path; *fd is taken. */
static bool enter_folder(tree_walk *tree, int fd)
{
    input_folder next = { .fd = fd, .path = strlen(tree->path) };
    struct stat st;
    const char *why = NULL;
    int error;

    if (fd < 0)
        return fail_input(tree->walk, tree->path, strerror(errno), CLI_X_IO);
    if (fstat(fd, &st) != 0)
        why = strerror(errno);
    else if (tree->depth == DEEPEST)
        why = "more folders inside each other than are walked";
    for (size_t i = 0; !why && i < tree->depth; i++) {
        if (tree->stack[i].device == st.st_dev && tree->stack[i].inode == st.st_ino)
            why = "directory contains itself";
    }
    if (why) {
        (void)close(fd);
        return fail_input(tree->walk, tree->path, why, CLI_X_IO);
    }
    next.device = st.st_dev;
    next.inode = st.st_ino;
    error = read_names(&next);
    tree->stack[tree->depth++] = next;
    return error == 0 || fail_input(tree->walk, tree->path, strerror(error), CLI_X_IO);
}

static bool visit_entry(tree_walk *tree, const input_folder *in, const char *name)
{
    enum { AS_FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    struct stat st;

    if (!set_path(tree, in->path, name))
        return fail_input(tree->walk, name, strerror(ENOMEM), CLI_X_IO);
    if (fstatat(in->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_input(tree->walk, tree->path, strerror(errno), CLI_X_IO);
    if (S_ISDIR(st.st_mode))
        return enter_folder(tree, openat(in->fd, name, AS_FOLDER));
    if (S_ISREG(st.st_mode))
        return open_input(tree->walk, tree->path, in->fd, name, true);
    return give_remark(tree->walk, tree->path,
                       S_ISLNK(st.st_mode) ? "symbolic link, not followed" : "special file, skipped");
}

/* A symbolic link that was named on the command line is followed; one that was found is not. */
static bool walk_tree(const input_walk *walk, const char *name)
{
    tree_walk *tree = calloc(1, sizeof(*tree));
    bool go_on;

    if (!tree)
        return fail_input(walk, name, strerror(ENOMEM), CLI_X_IO);
    tree->walk = walk;
    go_on = set_path(tree, 0, name)
                ? enter_folder(tree, open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY))
                : fail_input(walk, name, strerror(ENOMEM), CLI_X_IO);
    while (go_on && tree->depth > 0) {
        input_folder *top = &tree->stack[tree->depth - 1];

        if (top->next < top->count) {
            go_on = visit_entry(tree, top, top->names[top->next++]);
        } else {
            close_folder(top);
            tree->depth--;
        }
    }
    while (tree->depth > 0)
        close_folder(&tree->stack[--tree->depth]);
    free(tree->path);
    free(tree);
    return go_on;
}

static bool standard_input(const input_walk *walk)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) != 0)
        return fail_input(walk, "-", strerror(errno), CLI_X_IO);
    /* A redirected file is read where it lies, but only from its start: a shell may have read some of it
     * before. */
    if (S_ISREG(st.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0)
        return seekable(walk, "-", STDIN_FILENO, false);
    return spool_input(walk, "-", STDIN_FILENO);
}

static bool walk_name(const input_walk *walk, char *name)
{
    struct stat st;

    if (walk->args->set[CLI_O_RECURSE] && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
        return walk_tree(walk, name);
    return open_input(walk, name, AT_FDCWD, name, false);
}

/* In a list, "-" is a file of that name. */
static bool walk_list(const input_walk *walk, const char *path)
{
    cli_name_list list;
    const char *why = cli_name_list_read(&list, path);
    bool go_on = true;
    char *name;

    if (why)
        go_on = fail_input(walk, path, why, CLI_X_IO);
    while (!why && go_on && (name = cli_name_list_next(&list)) != NULL)
        go_on = walk_name(walk, strcmp(name, "-") == 0 ? (char[]){ "./-" } : name);
    cli_name_list_free(&list);
    return go_on;
}

bool cli_walk_inputs(const cli_args *args, cli_found_fn *fn, void *user)
{
    const input_walk walk = { args, fn, user };

    for (int i = 0; i < args->n_operands; i++) {
        char *name = args->operands[i];

        if (!(strcmp(name, "-") == 0 ? standard_input(&walk) : walk_name(&walk, name)))
            return false;
    }
    return !args->value[CLI_O_FILES_FROM] || walk_list(&walk, args->value[CLI_O_FILES_FROM]);
}

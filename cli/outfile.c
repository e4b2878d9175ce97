/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"

#include "input_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *cli_outfile_open(cli_outfile *o, cli_porter *porter, const char *path, bool replace)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *dir;

    *o = (cli_outfile)CLI_NO_OUTFILE;
    o->path = path;
    if (!path)
        return NULL;
    if (strcmp(path, "-") == 0) {
        o->standard = true;
        return isatty(STDOUT_FILENO) ? "standard output is a terminal, and the result is binary" : NULL;
    }
    dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!dir)
        return "out of memory";
    o->draft.name = slash ? slash + 1 : path;
    o->draft.replace = replace;
    o->draft.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (o->draft.dir < 0)
        return strerror(errno);
    cli_draft_open(&o->draft);
    o->porter = porter;
    o->number = porter->n_drafts;
    porter->draft[porter->n_drafts++] = &o->draft;
    return NULL;
}

static bool same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* What lies where a result goes, links followed. false: nothing does. */
static bool lies_there(const cli_outfile *o, struct stat *st)
{
    return (o->standard ? fstat(STDOUT_FILENO, st) : fstatat(o->draft.dir, o->draft.name, st, 0)) == 0;
}

/* A name that no file has yet is the same file by its directory. */
static bool same_place(const cli_outfile *one, const cli_outfile *other)
{
    struct stat a, b;

    if (one->standard || other->standard)
        return one->standard && other->standard;
    return strcmp(one->draft.name, other->draft.name) == 0 && fstat(one->draft.dir, &a) == 0 &&
           fstat(other->draft.dir, &b) == 0 && same_file(&a, &b);
}

static bool same_result(const cli_outfile *one, const cli_outfile *other)
{
    struct stat a, b;

    return same_place(one, other) || (lies_there(one, &a) && lies_there(other, &b) && same_file(&a, &b));
}

/* Terminals, pipes and devices can be read and written at the same time. */
static bool is_regular(const char *path, struct stat *st)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(path, st)) == 0 && S_ISREG(st->st_mode);
}

bool cli_outfile_is(const cli_outfile *const *out, size_t n, const char *read)
{
    struct stat input, old;

    if (!read || !is_regular(read, &input))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (out[i]->path && lies_there(out[i], &old) && same_file(&input, &old)) {
            cli_complain(out[i]->path, "a result would be written over what is read (%s)", read);
            return true;
        }
    }
    return false;
}

/* Standard output belongs to a command also where no result goes there. */
static bool is_standard_output(const cli_outfile *o)
{
    struct stat old, text;

    return !o->standard && fstat(STDOUT_FILENO, &text) == 0 && S_ISREG(text.st_mode) && lies_there(o, &old) &&
           same_file(&old, &text);
}

bool cli_outfile_collides(const cli_outfile *const *out, size_t n, const cli_args *a)
{
    bool collides = false;

    for (size_t i = 0; i < n && !collides; i++) {
        for (size_t k = 0; k < i && !collides; k++)
            collides = out[i]->path && out[k]->path && same_result(out[i], out[k]);
        collides = collides || (out[i]->path && is_standard_output(out[i]));
        if (collides)
            cli_complain(out[i]->path, "two results would be written to one file");
    }
    for (int i = 0; i < a->n_operands && !collides; i++)
        collides = cli_outfile_is(out, n, a->operands[i]);
    return collides || cli_outfile_is(out, n, a->value[CLI_O_GENERATOR]) ||
           cli_outfile_is(out, n, a->value[CLI_O_COMPILER]);
}

/* By its entries: the input may have other names elsewhere. */
static bool has_entry(int folder, const struct stat *input)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    struct stat st;
    bool found = false;

    if (!d && fd >= 0)
        (void)close(fd); /* a directory: nothing is buffered in it */
    while (d && !found && (e = readdir(d)) != NULL)
        found = fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&st, input);
    if (d)
        (void)closedir(d); /* the same */
    return found;
}

static bool lies_in(int folder, const char *path, const char *input)
{
    struct stat st;

    if (!is_regular(input, &st) || !has_entry(folder, &st))
        return false;
    cli_complain(path, "a result could be written over what is read (%s)", input);
    return true;
}

bool cli_folder_collides(int folder, const char *path, const cli_args *a)
{
    const char *list = a->value[CLI_O_FILES_FROM];
    cli_name_list names;
    struct stat st;
    const char *name;
    bool collides = false;

    for (int i = 0; i < a->n_operands && !collides; i++)
        collides = lies_in(folder, path, a->operands[i]);
    /* A list that is no file can be read once only, by the walk over the inputs. */
    if (collides || !list || strcmp(list, "-") == 0 || !is_regular(list, &st) ||
        cli_name_list_read(&names, list))
        return collides;
    while (!collides && (name = cli_name_list_next(&names)) != NULL)
        collides = lies_in(folder, path, strcmp(name, "-") == 0 ? "./-" : name);
    cli_name_list_free(&names);
    return collides;
}

int cli_porter_begin(cli_porter *p)
{
    if (cli_porter_start(p) == CUVET_OK)
        return CLI_X_CLEAN;
    cli_complain(NULL, "no process to write files with: %s", strerror(errno));
    return CLI_X_IO;
}

void cli_porter_needs(const cli_porter *p, cli_needs *needs)
{
    needs->porter = p->fd;
    needs->folder = p->in_folder;
    for (uint32_t i = 0; i < p->n_drafts; i++)
        needs->out[i] = p->draft[i]->fd;
}

cuvet_status cli_outfile_ready(const cli_outfile *o)
{
    return o->draft.status;
}

cuvet_status cli_outfile_finish(cli_outfile *o, cuvet_status written)
{
    int fd = o->draft.fd;

    o->draft.fd = -1;
    if (close(fd) != 0 && written == CUVET_OK)
        written = CUVET_E_IO;
    return written == CUVET_OK ? cli_porter_done(o->porter, o->number) : written;
}

cuvet_status cli_outfile_save(cli_outfile *o, const void *bytes, size_t n)
{
    cuvet_status s = cli_outfile_ready(o);

    if (o->standard) {
        (void)fwrite(bytes, 1, n, stdout); /* a failure stays in ferror(stdout) */
        return CUVET_OK;
    }
    return s == CUVET_OK ? cli_outfile_finish(o, cli_write_whole(o->draft.fd, bytes, n)) : s;
}

void cli_outfile_close(cli_outfile *o)
{
    if (o->draft.fd >= 0)
        (void)close(o->draft.fd); /* what it holds is not wanted */
    o->draft.fd = -1;
    if (o->draft.dir < 0)
        return;
    cli_draft_drop(&o->draft); /* no porter was started: it is still ours */
    (void)close(o->draft.dir); /* a directory: nothing is buffered in it */
    o->draft.dir = -1;
}

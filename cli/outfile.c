/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"

#include "input_int.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL, or why no file can have the name. */
static const char *wrong_name(const char *name)
{
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return strerror(EISDIR);
    return strlen(name) > NAME_MAX ? strerror(ENAMETOOLONG) : NULL;
}

const char *cli_outfile_open(cli_outfile *outfile, cli_porter *porter, const char *path, bool replace)
{
    const char *slash = path ? strrchr(path, '/') : NULL, *why;
    char *dir;

    *outfile = (cli_outfile)CLI_NO_OUTFILE;
    outfile->path = path;
    if (!path)
        return NULL;
    if (strcmp(path, "-") == 0) {
        outfile->standard = true;
        return isatty(STDOUT_FILENO) ? "standard output is a terminal, and the result is binary" : NULL;
    }
    why = wrong_name(slash ? slash + 1 : path);
    if (why)
        return why;
    dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!dir)
        return "out of memory";
    outfile->draft.name = slash ? slash + 1 : path;
    outfile->draft.replace = replace;
    outfile->draft.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    if (outfile->draft.dir < 0)
        return strerror(errno);
    cli_draft_open(&outfile->draft);
    outfile->porter = porter;
    outfile->number = porter->n_drafts;
    porter->draft[porter->n_drafts++] = &outfile->draft;
    return NULL;
}

static bool same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* What lies where a result goes, links followed. false: nothing does. */
static bool lies_there(const cli_outfile *outfile, struct stat *st)
{
    return (outfile->standard ? fstat(STDOUT_FILENO, st)
                              : fstatat(outfile->draft.dir, outfile->draft.name, st, 0)) == 0;
}

/* A name that no file has yet is the same file by its directory. */
static bool same_place(const cli_outfile *one, const cli_outfile *other)
{
    struct stat left, right;

    if (one->standard || other->standard)
        return one->standard && other->standard;
    return strcmp(one->draft.name, other->draft.name) == 0 && fstat(one->draft.dir, &left) == 0 &&
           fstat(other->draft.dir, &right) == 0 && same_file(&left, &right);
}

static bool same_result(const cli_outfile *one, const cli_outfile *other)
{
    struct stat left, right;

    return same_place(one, other) ||
           (lies_there(one, &left) && lies_there(other, &right) && same_file(&left, &right));
}

/* Terminals, pipes and devices can be read and written at the same time. */
static bool is_regular(const char *path, struct stat *st)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, st) : stat(path, st)) == 0 && S_ISREG(st->st_mode);
}

bool cli_outfile_is(const cli_outfile *const *out, size_t count, const char *read)
{
    struct stat input, old;

    if (!read || !is_regular(read, &input))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (out[i]->path && lies_there(out[i], &old) && same_file(&input, &old)) {
            cli_complain(out[i]->path, "a result would be written over what is read (%s)", read);
            return true;
        }
    }
    return false;
}

/* Standard output belongs to a command also where no result goes there. */
static bool is_standard_output(const cli_outfile *outfile)
{
    struct stat old, text;

    return !outfile->standard && fstat(STDOUT_FILENO, &text) == 0 && S_ISREG(text.st_mode) &&
           lies_there(outfile, &old) && same_file(&old, &text);
}

bool cli_outfile_collides(const cli_outfile *const *out, size_t count, const cli_args *args)
{
    bool collides = false;

    for (size_t i = 0; i < count && !collides; i++) {
        for (size_t k = 0; k < i && !collides; k++)
            collides = out[i]->path && out[k]->path && same_result(out[i], out[k]);
        collides = collides || (out[i]->path && is_standard_output(out[i]));
        if (collides)
            cli_complain(out[i]->path, "two results would be written to one file");
    }
    for (int i = 0; i < args->n_operands && !collides; i++)
        collides = cli_outfile_is(out, count, args->operands[i]);
    return collides || cli_outfile_is(out, count, args->value[CLI_O_GENERATOR]) ||
           cli_outfile_is(out, count, args->value[CLI_O_COMPILER]);
}

/* By its entries: the input may have other names elsewhere. */
static bool has_entry(int folder, const struct stat *input)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    struct stat st;
    bool found = false;

    if (!dir && fd >= 0)
        (void)close(fd); /* a directory: nothing is buffered in it */
    while (dir && !found && (entry = readdir(dir)) != NULL)
        found = fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&st, input);
    if (dir)
        (void)closedir(dir); /* the same */
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

bool cli_folder_collides(int folder, const char *path, const cli_args *args)
{
    const char *list = args->value[CLI_O_FILES_FROM];
    cli_name_list names;
    struct stat st;
    const char *name;
    bool collides = false;

    for (int i = 0; i < args->n_operands && !collides; i++)
        collides = lies_in(folder, path, args->operands[i]);
    /* A list that is no file can be read once only, by the walk over the inputs. */
    if (collides || !list || strcmp(list, "-") == 0 || !is_regular(list, &st) ||
        cli_name_list_read(&names, list))
        return collides;
    while (!collides && (name = cli_name_list_next(&names)) != NULL)
        collides = lies_in(folder, path, strcmp(name, "-") == 0 ? "./-" : name);
    cli_name_list_free(&names);
    return collides;
}

int cli_porter_begin(cli_porter *porter)
{
    if (cli_porter_start(porter) == CUVET_OK)
        return CLI_X_CLEAN;
    cli_complain(NULL, "no process to write files with: %s", strerror(errno));
    return CLI_X_IO;
}

void cli_porter_needs(const cli_porter *porter, cli_needs *needs)
{
    needs->porter = porter->fd;
    needs->folder = porter->in_folder;
    for (uint32_t i = 0; i < porter->n_drafts; i++)
        needs->out[i] = porter->draft[i]->fd;
}

cuvet_status cli_outfile_ready(const cli_outfile *outfile)
{
    return outfile->draft.status;
}

cuvet_status cli_outfile_finish(cli_outfile *outfile, cuvet_status written)
{
    int fd = outfile->draft.fd;

    outfile->draft.fd = -1;
    if (close(fd) != 0 && written == CUVET_OK)
        written = CUVET_E_IO;
    return written == CUVET_OK ? cli_porter_done(outfile->porter, outfile->number) : written;
}

cuvet_status cli_outfile_save(cli_outfile *outfile, const void *bytes, size_t size)
{
    cuvet_status status = cli_outfile_ready(outfile);

    if (outfile->standard) {
        (void)fwrite(bytes, 1, size, stdout); /* a failure stays in ferror(stdout) */
        return CUVET_OK;
    }
    return status == CUVET_OK ? cli_outfile_finish(outfile, cli_write_whole(outfile->draft.fd, bytes, size))
                              : status;
}

void cli_outfile_close(cli_outfile *outfile)
{
    if (outfile->draft.fd >= 0)
        (void)close(outfile->draft.fd); /* what it holds is not wanted */
    outfile->draft.fd = -1;
    if (outfile->draft.dir < 0)
        return;
    cli_draft_drop(&outfile->draft); /* no porter was started: it is still ours */
    (void)close(outfile->draft.dir); /* a directory: nothing is buffered in it */
    outfile->draft.dir = -1;
}

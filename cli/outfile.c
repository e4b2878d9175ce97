/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
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

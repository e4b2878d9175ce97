/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_outfile_open(cli_outfile *o, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *dir;

    *o = (cli_outfile){ .path = path, .dir = -1 };
    if (!path)
        return NULL;
    if (strcmp(path, "-") == 0) {
        o->name = path;
        o->standard = true;
        return isatty(STDOUT_FILENO) ? "standard output is a terminal, and the result is binary" : NULL;
    }
    dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    if (!dir)
        return "out of memory";
    o->name = slash ? slash + 1 : path;
    o->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(dir);
    return o->dir < 0 ? strerror(errno) : NULL;
}

cuvet_status cli_outfile_save(const cli_outfile *o, const void *bytes, size_t n, bool replace)
{
    if (!o->standard)
        return cuvet_save(o->dir, o->name, bytes, n, replace, false);
    (void)fwrite(bytes, 1, n, stdout); /* a failure stays in ferror(stdout) */
    return CUVET_OK;
}

void cli_outfile_close(cli_outfile *o)
{
    if (o->dir >= 0)
        (void)close(o->dir); /* a directory: nothing is buffered in it */
    o->dir = -1;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Libraries of -l: archives of device code, and those of the host, which a driver of a compiler hands to
 * every link. */
#include "link_args.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where a host linker looks without being told. Only for shared objects: an archive there may hold device
 * code, and is linked when -L names its directory. */
static const char *const SYSTEM[] = {
    "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu"
};

static char *path_of(const char *dir, const char *name, const char *suffix)
{
    size_t n = strlen(dir) + strlen(name) + strlen(suffix) + 5;
    char *path = malloc(n);

    if (path)
        (void)snprintf(path, n, "%s/lib%s%s", dir, name, suffix);
    return path;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* libNAME.so with a number behind it: there is no other without the files of developers. */
static bool has_version(const char *dir, const char *prefix)
{
    size_t n = strlen(prefix);
    const struct dirent *e;
    bool found = false;
    DIR *d = opendir(dir);

    if (!d)
        return false;
    while (!found && (e = readdir(d)) != NULL)
        found = strncmp(e->d_name, prefix, n) == 0 && e->d_name[n] == '.' && e->d_name[n + 1] >= '0' &&
                e->d_name[n + 1] <= '9';
    (void)closedir(d); /* it was read */
    return found;
}

static link_library shared_in(const char *dir, const char *name)
{
    char *path = path_of(dir, name, ".so");
    link_library found;

    if (!path)
        return LINK_LIBRARY_NOMEM;
    found = is_file(path) || has_version(dir, path + strlen(dir) + 1) ? LINK_LIBRARY_HOST : LINK_LIBRARY_NONE;
    free(path);
    return found;
}

link_library link_library_find(const link_words *dirs, const char *name, char **path)
{
    link_library found = LINK_LIBRARY_NONE;

    for (size_t d = 0; d < dirs->n; d++) {
        *path = path_of(dirs->v[d], name, ".a");
        if (!*path)
            return LINK_LIBRARY_NOMEM;
        if (is_file(*path))
            return LINK_LIBRARY_ARCHIVE;
        free(*path);
        *path = NULL;
    }
    for (size_t d = 0; d < dirs->n && found == LINK_LIBRARY_NONE; d++)
        found = shared_in(dirs->v[d], name);
    for (size_t d = 0; d < sizeof(SYSTEM) / sizeof(SYSTEM[0]) && found == LINK_LIBRARY_NONE; d++)
        found = shared_in(SYSTEM[d], name);
    return found;
}

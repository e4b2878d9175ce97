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
    size_t len = strlen(dir) + strlen(name) + strlen(suffix) + 5;
    char *path = malloc(len);

    if (path)
        (void)snprintf(path, len, "%s/lib%s%s", dir, name, suffix);
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
    size_t len = strlen(prefix);
    const struct dirent *entry;
    bool found = false;
    DIR *stream = opendir(dir);

    if (!stream)
        return false;
    while (!found && (entry = readdir(stream)) != NULL)
        found = strncmp(entry->d_name, prefix, len) == 0 && entry->d_name[len] == '.' &&
                entry->d_name[len + 1] >= '0' && entry->d_name[len + 1] <= '9';
    (void)closedir(stream); /* it was read */
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

    for (size_t i = 0; i < dirs->count; i++) {
        *path = path_of(dirs->items[i], name, ".a");
        if (!*path)
            return LINK_LIBRARY_NOMEM;
        if (is_file(*path))
            return LINK_LIBRARY_ARCHIVE;
        free(*path);
        *path = NULL;
    }
    for (size_t i = 0; i < dirs->count && found == LINK_LIBRARY_NONE; i++)
        found = shared_in(dirs->items[i], name);
    for (size_t i = 0; i < sizeof(SYSTEM) / sizeof(SYSTEM[0]) && found == LINK_LIBRARY_NONE; i++)
        found = shared_in(SYSTEM[i], name);
    return found;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A shadow of a CUDA toolkit: a folder of symbolic links into it, whose bin/nvlink is this command. The
 * driver of the compiler looks for its tools beside itself, by the name that it was called by. */
#include "cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The driver, and what it reads to know where things are. */
#define DRIVER "nvcc"

typedef struct shadow {
    char *toolkit; /* real path */
    char *self;    /* real path of this program */
    int dir, bin;  /* of the folder that is being made */
} shadow;

static char *join(const char *folder, const char *name)
{
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);

    if (path)
        (void)snprintf(path, room, "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *folder, const char *name, int mode)
{
    char *path = join(folder, name);
    bool there = path && access(path, mode) == 0;

    free(path);
    return there;
}

/* A folder is a toolkit when its driver, what that reads, and its linker are there: beside a script that
 * starts the driver of another folder there is no profile. @return its real path, or NULL */
static char *toolkit_at(const char *folder)
{
    return is_there(folder, "bin/" DRIVER, X_OK) && is_there(folder, "bin/" DRIVER ".profile", R_OK) &&
                   is_there(folder, "bin/nvlink", X_OK)
               ? realpath(folder, NULL)
               : NULL;
}

/* "/opt/cuda/bin/nvcc", which may be a link: "/opt/cuda" */
static char *toolkit_of_driver(const char *path)
{
    char *driver = realpath(path, NULL), *found = NULL;

    for (unsigned i = 0; i < 2 && driver; i++) {
        char *slash = strrchr(driver, '/');

        if (slash)
            *slash = '\0';
    }
    if (driver && *driver)
        found = toolkit_at(driver);
    free(driver);
    return found;
}

/* The first word of a line that is a whole path to a driver; NULL: none is. */
static const char *named_in_line(char *line)
{
    const size_t tail = strlen("/" DRIVER);

    for (const char *word; (word = strsep(&line, " \t\r\"';=")) != NULL;) {
        size_t len = strlen(word);

        if (*word == '/' && len > tail && strcmp(word + len - tail, "/" DRIVER) == 0)
            return word;
    }
    return NULL;
}

/* The driver that a script names outside of comments, as distributions and machines with several toolkits
 * have one on PATH. */
static char *named_in_script(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    const char *found = NULL;
    char *rest = text;

    if (fd >= 0)
        (void)close(fd); /* it was read */
    if (size < 2 || text[0] != '#' || text[1] != '!')
        return NULL;
    text[size] = '\0';
    for (char *line; !found && (line = strsep(&rest, "\n")) != NULL;) {
        line += strspn(line, " \t");
        found = *line == '#' ? NULL : named_in_line(line);
    }
    return found ? strdup(found) : NULL;
}

/* Of the driver that a shell would start. */
static char *toolkit_on_path(void)
{
    const char *path = getenv("PATH");
    char *all = strdup(path ? path : ""), *rest = all, *driver = NULL, *found = NULL;

    for (const char *folder; !driver && (folder = strsep(&rest, ":")) != NULL;) {
        if (*folder && is_there(folder, DRIVER, X_OK))
            driver = join(folder, DRIVER);
    }
    free(all);
    if (driver)
        found = toolkit_of_driver(driver);
    if (driver && !found) {
        char *named = named_in_script(driver);

        found = named ? toolkit_of_driver(named) : NULL;
        free(named);
        if (!found)
            cli_complain(driver, "no toolkit is around it: " DRIVER
                                 ".profile or nvlink is not beside it, nor beside a " DRIVER
                                 " that it names; --from names one");
    } else if (!driver) {
        found = toolkit_at("/usr/local/cuda");
        if (!found)
            cli_complain(NULL, "no toolkit found by $CUDA_HOME, " DRIVER
                               " on PATH or /usr/local/cuda; --from names one");
    }
    free(driver);
    return found;
}

/* The first that is there: as asked for, $CUDA_HOME, the one whose driver a shell would start, and where
 * there is none the usual place. */
static char *find_toolkit(const char *asked)
{
    const char *home = getenv("CUDA_HOME");
    char *found = NULL;

    if (asked) {
        found = toolkit_at(asked);
        if (!found)
            cli_complain(asked,
                         "no toolkit: it has no bin/" DRIVER ", no bin/" DRIVER ".profile or no bin/nvlink");
        return found;
    }
    if (home && *home)
        found = toolkit_at(home);
    return found ? found : toolkit_on_path();
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* A link to each entry of a folder of the toolkit, but for one name. */
static bool link_entries(const char *folder, int into, const char *but)
{
    DIR *from = opendir(folder);
    const struct dirent *entry;
    bool ok = from != NULL;
    int why = errno;

    while (ok && (entry = readdir(from)) != NULL) {
        char *target =
            is_dots(entry->d_name) || strcmp(entry->d_name, but) == 0 ? NULL : join(folder, entry->d_name);

        if (target)
            ok = symlinkat(target, into, entry->d_name) == 0;
        why = errno;
        free(target);
    }
    if (from)
        (void)closedir(from); /* it was read */
    if (!ok)
        cli_complain(folder, "%s", strerror(why));
    return ok;
}

static bool fill(shadow *made)
{
    char *bin = join(made->toolkit, "bin");
    bool ok = bin != NULL;

    ok = ok && link_entries(made->toolkit, made->dir, "bin");
    if (ok && mkdirat(made->dir, "bin", 0777) == 0)
        made->bin = openat(made->dir, "bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ok && made->bin < 0) {
        cli_complain("bin", "%s", strerror(errno));
        ok = false;
    }
    ok = ok && link_entries(bin, made->bin, "nvlink");
    if (ok && symlinkat(made->self, made->bin, "nvlink") != 0) {
        cli_complain("bin/nvlink", "%s", strerror(errno));
        ok = false;
    }
    free(bin);
    return ok;
}

/* Nothing but links is in it. */
static void empty_folder(int folder)
{
    int copy = folder >= 0 ? openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *from = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;

    if (!from && copy >= 0)
        (void)close(copy); /* a folder: nothing is buffered in it */
    while (from && (entry = readdir(from)) != NULL) {
        if (!is_dots(entry->d_name))
            (void)unlinkat(folder, entry->d_name, 0); /* "bin" stays, until it is empty itself */
    }
    if (from)
        (void)closedir(from); /* the same */
}

static void take_back(const shadow *made, const char *draft)
{
    empty_folder(made->bin);
    empty_folder(made->dir);
    (void)unlinkat(made->dir, "bin", AT_REMOVEDIR); /* it may not be there */
    (void)rmdir(draft);                             /* what cannot be removed has its odd name */
}

/* Beside the place where it goes, under a name of its own, until it is complete. */
static int make_shadow(shadow *made, const char *path)
{
    size_t room = strlen(path) + sizeof(".XXXXXX");
    char *draft = malloc(room);
    bool ok = draft != NULL;
    mode_t mask = umask(0);

    (void)umask(mask);
    if (ok)
        (void)snprintf(draft, room, "%s.XXXXXX", path);
    if (!ok || !mkdtemp(draft)) {
        cli_complain(path, "%s", strerror(errno));
        free(draft);
        return CLI_X_IO;
    }
    made->dir = open(draft, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok = made->dir >= 0 && fill(made);
    if (ok && (fchmod(made->dir, 0777 & ~mask) != 0 || rename(draft, path) != 0)) {
        cli_complain(path, "%s", strerror(errno));
        ok = false;
    }
    if (!ok)
        take_back(made, draft);
    free(draft);
    return ok ? CLI_X_CLEAN : CLI_X_IO;
}

/* "shadow/" is the same folder as "shadow". */
static char *without_slashes(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    return strndup(path, len);
}

static bool may_make(const shadow *made, const char *path)
{
    struct stat st;

    if (strncmp(path, made->toolkit, strlen(made->toolkit)) == 0 && path[strlen(made->toolkit)] == '/')
        cli_complain(path, "lies in the toolkit that it is to be the shadow of");
    else if (lstat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        cli_complain(path, "exists, and is no folder");
    else
        return true; /* a folder that is not empty is refused by the system, when it is to be replaced */
    return false;
}

int cmd_toolkit(int argc, char **argv)
{
    shadow made = { .dir = -1, .bin = -1 };
    char *path = NULL;
    cli_args args;
    int rc;

    if (!cli_parse(CLI_C_TOOLKIT, argc, argv, &args, &rc))
        return rc;
    if (args.n_operands != 1) {
        cli_complain(NULL, "toolkit takes one DIR");
        return CLI_X_USAGE;
    }
    rc = CLI_X_IO;
    made.toolkit = find_toolkit(args.value[CLI_O_FROM]);
    made.self = realpath("/proc/self/exe", NULL);
    path = without_slashes(args.operands[0]);
    if (made.toolkit && (!made.self || !path))
        cli_complain(NULL, "%s", strerror(errno));
    else if (made.toolkit && may_make(&made, path))
        rc = make_shadow(&made, path);
    if (rc == CLI_X_CLEAN)
        printf("%s: %s with %s as its nvlink\n", path, made.toolkit, made.self);
    if (made.bin >= 0)
        (void)close(made.bin); /* folders: nothing is buffered in them */
    if (made.dir >= 0)
        (void)close(made.dir);
    free(made.toolkit);
    free(made.self);
    free(path);
    return rc;
}

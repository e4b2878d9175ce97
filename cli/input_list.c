/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --files-from: names of inputs out of a file, one per line, or ended by NUL where there is a NUL anywhere.
 */
#include "input_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX   ((size_t)256 << 20) /* bytes of names; all are held until the last one was opened */
#define LIST_FIRST ((size_t)1 << 16)

/* @return bytes, -1 with errno. */
static ssize_t read_some(int fd, char *to, size_t len)
{
    ssize_t got;

    do
        got = read(fd, to, len);
    while (got < 0 && errno == EINTR);
    return got;
}

static const char *read_all(int fd, cli_name_list *list)
{
    size_t cap = 0;

    for (;;) {
        ssize_t got;

        if (list->len + 1 >= cap) { /* room for a NUL */
            char *more;

            cap = cap ? 2 * cap : LIST_FIRST;
            more = cap <= LIST_MAX ? realloc(list->bytes, cap) : NULL;
            if (!more)
                return cap <= LIST_MAX ? "out of memory" : "the list of files is too large";
            list->bytes = more;
        }
        got = read_some(fd, list->bytes + list->len, cap - list->len - 1);
        if (got < 0)
            return strerror(errno);
        if (got == 0)
            return NULL;
        list->len += (size_t)got;
    }
}

const char *cli_name_list_read(cli_name_list *list, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    const char *why = NULL;
    int fd = standard ? STDIN_FILENO : cli_open_list(path, &why);

    *list = (cli_name_list){ .bytes = NULL };
    if (fd < 0)
        return why;
    why = read_all(fd, list);
    if (!standard)
        (void)close(fd); /* read only: nothing can be lost */
    if (why)
        return why;
    list->bytes[list->len] = '\0';
    list->end = memchr(list->bytes, '\0', list->len) ? '\0' : '\n';
    return NULL;
}

char *cli_name_list_next(cli_name_list *list)
{
    while (list->at < list->len) {
        char *name = list->bytes + list->at, *end = memchr(name, list->end, list->len - list->at);

        if (!end)
            end = list->bytes + list->len;
        *end = '\0';
        list->at = (size_t)(end - list->bytes) + 1;
        if (*name)
            return name;
    }
    return NULL;
}

void cli_name_list_free(cli_name_list *list)
{
    free(list->bytes);
    *list = (cli_name_list){ .bytes = NULL };
}

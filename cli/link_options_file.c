/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of options: words between blanks, "..." keeps blanks, a backslash the next character. */
#include "input_int.h"
#include "link_args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS_BYTES ((size_t)16 << 20)

static const char NO_MEMORY[] = "out of memory";

/* The text is rewritten in its place. */
static const char *split_words(char *text, size_t len, link_words *words, int *rc)
{
    for (size_t i = 0;;) {
        size_t to = 0, begin = i;
        bool quoted = false, any = false;

        while (i < len && link_words_blank(text[i]))
            begin = ++i;
        for (; i < len && (quoted || !link_words_blank(text[i])); i++) {
            any = true;
            if (text[i] == '"') {
                quoted = !quoted;
                continue;
            }
            i += text[i] == '\\' && i + 1 < len;
            text[begin + to++] = text[i];
        }
        if (quoted)
            return "a quotation does not end";
        if (!any)
            return NULL;
        if (!link_words_append(words, text + begin, to)) {
            *rc = CLI_X_LIMIT;
            return NO_MEMORY;
        }
    }
}

/* @return NULL, or why it cannot be read. */
static const char *read_text(const char *file, char *text, size_t *got)
{
    const char *why = NULL;
    int fd = cli_open_list(file, &why);
    FILE *from = fd >= 0 ? fdopen(fd, "r") : NULL;
    bool bad;

    if (!from) {
        if (fd >= 0)
            (void)close(fd); /* read only: nothing can be lost */
        return why ? why : strerror(errno);
    }
    *got = fread(text, 1, OPTIONS_BYTES + 1, from);
    bad = ferror(from) != 0;
    return fclose(from) != 0 || bad ? strerror(errno) : NULL;
}

const char *link_options_file_read(const char *file, link_words *words, int *rc)
{
    char *text = malloc(OPTIONS_BYTES + 1);
    const char *why;
    size_t got = 0;

    *rc = CLI_X_LIMIT;
    if (!text)
        return NO_MEMORY;
    *rc = CLI_X_IO;
    why = read_text(file, text, &got);
    if (!why) {
        *rc = CLI_X_USAGE;
        why = got > OPTIONS_BYTES    ? "more than 16 MiB"
              : memchr(text, 0, got) ? "a NUL in it"
                                     : split_words(text, got, words, rc);
    }
    free(text);
    return why;
}

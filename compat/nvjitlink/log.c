/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The two logs, and lists of strings. A log that does not fit says so at its end; one that finds no memory
 * stays as it is. */
#include "face.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LOG 1048576u

static bool room(cv_jit_log *log, size_t more)
{
    size_t cap = log->cap ? log->cap : 256;
    char *text;

    if (log->size + more < log->cap)
        return true;
    while (cap <= log->size + more)
        cap *= 2;
    text = realloc(log->text, cap);
    if (!text)
        return false;
    log->text = text;
    log->cap = cap;
    return true;
}

void cv_jit_text(cv_jit_log *log, const char *text, size_t size)
{
    static const char MORE[] = "\n... and more, which is left out\n";

    if (log->full || size == 0)
        return;
    if (size > MAX_LOG - log->size) {
        log->full = true;
        text = MORE;
        size = sizeof(MORE) - 1;
    }
    if (!room(log, size))
        return;
    memcpy(log->text + log->size, text, size);
    log->size += size;
    log->text[log->size] = '\0';
}

void cv_jit_print(cv_jit_log *log, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (len > 0)
        cv_jit_text(log, line, (size_t)len < sizeof(line) ? (size_t)len : sizeof(line) - 1);
}

void cv_jit_put(cv_jit_log *log, const char *text, size_t size)
{
    for (size_t i = 0; i < size && !log->full; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte >= 0x20 && byte < 0x7F)
            cv_jit_text(log, &text[i], 1);
        else
            cv_jit_print(log, "\\x%02x", byte);
    }
}

void cv_jit_put_lines(cv_jit_log *log, const char *text, size_t size)
{
    for (size_t begin = 0; begin < size;) {
        const char *end = memchr(text + begin, '\n', size - begin);
        size_t len = end ? (size_t)(end - text) - begin : size - begin;

        cv_jit_put(log, text + begin, len);
        cv_jit_text(log, "\n", 1);
        begin += len + 1;
    }
}

void cv_jit_put_name(cv_jit_log *log, const char *name)
{
    if (name)
        cv_jit_put(log, name, strnlen(name, 4096));
    else
        cv_jit_print(log, "(null)");
}

void cv_jit_log_end(cv_jit_log *log)
{
    free(log->text);
    *log = (cv_jit_log){ 0 };
}

bool cv_jit_list_add(cv_jit_list *list, const char *text, size_t size)
{
    char *copy;

    if (list->size == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 8;
        char **more = reallocarray(list->item, cap, sizeof(*more));

        if (!more)
            return false;
        list->item = more;
        list->cap = cap;
    }
    copy = strndup(text, size);
    if (!copy)
        return false;
    list->item[list->size++] = copy;
    return true;
}

void cv_jit_list_end(cv_jit_list *list)
{
    for (size_t i = 0; i < list->size; i++)
        free(list->item[i]);
    free(list->item);
    *list = (cv_jit_list){ 0 };
}

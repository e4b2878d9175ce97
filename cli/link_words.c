/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "link_words.h"

#include <stdlib.h>
#include <string.h>

bool link_words_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\n' || ch == '\r' || ch == '\v' || ch == '\f';
}

bool link_words_insert(link_words *words, size_t at, const char *text, size_t len)
{
    char *copy;

    if (words->count == words->cap) {
        size_t cap = words->cap ? 2 * words->cap : 16;
        char **texts = realloc(words->items, cap * sizeof(*texts));

        if (!texts)
            return false;
        words->items = texts;
        words->cap = cap;
    }
    copy = strndup(text, len);
    if (!copy)
        return false;
    memmove(words->items + at + 1, words->items + at, (words->count - at) * sizeof(*words->items));
    words->items[at] = copy;
    words->count++;
    return true;
}

bool link_words_append(link_words *words, const char *text, size_t len)
{
    return link_words_insert(words, words->count, text, len);
}

void link_words_free(link_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (link_words){ 0 };
}

bool link_words_append_list(link_words *words, const char *text)
{
    for (size_t len; *text; text += len + (text[len] == ',')) {
        size_t begin = 0, end = len = strcspn(text, ",");

        while (begin < end && link_words_blank(text[begin]))
            begin++;
        while (end > begin && link_words_blank(text[end - 1]))
            end--;
        if (end > begin && !link_words_append(words, text + begin, end - begin))
            return false;
    }
    return true;
}

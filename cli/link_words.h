/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lists of words of a command line: each is a copy. False: no memory. */
#ifndef CLI_LINK_WORDS_H
#define CLI_LINK_WORDS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct link_words {
    char **items;
    size_t count, cap;
} link_words;

/** Is this one of the characters that are between words? */
bool link_words_blank(char ch);
bool link_words_insert(link_words *words, size_t at, const char *text, size_t len);
bool link_words_append(link_words *words, const char *text, size_t len);
/** Elements between commas, without the blanks around them; empty ones say nothing. */
bool link_words_append_list(link_words *words, const char *text);
void link_words_free(link_words *words);

#endif

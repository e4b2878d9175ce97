/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "model/archive.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 60, NAME = 16, SIZE_AT = 48, SIZE = 10, LONGEST = 4096 };

/* "digits, then blanks only" */
static bool is_number(const char *text, uint64_t *value)
{
    size_t digits = strspn(text, "0123456789");

    *value = strtoull(text, NULL, 10);
    return digits > 0 && text[digits + strspn(text + digits, " ")] == '\0';
}

static void copy(char *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
    to[size] = '\0';
}

/* "/N", in an archive of archives "/N:M" */
static bool is_reference(char *text, uint64_t *value)
{
    char *colon = strchr(text, ':');
    uint64_t other;

    if (colon && is_number(colon + 1, &other))
        *colon = '\0';
    return is_number(text, value);
}

static bool is_word(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0 && name[strlen(word)] == ' ';
}

/* A table of symbols of BSD is a member with a name; with a slash behind it, it is any member. */
static bool is_index(char *name)
{
    if (strlen(name) < NAME) /* a zero byte is part of a name */
        return false;
    for (size_t end = strlen(name); end > 0 && name[end - 1] == ' '; end--)
        name[end - 1] = '\0';
    return strcmp(name, "__.SYMDEF") == 0 || strcmp(name, "__.SYMDEF SORTED") == 0 ||
           strcmp(name, "__.SYMDEF_64") == 0;
}

static bool read_name(char *name, md_ar_member *out)
{
    if (strncmp(name, "#1/", 3) == 0) {
        out->form = MD_AR_IN_FRONT;
        return is_number(name + 3, &out->number);
    }
    if (is_word(name, "//")) {
        out->form = MD_AR_NAMES;
    } else if (is_word(name, "/") || is_word(name, "/SYM64/") || strncmp(name, "/<", 2) == 0) {
        out->form = MD_AR_INDEX;
    } else if (name[0] == '/') {
        out->form = MD_AR_IN_TABLE;
        return is_reference(name + 1, &out->number);
    } else {
        out->form = is_index(name) ? MD_AR_INDEX : MD_AR_SHORT;
    }
    return true;
}

void md_ar_read(const uint8_t *bytes, size_t left, bool thin, md_ar_member *out)
{
    char name[NAME + 1], size_text[SIZE + 1];
    uint64_t size = 0, front;

    *out = (md_ar_member){ .broken = NULL };
    if (left < HEADER) {
        out->broken = "CV-AR-003";
        return;
    }
    if (bytes[HEADER - 2] != '`' || bytes[HEADER - 1] != '\n') {
        out->broken = "CV-AR-004";
        return;
    }
    copy(size_text, bytes + SIZE_AT, SIZE);
    copy(name, bytes, NAME);
    if (!is_number(size_text, &size) || memchr(bytes + SIZE_AT, 0, SIZE)) {
        out->broken = "CV-AR-005";
        return;
    }
    /* A zero byte is none of the bytes that a number may have. */
    if (!read_name(name, out) ||
        ((out->form == MD_AR_IN_FRONT || out->form == MD_AR_IN_TABLE) && memchr(bytes, 0, NAME))) {
        out->broken = "CV-AR-008";
        return;
    }
    /* The members of a thin archive are elsewhere, its tables are not. */
    if (thin && out->form != MD_AR_INDEX && out->form != MD_AR_NAMES)
        size = 0;
    front = out->form == MD_AR_IN_FRONT ? out->number : 0;
    if (front > size) {
        out->broken = "CV-AR-007";
        return;
    }
    out->cut = size > left - HEADER;
    if (out->cut) /* "The part that is there is examined all the same." */
        size = left - HEADER;
    if (front > size)
        front = size;
    out->body = HEADER + front;
    out->body_size = size - front;
    out->end = HEADER + size;
    out->next = out->end % 2 == 1 && out->end < left ? out->end + 1 : out->end;
}

size_t md_ar_name(const uint8_t *table, size_t size, uint64_t at, const char **broken)
{
    const uint8_t *begin, *end;
    size_t left;

    *broken = "CV-AR-009";
    if (at >= size)
        return 0;
    begin = table + at;
    left = size - (size_t)at < LONGEST ? size - (size_t)at : LONGEST;
    /* "ends in a newline, before which most tools write a slash, or in a zero byte" */
    end = memchr(begin, '\n', left);
    if (!end)
        end = memchr(begin, 0, left);
    *broken = end ? NULL : "CV-AR-010";
    if (!end)
        return 0;
    return (size_t)(end - begin) - (end > begin && end[-1] == '/');
}

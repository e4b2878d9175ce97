/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Escapes. Everything that came from an input or from the command line passes through here on its way out. */
#include "cli.h"

#include <string.h>

/* Code points that are valid but must not reach a reader as they are: they are invisible, or they reorder
 * what stands around them. Sorted; ends are inclusive. */
static const struct {
    uint32_t first, last;
} HIDDEN[] = {
    { 0x0000, 0x001F },    /* C0 controls */
    { 0x007F, 0x009F },    /* delete, C1 controls */
    { 0x00AD, 0x00AD },    /* soft hyphen */
    { 0x034F, 0x034F },    /* combining grapheme joiner */
    { 0x061C, 0x061C },    /* Arabic letter mark */
    { 0x115F, 0x1160 },    /* Hangul fillers */
    { 0x17B4, 0x17B5 },    /* Khmer inherent vowels */
    { 0x180B, 0x180F },    /* Mongolian selectors and separator */
    { 0x200B, 0x200F },    /* zero width, direction marks */
    { 0x2028, 0x202E },    /* line and paragraph separators, embeddings, overrides */
    { 0x2060, 0x206F },    /* word joiner, invisible operators, isolates */
    { 0x3164, 0x3164 },    /* Hangul filler */
    { 0xE000, 0xF8FF },    /* private use */
    { 0xFDD0, 0xFDEF },    /* non-characters */
    { 0xFE00, 0xFE0F },    /* variation selectors */
    { 0xFEFF, 0xFEFF },    /* byte order mark */
    { 0xFFA0, 0xFFA0 },    /* halfwidth Hangul filler */
    { 0xFFF0, 0xFFFF },    /* annotations, replacement character, non-characters */
    { 0x13430, 0x1343F },  /* Egyptian hieroglyph format controls */
    { 0x1BCA0, 0x1BCA3 },  /* shorthand format controls */
    { 0x1D173, 0x1D17A },  /* musical format controls */
    { 0xE0000, 0x10FFFF }, /* tags, selectors, private planes */
};

static bool is_hidden(uint32_t point)
{
    if (point >= 0x10000 && (point & 0xFFFE) == 0xFFFE)
        return true;
    for (size_t i = 0; i < sizeof(HIDDEN) / sizeof(HIDDEN[0]); i++) {
        if (point <= HIDDEN[i].last)
            return point >= HIDDEN[i].first;
    }
    return true; /* above the last code point there is */
}

/* Length of the well-formed UTF-8 sequence at p (n bytes are there), 0 if there is none; overlong forms,
 * surrogates and values above U+10FFFF are none. */
static size_t utf8_at(const uint8_t *bytes, size_t size, uint32_t *out)
{
    static const uint32_t LEAST[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t len = bytes[0] < 0x80   ? 1
                 : bytes[0] < 0xC2 ? 0
                 : bytes[0] < 0xE0 ? 2
                 : bytes[0] < 0xF0 ? 3
                 : bytes[0] < 0xF5 ? 4
                                   : 0;
    uint32_t point;

    if (len == 0 || len > size)
        return 0;
    point = len == 1 ? bytes[0] : bytes[0] & (0x7Fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3Fu);
    }
    if (point < LEAST[len] || (point >= 0xD800 && point <= 0xDFFF) || point > 0x10FFFF)
        return 0;
    *out = point;
    return len;
}

/* Bytes at 'bytes' that stay as they are: most of all names, and looked at without a question each. */
static size_t plain_run(const uint8_t *bytes, size_t size)
{
    size_t i = 0;

    while (i < size && bytes[i] >= 0x20 && bytes[i] < 0x7F && bytes[i] != '\\')
        i++;
    return i;
}

/* One step of an escape: what the next bytes at 'bytes' turn into. @return bytes taken; *made bytes are in
 * piece. */
static size_t escape_step(const uint8_t *bytes, size_t size, char *piece, size_t *made)
{
    static const char HEX[] = "0123456789abcdef";
    uint32_t point = 0;
    size_t len = utf8_at(bytes, size, &point);

    *made = 0;
    if (len > 0 && !is_hidden(point)) {
        if (point == '\\')
            piece[(*made)++] = '\\';
        memcpy(piece + *made, bytes, len);
        *made += len;
        return len;
    }
    len = len ? len : 1;
    for (size_t i = 0; i < len; i++) {
        piece[(*made)++] = '\\';
        piece[(*made)++] = 'x';
        piece[(*made)++] = HEX[bytes[i] >> 4];
        piece[(*made)++] = HEX[bytes[i] & 15];
    }
    return len;
}

size_t cli_escape(const void *bytes, size_t size, size_t max, char *out, size_t cap)
{
    const uint8_t *raw = bytes;
    size_t used = 0, end = size < max ? size : max, i = 0;
    char tail[40];
    int tail_len = 0;

    if (cap == 0)
        return 0;
    while (i < end) {
        char piece[16];
        size_t room = cap - 1 - used, left = end - i < room ? end - i : room;
        size_t made, took = plain_run(raw + i, left);

        memcpy(out + used, raw + i, took);
        used += took;
        i += took;
        if (i == end)
            break;
        took = escape_step(raw + i, size - i, piece, &made);
        if (used + made >= cap || i + took > end)
            break;
        memcpy(out + used, piece, made);
        used += made;
        i += took;
    }
    if (i < size) {
        tail_len = snprintf(tail, sizeof(tail), "...(+%zu bytes)", size - i);
        if (tail_len > 0 && used + (size_t)tail_len < cap) {
            memcpy(out + used, tail, (size_t)tail_len);
            used += (size_t)tail_len;
        }
    }
    out[used] = '\0';
    return used;
}

void cli_put_cut(FILE *to, const void *bytes, size_t size, size_t most)
{
    char buf[4 * CLI_TEXT_CAP + 64];

    fwrite(buf, 1, cli_escape(bytes, size, most < CLI_TEXT_CAP ? most : CLI_TEXT_CAP, buf, sizeof(buf)), to);
}

void cli_put(FILE *to, const void *bytes, size_t size)
{
    cli_put_cut(to, bytes, size, CLI_TEXT_CAP);
}

void cli_put_str(FILE *to, const char *text)
{
    cli_put(to, text, strlen(text));
}

size_t cli_uri(const void *bytes, size_t size, char *out, size_t cap)
{
    static const char SAFE[] = "-._~/", HEX[] = "0123456789ABCDEF";
    const uint8_t *raw = bytes;
    size_t used = 0;

    if (cap == 0)
        return 0;
    for (size_t i = 0; i < size && used + 4 <= cap; i++) {
        bool plain = (raw[i] >= '0' && raw[i] <= '9') || ((raw[i] | 0x20) >= 'a' && (raw[i] | 0x20) <= 'z') ||
                     (raw[i] && strchr(SAFE, raw[i]));

        if (plain) {
            out[used++] = (char)raw[i];
            continue;
        }
        out[used++] = '%';
        out[used++] = HEX[raw[i] >> 4];
        out[used++] = HEX[raw[i] & 15];
    }
    out[used] = '\0';
    return used;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "class_oracle.h"

#include <string.h>

static class_oracle end(cuvet_status status, cuvet_kind kind)
{
    return (class_oracle){ status, { .type = kind } };
}

static class_oracle good(cuvet_kind kind, uint64_t off, uint64_t length)
{
    return (class_oracle){ CUVET_OK, { .type = kind, .off = off, .length = length } };
}

/* The 'size' bytes are the first ones of the word, which is longer. */
static bool is_part(const uint8_t *bytes, size_t size, const char *word, size_t len)
{
    return size < len && memcmp(bytes, word, size) == 0;
}

static uint64_t number(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0, place = 1;

    for (size_t i = 0; i < bytes; i++, place *= 256)
        value += at[i] * place;
    return value;
}

static class_oracle fatbin(const uint8_t *bytes, size_t size, bool lenient)
{
    bool whole = size >= 16 && number(bytes + 6, 2) >= 16 && number(bytes + 6, 2) <= size &&
                 number(bytes + 8, 8) <= size - number(bytes + 6, 2);

    if (size > 4 && bytes[4] != 1)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (size > 5 && bytes[5] != 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (whole)
        return good(CUVET_K_FATBIN, 0, number(bytes + 6, 2) + number(bytes + 8, 8));
    return lenient && size >= 8 ? good(CUVET_K_FATBIN, 0, size) : end(CUVET_E_TRUNCATED, CUVET_K_FATBIN);
}

static void elf_facts(const uint8_t *bytes, size_t size, cuvet_content_info *info)
{
    size_t at = (info->flags & CUVET_CLASSIFIED_32BIT) != 0 ? 36 : 48;
    uint64_t flags = size >= at + 4 ? number(bytes + at, 4) : 0, kind = 0;

    if (bytes[7] == 0x41) {
        info->sm = (uint32_t)(flags / 256 % 65536);
        kind = flags % 4;
    } else if (bytes[7] == 0x33) {
        info->sm = (uint32_t)(flags % 256);
        kind = flags / 0x80000000u + (flags / 0x4000 % 2 ? 2 : 0);
    }
    if (kind >= 2)
        info->flags |= CUVET_CLASSIFIED_CAPSULE;
    if (kind == 1 || (kind < 2 && bytes[16] == 0 && bytes[17] == 0xFF))
        info->flags |= CUVET_CLASSIFIED_MERCURY;
}

static class_oracle elf(const uint8_t *bytes, size_t len, bool lenient)
{
    bool little, big, device, bad = false;
    size_t size;
    class_oracle oracle;

    if (len < 20)
        return end(CUVET_E_TRUNCATED,
                   len > 7 && bytes[7] != 0x41 && bytes[7] != 0x33 ? CUVET_K_HOST_ELF : CUVET_K_CUBIN);
    little = bytes[18] == 190 && bytes[19] == 0;
    big = bytes[5] == 2 && bytes[18] == 0 && bytes[19] == 190;
    device = little || big;
    oracle = good(device ? CUVET_K_CUBIN : CUVET_K_HOST_ELF, 0, len);
    oracle.info.flags = bytes[4] == 1 ? CUVET_CLASSIFIED_32BIT : 0;
    if (device)
        elf_facts(bytes, len, &oracle.info);
    if (lenient && !big)
        return oracle;
    if (bytes[4] == 0 || bytes[4] > 2)
        return end(CUVET_E_MALFORMED, oracle.info.type);
    size = bytes[4] == 1 ? 52 : 64;
    if (len < size)
        return end(CUVET_E_TRUNCATED, oracle.info.type);
    if (device)
        bad = bytes[5] != 1 || bytes[6] != 1 || (bytes[7] != 0x41 && bytes[7] != 0x33) ||
              bytes[size - 12] != size || bytes[size - 11] != 0;
    else
        bad = (bytes[5] != 1 && bytes[5] != 2) || bytes[6] != 1;
    return bad ? end(CUVET_E_MALFORMED, oracle.info.type) : oracle;
}

static class_oracle wrapper(const uint8_t *bytes, size_t size, bool lenient)
{
    if (!lenient && size < 24)
        return end(CUVET_E_TRUNCATED, CUVET_K_WRAPPER);
    if (!lenient && number(bytes + 4, 4) != 1 && number(bytes + 4, 4) != 2)
        return end(CUVET_E_MALFORMED, CUVET_K_WRAPPER);
    return good(CUVET_K_WRAPPER, 0, size < 24 ? size : 24);
}

enum { BLANK, SLASH, LINE, BLOCK, STAR, WORD };

/* One reading of the text, a character at a time, up to and with the character behind .version. */
static class_oracle read_text(const uint8_t *bytes, size_t size, uint64_t probe, bool lenient, bool loose)
{
    const class_oracle unknown = end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    size_t room = size < probe ? size : (size_t)probe, i, word = 0;
    int state = BLANK;

    for (i = 0; i < room; i++) {
        uint8_t ch = bytes[i];

        if (state == BLANK && memchr(" \t\n\v\f\r", ch, 6))
            continue;
        if (state == BLANK && ch == '/') {
            state = SLASH;
        } else if (state == BLANK && ch == '.') {
            state = WORD;
            word = 1;
        } else if (state == SLASH && ch == '/') {
            state = LINE;
        } else if (state == SLASH && ch == '*') {
            state = loose ? STAR : BLOCK;
        } else if (state == LINE || state == BLOCK || state == STAR) {
            if (ch == 0)
                return unknown;
            if (state == LINE)
                state = ch == '\n' ? BLANK : LINE;
            else
                state = ch == '*' ? STAR : state == STAR && ch == '/' ? BLANK : BLOCK;
        } else if (state == WORD && word < 8 && ch == (uint8_t) ".version"[word]) {
            word++;
        } else if (state == WORD && word == 8) {
            break;
        } else {
            return unknown;
        }
        if (word == 8 && lenient)
            return good(CUVET_K_PTX, 0, size);
    }
    if (i == room && room < size)
        return end(CUVET_E_LIMIT, CUVET_K_NONE);
    if (i == room)
        return word > 1 ? end(CUVET_E_TRUNCATED, CUVET_K_PTX) : unknown;
    if (!memchr(" \t\n\v\f\r", bytes[i], 6))
        return end(CUVET_E_MALFORMED, CUVET_K_PTX);
    while (i < room && bytes[i] != 0)
        i++;
    while (i < room && bytes[i] == 0)
        i++;
    return i == room ? good(CUVET_K_PTX, 0, size) : unknown;
}

class_oracle oracle_ptx(const uint8_t *bytes, size_t size, uint64_t probe, bool lenient)
{
    class_oracle oracle = read_text(bytes, size, probe, lenient, false);

    if (lenient && oracle.status != CUVET_OK) {
        class_oracle second = read_text(bytes, size, probe, lenient, true);

        if (second.status == CUVET_OK)
            return second;
    }
    return oracle;
}

static class_oracle archive(size_t count, bool thin)
{
    class_oracle oracle = good(CUVET_K_ARCHIVE, 0, count);

    oracle.info.flags = thin ? CUVET_CLASSIFIED_THIN : 0;
    return oracle;
}

/* A whole input that is the beginning of one magic. */
static cuvet_kind beginning(const uint8_t *bytes, size_t size)
{
    if (size >= 2 && is_part(bytes, size, "\x50\xED\x55\xBA", 4))
        return CUVET_K_FATBIN;
    if (size >= 1 && is_part(bytes, size, "\x7F\x45\x4C\x46", 4))
        return CUVET_K_CUBIN;
    if ((size >= 2 && is_part(bytes, size, "\x01\x5A\xE5\x1E", 4)) ||
        (size >= 6 && is_part(bytes, size, "\0\0\0\0\x01\x5A\xE5\x1E", 8)))
        return CUVET_K_NVVM;
    if (size >= 2 && is_part(bytes, size, "\xED\x43\x4E\x7F", 4))
        return CUVET_K_LTOIR;
    if (size >= 2 && is_part(bytes, size, "\xB1\x43\x62\x46", 4))
        return CUVET_K_WRAPPER;
    if (size >= 2 && (is_part(bytes, size, "!<arch>\n", 8) || is_part(bytes, size, "!<thin>\n", 8)))
        return CUVET_K_ARCHIVE;
    return CUVET_K_NONE;
}

class_oracle oracle_classify(const uint8_t *bytes, size_t size, uint64_t probe, bool lenient)
{
    if (size == 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (beginning(bytes, size) != CUVET_K_NONE)
        return end(CUVET_E_TRUNCATED, beginning(bytes, size));
    if (size >= 4 && memcmp(bytes, "\x50\xED\x55\xBA", 4) == 0)
        return fatbin(bytes, size, lenient);
    if (size >= 4 && memcmp(bytes, "\x7F\x45\x4C\x46", 4) == 0)
        return elf(bytes, size, lenient);
    if (size >= 4 && memcmp(bytes, "\x01\x5A\xE5\x1E", 4) == 0)
        return good(CUVET_K_NVVM, 0, size);
    if (size >= 8 && memcmp(bytes, "\0\0\0\0\x01\x5A\xE5\x1E", 8) == 0)
        return good(CUVET_K_NVVM, 4, size - 4);
    if (size >= 4 && memcmp(bytes, "\xED\x43\x4E\x7F", 4) == 0)
        return good(CUVET_K_LTOIR, 0, size);
    if (size >= 4 && memcmp(bytes, "\xB1\x43\x62\x46", 4) == 0)
        return wrapper(bytes, size, lenient);
    if (size >= 8 && (memcmp(bytes, "!<arch>\n", 8) == 0 || memcmp(bytes, "!<thin>\n", 8) == 0))
        return archive(size, bytes[2] == 't');
    if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    return oracle_ptx(bytes, size, probe, lenient);
}

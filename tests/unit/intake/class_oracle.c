/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "class_oracle.h"

#include <string.h>

static oracle end(cuvet_status s, cuvet_kind t)
{
    return (oracle){ s, { .type = t } };
}

static oracle good(cuvet_kind t, uint64_t off, uint64_t length)
{
    return (oracle){ CUVET_OK, { .type = t, .off = off, .length = length } };
}

/* The n bytes are the first ones of the word, which is longer. */
static bool is_part(const uint8_t *p, size_t n, const char *word, size_t len)
{
    return n < len && memcmp(p, word, n) == 0;
}

static uint64_t number(const uint8_t *p, size_t bytes)
{
    uint64_t v = 0, place = 1;

    for (size_t i = 0; i < bytes; i++, place *= 256)
        v += p[i] * place;
    return v;
}

static oracle fatbin(const uint8_t *p, size_t n, bool lenient)
{
    bool whole = n >= 16 && number(p + 6, 2) >= 16 && number(p + 6, 2) <= n &&
                 number(p + 8, 8) <= n - number(p + 6, 2);

    if (n > 4 && p[4] != 1)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (n > 5 && p[5] != 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (whole)
        return good(CUVET_K_FATBIN, 0, number(p + 6, 2) + number(p + 8, 8));
    return lenient && n >= 8 ? good(CUVET_K_FATBIN, 0, n) : end(CUVET_E_TRUNCATED, CUVET_K_FATBIN);
}

static void elf_facts(const uint8_t *p, size_t n, cuvet_content_info *i)
{
    size_t at = i->is32 ? 36 : 48;
    uint64_t flags = n >= at + 4 ? number(p + at, 4) : 0, kind = 0;

    if (p[7] == 0x41) {
        i->sm = (uint32_t)(flags / 256 % 65536);
        kind = flags % 4;
    } else if (p[7] == 0x33) {
        i->sm = (uint32_t)(flags % 256);
        kind = flags / 0x80000000u + (flags / 0x4000 % 2 ? 2 : 0);
    }
    i->capsule = kind >= 2;
    i->mercury = kind == 1 || (kind < 2 && p[16] == 0 && p[17] == 0xFF);
}

static oracle elf(const uint8_t *p, size_t n, bool lenient)
{
    bool little, big, device, bad = false;
    size_t size;
    oracle o;

    if (n < 20)
        return end(CUVET_E_TRUNCATED,
                   n > 7 && p[7] != 0x41 && p[7] != 0x33 ? CUVET_K_HOST_ELF : CUVET_K_CUBIN);
    little = p[18] == 190 && p[19] == 0;
    big = p[5] == 2 && p[18] == 0 && p[19] == 190;
    device = little || big;
    o = good(device ? CUVET_K_CUBIN : CUVET_K_HOST_ELF, 0, n);
    o.i.is32 = p[4] == 1;
    if (device)
        elf_facts(p, n, &o.i);
    if (lenient && !big)
        return o;
    if (p[4] == 0 || p[4] > 2)
        return end(CUVET_E_MALFORMED, o.i.type);
    size = p[4] == 1 ? 52 : 64;
    if (n < size)
        return end(CUVET_E_TRUNCATED, o.i.type);
    if (device)
        bad = p[5] != 1 || p[6] != 1 || (p[7] != 0x41 && p[7] != 0x33) || p[size - 12] != size ||
              p[size - 11] != 0;
    else
        bad = (p[5] != 1 && p[5] != 2) || p[6] != 1;
    return bad ? end(CUVET_E_MALFORMED, o.i.type) : o;
}

static oracle wrapper(const uint8_t *p, size_t n, bool lenient)
{
    if (!lenient && n < 24)
        return end(CUVET_E_TRUNCATED, CUVET_K_WRAPPER);
    if (!lenient && number(p + 4, 4) != 1 && number(p + 4, 4) != 2)
        return end(CUVET_E_MALFORMED, CUVET_K_WRAPPER);
    return good(CUVET_K_WRAPPER, 0, n < 24 ? n : 24);
}

enum { BLANK, SLASH, LINE, BLOCK, STAR, WORD };

/* One reading of the text, a character at a time, up to and with the character behind .version. */
static oracle read_text(const uint8_t *p, size_t n, uint64_t probe, bool lenient, bool loose)
{
    const oracle unknown = end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    size_t room = n < probe ? n : (size_t)probe, i, word = 0;
    int state = BLANK;

    for (i = 0; i < room; i++) {
        uint8_t c = p[i];

        if (state == BLANK && memchr(" \t\n\v\f\r", c, 6))
            continue;
        if (state == BLANK && c == '/') {
            state = SLASH;
        } else if (state == BLANK && c == '.') {
            state = WORD;
            word = 1;
        } else if (state == SLASH && c == '/') {
            state = LINE;
        } else if (state == SLASH && c == '*') {
            state = loose ? STAR : BLOCK;
        } else if (state == LINE || state == BLOCK || state == STAR) {
            if (c == 0)
                return unknown;
            if (state == LINE)
                state = c == '\n' ? BLANK : LINE;
            else
                state = c == '*' ? STAR : state == STAR && c == '/' ? BLANK : BLOCK;
        } else if (state == WORD && word < 8 && c == (uint8_t) ".version"[word]) {
            word++;
        } else if (state == WORD && word == 8) {
            break;
        } else {
            return unknown;
        }
        if (word == 8 && lenient)
            return good(CUVET_K_PTX, 0, n);
    }
    if (i == room && room < n)
        return end(CUVET_E_LIMIT, CUVET_K_NONE);
    if (i == room)
        return word > 1 ? end(CUVET_E_TRUNCATED, CUVET_K_PTX) : unknown;
    if (!memchr(" \t\n\v\f\r", p[i], 6))
        return end(CUVET_E_MALFORMED, CUVET_K_PTX);
    while (i < room && p[i] != 0)
        i++;
    while (i < room && p[i] == 0)
        i++;
    return i == room ? good(CUVET_K_PTX, 0, n) : unknown;
}

oracle oracle_ptx(const uint8_t *p, size_t n, uint64_t probe, bool lenient)
{
    oracle o = read_text(p, n, probe, lenient, false);

    if (lenient && o.s != CUVET_OK) {
        oracle second = read_text(p, n, probe, lenient, true);

        if (second.s == CUVET_OK)
            return second;
    }
    return o;
}

static oracle archive(size_t n, bool thin)
{
    oracle o = good(CUVET_K_ARCHIVE, 0, n);

    o.i.thin = thin;
    return o;
}

/* A whole input that is the beginning of one magic. */
static cuvet_kind beginning(const uint8_t *p, size_t n)
{
    if (n >= 2 && is_part(p, n, "\x50\xED\x55\xBA", 4))
        return CUVET_K_FATBIN;
    if (n >= 1 && is_part(p, n, "\x7F\x45\x4C\x46", 4))
        return CUVET_K_CUBIN;
    if ((n >= 2 && is_part(p, n, "\x01\x5A\xE5\x1E", 4)) ||
        (n >= 6 && is_part(p, n, "\0\0\0\0\x01\x5A\xE5\x1E", 8)))
        return CUVET_K_NVVM;
    if (n >= 2 && is_part(p, n, "\xED\x43\x4E\x7F", 4))
        return CUVET_K_LTOIR;
    if (n >= 2 && is_part(p, n, "\xB1\x43\x62\x46", 4))
        return CUVET_K_WRAPPER;
    if (n >= 2 && (is_part(p, n, "!<arch>\n", 8) || is_part(p, n, "!<thin>\n", 8)))
        return CUVET_K_ARCHIVE;
    return CUVET_K_NONE;
}

oracle oracle_classify(const uint8_t *p, size_t n, uint64_t probe, bool lenient)
{
    if (n == 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    if (beginning(p, n) != CUVET_K_NONE)
        return end(CUVET_E_TRUNCATED, beginning(p, n));
    if (n >= 4 && memcmp(p, "\x50\xED\x55\xBA", 4) == 0)
        return fatbin(p, n, lenient);
    if (n >= 4 && memcmp(p, "\x7F\x45\x4C\x46", 4) == 0)
        return elf(p, n, lenient);
    if (n >= 4 && memcmp(p, "\x01\x5A\xE5\x1E", 4) == 0)
        return good(CUVET_K_NVVM, 0, n);
    if (n >= 8 && memcmp(p, "\0\0\0\0\x01\x5A\xE5\x1E", 8) == 0)
        return good(CUVET_K_NVVM, 4, n - 4);
    if (n >= 4 && memcmp(p, "\xED\x43\x4E\x7F", 4) == 0)
        return good(CUVET_K_LTOIR, 0, n);
    if (n >= 4 && memcmp(p, "\xB1\x43\x62\x46", 4) == 0)
        return wrapper(p, n, lenient);
    if (n >= 8 && (memcmp(p, "!<arch>\n", 8) == 0 || memcmp(p, "!<thin>\n", 8) == 0))
        return archive(n, p[2] == 't');
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0)
        return end(CUVET_E_UNKNOWN, CUVET_K_NONE);
    return oracle_ptx(p, n, probe, lenient);
}

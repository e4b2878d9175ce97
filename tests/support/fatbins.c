/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fatbins.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t *sample(const char *name, size_t *len, unsigned slot)
{
    static uint8_t bytes[4][FATBIN_MAX];
    char path[300];
    FILE *file;

    ck_assert_uint_lt(slot, 4);
    snprintf(path, sizeof(path), "corpus/samples/%s", name);
    file = fopen(path, "rb");
    ck_assert_msg(file != NULL, "%s: run from the root of the repository", path);
    *len = fread(bytes[slot], 1, FATBIN_MAX, file);
    fclose(file);
    ck_assert(*len > 0 && *len < FATBIN_MAX);
    return bytes[slot];
}

static void put(fb_state *fatbin, const void *block, size_t size)
{
    ck_assert_uint_le(size, FATBIN_MAX - fatbin->size);
    if (block)
        memcpy(fatbin->bytes + fatbin->size, block, size);
    else
        memset(fatbin->bytes + fatbin->size, 0, size);
    fatbin->size += size;
}

static void number(fb_state *fatbin, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t byte = i < 8 ? (uint8_t)(value >> 8 * i) : 0;

        put(fatbin, &byte, 1);
    }
}

void fb_begin(fb_state *fatbin)
{
    fatbin->container = fatbin->size;
    number(fatbin, 0xBA55ED50, 4);
    number(fatbin, 0x00100001, 4);
    number(fatbin, 0, 8);
}

void fb_end(fb_state *fatbin)
{
    uint64_t size = fatbin->size - fatbin->container - 16;

    for (unsigned i = 0; i < 8; i++)
        fatbin->bytes[fatbin->container + 8 + i] = (uint8_t)(size >> 8 * i);
}

static uint64_t get(const uint8_t *place, size_t size, uint64_t at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= at + i < size ? (uint64_t)place[at + i] << 8 * i : 0;
    return value;
}

/* Body of .nv.compat, of which the header of the member holds a copy. */
static const uint8_t *compat_of(const uint8_t *bytes, size_t size, size_t *len)
{
    uint64_t shoff = get(bytes, size, 40, 8), shnum = get(bytes, size, 60, 2),
             str = shoff + 64 * get(bytes, size, 62, 2);

    *len = 0;
    for (uint64_t i = 0; i < shnum; i++) {
        uint64_t name = get(bytes, size, str + 24, 8) + get(bytes, size, shoff + 64 * i, 4);

        if (name + 11 <= size && memcmp(bytes + name, ".nv.compat", 11) == 0) {
            *len = (size_t)get(bytes, size, shoff + 64 * i + 32, 8);
            return bytes + get(bytes, size, shoff + 64 * i + 24, 8);
        }
    }
    return bytes;
}

void fb_bytes(fb_state *fatbin, unsigned kind, unsigned sm, char suffix, const void *block, size_t size)
{
    uint64_t flags = 0x11 | (suffix == 'a' ? 0x100000 : 0) | (suffix == 'f' ? 0x200000 : 0);
    unsigned minor = kind == 2 ? 8 : kind == 8 ? 4 : 0, major = kind == 2 ? 1 : kind == 8 ? 2 : 9;
    bool capsule = kind == 2 && sm >= 100;
    size_t copy_len = 0, area = kind == 1 ? 8 : 0;
    const uint8_t *copy = NULL;

    if (capsule) {
        flags |= 0x1000000;
        copy = compat_of(block, size, &copy_len);
        area = 8 + (copy_len + 8) / 8 * 8;
    }
    number(fatbin, kind, 2);
    number(fatbin, 0x0101, 2);
    number(fatbin, 64 + area, 4);
    number(fatbin, (size + 7) / 8 * 8, 8);
    number(fatbin, 0, 4);
    number(fatbin, area ? 64 : 0, 4);
    number(fatbin, minor, 2);
    number(fatbin, major, 2);
    number(fatbin, sm, 4);
    number(fatbin, 0, 8);
    number(fatbin, flags, 8);
    number(fatbin, 0, 16);
    if (capsule) {
        number(fatbin, 72, 4);
        number(fatbin, copy_len, 4);
        number(fatbin, 0, 1);
        put(fatbin, copy, copy_len);
        put(fatbin, NULL, area - 9 - copy_len);
    } else {
        put(fatbin, NULL, area); /* PTX: a descriptor of nothing */
    }
    put(fatbin, block, size);
    put(fatbin, NULL, (8 - size % 8) % 8);
}

/* "90a" behind the underscore of a name. */
static unsigned arch_of(const char *name, char *suffix)
{
    char *end;
    unsigned long sm = strtoul(strchr(name, '_') + 1, &end, 10);

    *suffix = *end;
    return (unsigned)sm;
}

static void ptx_member(fb_state *fatbin, const char *arch, unsigned sm, char suffix)
{
    char text[400];
    int len = snprintf(
        text, sizeof(text),
        ".version 9.0\n.target sm_%s\n.address_size 64\n\n.visible .entry from_ptx_%s()\n{\n\tret;\n}\n",
        arch, arch);

    fb_bytes(fatbin, 1, sm, suffix, text, (size_t)len + 1); /* with its NUL */
}

void fb_member(fb_state *fatbin, const char *what)
{
    const uint8_t *bytes;
    char name[100], suffix;
    size_t count;
    unsigned sm = arch_of(what, &suffix);

    if (strncmp(what, "compute_", 8) == 0) {
        ptx_member(fatbin, what + 8, sm, suffix);
        return;
    }
    if (strncmp(what, "lto_", 4) == 0) {
        uint8_t head[64] = { 0xED, 0x43, 0x4E, 0x7F, 2, 4 };

        head[0x1A] = (uint8_t)(sm * 10);
        head[0x1B] = (uint8_t)(sm * 10 >> 8);
        fb_bytes(fatbin, 8, sm, suffix, head, sizeof(head));
        return;
    }
    if (strncmp(what, "exe:", 4) == 0)
        snprintf(name, sizeof(name), "plain.%s.cubin", what + 4);
    else
        snprintf(name, sizeof(name), "plain.%s.rdc.cubin", what);
    bytes = sample(name, &count, 3);
    fb_bytes(fatbin, 2, sm, suffix, bytes, count);
}

void fb_make(fb_state *fatbin, const char *members)
{
    char copy[600], *save = NULL;

    fatbin->size = 0;
    ck_assert_uint_lt(strlen(members), sizeof(copy));
    strcpy(copy, members);
    fb_begin(fatbin);
    for (char *most = strtok_r(copy, " ", &save); most; most = strtok_r(NULL, " ", &save))
        fb_member(fatbin, most);
    fb_end(fatbin);
}

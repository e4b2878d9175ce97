/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "fatbins.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t *sample(const char *name, size_t *n, unsigned slot)
{
    static uint8_t bytes[4][FATBIN_MAX];
    char path[300];
    FILE *f;

    ck_assert_uint_lt(slot, 4);
    snprintf(path, sizeof(path), "corpus/samples/%s", name);
    f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: run from the root of the repository", path);
    *n = fread(bytes[slot], 1, FATBIN_MAX, f);
    fclose(f);
    ck_assert(*n > 0 && *n < FATBIN_MAX);
    return bytes[slot];
}

static void put(fb *f, const void *p, size_t n)
{
    ck_assert_uint_le(n, FATBIN_MAX - f->n);
    if (p)
        memcpy(f->bytes + f->n, p, n);
    else
        memset(f->bytes + f->n, 0, n);
    f->n += n;
}

static void number(fb *f, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        uint8_t b = i < 8 ? (uint8_t)(v >> 8 * i) : 0;

        put(f, &b, 1);
    }
}

void fb_begin(fb *f)
{
    f->container = f->n;
    number(f, 0xBA55ED50, 4);
    number(f, 0x00100001, 4);
    number(f, 0, 8);
}

void fb_end(fb *f)
{
    uint64_t size = f->n - f->container - 16;

    for (unsigned i = 0; i < 8; i++)
        f->bytes[f->container + 8 + i] = (uint8_t)(size >> 8 * i);
}

static uint64_t get(const uint8_t *p, size_t n, uint64_t at, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= at + i < n ? (uint64_t)p[at + i] << 8 * i : 0;
    return v;
}

/* Body of .nv.compat, of which the header of the member holds a copy. */
static const uint8_t *compat_of(const uint8_t *p, size_t n, size_t *len)
{
    uint64_t shoff = get(p, n, 40, 8), shnum = get(p, n, 60, 2), str = shoff + 64 * get(p, n, 62, 2);

    *len = 0;
    for (uint64_t i = 0; i < shnum; i++) {
        uint64_t name = get(p, n, str + 24, 8) + get(p, n, shoff + 64 * i, 4);

        if (name + 11 <= n && memcmp(p + name, ".nv.compat", 11) == 0) {
            *len = (size_t)get(p, n, shoff + 64 * i + 32, 8);
            return p + get(p, n, shoff + 64 * i + 24, 8);
        }
    }
    return p;
}

void fb_bytes(fb *f, unsigned kind, unsigned sm, char suffix, const void *p, size_t n)
{
    uint64_t flags = 0x11 | (suffix == 'a' ? 0x100000 : 0) | (suffix == 'f' ? 0x200000 : 0);
    unsigned minor = kind == 2 ? 8 : kind == 8 ? 4 : 0, major = kind == 2 ? 1 : kind == 8 ? 2 : 9;
    bool capsule = kind == 2 && sm >= 100;
    size_t copy_len = 0, area = kind == 1 ? 8 : 0;
    const uint8_t *copy = NULL;

    if (capsule) {
        flags |= 0x1000000;
        copy = compat_of(p, n, &copy_len);
        area = 8 + (copy_len + 8) / 8 * 8;
    }
    number(f, kind, 2);
    number(f, 0x0101, 2);
    number(f, 64 + area, 4);
    number(f, (n + 7) / 8 * 8, 8);
    number(f, 0, 4);
    number(f, area ? 64 : 0, 4);
    number(f, minor, 2);
    number(f, major, 2);
    number(f, sm, 4);
    number(f, 0, 8);
    number(f, flags, 8);
    number(f, 0, 16);
    if (capsule) {
        number(f, 72, 4);
        number(f, copy_len, 4);
        number(f, 0, 1);
        put(f, copy, copy_len);
        put(f, NULL, area - 9 - copy_len);
    } else {
        put(f, NULL, area); /* PTX: a descriptor of nothing */
    }
    put(f, p, n);
    put(f, NULL, (8 - n % 8) % 8);
}

/* "90a" behind the underscore of a name. */
static unsigned arch_of(const char *name, char *suffix)
{
    char *end;
    unsigned long sm = strtoul(strchr(name, '_') + 1, &end, 10);

    *suffix = *end;
    return (unsigned)sm;
}

static void ptx_member(fb *f, const char *arch, unsigned sm, char suffix)
{
    char text[400];
    int n = snprintf(
        text, sizeof(text),
        ".version 9.0\n.target sm_%s\n.address_size 64\n\n.visible .entry from_ptx_%s()\n{\n\tret;\n}\n",
        arch, arch);

    fb_bytes(f, 1, sm, suffix, text, (size_t)n + 1); /* with its NUL */
}

void fb_member(fb *f, const char *what)
{
    const uint8_t *p;
    char name[100], suffix;
    size_t n;
    unsigned sm = arch_of(what, &suffix);

    if (strncmp(what, "compute_", 8) == 0) {
        ptx_member(f, what + 8, sm, suffix);
        return;
    }
    if (strncmp(what, "lto_", 4) == 0) {
        uint8_t head[64] = { 0xED, 0x43, 0x4E, 0x7F, 2, 4 };

        head[0x1A] = (uint8_t)(sm * 10);
        head[0x1B] = (uint8_t)(sm * 10 >> 8);
        fb_bytes(f, 8, sm, suffix, head, sizeof(head));
        return;
    }
    if (strncmp(what, "exe:", 4) == 0)
        snprintf(name, sizeof(name), "plain.%s.cubin", what + 4);
    else
        snprintf(name, sizeof(name), "plain.%s.rdc.cubin", what);
    p = sample(name, &n, 3);
    fb_bytes(f, 2, sm, suffix, p, n);
}

void fb_make(fb *f, const char *members)
{
    char copy[600], *save = NULL;

    f->n = 0;
    ck_assert_uint_lt(strlen(members), sizeof(copy));
    strcpy(copy, members);
    fb_begin(f);
    for (char *m = strtok_r(copy, " ", &save); m; m = strtok_r(NULL, " ", &save))
        fb_member(f, m);
    fb_end(f);
}

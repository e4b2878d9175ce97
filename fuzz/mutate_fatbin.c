/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of the fat binary containers in the buffer. */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "mutate_int.h"

#define COUNT(a)       (sizeof(a) / sizeof((a)[0]))
#define MAGIC          0xBA55ED50u
#define MEMBERS_MAX    32u
#define CONTAINERS_MAX 32u
#define UNPACKED_MAX   (UINT64_C(1) << 18)
#define LZ4_FLAG       0x2000u
#define ZSTD_FLAG      0x8000u
#define ANY_FLAG       0xF000u

static const mut_field CONTAINER[] = { { 0, 4 }, { 4, 2 }, { 6, 2 }, { 8, 8 } };
static const mut_field MEMBER[] = { { 0, 2 },  { 2, 2 },  { 4, 4 },  { 8, 8 },  { 16, 4 },
                                    { 20, 4 }, { 24, 2 }, { 26, 2 }, { 28, 4 }, { 32, 4 },
                                    { 36, 4 }, { 40, 8 }, { 48, 8 }, { 56, 8 } };

typedef struct member {
    uint64_t off, header, payload; /* payload: its length */
} member;

typedef struct box {
    uint64_t off, end;
    member m[MEMBERS_MAX];
    size_t n;
} box;

/* One of the containers, with the members that can be walked. */
static bool look(mut *m, box *b)
{
    uint64_t found[CONTAINERS_MAX], n = 0, size, at;

    for (uint64_t i = 0; i + 16 <= m->size && n < CONTAINERS_MAX; i += 4)
        if (mut_get(m, i, 4) == MAGIC)
            found[n++] = i;
    if (n == 0)
        return false;
    *b = (box){ .off = found[mut_below(m, n)] };
    size = mut_get(m, b->off + 8, 8);
    b->end = size > m->size - b->off - 16 ? m->size : b->off + 16 + size;
    for (at = b->off + 16; b->end - at >= 64 && b->n < MEMBERS_MAX;) {
        member one = { at, mut_get(m, at + 4, 4), mut_get(m, at + 8, 8) };

        if (one.header < 64 || one.header > b->end - at || one.payload > b->end - at - one.header)
            break;
        b->m[b->n++] = one;
        at += one.header + one.payload;
    }
    return true;
}

static void fix_size(mut *m, const box *b, uint64_t old, uint64_t now)
{
    mut_set(m, b->off + 8, 8, mut_get(m, b->off + 8, 8) + now - old);
}

static void duplicate(mut *m, const box *b, const member *one)
{
    uint64_t n = one->header + one->payload, to = mut_below(m, 2) ? one->off + n : b->m[0].off;

    if (!mut_resize(m, to, 0, n))
        return;
    memmove(m->data + to, m->data + (to > one->off ? one->off : one->off + n), n);
    if (mut_below(m, 8))
        fix_size(m, b, 0, n);
}

/* Two neighbours change places. */
static void reorder(mut *m, const box *b)
{
    uint64_t i = mut_below(m, b->n - 1), first, both;
    const member *a = &b->m[i], *c = &b->m[i + 1];
    uint8_t *copy;

    first = a->header + a->payload;
    both = first + c->header + c->payload;
    copy = malloc(both);
    if (!copy)
        return;
    memcpy(copy, m->data + a->off, both);
    memcpy(m->data + a->off, copy + first, both - first);
    memcpy(m->data + a->off + both - first, copy, first);
    free(copy);
}

/* The payload becomes other bytes; sizes are repaired. compressed: true length without padding, 0 for raw
 * ones. */
static void replace(mut *m, const box *b, const member *one, const uint8_t *bytes, uint64_t n,
                    uint64_t compressed, uint64_t usize)
{
    uint64_t padded = (n + 7) & ~UINT64_C(7), at = one->off + one->header;

    if (!mut_resize(m, at, one->payload, padded))
        return;
    memset(m->data + at, 0, padded);
    memcpy(m->data + at, bytes, n);
    fix_size(m, b, one->payload, padded);
    mut_set(m, one->off + 8, 8, padded);
    mut_set(m, one->off + 16, 4, compressed);
    mut_set(m, one->off + 56, 8, usize);
}

static uint64_t unpack(const mut *m, const member *one, uint64_t flags, uint8_t *out, uint64_t cap)
{
    const uint8_t *in = m->data + one->off + one->header;
    uint64_t stored = mut_get(m, one->off + 16, 4);

    if ((flags & ANY_FLAG) == 0) {
        uint64_t n = one->payload < cap ? one->payload : cap;

        memcpy(out, in, n);
        return n;
    }
    if (stored == 0 || stored > one->payload)
        return 0;
    if ((flags & ANY_FLAG) == LZ4_FLAG) {
        int n = LZ4_decompress_safe((const char *)in, (char *)out, (int)stored, (int)cap);

        return n > 0 ? (uint64_t)n : 0;
    }
    if ((flags & ANY_FLAG) == ZSTD_FLAG) {
        size_t n = ZSTD_decompress(out, cap, in, stored);

        return ZSTD_isError(n) ? 0 : n;
    }
    return 0;
}

static void pack(mut *m, const box *b, const member *one, uint64_t flags, const uint8_t *bytes, uint64_t n)
{
    size_t cap = ZSTD_compressBound(n) + (size_t)LZ4_compressBound((int)n), len = 0;
    uint8_t *packed = malloc(cap);

    if (!packed)
        return;
    if ((flags & ANY_FLAG) == LZ4_FLAG)
        len = (size_t)LZ4_compress_default((const char *)bytes, (char *)packed, (int)n, (int)cap);
    else if ((flags & ANY_FLAG) == ZSTD_FLAG)
        len = ZSTD_compress(packed, cap, bytes, n, 1);
    if ((flags & ANY_FLAG) == 0)
        replace(m, b, one, bytes, n, 0, 0);
    else if (len && !ZSTD_isError(len))
        replace(m, b, one, packed, len, len, n);
    free(packed);
}

/* Unpack, edit what is inside, pack again, perhaps by another method. */
static void inside(mut *m, const box *b, const member *one)
{
    uint64_t flags = mut_get(m, one->off + 40, 8), n;
    uint8_t *bytes = malloc(UNPACKED_MAX);

    if (!bytes)
        return;
    n = unpack(m, one, flags, bytes, UNPACKED_MAX);
    if (n) {
        mut in = { bytes, n, UNPACKED_MAX, mut_rand(m) | 1, m->raw };

        if (!mut_elf(&in))
            mut_raw(&in, 0, in.size);
        if (mut_below(m, 4) == 0) {
            static const uint16_t METHODS[] = { 0, LZ4_FLAG, ZSTD_FLAG };

            flags = (flags & ~(uint64_t)ANY_FLAG) | METHODS[mut_below(m, 3)];
            mut_set(m, one->off + 40, 8, flags);
        }
        pack(m, b, one, flags, bytes, in.size);
    }
    free(bytes);
}

static void edit_options(mut *m, const member *one)
{
    uint64_t at = mut_get(m, one->off + 20, 4);

    if (at >= 64 && at + 8 <= one->header && mut_below(m, 2))
        mut_edge(m, one->off + at + 4 * mut_below(m, 2), 4);
    else
        mut_raw(m, one->off + 64, one->header - 64);
}

static void edit_member(mut *m, const box *b, const member *one)
{
    const mut_field *f = &MEMBER[mut_below(m, COUNT(MEMBER))];

    switch (mut_below(m, 10)) {
    case 0: duplicate(m, b, one); break;
    case 1: /* drop */
        if (mut_resize(m, one->off, one->header + one->payload, 0))
            fix_size(m, b, one->header + one->payload, 0);
        break;
    case 2:
        if (b->n > 1)
            reorder(m, b);
        break;
    case 3: edit_options(m, one); break;
    case 4: mut_raw(m, one->off + one->header, one->payload); break;
    case 5:
        mut_set(m, one->off + 40, 8, mut_get(m, one->off + 40, 8) ^ UINT64_C(1) << mut_below(m, 24));
        break;
    case 6:
    case 7: inside(m, b, one); break;
    default: mut_edge(m, one->off + f->off, f->width); break;
    }
}

bool mut_fatbin(mut *m)
{
    const mut_field *f = &CONTAINER[mut_below(m, COUNT(CONTAINER))];
    box b;

    if (!look(m, &b))
        return false;
    if (b.n == 0 || mut_below(m, 16) == 0)
        mut_edge(m, b.off + f->off, f->width);
    else
        edit_member(m, &b, &b.m[mut_below(m, b.n)]);
    return true;
}

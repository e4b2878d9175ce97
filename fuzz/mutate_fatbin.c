/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Edits of the fat binary containers in the buffer. */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "mutate_int.h"

#define COUNT(table)   (sizeof(table) / sizeof((table)[0]))
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

typedef struct fatbin_member {
    uint64_t off, header, payload; /* payload: its length */
} fatbin_member;

typedef struct fatbin_box {
    uint64_t off, end;
    fatbin_member members[MEMBERS_MAX];
    size_t count;
} fatbin_box;

/* One of the containers, with the members that can be walked. */
static bool look(mut_state *mutator, fatbin_box *box)
{
    uint64_t found[CONTAINERS_MAX], count = 0, size, at;

    for (uint64_t i = 0; i + 16 <= mutator->size && count < CONTAINERS_MAX; i += 4)
        if (mut_get(mutator, i, 4) == MAGIC)
            found[count++] = i;
    if (count == 0)
        return false;
    *box = (fatbin_box){ .off = found[mut_below(mutator, count)] };
    size = mut_get(mutator, box->off + 8, 8);
    box->end = size > mutator->size - box->off - 16 ? mutator->size : box->off + 16 + size;
    for (at = box->off + 16; box->end - at >= 64 && box->count < MEMBERS_MAX;) {
        fatbin_member one = { at, mut_get(mutator, at + 4, 4), mut_get(mutator, at + 8, 8) };

        if (one.header < 64 || one.header > box->end - at || one.payload > box->end - at - one.header)
            break;
        box->members[box->count++] = one;
        at += one.header + one.payload;
    }
    return true;
}

static void fix_size(mut_state *mutator, const fatbin_box *box, uint64_t old, uint64_t now)
{
    mut_set(mutator, box->off + 8, 8, mut_get(mutator, box->off + 8, 8) + now - old);
}

static void duplicate(mut_state *mutator, const fatbin_box *box, const fatbin_member *one)
{
    uint64_t count = one->header + one->payload,
             to = mut_below(mutator, 2) ? one->off + count : box->members[0].off;

    if (!mut_resize(mutator, to, 0, count))
        return;
    memmove(mutator->data + to, mutator->data + (to > one->off ? one->off : one->off + count), count);
    if (mut_below(mutator, 8))
        fix_size(mutator, box, 0, count);
}

/* Two neighbours change places. */
static void reorder(mut_state *mutator, const fatbin_box *box)
{
    uint64_t i = mut_below(mutator, box->count - 1), first, both;
    const fatbin_member *member = &box->members[i], *other_member = &box->members[i + 1];
    uint8_t *copy;

    first = member->header + member->payload;
    both = first + other_member->header + other_member->payload;
    copy = malloc(both);
    if (!copy)
        return;
    memcpy(copy, mutator->data + member->off, both);
    memcpy(mutator->data + member->off, copy + first, both - first);
    memcpy(mutator->data + member->off + both - first, copy, first);
    free(copy);
}

/* The payload becomes other bytes; sizes are repaired. compressed: true length without padding, 0 for raw
 * ones. */
static void replace(mut_state *mutator, const fatbin_box *box, const fatbin_member *one, const uint8_t *bytes,
                    uint64_t size, uint64_t compressed, uint64_t usize)
{
    uint64_t padded = (size + 7) & ~UINT64_C(7), at = one->off + one->header;

    if (!mut_resize(mutator, at, one->payload, padded))
        return;
    memset(mutator->data + at, 0, padded);
    memcpy(mutator->data + at, bytes, size);
    fix_size(mutator, box, one->payload, padded);
    mut_set(mutator, one->off + 8, 8, padded);
    mut_set(mutator, one->off + 16, 4, compressed);
    mut_set(mutator, one->off + 56, 8, usize);
}

static uint64_t unpack(const mut_state *mutator, const fatbin_member *one, uint64_t flags, uint8_t *out,
                       uint64_t cap)
{
    const uint8_t *in = mutator->data + one->off + one->header;
    uint64_t stored = mut_get(mutator, one->off + 16, 4);

    if ((flags & ANY_FLAG) == 0) {
        uint64_t count = one->payload < cap ? one->payload : cap;

        memcpy(out, in, count);
        return count;
    }
    if (stored == 0 || stored > one->payload)
        return 0;
    if ((flags & ANY_FLAG) == LZ4_FLAG) {
        int count = LZ4_decompress_safe((const char *)in, (char *)out, (int)stored, (int)cap);

        return count > 0 ? (uint64_t)count : 0;
    }
    if ((flags & ANY_FLAG) == ZSTD_FLAG) {
        size_t count = ZSTD_decompress(out, cap, in, stored);

        return ZSTD_isError(count) ? 0 : count;
    }
    return 0;
}

static void pack(mut_state *mutator, const fatbin_box *box, const fatbin_member *one, uint64_t flags,
                 const uint8_t *bytes, uint64_t size)
{
    size_t cap = ZSTD_compressBound(size) + (size_t)LZ4_compressBound((int)size), len = 0;
    uint8_t *packed = malloc(cap);

    if (!packed)
        return;
    if ((flags & ANY_FLAG) == LZ4_FLAG)
        len = (size_t)LZ4_compress_default((const char *)bytes, (char *)packed, (int)size, (int)cap);
    else if ((flags & ANY_FLAG) == ZSTD_FLAG)
        len = ZSTD_compress(packed, cap, bytes, size, 1);
    if ((flags & ANY_FLAG) == 0)
        replace(mutator, box, one, bytes, size, 0, 0);
    else if (len && !ZSTD_isError(len))
        replace(mutator, box, one, packed, len, len, size);
    free(packed);
}

/* Unpack, edit what is inside, pack again, perhaps by another method. */
static void inside(mut_state *mutator, const fatbin_box *box, const fatbin_member *one)
{
    uint64_t flags = mut_get(mutator, one->off + 40, 8), count;
    uint8_t *bytes = malloc(UNPACKED_MAX);

    if (!bytes)
        return;
    count = unpack(mutator, one, flags, bytes, UNPACKED_MAX);
    if (count) {
        mut_state in = { bytes, count, UNPACKED_MAX, mut_rand(mutator) | 1, mutator->raw };

        if (!mut_elf(&in))
            mut_raw(&in, 0, in.size);
        if (mut_below(mutator, 4) == 0) {
            static const uint16_t METHODS[] = { 0, LZ4_FLAG, ZSTD_FLAG };

            flags = (flags & ~(uint64_t)ANY_FLAG) | METHODS[mut_below(mutator, 3)];
            mut_set(mutator, one->off + 40, 8, flags);
        }
        pack(mutator, box, one, flags, bytes, in.size);
    }
    free(bytes);
}

static void edit_options(mut_state *mutator, const fatbin_member *one)
{
    uint64_t at = mut_get(mutator, one->off + 20, 4);

    if (at >= 64 && at + 8 <= one->header && mut_below(mutator, 2))
        mut_edge(mutator, one->off + at + 4 * mut_below(mutator, 2), 4);
    else
        mut_raw(mutator, one->off + 64, one->header - 64);
}

static void edit_member(mut_state *mutator, const fatbin_box *box, const fatbin_member *one)
{
    const mut_field *field = &MEMBER[mut_below(mutator, COUNT(MEMBER))];

    switch (mut_below(mutator, 10)) {
    case 0: duplicate(mutator, box, one); break;
    case 1: /* drop */
        if (mut_resize(mutator, one->off, one->header + one->payload, 0))
            fix_size(mutator, box, one->header + one->payload, 0);
        break;
    case 2:
        if (box->count > 1)
            reorder(mutator, box);
        break;
    case 3: edit_options(mutator, one); break;
    case 4: mut_raw(mutator, one->off + one->header, one->payload); break;
    case 5:
        mut_set(mutator, one->off + 40, 8,
                mut_get(mutator, one->off + 40, 8) ^ UINT64_C(1) << mut_below(mutator, 24));
        break;
    case 6:
    case 7: inside(mutator, box, one); break;
    default: mut_edge(mutator, one->off + field->off, field->width); break;
    }
}

bool mut_fatbin(mut_state *mutator)
{
    const mut_field *field = &CONTAINER[mut_below(mutator, COUNT(CONTAINER))];
    fatbin_box box;

    if (!look(mutator, &box))
        return false;
    if (box.count == 0 || mut_below(mutator, 16) == 0)
        mut_edge(mutator, box.off + field->off, field->width);
    else
        edit_member(mutator, &box, &box.members[mut_below(mutator, box.count)]);
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "common.h"
#include "mutate_int.h"

uint64_t mut_rand(mut_state *mutator)
{
    mutator->rng ^= mutator->rng << 13;
    mutator->rng ^= mutator->rng >> 7;
    mutator->rng ^= mutator->rng << 17;
    return mutator->rng >> 11;
}

uint64_t mut_below(mut_state *mutator, uint64_t count)
{
    return count ? mut_rand(mutator) % count : 0;
}

uint64_t mut_get(const mut_state *mutator, uint64_t off, unsigned width)
{
    uint64_t value = 0;

    if (off > mutator->size || width > mutator->size - off)
        return 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)mutator->data[off + i] << (8 * i);
    return value;
}

void mut_set(mut_state *mutator, uint64_t off, unsigned width, uint64_t value)
{
    if (off > mutator->size || width > mutator->size - off)
        return;
    for (unsigned i = 0; i < width; i++)
        mutator->data[off + i] = (uint8_t)(value >> (8 * i));
}

void mut_edge(mut_state *mutator, uint64_t off, unsigned width)
{
    uint64_t old = mut_get(mutator, off, width), result = mut_rand(mutator);
    uint64_t value;

    switch (result & 15) {
    case 0: value = 0; break;
    case 1: value = UINT64_MAX; break;
    case 2: value = UINT64_MAX >> 1; break;
    case 3: value = old + 1; break;
    case 4: value = old - 1; break;
    case 5: value = old + 8; break;
    case 6: value = old - 8; break;
    case 7: value = old * 2; break;
    case 8: value = old ^ UINT64_C(1) << (result >> 8 & (8 * width - 1)); break;
    case 9: value = UINT64_C(1) << (result >> 8 & 63); break;
    case 10: value = mutator->size - (result >> 8 & 15); break;
    case 11: value = UINT64_MAX - (result >> 8 & 255); break;
    case 12: value = 0 - old; break;
    case 13: value = result >> 8 & 0xFF; break;
    case 14:
        value = mut_get(mutator, mut_below(mutator, mutator->size), width);
        break; /* some other field's value */
    default: value = UINT64_C(1) << 32 | (result >> 8 & 15); break;
    }
    mut_set(mutator, off, width, value);
}

bool mut_resize(mut_state *mutator, uint64_t off, uint64_t old, uint64_t new_len)
{
    if (off > mutator->size || old > mutator->size - off || new_len > mutator->max ||
        mutator->size - old > mutator->max - new_len)
        return false;
    memmove(mutator->data + off + new_len, mutator->data + off + old, mutator->size - off - old);
    if (new_len > old)
        memset(mutator->data + off + old, 0, new_len - old);
    mutator->size = mutator->size - old + new_len;
    return true;
}

/* A plain mutation, where the engine has none to offer. */
static size_t plain(mut_state *mutator, uint8_t *bytes, size_t size)
{
    for (uint64_t i = 1 + mut_below(mutator, 4); size && i > 0; i--)
        bytes[mut_below(mutator, size)] = (uint8_t)mut_rand(mutator);
    return size;
}

void mut_raw(mut_state *mutator, uint64_t off, uint64_t len)
{
    size_t count;

    if (off > mutator->size || len > mutator->size - off || len == 0)
        return;
    count = mutator->raw ? mutator->raw(mutator->data + off, (size_t)len, (size_t)len)
                         : plain(mutator, mutator->data + off, (size_t)len);
    if (count < len)
        memset(mutator->data + off + count, 0, len - count);
}

void mut_put_trailer(uint8_t *at, uint32_t param)
{
    for (unsigned i = 0; i < 4; i++) {
        at[i] = (uint8_t)(param >> (8 * i));
        at[4 + i] = (uint8_t)(FZ_MAGIC >> (8 * i));
    }
}

/* The trailer is kept beside the edits of the file, and edited itself now and then. */
static size_t mutate(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw,
                     bool (*edit)(mut_state *))
{
    mut_state mutator = { data, size, max, seed * UINT64_C(0x9E3779B97F4A7C15) + 1, raw };
    bool has, done = false;
    uint32_t param = 0;
    unsigned what;

    (void)mut_rand(&mutator);
    what = (unsigned)mut_below(&mutator, 16);
    has = size >= FZ_TRAILER && mut_get(&mutator, size - 4, 4) == FZ_MAGIC;
    if (has) {
        param = (uint32_t)mut_get(&mutator, size - FZ_TRAILER, 4);
        mutator.size -= FZ_TRAILER;
    }
    if (what == 0 && max >= FZ_TRAILER) {
        has = !has || mut_below(&mutator, 4) != 0;
        param ^= (uint32_t)mut_rand(&mutator) & (uint32_t)mut_rand(&mutator);
        done = true;
    }
    mutator.max = has && max >= FZ_TRAILER ? max - FZ_TRAILER : max;
    if (mutator.size > mutator.max)
        mutator.size = mutator.max;
    for (uint64_t count = what < 6 ? 0 : 1 + mut_below(&mutator, 2); count > 0; count--)
        done = edit(&mutator) || done;
    if (!done)
        mutator.size = raw ? raw(data, mutator.size, mutator.max) : plain(&mutator, data, mutator.size);
    if (has && mutator.size + FZ_TRAILER <= max) {
        mut_put_trailer(data + mutator.size, param);
        mutator.size += FZ_TRAILER;
    }
    return mutator.size;
}

size_t cv_mutate_elf(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return mutate(data, size, max, seed, raw, mut_elf);
}

size_t cv_mutate_fatbin(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return mutate(data, size, max, seed, raw, mut_fatbin);
}

/* Host files hold both: their own tables and containers. */
static bool any(mut_state *mutator)
{
    if (mut_below(mutator, 2))
        return mut_fatbin(mutator) || mut_elf(mutator);
    return mut_elf(mutator) || mut_fatbin(mutator);
}

size_t cv_mutate_file(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return mutate(data, size, max, seed, raw, any);
}

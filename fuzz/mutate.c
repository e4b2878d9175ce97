/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <string.h>

#include "common.h"
#include "mutate_int.h"

uint64_t mut_rand(mut *m)
{
    m->rng ^= m->rng << 13;
    m->rng ^= m->rng >> 7;
    m->rng ^= m->rng << 17;
    return m->rng >> 11;
}

uint64_t mut_below(mut *m, uint64_t n)
{
    return n ? mut_rand(m) % n : 0;
}

uint64_t mut_get(const mut *m, uint64_t off, unsigned width)
{
    uint64_t v = 0;

    if (off > m->size || width > m->size - off)
        return 0;
    for (unsigned i = 0; i < width; i++)
        v |= (uint64_t)m->data[off + i] << (8 * i);
    return v;
}

void mut_set(mut *m, uint64_t off, unsigned width, uint64_t v)
{
    if (off > m->size || width > m->size - off)
        return;
    for (unsigned i = 0; i < width; i++)
        m->data[off + i] = (uint8_t)(v >> (8 * i));
}

void mut_edge(mut *m, uint64_t off, unsigned width)
{
    uint64_t old = mut_get(m, off, width), r = mut_rand(m);
    uint64_t v;

    switch (r & 15) {
    case 0: v = 0; break;
    case 1: v = UINT64_MAX; break;
    case 2: v = UINT64_MAX >> 1; break;
    case 3: v = old + 1; break;
    case 4: v = old - 1; break;
    case 5: v = old + 8; break;
    case 6: v = old - 8; break;
    case 7: v = old * 2; break;
    case 8: v = old ^ UINT64_C(1) << (r >> 8 & (8 * width - 1)); break;
    case 9: v = UINT64_C(1) << (r >> 8 & 63); break;
    case 10: v = m->size - (r >> 8 & 15); break;
    case 11: v = UINT64_MAX - (r >> 8 & 255); break;
    case 12: v = 0 - old; break;
    case 13: v = r >> 8 & 0xFF; break;
    case 14: v = mut_get(m, mut_below(m, m->size), width); break; /* some other field's value */
    default: v = UINT64_C(1) << 32 | (r >> 8 & 15); break;
    }
    mut_set(m, off, width, v);
}

bool mut_resize(mut *m, uint64_t off, uint64_t old, uint64_t new_len)
{
    if (off > m->size || old > m->size - off || new_len > m->max || m->size - old > m->max - new_len)
        return false;
    memmove(m->data + off + new_len, m->data + off + old, m->size - off - old);
    if (new_len > old)
        memset(m->data + off + old, 0, new_len - old);
    m->size = m->size - old + new_len;
    return true;
}

/* A plain mutation, where the engine has none to offer. */
static size_t plain(mut *m, uint8_t *p, size_t n)
{
    for (uint64_t i = 1 + mut_below(m, 4); n && i > 0; i--)
        p[mut_below(m, n)] = (uint8_t)mut_rand(m);
    return n;
}

void mut_raw(mut *m, uint64_t off, uint64_t len)
{
    size_t n;

    if (off > m->size || len > m->size - off || len == 0)
        return;
    n = m->raw ? m->raw(m->data + off, (size_t)len, (size_t)len) : plain(m, m->data + off, (size_t)len);
    if (n < len)
        memset(m->data + off + n, 0, len - n);
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
                     bool (*edit)(mut *))
{
    mut m = { data, size, max, seed * UINT64_C(0x9E3779B97F4A7C15) + 1, raw };
    bool has, done = false;
    uint32_t param = 0;
    unsigned what;

    (void)mut_rand(&m);
    what = (unsigned)mut_below(&m, 16);
    has = size >= FZ_TRAILER && mut_get(&m, size - 4, 4) == FZ_MAGIC;
    if (has) {
        param = (uint32_t)mut_get(&m, size - FZ_TRAILER, 4);
        m.size -= FZ_TRAILER;
    }
    if (what == 0 && max >= FZ_TRAILER) {
        has = !has || mut_below(&m, 4) != 0;
        param ^= (uint32_t)mut_rand(&m) & (uint32_t)mut_rand(&m);
        done = true;
    }
    m.max = has && max >= FZ_TRAILER ? max - FZ_TRAILER : max;
    if (m.size > m.max)
        m.size = m.max;
    for (uint64_t n = what < 6 ? 0 : 1 + mut_below(&m, 2); n > 0; n--)
        done = edit(&m) || done;
    if (!done)
        m.size = raw ? raw(data, m.size, m.max) : plain(&m, data, m.size);
    if (has && m.size + FZ_TRAILER <= max) {
        mut_put_trailer(data + m.size, param);
        m.size += FZ_TRAILER;
    }
    return m.size;
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
static bool any(mut *m)
{
    if (mut_below(m, 2))
        return mut_fatbin(m) || mut_elf(m);
    return mut_elf(m) || mut_fatbin(m);
}

size_t cv_mutate_file(uint8_t *data, size_t size, size_t max, unsigned seed, fz_raw_fn *raw)
{
    return mutate(data, size, max, seed, raw, any);
}

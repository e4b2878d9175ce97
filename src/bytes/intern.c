/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/intern.h"

/* Of the table: a small link has a hundred names. */
#define FIRST_SLOTS 256
/* Of a name, as a rule. */
#define NAME_BYTES 16

typedef struct sip_state {
    uint64_t a, b, c, d;
} sip_state;

CV_WRAPS static uint64_t rotate(uint64_t value, unsigned by)
{
    return value << by | value >> (64 - by);
}

/* Thrice at each text's end and once for each word: a call would cost more than what it does. */
CV_WRAPS static inline __attribute__((always_inline)) void round_of(sip_state *sip)
{
    sip->a += sip->b;
    sip->b = rotate(sip->b, 13) ^ sip->a;
    sip->a = rotate(sip->a, 32);
    sip->c += sip->d;
    sip->d = rotate(sip->d, 16) ^ sip->c;
    sip->a += sip->d;
    sip->d = rotate(sip->d, 21) ^ sip->a;
    sip->c += sip->b;
    sip->b = rotate(sip->b, 17) ^ sip->c;
    sip->c = rotate(sip->c, 32);
}

static inline __attribute__((always_inline)) void take(sip_state *sip, uint64_t word)
{
    sip->d ^= word;
    round_of(sip);
    sip->a ^= word;
}

CV_BUF_BEGIN
CV_WRAPS uint64_t cv_siphash(const uint64_t key[2], cv_span text)
{
    sip_state sip = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                      key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) };
    uint64_t at = 0, last = text.len << 56;

    for (; text.len - at >= 8; at += 8)
        take(&sip, cv_u64_at(text, at));
    /* What is left of a word: from the last eight bytes, if there are as many. */
    if (at > 0 && text.len > at)
        last |= cv_u64_at(text, text.len - 8) >> 8 * (at + 8 - text.len);
    else
        for (unsigned i = 0; at + i < text.len; i++)
            last |= (uint64_t)cv_u8_at(text, at + i) << 8 * i;
    take(&sip, last);
    sip.c ^= 0xFF;
    for (int i = 0; i < 3; i++)
        round_of(&sip);
    return sip.a ^ sip.b ^ sip.c ^ sip.d;
}
CV_BUF_END

void cv_names_init(cv_names *names, uint64_t key0, uint64_t key1)
{
    *names = (cv_names){ .key = { key0, key1 } };
}

void cv_names_free(cv_mem *mem, cv_names *names)
{
    cv_name_list_free(mem, &names->list);
    cv_u8s_free(mem, &names->pool);
    cv_u8s_free(mem, &names->scratch);
    cv_u32s_free(mem, &names->table);
}

/* Place of a text in the table: its own, or the free one where it belongs. */
static uint64_t find(const cv_names *names, cv_span text, uint64_t hash)
{
    uint64_t mask = names->table.count - 1, i = hash & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t slot = *cv_u32s_get(&names->table, i);
        const cv_name *name;

        if (slot == 0)
            return i;
        name = cv_name_list_get(&names->list, slot - 1);
        if (name->hash == hash && name->len == text.len && cv_span_eq(cv_names_text(names, slot - 1), text))
            return i;
    }
}

cv_id cv_names_find(const cv_names *names, cv_span text)
{
    uint32_t slot = 0;

    if (names->table.count != 0)
        slot = *cv_u32s_get(&names->table, find(names, text, cv_siphash(names->key, text)));
    return slot == 0 ? CV_NONE : slot - 1;
}

/* A table of 'size' slots, a power of two. */
static bool grow(cv_mem *mem, cv_names *names, uint64_t size)
{
    cv_u32s bigger = { 0 };

    if (!cv_u32s_fill(mem, &bigger, size))
        return false;
    cv_u32s_free(mem, &names->table);
    names->table = bigger;
    for (uint64_t id = 0; id < names->list.count; id++) {
        uint64_t i = cv_name_list_at(&names->list, id)->hash & (size - 1);

        while (*cv_u32s_at(&names->table, i) != 0)
            i = (i + 1) & (size - 1);
        *cv_u32s_at(&names->table, i) = (uint32_t)id + 1;
    }
    return true;
}

bool cv_names_room(cv_mem *mem, cv_names *names, uint64_t count)
{
    uint64_t size = cv_max(names->table.count, FIRST_SLOTS);

    while (size / 2 < count && size <= UINT32_MAX)
        size *= 2;
    return (size == names->table.count || grow(mem, names, size)) &&
           cv_name_list_room(mem, &names->list, count) &&
           cv_u8s_room(mem, &names->pool, cv_sat_mul(count, NAME_BYTES));
}

cv_id cv_names_put(cv_mem *mem, cv_names *names, cv_span text)
{
    uint64_t hash = cv_siphash(names->key, text);
    cv_name name = { .off = names->pool.count, .len = text.len, .hash = hash };
    uint32_t *slot;

    if (names->list.count < CV_NONE - 1 && names->list.count * 2 >= names->table.count &&
        !grow(mem, names, cv_max(names->table.count * 2, FIRST_SLOTS)))
        return CV_NONE;
    slot = cv_u32s_at(&names->table, find(names, text, hash));
    if (*slot != 0)
        return *slot - 1;
    if (names->list.count >= CV_NONE - 1 ||
        !cv_u8s_room(mem, &names->pool, cv_sat_add(names->pool.count, text.len)) ||
        !cv_name_list_push(mem, &names->list, name))
        return CV_NONE;
    names->pool.count += text.len;
    if (text.len)
        cv_span_copy(text, cv_u8s_at(&names->pool, name.off));
    *slot = (uint32_t)names->list.count;
    return (cv_id)(names->list.count - 1);
}

cv_id cv_names_join(cv_mem *mem, cv_names *names, const char *prefix, cv_span rest)
{
    uint64_t len = 0;

    CV_BUF_BEGIN
    for (const char *at = prefix; *at; at++)
        len++;
    CV_BUF_END
    cv_u8s_clear(&names->scratch);
    if (!cv_u8s_room(mem, &names->scratch, cv_sat_add(len, rest.len)))
        return CV_NONE;
    names->scratch.count = len + rest.len;
    if (len)
        cv_span_copy(cv_span_of(prefix, len, 0), cv_u8s_at(&names->scratch, 0));
    if (rest.len)
        cv_span_copy(rest, cv_u8s_at(&names->scratch, len));
    return cv_names_put(mem, names, cv_span_of(names->scratch.items, names->scratch.count, 0));
}

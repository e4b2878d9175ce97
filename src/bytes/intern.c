/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "bytes/intern.h"

typedef struct sip {
    uint64_t a, b, c, d;
} sip;

CV_WRAPS static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

/* Thrice at each text's end and once for each word: a call would cost more than what it does. */
CV_WRAPS static inline __attribute__((always_inline)) void round_of(sip *s)
{
    s->a += s->b;
    s->b = rotate(s->b, 13) ^ s->a;
    s->a = rotate(s->a, 32);
    s->c += s->d;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a += s->d;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c += s->b;
    s->b = rotate(s->b, 17) ^ s->c;
    s->c = rotate(s->c, 32);
}

static inline __attribute__((always_inline)) void take(sip *s, uint64_t word)
{
    s->d ^= word;
    round_of(s);
    s->a ^= word;
}

CV_BUF_BEGIN
CV_WRAPS uint64_t cv_siphash(const uint64_t key[2], cv_span text)
{
    sip s = { key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
              key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573) };
    uint64_t at = 0, last = text.len << 56;

    for (; text.len - at >= 8; at += 8)
        take(&s, cv_u64_at(text, at));
    /* What is left of a word: from the last eight bytes, if there are as many. */
    if (at > 0 && text.len > at)
        last |= cv_u64_at(text, text.len - 8) >> 8 * (at + 8 - text.len);
    else
        for (unsigned i = 0; at + i < text.len; i++)
            last |= (uint64_t)cv_u8_at(text, at + i) << 8 * i;
    take(&s, last);
    s.c ^= 0xFF;
    for (int i = 0; i < 3; i++)
        round_of(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}
CV_BUF_END

void cv_names_init(cv_names *n, uint64_t key0, uint64_t key1)
{
    *n = (cv_names){ .key = { key0, key1 } };
}

void cv_names_free(cv_mem *m, cv_names *n)
{
    cv_name_list_free(m, &n->list);
    cv_u8s_free(m, &n->pool);
    cv_u8s_free(m, &n->scratch);
    cv_u32s_free(m, &n->table);
}

/* Place of a text in the table: its own, or the free one where it belongs. */
static uint32_t *find(cv_names *n, cv_span text, uint64_t hash)
{
    uint64_t mask = n->table.n - 1, i = hash & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t *slot = cv_u32s_at(&n->table, i);
        const cv_name *e;

        if (*slot == 0)
            return slot;
        e = cv_name_list_get(&n->list, *slot - 1);
        if (e->hash == hash && e->len == text.len && cv_span_eq(cv_names_text(n, *slot - 1), text))
            return slot;
    }
}

static bool grow(cv_mem *m, cv_names *n)
{
    uint64_t size = n->table.n ? n->table.n * 2 : 1024;
    cv_u32s bigger = { 0 };

    if (!cv_u32s_fill(m, &bigger, size))
        return false;
    cv_u32s_free(m, &n->table);
    n->table = bigger;
    for (uint64_t id = 0; id < n->list.n; id++) {
        uint64_t i = cv_name_list_at(&n->list, id)->hash & (size - 1);

        while (*cv_u32s_at(&n->table, i) != 0)
            i = (i + 1) & (size - 1);
        *cv_u32s_at(&n->table, i) = (uint32_t)id + 1;
    }
    return true;
}

cv_id cv_names_put(cv_mem *m, cv_names *n, cv_span text)
{
    uint64_t hash = cv_siphash(n->key, text);
    cv_name e = { .off = n->pool.n, .len = text.len, .hash = hash };
    uint32_t *slot;

    if (n->list.n * 2 >= n->table.n && !grow(m, n))
        return CV_NONE;
    slot = find(n, text, hash);
    if (*slot != 0)
        return *slot - 1;
    if (n->list.n >= CV_NONE - 1 || !cv_u8s_room(m, &n->pool, cv_sat_add(n->pool.n, text.len)) ||
        !cv_name_list_push(m, &n->list, e))
        return CV_NONE;
    n->pool.n += text.len;
    if (text.len)
        cv_span_copy(text, cv_u8s_at(&n->pool, e.off));
    *slot = (uint32_t)n->list.n;
    return (cv_id)(n->list.n - 1);
}

cv_id cv_names_join(cv_mem *m, cv_names *n, const char *prefix, cv_span rest)
{
    uint64_t len = 0;

    CV_BUF_BEGIN
    for (const char *p = prefix; *p; p++)
        len++;
    CV_BUF_END
    cv_u8s_clear(&n->scratch);
    if (!cv_u8s_room(m, &n->scratch, cv_sat_add(len, rest.len)))
        return CV_NONE;
    n->scratch.n = len + rest.len;
    if (len)
        cv_span_copy(cv_span_of(prefix, len, 0), cv_u8s_at(&n->scratch, 0));
    if (rest.len)
        cv_span_copy(rest, cv_u8s_at(&n->scratch, len));
    return cv_names_put(m, n, cv_span_of(n->scratch.v, n->scratch.n, 0));
}

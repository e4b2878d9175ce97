/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* src/bytes and the arithmetic below it against models that are too simple to be wrong. The input is data and
 * program at the same time: operations are read from its start, and work on all of it. */
#include "common.h"

#include "base/vec.h"
#include "bytes/builder.h"
#include "bytes/search.h"
#include "bytes/slices.h"

__extension__ typedef unsigned __int128 wide;

typedef struct machine {
    fz *f;
    fz_ops ops;
    cv_span s; /* the current span; its bytes are the model's as well */
    const uint8_t *model;
} machine;

static uint64_t naive_load(const machine *m, uint64_t off, unsigned n)
{
    uint64_t v = 0;

    if ((wide)off + n > m->s.len)
        return 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)m->model[off + i] << (8 * i);
    return v;
}

static void loads(machine *m)
{
    uint64_t off = fz_edge(&m->ops, m->s.len);

    FZ_CHECK(cv_u8_at(m->s, off) == naive_load(m, off, 1), "u8");
    FZ_CHECK(cv_u16_at(m->s, off) == naive_load(m, off, 2), "u16");
    FZ_CHECK(cv_u32_at(m->s, off) == naive_load(m, off, 4), "u32");
    FZ_CHECK(cv_u64_at(m->s, off) == naive_load(m, off, 8), "u64");
}

/* Sub-spans; some replace the current span. */
static void subspan(machine *m)
{
    uint64_t off = fz_edge(&m->ops, m->s.len), len = fz_edge(&m->ops, m->s.len);
    bool fits = (wide)off + len <= m->s.len, keep = (fz_u8(&m->ops) & 3) == 0;
    cv_span out = { NULL, 77, 78 }, rest = out;

    FZ_CHECK(cv_span_has(m->s, off, len) == fits, "has");
    FZ_CHECK(cv_span_sub(m->s, off, len, &out) == fits, "sub fits exactly when the sum does");
    FZ_CHECK(cv_span_from(m->s, off, &rest) == (off <= m->s.len), "from");
    if (off <= m->s.len)
        FZ_CHECK(rest.len == m->s.len - off && rest.off == m->s.off + off, "the rest has the rest's place");
    FZ_CHECK(cv_span_tail(m->s, off).len == (off <= m->s.len ? m->s.len - off : 0), "tail");
    if (!fits) {
        FZ_CHECK(!out.base && out.len == 77 && out.off == 78, "a failure leaves the result alone");
        return;
    }
    FZ_CHECK(out.len == len && out.off == m->s.off + off, "a sub-span knows its place");
    for (uint64_t i = 0; i < len; i++)
        FZ_CHECK(cv_u8_at(out, i) == m->model[off + i], "a sub-span has the bytes");
    if (keep) {
        m->s = out;
        m->model += off;
    }
}

static uint64_t naive_find(const machine *m, uint64_t from, uint8_t b, bool equal)
{
    for (uint64_t i = from; i < m->s.len; i++)
        if ((m->model[i] == b) == equal)
            return i;
    return m->s.len;
}

static void searches(machine *m)
{
    uint8_t b = fz_u8(&m->ops);
    uint64_t off = fz_edge(&m->ops, m->s.len), from = fz_edge(&m->ops, m->s.len), hit = m->s.len;
    uint32_t one = (uint32_t)naive_load(m, off, 4), two = (uint32_t)fz_u64(&m->ops);
    cv_span str = { NULL, 77, 78 };
    bool found;

    FZ_CHECK(cv_span_find_byte(m->s, b) == naive_find(m, 0, b, true), "find_byte");
    FZ_CHECK(cv_span_find_nonzero(m->s) == naive_find(m, 0, 0, false), "find_nonzero");
    found = off < m->s.len && naive_find(m, off, 0, true) < m->s.len;
    FZ_CHECK(cv_span_cstr(m->s, off, &str) == found, "a string is one exactly when a NUL follows");
    if (found)
        FZ_CHECK(str.len == naive_find(m, off, 0, true) - off && str.off == m->s.off + off,
                 "and ends before it");
    for (uint64_t i = from; i < m->s.len && m->s.len - i >= 4; i++) {
        uint32_t v = (uint32_t)naive_load(m, i, 4);

        if (v == one || v == two) {
            hit = i;
            break;
        }
    }
    FZ_CHECK(cv_span_find_u32(m->s, from, one, two) == hit, "find_u32");
    FZ_CHECK(cv_span_find_u32_plain(m->s, from, one, two) == hit, "and without long vectors");
}

static void decimals(machine *m)
{
    uint64_t off = fz_edge(&m->ops, m->s.len), i = off, end = 77;
    uint32_t value = 78;
    bool ok;
    wide v = 0;

    for (; i < m->s.len && m->model[i] >= '0' && m->model[i] <= '9' && v <= UINT32_MAX; i++)
        v = v * 10 + (unsigned)(m->model[i] - '0');
    ok = i > off && v <= UINT32_MAX;
    FZ_CHECK(cv_span_decimal(m->s, off, &value, &end) == ok, "decimal");
    if (ok)
        FZ_CHECK(value == v && end == i, "its value and its end");
    else
        FZ_CHECK(value == 78 && end == 77, "a failure leaves the result alone");
}

static void texts(machine *m)
{
    static const char *const WORDS[] = { "", "a", ".nv.", ".text.", "\177ELF", "\xff" };
    const char *w = WORDS[fz_u8(&m->ops) % CV_COUNT(WORDS)];
    uint64_t n = 0;
    cv_span rest = { NULL, 77, 78 };
    bool starts = true;

    for (; w[n]; n++)
        starts = starts && n < m->s.len && m->model[n] == (uint8_t)w[n];
    FZ_CHECK(cv_span_starts(m->s, w) == starts, "starts");
    FZ_CHECK(cv_span_eq_str(m->s, w) == (starts && n == m->s.len), "eq_str");
    FZ_CHECK(cv_span_after(m->s, w, &rest) == starts, "after");
    FZ_CHECK(starts ? rest.len == m->s.len - n && rest.off == m->s.off + n : rest.len == 77,
             "what is behind");
    FZ_CHECK(cv_span_eq(m->s, m->s), "equal to itself");
}

static void cursors(machine *m)
{
    cv_cur c = cv_cur_of(m->s);
    uint64_t at = 0, bad_at = 0, bad_want = 0;
    bool failed = false;

    for (unsigned i = fz_u8(&m->ops) & 15; i > 0; i--) {
        unsigned op = fz_u8(&m->ops) % 7, n = op < 4 ? 1u << op : 0;
        uint64_t want = n ? n : fz_edge(&m->ops, m->s.len), elem = op == 6 ? fz_edge(&m->ops, 16) : 1,
                 got = 0;
        wide need = (wide)want * elem;
        bool ok = !failed && need <= m->s.len - at;

        if (op < 4) {
            got = op == 0   ? cv_cur_u8(&c)
                  : op == 1 ? cv_cur_u16(&c)
                  : op == 2 ? cv_cur_u32(&c)
                            : cv_cur_u64(&c);
            FZ_CHECK(got == (ok ? naive_load(m, at, n) : 0), "a cursor reads what is there, or 0");
        } else if (op == 4) {
            cv_span b = cv_cur_bytes(&c, want);

            FZ_CHECK(b.len == (ok ? want : 0) && (!ok || b.off == m->s.off + at), "bytes of a cursor");
        } else if (op == 5) {
            cv_cur_skip(&c, want);
        } else {
            FZ_CHECK(cv_cur_count(&c, want, elem) == (ok ? want : 0), "a count fits what remains, or is 0");
        }
        if (!ok && !failed) {
            failed = true;
            bad_at = at;
            bad_want = need > UINT64_MAX ? UINT64_MAX : (uint64_t)need;
        }
        if (ok && op != 6)
            at += want;
        FZ_CHECK(c.failed == failed && c.pos == at && cv_cur_left(&c) == m->s.len - at, "the cursor's state");
        FZ_CHECK(!failed || (c.bad_at == bad_at && c.bad_want == bad_want), "the first failure stays");
    }
}

/* A builder and a slice list, written to in the same way; together they must give the same bytes. */
static void outputs(machine *m)
{
    cv_mem *mem = &m->f->x.mem;
    cv_slices l = { 0 };
    cv_slice_pos pos = { 0 };
    uint64_t len = 0, at = 0;
    uint8_t part[300];
    cv_builder b;
    cv_span run;

    cv_builder_init(&b, mem);
    for (unsigned i = fz_u8(&m->ops) & 15; i > 0; i--) {
        unsigned op = fz_u8(&m->ops) & 3;
        uint64_t n = fz_u8(&m->ops), off = fz_edge(&m->ops, m->s.len);
        cv_span s = cv_span_tail(m->s, off);

        if (op == 3)
            n = cv_sat_align(len, UINT64_C(1) << (n & 7)) - len;
        else if (op != 2)
            n = s.len = cv_min(n, s.len);
        if (op == 0)
            cv_slices_borrow(mem, &l, s);
        else if (op == 1)
            cv_slices_copy(mem, &l, s);
        else
            cv_slices_zero(mem, &l, n);
        if (op < 2)
            cv_put_span(&b, s);
        else
            cv_put_zero(&b, n);
        len += n;
    }
    if (m->f->x.mem.limit >= CV_MIB)
        FZ_CHECK(!b.failed && !l.failed, "nothing failed");
    if (!b.failed && !l.failed) {
        uint64_t off = fz_edge(&m->ops, len), n = fz_u8(&m->ops);
        bool fits = (wide)off + n <= len;

        FZ_CHECK(b.len == len && l.len == len && cv_builder_span(&b).len == len, "lengths");
        for (; cv_slices_next(&l, &pos, &run); at += run.len)
            for (uint64_t i = 0; i < run.len; i++)
                FZ_CHECK(cv_u8_at(run, i) == cv_u8_at(cv_builder_span(&b), at + i),
                         "slices and builder agree");
        FZ_CHECK(at == len, "the walk sees every byte");
        FZ_CHECK(cv_slices_read(&l, off, part, (size_t)n) == fits, "a read fits exactly when the sum does");
        for (uint64_t i = 0; fits && i < n; i++)
            FZ_CHECK(part[i] == cv_u8_at(cv_builder_span(&b), off + i), "a read gives the bytes");
        cv_patch_u32(&b, off, 0x01020304);
        FZ_CHECK(b.failed == ((wide)off + 4 > len), "a patch outside fails");
    }
    cv_slices_free(mem, &l);
    cv_builder_free(&b);
}

static void arithmetic(machine *m)
{
    uint64_t a = fz_edge(&m->ops, m->s.len), b = fz_edge(&m->ops, m->s.len), r = 77;
    wide sum = (wide)a + b, product = (wide)a * b, up;
    uint32_t narrow = 78;

    FZ_CHECK(cv_add(a, b, &r) == (sum <= UINT64_MAX) && (sum > UINT64_MAX ? r == 77 : r == sum), "add");
    FZ_CHECK(cv_sat_add(a, b) == (sum > UINT64_MAX ? UINT64_MAX : sum), "sat_add");
    r = 77;
    FZ_CHECK(cv_mul(a, b, &r) == (product <= UINT64_MAX) && (product > UINT64_MAX ? r == 77 : r == product),
             "mul");
    FZ_CHECK(cv_sat_mul(a, b) == (product > UINT64_MAX ? UINT64_MAX : product), "sat_mul");
    FZ_CHECK(cv_to_u32(a, &narrow) == (a <= UINT32_MAX) && narrow == (a <= UINT32_MAX ? a : 78), "to_u32");
    b = UINT64_C(1) << (b & 63);
    up = ((wide)a + b - 1) / b * b;
    r = 77;
    FZ_CHECK(cv_align(a, b, &r) == (up <= UINT64_MAX) && r == (up <= UINT64_MAX ? up : 77), "align");
    FZ_CHECK(!cv_align(a, a | 3, &r), "only powers of two align");
}

static void sorting(machine *m)
{
    cv_keys k = { 0 };
    uint64_t n = fz_u8(&m->ops) & 63, sum = 0;
    bool ok = true;

    for (uint64_t i = 0; ok && i < n; i++) {
        uint64_t key = fz_u8(&m->ops) & 1 ? fz_u8(&m->ops) : fz_edge(&m->ops, i);

        ok = cv_keys_push(&m->f->x.mem, &k, (cv_key){ key, i });
        sum += ok ? key : 0;
    }
    cv_keys_sort(&k);
    for (uint64_t i = 0; i < k.n; i++) {
        const cv_key *b = cv_keys_at(&k, i), *a = i ? cv_keys_at(&k, i - 1) : b;

        sum -= b->key;
        FZ_CHECK((cv_keys_lower_bound(&k, b->key) == i) == (i == 0 || a->key < b->key),
                 "the first of its like is found");
        FZ_CHECK(i == 0 || a->key < b->key || (a->key == b->key && a->index < b->index),
                 "sorted, and stable");
    }
    FZ_CHECK(sum == 0, "sorting loses nothing");
    cv_keys_free(&m->f->x.mem, &k);
}

static void program(fz *f)
{
    static void (*const STEPS[])(machine *) = { loads,   subspan, searches,   decimals, texts,
                                                cursors, outputs, arithmetic, sorting };
    machine m = { f, { f->in->bytes, f->in->len, 0 }, fz_span(f), f->in->bytes };

    for (unsigned i = 0; i < 64 && fz_ops_left(&m.ops); i++)
        STEPS[fz_u8(&m.ops) % CV_COUNT(STEPS)](&m);
    fz_note(f, m.s.off + m.s.len);
}

CV_FUZZ_TARGET(bytes)
{
    /* The models look at every byte in every step: more bytes cost time and show nothing new. */
    return fz_twice(data, cv_min(size, 512), FZ_OFF, program);
}

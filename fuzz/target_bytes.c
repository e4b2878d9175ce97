/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* src/bytes and the arithmetic below it against models that are too simple to be wrong. The input is data and
 * program at the same time: operations are read from its start, and work on all of it. */
#include "common.h"

#include "base/vec.h"
#include "bytes/builder.h"
#include "bytes/search.h"
#include "bytes/slices.h"

__extension__ typedef unsigned __int128 bytes_wide;

typedef struct bytes_machine {
    fz_state *fuzz;
    fz_ops ops;
    cv_span span; /* the current span; its bytes are the model's as well */
    const uint8_t *model;
} bytes_machine;

static uint64_t naive_load(const bytes_machine *machine, uint64_t off, unsigned count)
{
    uint64_t value = 0;

    if ((bytes_wide)off + count > machine->span.len)
        return 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)machine->model[off + i] << (8 * i);
    return value;
}

static void loads(bytes_machine *machine)
{
    uint64_t off = fz_edge(&machine->ops, machine->span.len);

    FZ_CHECK(cv_u8_at(machine->span, off) == naive_load(machine, off, 1), "u8");
    FZ_CHECK(cv_u16_at(machine->span, off) == naive_load(machine, off, 2), "u16");
    FZ_CHECK(cv_u32_at(machine->span, off) == naive_load(machine, off, 4), "u32");
    FZ_CHECK(cv_u64_at(machine->span, off) == naive_load(machine, off, 8), "u64");
}

/* Sub-spans; some replace the current span. */
static void subspan(bytes_machine *machine)
{
    uint64_t off = fz_edge(&machine->ops, machine->span.len), len = fz_edge(&machine->ops, machine->span.len);
    bool fits = (bytes_wide)off + len <= machine->span.len, keep = (fz_u8(&machine->ops) & 3) == 0;
    cv_span out = { NULL, 77, 78 }, rest = out;

    FZ_CHECK(cv_span_has(machine->span, off, len) == fits, "has");
    FZ_CHECK(cv_span_sub(machine->span, off, len, &out) == fits, "sub fits exactly when the sum does");
    FZ_CHECK(cv_span_from(machine->span, off, &rest) == (off <= machine->span.len), "from");
    if (off <= machine->span.len)
        FZ_CHECK(rest.len == machine->span.len - off && rest.off == machine->span.off + off,
                 "the rest has the rest's place");
    FZ_CHECK(cv_span_tail(machine->span, off).len == (off <= machine->span.len ? machine->span.len - off : 0),
             "tail");
    if (!fits) {
        FZ_CHECK(!out.base && out.len == 77 && out.off == 78, "a failure leaves the result alone");
        return;
    }
    FZ_CHECK(out.len == len && out.off == machine->span.off + off, "a sub-span knows its place");
    for (uint64_t i = 0; i < len; i++)
        FZ_CHECK(cv_u8_at(out, i) == machine->model[off + i], "a sub-span has the bytes");
    if (keep) {
        machine->span = out;
        machine->model += off;
    }
}

static uint64_t naive_find(const bytes_machine *machine, uint64_t from, uint8_t byte, bool equal)
{
    for (uint64_t i = from; i < machine->span.len; i++)
        if ((machine->model[i] == byte) == equal)
            return i;
    return machine->span.len;
}

static void searches(bytes_machine *machine)
{
    uint8_t byte = fz_u8(&machine->ops);
    uint64_t off = fz_edge(&machine->ops, machine->span.len),
             from = fz_edge(&machine->ops, machine->span.len), hit = machine->span.len;
    uint32_t one = (uint32_t)naive_load(machine, off, 4), two = (uint32_t)fz_u64(&machine->ops);
    cv_span str = { NULL, 77, 78 };
    bool found;

    FZ_CHECK(cv_span_find_byte(machine->span, byte) == naive_find(machine, 0, byte, true), "find_byte");
    FZ_CHECK(cv_span_find_nonzero(machine->span) == naive_find(machine, 0, 0, false), "find_nonzero");
    found = off < machine->span.len && naive_find(machine, off, 0, true) < machine->span.len;
    FZ_CHECK(cv_span_cstr(machine->span, off, &str) == found, "a string is one exactly when a NUL follows");
    if (found)
        FZ_CHECK(str.len == naive_find(machine, off, 0, true) - off && str.off == machine->span.off + off,
                 "and ends before it");
    for (uint64_t i = from; i < machine->span.len && machine->span.len - i >= 4; i++) {
        uint32_t value = (uint32_t)naive_load(machine, i, 4);

        if (value == one || value == two) {
            hit = i;
            break;
        }
    }
    FZ_CHECK(cv_span_find_u32(machine->span, from, one, two) == hit, "find_u32");
    FZ_CHECK(cv_span_find_u32_plain(machine->span, from, one, two) == hit, "and without long vectors");
}

static void decimals(bytes_machine *machine)
{
    uint64_t off = fz_edge(&machine->ops, machine->span.len), i = off, end = 77;
    uint32_t value = 78;
    bool ok;
    bytes_wide wide = 0;

    for (;
         i < machine->span.len && machine->model[i] >= '0' && machine->model[i] <= '9' && wide <= UINT32_MAX;
         i++)
        wide = wide * 10 + (unsigned)(machine->model[i] - '0');
    ok = i > off && wide <= UINT32_MAX;
    FZ_CHECK(cv_span_decimal(machine->span, off, &value, &end) == ok, "decimal");
    if (ok)
        FZ_CHECK(value == wide && end == i, "its value and its end");
    else
        FZ_CHECK(value == 78 && end == 77, "a failure leaves the result alone");
}

static void texts(bytes_machine *machine)
{
    static const char *const WORDS[] = { "", "a", ".nv.", ".text.", "\177ELF", "\xff" };
    const char *word = WORDS[fz_u8(&machine->ops) % CV_COUNT(WORDS)];
    uint64_t count = 0;
    cv_span rest = { NULL, 77, 78 };
    bool starts = true;

    for (; word[count]; count++)
        starts = starts && count < machine->span.len && machine->model[count] == (uint8_t)word[count];
    FZ_CHECK(cv_span_starts(machine->span, word) == starts, "starts");
    FZ_CHECK(cv_span_eq_str(machine->span, word) == (starts && count == machine->span.len), "eq_str");
    FZ_CHECK(cv_span_after(machine->span, word, &rest) == starts, "after");
    FZ_CHECK(starts ? rest.len == machine->span.len - count && rest.off == machine->span.off + count
                    : rest.len == 77,
             "what is behind");
    FZ_CHECK(cv_span_eq(machine->span, machine->span), "equal to itself");
}

static void cursors(bytes_machine *machine)
{
    cv_cur cursor = cv_cur_of(machine->span);
    uint64_t at = 0, bad_at = 0, bad_want = 0;
    bool failed = false;

    for (unsigned i = fz_u8(&machine->ops) & 15; i > 0; i--) {
        unsigned op = fz_u8(&machine->ops) % 7, count = op < 4 ? 1u << op : 0;
        uint64_t want = count ? count : fz_edge(&machine->ops, machine->span.len),
                 elem = op == 6 ? fz_edge(&machine->ops, 16) : 1, got = 0;
        bytes_wide need = (bytes_wide)want * elem;
        bool ok = !failed && need <= machine->span.len - at;

        if (op < 4) {
            got = op == 0   ? cv_cur_u8(&cursor)
                  : op == 1 ? cv_cur_u16(&cursor)
                  : op == 2 ? cv_cur_u32(&cursor)
                            : cv_cur_u64(&cursor);
            FZ_CHECK(got == (ok ? naive_load(machine, at, count) : 0), "a cursor reads what is there, or 0");
        } else if (op == 4) {
            cv_span body = cv_cur_bytes(&cursor, want);

            FZ_CHECK(body.len == (ok ? want : 0) && (!ok || body.off == machine->span.off + at),
                     "bytes of a cursor");
        } else if (op == 5) {
            cv_cur_skip(&cursor, want);
        } else {
            FZ_CHECK(cv_cur_count(&cursor, want, elem) == (ok ? want : 0),
                     "a count fits what remains, or is 0");
        }
        if (!ok && !failed) {
            failed = true;
            bad_at = at;
            bad_want = need > UINT64_MAX ? UINT64_MAX : (uint64_t)need;
        }
        if (ok && op != 6)
            at += want;
        FZ_CHECK(cursor.failed == failed && cursor.pos == at &&
                     cv_cur_left(&cursor) == machine->span.len - at,
                 "the cursor's state");
        FZ_CHECK(!failed || (cursor.bad_at == bad_at && cursor.bad_want == bad_want),
                 "the first failure stays");
    }
}

/* A builder and a slice list, written to in the same way; together they must give the same bytes. */
static void outputs(bytes_machine *machine)
{
    cv_mem *mem = &machine->fuzz->ctx.mem;
    cv_slices slices = { 0 };
    cv_slice_pos pos = { 0 };
    uint64_t len = 0, at = 0;
    uint8_t part[300];
    cv_builder builder;
    cv_span run;

    cv_builder_init(&builder, mem);
    for (unsigned i = fz_u8(&machine->ops) & 15; i > 0; i--) {
        unsigned op = fz_u8(&machine->ops) & 3;
        uint64_t count = fz_u8(&machine->ops), off = fz_edge(&machine->ops, machine->span.len);
        cv_span span = cv_span_tail(machine->span, off);

        if (op == 3)
            count = cv_sat_align(len, UINT64_C(1) << (count & 7)) - len;
        else if (op != 2)
            count = span.len = cv_min(count, span.len);
        if (op == 0)
            cv_slices_borrow(mem, &slices, span);
        else if (op == 1)
            cv_slices_copy(mem, &slices, span);
        else
            cv_slices_zero(mem, &slices, count);
        if (op < 2)
            cv_put_span(&builder, span);
        else
            cv_put_zero(&builder, count);
        len += count;
    }
    if (machine->fuzz->ctx.mem.limit >= CV_MIB)
        FZ_CHECK(!builder.failed && !slices.failed, "nothing failed");
    if (!builder.failed && !slices.failed) {
        uint64_t off = fz_edge(&machine->ops, len), count = fz_u8(&machine->ops);
        bool fits = (bytes_wide)off + count <= len;

        FZ_CHECK(builder.len == len && slices.len == len && cv_builder_span(&builder).len == len, "lengths");
        for (; cv_slices_next(&slices, &pos, &run); at += run.len)
            for (uint64_t i = 0; i < run.len; i++)
                FZ_CHECK(cv_u8_at(run, i) == cv_u8_at(cv_builder_span(&builder), at + i),
                         "slices and builder agree");
        FZ_CHECK(at == len, "the walk sees every byte");
        FZ_CHECK(cv_slices_read(&slices, off, part, (size_t)count) == fits,
                 "a read fits exactly when the sum does");
        for (uint64_t i = 0; fits && i < count; i++)
            FZ_CHECK(part[i] == cv_u8_at(cv_builder_span(&builder), off + i), "a read gives the bytes");
        cv_patch_u32(&builder, off, 0x01020304);
        FZ_CHECK(builder.failed == ((bytes_wide)off + 4 > len), "a patch outside fails");
    }
    cv_slices_free(mem, &slices);
    cv_builder_free(&builder);
}

static void arithmetic(bytes_machine *machine)
{
    uint64_t left = fz_edge(&machine->ops, machine->span.len),
             right = fz_edge(&machine->ops, machine->span.len), result = 77;
    bytes_wide sum = (bytes_wide)left + right, product = (bytes_wide)left * right, up;
    uint32_t narrow = 78;

    FZ_CHECK(cv_add(left, right, &result) == (sum <= UINT64_MAX) &&
                 (sum > UINT64_MAX ? result == 77 : result == sum),
             "add");
    FZ_CHECK(cv_sat_add(left, right) == (sum > UINT64_MAX ? UINT64_MAX : sum), "sat_add");
    result = 77;
    FZ_CHECK(cv_mul(left, right, &result) == (product <= UINT64_MAX) &&
                 (product > UINT64_MAX ? result == 77 : result == product),
             "mul");
    FZ_CHECK(cv_sat_mul(left, right) == (product > UINT64_MAX ? UINT64_MAX : product), "sat_mul");
    FZ_CHECK(cv_to_u32(left, &narrow) == (left <= UINT32_MAX) && narrow == (left <= UINT32_MAX ? left : 78),
             "to_u32");
    right = UINT64_C(1) << (right & 63);
    up = ((bytes_wide)left + right - 1) / right * right;
    result = 77;
    FZ_CHECK(cv_align(left, right, &result) == (up <= UINT64_MAX) && result == (up <= UINT64_MAX ? up : 77),
             "align");
    FZ_CHECK(!cv_align(left, left | 3, &result), "only powers of two align");
}

static void sorting(bytes_machine *machine)
{
    cv_keys keys = { 0 };
    uint64_t count = fz_u8(&machine->ops) & 63, sum = 0;
    bool ok = true;

    for (uint64_t i = 0; ok && i < count; i++) {
        uint64_t key = fz_u8(&machine->ops) & 1 ? fz_u8(&machine->ops) : fz_edge(&machine->ops, i);

        ok = cv_keys_push(&machine->fuzz->ctx.mem, &keys, (cv_key){ key, i });
        sum += ok ? key : 0;
    }
    cv_keys_sort(&keys);
    for (uint64_t i = 0; i < keys.count; i++) {
        const cv_key *right = cv_keys_at(&keys, i), *left = i ? cv_keys_at(&keys, i - 1) : right;

        sum -= right->key;
        FZ_CHECK((cv_keys_lower_bound(&keys, right->key) == i) == (i == 0 || left->key < right->key),
                 "the first of its like is found");
        FZ_CHECK(i == 0 || left->key < right->key || (left->key == right->key && left->index < right->index),
                 "sorted, and stable");
    }
    FZ_CHECK(sum == 0, "sorting loses nothing");
    cv_keys_free(&machine->fuzz->ctx.mem, &keys);
}

static void program(fz_state *fuzz)
{
    static void (*const STEPS[])(bytes_machine *) = { loads,   subspan, searches,   decimals, texts,
                                                      cursors, outputs, arithmetic, sorting };
    bytes_machine machine = { fuzz, { fuzz->in->bytes, fuzz->in->len, 0 }, fz_span(fuzz), fuzz->in->bytes };

    for (unsigned i = 0; i < 64 && fz_ops_left(&machine.ops); i++)
        STEPS[fz_u8(&machine.ops) % CV_COUNT(STEPS)](&machine);
    fz_note(fuzz, machine.span.off + machine.span.len);
}

CV_FUZZ_TARGET(bytes)
{
    /* The models look at every byte in every step: more bytes cost time and show nothing new. */
    return fz_twice(data, cv_min(size, 512), FZ_OFF, program);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "remap_rows.h"

#include <check.h>

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_span new_body(uint32_t section)
{
    for (uint64_t i = 0; i < bodies.count; i++)
        if (cv_final_bodies_at(&bodies, i)->section == section)
            return cv_builder_span(&cv_final_bodies_at(&bodies, i)->bytes);
    return cv_cubin_body(&cubin, section);
}

bool named_at(uint32_t target, bool now, uint64_t at, uint32_t *section, uint64_t *place)
{
    for (uint32_t i = 1; i < cubin.sec.count; i++) {
        const cv_sec *sec = cv_cubin_sec(&cubin, i);
        bool rela = sec->header.type == CV_SHT_RELA;
        cv_span span = now ? new_body(i) : cv_cubin_body(&cubin, i);
        cv_span body = now ? new_body(target) : cv_cubin_body(&cubin, target);

        if ((!rela && sec->header.type != CV_SHT_REL) || sec->header.info != target)
            continue;
        for (uint64_t end = 0; end + (rela ? 24 : 16) <= span.len; end += rela ? 24 : 16) {
            uint64_t sym = cv_u64_at(span, end + 8) >> 32;

            if (cv_u64_at(span, end) != at || (cv_u64_at(span, end + 8) & UINT32_MAX) > 2)
                continue;
            *section = cv_u16_at(cubin.symtab, sym * 24 + 6);
            *place = cv_u64_at(cubin.symtab, sym * 24 + 8) + (rela ? cv_u64_at(span, end + 16)
                                                              : (cv_u64_at(span, end + 8) & UINT32_MAX) == 1
                                                                  ? cv_u32_at(body, at)
                                                                  : cv_u64_at(body, at));
            return true;
        }
    }
    return false;
}

static uint64_t uleb(cv_span span, uint64_t *pos)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = cv_u8_at(span, (*pos)++);
        value |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static int64_t sleb(cv_span span, uint64_t *pos)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = cv_u8_at(span, (*pos)++);
        value |= (uint64_t)(byte & 0x7F) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

static void put_row(remap_rows *out, remap_rows_row row, bool end)
{
    row.end = end;
    ck_assert_uint_lt(out->count, MAX_ROWS);
    out->items[out->count++] = row;
}

/* Versions 2 and 3, as DWARF has it. */
static void decode_unit(uint32_t section, bool now, cv_span span, uint64_t at, remap_rows *out)
{
    uint64_t end = at + 4 + cv_u32_at(span, at), pos = at + 10 + cv_u32_at(span, at + 6);
    int line_base = (int8_t)cv_u8_at(span, at + 12), range = cv_u8_at(span, at + 13),
        base = cv_u8_at(span, at + 14);
    const remap_rows_row fresh = { .line = 1, .file = 1 };
    remap_rows_row row = fresh;

    while (pos < end) {
        int op = cv_u8_at(span, pos++);

        if (op >= base) {
            row.place += (uint64_t)((op - base) / range);
            row.line += line_base + (op - base) % range;
            put_row(out, row, false);
        } else if (op == 0) {
            uint64_t len = uleb(span, &pos), next = pos + len;

            if (cv_u8_at(span, pos) == 2)
                ck_assert_msg(named_at(section, now, pos + 1, &row.section, &row.place), "no relocation");
            if (cv_u8_at(span, pos) == 1) {
                put_row(out, row, true);
                row = fresh;
            }
            pos = next;
        } else if (op == 1) {
            put_row(out, row, false);
        } else if (op == 2) {
            row.place += uleb(span, &pos);
        } else if (op == 3) {
            row.line += sleb(span, &pos);
        } else if (op == 4) {
            row.file = uleb(span, &pos);
        } else if (op == 5) {
            uleb(span, &pos);
        } else if (op == 8) {
            row.place += (uint64_t)((255 - base) / range);
        } else if (op == 9) {
            row.place += cv_u16_at(span, pos);
            pos += 2;
        } else {
            ck_assert(op == 6 || op == 7);
        }
    }
    ck_assert_uint_eq(pos, end);
}

void decode_lines(uint32_t section, bool now, remap_rows *out)
{
    cv_span span = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t at = 0;

    out->count = 0;
    for (; at < span.len; at += 4 + cv_u32_at(span, at))
        decode_unit(section, now, span, at, out);
    ck_assert_uint_eq(at, span.len);
}

static uint64_t skip_operands(cv_span span, uint64_t pos, int op)
{
    static const char *const KINDS[] = { "",   "8", "1", "2", "4",  "rr", "r",  "r", "r",  "rr", "",  "",
                                         "rr", "r", "r", "b", "rb", "rr", "rr", "r", "rr", "rr", "rb" };
    const char *out;

    ck_assert_int_lt(op, (int)N(KINDS));
    for (out = KINDS[op]; *out; out++) {
        if (*out == 'r')
            uleb(span, &pos);
        else if (*out == 'b') {
            uint64_t count = uleb(span, &pos);

            pos += count;
        } else
            pos += (uint64_t)(*out - '0');
    }
    return pos;
}

static void put_frame(frame_rows *out, uint32_t section, uint64_t place, uint64_t names)
{
    ck_assert_uint_lt(out->count, MAX_ROWS);
    out->items[out->count++] = (frame_row){ section, place, names };
}

void decode_frames(uint32_t section, bool now, frame_rows *out)
{
    cv_span span = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t step = 0;

    out->count = 0;
    for (uint64_t at = 0, end; at < span.len; at = end) {
        uint64_t pos = at + 20, place = 0, names = 0;
        uint32_t fn = 0, self = 0;

        ck_assert_uint_eq(cv_u32_at(span, at), UINT32_MAX);
        end = at + 12 + cv_u64_at(span, at + 4);
        if (cv_u64_at(span, at + 12) == UINT64_MAX) {
            pos += 2;
            step = uleb(span, &pos);
            continue;
        }
        if (named_at(section, now, at + 12, &self, &names))
            ck_assert_uint_eq(self, section);
        else
            names = cv_u64_at(span, at + 12);
        ck_assert(named_at(section, now, pos, &fn, &place));
        put_frame(out, fn, place, names);
        put_frame(out, fn, place + cv_u64_at(span, pos + 8), 0);
        for (pos += 16; pos < end;) {
            int op = cv_u8_at(span, pos++);

            uint64_t count = op < 0x40 ? (op == 2   ? cv_u8_at(span, pos)
                                          : op == 3 ? cv_u16_at(span, pos)
                                                    : cv_u32_at(span, pos))
                                       : (uint64_t)(op & 0x3F);

            /* Modulo 2^32: on sm_75 there are steps back. */
            if ((op >= 0x40 && op < 0x80) || (op >= 2 && op <= 4))
                put_frame(out, fn, place = (place + count * step) & UINT32_MAX, 0);
            if (op < 0x40)
                pos = skip_operands(span, pos, op);
        }
    }
}

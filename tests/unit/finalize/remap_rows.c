/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "remap_rows.h"

#include <check.h>

#define N(table) (sizeof(table) / sizeof((table)[0]))

static cv_span new_body(uint32_t section)
{
    for (uint64_t i = 0; i < bodies.n; i++)
        if (cv_final_bodies_at(&bodies, i)->section == section)
            return cv_builder_span(&cv_final_bodies_at(&bodies, i)->bytes);
    return cv_cubin_body(&cubin, section);
}

bool named_at(uint32_t target, bool now, uint64_t at, uint32_t *section, uint64_t *place)
{
    for (uint32_t i = 1; i < cubin.sec.n; i++) {
        const cv_sec *s = cv_cubin_sec(&cubin, i);
        bool rela = s->h.type == CV_SHT_RELA;
        cv_span t = now ? new_body(i) : cv_cubin_body(&cubin, i);
        cv_span body = now ? new_body(target) : cv_cubin_body(&cubin, target);

        if ((!rela && s->h.type != CV_SHT_REL) || s->h.info != target)
            continue;
        for (uint64_t e = 0; e + (rela ? 24 : 16) <= t.len; e += rela ? 24 : 16) {
            uint64_t sym = cv_u64_at(t, e + 8) >> 32;

            if (cv_u64_at(t, e) != at || (cv_u64_at(t, e + 8) & UINT32_MAX) > 2)
                continue;
            *section = cv_u16_at(cubin.symtab, sym * 24 + 6);
            *place = cv_u64_at(cubin.symtab, sym * 24 + 8) + (rela ? cv_u64_at(t, e + 16)
                                                              : (cv_u64_at(t, e + 8) & UINT32_MAX) == 1
                                                                  ? cv_u32_at(body, at)
                                                                  : cv_u64_at(body, at));
            return true;
        }
    }
    return false;
}

static uint64_t uleb(cv_span s, uint64_t *pos)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = cv_u8_at(s, (*pos)++);
        v |= (uint64_t)(b & 0x7F) << shift;
        shift += 7;
    } while (b & 0x80);
    return v;
}

static int64_t sleb(cv_span s, uint64_t *pos)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t b;

    do {
        b = cv_u8_at(s, (*pos)++);
        v |= (uint64_t)(b & 0x7F) << shift;
        shift += 7;
    } while (b & 0x80);
    if (b & 0x40)
        v |= ~UINT64_C(0) << shift;
    return (int64_t)v;
}

static void put_row(rows *out, row r, bool end)
{
    r.end = end;
    ck_assert_uint_lt(out->n, MAX_ROWS);
    out->v[out->n++] = r;
}

/* Versions 2 and 3, as DWARF has it. */
static void decode_unit(uint32_t section, bool now, cv_span s, uint64_t at, rows *out)
{
    uint64_t end = at + 4 + cv_u32_at(s, at), pos = at + 10 + cv_u32_at(s, at + 6);
    int line_base = (int8_t)cv_u8_at(s, at + 12), range = cv_u8_at(s, at + 13), base = cv_u8_at(s, at + 14);
    const row fresh = { .line = 1, .file = 1 };
    row r = fresh;

    while (pos < end) {
        int op = cv_u8_at(s, pos++);

        if (op >= base) {
            r.place += (uint64_t)((op - base) / range);
            r.line += line_base + (op - base) % range;
            put_row(out, r, false);
        } else if (op == 0) {
            uint64_t len = uleb(s, &pos), next = pos + len;

            if (cv_u8_at(s, pos) == 2)
                ck_assert_msg(named_at(section, now, pos + 1, &r.section, &r.place), "no relocation");
            if (cv_u8_at(s, pos) == 1) {
                put_row(out, r, true);
                r = fresh;
            }
            pos = next;
        } else if (op == 1) {
            put_row(out, r, false);
        } else if (op == 2) {
            r.place += uleb(s, &pos);
        } else if (op == 3) {
            r.line += sleb(s, &pos);
        } else if (op == 4) {
            r.file = uleb(s, &pos);
        } else if (op == 5) {
            uleb(s, &pos);
        } else if (op == 8) {
            r.place += (uint64_t)((255 - base) / range);
        } else if (op == 9) {
            r.place += cv_u16_at(s, pos);
            pos += 2;
        } else {
            ck_assert(op == 6 || op == 7);
        }
    }
    ck_assert_uint_eq(pos, end);
}

void decode_lines(uint32_t section, bool now, rows *out)
{
    cv_span s = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t at = 0;

    out->n = 0;
    for (; at < s.len; at += 4 + cv_u32_at(s, at))
        decode_unit(section, now, s, at, out);
    ck_assert_uint_eq(at, s.len);
}

static uint64_t skip_operands(cv_span s, uint64_t pos, int op)
{
    static const char *const KINDS[] = { "",   "8", "1", "2", "4",  "rr", "r",  "r", "r",  "rr", "",  "",
                                         "rr", "r", "r", "b", "rb", "rr", "rr", "r", "rr", "rr", "rb" };
    const char *k;

    ck_assert_int_lt(op, (int)N(KINDS));
    for (k = KINDS[op]; *k; k++) {
        if (*k == 'r')
            uleb(s, &pos);
        else if (*k == 'b') {
            uint64_t n = uleb(s, &pos);

            pos += n;
        } else
            pos += (uint64_t)(*k - '0');
    }
    return pos;
}

static void put_frame(frame_rows *out, uint32_t section, uint64_t place, uint64_t names)
{
    ck_assert_uint_lt(out->n, MAX_ROWS);
    out->v[out->n++] = (frame_row){ section, place, names };
}

void decode_frames(uint32_t section, bool now, frame_rows *out)
{
    cv_span s = now ? new_body(section) : cv_cubin_body(&cubin, section);
    uint64_t step = 0;

    out->n = 0;
    for (uint64_t at = 0, end; at < s.len; at = end) {
        uint64_t pos = at + 20, place = 0, names = 0;
        uint32_t fn = 0, self = 0;

        ck_assert_uint_eq(cv_u32_at(s, at), UINT32_MAX);
        end = at + 12 + cv_u64_at(s, at + 4);
        if (cv_u64_at(s, at + 12) == UINT64_MAX) {
            pos += 2;
            step = uleb(s, &pos);
            continue;
        }
        if (named_at(section, now, at + 12, &self, &names))
            ck_assert_uint_eq(self, section);
        else
            names = cv_u64_at(s, at + 12);
        ck_assert(named_at(section, now, pos, &fn, &place));
        put_frame(out, fn, place, names);
        put_frame(out, fn, place + cv_u64_at(s, pos + 8), 0);
        for (pos += 16; pos < end;) {
            int op = cv_u8_at(s, pos++);

            uint64_t n = op < 0x40 ? (op == 2   ? cv_u8_at(s, pos)
                                      : op == 3 ? cv_u16_at(s, pos)
                                                : cv_u32_at(s, pos))
                                   : (uint64_t)(op & 0x3F);

            /* Modulo 2^32: on sm_75 there are steps back. */
            if ((op >= 0x40 && op < 0x80) || (op >= 2 && op <= 4))
                put_frame(out, fn, place = (place + n * step) & UINT32_MAX, 0);
            if (op < 0x40)
                pos = skip_operands(s, pos, op);
        }
    }
}

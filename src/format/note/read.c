/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/note/read.h"

#define NAME_SIZE           12u /* "NVIDIA Corp" and its NUL */
#define DESC                (CV_NOTE_HEAD + NAME_SIZE)
#define TKINFO_FIXED        24u
#define TKINFO_TOOL         8u /* words of the descriptor: places of these two strings */
#define TKINFO_TOOL_VERSION 12u
#define CUINFO_DESC         8u
#define CV_NOTE_CUVER_SIZE  12u
#define CUINFO_VERSION      2u

cv_note_state cv_note_at(cv_span s, uint64_t pos, cv_note *out)
{
    cv_note n;

    if (pos >= s.len)
        return CV_NOTE_END;
    if (s.len - pos < CV_NOTE_HEAD)
        return CV_NOTE_BROKEN;
    n = (cv_note){ .off = pos, .namesz = cv_u32_at(s, pos), .descsz = cv_u32_at(s, pos + 4) };
    n.type = cv_u32_at(s, pos + 8);
    n.name = pos + CV_NOTE_HEAD;
    n.desc = n.name + cv_sat_align(n.namesz, 4);
    n.next = n.desc + cv_sat_align(n.descsz, 4);
    /* The last descriptor of hand-assembled files ends with the section, without padding. */
    if (n.next > s.len && n.desc + n.descsz == s.len)
        n.next = s.len;
    if (n.next > s.len)
        return CV_NOTE_BROKEN;
    *out = n;
    return CV_NOTE_OK;
}

static cuvet_status cut(cv_ctx *x, cv_span s, uint64_t pos)
{
    uint64_t left = s.len - pos, want = CV_NOTE_HEAD;

    if (left >= want)
        want += cv_sat_align(cv_u32_at(s, pos), 4) + cv_sat_align(cv_u32_at(s, pos + 4), 4);
    return cv_reject(x, CV_R_NOTE_CUT, s.off + pos, left, want);
}

cuvet_status cv_note_next(cv_ctx *x, cv_span s, uint64_t type, uint64_t *pos, cv_note *out)
{
    cv_note_state st = cv_note_at(s, *pos, out);
    cv_span name;

    if (st == CV_NOTE_END)
        return CUVET_END;
    if (st == CV_NOTE_BROKEN)
        return cut(x, s, *pos);
    *pos = out->next;
    if (out->namesz != NAME_SIZE || !cv_span_cstr(s, out->name, &name) ||
        !cv_span_eq_str(name, CV_NOTE_OWNER))
        return cv_reject(x, CV_R_NOTE_OWNER, s.off + out->off, out->namesz, NAME_SIZE);
    if (out->type != type)
        return cv_reject(x, CV_R_NOTE_TYPE, s.off + out->off + 8, out->type, type);
    for (uint64_t i = out->desc + out->descsz; i < out->next; i++)
        if (cv_u8_at(s, i) != 0)
            cv_report(x, CV_R_NOTE_PADDING, s.off + i, 1, cv_u8_at(s, i), 0);
    return CUVET_OK;
}

#define UNORDERED UINT64_MAX

/* One string of the pool: it must start at *want, where the one before ended. Once out of order, order is not
 * looked at. */
static cuvet_status take_string(cv_ctx *x, cv_span pool, uint64_t word_off, uint32_t at, uint64_t *want,
                                cv_span *out)
{
    if (!cv_span_cstr(pool, at, out))
        return cv_reject(x, CV_R_TKINFO_OFFSET, word_off, at, pool.len);
    if (*want == UNORDERED)
        return CUVET_OK;
    if (at != *want)
        cv_report(x, CV_R_TKINFO_ORDER, word_off, 4, at, *want);
    *want = at == *want ? at + out->len + 1 : UNORDERED;
    return CUVET_OK;
}

/* Behind the last string: the NULs that fill a word, counted in the descriptor. */
static void check_rest(cv_ctx *x, cv_span pool, uint64_t from)
{
    cv_span rest = cv_span_tail(pool, from); /* nothing when out of order */

    if (rest.len > 3 || cv_span_find_nonzero(rest) != rest.len)
        cv_report(x, CV_R_TKINFO_REST, rest.off, rest.len, rest.len, 3);
}

cuvet_status cv_tkinfo_read(cv_ctx *x, cv_span s, const cv_note *n, cv_tkinfo *out)
{
    cv_tkinfo t = { .version = cv_u32_at(s, n->desc) };
    cv_span *const into[] = { &t.object, &t.tool, &t.tool_version, &t.build, &t.command };
    cuvet_status st = CUVET_OK;
    cv_span pool;
    uint64_t want = 0;

    if (n->descsz < TKINFO_FIXED ||
        CV_NEVER(!cv_span_sub(s, n->desc + TKINFO_FIXED, n->descsz - TKINFO_FIXED, &pool)))
        return cv_reject(x, CV_R_TKINFO_SIZE, s.off + n->off + 4, n->descsz, TKINFO_FIXED);
    if (pool.len == 0 || cv_u8_at(pool, pool.len - 1) != 0)
        return cv_reject(x, CV_R_TKINFO_NUL, s.off + n->desc + n->descsz, pool.len, 0);
    for (uint64_t i = 0; st == CUVET_OK && i < CV_COUNT(into); i++) {
        uint64_t word = n->desc + 4 + 4 * i;

        st = take_string(x, pool, s.off + word, cv_u32_at(s, word), &want, CV_AT(into, i));
    }
    if (st != CUVET_OK)
        return st;
    check_rest(x, pool, want);
    *out = t;
    return CUVET_OK;
}

bool cv_tkinfo_peek(cv_span s, cv_span *tool, cv_span *version)
{
    cv_span pool;
    cv_note n;

    return cv_note_at(s, 0, &n) == CV_NOTE_OK && n.descsz >= TKINFO_FIXED &&
           cv_span_sub(s, n.desc + TKINFO_FIXED, n.descsz - TKINFO_FIXED, &pool) &&
           cv_span_cstr(pool, cv_u32_at(s, n.desc + TKINFO_TOOL), tool) &&
           cv_span_cstr(pool, cv_u32_at(s, n.desc + TKINFO_TOOL_VERSION), version);
}

bool cv_tkinfo_arch(const cv_tkinfo *t, uint32_t *sm, char *suffix)
{
    cv_span rest = t->command;

    while (rest.len) {
        cv_span value;
        uint64_t end;

        rest = cv_span_tail(rest, cv_span_find_byte(rest, '-'));
        if ((cv_span_after(rest, "-arch sm_", &value) || cv_span_after(rest, "-arch=sm_", &value)) &&
            cv_span_decimal(value, 0, sm, &end)) {
            uint8_t c = cv_u8_at(value, end);

            *suffix = c == 'a' || c == 'f' ? (char)c : 0;
            return true;
        }
        rest = cv_span_tail(rest, 1);
    }
    return false;
}

/* The only note of its section. */
static cuvet_status single(cv_ctx *x, cv_span s, uint64_t room, cv_note *n)
{
    uint64_t pos = 0;
    cuvet_status st = cv_note_next(x, s, CV_NOTE_CUINFO, &pos, n);

    if (st == CUVET_END || (st == CUVET_OK && (pos != s.len || n->next - n->desc != room)))
        return cv_reject(x, CV_R_CUINFO_SIZE, s.off, s.len, DESC + room);
    return st;
}

cuvet_status cv_cuinfo_read(cv_ctx *x, cv_span s, cv_cuinfo *out, uint32_t *stored)
{
    cv_note n = { 0 };
    cv_cuinfo c;
    cuvet_status st = single(x, s, CUINFO_DESC, &n);

    if (st != CUVET_OK)
        return st;
    c = (cv_cuinfo){ cv_u16_at(s, n.desc), cv_u16_at(s, n.desc + 2), cv_u16_at(s, n.desc + 4), 0 };
    if (c.version > CUINFO_VERSION)
        return cv_reject(x, CV_R_CUINFO_NEW, s.off + n.desc, c.version, CUINFO_VERSION);
    if (c.version < CUINFO_VERSION)
        return cv_reject(x, CV_R_CUINFO_VERSION, s.off + n.desc, c.version, CUINFO_VERSION);
    if (cv_u16_at(s, n.desc + 6) != 0)
        cv_report(x, CV_R_CUINFO_RESERVED, s.off + n.desc + 6, 2, cv_u16_at(s, n.desc + 6), 0);
    *out = c;
    *stored = n.descsz;
    return CUVET_OK;
}

bool cv_cuver_is_cuinfo(cv_span s)
{
    cv_note n;

    return cv_note_at(s, 0, &n) == CV_NOTE_OK && n.descsz == CUINFO_DESC;
}

cuvet_status cv_cuver_read(cv_ctx *x, cv_span s, cv_cuver *out)
{
    cv_note n = { 0 };
    cuvet_status st = single(x, s, CV_NOTE_CUVER_SIZE, &n);
    uint64_t bad;

    if (st != CUVET_OK)
        return st;
    if (n.descsz != CV_NOTE_CUVER_SIZE)
        cv_report(x, CV_R_CUINFO_DESCSZ, s.off + 4, 4, n.descsz, CV_NOTE_CUVER_SIZE);
    bad = n.desc + (cv_u16_at(s, n.desc) != 1 ? 0 : cv_u32_at(s, n.desc + 4) != 1 ? 4 : 8);
    if (cv_u16_at(s, n.desc) != 1 || cv_u32_at(s, n.desc + 4) != 1 || cv_u32_at(s, n.desc + 8) != 1)
        cv_report(x, CV_R_CUVER, s.off + bad, 4, cv_u32_at(s, bad), 1);
    *out = (cv_cuver){ cv_u16_at(s, n.desc), cv_u16_at(s, n.desc + 2) };
    return CUVET_OK;
}

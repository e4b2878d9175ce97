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

cv_note_state cv_note_at(cv_span span, uint64_t pos, cv_note *out)
{
    cv_note note;

    if (pos >= span.len)
        return CV_NOTE_END;
    if (span.len - pos < CV_NOTE_HEAD)
        return CV_NOTE_BROKEN;
    note = (cv_note){ .off = pos, .namesz = cv_u32_at(span, pos), .descsz = cv_u32_at(span, pos + 4) };
    note.type = cv_u32_at(span, pos + 8);
    note.name = pos + CV_NOTE_HEAD;
    note.desc = note.name + cv_sat_align(note.namesz, 4);
    note.next = note.desc + cv_sat_align(note.descsz, 4);
    /* The last descriptor of hand-assembled files ends with the section, without padding. */
    if (note.next > span.len && note.desc + note.descsz == span.len)
        note.next = span.len;
    if (note.next > span.len)
        return CV_NOTE_BROKEN;
    *out = note;
    return CV_NOTE_OK;
}

static cuvet_status cut(cv_ctx *ctx, cv_span span, uint64_t pos)
{
    uint64_t left = span.len - pos, want = CV_NOTE_HEAD;

    if (left >= want)
        want += cv_sat_align(cv_u32_at(span, pos), 4) + cv_sat_align(cv_u32_at(span, pos + 4), 4);
    return cv_reject(ctx, CV_R_NOTE_CUT, span.off + pos, left, want);
}

/* The first byte of the name that is not the owner's; 0x100 stands for the end of either. */
static cuvet_status other_owner(cv_ctx *ctx, cv_span span, const cv_note *note)
{
    cv_span name = { NULL, 0, span.off }, owner = cv_span_of(CV_NOTE_OWNER, NAME_SIZE, 0);
    uint64_t at = 0;

    if (CV_NEVER(!cv_span_sub(span, note->name, note->namesz, &name))) /* cv_note_at() has found its end */
        name.len = 0;
    while (at < name.len && at < NAME_SIZE && cv_u8_at(name, at) == cv_u8_at(owner, at))
        at++;
    return cv_reject(ctx, CV_R_NOTE_OWNER, span.off + note->off, at < name.len ? cv_u8_at(name, at) : 0x100,
                     at < NAME_SIZE ? cv_u8_at(owner, at) : 0x100);
}

cuvet_status cv_note_next(cv_ctx *ctx, cv_span span, uint64_t type, uint64_t *pos, cv_note *out)
{
    cv_note_state st = cv_note_at(span, *pos, out);
    cv_span name;

    if (st == CV_NOTE_END)
        return CUVET_END;
    if (st == CV_NOTE_BROKEN)
        return cut(ctx, span, *pos);
    *pos = out->next;
    if (out->namesz != NAME_SIZE || !cv_span_cstr(span, out->name, &name) ||
        !cv_span_eq_str(name, CV_NOTE_OWNER))
        return other_owner(ctx, span, out);
    if (out->type != type)
        return cv_reject(ctx, CV_R_NOTE_TYPE, span.off + out->off + 8, out->type, type);
    for (uint64_t i = out->desc + out->descsz; i < out->next; i++)
        if (cv_u8_at(span, i) != 0)
            cv_report(ctx, CV_R_NOTE_PADDING, span.off + i, 1, cv_u8_at(span, i), 0);
    return CUVET_OK;
}

#define UNORDERED UINT64_MAX

/* One string of the pool: it must start at *want, where the one before ended. Once out of order, order is not
 * looked at. */
static cuvet_status take_string(cv_ctx *ctx, cv_span pool, uint64_t word_off, uint32_t at, uint64_t *want,
                                cv_span *out)
{
    if (!cv_span_cstr(pool, at, out))
        return cv_reject(ctx, CV_R_TKINFO_OFFSET, word_off, at, pool.len);
    if (*want == UNORDERED)
        return CUVET_OK;
    if (at != *want)
        cv_report(ctx, CV_R_TKINFO_ORDER, word_off, 4, at, *want);
    *want = at == *want ? at + out->len + 1 : UNORDERED;
    return CUVET_OK;
}

/* Behind the last string: the NULs that fill a word, counted in the descriptor. */
static void check_rest(cv_ctx *ctx, cv_span pool, uint64_t from)
{
    cv_span rest = cv_span_tail(pool, from); /* nothing when out of order */

    if (rest.len > 3 || cv_span_find_nonzero(rest) != rest.len)
        cv_report(ctx, CV_R_TKINFO_REST, rest.off, rest.len, rest.len, cv_min(cv_span_find_nonzero(rest), 3));
}

cuvet_status cv_tkinfo_read(cv_ctx *ctx, cv_span span, const cv_note *note, cv_tkinfo *out)
{
    cv_tkinfo tkinfo = { .version = cv_u32_at(span, note->desc) };
    cv_span *const into[] = { &tkinfo.object, &tkinfo.tool, &tkinfo.tool_version, &tkinfo.build,
                              &tkinfo.command };
    cuvet_status st = CUVET_OK;
    cv_span pool;
    uint64_t want = 0;

    if (note->descsz < TKINFO_FIXED ||
        CV_NEVER(!cv_span_sub(span, note->desc + TKINFO_FIXED, note->descsz - TKINFO_FIXED, &pool)))
        return cv_reject(ctx, CV_R_TKINFO_SIZE, span.off + note->off + 4, note->descsz, TKINFO_FIXED);
    if (pool.len == 0 || cv_u8_at(pool, pool.len - 1) != 0)
        return cv_reject(ctx, CV_R_TKINFO_NUL, span.off + note->desc + note->descsz, pool.len, 0);
    for (uint64_t i = 0; st == CUVET_OK && i < CV_COUNT(into); i++) {
        uint64_t word = note->desc + 4 + 4 * i;

        st = take_string(ctx, pool, span.off + word, cv_u32_at(span, word), &want, CV_AT(into, i));
    }
    if (st != CUVET_OK)
        return st;
    check_rest(ctx, pool, want);
    *out = tkinfo;
    return CUVET_OK;
}

bool cv_tkinfo_peek(cv_span span, cv_span *tool, cv_span *version)
{
    cv_span pool;
    cv_note note;

    return cv_note_at(span, 0, &note) == CV_NOTE_OK && note.descsz >= TKINFO_FIXED &&
           !CV_NEVER(!cv_span_sub(span, note.desc + TKINFO_FIXED, note.descsz - TKINFO_FIXED, &pool)) &&
           cv_span_cstr(pool, cv_u32_at(span, note.desc + TKINFO_TOOL), tool) &&
           cv_span_cstr(pool, cv_u32_at(span, note.desc + TKINFO_TOOL_VERSION), version);
}

bool cv_tkinfo_arch(const cv_tkinfo *tkinfo, uint32_t *sm, char *suffix)
{
    cv_span rest = tkinfo->command;

    while (rest.len) {
        cv_span value;
        uint64_t end;

        rest = cv_span_tail(rest, cv_span_find_byte(rest, '-'));
        if ((cv_span_after(rest, "-arch sm_", &value) || cv_span_after(rest, "-arch=sm_", &value)) &&
            cv_span_decimal(value, 0, sm, &end)) {
            uint8_t ch = cv_u8_at(value, end);

            *suffix = ch == 'a' || ch == 'f' ? (char)ch : 0;
            return true;
        }
        rest = cv_span_tail(rest, 1);
    }
    return false;
}

/* The only note of its section. */
static cuvet_status single(cv_ctx *ctx, cv_span span, uint64_t room, cv_note *note)
{
    uint64_t pos = 0;
    cuvet_status st = cv_note_next(ctx, span, CV_NOTE_CUINFO, &pos, note);

    if (st == CUVET_END || (st == CUVET_OK && (pos != span.len || note->next - note->desc != room)))
        return cv_reject(ctx, CV_R_CUINFO_SIZE, span.off,
                         st == CUVET_OK && note->next - note->desc != room ? DESC + note->next - note->desc
                                                                           : span.len,
                         DESC + room);
    return st;
}

cuvet_status cv_cuinfo_read(cv_ctx *ctx, cv_span span, cv_cuinfo *out, uint32_t *stored)
{
    cv_note note = { 0 };
    cv_cuinfo cuinfo;
    cuvet_status st = single(ctx, span, CUINFO_DESC, &note);

    if (st != CUVET_OK)
        return st;
    cuinfo = (cv_cuinfo){ cv_u16_at(span, note.desc), cv_u16_at(span, note.desc + 2),
                          cv_u16_at(span, note.desc + 4), 0 };
    if (cuinfo.version > CUINFO_VERSION)
        return cv_reject(ctx, CV_R_CUINFO_NEW, span.off + note.desc, cuinfo.version, CUINFO_VERSION);
    if (cuinfo.version < CUINFO_VERSION)
        return cv_reject(ctx, CV_R_CUINFO_VERSION, span.off + note.desc, cuinfo.version, CUINFO_VERSION);
    if (cv_u16_at(span, note.desc + 6) != 0)
        cv_report(ctx, CV_R_CUINFO_RESERVED, span.off + note.desc + 6, 2, cv_u16_at(span, note.desc + 6), 0);
    *out = cuinfo;
    *stored = note.descsz;
    return CUVET_OK;
}

bool cv_cuver_is_cuinfo(cv_span span)
{
    cv_note note;

    return cv_note_at(span, 0, &note) == CV_NOTE_OK && note.descsz == CUINFO_DESC;
}

cuvet_status cv_cuver_read(cv_ctx *ctx, cv_span span, cv_cuver *out)
{
    cv_note note = { 0 };
    cuvet_status st = single(ctx, span, CV_NOTE_CUVER_SIZE, &note);
    uint64_t bad;

    if (st != CUVET_OK)
        return st;
    if (note.descsz != CV_NOTE_CUVER_SIZE)
        cv_report(ctx, CV_R_CUINFO_DESCSZ, span.off + 4, 4, note.descsz, CV_NOTE_CUVER_SIZE);
    bad = note.desc + (cv_u16_at(span, note.desc) != 1 ? 0 : cv_u32_at(span, note.desc + 4) != 1 ? 4 : 8);
    if (cv_u16_at(span, note.desc) != 1 || cv_u32_at(span, note.desc + 4) != 1 ||
        cv_u32_at(span, note.desc + 8) != 1)
        cv_report(ctx, CV_R_CUVER, span.off + bad, 4, cv_u32_at(span, bad), 1);
    *out = (cv_cuver){ cv_u16_at(span, note.desc), cv_u16_at(span, note.desc + 2) };
    return CUVET_OK;
}

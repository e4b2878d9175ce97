/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/archive/read.h"

/* Fields of the header: name[16] date[12] uid[6] gid[6] mode[8] size[10] terminator[2], all text, filled up
 * with blanks. Date, owner and mode have no meaning here and are not judged: tools write what they like. */
#define NAME_SIZE UINT64_C(16)
#define SIZE_AT   UINT64_C(48)
#define SIZE_SIZE UINT64_C(10)
#define END_AT    UINT64_C(58)
#define END_VALUE 0x0A60u /* backquote, newline */

cv_ar_kind cv_ar_probe(cv_span head)
{
    if (cv_span_starts(head, "!<arch>\n"))
        return CV_AR_NORMAL;
    return cv_span_starts(head, "!<thin>\n") ? CV_AR_THIN : CV_AR_NONE;
}

cuvet_status cv_ar_read_magic(cv_ctx *x, cv_span head, cv_ar_kind *out)
{
    cv_ar_kind kind = cv_ar_probe(head);

    if (kind == CV_AR_NONE)
        return cv_reject(x, CV_R_AR_MAGIC, head.off, cv_u64_at(head, 0), UINT64_C(0x0A3E686372613C21));
    if (kind == CV_AR_THIN)
        cv_report(x, CV_R_AR_THIN, head.off, CV_AR_MAGIC_SIZE, 0, 0);
    *out = kind;
    return CUVET_OK;
}

/* Digits from 'at', then blanks up to 'end'. False: *bad is the place of the first other byte. At most 15
 * digits fit a field. */
static bool decimal(cv_span s, uint64_t at, uint64_t end, uint64_t *value, uint64_t *bad)
{
    uint64_t i = at, v = 0;

    for (; i < end && cv_u8_at(s, i) >= '0' && cv_u8_at(s, i) <= '9'; i++)
        v = v * 10 + (uint64_t)(cv_u8_at(s, i) - '0');
    *bad = i;
    if (i == at)
        return false;
    for (; i < end && cv_u8_at(s, i) == ' '; i++)
        ;
    *bad = i;
    *value = v;
    return i == end;
}

/* Thin archives of archives add ":offset" to a name reference: the digits end there. */
static uint64_t reference_end(cv_span field)
{
    uint64_t colon = cv_span_find_byte(field, ':'), v, bad;

    return colon < field.len && decimal(field, colon + 1, field.len, &v, &bad) ? colon : field.len;
}

static cv_span short_name(cv_span field)
{
    uint64_t n = cv_span_find_byte(field, '/');

    /* BSD has no slash: the blanks at the end go, those inside stay. */
    if (n == field.len)
        while (n > 0 && cv_u8_at(field, n - 1) == ' ')
            n--;
    field.len = n;
    return field;
}

bool cv_ar_is_symbols(cv_span name)
{
    return cv_span_eq_str(name, "__.SYMDEF") || cv_span_eq_str(name, "__.SYMDEF SORTED") ||
           cv_span_eq_str(name, "__.SYMDEF_64") || cv_span_eq_str(name, "__.SYMDEF_64 SORTED");
}

/* The forms of the name field. */
static cuvet_status read_name(cv_ctx *x, cv_span field, cv_ar_header *h)
{
    uint64_t bad = 0;
    bool ok = true;

    if (cv_span_starts(field, "#1/")) {
        h->entry = CV_AR_BSD_NAME;
        ok = decimal(field, 3, field.len, &h->name_size, &bad);
    } else if (cv_span_starts(field, "// ")) {
        h->entry = CV_AR_NAMES;
    } else if (cv_span_starts(field, "/ ") || cv_span_starts(field, "/SYM64/ ") ||
               cv_span_starts(field, "/<")) {
        /* Index tables: the last form stands in archives of another system and holds no code either. */
        h->entry = CV_AR_SYMBOLS;
    } else if (cv_u8_at(field, 0) == '/') {
        h->entry = CV_AR_LONG_NAME;
        ok = decimal(field, 1, reference_end(field), &h->name_at, &bad);
    } else {
        h->name = short_name(field);
        h->entry = cv_ar_is_symbols(h->name) ? CV_AR_SYMBOLS : CV_AR_MEMBER;
    }
    if (!ok)
        return cv_reject(x, CV_R_AR_NAME_FIELD, field.off + bad, cv_u8_at(field, bad), 0);
    return CUVET_OK;
}

/* Where content and next header are. A sum cannot overflow: size has ten digits. */
static cuvet_status place(cv_ctx *x, cv_span head, uint64_t remaining, cv_ar_header *h)
{
    uint64_t left = remaining - CV_AR_HEADER_SIZE, used = h->stored ? h->size : 0;

    if (h->entry == CV_AR_BSD_NAME && h->name_size > used)
        return cv_reject(x, CV_R_AR_BSD_NAME, head.off, h->name_size, used);
    if (used > left) {
        cv_report(x, CV_R_AR_MEMBER_TRUNCATED, head.off + SIZE_AT, SIZE_SIZE, used, left);
        used = left;
    }
    if (h->name_size > used)
        h->name_size = used;
    h->body = CV_AR_HEADER_SIZE + h->name_size;
    h->body_size = used - h->name_size;
    h->end = CV_AR_HEADER_SIZE + used;
    h->next = cv_min(h->end + (h->end & 1), remaining);
    return CUVET_OK;
}

cuvet_status cv_ar_read_header(cv_ctx *x, cv_span head, uint64_t remaining, cv_ar_kind kind,
                               cv_ar_header *out)
{
    cv_ar_header h = { 0 };
    cv_span field;
    uint64_t bad = 0;
    cuvet_status s;

    if (remaining < CV_AR_HEADER_SIZE || head.len < CV_AR_HEADER_SIZE)
        return cv_reject(x, CV_R_AR_HEADER_TRUNCATED, head.off, cv_min(remaining, head.len),
                         CV_AR_HEADER_SIZE);
    if (cv_u16_at(head, END_AT) != END_VALUE)
        return cv_reject(x, CV_R_AR_TERMINATOR, head.off + END_AT, cv_u16_at(head, END_AT), END_VALUE);
    if (!decimal(head, SIZE_AT, SIZE_AT + SIZE_SIZE, &h.size, &bad))
        return cv_reject(x, CV_R_AR_SIZE, head.off + bad, cv_u8_at(head, bad), 0);
    field = cv_span_tail(head, 0);
    field.len = NAME_SIZE;
    s = read_name(x, field, &h);
    if (s != CUVET_OK)
        return s;
    h.stored = kind != CV_AR_THIN || h.entry == CV_AR_SYMBOLS || h.entry == CV_AR_NAMES;
    s = place(x, head, remaining, &h);
    if (s == CUVET_OK)
        *out = h;
    return s;
}

cuvet_status cv_ar_long_name(cv_ctx *x, cv_span names, uint64_t name_at, uint64_t header_off, cv_span *out)
{
    cv_span name;
    uint64_t n;

    if (name_at >= names.len)
        return cv_reject(x, CV_R_AR_NAME_OFFSET, header_off, name_at, names.len);
    name = cv_span_tail(names, name_at);
    if (name.len > CV_AR_NAME_MAX)
        name.len = CV_AR_NAME_MAX;
    n = cv_span_find_byte(name, '\n');
    if (n == name.len)
        n = cv_span_find_byte(name, 0); /* the other system's tools */
    if (n == name.len)
        return cv_reject(x, CV_R_AR_NAME_END, header_off, name_at, names.len);
    name.len = n > 0 && cv_u8_at(name, n - 1) == '/' ? n - 1 : n;
    *out = name;
    return CUVET_OK;
}

cv_span cv_ar_bsd_name(cv_span stored)
{
    while (stored.len > 0 && cv_u8_at(stored, stored.len - 1) == 0)
        stored.len--;
    return stored;
}

void cv_ar_check_padding(cv_ctx *x, cv_span byte)
{
    uint8_t b = cv_u8_at(byte, 0);

    if (b != '\n' && b != 0)
        cv_report(x, CV_R_AR_PADDING, byte.off, 1, b, '\n');
}

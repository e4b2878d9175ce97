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

cuvet_status cv_ar_read_magic(cv_ctx *ctx, cv_span head, cv_ar_kind *out)
{
    cv_ar_kind kind = cv_ar_probe(head);

    if (kind == CV_AR_NONE)
        return cv_reject(ctx, CV_R_AR_MAGIC, head.off, cv_u64_at(head, 0), CV_AR_MAGIC);
    if (kind == CV_AR_THIN)
        cv_report(ctx, CV_R_AR_THIN, head.off, CV_AR_MAGIC_SIZE, 0, 0);
    *out = kind;
    return CUVET_OK;
}

/* Digits from 'at', then blanks up to 'end'. False: *bad is the place of the first other byte. At most 15
 * digits fit a field. */
static bool decimal(cv_span span, uint64_t at, uint64_t end, uint64_t *value, uint64_t *bad)
{
    uint64_t i = at, sum = 0;

    for (; i < end && cv_u8_at(span, i) >= '0' && cv_u8_at(span, i) <= '9'; i++)
        sum = sum * 10 + (uint64_t)(cv_u8_at(span, i) - '0');
    *bad = i;
    if (i == at)
        return false;
    for (; i < end && cv_u8_at(span, i) == ' '; i++)
        ;
    *bad = i;
    *value = sum;
    return i == end;
}

/* Thin archives of archives add ":offset" to a name reference: the digits end there. */
static uint64_t reference_end(cv_span field)
{
    uint64_t colon = cv_span_find_byte(field, ':'), value, bad;

    return colon < field.len && decimal(field, colon + 1, field.len, &value, &bad) ? colon : field.len;
}

static cv_span short_name(cv_span field)
{
    uint64_t count = cv_span_find_byte(field, '/');

    /* BSD has no slash: the blanks at the end go, those inside stay. */
    if (count == field.len)
        while (count > 0 && cv_u8_at(field, count - 1) == ' ')
            count--;
    field.len = count;
    return field;
}

bool cv_ar_is_symbols(cv_span name)
{
    return cv_span_eq_str(name, "__.SYMDEF") || cv_span_eq_str(name, "__.SYMDEF SORTED") ||
           cv_span_eq_str(name, "__.SYMDEF_64") || cv_span_eq_str(name, "__.SYMDEF_64 SORTED");
}

/* The forms of the name field. */
static cuvet_status read_name(cv_ctx *ctx, cv_span field, cv_ar_header *header)
{
    uint64_t bad = 0;
    bool ok = true;

    if (cv_span_starts(field, "#1/")) {
        header->entry = CV_AR_BSD_NAME;
        ok = decimal(field, 3, field.len, &header->name_size, &bad);
    } else if (cv_span_starts(field, "// ")) {
        header->entry = CV_AR_NAMES;
    } else if (cv_span_starts(field, "/ ") || cv_span_starts(field, "/SYM64/ ") ||
               cv_span_starts(field, "/<")) {
        /* Index tables: the last form stands in archives of another system and holds no code either. */
        header->entry = CV_AR_SYMBOLS;
    } else if (cv_u8_at(field, 0) == '/') {
        header->entry = CV_AR_LONG_NAME;
        ok = decimal(field, 1, reference_end(field), &header->name_at, &bad);
    } else {
        header->name = short_name(field);
        /* With a slash behind it the name is that of any member: the reference links from it. */
        header->entry = cv_u8_at(field, header->name.len) != '/' && cv_ar_is_symbols(header->name)
                            ? CV_AR_SYMBOLS
                            : CV_AR_MEMBER;
    }
    if (!ok)
        return cv_reject(ctx, CV_R_AR_NAME_FIELD, field.off + bad, cv_u8_at(field, bad), 0);
    return CUVET_OK;
}

/* Where content and next header are. A sum cannot overflow: size has ten digits. */
static cuvet_status place(cv_ctx *ctx, cv_span head, uint64_t remaining, cv_ar_header *header)
{
    uint64_t left = remaining - CV_AR_HEADER_SIZE, used = header->stored ? header->size : 0;

    if (header->entry == CV_AR_BSD_NAME && header->name_size > used)
        return cv_reject(ctx, CV_R_AR_BSD_NAME, head.off, header->name_size, used);
    if (used > left) {
        cv_report(ctx, CV_R_AR_MEMBER_TRUNCATED, head.off + SIZE_AT, SIZE_SIZE, used, left);
        used = left;
    }
    if (header->name_size > used)
        header->name_size = used;
    header->body = CV_AR_HEADER_SIZE + header->name_size;
    header->body_size = used - header->name_size;
    header->end = CV_AR_HEADER_SIZE + used;
    header->next = cv_min(header->end + (header->end & 1), remaining);
    return CUVET_OK;
}

cuvet_status cv_ar_read_header(cv_ctx *ctx, cv_span head, uint64_t remaining, cv_ar_kind kind,
                               cv_ar_header *out)
{
    cv_ar_header header = { 0 };
    cv_span field;
    uint64_t bad = 0;
    cuvet_status status;

    if (remaining < CV_AR_HEADER_SIZE || head.len < CV_AR_HEADER_SIZE)
        return cv_reject(ctx, CV_R_AR_HEADER_TRUNCATED, head.off, cv_min(remaining, head.len),
                         CV_AR_HEADER_SIZE);
    if (cv_u16_at(head, END_AT) != END_VALUE)
        return cv_reject(ctx, CV_R_AR_TERMINATOR, head.off + END_AT, cv_u16_at(head, END_AT), END_VALUE);
    if (!decimal(head, SIZE_AT, SIZE_AT + SIZE_SIZE, &header.size, &bad))
        return cv_reject(ctx, CV_R_AR_SIZE, head.off + bad, cv_u8_at(head, bad), 0);
    field = cv_span_tail(head, 0);
    field.len = NAME_SIZE;
    status = read_name(ctx, field, &header);
    if (status != CUVET_OK)
        return status;
    header.stored = kind != CV_AR_THIN || header.entry == CV_AR_SYMBOLS || header.entry == CV_AR_NAMES;
    status = place(ctx, head, remaining, &header);
    if (status == CUVET_OK)
        *out = header;
    return status;
}

cuvet_status cv_ar_long_name(cv_ctx *ctx, cv_span names, uint64_t name_at, uint64_t header_off, cv_span *out)
{
    cv_span name;
    uint64_t count;

    if (name_at >= names.len)
        return cv_reject(ctx, CV_R_AR_NAME_OFFSET, header_off, name_at, names.len);
    name = cv_span_tail(names, name_at);
    if (name.len > CV_AR_NAME_MAX)
        name.len = CV_AR_NAME_MAX;
    count = cv_span_find_byte(name, '\n');
    if (count == name.len)
        count = cv_span_find_byte(name, 0); /* the other system's tools */
    if (count == name.len)
        return cv_reject(ctx, CV_R_AR_NAME_END, header_off, name_at, names.len);
    name.len = count > 0 && cv_u8_at(name, count - 1) == '/' ? count - 1 : count;
    *out = name;
    return CUVET_OK;
}

cv_span cv_ar_bsd_name(cv_span stored)
{
    while (stored.len > 0 && cv_u8_at(stored, stored.len - 1) == 0)
        stored.len--;
    return stored;
}

void cv_ar_check_padding(cv_ctx *ctx, cv_span byte)
{
    uint8_t padding = cv_u8_at(byte, 0);

    if (padding != '\n' && padding != 0)
        cv_report(ctx, CV_R_AR_PADDING, byte.off, 1, padding, '\n');
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* All small inputs: sections of up to 8 bytes of records, each attribute with each format, value and
 * payload that fits into 8 bytes, and note headers whose words are around each border, in sections of all
 * lengths. The models are spec sheets in words of their own. Bytes end where memory does. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "format/note/read.h"
#include "format/tlv/attr.h"
#include "format/tlv/read.h"
#include "support/guard.h"

enum { BASE = 0x5000, MOST = 8 };

static guard_state room;

static void open_room(void)
{
    setup();
    guard_open(&room, 4096);
}

static void close_room(void)
{
    teardown();
    guard_close(&room);
}

static void wrong(const char *what, const uint8_t *bytes, size_t size)
{
    char text[3 * 64 + 1] = "";

    for (size_t i = 0; i < size && i < 64; i++)
        snprintf(text + 3 * i, 4, " %02x", bytes[i]);
    ck_abort_msg("%s:%s", what, text);
}

/* A unit that has seen nothing. */
static void forget(void)
{
    n_diags = 0;
    cv_ctx_unit(&the_ctx, 1024);
}

/* ---- attribute records ---- */

/* What a sheet says of the record at the beginning of 'size' bytes: its size, or 0 and the rule that it
 * breaks. */
static size_t record_of(const uint8_t *bytes, size_t size, cv_rule *rule)
{
    size_t len = 4;

    if (size < 4) {
        *rule = CV_R_TLV_CUT;
        return 0;
    }
    if (bytes[0] != 1 && bytes[0] != 2 && bytes[0] != 3 && bytes[0] != 4) {
        *rule = CV_R_TLV_FORMAT;
        return 0;
    }
    if (bytes[0] == 4)
        len += bytes[2] + 256u * bytes[3];
    if (len > size) {
        *rule = CV_R_TLV_CUT;
        return 0;
    }
    if (len % 4 != 0) {
        *rule = CV_R_TLV_LENGTH;
        return 0;
    }
    *rule = (bytes[0] == 1 && (bytes[2] != 0 || bytes[3] != 0)) || (bytes[0] == 2 && bytes[3] != 0)
                ? CV_R_TLV_PADDING
                : NONE;
    return len;
}

static unsigned value_of(const uint8_t *bytes)
{
    switch (bytes[0]) {
    case 1: return 0;
    case 2: return bytes[2];
    default: return bytes[2] + 256u * bytes[3];
    }
}

static bool is_like(const cv_tlv *tlv, const uint8_t *bytes, size_t at, size_t len)
{
    return tlv->off == at && tlv->next == at + len && tlv->format == bytes[at] &&
           tlv->code == bytes[at + 1] && tlv->value == value_of(bytes + at) &&
           tlv->stored == bytes[at + 2] + 256u * bytes[at + 3] && tlv->payload == at + 4;
}

static void section_of(const uint8_t *bytes, size_t size)
{
    cv_span span = cv_span_of(guard_end(&room, bytes, size), size, BASE);
    cuvet_status st = CUVET_OK;
    uint64_t pos = 0;
    size_t at = 0;

    while (st == CUVET_OK) {
        cv_rule rule = NONE;
        size_t len = at < size ? record_of(bytes + at, size - at, &rule) : 0;
        cuvet_status want = at == size ? CUVET_END : len > 0 ? CUVET_OK : CUVET_E_MALFORMED;
        cv_tlv tlv;

        forget();
        st = cv_tlv_next(&the_ctx, span, &pos, &tlv);
        if (st != want || pos != at + len || n_diags != (rule != NONE))
            wrong("status, place or findings", bytes, size);
        if (rule != NONE &&
            (last.rule != (cuvet_rule)rule || last.file_off < BASE + at || last.file_off >= BASE + size))
            wrong("finding", bytes, size);
        if (st == CUVET_OK && !is_like(&tlv, bytes, at, len))
            wrong("record", bytes, size);
        at += len;
    }
}

/* All formats, lengths around what is there and around the ends of a byte and of two; the second word may
 * be a payload or a record. */
START_TEST(sections)
{
    static const uint8_t CODES[] = { 0, 1, 0x2F, 0x60, 0x61, 0xFF };
    static const uint8_t LOW[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xFC, 0xFF };
    static const uint8_t HIGH[] = { 0, 1, 0xFF };
    static const uint8_t SECOND[][4] = { { 0, 0, 0, 0 }, { 1, 0x2F, 0, 0 }, { 1, 0x2F, 0, 1 },
                                         { 2, 1, 9, 0 }, { 2, 1, 9, 1 },    { 3, 1, 9, 9 },
                                         { 4, 1, 0, 0 }, { 4, 1, 1, 0 },    { 4, 1, 0, 1 },
                                         { 5, 1, 0, 0 }, { 0xFF, 1, 0, 0 }, { 4, 1, 0xFC, 0xFF } };

    for (unsigned format = 0; format < 256; format++)
        for (size_t i = 0; i < sizeof(CODES) * sizeof(LOW) * sizeof(HIGH) * CV_COUNT(SECOND); i++) {
            size_t code = i % sizeof(CODES), low = i / sizeof(CODES) % sizeof(LOW);
            size_t high = i / sizeof(CODES) / sizeof(LOW) % sizeof(HIGH);
            uint8_t bytes[MOST] = { (uint8_t)format, CODES[code], LOW[low], HIGH[high] };
            size_t second = i / sizeof(CODES) / sizeof(LOW) / sizeof(HIGH);

            memcpy(bytes + 4, SECOND[second], 4);
            if (second == 0) /* shorter ones have no second word that could differ */
                for (size_t size = 0; size < 5; size++)
                    section_of(bytes, size);
            for (size_t size = 5; size <= MOST; size++)
                section_of(bytes, size);
        }
}
END_TEST

/* Each code with each format, value or payload: what is accepted is of the format of its row, and what is
 * said lies inside of the record. */
static void attribute_of(const uint8_t *bytes, size_t size)
{
    cv_span span = cv_span_of(guard_end(&room, bytes, size), size, BASE);
    const cv_attr *row = NULL;
    uint64_t pos = 0;
    cv_tlv tlv;

    forget();
    if (cv_tlv_next(&the_ctx, span, &pos, &tlv) != CUVET_OK)
        wrong("no record", bytes, size);
    forget(); /* what is said of padding */
    if (cv_attr_check(&the_ctx, span, &tlv, &row)) {
        if (!row || row->format != bytes[0])
            wrong("accepted", bytes, size);
    } else if (n_diags == 0) {
        wrong("refused without a word", bytes, size);
    }
    if ((row == NULL) != (bytes[1] >= CV_N_ATTRS))
        wrong("row", bytes, size);
    if (n_diags > 0 && (first.file_off < BASE || last.file_off > BASE + size))
        wrong("place of a finding", bytes, size);
}

START_TEST(attributes)
{
    static const uint8_t BYTES[] = { 0, 1, 2, 0x7F, 0x80, 0xFF };

    for (unsigned code = 0; code < 256; code++) {
        for (uint8_t format = 1; format <= 3; format++)
            for (unsigned value = 0; value < 0x10000; value += value < 0x120 || value >= 0xFF00 ? 1 : 0x35)
                attribute_of(
                    (const uint8_t[4]){ format, (uint8_t)code, (uint8_t)value, (uint8_t)(value >> 8) }, 4);
        attribute_of((const uint8_t[4]){ 4, (uint8_t)code, 0, 0 }, 4);
        for (size_t i = 0; i < sizeof(BYTES) * sizeof(BYTES) * sizeof(BYTES) * sizeof(BYTES); i++) {
            uint8_t bytes[MOST] = { 4, (uint8_t)code, 4, 0 };
            size_t rest = i;

            for (size_t j = 4; j < MOST; j++) {
                bytes[j] = BYTES[rest % sizeof(BYTES)];
                rest /= sizeof(BYTES);
            }
            attribute_of(bytes, MOST);
        }
    }
}
END_TEST

/* ---- notes ---- */

static const uint32_t WORDS[] = { 0,          1,          2,          3,          4,          5,
                                  7,          8,          9,          11,         12,         13,
                                  16,         20,         24,         0x7FFFFFFC, 0x7FFFFFFF, 0x80000000,
                                  0x80000001, 0xFFFFFFE0, 0xFFFFFFF0, 0xFFFFFFF3, 0xFFFFFFF4, 0xFFFFFFF5,
                                  0xFFFFFFFC, 0xFFFFFFFD, 0xFFFFFFFE, 0xFFFFFFFF };

static void put_word(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t whole_words(uint64_t count)
{
    return (count + 3) / 4 * 4;
}

/* 12 bytes of header, a name and a descriptor, each filled up to whole words; the last descriptor need not
 * be. */
static void note_of(cv_span span, uint64_t pos, uint64_t namesz, uint64_t descsz)
{
    uint64_t left = span.len - pos, name = 12 + whole_words(namesz), bare = name + descsz,
             full = name + whole_words(descsz);
    uint64_t size = full <= left ? full : bare == left ? left : 0;
    cv_note note = { .off = 77 };
    cv_note_state st = cv_note_at(span, pos, &note);

    ck_assert_msg(st == (left < 12 || size == 0 ? CV_NOTE_BROKEN : CV_NOTE_OK),
                  "%llu bytes at %llu: name %llx, %llx", (unsigned long long)span.len,
                  (unsigned long long)pos, (unsigned long long)namesz, (unsigned long long)descsz);
    if (st == CV_NOTE_OK)
        ck_assert(note.off == pos && note.namesz == namesz && note.descsz == descsz &&
                  note.name == pos + 12 && note.desc == pos + name && note.next == pos + size);
    else
        ck_assert_uint_eq(note.off, 77);
}

START_TEST(notes)
{
    uint8_t bytes[64] = { 0 };
    cv_note note;

    for (size_t i = 0; i < CV_COUNT(WORDS); i++)
        for (size_t j = 0; j < CV_COUNT(WORDS); j++)
            for (size_t pos = 0; pos <= 16; pos += 4) {
                put_word(bytes + pos, WORDS[i]);
                put_word(bytes + pos + 4, WORDS[j]);
                for (size_t size = pos; size <= sizeof(bytes); size++) {
                    cv_span span = cv_span_of(guard_end(&room, bytes, size), size, BASE);

                    if (size > pos)
                        note_of(span, pos, WORDS[i], WORDS[j]);
                    else
                        ck_assert_int_eq(cv_note_at(span, pos, &note), CV_NOTE_END);
                }
                memset(bytes, 0, sizeof(bytes));
            }
}
END_TEST

Suite *suite_exhaustive(void)
{
    Suite *suite = suite_create("exhaustive");
    TCase *tcase = tcase_create("everything small");

    tcase_set_timeout(tcase, 1200); /* for slow machines and slow builds */
    tcase_add_checked_fixture(tcase, open_room, close_room);
    tcase_add_test(tcase, sections);
    tcase_add_test(tcase, attributes);
    tcase_add_test(tcase, notes);
    suite_add_tcase(suite, tcase);
    return suite;
}

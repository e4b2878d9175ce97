/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The decoders through the public interface: what is missing, sizes of structures of other versions, which
 * decoder a section needs, texts of notes, tables, call graphs, marks of symbols and flags. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include <cuvet/cuvet.h>

#define BYTES(array) ((cuvet_bytes){ (array), sizeof(array) })

static const cuvet_bytes NOTHING = { NULL, 0 }, MISSING = { NULL, 4 };

START_TEST(nothing_given)
{
    static const uint8_t BODY[16] = { 0 };
    cuvet_record record = { .size = sizeof(record) };
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_cfi_entry entry = { .size = sizeof(entry) };
    cuvet_cfi_op op = { .size = sizeof(op) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_call call = { .size = sizeof(call) };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_tlv tlv = { .format = CUVET_TLV_PAYLOAD, .payload = MISSING };
    cuvet_note note = { .desc = MISSING };
    cuvet_elf_header header = { .marks = 0 };
    cuvet_elf_symbol symbol = { .info = 0 };
    cuvet_field_pos at = { 0 };
    uint64_t pos = 0;

    ck_assert_int_eq(cuvet_attr_record(NULL, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_attr_record(&tlv, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_attr_record(&tlv, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compat_record(NULL, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compat_record(&tlv, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_note_record(NULL, NOTHING, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_note_record(&note, NOTHING, &record), CUVET_E_NULL);
    note.desc = NOTHING;
    ck_assert_int_eq(cuvet_note_record(&note, MISSING, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_UNIFIED, MISSING, &pos, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_UNIFIED, NOTHING, NULL, &record), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_field_next(NULL, &at, &field), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_field_next(&record, NULL, &field), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_call_next(MISSING, &pos, &kind, &call), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_call_next(NOTHING, &pos, NULL, &call), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_cfi_next(NOTHING, NULL, &pos, &entry), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_cfi_next(MISSING, &header, &pos, &entry), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_cfi_op_next(NULL, &pos, &op), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_symbol_get_info(NULL, &info), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_symbol_get_info(&symbol, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_eflags_next(NULL, &at, &field), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_section_get_content(NULL), CUVET_CONTENT_DATA);
    ck_assert_uint_eq(cuvet_section_get_registers(NULL), 0);
    ck_assert_ptr_null(cuvet_record_text(NULL, 0).p);
    /* Places and contents that no walk has. */
    pos = 17;
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_UNIFIED, BYTES(BODY), &pos, &record), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_cfi_next(BYTES(BODY), &header, &pos, &entry), CUVET_E_USAGE);
    entry.program = BYTES(BODY);
    entry.address_bytes = 8;
    ck_assert_int_eq(cuvet_cfi_op_next(&entry, &pos, &op), CUVET_E_USAGE);
    pos = 0;
    entry.address_bytes = 5;
    ck_assert_int_eq(cuvet_cfi_op_next(&entry, &pos, &op), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_SYMBOLS, BYTES(BODY), &pos, &record), CUVET_E_USAGE);
    ck_assert_uint_eq(pos, 0);
}
END_TEST

/* A structure of an older header gets what it has, one of a newer header zeros, and no size at all is
 * refused. */
START_TEST(other_versions)
{
    static const uint8_t BODY[8] = { 1, 0, 0, 0, 2, 0, 0, 0 };
    struct {
        cuvet_record record;
        uint64_t later;
    } newer = { .record = { .size = sizeof(newer) }, .later = 7 };
    cuvet_record older = { .size = offsetof(cuvet_record, layout), .layout = 99 };
    uint64_t pos = 0;

    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, BYTES(BODY), &pos, &newer.record), CUVET_OK);
    ck_assert_uint_eq(newer.later, 0);
    ck_assert_uint_eq(newer.record.size, sizeof(newer));
    ck_assert_uint_eq(newer.record.bytes.n, 8);
    pos = 0;
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, BYTES(BODY), &pos, &older), CUVET_OK);
    ck_assert_uint_eq(older.layout, 99);
    pos = 0;
    older.size = 0;
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, BYTES(BODY), &pos, &older), CUVET_E_USAGE);
    ck_assert_uint_eq(pos, 0);
}
END_TEST

/* A record that somebody made up is refused, not read. */
START_TEST(records_of_others)
{
    static const uint8_t BODY[8] = { 1 };
    cuvet_record record = { .size = sizeof(record), .flags = CUVET_RECORD_DECODABLE };
    cuvet_field field = { .size = sizeof(field) };
    unsigned refused = 0;

    for (uint32_t layout = 0; layout < 64; layout++) {
        cuvet_field_pos at = { 0 };
        cuvet_status st;

        record.layout = layout;
        record.bytes = MISSING;
        st = cuvet_field_next(&record, &at, &field);
        ck_assert(st == CUVET_E_USAGE || (st == CUVET_OK && field.off < 2));
        record.bytes = BYTES(BODY);
        for (unsigned i = 0; i < 100 && (st = cuvet_field_next(&record, &at, &field)) == CUVET_OK; i++)
            ck_assert_uint_lt(field.off, sizeof(BODY));
        refused += st == CUVET_E_USAGE;
    }
    ck_assert_uint_gt(refused, 40);
}
END_TEST

START_TEST(contents)
{
    static const struct {
        const char *name;
        uint32_t type;
        cuvet_section_content content;
    } ROWS[] = {
        { ".nv.info", 0x70000000, CUVET_CONTENT_ATTRIBUTES },
        { ".nv.merc.nv.info.f", 0x70000083, CUVET_CONTENT_ATTRIBUTES },
        { ".nv.compat", 0x70000086, CUVET_CONTENT_COMPAT },
        { ".note.nv.tkinfo", 7, CUVET_CONTENT_NOTES },
        { ".nv.callgraph", 0x70000001, CUVET_CONTENT_CALLGRAPH },
        { ".nv.prototype", 0x70000002, CUVET_CONTENT_PROTOTYPES },
        { ".nv.rel.action", 0x7000000B, CUVET_CONTENT_REL_ACTIONS },
        { ".nv.uft.entry", 0x70000011, CUVET_CONTENT_UNIFIED },
        { ".nv.udt.entry", 0x70000014, CUVET_CONTENT_UNIFIED },
        { ".nv.capmerc.text.f", 0x70000016, CUVET_CONTENT_CAPSULE },
        { ".symtab", 2, CUVET_CONTENT_SYMBOLS },
        { ".nv.merc.symtab", 0x70000085, CUVET_CONTENT_SYMBOLS },
        { ".strtab", 3, CUVET_CONTENT_STRINGS },
        { ".rela.text.f", 4, CUVET_CONTENT_RELOCATIONS },
        { ".rel.text.f", 9, CUVET_CONTENT_RELOCATIONS },
        { ".nv.merc.rela.text.f", 0x70000082, CUVET_CONTENT_RELOCATIONS },
        { ".symtab_shndx", 18, CUVET_CONTENT_INDICES },
        { ".debug_frame", 1, CUVET_CONTENT_FRAMES },
        { ".nv.merc.debug_frame", 1, CUVET_CONTENT_FRAMES },
        { ".debug_line", 1, CUVET_CONTENT_DATA },
        { ".text.f", 1, CUVET_CONTENT_DATA },
        { ".nv.shared.f", 8, CUVET_CONTENT_NOBITS },
        { "", 0, CUVET_CONTENT_DATA },
        { ".debug_frame", 0x7FFFFFFF, CUVET_CONTENT_DATA },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cuvet_elf_section section = { .type = ROWS[i].type, .info = 0x28000005 };

        section.name = (cuvet_bytes){ (const uint8_t *)ROWS[i].name, strlen(ROWS[i].name) };
        ck_assert_msg(cuvet_section_get_content(&section) == ROWS[i].content, "%s", ROWS[i].name);
        ck_assert_uint_eq(cuvet_section_get_registers(&section), 40);
    }
}
END_TEST

/* The five texts of a tool note: offsets in what stands behind the words. */
START_TEST(note_texts)
{
    static const uint8_t DESC[] = "\2\0\0\0"
                                  "\0\0\0\0"
                                  "\1\0\0\0"
                                  "\4\0\0\0"
                                  "\6\0\0\0"
                                  "\x40\0\0\0"
                                  "\0cc\0v1\0no end";
    static const char *const WANT[] = { "", "cc", "v1", "", "" };
    cuvet_record record = { .size = sizeof(record) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_note note = { .type = 2000, .desc = { DESC, sizeof(DESC) - 1 } };
    cuvet_field_pos at = { 0 };
    unsigned texts = 0;

    ck_assert_int_eq(cuvet_note_record(&note, NOTHING, &record), CUVET_OK);
    ck_assert_uint_eq((record.flags & CUVET_RECORD_DECODABLE) != 0, 1);
    while (cuvet_field_next(&record, &at, &field) == CUVET_OK) {
        cuvet_bytes text;

        if (field.kind != CUVET_FIELD_STRING) {
            ck_assert_uint_eq(field.value, 2);
            continue;
        }
        text = cuvet_record_text(&record, field.value);
        ck_assert_uint_lt(texts, 5);
        ck_assert_uint_eq(text.n, strlen(WANT[texts]));
        ck_assert(text.n == 0 || memcmp(text.p, WANT[texts], text.n) == 0);
        texts++;
    }
    ck_assert_uint_eq(texts, 5);
    ck_assert_uint_eq(cuvet_record_text(&record, 7).n, 6); /* without a NUL it goes to the end */
    ck_assert_uint_eq(cuvet_record_text(&record, UINT64_MAX).n, 0);
    note.desc.n = 23;
    ck_assert_int_eq(cuvet_note_record(&note, NOTHING, &record), CUVET_OK);
    ck_assert_uint_eq((record.flags & CUVET_RECORD_DECODABLE) != 0, 0);
    at = (cuvet_field_pos){ 0 };
    ck_assert_int_eq(cuvet_field_next(&record, &at, &field), CUVET_END);
    /* The number of a device note means one only in the section of device notes. */
    note = (cuvet_note){ .type = 1000, .desc = { DESC, 8 } };
    ck_assert_int_eq(cuvet_note_record(&note, NOTHING, &record), CUVET_OK);
    ck_assert_uint_eq((record.flags & CUVET_RECORD_DECODABLE) != 0, 0);
    ck_assert_int_eq(
        cuvet_note_record(&note, (cuvet_bytes){ (const uint8_t *)".note.nv.cuinfo", 15 }, &record), CUVET_OK);
    ck_assert_uint_eq((record.flags & CUVET_RECORD_DECODABLE) != 0, 1);
}
END_TEST

/* Records of attributes: what is there is told with its place, and what is none ends the walk where it
 * stands. A payload that is no whole number of words is told as well: the next record begins aligned, or it
 * was the last. */
START_TEST(attribute_walk)
{
    static const uint8_t
        GOOD[] = { 1, 0x1B, 0, 0, 2, 7, 9, 1, 4, 3, 5, 0, 1, 2, 3, 4, 5, 0, 0, 0, 3, 8, 1, 2 },
        LAST[] = { 4, 3, 1, 0, 7 }, CUT[] = { 4, 3, 4, 0, 7 }, ODD[] = { 5, 0, 0, 0 }, SHORT[] = { 1, 0, 0 };
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    uint64_t pos = 0;

    ck_assert_int_eq(cuvet_tlv_next(MISSING, &pos, &tlv), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_tlv_next(NOTHING, NULL, &tlv), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_tlv_next(NOTHING, &pos, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_tlv_next(NOTHING, &pos, &tlv), CUVET_END);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_OK);
    ck_assert(tlv.off == 0 && tlv.format == 1 && tlv.code == 0x1B && tlv.payload.n == 0 && pos == 4);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_OK);
    ck_assert(tlv.off == 4 && tlv.format == 2 && tlv.value == 0x109 && pos == 8); /* as it is stored */
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_OK);
    ck_assert(tlv.off == 8 && tlv.payload.n == 5 && tlv.payload.p == GOOD + 12 && pos == 20);
    tlv.size = 7; /* of no version: nothing is told, and the walk stays */
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_E_USAGE);
    ck_assert_uint_eq(pos, 20);
    tlv.size = sizeof(tlv);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_OK);
    ck_assert(tlv.format == 3 && tlv.value == 0x201);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_END);
    pos = sizeof(GOOD) + 1;
    ck_assert_int_eq(cuvet_tlv_next(BYTES(GOOD), &pos, &tlv), CUVET_E_USAGE);
    pos = 0;
    ck_assert_int_eq(cuvet_tlv_next(BYTES(LAST), &pos, &tlv), CUVET_OK);
    ck_assert(tlv.payload.n == 1 && pos == sizeof(LAST));
    pos = 0;
    ck_assert_int_eq(cuvet_tlv_next(BYTES(CUT), &pos, &tlv), CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(ODD), &pos, &tlv), CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_tlv_next(BYTES(SHORT), &pos, &tlv), CUVET_E_MALFORMED);
    ck_assert_uint_eq(pos, 0);
}
END_TEST

/* Notes in the same way; the last descriptor may end with the section. */
START_TEST(note_walk)
{
    static const uint8_t GOOD[] = { 2, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 'a', 0, 0, 0, 1, 2, 3, 4, 5 },
                         CUT[] = { 2, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 'a', 0, 0, 0, 1, 2, 3, 4, 5 };
    cuvet_note note = { .size = sizeof(note) };
    uint64_t pos = 0;

    ck_assert_int_eq(cuvet_note_next(MISSING, &pos, &note), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_note_next(NOTHING, NULL, &note), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_note_next(NOTHING, &pos, NULL), CUVET_E_NULL);
    note.size = 7;
    ck_assert_int_eq(cuvet_note_next(BYTES(GOOD), &pos, &note), CUVET_E_USAGE);
    ck_assert_uint_eq(pos, 0);
    note.size = sizeof(note);
    ck_assert_int_eq(cuvet_note_next(BYTES(GOOD), &pos, &note), CUVET_OK);
    ck_assert(note.type == 7 && note.name.n == 2 && note.name.p == GOOD + 12);
    ck_assert(note.desc.n == 5 && note.desc.p == GOOD + 16 && pos == sizeof(GOOD));
    ck_assert_int_eq(cuvet_note_next(BYTES(GOOD), &pos, &note), CUVET_END);
    pos++;
    ck_assert_int_eq(cuvet_note_next(BYTES(GOOD), &pos, &note), CUVET_E_USAGE);
    pos = 0;
    ck_assert_int_eq(cuvet_note_next(BYTES(CUT), &pos, &note), CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_note_next((cuvet_bytes){ GOOD, 11 }, &pos, &note), CUVET_E_MALFORMED);
    ck_assert_uint_eq(pos, 0);
}
END_TEST

START_TEST(tables)
{
    static const uint8_t ACTIONS[28] = { 0x73, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const uint8_t CAPSULE[14] = { 5, 0, 0, 0, 1, 0, 0, 0, 2 };
    cuvet_record record = { .size = sizeof(record) };
    uint64_t pos = 0;

    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, BYTES(ACTIONS), &pos, &record), CUVET_OK);
    ck_assert_uint_eq(record.number, 0x73);
    ck_assert_uint_eq(record.off, 8);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, BYTES(ACTIONS), &pos, &record), CUVET_OK);
    ck_assert_uint_eq(record.number, 0x74);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, BYTES(ACTIONS), &pos, &record),
                     CUVET_E_MALFORMED);
    ck_assert_uint_eq(pos, 24);
    pos = 0;
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_REL_ACTIONS, (cuvet_bytes){ ACTIONS, 5 }, &pos, &record),
                     CUVET_E_MALFORMED);
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_CAPSULE, BYTES(CAPSULE), &pos, &record), CUVET_OK);
    ck_assert_uint_eq(record.tail.n, 2);
    ck_assert_uint_eq(pos, sizeof(CAPSULE));
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_CAPSULE, BYTES(CAPSULE), &pos, &record), CUVET_END);
    pos = 0;
    ck_assert_int_eq(cuvet_table_next(CUVET_CONTENT_CAPSULE, (cuvet_bytes){ CAPSULE, 11 }, &pos, &record),
                     CUVET_E_MALFORMED);
}
END_TEST

START_TEST(calls)
{
    static const uint32_t WORDS[] = { 9, 8,          0, (uint32_t)-1, 5, 6, 0, (uint32_t)-4,
                                      7, 0x80000000, 0, (uint32_t)-5, 3 };
    static const struct {
        cuvet_call_kind kind;
        uint32_t marker, from, to;
    } WANT[] = {
        { CUVET_CALL_NONE, 0, 9, 8 },
        { CUVET_CALL_DIRECT, 1, 0, (uint32_t)-1 },
        { CUVET_CALL_DIRECT, 0, 5, 6 },
        { CUVET_CALL_POSSIBLE, 1, 0, (uint32_t)-4 },
        { CUVET_CALL_POSSIBLE, 0, 7, 0x80000000 },
        { CUVET_CALL_POSSIBLE, 0, 0, (uint32_t)-5 },
    };
    cuvet_bytes section = { (const uint8_t *)WORDS, sizeof(WORDS) };
    cuvet_call call = { .size = sizeof(call) };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    uint64_t pos = 0;

    for (size_t i = 0; i < sizeof(WANT) / sizeof(WANT[0]); i++) {
        ck_assert_int_eq(cuvet_call_next(section, &pos, &kind, &call), CUVET_OK);
        ck_assert_uint_eq(call.off, 8 * i);
        ck_assert_int_eq(call.kind, WANT[i].kind);
        ck_assert_uint_eq((call.flags & CUVET_CALL_MARKER) != 0, WANT[i].marker);
        ck_assert_uint_eq(call.from, WANT[i].from);
        ck_assert_uint_eq(call.to, WANT[i].to);
    }
    ck_assert_int_eq(cuvet_call_next(section, &pos, &kind, &call), CUVET_E_MALFORMED);
    ck_assert_uint_eq(pos, 48);
}
END_TEST

START_TEST(symbols)
{
    cuvet_symbol_info info = { .size = sizeof(info) };
    cuvet_elf_symbol symbol = { .info = 0x12, .other = 0x12, .shndx = 0xFFF2 };

    ck_assert_int_eq(cuvet_symbol_get_info(&symbol, &info), CUVET_OK);
    ck_assert_uint_eq(info.type, 2);
    ck_assert_uint_eq(info.bind, 1);
    ck_assert_uint_eq(info.flags, CUVET_SYMBOL_FUNCTION | CUVET_SYMBOL_KERNEL);
    ck_assert_str_eq(info.visibility, "hidden");
    ck_assert_ptr_null(info.space);
    ck_assert_str_eq(info.home, "COM");
    symbol = (cuvet_elf_symbol){ .info = 0x0D, .other = 0x5C, .shndx = 3 };
    ck_assert_int_eq(cuvet_symbol_get_info(&symbol, &info), CUVET_OK);
    ck_assert_uint_eq(info.flags, CUVET_SYMBOL_MANAGED | CUVET_SYMBOL_OBSCURE | CUVET_SYMBOL_UNIFIED);
    ck_assert_str_eq(info.space, "shared");
    ck_assert_ptr_null(info.visibility);
    ck_assert_ptr_null(info.home);
}
END_TEST

/* e_flags of sm_90 by tools 13.0, and of sm_75 by those before. */
START_TEST(flags)
{
    static const struct {
        uint8_t osabi;
        uint32_t flags;
        const char *want;
    } ROWS[] = {
        { 0x41, 0x06005A04, "plain code,note section=6," },
        { 0x41, 0xFF006402, "code with Mercury capsules,note section by name," },
        { 0x33, 0x004B054B, "virtual sm=75,unified textures,64-bit addresses," },
        { 0x33, 0x00000000, "virtual sm=0," },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cuvet_elf_header header = { .osabi = ROWS[i].osabi, .flags = ROWS[i].flags };
        cuvet_field field = { .size = sizeof(field) };
        cuvet_field_pos at = { 0 };
        char got[128] = "";
        size_t count = 0;

        while (cuvet_eflags_next(&header, &at, &field) == CUVET_OK)
            count += (size_t)snprintf(got + count, sizeof(got) - count,
                                      field.kind == CUVET_FIELD_FLAG ? "%s," : "%s=%u,", field.name,
                                      (unsigned)field.value);
        ck_assert_str_eq(got, ROWS[i].want);
    }
    ck_assert_str_eq(cuvet_elf_type_name(1), "REL");
    ck_assert_ptr_null(cuvet_elf_type_name(3));
    ck_assert_str_eq(cuvet_tlv_format_name(CUVET_TLV_PAYLOAD), "SVAL");
    ck_assert_str_eq(cuvet_tlv_format_name(0), "?");
}
END_TEST

Suite *suite_decode(void);
Suite *suite_decode(void)
{
    Suite *suite = suite_create("api/decode");
    TCase *tcase = tcase_create("decode");

    tcase_add_test(tcase, nothing_given);
    tcase_add_test(tcase, other_versions);
    tcase_add_test(tcase, records_of_others);
    tcase_add_test(tcase, contents);
    tcase_add_test(tcase, note_texts);
    tcase_add_test(tcase, attribute_walk);
    tcase_add_test(tcase, note_walk);
    tcase_add_test(tcase, tables);
    tcase_add_test(tcase, calls);
    tcase_add_test(tcase, symbols);
    tcase_add_test(tcase, flags);
    suite_add_tcase(suite, tcase);
    return suite;
}

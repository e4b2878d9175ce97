/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ELF records of both classes: what is written is read back the same, what does not fit reads as nothing,
 * what is wrong in the header is named with its place, and the extent follows the tables. */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/elf/write.h"

static cv_elf_header sample_header(bool is32)
{
    return (cv_elf_header){ .is32 = is32,
                            .osabi = 0x41,
                            .abiversion = 8,
                            .type = 2,
                            .machine = 190,
                            .version = 1,
                            .flags = 0x06005A04,
                            .entry = 0x11,
                            .phoff = 0x2222,
                            .shoff = 0x333333,
                            .ehsize = 64,
                            .phentsize = 56,
                            .phnum = 6,
                            .shentsize = 64,
                            .shnum = 12,
                            .shstrndx = 1 };
}

START_TEST(header_round_trip)
{
    bool is32 = _i != 0;
    cv_elf_header header = sample_header(is32), got;
    cv_builder builder, again;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_elf_write_header(&builder, &header);
    ck_assert(!builder.failed);
    ck_assert_uint_eq(builder.len, cv_elf_ehdr_size(is32));
    ck_assert_int_eq(cv_elf_read_header(&the_ctx, cv_builder_span(&builder), &got), CUVET_OK);
    /* Written again, not compared as memory: the structure has padding. */
    cv_builder_init(&again, &the_ctx.mem);
    cv_elf_write_header(&again, &got);
    ck_assert(cv_span_eq(cv_builder_span(&again), cv_builder_span(&builder)));
    cv_builder_free(&again);
    /* The same header one byte shorter is not there at all. */
    cv_span cut = cv_builder_span(&builder);
    cut.len--;
    ck_assert_int_eq(cv_elf_read_header(&the_ctx, cut, &got), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_ELF_SHORT);
    ck_assert_uint_eq(last.want, cv_elf_ehdr_size(is32));
    cv_builder_free(&builder);
    ck_assert_uint_eq(the_ctx.mem.live, 0);
}
END_TEST

START_TEST(records_round_trip)
{
    bool is32 = _i != 0;
    uint64_t big = is32 ? 0xFEDCBA98 : 0xFEDCBA9876543210;
    cv_elf_section sh = { 1, 0x70000016, big - 2, big - 3, big - 4, big - 5, 6, 7, big - 8, big - 9 }, gsh;
    cv_elf_segment ph = { 1, 5, big - 2, big - 3, big - 4, big - 5, big - 6, big - 7 }, gph;
    cv_elf_symbol st = { 9, 0x12, 0x10, 77, big, big - 1 }, gst;
    cv_elf_reloc ra = { big, 0xABCDEF, 0x7F, -3 }, rl = { big, 0xABCDEF, 0x7F, 0 }, gr;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    for (int i = 0; i < 2; i++) { /* the second element: the stride matters */
        cv_builder_free(&builder);
        for (int k = 0; k <= i; k++)
            cv_elf_write_section(&builder, is32, &sh);
        cv_elf_read_section(cv_builder_span(&builder), is32, (uint64_t)i, &gsh);
        ck_assert_mem_eq(&sh, &gsh, sizeof(sh));
    }
    cv_elf_read_section(cv_builder_span(&builder), is32, 2, &gsh);
    ck_assert_uint_eq(gsh.name | gsh.type | gsh.flags | gsh.size | gsh.entsize, 0);
    cv_elf_read_section(cv_builder_span(&builder), is32, UINT64_MAX / 2, &gsh);
    ck_assert_uint_eq(gsh.name | gsh.size, 0);
    cv_builder_free(&builder);
    cv_elf_write_segment(&builder, is32, &ph);
    ck_assert_uint_eq(builder.len, cv_elf_phdr_size(is32));
    cv_elf_read_segment(cv_builder_span(&builder), is32, 0, &gph);
    ck_assert_mem_eq(&ph, &gph, sizeof(ph));
    cv_elf_read_segment(cv_builder_span(&builder), is32, 1, &gph);
    ck_assert_uint_eq(gph.type | gph.memsz, 0);
    cv_builder_free(&builder);
    cv_elf_write_symbol(&builder, is32, &st);
    ck_assert_uint_eq(builder.len, cv_elf_sym_size(is32));
    cv_elf_read_symbol(cv_builder_span(&builder), is32, 0, &gst);
    ck_assert_mem_eq(&st, &gst, sizeof(st));
    ck_assert_uint_eq(cv_elf_sym_type(&gst), 2);
    ck_assert_uint_eq(cv_elf_sym_bind(&gst), 1);
    cv_elf_read_symbol(cv_builder_span(&builder), is32, 1, &gst);
    ck_assert_uint_eq(gst.name | gst.value, 0);
    cv_builder_free(&builder);
    cv_elf_write_reloc(&builder, is32, true, &ra);
    ck_assert_uint_eq(builder.len, cv_elf_rel_size(is32, true));
    cv_elf_read_reloc(cv_builder_span(&builder), is32, true, 0, &gr);
    ck_assert_mem_eq(&ra, &gr, sizeof(ra));
    cv_elf_read_reloc(cv_builder_span(&builder), is32, true, 1, &gr);
    ck_assert_uint_eq(gr.off, 0);
    cv_builder_free(&builder);
    cv_elf_write_reloc(&builder, is32, false, &rl);
    ck_assert_uint_eq(builder.len, cv_elf_rel_size(is32, false));
    cv_elf_read_reloc(cv_builder_span(&builder), is32, false, 0, &gr);
    ck_assert_mem_eq(&rl, &gr, sizeof(rl));
    ck_assert(!builder.failed);
    cv_builder_free(&builder);
}
END_TEST

/* Class 32 has no room for these; nothing may be cut. */
START_TEST(narrow_overflow)
{
    cv_elf_section sh = { .size = UINT64_C(1) << 32 };
    cv_elf_symbol st = { .value = UINT64_C(1) << 32 };
    cv_elf_reloc bad[] = { { 0, 0, 0x100, 0 },
                           { 0, 0x1000000, 0, 0 },
                           { 0, 0, 0, INT64_C(1) << 31 },
                           { 0, 0, 0, -(INT64_C(1) << 31) - 1 },
                           { UINT64_C(1) << 32, 0, 0, 0 } };
    cv_elf_reloc good[] = { { 0xFFFFFFFF, 0xFFFFFF, 0xFF, INT32_MAX }, { 0, 0, 0, INT32_MIN } };
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_elf_write_section(&builder, true, &sh);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    cv_elf_write_symbol(&builder, true, &st);
    ck_assert(builder.failed);
    cv_builder_free(&builder);
    for (size_t i = 0; i < CV_COUNT(bad); i++) {
        cv_elf_write_reloc(&builder, true, true, &bad[i]);
        ck_assert_msg(builder.failed, "relocation %zu was cut", i);
        cv_builder_free(&builder);
    }
    for (size_t i = 0; i < CV_COUNT(good); i++) {
        cv_elf_write_reloc(&builder, true, true, &good[i]);
        ck_assert(!builder.failed);
    }
    cv_builder_free(&builder);
}
END_TEST

static const struct {
    unsigned off;
    uint8_t value;
    cv_rule rule;
    cuvet_status status;
    uint64_t at;
} IDENT[] = {
    { 0, 0x7E, CV_R_ELF_MAGIC, CUVET_E_MALFORMED, 0 },
    { 3, 0x47, CV_R_ELF_MAGIC, CUVET_E_MALFORMED, 0 },
    { 4, 0, CV_R_ELF_CLASS, CUVET_E_MALFORMED, 4 },
    { 4, 3, CV_R_ELF_CLASS, CUVET_E_MALFORMED, 4 },
    { 5, 0, CV_R_ELF_DATA, CUVET_E_MALFORMED, 5 },
    { 5, 3, CV_R_ELF_DATA, CUVET_E_MALFORMED, 5 },
    { 5, 2, CV_R_ELF_BIG_ENDIAN, CUVET_E_UNSUPPORTED, 5 },
    { 6, 0, CV_R_ELF_IDENT_VERSION, CUVET_E_MALFORMED, 6 },
    { 6, 2, CV_R_ELF_IDENT_VERSION, CUVET_E_MALFORMED, 6 },
};

START_TEST(ident)
{
    cv_elf_header header = sample_header(false), got = { .machine = 0x5555 };
    uint8_t bytes[64];
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_elf_write_header(&builder, &header);
    for (unsigned i = 0; i < 64; i++)
        bytes[i] = cv_u8_at(cv_builder_span(&builder), i);
    cv_builder_free(&builder);
    bytes[IDENT[_i].off] = IDENT[_i].value;
    ck_assert_int_eq(cv_elf_read_header(&the_ctx, cv_span_of(bytes, 64, 1000), &got), IDENT[_i].status);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, IDENT[_i].rule);
    ck_assert_uint_eq(last.file_off, 1000 + IDENT[_i].at);
    ck_assert_uint_eq(got.machine, 0x5555); /* untouched */
    ck_assert(!cv_elf_peek(cv_span_of(bytes, 64, 0), &got));
}
END_TEST

/* Every length below the header is too short; below four bytes the magic is not even asked for. */
START_TEST(prefixes)
{
    bool is32 = _i != 0;
    cv_elf_header header = sample_header(is32), got;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    cv_elf_write_header(&builder, &header);
    for (uint64_t count = 0; count < builder.len; count++) {
        cv_span span = cv_builder_span(&builder);

        span.len = count;
        ck_assert_int_eq(cv_elf_read_header(&the_ctx, span, &got), CUVET_E_MALFORMED);
        ck_assert_uint_eq(last.rule, CV_R_ELF_SHORT);
        ck_assert_uint_eq(last.got, count);
        ck_assert(!cv_elf_peek(span, &got));
    }
    cv_builder_free(&builder);
}
END_TEST

START_TEST(padding_is_seen)
{
    uint8_t bytes[64] = { 0x7F, 'E', 'L', 'F', 2, 1, 1 };
    cv_elf_header header;

    for (unsigned i = 9; i < 16; i++) {
        bytes[i] = 1;
        ck_assert(cv_elf_peek(cv_span_of(bytes, 64, 0), &header));
        ck_assert_uint_eq(header.pad_nonzero, i);
        bytes[i] = 0;
    }
    bytes[15] = bytes[10] = 1;
    ck_assert(cv_elf_peek(cv_span_of(bytes, 64, 0), &header));
    ck_assert_uint_eq(header.pad_nonzero, 10);
    bytes[15] = bytes[10] = 0;
    bytes[8] = 0xFF; /* not padding */
    ck_assert(cv_elf_peek(cv_span_of(bytes, 64, 0), &header));
    ck_assert_uint_eq(header.pad_nonzero, 0);
}
END_TEST

/* Header, one page of content, three section headers, one program header, rest bytes. */
static void small_file(cv_builder *builder, bool is32, const cv_elf_section *second, uint16_t shnum,
                       uint64_t zero_size)
{
    cv_elf_header header = sample_header(is32);
    cv_elf_section null = { .size = zero_size };
    cv_elf_section nobits = { .type = CV_SHT_NOBITS, .off = 0x7FFFFFFF, .size = 0x7FFFFFFF };
    cv_elf_segment ph = { .type = 1 };

    header.shoff = 256;
    header.shnum = shnum;
    header.shentsize = (uint16_t)cv_elf_shdr_size(is32);
    header.phentsize = (uint16_t)cv_elf_phdr_size(is32);
    header.phnum = 1;
    header.phoff = 256 + 3 * cv_elf_shdr_size(is32);
    cv_elf_write_header(builder, &header);
    cv_put_zero(builder, 256 - builder->len);
    cv_elf_write_section(builder, is32, &null);
    cv_elf_write_section(builder, is32, second);
    cv_elf_write_section(builder, is32, &nobits);
    cv_elf_write_segment(builder, is32, &ph);
    cv_put_zero(builder, 100);
}

START_TEST(extent)
{
    bool is32 = _i != 0;
    cv_elf_section section = { .type = CV_SHT_PROGBITS, .off = 0x100, .size = 0 };
    uint64_t got = 0, tables;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    small_file(&builder, is32, &section, 3, 0);
    tables = 256 + 3 * cv_elf_shdr_size(is32) + cv_elf_phdr_size(is32);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    ck_assert_uint_eq(got, tables);
    cv_builder_free(&builder);

    section.off = tables + 50; /* a section behind the tables */
    section.size = 50;
    small_file(&builder, is32, &section, 3, 0);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    ck_assert_uint_eq(got, tables + 100);
    cv_builder_free(&builder);

    section.size = 51; /* one byte outside */
    small_file(&builder, is32, &section, 3, 0);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);

    section.type = CV_SHT_NULL; /* says nothing about bytes */
    small_file(&builder, is32, &section, 3, 0);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    ck_assert_uint_eq(got, tables);
    cv_builder_free(&builder);

    section = (cv_elf_section){ .type = CV_SHT_PROGBITS, .off = 0x40, .size = 8 };
    small_file(&builder, is32, &section, 0, 3); /* extended numbering */
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    ck_assert_uint_eq(got, tables);
    cv_builder_free(&builder);

    small_file(&builder, is32, &section, 0, is32 ? 0xFFFFFFFF : UINT64_MAX / 32); /* a product that wraps */
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);

    small_file(&builder, is32, &section, 0, 0); /* no sections */
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    ck_assert_uint_eq(got, tables);
    cv_builder_free(&builder);

    small_file(&builder, is32, &section, 3, 0);
    the_ctx.lim.sections = 2;
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    the_ctx.lim.sections = 3;
    cv_ctx_set_work(&the_ctx, 2);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_ctx_set_work(&the_ctx, 3);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);
    ck_assert_uint_eq(the_ctx.mem.live, 0);
}
END_TEST

/* Header fields that make the extent unknowable. */
START_TEST(extent_refused)
{
    cv_elf_header header = sample_header(false);
    uint64_t got = 77;
    cv_builder builder;

    cv_builder_init(&builder, &the_ctx.mem);
    header.shoff = header.shnum = header.phoff = 0;
    header.phnum = 0;
    cv_elf_write_header(&builder, &header);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got)); /* the header alone */
    ck_assert_uint_eq(got, 64);
    ck_assert(!cv_elf_extent(&the_ctx, cv_span_tail(cv_builder_span(&builder), 1), &got));
    cv_builder_free(&builder);

    header.phnum = 1;
    cv_elf_write_header(&builder, &header);
    cv_put_zero(&builder, 56);
    ck_assert(cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);
    header.phoff = 65; /* one byte too far */
    cv_elf_write_header(&builder, &header);
    cv_put_zero(&builder, 56);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);
    header.phoff = 64;
    header.phentsize = 64;
    cv_elf_write_header(&builder, &header);
    cv_put_zero(&builder, 64);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);

    header.phnum = 0;
    header.shnum = 1;
    header.shoff = 64;
    header.shentsize = 56;
    cv_elf_write_header(&builder, &header);
    cv_put_zero(&builder, 64);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);
    header.shentsize = 64;
    header.shoff = 65;
    cv_elf_write_header(&builder, &header);
    cv_put_zero(&builder, 64);
    ck_assert(!cv_elf_extent(&the_ctx, cv_builder_span(&builder), &got));
    cv_builder_free(&builder);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(cv_elf_section_type_name(CV_SHT_CUDA_CAPMERC), "CUDA_CAPMERC");
    ck_assert_str_eq(cv_elf_section_type_name(0), "NULL");
    ck_assert_ptr_null(cv_elf_section_type_name(0x12345678));
    ck_assert_str_eq(cv_elf_symbol_type_name(13), "CUDA_OBJECT");
    ck_assert_ptr_null(cv_elf_symbol_type_name(9));
    ck_assert_str_eq(cv_elf_symbol_bind_name(2), "WEAK");
    ck_assert_ptr_null(cv_elf_symbol_bind_name(3));
    ck_assert_str_eq(cv_elf_segment_type_name(6), "PHDR");
    ck_assert_ptr_null(cv_elf_segment_type_name(2));
    ck_assert_str_eq(cv_elf_reloc_name(0), "R_CUDA_NONE");
    ck_assert_str_eq(cv_elf_reloc_name(56), "R_CUDA_ABS32_LO_32");
    ck_assert_str_eq(cv_elf_reloc_name(CV_R_CUDA_LAST), "R_CUDA_NONE_LAST");
    ck_assert_ptr_null(cv_elf_reloc_name(CV_R_CUDA_LAST + 1));
    ck_assert_ptr_null(cv_elf_reloc_name(CV_R_MERC_BASE - 1));
    ck_assert_str_eq(cv_elf_reloc_name(CV_R_MERC_BASE), "R_MERCURY_NONE");
    ck_assert_str_eq(cv_elf_reloc_name(CV_R_MERC_LAST), "R_MERCURY_NONE_LAST");
    ck_assert_ptr_null(cv_elf_reloc_name(CV_R_MERC_LAST + 1));
    ck_assert_uint_eq(cv_reloc_of(2)->bytes, 8);
    ck_assert_uint_eq(cv_reloc_of(58)->bytes, 11);
    ck_assert_uint_eq(cv_reloc_of(0)->bytes, 0);
    ck_assert_uint_eq(cv_reloc_of(200)->bytes, 0);
    ck_assert(cv_reloc_of(58)->insn);
    ck_assert(!cv_reloc_of(2)->insn);
    ck_assert(!cv_reloc_of(CV_R_MERC_BASE)->insn);
    ck_assert(cv_reloc_is_twin(CV_R_CUDA_ABS32_LO_32, CV_R_MERCURY_ABS32_LO));
    ck_assert(cv_reloc_is_twin(CV_R_CUDA_ABS32_LO_32, CV_R_MERCURY_ABS_PROG_REL32_LO));
    ck_assert(!cv_reloc_is_twin(CV_R_CUDA_ABS32_LO_32, CV_R_MERCURY_ABS32_HI));
    ck_assert(!cv_reloc_is_twin(CV_R_CUDA_ABS32_LO_32, 5));
    ck_assert(!cv_reloc_is_twin(CV_R_CUDA_ABS32_LO_32, UINT32_MAX));
    ck_assert(cv_reloc_is_twin(CV_R_CUDA_32, CV_R_MERCURY_ABS32)); /* nobody has seen it */
    ck_assert(cv_reloc_is_twin(UINT32_MAX, CV_R_MERCURY_ABS32));
    ck_assert(cv_reloc_is_inner(CV_R_MERCURY_PROG_REL32));
    ck_assert(!cv_reloc_is_inner(CV_R_MERCURY_ABS32));
    ck_assert(!cv_reloc_is_inner(CV_R_MERC_LAST));
    ck_assert(!cv_reloc_is_inner(8));
}
END_TEST

/* A type whose field nobody knows may stand in code of an object if the linker takes it away. */
START_TEST(types_in_code)
{
    static const struct {
        unsigned uses, who, bits;
        bool object, executable;
    } ROWS[] = {
        { CV_USE_DROPS, CV_RELOC_LINKER, 0, true, false }, { CV_USE_DROPS, CV_RELOC_LINKER, 32, true, false },
        { CV_USE_TABLE, CV_RELOC_LINKER, 0, true, true },  { 0, CV_RELOC_LINKER, 32, true, true },
        { 0, CV_RELOC_LINKER, 0, false, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        const cv_reloc_facts facts = { .uses = (uint16_t)ROWS[i].uses,
                                       .who = (uint8_t)ROWS[i].who,
                                       .bits = (uint8_t)ROWS[i].bits,
                                       .insn = true };

        ck_assert_msg(cv_reloc_fits_code(&facts, 16, false) == ROWS[i].object, "row %zu, object", i);
        ck_assert_msg(cv_reloc_fits_code(&facts, 16, true) == ROWS[i].executable, "row %zu, executable", i);
        ck_assert_msg(!cv_reloc_fits_code(&facts, CV_OLD_INSTRUCTION, false), "row %zu, old", i);
    }
}
END_TEST

static bool is_bit(cv_reloc_bits bits, unsigned at)
{
    return ((at < 64 ? bits.low >> at : bits.high >> (at - 64)) & 1) != 0;
}

/* The bits that are asked of all types at once are those of their fields, one by one. */
START_TEST(empty_bits)
{
    for (uint32_t type = 0; type <= CV_R_CUDA_LAST + 1; type++) {
        const cv_reloc_facts *facts = cv_reloc_of(type);
        bool rest = cv_reloc_has(facts, CV_USE_REST), place = rest && cv_reloc_has(facts, CV_USE_TABLE);

        for (unsigned at = 0; at < 128; at++) {
            bool want = (cv_reloc_has(facts, CV_USE_WHOLE) && at >= facts->pos &&
                         at < (unsigned)facts->pos + facts->bits) ||
                        (rest && at >= CV_R_REST_POS && at < CV_R_REST_POS + CV_R_REST_BITS) ||
                        (place && at >= CV_R_PLACE_POS && at < CV_R_PLACE_POS + CV_R_PLACE_BITS);

            ck_assert_msg(is_bit(cv_reloc_empty_of(type), at) == want, "type %u, bit %u", type, at);
        }
    }
    ck_assert_uint_eq(cv_reloc_empty_of(CV_R_CUDA_64).low, UINT64_MAX);
    ck_assert_uint_eq(cv_reloc_empty_of(CV_R_CUDA_64).high, 0);
}
END_TEST

START_TEST(exempt_types)
{
    static const uint32_t EXEMPT[] = { 8, 0x70000007, 0x70000009, 0x7000000A, 0x70000015 };
    unsigned count = 0;

    for (uint32_t total = 0; total < 32; total++)
        count += cv_elf_type_exempt(total) + cv_elf_type_exempt(0x70000000 + total);
    ck_assert_uint_eq(count, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert(cv_elf_type_exempt(EXEMPT[i]));
}
END_TEST

/* Where the readers find a field is where the diagnostics say it is. */
START_TEST(field_places)
{
    for (int is32 = 0; is32 < 2; is32++) {
        for (unsigned flags = CV_SH_NAME; flags <= CV_SH_ENTSIZE; flags++) {
            uint8_t bytes[64] = { 0 };
            cv_elf_section section;
            uint64_t value[10];

            bytes[cv_elf_shdr_at(is32 != 0, (cv_shdr_field)flags)] = 0x5A;
            cv_elf_read_section(cv_span_of(bytes, 64, 0), is32 != 0, 0, &section);
            uint64_t all[10] = { section.name, section.type, section.flags, section.addr,  section.off,
                                 section.size, section.link, section.info,  section.align, section.entsize };
            memcpy(value, all, sizeof(value));
            for (unsigned k = 0; k < 10; k++)
                ck_assert_uint_eq(value[k], k == flags ? 0x5A : 0);
        }
        for (unsigned flags = CV_ST_NAME; flags <= CV_ST_SIZE; flags++) {
            uint8_t bytes[24] = { 0 };
            cv_elf_symbol symbol;

            bytes[cv_elf_sym_at(is32 != 0, (cv_sym_field)flags)] = 0x5A;
            cv_elf_read_symbol(cv_span_of(bytes, 24, 0), is32 != 0, 0, &symbol);
            uint64_t value[6] = { symbol.name,  symbol.info,  symbol.other,
                                  symbol.shndx, symbol.value, symbol.size };
            for (unsigned k = 0; k < 6; k++)
                ck_assert_uint_eq(value[k], k == flags ? 0x5A : 0);
        }
        for (unsigned flags = CV_PH_TYPE; flags <= CV_PH_ALIGN; flags++) {
            uint8_t bytes[56] = { 0 };
            cv_elf_segment segment;

            bytes[cv_elf_phdr_at(is32 != 0, (cv_phdr_field)flags)] = 0x5A;
            cv_elf_read_segment(cv_span_of(bytes, 56, 0), is32 != 0, 0, &segment);
            uint64_t value[8] = { segment.type,  segment.flags,  segment.off,   segment.vaddr,
                                  segment.paddr, segment.filesz, segment.memsz, segment.align };
            for (unsigned k = 0; k < 8; k++)
                ck_assert_uint_eq(value[k], k == flags ? 0x5A : 0);
        }
        for (unsigned flags = CV_EH_TYPE; flags <= CV_EH_SHSTRNDX; flags++) {
            uint8_t bytes[64] = { 0x7F, 'E', 'L', 'F', is32 ? 1 : 2, 1, 1 };
            cv_elf_header header;

            bytes[cv_elf_ehdr_at(is32 != 0, (cv_ehdr_field)flags)] = 0x5A;
            ck_assert(cv_elf_peek(cv_span_of(bytes, 64, 0), &header));
            uint64_t value[13] = { header.type,      header.machine, header.version,   header.entry,
                                   header.phoff,     header.shoff,   header.flags,     header.ehsize,
                                   header.phentsize, header.phnum,   header.shentsize, header.shnum,
                                   header.shstrndx };
            for (unsigned k = 0; k < 13; k++)
                ck_assert_uint_eq(value[k], k == flags ? 0x5A : 0);
        }
    }
}
END_TEST

Suite *suite_test_elf(void)
{
    Suite *suite = suite_create("elf");
    TCase *tcase = tcase_create("elf");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, header_round_trip, 0, 2);
    tcase_add_loop_test(tcase, records_round_trip, 0, 2);
    tcase_add_test(tcase, narrow_overflow);
    tcase_add_loop_test(tcase, ident, 0, (int)CV_COUNT(IDENT));
    tcase_add_loop_test(tcase, prefixes, 0, 2);
    tcase_add_test(tcase, padding_is_seen);
    tcase_add_loop_test(tcase, extent, 0, 2);
    tcase_add_test(tcase, extent_refused);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, types_in_code);
    tcase_add_test(tcase, empty_bits);
    tcase_add_test(tcase, exempt_types);
    tcase_add_test(tcase, field_places);
    suite_add_tcase(suite, tcase);
    return suite;
}

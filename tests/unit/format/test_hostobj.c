/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sections of a host object: names, wrapper records, string lists. */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/hostobj/read.h"

#define OFF 640

static const struct {
    const char *name;
    cv_hostobj_kind kind;
} names[] = {
    { ".nv_fatbin", CV_HOSTOBJ_FATBIN },
    { "__nv_relfatbin", CV_HOSTOBJ_RELFATBIN },
    { ".nvFatBinSegment", CV_HOSTOBJ_WRAPPERS },
    { "__nv_module_id", CV_HOSTOBJ_MODULE_ID },
    { ".nvHRKE", CV_HOSTOBJ_KERNELS },
    { ".nvHRKI", CV_HOSTOBJ_KERNELS },
    { ".nvHRDE", CV_HOSTOBJ_REFS },
    { ".nvHRDI", CV_HOSTOBJ_REFS },
    { ".nvHRCE", CV_HOSTOBJ_REFS },
    { ".nvHRCI", CV_HOSTOBJ_REFS },
    { "", CV_HOSTOBJ_OTHER },
    { ".nvHRXX", CV_HOSTOBJ_OTHER },
    { ".nv_fatbi", CV_HOSTOBJ_OTHER },
    { ".nv_fatbins", CV_HOSTOBJ_OTHER },
    { ".rela.nvFatBinSegment", CV_HOSTOBJ_OTHER },
};

START_TEST(section_names)
{
    ck_assert_int_eq(cv_hostobj_section(cv_span_of(names[_i].name, strlen(names[_i].name), 0)),
                     names[_i].kind);
    ck_assert(names[_i].kind == CV_HOSTOBJ_OTHER || strlen(names[_i].name) < CV_HOSTOBJ_NAME);
}
END_TEST

static const uint8_t RECORDS[48] = {
    0xB1, 0x43, 0x62, 0x46, 1, 0, 0, 0, 0x10, 0x20, 0x30, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0,
    0xB1, 0x43, 0x62, 0x46, 2, 0, 0, 0, 0x11, 0x21, 0x31, 0, 0, 0, 0, 0x41, 8, 7, 6, 5, 4, 3, 2, 1,
};

START_TEST(records)
{
    cv_span span = cv_span_of(RECORDS, 48, OFF);
    cv_wrapper wrapper;

    ck_assert_int_eq(cv_wrapper_read(&the_ctx, span, 0, &wrapper), CUVET_OK);
    ck_assert_uint_eq(wrapper.version, 1);
    ck_assert_uint_eq(wrapper.data, 0x4000000000302010);
    ck_assert_uint_eq(wrapper.second, 0);
    ck_assert_int_eq(cv_wrapper_read(&the_ctx, span, 1, &wrapper), CUVET_OK);
    ck_assert_uint_eq(wrapper.version, 2);
    ck_assert_uint_eq(wrapper.data, 0x4100000000312111);
    ck_assert_uint_eq(wrapper.second, 0x0102030405060708);
    ck_assert_uint_eq(n_diags, 0);
    /* outside of the section there is no record */
    ck_assert_int_eq(cv_wrapper_read(&the_ctx, span, 2, &wrapper), CUVET_E_MALFORMED);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_MAGIC);
    ck_assert(cv_wrapper_at(span, 0) && cv_wrapper_at(span, 24) && !cv_wrapper_at(span, 8) &&
              !cv_wrapper_at(span, 48));
}
END_TEST

static const struct {
    unsigned at;
    uint32_t value;
    cv_rule rule;
    uint64_t off, got, want;
    cuvet_status status;
} bad[] = {
    { 0, 0x466243B0, CV_R_HOST_WRAPPER_MAGIC, 0, 0x466243B0, 0x466243B1, CUVET_E_MALFORMED },
    { 0, 0x1EE55A01, CV_R_HOST_WRAPPER_OLD, 0, 0x1EE55A01, 0x466243B1, CUVET_E_UNSUPPORTED },
    { 4, 0, CV_R_HOST_WRAPPER_VERSION, 4, 0, 1, CUVET_E_MALFORMED },
    { 4, 3, CV_R_HOST_WRAPPER_VERSION, 4, 3, 1, CUVET_E_MALFORMED },
    { 4, 0x101, CV_R_HOST_WRAPPER_VERSION, 4, 0x101, 1, CUVET_E_MALFORMED },
    { 20, 1, CV_R_HOST_WRAPPER_SECOND, 16, UINT64_C(1) << 32, 0, CUVET_OK },
};

START_TEST(records_broken)
{
    uint8_t byte[24];
    cv_wrapper wrapper = { .data = 77 };

    memcpy(byte, RECORDS, 24);
    for (unsigned i = 0; i < 4; i++)
        byte[bad[_i].at + i] = (uint8_t)(bad[_i].value >> 8 * i);
    ck_assert_int_eq(cv_wrapper_read(&the_ctx, cv_span_of(byte, 24, OFF), 0, &wrapper), bad[_i].status);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, bad[_i].rule);
    ck_assert_uint_eq(last.file_off, OFF + bad[_i].off);
    ck_assert_uint_eq(last.got, bad[_i].got);
    ck_assert_uint_eq(last.want, bad[_i].want);
    ck_assert_int_eq(wrapper.data == 77, bad[_i].status != CUVET_OK);
}
END_TEST

START_TEST(string_lists)
{
    ck_assert(cv_hostobj_check_text(&the_ctx, cv_span_of("", 0, OFF), true));
    ck_assert(cv_hostobj_check_text(&the_ctx, cv_span_of("\0", 1, OFF), true));
    ck_assert(cv_hostobj_check_text(&the_ctx, cv_span_of("_Z4kern*\0\0\0ns \xC3\xA4~\0", 18, OFF), true));
    ck_assert(cv_hostobj_check_text(&the_ctx, cv_span_of("cut", 3, OFF), false));
    ck_assert_uint_eq(n_diags, 0);
    ck_assert(!cv_hostobj_check_text(&the_ctx, cv_span_of("a\0cut", 5, OFF), true));
    ck_assert_uint_eq(last.rule, CV_R_HOST_TEXT_END);
    ck_assert_uint_eq(last.file_off, OFF + 4);
    ck_assert_uint_eq(last.got, 't');
    for (unsigned value = 0; value < 256; value++) {
        char right[3] = { 'a', (char)value, 0 };
        bool ok = value == 0 || (value >= 32 && value != 127);

        n_diags = 0;
        ck_assert_int_eq(cv_hostobj_check_text(&the_ctx, cv_span_of(right, 3, OFF), true), ok);
        ck_assert_uint_eq(n_diags, !ok);
        if (!ok) {
            ck_assert_uint_eq(last.rule, CV_R_HOST_TEXT_BYTE);
            ck_assert_uint_eq(last.got, value);
            ck_assert_uint_eq(last.file_off, OFF + 1);
        }
    }
}
END_TEST

/* What a relocation writes, by machine, class and type; sections that hold packed ones; entries of
 * .dynamic. */
START_TEST(relocations)
{
    static const struct {
        uint16_t machine;
        bool is32;
        uint32_t type;
        uint64_t loaded, linked;
    } ROWS[] = {
        { 62, false, 0, 0, 0 },    { 62, false, 1, 8, 8 },    { 62, false, 5, CV_RELOC_COPY, 4 },
        { 62, false, 36, 16, 4 },  { 62, true, 36, 8, 4 },    { 62, true, 1, 4, 8 },
        { 62, false, 33, 8, 8 },   { 183, false, 257, 8, 8 }, { 183, false, 1031, 16, 4 },
        { 183, false, 307, 8, 8 }, { 9, false, 1, 8, 4 },     { 9, true, 1, 4, 4 },
        { 9, true, 0, 0, 0 },
    };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        ck_assert_uint_eq(cv_hostobj_loaded_bytes(ROWS[i].machine, ROWS[i].is32, ROWS[i].type),
                          ROWS[i].loaded);
        ck_assert_uint_eq(cv_hostobj_linked_bytes(ROWS[i].machine, ROWS[i].type), ROWS[i].linked);
    }
    ck_assert(cv_hostobj_packed_relocs(0x40000014) && cv_hostobj_packed_relocs(0x60000001) &&
              cv_hostobj_packed_relocs(0x60000002));
    ck_assert(!cv_hostobj_packed_relocs(4) && !cv_hostobj_packed_relocs(0x60000003));
    ck_assert_uint_eq(cv_hostobj_dyn_size(true), 8);
    ck_assert_uint_eq(cv_hostobj_dyn_size(false), 16);
}
END_TEST

START_TEST(machines)
{
    uint64_t least = 0, most = 0;
    uint32_t absolute = 7, relative = 7;

    cv_hostobj_pages(62, &least, &most);
    ck_assert(least == 4096 && most == 4096);
    cv_hostobj_pages(183, &least, &most);
    ck_assert(least == 4096 && most == 65536);
    cv_hostobj_pages(9, &least, &most);
    ck_assert(least == 4096 && most == 4096);
    ck_assert(!cv_hostobj_pointers(9, &absolute, &relative) && absolute == 7 && relative == 7);
    ck_assert(cv_hostobj_pointers(183, &absolute, &relative) && absolute == 257 && relative == 1027);
}
END_TEST

Suite *suite_format_hostobj(void);
Suite *suite_format_hostobj(void)
{
    Suite *suite = suite_create("format/hostobj");
    TCase *tcase = tcase_create("read");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, section_names, 0, (int)CV_COUNT(names));
    tcase_add_test(tcase, records);
    tcase_add_loop_test(tcase, records_broken, 0, (int)CV_COUNT(bad));
    tcase_add_test(tcase, string_lists);
    tcase_add_test(tcase, relocations);
    tcase_add_test(tcase, machines);
    suite_add_tcase(suite, tcase);
    return suite;
}

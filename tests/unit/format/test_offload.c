/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload binaries: a good one of each version, and one broken field after the other with its rule and place.
 */
#include <check.h>
#include <string.h>

#include "fixture.h"
#include "format/offload/read.h"

#define OFF 1000 /* of the binary in the file */

enum { MOST = 256 };

static uint8_t bytes[MOST];

static void put(uint64_t at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static cv_span span_of(uint64_t size)
{
    return cv_span_of(bytes, size, OFF);
}

/* One image of 13 bytes at 192, 'strings' pairs at 128, of which the first is a triple. Version 1 has 16
 * bytes for each, the others 24. */
static void make(unsigned version, unsigned strings)
{
    static const char TEXT[] = "triple\0nvptx64-nvidia-cuda\0arch\0sm_75";
    unsigned each = version == 1 ? 16 : 24;

    memset(bytes, 0, sizeof(bytes));
    put(0, 4, CV_OFFLOAD_MAGIC);
    put(4, 4, version);
    put(8, 8, 205);
    put(16, 8, 40);
    put(24, 8, version == 1 ? 40 : 1);
    put(40, 2, 1);
    put(42, 2, 2);
    put(48, 8, 128);
    put(56, 8, strings);
    put(64, 8, 192);
    put(72, 8, 13);
    memcpy(bytes + 80, TEXT, sizeof(TEXT));
    for (unsigned i = 0; i < strings && i < 2; i++) {
        put(128 + i * each, 8, i == 0 ? 80 : 107);
        put(136 + i * each, 8, i == 0 ? 87 : 112);
        if (version != 1)
            put(144 + i * each, 8, i == 0 ? 19 : 5);
    }
}

START_TEST(good)
{
    unsigned version = (unsigned)_i + 1;
    cv_offload_header header;
    cv_offload_image image;
    cv_span triple;

    make(version, 2);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 500, &header), CUVET_OK);
    ck_assert_uint_eq(header.version, version);
    ck_assert_uint_eq(header.size, 205);
    ck_assert_uint_eq(header.next, 208);
    ck_assert_uint_eq(header.header_size, version == 3 ? 40 : 32);
    ck_assert_uint_eq(header.n_entries, 1);
    ck_assert(!header.compressed);
    cv_offload_read_entry(&the_ctx, cv_span_of(bytes + 40, 40, OFF + 40), &header, 0, &image);
    ck_assert_uint_eq(image.image_kind, 1);
    ck_assert_uint_eq(image.offload_kind, 2);
    ck_assert_uint_eq(image.off, 192);
    ck_assert_uint_eq(image.size, 13);
    ck_assert_int_eq(cv_offload_read_triple(&the_ctx, span_of(192), &header, &image, &triple), CUVET_OK);
    ck_assert(cv_span_eq_str(triple, "nvptx64-nvidia-cuda"));
    ck_assert_uint_eq(triple.off, OFF + 87);
    ck_assert(cv_offload_is_cuda(&image, triple));
    ck_assert_uint_eq(n_diags, 0);
    /* The last byte ends the file: nothing is behind it. */
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 205, &header), CUVET_OK);
    ck_assert_uint_eq(header.next, 205);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 207, &header), CUVET_OK);
    ck_assert_uint_eq(header.next, 207);
}
END_TEST

static const struct {
    unsigned version, at, width;
    uint64_t value;
    cuvet_status status;
    cv_rule rule;
    unsigned place;
    uint64_t got, want;
} HEADERS[] = {
    { 1, 0, 1, 0x11, CUVET_E_MALFORMED, CV_R_OFFLOAD_MAGIC, 0, 0xAD10FF11, 0xAD10FF10 },
    { 1, 4, 4, 0, CUVET_E_UNSUPPORTED, CV_R_OFFLOAD_VERSION, 4, 0, 3 },
    { 1, 4, 4, 4, CUVET_E_UNSUPPORTED, CV_R_OFFLOAD_VERSION, 4, 4, 3 },
    { 1, 8, 8, 31, CUVET_E_MALFORMED, CV_R_OFFLOAD_SIZE, 8, 31, 500 },
    { 3, 8, 8, 39, CUVET_E_MALFORMED, CV_R_OFFLOAD_SIZE, 8, 39, 500 },
    { 2, 8, 8, 501, CUVET_E_MALFORMED, CV_R_OFFLOAD_SIZE, 8, 501, 500 },
    { 2, 8, 8, UINT64_MAX, CUVET_E_MALFORMED, CV_R_OFFLOAD_SIZE, 8, UINT64_MAX, 500 },
    { 1, 8, 8, 79, CUVET_E_MALFORMED, CV_R_OFFLOAD_ENTRIES, 16, 80, 79 },
    { 1, 16, 8, 31, CUVET_E_MALFORMED, CV_R_OFFLOAD_ENTRIES, 16, 71, 205 },
    { 1, 16, 8, 166, CUVET_E_MALFORMED, CV_R_OFFLOAD_ENTRIES, 16, 206, 205 },
    { 2, 24, 8, 5, CUVET_E_MALFORMED, CV_R_OFFLOAD_ENTRIES, 16, 240, 205 },
    { 2, 24, 8, UINT64_MAX, CUVET_E_MALFORMED, CV_R_OFFLOAD_ENTRIES, 16, UINT64_MAX, 205 },
    { 1, 24, 8, 48, CUVET_OK, CV_R_OFFLOAD_ENTRY_SIZE, 24, 48, 40 },
    { 3, 32, 8, 4096, CUVET_OK, CV_R_OFFLOAD_COMPRESSED, 0, 205, 4096 },
    /* just legal */
    { 1, 8, 8, 80, CUVET_OK, NONE, 0, 0, 0 },
    { 1, 8, 8, 500, CUVET_OK, NONE, 0, 0, 0 },
    { 1, 16, 8, 32, CUVET_OK, NONE, 0, 0, 0 },
    { 1, 16, 8, 165, CUVET_OK, NONE, 0, 0, 0 },
    { 2, 24, 8, 4, CUVET_OK, NONE, 0, 0, 0 },
    { 2, 24, 8, 0, CUVET_OK, NONE, 0, 0, 0 },
    { 2, 32, 8, 4096, CUVET_OK, NONE, 0, 0, 0 },
};

START_TEST(headers)
{
    cv_offload_header header;

    make(HEADERS[_i].version, 2);
    put(HEADERS[_i].at, HEADERS[_i].width, HEADERS[_i].value);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 500, &header), HEADERS[_i].status);
    expect_finding("header", HEADERS[_i].rule, OFF + HEADERS[_i].place, HEADERS[_i].got, HEADERS[_i].want);
    ck_assert((header.size == 0) == (HEADERS[_i].status != CUVET_OK));
    ck_assert(!header.compressed || header.n_entries == 0);
}
END_TEST

START_TEST(headers_cut)
{
    cv_offload_header header;
    uint64_t count = (uint64_t)_i;

    make(3, 2);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(count), count, &header),
                     count < 40 || count < 205 ? CUVET_E_MALFORMED : CUVET_OK);
    if (count < CV_OFFLOAD_HEADER)
        expect_finding("cut", CV_R_OFFLOAD_TRUNCATED, OFF, count, 32);
    else
        expect_finding("cut", CV_R_OFFLOAD_SIZE, OFF + 8, 205, count);
    /* Fewer bytes at hand than there are. */
    n_diags = 0;
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(count), 500, &header),
                     count < 40 ? CUVET_E_MALFORMED : CUVET_OK);
}
END_TEST

static const struct {
    uint64_t off, size;
    bool fits;
    uint64_t end;
} IMAGES[] = {
    { 192, 13, true, 0 },
    { 205, 0, true, 0 },
    { 0, 205, true, 0 },
    { 192, 14, false, 206 },
    { 206, 0, false, 206 },
    { 192, UINT64_MAX, false, UINT64_MAX },
    { UINT64_MAX, 1, false, UINT64_MAX },
};

START_TEST(images)
{
    cv_offload_header header;
    cv_offload_image image;

    make(1, 2);
    put(64, 8, IMAGES[_i].off);
    put(72, 8, IMAGES[_i].size);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 500, &header), CUVET_OK);
    cv_offload_read_entry(&the_ctx, cv_span_of(bytes + 40, 40, OFF + 40), &header, 0, &image);
    expect_finding("image", IMAGES[_i].fits ? NONE : CV_R_OFFLOAD_IMAGE, OFF + 64, IMAGES[_i].end, 205);
    ck_assert_uint_eq(image.off, IMAGES[_i].fits ? IMAGES[_i].off : 205);
    ck_assert_uint_eq(image.size, IMAGES[_i].fits ? IMAGES[_i].size : 0);
}
END_TEST

static const struct {
    unsigned version, at;
    uint64_t value;
    cv_rule rule;
    unsigned place;
    uint64_t got, want;
    const char *triple;
} STRINGS[] = {
    { 1, 48, 161, CV_R_OFFLOAD_STRING, 48, 161, 192, "" },
    { 1, 56, 5, CV_R_OFFLOAD_STRING, 48, 128, 192, "" },
    { 2, 56, 3, CV_R_OFFLOAD_STRING, 48, 128, 192, "" },
    { 1, 56, UINT64_MAX, CV_R_OFFLOAD_STRING, 48, 128, 192, "" },
    { 1, 128, 192, CV_R_OFFLOAD_STRING, 128, 192, 192, "" },
    { 1, 136, UINT64_MAX, CV_R_OFFLOAD_STRING, 128, 80, 192, "" },
    { 2, 144, 106, CV_R_OFFLOAD_STRING, 128, 80, 192, "" },
    { 1, 144, 80, CV_R_OFFLOAD_KEY, 128, 2, 1, "sm_75" },
    { 1, 128, 107, CV_R_OFFLOAD_KEY, 128, 2, 1, "" },
    { 2, 144, 5, NONE, 0, 0, 0, "nvptx" },
    { 2, 144, 4, NONE, 0, 0, 0, "nvpt" },
    { 2, 144, 105, NONE, 0, 0, 0, NULL },
    { 1, 56, 0, NONE, 0, 0, 0, "" },
    { 1, 128, 81, NONE, 0, 0, 0, "" },
};

START_TEST(strings)
{
    cv_offload_header header;
    cv_offload_image image;
    cv_span triple;

    make(STRINGS[_i].version, 2);
    put(STRINGS[_i].at, 8, STRINGS[_i].value);
    ck_assert_int_eq(cv_offload_read_header(&the_ctx, span_of(40), 500, &header), CUVET_OK);
    cv_offload_read_entry(&the_ctx, cv_span_of(bytes + 40, 40, OFF + 40), &header, 0, &image);
    ck_assert_int_eq(cv_offload_read_triple(&the_ctx, span_of(192), &header, &image, &triple),
                     STRINGS[_i].rule == CV_R_OFFLOAD_STRING ? CUVET_E_MALFORMED : CUVET_OK);
    expect_finding("string", STRINGS[_i].rule, OFF + STRINGS[_i].place, STRINGS[_i].got, STRINGS[_i].want);
    if (STRINGS[_i].triple)
        ck_assert(cv_span_eq_str(triple, STRINGS[_i].triple));
    image.offload_kind = 1;
    ck_assert(cv_offload_is_cuda(&image, triple) == cv_span_starts(triple, "nvptx"));
}
END_TEST

static const struct {
    uint16_t image_kind, offload_kind;
    const char *triple;
    bool cuda;
} KINDS[] = {
    { 1, 1, "nvptx64-nvidia-cuda", true },
    { 1, 1, "nvptx", true },
    { 1, 2, "nvpt", false },
    { 3, 2, "amdgcn-amd-amdhsa", false },
    { 1, 2, "", true },
    { 1, 1, "", false },
    { 2, 4, "", false },
    { 3, 1, "", true },
    { 5, 1, "", true },
    { 6, 1, "", false },
    { 4, 4, "amdgcn", false },
};

START_TEST(kinds)
{
    const cv_offload_image image = { .image_kind = KINDS[_i].image_kind,
                                     .offload_kind = KINDS[_i].offload_kind };

    ck_assert(cv_offload_is_cuda(&image, cv_span_of(KINDS[_i].triple, strlen(KINDS[_i].triple), 0)) ==
              KINDS[_i].cuda);
}
END_TEST

/* Ever so many strings may name one long text. */
START_TEST(strings_cost)
{
    static uint8_t many[1 << 16];
    cv_offload_header header = { .version = 1, .string_size = 16, .size = sizeof(many) };
    cv_offload_image image = { .n_strings = 256 };
    cv_span triple;

    memset(many, 'x', sizeof(many));
    memset(many, 0, 256 * 16);
    for (unsigned i = 0; i < 256 * 16; i += 8)
        many[i + 1] = 0x80; /* 32768: all of what follows */
    many[sizeof(many) - 1] = 0;
    ck_assert_int_eq(
        cv_offload_read_triple(&the_ctx, cv_span_of(many, sizeof(many), OFF), &header, &image, &triple),
        CUVET_E_LIMIT);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_LIMIT_WORK);
}
END_TEST

Suite *suite_format_offload(void);
Suite *suite_format_offload(void)
{
    Suite *suite = suite_create("format/offload");
    TCase *tcase = tcase_create("format/offload");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, good, 0, 3);
    tcase_add_loop_test(tcase, headers, 0, (int)CV_COUNT(HEADERS));
    tcase_add_loop_test(tcase, headers_cut, 0, 205);
    tcase_add_loop_test(tcase, images, 0, (int)CV_COUNT(IMAGES));
    tcase_add_loop_test(tcase, strings, 0, (int)CV_COUNT(STRINGS));
    tcase_add_loop_test(tcase, kinds, 0, (int)CV_COUNT(KINDS));
    tcase_add_test(tcase, strings_cost);
    suite_add_tcase(suite, tcase);
    return suite;
}

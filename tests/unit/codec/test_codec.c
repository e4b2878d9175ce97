/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/codec.h"

static cuvet_diag last;
static int n_diags;

static void keep(void *user, const cuvet_diag *diag)
{
    (void)user;
    last = *diag;
    n_diags++;
}

static cv_ctx *make(void)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    ctx.emit = keep;
    n_diags = 0;
    return &ctx;
}

static uint8_t TEXT[5000], PACKED[9000];

static size_t pack_zstd(size_t count)
{
    for (size_t i = 0; i < sizeof(TEXT); i++)
        TEXT[i] = (uint8_t)(i * i % 251 % (i % 7 + 1) + i / 40);
    return ZSTD_compress(PACKED, sizeof(PACKED), TEXT, count, 3);
}

static cuvet_status decode(cv_ctx *ctx, cv_codec_kind kind, size_t packed, uint64_t size, bool check)
{
    cv_codec codec = { 0 };
    cv_block out = { 0 };
    uint8_t *exact = malloc(packed ? packed : 1);
    cuvet_status status;

    memcpy(exact, PACKED, packed);
    status = cv_codec_decode(ctx, &codec, kind, cv_span_of(exact, packed, 64), size, &out);
    if (status == CUVET_OK && check)
        ck_assert(cv_span_eq(out.span, cv_span_of(TEXT, size, 0)));
    cv_block_free(ctx, &out);
    cv_codec_free(ctx, &codec);
    ck_assert_ptr_null(codec.zstd); /* whoever frees it twice frees nothing */
    free(exact);
    ck_assert_uint_eq(ctx->mem.live, 0);
    return status;
}

static void expect(cuvet_status got, cuvet_status want, const char *rule)
{
    ck_assert_int_eq(got, want);
    ck_assert_int_eq(n_diags, 1);
    ck_assert_str_eq(cuvet_rule_get(last.rule)->id, rule);
}

START_TEST(zstd_round_trip)
{
    for (size_t count = 1; count <= sizeof(TEXT); count = count * 3 + 1) {
        cv_ctx *ctx = make();

        ck_assert_int_eq(decode(ctx, CV_CODEC_ZSTD, pack_zstd(count), count, true), CUVET_OK);
        ck_assert_int_eq(n_diags, 0);
    }
}
END_TEST

START_TEST(lz4_round_trip)
{
    for (size_t count = 1; count <= sizeof(TEXT); count = count * 3 + 1) {
        cv_ctx *ctx = make();

        pack_zstd(1);
        ck_assert_int_eq(
            decode(ctx, CV_CODEC_LZ4,
                   (size_t)LZ4_compress_default((char *)TEXT, (char *)PACKED, (int)count, sizeof(PACKED)),
                   count, true),
            CUVET_OK);
    }
}
END_TEST

/* What LZ4 cannot count is refused before a byte of it is read: of the block, and of what comes out. */
START_TEST(lz4_too_large)
{
    static const struct {
        uint64_t in, out;
    } ROWS[] = { { (uint64_t)LZ4_MAX_INPUT_SIZE + 1, 100 },
                 { LZ4_MAX_INPUT_SIZE, (uint64_t)LZ4_MAX_INPUT_SIZE + 1 } };

    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        cv_ctx *ctx = make();
        cv_codec codec = { 0 };
        cv_block out = { 0 };

        ctx->lim.member = UINT64_MAX;
        expect(
            cv_codec_decode(ctx, &codec, CV_CODEC_LZ4, cv_span_of(PACKED, ROWS[i].in, 64), ROWS[i].out, &out),
            CUVET_E_LIMIT, "CV-CODEC-003");
        ck_assert_uint_eq(last.got, (uint64_t)LZ4_MAX_INPUT_SIZE + 1);
        ck_assert_uint_eq(last.want, LZ4_MAX_INPUT_SIZE);
        ck_assert_uint_eq(ctx->mem.live, 0);
    }
}
END_TEST

/* Every prefix of a frame is refused; so is every declared size but the true one. */
START_TEST(prefixes_and_sizes)
{
    size_t count = 700, other_size = pack_zstd(count), len;

    for (size_t i = 1; i < other_size; i++)
        ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, i, count, true), CUVET_E_MALFORMED);
    for (size_t size = 1; size < 1500; size++)
        ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, other_size, size, true),
                         size == count ? CUVET_OK : CUVET_E_MALFORMED);
    len = (size_t)LZ4_compress_default((char *)TEXT, (char *)PACKED, (int)count, sizeof(PACKED));
    for (size_t i = 1; i < len; i++)
        ck_assert_int_ne(decode(make(), CV_CODEC_LZ4, i, count, true), CUVET_OK);
    for (size_t size = 1; size < 1500; size++)
        ck_assert_int_eq(decode(make(), CV_CODEC_LZ4, len, size, true) == CUVET_OK, size == count);
}
END_TEST

START_TEST(every_byte)
{
    static const uint8_t value[] = { 0, 1, 0x7F, 0x80, 0xFF };
    size_t count = 300, size = pack_zstd(count);
    uint8_t saved[400];

    memcpy(saved, PACKED, size);
    for (size_t i = 0; i < size; i++) {
        for (unsigned k = 0; k < 5; k++) {
            PACKED[i] = value[k];
            (void)decode(make(), CV_CODEC_ZSTD, size, count, false); /* any status; no crash, nothing alive */
            PACKED[i] = saved[i];
        }
    }
}
END_TEST

START_TEST(zstd_rules)
{
    size_t count = 300, size = pack_zstd(count);

    PACKED[0] ^= 1;
    expect(decode(make(), CV_CODEC_ZSTD, size, count, true), CUVET_E_MALFORMED, "CV-CODEC-004");
    PACKED[0] ^= 1;
    expect(decode(make(), CV_CODEC_ZSTD, 5, count, true), CUVET_E_MALFORMED, "CV-CODEC-005");
    ck_assert_uint_eq(last.file_off, 64 + 5);
    PACKED[4] |= 8;
    expect(decode(make(), CV_CODEC_ZSTD, size, count, true), CUVET_E_MALFORMED, "CV-CODEC-006");
    ck_assert_uint_eq(last.want, 0);
    PACKED[4] &= 0xF7;
    expect(decode(make(), CV_CODEC_ZSTD, size, count + 1, true), CUVET_E_MALFORMED, "CV-CODEC-007");
    ck_assert_uint_eq(last.got, count);
    PACKED[size] = 0;
    expect(decode(make(), CV_CODEC_ZSTD, size + 1, count, true), CUVET_E_MALFORMED, "CV-CODEC-011");
    PACKED[size - 1] ^= 0xFF;
    (void)decode(make(), CV_CODEC_ZSTD, size, count,
                 false); /* may decode to other bytes: zstd frames carry no checksum here */
    pack_zstd(count);
    expect(decode(make(), CV_CODEC_ZSTD, size, 2 << 20, true), CUVET_E_LIMIT, "CV-LIMIT-002");
    /* single segment, dictionary id of one byte, content size 300 */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x61\x07\x2C\x00", 8);
    expect(decode(make(), CV_CODEC_ZSTD, 20, count, true), CUVET_E_MALFORMED, "CV-CODEC-008");
    /* window descriptor 0x70: 2^24 bytes */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x80\x70\x2C\x01\x00\x00", 10);
    expect(decode(make(), CV_CODEC_ZSTD, 20, count, true), CUVET_E_LIMIT, "CV-LIMIT-004");
    ck_assert_uint_eq(last.got, 16 << 20);
    /* neither a content size nor a single segment */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x00\x58\x01\x00\x00", 9);
    expect(decode(make(), CV_CODEC_ZSTD, 9, count, true), CUVET_E_MALFORMED, "CV-CODEC-007");
    ck_assert_uint_eq(last.got, 0);
    ck_assert_uint_eq(last.want, count);
    /* a block of reserved type */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x20\x2C\x07\x00\x00", 9);
    PACKED[5] = 44;
    expect(decode(make(), CV_CODEC_ZSTD, 12, 44, true), CUVET_E_MALFORMED, "CV-CODEC-010");
}
END_TEST

START_TEST(zstd_checksum_is_a_warning)
{
    ZSTD_CCtx *CCtx = ZSTD_createCCtx();
    size_t size;

    pack_zstd(300);
    ck_assert(!ZSTD_isError(ZSTD_CCtx_setParameter(CCtx, ZSTD_c_checksumFlag, 1)));
    size = ZSTD_compress2(CCtx, PACKED, sizeof(PACKED), TEXT, 300);
    expect(decode(make(), CV_CODEC_ZSTD, size, 300, true), CUVET_OK, "CV-CODEC-009");
    PACKED[size - 1] ^= 1;
    ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, size, 300, true), CUVET_E_MALFORMED);
    ZSTD_freeCCtx(CCtx);
}
END_TEST

/* All forms of the frame header, decoded and compared with the library's own reading of it. */
START_TEST(frame_headers)
{
    for (unsigned desc = 0; desc < 256; desc++) {
        uint8_t byte[18] = {
            0x28, 0xB5, 0x2F, 0xFD, (uint8_t)desc, 0x58, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0
        };
        cv_zstd_frame frame = { 0 };
        cuvet_status status = cv_zstd_read_frame(make(), cv_span_of(byte, sizeof(byte), 0), &frame);
        unsigned long long size = ZSTD_getFrameContentSize(byte, sizeof(byte));

        ck_assert_int_eq(status == CUVET_OK, (desc & 8) == 0);
        if (status != CUVET_OK)
            continue;
        ck_assert_int_eq(frame.has_size, size != ZSTD_CONTENTSIZE_UNKNOWN);
        if (frame.has_size)
            ck_assert_uint_eq(frame.size, size);
        ck_assert_uint_eq(frame.window, frame.single_segment ? frame.size : UINT64_C(2) << 20);
        ck_assert_int_eq(cv_zstd_read_frame(make(), cv_span_of(byte, frame.header_len, 0), &frame), CUVET_OK);
        for (uint64_t count = 0; count < frame.header_len; count++)
            ck_assert_int_eq(cv_zstd_read_frame(make(), cv_span_of(byte, count, 0), &frame),
                             CUVET_E_MALFORMED);
    }
}
END_TEST

/* Windows: 1 KiB doubled as often as the upper bits say, and so many eighths of that more. */
START_TEST(frame_windows)
{
    for (unsigned desc = 0; desc < 256; desc++) {
        uint8_t byte[] = { 0x28, 0xB5, 0x2F, 0xFD, 0, (uint8_t)desc };
        cv_zstd_frame frame = { 0 };
        uint64_t base = UINT64_C(1024) << desc / 8;

        ck_assert_int_eq(cv_zstd_read_frame(make(), cv_span_of(byte, sizeof(byte), 0), &frame), CUVET_OK);
        ck_assert_uint_eq(frame.window, base + base / 8 * (desc % 8));
        ck_assert_uint_eq(frame.header_len, sizeof(byte));
    }
}
END_TEST

/* As large as the limit for members is not above it. */
START_TEST(largest_member)
{
    cv_ctx *ctx = make();

    ctx->lim.member = 300;
    ck_assert_int_eq(decode(ctx, CV_CODEC_ZSTD, pack_zstd(300), 300, true), CUVET_OK);
    ctx->lim.member = 299;
    expect(decode(ctx, CV_CODEC_ZSTD, pack_zstd(300), 300, true), CUVET_E_LIMIT, "CV-LIMIT-002");
    ck_assert_uint_eq(last.want, 299);
}
END_TEST

/* Exactly the limit is not above it, where nothing had to be rounded. */
START_TEST(ratio_at_the_limit)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        size_t count = 0, packed = 1;
        cv_ctx *ctx = make();

        memset(TEXT, 7, sizeof(TEXT));
        while (count < sizeof(TEXT) && (count < 2 * packed || count % packed != 0)) {
            count++;
            packed =
                kind ? (size_t)LZ4_compress_default((char *)TEXT, (char *)PACKED, (int)count, sizeof(PACKED))
                     : ZSTD_compress(PACKED, sizeof(PACKED), TEXT, count, 3);
        }
        ck_assert_uint_eq(count % packed, 0);
        *(kind ? &ctx->lim.lz4_ratio : &ctx->lim.ratio) = count / packed;
        ck_assert_int_eq(decode(ctx, kind ? CV_CODEC_LZ4 : CV_CODEC_ZSTD, packed, count, true), CUVET_OK);
        *(kind ? &ctx->lim.lz4_ratio : &ctx->lim.ratio) = count / packed - 1;
        expect(decode(ctx, kind ? CV_CODEC_LZ4 : CV_CODEC_ZSTD, packed, count, true), CUVET_E_LIMIT,
               kind ? "CV-LIMIT-015" : "CV-LIMIT-003");
        ck_assert_uint_eq(last.got, count / packed);
    }
}
END_TEST

/* What is a little more than the limit is above it. */
START_TEST(ratio_is_rounded_up)
{
    size_t packed = pack_zstd(sizeof(TEXT));
    uint64_t below = sizeof(TEXT) / packed;
    cv_ctx *ctx = make();

    ck_assert_uint_ne(sizeof(TEXT) % packed, 0);
    ctx->lim.ratio = below;
    expect(decode(ctx, CV_CODEC_ZSTD, packed, sizeof(TEXT), true), CUVET_E_LIMIT, "CV-LIMIT-003");
    ctx = make();
    ctx->lim.ratio = below + 1;
    ck_assert_int_eq(decode(ctx, CV_CODEC_ZSTD, packed, sizeof(TEXT), true), CUVET_OK);
}
END_TEST

START_TEST(ratios)
{
    size_t size;
    static uint8_t zeros[400000];

    size = ZSTD_compress(PACKED, sizeof(PACKED), zeros, sizeof(zeros), 19);
    expect(decode(make(), CV_CODEC_ZSTD, size, sizeof(zeros), false), CUVET_E_LIMIT, "CV-LIMIT-003");
    expect(decode(make(), CV_CODEC_LZ4, 10, 2551, false), CUVET_E_LIMIT, "CV-LIMIT-015");
    memset(PACKED, 0xFF, 10);
    expect(decode(make(), CV_CODEC_LZ4, 10, 2550, false), CUVET_E_MALFORMED, "CV-CODEC-001");
    PACKED[0] = 0x10, PACKED[1] = 'x'; /* one literal */
    expect(decode(make(), CV_CODEC_LZ4, 2, 5, false), CUVET_E_MALFORMED, "CV-CODEC-002");
    ck_assert_uint_eq(last.got, 1);
    PACKED[0] = 0; /* none: a block that is whole, and empty */
    expect(decode(make(), CV_CODEC_LZ4, 1, 5, false), CUVET_E_MALFORMED, "CV-CODEC-002");
    ck_assert_uint_eq(last.got, 0);
}
END_TEST

static void *fail_large(void *user, size_t size)
{
    return size > *(size_t *)user ? NULL : malloc(size);
}

static void release(void *user, void *block, size_t size)
{
    (void)user, (void)size;
    free(block);
}

/* Without memory: the status says so, nothing is left. */
START_TEST(no_memory)
{
    for (size_t cap = 1; cap < (1 << 20); cap *= 4) {
        cv_ctx *ctx = make();
        cuvet_alloc alloc = { sizeof(alloc), fail_large, NULL, release, &cap };
        cuvet_status status;
        cuvet_limits lim = ctx->lim;

        cv_ctx_init(ctx, &alloc, &lim);
        status = decode(ctx, CV_CODEC_ZSTD, pack_zstd(4000), 4000, true);
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        lim.live = cap;
        cv_ctx_init(ctx, NULL, &lim);
        status = decode(ctx, CV_CODEC_ZSTD, pack_zstd(4000), 4000, true);
        ck_assert(status == CUVET_OK || status == CUVET_E_LIMIT);
    }
}
END_TEST

START_TEST(huge_lz4)
{
    cv_ctx *ctx = make();
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("roomy", &lim), CUVET_OK);
    lim.lz4_ratio = UINT64_MAX;
    cv_ctx_init(ctx, NULL, &lim);
    ctx->emit = keep;
    expect(decode(ctx, CV_CODEC_LZ4, 10, UINT64_C(0x7E000001), false), CUVET_E_LIMIT, "CV-CODEC-003");
    ck_assert_uint_gt(strlen(cv_codec_lz4_version()), 2);
    ck_assert_uint_gt(strlen(cv_codec_zstd_version()), 2);
}
END_TEST

Suite *suite_codec(void)
{
    Suite *suite = suite_create("codec");
    TCase *tcase = tcase_create("codec");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, zstd_round_trip);
    tcase_add_test(tcase, lz4_round_trip);
    tcase_add_test(tcase, lz4_too_large);
    tcase_add_test(tcase, prefixes_and_sizes);
    tcase_add_test(tcase, every_byte);
    tcase_add_test(tcase, zstd_rules);
    tcase_add_test(tcase, zstd_checksum_is_a_warning);
    tcase_add_test(tcase, frame_headers);
    tcase_add_test(tcase, frame_windows);
    tcase_add_test(tcase, largest_member);
    tcase_add_test(tcase, ratio_at_the_limit);
    tcase_add_test(tcase, ratio_is_rounded_up);
    tcase_add_test(tcase, ratios);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, huge_lz4);
    suite_add_tcase(suite, tcase);
    return suite;
}

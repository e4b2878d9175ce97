/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "codec/codec.h"

static cuvet_diag last;
static int n_diags;

static void keep(void *user, const cuvet_diag *d)
{
    (void)user;
    last = *d;
    n_diags++;
}

static cv_ctx *make(void)
{
    static cv_ctx x;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    x.emit = keep;
    n_diags = 0;
    return &x;
}

static uint8_t TEXT[5000], PACKED[9000];

static size_t pack_zstd(size_t n)
{
    for (size_t i = 0; i < sizeof(TEXT); i++)
        TEXT[i] = (uint8_t)(i * i % 251 % (i % 7 + 1) + i / 40);
    return ZSTD_compress(PACKED, sizeof(PACKED), TEXT, n, 3);
}

static cuvet_status decode(cv_ctx *x, cv_codec_kind k, size_t packed, uint64_t size, bool check)
{
    cv_codec c = { 0 };
    cv_block out = { 0 };
    uint8_t *exact = malloc(packed ? packed : 1);
    cuvet_status s;

    memcpy(exact, PACKED, packed);
    s = cv_codec_decode(x, &c, k, cv_span_of(exact, packed, 64), size, &out);
    if (s == CUVET_OK && check)
        ck_assert(cv_span_eq(out.span, cv_span_of(TEXT, size, 0)));
    cv_block_free(x, &out);
    cv_codec_free(x, &c);
    free(exact);
    ck_assert_uint_eq(x->mem.live, 0);
    return s;
}

static void expect(cuvet_status got, cuvet_status want, const char *rule)
{
    ck_assert_int_eq(got, want);
    ck_assert_int_eq(n_diags, 1);
    ck_assert_str_eq(cuvet_rule_get(last.rule)->id, rule);
}

START_TEST(zstd_round_trip)
{
    for (size_t n = 1; n <= sizeof(TEXT); n = n * 3 + 1) {
        cv_ctx *x = make();

        ck_assert_int_eq(decode(x, CV_CODEC_ZSTD, pack_zstd(n), n, true), CUVET_OK);
        ck_assert_int_eq(n_diags, 0);
    }
}
END_TEST

START_TEST(lz4_round_trip)
{
    for (size_t n = 1; n <= sizeof(TEXT); n = n * 3 + 1) {
        cv_ctx *x = make();

        pack_zstd(1);
        ck_assert_int_eq(
            decode(x, CV_CODEC_LZ4,
                   (size_t)LZ4_compress_default((char *)TEXT, (char *)PACKED, (int)n, sizeof(PACKED)), n,
                   true),
            CUVET_OK);
    }
}
END_TEST

/* Every prefix of a frame is refused; so is every declared size but the true one. */
START_TEST(prefixes_and_sizes)
{
    size_t n = 700, z = pack_zstd(n), l;

    for (size_t i = 1; i < z; i++)
        ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, i, n, true), CUVET_E_MALFORMED);
    for (size_t size = 1; size < 1500; size++)
        ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, z, size, true),
                         size == n ? CUVET_OK : CUVET_E_MALFORMED);
    l = (size_t)LZ4_compress_default((char *)TEXT, (char *)PACKED, (int)n, sizeof(PACKED));
    for (size_t i = 1; i < l; i++)
        ck_assert_int_ne(decode(make(), CV_CODEC_LZ4, i, n, true), CUVET_OK);
    for (size_t size = 1; size < 1500; size++)
        ck_assert_int_eq(decode(make(), CV_CODEC_LZ4, l, size, true) == CUVET_OK, size == n);
}
END_TEST

START_TEST(every_byte)
{
    static const uint8_t V[] = { 0, 1, 0x7F, 0x80, 0xFF };
    size_t n = 300, z = pack_zstd(n);
    uint8_t saved[400];

    memcpy(saved, PACKED, z);
    for (size_t i = 0; i < z; i++) {
        for (unsigned k = 0; k < 5; k++) {
            PACKED[i] = V[k];
            (void)decode(make(), CV_CODEC_ZSTD, z, n, false); /* any status; no crash, nothing alive */
            PACKED[i] = saved[i];
        }
    }
}
END_TEST

START_TEST(zstd_rules)
{
    size_t n = 300, z = pack_zstd(n);

    PACKED[0] ^= 1;
    expect(decode(make(), CV_CODEC_ZSTD, z, n, true), CUVET_E_MALFORMED, "CV-CODEC-004");
    PACKED[0] ^= 1;
    expect(decode(make(), CV_CODEC_ZSTD, 5, n, true), CUVET_E_MALFORMED, "CV-CODEC-005");
    ck_assert_uint_eq(last.file_off, 64 + 5);
    PACKED[4] |= 8;
    expect(decode(make(), CV_CODEC_ZSTD, z, n, true), CUVET_E_MALFORMED, "CV-CODEC-006");
    PACKED[4] &= 0xF7;
    expect(decode(make(), CV_CODEC_ZSTD, z, n + 1, true), CUVET_E_MALFORMED, "CV-CODEC-007");
    PACKED[z] = 0;
    expect(decode(make(), CV_CODEC_ZSTD, z + 1, n, true), CUVET_E_MALFORMED, "CV-CODEC-011");
    PACKED[z - 1] ^= 0xFF;
    (void)decode(make(), CV_CODEC_ZSTD, z, n,
                 false); /* may decode to other bytes: zstd frames carry no checksum here */
    pack_zstd(n);
    expect(decode(make(), CV_CODEC_ZSTD, z, 2 << 20, true), CUVET_E_LIMIT, "CV-LIMIT-002");
    /* single segment, dictionary id of one byte, content size 300 */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x61\x07\x2C\x00", 8);
    expect(decode(make(), CV_CODEC_ZSTD, 20, n, true), CUVET_E_MALFORMED, "CV-CODEC-008");
    /* window descriptor 0x70: 2^24 bytes */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x80\x70\x2C\x01\x00\x00", 10);
    expect(decode(make(), CV_CODEC_ZSTD, 20, n, true), CUVET_E_LIMIT, "CV-LIMIT-004");
    ck_assert_uint_eq(last.got, 16 << 20);
    /* a block of reserved type */
    memcpy(PACKED, "\x28\xB5\x2F\xFD\x20\x2C\x07\x00\x00", 9);
    PACKED[5] = 44;
    expect(decode(make(), CV_CODEC_ZSTD, 12, 44, true), CUVET_E_MALFORMED, "CV-CODEC-010");
}
END_TEST

START_TEST(zstd_checksum_is_a_warning)
{
    ZSTD_CCtx *c = ZSTD_createCCtx();
    size_t z;

    pack_zstd(300);
    ck_assert(!ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)));
    z = ZSTD_compress2(c, PACKED, sizeof(PACKED), TEXT, 300);
    expect(decode(make(), CV_CODEC_ZSTD, z, 300, true), CUVET_OK, "CV-CODEC-009");
    PACKED[z - 1] ^= 1;
    ck_assert_int_eq(decode(make(), CV_CODEC_ZSTD, z, 300, true), CUVET_E_MALFORMED);
    ZSTD_freeCCtx(c);
}
END_TEST

/* All forms of the frame header, decoded and compared with the library's own reading of it. */
START_TEST(frame_headers)
{
    for (unsigned desc = 0; desc < 256; desc++) {
        uint8_t b[18] = { 0x28, 0xB5, 0x2F, 0xFD, (uint8_t)desc, 0x58, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0 };
        cv_zstd_frame f = { 0 };
        cuvet_status s = cv_zstd_read_frame(make(), cv_span_of(b, sizeof(b), 0), &f);
        unsigned long long size = ZSTD_getFrameContentSize(b, sizeof(b));

        ck_assert_int_eq(s == CUVET_OK, (desc & 8) == 0);
        if (s != CUVET_OK)
            continue;
        ck_assert_int_eq(f.has_size, size != ZSTD_CONTENTSIZE_UNKNOWN);
        if (f.has_size)
            ck_assert_uint_eq(f.size, size);
        ck_assert_uint_eq(f.window, f.single_segment ? f.size : UINT64_C(2) << 20);
        for (uint64_t n = 0; n < f.header_len; n++)
            ck_assert_int_eq(cv_zstd_read_frame(make(), cv_span_of(b, n, 0), &f), CUVET_E_MALFORMED);
    }
}
END_TEST

START_TEST(ratios)
{
    size_t z;
    static uint8_t zeros[400000];

    z = ZSTD_compress(PACKED, sizeof(PACKED), zeros, sizeof(zeros), 19);
    expect(decode(make(), CV_CODEC_ZSTD, z, sizeof(zeros), false), CUVET_E_LIMIT, "CV-LIMIT-003");
    expect(decode(make(), CV_CODEC_LZ4, 10, 2551, false), CUVET_E_LIMIT, "CV-LIMIT-015");
    memset(PACKED, 0xFF, 10);
    expect(decode(make(), CV_CODEC_LZ4, 10, 2550, false), CUVET_E_MALFORMED, "CV-CODEC-001");
    PACKED[0] = 0x10, PACKED[1] = 'x'; /* one literal */
    expect(decode(make(), CV_CODEC_LZ4, 2, 5, false), CUVET_E_MALFORMED, "CV-CODEC-002");
}
END_TEST

static void *fail_large(void *user, size_t n)
{
    return n > *(size_t *)user ? NULL : malloc(n);
}

static void release(void *user, void *p, size_t n)
{
    (void)user, (void)n;
    free(p);
}

/* Without memory: the status says so, nothing is left. */
START_TEST(no_memory)
{
    for (size_t cap = 1; cap < (1 << 20); cap *= 4) {
        cv_ctx *x = make();
        cuvet_alloc a = { sizeof(a), fail_large, NULL, release, &cap };
        cuvet_status s;
        cuvet_limits lim = x->lim;

        cv_ctx_init(x, &a, &lim);
        s = decode(x, CV_CODEC_ZSTD, pack_zstd(4000), 4000, true);
        ck_assert(s == CUVET_OK || s == CUVET_E_NOMEM);
        lim.live = cap;
        cv_ctx_init(x, NULL, &lim);
        s = decode(x, CV_CODEC_ZSTD, pack_zstd(4000), 4000, true);
        ck_assert(s == CUVET_OK || s == CUVET_E_LIMIT);
    }
}
END_TEST

START_TEST(huge_lz4)
{
    cv_ctx *x = make();
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("roomy", &lim), CUVET_OK);
    lim.lz4_ratio = UINT64_MAX;
    cv_ctx_init(x, NULL, &lim);
    x->emit = keep;
    expect(decode(x, CV_CODEC_LZ4, 10, UINT64_C(0x7E000001), false), CUVET_E_LIMIT, "CV-CODEC-003");
    ck_assert_uint_gt(strlen(cv_codec_lz4_version()), 2);
    ck_assert_uint_gt(strlen(cv_codec_zstd_version()), 2);
}
END_TEST

Suite *suite_codec(void)
{
    Suite *s = suite_create("codec");
    TCase *t = tcase_create("codec");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, zstd_round_trip);
    tcase_add_test(t, lz4_round_trip);
    tcase_add_test(t, prefixes_and_sizes);
    tcase_add_test(t, every_byte);
    tcase_add_test(t, zstd_rules);
    tcase_add_test(t, zstd_checksum_is_a_warning);
    tcase_add_test(t, frame_headers);
    tcase_add_test(t, ratios);
    tcase_add_test(t, no_memory);
    tcase_add_test(t, huge_lz4);
    suite_add_tcase(s, t);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Host ELFs with more wrappers and relocations than are read at once, and the last values that are still
 * legal. */
#include <check.h>
#include <stdlib.h>

#include "unit/host/host_image.h"

/* More than one part of records and of relocations of either kind. */
#define MANY      9001
#define M_FATBIN  UINT64_C(0x800)
#define M_SEGMENT (M_FATBIN + 16 * MANY)
#define M_RELOCS  (M_SEGMENT + 24 * MANY)
#define M_SIZE    (M_RELOCS + 24 * MANY)

static uint8_t *big;

static void store(uint64_t at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        big[at + i] = (uint8_t)(value >> 8 * i);
}

static void make_many(bool shared, uint64_t addr)
{
    big = calloc(1, M_SIZE);
    ck_assert_ptr_nonnull(big);
    memcpy(big, img, SIZE);
    memset(big + SEGMENT, 0, 48);
    store(SH(S_FATBIN, OFFSET), 8, M_FATBIN);
    store(SH(S_FATBIN, SIZ), 8, 16 * MANY);
    store(SH(S_SEGMENT, OFFSET), 8, M_SEGMENT);
    store(SH(S_SEGMENT, SIZ), 8, 24 * MANY);
    store(SH(S_RELA, OFFSET), 8, M_RELOCS);
    store(SH(S_RELA, SIZ), 8, 24 * MANY);
    if (shared) {
        store(SH(S_FATBIN, ADDR), 8, addr + M_FATBIN);
        store(SH(S_SEGMENT, ADDR), 8, addr + M_SEGMENT);
        store(PHDRS + 32, 8, M_SIZE);
        store(DYNAMIC + 8, 8, addr + M_RELOCS);
        store(DYNAMIC + 24, 8, 24 * MANY);
    }
    for (uint64_t i = 0; i < MANY; i++) {
        store(M_SEGMENT + 24 * i, 4, 0x466243B1);
        store(M_SEGMENT + 24 * i + 4, 4, 1);
        store(M_RELOCS + 24 * i, 8, (shared ? addr + M_SEGMENT : 0) + 24 * i + 8);
        store(M_RELOCS + 24 * i + 8, 4, shared ? 8 : 1);
        store(M_RELOCS + 24 * i + 12, 4, shared ? 0 : 1);
        store(M_RELOCS + 24 * i + 16, 8, (shared ? addr + M_FATBIN : 0) + 16 * i);
    }
}

static void expect_many(void)
{
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(cuvet_source_memory(big, M_SIZE, &src), CUVET_OK);
    cv_ctx_unit(&ctx, M_SIZE);
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, M_SIZE, &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    ck_assert_uint_eq(host.wrappers.count, MANY);
    ck_assert_uint_eq(host.named.count, MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        const cv_host_wrapper *wrapper = cv_host_wrappers_at(&host.wrappers, i);

        ck_assert_uint_eq(wrapper->off, M_SEGMENT + 24 * i);
        ck_assert_uint_eq(wrapper->target, M_FATBIN + 16 * i);
        ck_assert_uint_eq(*cv_u64s_at(&host.named, i), wrapper->target);
    }
    free(big);
    done();
}

START_TEST(many_in_an_object)
{
    make_object();
    make_many(false, 0);
    expect_many();
}
END_TEST

START_TEST(many_in_a_shared_object)
{
    make_shared();
    make_many(true, VADDR);
    if (_i == 1)
        store(40, 8, 0); /* the search finds the same */
    expect_many();
}
END_TEST

/* The wrong relocation of a later part is named at its own place. */
START_TEST(place_in_a_later_part)
{
    cuvet_source src = { .size = sizeof(src) };
    uint64_t at = MANY - 2;

    if (_i)
        make_shared();
    else
        make_object();
    make_many(_i != 0, VADDR);
    store(M_RELOCS + 24 * at + 8, 4, 99);
    store(M_SEGMENT + 24 * (at - 1) + 4, 4, 9);
    ck_assert_int_eq(cuvet_source_memory(big, M_SIZE, &src), CUVET_OK);
    cv_ctx_unit(&ctx, M_SIZE);
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, M_SIZE, &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 2);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_VERSION);
    ck_assert_uint_eq(last.file_off, M_SEGMENT + 24 * (at - 1) + 4);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_RELOC_TYPE], 1);
    ck_assert_uint_eq(host.named.count, MANY - 2);
    done();
    /* alone, so that it is the first */
    start();
    store(M_SEGMENT + 24 * (at - 1) + 4, 4, 1);
    cv_ctx_unit(&ctx, M_SIZE);
    ck_assert_int_eq(cv_host_read(&ctx, &src, 0, M_SIZE, &host), CUVET_OK);
    ck_assert_uint_eq(n_diags, 1);
    ck_assert_uint_eq(last.rule, CV_R_HOST_RELOC_TYPE);
    ck_assert_uint_eq(last.file_off, M_RELOCS + 24 * at);
    free(big);
    done();
}
END_TEST

/* A limit that is just reached is no finding, one less names the place. */
START_TEST(limits_just_reached)
{
    static const uint64_t wrappers_end = SEGMENT + 24;

    for (int shared = 0; shared < 2; shared++) {
        start();
        if (shared)
            make_shared();
        else
            make_object();
        ctx.lim.sections = S_COUNT;
        ctx.lim.containers = 2;
        ctx.lim.symbols = 3;
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert_uint_eq(n_diags, 0);
        done();
        start();
        ctx.lim.containers = 1;
        ck_assert_int_eq(read_size(SIZE), CUVET_E_LIMIT);
        ck_assert_uint_eq(last.file_off, BASE + wrappers_end);
        ck_assert_uint_eq(last.got, 2);
        done();
        start();
        ctx.lim.symbols = 2;
        ck_assert_int_eq(read_size(SIZE), CUVET_E_LIMIT);
        ck_assert_uint_eq(last.file_off, BASE + RELOCS);
        ck_assert_uint_eq(last.got, 3);
        done();
    }
}
END_TEST

static const struct {
    const char *what;
    bool shared;
    unsigned at, width;
    uint64_t value;
    uint64_t target; /* of one of the wrappers; 0: it leads nowhere */
} borders[] = {
    { "last byte behind a symbol", false, RELOCS + 24 + 16, 8, 0x2F, FATBIN + 0x3F },
    { "first byte behind the section", false, RELOCS + 24 + 16, 8, 0x30, 0 },
    { "symbol on the last byte", false, SYMBOLS + 72 + 8, 8, 0x3F, 0 },
    { "first byte of a segment", true, RELOCS + 24 + 16, 8, VADDR, 0x1000000 },
    { "before the segment", true, RELOCS + 24 + 16, 8, VADDR - 1, 0 },
    { "last byte of a segment", true, RELOCS + 24 + 16, 8, VADDR + SIZE - 1, SIZE - 1 },
    { "behind the segment", true, RELOCS + 24 + 16, 8, VADDR + SIZE, 0 },
    { "relocations end with the segment", true, DYNAMIC + 24, 8, SIZE - RELOCS, FATBIN },
    { "relocations pass the segment", true, DYNAMIC + 24, 8, SIZE - RELOCS + 1, 0 },
};

START_TEST(border)
{
    uint64_t want = borders[_i].target == 0x1000000 ? BASE : BASE + borders[_i].target;

    if (borders[_i].shared)
        make_shared();
    else
        make_object();
    put(borders[_i].at, borders[_i].width, borders[_i].value);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    if (borders[_i].target == 0) {
        ck_assert_msg(ctx.seen[CV_R_HOST_WRAPPER_TARGET] + ctx.seen[CV_R_HOST_WRAPPER_NULL] == 1, "%s",
                      borders[_i].what);
        ck_assert_uint_eq(host.named.count, 1);
    } else {
        ck_assert_msg(n_diags == 0 && cv_host_names(&host, want), "%s", borders[_i].what);
    }
    done();
}
END_TEST

/* The program header table may be the last thing in the file. */
START_TEST(program_headers_at_the_end)
{
    make_shared();
    memcpy(img + SIZE - 112, img + PHDRS, 112);
    memset(img + PHDRS, 0, 112);
    put(32, 8, SIZE - 112);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(n_diags, 0);
    expect_named(2, FATBIN, FATBIN + 0x20);
    done();
}
END_TEST

Suite *suite_model_host_many(void);
Suite *suite_model_host_many(void)
{
    Suite *suite = suite_create("host/host_many");
    TCase *tcase = tcase_create("many");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, many_in_an_object);
    tcase_add_loop_test(tcase, many_in_a_shared_object, 0, 2);
    tcase_add_loop_test(tcase, place_in_a_later_part, 0, 2);
    tcase_add_test(tcase, limits_just_reached);
    tcase_add_loop_test(tcase, border, 0, sizeof(borders) / sizeof(borders[0]));
    tcase_add_test(tcase, program_headers_at_the_end);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the header of a member says against what its content is, where no tool of today writes such a pair. */
#include <check.h>
#include <string.h>

#include "intake/kind_fatbin_agree.h"

static cv_ctx ctx;
static cuvet_diag last;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    last = *diag;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    cv_ctx_unit(&ctx, CV_KIB);
    ctx.emit = emit;
}

/* What begins like another kind: a member whose code is not chosen yet is a device ELF, and nothing else. */
START_TEST(kinds)
{
    static const struct {
        uint16_t kind;
        uint32_t magic;
        bool good;
        uint64_t is;
    } ROWS[] = {
        { CV_FB_KIND_ELF, CV_ELF_MAGIC, true, 0 },
        { CV_FB_KIND_ELF, CV_LTOIR_MAGIC, false, CV_FB_KIND_LTOIR },
        { CV_FB_KIND_MERCURY, CV_ELF_MAGIC, true, 0 },
        { CV_FB_KIND_MERCURY, CV_LTOIR_MAGIC, false, CV_FB_KIND_LTOIR },
        { CV_FB_KIND_LTOIR, CV_LTOIR_MAGIC, true, 0 },
        { CV_FB_KIND_LTOIR, CV_ELF_MAGIC, false, CV_FB_KIND_ELF },
        { CV_FB_KIND_PTX, CV_ELF_MAGIC, false, CV_FB_KIND_ELF },
        { CV_FB_KIND_ELF, 0x12345678, true, 0 },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_fatbin_member member = { .kind = ROWS[i].kind };
        uint8_t bytes[16] = { 0 };

        setup();
        for (unsigned k = 0; k < 4; k++)
            bytes[k] = (uint8_t)(ROWS[i].magic >> 8 * k);
        ck_assert_msg(cv_agree_kind(&ctx, &member, 0x40, cv_span_of(bytes, 16, 0)) == ROWS[i].good, "row %u",
                      (unsigned)i);
        ck_assert_uint_eq(ctx.seen[CV_R_AGREE_KIND], !ROWS[i].good);
        ck_assert(ROWS[i].good || (last.got == ROWS[i].kind && last.want == ROWS[i].is));
    }
}
END_TEST

/* Marks that only old tools set, around the code of a tool of some age. */
START_TEST(ages)
{
    static const struct {
        uint32_t release;
        uint64_t flags, extra;
        bool empty_ident;
    } ROWS[] = {
        { CV_FATBIN_OLD_FLAGS, 0, 0, false },       { CV_FATBIN_OLD_FLAGS + 1, 1, 0, false },
        { CV_FATBIN_EMPTY_IDENT, 1, 0, true },      { CV_FATBIN_EMPTY_IDENT + 1, 1, 1, true },
        { CV_FATBIN_EMPTY_IDENT + 1, 1, 0, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_fatbin_member member = { .kind = CV_FB_KIND_ELF,
                                    .arch = 75,
                                    .major = 1,
                                    .flags = CV_FB_CUDA | CV_FB_64BIT,
                                    .header_size = 72 };
        cv_cubin cubin = { .sm = 75 };

        setup();
        member.empty_ident = ROWS[i].empty_ident;
        cubin.producer.release = ROWS[i].release;
        cv_agree_elf(&ctx, &member, 0x40, &cubin);
        ck_assert_msg(ctx.seen[CV_R_FATBIN_FLAGS_UNKNOWN] == ROWS[i].flags, "row %u", (unsigned)i);
        ck_assert_msg(ctx.seen[CV_R_FATBIN_HEADER_EXTRA] == ROWS[i].extra, "row %u", (unsigned)i);
    }
}
END_TEST

/* Values of a member's header: those of the records of one byte in .nv.compat, whatever lies between. */
START_TEST(compat_values)
{
    enum {
        ISA = CV_COMPAT_ISA_CLASS,
        TENSOR = CV_COMPAT_INST_TENSORMAP_V1,
        MMA = CV_COMPAT_INST_TCGEN05_MMA
    };
    static const struct {
        const char *what;
        uint8_t compat[20], len, values[3];
        bool good;
    } ROWS[] = {
        { "as they are", { 2, ISA, 5, 0, 2, TENSOR, 6, 0, 2, MMA, 7, 0 }, 12, { 5, 6, 7 }, true },
        { "another value", { 2, ISA, 5, 0, 2, TENSOR, 6, 0, 2, MMA, 7, 0 }, 12, { 5, 6, 8 }, false },
        { "a record of another form", { 3, ISA, 5, 0, 2, ISA, 9, 0 }, 8, { 9, 0, 0 }, true },
        { "which is no value", { 3, ISA, 5, 0 }, 4, { 5, 0, 0 }, false },
        { "behind a longer one", { 4, 0x7F, 4, 0, 2, ISA, 1, 0, 2, ISA, 3, 0 }, 12, { 3, 0, 0 }, true },
        { "behind one that is too long", { 4, 0x7F, 5, 0, 2, ISA, 3, 0 }, 8, { 3, 0, 0 }, false },
        { "cut", { 2, ISA, 5 }, 3, { 5, 0, 0 }, false },
    };

    for (size_t i = 0; i < CV_COUNT(ROWS); i++) {
        cv_fatbin_member member = {
            .kind = CV_FB_KIND_ELF, .arch = 100, .major = 1, .flags = CV_FB_64BIT, .has_options = true
        };
        cv_cubin cubin = { .sm = 100 };

        setup();
        member.compat_values = true;
        member.compat_copy = cv_span_of(ROWS[i].values, 3, 0);
        cubin.compat = cv_span_of(ROWS[i].compat, ROWS[i].len, 0);
        cubin.producer.release = 128;
        cv_agree_elf(&ctx, &member, 0x40, &cubin);
        ck_assert_msg((ctx.seen[CV_R_AGREE_COMPAT] == 0) == ROWS[i].good, "%s", ROWS[i].what);
    }
}
END_TEST

Suite *suite_agree(void);
Suite *suite_agree(void)
{
    Suite *suite = suite_create("intake/agree");
    TCase *tcase = tcase_create("agree");

    tcase_add_test(tcase, kinds);
    tcase_add_test(tcase, ages);
    tcase_add_test(tcase, compat_values);
    suite_add_tcase(suite, tcase);
    return suite;
}

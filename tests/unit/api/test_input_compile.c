/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compile step of an input, with a compiler that does what it is told. */
#include "input_fixture.h"

/* A compiler that gives what it is told to give. */
typedef struct input_compile_fake {
    cuvet_compile_result give;
    cuvet_status status;
    char options[200];
    uint32_t sm;
    char suffix;
    bool ltoir;
    size_t count;
    unsigned calls, released;
} input_compile_fake;

static void released(cuvet_compile_result *result, void *user)
{
    (void)result;
    ((input_compile_fake *)user)->released++;
}

static cuvet_status compile(void *user, const cuvet_compile_request *request, cuvet_compile_result *out)
{
    input_compile_fake *fake = user;

    fake->calls++;
    fake->options[0] = 0;
    for (size_t i = 0; i < request->n_options; i++) {
        strcat(fake->options, "[");
        strcat(fake->options, request->option[i]);
        strcat(fake->options, "]");
    }
    fake->sm = request->sm;
    fake->suffix = request->suffix;
    fake->ltoir = (request->kind == CUVET_K_LTOIR);
    fake->count = request->n;
    *out = fake->give;
    out->release = released;
    return fake->status;
}

static cuvet_status compile_with(input_compile_fake *fake, const char *target, const char *members,
                                 cuvet_select *out)
{
    cuvet_compiler compiler = { sizeof(compiler), compile, fake };
    cuvet_select_options settings = config(target);

    settings.compiler = &compiler;
    *out = make(&settings);
    fb_make(&bin, members);
    ck_assert_int_eq(cuvet_select_add_option(ctx, *out, "-v", 2), CUVET_OK);
    ck_assert_int_eq(bind_bin(*out), CUVET_OK);
    return cuvet_select_run(ctx, *out);
}

START_TEST(compiled)
{
    cuvet_select in;
    cuvet_select_result result = { .size = sizeof(result) };
    const char *log;
    size_t count;
    input_compile_fake fake = {
        .give = { .size = sizeof(fake.give), .log = (char *)"warning: \033[31mx\n", .n_log = 17 }
    };

    fake.give.bytes = (void *)sample("plain.sm_90.rdc.cubin", &fake.give.n, 0);
    ck_assert_int_eq(compile_with(&fake, "sm_90", "compute_80 compute_90", &in), CUVET_OK);
    ck_assert(fake.calls == 1 && fake.released == 1 && fake.sm == 90 && fake.suffix == 0 && !fake.ltoir);
    ck_assert_str_eq(fake.options, "[-v]");
    ck_assert_int_eq(cuvet_select_get_result(ctx, in, &result), CUVET_OK);
    ck_assert((result.flags & CUVET_IMAGE_COMPILED) != 0 && result.kind == CUVET_K_CUBIN &&
              result.candidate == 1 && result.n == fake.give.n);
    ck_assert_mem_eq(result.bytes, fake.give.bytes, result.n);
    ck_assert_int_eq(cuvet_select_get_log(ctx, in, &log, &count), CUVET_OK);
    ck_assert_uint_eq(count, strlen(log));
    ck_assert_ptr_null(strchr(log, 27));
    ck_assert_ptr_nonnull(strstr(log, "warning"));
    end(in);
}
END_TEST

/* Everything that a compiler can do wrong has its own rule. */
START_TEST(bad_compilers)
{
    static const struct {
        cuvet_compile_end end;
        const char *file; /* output */
        const char *id;
        cuvet_status want;
    } ROWS[] = {
        { CUVET_COMPILE_FAILED, NULL, "CV-COMPILE-003", CUVET_E_COMPILER },
        { CUVET_COMPILE_CRASHED, NULL, "CV-COMPILE-004", CUVET_E_COMPILER },
        { CUVET_COMPILE_TIMEOUT, NULL, "CV-COMPILE-005", CUVET_E_COMPILER },
        { CUVET_COMPILE_EMPTY, NULL, "CV-COMPILE-006", CUVET_E_COMPILER },
        { CUVET_COMPILED, NULL, "CV-COMPILE-006", CUVET_E_COMPILER },
        { CUVET_COMPILE_OVERSIZED, NULL, "CV-COMPILE-007", CUVET_E_COMPILER },
        { CUVET_COMPILE_NOT_FOUND, NULL, "CV-COMPILE-008", CUVET_E_COMPILER },
        { CUVET_COMPILE_UNSUPPORTED, NULL, "CV-COMPILE-009", CUVET_E_COMPILER },
        { CUVET_COMPILE_CANCELLED, NULL, NULL, CUVET_E_CANCELLED },
        { CUVET_COMPILED, "plain.ptx", "CV-INPUT-010", CUVET_E_MALFORMED },
        { CUVET_COMPILED, "plain.sm_75.rdc.cubin", "CV-ADMIT-005", CUVET_E_REFUSED },
        { CUVET_COMPILED, "plain.sm_86.rdc.cubin", "CV-INPUT-009", CUVET_E_REFUSED },
        { CUVET_COMPILED, "plain.sm_89.cubin", "CV-ADMIT-003", CUVET_E_REFUSED },
    };

    for (size_t i = 0; i < N(ROWS); i++) {
        input_compile_fake fake = { .give = { .size = sizeof(fake.give), .end = ROWS[i].end, .detail = 5 } };
        cuvet_select in;

        n_said = 0;
        if (ROWS[i].file)
            fake.give.bytes = (void *)sample(ROWS[i].file, &fake.give.n, 0);
        ck_assert_msg(compile_with(&fake, "sm_89", "compute_80", &in) == ROWS[i].want, "row %zu", i);
        ck_assert_uint_eq(fake.released, 1);
        ck_assert_msg(!ROWS[i].id || was_said(ROWS[i].id), "row %zu: %s", i, ROWS[i].id);
        ck_assert_int_eq(state(in), CUVET_SELECT_FAILED);
        end(in);
    }
}
END_TEST

Suite *suite_test_input_compile(void)
{
    Suite *suite = suite_create("input_compile");
    TCase *tcase = tcase_create("input_compile");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, compiled);
    tcase_add_test(tcase, bad_compilers);
    suite_add_tcase(suite, tcase);
    return suite;
}

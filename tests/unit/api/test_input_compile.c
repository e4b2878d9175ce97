/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The compile step of an input, with a compiler that does what it is told. */
#include "input_fixture.h"

/* A compiler that gives what it is told to give. */
typedef struct fake {
    cuvet_compile_result give;
    cuvet_status status;
    char options[200];
    uint32_t sm;
    char suffix;
    bool ltoir;
    size_t n;
    unsigned calls, released;
} fake;

static void released(cuvet_compile_result *r, void *user)
{
    (void)r;
    ((fake *)user)->released++;
}

static cuvet_status compile(void *user, const cuvet_compile_request *q, cuvet_compile_result *out)
{
    fake *f = user;

    f->calls++;
    f->options[0] = 0;
    for (size_t i = 0; i < q->n_options; i++) {
        strcat(f->options, "[");
        strcat(f->options, q->option[i]);
        strcat(f->options, "]");
    }
    f->sm = q->sm;
    f->suffix = q->suffix;
    f->ltoir = (q->kind == CUVET_K_LTOIR);
    f->n = q->n;
    *out = f->give;
    out->release = released;
    return f->status;
}

static cuvet_status compile_with(fake *f, const char *target, const char *members, cuvet_input *out)
{
    cuvet_compiler c = { sizeof(c), compile, f };

    *out = make_for(target);
    fb_make(&bin, members);
    ck_assert_int_eq(cuvet_input_option(ctx, *out, "-v", 2), CUVET_OK);
    ck_assert_int_eq(cuvet_input_set_compiler(ctx, *out, &c), CUVET_OK);
    ck_assert_int_eq(bind_bin(*out), CUVET_OK);
    return cuvet_input_select(ctx, *out);
}

START_TEST(compiled)
{
    cuvet_input in;
    cuvet_result r = { .size = sizeof(r) };
    const char *log;
    size_t n;
    fake f = { .give = { .size = sizeof(f.give), .log = (char *)"warning: \033[31mx\n", .n_log = 17 } };

    f.give.bytes = (void *)sample("plain.sm_90.rdc.cubin", &f.give.n, 0);
    ck_assert_int_eq(compile_with(&f, "sm_90", "compute_80 compute_90", &in), CUVET_OK);
    ck_assert(f.calls == 1 && f.released == 1 && f.sm == 90 && f.suffix == 0 && !f.ltoir);
    ck_assert_str_eq(f.options, "[-v]");
    ck_assert_int_eq(cuvet_input_get_result(ctx, in, &r), CUVET_OK);
    ck_assert(r.compiled && r.kind == CUVET_K_CUBIN && r.candidate == 1 && r.n == f.give.n);
    ck_assert_mem_eq(r.bytes, f.give.bytes, r.n);
    ck_assert_int_eq(cuvet_input_get_log(ctx, in, &log, &n), CUVET_OK);
    ck_assert_uint_eq(n, strlen(log));
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
        fake f = { .give = { .size = sizeof(f.give), .end = ROWS[i].end, .detail = 5 } };
        cuvet_input in;

        n_said = 0;
        if (ROWS[i].file)
            f.give.bytes = (void *)sample(ROWS[i].file, &f.give.n, 0);
        ck_assert_msg(compile_with(&f, "sm_89", "compute_80", &in) == ROWS[i].want, "row %zu", i);
        ck_assert_uint_eq(f.released, 1);
        ck_assert_msg(!ROWS[i].id || was_said(ROWS[i].id), "row %zu: %s", i, ROWS[i].id);
        ck_assert_int_eq(state(in), CUVET_INPUT_FAILED);
        end(in);
    }
}
END_TEST

Suite *suite_test_input_compile(void)
{
    Suite *s = suite_create("input_compile");
    TCase *t = tcase_create("input_compile");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, compiled);
    tcase_add_test(t, bad_compilers);
    suite_add_tcase(s, t);
    return s;
}

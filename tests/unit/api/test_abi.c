/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <cuvet/cuvet.h>
#include <string.h>

/* The row with this name. */
static cuvet_abi_row row_of(const char *name)
{
    cuvet_abi_row row = { .size = sizeof(row) };
    size_t i = 0;

    while (cuvet_abi_get(i++, &row) == CUVET_OK)
        if (strcmp(row.name, name) == 0)
            return row;
    ck_abort_msg("no row %s", name);
}

START_TEST(rows)
{
    cuvet_abi_row row = row_of("cuvet_diag.where");

    ck_assert_int_eq(row.kind, CUVET_ABI_MEMBER);
    ck_assert_uint_eq(row.value, offsetof(cuvet_diag, where));
    ck_assert_uint_eq(row.width, sizeof(cuvet_path));
    row = row_of("cuvet_limits");
    ck_assert_int_eq(row.kind, CUVET_ABI_STRUCT);
    ck_assert_uint_eq(row.value, sizeof(cuvet_limits));
    ck_assert_uint_eq(row_of("CUVET_E_NULL").value, CUVET_E_NULL);
    ck_assert_uint_eq(row_of("CUVET_SAVE_SYNC").value, CUVET_SAVE_SYNC);
}
END_TEST

START_TEST(misuse)
{
    cuvet_abi_row row = { .size = sizeof(row) };

    ck_assert_int_eq(cuvet_abi_get(0, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_abi_get(0, &row), CUVET_OK);
    ck_assert_int_eq(cuvet_abi_get(SIZE_MAX, &row), CUVET_END);
    ck_assert_ptr_null(row.name);
    ck_assert_uint_eq(row.size, sizeof(row));
    row.size = 1;
    ck_assert_int_eq(cuvet_abi_get(0, &row), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_abi_get(SIZE_MAX, &row), CUVET_E_USAGE);
}
END_TEST

Suite *suite_api_abi(void);
Suite *suite_api_abi(void)
{
    Suite *suite = suite_create("api/abi");
    TCase *tcase = tcase_create("abi");

    tcase_add_test(tcase, rows);
    tcase_add_test(tcase, misuse);
    suite_add_tcase(suite, tcase);
    return suite;
}

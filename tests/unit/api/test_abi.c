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

/* Values from 0 to the last have names of their own, one more has none. */
#define CHECK_NAMES(type, last)                                                                              \
    do {                                                                                                     \
        for (unsigned i = 0; i <= (unsigned)(last); i++) {                                                   \
            ck_assert_str_ne(type##_name((type)i), "");                                                      \
            for (unsigned k = 0; k < i; k++)                                                                 \
                ck_assert_str_ne(type##_name((type)i), type##_name((type)k));                                \
        }                                                                                                    \
        ck_assert_str_eq(type##_name((type)((last) + 1)), "?");                                              \
        ck_assert_str_eq(type##_name((type)UINT32_MAX), "?");                                                \
    } while (0)

START_TEST(names)
{
    CHECK_NAMES(cuvet_abi_kind, CUVET_ABI_VALUE);
    CHECK_NAMES(cuvet_arch_policy, CUVET_ARCH_EXACT);
    CHECK_NAMES(cuvet_call_kind, CUVET_CALL_POSSIBLE);
    CHECK_NAMES(cuvet_cfi_operand, CUVET_CFI_BLOCK);
    CHECK_NAMES(cuvet_class, CUVET_C_PROFILE);
    CHECK_NAMES(cuvet_compression, CUVET_Z_UNKNOWN);
    CHECK_NAMES(cuvet_depth, CUVET_DEPTH_FULL);
    CHECK_NAMES(cuvet_event_kind, CUVET_EVENT_COMPILED);
    CHECK_NAMES(cuvet_field_kind, CUVET_FIELD_PADDING);
    CHECK_NAMES(cuvet_final_phase, CUVET_FINAL_POSTLINK);
    CHECK_NAMES(cuvet_kind, CUVET_K_HOST_ELF);
    CHECK_NAMES(cuvet_place, CUVET_PLACE_OFFLOAD);
    CHECK_NAMES(cuvet_reason, CUVET_REASON_ARCH_ZERO);
    CHECK_NAMES(cuvet_reference, CUVET_REFERENCE_RESULT);
    CHECK_NAMES(cuvet_request, CUVET_REQUEST_LTOIR);
    CHECK_NAMES(cuvet_section_content, CUVET_CONTENT_NOBITS);
    CHECK_NAMES(cuvet_select_state, CUVET_SELECT_FAILED);
    CHECK_NAMES(cuvet_severity, CUVET_ERROR);
    CHECK_NAMES(cuvet_step_kind, CUVET_P_OFFLOAD);
    CHECK_NAMES(cuvet_verdict, CUVET_V_ERROR);
    ck_assert_str_eq(cuvet_class_name(CUVET_C_TARGET), "target");
    ck_assert_str_eq(cuvet_final_code_name(CUVET_FINAL_NO_COMPAT), "NO_COMPAT");
    ck_assert_str_eq(cuvet_final_code_name((cuvet_final_code)8), "?");
    ck_assert_str_eq(cuvet_place_name(CUVET_PLACE_FINISHED), "finished");
    ck_assert_str_eq(cuvet_reason_name(CUVET_REASON_POLICY), "policy");
    ck_assert_str_eq(cuvet_section_content_name(CUVET_CONTENT_FRAMES), "frames");
    ck_assert_str_eq(cuvet_step_kind_name(CUVET_P_RELOC), "reloc");
}
END_TEST

Suite *suite_api_abi(void);
Suite *suite_api_abi(void)
{
    Suite *suite = suite_create("api/abi");
    TCase *tcase = tcase_create("abi");

    tcase_add_test(tcase, rows);
    tcase_add_test(tcase, misuse);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    return suite;
}

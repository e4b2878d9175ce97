/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* NULL where a pointer is needed is CUVET_E_NULL, of every function: here those that take no handle, the
 * others are in the table of test_handle_all.c. */
#include <check.h>

#include <cuvet/cuvet.h>

#define NEEDED(call) ck_assert_msg((call) == CUVET_E_NULL, "%s", #call)

static const cuvet_bytes some = { (const uint8_t *)"abcdefgh", 8 };

START_TEST(basics)
{
    const cuvet_external external = { .size = sizeof(external), .path = "/nowhere/ptxas" };
    cuvet_content_info content = { .size = sizeof(content) };
    cuvet_compiler compiler = { .size = sizeof(compiler) };
    cuvet_limits limits = { .size = sizeof(limits) };
    cuvet_source src = { .size = sizeof(src) };
    cuvet_diag diag = { .size = sizeof(diag) };
    const cuvet_limit_info *info = NULL;
    cuvet_target target;
    cuvet_rule rule;
    cuvet_ctx *ctx;
    uint64_t value;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_limits_preset("strict", &limits), CUVET_OK);
    NEEDED(cuvet_ctx_create(NULL, NULL));
    NEEDED(cuvet_ctx_last_diag(NULL, &diag));
    NEEDED(cuvet_ctx_last_diag(ctx, NULL));
    NEEDED(cuvet_limits_preset(NULL, &limits));
    NEEDED(cuvet_limits_preset("strict", NULL));
    NEEDED(cuvet_limits_set(NULL, "work", 1));
    NEEDED(cuvet_limits_set(&limits, NULL, 1));
    NEEDED(cuvet_limits_get(&limits, 0, NULL, &value));
    NEEDED(cuvet_source_memory(NULL, 4, &src));
    NEEDED(cuvet_source_memory("a", 1, NULL));
    NEEDED(cuvet_source_path(NULL, &src));
    NEEDED(cuvet_source_path("/etc/passwd", NULL));
    NEEDED(cuvet_source_fd(0, NULL));
    NEEDED(cuvet_source_fd_sized(0, 1, NULL));
    NEEDED(cuvet_source_spool(0, NULL, 1, NULL));
    NEEDED(cuvet_save(-1, NULL, "a", 1, 0));
    NEEDED(cuvet_save(-1, "n", NULL, 1, 0));
    NEEDED(cuvet_rule_find(NULL, &rule));
    NEEDED(cuvet_rule_find("CV-ELF-001", NULL));
    NEEDED(cuvet_target_parse(NULL, &target));
    NEEDED(cuvet_target_parse("sm_90", NULL));
    NEEDED(cuvet_target_get(0, NULL));
    NEEDED(cuvet_compiler_external(NULL, NULL, &compiler));
    NEEDED(cuvet_compiler_external(&external, NULL, NULL));
    NEEDED(cuvet_classify(NULL, 4, NULL, 0, &content, &diag));
    NEEDED(cuvet_classify("abcd", 4, NULL, 0, NULL, &diag));
    NEEDED(cuvet_abi_get(0, NULL));
    /* What is not needed: values of limits are asked for only where there are some. */
    ck_assert_int_eq(cuvet_limits_get(NULL, 0, &info, NULL), CUVET_OK);
    ck_assert_str_eq(info->name, "input");
    cuvet_source_destroy(NULL);
    cuvet_compiler_destroy(NULL);
    cuvet_ctx_destroy(NULL);
    cuvet_ctx_destroy(ctx);
}
END_TEST

START_TEST(records)
{
    cuvet_elf_header header = { .size = sizeof(header) };
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };
    cuvet_symbol_info marks = { .size = sizeof(marks) };
    cuvet_cfi_entry entry = { .size = sizeof(entry) };
    cuvet_record record = { .size = sizeof(record) };
    cuvet_field field = { .size = sizeof(field) };
    cuvet_note note = { .size = sizeof(note) };
    cuvet_call call = { .size = sizeof(call) };
    cuvet_cfi_op op = { .size = sizeof(op) };
    cuvet_tlv tlv = { .size = sizeof(tlv) };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_field_pos at = { 0 };
    uint64_t pos = 0;

    NEEDED(cuvet_attr_record(NULL, &record));
    NEEDED(cuvet_attr_record(&tlv, NULL));
    NEEDED(cuvet_compat_record(NULL, &record));
    NEEDED(cuvet_compat_record(&tlv, NULL));
    NEEDED(cuvet_note_record(NULL, some, &record));
    NEEDED(cuvet_note_record(&note, some, NULL));
    NEEDED(cuvet_tlv_next(some, NULL, &tlv));
    NEEDED(cuvet_tlv_next(some, &pos, NULL));
    NEEDED(cuvet_note_next(some, NULL, &note));
    NEEDED(cuvet_note_next(some, &pos, NULL));
    NEEDED(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, some, NULL, &record));
    NEEDED(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, some, &pos, NULL));
    NEEDED(cuvet_field_next(NULL, &at, &field));
    NEEDED(cuvet_field_next(&record, NULL, &field));
    NEEDED(cuvet_field_next(&record, &at, NULL));
    NEEDED(cuvet_call_next(some, NULL, &kind, &call));
    NEEDED(cuvet_call_next(some, &pos, NULL, &call));
    NEEDED(cuvet_call_next(some, &pos, &kind, NULL));
    NEEDED(cuvet_cfi_next(some, NULL, &pos, &entry));
    NEEDED(cuvet_cfi_next(some, &header, NULL, &entry));
    NEEDED(cuvet_cfi_next(some, &header, &pos, NULL));
    NEEDED(cuvet_cfi_op_next(NULL, &pos, &op));
    NEEDED(cuvet_cfi_op_next(&entry, NULL, &op));
    NEEDED(cuvet_cfi_op_next(&entry, &pos, NULL));
    NEEDED(cuvet_symbol_get_info(NULL, &marks));
    NEEDED(cuvet_symbol_get_info(&symbol, NULL));
    NEEDED(cuvet_eflags_next(NULL, &at, &field));
    NEEDED(cuvet_eflags_next(&header, NULL, &field));
    NEEDED(cuvet_eflags_next(&header, &at, NULL));
}
END_TEST

START_TEST(objects)
{
    const cuvet_select_options select_options = { .size = sizeof(select_options), .target = { 90, 0 } };
    const cuvet_linker_options link_options = { .size = sizeof(link_options), .target = { 90, 0 } };
    const cuvet_finalize_options final_options = { .size = sizeof(final_options) };
    cuvet_source src = { .size = sizeof(src) };
    const char *missing = NULL;
    cuvet_finalizer finalizer;
    cuvet_findings findings;
    cuvet_select selection;
    cuvet_linker linker;
    cuvet_image image;
    cuvet_scan scan;
    cuvet_elf elf;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_source_memory("a", 1, &src), CUVET_OK);
    NEEDED(cuvet_scan_create(NULL, &src, NULL, &scan));
    NEEDED(cuvet_scan_create(ctx, NULL, NULL, &scan));
    NEEDED(cuvet_scan_create(ctx, &src, NULL, NULL));
    NEEDED(cuvet_elf_create(NULL, "a", 1, &elf));
    NEEDED(cuvet_elf_create(ctx, NULL, 1, &elf));
    NEEDED(cuvet_elf_create(ctx, "a", 1, NULL));
    NEEDED(cuvet_select_create(NULL, &select_options, &selection));
    NEEDED(cuvet_select_create(ctx, NULL, &selection));
    NEEDED(cuvet_select_create(ctx, &select_options, NULL));
    NEEDED(cuvet_linker_create(NULL, &link_options, &linker));
    NEEDED(cuvet_linker_create(ctx, NULL, &linker));
    NEEDED(cuvet_linker_create(ctx, &link_options, NULL));
    NEEDED(cuvet_finalizer_create(NULL, &final_options, &finalizer));
    NEEDED(cuvet_finalizer_create(ctx, NULL, &finalizer));
    NEEDED(cuvet_finalizer_create(ctx, &final_options, NULL));
    NEEDED(cuvet_scan_file(NULL, "a", NULL, &findings));
    NEEDED(cuvet_scan_file(ctx, NULL, NULL, &findings));
    NEEDED(cuvet_scan_file(ctx, "a", NULL, NULL));
    NEEDED(cuvet_scan_memory(NULL, "a", 1, NULL, &findings));
    NEEDED(cuvet_scan_memory(ctx, NULL, 1, NULL, &findings));
    NEEDED(cuvet_scan_memory(ctx, "a", 1, NULL, NULL));
    NEEDED(cuvet_link_files(NULL, NULL, "sm_90", &missing, 1, &image));
    NEEDED(cuvet_link_files(ctx, NULL, "sm_90", NULL, 1, &image));
    NEEDED(cuvet_link_files(ctx, NULL, "sm_90", &missing, 1, &image));
    NEEDED(cuvet_link_files(ctx, NULL, "sm_90", &missing, 1, NULL));
    NEEDED(cuvet_select_file(NULL, NULL, "sm_90", "a", &image));
    NEEDED(cuvet_select_file(ctx, NULL, "sm_90", NULL, &image));
    NEEDED(cuvet_select_file(ctx, NULL, "sm_90", "a", NULL));
    NEEDED(cuvet_finalize_file(NULL, NULL, "sm_90", "a", &image));
    NEEDED(cuvet_finalize_file(ctx, NULL, "sm_90", NULL, &image));
    NEEDED(cuvet_finalize_file(ctx, NULL, "sm_90", "a", NULL));
    NEEDED(cuvet_finalize_memory(NULL, NULL, "sm_90", "a", 1, &image));
    NEEDED(cuvet_finalize_memory(ctx, NULL, "sm_90", NULL, 1, &image));
    NEEDED(cuvet_finalize_memory(ctx, NULL, "sm_90", "a", 1, NULL));
    cuvet_ctx_destroy(ctx);
}
END_TEST

Suite *suite_nulls(void)
{
    Suite *suite = suite_create("nulls");
    TCase *tcase = tcase_create("nulls");

    tcase_add_test(tcase, basics);
    tcase_add_test(tcase, records);
    tcase_add_test(tcase, objects);
    suite_add_tcase(suite, tcase);
    return suite;
}

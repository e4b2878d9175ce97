/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What no version of the interface ever had: sizes of structures, flags, values of enumerations, outputs of
 * contexts. Each is CUVET_E_USAGE, and a walk stays where it was. Calls with a handle and a structure to fill
 * are in test_handle_all.c. */
#include <check.h>
#include <stddef.h>
#include <string.h>

#include <cuvet/cuvet.h>

#define N(table)      (sizeof(table) / sizeof((table)[0]))
#define BYTES(array)  ((cuvet_bytes){ (array), sizeof(array) })
#define REFUSED(call) ck_assert_msg((call) == CUVET_E_USAGE, "%s with size %zu", #call, SIZES[_i])

/* None, less than the size itself, a member cut in half, more than anybody has. */
static const size_t SIZES[] = { 0, 7, 12, 1 << 20 };

START_TEST(without_a_context)
{
    const cuvet_external external = { .size = sizeof(external), .path = "/nowhere/ptxas" },
                         odd_external = { .size = SIZES[_i], .path = "/nowhere/ptxas" };
    const cuvet_alloc odd_alloc = { .size = SIZES[_i] };
    const cuvet_ctx_options context = { .size = sizeof(context), .alloc = &odd_alloc },
                            odd_context = { .size = SIZES[_i] };
    const cuvet_lto_request request = { .size = sizeof(request) }, odd_request = { .size = SIZES[_i] };
    cuvet_compile_result result = { .size = sizeof(result) }, odd_result = { .size = SIZES[_i] };
    cuvet_content_info content = { .size = sizeof(content) }, odd_content = { .size = SIZES[_i] };
    cuvet_diag diag = { .size = sizeof(diag) }, odd_diag = { .size = SIZES[_i] };
    cuvet_compiler compiler = { .size = sizeof(compiler) }, odd_compiler = { .size = SIZES[_i] };
    cuvet_source odd_source = { .size = SIZES[_i] };
    cuvet_limits odd_limits = { .size = SIZES[_i] };
    cuvet_abi_row odd_row = { .size = SIZES[_i] };
    cuvet_ctx *ctx = NULL;

    REFUSED(cuvet_classify("text", 4, NULL, 0, &odd_content, &diag));
    REFUSED(cuvet_classify("text", 4, NULL, 0, &content, &odd_diag));
    REFUSED(cuvet_classify("text", 4, &odd_limits, 0, &content, NULL));
    REFUSED(cuvet_compiler_external(&odd_external, NULL, &compiler));
    REFUSED(cuvet_compiler_external(&external, &odd_alloc, &compiler));
    REFUSED(cuvet_compiler_external(&external, NULL, &odd_compiler));
    cuvet_compiler_destroy(&odd_compiler); /* is left alone */
    ck_assert_uint_eq(odd_compiler.size, SIZES[_i]);
    REFUSED(cuvet_lto_run(&odd_external, "/nowhere/lib.so", NULL, &request, &result));
    REFUSED(cuvet_lto_run(&external, "/nowhere/lib.so", NULL, &odd_request, &result));
    REFUSED(cuvet_lto_run(&external, "/nowhere/lib.so", &odd_alloc, &request, &result));
    REFUSED(cuvet_lto_run(&external, "/nowhere/lib.so", NULL, &request, &odd_result));
    cuvet_lto_end(NULL, &odd_result);
    cuvet_lto_end(&odd_alloc, &result);
    ck_assert(odd_result.size == SIZES[_i] && result.size == sizeof(result));
    REFUSED(cuvet_ctx_create(&context, &ctx));
    REFUSED(cuvet_ctx_create(&odd_context, &ctx));
    ck_assert_ptr_null(ctx);
    REFUSED(cuvet_abi_get(0, &odd_row));
    REFUSED(cuvet_abi_get(SIZE_MAX, &odd_row));
    REFUSED(cuvet_source_memory("text", 4, &odd_source));
    REFUSED(cuvet_limits_preset("strict", &odd_limits));
}
END_TEST

/* A context says the size that it got; what was asked for the last thing that was said is not said itself. */
START_TEST(of_a_context)
{
    const cuvet_scan_options odd_scan = { .size = SIZES[_i] };
    const cuvet_select_options odd_select = { .size = SIZES[_i] };
    const cuvet_linker_options odd_linker = { .size = SIZES[_i] };
    const cuvet_finalize_options odd_final = { .size = SIZES[_i] };
    const cuvet_source odd_source = { .size = SIZES[_i] };
    cuvet_diag diag = { .size = sizeof(diag) }, odd_diag = { .size = SIZES[_i] };
    cuvet_source source = { .size = sizeof(source) };
    cuvet_finalizer finalizer;
    cuvet_select selection;
    cuvet_linker linker;
    cuvet_rule rule;
    cuvet_scan scan;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_source_memory("text", 4, &source), CUVET_OK);
    REFUSED(cuvet_ctx_last_diag(ctx, &odd_diag));
    ck_assert_int_eq(cuvet_ctx_last_diag(ctx, &diag), CUVET_END);
    REFUSED(cuvet_scan_create(ctx, &source, &odd_scan, &scan));
    ck_assert_int_eq(cuvet_ctx_last_diag(ctx, &diag), CUVET_OK);
    ck_assert_int_eq(cuvet_rule_find("CV-API-001", &rule), CUVET_OK);
    ck_assert(diag.rule == rule && diag.got == SIZES[_i] && diag.want == sizeof(odd_scan));
    REFUSED(cuvet_scan_create(ctx, &odd_source, NULL, &scan));
    REFUSED(cuvet_select_create(ctx, &odd_select, &selection));
    REFUSED(cuvet_linker_create(ctx, &odd_linker, &linker));
    REFUSED(cuvet_finalizer_create(ctx, &odd_final, &finalizer));
    ck_assert(scan.bits == 0 && selection.bits == 0 && linker.bits == 0 && finalizer.bits == 0);
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* The decoders, each on bytes that it can decode: the place of the walk is not moved. */
START_TEST(of_decoders)
{
    static const uint8_t ATTRIBUTE[] = { 4, 0x2F, 8, 0, 1, 0, 0, 0, 2, 0, 0, 0 },
                         WORDS[16] = { 1, 0, 0, 0, 2 };
    static const uint8_t NOTE[] = { 4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 1, 0, 0, 0 };
    static const uint8_t FRAME[] = { 0xC, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 3, 0, 4, 4, 0, 0, 0, 0 };
    const cuvet_elf_header header = {
        .size = sizeof(header), .osabi = 0x41, .flags = 0x3FFFF, .marks = CUVET_ELF_32BIT
    };
    const cuvet_elf_symbol symbol = { .size = sizeof(symbol) };
    const cuvet_cfi_entry program = { .size = sizeof(program), .program = BYTES(WORDS), .address_bytes = 8 };
    cuvet_record record = { .size = sizeof(record) }, odd_record = { .size = SIZES[_i] };
    cuvet_tlv tlv = { .size = sizeof(tlv) }, odd_tlv = { .size = SIZES[_i] };
    cuvet_note note = { .size = sizeof(note) }, odd_note = { .size = SIZES[_i] };
    cuvet_cfi_entry entry = { .size = sizeof(entry) }, odd_entry = { .size = SIZES[_i] };
    cuvet_field field = { .size = sizeof(field) }, odd_field = { .size = SIZES[_i] };
    cuvet_call call = { .size = sizeof(call) }, odd_call = { .size = SIZES[_i] };
    cuvet_cfi_op op = { .size = sizeof(op) }, odd_op = { .size = SIZES[_i] };
    cuvet_symbol_info odd_info = { .size = SIZES[_i] };
    cuvet_call_kind kind = CUVET_CALL_NONE;
    cuvet_field_pos at = { 0 };
    uint64_t pos = 0;

#define WALK(odd, good, want)                                                                                \
    do {                                                                                                     \
        REFUSED(odd);                                                                                        \
        ck_assert_msg(pos == 0 && at.field == 0 && kind == CUVET_CALL_NONE, "%s moved", #odd);               \
        ck_assert_msg((good) == (want), "%s", #good);                                                        \
        ck_assert_msg(pos != 0 || at.field != 0, "%s did not move", #good);                                  \
        pos = at.field = 0;                                                                                  \
        kind = CUVET_CALL_NONE;                                                                              \
    } while (0)
    WALK(cuvet_tlv_next(BYTES(ATTRIBUTE), &pos, &odd_tlv), cuvet_tlv_next(BYTES(ATTRIBUTE), &pos, &tlv),
         CUVET_OK);
    WALK(cuvet_note_next(BYTES(NOTE), &pos, &odd_note), cuvet_note_next(BYTES(NOTE), &pos, &note), CUVET_OK);
    WALK(cuvet_table_next(CUVET_CONTENT_PROTOTYPES, BYTES(WORDS), &pos, &odd_record),
         cuvet_table_next(CUVET_CONTENT_PROTOTYPES, BYTES(WORDS), &pos, &record), CUVET_OK);
    WALK(cuvet_call_next(BYTES(WORDS), &pos, &kind, &odd_call),
         cuvet_call_next(BYTES(WORDS), &pos, &kind, &call), CUVET_OK);
    WALK(cuvet_cfi_next(BYTES(FRAME), &header, &pos, &odd_entry),
         cuvet_cfi_next(BYTES(FRAME), &header, &pos, &entry), CUVET_OK);
    WALK(cuvet_cfi_op_next(&program, &pos, &odd_op), cuvet_cfi_op_next(&program, &pos, &op), CUVET_OK);
    WALK(cuvet_field_next(&record, &at, &odd_field), cuvet_field_next(&record, &at, &field), CUVET_OK);
    WALK(cuvet_eflags_next(&header, &at, &odd_field), cuvet_eflags_next(&header, &at, &field), CUVET_OK);
#undef WALK
    REFUSED(cuvet_attr_record(&tlv, &odd_record));
    REFUSED(cuvet_compat_record(&tlv, &odd_record));
    REFUSED(cuvet_note_record(&note, BYTES(NOTE), &odd_record));
    REFUSED(cuvet_symbol_get_info(&symbol, &odd_info));
}
END_TEST

static void scan_refused(cuvet_ctx *ctx, cuvet_scan_options opt, const char *what)
{
    cuvet_source source = { .size = sizeof(source) };
    cuvet_scan scan = { 7 };

    ck_assert_int_eq(cuvet_source_memory("text", 4, &source), CUVET_OK);
    opt.size = sizeof(opt);
    ck_assert_msg(cuvet_scan_create(ctx, &source, &opt, &scan) == CUVET_E_USAGE && scan.bits == 0, "%s",
                  what);
}

static void finalizer_refused(cuvet_ctx *ctx, cuvet_finalize_options opt, const char *what)
{
    cuvet_finalizer finalizer = { 7 };

    opt.size = sizeof(opt);
    ck_assert_msg(cuvet_finalizer_create(ctx, &opt, &finalizer) == CUVET_E_USAGE && finalizer.bits == 0, "%s",
                  what);
}

static void on_claim(void *user, const cuvet_claim_info *claim)
{
    (void)user;
    (void)claim;
}

START_TEST(values)
{
    const cuvet_alloc no_resize = { .size = sizeof(no_resize) };
    const cuvet_ctx_options context = { .size = sizeof(context), .alloc = &no_resize };
    const cuvet_compiler no_compile = { .size = sizeof(no_compile) };
    cuvet_linker_options link = { .size = sizeof(link), .target = { 90, 0 }, .flags = UINT32_C(1) << 31 };
    cuvet_linker linker;
    cuvet_ctx *ctx;

    ck_assert_int_eq(cuvet_ctx_create(&context, &ctx), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    scan_refused(ctx, (cuvet_scan_options){ .depth = CUVET_DEPTH_FULL + 1 }, "depth");
    scan_refused(ctx, (cuvet_scan_options){ .depth = CUVET_DEPTH_FULL, .jobs = 100000 }, "jobs");
    scan_refused(ctx, (cuvet_scan_options){ .depth = CUVET_DEPTH_FULL, .jobs = 2, .claim = on_claim },
                 "claims of two");
    ck_assert_int_eq(cuvet_linker_create(ctx, &link, &linker), CUVET_E_USAGE);
    finalizer_refused(ctx, (cuvet_finalize_options){ .policy = CUVET_ARCH_EXACT + 1 }, "policy");
    finalizer_refused(ctx, (cuvet_finalize_options){ .phase = CUVET_FINAL_POSTLINK + 1 }, "phase");
    finalizer_refused(ctx, (cuvet_finalize_options){ .flags = UINT32_C(1) << 31 }, "flags");
    finalizer_refused(ctx, (cuvet_finalize_options){ .generator = &no_compile }, "generator");
    cuvet_ctx_destroy(ctx);
}
END_TEST

/* Numbers of a symbol that no file has. */
START_TEST(names_of_numbers)
{
    for (uint32_t number = 0; number < 300; number++) {
        const char *type = cuvet_symbol_type_name(number), *bind = cuvet_symbol_bind_name(number);

        ck_assert(number < 16 || (!type && !bind));
    }
    ck_assert_str_eq(cuvet_symbol_type_name(2), "FUNC");
    ck_assert_str_eq(cuvet_symbol_bind_name(2), "WEAK");
}
END_TEST

Suite *suite_sizes(void);
Suite *suite_sizes(void)
{
    Suite *suite = suite_create("sizes");
    TCase *tcase = tcase_create("sizes");

    tcase_add_loop_test(tcase, without_a_context, 0, (int)N(SIZES));
    tcase_add_loop_test(tcase, of_a_context, 0, (int)N(SIZES));
    tcase_add_loop_test(tcase, of_decoders, 0, (int)N(SIZES));
    tcase_add_test(tcase, values);
    tcase_add_test(tcase, names_of_numbers);
    suite_add_tcase(suite, tcase);
    return suite;
}

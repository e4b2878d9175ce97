/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Sections, symbols and relocations of pictures that no tool makes, each stage asked alone: a row is said to
 * break a rule or not. */
#include <check.h>
#include <string.h>

#include "cubin_made.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

enum {
    GLOBAL_NOTYPE = 0x10,
    GLOBAL_OBJECT = 0x11,
    GLOBAL_FUNC = 0x12,
    LOCAL_FUNC = 0x02,
    LOCAL_CUDA = 0x0D,
    GLOBAL_CUDA = 0x1D
};

static cv_ctx ctx;
static cubin_made made;
static uint32_t seen[CV_N_RULES];

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    seen[diag->rule]++;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    ctx.emit = emit;
    cubin_made_begin(&made, &ctx, 90);
}

static void teardown(void)
{
    cubin_made_free(&made);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
}

/* To be linked, or a program; for 'sm'. */
static void anew(bool rel, uint32_t sm)
{
    cubin_made_free(&made);
    cubin_made_begin(&made, &ctx, sm);
    made.cubin.rel = rel;
    made.cubin.exe = !rel;
    made.cubin.header.type = rel ? 1 : 2;
    memset(seen, 0, sizeof(seen));
    cv_ctx_unit(&ctx, 1 << 20);
}

static void expect(const char *what, cv_rule rule, bool said)
{
    ck_assert_msg((seen[rule] != 0) == said, "%s: %s is %ssaid", what, cuvet_rule_get(rule)->id,
                  said ? "not " : "");
}

/* One relocation of a section, for one symbol. */
START_TEST(relocations)
{
    static const struct {
        const char *what;
        bool rel;
        cv_role target;
        const char *target_name;
        uint32_t type;
        cv_role named;
        const char *named_name;
        uint8_t info, other;
        uint32_t graph[4]; /* a marker of part 1 or 2, and a record; all zero: there is no graph */
        uint8_t field;     /* what is in the word behind the first of the target */
        cv_rule rule;
        bool said;
    } CASES[] = {
        { "into shared memory of a function",
          true,
          CV_ROLE_SHARED_FN,
          ".nv.shared.k",
          2,
          CV_ROLE_GLOBAL,
          ".nv.global",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_PLACE,
          false },
        { "into unified data",
          true,
          CV_ROLE_UDT,
          ".nv.udt",
          2,
          CV_ROLE_GLOBAL,
          ".nv.global",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_PLACE,
          false },
        { "into what a compiler says",
          true,
          CV_ROLE_COMPAT,
          ".nv.compat",
          2,
          CV_ROLE_GLOBAL,
          ".nv.global",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_PLACE,
          true },
        { "a driver's address of a constant",
          false,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          4,
          CV_ROLE_CONSTANT,
          ".nv.constant3",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_UNPLACED,
          false },
        { "the same, by a symbol without a type",
          false,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          4,
          CV_ROLE_CONSTANT,
          ".nv.constant3",
          GLOBAL_NOTYPE,
          0,
          { 0 },
          0,
          CV_R_RELOC_UNPLACED,
          true },
        { "the same, by a type that a linker knows as well",
          false,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          2,
          CV_ROLE_CONSTANT,
          ".nv.constant3",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_UNPLACED,
          true },
        { "an address of debug data",
          true,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          2,
          CV_ROLE_NV_DEBUG,
          ".nv_debug_x",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_UNPLACED,
          true },
        { "an address of global memory",
          true,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          2,
          CV_ROLE_GLOBAL,
          ".nv.global",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_UNPLACED,
          false },
        { "an address that the graph knows by another name",
          true,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          2,
          CV_ROLE_TEXT,
          ".text.f",
          GLOBAL_FUNC,
          0,
          { 0, 0xFFFFFFFE, 2, 0 },
          0,
          CV_R_RELOC_ADDRESS_LOST,
          false },
        { "an address that it does not know",
          true,
          CV_ROLE_GLOBAL_INIT,
          ".nv.global.init",
          2,
          CV_ROLE_TEXT,
          ".text.f",
          GLOBAL_FUNC,
          0,
          { 0, 0xFFFFFFFE, 3, 0 },
          0,
          CV_R_RELOC_ADDRESS_LOST,
          true },
        { "a call that the graph knows by another name",
          true,
          CV_ROLE_TEXT,
          ".text.k",
          58,
          CV_ROLE_TEXT,
          ".text.f",
          GLOBAL_FUNC,
          0,
          { 0, 0xFFFFFFFF, 3, 2 },
          0,
          CV_R_RELOC_CALL,
          false },
        { "a call that it does not know",
          true,
          CV_ROLE_TEXT,
          ".text.k",
          58,
          CV_ROLE_TEXT,
          ".text.f",
          GLOBAL_FUNC,
          0,
          { 0, 0xFFFFFFFF, 1, 2 },
          0,
          CV_R_RELOC_CALL,
          true },
        { "the table of unified functions, without a graph",
          false,
          CV_ROLE_TEXT,
          ".text.k",
          114,
          CV_ROLE_UFT_ENTRY,
          ".nv.uft.entry",
          GLOBAL_OBJECT,
          0,
          { 0 },
          0,
          CV_R_RELOC_INDIRECT,
          false },
        { "the table of unified functions, and no indirect call",
          false,
          CV_ROLE_TEXT,
          ".text.k",
          114,
          CV_ROLE_UFT_ENTRY,
          ".nv.uft.entry",
          GLOBAL_OBJECT,
          0,
          { 0, 0xFFFFFFFF, 1, 2 },
          0,
          CV_R_RELOC_INDIRECT,
          true },
        { "an offset in shared memory that a linker began",
          true,
          CV_ROLE_TEXT,
          ".text.k",
          55,
          CV_ROLE_SHARED_FN,
          ".nv.shared.k",
          LOCAL_CUDA,
          0x40,
          { 0 },
          4,
          CV_R_RELOC_OVER,
          false },
        { "a global variable is nowhere yet",
          true,
          CV_ROLE_TEXT,
          ".text.k",
          55,
          CV_ROLE_GLOBAL,
          ".nv.global",
          LOCAL_CUDA,
          0x20,
          { 0 },
          4,
          CV_R_RELOC_OVER,
          true },
        { "a half of an offset",
          true,
          CV_ROLE_TEXT,
          ".text.k",
          56,
          CV_ROLE_SHARED_FN,
          ".nv.shared.k",
          LOCAL_CUDA,
          0x40,
          { 0 },
          4,
          CV_R_RELOC_OVER,
          true },
        { "nothing is begun in a program",
          false,
          CV_ROLE_TEXT,
          ".text.k",
          55,
          CV_ROLE_SHARED_FN,
          ".nv.shared.k",
          LOCAL_CUDA,
          0x40,
          { 0 },
          4,
          CV_R_RELOC_OVER,
          true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        const cv_elf_reloc reloc = { 0, 1, CASES[i].type, 0 };
        uint8_t body[64] = { 0, 0, 0, 0, CASES[i].field };
        uint32_t named, target, kernel;

        anew(CASES[i].rel, 90);
        named = cubin_made_section(&made, CASES[i].named, CASES[i].named_name, NULL, 64);
        target = cubin_made_section(&made, CASES[i].target, CASES[i].target_name, body, sizeof(body));
        (void)cubin_made_symbol(&made, false, "f", CASES[i].info, CASES[i].other, named, 0, 16);
        (void)cubin_made_symbol(&made, false, "g", CASES[i].info, CASES[i].other, named, 0,
                                16); /* at the same place */
        kernel = cubin_made_symbol(&made, false, "k", GLOBAL_FUNC, 0x10, target, 0, 64);
        cubin_made_at(&made, target)->header.info = kernel;
        if (CASES[i].graph[1])
            (void)cubin_made_words(&made, CV_ROLE_CALLGRAPH, ".nv.callgraph", CASES[i].graph, 16);
        (void)cubin_made_relocs(&made, target, false, &reloc, 1);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        expect(CASES[i].what, CASES[i].rule, CASES[i].said);
    }
}
END_TEST

/* An address that the graph does not know: a linker may have forgotten it, whoever assembles forgets none. */
START_TEST(forgotten_addresses)
{
    static const struct {
        uint8_t tool, info;
        bool code, forgotten;
        uint32_t sm;
    } CASES[] = {
        { CV_TOOL_NVLINK, GLOBAL_FUNC, false, true, 90 }, { CV_TOOL_PTXAS, GLOBAL_FUNC, false, false, 90 },
        { CV_TOOL_NVASM, GLOBAL_FUNC, false, false, 90 }, { CV_TOOL_HAND, GLOBAL_FUNC, false, false, 90 },
        { CV_TOOL_NVLINK, LOCAL_FUNC, false, false, 90 }, { CV_TOOL_NVLINK, GLOBAL_FUNC, true, false, 90 },
        { CV_TOOL_NVLINK, GLOBAL_FUNC, true, true, 75 },  { CV_TOOL_PTXAS, GLOBAL_FUNC, true, false, 75 },
        { CV_TOOL_HAND, GLOBAL_FUNC, true, false, 75 },   { CV_TOOL_NVLINK, LOCAL_FUNC, true, false, 75 },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        const cv_elf_reloc reloc = { 0, 1, CASES[i].code ? 56 : 2, 0 };
        uint32_t text, target;

        anew(true, CASES[i].sm);
        made.cubin.producer.tool = CASES[i].tool;
        text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 64);
        target = CASES[i].code ? cubin_made_section(&made, CV_ROLE_TEXT, ".text.k", NULL, 64)
                               : cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 64);
        (void)cubin_made_symbol(&made, false, "f", CASES[i].info, 0, text, 0, 64);
        (void)cubin_made_relocs(&made, target, false, &reloc, 1);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_RELOC_ADDRESS_LOST] != 0) == CASES[i].forgotten, "case %zu", i);
        ck_assert_msg((seen[CV_R_RELOC_ADDRESS] != 0) == !CASES[i].forgotten, "case %zu", i);
    }
}
END_TEST

/* The section of a symbol stands in another table. */
START_TEST(extended_number)
{
    const cv_elf_reloc reloc = { 0, 1, 4, 0 };

    for (unsigned bank = 0; bank < 2; bank++) {
        uint32_t named, target, words[2] = { 0 }, table;

        anew(false, 90);
        named = cubin_made_section(&made, bank ? CV_ROLE_SHARED_FN : CV_ROLE_GLOBAL,
                                   bank ? ".nv.shared.k" : ".nv.global", NULL, 64);
        target = cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 64);
        words[1] = named;
        table = cubin_made_words(&made, CV_ROLE_SYMTAB_SHNDX, ".symtab_shndx", words, sizeof(words));
        (void)cubin_made_symbol(&made, false, "v", GLOBAL_OBJECT, 0, CV_SHN_XINDEX, 0, 8);
        made.cubin.symtab_shndx = cv_cubin_body(&made.cubin, table);
        (void)cubin_made_relocs(&made, target, false, &reloc, 1);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        expect(bank ? "shared memory" : "global memory", CV_R_RELOC_UNPLACED, bank);
    }
}
END_TEST

/* Symbols behind the end of the table: one is said once in a row, and again when another one was in between.
 * */
START_TEST(no_symbols_in_a_row)
{
    static const struct {
        cv_elf_reloc relocs[3];
        unsigned count, said;
    } CASES[] = {
        { { { 0, 50, 55, 0 }, { 16, 50, 55, 0 } }, 2, 1 },
        { { { 0, 50, 55, 0 }, { 16, 51, 55, 0 }, { 32, 50, 55, 0 } }, 3, 3 },
        { { { 0, 1, 55, 0 }, { 16, 51, 55, 0 }, { 32, 1, 55, 0 } }, 3, 1 },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t target, shared;

        anew(true, 90);
        target = cubin_made_section(&made, CV_ROLE_TEXT, ".text.k", NULL, 64);
        shared = cubin_made_section(&made, CV_ROLE_SHARED_FN, ".nv.shared.k", NULL, 64);
        (void)cubin_made_symbol(&made, false, "v", LOCAL_CUDA, 0x40, shared, 0, 8);
        (void)cubin_made_relocs(&made, target, false, CASES[i].relocs, CASES[i].count);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_uint_eq(seen[CV_R_RELOC_SYMBOL], CASES[i].said);
    }
}
END_TEST

/* Two tables for one section: of two sides it would be up to the reader which one counts, unless the second
 * is what a linker has applied. */
START_TEST(two_tables)
{
    static const struct {
        uint32_t type;
        bool sides, said;
    } CASES[] = { { CV_SHT_MERC_RELA, true, true },
                  { CV_SHT_MERC_RESOLVED_RELA, true, false },
                  { CV_SHT_MERC_RELA, false, false } };
    const cv_elf_reloc reloc = { 0, 1, CV_R_MERCURY_ABS64, 0 };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t target, second;

        anew(true, 100);
        target = cubin_made_section(&made, CV_ROLE_MERC_GLOBAL_INIT, ".nv.merc.nv.global.init", NULL, 64);
        cubin_made_at(&made, target)->header.flags = CV_SHF_CUDA_MERC;
        for (unsigned k = 0; k < 2; k++) {
            second = cubin_made_relocs(&made, target, true, &reloc, 1);
            cubin_made_at(&made, second)->fn = cv_span_of(".nv.global.init", 15, 0);
        }
        cubin_made_at(&made, target)->relocs = 0;
        cubin_made_at(&made, second)->header.type = CASES[i].type;
        made.cubin.n_merc_syms = CASES[i].sides ? 1 : 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_uint_eq(seen[CV_R_RELOC_TARGET], 0);
        expect("two tables", CV_R_TWIN_DATA, CASES[i].said);
    }
}
END_TEST

/* Call frames name functions; those that the Mercury side says of its own are not asked here. */
START_TEST(tables_of_frames)
{
    for (unsigned merc = 0; merc < 2; merc++) {
        const cv_elf_reloc reloc = { 0, 1, merc ? CV_R_MERCURY_ABS64 : CV_R_CUDA_64, 0 };
        uint32_t target, data;

        anew(true, 100);
        data = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 64);
        target = cubin_made_section(&made, CV_ROLE_DEBUG, ".debug_frame", NULL, 64);
        cubin_made_at(&made, target)->header.flags = merc ? CV_SHF_CUDA_MERC : 0;
        for (unsigned side = 0; side < 2; side++)
            (void)cubin_made_symbol(&made, side != 0, "v", GLOBAL_OBJECT, 0, data, 0, 8);
        (void)cubin_made_relocs(&made, target, merc != 0, &reloc, 1);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_uint_eq(seen[CV_R_RELOC_TARGET], 0);
        expect("a variable", CV_R_RELOC_FRAMES, !merc);
    }
}
END_TEST

/* Types of sections: who writes by hand takes those of programs, for the memory of a function. */
START_TEST(types_by_hand)
{
    static const struct {
        const char *what;
        bool hand;
        cv_role role;
        const char *name;
        uint32_t type;
        uint64_t size;
        cv_rule rule;
        bool said;
    } CASES[] = {
        { "shared memory without bytes", true, CV_ROLE_SHARED_FN, ".nv.shared.k", CV_SHT_NOBITS, 16,
          CV_R_SEC_TYPE, false },
        { "shared memory with bytes", true, CV_ROLE_SHARED_FN, ".nv.shared.k", CV_SHT_PROGBITS, 16,
          CV_R_SEC_TYPE, false },
        { "shared memory of another type", true, CV_ROLE_SHARED_FN, ".nv.shared.k", CV_SHT_NOTE, 16,
          CV_R_SEC_TYPE, true },
        { "shared memory with bytes, of a compiler", false, CV_ROLE_SHARED_FN, ".nv.shared.k",
          CV_SHT_PROGBITS, 16, CV_R_SEC_TYPE, true },
        { "a bank", true, CV_ROLE_CONSTANT_FN, ".nv.constant0.k", CV_SHT_PROGBITS, 16, CV_R_SEC_TYPE, false },
        { "code without bytes", true, CV_ROLE_TEXT, ".text.k", CV_SHT_NOTE, 16, CV_R_SEC_TYPE, true },
        { "an empty helper", true, CV_ROLE_NONE, ".helper", CV_SHT_NOBITS, 0, CV_R_SEC_UNKNOWN, false },
        { "a helper that is not empty", true, CV_ROLE_NONE, ".helper", CV_SHT_NOBITS, 16, CV_R_SEC_UNKNOWN,
          true },
        { "a helper with bytes", true, CV_ROLE_NONE, ".helper", CV_SHT_PROGBITS, 0, CV_R_SEC_UNKNOWN, true },
        { "an empty helper of a compiler", false, CV_ROLE_NONE, ".helper", CV_SHT_NOBITS, 0, CV_R_SEC_UNKNOWN,
          true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t section;

        anew(true, 75);
        made.cubin.legacy = true;
        made.cubin.abi8 = false;
        made.cubin.hand = CASES[i].hand;
        section = cubin_made_section(&made, CASES[i].role, CASES[i].name, NULL, CASES[i].size);
        cubin_made_at(&made, section)->header.type = CASES[i].type;
        cv_cubin_check_sections(&ctx, &made.cubin);
        expect(CASES[i].what, CASES[i].rule, CASES[i].said);
    }
}
END_TEST

/* One symbol of a section. */
START_TEST(symbols)
{
    enum { PLAIN = 1, HAND = 2, WHOLE = 4, LOOSE = 8 };
    static const struct {
        const char *what;
        unsigned kind;
        bool rel;
        cv_role role;
        const char *name;
        uint8_t info, other;
        uint64_t value, size;
        cv_rule rule;
        bool said;
    } CASES[] = {
        { "a function behind the begin of its section", PLAIN, true, CV_ROLE_TEXT, ".text.f", GLOBAL_FUNC, 0,
          16, 16, CV_R_SYM_FUNCTION, true },
        { "the same, by hand", HAND, true, CV_ROLE_TEXT, ".text.f", GLOBAL_FUNC, 0, 16, 16, CV_R_SYM_FUNCTION,
          false },
        { "the same, of a program", PLAIN, false, CV_ROLE_TEXT, ".text.f", GLOBAL_FUNC, 0, 16, 16,
          CV_R_SYM_FUNCTION, false },
        { "a name of no size in what a debugger sees", PLAIN, false, CV_ROLE_NV_DEBUG_SHARED,
          ".nv_debug.shared", GLOBAL_OBJECT, 0, 100, 0, CV_R_SYM_RANGE, false },
        { "an array there", PLAIN, false, CV_ROLE_NV_DEBUG_SHARED, ".nv_debug.shared", GLOBAL_OBJECT, 0, 100,
          4, CV_R_SYM_RANGE, true },
        { "an alignment of reserved memory", PLAIN, true, CV_ROLE_SHARED_RESERVED, ".nv.shared.reserved.0",
          GLOBAL_CUDA, 0xA0, UINT64_C(1) << 40, 4, CV_R_LIMIT_ALIGNMENT, true },
        { "an alignment of shared memory", PLAIN, true, CV_ROLE_SHARED_FN, ".nv.shared.k", GLOBAL_CUDA, 0x40,
          UINT64_C(1) << 40, 4, CV_R_LIMIT_ALIGNMENT, true },
        { "a place in global memory", PLAIN, true, CV_ROLE_GLOBAL, ".nv.global", GLOBAL_CUDA, 0x20,
          UINT64_C(1) << 40, 4, CV_R_LIMIT_ALIGNMENT, false },
        { "the name that a whole program has for what is reserved", WHOLE, true, CV_ROLE_SHARED_RESERVED,
          ".nv.shared.reserved.0", GLOBAL_NOTYPE, 0, 0, 0, CV_R_SYM_FOR_OTHERS, false },
        { "a name like that for other memory", WHOLE, true, CV_ROLE_GLOBAL, ".nv.global", GLOBAL_NOTYPE, 0, 0,
          0, CV_R_SYM_FOR_OTHERS, true },
        { "a name like that of an object", PLAIN, true, CV_ROLE_SHARED_RESERVED, ".nv.shared.reserved.0",
          GLOBAL_NOTYPE, 0, 0, 0, CV_R_SYM_FOR_OTHERS, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t section, symbol;

        anew(CASES[i].rel, 90);
        made.cubin.hand = CASES[i].kind == HAND;
        if (CASES[i].kind == WHOLE)
            made.cubin.header.type = CV_ELF_MERCURY;
        section = cubin_made_section(&made, CASES[i].role, CASES[i].name, NULL, 64);
        symbol = cubin_made_symbol(&made, false, "f", CASES[i].info, CASES[i].other, section, CASES[i].value,
                                   CASES[i].size);
        cubin_made_at(&made, section)->header.info = symbol;
        made.cubin.symtab_index = cubin_made_section(&made, CV_ROLE_SYMTAB, ".symtab", NULL, 0);
        cv_cubin_check_symbols(&ctx, &made.cubin);
        expect(CASES[i].what, CASES[i].rule, CASES[i].said);
    }
}
END_TEST

Suite *suite_test_cubin_stages(void)
{
    Suite *suite = suite_create("cubin_stages");
    TCase *tcase = tcase_create("cubin_stages");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, relocations);
    tcase_add_test(tcase, forgotten_addresses);
    tcase_add_test(tcase, extended_number);
    tcase_add_test(tcase, no_symbols_in_a_row);
    tcase_add_test(tcase, two_tables);
    tcase_add_test(tcase, tables_of_frames);
    tcase_add_test(tcase, types_by_hand);
    tcase_add_test(tcase, symbols);
    suite_add_tcase(suite, tcase);
    return suite;
}

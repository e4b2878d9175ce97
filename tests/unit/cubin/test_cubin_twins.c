/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The two sides of an image against each other, where they say what no compiler writes: records, symbols,
 * relocations and tables, put together for each question. */
#include <check.h>
#include <string.h>

#include "cubin_made.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

enum { LOCAL_FUNC = 0x02, GLOBAL_FUNC = 0x12, GLOBAL_OBJECT = 0x11, LOCAL_SECTION = 0x03 };

static cv_ctx ctx;
static cubin_made made;
static uint32_t seen[CV_N_RULES];
static heap_state memory;

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    seen[diag->rule]++;
}

static void again(void)
{
    memset(seen, 0, sizeof(seen));
    cv_ctx_unit(&ctx, 1 << 20);
}

static void setup(void)
{
    const cuvet_alloc alloc = heap_alloc(&memory);
    cuvet_limits lim = { .size = sizeof(lim) };

    memory = (heap_state){ 0 };
    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &alloc, &lim);
    ctx.emit = emit;
    again();
    cubin_made_begin(&made, &ctx, 100);
}

static void teardown(void)
{
    cubin_made_free(&made);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

static void anew(void)
{
    cubin_made_free(&made);
    cubin_made_begin(&made, &ctx, 100);
    again();
}

/* A record without a payload, and one of a parameter. */
#define RECORD(format, code, value) ((uint32_t)(format) | (uint32_t)(code) << 8 | (uint32_t)(value) << 16)
#define PARAMETER(code, ordinal)    RECORD(4, code, 12), 0, (uint32_t)(ordinal), 0x0021F000
#define MAXREG                      CV_ATTR_MAXREG_COUNT
#define V2                          CV_ATTR_KPARAM_INFO_V2

/* Records of a function on both sides; those that the Mercury side makes up for itself are passed over. */
START_TEST(records_of_a_function)
{
    static const struct {
        const char *what;
        uint32_t native[10], n_native, merc[10], n_merc;
        bool said;
    } CASES[] = {
        { "the same", { RECORD(3, MAXREG, 255) }, 1, { RECORD(3, MAXREG, 255) }, 1, false },
        { "another value", { RECORD(3, MAXREG, 255) }, 1, { RECORD(3, MAXREG, 254) }, 1, true },
        { "another format", { RECORD(3, MAXREG, 255) }, 1, { RECORD(2, MAXREG, 255) }, 1, true },
        { "one is missing", { RECORD(3, MAXREG, 255) }, 1, { 0 }, 0, true },
        { "one more", { 0 }, 0, { RECORD(3, MAXREG, 255) }, 1, true },
        { "behind a made-up parameter",
          { RECORD(3, MAXREG, 255) },
          1,
          { PARAMETER(V2, 0xFFFF), RECORD(3, MAXREG, 255) },
          5,
          false },
        { "behind a parameter",
          { RECORD(3, MAXREG, 255) },
          1,
          { PARAMETER(V2, 0), RECORD(3, MAXREG, 255) },
          5,
          true },
        { "behind a parameter of the old kind",
          { RECORD(3, MAXREG, 255) },
          1,
          { PARAMETER(CV_ATTR_KPARAM_INFO, 0xFFFF), RECORD(3, MAXREG, 255) },
          5,
          true },
        { "behind a parameter without a payload",
          { RECORD(3, MAXREG, 255) },
          1,
          { RECORD(3, V2, 0xFFFF), RECORD(3, MAXREG, 255) },
          2,
          true },
        { "behind a made-up one, with a payload",
          { PARAMETER(V2, 3) },
          4,
          { PARAMETER(V2, 0xFFFF), PARAMETER(V2, 3) },
          8,
          false },
        { "behind a made-up one, another payload",
          { PARAMETER(V2, 3) },
          4,
          { PARAMETER(V2, 0xFFFF), PARAMETER(V2, 4) },
          8,
          true },
        { "a record that has no end", { RECORD(4, V2, 12) }, 1, { RECORD(3, MAXREG, 255) }, 1, true },
        { "a record of no format", { RECORD(9, V2, 12) }, 1, { RECORD(3, MAXREG, 255) }, 1, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };
        uint32_t native, merc;

        anew();
        native =
            cubin_made_words(&made, CV_ROLE_NV_INFO_FN, ".nv.info.k", CASES[i].native, CASES[i].n_native * 4);
        merc = cubin_made_words(&made, CV_ROLE_MERC_NV_INFO_FN, ".nv.merc.nv.info.k", CASES[i].merc,
                                CASES[i].n_merc * 4);
        cv_twin_check_records(&pass, native, merc);
        ck_assert_msg((seen[CV_R_TWIN_DATA] != 0) == CASES[i].said, "%s", CASES[i].what);
    }
}
END_TEST

/* Registers by symbol: numbers of sections may be others on the other side. */
START_TEST(records_of_all)
{
    enum { REGS = CV_ATTR_REGCOUNT };
    static const struct {
        const char *what;
        uint32_t native[3], merc[3], words;
        bool said;
    } CASES[] = {
        { "another number of the same section",
          { RECORD(4, REGS, 8), 1, 16 },
          { RECORD(4, REGS, 8), 2, 16 },
          3,
          false },
        { "other registers of it", { RECORD(4, REGS, 8), 1, 16 }, { RECORD(4, REGS, 8), 2, 17 }, 3, true },
        { "another section", { RECORD(4, REGS, 8), 1, 16 }, { RECORD(4, REGS, 8), 1, 16 }, 3, false },
        { "a section and a function", { RECORD(4, REGS, 8), 1, 16 }, { RECORD(4, REGS, 8), 3, 16 }, 3, true },
        { "a function and a section", { RECORD(4, REGS, 8), 3, 16 }, { RECORD(4, REGS, 8), 1, 16 }, 3, true },
        { "numbers behind both tables",
          { RECORD(4, REGS, 8), 77, 16 },
          { RECORD(4, REGS, 8), 78, 16 },
          3,
          true },
        { "a payload of one word", { RECORD(4, REGS, 4), 1 }, { RECORD(4, REGS, 4), 2 }, 2, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };
        uint32_t native, merc, data, other;

        anew();
        data = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 16);
        other = cubin_made_section(&made, CV_ROLE_UDT, ".nv.udt", NULL, 16);
        (void)cubin_made_symbol(&made, false, "", LOCAL_SECTION, 0, data, 0, 0);
        (void)cubin_made_symbol(&made, false, "", LOCAL_SECTION, 0, other, 0, 0);
        (void)cubin_made_symbol(&made, false, "f", GLOBAL_FUNC, 0, other, 0, 16);
        (void)cubin_made_symbol(&made, true, "", LOCAL_SECTION, 0, other, 0, 0);
        (void)cubin_made_symbol(&made, true, "", LOCAL_SECTION, 0, data, 0, 0);
        (void)cubin_made_symbol(&made, true, "f", GLOBAL_FUNC, 0, other, 0, 16);
        native = cubin_made_words(&made, CV_ROLE_NV_INFO, ".nv.info", CASES[i].native, CASES[i].words * 4);
        merc = cubin_made_words(&made, CV_ROLE_MERC_NV_INFO, ".nv.merc.nv.info", CASES[i].merc,
                                CASES[i].words * 4);
        cv_twin_check_records(&pass, native, merc);
        ck_assert_msg((seen[CV_R_TWIN_DATA] != 0) == CASES[i].said, "%s", CASES[i].what);
    }
}
END_TEST

/* Names at two places of the strings are one when they read alike; one that has no end is none. */
START_TEST(names_of_symbols)
{
    static const struct {
        const char *native, *merc;
        unsigned cut; /* 1: the native name loses its end, 2: that of the Mercury side */
        bool said;
    } CASES[] = {
        { "variable", "variable", 0, false },
        { "variable", "variably", 0, true },
        { "variable", "variable", 2, true },
        { "variable", "variable", 1, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t section;

        for (uint64_t work = 0; work < 40; work++) { /* a limit is said, and nothing of the names */
            anew();
            section = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 16);
            if (CASES[i].cut == 1) {
                (void)cubin_made_symbol(&made, true, CASES[i].merc, GLOBAL_OBJECT, 0, section, 0, 4);
                (void)cubin_made_symbol(&made, false, CASES[i].native, GLOBAL_OBJECT, 0, section, 0, 4);
            } else {
                (void)cubin_made_symbol(&made, false, CASES[i].native, GLOBAL_OBJECT, 0, section, 0, 4);
                (void)cubin_made_symbol(&made, true, CASES[i].merc, GLOBAL_OBJECT, 0, section, 0, 4);
            }
            made.cubin.strtab.len -= CASES[i].cut != 0;
            cv_ctx_set_work(&ctx, work);
            ck_assert_int_eq(cv_cubin_check_twins(&ctx, &made.cubin), CUVET_OK);
            ck_assert(!ctx.work_out || CASES[i].cut || seen[CV_R_TWIN_SYMBOL] == 0);
        }
        ck_assert_msg((seen[CV_R_TWIN_SYMBOL] != 0) == CASES[i].said, "case %zu", i);
    }
}
END_TEST

/* Where a variable lies: in a bank of tables of the same function; shared memory has no places yet. */
START_TEST(places_of_symbols)
{
    static const struct {
        const char *what;
        cv_role role, merc_role;
        const char *section, *merc_section; /* NULL: one section for both */
        uint64_t merc_value;
        bool said;
    } CASES[] = {
        { "bank of tables", CV_ROLE_CONSTANT_FN, CV_ROLE_MERC_CONSTANT_OPT, ".nv.constant2.k",
          ".nv.merc.nv.constant.optimizer.k", 0, false },
        { "of another function", CV_ROLE_CONSTANT_FN, CV_ROLE_MERC_CONSTANT_OPT, ".nv.constant2.k",
          ".nv.merc.nv.constant.optimizer.l", 0, true },
        { "another bank", CV_ROLE_CONSTANT_FN, CV_ROLE_MERC_CONSTANT_OPT, ".nv.constant3.k",
          ".nv.merc.nv.constant.optimizer.k", 0, true },
        { "no bank", CV_ROLE_GLOBAL, CV_ROLE_MERC_CONSTANT_OPT, ".nv.constant2.k",
          ".nv.merc.nv.constant.optimizer.k", 0, true },
        { "global memory, another place", CV_ROLE_GLOBAL, CV_ROLE_GLOBAL, ".nv.global", NULL, 4, true },
        { "shared memory", CV_ROLE_SHARED_FN, CV_ROLE_SHARED_FN, ".nv.shared.k", NULL, 4, false },
        { "reserved shared memory", CV_ROLE_SHARED_RESERVED, CV_ROLE_SHARED_RESERVED, ".nv.shared.reserved.0",
          NULL, 4, false },
        { "shared memory of a debugger", CV_ROLE_NV_DEBUG_SHARED, CV_ROLE_NV_DEBUG_SHARED, ".nv_debug.shared",
          NULL, 4, false },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t native, merc;

        anew();
        native = cubin_made_section(&made, CASES[i].role, CASES[i].section, NULL, 16);
        merc = native;
        if (CASES[i].merc_section)
            merc = cubin_made_section(&made, CASES[i].merc_role, CASES[i].merc_section, NULL, 16);
        (void)cubin_made_symbol(&made, false, "v", GLOBAL_OBJECT, 0, native, 0, 4);
        (void)cubin_made_symbol(&made, true, "v", GLOBAL_OBJECT, 0, merc, CASES[i].merc_value, 4);
        ck_assert_int_eq(cv_cubin_check_twins(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_TWIN_SYMBOL] != 0) == CASES[i].said, "%s", CASES[i].what);
    }
}
END_TEST

/* Initial values of both sides, each with one relocation; of a function the native side may have applied it.
 * */
static uint32_t both_data(const cv_elf_reloc *native, const cv_elf_reloc *merc)
{
    static const uint8_t ONES[32] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    uint32_t left, right;

    anew();
    left = cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 32);
    right = cubin_made_section(&made, CV_ROLE_MERC_GLOBAL_INIT, ".nv.merc.nv.global.init", ONES, 32);
    (void)cubin_made_symbol(&made, false, "v", GLOBAL_OBJECT, 0, 0, 0, 8);
    (void)cubin_made_symbol(&made, true, "v", GLOBAL_OBJECT, 0, 0, 0, 8);
    (void)cubin_made_relocs(&made, left, false, native, 1);
    (void)cubin_made_relocs(&made, right, true, merc, 1);
    return right;
}

START_TEST(relocations_of_data)
{
    static const struct {
        const char *what;
        cv_elf_reloc native, merc;
        bool said;
    } CASES[] = {
        { "an address", { 0, 1, CV_R_CUDA_64, 0 }, { 0, 1, CV_R_MERCURY_ABS64, 0 }, false },
        { "a descriptor",
          { 0, 1, CV_R_CUDA_FUNC_DESC_64, 0 },
          { 0, 1, CV_R_MERCURY_FUNC_DESC_64, 0 },
          false },
        { "an address for a descriptor",
          { 0, 1, CV_R_CUDA_FUNC_DESC_64, 0 },
          { 0, 1, CV_R_MERCURY_ABS64, 0 },
          true },
        { "a descriptor for an address",
          { 0, 1, CV_R_CUDA_64, 0 },
          { 0, 1, CV_R_MERCURY_FUNC_DESC_64, 0 },
          true },
        { "a symbol that is none", { 0, 1, CV_R_CUDA_64, 0 }, { 0, 9, CV_R_MERCURY_ABS64, 0 }, true },
        { "another word", { 0, 1, CV_R_CUDA_64, 0 }, { 8, 1, CV_R_MERCURY_ABS64, 0 }, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        (void)both_data(&CASES[i].native, &CASES[i].merc);
        ck_assert_int_eq(cv_cubin_check_twins(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_TWIN_DATA] != 0) == CASES[i].said, "%s", CASES[i].what);
    }
}
END_TEST

/* The word that is relocated may differ, no other one; where contents are not looked at neither does; and
 * while memory runs out. */
START_TEST(bytes_of_data)
{
    const cv_elf_reloc native = { 8, 1, CV_R_CUDA_64, 0 }, merc = { 8, 1, CV_R_MERCURY_ABS64, 0 };

    for (unsigned blind = 0; blind < 2; blind++) {
        uint64_t count = 0;
        cuvet_status status;

        do {
            heap_mend(&memory);
            (void)both_data(&native, &merc);
            ctx.no_contents = blind;
            heap_fail(&memory, ++count, false);
            status = cv_cubin_check_twins(&ctx, &made.cubin);
            ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        } while (status != CUVET_OK);
        heap_mend(&memory);
        ck_assert_uint_eq(seen[CV_R_TWIN_DATA], !blind);
    }
    ctx.no_contents = false;
}
END_TEST

/* A function with code on both sides: symbol 1 is the function, symbol 2 a variable. */
typedef struct both_code {
    uint32_t text, capsule, bank, table;
} both_code;

static both_code code_of_both(void)
{
    uint32_t word;
    both_code code;

    anew();
    code.text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 256);
    word = code.text;
    code.capsule = cubin_made_words(&made, CV_ROLE_CAPMERC_TEXT, ".nv.capmerc.text.f", &word, 4);
    cubin_made_at(&made, code.text)->capsule = code.capsule;
    (void)cubin_made_symbol(&made, false, "f", GLOBAL_FUNC, 0, code.text, 0, 256);
    (void)cubin_made_symbol(&made, true, "f", GLOBAL_FUNC, 0, code.capsule, 0, 256);
    (void)cubin_made_symbol(&made, false, "v", GLOBAL_OBJECT, 0, 0, 0, 4);
    (void)cubin_made_symbol(&made, true, "v", GLOBAL_OBJECT, 0, 0, 0, 4);
    return code;
}

START_TEST(relocations_of_code)
{
    enum { OWN = CV_R_CUDA_ABS32_LO_32, MERC = CV_R_MERCURY_ABS_PROG_REL32_LO };
    static const struct {
        const char *what;
        cv_elf_reloc native[2], merc[2];
        unsigned n_native, n_merc;
        bool said;
    } CASES[] = {
        { "two places of itself",
          { { 0, 1, OWN, 16 }, { 16, 1, OWN, 32 } },
          { { 0, 1, MERC, 8 }, { 8, 1, MERC, 16 } },
          2,
          2,
          false },
        { "the same, their instructions the other way round",
          { { 0, 1, OWN, 16 }, { 16, 1, OWN, 32 } },
          { { 8, 1, MERC, 8 }, { 0, 1, MERC, 16 } },
          2,
          2,
          true },
        { "their places the other way round",
          { { 0, 1, OWN, 16 }, { 16, 1, OWN, 32 } },
          { { 0, 1, MERC, 16 }, { 8, 1, MERC, 8 } },
          2,
          2,
          true },
        { "a place of something else", { { 0, 2, OWN, 16 } }, { { 0, 2, MERC, 8 } }, 1, 1, true },
        { "a place behind its end", { { 0, 1, OWN, 16 } }, { { 0, 1, MERC, 257 } }, 1, 1, true },
        { "a branch more", { { 0 } }, { { 0, 1, CV_R_MERCURY_PROG_REL32, 8 } }, 0, 1, false },
        { "what an instruction is", { { 0, 0, 69, 8 } }, { { 0 } }, 1, 0, false },
        { "a branch out of it", { { 0 } }, { { 0, 2, CV_R_MERCURY_PROG_REL32, 8 } }, 0, 1, true },
        { "a branch to no symbol", { { 0 } }, { { 0, 9, CV_R_MERCURY_PROG_REL32, 8 } }, 0, 1, true },
        { "a size of nothing", { { 0 } }, { { 0, 0, CV_R_MERCURY_ABS32, 0 } }, 0, 1, true },
        { "a size of a variable", { { 0 } }, { { 0, 2, CV_R_MERCURY_ABS32, 0 } }, 0, 1, true },
        { "a size of no symbol", { { 0 } }, { { 0, 9, CV_R_MERCURY_ABS32, 0 } }, 0, 1, true },
        { "a size of reserved memory, twice",
          { { 0 } },
          { { 0, 3, CV_R_MERCURY_ABS32, 0 }, { 8, 3, CV_R_MERCURY_ABS32, 0 } },
          0,
          2,
          false },
        { "a size of a name that has no end", { { 0 } }, { { 0, 4, CV_R_MERCURY_ABS32, 0 } }, 0, 1, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        both_code code = code_of_both();

        for (unsigned side = 0; side < 2; side++)
            (void)cubin_made_symbol(&made, side == 1, ".nv.reservedSmem.offset0", GLOBAL_OBJECT, 0, 0, 0, 4);
        for (unsigned side = 0; side < 2; side++)
            (void)cubin_made_symbol(&made, side == 1, ".nv.reservedSmem.x", GLOBAL_OBJECT, 0, 0, 0, 4);
        if (CASES[i].n_native)
            (void)cubin_made_relocs(&made, code.text, false, CASES[i].native, CASES[i].n_native);
        if (CASES[i].n_merc)
            (void)cubin_made_relocs(&made, code.capsule, true, CASES[i].merc, CASES[i].n_merc);
        made.cubin.strtab.len--; /* the last name has no end */
        cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };

        cv_twin_check_code(&pass, code.text);
        ck_assert_msg((seen[CV_R_TWIN_CODE] != 0) == CASES[i].said, "%s", CASES[i].what);
    }
}
END_TEST

/* Textures are named by relocations of parameters: no code, and nothing that branches. */
START_TEST(relocations_of_textures)
{
    const cv_elf_reloc branch = { 0, 1, CV_R_MERCURY_PROG_REL32, 8 };
    both_code code = code_of_both();
    cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };
    uint32_t textures = cubin_made_section(&made, CV_ROLE_MERC_CONSTANT_EIHI,
                                           ".nv.merc.nv.constant.entry_image_header_indices.f", NULL, 16);

    cubin_made_at(&made, textures)->header.info = code.capsule;
    (void)cubin_made_relocs(&made, textures, true, &branch, 1);
    cv_twin_check_textures(&pass, textures);
    ck_assert_uint_eq(seen[CV_R_TWIN_CODE], 1);
}
END_TEST

/* Branch tables: one entry, at the first word; the native side has 16 there, or nothing. */
START_TEST(branch_tables)
{
    enum { BRANCH = CV_R_MERCURY_PROG_REL32 };
    static const struct {
        const char *what;
        uint32_t word;
        cv_elf_reloc entry;
        uint32_t
            /* section of symbol 3 on the native side: 0 none, 1 the text, 2 another text without a capsule */
            own;
        uint32_t other; /* and on the Mercury side: 0 none, 1 the capsule, 2 another capsule */
        bool rel, blind, said;
    } CASES[] = {
        { "a label", 16, { 0, 1, BRANCH, 8 }, 1, 1, false, false, false },
        { "a label, to be linked", 16, { 0, 1, BRANCH, 8 }, 1, 1, true, false, false },
        { "a label behind the code", 0x1000, { 0, 1, BRANCH, 8 }, 1, 1, false, false, true },
        { "no label of code", 16, { 0, 1, CV_R_MERCURY_ABS32, 8 }, 1, 1, false, false, true },
        { "no label, and nobody looks", 16, { 0, 1, CV_R_MERCURY_ABS32, 8 }, 1, 1, false, true, false },
        { "of no symbol", 16, { 0, 9, BRANCH, 8 }, 1, 1, false, false, true },
        { "of a symbol of the native side alone", 16, { 0, 4, BRANCH, 8 }, 1, 1, false, false, true },
        { "of a variable", 16, { 0, 2, BRANCH, 8 }, 1, 1, false, false, true },
        { "of another function of a program", 16, { 0, 3, BRANCH, 8 }, 3, 2, false, false, false },
        { "of another function, to be linked", 16, { 0, 3, BRANCH, 8 }, 3, 2, true, false, true },
        { "of a function whose capsule is another", 16, { 0, 3, BRANCH, 8 }, 1, 2, false, false, true },
        { "left over", 0, { 0, 1, BRANCH, 8 }, 1, 1, false, false, false },
        { "left over, behind the end", 0, { 0, 1, BRANCH, 300 }, 1, 1, false, false, false },
        { "left over, no label", 0, { 0, 1, CV_R_MERCURY_ABS32, 300 }, 1, 1, false, false, true },
        { "left over, of no symbol", 0, { 0, 9, BRANCH, 300 }, 1, 1, false, false, true },
        { "left over, of the native side alone", 0, { 0, 4, BRANCH, 300 }, 1, 1, false, false, true },
        { "left over, of a variable", 0, { 0, 2, BRANCH, 300 }, 1, 1, false, false, true },
        { "left over, of another function", 0, { 0, 3, BRANCH, 300 }, 3, 2, false, false, true },
        { "left over, of another capsule on one side", 0, { 0, 3, BRANCH, 300 }, 3, 1, false, false, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        both_code code = code_of_both();
        uint32_t word = CASES[i].word, text, capsule, bank, table;
        cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };

        text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.g", NULL, 256);
        capsule = cubin_made_words(&made, CV_ROLE_CAPMERC_TEXT, ".nv.capmerc.text.g", &text, 4);
        cubin_made_at(&made, text)->capsule = capsule;
        (void)cubin_made_symbol(&made, false, "g", GLOBAL_FUNC, 0, CASES[i].own == 3 ? text : code.text, 0,
                                256);
        (void)cubin_made_symbol(&made, true, "g", GLOBAL_FUNC, 0,
                                CASES[i].other == 2 ? capsule : code.capsule, 0, 256);
        (void)cubin_made_symbol(&made, false, "h", GLOBAL_FUNC, 0, code.text, 0, 256);
        bank = cubin_made_words(&made, CV_ROLE_CONSTANT_FN, ".nv.constant2.f", &word, 4);
        word = 0;
        table =
            cubin_made_words(&made, CV_ROLE_MERC_CONSTANT_OPT, ".nv.merc.nv.constant.optimizer.f", &word, 4);
        cubin_made_at(&made, table)->header.info = code.capsule;
        (void)cubin_made_relocs(&made, table, true, &CASES[i].entry, 1);
        made.cubin.rel = CASES[i].rel;
        made.cubin.exe = !CASES[i].rel;
        ctx.no_contents = CASES[i].blind;
        if (i ==
            /* nobody has said whose bank is where: the table has no partner, which is as large as nothing */
            0) {
            ck_assert_int_eq(cv_twin_check_table(&pass, table), CUVET_OK);
            ck_assert_uint_eq(seen[CV_R_TWIN_TABLE], 1);
            again();
        }
        ck_assert(cv_keys_push(&ctx.mem, &pass.tables, (cv_key){ code.text, bank }));
        ck_assert_int_eq(cv_twin_check_table(&pass, table), CUVET_OK);
        ck_assert_msg((seen[CV_R_TWIN_TABLE] != 0) == CASES[i].said, "%s", CASES[i].what);
        cv_keys_free(&ctx.mem, &pass.tables);
        ctx.no_contents = false;
    }
}
END_TEST

/* What debug data names: the same, in whatever order. */
START_TEST(names_of_debug_data)
{
    static const struct {
        cv_elf_reloc native[3], merc[3];
        unsigned n_native, n_merc;
        bool said;
    } CASES[] = {
        { { { 0, 1, 2, 0 }, { 8, 2, 2, 0 } },
          { { 0, 1, CV_R_MERCURY_ABS64, 0 }, { 8, 2, CV_R_MERCURY_ABS64, 0 } },
          2,
          2,
          false },
        { { { 0, 1, 2, 0 }, { 8, 2, 2, 0 } },
          { { 8, 2, CV_R_MERCURY_ABS64, 0 }, { 0, 1, CV_R_MERCURY_ABS64, 0 } },
          2,
          2,
          false },
        { { { 0, 1, 2, 0 }, { 8, 2, 2, 0 } },
          { { 8, 2, CV_R_MERCURY_ABS64, 0 }, { 0, 2, CV_R_MERCURY_ABS64, 0 } },
          2,
          2,
          true },
        { { { 0, 1, 2, 0 }, { 8, 2, 2, 0 } }, { { 8, 2, CV_R_MERCURY_ABS64, 0 } }, 2, 1, true },
        { { { 0, 1, 2, 0 } },
          { { 0, 1, CV_R_MERCURY_ABS64, 0 }, { 8, 2, CV_R_MERCURY_ABS64, 0 } },
          1,
          2,
          true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_twins pass = { .ctx = &ctx, .cubin = &made.cubin };
        uint32_t native, merc;

        (void)code_of_both();
        native = cubin_made_section(&made, CV_ROLE_DEBUG, ".debug_info", NULL, 32);
        merc = cubin_made_section(&made, CV_ROLE_MERC_DEBUG, ".nv.merc.debug_info", NULL, 32);
        (void)cubin_made_relocs(&made, native, false, CASES[i].native, CASES[i].n_native);
        (void)cubin_made_relocs(&made, merc, true, CASES[i].merc, CASES[i].n_merc);
        ck_assert_int_eq(cv_twin_check_debug(&pass, merc), CUVET_OK);
        ck_assert_msg((seen[CV_R_TWIN_DEBUG] != 0) == CASES[i].said, "case %zu", i);
    }
}
END_TEST

/* One side has more symbols than the other: of those without a name nothing is said. */
START_TEST(more_symbols)
{
    static const struct {
        const char *native, *merc; /* NULL: there is none */
        bool said;
    } CASES[] = { { NULL, "", false }, { NULL, "v", true }, { "", NULL, false },
                  { "v", NULL, true }, { "v", "", true },   { "", "v", true } };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t section;

        anew();
        section = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 16);
        if (CASES[i].native)
            (void)cubin_made_symbol(&made, false, CASES[i].native, GLOBAL_OBJECT, 0, section, 0, 4);
        if (CASES[i].merc)
            (void)cubin_made_symbol(&made, true, CASES[i].merc, GLOBAL_OBJECT, 0, section, 0, 4);
        ck_assert_int_eq(cv_cubin_check_twins(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_TWIN_SYMBOL] != 0) == CASES[i].said, "case %zu", i);
    }
}
END_TEST

Suite *suite_test_cubin_twins(void)
{
    Suite *suite = suite_create("cubin_twins");
    TCase *tcase = tcase_create("cubin_twins");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, records_of_a_function);
    tcase_add_test(tcase, records_of_all);
    tcase_add_test(tcase, names_of_symbols);
    tcase_add_test(tcase, places_of_symbols);
    tcase_add_test(tcase, more_symbols);
    tcase_add_test(tcase, relocations_of_data);
    tcase_add_test(tcase, bytes_of_data);
    tcase_add_test(tcase, relocations_of_code);
    tcase_add_test(tcase, relocations_of_textures);
    tcase_add_test(tcase, branch_tables);
    tcase_add_test(tcase, names_of_debug_data);
    suite_add_tcase(suite, tcase);
    return suite;
}

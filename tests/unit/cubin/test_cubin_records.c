/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Segments, records and ranges of pictures that no tool makes, each stage asked alone: a row is said to
 * break a rule or not. */
#include <check.h>
#include <string.h>

#include "cubin/meta.h"
#include "cubin_made.h"
#include "format/elf/write.h"

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

/* Program headers in the middle of a file, and ranges that the ledger sorted. */
static void put_segments(const cv_elf_segment *segments, unsigned count)
{
    cv_builder builder;
    uint32_t section;

    cv_builder_init(&builder, &ctx.mem);
    for (unsigned i = 0; i < count; i++)
        cv_elf_write_segment(&builder, false, &segments[i]);
    section = cubin_made_section(&made, CV_ROLE_NONE, ".table", builder.bytes, builder.len);
    cv_builder_free(&builder);
    made.cubin.header.phoff = cubin_made_at(&made, section)->header.off;
    made.cubin.header.phnum = (uint16_t)count;
    made.cubin.header.phentsize = 56;
}

static void put_range(uint32_t section)
{
    ck_assert(cv_keys_push(&ctx.mem, &made.cubin.by_off,
                           (cv_key){ cubin_made_at(&made, section)->header.off, section }));
}

/* A segment before the table of segments, into it, behind it. */
START_TEST(segments_and_their_table)
{
    static const struct {
        int64_t from;
        uint64_t size;
        bool said;
    } CASES[] = { { -64, 64, false }, { -64, 65, true }, { 56, 64, false } };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_elf_segment segment = {
            .type = CV_PT_LOAD, .flags = CV_PF_R, .filesz = CASES[i].size, .memsz = CASES[i].size, .align = 8
        };

        anew(false, 90);
        (void)cubin_made_section(&made, CV_ROLE_CONSTANT, ".nv.constant3", NULL, 64);
        segment.off = made.cubin.image.len + (uint64_t)CASES[i].from;
        put_segments(&segment, 1);
        (void)cubin_made_section(&made, CV_ROLE_CONSTANT, ".nv.constant3", NULL, 128);
        ck_assert_int_eq(cv_cubin_check_segments(&ctx, &made.cubin), CUVET_OK);
        expect("a segment", CV_R_SEG_FOREIGN, CASES[i].said);
    }
}
END_TEST

/* The table is in one segment of its own, and not in two. */
START_TEST(two_tables_of_segments)
{
    for (unsigned k = 0; k < 3; k++) {
        cv_elf_segment segment[2] = {
            { .type = CV_PT_PHDR, .flags = CV_PF_R, .filesz = 112, .memsz = 112, .align = 8 }
        };

        anew(false, 90);
        segment[0].off = made.cubin.image.len;
        segment[1] = segment[0];
        segment[k & 1].type = k == 2 ? CV_PT_PHDR : CV_PT_LOAD;
        put_segments(segment, 2);
        ck_assert_int_eq(cv_cubin_check_segments(&ctx, &made.cubin), CUVET_OK);
        expect("a table", CV_R_SEG_TABLE, k == 2);
    }
}
END_TEST

/* The last range before the end of a segment is looked for behind empty ones, as far as anybody has them. */
START_TEST(behind_empty_ranges)
{
    for (unsigned empty = 10; empty <= 70; empty += 60) {
        cv_elf_segment segment = {
            .type = CV_PT_LOAD, .flags = CV_PF_R, .filesz = 32, .memsz = 32, .align = 8
        };
        uint32_t first, section;

        anew(false, 90);
        first = cubin_made_section(&made, CV_ROLE_CONSTANT, ".nv.constant3", NULL, 32);
        segment.off = cubin_made_at(&made, first)->header.off;
        put_segments(&segment, 1);
        put_range(first);
        for (unsigned i = 0; i < empty; i++) {
            section = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 0);
            cubin_made_at(&made, section)->header.off = segment.off + 16;
            put_range(section);
        }
        ck_assert_int_eq(cv_cubin_check_segments(&ctx, &made.cubin), CUVET_OK);
        expect("the end of a segment", CV_R_SEG_BOUNDARY, empty > 64);
    }
}
END_TEST

/* Old linkers lose the end of the code; nothing else is lost, and not far away. */
START_TEST(behind_the_code)
{
    static const struct {
        bool legacy;
        uint64_t flags, away;
        uint32_t segment_flags;
        bool lost;
    } CASES[] = {
        { true, CV_SHF_ALLOC | CV_SHF_EXECINSTR, 0, CV_PF_R | CV_PF_X, true },
        { true, CV_SHF_ALLOC | CV_SHF_EXECINSTR, 0x4000, CV_PF_R | CV_PF_X, false },
        { true, CV_SHF_ALLOC, 0, CV_PF_R | CV_PF_X, false },
        { true, CV_SHF_ALLOC | CV_SHF_EXECINSTR, 0, CV_PF_R, false },
        { false, CV_SHF_ALLOC | CV_SHF_EXECINSTR, 0, CV_PF_R | CV_PF_X, false },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_elf_segment segment = {
            .type = CV_PT_LOAD, .flags = CASES[i].segment_flags, .filesz = 32, .memsz = 32, .align = 8
        };
        uint32_t first, last;

        anew(false, 75);
        made.cubin.legacy = CASES[i].legacy;
        first = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 32);
        last = cubin_made_section(&made, CV_ROLE_TEXT, ".text.g", NULL, 32);
        cubin_made_at(&made, first)->header.flags = cubin_made_at(&made, last)->header.flags = CASES[i].flags;
        cubin_made_at(&made, last)->header.off += CASES[i].away;
        segment.off = cubin_made_at(&made, first)->header.off;
        put_segments(&segment, 1);
        put_range(first);
        put_range(last);
        ck_assert_int_eq(cv_cubin_check_segments(&ctx, &made.cubin), CUVET_OK);
        expect("lost code", CV_R_SEG_LEFT_OUT_END, CASES[i].lost);
        expect("code that is left out", CV_R_SEG_LEFT_OUT, !CASES[i].lost);
    }
}
END_TEST

#define RECORD(format, code, value) ((uint32_t)(format) | (uint32_t)(code) << 8 | (uint32_t)(value) << 16)

/* Registers of one function twice: the same number again is said more mildly, if every record of it says the
 * same. So is a stack that is the frame of its function, behind larger ones. */
START_TEST(said_twice)
{
    enum { REGS = CV_ATTR_REGCOUNT, STACK = CV_ATTR_MIN_STACK_SIZE, FRAME = CV_ATTR_FRAME_SIZE };
    static const struct {
        const char *what;
        uint32_t words[9], count;
        cv_rule rule;
    } CASES[] = {
        { "the same", { RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 }, 6, CV_R_TLV_SYMBOL_SAME },
        { "another number",
          { RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 17 },
          6,
          CV_R_TLV_SYMBOL_TWICE },
        { "of another function before",
          { RECORD(4, REGS, 8), 2, 17, RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_SAME },
        { "another record before",
          { RECORD(4, CV_ATTR_FRAME_SIZE, 8), 1, 17, RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_SAME },
        { "of another format before",
          { RECORD(3, REGS, 8), RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 },
          7,
          CV_R_TLV_SYMBOL_SAME },
        { "of another size before",
          { RECORD(4, REGS, 4), 1, RECORD(4, REGS, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 },
          8,
          CV_R_TLV_SYMBOL_SAME },
        { "stack and frame",
          { RECORD(4, STACK, 8), 1, 17, RECORD(4, FRAME, 8), 1, 16, RECORD(4, STACK, 8), 1, 16 },
          9,
          CV_R_TLV_STACK_OF_FRAME },
        { "stack and another frame",
          { RECORD(4, STACK, 8), 1, 18, RECORD(4, FRAME, 8), 1, 17, RECORD(4, STACK, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_TWICE },
        { "stack and the frame of another function",
          { RECORD(4, STACK, 8), 1, 17, RECORD(4, FRAME, 8), 2, 16, RECORD(4, STACK, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_TWICE },
        { "a smaller stack before",
          { RECORD(4, STACK, 8), 1, 15, RECORD(4, FRAME, 8), 1, 16, RECORD(4, STACK, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_TWICE },
        { "registers and frame",
          { RECORD(4, REGS, 8), 1, 17, RECORD(4, FRAME, 8), 1, 16, RECORD(4, REGS, 8), 1, 16 },
          9,
          CV_R_TLV_SYMBOL_TWICE },
    };
    static const cv_rule RULES[] = { CV_R_TLV_SYMBOL_SAME, CV_R_TLV_SYMBOL_TWICE, CV_R_TLV_STACK_OF_FRAME };

    for (size_t i = 0; i < N(CASES); i++) {
        cv_u32s marks = { 0 };
        uint32_t text, info;

        anew(true, 90);
        text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 64);
        (void)cubin_made_symbol(&made, false, "f", GLOBAL_FUNC, 0, text, 0, 64);
        (void)cubin_made_symbol(&made, false, "g", GLOBAL_FUNC, 0, text, 0, 64);
        info = cubin_made_words(&made, CV_ROLE_NV_INFO, ".nv.info", CASES[i].words, CASES[i].count * 4);
        ck_assert(cv_u32s_fill(&ctx.mem, &marks, made.cubin.n_syms));
        ck_assert(cv_meta_info_global(&ctx, &made.cubin, info, false, &marks));
        cv_u32s_free(&ctx.mem, &marks);
        for (size_t rule = 0; rule < N(RULES); rule++)
            expect(CASES[i].what, RULES[rule], CASES[i].rule == RULES[rule]);
    }
}
END_TEST

/* The records of a function. */
static void records_of_function(const uint32_t *words, uint32_t count)
{
    uint32_t text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.kernel_of_a_name", NULL, 64);
    uint32_t bank =
        cubin_made_section(&made, CV_ROLE_CONSTANT_FN, ".nv.constant0.kernel_of_a_name", NULL, 0x300);
    uint32_t info =
        cubin_made_words(&made, CV_ROLE_NV_INFO_FN, ".nv.info.kernel_of_a_name", words, count * 4);

    cubin_made_at(&made, bank)->header.info = text;
    cubin_made_at(&made, text)->const0 = bank;
    cubin_made_at(&made, info)->header.info = text;
    ck_assert_int_eq(cv_meta_info_function(&ctx, &made.cubin, info, false), CUVET_OK);
}

/* Who writes by hand names the bank by an undefined symbol of that name: exactly that name. */
START_TEST(bank_by_name)
{
    static const struct {
        const char *name;
        bool hand, said;
    } CASES[] = {
        { ".nv.constant0.kernel_of_a_name", true, false }, { ".nv.constant0.kernel_of_a_name", false, true },
        { ".nv.constant0.kernel_of_a_names", true, true }, { ".nv.constant0.kernel", true, true },
        { ".nv.constant0.kernel_of_a_nams", true, true },  { ".nv.constant1.kernel_of_a_name", true, true },
    };
    const uint32_t words[] = { RECORD(4, CV_ATTR_PARAM_CBANK, 8), 1, 0x00080210 };

    for (size_t i = 0; i < N(CASES); i++)
        for (uint64_t work = 1 << 20; work > 0;
             work = work > 300 ? 300 : work - 1) { /* and while it runs out */
            anew(false, 90);
            made.cubin.hand = CASES[i].hand;
            (void)cubin_made_symbol(&made, false, CASES[i].name, GLOBAL_NOTYPE, 0, 0, 0, 0);
            cv_ctx_set_work(&ctx, work);
            records_of_function(words, N(words));
            if (!ctx.work_out)
                expect(CASES[i].name, CV_R_TLV_CBANK_SECTION, CASES[i].said);
        }
}
END_TEST

/* The null function of linkers 12.0 to 12.9: local, undefined, without a name, in a program. */
START_TEST(null_function)
{
    static const struct {
        const char *what, *name;
        uint8_t info;
        bool defined, rel, cut, said;
    } CASES[] = {
        { "the null function", "", LOCAL_FUNC, false, false, false, false },
        { "to be linked", "", LOCAL_FUNC, false, true, false, true },
        { "a global one", "", GLOBAL_FUNC, false, false, false, true },
        { "a defined one", "", LOCAL_FUNC, true, false, false, true },
        { "one with a name", "f", LOCAL_FUNC, false, false, false, true },
        { "a name without an end", "f", LOCAL_FUNC, false, false, true, true },
    };
    const uint32_t words[] = { RECORD(4, CV_ATTR_KPARAM_INFO, 12), 1, 0, 0x0021F000 };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t text;

        anew(CASES[i].rel, 90);
        text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 64);
        (void)cubin_made_symbol(&made, false, CASES[i].name, CASES[i].info, 0, CASES[i].defined ? text : 0, 0,
                                0);
        made.cut = CASES[i].cut;
        records_of_function(words, N(words));
        expect(CASES[i].what, CV_R_TLV_ZERO, CASES[i].said);
    }
}
END_TEST

/* Parameters in no order: all numbers are there, of both kinds of records; what is no parameter has none. */
START_TEST(numbers_of_parameters)
{
    enum { P = CV_ATTR_KPARAM_INFO, V2 = CV_ATTR_KPARAM_INFO_V2 };
#define PARAMETER(code, ordinal) RECORD(4, code, 12), 0, (uint32_t)(ordinal), 0x0021F000
    static const struct {
        const char *what;
        uint32_t words[16], count;
        bool said;
    } CASES[] = {
        { "upwards", { PARAMETER(P, 0), PARAMETER(P, 1) }, 8, false },
        { "one twice", { PARAMETER(P, 0), PARAMETER(P, 0) }, 8, true },
        { "both kinds", { PARAMETER(P, 0), PARAMETER(V2, 1) }, 8, false },
        { "both kinds, one twice", { PARAMETER(P, 0), PARAMETER(V2, 0) }, 8, true },
        { "beside a record of another format",
          { PARAMETER(P, 0), RECORD(3, P, 12), PARAMETER(P, 1) },
          9,
          false },
        { "beside a record of another size",
          { PARAMETER(P, 0), RECORD(4, P, 8), 0, 0, PARAMETER(P, 1) },
          11,
          false },
        { "beside another record",
          { PARAMETER(P, 0), RECORD(3, CV_ATTR_MAXREG_COUNT, 255), PARAMETER(P, 1) },
          9,
          false },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        anew(false, 90);
        records_of_function(CASES[i].words, CASES[i].count);
        expect(CASES[i].what, CV_R_TLV_PARAM_ORDINAL, CASES[i].said);
    }
}
END_TEST

/* Two lists of one group are of one length, where both are there. */
START_TEST(lists_of_groups)
{
    static const struct {
        uint32_t words[5], count;
        bool said;
    } CASES[] = {
        { { RECORD(4, CV_ATTR_COOP_GROUP_INSTR_OFFSETS, 4), 16, RECORD(4, CV_ATTR_COOP_GROUP_MASK_REGIDS, 8),
            0, 0 },
          5,
          true },
        { { RECORD(4, CV_ATTR_COOP_GROUP_INSTR_OFFSETS, 4), 16, RECORD(4, CV_ATTR_COOP_GROUP_MASK_REGIDS, 4),
            0 },
          4,
          false },
        { { RECORD(4, CV_ATTR_COOP_GROUP_INSTR_OFFSETS, 4), 16 }, 2, false },
        { { RECORD(4, CV_ATTR_COOP_GROUP_MASK_REGIDS, 8), 0, 0 }, 3, false },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        anew(false, 90);
        records_of_function(CASES[i].words, CASES[i].count);
        expect("a group", CV_R_TLV_COOP_COUNT, CASES[i].said);
    }
}
END_TEST

/* Shared memory that is used without a name: of a function, and of a whole module where old tools say so. */
START_TEST(said_of_a_module)
{
    static const struct {
        uint32_t sm, code;
        bool said;
    } CASES[] = { { 90, CV_ATTR_RESERVED_SMEM_USED, false },
                  { 100, CV_ATTR_RESERVED_SMEM_USED, true },
                  { 90, CV_ATTR_TCGEN05_1CTA_USED, true } };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t word = RECORD(1, CASES[i].code, 0), info;
        cv_u32s marks = { 0 };

        anew(true, CASES[i].sm);
        info = cubin_made_words(&made, CV_ROLE_NV_INFO, ".nv.info", &word, 4);
        ck_assert(cv_u32s_fill(&ctx.mem, &marks, made.cubin.n_syms));
        ck_assert(cv_meta_info_global(&ctx, &made.cubin, info, false, &marks));
        cv_u32s_free(&ctx.mem, &marks);
        expect("a module", CV_R_TLV_SCOPE, CASES[i].said);
    }
}
END_TEST

/* Room in the file that is left for reserved shared memory: with bytes in it, without, behind the end of the
 * file. */
START_TEST(room_that_is_reserved)
{
    static const struct {
        uint8_t byte;
        uint64_t behind;
        bool said;
    } CASES[] = { { 0, 0, false }, { 7, 0, true }, { 7, 1, false } };

    for (size_t i = 0; i < N(CASES); i++) {
        uint8_t body[16] = { CASES[i].byte };
        uint32_t section;

        anew(false, 100);
        made.cubin.header.shoff = 64;
        section = cubin_made_section(&made, CV_ROLE_MERC_SHARED_RESERVED, ".nv.merc.nv.shared.reserved.0",
                                     body, sizeof(body));
        cubin_made_at(&made, section)->header.type = CV_SHT_NOBITS;
        cubin_made_at(&made, section)->header.size += CASES[i].behind;
        cubin_made_at(&made, section)->in_file = false;
        ck_assert_int_eq(cv_cubin_check_ledger(&ctx, &made.cubin, NULL), CUVET_OK);
        expect("room", CV_R_LEDGER_RESERVED_NONZERO, CASES[i].said);
    }
}
END_TEST

/* Compilers up to 12.8 align what lies before a clone for the clone as well; a clone only for itself. */
START_TEST(gaps_of_clones)
{
    static const struct {
        const char *what;
        bool old, clone, said;
    } CASES[] = {
        { "behind a clone", true, false, false },
        { "behind a clone, of later tools", false, false, true },
        { "a clone", true, true, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t before, section;

        anew(false, 100);
        made.cubin.old_tools = CASES[i].old;
        made.cubin.header.shoff = 64;
        (void)cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 16);
        before = cubin_made_section(&made, CV_ROLE_MERC_GLOBAL_INIT, ".nv.merc.nv.global.init", NULL, 16);
        cubin_made_at(&made, before)->header.align = 64;
        (void)cubin_made_section(&made, CV_ROLE_NONE, ".gap", NULL, 16);
        cubin_made_at(&made, before + 1)->in_file = false; /* nobody's bytes */
        cubin_made_at(&made, before + 1)->role = CASES[i].clone ? CV_ROLE_NONE : CV_ROLE_MERC_CONSTANT_USER;
        cubin_made_at(&made, before + 1)->header.align = 64;
        section = cubin_made_section(&made, CASES[i].clone ? CV_ROLE_MERC_CONSTANT_PIC : CV_ROLE_CONSTANT,
                                     ".x", NULL, 16);
        cubin_made_at(&made, section)->header.align = 8;
        ck_assert_int_eq(cv_cubin_check_ledger(&ctx, &made.cubin, NULL), CUVET_OK);
        ck_assert_msg((seen[CV_R_LEDGER_GAP] > 1) == CASES[i].said, "%s: %u gaps", CASES[i].what,
                      seen[CV_R_LEDGER_GAP]);
    }
}
END_TEST

/* A symbol whose section stands in another table, which says that there is none: undefined in one word,
 * defined in the other. Of files whose conventions are not known that is not judged. */
START_TEST(undefined_by_the_other_word)
{
    for (unsigned k = 0; k < 3; k++) {
        uint32_t words[2] = { 0 }, section, table;

        anew(true, 90);
        section = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 64);
        words[1] = k == 1 ? section : 0;
        table = cubin_made_words(&made, CV_ROLE_SYMTAB_SHNDX, ".symtab_shndx", words, sizeof(words));
        (void)cubin_made_symbol(&made, false, "v", GLOBAL_CUDA, 0x20, CV_SHN_XINDEX, 0, 8);
        made.cubin.symtab_index = cubin_made_section(&made, CV_ROLE_SYMTAB, ".symtab", NULL, 0);
        made.cubin.symtab_shndx = cv_cubin_body(&made.cubin, table);
        made.cubin.conv = k != 2;
        cv_cubin_check_symbols(&ctx, &made.cubin);
        expect("the other word", CV_R_SYM_SHNDX, k == 0);
    }
}
END_TEST

Suite *suite_test_cubin_records(void)
{
    Suite *suite = suite_create("cubin_records");
    TCase *tcase = tcase_create("cubin_records");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, segments_and_their_table);
    tcase_add_test(tcase, two_tables_of_segments);
    tcase_add_test(tcase, behind_empty_ranges);
    tcase_add_test(tcase, behind_the_code);
    tcase_add_test(tcase, said_twice);
    tcase_add_test(tcase, bank_by_name);
    tcase_add_test(tcase, null_function);
    tcase_add_test(tcase, numbers_of_parameters);
    tcase_add_test(tcase, lists_of_groups);
    tcase_add_test(tcase, said_of_a_module);
    tcase_add_test(tcase, room_that_is_reserved);
    tcase_add_test(tcase, gaps_of_clones);
    tcase_add_test(tcase, undefined_by_the_other_word);
    suite_add_tcase(suite, tcase);
    return suite;
}

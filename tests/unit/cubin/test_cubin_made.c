/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Stages of src/cubin that are asked alone, about pictures that no tool makes: what is decided by a
 * condition that no file of the corpora brings about. */
#include <check.h>
#include <string.h>

#include "cubin/calls.h"
#include "cubin/meta.h"
#include "cubin/producer.h"
#include "cubin_made.h"
#include "format/elf/write.h"
#include "format/note/write.h"
#include "support/heap.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* st_info: binding << 4 | type. */
enum {
    LOCAL_FUNC = 0x02,
    GLOBAL_FUNC = 0x12,
    LOCAL_OBJECT = 0x01,
    GLOBAL_OBJECT = 0x11,
    LOCAL_CUDA = 0x0D,
    GLOBAL_CUDA = 0x1D
};
#define ANYBODY UINT32_MAX

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
}

static void teardown(void)
{
    cubin_made_free(&made);
    cv_islands_drop();
    ck_assert_uint_eq(ctx.mem.live, 0);
    ck_assert_int_eq(memory.live, 0);
}

/* Bytes of a section, word by word. */
static uint32_t words[1024];
static uint64_t n_words;

static void put(uint32_t first, uint32_t second)
{
    words[n_words++] = first;
    words[n_words++] = second;
}

static void size_of(uint8_t code, uint32_t symbol, uint32_t value)
{
    words[n_words++] = 0x00080004u | (uint32_t)code << 8;
    put(symbol, value);
}

static uint32_t section_of_words(cv_role role, const char *name)
{
    uint32_t section = cubin_made_words(&made, role, name, words, n_words * 4);

    n_words = 0;
    return section;
}

/* Which roles are of one function alone, code, relocations of a capsule. */
START_TEST(roles)
{
    ck_assert(cv_role_is_private(CV_ROLE_LOCAL_FN) && cv_role_is_private(CV_ROLE_SHARED_FN));
    ck_assert(!cv_role_is_private(CV_ROLE_GLOBAL));
    ck_assert(cv_role_is_code(CV_ROLE_UFT) && cv_role_is_code(CV_ROLE_UFT_REL) &&
              !cv_role_is_code(CV_ROLE_UDT));
    ck_assert(cv_is_merc_rela(CV_SHT_MERC_RESOLVED_RELA) && cv_is_merc_rela(CV_SHT_MERC_RELA));
    ck_assert(!cv_is_merc_rela(CV_SHT_RELA));
}
END_TEST

/* What is no role is the first of none, and what no longer lies in the image has no bytes. */
START_TEST(nothing_outside)
{
    uint32_t section;

    cubin_made_begin(&made, &ctx, 90);
    section = cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 16);
    cv_cubin_set_first(&made.cubin, CV_N_ROLES, section);
    cv_cubin_set_first(&made.cubin, CV_ROLE_UDT, section);
    cv_cubin_set_first(&made.cubin, CV_ROLE_UDT, 7); /* the first one stays */
    ck_assert_uint_eq(cv_cubin_first(&made.cubin, CV_ROLE_UDT), section);
    ck_assert_uint_eq(cv_cubin_first(&made.cubin, CV_N_ROLES), 0);
    ck_assert_uint_eq(cv_cubin_body(&made.cubin, section).len, 16);
    cubin_made_at(&made, section)->header.off = made.cubin.image.len;
    ck_assert_uint_eq(cv_cubin_body(&made.cubin, section).len, 0);
}
END_TEST

/* Two callers whose targets are all listed: each allocation fails once, with any room that the list of edges
 * has left. */
START_TEST(listed_targets)
{
    for (uint32_t others = 0; others < 40; others++) {
        cuvet_status status;
        uint64_t count = 0;
        cv_calls calls;

        cubin_made_begin(&made, &ctx, 90);
        put(0, 0xFFFFFFFF);
        put(10, 1);
        put(11, 1);
        for (uint32_t k = 0; k < others; k++)
            put(20 + k, 1);
        put(0, 0xFFFFFFFC); /* part 4 */
        put(10, 1);
        put(11, 1);
        (void)section_of_words(CV_ROLE_CALLGRAPH, ".nv.callgraph");
        do {
            heap_fail(&memory, ++count, false);
            status = cv_calls_read(&ctx, &made.cubin, &calls);
            ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
            if (status == CUVET_OK)
                ck_assert(cv_calls_indirect(&calls, 10) && cv_calls_indirect(&calls, 11) &&
                          !cv_calls_indirect(&calls, 20));
            cv_calls_free(&ctx, &calls);
        } while (status != CUVET_OK);
        heap_mend(&memory);
        cubin_made_free(&made);
    }
}
END_TEST

/* A function that has two names is called by either. While memory fails nothing is said against who calls.
 * */
START_TEST(two_names)
{
    uint32_t text, first, second;
    cv_calls calls = { .judged = true };

    cubin_made_begin(&made, &ctx, 90);
    text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 128);
    first = cubin_made_symbol(&made, false, "f", GLOBAL_FUNC, 0, text, 0, 128);
    second = cubin_made_symbol(&made, false, "g", GLOBAL_FUNC, 0, text, 0, 128);
    ck_assert(cv_keys_push(&ctx.mem, &calls.edge, (cv_key){ (uint64_t)7 << 32 | first, 0 }));
    ck_assert(cv_keys_push(&ctx.mem, &calls.edge, (cv_key){ (uint64_t)8 << 32 | ANYBODY, 0 }));
    heap_fail(&memory, 1, false);
    ck_assert(cv_calls_alias(&ctx, &made.cubin, &calls, 7, second)); /* not known */
    heap_mend(&memory);
    calls.callee.made = false;
    ck_assert(cv_calls_alias(&ctx, &made.cubin, &calls, 7, second));
    ck_assert(cv_calls_alias(&ctx, &made.cubin, &calls, 7, second)); /* known by now */
    ck_assert(!cv_calls_alias(&ctx, &made.cubin, &calls, 8, second));
    ck_assert(!cv_calls_alias(&ctx, &made.cubin, &calls, 7, 0)); /* of no section */
    cv_keys_free(&ctx.mem, &calls.callee.place);
    heap_fail(&memory, 1, false);
    ck_assert(cv_calls_alias(&ctx, &made.cubin, &calls, 7,
                             second)); /* of another caller than the last one, not known */
    heap_mend(&memory);
    ck_assert(cv_keys_push(&ctx.mem, &calls.launch, (cv_key){ (uint64_t)7 << 32 | first, 0 }));
    ck_assert(cv_calls_taken(&calls, 7, first) && !cv_calls_taken(&calls, 8, first));
    cv_calls_free(&ctx, &calls);
}
END_TEST

/* A chain of calls of some length, its records from the top: each round lifts the registers by one function.
 * */
static void chain(uint32_t length, uint32_t kernel_registers)
{
    uint32_t text;

    cubin_made_begin(&made, &ctx, 90);
    text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 128);
    put(0, 0xFFFFFFFF);
    for (uint32_t k = 1; k < length; k++)
        put(k, k + 1);
    (void)section_of_words(CV_ROLE_CALLGRAPH, ".nv.callgraph");
    for (uint32_t k = 1; k <= length; k++)
        (void)cubin_made_symbol(&made, false, "f", GLOBAL_FUNC, k == 1 ? CV_STO_ENTRY : 0, text, 0, 16);
    if (kernel_registers)
        size_of(CV_ATTR_REGCOUNT, 1, kernel_registers);
    for (uint32_t k = 2; k <= length; k++)
        size_of(CV_ATTR_REGCOUNT, k, 16 + 8 * k);
    (void)section_of_words(CV_ROLE_NV_INFO, ".nv.info");
}

START_TEST(registers_of_callees)
{
    static const struct {
        uint32_t length, registers;
        bool said;
    } CASES[] = { { 3, 16, true },  { 10, 16, true },   { 10, 96, false },
                  { 10, 0, false }, { 30, 200, false }, { 30, 16, true } };

    for (size_t i = 0; i < N(CASES); i++) {
        uint64_t enough = 1 << 20;

        chain(CASES[i].length, CASES[i].registers);
        again();
        cv_ctx_set_work(&ctx, enough);
        ck_assert_int_eq(cv_meta_needs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_CALL_REGISTERS] != 0) == CASES[i].said, "case %zu", i);
        enough -= cv_ctx_work(&ctx);
        for (uint64_t work = 0; work < enough;
             work++) { /* less is a limit that is said, or nothing changes */
            again();
            cv_ctx_set_work(&ctx, work);
            ck_assert_int_eq(cv_meta_needs(&ctx, &made.cubin), CUVET_OK);
            ck_assert_msg(seen[CV_R_LIMIT_WORK] == 1 || (seen[CV_R_CALL_REGISTERS] != 0) == CASES[i].said,
                          "case %zu: %lu of %lu", i, (unsigned long)work, (unsigned long)enough);
        }
        cubin_made_free(&made);
    }
}
END_TEST

/* Words of eight bytes, one of them over the first bytes of the other, in two tables of one target: also
 * where the place that both touch is in another word of the marks than the place where the second begins. */
START_TEST(words_over_each_other)
{
    static const struct {
        uint64_t first, second;
        bool said;
    } CASES[] = { { 64, 60, true }, { 64, 56, false }, { 56, 60, true }, { 0, 8, false }, { 8, 8, true } };

    for (size_t i = 0; i < N(CASES); i++) {
        const cv_elf_reloc one = { CASES[i].first, 1, 2, 0 }, other = { CASES[i].second, 1, 2, 0 };
        uint64_t target, count = 0;
        cuvet_status status;
        cv_keys list = { 0 };

        cubin_made_begin(&made, &ctx, 90);
        target = cubin_made_section(&made, CV_ROLE_GLOBAL_INIT, ".nv.global.init", NULL, 256);
        for (unsigned k = 0; k < 2; k++) {
            uint64_t table = cubin_made_relocs(&made, (uint32_t)target, false, k ? &other : &one, 1);

            ck_assert(cv_keys_push(&ctx.mem, &list, (cv_key){ target, table << 1 }));
        }
        do {
            again();
            heap_fail(&memory, ++count, false);
            status = cv_cubin_check_overlap(&ctx, &made.cubin, &list);
            ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        } while (status != CUVET_OK);
        heap_mend(&memory);
        ck_assert_msg((seen[CV_R_RELOC_BITS] != 0) == CASES[i].said, "case %zu", i);
        cv_keys_free(&ctx.mem, &list);
        cubin_made_free(&made);
    }
}
END_TEST

/* As src/cubin/unique.c does: the state behind the first eight bytes of a name of sixteen. */
static uint64_t state_behind(uint64_t word)
{
    uint64_t hash = 16 * UINT64_C(0x9E3779B97F4A7C15);

    return (hash ^ hash >> 29 ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
}

/* Eight more bytes by which two names of other beginnings get the same hash. */
static void name_of_hash(char *name, uint64_t begin, uint64_t want)
{
    uint64_t state = state_behind(begin), rest = state ^ state >> 29 ^ want;

    for (unsigned i = 0; i < 8; i++) {
        name[i] = (char)(begin >> 8 * i);
        name[8 + i] = (char)(rest >> 8 * i);
        ck_assert_msg(name[i] != 0 && name[8 + i] != 0, "choose another beginning");
    }
    name[16] = 0;
}

/* Names that somebody made to have one hash are compared byte by byte: none is taken for another, and two
 * that are the same are found among them. */
START_TEST(names_of_one_hash)
{
    static const uint64_t BEGINS[] = { UINT64_C(0x6161616161616161), UINT64_C(0x6261616161616162),
                                       UINT64_C(0x6361616161616163) };
    char name[17];

    for (unsigned which = 0; which < 4; which++) {
        unsigned twice = which & 1;
        uint32_t section;

        cubin_made_begin(&made, &ctx, 90);
        section = cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 64);
        for (char other[] = "another1"; which >= 2 && other[7] < '9'; other[7]++)
            (void)cubin_made_symbol(&made, false, other, GLOBAL_OBJECT, 0, section, 0, 4);
        for (size_t i = 0; i < N(BEGINS) + twice; i++) {
            name_of_hash(name, BEGINS[i % N(BEGINS)], UINT64_C(0x7172737475767778));
            (void)cubin_made_symbol(&made, false, name, GLOBAL_OBJECT, 0, section, 4 * i, 4);
        }
        again();
        ck_assert_int_eq(cv_cubin_check_unique(&ctx, &made.cubin), CUVET_OK);
        ck_assert_uint_eq(seen[CV_R_SYM_TWICE], twice);
        cubin_made_free(&made);
    }
}
END_TEST

/* Two names of one place in a bank: a compiler's own are no variables, in the bank of all kernels and in
 * that of one. */
START_TEST(names_of_banks)
{
    static const struct {
        cv_role role;
        const char *section;
        uint8_t one, one_other, other, other_other;
        bool said;
    } CASES[] = {
        { CV_ROLE_CONSTANT, ".nv.constant2", LOCAL_OBJECT, 1, LOCAL_OBJECT, 1, false },
        { CV_ROLE_CONSTANT, ".nv.constant2", GLOBAL_OBJECT, 1, GLOBAL_OBJECT, 1, true },
        { CV_ROLE_CONSTANT, ".nv.constant3", LOCAL_OBJECT, 1, LOCAL_OBJECT, 1, true },
        { CV_ROLE_GLOBAL, ".nv.constant2", LOCAL_OBJECT, 1, LOCAL_OBJECT, 1, true },
        { CV_ROLE_CONSTANT_FN, ".nv.constant2.k", LOCAL_OBJECT, 1, LOCAL_OBJECT, 1, false },
        { CV_ROLE_CONSTANT_FN, ".nv.constant0.k", LOCAL_OBJECT, 1, LOCAL_OBJECT, 1, false },
        { CV_ROLE_CONSTANT_FN, ".nv.constant0.k", LOCAL_OBJECT, 1, GLOBAL_OBJECT, 0, true },
        { CV_ROLE_CONSTANT_FN, ".nv.constant0.k", GLOBAL_OBJECT, 0, LOCAL_OBJECT, 1, true },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        uint32_t section;

        cubin_made_begin(&made, &ctx, 90);
        section = cubin_made_section(&made, CASES[i].role, CASES[i].section, NULL, 64);
        (void)cubin_made_symbol(&made, false, "a", CASES[i].one, CASES[i].one_other, section, 0, 8);
        (void)cubin_made_symbol(&made, false, "b", CASES[i].other, CASES[i].other_other, section, 4, 8);
        again();
        ck_assert_int_eq(cv_cubin_check_variables(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_SYM_OVERLAP] != 0) == CASES[i].said, "case %zu", i);
        cubin_made_free(&made);
    }
}
END_TEST

/* What a note says of its release: too many digits are none. */
START_TEST(releases)
{
    static const struct {
        const char *text;
        uint16_t release;
    } CASES[] = {
        { "Cuda compilation tools, release 12.8, V12.8.93", 128 },
        { "release 999.9", 9999 },
        { "release 1000.0", 0 },
        { "release 12.10", 0 },
        { "release 12,8", 0 },
        { "release x", 0 },
        { "release 12.x", 0 },
        { "r", 0 },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        const char *text = CASES[i].text;
        cv_tkinfo tkinfo = { .version = 2,
                             .object = cv_span_of("", 0, 0),
                             .tool = cv_span_of("ptxas", 5, 0),
                             .tool_version = cv_span_of(text, strlen(text), 0),
                             .build = cv_span_of("", 0, 0),
                             .command = cv_span_of("", 0, 0) };
        cv_builder builder;

        cubin_made_begin(&made, &ctx, 90);
        cv_builder_init(&builder, &ctx.mem);
        ck_assert(cv_tkinfo_put(&builder, &tkinfo));
        (void)cubin_made_section(&made, CV_ROLE_TKINFO, ".note.nv.tkinfo", builder.bytes, builder.len);
        cv_producer_find(&ctx, &made.cubin);
        ck_assert_msg(made.cubin.producer.release == CASES[i].release, "%s: %u", text,
                      made.cubin.producer.release);
        ck_assert_int_eq(made.cubin.producer.tool, CV_TOOL_PTXAS);
        cv_builder_free(&builder);
        cubin_made_free(&made);
    }
}
END_TEST

/* Calls of functions that the driver has, where the graph has none: compilers of 12.2 leave them out of
 * programs for a debugger. */
START_TEST(untold_calls)
{
    static const struct {
        uint8_t profile;
        bool exe, defined, said;
    } CASES[] = {
        { CV_PROFILE_TOOLKIT_120, true, false, false }, { CV_PROFILE_TOOLKIT_120, true, true, true },
        { CV_PROFILE_TOOLKIT_120, false, false, true }, { CV_PROFILE_TOOLKIT_124, true, false, true },
        { CV_PROFILE_TOOLKIT_11, true, false, true },
    };
    static const uint32_t GRAPH[2] = { 0, UINT32_MAX };

    for (size_t i = 0; i < N(CASES); i++) {
        const cv_elf_reloc call = { 0, 1, CV_R_CUDA_ABS47_34, 0 };
        uint32_t text, target;

        again();
        cubin_made_begin(&made, &ctx, 80);
        made.cubin.exe = CASES[i].exe;
        made.cubin.rel = !CASES[i].exe;
        made.cubin.producer.profile = CASES[i].profile;
        text = cubin_made_section(&made, CV_ROLE_TEXT, ".text.f", NULL, 64);
        target = cubin_made_section(&made, CV_ROLE_TEXT, ".text.k", NULL, 64);
        (void)cubin_made_symbol(&made, false, "malloc", GLOBAL_FUNC, 0, CASES[i].defined ? text : 0, 0, 0);
        cubin_made_at(&made, target)->header.info =
            cubin_made_symbol(&made, false, "k", GLOBAL_FUNC, 0x10, target, 0, 64);
        (void)cubin_made_words(&made, CV_ROLE_CALLGRAPH, ".nv.callgraph", GRAPH, sizeof(GRAPH));
        (void)cubin_made_relocs(&made, target, false, &call, 1);
        cubin_made_at(&made, target)->relocs = 0;
        ck_assert_int_eq(cv_cubin_check_relocs(&ctx, &made.cubin), CUVET_OK);
        ck_assert_msg((seen[CV_R_RELOC_CALL] != 0) == CASES[i].said, "case %zu", i);
        cubin_made_free(&made);
    }
}
END_TEST

/* An array of which a launch says the size: a variable without bytes that others may name, where a debugger
 * looks. */
START_TEST(arrays_of_a_launch)
{
    static const struct {
        uint64_t size;
        uint8_t info;
        uint32_t section;
        bool array;
    } CASES[] = {
        { 0, GLOBAL_CUDA, 1, true }, { 4, GLOBAL_CUDA, 1, false }, { 0, GLOBAL_OBJECT, 1, false },
        { 0, LOCAL_CUDA, 1, false }, { 0, GLOBAL_CUDA, 2, false }, { 0, GLOBAL_CUDA, CV_SHN_ABS, false },
    };

    cubin_made_begin(&made, &ctx, 80);
    ck_assert_uint_eq(cubin_made_section(&made, CV_ROLE_NV_DEBUG_SHARED, ".nv_debug.shared", NULL, 16), 1);
    ck_assert_uint_eq(cubin_made_section(&made, CV_ROLE_GLOBAL, ".nv.global", NULL, 16), 2);

    for (size_t i = 0; i < CV_COUNT(CASES); i++) {
        const cv_elf_symbol symbol = { .info = CASES[i].info, .size = CASES[i].size };

        ck_assert_msg(cv_cubin_is_array(&made.cubin, &symbol, CASES[i].section) == CASES[i].array, "case %zu",
                      i);
    }
    cubin_made_free(&made);
}
END_TEST

Suite *suite_test_cubin_made(void)
{
    Suite *suite = suite_create("cubin_made");
    TCase *tcase = tcase_create("cubin_made");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, roles);
    tcase_add_test(tcase, nothing_outside);
    tcase_add_test(tcase, listed_targets);
    tcase_add_test(tcase, two_names);
    tcase_add_test(tcase, registers_of_callees);
    tcase_add_test(tcase, words_over_each_other);
    tcase_add_test(tcase, names_of_one_hash);
    tcase_add_test(tcase, names_of_banks);
    tcase_add_test(tcase, releases);
    tcase_add_test(tcase, untold_calls);
    tcase_add_test(tcase, arrays_of_a_launch);
    suite_add_tcase(suite, tcase);
    return suite;
}

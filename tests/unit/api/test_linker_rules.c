/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the linker refuses, each rule with a neighbour that is just legal. CV-LINK-016 stands for a defect of
 * the library: no input may raise it, and golden cases and fuzz/target_link.c would see it. */
#include "../../support/fatbins.h"
#include "link_fixture.h"

#define CASES "sm_80"

static lc_object object[2];

/* Link objects; what was said is kept. */
static cuvet_status link_with(const cuvet_linker_options *options, unsigned count, uint64_t *size)
{
    cuvet_linker linker = lc_linker(options);
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status;

    lc_forget();
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    status = cuvet_linker_complete(lc_ctx, linker);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result),
                     status == CUVET_OK ? CUVET_OK : CUVET_E_STATE);
    ck_assert_int_eq(result.n != 0, status == CUVET_OK);
    if (size)
        *size = result.n;
    lc_end(linker);
    return status;
}

static cuvet_status link_plainly(unsigned count)
{
    const cuvet_linker_options options = lc_options(CASES);

    return link_with(&options, count, NULL);
}

static void load(const char *name)
{
    const lc_case *lcase = lc_find(name, CASES);

    for (unsigned i = 0; i < lcase->count && i < N(object); i++)
        lc_load(&object[i], lcase->input[i]);
}

static const char *name_of(const lc_object *input, size_t symbol)
{
    unsigned strings, i;
    lc_section table = lc_find_section(input->bytes, ".symtab", &i);
    lc_section section = lc_find_section(input->bytes, ".strtab", &strings);

    ck_assert_uint_le(symbol + 24, table.off + table.size);
    return (const char *)input->bytes + section.off + lc_number(input->bytes, symbol, 4);
}

/* Where the symbol of this name lies in the file; a section symbol is not meant. */
static size_t symbol_at(const lc_object *input, const char *name)
{
    unsigned i;
    lc_section table = lc_find_section(input->bytes, ".symtab", &i);

    for (size_t at = table.off + 24; at < table.off + table.size; at += 24)
        if ((input->bytes[at + 4] & 15) != 3 && strcmp(name_of(input, at), name) == 0)
            return at;
    ck_abort_msg("no symbol %s", name);
}

/* Rules that whole cases raise: the symbol and the input that are named. */
static const struct {
    const char *name, *rule, *symbol;
    uint64_t input;
    const char *other; /* the symbol that it does not agree with … */
    uint64_t other_input;
} NAMED[] = {
    { "same_twice", "CV-LINK-001", "_Z2k2Pi", 1, "_Z2k2Pi", 0 },
    { "err_dup_func", "CV-LINK-001", "_Z5twicei", 1, "_Z5twicei", 0 },
    { "err_dup_var", "CV-LINK-001", "dupv", 1, "dupv", 0 },
    { "err_size", "CV-LINK-002", "arr", 1, "arr", 0 },
    { "err_func_vs_var", "CV-LINK-003", "same", 1, "same", 0 },
    { "err_kernel_vs_func", "CV-LINK-005", "same", 1, "same", 0 },
    { "err_undef", "CV-LINK-006", "novar", 0, NULL, 0 },
    { "reg_over", "CV-LINK-007", "_Z4deepPff", 1, "_Z3klbPf", 0 },
    { "recursion", "CV-LINK-008", "_Z4krecPi", 0, NULL, 0 },
};

/* The path goes on to the other input, with its symbol behind it. */
static void check_other(cuvet_linker linker, const cuvet_diag *diag, const char *symbol, uint64_t input)
{
    const char *at;
    size_t count;
    uint64_t inputs = 0;

    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, diag, 1, &at, &count),
                     symbol ? CUVET_OK : CUVET_E_NO_MATCH);
    for (unsigned i = 0; i < diag->where.n; i++)
        if (diag->where.step[i].kind == CUVET_P_MEMBER && inputs++ == 1)
            ck_assert_uint_eq(diag->where.step[i].index, input);
    ck_assert_uint_eq(inputs, symbol ? 2 : 1);
    if (symbol)
        ck_assert_msg(count == strlen(symbol) && memcmp(at, symbol, count) == 0, "%.*s", (int)count, at);
}

START_TEST(symbol_is_named)
{
    const lc_case *lcase = lc_find(NAMED[_i].name, CASES);
    const cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker = lc_linker(&options);
    const cuvet_diag *diag;
    const char *at, *file;
    size_t count;

    for (unsigned i = 0; i < lcase->count; i++) {
        const uint8_t *bytes = lc_file(lcase->input[i], &count);

        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, lcase->input[i]), CUVET_OK);
    }
    (void)!cuvet_linker_complete(lc_ctx, linker);
    diag = lc_diag(NAMED[_i].rule);
    ck_assert_int_eq(cuvet_linker_get_symbol(lc_ctx, linker, diag, 0, &at, &count), CUVET_OK);
    ck_assert_msg(count == strlen(NAMED[_i].symbol) && memcmp(at, NAMED[_i].symbol, count) == 0, "%s: %.*s",
                  NAMED[_i].name, (int)count, at);
    ck_assert_uint_ge(diag->where.n, 2);
    ck_assert_int_eq(diag->where.step[0].kind, CUVET_P_MEMBER);
    ck_assert_uint_eq(diag->where.step[0].index, NAMED[_i].input);
    ck_assert_int_eq(cuvet_linker_get_name(lc_ctx, linker, diag->where.step[0].index, &file), CUVET_OK);
    ck_assert_str_eq(file, lcase->input[NAMED[_i].input]);
    ck_assert_uint_lt(diag->file_off, 1 << 17);
    check_other(linker, diag, NAMED[_i].other, NAMED[_i].other_input);
    lc_end(linker);
}
END_TEST

/* CV-LINK-001: two strong definitions; one of them weak is legal. */
START_TEST(multiple_definition)
{
    load("err_dup_var");
    ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-001"));
    object[1].bytes[symbol_at(&object[1], "dupv") + 4] = 0x2d; /* weak */
    ck_assert_int_eq(link_plainly(2), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-001"));
}
END_TEST

/* CV-LINK-002: a declaration without a size agrees with every definition, an empty definition with none. */
START_TEST(sizes)
{
    load("err_size");
    ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-002") && lc_n_said() == 1);
    lc_put(&object[1], symbol_at(&object[1], "arr") + 16, 8, 0);
    ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
    lc_put(&object[0], symbol_at(&object[0], "arr") + 16, 8, 0);
    lc_put(&object[1], symbol_at(&object[1], "arr") + 16, 8, 4);
    ck_assert_int_eq(link_plainly(2), CUVET_OK);
}
END_TEST

/* CV-LINK-026: of a managed variable every declaration says it, whichever comes first. */
START_TEST(managed)
{
    for (unsigned which = 0; which < 2; which++) {
        load("err_size");
        lc_put(&object[0], symbol_at(&object[0], "arr") + 16, 8, 0);
        object[which].bytes[symbol_at(&object[which], "arr") + 5] |= 4;
        ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
        ck_assert(lc_said("CV-LINK-026") && lc_n_said() == 1);
        object[1 - which].bytes[symbol_at(&object[1 - which], "arr") + 5] |= 4;
        ck_assert_int_eq(link_plainly(2), CUVET_OK);
    }
}
END_TEST

/* CV-LINK-004: types of one prototype changed; the same in both objects is legal. */
START_TEST(prototypes)
{
    load("func_ptr");
    for (unsigned k = 0; k < 2; k++) {
        unsigned i;
        lc_section section = lc_find_section(object[k].bytes, ".strtab", &i);

        ck_assert_str_eq((const char *)object[k].bytes + section.off + 1, "#iii");
        lc_put(&object[k], section.off + 2, 1, 'v');
        ck_assert_int_eq(link_plainly(2), k ? CUVET_OK : CUVET_E_REFUSED);
        ck_assert_int_eq(lc_said("CV-LINK-004"), k == 0);
    }
}
END_TEST

/* CV-LINK-006: the driver has some names, and a relocatable link may leave every name open. */
START_TEST(undefined)
{
    cuvet_linker_options options = lc_options(CASES);

    load("err_undef");
    ck_assert_int_eq(link_plainly(1), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-006"));
    options.flags |= CUVET_LINK_RELOCATABLE;
    ck_assert_int_eq(link_with(&options, 1, NULL), CUVET_OK);
    load("const_overflow"); /* what nothing can have room for is refused there, too */
    ck_assert_int_eq(link_with(&options, 2, NULL), CUVET_E_REFUSED);
    load("dev_malloc");
    ck_assert_int_eq(link_plainly(1), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-006"));
}
END_TEST

/* CV-LINK-008: a warning, an error, or nothing at all. */
START_TEST(stack_sizes)
{
    cuvet_linker_options options = lc_options(CASES);
    uint64_t size, quiet;

    load("recursion");
    ck_assert_int_eq(link_with(&options, 1, &size), CUVET_OK);
    ck_assert(lc_said("CV-LINK-008"));
    ck_assert_int_eq(lc_diag("CV-LINK-008")->severity, CUVET_WARNING);
    options.flags |= CUVET_LINK_NO_STACK_WARNING;
    ck_assert_int_eq(link_with(&options, 1, &quiet), CUVET_OK);
    ck_assert(lc_n_said() == 0 && size == quiet);
    options.flags |= CUVET_LINK_WARNINGS_ARE_ERRORS;
    ck_assert_int_eq(link_with(&options, 1, NULL), CUVET_OK);
    options.flags &= ~CUVET_LINK_NO_STACK_WARNING;
    ck_assert_int_eq(link_with(&options, 1, NULL), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-008"));
}
END_TEST

/* CV-LINK-009: bank 3 is nearly full in one case, too full in the other. */
START_TEST(constant_bank)
{
    load("const_big");
    ck_assert_int_eq(link_plainly(2), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-009"));
    load("const_overflow");
    ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-009"));
    ck_assert_uint_gt(lc_diag("CV-LINK-009")->got, 0x10000);
    ck_assert_uint_eq(lc_diag("CV-LINK-009")->want, 3);
}
END_TEST

/* The table of a function gets a size of about that much, and what is behind it moves on. */
static void make_table(uint64_t size)
{
    lc_object *input = &object[0];
    uint64_t more, shoff;
    unsigned i;
    lc_section section;

    load("jump_table");
    section = lc_find_section(input->bytes, ".nv.constant2.", &i);
    more = (size - section.size) & ~UINT64_C(127); /* the alignment of code */
    ck_assert_uint_le(input->size + more, sizeof(input->bytes));
    lc_put(input, section.at + 32, 8, section.size + more);
    for (unsigned k = 1; k < lc_sections(input->bytes); k++) {
        lc_section part = lc_section_of(input->bytes, k);

        if (part.off > section.off)
            lc_put(input, part.at + 24, 8, part.off + more);
    }
    shoff = lc_number(input->bytes, 40, 8);
    if (shoff > section.off)
        lc_put(input, 40, 8, shoff + more);
    memmove(input->bytes + section.off + section.size + more, input->bytes + section.off + section.size,
            input->size - section.off - section.size);
    memset(input->bytes + section.off + section.size, 0, more);
    input->size += more;
}

static cuvet_status link_table(uint64_t size)
{
    make_table(size);
    return link_plainly(2);
}

/* … which is a finding of the scan when one section alone is too large. */
START_TEST(constant_bank_of_kernel)
{
    const cuvet_linker_options options = lc_options(CASES);
    const cuvet_diag *diag;
    cuvet_linker linker;

    ck_assert_int_eq(link_table(0x10000), CUVET_OK); /* 0xFFA4 */
    linker = lc_linker(&options);
    make_table(0x10080);
    lc_forget();
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[0].bytes, object[0].size, "object"),
                     CUVET_E_MALFORMED);
    lc_end(linker);
    ck_assert(lc_said("CV-ELF-141") && lc_n_said() == 1);
    diag = lc_diag("CV-ELF-141");
    ck_assert_uint_eq(diag->got, 0x10024);
    ck_assert_uint_eq(diag->want, 0x10000);
}
END_TEST

/* The variable of a kernel with shared memory gets another size, and its section more than that. */
static cuvet_status link_shared(uint64_t size)
{
    unsigned i;
    lc_section section;

    load("shared_static");
    section = lc_find_section(object[0].bytes, ".nv.shared._Z3kscPi", &i);
    lc_put(&object[0], symbol_at(&object[0], "$___ZZ3kscPiE1d__107") + 16, 8, size);
    lc_put(&object[0], section.at + 32, 8, size);
    return link_plainly(2);
}

/* CV-LINK-010: 48 KiB, and one byte more. */
START_TEST(shared_memory)
{
    ck_assert_int_eq(link_shared(0xC000), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-010"));
    ck_assert_int_eq(link_shared(0xC001), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-010"));
    ck_assert_uint_eq(lc_diag("CV-LINK-010")->got, 0xC001);
    ck_assert_uint_eq(lc_diag("CV-LINK-010")->want, 0xC000);
}
END_TEST

/* CV-LINK-011: types that a reference to this symbol may not have. CV-ELF-164: those that code never has. The
 * relocations name shared memory, a constant, a global variable and a function. */
static const struct {
    const char *name, *symbol;
    uint32_t type;
    cuvet_status status; /* of the link, or of adding the object */
    const char *rule;
} RELOCS[] = {
    { "shared_static", "$___ZZ3kscPiE1d__107", 116, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "coef", 116, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "g_counter", 116, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "_Z6helperi", 116, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "g_counter", 76, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "g_counter", 67, CUVET_E_MALFORMED, "CV-ELF-164" },
    { "extern_basic", "g_counter", 59, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "g_counter", 60, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "g_counter", 64, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "g_counter", 74, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "g_counter", 100, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "g_counter", 115, CUVET_E_REFUSED, "CV-LINK-011" },
    { "extern_basic", "_Z6helperi", 74, CUVET_E_MALFORMED, "CV-ELF-133" }, /* its address is not taken */
};

START_TEST(relocation_types)
{
    unsigned key, patched = 0, table;
    size_t symbol;
    lc_section symbols;

    load(RELOCS[_i].name);
    ck_assert_int_eq(link_plainly(2), CUVET_OK);
    symbols = lc_find_section(object[0].bytes, ".symtab", &table);
    symbol = (symbol_at(&object[0], RELOCS[_i].symbol) - symbols.off) / 24;
    for (key = 0; key < lc_sections(object[0].bytes) && !patched; key++) {
        lc_section section = lc_section_of(object[0].bytes, key);
        size_t step = section.type == 4 ? 24 : 16;

        if (strncmp(section.name, ".rel.text", 9) != 0 && strncmp(section.name, ".rela.text", 10) != 0)
            continue;
        for (size_t at = section.off; at < section.off + section.size && !patched; at += step)
            if (lc_number(object[0].bytes, at + 12, 4) == symbol) {
                lc_put(&object[0], at + 8, 4, RELOCS[_i].type);
                patched++;
            }
    }
    ck_assert_uint_eq(patched, 1);
    if (RELOCS[_i].status == CUVET_E_MALFORMED) {
        cuvet_linker_options options = lc_options(CASES);
        cuvet_linker linker = lc_linker(&options);

        lc_forget();
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[0].bytes, object[0].size, "object"),
                         CUVET_E_MALFORMED);
        lc_end(linker);
    } else {
        ck_assert_int_eq(link_plainly(2), CUVET_E_REFUSED);
    }
    ck_assert(lc_said(RELOCS[_i].rule));
    ck_assert(lc_diag(RELOCS[_i].rule)->got == RELOCS[_i].type ||
              lc_diag(RELOCS[_i].rule)->want == RELOCS[_i].type);
}
END_TEST

/* CV-ELF-172, which was CV-LINK-017: the value of a shared variable is its alignment, and that is a power of
 * two; 0 only for one without a size. */
START_TEST(shared_alignment)
{
    cuvet_linker_options options = lc_options(CASES);
    size_t at;

    load("shared_static");
    at = symbol_at(&object[0], "$___ZZ3kscPiE1d__107");
    for (unsigned align = 0; align < 4; align++) {
        cuvet_linker linker = lc_linker(&options);

        lc_put(&object[0], at + 8, 8, align);
        lc_forget();
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[0].bytes, object[0].size, "object"),
                         align == 0 || align == 3 ? CUVET_E_MALFORMED : CUVET_OK);
        ck_assert_int_eq(lc_said("CV-ELF-172"), align == 0 || align == 3);
        lc_end(linker);
    }
}
END_TEST

/* CV-LINK-012: unified function tables, said with the place. */
START_TEST(sections)
{
    const cuvet_linker_options options = lc_options("sm_90");
    cuvet_linker linker = lc_linker(&options);
    const cuvet_diag *diag;
    size_t count;
    const uint8_t *bytes = sample("unified.sm_90.rdc.cubin", &count, 0);

    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "unified"), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-012"));
    diag = lc_diag("CV-LINK-012");
    ck_assert_uint_ge(diag->where.n, 2);
    ck_assert_int_eq(diag->where.step[0].kind, CUVET_P_MEMBER);
    ck_assert_uint_eq(diag->where.step[0].index, 0);
    lc_end(linker);
}
END_TEST

/* What no link takes: CV-LINK-013 for other classes. The linker stays as it was. */
static const struct {
    const char *file;
    cuvet_status status;
    const char *rule;
} CONTENT[] = {
    { "elf-raw.fatbin", CUVET_E_REFUSED, "CV-LINK-013" },
    { "plain.ptx", CUVET_E_REFUSED, "CV-LINK-013" },
    { "host-two_a.o", CUVET_E_REFUSED, "CV-LINK-013" },
    { "long-names.a", CUVET_E_REFUSED, "CV-LINK-013" },
    { "plain.sm_80.cubin", CUVET_E_REFUSED, "CV-ADMIT-003" },
    { "plain.sm_90.rdc.cubin", CUVET_E_REFUSED, NULL },
};

START_TEST(refused_inputs)
{
    const lc_case *lcase = lc_find("extern_basic", CASES);
    const cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker = lc_linker(&options);
    cuvet_link_result result = { .size = sizeof(result) };
    size_t count;
    const uint8_t *bytes;

    for (unsigned i = 0; i <= N(CONTENT); i++) {
        if (i < lcase->count) {
            bytes = lc_file(lcase->input[i], &count);
            ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, bytes, count, "good"), CUVET_OK);
        }
        if (i == N(CONTENT))
            break;
        lc_forget();
        bytes = sample(CONTENT[i].file, &count, 0);
        ck_assert_msg(cuvet_linker_add(lc_ctx, linker, bytes, count, "bad") == CONTENT[i].status, "%s",
                      CONTENT[i].file);
        ck_assert(lc_n_said() && (!CONTENT[i].rule || lc_said(CONTENT[i].rule)));
    }
    load("extern_basic");
    ck_assert_int_ne(cuvet_linker_add(lc_ctx, linker, object[0].bytes, object[0].size - 1, "cut"), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, "", 0, "empty"), CUVET_E_UNKNOWN);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_uint_eq(result.objects, 2);
    ck_assert_uint_eq(result.kernels, 2);
    lc_end(linker);
}
END_TEST

/* Number of a symbol in a file. */
static uint64_t number_of(const lc_object *input, const char *name)
{
    unsigned i;

    return (symbol_at(input, name) - lc_find_section(input->bytes, ".symtab", &i).off) / 24;
}

/* The first record of this code in a section of information. */
static size_t record_at(const uint8_t *bytes, const char *section, unsigned code)
{
    unsigned i;
    lc_section part = lc_find_section(bytes, section, &i);

    for (size_t at = part.off; at < part.off + part.size;
         at += 4 + (bytes[at] == 4 ? lc_number(bytes, at + 2, 2) : 0))
        if (bytes[at + 1] == code)
            return at;
    ck_abort_msg("%s: no record %#x", section, code);
}

/* What becomes of a record of four bytes of another code: 'rule' NULL: it is linked. */
static const struct {
    unsigned code;
    bool symbol; /* the word is a symbol, and has the number of the output afterwards */
    const char *rule;
} ATTRS[] = {
    { 0x06, true, NULL },          { 0x08, true, NULL },           { 0x14, true, NULL },
    { 0x33, false, NULL },         { 0x43, false, NULL },          { 0x26, true, "CV-LINK-060" },
    { 0x3B, true, "CV-LINK-060" }, { 0x6E, false, "CV-LINK-060" }, { 0xFF, false, "CV-LINK-060" },
};

/* CV-LINK-060: symbols get the numbers of the output, and what is not known is not copied. */
START_TEST(attributes)
{
    static const char SECTION[] = ".nv.info._Z2k1Pii";
    const cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker = lc_linker(&options);
    cuvet_link_result result = { .size = sizeof(result) };
    lc_object out = { 0 };
    uint64_t before;
    size_t at;

    load("extern_basic");
    at = record_at(object[0].bytes, SECTION, 0x37);
    before = number_of(&object[0], "_Z2k1Pii");
    object[0].bytes[at + 1] = (uint8_t)ATTRS[_i].code;
    lc_put(&object[0], at + 4, 4, before);
    lc_forget();
    for (unsigned i = 2; i-- > 0;) /* behind the other, so that its symbols have other numbers */
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), ATTRS[_i].rule ? CUVET_E_REFUSED : CUVET_OK);
    if (ATTRS[_i].rule) {
        ck_assert(lc_said(ATTRS[_i].rule));
        ck_assert_uint_eq(lc_diag(ATTRS[_i].rule)->got, ATTRS[_i].code);
    } else {
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
        ck_assert_uint_le(result.n, sizeof(out.bytes));
        memcpy(out.bytes, result.bytes, result.n);
        out.size = result.n;
        at = record_at(out.bytes, SECTION, ATTRS[_i].code);
        ck_assert_uint_ne(number_of(&out, "_Z2k1Pii"), before);
        ck_assert_uint_eq(lc_number(out.bytes, at + 4, 4),
                          ATTRS[_i].symbol ? number_of(&out, "_Z2k1Pii") : before);
    }
    lc_end(linker);
}
END_TEST

/* CV-LINK-061: below sm_90 the code of independent mode adds what its slot has in it already. */
START_TEST(slots_of_independent_mode)
{
    static const char *const TARGETS[] = { "sm_75", "sm_80", "sm_90" };

    for (unsigned i = 0; i < N(TARGETS); i++) {
        const lc_case *lcase = lc_find("samplers", TARGETS[i]);
        const cuvet_linker_options options = lc_options(TARGETS[i]);

        for (unsigned k = 0; k < lcase->count; k++)
            lc_load(&object[k], lcase->input[k]);
        ck_assert_int_eq(link_with(&options, lcase->count, NULL), CUVET_OK);
        ck_assert_int_eq(lc_said("CV-LINK-061"), i < 2);
    }
}
END_TEST

/* CV-LINK-014 */
START_TEST(no_input)
{
    ck_assert_int_eq(link_plainly(0), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-014") && lc_n_said() == 1);
    load("single_file");
    ck_assert_int_eq(link_plainly(1), CUVET_OK);
    ck_assert(!lc_said("CV-LINK-014"));
}
END_TEST

Suite *suite_linker_rules(void)
{
    Suite *suite = suite_create("linker rules");
    TCase *tcase = tcase_create("rules");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_loop_test(tcase, symbol_is_named, 0, (int)N(NAMED));
    tcase_add_test(tcase, multiple_definition);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, managed);
    tcase_add_test(tcase, prototypes);
    tcase_add_test(tcase, undefined);
    tcase_add_test(tcase, stack_sizes);
    tcase_add_test(tcase, constant_bank);
    tcase_add_test(tcase, constant_bank_of_kernel);
    tcase_add_test(tcase, shared_memory);
    tcase_add_loop_test(tcase, relocation_types, 0, (int)N(RELOCS));
    tcase_add_test(tcase, sections);
    tcase_add_test(tcase, shared_alignment);
    tcase_add_loop_test(tcase, attributes, 0, (int)N(ATTRS));
    tcase_add_test(tcase, slots_of_independent_mode);
    tcase_add_test(tcase, refused_inputs);
    tcase_add_test(tcase, no_input);
    suite_add_tcase(suite, tcase);
    return suite;
}

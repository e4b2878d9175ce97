/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Tables of an object that nobody wrote so: two symbol tables of each side, and for each two tables of
 * large section numbers. The first of each kind counts, as it does for the reader of links. */
#include <check.h>
#include <elf.h>
#include <string.h>

#include <cuvet/cuvet.h>

#include "format/elf/read.h"

enum { SECTIONS = 10, TABLES = 64, HEADERS = 1024, SIZE = HEADERS + SECTIONS * 64 };

static _Alignas(8) uint8_t file[SIZE];

static Elf64_Shdr *header(unsigned index)
{
    return (Elf64_Shdr *)(file + HEADERS) + index;
}

/* Where the contents of a section are: 64 bytes for each. */
static uint8_t *body(unsigned index)
{
    return file + TABLES + 64 * (size_t)index;
}

static void put_section(unsigned index, uint32_t type, unsigned link, uint64_t size)
{
    *header(index) = (Elf64_Shdr){ .sh_type = type,
                                   .sh_offset = (uint64_t)(body(index) - file),
                                   .sh_size = size,
                                   .sh_link = link,
                                   .sh_entsize = type == CV_SHT_SYMTAB_SHNDX ? 4 : sizeof(Elf64_Sym) };
}

static void put_symbols(unsigned index, uint32_t type, uint64_t value)
{
    Elf64_Sym *symbol = (Elf64_Sym *)body(index);

    put_section(index, type, 9, 2 * sizeof(*symbol));
    symbol[1] = (Elf64_Sym){ .st_name = 1, .st_shndx = SHN_XINDEX, .st_value = value };
}

static void put_indices(unsigned index, unsigned link, uint32_t number)
{
    put_section(index, CV_SHT_SYMTAB_SHNDX, link, 8);
    memcpy(body(index) + 4, &number, sizeof(number));
}

static void build(void)
{
    Elf64_Ehdr *ehdr = (Elf64_Ehdr *)file;

    memset(file, 0, sizeof(file));
    memcpy(ehdr->e_ident, "\177ELF\2\1\1\x41\x08", 9);
    ehdr->e_type = ET_REL;
    ehdr->e_machine = 190;
    ehdr->e_version = 1;
    ehdr->e_ehsize = sizeof(*ehdr);
    ehdr->e_shoff = HEADERS;
    ehdr->e_shentsize = sizeof(Elf64_Shdr);
    ehdr->e_shnum = SECTIONS;
    ehdr->e_shstrndx = 9;
    put_symbols(1, CV_SHT_SYMTAB, 1);
    put_symbols(2, CV_SHT_SYMTAB, 2);
    put_symbols(3, CV_SHT_MERC_SYMTAB, 3);
    put_symbols(4, CV_SHT_MERC_SYMTAB, 4);
    put_indices(5, 1, 0x50000);
    put_indices(6, 1, 0x60000);
    put_indices(7, 3, 0x70000);
    put_indices(8, 3, 0x80000);
    put_section(9, CV_SHT_STRTAB, 0, 8);
    memcpy(body(9), "\0name\0", 6);
}

static cuvet_ctx *ctx;
static cuvet_elf elf;

static void setup(void)
{
    build();
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_create(ctx, file, sizeof(file), &elf), CUVET_OK);
}

static void teardown(void)
{
    ck_assert_int_eq(cuvet_elf_destroy(ctx, &elf), CUVET_OK);
    cuvet_ctx_destroy(ctx);
}

static void expect_symbol(uint64_t table, uint64_t value, uint32_t shndx)
{
    cuvet_elf_symbol symbol = { .size = sizeof(symbol) };

    ck_assert_int_eq(cuvet_elf_get_symbol(ctx, elf, table, 1, &symbol), CUVET_OK);
    ck_assert_uint_eq(symbol.value, value);
    ck_assert_uint_eq(symbol.shndx, shndx);
    ck_assert_uint_eq(symbol.name.n, 4);
    ck_assert_mem_eq(symbol.name.p, "name", 4);
    ck_assert_int_eq(cuvet_elf_get_symbol(ctx, elf, table, 2, &symbol), CUVET_END);
}

START_TEST(first_of_each_kind)
{
    uint64_t table = 99;

    ck_assert_int_eq(cuvet_elf_get_symtab(ctx, elf, 0, &table), CUVET_OK);
    ck_assert_uint_eq(table, 1);
    ck_assert_int_eq(cuvet_elf_get_symtab(ctx, elf, CUVET_SYMTAB_MERCURY, &table), CUVET_OK);
    ck_assert_uint_eq(table, 3);
    expect_symbol(1, 1, 0x50000);
    expect_symbol(3, 3, 0x70000);
    /* Those of the others have none, and say so. */
    expect_symbol(2, 2, SHN_XINDEX);
    expect_symbol(4, 4, SHN_XINDEX);
}
END_TEST

/* Strings of a section of any kind: through the table of symbols that it names, or none. */
START_TEST(strings)
{
    cuvet_bytes text;

    for (unsigned table = 1; table < SECTIONS; table++) {
        ck_assert_int_eq(cuvet_elf_get_string(ctx, elf, table, 1, &text), CUVET_OK);
        ck_assert_uint_eq(text.n, 4);
        ck_assert_int_eq(cuvet_elf_get_string(ctx, elf, table, 8, &text), CUVET_E_NO_MATCH);
    }
    ck_assert_int_eq(cuvet_elf_get_string(ctx, elf, 0, 1, &text), CUVET_E_NO_MATCH);
    ck_assert_int_eq(cuvet_elf_get_string(ctx, elf, SECTIONS, 1, &text), CUVET_E_USAGE);
}
END_TEST

START_TEST(no_kernels)
{
    cuvet_bytes name;

    ck_assert_int_eq(cuvet_elf_get_kernel(ctx, elf, 0, &name), CUVET_END);
    ck_assert_int_eq(cuvet_elf_get_kernel(ctx, elf, 1, &name), CUVET_END);
}
END_TEST

/* An entry that is declared, not defined, is no kernel of this object; the second one is asked for first. */
START_TEST(kernels_in_any_order)
{
    Elf64_Sym *symbol = (Elf64_Sym *)body(1);
    cuvet_bytes name;

    teardown();
    build();
    put_section(1, CV_SHT_SYMTAB, 9, 5 * sizeof(*symbol));
    memset(header(2), 0, 4 * sizeof(Elf64_Shdr)); /* their room is taken */
    for (unsigned i = 1; i < 5; i++)
        symbol[i] = (Elf64_Sym){
            .st_name = i, .st_info = STT_FUNC, .st_other = CV_STO_ENTRY, .st_shndx = i == 2 ? 0 : 9
        };
    symbol[3].st_info = STT_OBJECT;
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_create(ctx, file, sizeof(file), &elf), CUVET_OK);
    ck_assert_int_eq(cuvet_elf_get_kernel(ctx, elf, 1, &name), CUVET_OK);
    ck_assert_uint_eq(name.n, 1);
    ck_assert_mem_eq(name.p, "e", 1);
    ck_assert_int_eq(cuvet_elf_get_kernel(ctx, elf, 0, &name), CUVET_OK);
    ck_assert_mem_eq(name.p, "name", 4);
    ck_assert_int_eq(cuvet_elf_get_kernel(ctx, elf, 2, &name), CUVET_END);
}
END_TEST

START_TEST(nothing_to_open)
{
    cuvet_elf none = { 0 };

    ck_assert_int_eq(cuvet_elf_create(ctx, NULL, 1, &none), CUVET_E_NULL);
    ck_assert_int_ne(cuvet_elf_create(ctx, NULL, 0, &none), CUVET_OK);
    ck_assert_uint_eq(none.bits, 0);
}
END_TEST

Suite *suite_elf_tables(void);
Suite *suite_elf_tables(void)
{
    Suite *suite = suite_create("elf_tables");
    TCase *tcase = tcase_create("elf_tables");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, first_of_each_kind);
    tcase_add_test(tcase, strings);
    tcase_add_test(tcase, no_kernels);
    tcase_add_test(tcase, kernels_in_any_order);
    tcase_add_test(tcase, nothing_to_open);
    suite_add_tcase(suite, tcase);
    return suite;
}

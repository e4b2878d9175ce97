/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a program gets of the device code in its file: relocations that write into it, segments that lie
 * over it. */
#include <check.h>
#include <stdlib.h>

#include "unit/host/host_image.h"

/* A second table: its entries lie where nothing else is. */
#define MORE  0x380
#define ENTRY (DYNAMIC + 48)

static void entry(unsigned index, uint64_t tag, uint64_t value)
{
    put(ENTRY + 16 * index, 8, tag);
    put(ENTRY + 16 * index + 8, 8, value);
    put(ENTRY + 16 * index + 16, 8, 0);
    put(PHDRS + 56 + 32, 8, 64 + 16 * (index + 1));
}

/* A shared object with a table of another kind. */
static void make_more(uint64_t tag, uint64_t size_tag, uint64_t size)
{
    make_shared();
    entry(0, tag, VADDR + MORE);
    entry(1, size_tag, size);
}

static void more(uint64_t place, uint32_t type, uint64_t addend)
{
    put(MORE, 8, place);
    put(MORE + 8, 4, type);
    put(MORE + 12, 4, 0);
    put(MORE + 16, 8, addend);
}

static void check_code(void)
{
    cuvet_source src = { .size = sizeof(src) };
    cv_host_extents code = { 0 };

    ck_assert(cv_host_extents_push(&ctx.mem, &code, (cv_host_extent){ BASE + FATBIN, BASE + FATBIN + 0x20 }));
    ck_assert(cv_host_extents_push(&ctx.mem, &code,
                                   (cv_host_extent){ BASE + FATBIN + 0x20, BASE + FATBIN + 0x40 }));
    ck_assert_int_eq(cuvet_source_memory(file, BASE + SIZE, &src), CUVET_OK);
    ck_assert_int_eq(cv_host_check_intact(&ctx, &src, &host, &code), CUVET_OK);
    cv_host_extents_free(&ctx.mem, &code);
}

/* One finding, or none, after the file was read and its code was compared. */
static void expect(cv_rule rule, uint64_t off, uint64_t got, uint64_t want)
{
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    check_code();
    ck_assert_msg(n_diags == (rule != CV_N_RULES), "%u findings, first %s", n_diags,
                  n_diags ? cuvet_rule_get(last.rule)->id : "-");
    if (n_diags != 0) {
        ck_assert_msg(last.rule == rule, "%s", cuvet_rule_get(last.rule)->id);
        ck_assert_uint_eq(last.file_off, BASE + off);
        ck_assert_uint_eq(last.got, got);
        ck_assert_uint_eq(last.want, want);
        ck_assert_uint_eq(last.where.step[0].kind, CUVET_P_HOST);
    }
    done();
    start();
}

static const struct {
    const char *what;
    uint64_t place;
    uint32_t type;
    cv_rule rule;
    uint64_t got, want;
} writes[] = {
    { "before the code", VADDR + FATBIN - 8, 8, CV_N_RULES, 0, 0 },
    { "its first byte", VADDR + FATBIN - 7, 8, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN },
    { "inside", VADDR + FATBIN + 0x18, 1, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x18 },
    { "another type", VADDR + FATBIN + 0x21, 37, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x21 },
    { "its last byte", VADDR + FATBIN + 0x3F, 6, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x3F },
    { "behind it", VADDR + FATBIN + 0x40, 8, CV_N_RULES, 0, 0 },
    { "nothing is written", VADDR + FATBIN, 0, CV_N_RULES, 0, 0 },
    { "a descriptor", VADDR + FATBIN - 15, 36, CV_R_HOST_RELOC_CODE, 16, BASE + FATBIN },
    { "a descriptor before", VADDR + FATBIN - 16, 36, CV_N_RULES, 0, 0 },
    { "the relocations", VADDR + RELOCS - 7, 8, CV_R_HOST_RELOC_TABLE, 8, BASE + RELOCS },
    { "the last relocation", VADDR + RELOCS + 71, 8, CV_R_HOST_RELOC_TABLE, 8, BASE + RELOCS + 71 },
    { "behind the relocations", VADDR + RELOCS + 72, 8, CV_N_RULES, 0, 0 },
    { "the dynamic section", VADDR + DYNAMIC + 8, 8, CV_R_HOST_RELOC_TABLE, 8, BASE + DYNAMIC + 8 },
    { "an address that wraps", UINT64_MAX - 3, 8, CV_N_RULES, 0, 0 },
    { "nothing is written to the last addresses", UINT64_MAX - 3, 0, CV_N_RULES, 0, 0 },
    { "16 bytes from a second pointer on", VADDR + SEGMENT + 16, 36, CV_R_HOST_RELOC_WRAPPER, 16,
      BASE + SEGMENT + 16 },
};

START_TEST(one_write)
{
    make_shared();
    reloc(0, writes[_i].place, 0, writes[_i].type, 0x77);
    expect(writes[_i].rule, RELOCS, writes[_i].got, writes[_i].want);
}
END_TEST

/* The other tables that a loader applies: of the linkage with and without addends, without addends,
 * packed. */
START_TEST(other_tables)
{
    make_more(23, 2, 24);
    more(VADDR + FATBIN + 8, 8, 0);
    expect(CV_R_HOST_RELOC_CODE, MORE, 8, BASE + FATBIN + 8);
    make_more(23, 2, 24);
    more(VADDR + SEGMENT + 40, 8, 0);
    expect(CV_R_HOST_RELOC_WRAPPER, MORE, 8, BASE + SEGMENT + 40);
    make_more(23, 2, 16);
    entry(2, 20, 17);
    more(VADDR + FATBIN + 8, 8, 0);
    expect(CV_R_HOST_RELOC_CODE, MORE, 8, BASE + FATBIN + 8);
    make_more(17, 18, 16);
    more(VADDR + FATBIN + 8, 8, 0);
    expect(CV_R_HOST_RELOC_CODE, MORE, 8, BASE + FATBIN + 8);
    make_more(17, 18, 16);
    entry(2, 19, 24);
    expect(CV_R_HOST_RELOC_ENTRY, DYNAMIC, 24, 16);
    make_more(17, 18, 16);
    more(VADDR + SEGMENT + 8, 8, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_RELOC_WRAPPER],
                      2); /* without an addend, and then once more with one */
    done();
}
END_TEST

/* The section is read for the wrappers and for the code: what is wrong with it is said once. */
START_TEST(dynamic_once)
{
    for (int i = 0; i < 2; i++) {
        make_shared();
        if (i == 0)
            put(PHDRS + 56 + 16, 8, VADDR + SIZE); /* loaded nowhere */
        else
            put(PHDRS + 56 + 8, 8, SIZE - 63); /* ends behind the file */
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        check_code();
        ck_assert_uint_eq(ctx.seen[CV_R_HOST_DYNAMIC], 1);
        done();
        start();
    }
}
END_TEST

START_TEST(packed_table)
{
    make_more(36, 35, 16);
    put(MORE, 8, VADDR + FATBIN - 16);
    put(MORE + 8, 8, 1 << 2 | 1); /* the second word behind */
    expect(CV_R_HOST_RELOC_CODE, MORE + 8, 8, BASE + FATBIN);
    make_more(36, 35, 16);
    put(MORE, 8, VADDR + FATBIN - 16);
    put(MORE + 8, 8, 1 << 1 | 1);
    expect(CV_N_RULES, 0, 0, 0);
    make_more(36, 35, 8);
    put(MORE, 8, VADDR + FATBIN + 0x38);
    expect(CV_R_HOST_RELOC_CODE, MORE, 8, BASE + FATBIN + 0x38);
    make_more(36, 35, 24);
    put(MORE, 8, VADDR + FATBIN - 63 * 8);
    put(MORE + 8, 8, 1);
    put(MORE + 16, 8, 1 << 1 | 1);
    expect(CV_R_HOST_RELOC_CODE, MORE + 16, 8, BASE + FATBIN + 8);
    make_more(36, 35, 16); /* behind everything that counts */
    put(MORE, 8, VADDR + SIZE);
    put(MORE + 8, 8, UINT64_MAX);
    expect(CV_N_RULES, 0, 0, 0);
    /* pointers of wrappers are packed as any: the value is the stored one */
    make_more(36, 35, 8);
    put(MORE, 8, VADDR + SEGMENT + 32);
    put(DYNAMIC + 24, 8, 48); /* no other relocation of it */
    expect(CV_N_RULES, 0, 0, 0);
    make_more(36, 35, 8);
    put(MORE, 8, VADDR + SEGMENT + 32);
    expect(CV_R_HOST_RELOC_WRAPPER, RELOCS + 48, 8, BASE + SEGMENT + 32);
    make_more(36, 35, 8);
    entry(2, 37, 4);
    expect(CV_R_HOST_RELOC_ENTRY, DYNAMIC, 4, 8);
}
END_TEST

/* A copy has as many bytes as its symbol. */
START_TEST(copied)
{
    for (uint64_t size = 0x90; size <= 0x91; size++) {
        make_shared();
        entry(0, 6, VADDR + MORE);
        put(MORE + 24 + 16, 8, size);
        reloc(0, VADDR + FATBIN - 0x90, 1, 5, 0);
        expect(size == 0x90 ? CV_N_RULES : CV_R_HOST_RELOC_CODE, RELOCS, size, BASE + FATBIN);
    }
    for (int i = 0; i < 2;
         i++) { /* nobody knows how many: no table of symbols, one behind the last address */
        make_shared();
        if (i == 1)
            entry(0, 6, UINT64_MAX);
        reloc(0, VADDR + 0x18, 1, 5, 0);
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert_uint_eq(ctx.seen[CV_R_HOST_RELOC_WRAPPER], 1);
        check_code();
        ck_assert_uint_eq(ctx.seen[CV_R_HOST_RELOC_CODE] + ctx.seen[CV_R_HOST_RELOC_TABLE], 1);
        done();
        start();
    }
}
END_TEST

static void load(unsigned index, uint64_t off, uint64_t vaddr, uint64_t filesz, uint64_t memsz)
{
    unsigned at = PHDRS + 56 * index;

    put(at, 4, 1);
    put(at + 8, 8, off);
    put(at + 16, 8, vaddr);
    put(at + 32, 8, filesz);
    put(at + 40, 8, memsz);
    put(56, 2, index + 1);
}

static const struct {
    const char *what;
    uint64_t off, vaddr, filesz, memsz, bad; /* bad: 0: nothing is hidden */
} segments[] = {
    { "the next page", 0, VADDR + 0x1000, 8, 8, 0 },
    { "the page before", 0, VADDR - 8, 8, 8, 0 },
    { "the page before, zeros into ours", 0, VADDR - 8, 8, 9, FATBIN },
    { "anywhere on the page", 0, VADDR + 0xFF8, 8, 8, FATBIN },
    { "the same bytes once more", SIZE - 8, VADDR + SIZE - 8, 8, 8, 0 },
    { "the same bytes, and zeros behind them", FATBIN + 0x10, VADDR + FATBIN + 0x10, 8, 16, FATBIN + 0x18 },
    { "the same bytes, and zeros behind all", 0, VADDR, SIZE, SIZE + 8, 0 },
    { "zeros alone", 0, VADDR, 0, 8, FATBIN },
    { "passes the end of the file", 0, VADDR, SIZE + 8, SIZE + 8, 0 },
    { "another file offset, past the end", 8, VADDR, SIZE + 8, SIZE + 8, FATBIN },
    { "all of memory", 0, 1, UINT64_MAX, UINT64_MAX, FATBIN },
};

START_TEST(second_segment)
{
    make_shared();
    load(2, segments[_i].off, segments[_i].vaddr, segments[_i].filesz, segments[_i].memsz);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    check_code();
    ck_assert_msg((ctx.seen[CV_R_HOST_OVERLAID] > 0) == (segments[_i].bad != 0), "%s: %u", segments[_i].what,
                  ctx.seen[CV_R_HOST_OVERLAID]);
    if (segments[_i].bad != 0 && last.rule == CV_R_HOST_OVERLAID)
        ck_assert_msg(last.got == BASE + cv_max(segments[_i].bad, last.file_off - BASE), "%s: %llx",
                      segments[_i].what, (unsigned long long)(last.got - BASE));
    done();
}
END_TEST

/* Code at the first address: what is written from the last one on goes on there. */
START_TEST(wrapped_writes)
{
    for (int i = 0; i < 4; i++) {
        make_shared();
        load(2, FATBIN, 0, 0x40, 0x40);
        if (i < 2) {
            reloc(0, UINT64_MAX - 7 + (uint64_t)i, 0, 8, 0x77);
            expect(i == 1 ? CV_R_HOST_RELOC_CODE : CV_N_RULES, RELOCS, 1, BASE + FATBIN);
            continue;
        }
        entry(0, 6, VADDR + MORE); /* a copy of 0x80 or 0x90 bytes */
        put(MORE + 24 + 16, 8, i == 2 ? 0x80 : 0x90);
        reloc(0, 0 - UINT64_C(0x80), 1, 5, 0);
        expect(i == 3 ? CV_R_HOST_RELOC_CODE : CV_N_RULES, RELOCS, 0x10, BASE + FATBIN);
    }
    make_more(36, 35, 16); /* packed: the second word behind */
    load(2, FATBIN, 0, 0x40, 0x40);
    put(MORE, 8, 0 - UINT64_C(16));
    put(MORE + 8, 8, 1 << 2 | 1);
    expect(CV_R_HOST_RELOC_CODE, MORE + 8, 8, BASE + FATBIN);
    make_more(36, 35, 16);
    load(2, FATBIN, 0, 0x40, 0x40);
    put(MORE, 8, 0 - UINT64_C(16));
    put(MORE + 8, 8, 1 << 1 | 1);
    expect(CV_N_RULES, 0, 0, 0);
}
END_TEST

/* Loaders of other machines have larger pages, unless a segment is aligned to less. */
START_TEST(large_pages)
{
    for (int i = 0; i < 4; i++) {
        make_shared();
        load(2, 0, VADDR + 0x8000, 8, 8);
        put(18, 2, i < 2 ? 183 : 62);
        for (unsigned index = 0; index < 3; index += 2)
            put(PHDRS + 56 * index + 48, 8, i == 0 ? 0x10000 : 0x1000);
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        check_code();
        ck_assert_msg((ctx.seen[CV_R_HOST_OVERLAID] > 0) == (i == 0), "%d", i);
        done();
        start();
    }
}
END_TEST

/* A container that ends behind its segment. */
START_TEST(partly_loaded)
{
    make_shared();
    load(2, 0, VADDR + 0x10000, FATBIN + 0x30, FATBIN + 0x30);
    expect(CV_R_HOST_OVERLAID, FATBIN + 0x20, BASE + FATBIN + 0x30, 0x10);
    make_shared(); /* … and one that begins before it */
    load(2, FATBIN + 0x10, VADDR + 0x10000 + FATBIN + 0x10, 0x30, 0x30);
    expect(CV_R_HOST_OVERLAID, FATBIN, BASE + FATBIN, 0x20);
}
END_TEST

/* Objects: relocations of the section that holds the code, whatever it is called. */
START_TEST(objects)
{
    static const struct {
        uint64_t place;
        uint32_t type;
        cv_rule rule;
        uint64_t got, want;
    } rows[] = {
        { 0x3F, 2, CV_R_HOST_RELOC_CODE, 4, BASE + FATBIN + 0x3F },
        { 0x40, 1, CV_N_RULES, 0, 0 },
        { 0x20, 1, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x20 },
        { 0x20, 17, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x20 },
        { 0x20, 28, CV_R_HOST_RELOC_CODE, 8, BASE + FATBIN + 0x20 },
        { 0x20, 0, CV_N_RULES, 0, 0 },
        { UINT64_MAX, 1, CV_N_RULES, 0, 0 },
    };

    for (size_t i = 0; i < CV_COUNT(rows); i++) {
        make_object();
        section(S_SHNDX, 0, 4, 0, MORE, 24, S_SYMTAB, S_FATBIN, 24);
        more(rows[i].place, rows[i].type, 0);
        expect(rows[i].rule, MORE, rows[i].got, rows[i].want);
    }
    make_object();
    section(S_SHNDX, 0, 9, 0, MORE, 16, S_SYMTAB, S_FATBIN, 16);
    more(8, 2, 0);
    expect(CV_R_HOST_RELOC_CODE, MORE, 4, BASE + FATBIN + 8);
    make_object();
    section(S_SHNDX, 0, 0x40000014, 0, MORE, 5, S_SYMTAB, S_FATBIN, 1);
    expect(CV_R_HOST_RELOC_FORM, MORE, 0x40000014, 4);
    /* of another section, or none */
    make_object();
    section(S_SHNDX, 0, 4, 0, MORE, 24, S_SYMTAB, S_REFS, 24);
    more(0, 1, 0);
    expect(CV_N_RULES, 0, 0, 0);
    make_object();
    section(S_SHNDX, 0, 4, 0, MORE, 24, S_SYMTAB, S_COUNT, 24);
    expect(CV_N_RULES, 0, 0, 0);
    make_object();
    section(S_SHNDX, 0, 4, 0, MORE, 24, S_SYMTAB, 0, 24);
    more(0, 1, 0);
    expect(CV_N_RULES, 0, 0, 0);
    make_object();
    section(S_SHNDX, 0, 4, 0, SIZE - 8, 24, S_SYMTAB, S_FATBIN, 24);
    expect(CV_N_RULES, 0, 0, 0);
}
END_TEST

/* However much work there is: a limit, or the same answer. */
START_TEST(work_runs_out)
{
    for (int form = 0; form < 3; form++)
        for (uint64_t width = 0;; width++) {
            cuvet_source src = { .size = sizeof(src) };
            cv_host_extents code = { 0 };
            cuvet_status status;

            start();
            if (form == 0)
                make_object();
            if (form == 1)
                make_shared();
            if (form == 2) {
                make_more(36, 35, 16);
                put(MORE, 8, VADDR + FATBIN - 16);
                put(MORE + 8, 8, 1 << 1 | 1);
            }
            ck_assert_int_eq(read_size(SIZE), CUVET_OK);
            expect_named(2, FATBIN, FATBIN + 0x20);
            cv_ctx_set_work(&ctx, width);
            ck_assert(cv_host_extents_push(&ctx.mem, &code,
                                           (cv_host_extent){ BASE + FATBIN, BASE + FATBIN + 0x40 }));
            ck_assert_int_eq(cuvet_source_memory(file, BASE + SIZE, &src), CUVET_OK);
            status = cv_host_check_intact(&ctx, &src, &host, &code);
            cv_host_extents_free(&ctx.mem, &code);
            ck_assert(status == CUVET_OK || status == CUVET_E_LIMIT);
            ck_assert(n_diags == 0 || last.rule == CV_R_LIMIT_WORK);
            ck_assert(status == CUVET_OK || n_diags == 1);
            done();
            if (n_diags == 0)
                break;
        }
}
END_TEST

Suite *suite_model_host_intact(void);
Suite *suite_model_host_intact(void)
{
    Suite *suite = suite_create("host/host_intact");
    TCase *tcase = tcase_create("intact");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, one_write, 0, (int)CV_COUNT(writes));
    tcase_add_test(tcase, other_tables);
    tcase_add_test(tcase, dynamic_once);
    tcase_add_test(tcase, packed_table);
    tcase_add_test(tcase, copied);
    tcase_add_loop_test(tcase, second_segment, 0, (int)CV_COUNT(segments));
    tcase_add_test(tcase, wrapped_writes);
    tcase_add_test(tcase, large_pages);
    tcase_add_test(tcase, partly_loaded);
    tcase_add_test(tcase, objects);
    tcase_add_test(tcase, work_runs_out);
    suite_add_tcase(suite, tcase);
    return suite;
}

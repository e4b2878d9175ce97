/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Wrappers that no section shows: of a file without a section table, and of one whose table does not tell all
 * that is loaded. */
#include <check.h>

#include "unit/host/host_image.h"

#define LONG_NAME ".a_name_that_is_longer_than_all_of_interest"

enum { FLAG_X = 1, FLAG_W = 2, FLAG_R = 4 };

/* The shared object without its section table. */
static void make_stripped(void)
{
    make_shared();
    put(40, 8, 0);
    put(58, 6, 0);
}

static void container(unsigned at)
{
    put(at, 4, 0xBA55ED50);
}

static void expect(unsigned count, cv_rule rule, uint64_t off, uint64_t named)
{
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_msg(n_diags == count, "%u findings, first %s", n_diags,
                  n_diags ? cuvet_rule_get(last.rule)->id : "-");
    if (count > 0) {
        ck_assert_msg(last.rule == rule, "%s", cuvet_rule_get(last.rule)->id);
        ck_assert_uint_eq(last.file_off, BASE + off);
        ck_assert_uint_eq(last.where.step[0].kind, CUVET_P_HOST);
    }
    ck_assert_uint_eq(host.named.count, named);
    ck_assert(host.searched);
    done();
    start();
}

/* The rules of records and pointers are those of a section. */
static const struct {
    const char *what;
    unsigned at, width;
    uint64_t value;
    unsigned count;
    cv_rule rule;
    uint64_t off, named;
} edits[] = {
    { "nothing", SEGMENT, 4, 0x466243B1, 0, CV_N_RULES, 0, 2 },
    { "a second pointer", SEGMENT + 16, 8, 1, 1, CV_R_HOST_WRAPPER_SECOND, SEGMENT + 16, 2 },
    { "another stored value", SEGMENT + 32, 8, 4, 1, CV_R_HOST_WRAPPER_ADDEND, SEGMENT + 32, 2 },
    { "another relocation", RELOCS + 24 + 8, 4, 37, 1, CV_R_HOST_RELOC_TYPE, RELOCS + 24, 1 },
    { "a relocation of another record's place", RELOCS + 24, 8, VADDR + SEGMENT + 32, 2,
      CV_R_HOST_WRAPPER_ADDEND, SEGMENT + 32, 1 },
    { "half a pointer", RELOCS, 8, VADDR + SEGMENT + 4, 1, CV_R_HOST_RELOC_WRAPPER, RELOCS, 2 },
    { "pointer to nothing", RELOCS + 24 + 16, 8, VADDR + SIZE, 1, CV_R_HOST_WRAPPER_TARGET, SEGMENT + 8, 1 },
    { "pointer to the last bytes", RELOCS + 24 + 16, 8, VADDR + SIZE - 3, 0, CV_N_RULES, 0, 2 },
    { "the same container", RELOCS + 24 + 16, 8, VADDR + FATBIN + 0x20, 1, CV_R_HOST_WRAPPER_TWICE,
      SEGMENT + 24, 1 },
    { "the dynamic section is elsewhere", DYNAMIC + 40, 8, 16, 2, CV_R_HOST_RELOC_ENTRY, DYNAMIC, 1 },
    { "no version", SEGMENT + 4, 4, 3, 0, CV_N_RULES, 0, 1 }, /* leads to no container: data */
    { "no magic", SEGMENT, 4, 0x466243B2, 0, CV_N_RULES, 0, 1 },
    { "not a program", 16, 2, 4, 0, CV_N_RULES, 0, 0 },
};

START_TEST(edited)
{
    make_stripped();
    put(edits[_i].at, edits[_i].width, edits[_i].value);
    if (edits[_i].at == 16) {
        ck_assert_int_eq(read_size(SIZE), CUVET_OK);
        ck_assert_uint_eq(host.wrappers.count, 0);
        done();
    } else if (edits[_i].rule == CV_R_HOST_RELOC_ENTRY) { /* nothing sets the first pointer */
        expect(1, edits[_i].rule, edits[_i].off, 1);
    } else {
        expect(edits[_i].count, edits[_i].rule, edits[_i].off, edits[_i].named);
    }
}
END_TEST

/* What leads to a container is one wherever it lies, and so its version counts. */
START_TEST(leads_to_a_container)
{
    make_stripped();
    container(FATBIN);
    put(SEGMENT + 4, 4, 3);
    expect(1, CV_R_HOST_WRAPPER_VERSION, SEGMENT + 4, 1);
    /* in code as well, at any place */
    make_stripped();
    put(PHDRS + 4, 4, FLAG_R | FLAG_X);
    expect(0, CV_N_RULES, 0, 0);
    make_stripped();
    put(PHDRS + 4, 4, FLAG_R | FLAG_X);
    container(FATBIN);
    expect(0, CV_N_RULES, 0, 1);
    make_stripped();
    put(PHDRS + 4, 4, FLAG_R | FLAG_W | FLAG_X);
    expect(0, CV_N_RULES, 0, 2);
    make_stripped();
    container(FATBIN);
    memmove(img + SEGMENT + 1, img + SEGMENT, 48);
    put(RELOCS + 24, 8, VADDR + SEGMENT + 9);
    put(RELOCS + 48, 8, VADDR + SEGMENT + 33);
    expect(0, CV_N_RULES, 0, 1); /* the other one is no wrapper: at an odd place, and to no container */
}
END_TEST

/* What is not loaded is nobody's wrapper. */
START_TEST(unloaded)
{
    make_stripped();
    put(PHDRS + 32, 8, SEGMENT);
    put(PHDRS + 40, 8, SEGMENT);
    expect(0, CV_N_RULES, 0, 0);
    make_stripped();
    put(PHDRS, 4, 4); /* no PT_LOAD: nothing is searched */
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(host.wrappers.count, 0);
    ck_assert(!host.searched);
    done();
}
END_TEST

/* Segments over the same bytes: they are searched once. */
START_TEST(overlapping)
{
    make_stripped();
    for (unsigned i = 2; i < 4; i++) {
        memcpy(img + PHDRS + 56 * i, img + PHDRS, 56);
        put(56, 2, i + 1);
    }
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(host.wrappers.count, 2);
    done();
}
END_TEST

/* Programs whose pointers are not followed, as with sections. */
START_TEST(unfollowed)
{
    make_stripped();
    put(18, 2, 8);
    expect(1, CV_R_HOST_WRAPPER_HOST, SEGMENT, 0);
    make_stripped();
    put(18, 2, 8);
    put(SEGMENT, 8, 0);
    put(SEGMENT + 24, 8, 0);
    expect(0, CV_N_RULES, 0, 0);
    make_stripped(); /* of 32 bits */
    put(4, 1, 1);
    put(28, 4, PHDRS);
    put(32, 8, 0);
    put(42, 2, 32);
    put(44, 2, 1);
    put(PHDRS, 4, 1);
    put(PHDRS + 4, 4, 0);
    put(PHDRS + 8, 4, VADDR);
    put(PHDRS + 16, 4, SIZE);
    put(PHDRS + 20, 4, SIZE);
    put(PHDRS + 24, 4, FLAG_R | FLAG_W);
    expect(1, CV_R_HOST_WRAPPER_HOST, SEGMENT, 0);
}
END_TEST

/* ---- beside the sections ---- */

static void look_further(unsigned found, unsigned told, uint64_t named)
{
    cuvet_source src = { .size = sizeof(src) };

    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(host.named.count, 0);
    ck_assert_int_eq(cuvet_source_memory(file, BASE + SIZE, &src), CUVET_OK);
    for (int i = 0; i < 2; i++) /* once */
        ck_assert_int_eq(cv_host_look_further(&ctx, &src, &host), CUVET_OK);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_PLACE], found);
    ck_assert_msg(n_diags == found + told, "%u: %s", n_diags, n_diags ? cuvet_rule_get(last.rule)->id : "-");
    ck_assert_uint_eq(host.named.count, named);
    done();
    start();
}

START_TEST(beside_sections)
{
    /* the section for wrappers has another name, or says that it has no bytes */
    make_shared();
    put(SH(S_SEGMENT, NAME), 4, 0);
    look_further(2, 0, 2);
    make_shared();
    put(SH(S_SEGMENT, TYPE), 4, 8);
    look_further(2, 0, 2);
    make_shared(); /* containers with code to be linked are containers */
    put(SH(S_SEGMENT, NAME), 4, 0);
    put(SH(S_FATBIN, NAME), 4, name_of(LONG_NAME));
    memcpy(img + NAMES + name_of(LONG_NAME), "__nv_relfatbin", 15);
    look_further(2, 0, 2);
    /* so has the one for containers: then a section with data is believed */
    make_shared();
    put(SH(S_SEGMENT, NAME), 4, 0);
    put(SH(S_FATBIN, NAME), 4, 0);
    look_further(0, 0, 0);
    /* but what no section has is searched */
    make_shared();
    put(SH(S_SEGMENT, NAME), 4, 0);
    put(SH(S_SEGMENT, SIZ), 8, 0);
    put(SH(S_FATBIN, NAME), 4, 0);
    look_further(2, 0, 2);
    make_shared(); /* there is a section for wrappers, but these are others */
    put(SH(S_SEGMENT, SIZ), 8, 0);
    look_further(2, 0, 2);
    make_shared(); /* judged like any */
    put(SH(S_SEGMENT, NAME), 4, 0);
    reloc(2, VADDR + SEGMENT + 32, 0, 8, VADDR + FATBIN);
    put(SEGMENT + 32, 8, 0);
    look_further(2, 1, 1);
    /* code is not searched */
    make_shared();
    put(SH(S_SEGMENT, NAME), 4, 0);
    put(SH(S_SEGMENT, FLAGS), 8, 6);
    look_further(0, 0, 0);
}
END_TEST

/* What was said of a wrapper is not said again when others are found. */
START_TEST(lost_before)
{
    cuvet_source src = { .size = sizeof(src) };

    make_shared();
    put(SH(S_SEGMENT, SIZ), 8, 24);
    put(RELOCS + 24 + 16, 8, VADDR + SIZE);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_TARGET], 1);
    ck_assert_int_eq(cuvet_source_memory(file, BASE + SIZE, &src), CUVET_OK);
    ck_assert_int_eq(cv_host_look_further(&ctx, &src, &host), CUVET_OK);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_PLACE], 1);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_WRAPPER_TARGET], 1);
    expect_named(1, FATBIN + 0x20, 0);
    done();
}
END_TEST

/* Of sections that lie over each other the one that nobody loads code from decides. */
START_TEST(use_of_a_byte)
{
    static const struct {
        uint64_t off;
        cv_host_use use;
    } ROWS[] = { { 9, CV_HOST_OUTSIDE },  { 10, CV_HOST_DATA },    { 14, CV_HOST_DATA },
                 { 15, CV_HOST_NO_DATA }, { 29, CV_HOST_NO_DATA }, { 30, CV_HOST_OUTSIDE } };

    ck_assert(cv_host_ranges_push(&ctx.mem, &host.ranges, (cv_host_range){ 10, 20, CV_HOST_DATA }));
    ck_assert(cv_host_ranges_push(&ctx.mem, &host.ranges, (cv_host_range){ 15, 30, CV_HOST_NO_DATA }));
    ck_assert(cv_host_ranges_push(&ctx.mem, &host.ranges, (cv_host_range){ 15, 25, CV_HOST_DATA }));
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++)
        ck_assert_msg(cv_host_use_at(&host, ROWS[i].off) == ROWS[i].use, "%u", (unsigned)ROWS[i].off);
    done();
}
END_TEST

/* A section for wrappers that a program has not, or has elsewhere. */
START_TEST(section_not_loaded)
{
    make_shared();
    put(PHDRS + 32, 8, SEGMENT);
    put(PHDRS + 40, 8, SEGMENT);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(last.rule, CV_R_HOST_WRAPPER_UNLOADED);
    ck_assert_uint_eq(last.file_off, BASE + SEGMENT);
    done();
    start();
    make_shared();
    put(SH(S_SEGMENT, ADDR), 8, 0);
    put(PHDRS + 16, 8, 0);
    ck_assert_int_eq(read_size(SIZE), CUVET_OK);
    ck_assert_uint_eq(ctx.seen[CV_R_HOST_SECTION_MAPPING], 1);
    done();
}
END_TEST

Suite *suite_model_host_search(void);
Suite *suite_model_host_search(void)
{
    Suite *suite = suite_create("host/search");
    TCase *tcase = tcase_create("search");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_loop_test(tcase, edited, 0, sizeof(edits) / sizeof(edits[0]));
    tcase_add_test(tcase, leads_to_a_container);
    tcase_add_test(tcase, unloaded);
    tcase_add_test(tcase, overlapping);
    tcase_add_test(tcase, unfollowed);
    tcase_add_test(tcase, beside_sections);
    tcase_add_test(tcase, lost_before);
    tcase_add_test(tcase, use_of_a_byte);
    tcase_add_test(tcase, section_not_loaded);
    suite_add_tcase(suite, tcase);
    return suite;
}

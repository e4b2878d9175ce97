/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Records of functions that a kernel reaches: what it inherits, and what of that is refused. Objects of a
 * compiler whose records of four bytes are made to say something else. */
#include "link_fixture.h"

#define CASES "sm_80"

static lc_object object[4];
static const lc_case *current;
static const char *used; /* part of the names of the kernels that stay; NULL: all do */

static void load(const char *name)
{
    current = lc_find(name, CASES);
    used = NULL;
    for (unsigned i = 0; i < current->count && i < N(object); i++)
        lc_load(&object[i], current->input[i]);
}

/* Offset of the record with a code in the section of a function. */
static size_t record(const uint8_t *bytes, const char *section, uint8_t code)
{
    unsigned i;
    lc_section part = lc_find_section(bytes, section, &i);

    for (size_t at = part.off; at < part.off + part.size;) {
        if (bytes[at + 1] == code)
            return at;
        at += 4 + (bytes[at] == 4 ? lc_number(bytes, at + 2, 2) : 0);
    }
    return 0;
}

static cuvet_status link_all(cuvet_linker *linker, cuvet_link_result *result, bool relocatable)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_status status;

    options.flags |= relocatable ? CUVET_LINK_RELOCATABLE : 0;
    options.kernels_used = used ? &used : NULL;
    options.n_kernels_used = used ? 1 : 0;
    *linker = lc_linker(&options);
    lc_forget();
    for (unsigned i = 0; i < current->count; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, *linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    status = cuvet_linker_complete(lc_ctx, *linker);
    if (status == CUVET_OK)
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, *linker, result), CUVET_OK);
    return status;
}

static void check_refused(const char *rule, uint64_t got)
{
    cuvet_linker linker;
    cuvet_link_result result = { .size = sizeof(result) };

    ck_assert_int_eq(link_all(&linker, &result, false), CUVET_E_REFUSED);
    ck_assert_msg(lc_said(rule), "%s", rule);
    ck_assert_uint_eq(lc_diag(rule)->got, got);
    ck_assert_uint_gt(lc_diag(rule)->file_off, 0);
    lc_end(linker);
}

/* What the result says in a section: format, code and value of the record; 0: none. */
static uint64_t linked(const char *section, uint8_t code, bool relocatable)
{
    cuvet_linker linker;
    cuvet_link_result result = { .size = sizeof(result) };
    uint64_t found = 0;
    size_t at;

    ck_assert_int_eq(link_all(&linker, &result, relocatable), CUVET_OK);
    at = record(result.bytes, section, code);
    if (at)
        found = lc_number(result.bytes, at, 4);
    lc_end(linker);
    return found;
}

#define KERNEL "_Z3kstPii"
#define OTHER  ".nv.info._Z4kst0Pi" /* a kernel that calls nobody */
#define LVL1   ".nv.info._Z4lvl1Pii"
#define LVL2   ".nv.info._Z4lvl2Pii"
#define LVL2B  ".nv.info._Z5lvl2bPii"

/* Records of every function here: 1 format, 2 code, 3 and 4 value. */
enum { WAR = 0x35, ISA = 0x5F, API = 0x37 };
#define RECORD(format, code, value) ((uint32_t)(value) << 16 | (uint32_t)(code) << 8 | (format))

static unsigned input_of(const char *section)
{
    return strcmp(section, LVL1) == 0                                       ? 1
           : strncmp(section, LVL2, 14) == 0 || strcmp(section, LVL2B) == 0 ? 2
                                                                            : 0;
}

/* A record of a section becomes another. */
static void become(const char *section, uint8_t old, uint32_t word)
{
    lc_object *input = &object[input_of(section)];
    size_t at = record(input->bytes, section, old);

    ck_assert_msg(at != 0, "%s %#x", section, old);
    lc_put(input, at, 4, word);
}

/* CV-LINK-080: a record that no compiler writes, in a function that a kernel calls; in the kernel itself, and
 * in a relocatable object, it is kept. */
START_TEST(unknown)
{
    load("stack_chain");
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x18, false), 0);
    become(".nv.info." KERNEL, ISA, RECORD(3, 0x18, 7));
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x18, false), RECORD(3, 0x18, 7));
    become(LVL2, ISA, RECORD(3, 0x18, 7));
    check_refused("CV-LINK-080", 0x18);
    ck_assert_uint_eq(linked(LVL2, 0x18, true), RECORD(3, 0x18, 7));
    become(LVL2, 0x18, RECORD(3, 0x6C, 7));
    check_refused("CV-LINK-080", 0x6C);
    become(LVL2, 0x6C, RECORD(3, ISA, 0));
    ck_assert_uint_eq(linked(".nv.info." KERNEL, ISA, false), 0);
}
END_TEST

/* What three functions say (0: nothing), and what becomes of it in the kernel that reaches them. */
static const struct {
    uint8_t old;
    uint32_t lvl1, lvl2, lvl2b, want;
} INHERITED[] = {
    { WAR, 0, RECORD(1, 0x04, 0), 0, RECORD(1, 0x04, 0) },
    { WAR, 0, 0, RECORD(1, 0x41, 0), RECORD(1, 0x41, 0) },
    { WAR, RECORD(1, 0x51, 0), RECORD(1, 0x51, 0), 0, RECORD(1, 0x51, 0) },
    { WAR, 0, RECORD(1, 0x54, 0), 0, RECORD(1, 0x54, 0) },
    { WAR, 0, RECORD(1, 0x62, 0), 0, RECORD(1, 0x62, 0) },
    { WAR, 0, RECORD(1, 0x2B, 0), 0, 0 }, /* its own business */
    { ISA, RECORD(2, 0x4C, 3), RECORD(2, 0x4C, 7), RECORD(2, 0x4C, 1), RECORD(2, 0x4C, 7) },
    { ISA, 0, RECORD(2, 0x4A, 0x80), RECORD(2, 0x4A, 0x7F), RECORD(2, 0x4A, 0x80) },
    { ISA, RECORD(3, 0x38, 3), RECORD(3, 0x38, 5), RECORD(3, 0x38, 1), RECORD(3, 0x38, 9) },
    { ISA, 0, 0, RECORD(3, 0x38, 0), RECORD(3, 0x38, 0) },
    { ISA, RECORD(3, 0x38, 3), RECORD(3, 0x38, 0xFFFF), 0, RECORD(3, 0x38, 0xFFFF) },
    { ISA, RECORD(3, 0x38, 0xFFF0), RECORD(3, 0x38, 0xE), 0, RECORD(3, 0x38, 0xFFFE) },
    { ISA, RECORD(3, 0x50, 1), RECORD(3, 0x50, 4), RECORD(3, 0x50, 2), RECORD(3, 0x50, 0x8007) },
};

START_TEST(inherited)
{
    uint8_t code = (uint8_t)((INHERITED[_i].lvl1 | INHERITED[_i].lvl2 | INHERITED[_i].lvl2b) >> 8);

    load("stack_chain");
    if (INHERITED[_i].lvl1)
        become(LVL1, INHERITED[_i].old, INHERITED[_i].lvl1);
    if (INHERITED[_i].lvl2)
        become(LVL2, INHERITED[_i].old, INHERITED[_i].lvl2);
    if (INHERITED[_i].lvl2b)
        become(LVL2B, INHERITED[_i].old, INHERITED[_i].lvl2b);
    ck_assert_uint_eq(linked(".nv.info." KERNEL, code, false), INHERITED[_i].want);
    ck_assert_uint_eq(linked(OTHER, code, false), code == 0x50 ? RECORD(3, 0x50, 0x8000) : 0);
    if (INHERITED[_i].lvl2)
        ck_assert_uint_eq(linked(LVL2, code, false), INHERITED[_i].lvl2);
    ck_assert_uint_eq(linked(".nv.info." KERNEL, code, true), 0); /* nothing reaches anything yet */
}
END_TEST

/* The kernel has a record of its own: it is changed where it stands. */
START_TEST(own)
{
    load("stack_chain");
    become(".nv.info." KERNEL, ISA, RECORD(3, 0x38, 2));
    become(LVL2, ISA, RECORD(3, 0x38, 5));
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x38, false), RECORD(3, 0x38, 7));
    become(".nv.info." KERNEL, 0x38, RECORD(2, 0x4C, 6));
    become(LVL2, 0x38, RECORD(2, 0x4C, 5));
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x4C, false), RECORD(2, 0x4C, 6));
}
END_TEST

/* The only kernel keeps its mask of sparse multiplication when every function has one. A dead function says
 * nothing, whatever its record was: then the kernel's mask is that of all. */
START_TEST(dead_says_nothing)
{
    load("stack_chain");
    become(".nv.info." KERNEL, ISA, RECORD(3, 0x50, 0x10));
    become(LVL1, ISA, RECORD(3, 0x50, 1));
    become(LVL2, ISA, RECORD(3, 0x50, 2));
    become(LVL2B, ISA, RECORD(3, 0x50, 4));
    become(OTHER, ISA, RECORD(3, 0x50, 8));
    used = "3kstPii";
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x50, false), RECORD(3, 0x50, 0x17));
}
END_TEST

/* CV-LINK-081: tensor memory in one way only, also when it is the kernel itself that uses the other. */
START_TEST(tensor_memory)
{
    load("stack_chain");
    become(LVL2, WAR, RECORD(1, 0x51, 0));
    become(LVL2B, WAR, RECORD(1, 0x52, 0));
    check_refused("CV-LINK-081", 0);
    become(LVL2, 0x51, RECORD(1, WAR, 0));
    ck_assert_uint_eq(linked(".nv.info." KERNEL, 0x52, false), RECORD(1, 0x52, 0));
    become(".nv.info." KERNEL, WAR, RECORD(1, 0x51, 0));
    check_refused("CV-LINK-081", 0);
    become(LVL2B, 0x52, RECORD(1, WAR, 0));
    become(OTHER, WAR, RECORD(1, 0x52, 0));
    ck_assert_uint_eq(linked(OTHER, 0x52, false), RECORD(1, 0x52, 0));
}
END_TEST

/* A record of one word becomes a fragment. */
static void fragment(const char *section, uint32_t id)
{
    lc_object *input = &object[input_of(section)];
    size_t at = record(input->bytes, section, API);

    if (!at)
        at = record(input->bytes, section, 0x4F);
    lc_put(input, at + 1, 1, 0x4F);
    lc_put(input, at + 4, 4, id);
}

/* CV-LINK-082: fragments of 12.x and of 13.x; others go with both. */
START_TEST(fragments)
{
    static const uint8_t PAIR[][3] = { { 4, 6, 0 }, { 5, 7, 0 }, { 7, 4, 0 }, { 6, 5, 0 }, { 4, 5, 1 },
                                       { 7, 6, 1 }, { 3, 6, 1 }, { 8, 4, 1 }, { 6, 6, 1 } };

    load("stack_chain");
    for (unsigned i = 0; i < N(PAIR); i++) {
        fragment(LVL1, PAIR[i][0]);
        fragment(LVL2, PAIR[i][1]);
        if (PAIR[i][2])
            ck_assert_uint_eq(linked(LVL1, 0x4F, true), RECORD(4, 0x4F, 4));
        else
            check_refused("CV-LINK-082", PAIR[i][1]);
    }
}
END_TEST

/* Fragments leave the function for the kernel, each once. */
START_TEST(words)
{
    cuvet_linker linker;
    cuvet_link_result result = { .size = sizeof(result) };
    size_t at;

    load("stack_chain");
    fragment(LVL1, 6);
    fragment(LVL2, 7);
    fragment(LVL2B, 6);
    ck_assert_int_eq(link_all(&linker, &result, false), CUVET_OK);
    at = record(result.bytes, ".nv.info." KERNEL, 0x4F);
    ck_assert_uint_eq(lc_number(result.bytes, at, 4), RECORD(4, 0x4F, 8));
    ck_assert_uint_eq(lc_number(result.bytes, at + 4, 4), 6);
    ck_assert_uint_eq(lc_number(result.bytes, at + 8, 4), 7);
    ck_assert_uint_eq(record(result.bytes, LVL1, 0x4F), 0);
    ck_assert_uint_eq(record(result.bytes, OTHER, 0x4F), 0);
    lc_end(linker);
}
END_TEST

/* CV-LINK-083: a sum that no record can hold, also one that would look as if it was not known. */
START_TEST(sums)
{
    load("stack_chain");
    become(LVL1, ISA, RECORD(3, 0x38, 0xFFF0));
    become(LVL2, ISA, RECORD(3, 0x38, 0xF));
    check_refused("CV-LINK-083", 0x38);
    become(LVL2, 0x38, RECORD(3, 0x38, 0xFFFE));
    check_refused("CV-LINK-083", 0x38);
}
END_TEST

Suite *suite_linker_inherit(void)
{
    Suite *suite = suite_create("linker inherit");
    TCase *tcase = tcase_create("records");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, unknown);
    tcase_add_loop_test(tcase, inherited, 0, (int)N(INHERITED));
    tcase_add_test(tcase, own);
    tcase_add_test(tcase, dead_says_nothing);
    tcase_add_test(tcase, tensor_memory);
    tcase_add_test(tcase, fragments);
    tcase_add_test(tcase, words);
    tcase_add_test(tcase, sums);
    suite_add_tcase(suite, tcase);
    return suite;
}

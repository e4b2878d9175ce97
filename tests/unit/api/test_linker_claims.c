/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Objects that say more than an object may, or less than what others take from them: each alone is clean. */
#include "link_fixture.h"

#define CASES "sm_80"

static lc_object object[2];
static unsigned n_objects;

static void load(const char *name, const char *target)
{
    const lc_case *found = lc_find(name, target);

    ck_assert_uint_le(found->count, N(object));
    n_objects = found->count;
    for (unsigned i = 0; i < n_objects; i++)
        lc_load(&object[i], found->input[i]);
}

static cuvet_status link_for(const char *target, bool relocatable)
{
    cuvet_linker_options options = lc_options(target);
    cuvet_linker linker;
    cuvet_status status = CUVET_OK;

    options.flags |= relocatable ? CUVET_LINK_RELOCATABLE : 0;
    linker = lc_linker(&options);
    lc_forget();
    for (unsigned i = 0; i < n_objects; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    status = cuvet_linker_complete(lc_ctx, linker);
    lc_end(linker);
    return status;
}

/* Refused in a final link and in a relocatable one, at a place of an input. */
static void check_refused(const char *rule, uint64_t got, uint64_t want)
{
    for (int relocatable = 0; relocatable < 2; relocatable++) {
        ck_assert_int_eq(link_for(CASES, relocatable != 0), CUVET_E_REFUSED);
        ck_assert_msg(lc_said(rule), "%s", rule);
        ck_assert_int_eq(lc_diag(rule)->where.step[0].kind, CUVET_P_MEMBER);
        ck_assert_uint_eq(lc_diag(rule)->got, got);
        ck_assert_uint_eq(lc_diag(rule)->want, want);
        ck_assert_uint_gt(lc_diag(rule)->file_off, 0);
    }
}

/* Found when it is added. */
static void check_malformed(unsigned index, const char *rule)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker = lc_linker(&options);

    lc_forget();
    ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[index].bytes, object[index].size, "object"),
                     CUVET_E_MALFORMED);
    ck_assert_msg(lc_said(rule), "%s", rule);
    lc_end(linker);
}

static void check_linked(void)
{
    ck_assert_int_eq(link_for(CASES, false), CUVET_OK);
    ck_assert_int_eq(link_for(CASES, true), CUVET_OK);
}

/* The record of a code in the section of the program: its offset. */
static size_t record(const lc_object *input, uint8_t code)
{
    unsigned i;
    lc_section info = lc_find_section(input->bytes, ".nv.info", &i);

    ck_assert_str_eq(info.name, ".nv.info");
    for (size_t at = info.off; at < info.off + info.size; at += 12) /* each of a symbol and a number */
        if (input->bytes[at + 1] == code)
            return at;
    ck_abort_msg("no record %x", code);
}

/* CV-LINK-091: how much stack a kernel needs is what a link finds out; the limit that a compiler passes on is
 * a legal neighbour. */
START_TEST(records_of_linkers)
{
    size_t at;

    load("weak_common_ptx", CASES);
    check_linked();
    at = record(&object[0], 0x23);
    lc_put(&object[0], at + 1, 1, 0x12);
    check_refused("CV-LINK-091", 0x12, 0);
    ck_assert_uint_eq(lc_diag("CV-LINK-091")->file_off, at);
    lc_put(&object[0], at + 1, 1, 0x23);
    check_linked();
}
END_TEST

enum { NAME = 0, INFO = 4, OTHER = 5, SHNDX = 6, VALUE = 8, SIZE = 16 };

/* Offset of a symbol that is no section symbol; its number in *number. */
static size_t symbol(const lc_object *input, const char *name, uint64_t *number)
{
    unsigned i;
    lc_section table = lc_find_section(input->bytes, ".symtab", &i);
    lc_section strings = lc_section_of(input->bytes, table.link);

    for (size_t at = table.off + 24; at < table.off + table.size; at += 24) {
        const char *text = (const char *)input->bytes + strings.off + lc_number(input->bytes, at, 4);

        if ((input->bytes[at + 4] & 15) != 3 && strcmp(text, name) == 0) {
            *number = (at - table.off) / 24;
            return at;
        }
    }
    ck_abort_msg("no symbol %s", name);
}

/* Every name that ends like this one, in the tables of names: another end of the same length. */
static void rename_all(lc_object *input, const char *from, const char *to)
{
    size_t count = strlen(from) + 1;

    ck_assert_uint_eq(strlen(to) + 1, count);
    for (unsigned i = 1; i < lc_sections(input->bytes); i++) {
        lc_section table = lc_section_of(input->bytes, i);

        for (size_t at = table.off; table.type == 3 && at + count <= table.off + table.size; at++)
            if (memcmp(input->bytes + at, from, count) == 0)
                memcpy(input->bytes + at, to, count);
    }
}

/* CV-LINK-092: the shared memory of a kernel of this name would be that of the system. */
START_TEST(names_of_system)
{
    uint64_t number;

    load("recursion_cross", CASES);
    (void)symbol(&object[0], "_Z5krec2Pi", &number);
    rename_all(&object[0], "_Z5krec2Pi", "reserved.1");
    check_linked();
    rename_all(&object[0], "reserved.1", "reserved.0");
    check_refused("CV-LINK-092", number, 0);
}
END_TEST

/* CV-LINK-093 and CV-ELF-177: what is named and what is there are variables; no other kind of symbol stands
 * in for one. */
START_TEST(types_for_others)
{
    enum { NO_TYPE = 0x10, VARIABLE = 0x10 | 13, IN_MEMORY = 0x20 };
    uint64_t number;

    load("extern_basic", CASES);
    check_linked();
    for (unsigned i = 0; i < 2; i++) { /* the one that names it, and the one that has it */
        size_t at = symbol(&object[i], "g_counter", &number);

        lc_put(&object[i], at + INFO, 1, NO_TYPE);
        lc_put(&object[i], at + OTHER, 1, 0);
        if (i == 0)
            check_refused("CV-LINK-093", 0, 0);
        else
            check_malformed(i, "CV-ELF-177");
        lc_put(&object[i], at + INFO, 1, VARIABLE);
        lc_put(&object[i], at + OTHER, 1, IN_MEMORY);
    }
    check_linked();
}
END_TEST

/* CV-LINK-130: what is defined for others has a name. */
START_TEST(nameless_definition)
{
    uint64_t number;
    size_t owner;

    load("extern_basic", CASES);
    owner = symbol(&object[1], "g_counter", &number);
    lc_put(&object[1], owner, 4, 0);
    check_refused("CV-LINK-130", number, 0);
}
END_TEST

/* CV-LINK-002: a definition without bytes is no room for what is declared with some; a declaration without a
 * size is one of an array of any. */
START_TEST(empty_definitions)
{
    uint64_t number;
    size_t user, owner;

    load("extern_basic", CASES);
    user = symbol(&object[0], "g_counter", &number);
    owner = symbol(&object[1], "g_counter", &number);
    lc_put(&object[1], owner + SIZE, 8, 0);
    check_refused("CV-LINK-002", 0, 4);
    lc_put(&object[1], owner + SIZE, 8, 4);
    lc_put(&object[0], user + SIZE, 8, 0);
    check_linked();
}
END_TEST

/* CV-LINK-002 and CV-LINK-003: a name like those of the linker is no reason to compare nothing. */
START_TEST(names_like_those_of_linkers)
{
    static const char *const NAMES[] = { "__Ucountr", "__UFT_xyz", ".nv.resrv" };
    enum { IN_CONSTANTS = 0x80, IN_MEMORY = 0x20 };
    uint64_t number;

    load("extern_basic", CASES);
    for (unsigned i = 0; i < N(NAMES); i++) {
        const char *before = i ? NAMES[i - 1] : "g_counter";
        size_t user;

        rename_all(&object[0], before, NAMES[i]);
        rename_all(&object[1], before, NAMES[i]);
        user = symbol(&object[0], NAMES[i], &number);
        check_linked();
        lc_put(&object[0], user + SIZE, 8, 400);
        check_refused("CV-LINK-002", 4, 400);
        lc_put(&object[0], user + SIZE, 8, 4);
        lc_put(&object[0], user + OTHER, 1, IN_CONSTANTS);
        check_refused("CV-LINK-003", IN_MEMORY, IN_CONSTANTS);
        lc_put(&object[0], user + OTHER, 1, IN_MEMORY);
    }
}
END_TEST

Suite *suite_linker_claims(void)
{
    Suite *suite = suite_create("linker claims");
    TCase *tcase = tcase_create("objects");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, records_of_linkers);
    tcase_add_test(tcase, names_of_system);
    tcase_add_test(tcase, types_for_others);
    tcase_add_test(tcase, nameless_definition);
    tcase_add_test(tcase, empty_definitions);
    tcase_add_test(tcase, names_like_those_of_linkers);
    suite_add_tcase(suite, tcase);
    return suite;
}

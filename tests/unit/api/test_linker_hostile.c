/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Objects that a scan lets pass and a link must not: each rule of src/link/in/validate.c and
 * src/link/plan/dangling.c, with a neighbour that is just legal; and objects that look alike and are not. */
#include "link_fixture.h"

#define CASES "sm_80"

static lc_object object[2];
static const lc_case *current;

static void load(const char *name)
{
    current = lc_find(name, CASES);
    for (unsigned i = 0; i < current->count && i < N(object); i++)
        lc_load(&object[i], current->input[i]);
}

/* How many sections of the result have a name; the status, negative, where there is none. */
static int link_as(const char *section, bool relocatable)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker;
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status;
    int found = 0;

    options.flags |= relocatable ? CUVET_LINK_RELOCATABLE : 0;
    linker = lc_linker(&options);
    lc_forget();
    for (unsigned i = 0; i < current->count; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    status = cuvet_linker_complete(lc_ctx, linker);
    if (status == CUVET_OK) {
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
        for (unsigned i = 0; i < lc_sections(result.bytes); i++)
            found += strcmp(lc_section_of(result.bytes, i).name, section) == 0;
    }
    lc_end(linker);
    return status == CUVET_OK ? found : -(int)status;
}

static int link_all(const char *section)
{
    return link_as(section, false);
}

static void check_refused(const char *rule)
{
    ck_assert_int_eq(link_all(""), -(int)CUVET_E_REFUSED);
    ck_assert_msg(lc_said(rule), "%s", rule);
    ck_assert_int_eq(lc_diag(rule)->where.step[0].kind, CUVET_P_MEMBER);
    ck_assert_uint_gt(lc_diag(rule)->file_off, 0);
}

/* What a scan would find is found when an object is added. */
static void check_malformed(const char *rule)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker = lc_linker(&options);
    cuvet_status status = CUVET_OK;

    lc_forget();
    for (unsigned i = 0; i < current->count && status == CUVET_OK; i++)
        status = cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object");
    ck_assert_int_eq(status, CUVET_E_MALFORMED);
    ck_assert_msg(lc_said(rule), "%s", rule);
    ck_assert_uint_gt(lc_diag(rule)->file_off, 0);
    lc_end(linker);
}

static void check_linked(void)
{
    ck_assert_int_ge(link_all(""), 0);
}

/* Offset of a symbol that is no section symbol; its number in *number. */
static size_t symbol(const lc_object *input, const char *name, uint64_t *number)
{
    unsigned i;
    lc_section table = lc_find_section(input->bytes, ".symtab", &i);
    lc_section strings = lc_section_of(input->bytes, table.link);

    for (size_t at = table.off + 24; at < table.off + table.size; at += 24) {
        const char *text = (const char *)input->bytes + strings.off + lc_number(input->bytes, at, 4);

        if ((input->bytes[at + 4] & 15) != 3 && strcmp(text, name) == 0) {
            if (number)
                *number = (at - table.off) / 24;
            return at;
        }
    }
    ck_abort_msg("no symbol %s", name);
}

enum { NAME = 0, INFO = 4, SHNDX = 6, VALUE = 8, SIZE = 16 };

/* CV-ELF-176 (CV-LINK-018 of what an assembler made): an alias is global and begins where the code does. */
START_TEST(aliases)
{
    size_t at;

    load("alias_ptx");
    check_linked();
    at = symbol(&object[0], "aliasf", NULL);
    lc_put(&object[0], at + INFO, 1, 0x22);
    check_malformed("CV-ELF-176");
    lc_put(&object[0], at + INFO, 1, 0x12);
    lc_put(&object[0], at + VALUE, 8, 16);
    check_malformed("CV-ELF-176");
}
END_TEST

/* CV-LINK-019: two names that become one. */
START_TEST(names)
{
    uint64_t first, second;
    size_t left, right;

    load("printf_assert");
    check_linked();
    left = symbol(&object[0], "vprintf", &first);
    right = symbol(&object[0], "__assertfail", &second);
    lc_put(&object[0], right + NAME, 4, lc_number(object[0].bytes, left + NAME, 4));
    check_refused("CV-LINK-019");
    ck_assert_uint_eq(lc_diag("CV-LINK-019")->got, second);
    ck_assert_uint_eq(lc_diag("CV-LINK-019")->want, first);
}
END_TEST

/* CV-ELF-170, 171 and 175: absolute symbols; a function that is common, or local and nowhere. One that the
 * driver has may be weak. */
START_TEST(places)
{
    size_t at;

    load("printf_assert");
    at = symbol(&object[0], "vprintf", NULL);
    lc_put(&object[0], at + SHNDX, 2, 0xFFF1);
    check_malformed("CV-ELF-170");
    lc_put(&object[0], at + SHNDX, 2, 0xFFF2);
    lc_put(&object[0], at + VALUE, 8, 8);
    check_malformed("CV-ELF-171");
    lc_put(&object[0], at + SHNDX, 2, 0);
    lc_put(&object[0], at + VALUE, 8, 0);
    lc_put(&object[0], at + INFO, 1, 0x22);
    check_linked();
    lc_put(&object[0], at + INFO, 1, 0x02);
    check_malformed("CV-ELF-175");
    lc_put(&object[0], at + INFO, 1, 0x12);
    check_linked();
}
END_TEST

/* An object with a common variable: where its symbol is. */
static size_t load_common(void)
{
    lc_section table;
    unsigned i;
    size_t at;

    load("weak_common_ptx");
    table = lc_find_section(object[0].bytes, ".symtab", &i);
    for (at = table.off; lc_number(object[0].bytes, at + SHNDX, 2) != 0xFFF2; at += 24)
        ck_assert_uint_lt(at, table.off + table.size);
    return at;
}

/* CV-LINK-020: of common symbols only global variables get memory. The reference places the others, too,
 * where it does not write a symbol of another kind. */
START_TEST(commons)
{
    static const uint8_t INFOS[] = { 0x1D, 0x11, 0x2D, 0x21 };

    for (unsigned k = 0; k < N(INFOS); k++) {
        size_t at = load_common();

        lc_put(&object[0], at + INFO, 1, INFOS[k]);
        if (k == 0)
            check_linked();
        else
            check_refused("CV-LINK-020");
    }
}
END_TEST

/* CV-LINK-020: what is wanted of other objects has a name. */
START_TEST(nameless)
{
    lc_section table;
    unsigned i;
    size_t at;

    load("extern_basic");
    table = lc_find_section(object[0].bytes, ".symtab", &i);
    for (at = table.off + 24;
         lc_number(object[0].bytes, at + SHNDX, 2) != 0 || lc_number(object[0].bytes, at + INFO, 1) >> 4 != 1;
         at += 24)
        ck_assert_uint_lt(at, table.off + table.size);
    lc_put(&object[0], at, 4, 0);
    check_refused("CV-LINK-020");
}
END_TEST

/* CV-ELF-082 and 172: common variables. */
START_TEST(extents)
{
    static const struct {
        uint64_t field, value;
        const char *rule;
    } ROWS[] = {
        { SIZE, UINT64_C(1) << 48, NULL },  { SIZE, (UINT64_C(1) << 48) + 1, "CV-ELF-082" },
        { SIZE, UINT64_MAX, "CV-ELF-082" }, { VALUE, 1 << 20, NULL },
        { VALUE, 0, "CV-ELF-172" },         { VALUE, (1 << 19) + 1, "CV-ELF-172" },
        { VALUE, 3, "CV-ELF-172" },
    };

    for (unsigned k = 0; k < N(ROWS); k++) {
        size_t at = load_common();

        lc_put(&object[0], at + ROWS[k].field, 8, ROWS[k].value);
        if (ROWS[k].rule)
            check_malformed(ROWS[k].rule);
        else
            check_linked();
    }
}
END_TEST

/* CV-LIMIT-022: alignments that would be the size of the result. A common variable, the variable of a
 * function and the sections themselves. */
START_TEST(alignments)
{
    cuvet_linker_options options = lc_options(CASES);

    for (unsigned bit = 20; bit < 64; bit++) {
        cuvet_linker linker = lc_linker(&options);
        lc_section table;
        unsigned i;
        size_t at;
        cuvet_status status;

        load("weak_common_ptx");
        table = lc_find_section(object[0].bytes, ".symtab", &i);
        for (at = table.off; lc_number(object[0].bytes, at + SHNDX, 2) != 0xFFF2; at += 24)
            ck_assert_uint_lt(at, table.off + table.size);
        lc_put(&object[0], at + VALUE, 8, UINT64_C(1) << bit);
        lc_forget();
        status = cuvet_linker_add(lc_ctx, linker, object[0].bytes, object[0].size, "object");
        ck_assert_int_eq(status, bit == 20 ? CUVET_OK : CUVET_E_LIMIT);
        ck_assert_int_eq(lc_said("CV-LIMIT-022"), bit != 20);
        lc_end(linker);
    }
}
END_TEST

/* CV-LINK-021: stack frames of 4 GiB would say that the stack is not known. */
START_TEST(frames)
{
    static const uint32_t FRAME[] = { UINT32_MAX, 0xFFFF0000, 64 };

    for (unsigned k = 0; k < N(FRAME); k++) {
        unsigned i, patched = 0;
        lc_section section;

        load("extern_basic");
        section = lc_find_section(object[0].bytes, ".nv.info", &i);
        for (size_t at = section.off; at + 12 <= section.off + section.size; at += 12)
            if (lc_number(object[0].bytes, at, 4) == 0x00081104) {
                lc_put(&object[0], at + 8, 4, FRAME[k]);
                patched++;
            }
        ck_assert_uint_gt(patched, 0);
        if (FRAME[k] == UINT32_MAX)
            check_refused("CV-LINK-021");
        else
            check_linked();
    }
}
END_TEST

/* Offset of the first symbol that is a shared variable, with its section. */
static size_t shared_variable(const lc_object *input, lc_section *in)
{
    unsigned i;
    lc_section table = lc_find_section(input->bytes, ".symtab", &i);

    for (size_t at = table.off + 24; at < table.off + table.size; at += 24)
        if ((input->bytes[at + INFO] & 15) == 13 && input->bytes[at + INFO + 1] == 0x40 &&
            input->bytes[at + SHNDX]) {
            *in = lc_section_of(input->bytes, (unsigned)lc_number(input->bytes, at + SHNDX, 2));
            return at;
        }
    ck_abort_msg("no shared variable");
}

/* CV-ELF-082: a scan does not ask how large a shared variable is, whose value is an alignment. CV-LINK-003:
 * what lies in shared memory is one. */
START_TEST(shared_variables)
{
    lc_section in;
    size_t at;

    load("shared_static");
    check_linked();
    at = shared_variable(&object[0], &in);
    lc_put(&object[0], at + SIZE, 8, in.size);
    check_linked();
    lc_put(&object[0], at + SIZE, 8, in.size + 1);
    check_malformed("CV-ELF-082");
    ck_assert_uint_eq(lc_diag("CV-ELF-082")->got, in.size + 1);
    ck_assert_uint_eq(lc_diag("CV-ELF-082")->want, in.size);
    lc_put(&object[0], at + SIZE, 8, 4);
    lc_put(&object[0], at + VALUE, 8, 0);
    lc_put(&object[0], at + INFO + 1, 1, 0x20);
    check_malformed("CV-ELF-150");
}
END_TEST

/* Each variable with a memory space, and those that a linker has yet to place: with the bits of any other
 * space, none of them lies where its bits say, which a scan says of those in sections, and no link takes
 * one. */
static void each_other_space(const char *name)
{
    enum { RESERVED = 0xA0 };
    unsigned i, tried = 0;
    lc_section table;

    load(name);
    table = lc_find_section(object[0].bytes, ".symtab", &i);
    for (size_t at = table.off + 24; at < table.off + table.size; at += 24) {
        unsigned char was = object[0].bytes[at + INFO + 1];
        uint64_t value = lc_number(object[0].bytes, at + VALUE, 8);

        if ((object[0].bytes[at + INFO] & 15) != 13 || object[0].bytes[at + SHNDX] == 0)
            continue;
        for (unsigned space = 0; space < 0x100; space += 0x20) {
            if (space == (was & 0xE0U) || space == RESERVED) /* of that a scan knows all names */
                continue;
            lc_put(&object[0], at + INFO + 1, 1, (was & ~0xE0U) | space);
            if (lc_number(object[0].bytes, at + SHNDX, 2) < 0xFF00)
                lc_put(&object[0], at + VALUE, 8, 0); /* an alignment would be an offset */
            if (lc_number(object[0].bytes, at + SHNDX, 2) < 0xFF00)
                check_malformed("CV-ELF-150");
            else
                check_malformed("CV-ELF-171");
            tried++;
        }
        lc_put(&object[0], at + INFO + 1, 1, was);
        lc_put(&object[0], at + VALUE, 8, value);
    }
    ck_assert_uint_gt(tried, 0);
    check_linked();
}

/* … and what is local has a place, whatever memory it says: the variables of the driver say none. */
static void nowhere_in(unsigned space)
{
    lc_section in;
    size_t at;

    load("shared_static");
    at = shared_variable(&object[0], &in);
    lc_put(&object[0], at + INFO, 1, 0x0D);
    lc_put(&object[0], at + INFO + 1, 1, space);
    lc_put(&object[0], at + SHNDX, 2, 0);
    lc_put(&object[0], at + VALUE, 8, 0);
    check_malformed("CV-ELF-175");
}

START_TEST(spaces)
{
    for (unsigned space = 0x20; space < 0xA0; space += 0x20)
        nowhere_in(space);
    each_other_space("shared_static");
    each_other_space("const_multi");
    each_other_space("weak_common_ptx");
    each_other_space("extern_basic");
}
END_TEST

/* Everything in a section that names one symbol names another; the field is at 'at' of each record. */
static void rename_in(const char *name, uint64_t step, uint64_t at, uint64_t was, uint64_t is)
{
    unsigned i;
    lc_section section = lc_find_section(object[0].bytes, name, &i);

    for (uint64_t place = section.off; place < section.off + section.size; place += step)
        if (lc_number(object[0].bytes, place + at, 4) == was)
            lc_put(&object[0], place + at, 4, is);
}

/* The call graph says that a function calls itself, and its code calls another: the object is not taken. And
 * CV-LINK-022: the code does not call it either, but a record names it. */
START_TEST(references)
{
    uint64_t other, print, caller;
    lc_section section;
    unsigned i;

    load("printf_assert");
    check_linked();
    (void)symbol(&object[0], "__assertfail", &other);
    (void)symbol(&object[0], "vprintf", &print);
    section = lc_find_section(object[0].bytes, ".nv.callgraph", &i);
    for (size_t at = section.off; at < section.off + section.size; at += 8) /* nothing calls it any more */
        if (lc_number(object[0].bytes, at + 4, 4) == other) {
            caller = lc_number(object[0].bytes, at, 4);
            lc_put(&object[0], at + 4, 4, caller);
            check_malformed("CV-ELF-132");
            ck_assert_uint_eq(lc_diag("CV-ELF-132")->got, caller);
            ck_assert_uint_eq(lc_diag("CV-ELF-132")->want, other);
            lc_put(&object[0], at + 4, 4, print);
        }
    for (unsigned k = 1; k < lc_sections(object[0].bytes); k++) {
        lc_section part = lc_section_of(object[0].bytes, k);

        if (strncmp(part.name, ".rel.text.", 10) == 0)
            rename_in(part.name, 16, 12, other, print);
        else if (strncmp(part.name, ".rela.text.", 11) == 0)
            rename_in(part.name, 24, 12, other, print);
    }
    check_refused("CV-LINK-022");
}
END_TEST

/* A function that is local in one object is another one than the global function of its name, whichever comes
 * first. */
START_TEST(local_and_global)
{
    for (unsigned k = 0; k < 2; k++) {
        size_t at;

        load("err_dup_func");
        check_refused("CV-LINK-001");
        at = symbol(&object[k], "_Z5twicei", NULL);
        ck_assert_uint_eq(object[k].bytes[at + INFO], 0x12);
        lc_put(&object[k], at + INFO, 1, 0x02);
        check_linked(); /* nothing calls them: neither stays */
        ck_assert_int_eq(link_as(".text._Z5twicei", true), 2);
    }
}
END_TEST

/* With -g the variables of device functions keep their symbols, and the room that these lie in. */
START_TEST(debug_shared)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker;
    unsigned i;

    load("shared_static");
    options.flags |= CUVET_LINK_DEBUG;
    linker = lc_linker(&options);
    for (i = 0; i < current->count; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                         CUVET_OK);
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_uint_eq(lc_find_section(result.bytes, ".nv_debug.shared", &i).size,
                      0x103); /* as the reference */
    lc_end(linker);
}
END_TEST

/* A local variable that is nowhere, as in libcudadevrt; what the code gets for it, after a relocatable link
 * first (1: cuvet's own form, 2: the reference's) or without (0). */
static void nowhere(const char *name, unsigned partial, uint64_t *value, uint64_t *bank)
{
    static lc_object whole;
    cuvet_linker_options options = lc_options(CASES);
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_linker linker;
    lc_section section;
    size_t at;
    unsigned i;

    load("const_multi");
    at = symbol(&object[0], "__nv_static_26__4e1471d3_10_const_a_cu_ca_cstat", NULL);
    section = lc_section_of(object[0].bytes, lc_find_section(object[0].bytes, ".symtab", &i).link);
    memcpy(object[0].bytes + section.off + lc_number(object[0].bytes, at + NAME, 4), name, strlen(name) + 1);
    lc_put(&object[0], at + INFO, 2, 0x101);
    lc_put(&object[0], at + SHNDX, 2, 0);
    lc_put(&object[0], at + VALUE, 8, 0);
    if (partial != 0) {
        options.flags |= CUVET_LINK_RELOCATABLE;
        options.flags |= partial == 2 ? CUVET_LINK_EXACT_RELOCATABLE : 0;
    }
    lc_forget();
    for (unsigned last = partial == 0;; last++) {
        linker = lc_linker(&options);
        for (i = 0; i < current->count && !(last && partial); i++)
            ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object[i].bytes, object[i].size, "object"),
                             CUVET_OK);
        if (last && partial)
            ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, whole.bytes, whole.size, "object"), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
        if (last)
            break;
        whole.size = (size_t)result.n;
        ck_assert_uint_le(whole.size, sizeof(whole.bytes));
        memcpy(whole.bytes, result.bytes, whole.size);
        *value = lc_number(whole.bytes, symbol(&whole, name, NULL) + VALUE, 8);
        ck_assert_uint_eq(lc_number(whole.bytes, symbol(&whole, name, NULL) + INFO, 2), 0x10D);
        ck_assert_uint_eq(*value, strstr(name, "const0")
                                      ? lc_find_section(whole.bytes, ".nv.constant3", &i).size
                                      : UINT64_MAX);
        options.flags &= ~(CUVET_LINK_RELOCATABLE | CUVET_LINK_EXACT_RELOCATABLE);
        lc_end(linker);
    }
    *value = lc_number(result.bytes, lc_find_section(result.bytes, ".text._Z3kcaPdi", &i).off + 0xB0 + 4, 2);
    *bank = lc_find_section(result.bytes, ".nv.constant3", &i).size;
    lc_end(linker);
}

START_TEST(bank_size)
{
    uint64_t value, bank;

    for (unsigned partial = 0; partial < 3; partial++) {
        nowhere(".nv.ptx.const0.size", partial, &value, &bank);
        ck_assert_uint_eq(value, bank); /* as the reference */
        nowhere(".nv.ptx.const1.size", partial, &value, &bank);
        ck_assert_uint_eq(value, 0xFFFF);
    }
}
END_TEST

Suite *suite_linker_hostile(void)
{
    Suite *suite = suite_create("linker hostile");
    TCase *tcase = tcase_create("objects");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, aliases);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, places);
    tcase_add_test(tcase, bank_size);
    tcase_add_test(tcase, commons);
    tcase_add_test(tcase, nameless);
    tcase_add_test(tcase, extents);
    tcase_add_test(tcase, alignments);
    tcase_add_test(tcase, frames);
    tcase_add_test(tcase, shared_variables);
    tcase_add_test(tcase, spaces);
    tcase_add_test(tcase, references);
    tcase_add_test(tcase, local_and_global);
    tcase_add_test(tcase, debug_shared);
    suite_add_tcase(suite, tcase);
    return suite;
}

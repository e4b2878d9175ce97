/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Common variables: what becomes of several of one name, and of one beside a definition. */
#include "link_fixture.h"

#define CASES "sm_80"

/* Offset of a symbol that is no section symbol. */
static size_t symbol(const lc_object *object, const char *name)
{
    unsigned i;
    lc_section table = lc_find_section(object->bytes, ".symtab", &i);
    lc_section strings = lc_section_of(object->bytes, table.link);

    for (size_t at = table.off + 24; at < table.off + table.size; at += 24) {
        const char *text = (const char *)object->bytes + strings.off + lc_number(object->bytes, at, 4);

        if ((object->bytes[at + 4] & 15) != 3 && strcmp(text, name) == 0)
            return at;
    }
    ck_abort_msg("no symbol %s", name);
}

enum { NAME = 0, INFO = 4, OTHER = 5, VALUE = 8, SIZE = 16 };

/* A link of these objects. *out: the variable "comv" of the result, which then has to be there. */
static cuvet_status link_list(const lc_object *const *list, unsigned count, bool relocatable, lc_object *out,
                              size_t *at)
{
    cuvet_linker_options options = lc_options(CASES);
    cuvet_linker linker;
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_status status;

    options.flags |= relocatable ? CUVET_LINK_RELOCATABLE : 0;
    linker = lc_linker(&options);
    lc_forget();
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, list[i]->bytes, list[i]->size, "object"), CUVET_OK);
    status = cuvet_linker_complete(lc_ctx, linker);
    if (status == CUVET_OK) {
        ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
        ck_assert_uint_le(result.n, sizeof(out->bytes));
        memcpy(out->bytes, result.bytes, result.n);
        out->size = result.n;
        *at = symbol(out, "comv");
    }
    lc_end(linker);
    return status;
}

/* A common variable of 'user', the same in 'second', and its definition with 4 bytes at an alignment of 4. */
static lc_object user, second, definition, joined;

static void make_commons(uint64_t size, uint64_t align, uint64_t other_size, uint64_t other_align)
{
    const lc_case *pair = lc_find("weak_common_ptx", CASES);
    size_t common, variable;
    uint64_t name;

    lc_load(&user, pair->input[0]);
    lc_load(&second, pair->input[1]);
    definition = second;
    common = symbol(&user, "comv");
    lc_put(&user, common + SIZE, 8, size);
    lc_put(&user, common + VALUE, 8, align);
    common = symbol(&second, "comv");
    lc_put(&second, common + SIZE, 8, other_size);
    lc_put(&second, common + VALUE, 8, other_align);
    /* what it defines is defined by the third object, too */
    lc_put(&second, symbol(&second, "wkv") + INFO, 1, 0x2D);
    lc_put(&second, symbol(&second, "wkf") + INFO, 1, 0x22);
    /* the names of its two variables change places */
    variable = symbol(&definition, "wkv");
    name = lc_number(definition.bytes, common + NAME, 4);
    lc_put(&definition, common + NAME, 4, lc_number(definition.bytes, variable + NAME, 4));
    lc_put(&definition, variable + NAME, 4, name);
    lc_put(&definition, common + SIZE, 8, 4);
    lc_put(&definition, common + VALUE, 8, 4);
}

/* Whichever comes first: no common variable is larger or more aligned than the definition, and all of them
 * fit into what comes of them where there is none. */
START_TEST(commons)
{
    static const struct {
        uint64_t size, align, other_size, other_align;
        const char *rule;
    } ROWS[] = {
        { 4, 4, 4, 4, NULL },          { 2, 2, 4, 4, NULL },          { 4, 1, 1, 4, NULL },
        { 4, 4, 5, 4, "CV-LINK-002" }, { 5, 4, 4, 4, "CV-LINK-002" }, { 2, 4, 64, 4, "CV-LINK-002" },
        { 4, 4, 4, 8, "CV-LINK-087" }, { 4, 8, 4, 4, "CV-LINK-087" },
    };
    static const lc_object *const ORDERS[][3] = {
        { &user, &second, &definition }, { &user, &definition, &second }, { &second, &user, &definition },
        { &second, &definition, &user }, { &definition, &user, &second }, { &definition, &second, &user },
    };
    const lc_object *const both[2][2] = { { &user, &second }, { &second, &user } };
    const lc_object *const alone[1] = { &joined };

    for (unsigned k = 0; k < N(ROWS); k++) {
        uint64_t most = ROWS[k].size > ROWS[k].other_size ? ROWS[k].size : ROWS[k].other_size;
        uint64_t align = ROWS[k].align > ROWS[k].other_align ? ROWS[k].align : ROWS[k].other_align;
        lc_object out;
        size_t at;

        make_commons(ROWS[k].size, ROWS[k].align, ROWS[k].other_size, ROWS[k].other_align);
        for (unsigned i = 0; i < 2 * N(ORDERS); i++) {
            cuvet_status status = link_list(ORDERS[i / 2], 3, i % 2, &out, &at);

            ck_assert_msg((status == CUVET_OK) == (ROWS[k].rule == NULL), "row %u order %u: %d", k, i,
                          status);
            ck_assert(!ROWS[k].rule || lc_said(ROWS[k].rule));
            ck_assert_uint_eq(status == CUVET_OK ? lc_number(out.bytes, at + SIZE, 8) : 4, 4);
        }
        for (unsigned i = 0; i < 2; i++) {
            ck_assert_int_eq(link_list(both[i], 2, true, &joined, &at), CUVET_OK);
            ck_assert_uint_eq(lc_number(joined.bytes, at + SIZE, 8), most);
            ck_assert_uint_eq(lc_number(joined.bytes, at + VALUE, 8), align);
            ck_assert_int_eq(link_list(both[i], 2, false, &out, &at), CUVET_OK);
            ck_assert_uint_eq(lc_number(out.bytes, at + SIZE, 8), most);
            ck_assert_uint_eq(lc_number(out.bytes, at + VALUE, 8) % align, 0);
            ck_assert_int_eq(link_list(alone, 1, false, &out, &at), CUVET_OK);
            ck_assert_uint_eq(lc_number(out.bytes, at + SIZE, 8), most);
        }
    }
}
END_TEST

/* Zero memory that only common variables asked for is none where a definition won. */
START_TEST(commons_that_lost)
{
    const lc_object *const list[] = { &user, &definition };
    lc_object out;
    size_t at;

    make_commons(4, 4, 4, 4);
    ck_assert_int_eq(link_list(list, 2, false, &out, &at), CUVET_OK);
    for (unsigned i = 0; i < lc_sections(out.bytes); i++)
        ck_assert_str_ne(lc_section_of(out.bytes, i).name, ".nv.global");
}
END_TEST

/* The host moves managed variables, and knows them by their mark in the executable. */
START_TEST(managed)
{
    const lc_object *const list[] = { &user, &second };
    lc_object out;
    size_t at;

    for (unsigned mark = 0; mark <= 4; mark += 4) {
        make_commons(4, 4, 4, 4);
        lc_put(&user, symbol(&user, "comv") + OTHER, 1, 0x20 + mark);
        lc_put(&second, symbol(&second, "comv") + OTHER, 1, 0x20 + mark);
        for (unsigned relocatable = 0; relocatable < 2; relocatable++) {
            ck_assert_int_eq(link_list(list, 2, relocatable, &out, &at), CUVET_OK);
            ck_assert_uint_eq(lc_number(out.bytes, at + OTHER, 1), relocatable ? 0x20 + mark : mark);
        }
    }
}
END_TEST

Suite *suite_linker_commons(void)
{
    Suite *suite = suite_create("linker commons");
    TCase *tcase = tcase_create("commons");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, commons);
    tcase_add_test(tcase, commons_that_lost);
    tcase_add_test(tcase, managed);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Relocatable links: what their exact form gives up. */
#include "link_fixture.h"

/* CV-LINK-110: the exact form gives textures up, the other one keeps their relocations. */
START_TEST(textures_given_up)
{
    static lc_object object;

    for (unsigned exact = 0; exact < 2; exact++) {
        const lc_case *lcase = lc_find("samplers", "sm_90");
        cuvet_linker_options options = lc_options("sm_90");
        cuvet_linker linker;

        options.flags = CUVET_LINK_RELOCATABLE | (exact ? CUVET_LINK_EXACT_RELOCATABLE : 0);
        linker = lc_linker(&options);
        lc_forget();
        for (unsigned i = 0; i < lcase->count; i++) {
            lc_load(&object, lcase->input[i]);
            ck_assert_int_eq(cuvet_linker_add(lc_ctx, linker, object.bytes, object.size, "object"), CUVET_OK);
        }
        ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
        ck_assert_int_eq(lc_said("CV-LINK-110"), exact);
        lc_end(linker);
    }
}
END_TEST

Suite *suite_linker_partial(void)
{
    Suite *suite = suite_create("linker partial");
    TCase *tcase = tcase_create("partial");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, textures_given_up);
    suite_add_tcase(suite, tcase);
    return suite;
}

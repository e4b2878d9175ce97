/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The short way gives what the long one does: the same findings, the same bytes, and why there are none. */
#include "link_fixture.h"

#include <unistd.h>

#include "support/scratch.h"

static const char BAD[] = "corpus/hostile/CV-FATBIN-014.fatbin", GOOD[] = "corpus/samples/multi.fatbin";
static const char *const TWO[] = { "corpus/samples/host-two_a.o", "corpus/samples/host-two_b.o" };

START_TEST(findings)
{
    cuvet_finding finding = { .size = sizeof(finding) };
    cuvet_summary sum = { .size = sizeof(sum) };
    cuvet_findings list = { 1 };

    ck_assert_int_eq(cuvet_scan_file(lc_ctx, BAD, NULL, &list), CUVET_OK);
    ck_assert(lc_said("CV-FATBIN-014"));
    ck_assert_int_eq(cuvet_findings_get(lc_ctx, list, 0, &finding), CUVET_OK);
    ck_assert_str_eq(finding.rule, "CV-FATBIN-014");
    ck_assert_str_eq(finding.severity, "error");
    ck_assert_str_eq(finding.place, "fatbin[0]/entry[0] at 0x18");
    ck_assert_str_eq(finding.text,
                     "Payload passes the end of the container: payload size 18446744073709551552, "
                     "2984 bytes left");
    ck_assert(finding.diag->size == sizeof(*finding.diag) && finding.diag->file_off == 0x18);
    ck_assert_int_eq(cuvet_findings_get(lc_ctx, list, lc_n_said(), &finding), CUVET_END);
    ck_assert(finding.size == sizeof(finding) && !finding.rule && !finding.diag);
    ck_assert_int_eq(cuvet_findings_summary(lc_ctx, list, &sum), CUVET_OK);
    ck_assert(sum.verdict == CUVET_V_MALFORMED && sum.errors == 1 && sum.containers == 1);
    finding.size = 3;
    ck_assert_int_eq(cuvet_findings_get(lc_ctx, list, 0, &finding), CUVET_E_USAGE);
    sum.size = 0;
    ck_assert_int_eq(cuvet_findings_summary(lc_ctx, list, &sum), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_findings_destroy(lc_ctx, &list), CUVET_OK);
    ck_assert_uint_eq(list.bits, 0);
    finding.size = sizeof(finding);
    ck_assert_int_eq(cuvet_findings_get(lc_ctx, list, 0, &finding), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_findings_destroy(lc_ctx, &list), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_scan_file(lc_ctx, GOOD, NULL, &list), CUVET_OK);
    ck_assert_int_eq(cuvet_findings_get(lc_ctx, list, 0, &finding), CUVET_END);
    ck_assert_int_eq(cuvet_scan_memory(lc_ctx, "text", 4, NULL, &list), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_memory(lc_ctx, NULL, 4, NULL, &list), CUVET_E_NULL);
    ck_assert_uint_eq(list.bits, 0);
}
END_TEST

START_TEST(not_there)
{
    cuvet_scan_options opt = { .size = sizeof(opt), .target = { 77, 0 } };
    cuvet_findings list = { 1 };

    ck_assert_int_eq(cuvet_scan_file(lc_ctx, "corpus/samples/none", NULL, &list), CUVET_E_IO);
    ck_assert_uint_eq(list.bits, 0);
    ck_assert_uint_eq(lc_diag("CV-IO-004")->got, 2); /* ENOENT */
    lc_forget();
    ck_assert_int_eq(cuvet_scan_file(lc_ctx, "/dev/null", NULL, &list), CUVET_E_IO);
    ck_assert_uint_eq(lc_diag("CV-IO-004")->got, 0);
    ck_assert_int_eq(cuvet_scan_file(lc_ctx, GOOD, &opt, &list), CUVET_E_ARCH);
    ck_assert_int_eq(cuvet_scan_file(lc_ctx, NULL, NULL, &list), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_scan_file(NULL, GOOD, NULL, &list), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_scan_file(lc_ctx, GOOD, NULL, NULL), CUVET_E_NULL);
}
END_TEST

START_TEST(links)
{
    const cuvet_linker_options lo = lc_options("sm_75");
    cuvet_link_result result = { .size = sizeof(result) };
    cuvet_image_info info = { .size = sizeof(info) };
    cuvet_image image = { 0 }, again;
    char dir[SCRATCH_MAX], path[SCRATCH_MAX + 32];
    cuvet_linker linker = lc_linker(&lo);
    cuvet_source src = { .size = sizeof(src) };

    for (unsigned i = 0; i < N(TWO); i++) {
        ck_assert_int_eq(cuvet_source_path(TWO[i], &src), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_add_file(lc_ctx, linker, &src, TWO[i], NULL), CUVET_OK);
        cuvet_source_destroy(&src);
    }
    ck_assert_int_eq(cuvet_linker_complete(lc_ctx, linker), CUVET_OK);
    ck_assert_int_eq(cuvet_linker_get_result(lc_ctx, linker, &result), CUVET_OK);
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", TWO, N(TWO), &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, image, &info), CUVET_OK);
    ck_assert_uint_eq(info.n, result.n);
    ck_assert_mem_eq(info.bytes, result.bytes, result.n);
    ck_assert(info.kind == CUVET_K_CUBIN && info.target.sm == 75 && info.target.suffix == 0);
    ck_assert_int_eq(cuvet_linker_get_image(lc_ctx, linker, &again), CUVET_OK);
    lc_end(linker); /* the image stays */
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, again, &info), CUVET_OK);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &again), CUVET_OK);

    scratch_make(dir);
    ck_assert_uint_lt((size_t)snprintf(path, sizeof(path), "%s/linked.cubin", dir), sizeof(path));
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, path, 0), CUVET_OK);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, path, 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, path, CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, path, 64), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, "none/linked.cubin", 0), CUVET_E_IO);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, dir[0] == '/' ? "/" : ".", 0),
                     CUVET_E_USAGE); /* no name */
    ck_assert_int_eq(cuvet_image_save(NULL, image, path, 0), CUVET_E_NULL);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(dir), 0);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_save(lc_ctx, image, path, 0), CUVET_E_HANDLE);
}
END_TEST

START_TEST(no_link)
{
    static const char *const SOME[] = { "corpus/samples/host-two_a.o", "corpus/samples/none.o", NULL };
    static const char *const REFUSED[] = { "corpus/hostile/CV-FATBIN-014.fatbin",
                                           "corpus/samples/host-two_a.o" };
    cuvet_image image = { 1 };

    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", SOME, 2, &image), CUVET_E_IO);
    ck_assert(lc_said("CV-IO-004") && image.bits == 0);
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", SOME + 2, 1, &image), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_77", TWO, 2, &image), CUVET_E_ARCH);
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, NULL, TWO, 2, &image), CUVET_E_ARCH);
    lc_forget();
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", REFUSED, 2, &image), CUVET_E_REFUSED);
    ck_assert_uint_eq(image.bits, 0);
    ck_assert_str_ne(cuvet_ctx_last_text(lc_ctx), "");
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", NULL, 0, &image), CUVET_E_REFUSED);
    ck_assert(lc_said("CV-LINK-014"));
    ck_assert_int_eq(cuvet_link_files(lc_ctx, NULL, "sm_75", TWO, 2, NULL), CUVET_E_NULL);
}
END_TEST

/* A member that fits, then the same for another target: from files, from memory, and not at all. */
START_TEST(selects_and_finalizes)
{
    static const char FATBIN[] = "corpus/samples/multi.fatbin",
                      CUBIN[] = "corpus/samples/plain.sm_100.rdc.cubin";
    cuvet_select_options so = { .size = sizeof(so), .request = CUVET_REQUEST_LTOIR };
    cuvet_finalize_options fo = { .size = sizeof(fo), .kind = CUVET_FORM_SAME };
    cuvet_image_info info = { .size = sizeof(info) }, second = { .size = sizeof(second) };
    cuvet_image image = { 1 }, other = { 1 };

    ck_assert_int_eq(cuvet_select_file(lc_ctx, NULL, "sm_75", TWO[0], &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, image, &info), CUVET_OK);
    ck_assert(info.kind == CUVET_K_CUBIN && info.target.sm == 75 && memcmp(info.bytes, "\177ELF", 4) == 0);
    ck_assert_int_eq(cuvet_select_file(lc_ctx, &so, "sm_121", FATBIN, &image), CUVET_E_NO_MATCH);
    ck_assert_uint_eq(image.bits, 0);
    ck_assert_int_eq(cuvet_select_file(lc_ctx, NULL, "sm_77", FATBIN, &image), CUVET_E_ARCH);
    ck_assert_int_eq(cuvet_select_file(lc_ctx, NULL, "sm_90", "corpus/samples/none", &image), CUVET_E_IO);
    ck_assert_str_ne(cuvet_ctx_last_text(lc_ctx), "");
    ck_assert_int_eq(cuvet_select_file(lc_ctx, NULL, "sm_90", NULL, &image), CUVET_E_NULL);

    ck_assert_int_eq(cuvet_select_file(lc_ctx, NULL, "sm_100", CUBIN, &other), CUVET_OK);
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, other, &second), CUVET_OK);
    ck_assert_int_eq(cuvet_finalize_memory(lc_ctx, &fo, "sm_103", second.bytes, second.n, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, image, &info), CUVET_OK);
    ck_assert(info.kind == CUVET_K_MERCURY && info.target.sm == 103 && info.n == second.n);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &other), CUVET_OK);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, &fo, "sm_103", CUBIN, &other), CUVET_OK);
    ck_assert_int_eq(cuvet_image_get_info(lc_ctx, other, &second), CUVET_OK);
    ck_assert_uint_eq(info.n, second.n);
    ck_assert_mem_eq(info.bytes, second.bytes, info.n);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, NULL, "sm_110", CUBIN, &image), CUVET_E_REFUSED);
    ck_assert_uint_eq(image.bits, 0);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, NULL, "sm_110", "corpus/samples/none", &image), CUVET_E_IO);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, NULL, "sm_77", CUBIN, &image), CUVET_E_ARCH);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, NULL, NULL, "/dev/null", &image), CUVET_E_IO);
    ck_assert_int_eq(cuvet_finalize_memory(lc_ctx, NULL, NULL, NULL, 4, &image), CUVET_E_NULL);
}
END_TEST

/* Options say what is wanted, and the target; what they cannot say is said of them. */
START_TEST(options)
{
    cuvet_linker_options lo = lc_options("sm_75");
    cuvet_select_options so = { .size = sizeof(so), .target = { 75, 0 } };
    cuvet_finalize_options fo = { .size = sizeof(fo), .target = { 103, 0 } };
    static const char CUBIN[] = "corpus/samples/plain.sm_100.rdc.cubin";
    cuvet_image image = { 1 };

    ck_assert_int_eq(cuvet_link_files(lc_ctx, &lo, NULL, TWO, 2, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_select_file(lc_ctx, &so, NULL, TWO[0], &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, &fo, NULL, CUBIN, &image), CUVET_OK);
    ck_assert_int_eq(cuvet_image_destroy(lc_ctx, &image), CUVET_OK);
    lo.size = so.size = fo.size = 12;
    image.bits = 1;
    ck_assert_int_eq(cuvet_link_files(lc_ctx, &lo, "sm_75", TWO, 2, &image), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_select_file(lc_ctx, &so, "sm_75", TWO[0], &image), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_finalize_file(lc_ctx, &fo, "sm_103", CUBIN, &image), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_finalize_memory(lc_ctx, &fo, "sm_103", "bytes", 5, &image), CUVET_E_USAGE);
    ck_assert_uint_eq(image.bits, 0);
    ck_assert_int_ne(cuvet_finalize_memory(lc_ctx, NULL, "sm_103", "bytes", 5, &image), CUVET_OK);
    ck_assert_uint_eq(image.bits, 0);
}
END_TEST

Suite *suite_api_simple(void);
Suite *suite_api_simple(void)
{
    Suite *suite = suite_create("api/simple");
    TCase *tcase = tcase_create("simple");

    tcase_add_checked_fixture(tcase, lc_setup, lc_teardown);
    tcase_add_test(tcase, findings);
    tcase_add_test(tcase, not_there);
    tcase_add_test(tcase, links);
    tcase_add_test(tcase, no_link);
    tcase_add_test(tcase, selects_and_finalizes);
    tcase_add_test(tcase, options);
    suite_add_tcase(suite, tcase);
    return suite;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <cuvet/compiler.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "support/heap.h"
#include "support/scratch.h"

/* The compiler of the tests, which lies beside this program. */
static char *fake(char *path)
{
    ssize_t got = readlink("/proc/self/exe", path, PATH_MAX - 32);

    ck_assert_int_gt(got, 0);
    path[got] = 0;
    strcpy(strrchr(path, '/'), "/fake_compiler");
    return path;
}

START_TEST(external)
{
    static const int never = 0;
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);
    char path[PATH_MAX], dir[SCRATCH_MAX];
    cuvet_external ext = { .size = sizeof(ext), .path = fake(path), .directory = dir };
    const cuvet_compile_request request = { .size = sizeof(request),
                                            .kind = CUVET_K_PTX,
                                            .bytes = "text",
                                            .n = 4,
                                            .sm = 90,
                                            .threads = 1,
                                            .cancel = &never };
    cuvet_compile_result result = { .size = sizeof(result) };
    cuvet_compiler compiler = { .size = sizeof(compiler) };

    scratch_make(dir);
    ck_assert_int_eq(cuvet_compiler_external(&ext, &alloc, &compiler), CUVET_OK);
    ext.size = 0; /* copied */
    ck_assert_uint_eq(compiler.size, sizeof(compiler));
    ck_assert_int_gt(heap.live, 0);
    ck_assert_int_eq(compiler.compile(compiler.user, &request, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_gt(result.n, 4);
    result.release(&result, compiler.user);
    cuvet_compiler_destroy(&compiler);
    ck_assert_ptr_null(compiler.user);
    ck_assert_int_eq(heap.live, 0);
    cuvet_compiler_destroy(&compiler); /* a zeroed one */
    cuvet_compiler_destroy(NULL);
    heap_fail(&heap, 1, true);
    ext.size = sizeof(ext);
    ck_assert_int_eq(cuvet_compiler_external(&ext, &alloc, &compiler), CUVET_E_NOMEM);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &compiler), CUVET_OK);
    cuvet_compiler_destroy(&compiler);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing was left in it */
}
END_TEST

START_TEST(arguments)
{
    cuvet_external ext = { .size = sizeof(ext), .path = "ptxas" };
    cuvet_compiler compiler = { .size = sizeof(compiler) };

    ck_assert_int_eq(cuvet_compiler_external(NULL, NULL, &compiler), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &compiler),
                     CUVET_E_USAGE); /* no place: PATH is not asked */
    ck_assert(compiler.size == sizeof(compiler) && !compiler.compile && !compiler.user);
    compiler.size = 7;
    ext.path = "/ptxas";
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &compiler), CUVET_E_USAGE);
    ck_assert_uint_eq(compiler.size, 7);
}
END_TEST

static cuvet_status own(void *user, const cuvet_compile_request *req, cuvet_compile_result *out)
{
    (void)user, (void)req, (void)out;
    return CUVET_E_INTERNAL;
}

/* One of the caller's own is forgotten, not freed. */
START_TEST(release_of_another)
{
    int mine = 5;
    cuvet_compiler compiler = { sizeof(compiler), own, &mine };

    cuvet_compiler_destroy(&compiler);
    ck_assert_int_eq(mine, 5);
    ck_assert(!compiler.compile && !compiler.user);
}
END_TEST

START_TEST(names)
{
    ck_assert_str_eq(cuvet_compile_end_name(CUVET_COMPILED), "compiled");
    ck_assert_str_eq(cuvet_compile_end_name(CUVET_COMPILE_NOT_FOUND), "not found");
    ck_assert_str_eq(cuvet_compile_end_name(CUVET_COMPILE_UNSUPPORTED), "unsupported");
    ck_assert_str_eq(cuvet_compile_end_name((cuvet_compile_end)9), "?");
    ck_assert_str_eq(cuvet_compile_end_name((cuvet_compile_end)-1), "?");
}
END_TEST

Suite *suite_compiler(void);
Suite *suite_compiler(void)
{
    Suite *suite = suite_create("compiler");
    TCase *tcase = tcase_create("compiler");

    tcase_add_test(tcase, external);
    tcase_add_test(tcase, arguments);
    tcase_add_test(tcase, release_of_another);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    return suite;
}

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
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);

    ck_assert_int_gt(n, 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), "/fake_compiler");
    return path;
}

START_TEST(external)
{
    static const bool never = false;
    heap h = { 0 };
    const cuvet_alloc alloc = heap_alloc(&h);
    char path[PATH_MAX], dir[SCRATCH_MAX];
    cuvet_external ext = { .size = sizeof(ext), .path = fake(path), .directory = dir };
    const cuvet_compile_request q = { .size = sizeof(q),
                                      .kind = CUVET_K_PTX,
                                      .bytes = "text",
                                      .n = 4,
                                      .sm = 90,
                                      .threads = 1,
                                      .cancel = &never };
    cuvet_compile_result r = { .size = sizeof(r) };
    cuvet_compiler c = { .size = sizeof(c) };

    scratch_make(dir);
    ck_assert_int_eq(cuvet_compiler_external(&ext, &alloc, &c), CUVET_OK);
    ext.size = 0; /* copied */
    ck_assert_uint_eq(c.size, sizeof(c));
    ck_assert_int_gt(h.live, 0);
    ck_assert_int_eq(c.compile(c.user, &q, &r), CUVET_OK);
    ck_assert_int_eq(r.end, CUVET_COMPILED);
    ck_assert_uint_gt(r.n, 4);
    r.release(&r, c.user);
    cuvet_compiler_destroy(&c);
    ck_assert_ptr_null(c.user);
    ck_assert_int_eq(h.live, 0);
    cuvet_compiler_destroy(&c); /* a zeroed one */
    cuvet_compiler_destroy(NULL);
    heap_fail(&h, 1, true);
    ext.size = sizeof(ext);
    ck_assert_int_eq(cuvet_compiler_external(&ext, &alloc, &c), CUVET_E_NOMEM);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &c), CUVET_OK);
    cuvet_compiler_destroy(&c);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing was left in it */
}
END_TEST

START_TEST(arguments)
{
    cuvet_external ext = { .size = sizeof(ext), .path = "ptxas" };
    cuvet_compiler c = { .size = sizeof(c) };

    ck_assert_int_eq(cuvet_compiler_external(NULL, NULL, &c), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &c),
                     CUVET_E_USAGE); /* no place: PATH is not asked */
    ck_assert(c.size == sizeof(c) && !c.compile && !c.user);
    c.size = 7;
    ext.path = "/ptxas";
    ck_assert_int_eq(cuvet_compiler_external(&ext, NULL, &c), CUVET_E_USAGE);
    ck_assert_uint_eq(c.size, 7);
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
    cuvet_compiler c = { sizeof(c), own, &mine };

    cuvet_compiler_destroy(&c);
    ck_assert_int_eq(mine, 5);
    ck_assert(!c.compile && !c.user);
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
    Suite *s = suite_create("compiler");
    TCase *t = tcase_create("compiler");

    tcase_add_test(t, external);
    tcase_add_test(t, arguments);
    tcase_add_test(t, release_of_another);
    tcase_add_test(t, names);
    suite_add_tcase(s, t);
    return s;
}

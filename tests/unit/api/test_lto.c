/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <cuvet/lto.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "support/heap.h"
#include "support/scratch.h"

static const cuvet_lto_input FIRST = { sizeof(FIRST), CUVET_K_LTOIR, "IR of the first", 15, "one" };
static const cuvet_lto_input SECOND = { sizeof(SECOND), CUVET_K_CUBIN, "code", 4, NULL };
static const cuvet_lto_input *const INPUTS[] = { &FIRST, &SECOND };
static char program[PATH_MAX], library[PATH_MAX], dir[SCRATCH_MAX];

/* What lies beside this program, or beside the libraries for others. */
static char *beside(char *path, const char *name)
{
    ssize_t got = readlink("/proc/self/exe", path, PATH_MAX - 64);

    ck_assert_int_gt(got, 0);
    path[got] = 0;
    strcpy(strrchr(path, '/'), name);
    return path;
}

static cuvet_external external(void)
{
    scratch_make(dir);
    beside(library, "/libfake_nvjitlink.so");
    return (cuvet_external){ .size = sizeof(cuvet_external),
                             .path = beside(program, "/../compat/cuvet-lto"),
                             .directory = dir };
}

static cuvet_lto_request request(const char *const *options, size_t len)
{
    return (cuvet_lto_request){
        .size = sizeof(cuvet_lto_request), .input = INPUTS, .n_inputs = 2, .option = options, .n_options = len
    };
}

START_TEST(a_link)
{
    static const char *const OPTIONS[] = { "-arch=sm_90", "-lto" };
    static const char SAID[] = "-arch=sm_90\n-lto\n3 15 one\n1 4 input\n";
    cuvet_compile_result result = { .size = sizeof(result) };
    cuvet_lto_request req = request(OPTIONS, 2);
    cuvet_external ext = external();
    heap_state heap = { 0 };
    const cuvet_alloc alloc = heap_alloc(&heap);

    ck_assert_int_eq(cuvet_lto_run(&ext, library, &alloc, &req, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_eq(result.n, 4);
    ck_assert_mem_eq(result.bytes, "code", 4);
    ck_assert_uint_eq(result.n_log, strlen(SAID));
    ck_assert_mem_eq(result.log, SAID, strlen(SAID));
    cuvet_lto_end(&alloc, &result);
    ck_assert(result.size == sizeof(result) && !result.bytes && !result.log);
    cuvet_lto_end(&alloc, &result);
    cuvet_lto_end(NULL, NULL);
    req.flags = CUVET_LTO_PTX;
    ck_assert_int_eq(cuvet_lto_run(&ext, library, &alloc, &req, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_mem_eq(result.bytes, ".version", 8);
    cuvet_lto_end(&alloc, &result);
    ck_assert_int_eq(heap.live, 0);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing was left in it */
}
END_TEST

/* Each request for memory fails once. */
START_TEST(no_memory)
{
    static const char *const OPTIONS[] = { "-arch=sm_90", "-lto" };
    cuvet_compile_result result = { .size = sizeof(result) };
    cuvet_lto_request req = request(OPTIONS, 2);
    cuvet_external ext = external();
    cuvet_status status = CUVET_E_NOMEM;
    int failed = 0;

    for (int i = 1; status != CUVET_OK && i < 100; i++) {
        heap_state heap = { 0 };
        const cuvet_alloc alloc = heap_alloc(&heap);

        heap_fail(&heap, i, true);
        status = cuvet_lto_run(&ext, library, &alloc, &req, &result);
        ck_assert(status == CUVET_OK || status == CUVET_E_NOMEM);
        failed += status == CUVET_E_NOMEM;
        cuvet_lto_end(&alloc, &result);
        ck_assert_int_eq(heap.live, 0);
    }
    ck_assert_int_eq(status, CUVET_OK);
    ck_assert_int_gt(failed, 3);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(other_ends)
{
    static const struct {
        const char *thing;
        cuvet_compile_end end;
        int64_t detail;
    } CASES[] = {
        { "-Xnvvm=hang", CUVET_COMPILE_TIMEOUT, 1000 },
        { "-Xnvvm=crash", CUVET_COMPILE_CRASHED, 11 },
        { "-Xnvvm=nothing", CUVET_COMPILE_EMPTY, 0 },
        { "-Xnvvm=no-complete", CUVET_COMPILE_FAILED, CUVET_LTO_EXIT_REFUSED + 5 },
        { "-Xnvvm=no-create", CUVET_COMPILE_FAILED, CUVET_LTO_EXIT_REFUSED + 3 },
        { "-Xnvvm=huge", CUVET_COMPILE_FAILED, CUVET_LTO_EXIT_FILE },
    };
    cuvet_external ext = external();

    ext.deadline_ms = 1000;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        cuvet_compile_result result = { .size = sizeof(result) };
        cuvet_lto_request req = request(&CASES[i].thing, 1);

        ck_assert_int_eq(cuvet_lto_run(&ext, library, NULL, &req, &result), CUVET_OK);
        ck_assert_msg(result.end == CASES[i].end && result.detail == CASES[i].detail, "%s: %s, %lld",
                      CASES[i].thing, cuvet_compile_end_name(result.end), (long long)result.detail);
        ck_assert(!result.bytes && result.n == 0);
        cuvet_lto_end(NULL, &result);
    }
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(cancelled)
{
    static const char *const OPTIONS[] = { "-Xnvvm=hang" };
    cuvet_compile_result result = { .size = sizeof(result) };
    cuvet_lto_request req = request(OPTIONS, 1);
    cuvet_external ext = external();
    const int now = 1;

    req.cancel = &now;
    ck_assert_int_eq(cuvet_lto_run(&ext, library, NULL, &req, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILE_CANCELLED);
    cuvet_lto_end(NULL, &result);
    ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* Inputs that the library has no number for, or too many of them: nothing is started. */
START_TEST(unsupported)
{
    static const cuvet_lto_input *many[4097];
    const cuvet_lto_input kind = { sizeof(kind), CUVET_K_NVVM, "IR", 2, "a" };
    const cuvet_lto_input empty = { sizeof(empty), CUVET_K_LTOIR, "IR", 0, "a" };
    const cuvet_lto_input absent = { sizeof(absent), CUVET_K_LTOIR, NULL, 2, "a" };
    const cuvet_lto_input *const bad[] = { &kind, &empty, &absent };
    cuvet_external ext = { .size = sizeof(ext), .path = "/nonexistent" };

    for (size_t i = 0; i < 4097; i++)
        many[i] = &FIRST;
    for (size_t i = 0; i < 5; i++) {
        cuvet_compile_result result = { .size = sizeof(result) };
        cuvet_lto_request req = request(NULL, 0);

        req.input = i < 3 ? &bad[i] : many;
        req.n_inputs = i < 3 ? 1 : i == 3 ? 0 : 4097;
        ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_OK);
        ck_assert_int_eq(result.end, CUVET_COMPILE_UNSUPPORTED);
        cuvet_lto_end(NULL, &result);
    }
}
END_TEST

START_TEST(arguments)
{
    static const char *const EMPTY[] = { "" }, *const NOTHING[] = { NULL };
    const cuvet_lto_input cut = { 7, CUVET_K_LTOIR, "IR", 2, NULL };
    const cuvet_lto_input *const missing[] = { &FIRST, NULL }, *const wrong[] = { &FIRST, &cut };
    cuvet_external ext = external();
    cuvet_compile_result result = { .size = sizeof(result) };
    cuvet_lto_request req = request(NULL, 0);

    ext.path = "/nonexistent";
    ck_assert_int_eq(cuvet_lto_run(NULL, "/library", NULL, &req, &result), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_lto_run(&ext, NULL, NULL, &req, &result), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, NULL, &result), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, NULL), CUVET_E_NULL);
    req.input = missing;
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_NULL);
    req.input = wrong;
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    req.input = NULL;
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_NULL);
    req = request(NULL, 1);
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    req = request(EMPTY, 1);
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    req = request(NOTHING, 1);
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    req = request(NULL, 0);
    ck_assert_int_eq(cuvet_lto_run(&ext, "library", NULL, &req, &result), CUVET_E_USAGE);
    req.flags = 2;
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    req.flags = 0;
    ext.path = "program";
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    ext.path = "/nonexistent";
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_OK);
    ck_assert_int_eq(result.end, CUVET_COMPILE_NOT_FOUND);
    cuvet_lto_end(NULL, &result);
    result.size = 7;
    ck_assert_int_eq(cuvet_lto_run(&ext, "/library", NULL, &req, &result), CUVET_E_USAGE);
    ck_assert_int_eq(rmdir(dir), 0); /* nothing was left in it */
}
END_TEST

Suite *suite_lto(void);
Suite *suite_lto(void)
{
    Suite *suite = suite_create("lto");
    TCase *tcase = tcase_create("lto");

    tcase_add_test(tcase, a_link);
    tcase_add_test(tcase, no_memory);
    tcase_add_test(tcase, other_ends);
    tcase_add_test(tcase, cancelled);
    tcase_add_test(tcase, unsupported);
    tcase_add_test(tcase, arguments);
    suite_add_tcase(suite, tcase);
    return suite;
}

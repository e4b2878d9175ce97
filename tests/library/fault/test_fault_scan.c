/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fault loops: the scan of each sample with the Nth allocation failing, once alone and once with every later
 * one; the same for reads; and with less and less work and memory. After each: a status that says so, nothing
 * alive, a context that ends. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cuvet/cuvet.h>

#include "support/heap.h"

typedef struct fault_scan_file {
    uint8_t *bytes;
    size_t size;
    unsigned long reads, fail_at;
    uint64_t bad_from, bad_to; /* a place that no read may touch */
} fault_scan_file;

static cuvet_status read_at(void *user, uint64_t off, void *buf, size_t len)
{
    fault_scan_file *file = user;

    if (__atomic_add_fetch(&file->reads, 1, __ATOMIC_RELAXED) == file->fail_at)
        return CUVET_E_IO;
    if (off < file->bad_to && off + len > file->bad_from)
        return CUVET_E_IO;
    memcpy(buf, file->bytes + off, len);
    return CUVET_OK;
}

typedef struct fault_scan_outcome {
    cuvet_status status;
    cuvet_summary sum;
    unsigned long diags;
    uint64_t hash;
    cuvet_status ahead; /* what going ahead came to */
} fault_scan_outcome;

static void count(void *user, const cuvet_diag *diag)
{
    fault_scan_outcome *outcome = user;

    outcome->diags++;
    outcome->hash =
        (outcome->hash ^ diag->rule ^ diag->file_off << 8 ^ diag->inner_off << 20) * UINT64_C(1099511628211);
}

enum { AHEAD = 1000 }; /* instead of a number of jobs, or added to one: the scan goes ahead */

static fault_scan_outcome scan(fault_scan_file *file, const cuvet_alloc *alloc, const cuvet_limits *lim,
                               uint32_t how)
{
    uint32_t jobs = how % AHEAD;
    fault_scan_outcome outcome = { .status = CUVET_OK };
    cuvet_ctx_options opt = {
        .size = sizeof(opt), .alloc = alloc, .limits = lim, .diag = count, .diag_user = &outcome
    };
    cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL, .jobs = jobs };
    cuvet_source src = { sizeof(src), file->size, read_at, file, -1 };
    cuvet_scan scan = { 0 };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *ctx = NULL;

    outcome.status = cuvet_ctx_create(&opt, &ctx);
    if (outcome.status == CUVET_OK)
        outcome.status = cuvet_scan_create(ctx, &src, &so, &scan);
    if (outcome.status == CUVET_OK && how >= AHEAD) {
        unsigned long before = outcome.diags;

        outcome.ahead = cuvet_scan_ahead(ctx, scan);
        ck_assert_uint_eq(outcome.diags, before);
    }
    if (outcome.status == CUVET_OK) {
        do
            outcome.status = cuvet_scan_next(ctx, scan, &item);
        while (outcome.status == CUVET_OK);
        outcome.sum.size = sizeof(outcome.sum);
        ck_assert_int_eq(cuvet_scan_summary(ctx, scan, &outcome.sum), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_destroy(ctx, &scan), CUVET_OK);
        ck_assert_uint_eq(scan.bits, 0);
    }
    cuvet_ctx_destroy(ctx);
    return outcome;
}

static const char *const SAMPLES[] = { "multi.fatbin",
                                       "back-to-back.fatbin",
                                       "long-names.a",
                                       "host-plain.so",
                                       "../legal/offload-nested.o",
                                       "../legal/offload-several.offload",
                                       "host-plain.o",
                                       "lto.fatbin",
                                       "ident.fatbin",
                                       "multi-lz4.fatbin",
                                       "elf-raw.fatbin" };

static void load(const char *name, fault_scan_file *file)
{
    char path[300];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "corpus/samples/%s", name);
    fd = open(path, O_RDONLY);
    ck_assert_msg(fd >= 0, "%s: run from the top of the tree", path);
    ck_assert_int_eq(fstat(fd, &st), 0);
    *file = (fault_scan_file){ .size = (size_t)st.st_size, .bytes = malloc((size_t)st.st_size) };
    ck_assert_int_eq(read(fd, file->bytes, file->size), (ssize_t)file->size);
    close(fd);
}

static void fail_allocations(const char *name, uint32_t how)
{
    fault_scan_file file;

    load(name, &file);
    for (unsigned later = 0; later < 2; later++) {
        unsigned long number = 1;

        for (;; number++) {
            heap_state heap = { 0 };
            const cuvet_alloc alloc = heap_alloc(&heap);
            fault_scan_outcome outcome;

            heap_fail(&heap, number, later != 0);
            outcome = scan(&file, &alloc, NULL, how);
            ck_assert_int_eq(heap.live, 0);
            if (heap.calls < number) {
                ck_assert_int_eq(outcome.status, CUVET_END);
                break;
            }
            ck_assert_msg(outcome.status == CUVET_E_NOMEM, "allocation %lu: status %d", number,
                          outcome.status);
        }
        ck_assert_uint_gt(number, 5);
    }
    free(file.bytes);
}

START_TEST(allocations)
{
    fail_allocations(SAMPLES[_i], 1);
}
END_TEST

START_TEST(allocations_ahead)
{
    fail_allocations(SAMPLES[_i], AHEAD);
}
END_TEST

START_TEST(reads)
{
    fault_scan_file file;

    load(SAMPLES[_i], &file);
    for (file.fail_at = 1;; file.fail_at++) {
        fault_scan_outcome outcome;

        file.reads = 0;
        outcome = scan(&file, NULL, NULL, 1);
        if (file.reads < file.fail_at) {
            ck_assert_int_eq(outcome.status, CUVET_END);
            break;
        }
        /* A unit that cannot be read is a finding; a walk that cannot read ends the scan. Both give the
         * verdict error. */
        ck_assert_int_eq(outcome.sum.verdict, CUVET_V_ERROR);
        ck_assert_uint_gt(outcome.diags, 0);
    }
    ck_assert_uint_gt(file.fail_at, 2); /* a look at the beginning, a window: these files are small */
    free(file.bytes);
}
END_TEST

/* One place of the file is bad for good, whoever reads it and with what around it. */
START_TEST(bad_places)
{
    fault_scan_file file;

    load(SAMPLES[_i], &file);
    for (uint64_t at = 0; at < file.size; at += file.size / 97 + 1) {
        fault_scan_outcome one, more;

        file.bad_from = at;
        file.bad_to = at + 1;
        one = scan(&file, NULL, NULL, 1);
        for (unsigned k = 0; k < 2; k++) {
            more = scan(&file, NULL, NULL, k ? AHEAD + 3 : 3);
            ck_assert_int_eq(one.sum.verdict, CUVET_V_ERROR);
            ck_assert_uint_gt(one.diags, 0);
            ck_assert_int_eq(one.status, more.status);
            ck_assert_uint_eq(one.hash, more.hash);
            ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
        }
    }
    free(file.bytes);
}
END_TEST

/* Less work, less memory: tightening a limit never turns a finding into silence. */
START_TEST(budgets)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    fault_scan_file file;

    load(SAMPLES[_i], &file);
    for (unsigned k = 0; k < 42; k++) {
        heap_state heap = { 0 };
        const cuvet_alloc alloc = heap_alloc(&heap);
        fault_scan_outcome outcome;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = UINT64_C(1) << k % 21;
        outcome = scan(&file, &alloc, &lim, k < 21 ? 1 : AHEAD);
        ck_assert_int_eq(heap.live, 0);
        ck_assert(outcome.status == CUVET_END || outcome.status == CUVET_E_LIMIT ||
                  outcome.status == CUVET_E_NOMEM);
        ck_assert(outcome.status != CUVET_END || outcome.sum.verdict == CUVET_V_CLEAN ||
                  outcome.sum.verdict == CUVET_V_LIMIT);
    }
    free(file.bytes);
}
END_TEST

START_TEST(jobs_do_not_matter)
{
    fault_scan_file file;
    fault_scan_outcome one, more;

    load(SAMPLES[_i], &file);
    one = scan(&file, NULL, NULL, 1);
    for (uint32_t jobs = 2; jobs < 9; jobs += 3) {
        more = scan(&file, NULL, NULL, jobs);
        ck_assert_int_eq(one.status, more.status);
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
        more = scan(&file, NULL, NULL, AHEAD + jobs);
        ck_assert_int_eq(more.ahead, CUVET_END); /* a small file: nothing was left */
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
    }
    free(file.bytes);
}
END_TEST

/* More units than are kept: the rest is examined when it is asked for. Once, at the beginning, without bytes.
 */
START_TEST(goes_ahead)
{
    const size_t copies = 2000;
    fault_scan_file once, file;
    cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { .size = sizeof(src) };
    fault_scan_outcome one, more;
    cuvet_scan handle;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *ctx;
    const void *bytes;
    size_t count;

    load("default.fatbin", &once);
    file = (fault_scan_file){ .size = once.size * copies, .bytes = malloc(once.size * copies) };
    ck_assert_ptr_nonnull(file.bytes);
    for (size_t i = 0; i < copies; i++)
        memcpy(file.bytes + i * once.size, once.bytes, once.size);
    one = scan(&file, NULL, NULL, 1);
    ck_assert_uint_gt(one.sum.members, 1024);
    for (uint32_t jobs = 1; jobs < 4; jobs++) {
        more = scan(&file, NULL, NULL, AHEAD + jobs);
        ck_assert_int_eq(more.ahead, CUVET_OK);
        ck_assert_int_eq(more.status, CUVET_END);
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
    }
    src = (cuvet_source){ sizeof(src), file.size, read_at, &file, -1 };
    ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &so, &handle), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(NULL, handle), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_scan_ahead(ctx, (cuvet_scan){ 0 }), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_scan_ahead(ctx, handle), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(ctx, handle), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_scan_next(ctx, handle, &item), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_payload(ctx, handle, &bytes, &count), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_scan_destroy(ctx, &handle), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(ctx, &src, &so, &handle), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_next(ctx, handle, &item), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(ctx, handle), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_scan_payload(ctx, handle, &bytes, &count), CUVET_OK);
    cuvet_ctx_destroy(ctx);
    free(file.bytes);
    free(once.bytes);
}
END_TEST

/* A file that is another one at each read: what is read twice never agrees. */
typedef struct fault_scan_moving {
    fault_scan_file *file;
    uint32_t seed;
} fault_scan_moving;

static cuvet_status read_moving(void *user, uint64_t off, void *buf, size_t len)
{
    fault_scan_moving *moving = user;
    uint8_t *bytes = buf;
    uint32_t seed = __atomic_add_fetch(&moving->seed, 0x9E3779B9u, __ATOMIC_RELAXED);

    memcpy(buf, moving->file->bytes + off, len);
    for (size_t i = 0; i < 3 && len; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[seed % len] = (uint8_t)(bytes[seed % len] + 1 + (seed >> 24) % 255);
    }
    return CUVET_OK;
}

/* Some verdict, in the end, and never that of a defect of ours. */
START_TEST(changes_with_each_read)
{
    fault_scan_file file;

    load(SAMPLES[_i], &file);
    for (uint32_t seed = 0; seed < 300; seed++) {
        fault_scan_moving moving = { &file, seed * 7919u };
        cuvet_source src = { sizeof(src), file.size, read_moving, &moving, -1 };
        cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL, .jobs = 1 + seed % 3 };
        cuvet_summary sum = { .size = sizeof(sum) };
        cuvet_scan scan = { 0 };
        cuvet_item item = { .size = sizeof(item) };
        cuvet_ctx *ctx = NULL;
        cuvet_status st;

        ck_assert_int_eq(cuvet_ctx_create(NULL, &ctx), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_create(ctx, &src, &so, &scan), CUVET_OK);
        do
            st = cuvet_scan_next(ctx, scan, &item);
        while (st == CUVET_OK);
        ck_assert_msg(st == CUVET_END || st == CUVET_E_IO || st == CUVET_E_LIMIT, "seed %u: %d", seed, st);
        ck_assert_int_eq(cuvet_scan_summary(ctx, scan, &sum), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_destroy(ctx, &scan), CUVET_OK);
        cuvet_ctx_destroy(ctx);
    }
    free(file.bytes);
}
END_TEST

enum { WRITTEN, LONGER, SHORTER, TOUCHED, READ_ONLY };

/* Somebody works on the file while it is scanned, or linked. */
static void work_on(int fd, const fault_scan_file *file, int how)
{
    const struct timespec then[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };

    switch (how) {
    case WRITTEN: /* in place, a letter of what was read already; the clock may not have moved */
        ck_assert_int_eq(pwrite(fd, file->bytes, 1, 0), 1);
        ck_assert_int_eq(futimens(fd, then), 0);
        break;
    case LONGER: ck_assert_int_eq(pwrite(fd, "x", 1, (off_t)file->size), 1); break;
    case SHORTER: ck_assert_int_eq(ftruncate(fd, (off_t)file->size / 2), 0); break;
    case TOUCHED: ck_assert_int_eq(futimens(fd, then), 0); break;
    default: ck_assert_int_eq(fchmod(fd, 0400), 0); break; /* no byte is another one */
    }
}

static int copy_of(const fault_scan_file *file)
{
    int fd = open(getenv("CV_TMP") ? getenv("CV_TMP") : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, file->bytes, file->size), (ssize_t)file->size);
    return fd;
}

static void last_rule(void *user, const cuvet_diag *diag)
{
    uint32_t *rule = user;

    if (diag->severity == CUVET_ERROR)
        *rule = diag->rule;
}

START_TEST(written_to_during_a_scan)
{
    fault_scan_file file;

    load("multi.fatbin", &file);
    for (int after = 0; after < 2;
         after++) { /* while there are units left; when the last one was delivered */
        int fd = copy_of(&file);
        uint32_t rule = 0;
        cuvet_ctx_options opt = { .size = sizeof(opt), .diag = last_rule, .diag_user = &rule };
        cuvet_source src = { .size = sizeof(src) };
        cuvet_summary sum = { .size = sizeof(sum) };
        cuvet_scan scan = { 0 };
        cuvet_item item = { .size = sizeof(item) };
        cuvet_ctx *ctx = NULL;
        cuvet_status st;
        unsigned units = 0;

        ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
        ck_assert_int_eq(cuvet_ctx_create(&opt, &ctx), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_create(ctx, &src, NULL, &scan), CUVET_OK);
        while ((st = cuvet_scan_next(ctx, scan, &item)) == CUVET_OK) {
            if (++units == (after ? 8 : 1))
                work_on(fd, &file, _i);
        }
        ck_assert_int_eq(cuvet_scan_summary(ctx, scan, &sum), CUVET_OK);
        if (_i == READ_ONLY) {
            ck_assert_int_eq(st, CUVET_END);
            ck_assert_uint_eq(sum.errors, 0);
        } else {
            const cuvet_rule_info *info = cuvet_rule_get(rule);

            ck_assert_int_eq(st, CUVET_E_IO);
            ck_assert_int_eq(sum.verdict, CUVET_V_ERROR);
            ck_assert_uint_ge(sum.errors, 1);
            ck_assert(info && info->cls == CUVET_C_IO);
            ck_assert(_i == SHORTER || strcmp(info->id, "CV-IO-003") == 0);
        }
        ck_assert_int_eq(cuvet_scan_destroy(ctx, &scan), CUVET_OK);
        cuvet_ctx_destroy(ctx);
        close(fd);
    }
    free(file.bytes);
}
END_TEST

/* Memory that a file is read into is asked for before it is read: that is when it changes here. */
typedef struct fault_scan_meddler {
    const fault_scan_file *file;
    int fd, how;
} fault_scan_meddler;

static void *take_and_meddle(void *user, size_t size)
{
    fault_scan_meddler *meddler = user;

    if (size == meddler->file->size && meddler->how >= 0) {
        work_on(meddler->fd, meddler->file, meddler->how);
        meddler->how = -1;
    }
    return malloc(size);
}

static void *resize_plain(void *user, void *block, size_t old, size_t count)
{
    (void)user;
    (void)old;
    return realloc(block, count);
}

static void release_plain(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

START_TEST(written_to_during_a_link)
{
    static const char *const NAMES[] = { "two_a.sm_75.rdc.cubin", "host-two_a.o" };

    for (unsigned i = 0; i < 4; i++) {
        fault_scan_file file;
        fault_scan_meddler meddler;
        uint32_t rule = 0;
        cuvet_alloc alloc = { sizeof(alloc), take_and_meddle, resize_plain, release_plain, &meddler };
        cuvet_ctx_options opt = {
            .size = sizeof(opt), .alloc = &alloc, .diag = last_rule, .diag_user = &rule
        };
        cuvet_linker_options lo = { .size = sizeof(lo),
                                    .target = { .sm = 75 },
                                    .flags = CUVET_LINK_RELOCATABLE };
        cuvet_source src = { .size = sizeof(src) };
        cuvet_linker linker = { 0 };
        cuvet_ctx *ctx = NULL;
        cuvet_status st;
        int fd;

        load(NAMES[i % 2], &file);
        fd = copy_of(&file);
        meddler = (fault_scan_meddler){ &file, fd, -1 };
        ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
        ck_assert_int_eq(cuvet_ctx_create(&opt, &ctx), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_create(ctx, &lo, &linker), CUVET_OK);
        meddler.how = _i;
        st = i < 2 ? cuvet_linker_add_file(ctx, linker, &src, "f", 0)
                   : cuvet_linker_add_source(ctx, linker, &src, "f");
        ck_assert_int_eq(meddler.how, -1); /* it did happen */
        if (_i == READ_ONLY) {
            ck_assert_int_eq(st == CUVET_OK, i != 3); /* a host object is for add_file alone */
            ck_assert(rule == 0 || strcmp(cuvet_rule_get(rule)->id, "CV-IO-003") != 0);
        } else {
            ck_assert_int_eq(st, CUVET_E_IO);
            ck_assert(_i == SHORTER || strcmp(cuvet_rule_get(rule)->id, "CV-IO-003") == 0);
        }
        cuvet_ctx_destroy(ctx);
        close(fd);
        free(file.bytes);
    }
}
END_TEST

Suite *suite_fault_scan(void)
{
    Suite *suite = suite_create("fault_scan");
    TCase *tcase = tcase_create("fault_scan");
    int count = (int)(sizeof(SAMPLES) / sizeof(SAMPLES[0]));

    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, allocations, 0, count);
    tcase_add_loop_test(tcase, allocations_ahead, 0, count);
    tcase_add_loop_test(tcase, reads, 0, count);
    tcase_add_loop_test(tcase, bad_places, 0, count);
    tcase_add_loop_test(tcase, budgets, 0, count);
    tcase_add_loop_test(tcase, jobs_do_not_matter, 0, count);
    tcase_add_loop_test(tcase, changes_with_each_read, 0, count);
    tcase_add_loop_test(tcase, written_to_during_a_scan, 0, READ_ONLY + 1);
    tcase_add_loop_test(tcase, written_to_during_a_link, 0, READ_ONLY + 1);
    tcase_add_test(tcase, goes_ahead);
    suite_add_tcase(suite, tcase);
    return suite;
}

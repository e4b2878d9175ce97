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

typedef struct file {
    uint8_t *bytes;
    size_t n;
    unsigned long reads, fail_at;
    uint64_t bad_from, bad_to; /* a place that no read may touch */
} file;

static cuvet_status read_at(void *u, uint64_t off, void *buf, size_t len)
{
    file *f = u;

    if (__atomic_add_fetch(&f->reads, 1, __ATOMIC_RELAXED) == f->fail_at)
        return CUVET_E_IO;
    if (off < f->bad_to && off + len > f->bad_from)
        return CUVET_E_IO;
    memcpy(buf, f->bytes + off, len);
    return CUVET_OK;
}

typedef struct outcome {
    cuvet_status status;
    cuvet_summary sum;
    unsigned long diags;
    uint64_t hash;
    cuvet_status ahead; /* what going ahead came to */
} outcome;

static void count(void *u, const cuvet_diag *d)
{
    outcome *o = u;

    o->diags++;
    o->hash = (o->hash ^ d->rule ^ d->file_off << 8 ^ d->inner_off << 20) * UINT64_C(1099511628211);
}

enum { AHEAD = 1000 }; /* instead of a number of jobs, or added to one: the scan goes ahead */

static outcome scan(file *f, const cuvet_alloc *alloc, const cuvet_limits *lim, uint32_t how)
{
    uint32_t jobs = how % AHEAD;
    outcome o = { .status = CUVET_OK };
    cuvet_ctx_options opt = { sizeof(opt), alloc, lim, count, &o };
    cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL, .jobs = jobs };
    cuvet_source src = { sizeof(src), f->n, read_at, f, -1 };
    cuvet_scan s = { 0 };
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *c = NULL;

    o.status = cuvet_ctx_create(&opt, &c);
    if (o.status == CUVET_OK)
        o.status = cuvet_scan_create(c, &src, &so, &s);
    if (o.status == CUVET_OK && how >= AHEAD) {
        unsigned long before = o.diags;

        o.ahead = cuvet_scan_ahead(c, s);
        ck_assert_uint_eq(o.diags, before);
    }
    if (o.status == CUVET_OK) {
        do
            o.status = cuvet_scan_next(c, s, &item);
        while (o.status == CUVET_OK);
        o.sum.size = sizeof(o.sum);
        ck_assert_int_eq(cuvet_scan_summary(c, s, &o.sum), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_destroy(c, &s), CUVET_OK);
        ck_assert_uint_eq(s.bits, 0);
    }
    cuvet_ctx_destroy(c);
    return o;
}

static const char *const SAMPLES[] = { "multi.fatbin",  "back-to-back.fatbin", "long-names.a",
                                       "host-plain.so", "host-plain.o",        "lto.fatbin",
                                       "ident.fatbin",  "multi-lz4.fatbin",    "elf-raw.fatbin" };

static void load(const char *name, file *f)
{
    char path[300];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "corpus/samples/%s", name);
    fd = open(path, O_RDONLY);
    ck_assert_msg(fd >= 0, "%s: run from the top of the tree", path);
    ck_assert_int_eq(fstat(fd, &st), 0);
    *f = (file){ .n = (size_t)st.st_size, .bytes = malloc((size_t)st.st_size) };
    ck_assert_int_eq(read(fd, f->bytes, f->n), (ssize_t)f->n);
    close(fd);
}

static void fail_allocations(const char *name, uint32_t how)
{
    file f;

    load(name, &f);
    for (unsigned later = 0; later < 2; later++) {
        unsigned long n = 1;

        for (;; n++) {
            heap h = { 0 };
            const cuvet_alloc a = heap_alloc(&h);
            outcome o;

            heap_fail(&h, n, later != 0);
            o = scan(&f, &a, NULL, how);
            ck_assert_int_eq(h.live, 0);
            if (h.calls < n) {
                ck_assert_int_eq(o.status, CUVET_END);
                break;
            }
            ck_assert_msg(o.status == CUVET_E_NOMEM, "allocation %lu: status %d", n, o.status);
        }
        ck_assert_uint_gt(n, 5);
    }
    free(f.bytes);
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
    file f;

    load(SAMPLES[_i], &f);
    for (f.fail_at = 1;; f.fail_at++) {
        outcome o;

        f.reads = 0;
        o = scan(&f, NULL, NULL, 1);
        if (f.reads < f.fail_at) {
            ck_assert_int_eq(o.status, CUVET_END);
            break;
        }
        /* A unit that cannot be read is a finding; a walk that cannot read ends the scan. Both give the
         * verdict error. */
        ck_assert_int_eq(o.sum.verdict, CUVET_V_ERROR);
        ck_assert_uint_gt(o.diags, 0);
    }
    ck_assert_uint_gt(f.fail_at, 2); /* a look at the beginning, a window: these files are small */
    free(f.bytes);
}
END_TEST

/* One place of the file is bad for good, whoever reads it and with what around it. */
START_TEST(bad_places)
{
    file f;

    load(SAMPLES[_i], &f);
    for (uint64_t at = 0; at < f.n; at += f.n / 97 + 1) {
        outcome one, more;

        f.bad_from = at;
        f.bad_to = at + 1;
        one = scan(&f, NULL, NULL, 1);
        for (unsigned k = 0; k < 2; k++) {
            more = scan(&f, NULL, NULL, k ? AHEAD + 3 : 3);
            ck_assert_int_eq(one.sum.verdict, CUVET_V_ERROR);
            ck_assert_uint_gt(one.diags, 0);
            ck_assert_int_eq(one.status, more.status);
            ck_assert_uint_eq(one.hash, more.hash);
            ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
        }
    }
    free(f.bytes);
}
END_TEST

/* Less work, less memory: tightening a limit never turns a finding into silence. */
START_TEST(budgets)
{
    cuvet_limits lim = { .size = sizeof(lim) };
    file f;

    load(SAMPLES[_i], &f);
    for (unsigned k = 0; k < 42; k++) {
        heap h = { 0 };
        const cuvet_alloc a = heap_alloc(&h);
        outcome o;

        ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
        lim.live = UINT64_C(1) << k % 21;
        o = scan(&f, &a, &lim, k < 21 ? 1 : AHEAD);
        ck_assert_int_eq(h.live, 0);
        ck_assert(o.status == CUVET_END || o.status == CUVET_E_LIMIT || o.status == CUVET_E_NOMEM);
        ck_assert(o.status != CUVET_END || o.sum.verdict == CUVET_V_CLEAN || o.sum.verdict == CUVET_V_LIMIT);
    }
    free(f.bytes);
}
END_TEST

START_TEST(jobs_do_not_matter)
{
    file f;
    outcome one, more;

    load(SAMPLES[_i], &f);
    one = scan(&f, NULL, NULL, 1);
    for (uint32_t jobs = 2; jobs < 9; jobs += 3) {
        more = scan(&f, NULL, NULL, jobs);
        ck_assert_int_eq(one.status, more.status);
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
        more = scan(&f, NULL, NULL, AHEAD + jobs);
        ck_assert_int_eq(more.ahead, CUVET_END); /* a small file: nothing was left */
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
    }
    free(f.bytes);
}
END_TEST

/* More units than are kept: the rest is examined when it is asked for. Once, at the beginning, without bytes.
 */
START_TEST(goes_ahead)
{
    const size_t copies = 2000;
    file once, f;
    cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL };
    cuvet_source src = { .size = sizeof(src) };
    outcome one, more;
    cuvet_scan s;
    cuvet_item item = { .size = sizeof(item) };
    cuvet_ctx *c;
    const void *bytes;
    size_t n;

    load("default.fatbin", &once);
    f = (file){ .n = once.n * copies, .bytes = malloc(once.n * copies) };
    ck_assert_ptr_nonnull(f.bytes);
    for (size_t i = 0; i < copies; i++)
        memcpy(f.bytes + i * once.n, once.bytes, once.n);
    one = scan(&f, NULL, NULL, 1);
    ck_assert_uint_gt(one.sum.members, 1024);
    for (uint32_t jobs = 1; jobs < 4; jobs++) {
        more = scan(&f, NULL, NULL, AHEAD + jobs);
        ck_assert_int_eq(more.ahead, CUVET_OK);
        ck_assert_int_eq(more.status, CUVET_END);
        ck_assert_uint_eq(one.hash, more.hash);
        ck_assert_mem_eq(&one.sum, &more.sum, sizeof(one.sum));
    }
    src = (cuvet_source){ sizeof(src), f.n, read_at, &f, -1 };
    ck_assert_int_eq(cuvet_ctx_create(NULL, &c), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(c, &src, &so, &s), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(NULL, s), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_scan_ahead(c, (cuvet_scan){ 0 }), CUVET_E_HANDLE);
    ck_assert_int_eq(cuvet_scan_ahead(c, s), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(c, s), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_scan_next(c, s, &item), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_payload(c, s, &bytes, &n), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_scan_destroy(c, &s), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_create(c, &src, &so, &s), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_next(c, s, &item), CUVET_OK);
    ck_assert_int_eq(cuvet_scan_ahead(c, s), CUVET_E_STATE);
    ck_assert_int_eq(cuvet_scan_payload(c, s, &bytes, &n), CUVET_OK);
    cuvet_ctx_destroy(c);
    free(f.bytes);
    free(once.bytes);
}
END_TEST

/* A file that is another one at each read: what is read twice never agrees. */
typedef struct moving {
    file *f;
    uint32_t seed;
} moving;

static cuvet_status read_moving(void *u, uint64_t off, void *buf, size_t len)
{
    moving *m = u;
    uint8_t *bytes = buf;
    uint32_t seed = __atomic_add_fetch(&m->seed, 0x9E3779B9u, __ATOMIC_RELAXED);

    memcpy(buf, m->f->bytes + off, len);
    for (size_t i = 0; i < 3 && len; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[seed % len] = (uint8_t)(bytes[seed % len] + 1 + (seed >> 24) % 255);
    }
    return CUVET_OK;
}

/* Some verdict, in the end, and never that of a defect of ours. */
START_TEST(changes_with_each_read)
{
    file f;

    load(SAMPLES[_i], &f);
    for (uint32_t seed = 0; seed < 300; seed++) {
        moving m = { &f, seed * 7919u };
        cuvet_source src = { sizeof(src), f.n, read_moving, &m, -1 };
        cuvet_scan_options so = { .size = sizeof(so), .depth = CUVET_DEPTH_FULL, .jobs = 1 + seed % 3 };
        cuvet_summary sum = { .size = sizeof(sum) };
        cuvet_scan s = { 0 };
        cuvet_item item = { .size = sizeof(item) };
        cuvet_ctx *c = NULL;
        cuvet_status st;

        ck_assert_int_eq(cuvet_ctx_create(NULL, &c), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_create(c, &src, &so, &s), CUVET_OK);
        do
            st = cuvet_scan_next(c, s, &item);
        while (st == CUVET_OK);
        ck_assert_msg(st == CUVET_END || st == CUVET_E_IO || st == CUVET_E_LIMIT, "seed %u: %d", seed, st);
        ck_assert_int_eq(cuvet_scan_summary(c, s, &sum), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_destroy(c, &s), CUVET_OK);
        cuvet_ctx_destroy(c);
    }
    free(f.bytes);
}
END_TEST

enum { WRITTEN, LONGER, SHORTER, TOUCHED, READ_ONLY };

/* Somebody works on the file while it is scanned, or linked. */
static void work_on(int fd, const file *f, int how)
{
    const struct timespec then[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000000000 } };

    switch (how) {
    case WRITTEN: /* in place, a letter of what was read already; the clock may not have moved */
        ck_assert_int_eq(pwrite(fd, f->bytes, 1, 0), 1);
        ck_assert_int_eq(futimens(fd, then), 0);
        break;
    case LONGER: ck_assert_int_eq(pwrite(fd, "x", 1, (off_t)f->n), 1); break;
    case SHORTER: ck_assert_int_eq(ftruncate(fd, (off_t)f->n / 2), 0); break;
    case TOUCHED: ck_assert_int_eq(futimens(fd, then), 0); break;
    default: ck_assert_int_eq(fchmod(fd, 0400), 0); break; /* no byte is another one */
    }
}

static int copy_of(const file *f)
{
    int fd = open(getenv("CV_TMP") ? getenv("CV_TMP") : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, f->bytes, f->n), (ssize_t)f->n);
    return fd;
}

static void last_rule(void *u, const cuvet_diag *d)
{
    uint32_t *rule = u;

    if (d->severity == CUVET_ERROR)
        *rule = d->rule;
}

START_TEST(written_to_during_a_scan)
{
    file f;

    load("multi.fatbin", &f);
    for (int after = 0; after < 2;
         after++) { /* while there are units left; when the last one was delivered */
        int fd = copy_of(&f);
        uint32_t rule = 0;
        cuvet_ctx_options opt = { .size = sizeof(opt), .diag = last_rule, .diag_user = &rule };
        cuvet_source src = { .size = sizeof(src) };
        cuvet_summary sum = { .size = sizeof(sum) };
        cuvet_scan s = { 0 };
        cuvet_item item = { .size = sizeof(item) };
        cuvet_ctx *c = NULL;
        cuvet_status st;
        unsigned units = 0;

        ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
        ck_assert_int_eq(cuvet_ctx_create(&opt, &c), CUVET_OK);
        ck_assert_int_eq(cuvet_scan_create(c, &src, NULL, &s), CUVET_OK);
        while ((st = cuvet_scan_next(c, s, &item)) == CUVET_OK) {
            if (++units == (after ? 8 : 1))
                work_on(fd, &f, _i);
        }
        ck_assert_int_eq(cuvet_scan_summary(c, s, &sum), CUVET_OK);
        if (_i == READ_ONLY) {
            ck_assert_int_eq(st, CUVET_END);
            ck_assert_uint_eq(sum.errors, 0);
        } else {
            const cuvet_rule_info *r = cuvet_rule_get(rule);

            ck_assert_int_eq(st, CUVET_E_IO);
            ck_assert_int_eq(sum.verdict, CUVET_V_ERROR);
            ck_assert_uint_ge(sum.errors, 1);
            ck_assert(r && r->cls == CUVET_C_IO);
            ck_assert(_i == SHORTER || strcmp(r->id, "CV-IO-003") == 0);
        }
        ck_assert_int_eq(cuvet_scan_destroy(c, &s), CUVET_OK);
        cuvet_ctx_destroy(c);
        close(fd);
    }
    free(f.bytes);
}
END_TEST

/* Memory that a file is read into is asked for before it is read: that is when it changes here. */
typedef struct meddler {
    const file *f;
    int fd, how;
} meddler;

static void *take_and_meddle(void *u, size_t n)
{
    meddler *m = u;

    if (n == m->f->n && m->how >= 0) {
        work_on(m->fd, m->f, m->how);
        m->how = -1;
    }
    return malloc(n);
}

static void *resize_plain(void *u, void *p, size_t old, size_t n)
{
    (void)u;
    (void)old;
    return realloc(p, n);
}

static void release_plain(void *u, void *p, size_t n)
{
    (void)u;
    (void)n;
    free(p);
}

START_TEST(written_to_during_a_link)
{
    static const char *const NAMES[] = { "two_a.sm_75.rdc.cubin", "host-two_a.o" };

    for (unsigned i = 0; i < 4; i++) {
        file f;
        meddler m;
        uint32_t rule = 0;
        cuvet_alloc alloc = { sizeof(alloc), take_and_meddle, resize_plain, release_plain, &m };
        cuvet_ctx_options opt = {
            .size = sizeof(opt), .alloc = &alloc, .diag = last_rule, .diag_user = &rule
        };
        cuvet_linker_options lo = { .size = sizeof(lo),
                                    .target = { .sm = 75 },
                                    .flags = CUVET_LINK_RELOCATABLE };
        cuvet_source src = { .size = sizeof(src) };
        cuvet_linker k = { 0 };
        cuvet_ctx *c = NULL;
        cuvet_status st;
        int fd;

        load(NAMES[i % 2], &f);
        fd = copy_of(&f);
        m = (meddler){ &f, fd, -1 };
        ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
        ck_assert_int_eq(cuvet_ctx_create(&opt, &c), CUVET_OK);
        ck_assert_int_eq(cuvet_linker_create(c, &lo, &k), CUVET_OK);
        m.how = _i;
        st = i < 2 ? cuvet_linker_add_file(c, k, &src, "f", 0) : cuvet_linker_add_source(c, k, &src, "f");
        ck_assert_int_eq(m.how, -1); /* it did happen */
        if (_i == READ_ONLY) {
            ck_assert_int_eq(st == CUVET_OK, i != 3); /* a host object is for add_file alone */
            ck_assert(rule == 0 || strcmp(cuvet_rule_get(rule)->id, "CV-IO-003") != 0);
        } else {
            ck_assert_int_eq(st, CUVET_E_IO);
            ck_assert(_i == SHORTER || strcmp(cuvet_rule_get(rule)->id, "CV-IO-003") == 0);
        }
        cuvet_ctx_destroy(c);
        close(fd);
        free(f.bytes);
    }
}
END_TEST

Suite *suite_fault_scan(void)
{
    Suite *s = suite_create("fault_scan");
    TCase *t = tcase_create("fault_scan");
    int n = (int)(sizeof(SAMPLES) / sizeof(SAMPLES[0]));

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, allocations, 0, n);
    tcase_add_loop_test(t, allocations_ahead, 0, n);
    tcase_add_loop_test(t, reads, 0, n);
    tcase_add_loop_test(t, bad_places, 0, n);
    tcase_add_loop_test(t, budgets, 0, n);
    tcase_add_loop_test(t, jobs_do_not_matter, 0, n);
    tcase_add_loop_test(t, changes_with_each_read, 0, n);
    tcase_add_loop_test(t, written_to_during_a_scan, 0, READ_ONLY + 1);
    tcase_add_loop_test(t, written_to_during_a_link, 0, READ_ONLY + 1);
    tcase_add_test(t, goes_ahead);
    suite_add_tcase(s, t);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/sink.h"
#include "io/source.h"

static char dir[64];
static int dirfd_;

static void setup(void)
{
    strcpy(dir, "/tmp/cuvet-io-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(dirfd_, 0);
}

static int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;

    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void teardown(void)
{
    char cmd[128];

    close(dirfd_);
    snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
    ck_assert_int_eq(system(cmd), 0);
}

static cv_ctx *make(void)
{
    static cv_ctx x;
    cuvet_limits lim;

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    return &x;
}

START_TEST(memory_source)
{
    static const char TEXT[] = "hello, world";
    cv_ctx *x = make();
    cv_block b = { 0 };
    cuvet_source s;

    ck_assert_int_eq(cuvet_source_memory(NULL, 3, &s), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_memory(TEXT, 12, NULL), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_memory(TEXT, 12, &s), CUVET_OK);
    ck_assert_int_eq(cv_block_load(x, &b, &s, 7, 5), CUVET_OK);
    ck_assert(cv_span_eq_str(b.span, "world"));
    ck_assert_uint_eq(b.span.off, 7);
    ck_assert_int_eq(cv_block_load(x, &b, &s, 0, 2), CUVET_OK);
    ck_assert_uint_eq(b.cap, 5); /* kept */
    ck_assert_int_eq(cv_block_load(x, &b, &s, 12, 0), CUVET_OK);
    ck_assert_uint_eq(b.span.len, 0);
    ck_assert_int_eq(cv_block_load(x, &b, &s, 8, 5), CUVET_E_INTERNAL); /* the caller checks ranges */
    ck_assert_int_eq(cv_block_load(x, &b, &s, UINT64_MAX, 2), CUVET_E_INTERNAL);
    cv_block_free(x, &b);
    ck_assert_uint_eq(x->mem.live, 0);
    cuvet_source_release(&s);
    cuvet_source_release(NULL);
}
END_TEST

START_TEST(block_limit)
{
    cv_ctx *x = make();
    cv_block b = { 0 };

    ck_assert_int_eq(cv_block_room(x, &b, x->lim.live + 1, 9), CUVET_E_LIMIT);
    ck_assert_ptr_null(b.mem);
    ck_assert_int_eq(cv_block_room(x, &b, 100, 9), CUVET_OK);
    cv_block_filled(&b, 101);
    ck_assert_uint_eq(b.span.len, 0);
    cv_block_filled(&b, 100);
    ck_assert_uint_eq(b.span.len, 100);
    ck_assert_uint_eq(b.span.off, 9);
    ck_assert_int_eq(cv_block_room(x, &b, x->lim.live + 1, 9), CUVET_E_LIMIT);
    ck_assert_uint_eq(x->mem.live, 0); /* the old block went first */
    cv_block_free(x, &b);
}
END_TEST

/* A file that gets shorter after it was opened is an I/O error with a diagnostic, never a crash. */
START_TEST(file_source)
{
    cv_ctx *x = make();
    cv_block b = { 0 };
    cuvet_source s;
    int fd = openat(dirfd_, "f", O_RDWR | O_CREAT, 0600), p[2];

    ck_assert_int_eq(write(fd, "0123456789", 10), 10);
    ck_assert_int_eq(cuvet_source_fd(fd, &s), CUVET_OK);
    ck_assert_uint_eq(s.length, 10);
    ck_assert_int_eq(cv_block_load(x, &b, &s, 3, 4), CUVET_OK);
    ck_assert(cv_span_eq_str(b.span, "3456"));
    ck_assert_int_eq(ftruncate(fd, 5), 0);
    ck_assert_int_eq(cv_block_load(x, &b, &s, 3, 4), CUVET_E_IO);
    ck_assert_int_eq(x->verdict, CUVET_V_ERROR);
    ck_assert_int_eq(cuvet_source_fd(-1, &s), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_fd(dirfd_, &s), CUVET_E_IO);
    ck_assert_int_eq(pipe(p), 0);
    ck_assert_int_eq(cuvet_source_fd(p[0], &s), CUVET_E_IO);
    close(p[0]), close(p[1]), close(fd);
    cv_block_free(x, &b);
}
END_TEST

START_TEST(spool)
{
    cuvet_source s;
    uint8_t back[100000], in[100000];
    int fd = openat(dirfd_, "f", O_RDWR | O_CREAT, 0600);

    for (unsigned i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7);
    ck_assert_int_eq(write(fd, in, sizeof(in)), sizeof(in));
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(cuvet_source_spool(fd, dir, sizeof(in), &s), CUVET_OK);
    ck_assert_uint_eq(s.length, sizeof(in));
    ck_assert_int_eq(s.read_at(s.user, 0, back, sizeof(back)), CUVET_OK);
    ck_assert_mem_eq(back, in, sizeof(in));
    cuvet_source_release(&s);
    ck_assert_int_eq(s.owned_fd, -1);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(cuvet_source_spool(fd, dir, sizeof(in) - 1, &s), CUVET_E_LIMIT);
    ck_assert_int_eq(cuvet_source_spool(fd, "/nonexistent", 10, &s), CUVET_E_IO);
    ck_assert_int_eq(cuvet_source_spool(dirfd_, dir, 10, &s), CUVET_E_IO); /* read() of a directory */
    ck_assert_int_eq(cuvet_source_spool(fd, dir, 10, NULL), CUVET_E_USAGE);
    ck_assert_int_eq(entries(), 1); /* nothing left behind */
    close(fd);
}
END_TEST

START_TEST(window_moves_with_overlap)
{
    cv_ctx *x = make();
    cv_window w = { 0 };
    uint64_t n = CV_WINDOW_SIZE * 2 + 1000, off = 0, loads = 0;
    uint8_t *bytes = malloc(n);
    cuvet_source s;
    cv_span span;

    for (uint64_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(i ^ i >> 8);
    ck_assert_int_eq(cuvet_source_memory(bytes, n, &s), CUVET_OK);
    while (off < n) {
        ck_assert_int_eq(cv_window_at(x, &w, &s, off, 64, n, &span), CUVET_OK);
        ck_assert_uint_ge(span.len, n - off < 64 ? n - off : 64);
        ck_assert_uint_eq(span.off, off);
        ck_assert_uint_eq(cv_u8_at(span, 0), bytes[off]);
        ck_assert_uint_eq(cv_u8_at(span, span.len - 1), bytes[off + span.len - 1]);
        loads++;
        off += span.len > 100 ? span.len - 30 : span.len;
    }
    ck_assert_uint_le(loads, 8);
    /* an end inside the window cuts it */
    ck_assert_int_eq(cv_window_at(x, &w, &s, 0, 64, n, &span), CUVET_OK);
    ck_assert_int_eq(cv_window_at(x, &w, &s, 10, 64, 50, &span), CUVET_OK);
    ck_assert_uint_eq(span.len, 40);
    cv_window_free(x, &w);
    ck_assert_uint_eq(x->mem.live, 0);
    free(bytes);
}
END_TEST

static void read_back(const char *name, char *buf, size_t n)
{
    int fd = openat(dirfd_, name, O_RDONLY);
    ssize_t r = read(fd, buf, n - 1);

    ck_assert_int_ge(r, 0);
    buf[r] = 0;
    close(fd);
}

START_TEST(saves_whole_or_not_at_all)
{
    char buf[64];

    ck_assert_int_eq(cuvet_save(dirfd_, "out", "first", 5, false, true), CUVET_OK);
    ck_assert_int_eq(cuvet_save(dirfd_, "out", "second", 6, false, false), CUVET_E_EXISTS);
    read_back("out", buf, sizeof(buf));
    ck_assert_str_eq(buf, "first");
    ck_assert_int_eq(cuvet_save(dirfd_, "out", "second", 6, true, false), CUVET_OK);
    read_back("out", buf, sizeof(buf));
    ck_assert_str_eq(buf, "second");
    ck_assert_int_eq(cuvet_save(dirfd_, "empty", NULL, 0, false, false), CUVET_OK);
    ck_assert_int_eq(entries(), 2);
    ck_assert_int_eq(cuvet_save(dirfd_, "x", NULL, 1, false, false), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_save(-1, "x", "", 0, false, false), CUVET_E_IO);
}
END_TEST

START_TEST(names_stay_inside)
{
    static const char *const BAD[] = { "", ".", "..", "/etc/passwd", "a/b", "../x" };
    char longname[400];

    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(cuvet_save(dirfd_, BAD[i], "x", 1, true, false), CUVET_E_USAGE);
    memset(longname, 'a', sizeof(longname));
    longname[201] = 0;
    ck_assert_int_eq(cuvet_save(dirfd_, longname, "x", 1, true, false), CUVET_E_USAGE);
    longname[200] = 0;
    ck_assert_int_eq(cuvet_save(dirfd_, longname, "x", 1, true, false), CUVET_OK);
    ck_assert_int_eq(cuvet_save(dirfd_, NULL, "x", 1, true, false), CUVET_E_USAGE);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

/* A link or a directory under the name is never followed nor replaced. */
START_TEST(links_are_not_followed)
{
    struct stat st;

    ck_assert_int_eq(symlinkat("target", dirfd_, "link"), 0);
    ck_assert_int_eq(mkdirat(dirfd_, "sub", 0700), 0);
    ck_assert_int_eq(cuvet_save(dirfd_, "link", "x", 1, false, false), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_save(dirfd_, "link", "x", 1, true, false), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_save(dirfd_, "sub", "x", 1, true, false), CUVET_E_EXISTS);
    ck_assert_int_ne(fstatat(dirfd_, "target", &st, 0), 0);
    ck_assert_int_eq(entries(), 2);
}
END_TEST

START_TEST(full_device)
{
    cv_slices out = { 0 };
    cv_mem m;
    int fd = open("/dev/full", O_WRONLY);

    cv_mem_init(&m, NULL, 1 << 20);
    for (unsigned i = 0; i < 100; i++) {
        cv_slices_borrow(&m, &out, cv_span_of("abc", 3, 0));
        cv_slices_zero(&m, &out, 5000);
    }
    ck_assert_int_eq(cv_sink_fd(fd, &out), CUVET_E_IO);
    close(fd);
    fd = openat(dirfd_, "f", O_RDWR | O_CREAT, 0600);
    ck_assert_int_eq(cv_sink_fd(fd, &out), CUVET_OK);
    ck_assert_int_eq(lseek(fd, 0, SEEK_END), 100 * 5003);
    out.failed = true;
    ck_assert_int_eq(cv_sink_fd(fd, &out), CUVET_E_NOMEM);
    ck_assert_int_eq(cv_sink_file(dirfd_, "g", &out, (cv_sink_options){ 0 }), CUVET_E_NOMEM);
    ck_assert_int_eq(entries(), 1);
    close(fd);
    cv_slices_free(&m, &out);
}
END_TEST

Suite *suite_io(void)
{
    Suite *s = suite_create("io");
    TCase *t = tcase_create("io");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, memory_source);
    tcase_add_test(t, block_limit);
    tcase_add_test(t, file_source);
    tcase_add_test(t, spool);
    tcase_add_test(t, window_moves_with_overlap);
    tcase_add_test(t, saves_whole_or_not_at_all);
    tcase_add_test(t, names_stay_inside);
    tcase_add_test(t, links_are_not_followed);
    tcase_add_test(t, full_device);
    suite_add_tcase(s, t);
    return s;
}

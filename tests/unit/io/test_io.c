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
#include "support/scratch.h"

static char dir[SCRATCH_MAX];
static int dirfd_;

static void setup(void)
{
    scratch_make(dir);
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
    close(dirfd_);
    scratch_remove(dir);
}

static cv_ctx *make(void)
{
    static cv_ctx x;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(&x, NULL, &lim);
    return &x;
}

START_TEST(memory_source)
{
    static const char TEXT[] = "hello, world";
    cv_ctx *x = make();
    cv_block b = { 0 };
    cuvet_source s = { .size = sizeof(s) };

    ck_assert_int_eq(cuvet_source_memory(NULL, 3, &s), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_source_memory(TEXT, 12, NULL), CUVET_E_NULL);
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
    cuvet_source_destroy(&s);
    cuvet_source_destroy(NULL);
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
    cuvet_source s = { .size = sizeof(s) };
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

/* Whatever the file system knows of holes: what is passed over is zeros, and the last data is found. */
START_TEST(holes)
{
    enum { MIB = 1 << 20 };
    uint8_t byte = 0x7F;
    cuvet_source s = { .size = sizeof(s) }, m = { .size = sizeof(m) };
    int fd = openat(dirfd_, "holes", O_RDWR | O_CREAT, 0600);
    uint64_t at;

    ck_assert_int_eq(ftruncate(fd, 64 * MIB), 0);
    ck_assert_int_eq(pwrite(fd, &byte, 1, 40 * MIB + 5), 1);
    ck_assert_int_eq(cuvet_source_fd(fd, &s), CUVET_OK);
    at = cv_source_next_data(&s, 0);
    ck_assert_uint_le(at, 40 * MIB + 5);
    for (uint64_t i = 0; i < at; i += MIB) {
        ck_assert_int_eq(pread(fd, &byte, 1, (off_t)i), 1);
        ck_assert_uint_eq(byte, 0);
    }
    ck_assert_uint_eq(cv_source_next_data(&s, 40 * MIB + 5), 40 * MIB + 5);
    at = cv_source_next_data(&s, 50 * MIB);
    ck_assert(at >= 50 * MIB && at <= s.length);
    ck_assert_uint_eq(cv_source_next_data(&s, s.length), s.length);
    ck_assert_int_eq(cuvet_source_fd_sized(fd, 10 * MIB, &m), CUVET_OK); /* it has grown since */
    ck_assert_uint_le(cv_source_next_data(&m, 3), 10 * MIB);
    ck_assert_int_eq(cuvet_source_fd_sized(fd, UINT64_MAX, &m), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_fd_sized(-1, 1, &m), CUVET_E_USAGE);
    close(fd);
    ck_assert_uint_eq(cv_source_next_data(&s, 7), 7); /* nobody to ask */
    ck_assert_int_eq(cuvet_source_memory("0000", 4, &m), CUVET_OK);
    ck_assert_uint_eq(cv_source_next_data(&m, 1), 1);
}
END_TEST

START_TEST(spool)
{
    cuvet_source s = { .size = sizeof(s) };
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
    cuvet_source_destroy(&s);
    ck_assert_int_eq(s.owned_fd, -1);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(cuvet_source_spool(fd, dir, sizeof(in) - 1, &s), CUVET_E_LIMIT);
    ck_assert_int_eq(cuvet_source_spool(fd, "/nonexistent", 10, &s), CUVET_E_IO);
    ck_assert_int_eq(cuvet_source_spool(dirfd_, dir, 10, &s), CUVET_E_IO); /* read() of a directory */
    ck_assert_int_eq(cuvet_source_spool(fd, dir, 10, NULL), CUVET_E_NULL);
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
    cuvet_source s = { .size = sizeof(s) };
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

typedef struct counted {
    uint8_t *bytes;
    uint64_t reads, read, bad; /* bad: a place that cannot be read, or UINT64_MAX */
} counted;

static cuvet_status read_counted(void *user, uint64_t off, void *buf, size_t len)
{
    counted *c = user;

    c->reads++;
    c->read += len;
    if (c->bad >= off && c->bad < off + len)
        return CUVET_E_IO;
    memcpy(buf, c->bytes + off, len);
    return CUVET_OK;
}

static counted many(uint64_t n)
{
    counted c = { malloc(n), 0, 0, UINT64_MAX };

    ck_assert_ptr_nonnull(c.bytes);
    for (uint64_t i = 0; i < n; i++)
        c.bytes[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
    return c;
}

/* Exactly [off, off + len), or nothing. */
static bool near_at(cv_ctx *x, cv_window *w, const cuvet_source *s, uint64_t off, uint64_t len, uint64_t end)
{
    const counted *c = s->user;
    cv_span span;

    ck_assert_int_eq(cv_window_near(x, w, s, off, len, end, &span), CUVET_OK);
    if (span.len == 0)
        return false;
    ck_assert_uint_eq(span.len, len);
    ck_assert_uint_eq(span.off, off);
    ck_assert(cv_span_eq(span, cv_span_of(c->bytes + off, len, 0)));
    return true;
}

START_TEST(near_ranges)
{
    cv_ctx *x = make();
    cv_window w = { 0 };
    uint64_t n = 4 * CV_WINDOW_SIZE, off;
    counted c = many(n);
    cuvet_source s = { sizeof(s), n, read_counted, &c, -1 };

    /* far from each other: each read alone, not a byte more */
    for (off = 0; off + 1000 <= n; off += CV_NEAR_MAX + 1001)
        ck_assert(near_at(x, &w, &s, off, 1000, n));
    ck_assert_uint_eq(c.read, 1000 * c.reads);
    /* one after the other, with gaps: more and more at once, a window at most, nothing beyond the end */
    cv_window_forget(&w);
    c.reads = c.read = 0;
    for (off = 0; off + 1000 <= n; off += 1500)
        ck_assert(near_at(x, &w, &s, off, 1000, n));
    ck_assert_uint_le(c.reads, 14);
    ck_assert_uint_le(c.read, n + 14 * 1000);
    ck_assert_uint_le(w.block.cap, CV_WINDOW_SIZE + CV_WINDOW_SIZE / 4);
    /* back, at the end, and where a range cannot be */
    ck_assert(near_at(x, &w, &s, 0, CV_NEAR_MAX, n));
    ck_assert(near_at(x, &w, &s, n - 1, 1, n));
    ck_assert(!near_at(x, &w, &s, 0, CV_NEAR_MAX + 1, n));
    ck_assert(!near_at(x, &w, &s, n - 1, 2, n));
    ck_assert(!near_at(x, &w, &s, 100, 10, 105));
    ck_assert(!near_at(x, &w, &s, 100, 10, n + 1));
    ck_assert(!near_at(x, &w, &s, UINT64_MAX, 1, n));
    ck_assert_uint_eq(x->n_errors, 0);
    cv_window_free(x, &w);
    ck_assert_uint_eq(x->mem.live, 0);
    free(c.bytes);
}
END_TEST

/* What was forgotten is not taken for the bytes of the next source. */
START_TEST(near_forgets)
{
    cv_ctx *x = make();
    cv_window w = { 0 };
    counted a = many(5000), b = many(5000);
    cuvet_source s = { sizeof(s), 5000, read_counted, &a, -1 }, t = { sizeof(t), 5000, read_counted, &b, -1 };

    memset(b.bytes, 0x77, 5000);
    ck_assert(near_at(x, &w, &s, 0, 5000, 5000));
    cv_window_forget(&w);
    ck_assert(near_at(x, &w, &t, 0, 5000, 5000));
    cv_window_free(x, &w);
    free(a.bytes);
    free(b.bytes);
}
END_TEST

/* A bad place and a tight budget cost the read-ahead, never the range that was asked for. */
START_TEST(near_gives_way)
{
    cv_ctx *x = make();
    cv_window w = { 0 };
    counted c = many(20000);
    cuvet_source s = { sizeof(s), 20000, read_counted, &c, -1 };
    uint8_t buf[500];
    uint64_t got = 0;

    c.bad = 10100;
    for (uint64_t off = 0; off < 20000; off += 500) {
        cuvet_status st = cv_window_read(x, &w, &s, off, buf, sizeof(buf), 20000);

        ck_assert_int_eq(st, off == 10000 ? CUVET_E_IO : CUVET_OK);
        if (st == CUVET_OK)
            ck_assert_mem_eq(buf, c.bytes + off, sizeof(buf));
        got += st == CUVET_OK;
    }
    ck_assert_uint_eq(got, 39);
    ck_assert_uint_eq(x->n_errors, 1); /* for the range that is bad, and no other */
    cv_window_free(x, &w);
    x->mem.limit = 499;
    ck_assert(!near_at(x, &w, &s, 0, 500, 20000));
    ck_assert_int_eq(cv_window_read(x, &w, &s, 0, buf, sizeof(buf), 20000), CUVET_OK);
    ck_assert_mem_eq(buf, c.bytes, sizeof(buf));
    x->mem.limit = 500;
    ck_assert(near_at(x, &w, &s, 0, 500, 20000));
    ck_assert(near_at(x, &w, &s, 600, 500, 20000)); /* alone: there is no room for what follows */
    ck_assert(!near_at(x, &w, &s, 1100, 501, 20000));
    ck_assert_uint_eq(x->n_errors, 1);
    ck_assert(!x->mem.limited);
    cv_window_free(x, &w);
    ck_assert_uint_eq(x->mem.live, 0);
    free(c.bytes);
}
END_TEST

static void *refuse(void *user, size_t n)
{
    (void)user, (void)n;
    return NULL;
}

START_TEST(near_without_memory)
{
    cv_ctx *x = make();
    cv_window w = { 0 };
    counted c = many(100);
    cuvet_source s = { sizeof(s), 100, read_counted, &c, -1 };
    cv_span span;

    x->mem.alloc.alloc = refuse;
    ck_assert_int_eq(cv_window_near(x, &w, &s, 0, 10, 100, &span), CUVET_E_NOMEM);
    ck_assert_uint_eq(c.reads, 0);
    free(c.bytes);
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

    ck_assert_int_eq(cuvet_save(dirfd_, "out", "first", 5, CUVET_SAVE_SYNC), CUVET_OK);
    ck_assert_int_eq(cuvet_save(dirfd_, "out", "second", 6, 0), CUVET_E_EXISTS);
    read_back("out", buf, sizeof(buf));
    ck_assert_str_eq(buf, "first");
    ck_assert_int_eq(cuvet_save(dirfd_, "out", "second", 6, CUVET_SAVE_REPLACE), CUVET_OK);
    read_back("out", buf, sizeof(buf));
    ck_assert_str_eq(buf, "second");
    ck_assert_int_eq(cuvet_save(dirfd_, "empty", NULL, 0, 0), CUVET_OK);
    ck_assert_int_eq(entries(), 2);
    ck_assert_int_eq(cuvet_save(dirfd_, "x", NULL, 1, 0), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_save(-1, "x", "", 0, 0), CUVET_E_IO);
}
END_TEST

START_TEST(names_stay_inside)
{
    static const char *const BAD[] = { "", ".", "..", "/etc/passwd", "a/b", "../x" };
    char longname[400];

    for (unsigned i = 0; i < 6; i++)
        ck_assert_int_eq(cuvet_save(dirfd_, BAD[i], "x", 1, CUVET_SAVE_REPLACE), CUVET_E_USAGE);
    memset(longname, 'a', sizeof(longname));
    longname[201] = 0;
    ck_assert_int_eq(cuvet_save(dirfd_, longname, "x", 1, CUVET_SAVE_REPLACE), CUVET_E_USAGE);
    longname[200] = 0;
    ck_assert_int_eq(cuvet_save(dirfd_, longname, "x", 1, CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert_int_eq(cuvet_save(dirfd_, NULL, "x", 1, CUVET_SAVE_REPLACE), CUVET_E_NULL);
    ck_assert_int_eq(entries(), 1);
}
END_TEST

/* A link or a directory under the name is never followed nor replaced. */
START_TEST(links_are_not_followed)
{
    struct stat st;

    ck_assert_int_eq(symlinkat("target", dirfd_, "link"), 0);
    ck_assert_int_eq(mkdirat(dirfd_, "sub", 0700), 0);
    ck_assert_int_eq(cuvet_save(dirfd_, "link", "x", 1, 0), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_save(dirfd_, "link", "x", 1, CUVET_SAVE_REPLACE), CUVET_E_EXISTS);
    ck_assert_int_eq(cuvet_save(dirfd_, "sub", "x", 1, CUVET_SAVE_REPLACE), CUVET_E_EXISTS);
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
    tcase_add_test(t, holes);
    tcase_add_test(t, spool);
    tcase_add_test(t, window_moves_with_overlap);
    tcase_add_test(t, near_ranges);
    tcase_add_test(t, near_forgets);
    tcase_add_test(t, near_gives_way);
    tcase_add_test(t, near_without_memory);
    tcase_add_test(t, saves_whole_or_not_at_all);
    tcase_add_test(t, names_stay_inside);
    tcase_add_test(t, links_are_not_followed);
    tcase_add_test(t, full_device);
    suite_add_tcase(s, t);
    return s;
}

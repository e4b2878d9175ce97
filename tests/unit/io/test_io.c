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
    DIR *stream = opendir(dir);
    int count = 0;

    while (readdir(stream))
        count++;
    closedir(stream);
    return count - 2;
}

static void teardown(void)
{
    close(dirfd_);
    scratch_remove(dir);
}

static cv_ctx *make(void)
{
    static cv_ctx ctx;
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("tiny", &lim), CUVET_OK);
    cv_ctx_init(&ctx, NULL, &lim);
    return &ctx;
}

START_TEST(memory_source)
{
    static const char TEXT[] = "hello, world";
    cv_ctx *ctx = make();
    cv_block block = { 0 };
    cuvet_source source = { .size = sizeof(source) };

    ck_assert_int_eq(cuvet_source_memory(NULL, 3, &source), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_source_memory(TEXT, 12, NULL), CUVET_E_NULL);
    ck_assert_int_eq(cuvet_source_memory(TEXT, 12, &source), CUVET_OK);
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 7, 5), CUVET_OK);
    ck_assert(cv_span_eq_str(block.span, "world"));
    ck_assert_uint_eq(block.span.off, 7);
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 0, 2), CUVET_OK);
    ck_assert_uint_eq(block.cap, 5); /* kept */
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 12, 0), CUVET_OK);
    ck_assert_uint_eq(block.span.len, 0);
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 8, 5),
                     CUVET_E_INTERNAL); /* the caller checks ranges */
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, UINT64_MAX, 2), CUVET_E_INTERNAL);
    cv_block_free(ctx, &block);
    ck_assert_uint_eq(ctx->mem.live, 0);
    cuvet_source_destroy(&source);
    cuvet_source_destroy(NULL);
}
END_TEST

START_TEST(block_limit)
{
    cv_ctx *ctx = make();
    cv_block block = { 0 };

    ck_assert_int_eq(cv_block_room(ctx, &block, ctx->lim.live + 1, 9), CUVET_E_LIMIT);
    ck_assert_ptr_null(block.mem);
    ck_assert_int_eq(cv_block_room(ctx, &block, 100, 9), CUVET_OK);
    cv_block_filled(&block, 101);
    ck_assert_uint_eq(block.span.len, 0);
    cv_block_filled(&block, 100);
    ck_assert_uint_eq(block.span.len, 100);
    ck_assert_uint_eq(block.span.off, 9);
    ck_assert_int_eq(cv_block_room(ctx, &block, ctx->lim.live + 1, 9), CUVET_E_LIMIT);
    ck_assert_uint_eq(ctx->mem.live, 0); /* the old block went first */
    cv_block_free(ctx, &block);
}
END_TEST

/* A file that gets shorter after it was opened is an I/O error with a diagnostic, never a crash. */
START_TEST(file_source)
{
    cv_ctx *ctx = make();
    cv_block block = { 0 };
    cuvet_source source = { .size = sizeof(source) };
    int fd = openat(dirfd_, "f", O_RDWR | O_CREAT, 0600), place[2];

    ck_assert_int_eq(write(fd, "0123456789", 10), 10);
    ck_assert_int_eq(cuvet_source_fd(fd, &source), CUVET_OK);
    ck_assert_uint_eq(source.length, 10);
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 3, 4), CUVET_OK);
    ck_assert(cv_span_eq_str(block.span, "3456"));
    ck_assert_int_eq(ftruncate(fd, 5), 0);
    ck_assert_int_eq(cv_block_load(ctx, &block, &source, 3, 4), CUVET_E_IO);
    ck_assert_int_eq(ctx->verdict, CUVET_V_ERROR);
    ck_assert_int_eq(cuvet_source_fd(-1, &source), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_fd(dirfd_, &source), CUVET_E_IO);
    ck_assert_int_eq(pipe(place), 0);
    ck_assert_int_eq(cuvet_source_fd(place[0], &source), CUVET_E_IO);
    close(place[0]), close(place[1]), close(fd);
    cv_block_free(ctx, &block);
}
END_TEST

/* Whatever the file system knows of holes: what is passed over is zeros, and the last data is found. */
START_TEST(holes)
{
    enum { MIB = 1 << 20 };
    uint8_t byte = 0x7F;
    cuvet_source source = { .size = sizeof(source) }, other_source = { .size = sizeof(other_source) };
    int fd = openat(dirfd_, "holes", O_RDWR | O_CREAT, 0600);
    uint64_t at;

    ck_assert_int_eq(ftruncate(fd, 64 * MIB), 0);
    ck_assert_int_eq(pwrite(fd, &byte, 1, 40 * MIB + 5), 1);
    ck_assert_int_eq(cuvet_source_fd(fd, &source), CUVET_OK);
    at = cv_source_next_data(&source, 0);
    ck_assert_uint_le(at, 40 * MIB + 5);
    for (uint64_t i = 0; i < at; i += MIB) {
        ck_assert_int_eq(pread(fd, &byte, 1, (off_t)i), 1);
        ck_assert_uint_eq(byte, 0);
    }
    ck_assert_uint_eq(cv_source_next_data(&source, 40 * MIB + 5), 40 * MIB + 5);
    at = cv_source_next_data(&source, 50 * MIB);
    ck_assert(at >= 50 * MIB && at <= source.length);
    ck_assert_uint_eq(cv_source_next_data(&source, source.length), source.length);
    ck_assert_int_eq(cuvet_source_fd_sized(fd, 10 * MIB, &other_source), CUVET_OK); /* it has grown since */
    ck_assert_uint_le(cv_source_next_data(&other_source, 3), 10 * MIB);
    ck_assert_int_eq(cuvet_source_fd_sized(fd, UINT64_MAX, &other_source), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_source_fd_sized(-1, 1, &other_source), CUVET_E_USAGE);
    close(fd);
    ck_assert_uint_eq(cv_source_next_data(&source, 7), 7); /* nobody to ask */
    ck_assert_int_eq(cuvet_source_memory("0000", 4, &other_source), CUVET_OK);
    ck_assert_uint_eq(cv_source_next_data(&other_source, 1), 1);
}
END_TEST

START_TEST(spool)
{
    cuvet_source source = { .size = sizeof(source) };
    uint8_t back[100000], in[100000];
    int fd = openat(dirfd_, "f", O_RDWR | O_CREAT, 0600);

    for (unsigned i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)(i * 7);
    ck_assert_int_eq(write(fd, in, sizeof(in)), sizeof(in));
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(cuvet_source_spool(fd, dir, sizeof(in), &source), CUVET_OK);
    ck_assert_uint_eq(source.length, sizeof(in));
    ck_assert_int_eq(source.read_at(source.user, 0, back, sizeof(back)), CUVET_OK);
    ck_assert_mem_eq(back, in, sizeof(in));
    cuvet_source_destroy(&source);
    ck_assert_int_eq(source.owned_fd, -1);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(cuvet_source_spool(fd, dir, sizeof(in) - 1, &source), CUVET_E_LIMIT);
    ck_assert_int_eq(cuvet_source_spool(fd, "/nonexistent", 10, &source), CUVET_E_IO);
    ck_assert_int_eq(cuvet_source_spool(dirfd_, dir, 10, &source), CUVET_E_IO); /* read() of a directory */
    ck_assert_int_eq(cuvet_source_spool(fd, dir, 10, NULL), CUVET_E_NULL);
    ck_assert_int_eq(entries(), 1); /* nothing left behind */
    close(fd);
}
END_TEST

START_TEST(window_moves_with_overlap)
{
    cv_ctx *ctx = make();
    cv_window window = { 0 };
    uint64_t count = CV_WINDOW_SIZE * 2 + 1000, off = 0, loads = 0;
    uint8_t *bytes = malloc(count);
    cuvet_source source = { .size = sizeof(source) };
    cv_span span;

    for (uint64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i ^ i >> 8);
    ck_assert_int_eq(cuvet_source_memory(bytes, count, &source), CUVET_OK);
    while (off < count) {
        ck_assert_int_eq(cv_window_at(ctx, &window, &source, off, 64, count, &span), CUVET_OK);
        ck_assert_uint_ge(span.len, count - off < 64 ? count - off : 64);
        ck_assert_uint_eq(span.off, off);
        ck_assert_uint_eq(cv_u8_at(span, 0), bytes[off]);
        ck_assert_uint_eq(cv_u8_at(span, span.len - 1), bytes[off + span.len - 1]);
        loads++;
        off += span.len > 100 ? span.len - 30 : span.len;
    }
    ck_assert_uint_le(loads, 8);
    /* an end inside the window cuts it */
    ck_assert_int_eq(cv_window_at(ctx, &window, &source, 0, 64, count, &span), CUVET_OK);
    ck_assert_int_eq(cv_window_at(ctx, &window, &source, 10, 64, 50, &span), CUVET_OK);
    ck_assert_uint_eq(span.len, 40);
    cv_window_free(ctx, &window);
    ck_assert_uint_eq(ctx->mem.live, 0);
    free(bytes);
}
END_TEST

typedef struct io_counted {
    uint8_t *bytes;
    uint64_t reads, read, bad; /* bad: a place that cannot be read, or UINT64_MAX */
} io_counted;

static cuvet_status read_counted(void *user, uint64_t off, void *buf, size_t len)
{
    io_counted *counted = user;

    counted->reads++;
    counted->read += len;
    if (counted->bad >= off && counted->bad < off + len)
        return CUVET_E_IO;
    memcpy(buf, counted->bytes + off, len);
    return CUVET_OK;
}

static io_counted many(uint64_t count)
{
    io_counted counted = { malloc(count), 0, 0, UINT64_MAX };

    ck_assert_ptr_nonnull(counted.bytes);
    for (uint64_t i = 0; i < count; i++)
        counted.bytes[i] = (uint8_t)(i ^ i >> 8 ^ i >> 16);
    return counted;
}

/* Exactly [off, off + len), or nothing. */
static bool near_at(cv_ctx *ctx, cv_window *window, const cuvet_source *source, uint64_t off, uint64_t len,
                    uint64_t end)
{
    const io_counted *counted = source->user;
    cv_span span;

    ck_assert_int_eq(cv_window_near(ctx, window, source, off, len, end, &span), CUVET_OK);
    if (span.len == 0)
        return false;
    ck_assert_uint_eq(span.len, len);
    ck_assert_uint_eq(span.off, off);
    ck_assert(cv_span_eq(span, cv_span_of(counted->bytes + off, len, 0)));
    return true;
}

START_TEST(near_ranges)
{
    cv_ctx *ctx = make();
    cv_window window = { 0 };
    uint64_t count = 4 * CV_WINDOW_SIZE, off;
    io_counted counted = many(count);
    cuvet_source source = { sizeof(source), count, read_counted, &counted, -1 };

    /* far from each other: each read alone, not a byte more */
    for (off = 0; off + 1000 <= count; off += CV_NEAR_MAX + 1001)
        ck_assert(near_at(ctx, &window, &source, off, 1000, count));
    ck_assert_uint_eq(counted.read, 1000 * counted.reads);
    /* one after the other, with gaps: more and more at once, a window at most, nothing beyond the end */
    cv_window_forget(&window);
    counted.reads = counted.read = 0;
    for (off = 0; off + 1000 <= count; off += 1500)
        ck_assert(near_at(ctx, &window, &source, off, 1000, count));
    ck_assert_uint_le(counted.reads, 14);
    ck_assert_uint_le(counted.read, count + 14 * 1000);
    ck_assert_uint_le(window.block.cap, CV_WINDOW_SIZE + CV_WINDOW_SIZE / 4);
    /* back, at the end, and where a range cannot be */
    ck_assert(near_at(ctx, &window, &source, 0, CV_NEAR_MAX, count));
    ck_assert(near_at(ctx, &window, &source, count - 1, 1, count));
    ck_assert(!near_at(ctx, &window, &source, 0, CV_NEAR_MAX + 1, count));
    ck_assert(!near_at(ctx, &window, &source, count - 1, 2, count));
    ck_assert(!near_at(ctx, &window, &source, 100, 10, 105));
    ck_assert(!near_at(ctx, &window, &source, 100, 10, count + 1));
    ck_assert(!near_at(ctx, &window, &source, UINT64_MAX, 1, count));
    ck_assert_uint_eq(ctx->n_errors, 0);
    cv_window_free(ctx, &window);
    ck_assert_uint_eq(ctx->mem.live, 0);
    free(counted.bytes);
}
END_TEST

/* What was forgotten is not taken for the bytes of the next source. */
START_TEST(near_forgets)
{
    cv_ctx *ctx = make();
    cv_window window = { 0 };
    io_counted left = many(5000), right = many(5000);
    cuvet_source source = { sizeof(source), 5000, read_counted, &left, -1 },
                 target = { sizeof(target), 5000, read_counted, &right, -1 };

    memset(right.bytes, 0x77, 5000);
    ck_assert(near_at(ctx, &window, &source, 0, 5000, 5000));
    cv_window_forget(&window);
    ck_assert(near_at(ctx, &window, &target, 0, 5000, 5000));
    cv_window_free(ctx, &window);
    free(left.bytes);
    free(right.bytes);
}
END_TEST

/* A bad place and a tight budget cost the read-ahead, never the range that was asked for. */
START_TEST(near_gives_way)
{
    cv_ctx *ctx = make();
    cv_window window = { 0 };
    io_counted counted = many(20000);
    cuvet_source source = { sizeof(source), 20000, read_counted, &counted, -1 };
    uint8_t buf[500];
    uint64_t got = 0;

    counted.bad = 10100;
    for (uint64_t off = 0; off < 20000; off += 500) {
        cuvet_status st = cv_window_read(ctx, &window, &source, off, buf, sizeof(buf), 20000);

        ck_assert_int_eq(st, off == 10000 ? CUVET_E_IO : CUVET_OK);
        if (st == CUVET_OK)
            ck_assert_mem_eq(buf, counted.bytes + off, sizeof(buf));
        got += st == CUVET_OK;
    }
    ck_assert_uint_eq(got, 39);
    ck_assert_uint_eq(ctx->n_errors, 1); /* for the range that is bad, and no other */
    cv_window_free(ctx, &window);
    ctx->mem.limit = 499;
    ck_assert(!near_at(ctx, &window, &source, 0, 500, 20000));
    ck_assert_int_eq(cv_window_read(ctx, &window, &source, 0, buf, sizeof(buf), 20000), CUVET_OK);
    ck_assert_mem_eq(buf, counted.bytes, sizeof(buf));
    ctx->mem.limit = 500;
    ck_assert(near_at(ctx, &window, &source, 0, 500, 20000));
    ck_assert(near_at(ctx, &window, &source, 600, 500, 20000)); /* alone: there is no room for what follows */
    ck_assert(!near_at(ctx, &window, &source, 1100, 501, 20000));
    ck_assert_uint_eq(ctx->n_errors, 1);
    ck_assert(!ctx->mem.limited);
    cv_window_free(ctx, &window);
    ck_assert_uint_eq(ctx->mem.live, 0);
    free(counted.bytes);
}
END_TEST

static void *refuse(void *user, size_t size)
{
    (void)user, (void)size;
    return NULL;
}

START_TEST(near_without_memory)
{
    cv_ctx *ctx = make();
    cv_window window = { 0 };
    io_counted counted = many(100);
    cuvet_source source = { sizeof(source), 100, read_counted, &counted, -1 };
    cv_span span;

    ctx->mem.alloc.alloc = refuse;
    ck_assert_int_eq(cv_window_near(ctx, &window, &source, 0, 10, 100, &span), CUVET_E_NOMEM);
    ck_assert_uint_eq(counted.reads, 0);
    free(counted.bytes);
}
END_TEST

static void read_back(const char *name, char *buf, size_t len)
{
    int fd = openat(dirfd_, name, O_RDONLY);
    ssize_t result = read(fd, buf, len - 1);

    ck_assert_int_ge(result, 0);
    buf[result] = 0;
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
    cv_mem mem;
    int fd = open("/dev/full", O_WRONLY);

    cv_mem_init(&mem, NULL, 1 << 20);
    for (unsigned i = 0; i < 100; i++) {
        cv_slices_borrow(&mem, &out, cv_span_of("abc", 3, 0));
        cv_slices_zero(&mem, &out, 5000);
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
    cv_slices_free(&mem, &out);
}
END_TEST

Suite *suite_io(void)
{
    Suite *suite = suite_create("io");
    TCase *tcase = tcase_create("io");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, memory_source);
    tcase_add_test(tcase, block_limit);
    tcase_add_test(tcase, file_source);
    tcase_add_test(tcase, holes);
    tcase_add_test(tcase, spool);
    tcase_add_test(tcase, window_moves_with_overlap);
    tcase_add_test(tcase, near_ranges);
    tcase_add_test(tcase, near_forgets);
    tcase_add_test(tcase, near_gives_way);
    tcase_add_test(tcase, near_without_memory);
    tcase_add_test(tcase, saves_whole_or_not_at_all);
    tcase_add_test(tcase, names_stay_inside);
    tcase_add_test(tcase, links_are_not_followed);
    tcase_add_test(tcase, full_device);
    suite_add_tcase(suite, tcase);
    return suite;
}

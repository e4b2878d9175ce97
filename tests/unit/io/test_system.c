/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The system says no: each call by which files are read and written fails once, is interrupted, or does a
 * part of what it was asked for. The linker puts the functions of this file in the place of the calls
 * (mk/tests.mk); what no test has planned goes on to the system. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cuvet/context.h>

#include "base/ctx.h"
#include "io/sink.h"
#include "io/source.h"
#include "support/scratch.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

enum { PART = -1, FOREVER = 5000 }; /* instead of an error: one byte; how often */

/* What is to happen: the call with this name fails so often with this error. */
typedef struct plan {
    const char *call;
    int error;
    unsigned times;
} plan;

static plan plans[3];

static int planned(const char *call)
{
    for (size_t i = 0; i < N(plans); i++)
        if (plans[i].call && plans[i].times != 0 && strcmp(plans[i].call, call) == 0) {
            plans[i].times--;
            return plans[i].error;
        }
    return 0;
}

static bool fails(const char *call)
{
    int error = planned(call);

    if (error > 0)
        errno = error;
    return error > 0;
}

/* Each with the prototype of the call, and the call itself by the name that the linker gives it. */
#define WRAPPED(type, name, parameters, arguments)                                                           \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails(#name) ? -1 : __real_##name arguments;                                                  \
    }

WRAPPED(int, fsync, (int fd), (fd))
WRAPPED(int, close, (int fd), (fd))
WRAPPED(int, renameat, (int from, const char *old, int to, const char *name), (from, old, to, name))
WRAPPED(int, renameat2, (int from, const char *old, int to, const char *name, unsigned flags),
        (from, old, to, name, flags))
WRAPPED(int, linkat, (int from, const char *old, int to, const char *name, int flags),
        (from, old, to, name, flags))
WRAPPED(int, unlinkat, (int from, const char *name, int flags), (from, name, flags))
WRAPPED(int, openat64, (int folder, const char *name, int flags, mode_t mode), (folder, name, flags, mode))
WRAPPED(int, open64, (const char *name, int flags, mode_t mode), (name, flags, mode))
WRAPPED(int, mkostemp64, (char *name, int flags), (name, flags))
WRAPPED(int, fstat64, (int fd, struct stat *out), (fd, out))
WRAPPED(ssize_t, read, (int fd, void *to, size_t size), (fd, to, size))
WRAPPED(ssize_t, pread64, (int fd, void *to, size_t size, off_t off), (fd, to, size, off))

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size)
{
    int error = planned("write");

    errno = error > 0 ? error : errno;
    return error > 0 ? -1 : __real_write(fd, from, error == PART ? 1 : size);
}

ssize_t __real_writev(int fd, const struct iovec *from, int count);
ssize_t __wrap_writev(int fd, const struct iovec *from, int count);
ssize_t __wrap_writev(int fd, const struct iovec *from, int count)
{
    struct iovec part = { from->iov_base, 1 };
    int error = planned("writev");

    errno = error > 0 ? error : errno;
    return error > 0 ? -1 : __real_writev(fd, error == PART ? &part : from, error == PART ? 1 : count);
}

static cv_ctx ctx;
static unsigned modified;
static int folder;
static char dir[SCRATCH_MAX];

static void emit(void *user, const cuvet_diag *diag)
{
    (void)user;
    modified += diag->rule == CV_R_IO_MODIFIED;
}

static void setup(void)
{
    cuvet_limits lim = { .size = sizeof(lim) };

    ck_assert_int_eq(cuvet_limits_preset("strict", &lim), CUVET_OK);
    cv_ctx_init(&ctx, &cv_alloc_default, &lim);
    ctx.emit = emit;
    modified = 0;
    memset(plans, 0, sizeof(plans));
    scratch_make(dir);
    folder = open(dir, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(folder, 0);
}

static void teardown(void)
{
    memset(plans, 0, sizeof(plans));
    (void)unlinkat(folder, "out", 0); /* some tests leave none */
    close(folder);
    scratch_remove(dir);
    ck_assert_uint_eq(ctx.mem.live, 0);
}

static const char TEXT[] = "what is written";

static bool is_there(const char *name, const char *text)
{
    char got[64] = { 0 };
    int fd = openat(folder, name, O_RDONLY);
    ssize_t count = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

    if (fd >= 0)
        close(fd);
    return count >= 0 && strcmp(got, text) == 0;
}

/* How many files are left in the folder. */
static unsigned left(void)
{
    unsigned count = 0;

    for (unsigned i = 0; i < 1001; i++) {
        char name[64];

        snprintf(name, sizeof(name), ".out.%ld.%u.tmp", (long)getpid(), i);
        count += faccessat(folder, name, F_OK, 0) == 0;
    }
    return count;
}

START_TEST(files_are_whole_or_not_there)
{
    static const struct {
        const char *what;
        plan plans[3];
        unsigned flags;
        cuvet_status status;
        unsigned left;
    } CASES[] = {
        { "nothing", { { 0 } }, 0, CUVET_OK, 0 },
        { "interrupted", { { "writev", EINTR, 2 } }, 0, CUVET_OK, 0 },
        { "byte by byte", { { "writev", PART, FOREVER } }, 0, CUVET_OK, 0 },
        { "a full disk", { { "writev", ENOSPC, 1 } }, 0, CUVET_E_IO, 0 },
        { "a full disk, said once more at the end",
          { { "writev", ENOSPC, 1 }, { "close", EIO, 1 } },
          0,
          CUVET_E_IO,
          0 },
        { "said at the end", { { "close", EIO, 1 } }, 0, CUVET_E_IO, 0 },
        { "not kept", { { "fsync", EIO, 1 } }, CUVET_SAVE_SYNC, CUVET_E_IO, 0 },
        { "kept", { { 0 } }, CUVET_SAVE_SYNC, CUVET_OK, 0 },
        { "nobody asked", { { "fsync", EIO, 1 } }, 0, CUVET_OK, 0 },
        { "a name that is taken", { { "openat64", EEXIST, 3 } }, 0, CUVET_OK, 0 },
        { "all names are taken", { { "openat64", EEXIST, FOREVER } }, 0, CUVET_E_IO, 0 },
        { "a folder of others", { { "openat64", EACCES, 1 } }, 0, CUVET_E_IO, 0 },
        { "not replaced", { { "renameat", EIO, 1 } }, CUVET_SAVE_REPLACE, CUVET_E_IO, 0 },
        { "somebody was faster", { { "renameat2", EEXIST, 1 } }, 0, CUVET_E_EXISTS, 0 },
        { "no exclusive rename", { { "renameat2", EINVAL, 1 } }, 0, CUVET_OK, 0 },
        { "no exclusive rename, and somebody was faster",
          { { "renameat2", EINVAL, 1 }, { "linkat", EEXIST, 1 } },
          0,
          CUVET_E_EXISTS,
          0 },
        { "no links either", { { "renameat2", EINVAL, 1 }, { "linkat", EPERM, 1 } }, 0, CUVET_E_IO, 0 },
        { "the other name stays", { { "renameat2", EINVAL, 1 }, { "unlinkat", EIO, 1 } }, 0, CUVET_E_IO, 0 },
    };

    for (size_t i = 0; i < N(CASES); i++) {
        cuvet_status status;

        memcpy(plans, CASES[i].plans, sizeof(plans));
        status = cuvet_save(folder, "out", TEXT, strlen(TEXT), CASES[i].flags);
        memset(plans, 0, sizeof(plans));
        ck_assert_msg(status == CASES[i].status, "%s: %s", CASES[i].what, cuvet_status_name(status));
        ck_assert_msg(status != CUVET_OK || is_there("out", TEXT), "%s", CASES[i].what);
        ck_assert_msg(left() == CASES[i].left, "%s: %u are left", CASES[i].what, left());
        (void)unlinkat(folder, "out", 0); /* it is not there after a failure */
    }
}
END_TEST

START_TEST(other_places)
{
    char path[1024] = { 0 };
    cv_slices out = { 0 };
    int fd, here;

    ck_assert_int_eq(cv_sink_file(folder, NULL, &out, (cv_sink_options){ 0 }), CUVET_E_USAGE);
    ck_assert_int_eq(cuvet_save(folder, "out", "", 0, 0), CUVET_OK);
    ck_assert(is_there("out", ""));
    cv_slices_borrow(&ctx.mem, &out, cv_span_of("ab", 2, 0));
    fd = openat(folder, "out", O_WRONLY);
    ck_assert_int_eq(cv_sink_fd(fd, &out), CUVET_OK);
    ck_assert_int_eq(cv_sink_fd(fd, &out), CUVET_OK); /* behind it */
    close(fd);
    ck_assert(is_there("out", "abab"));
    cv_slices_free(&ctx.mem, &out);
    memset(path, 'a', sizeof(path) - 1);
    path[900] = '/';
    ck_assert_int_eq(cv_sink_path(path, "x", 1, 0), CUVET_E_IO); /* a folder too long for a frame */
    here = open(".", O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(fchdir(folder), 0);
    ck_assert_int_eq(cv_sink_path("out", "x", 1, CUVET_SAVE_REPLACE), CUVET_OK);
    ck_assert(is_there("out", "x"));
    ck_assert_int_eq(fchdir(here), 0);
    close(here);
}
END_TEST

START_TEST(reads)
{
    static const struct {
        plan plan;
        cuvet_status status;
    } CASES[] = { { { "pread64", EINTR, 2 }, CUVET_OK },
                  { { "pread64", EIO, 1 }, CUVET_E_IO },
                  { { 0 }, CUVET_OK } };
    cuvet_source src = { .size = sizeof(src) };
    char got[sizeof(TEXT)];
    int fd;

    ck_assert_int_eq(cuvet_save(folder, "out", TEXT, strlen(TEXT), 0), CUVET_OK);
    fd = openat(folder, "out", O_RDONLY);
    plans[0] = (plan){ "fstat64", EIO, 1 };
    ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_E_IO);
    ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
    for (size_t i = 0; i < N(CASES); i++) {
        plans[0] = CASES[i].plan;
        ck_assert_int_eq(src.read_at(src.user, 0, got, strlen(TEXT)), CASES[i].status);
    }
    ck_assert_int_eq(src.read_at(src.user, 1, got, strlen(TEXT)), CUVET_E_IO); /* behind the end */
    cuvet_source_destroy(&src);
    cuvet_source_destroy(NULL);
    close(fd);
    ck_assert_int_eq(cuvet_source_path("/", &src), CUVET_E_IO); /* a folder */
    src.size = 0;
    ck_assert_int_eq(cuvet_source_memory("x", 1, &src), CUVET_E_USAGE); /* a structure of no size */
    cuvet_source_destroy(&src);
}
END_TEST

START_TEST(changes)
{
    cuvet_source src = { .size = sizeof(src) };
    cv_source_state state, other;
    int fd, ends[2];

    ck_assert_int_eq(cuvet_save(folder, "out", TEXT, strlen(TEXT), 0), CUVET_OK);
    fd = openat(folder, "out", O_RDONLY);
    ck_assert_int_eq(cuvet_source_fd(fd, &src), CUVET_OK);
    state = cv_source_look(&src);
    ck_assert_uint_eq(state.size, strlen(TEXT));
    ck_assert_int_eq(cv_source_unchanged(&ctx, &src, &state), CUVET_OK);
    for (unsigned k = 0; k < 3; k++) {
        other = state;
        other.size += k == 0;
        other.seconds += k == 1;
        other.nanoseconds += k == 2;
        ck_assert_int_ne(cv_source_unchanged(&ctx, &src, &other), CUVET_OK);
        ck_assert_uint_eq(modified, k + 1);
    }
    close(fd); /* nobody can look any more */
    ck_assert_uint_eq(cv_source_look(&src).size, 0);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(cuvet_source_fd_sized(ends[0], 4, &src), CUVET_OK);
    ck_assert_uint_eq(cv_source_look(&src).size, 0); /* no file */
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(spools)
{
    static char long_name[1000];
    const struct {
        const char *what;
        plan plans[3];
        const char *folder; /* NULL: the one of the environment */
        cuvet_status status;
    } CASES[] = {
        { "nothing", { { 0 } }, NULL, CUVET_OK },
        { "the usual folder", { { 0 } }, "", access("/tmp", W_OK) == 0 ? CUVET_OK : CUVET_E_IO },
        { "interrupted", { { "read", EINTR, 1 }, { "write", EINTR, 1 } }, NULL, CUVET_OK },
        { "byte by byte", { { "write", PART, FOREVER } }, NULL, CUVET_OK },
        { "no more to be read", { { "read", EIO, 1 } }, NULL, CUVET_E_IO },
        { "a full disk", { { "write", ENOSPC, 1 } }, NULL, CUVET_E_IO },
        { "no length", { { "fstat64", EIO, 1 } }, NULL, CUVET_E_IO },
        { "no files without a name", { { "open64", EOPNOTSUPP, 1 } }, NULL, CUVET_OK },
        { "no files at all", { { "open64", EOPNOTSUPP, 1 }, { "mkostemp64", EACCES, 1 } }, NULL, CUVET_E_IO },
        { "a folder with a long name", { { 0 } }, long_name, CUVET_E_IO },
    };

    memset(long_name, 'a', sizeof(long_name) - 1);
    for (size_t i = 0; i < N(CASES); i++) {
        cuvet_source src = { .size = sizeof(src) };
        cuvet_status status;
        char got[sizeof(TEXT)];
        int ends[2];

        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(write(ends[1], TEXT, strlen(TEXT)), (ssize_t)strlen(TEXT));
        close(ends[1]);
        memcpy(plans, CASES[i].plans, sizeof(plans));
        status = cuvet_source_spool(ends[0], CASES[i].folder, 1000, &src);
        memset(plans, 0, sizeof(plans));
        ck_assert_msg(status == CASES[i].status, "%s: %s", CASES[i].what, cuvet_status_name(status));
        if (status == CUVET_OK) {
            ck_assert_uint_eq(src.length, strlen(TEXT));
            ck_assert_int_eq(src.read_at(src.user, 0, got, strlen(TEXT)), CUVET_OK);
            ck_assert_int_eq(memcmp(got, TEXT, strlen(TEXT)), 0);
            cuvet_source_destroy(&src);
        }
        close(ends[0]);
    }
}
END_TEST

/* Places of a block that are not there. */
START_TEST(blocks)
{
    static const struct {
        uint64_t off, len;
        bool there;
    } CASES[] = { { 0, 16, true }, { 16, 0, true },          { 17, 0, false },
                  { 8, 9, false }, { 1, UINT64_MAX, false }, { UINT64_MAX, 1, false } };
    cv_block block = { 0 };

    ck_assert_ptr_null(cv_block_at(&block, 0, 0)); /* no memory */
    ck_assert_int_eq(cv_block_zero(&ctx, &block, 16), CUVET_OK);
    for (size_t i = 0; i < N(CASES); i++) {
        cv_span bytes = cv_span_of("0123456789abcdef", CASES[i].len, 0);

        if (block.cap != 16)
            break; /* a heap that rounds up has room behind it */
        ck_assert_int_eq(cv_block_at(&block, CASES[i].off, CASES[i].len) != NULL, CASES[i].there);
        cv_block_clear(&block, CASES[i].off, CASES[i].len);
        ck_assert(CASES[i].len > 16 || cv_block_put(&block, CASES[i].off, bytes) == CASES[i].there);
    }
    ck_assert(!cv_block_put(&block, block.cap, cv_span_of("x", 1, 0)));
    cv_block_clear(&block, block.cap, 1);
    cv_block_free(&ctx, &block);
}
END_TEST

Suite *suite_test_system(void)
{
    Suite *suite = suite_create("system");
    TCase *tcase = tcase_create("system");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, files_are_whole_or_not_there);
    tcase_add_test(tcase, other_places);
    tcase_add_test(tcase, reads);
    tcase_add_test(tcase, changes);
    tcase_add_test(tcase, spools);
    tcase_add_test(tcase, blocks);
    suite_add_tcase(suite, tcase);
    return suite;
}

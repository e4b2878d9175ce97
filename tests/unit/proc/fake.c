/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "unit/proc/fake.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

char fake_dir[SCRATCH_MAX];
char fake_path[PATH_MAX];

static int fds_before;

void fake_setup(void)
{
    ssize_t n = readlink("/proc/self/exe", fake_path, sizeof(fake_path) - 32);
    char *slash;

    ck_assert_int_gt(n, 0);
    fake_path[n] = 0;
    slash = strrchr(fake_path, '/');
    ck_assert_ptr_nonnull(slash);
    strcpy(slash, "/fake_compiler"); /* beside this binary */
    ck_assert_int_eq(access(fake_path, X_OK), 0);
    scratch_make(fake_dir);
    fds_before = fake_open_fds();
}

void fake_teardown(void)
{
    ck_assert_int_eq(fake_survivors(), 0);
    ck_assert_int_eq(fake_open_fds(), fds_before);
    ck_assert_int_eq(fake_entries(), 0);
    ck_assert_int_eq(rmdir(fake_dir), 0);
    errno = 0;
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no child, no zombie */
    ck_assert_int_eq(errno, ECHILD);
}

static int entries_of(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

int fake_entries(void)
{
    return entries_of(fake_dir);
}

int fake_open_fds(void)
{
    return entries_of("/proc/self/fd");
}

bool fake_wait_started(void)
{
    static const struct timespec PAUSE = { 0, 2000000 };

    for (int i = 0; i < 5000; i++) {
        DIR *d = opendir(fake_dir);
        struct dirent *e;
        char path[PATH_MAX];
        bool there = false;

        ck_assert_ptr_nonnull(d);
        while ((e = readdir(d)) != NULL) {
            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s/started", fake_dir, e->d_name);
            there |= access(path, F_OK) == 0;
        }
        closedir(d);
        if (there)
            return true;
        nanosleep(&PAUSE, NULL);
    }
    return false;
}

/* Its numbers may be those of a space of their own: what tells them is the directory they work in. */
int fake_survivors(void)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int found = 0;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)) != NULL) {
        char path[PATH_MAX], cwd[128] = "";

        snprintf(path, sizeof(path), "/proc/%s/cwd", e->d_name);
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && readlink(path, cwd, sizeof(cwd) - 1) > 0)
            found += strncmp(cwd, fake_dir, strlen(fake_dir)) == 0;
    }
    closedir(d);
    return found;
}

int fake_dead_pids(const char *log, size_t n)
{
    char text[4096];
    int found = 0;

    ck_assert_int_eq(fake_survivors(), 0);
    ck_assert_uint_lt(n, sizeof(text));
    if (n > 0)
        memcpy(text, log, n);
    text[n] = 0;
    for (const char *p = text; (p = strstr(p, "pid ")) != NULL; p += 4)
        found++;
    return found;
}

cv_external fake_conf(uint64_t deadline_ms, uint64_t output)
{
    const cuvet_external given = { .size = sizeof(given),
                                   .path = fake_path,
                                   .directory = fake_dir,
                                   .deadline_ms = deadline_ms,
                                   .output = output };
    cv_external e = { .alloc = cv_alloc_default };

    ck_assert_int_eq(cv_external_check(&given, &e.conf), CUVET_OK);
    return e;
}

cuvet_compile_result fake_compile(cv_external *e, const bool *cancel, const char *const *options)
{
    static const bool never = false;
    static const char TEXT[] = "input text";
    cuvet_compile_request q = { .size = sizeof(q),
                                .kind = CUVET_K_PTX,
                                .bytes = TEXT,
                                .n = sizeof(TEXT) - 1,
                                .sm = 90,
                                .suffix = 'a',
                                .option = options,
                                .threads = 1,
                                .cancel = cancel ? cancel : &never };
    cuvet_compile_result r = { .size = sizeof(r) };

    while (options[q.n_options])
        q.n_options++;
    ck_assert_int_eq(cv_external_compile(e, &q, &r), CUVET_OK);
    ck_assert_int_eq(fake_entries(), 0);
    ck_assert(r.end == CUVET_COMPILED ? r.bytes && r.n > 0 : !r.bytes && r.n == 0);
    return r;
}

void fake_release(cv_external *e, cuvet_compile_result *r)
{
    if (r->release)
        r->release(r, e);
    ck_assert_ptr_null(r->bytes);
    ck_assert_ptr_null(r->log);
}

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
    ssize_t got = readlink("/proc/self/exe", fake_path, sizeof(fake_path) - 32);
    char *slash;

    ck_assert_int_gt(got, 0);
    fake_path[got] = 0;
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
    DIR *dir = opendir(path);
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
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
        DIR *dir = opendir(fake_dir);
        struct dirent *entry;
        char path[PATH_MAX];
        bool there = false;

        ck_assert_ptr_nonnull(dir);
        while ((entry = readdir(dir)) != NULL) {
            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s/started", fake_dir, entry->d_name);
            there |= access(path, F_OK) == 0;
        }
        closedir(dir);
        if (there)
            return true;
        nanosleep(&PAUSE, NULL);
    }
    return false;
}

/* Its numbers may be those of a space of their own: what tells them is the directory they work in. */
int fake_survivors(void)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int found = 0;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        char path[PATH_MAX], cwd[128] = "";

        snprintf(path, sizeof(path), "/proc/%s/cwd", entry->d_name);
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && readlink(path, cwd, sizeof(cwd) - 1) > 0)
            found += strncmp(cwd, fake_dir, strlen(fake_dir)) == 0;
    }
    closedir(dir);
    return found;
}

int fake_dead_pids(const char *log, size_t len)
{
    char text[4096];
    int found = 0;

    ck_assert_int_eq(fake_survivors(), 0);
    ck_assert_uint_lt(len, sizeof(text));
    if (len > 0)
        memcpy(text, log, len);
    text[len] = 0;
    for (const char *at = text; (at = strstr(at, "pid ")) != NULL; at += 4)
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
    cv_external external = { .alloc = cv_alloc_default };

    ck_assert_int_eq(cv_external_check(&given, &external.conf), CUVET_OK);
    return external;
}

cuvet_compile_result fake_compile(cv_external *external, const int *cancel, const char *const *options)
{
    static const int never = 0;
    static const char TEXT[] = "input text";
    cuvet_compile_request request = { .size = sizeof(request),
                                      .kind = CUVET_K_PTX,
                                      .bytes = TEXT,
                                      .n = sizeof(TEXT) - 1,
                                      .sm = 90,
                                      .suffix = 'a',
                                      .option = options,
                                      .threads = 1,
                                      .cancel = cancel ? cancel : &never };
    cuvet_compile_result result = { .size = sizeof(result) };

    while (options[request.n_options])
        request.n_options++;
    ck_assert_int_eq(cv_external_compile(external, &request, &result), CUVET_OK);
    ck_assert_int_eq(fake_entries(), 0);
    ck_assert(result.end == CUVET_COMPILED ? result.bytes && result.n > 0 : !result.bytes && result.n == 0);
    return result;
}

void fake_release(cv_external *external, cuvet_compile_result *result)
{
    if (result->release)
        result->release(result, external);
    ck_assert_ptr_null(result->bytes);
    ck_assert_ptr_null(result->log);
}

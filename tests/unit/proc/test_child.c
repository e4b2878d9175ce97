/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caller's side of a child: whatever the caller's process does with signals and descriptors, and even
 * when it dies. And the private directory. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc/child.h"
#include "proc/tmpdir.h"
#include "unit/proc/fake.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A caller that ignores SIGCHLD, and one that waits for any child on another thread. */
START_TEST(sigchld_ignored)
{
    cv_external external = fake_conf(0, 0);
    struct sigaction now;
    cuvet_compile_result result;

    signal(SIGCHLD, SIG_IGN);
    result = fake_compile(&external, NULL, OPTIONS("--do=brood"));
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_int_eq(fake_dead_pids(result.log, result.n_log), 9);
    fake_release(&external, &result);
    result = fake_compile(&external, NULL, OPTIONS("--do=exit7"));
    ck_assert_int_eq(result.end, CUVET_COMPILE_FAILED);
    ck_assert_int_eq(result.detail, 7);
    fake_release(&external, &result);
    ck_assert_int_eq(sigaction(SIGCHLD, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}
END_TEST

static void *thief(void *stop)
{
    static const struct timespec PAUSE = { 0, 100000 };

    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        if (waitpid(-1, NULL, 0) < 0)
            nanosleep(&PAUSE, NULL);
    return NULL;
}

START_TEST(children_stolen)
{
    cv_external external = fake_conf(0, 0);
    bool stop = false;
    pthread_t pthread;

    ck_assert_int_eq(pthread_create(&pthread, NULL, thief, &stop), 0);
    for (int i = 0; i < 20; i++) {
        cuvet_compile_result result = fake_compile(&external, NULL, OPTIONS("--do=exit7"));

        ck_assert_int_eq(result.end, CUVET_COMPILE_FAILED);
        ck_assert_int_eq(result.detail, 7);
        fake_release(&external, &result);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    ck_assert_int_eq(pthread_join(pthread, NULL), 0);
}
END_TEST

/* A caller without its first three descriptors. */
START_TEST(standard_descriptors_closed)
{
    cv_external external = fake_conf(0, 0);
    int keep[3];
    cuvet_compile_result result;

    for (int i = 0; i < 3; i++) {
        keep[i] = fcntl(i, F_DUPFD, 100);
        close(i);
    }
    result = fake_compile(&external, NULL, OPTIONS("--do=tell"));
    for (int i = 0; i < 3; i++) {
        if (keep[i] >= 0)
            dup2(keep[i], i);
        close(keep[i]);
    }
    ck_assert_int_eq(result.end, CUVET_COMPILED);
    ck_assert_uint_gt(result.n_log, 0);
    fake_release(&external, &result);
}
END_TEST

/* A caller with hardly any descriptors left: it works, or it is said; nothing leaks. */
START_TEST(few_descriptors)
{
    cv_external external = fake_conf(0, 0);
    struct rlimit old, now;
    int worked = 0, failed = 0;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    for (rlim_t rlim = CV_FD_LOWEST - 1; rlim < CV_FD_LOWEST + 16; rlim++) {
        static const int never = 0;
        const cuvet_compile_request request = { .size = sizeof(request),
                                                .kind = CUVET_K_PTX,
                                                .bytes = "text",
                                                .n = 4,
                                                .sm = 90,
                                                .threads = 1,
                                                .cancel = &never };
        cuvet_compile_result result = { .size = sizeof(result) };
        int fds = fake_open_fds();
        cuvet_status status;

        now = old;
        now.rlim_cur = rlim;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &now), 0);
        status = cv_external_compile(&external, &request, &result);
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
        ck_assert_int_eq(status, CUVET_OK);
        ck_assert(result.end == CUVET_COMPILED || result.end == CUVET_COMPILE_NOT_FOUND);
        worked += result.end == CUVET_COMPILED;
        failed += result.end != CUVET_COMPILED;
        ck_assert_int_eq(fake_open_fds(), fds);
        ck_assert_int_eq(fake_entries(), 0);
        fake_release(&external, &result);
    }
    ck_assert_int_ge(worked, 1);
    ck_assert_int_ge(failed, 3);
}
END_TEST

static int only_child(void)
{
    char path[64];
    int pid = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &pid), 1);
    fclose(file);
    return pid;
}

static void *attack(void *sig)
{
    ck_assert(fake_wait_started());
    kill(only_child(), *(int *)sig);
    return NULL;
}

/* No orphan: killed by now, or on its way. */
static bool nobody_left(void)
{
    static const struct timespec PAUSE = { 0, 1000000 };

    for (int i = 0; i < 10000; i++) {
        if (fake_survivors() == 0)
            return true;
        nanosleep(&PAUSE, NULL);
    }
    return false;
}

/* Somebody kills the supervisor, or stops it: the program dies with it, and the call ends. */
START_TEST(keeper_lost)
{
    cv_external external = fake_conf(_i ? 100 : 0, 0);
    int sig = _i ? SIGSTOP : SIGKILL;
    cuvet_compile_result result;
    pthread_t pthread;

    ck_assert_int_eq(pthread_create(&pthread, NULL, attack, &sig), 0);
    result = fake_compile(&external, NULL, OPTIONS("--do=sleep"));
    ck_assert_int_eq(pthread_join(pthread, NULL), 0);
    ck_assert_int_eq(result.end, _i ? CUVET_COMPILE_TIMEOUT : CUVET_COMPILE_CRASHED);
    ck_assert_int_eq(result.detail, _i ? 100 : SIGKILL);
    ck_assert_uint_gt(result.n_log, 4);
    ck_assert(nobody_left());
    fake_release(&external, &result);
}
END_TEST

/* The caller dies in the middle: its supervisor kills and clears up. */
START_TEST(caller_dies)
{
    static const struct timespec PAUSE = { 0, 2000000 };
    int out[2];
    char ch;
    pid_t place;

    ck_assert_int_eq(pipe(out), 0);
    place = fork();
    if (place == 0) {
        cv_external external = fake_conf(0, 0);

        close(out[0]);
        fake_compile(&external, NULL, OPTIONS("--do=broodsleep"));
        _exit(0);
    }
    close(out[1]);
    ck_assert(fake_wait_started());
    ck_assert_int_eq(kill(place, SIGKILL), 0);
    ck_assert_int_eq(waitpid(place, NULL, 0), place);
    for (int i = 0; i < 5000 && fake_entries() > 0; i++)
        nanosleep(&PAUSE, NULL);
    ck_assert_int_eq(fake_entries(), 0);
    ck_assert(nobody_left());
    ck_assert_int_eq(read(out[0], &ch, 1), 0); /* the end: nobody of them is left */
    close(out[0]);
}
END_TEST

/* As a user without privileges: the limit of processes holds, on top of those that the user has. */
START_TEST(as_nobody)
{
    int status;
    pid_t place;

    if (getuid() != 0) {
        printf("SKIPPED: only root can become another user\n");
        return;
    }
    ck_assert_int_eq(chmod(fake_dir, 0777), 0);
    place = fork();
    if (place == 0) {
        char copy[128], cmd[512];
        cv_external external = fake_conf(0, 0);
        cuvet_compile_result result;

        snprintf(copy, sizeof(copy), "%s.compiler", fake_dir);
        snprintf(cmd, sizeof(cmd), "cp %s %s && chmod 755 %s", fake_path, copy, copy);
        ck_assert_int_eq(system(cmd), 0);
        ck_assert_int_eq(setgid(65534) || setuid(65534), 0);
        external.conf.path = copy;
        result = fake_compile(&external, NULL, OPTIONS("--do=forks"));
        ck_assert_int_eq(result.end, CUVET_COMPILE_FAILED); /* its exit code is how many it could have */
        ck_assert_int_ge(result.detail, 1);
        ck_assert_int_le(result.detail, 16);
        fake_release(&external, &result);
        result = fake_compile(&external, NULL, OPTIONS("--do=litter"));
        ck_assert_int_eq(result.end, CUVET_COMPILED);
        ck_assert_uint_eq(result.n_log, 0);
        fake_release(&external, &result);
        result = fake_compile(&external, NULL, OPTIONS("--do=brood"));
        ck_assert_int_eq(result.end, CUVET_COMPILED);
        ck_assert_int_eq(fake_dead_pids(result.log, result.n_log), 9);
        fake_release(&external, &result);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(place, &status, 0), place);
    snprintf(fake_path, 128, "%s.compiler", fake_dir);
    unlink(fake_path);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(private_directory)
{
    cv_tmpdir tmpdir;
    char path[160];
    struct stat st;

    ck_assert_int_eq(cv_tmpdir_create(&tmpdir, "/nonexistent"), ENOENT);
    ck_assert_int_eq(cv_tmpdir_create(&tmpdir, "/dev/null"), ENOTDIR);
    ck_assert_int_eq(cv_tmpdir_create(&tmpdir, fake_dir), 0);
    ck_assert_int_ge(tmpdir.dir, CV_FD_LOWEST);
    ck_assert_int_eq(fake_entries(), 1);
    snprintf(path, sizeof(path), "%s/%s", fake_dir, tmpdir.name);
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode, S_IFDIR | 0700);
    ck_assert_int_eq(cv_tmpdir_write(&tmpdir, "a", "bytes", 5), 0);
    ck_assert_int_eq(cv_tmpdir_write(&tmpdir, "a", "bytes", 5), EEXIST);
    ck_assert_int_eq(fstatat(tmpdir.dir, "a", &st, 0), 0);
    ck_assert_uint_eq(st.st_mode, S_IFREG | 0600);
    ck_assert_int_eq(st.st_size, 5);
    ck_assert_int_eq(symlinkat("/etc/cuvet-test", tmpdir.dir, "link"), 0);
    ck_assert_int_eq(cv_tmpdir_write(&tmpdir, "link", "bytes", 5), EEXIST); /* never through a link */
    ck_assert_int_eq(cv_tmpdir_remove(&tmpdir), 0);
    ck_assert_int_eq(fake_entries(), 0);
    ck_assert_int_eq(cv_tmpdir_remove(&tmpdir), 0); /* gone already */
    cv_tmpdir_close(&tmpdir);
    ck_assert_int_eq(tmpdir.dir, -1);
}
END_TEST

/* Names that get in the way of moving things up, links out, directories without rights: all gone, and what
 * the links point to is still there. */
START_TEST(nest_hostile)
{
    char outside[128], name[32];
    cv_tmpdir tmpdir;
    int fd, distance;

    snprintf(outside, sizeof(outside), "%s.out", fake_dir);
    ck_assert_int_eq(mkdir(outside, 0700), 0);
    fd = open(outside, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(mkdirat(fd, "keep", 0700), 0);
    ck_assert_int_eq(cv_tmpdir_create(&tmpdir, fake_dir), 0);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "~%d", i);
        if (i % 3 == 0)
            ck_assert_int_eq(cv_tmpdir_write(&tmpdir, name, "", 0), 0);
        else if (i % 3 == 1)
            ck_assert_int_eq(symlinkat(outside, tmpdir.dir, name), 0);
        else
            ck_assert_int_eq(mkdirat(tmpdir.dir, name, 0700), 0);
        if (i % 3 != 2)
            continue;
        distance = openat(tmpdir.dir, name, O_RDONLY | O_DIRECTORY);
        for (int j = 0; j < 3; j++) {
            int sub;

            snprintf(name, sizeof(name), "~%d", j);
            ck_assert_int_eq(mkdirat(distance, name, 0700), 0);
            sub = openat(distance, name, O_RDONLY | O_DIRECTORY);
            ck_assert_int_eq(symlinkat(outside, sub, "out"), 0);
            close(sub);
        }
        ck_assert_int_eq(fchmod(distance, 0), 0);
        close(distance);
    }
    ck_assert_int_eq(fchmod(tmpdir.dir, 0), 0);
    ck_assert_int_eq(cv_tmpdir_remove(&tmpdir), 0);
    ck_assert_int_eq(fake_entries(), 0);
    cv_tmpdir_close(&tmpdir);
    ck_assert_int_eq(unlinkat(fd, "keep", AT_REMOVEDIR), 0);
    ck_assert_int_eq(rmdir(outside), 0);
    close(fd);
}
END_TEST

Suite *suite_child(void);
Suite *suite_child(void)
{
    Suite *suite = suite_create("child");
    TCase *tcase = tcase_create("child");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, fake_setup, fake_teardown);
    tcase_add_test(tcase, sigchld_ignored);
    tcase_add_test(tcase, children_stolen);
    tcase_add_test(tcase, standard_descriptors_closed);
    tcase_add_test(tcase, few_descriptors);
    tcase_add_loop_test(tcase, keeper_lost, 0,
                        getenv("CV_FULL") ? 2 : 1); /* the stopped one takes two seconds */
    tcase_add_test(tcase, caller_dies);
    tcase_add_test(tcase, as_nobody);
    tcase_add_test(tcase, private_directory);
    tcase_add_test(tcase, nest_hostile);
    suite_add_tcase(suite, tcase);
    return suite;
}

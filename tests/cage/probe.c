/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Enters the cage as the command does, then tries one thing and tells how that went: "ok", or the number of
 * the error. What dies tells nothing; tests/cli/test_sandbox.py holds the table of what has to happen.
 *
 *   cage_probe state
 *   cage_probe plain|threads|channel|out ATTEMPT [DIRECTORY]
 *   (CV_TMP names a folder for what it makes when nothing stops it)
 *   cage_probe deny WHAT[,WHAT] COMMAND...   run a command for which these system calls do not exist:
 *                                            landlock, seccomp, rlimits */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox.h"

#define MEMORY    (UINT64_C(1) << 30)
#define FILE_SIZE (UINT64_C(1) << 20)

static int out_dir = -1, channel = -1, other_dir = -1;
static const char *scratch; /* CV_TMP: the only folder that the attempts write to when nothing stops them */
static char new_file[PATH_MAX];
static pid_t parent;

/* Everything goes past the C library, which may decide to ask for something else. */
#define RAW(...) (syscall(__VA_ARGS__))

static long as_thread(void)
{
    extern void *cage_thread(void *arg);
    pthread_t t;
    int rc = pthread_create(&t, NULL, cage_thread, NULL);

    if (rc != 0 || pthread_join(t, NULL) != 0) {
        errno = rc;
        return -1;
    }
    return 0;
}

void *cage_thread(void *arg);
void *cage_thread(void *arg)
{
    free(malloc(100000)); /* an arena of its own */
    return arg;
}

static long try_mmap(size_t n, int prot, int flags, int fd)
{
    return mmap(NULL, n, prot, flags, fd, 0) == MAP_FAILED ? -1 : 0;
}

static long try_mprotect(int prot)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? -1 : mprotect(p, 4096, prot);
}

static long try_write_beyond(void)
{
    return lseek(STDOUT_FILENO, (off_t)FILE_SIZE, SEEK_SET) < 0 ? -1 : write(STDOUT_FILENO, "x", 1);
}

static long try_abort_quietly(void)
{
    return RAW(SYS_tgkill, getpid(), RAW(SYS_gettid), 0);
}

static long try_receive(int fd)
{
    char c;
    struct iovec v = { &c, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

    return RAW(SYS_recvmsg, fd, &m, MSG_DONTWAIT);
}

static long try_stat_empty(void)
{
    struct stat st;

    return RAW(SYS_newfstatat, STDIN_FILENO, "", &st, AT_EMPTY_PATH);
}

static long try_save(void)
{
    int fd = openat(out_dir, "saved", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) != 0 || close(fd) != 0)
        return -1;
    return renameat2(out_dir, "saved", out_dir, "kept", RENAME_NOREPLACE);
}

#if defined(__x86_64__)
static long try_int80(void)
{
    long rc;

    __asm__ volatile("int $0x80" : "=a"(rc) : "a"(20) : "memory"); /* getpid of the 32-bit table */
    errno = ENOSYS;
    return rc < 0 ? -1 : rc;
}
#else
static long try_int80(void)
{
    raise(SIGSYS); /* there is no other table */
    return 0;
}
#endif

static long try_readv(void)
{
    char c;
    struct iovec v = { &c, 1 };

    return RAW(SYS_process_vm_readv, parent, &v, 1, &v, 1, 0);
}

static long try_connect(void)
{
    const struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = 0x0100, .sin_addr = { 0x0100007f } };
    int fd = (int)RAW(SYS_socket, AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? -1 : RAW(SYS_connect, fd, &a, sizeof(a));
}

static char *const NO_ARGS[] = { NULL };
static const uint64_t NOTHING[16];
#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

/* name, expression: -1 with errno, or anything else. */
#define ATTEMPTS(TRY)                                                                                        \
    TRY(nothing, 0)                                                                                          \
    TRY(write_stdout, write(STDOUT_FILENO, "", 0))                                                           \
    TRY(random, RAW(SYS_getrandom, &(char){ 0 }, 1, 0))                                                      \
    TRY(clock, RAW(SYS_clock_gettime, CLOCK_MONOTONIC, &(struct timespec){ 0 }))                             \
    TRY(memory, try_mmap(1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1))                  \
    TRY(memory_beyond, try_mmap(MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1))            \
    TRY(guard_page, try_mprotect(PROT_NONE))                                                                 \
    TRY(is_terminal, ioctl(STDOUT_FILENO, TCGETS, &(char[256]){ 0 }))                                        \
    TRY(stat_open_file, try_stat_empty())                                                                    \
    TRY(signal_itself, try_abort_quietly())                                                                  \
    TRY(thread, as_thread())                                                                                 \
    TRY(inherited, write(9, "x", 1))                                                                         \
    TRY(write_beyond, try_write_beyond())                                                                    \
    TRY(socket, RAW(SYS_socket, AF_INET, SOCK_STREAM, 0))                                                    \
    TRY(socket_unix, RAW(SYS_socket, AF_UNIX, SOCK_STREAM, 0))                                               \
    TRY(socket_netlink, RAW(SYS_socket, AF_NETLINK, SOCK_RAW, 0))                                            \
    TRY(socketpair, RAW(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, &(int[2]){ 0 }))                            \
    TRY(connect, RAW(SYS_connect, channel, NOTHING, 16))                                                     \
    TRY(connect_tcp, try_connect())                                                                          \
    TRY(bind, RAW(SYS_bind, channel, NOTHING, 16))                                                           \
    TRY(sendmsg, RAW(SYS_sendmsg, channel, &(struct msghdr){ 0 }, MSG_NOSIGNAL))                             \
    TRY(receive, try_receive(channel))                                                                       \
    TRY(receive_other, try_receive(STDIN_FILENO))                                                            \
    TRY(execve, RAW(SYS_execve, "/bin/true", NO_ARGS, NO_ARGS))                                              \
    TRY(execveat, RAW(SYS_execveat, AT_FDCWD, "/bin/true", NO_ARGS, NO_ARGS, 0))                             \
    TRY(fork, RAW(SYS_clone, SIGCHLD, 0, 0, 0, 0))                                                           \
    TRY(new_user_space, RAW(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0))                                 \
    TRY(clone3, RAW(SYS_clone3, NOTHING, 64))                                                                \
    TRY(unshare, RAW(SYS_unshare, CLONE_NEWUSER))                                                            \
    TRY(setns, RAW(SYS_setns, 0, 0))                                                                         \
    TRY(ptrace, RAW(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0))                                                    \
    TRY(ptrace_parent, RAW(SYS_ptrace, PTRACE_ATTACH, parent, 0, 0))                                         \
    TRY(process_vm_readv, try_readv())                                                                       \
    TRY(kill_parent, RAW(SYS_kill, parent, 0))                                                               \
    TRY(kill_itself, RAW(SYS_kill, getpid(), 0))                                                             \
    TRY(tgkill_parent, RAW(SYS_tgkill, parent, parent, 0))                                                   \
    TRY(pidfd_open, RAW(SYS_pidfd_open, parent, 0))                                                          \
    TRY(open_read, RAW(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY))                                       \
    TRY(open_write, RAW(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY))                                        \
    TRY(open_both, RAW(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR))                                           \
    TRY(open_path, RAW(SYS_openat, AT_FDCWD, "/", O_PATH))                                                   \
    TRY(open_create, RAW(SYS_openat, AT_FDCWD, new_file, O_RDONLY | O_CREAT, 0600))                          \
    TRY(open_truncate, RAW(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY | O_TRUNC))                           \
    TRY(open_unnamed, RAW(SYS_openat, AT_FDCWD, scratch, O_TMPFILE | O_RDWR, 0600))                          \
    TRY(openat2, RAW(SYS_openat2, AT_FDCWD, "/etc/passwd", NOTHING, 24))                                     \
    TRY(open_handle, RAW(SYS_open_by_handle_at, AT_FDCWD, NOTHING, 0))                                       \
    TRY(stat_name, RAW(SYS_newfstatat, AT_FDCWD, "/etc/passwd", &(struct stat){ 0 }, 0))                     \
    TRY(statx, RAW(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0, &(char[512]){ 0 }))                             \
    TRY(readlink, RAW(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", &(char[64]){ 0 }, 64))                     \
    TRY(list_directory, RAW(SYS_getdents64, STDIN_FILENO, &(char[64]){ 0 }, 64))                             \
    TRY(unlink, RAW(SYS_unlinkat, AT_FDCWD, "absent", 0))                                                    \
    TRY(mkdir, RAW(SYS_mkdirat, AT_FDCWD, new_file, 0700))                                                   \
    TRY(rename, RAW(SYS_renameat2, AT_FDCWD, "absent", AT_FDCWD, "absent2", 0))                              \
    TRY(link, RAW(SYS_linkat, AT_FDCWD, "absent", AT_FDCWD, "absent2", 0))                                   \
    TRY(symlink, RAW(SYS_symlinkat, "absent", AT_FDCWD, new_file))                                           \
    TRY(mknod, RAW(SYS_mknodat, AT_FDCWD, new_file, S_IFIFO | 0600, 0))                                      \
    TRY(chmod, RAW(SYS_fchmod, STDIN_FILENO, 0600))                                                          \
    TRY(chown, RAW(SYS_fchown, STDIN_FILENO, 0, 0))                                                          \
    TRY(truncate, RAW(SYS_ftruncate, STDIN_FILENO, 0))                                                       \
    TRY(chdir, RAW(SYS_chdir, "/"))                                                                          \
    TRY(chroot, RAW(SYS_chroot, "/"))                                                                        \
    TRY(mount, RAW(SYS_mount, "a", "b", "c", 0, 0))                                                          \
    TRY(mmap_exec, try_mmap(4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1))                   \
    TRY(mmap_file, try_mmap(4096, PROT_READ, MAP_PRIVATE, STDIN_FILENO))                                     \
    TRY(mprotect_exec, try_mprotect(PROT_READ | PROT_EXEC))                                                  \
    TRY(pkey_mprotect, RAW(SYS_pkey_mprotect, 0, 0, PROT_EXEC, 0))                                           \
    TRY(shm, RAW(SYS_shmget, 0, 4096, 0600))                                                                 \
    TRY(memfd, RAW(SYS_memfd_create, "x", 0))                                                                \
    TRY(personality, RAW(SYS_personality, 0x0400000)) /* READ_IMPLIES_EXEC */                                \
    TRY(undo_no_new_privs, RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))                                  \
    TRY(dumpable, RAW(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0))                                               \
    TRY(another_filter, RAW(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NOTHING))                               \
    TRY(raise_limit, RAW(SYS_prlimit64, 0, RLIMIT_NOFILE, &(struct rlimit){ 99, 99 }, 0))                    \
    TRY(type_into_terminal, RAW(SYS_ioctl, STDIN_FILENO, TIOCSTI, "x"))                                      \
    TRY(duplicate, RAW(SYS_dup3, STDIN_FILENO, 100, 0))                                                      \
    TRY(duplicate_fcntl, RAW(SYS_fcntl, STDIN_FILENO, F_DUPFD, 0))                                           \
    TRY(own_signal_io, RAW(SYS_fcntl, STDIN_FILENO, F_SETOWN, parent))                                       \
    TRY(pipe, RAW(SYS_pipe2, &(int[2]){ 0 }, 0))                                                             \
    TRY(set_user, RAW(SYS_setuid, 0))                                                                        \
    TRY(capabilities, RAW(SYS_capset, NOTHING, NOTHING))                                                     \
    TRY(io_uring, RAW(SYS_io_uring_setup, 8, NOTHING))                                                       \
    TRY(bpf, RAW(SYS_bpf, 0, NOTHING, sizeof(NOTHING)))                                                      \
    TRY(userfaultfd, RAW(SYS_userfaultfd, 0))                                                                \
    TRY(perf, RAW(SYS_perf_event_open, NOTHING, 0, -1, -1, 0))                                               \
    TRY(keys, RAW(SYS_keyctl, 0, 0, 0, 0, 0))                                                                \
    TRY(module, RAW(SYS_finit_module, STDIN_FILENO, "", 0))                                                  \
    TRY(kexec, RAW(SYS_kexec_load, 0, 0, 0, 0))                                                              \
    TRY(settime, RAW(SYS_clock_settime, CLOCK_REALTIME, NOTHING))                                            \
    TRY(wait, RAW(SYS_wait4, -1, 0, WNOHANG, 0))                                                             \
    TRY(poll, RAW(SYS_ppoll, 0, 0, NOTHING, 0, 0))                                                           \
    TRY(unknown, RAW(511))                                                                                   \
    TRY(no_such_number, RAW(100000))                                                                         \
    TRY(x32, RAW(0x40000000 | SYS_getpid))                                                                   \
    TRY(int80, try_int80())                                                                                  \
    TRY(save, try_save())                                                                                    \
    TRY(save_above, RAW(SYS_openat, out_dir, "../above", NEW_FILE, 0600))                                    \
    TRY(save_absolute, RAW(SYS_openat, out_dir, new_file, NEW_FILE, 0600))                                   \
    TRY(save_over, RAW(SYS_openat, out_dir, "old", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600))                   \
    TRY(save_elsewhere, RAW(SYS_openat, other_dir, "new", NEW_FILE, 0600))                                   \
    TRY(open_old_write, RAW(SYS_openat, out_dir, "old", O_WRONLY | O_NOFOLLOW))                              \
    TRY(open_old_read, RAW(SYS_openat, out_dir, "old", O_RDONLY))                                            \
    TRY(replace_old, RAW(SYS_renameat2, out_dir, "old", out_dir, "new", 0))                                  \
    TRY(move_out, RAW(SYS_renameat2, out_dir, "old", out_dir, "../above", 0))                                \
    TRY(move_in, RAW(SYS_renameat2, out_dir, "../beside", out_dir, "new", 0))                                \
    TRY(remove_old, RAW(SYS_unlinkat, out_dir, "old", 0))                                                    \
    TRY(remove_beside, RAW(SYS_unlinkat, out_dir, "../beside", 0))                                           \
    TRY(link_below, RAW(SYS_linkat, out_dir, "old", out_dir, "new", 0))                                      \
    TRY(mkdir_below, RAW(SYS_mkdirat, out_dir, "new", 0700))                                                 \
    TRY(symlink_below, RAW(SYS_symlinkat, "/etc/passwd", out_dir, "new"))                                    \
    TRY(mknod_below, RAW(SYS_mknodat, out_dir, "new", S_IFIFO | 0600, 0))

static long attempt(const char *name)
{
#define TRY(id, expression)                                                                                  \
    if (strcmp(name, #id) == 0)                                                                              \
        return (expression);
    ATTEMPTS(TRY)
#undef TRY
    _exit(99);
}

static void enter(const char *mode)
{
    cli_cage c = { .out_dir = -1,
                   .more_dir = -1,
                   .channel = -1,
                   .broker = -1,
                   .helper = -1,
                   .threads = 1,
                   .memory = MEMORY,
                   .file_size = FILE_SIZE };

    if (strcmp(mode, "threads") == 0)
        c.threads = 4;
    else if (strcmp(mode, "channel") == 0)
        c.channel = channel;
    else if (strcmp(mode, "out") == 0)
        c.out_dir = out_dir;
    /* Kept, so that what is refused is not refused for want of a descriptor. */
    int keep[] = { channel, other_dir };
    c.keep = keep;
    c.n_keep = 2;
    (void)cli_cage_enter(&c);
}

static void tell(long rc)
{
    char text[32];
    int n = rc == -1 ? snprintf(text, sizeof(text), "%d\n", errno) : snprintf(text, sizeof(text), "ok\n");

    if (n > 0 && write(STDERR_FILENO, text, (size_t)n) != n)
        _exit(98);
}

static int probe(const char *mode, const char *name, const char *dir)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return 97;
    channel = pair[0];
    scratch = getenv("CV_TMP");
    if (!scratch || snprintf(new_file, sizeof(new_file), "%s/new-file", scratch) >= (int)sizeof(new_file))
        return 97;
    other_dir = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir)
        out_dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (other_dir < 0 || (dir && out_dir < 0))
        return 97;
    parent = getppid();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    enter(mode);
    tell(attempt(name));
    return 0;
}

static bool refuse(scmp_filter_ctx x, const char *what)
{
    const struct scmp_arg_cmp old_way = SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, PR_SET_SECCOMP);
    bool ok = true;

    if (strstr(what, "landlock"))
        ok = seccomp_rule_add(x, SCMP_ACT_ERRNO(ENOSYS), 444, 0) == 0;
    if (strstr(what, "seccomp"))
        ok = seccomp_rule_add(x, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0) == 0 &&
             seccomp_rule_add(x, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, old_way) == 0 && ok;
    if (strstr(what, "rlimits"))
        ok = seccomp_rule_add(x, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 0) == 0 &&
             seccomp_rule_add(x, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setrlimit), 0) == 0 && ok;
    return ok && seccomp_load(x) == 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "state") == 0) {
        char text[320];

        cli_cage_probe(text, sizeof(text));
        puts(text);
        return 0;
    }
    if (argc > 3 && strcmp(argv[1], "deny") == 0) {
        scmp_filter_ctx x = seccomp_init(SCMP_ACT_ALLOW);

        if (!x || !refuse(x, argv[2]))
            return 97;
        execv(argv[3], argv + 3);
        return 97;
    }
    if (argc < 3)
        return 96;
    return probe(argv[1], argv[2], argc > 3 ? argv[3] : NULL);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Enters the cage as the command does, then tries one thing and tells how that went: "ok", or the number of
 * the error. What dies tells nothing; tests/cli/test_sandbox.py holds the table of what has to happen.
 *
 *   cage_probe state
 *   cage_probe plain|threads|channel|files ATTEMPT [DIRECTORY]
 *       files: with a porter for DIRECTORY; a descriptor of it is left open in the cage, which the command
 *       never does, so that nothing is refused for want of one
 *   cage_probe deny WHAT[,WHAT] COMMAND...
 *       run a command for which these system calls do not exist: landlock, seccomp, rlimits, unnamed
 *
 * CV_TMP names the folder for what an attempt makes when nothing stops it. */
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

#include "porter.h"
#include "sandbox.h"

#define MEMORY    (UINT64_C(1) << 30)
#define FILE_SIZE (UINT64_C(1) << 20)

static int out_dir = -1, channel = -1, other_dir = -1, input = -1;
static cli_draft draft = { .dir = -1, .fd = -1, .name = "made", .replace = true };
static cli_porter porter = CLI_NO_PORTER;
static const char *scratch; /* CV_TMP: the only folder that the attempts write to when nothing stops them */
static char new_file[PATH_MAX];
static pid_t parent;

/* Everything goes past the C library, which may decide to ask for something else. */
#define RAW(...) (syscall(__VA_ARGS__))

/* A machine whose registers have 32 bits has another call for the same, and no upper half that could hide
 * something. */
#ifndef SYS_newfstatat
#define SYS_newfstatat SYS_fstatat64
#endif
#define UPPER_HALF ((unsigned long)(UINT64_C(1) << 32))

static long as_thread(void)
{
    extern void *cage_thread(void *arg);
    pthread_t pthread;
    int rc = pthread_create(&pthread, NULL, cage_thread, NULL);

    if (rc != 0 || pthread_join(pthread, NULL) != 0) {
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

static long try_mmap(size_t count, int prot, int flags, int fd)
{
    return mmap(NULL, count, prot, flags, fd, 0) == MAP_FAILED ? -1 : 0;
}

static long try_mprotect(int prot)
{
    void *block = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? -1 : mprotect(block, 4096, prot);
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
    char ch;
    struct iovec vec = { &ch, 1 };
    struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1 };

    return RAW(SYS_recvmsg, fd, &msg, MSG_DONTWAIT);
}

static long try_stat_empty(void)
{
    struct stat st;

    return RAW(SYS_newfstatat, STDIN_FILENO, "", &st, AT_EMPTY_PATH);
}

/* What the command does: here it has to work. */
static long try_save(void)
{
    cuvet_status status = cli_porter_save(&porter, "0000-file.sm_90.cubin", "x", 1);

    errno = status == CUVET_E_EXISTS ? EEXIST : EIO;
    return status == CUVET_OK ? 0 : -1;
}

static long try_save_draft(void)
{
    cuvet_status status = cli_write_whole(draft.fd, "x", 1);

    if (status == CUVET_OK)
        status = cli_porter_done(&porter, 0);
    errno = status == CUVET_E_EXISTS ? EEXIST : EIO;
    return status == CUVET_OK ? 0 : -1;
}

/* A path, although the flag says that there is none. */
static long try_stat_path(int dir, const char *path)
{
    return RAW(SYS_newfstatat, dir, path, &(struct stat){ 0 }, AT_EMPTY_PATH);
}

static long try_reopen(int fd, int flags)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return RAW(SYS_openat, AT_FDCWD, path, flags);
}

static long try_openat2(int dir, const char *path, uint64_t flags, uint64_t mode, uint64_t resolve)
{
    const uint64_t how[] = { flags, mode, resolve };

    return RAW(SYS_openat2, dir, path, how, sizeof(how));
}

/* Somebody else's descriptor, for the porter. */
static long try_pass(int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } callback = { .bytes = { 0 } };
    char order[] = "gxxx";
    struct iovec vec = { order, sizeof(order) - 1 };
    struct msghdr msg = {
        .msg_iov = &vec, .msg_iovlen = 1, .msg_control = &callback, .msg_controllen = sizeof(callback.bytes)
    };

    callback.head = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
    memcpy(CMSG_DATA(&callback.head), &out_dir, sizeof(out_dir));
    return RAW(SYS_sendmsg, fd, &msg, MSG_NOSIGNAL);
}

static long try_grow(int mode)
{
    return RAW(SYS_fallocate, STDOUT_FILENO, mode, 0L, 4096L);
}

static long try_advise(int advice)
{
    void *block = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? -1 : RAW(SYS_madvise, block, 4096, advice);
}

static long try_vm_write(void)
{
    char ch = 0;
    struct iovec vec = { &ch, 1 };

    return RAW(SYS_process_vm_writev, parent, &vec, 1, &vec, 1, 0);
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
    char ch;
    struct iovec vec = { &ch, 1 };

    return RAW(SYS_process_vm_readv, parent, &vec, 1, &vec, 1, 0);
}

static long try_connect(void)
{
    const struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = 0x0100, .sin_addr = { 0x0100007f } };
    int fd = (int)RAW(SYS_socket, AF_INET, SOCK_STREAM, 0);

    return fd < 0 ? -1 : RAW(SYS_connect, fd, &in, sizeof(in));
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
    TRY(save_draft, try_save_draft())                                                                        \
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
    TRY(mknod_below, RAW(SYS_mknodat, out_dir, "new", S_IFIFO | 0600, 0))                                    \
    TRY(stat_empty_path, try_stat_path(AT_FDCWD, "/etc/shadow"))                                             \
    TRY(stat_empty_path_of_process, try_stat_path(AT_FDCWD, "/proc/1/environ"))                              \
    TRY(stat_empty_path_below, try_stat_path(out_dir, "old"))                                                \
    TRY(stat_upper_half,                                                                                     \
        RAW(SYS_newfstatat, out_dir, "old", &(struct stat){ 0 }, AT_EMPTY_PATH | UPPER_HALF))                \
    TRY(statx_below, RAW(SYS_statx, out_dir, "old", 0, 0x7ff, &(char[512]){ 0 }))                            \
    TRY(statx_open_file, RAW(SYS_statx, input, "", AT_EMPTY_PATH, 0x7ff, &(char[512]){ 0 }))                 \
    TRY(fstat, RAW(SYS_fstat, input, &(struct stat){ 0 }))                                                   \
    TRY(statfs_open_file, RAW(SYS_fstatfs, input, &(char[512]){ 0 }))                                        \
    TRY(access_below, RAW(SYS_faccessat, out_dir, "old", F_OK))                                              \
    TRY(access2_below, RAW(SYS_faccessat2, out_dir, "old", F_OK, 0))                                         \
    TRY(readlink_below, RAW(SYS_readlinkat, out_dir, "old", &(char[64]){ 0 }, 64))                           \
    TRY(list_below, RAW(SYS_getdents64, out_dir, &(char[64]){ 0 }, 64))                                      \
    TRY(chdir_below, RAW(SYS_fchdir, out_dir))                                                               \
    TRY(create_executable, RAW(SYS_openat, out_dir, "new", NEW_FILE, 0755))                                  \
    TRY(create_plain, RAW(SYS_openat, out_dir, "new", NEW_FILE, 0644))                                       \
    TRY(create_unnamed_below, RAW(SYS_openat, out_dir, ".", O_TMPFILE | O_WRONLY, 0755))                     \
    TRY(openat2_below, try_openat2(out_dir, "new", O_WRONLY | O_CREAT, 0755, 0))                             \
    TRY(openat2_beneath, try_openat2(out_dir, "old", O_WRONLY, 0, 0x08))                                     \
    TRY(openat2_in_root, try_openat2(out_dir, "/old", O_RDONLY, 0, 0x10))                                    \
    TRY(mkdir_executable, RAW(SYS_mkdirat, out_dir, "new", 0755))                                            \
    TRY(chmod_output, RAW(SYS_fchmod, draft.fd, 0755))                                                       \
    TRY(chmod_below, RAW(SYS_fchmodat, out_dir, "old", 0755))                                                \
    TRY(chmod2_below, RAW(452, out_dir, "old", 0755, 0))                                                     \
    TRY(chmod2_output, RAW(452, draft.fd, "", 0755, AT_EMPTY_PATH))                                          \
    TRY(chown_below, RAW(SYS_fchownat, out_dir, "old", 0, 0, 0))                                             \
    TRY(touch_output, RAW(SYS_utimensat, draft.fd, 0, 0, 0))                                                 \
    TRY(touch_below, RAW(SYS_utimensat, out_dir, "old", 0, 0))                                               \
    TRY(attribute_output, RAW(SYS_fsetxattr, draft.fd, "user.x", "x", 1, 0))                                 \
    TRY(attribute_read, RAW(SYS_fgetxattr, input, "user.x", &(char[8]){ 0 }, 8))                             \
    TRY(truncate_output, RAW(SYS_ftruncate, draft.fd, 4096))                                                 \
    TRY(sync_output, RAW(SYS_fsync, draft.fd))                                                               \
    TRY(write_output, write(draft.fd, "x", 1))                                                               \
    TRY(read_output, pread(draft.fd, &(char){ 0 }, 1, 0))                                                    \
    TRY(write_input, write(input, "x", 1))                                                                   \
    TRY(map_output, try_mmap(4096, PROT_WRITE, MAP_SHARED, draft.fd))                                        \
    TRY(link_output, RAW(SYS_linkat, draft.fd, "", out_dir, "new", AT_EMPTY_PATH))                           \
    TRY(reopen_input, try_reopen(input, O_RDWR))                                                             \
    TRY(reopen_output, try_reopen(draft.fd, O_RDONLY))                                                       \
    TRY(reopen_directory, try_reopen(out_dir, O_RDONLY | O_DIRECTORY))                                       \
    TRY(own_memory, RAW(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR))                                     \
    TRY(own_memory_read, RAW(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY))                              \
    TRY(shared_memory_file, RAW(SYS_openat, AT_FDCWD, "/dev/shm", O_RDWR | O_TMPFILE, 0600))                 \
    TRY(execute_file, RAW(SYS_execveat, draft.fd, "", NO_ARGS, NO_ARGS, AT_EMPTY_PATH))                      \
    TRY(copy_between_files, RAW(SYS_copy_file_range, input, 0, draft.fd, 0, 16, 0))                          \
    TRY(sendfile, RAW(SYS_sendfile, draft.fd, input, 0, 16))                                                 \
    TRY(splice, RAW(SYS_splice, input, 0, draft.fd, 0, 16, 0))                                               \
    TRY(pass_directory_out, try_pass(porter.fd))                                                             \
    TRY(receive_from_porter, try_receive(porter.fd))                                                         \
    TRY(write_at, RAW(SYS_pwrite64, draft.fd, "x", 1, 0))                                                    \
    TRY(set_lease, RAW(SYS_fcntl, input, F_SETLEASE, 0))                                                     \
    TRY(set_flags, RAW(SYS_fcntl, STDOUT_FILENO, F_SETFL, 0))                                                \
    TRY(watch_directory, RAW(SYS_fcntl, out_dir, F_NOTIFY, 0))                                               \
    TRY(lock_file, RAW(SYS_flock, input, 1))                                                                 \
    TRY(control_file, RAW(SYS_ioctl, draft.fd, 0x40086602, &(long){ 0 })) /* FS_IOC_SETFLAGS */              \
    TRY(clone_file, RAW(SYS_ioctl, draft.fd, 0x40049409, input))          /* FICLONE */                      \
    TRY(console_type, RAW(SYS_ioctl, STDOUT_FILENO, 0x541C, "x"))         /* TIOCLINUX */                    \
    TRY(name_to_handle, RAW(SYS_name_to_handle_at, out_dir, "old", NOTHING, NOTHING, 0))                     \
    TRY(inotify, RAW(SYS_inotify_init1, 0))                                                                  \
    TRY(fanotify, RAW(SYS_fanotify_init, 0, 0))                                                              \
    TRY(process_vm_writev, try_vm_write())                                                                   \
    TRY(take_descriptor, RAW(438, input, 0, 0)) /* pidfd_getfd */                                            \
    TRY(compare_processes, RAW(SYS_kcmp, parent, getpid(), 0, 0, 0))                                         \
    TRY(queue_signal, RAW(SYS_rt_sigqueueinfo, parent, 0, NOTHING))                                          \
    TRY(limits_of_parent, RAW(SYS_prlimit64, parent, RLIMIT_NOFILE, 0, &(struct rlimit){ 0 }))               \
    TRY(processors_of_parent, RAW(SYS_sched_getaffinity, parent, 8, &(uint64_t){ 0 }))                       \
    TRY(processors, RAW(SYS_sched_getaffinity, 0, 128, &(uint64_t[16]){ 0 }))                                \
    TRY(session, RAW(SYS_setsid))                                                                            \
    TRY(old_ring, RAW(SYS_io_setup, 1, &(uint64_t){ 0 }))                                                    \
    TRY(new_mount, RAW(430 /* fsopen */, "tmpfs", 0))                                                        \
    TRY(mount_tree, RAW(428 /* open_tree */, out_dir, "", 0x1001))                                           \
    TRY(ruleset, RAW(444, 0, 0, 1))                                                                          \
    TRY(poison_page, try_advise(100))                                                                        \
    TRY(advise, try_advise(4))                                                                               \
    TRY(room, try_grow(0))                                                                                   \
    TRY(punch_hole, try_grow(3))                                                                             \
    TRY(collapse, try_grow(8))                                                                               \
    TRY(room_upper_half, RAW(SYS_fallocate, STDOUT_FILENO, 3ul | UPPER_HALF, 0L, 4096L))                     \
    TRY(standard_input, read(STDIN_FILENO, &(char){ 0 }, 1))                                                 \
    TRY(standard_input_write, write(STDIN_FILENO, "x", 1))

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
    /* Kept, so that what is refused is not refused for want of a descriptor. */
    const int keep[] = { channel, other_dir, out_dir, input };
    cli_cage cage = { CLI_CAGE_NOTHING,
                      .keep = keep,
                      .n_keep = sizeof(keep) / sizeof(keep[0]),
                      .out = &draft.fd,
                      .n_out = 1,
                      .threads = 1,
                      .memory = MEMORY,
                      .file_size = FILE_SIZE };

    if (strcmp(mode, "threads") == 0)
        cage.threads = 4;
    else if (strcmp(mode, "channel") == 0)
        cage.channel = channel;
    else if (strcmp(mode, "files") == 0)
        cage.porter = porter.fd;
    cage.folder = cage.porter >= 0;
    (void)cli_cage_enter(&cage);
}

static void tell(long rc)
{
    char text[32];
    int count = rc == -1 ? snprintf(text, sizeof(text), "%d\n", errno) : snprintf(text, sizeof(text), "ok\n");

    if (count > 0 && write(STDERR_FILENO, text, (size_t)count) != count)
        _exit(98);
}

/* As the command does: a file with a name that is fixed, and a folder. */
static bool start_porter(const char *dir)
{
    draft.dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cli_draft_open(&draft);
    porter.draft[porter.n_drafts++] = &draft;
    porter.folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    porter.most = UINT64_MAX;
    return cli_porter_start(&porter) == CUVET_OK;
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
    input = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (other_dir < 0 || input < 0 || (dir && (out_dir < 0 || !start_porter(dir))))
        return 97;
    parent = getppid();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    enter(mode);
    tell(attempt(name));
    cli_porter_stop(&porter);
    return 0;
}

static bool refuse(scmp_filter_ctx filter, const char *what)
{
    const struct scmp_arg_cmp old_way = SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, PR_SET_SECCOMP);
    bool ok = true;

    if (strstr(what, "landlock"))
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), 444, 0) == 0;
    if (strstr(what, "seccomp"))
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0) == 0 &&
             seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1, old_way) == 0 && ok;
    if (strstr(what, "unnamed")) /* files without a name, as on file systems that have none */
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(openat), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, O_TMPFILE, O_TMPFILE)) == 0 &&
             ok;
    if (strstr(what, "rlimits"))
        ok = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 0) == 0 &&
             seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setrlimit), 0) == 0 && ok;
    return ok && seccomp_load(filter) == 0;
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
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

        if (!filter || !refuse(filter, argv[2]))
            return 97;
        execv(argv[3], argv + 3);
        return 97;
    }
    if (argc < 3)
        return 96;
    return probe(argv[1], argv[2], argc > 3 ? argv[3] : NULL);
}

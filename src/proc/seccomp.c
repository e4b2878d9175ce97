/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A filter of system calls that says what is refused, not what is allowed: which calls a compiler of a
 * stranger needs is not known, but there are some that reach out of its directory where Landlock does not
 * look. They change what belongs to other files than their bytes, talk, leave something behind that no end of
 * a process takes away, or look into other processes. For root most of them would work. */
#include "proc/seccomp.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/base.h"

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE

#define FIELD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define NO             (SECCOMP_RET_ERRNO | 1u)  /* EPERM */
#define ABSENT         (SECCOMP_RET_ERRNO | 38u) /* ENOSYS: callers know another way */
#define REFUSE(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(NO)
#define LACK(number)   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), ANSWER(ABSENT)

/* Calls that depend on an argument. Each block answers in all cases, so that the number of the call is still
 * loaded behind it. Both machines keep the lower half of an argument first. */
#define WHEN(number, length) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, length)
#define ARGUMENT(nth)        FIELD(args[nth])
#define IF_IS(value, yes)    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), ANSWER(yes)
#define IF_HAS(value, yes)   BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, 0, 1), ANSWER(yes)
#define ALLOW                SECCOMP_RET_ALLOW

/* To cut off a file takes no right to write to it that Landlock knew before its ABI 3: only together with
 * opening it for that. */
#define NO_TRUNCATING(number, arg)                                                                           \
    WHEN(number, 7), ARGUMENT(arg), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),                \
        IF_IS(O_TRUNC, NO), IF_IS(O_TRUNC | O_ACCMODE, NO), ANSWER(ALLOW)

/* Asked of a descriptor: is it a terminal, how large, what can be read; how it is inherited, whether it
 * waits. Everything else is about devices, or changes attributes of files that are open for reading. */
#define IOCTL_TCGETS     0x5401u
#define IOCTL_TIOCGWINSZ 0x5413u
#define IOCTL_FIONREAD   0x541Bu
#define IOCTL_FIONBIO    0x5421u
#define IOCTL_FIONCLEX   0x5450u
#define IOCTL_FIOCLEX    0x5451u

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#define CLONE_SPACES 0x7E020000u

static const struct sock_filter REFUSED[] = {
    FIELD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0),
    ANSWER(SECCOMP_RET_KILL_PROCESS),
    FIELD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the same calls by other numbers */
    ANSWER(NO),
    /* older names of calls below */
    REFUSE(SYS_chmod),
    REFUSE(SYS_chown),
    REFUSE(SYS_lchown),
    REFUSE(SYS_utime),
    REFUSE(SYS_utimes),
    REFUSE(SYS_futimesat),
    REFUSE(SYS_iopl),
    REFUSE(SYS_ioperm),
    NO_TRUNCATING(SYS_open, 1),
#endif
    NO_TRUNCATING(SYS_openat, 2),
    REFUSE(SYS_truncate),
    /* Their flags lie in memory, where no filter looks: openat2, clone3. */
    LACK(437),
    LACK(435),
    WHEN(SYS_clone, 4),
    ARGUMENT(0),
    IF_HAS(CLONE_SPACES, NO),
    ANSWER(ALLOW),
    WHEN(SYS_ioctl, 14),
    ARGUMENT(1),
    IF_IS(IOCTL_TCGETS, ALLOW),
    IF_IS(IOCTL_TIOCGWINSZ, ALLOW),
    IF_IS(IOCTL_FIONREAD, ALLOW),
    IF_IS(IOCTL_FIONBIO, ALLOW),
    IF_IS(IOCTL_FIONCLEX, ALLOW),
    IF_IS(IOCTL_FIOCLEX, ALLOW),
    ANSWER(NO),
    /* owners, rights, times and attributes of files; numbers that older headers lack: fchmodat2, setxattrat,
     * removexattrat, file_setattr */
    REFUSE(SYS_fchmod),
    REFUSE(SYS_fchmodat),
    REFUSE(452),
    REFUSE(SYS_fchown),
    REFUSE(SYS_fchownat),
    REFUSE(SYS_utimensat),
    REFUSE(SYS_setxattr),
    REFUSE(SYS_lsetxattr),
    REFUSE(SYS_fsetxattr),
    REFUSE(463),
    REFUSE(SYS_removexattr),
    REFUSE(SYS_lremovexattr),
    REFUSE(SYS_fremovexattr),
    REFUSE(466),
    REFUSE(469),
    REFUSE(SYS_open_by_handle_at),
    REFUSE(SYS_quotactl),
    /* talk; rings ask for anything without a call */
    REFUSE(SYS_socket),
    REFUSE(SYS_io_uring_setup),
    /* what stays: memory, queues, semaphores, keys */
    REFUSE(SYS_shmget),
    REFUSE(SYS_msgget),
    REFUSE(SYS_semget),
    REFUSE(SYS_mq_open),
    /* and what is there already: by numbers that can be guessed, and names */
    REFUSE(SYS_shmat),
    REFUSE(SYS_shmctl),
    REFUSE(SYS_msgctl),
    REFUSE(SYS_msgsnd),
    REFUSE(SYS_msgrcv),
    REFUSE(SYS_semctl),
    REFUSE(SYS_semop),
    REFUSE(SYS_semtimedop),
    REFUSE(SYS_mq_unlink),
    REFUSE(SYS_add_key),
    REFUSE(SYS_request_key),
    REFUSE(SYS_keyctl),
    /* other processes */
    REFUSE(SYS_ptrace),
    REFUSE(SYS_process_vm_readv),
    REFUSE(SYS_process_vm_writev),
    REFUSE(SYS_kcmp),
    REFUSE(438 /* pidfd_getfd */),
    REFUSE(440 /* process_madvise */),
    REFUSE(SYS_migrate_pages),
    REFUSE(SYS_move_pages),
    REFUSE(SYS_setpriority),
    REFUSE(SYS_ioprio_set),
    WHEN(SYS_prlimit64, 4), /* of itself */
    ARGUMENT(0),
    IF_IS(0, ALLOW),
    ANSWER(NO),
    WHEN(SYS_kill, 4), /* everybody at once */
    ARGUMENT(0),
    IF_IS(UINT32_MAX, NO),
    ANSWER(ALLOW),
    REFUSE(SYS_perf_event_open),
    REFUSE(SYS_bpf),
    REFUSE(SYS_userfaultfd),
    /* the system: file systems, name spaces, modules, clocks, names */
    REFUSE(SYS_mount),
    REFUSE(SYS_umount2),
    REFUSE(SYS_pivot_root),
    REFUSE(SYS_chroot),
    REFUSE(SYS_swapon),
    REFUSE(SYS_swapoff),
    REFUSE(428 /* open_tree */),
    REFUSE(429 /* move_mount */),
    REFUSE(430 /* fsopen */),
    REFUSE(431 /* fsconfig */),
    REFUSE(432 /* fsmount */),
    REFUSE(433 /* fspick */),
    REFUSE(442 /* mount_setattr */),
    REFUSE(SYS_unshare),
    REFUSE(SYS_setns),
    REFUSE(SYS_init_module),
    REFUSE(SYS_finit_module),
    REFUSE(SYS_delete_module),
    REFUSE(SYS_kexec_load),
    REFUSE(SYS_kexec_file_load),
    REFUSE(443 /* quotactl_fd */),
    REFUSE(467 /* open_tree_attr */),
    REFUSE(SYS_vhangup),
    REFUSE(SYS_reboot),
    REFUSE(SYS_acct),
    REFUSE(SYS_settimeofday),
    REFUSE(SYS_clock_settime),
    REFUSE(SYS_clock_adjtime),
    REFUSE(SYS_adjtimex),
    REFUSE(SYS_sethostname),
    REFUSE(SYS_setdomainname),
    REFUSE(SYS_syslog),
    ANSWER(SECCOMP_RET_ALLOW),
};

void cv_seccomp_restrict(void)
{
    const struct sock_fprog program = { CV_COUNT(REFUSED), cv_without_const(REFUSED) };

    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0); /* as much as can be had */
}

#else

void cv_seccomp_restrict(void)
{
}

#endif

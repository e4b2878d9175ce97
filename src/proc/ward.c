/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A filter of system calls that says what is refused, not what is allowed: which calls a compiler of a
 * stranger needs is not known, but there are some that reach out of its directory where Landlock does not
 * look. They change what belongs to other files than their bytes, talk, leave something behind that no end of
 * a process takes away, or look into other processes. For root most of them would work. */
#include "proc/ward.h"

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

#define FIELD(f)  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))
#define ANSWER(a) BPF_STMT(BPF_RET | BPF_K, a)
#define NO        (SECCOMP_RET_ERRNO | 1u) /* EPERM */
#define REFUSE(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), ANSWER(NO)

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
#endif
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
    REFUSE(SYS_add_key),
    REFUSE(SYS_request_key),
    REFUSE(SYS_keyctl),
    /* other processes */
    REFUSE(SYS_ptrace),
    REFUSE(SYS_process_vm_readv),
    REFUSE(SYS_process_vm_writev),
    REFUSE(SYS_kcmp),
    REFUSE(438 /* pidfd_getfd */),
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

void cv_ward(void)
{
    const struct sock_fprog p = { CV_COUNT(REFUSED), (void *)(uintptr_t)REFUSED };

    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0); /* as much as can be had */
}

#else

void cv_ward(void)
{
}

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "rules.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Numbers that libseccomp has no name for belong to kernels newer than it, up to this one. */
#define SYSCALLS_END 512
/* The level of libseccomp that knows an action that kills the whole process. The machine that builds may have
 * an older kernel: the one that runs is asked again. */
#define LEVEL 3

/* Whatever its arguments are: nothing here reaches a file by name, another process or the network. */
static const int ALLOWED[] = {
    SCMP_SYS(read),           SCMP_SYS(pread64),         SCMP_SYS(write),         SCMP_SYS(writev),
    SCMP_SYS(lseek),          SCMP_SYS(fstat),           SCMP_SYS(close),         SCMP_SYS(brk),
    SCMP_SYS(munmap),         SCMP_SYS(mremap),          SCMP_SYS(futex),         SCMP_SYS(exit),
    SCMP_SYS(exit_group),     SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn),  SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(sigaltstack),     SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),      SCMP_SYS(gettimeofday),    SCMP_SYS(getrandom),     SCMP_SYS(getpid),
    SCMP_SYS(gettid),         SCMP_SYS(sched_yield),     SCMP_SYS(sysinfo), /* qsort of some C libraries */
};

/* What a thread of the C library does at its start. */
static const int OF_THREADS[] = { SCMP_SYS(set_robust_list), SCMP_SYS(rseq) };

/* Known, but not to every kernel: the C library has another way. */
static const int ABSENT[] = { SCMP_SYS(clone3), SCMP_SYS(statx), SCMP_SYS(membarrier) };

/* Exactly these: neither a process nor a name space of its own. */
#define THREAD_FLAGS    0x003d0f00u
#define CLONE_DETACHED_ 0x00400000u /* ignored since 2.6; some C libraries set it */

/* MADV_HWPOISON is the first number of those that are for testing machines. */
#define MADV_OF_SYSTEM 100

#define ROWS(table)    (sizeof(table) / sizeof((table)[0]))

/* Numbers that this architecture has not are below zero. */
static bool rule(scmp_filter_ctx filter, uint32_t action, int nr, unsigned count,
                 const struct scmp_arg_cmp *arg)
{
    return nr < 0 || seccomp_rule_add_array(filter, action, nr, count, arg) == 0;
}

static bool rule1(scmp_filter_ctx filter, uint32_t action, int nr, struct scmp_arg_cmp cmp)
{
    return rule(filter, action, nr, 1, &cmp);
}

static bool rule_each(scmp_filter_ctx filter, uint32_t action, const int *nr, size_t count)
{
    bool ok = true;

    for (size_t i = 0; i < count; i++)
        ok = rule(filter, action, nr[i], 0, NULL) && ok;
    return ok;
}

/* System calls that were made after libseccomp was: whoever tries one has a way without. */
static bool rule_unknown(scmp_filter_ctx filter)
{
    bool ok = true, known = false;

    for (int nr = SYSCALLS_END - 1; nr > 0 && !known; nr--) {
        char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);

        known = name != NULL;
        free(name);
        if (!known)
            ok = rule(filter, SCMP_ACT_ERRNO(ENOSYS), nr, 0, NULL) && ok;
    }
    return ok;
}

static bool rule_memory(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp plain[] = {
        SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS),
    };

    /* A file grows, where its space is found at once. With a mode it would lose what others wrote to it, a
     * log that standard output is appended to for instance. */
    return rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(fallocate), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, 0)) &&
           /* Not what takes pages away from the whole machine, which root may. */
           rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(madvise), SCMP_A2(SCMP_CMP_LT, MADV_OF_SYSTEM, 0)) &&
           rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, plain) &&
           rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap2), 2, plain) &&
           rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Opening for reading is refused without death: a C library may look for a table of its own that it can do
 * without. So is a look at a name. A flag says that an open file is meant where the name is empty, and no
 * filter sees whether it is: open files are looked at by fstat, which has no name. */
static bool rule_names(scmp_filter_ctx filter)
{
    const uint64_t writing = O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

    return rule1(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), SCMP_A2(SCMP_CMP_MASKED_EQ, writing, 0)) &&
           rule1(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(open), SCMP_A1(SCMP_CMP_MASKED_EQ, writing, 0)) &&
           rule(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 0, NULL);
}

/* What the standard streams need: is it a terminal? Abort is the one signal that we send: to ourselves. */
static bool rule_process(scmp_filter_ctx filter, bool threads, uint32_t pid)
{
    bool ok =
        rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TCGETS)) &&
        rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_GETFL)) &&
        rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, pid)) &&
        /* malloc: how many arenas; for itself, not to find out about others */
        rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_getaffinity),
              SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, 0));

    if (!threads)
        return ok;
    return rule_each(filter, SCMP_ACT_ALLOW, OF_THREADS, ROWS(OF_THREADS)) &&
           rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone),
                 SCMP_A0(SCMP_CMP_MASKED_EQ, UINT64_MAX ^ CLONE_DETACHED_, THREAD_FLAGS)) &&
           ok;
}

/* The half of a register that holds a descriptor. */
#define FD_IS(nth, fd) SCMP_A##nth(SCMP_CMP_MASKED_EQ, UINT32_MAX, (fd))

static bool rule_sockets(scmp_filter_ctx filter, unsigned shape, const uint32_t *number)
{
    bool ok = true;

    if (shape & FILTER_CHANNEL)
        ok = rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), FD_IS(0, number[FILTER_N_CHANNEL]));
    if (shape & FILTER_PORTER)
        ok = rule1(filter, SCMP_ACT_ALLOW, SCMP_SYS(recvmsg), FD_IS(0, number[FILTER_N_PORTER])) && ok;
    if (shape & FILTER_ANSWERS)
        ok = rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(poll), 0, NULL) &&
             rule(filter, SCMP_ACT_ALLOW, SCMP_SYS(ppoll), 0, NULL) && ok;
    return ok;
}

/* Everything else that has a name is death; also another architecture's numbers. */
static bool rules(scmp_filter_ctx filter, unsigned shape, const uint32_t *number)
{
    /* A tree instead of a chain: the kernel tries the program on every number when it is loaded. Without it
     * the rules are the same. */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
           rule_each(filter, SCMP_ACT_ALLOW, ALLOWED, ROWS(ALLOWED)) &&
           rule_each(filter, SCMP_ACT_ERRNO(ENOSYS), ABSENT, ROWS(ABSENT)) && rule_unknown(filter) &&
           rule_memory(filter) && rule_names(filter) &&
           rule_process(filter, shape & FILTER_THREADS, number[FILTER_N_PID]) &&
           rule_sockets(filter, shape, number);
}

/* libseccomp writes it to a descriptor: of memory, as the build needs no folder for it. */
static struct sock_filter *written(scmp_filter_ctx filter, size_t *count)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    struct sock_filter *code = NULL;
    long size = 0;

    if (file && seccomp_export_bpf(filter, fileno(file)) == 0 && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && (size_t)size % sizeof(*code) == 0 && fseek(file, 0, SEEK_SET) == 0)
        code = malloc((size_t)size);
    *count = (size_t)size / sizeof(*code);
    if (code && fread(code, sizeof(*code), *count, file) != *count) {
        free(code);
        code = NULL;
    }
    if (file)
        (void)fclose(file); /* of no use any more */
    else if (fd >= 0)
        (void)close(fd);
    return code;
}

struct sock_filter *filter_program_of(unsigned shape, const uint32_t number[FILTER_N_COUNT], size_t *count)
{
    struct sock_filter *code = NULL;
    scmp_filter_ctx filter = NULL;

    *count = 0;
    if (seccomp_api_set(LEVEL) == 0)
        filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (filter && rules(filter, shape, number))
        code = written(filter, count);
    seccomp_release(filter);
    return code;
}

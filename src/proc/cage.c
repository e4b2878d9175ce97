/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Between fork and exec in a process that may have had other threads: system calls and arithmetic, nothing
 * else. What cannot be had (an old kernel, no /proc) is a failure to start, never a weaker cage. Two things
 * are extras where the kernel lets us: the fence, and a process number space, in which the program cannot
 * even name its keeper and which the kernel empties when its first process ends. Without both, a program that
 * attacks its keeper is killed itself, but processes of its own in other sessions may survive. */
#include "proc/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "proc/ward.h"

/* Where the keeper has its descriptors; those that it opens itself come behind. */
enum { FD_NULL, FD_OUT, FD_ERR, FD_CHANNEL, FD_BASE, FD_DIR, FD_REST };

#define STACK_BYTES (UINT64_C(16) * CV_MIB)

/* Of unshare(2). */
#define NEW_USERS     0x10000000
#define NEW_PROCESSES 0x20000000

typedef struct keeper {
    const cv_cage *cage;
    cv_nest nest;  /* its descriptors where they are by now */
    int list;      /* of its children */
    bool secluded; /* what it starts next is the first process of a number space */
    pid_t child;   /* the program, or that first process */
    int status;    /* where that one writes how the program ended */
} keeper;

/* The raw call: sanitizers take locks around the library's, and another thread may have held them. */
static _Noreturn void end(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

static int move_to(int from, int to, int flags)
{
    return dup3(from, to, flags) == to ? 0 : errno;
}

static int close_from(unsigned low)
{
    return syscall(SYS_close_range, low, ~0U, 0) == 0 ? 0 : errno;
}

/* A fence around the file system: nothing can be written but what lies in the private directory, and
 * /dev/null; no network connection, no signal to a process outside. Landlock's own numbers, which old headers
 * lack. */
static void fence(int null, int dir)
{
    enum { EXECUTE_READ = 0xD, WRITE_FILE = 1 << 1, REFER = 1 << 13, TRUNCATE = 1 << 14 };
    struct {
        uint64_t fs, net, scope;
    } set = { (REFER - 1) & ~EXECUTE_READ, 3, 3 };
    struct {
        uint64_t allowed;
        int32_t fd, pad;
    } beneath = { .fd = dir };
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int ruleset;

    if (abi < 1)
        return;
    set.fs |= (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNCATE : 0);
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (ruleset < 0)
        return;
    beneath.allowed = set.fs;
    syscall(SYS_landlock_add_rule, ruleset, 1, &beneath, 0);
    beneath.allowed = set.fs & (WRITE_FILE | TRUNCATE);
    beneath.fd = null;
    syscall(SYS_landlock_add_rule, ruleset, 1, &beneath, 0);
    syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
}

/* Never above what this process may have itself. */
static int limit(unsigned what, uint64_t soft, uint64_t hard)
{
    struct rlimit now;
    struct rlimit want;

    if (getrlimit(what, &now) != 0)
        return errno;
    want.rlim_max = hard < now.rlim_max ? hard : now.rlim_max;
    want.rlim_cur = soft < want.rlim_max ? soft : want.rlim_max;
    return setrlimit(what, &want) == 0 ? 0 : errno;
}

static int limits(const cv_cage *c)
{
    int e = limit(RLIMIT_CORE, 0, 0);

    if (e == 0)
        e = limit(RLIMIT_CPU, c->cpu_seconds, c->cpu_seconds + 1); /* a signal first, then the end */
    if (e == 0)
        e = limit(RLIMIT_FSIZE, c->file, c->file);
    if (e == 0)
        e = limit(RLIMIT_STACK, STACK_BYTES, STACK_BYTES);
    if (e == 0)
        e = limit(RLIMIT_NPROC, c->processes, c->processes);
    if (e == 0)
        e = limit(RLIMIT_NOFILE, c->files, c->files);
    if (e == 0)
        e = limit(RLIMIT_AS, c->memory, c->memory);
    return e;
}

/* The program's process, up to its exec: nothing but an errno comes back, through 'report'. */
static _Noreturn void become(const cv_cage *c, int report, pid_t parent)
{
    char *const nothing[] = { NULL };
    sigset_t none;
    int e = 0;

    sigemptyset(&none);
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || fchdir(FD_DIR) != 0)
        e = errno;
    if (e == 0 && getppid() != parent)
        end(127); /* it died before its death could be a signal */
    umask(077);
    fence(FD_NULL, FD_DIR);
    if (e == 0)
        e = move_to(report, FD_CHANNEL, O_CLOEXEC);
    if (e == 0)
        report = FD_CHANNEL;
    if (e == 0)
        e = close_from(FD_CHANNEL + 1);
    if (e == 0)
        e = limits(c);
    if (e == 0) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        cv_ward();
        execve(c->path, (char *const *)(uintptr_t)c->argv, nothing);
        e = errno;
    }
    while (write(report, &e, sizeof(e)) < 0 && errno == EINTR)
        ;
    end(127);
}

/* The first process of the number space: reaps what is orphaned there, tells how the program ended, and ends.
 * Then the kernel kills all others, and lets it end when they are gone. */
static _Noreturn void reign(const cv_cage *c, const int *report, int status)
{
    pid_t program, p;
    int how = 0;

    program = setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? -1 : _Fork();
    if (program == 0)
        become(c, report[1], 1);
    if (program < 0) {
        how = errno;
        (void)!write(report[1], &how, sizeof(how)); /* the keeper reads it, or is gone */
        end(127);
    }
    close(report[1]);
    while ((p = waitpid(-1, &how, 0)) != program)
        if (p < 0 && errno != EINTR)
            end(127);
    end(write(status, &how, sizeof(how)) == (ssize_t)sizeof(how) ? 0 : 127);
}

/* Start it. 0: k->child runs · errno */
static int start(keeper *k)
{
    int report[2], status[2] = { -1, -1 }, e = 0;
    pid_t self = getpid();
    ssize_t n;

    if (pipe2(report, O_CLOEXEC) != 0 || (k->secluded && pipe2(status, O_CLOEXEC) != 0))
        return errno;
    k->child = _Fork();
    if (k->child == 0 && k->secluded)
        reign(k->cage, report, status[1]);
    if (k->child == 0)
        become(k->cage, report[1], self);
    if (k->child < 0)
        e = errno;
    close(report[1]);
    if (e == 0) {
        while ((n = read(report[0], &e, sizeof(e))) < 0 && errno == EINTR)
            ;
        if (n == (ssize_t)sizeof(e))
            waitpid(k->child, NULL, 0);
        else
            e = 0; /* closed by the exec */
    }
    close(report[0]);
    if (k->secluded)
        close(status[1]);
    k->status = status[0];
    /* What it inherited is none of the keeper's business: only the program's side keeps the log open. */
    close(FD_OUT);
    close(FD_ERR);
    return e;
}

/* Kill and reap all children of this process but one; false: there was none. */
static bool kill_children(int list, pid_t but)
{
    char text[512];
    ssize_t n = pread(list, text, sizeof(text), 0);
    bool any = false;
    pid_t pid = 0;

    for (ssize_t i = 0; i < n; i++) {
        if (text[i] >= '0' && text[i] <= '9') {
            pid = pid * 10 + (text[i] - '0');
            continue;
        }
        /* Only numbers with something behind them: the last one may be cut. A child of ours keeps its
         * number until it is reaped here. */
        if (pid > 0 && pid != but) {
            any = true;
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        pid = 0;
    }
    return any;
}

/* The program and everything that it has started, whatever group or session that went to: orphans become
 * children of this process. The program is reaped last, so that no other group can have its number. */
static void kill_all(const keeper *k, cv_cage_message *m)
{
    struct rusage use = { 0 };
    siginfo_t info;
    int status = 0, first;

    do {
        kill(-k->child, SIGKILL);
        while (waitid(P_PID, (id_t)k->child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
            ;
    } while (kill_children(k->list, k->child));
    while (wait4(k->child, &status, 0, &use) < 0 && errno == EINTR)
        ;
    /* All its writers are dead: what is in there, or the end. Killed before it could tell, so was the
     * program. */
    if (k->secluded)
        status = read(k->status, &first, sizeof(first)) == (ssize_t)sizeof(first) ? first : SIGKILL;
    m->word = WIFSIGNALED(status) ? CV_CAGE_SIGNALED : CV_CAGE_EXITED;
    m->value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    m->cpu_ms = (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
                (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
}

static void say(uint32_t word, int value, uint64_t cpu_ms)
{
    const cv_cage_message m = { word, value, cpu_ms };

    /* Nobody there: the next hear() finds out. */
    (void)send(FD_CHANNEL, &m, sizeof(m), MSG_NOSIGNAL);
}

/* The next word, or CV_CAGE_LEAVE with *gone when there is nobody any more. */
static char hear(bool *gone)
{
    char word = 0;
    ssize_t n;

    while ((n = recv(FD_CHANNEL, &word, 1, 0)) < 0 && errno == EINTR)
        ;
    *gone = n != 1;
    return *gone ? CV_CAGE_LEAVE : word;
}

/* 0 or errno */
static int put_line(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), e = 0;

    if (fd < 0 || write(fd, text, n) != (ssize_t)n)
        e = errno ? errno : EIO;
    if (fd >= 0)
        close(fd);
    return e;
}

/* Every user is himself in a space of users. */
static int put_map(const char *path, uint64_t id)
{
    char line[64];
    cv_text t = { line, sizeof(line), 0 };

    cv_text_dec(&t, id);
    cv_text_char(&t, ' ');
    cv_text_dec(&t, id);
    cv_text_str(&t, " 1");
    return put_line(path, line, t.len);
}

/* A space of process numbers for what is started next. Root may have one; others only within a space of
 * users, which root does without: it would hold every privilege there. 0 or errno, also where there is none.
 */
static int seclude(keeper *k)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int e;

    k->secluded = syscall(SYS_unshare, NEW_PROCESSES) == 0;
    if (k->secluded || uid == 0)
        return 0;
    /* The files of the maps belong to whom this memory may be shown to. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || syscall(SYS_unshare, NEW_USERS | NEW_PROCESSES) != 0)
        return 0;
    k->secluded = true;
    e = put_line("/proc/thread-self/setgroups", "deny", 4);
    if (e == 0)
        e = put_map("/proc/thread-self/uid_map", uid);
    return e ? e : put_map("/proc/thread-self/gid_map", gid);
}

static int prepare(keeper *k)
{
    struct sigaction plain = { .sa_handler = SIG_DFL };
    const cv_cage *c = k->cage;
    int e;

    /* A program inherits what is ignored, and a keeper that ignores SIGCHLD could not wait. Two of the
     * numbers cannot be changed: no matter. */
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &plain, NULL);
    e = move_to(c->null, FD_NULL, 0);
    if (e == 0)
        e = move_to(c->log, FD_OUT, 0);
    if (e == 0)
        e = move_to(c->log, FD_ERR, 0);
    if (e == 0)
        e = move_to(c->nest.base, FD_BASE, O_CLOEXEC);
    if (e == 0)
        e = move_to(c->nest.dir, FD_DIR, O_CLOEXEC);
    if (e != 0)
        return e;
    k->nest.base = FD_BASE;
    k->nest.dir = FD_DIR;
    e = close_from(FD_REST);
    if (e != 0)
        return e;
    if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    k->list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (k->list < 0)
        return errno;
    e = seclude(k);
    if (e != 0)
        return e;
    /* This memory is a copy of the caller's: nothing that the program does may look into it. */
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno;
}

/* Until the program ends, or is to. */
static void watch(keeper *k)
{
    cv_cage_message m;
    int e = start(k);
    struct pollfd on[2] = { { .fd = FD_CHANNEL, .events = POLLIN }, { .fd = -1, .events = POLLIN } };

    if (e != 0) {
        say(CV_CAGE_FAILED, e, 0);
        return;
    }
    say(CV_CAGE_STARTED, k->child, 0);
    on[1].fd = (int)syscall(SYS_pidfd_open, k->child, 0);
    if (on[1].fd >= 0) {
        while (poll(on, 2, -1) < 0 && errno == EINTR)
            ;
    }
    e = on[1].fd < 0 ? errno : 0;
    kill_all(k, &m);
    say(e ? CV_CAGE_FAILED : m.word, e ? e : m.value, m.cpu_ms);
}

_Noreturn void cv_cage_keep(const cv_cage *c)
{
    keeper k = { .cage = c, .nest = c->nest, .list = -1, .status = -1 };
    bool gone = false;
    char word;
    int e;

    e = move_to(c->channel, FD_CHANNEL, O_CLOEXEC);
    if (e != 0)
        end(1);
    e = prepare(&k);
    if (e != 0)
        say(CV_CAGE_FAILED, e, 0);
    word = hear(&gone);
    if (e == 0 && word == CV_CAGE_GO)
        watch(&k);
    while (word != CV_CAGE_LEAVE)
        word = hear(&gone);
    end(gone ? cv_nest_remove(&k.nest) : 0); /* there is nobody left to be told */
}

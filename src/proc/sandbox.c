/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Between fork and exec in a process that may have had other threads: system calls and arithmetic, nothing
 * else. What cannot be had (an old kernel, no /proc) is a failure to start, never a weaker sandbox. Two
 * things are extras where the kernel lets us: the fence, and a process number space, in which the program
 * cannot even name its supervisor and which the kernel empties when its first process ends. Without both, a
 * program that attacks its supervisor is killed itself, but processes of its own in other sessions may
 * survive. */
#include "proc/sandbox.h"

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
#include "proc/seccomp.h"

/* Where the supervisor has its descriptors; those that it opens itself come behind. */
enum { FD_NULL, FD_OUT, FD_ERR, FD_CHANNEL, FD_BASE, FD_DIR, FD_REST };

#define STACK_BYTES (UINT64_C(16) * CV_MIB)

/* Of unshare(2). */
#define NEW_USERS     0x10000000
#define NEW_PROCESSES 0x20000000

typedef struct supervisor {
    const cv_sandbox *sandbox;
    cv_tmpdir tmpdir; /* its descriptors where they are by now */
    int list;         /* of its children */
    bool secluded;    /* what it starts next is the first process of a process number space */
    pid_t child;      /* the program, or that first process */
    int status;       /* where that one writes how the program ended */
} supervisor;

/* The raw call: sanitizers take locks around the library's, and another thread may have held them. */
static _Noreturn void exit_now(int code)
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
static void restrict_files(int null, int dir)
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
static int set_limit(unsigned what, uint64_t soft, uint64_t hard)
{
    struct rlimit now;
    struct rlimit want;

    if (getrlimit(what, &now) != 0)
        return errno;
    want.rlim_max = hard < now.rlim_max ? hard : now.rlim_max;
    want.rlim_cur = soft < want.rlim_max ? soft : want.rlim_max;
    return setrlimit(what, &want) == 0 ? 0 : errno;
}

static int set_limits(const cv_sandbox *sandbox)
{
    int error = set_limit(RLIMIT_CORE, 0, 0);

    if (error == 0)
        error = set_limit(RLIMIT_CPU, sandbox->cpu_seconds,
                          sandbox->cpu_seconds + 1); /* a signal first, then the end */
    if (error == 0)
        error = set_limit(RLIMIT_FSIZE, sandbox->file, sandbox->file);
    if (error == 0)
        error = set_limit(RLIMIT_STACK, STACK_BYTES, STACK_BYTES);
    if (error == 0)
        error = set_limit(RLIMIT_NPROC, sandbox->processes, sandbox->processes);
    if (error == 0)
        error = set_limit(RLIMIT_NOFILE, sandbox->files, sandbox->files);
    if (error == 0)
        error = set_limit(RLIMIT_AS, sandbox->memory, sandbox->memory);
    return error;
}

/* The program's process, up to its exec: nothing but an errno comes back, through 'report'. */
static _Noreturn void run_program(const cv_sandbox *sandbox, int report, pid_t parent)
{
    /* The private directory: ptxas writes temporary files besides the output. */
    char temporary[] = "TMPDIR=.";
    char *const environment[] = { temporary, NULL };
    sigset_t none;
    int error = 0;

    sigemptyset(&none);
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || fchdir(FD_DIR) != 0)
        error = errno;
    if (error == 0 && getppid() != parent)
        exit_now(127); /* it died before its death could be a signal */
    umask(077);
    restrict_files(FD_NULL, FD_DIR);
    if (error == 0)
        error = move_to(report, FD_CHANNEL, O_CLOEXEC);
    if (error == 0)
        report = FD_CHANNEL;
    if (error == 0)
        error = close_from(FD_CHANNEL + 1);
    if (error == 0)
        error = set_limits(sandbox);
    if (error == 0) {
        sigprocmask(SIG_SETMASK, &none, NULL);
        cv_seccomp_restrict();
        execve(sandbox->path, cv_without_const(sandbox->argv), environment);
        error = errno;
    }
    while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    exit_now(127);
}

/* The first process of the process number space: reaps what is orphaned there, tells how the program ended,
 * and ends. Then the kernel kills all others, and lets it end when they are gone. */
static _Noreturn void run_as_init(const cv_sandbox *sandbox, const int *report, int status)
{
    pid_t program, pid;
    int how = 0;

    program = setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ? -1 : _Fork();
    if (program == 0)
        run_program(sandbox, report[1], 1);
    if (program < 0) {
        how = errno;
        (void)!write(report[1], &how, sizeof(how)); /* the supervisor reads it, or is gone */
        exit_now(127);
    }
    close(report[1]);
    while ((pid = waitpid(-1, &how, 0)) != program)
        if (pid < 0 && errno != EINTR)
            exit_now(127);
    exit_now(write(status, &how, sizeof(how)) == (ssize_t)sizeof(how) ? 0 : 127);
}

/* Start it. 0: k->child runs · errno */
static int start_program(supervisor *parent)
{
    int report[2], status[2] = { -1, -1 }, error = 0;
    pid_t self = getpid();
    ssize_t got;

    if (pipe2(report, O_CLOEXEC) != 0 || (parent->secluded && pipe2(status, O_CLOEXEC) != 0))
        return errno;
    parent->child = _Fork();
    if (parent->child == 0 && parent->secluded)
        run_as_init(parent->sandbox, report, status[1]);
    if (parent->child == 0)
        run_program(parent->sandbox, report[1], self);
    if (parent->child < 0)
        error = errno;
    close(report[1]);
    if (error == 0) {
        while ((got = read(report[0], &error, sizeof(error))) < 0 && errno == EINTR)
            ;
        if (got == (ssize_t)sizeof(error))
            waitpid(parent->child, NULL, 0);
        else
            error = 0; /* closed by the exec */
    }
    close(report[0]);
    if (parent->secluded)
        close(status[1]);
    parent->status = status[0];
    /* What it inherited is none of the supervisor's business: only the program's side keeps the log open. */
    close(FD_OUT);
    close(FD_ERR);
    return error;
}

/* Kill and reap all children of this process but one; false: there was none. */
static bool kill_children(int list, pid_t but)
{
    char text[512];
    ssize_t len = pread(list, text, sizeof(text), 0);
    bool any = false;
    pid_t pid = 0;

    for (ssize_t i = 0; i < len; i++) {
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
static void kill_all(const supervisor *self, cv_sandbox_message *message)
{
    struct rusage use = { 0 };
    siginfo_t info;
    int status = 0, first;

    do {
        kill(-self->child, SIGKILL);
        while (waitid(P_PID, (id_t)self->child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
            ;
    } while (kill_children(self->list, self->child));
    while (wait4(self->child, &status, 0, &use) < 0 && errno == EINTR)
        ;
    /* All its writers are dead: what is in there, or the end. Killed before it could tell, so was the
     * program. */
    if (self->secluded)
        status = read(self->status, &first, sizeof(first)) == (ssize_t)sizeof(first) ? first : SIGKILL;
    message->word = WIFSIGNALED(status) ? CV_SANDBOX_SIGNALED : CV_SANDBOX_EXITED;
    message->value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    message->cpu_ms = (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000 +
                      (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1000;
}

static void send_message(uint32_t word, int value, uint64_t cpu_ms)
{
    const cv_sandbox_message message = { word, value, cpu_ms };

    /* Nobody there: the next receive_word() finds out. */
    (void)send(FD_CHANNEL, &message, sizeof(message), MSG_NOSIGNAL);
}

/* The next word, or CV_SANDBOX_LEAVE with *gone when there is nobody any more. */
static char receive_word(bool *gone)
{
    char word = 0;
    ssize_t got;

    while ((got = recv(FD_CHANNEL, &word, 1, 0)) < 0 && errno == EINTR)
        ;
    *gone = got != 1;
    return *gone ? CV_SANDBOX_LEAVE : word;
}

/* 0 or errno */
static int put_line(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), error = 0;

    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        error = errno ? errno : EIO;
    if (fd >= 0)
        close(fd);
    return error;
}

/* Every user is himself in a space of users. */
static int put_map(const char *path, uint64_t id)
{
    char line[64];
    cv_text text = { line, sizeof(line), 0 };

    cv_text_dec(&text, id);
    cv_text_char(&text, ' ');
    cv_text_dec(&text, id);
    cv_text_str(&text, " 1");
    return put_line(path, line, text.len);
}

/* A space of process numbers for what is started next. Root may have one; others only within a space of
 * users, which root does without: it would hold every privilege there. 0 or errno, also where there is none.
 */
static int enter_pid_namespace(supervisor *self)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    int error;

    self->secluded = syscall(SYS_unshare, NEW_PROCESSES) == 0;
    if (self->secluded || uid == 0)
        return 0;
    /* The files of the maps belong to whom this memory may be shown to. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0 || syscall(SYS_unshare, NEW_USERS | NEW_PROCESSES) != 0)
        return 0;
    self->secluded = true;
    error = put_line("/proc/thread-self/setgroups", "deny", 4);
    if (error == 0)
        error = put_map("/proc/thread-self/uid_map", uid);
    return error ? error : put_map("/proc/thread-self/gid_map", gid);
}

static int prepare_supervisor(supervisor *self)
{
    struct sigaction plain = { .sa_handler = SIG_DFL };
    const cv_sandbox *sandbox = self->sandbox;
    int error;

    /* A program inherits what is ignored, and a supervisor that ignores SIGCHLD could not wait. Two of the
     * numbers cannot be changed: no matter. */
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &plain, NULL);
    error = move_to(sandbox->null, FD_NULL, 0);
    if (error == 0)
        error = move_to(sandbox->log, FD_OUT, 0);
    if (error == 0)
        error = move_to(sandbox->log, FD_ERR, 0);
    if (error == 0)
        error = move_to(sandbox->tmpdir.base, FD_BASE, O_CLOEXEC);
    if (error == 0)
        error = move_to(sandbox->tmpdir.dir, FD_DIR, O_CLOEXEC);
    if (error != 0)
        return error;
    self->tmpdir.base = FD_BASE;
    self->tmpdir.dir = FD_DIR;
    error = close_from(FD_REST);
    if (error != 0)
        return error;
    if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno;
    self->list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (self->list < 0)
        return errno;
    error = enter_pid_namespace(self);
    if (error != 0)
        return error;
    /* This memory is a copy of the caller's: nothing that the program does may look into it. */
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : errno;
}

/* Until the program ends, or is to. */
static void watch_program(supervisor *self)
{
    cv_sandbox_message message;
    int error = start_program(self);
    struct pollfd on[2] = { { .fd = FD_CHANNEL, .events = POLLIN }, { .fd = -1, .events = POLLIN } };

    if (error != 0) {
        send_message(CV_SANDBOX_FAILED, error, 0);
        return;
    }
    send_message(CV_SANDBOX_STARTED, self->child, 0);
    on[1].fd = (int)syscall(SYS_pidfd_open, self->child, 0);
    if (on[1].fd >= 0) {
        while (poll(on, 2, -1) < 0 && errno == EINTR)
            ;
    }
    error = on[1].fd < 0 ? errno : 0;
    kill_all(self, &message);
    send_message(error ? CV_SANDBOX_FAILED : message.word, error ? error : message.value, message.cpu_ms);
}

_Noreturn void cv_sandbox_supervise(const cv_sandbox *sandbox)
{
    supervisor self = { .sandbox = sandbox, .tmpdir = sandbox->tmpdir, .list = -1, .status = -1 };
    bool gone = false;
    char word;
    int error;

    error = move_to(sandbox->channel, FD_CHANNEL, O_CLOEXEC);
    if (error != 0)
        exit_now(1);
    error = prepare_supervisor(&self);
    if (error != 0)
        send_message(CV_SANDBOX_FAILED, error, 0);
    word = receive_word(&gone);
    if (error == 0 && word == CV_SANDBOX_GO)
        watch_program(&self);
    while (word != CV_SANDBOX_LEAVE)
        word = receive_word(&gone);
    exit_now(gone ? cv_tmpdir_remove(&self.tmpdir) : 0); /* there is nobody left to be told */
}

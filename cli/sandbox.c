/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "sandbox.h"

#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sanitizers, and profiles that are written at the end, need what the cage takes away. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(CLI_INSTRUMENTED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||            \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define INSTRUMENTED true
#else
#define INSTRUMENTED false
#endif

#define CPU_SECONDS (UINT64_C(24) * 3600) /* per thread: a stop for what runs away, not a quota */

static char state[320] = "off";

const char *cli_cage_state(void)
{
    return state;
}

void cli_cage_stay_out(const char *why)
{
    snprintf(state, sizeof(state), "off (%s)", why);
}

__attribute__((format(printf, 3, 4))) static void add(char *to, size_t cap, const char *format, ...)
{
    size_t n = strlen(to);
    va_list ap;

    va_start(ap, format);
    vsnprintf(to + n, cap - n, format, ap);
    va_end(ap);
}

/* ---- descriptors ---- */

static bool is_among(const int *fds, size_t n, int fd)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] == fd)
            return true;
    }
    return false;
}

static bool is_kept(const cli_cage *c, int fd)
{
    return fd <= STDERR_FILENO || fd == c->porter || fd == c->channel || fd == c->broker || fd == c->helper ||
           is_among(c->keep, c->n_keep, fd) || is_among(c->out, c->n_out, fd);
}

static int higher(int a, int b)
{
    return a > b ? a : b;
}

static int highest(int least, const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        least = higher(least, fds[i]);
    return least;
}

/* What the caller left open for us is nothing that bytes of a stranger should ever come near. */
void cli_cage_close_others(const cli_cage *c)
{
    int top = higher(higher(c->porter, c->channel), higher(c->broker, STDERR_FILENO));

    top = higher(highest(highest(top, c->keep, c->n_keep), c->out, c->n_out), c->helper);
    for (int fd = STDERR_FILENO + 1; fd < top; fd++) {
        if (!is_kept(c, fd))
            (void)close(fd); /* most are not open */
    }
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
    if (syscall(SYS_close_range, (unsigned)top + 1, ~0u, 0u) == 0)
        return;
    for (int fd = top + 1, end = (int)sysconf(_SC_OPEN_MAX); fd < end; fd++)
        (void)close(fd);
}

/* What the standard streams are. */
typedef struct streams {
    struct stat st[STDERR_FILENO + 1];
    bool known[STDERR_FILENO + 1];
} streams;

static void look_at_streams(streams *s)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        s->known[fd] = fstat(fd, &s->st[fd]) == 0;
}

/* Standard input is of no use in the cage unless it is an input, and may be anything: a terminal, a file that
 * is open for writing. No standard stream is a directory, which would be a way to names. Without /dev/null
 * they stay. */
static void replace_streams(const cli_cage *c, const streams *s)
{
    const dev_t null_device = makedev(1, 3);
    int null = -1;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        bool wanted = fd != STDIN_FILENO || c->standard_input;

        if (s->known[fd] && (wanted ? !S_ISDIR(s->st[fd].st_mode)
                                    : S_ISCHR(s->st[fd].st_mode) && s->st[fd].st_rdev == null_device))
            continue;
        if (null < 0)
            null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0)
            (void)dup2(null, fd); /* both are open */
    }
    if (null > STDERR_FILENO)
        (void)close(null); /* nothing was written to it */
}

/* ---- resource limits ---- */

/* Never more than it was; a value that cannot be told from "no limit" changes nothing. */
static bool lower(__rlimit_resource_t what, uint64_t soft, uint64_t hard)
{
    struct rlimit r;

    if (getrlimit(what, &r) != 0)
        return false;
    r.rlim_max = r.rlim_max < hard ? r.rlim_max : hard;
    r.rlim_cur = r.rlim_cur < soft ? r.rlim_cur : soft;
    if (r.rlim_cur > r.rlim_max)
        r.rlim_cur = r.rlim_max;
    return setrlimit(what, &r) == 0;
}

/* Is there anything that may grow: a report that goes to a file, or files of our own? */
static bool writes_files(const cli_cage *c, const streams *s)
{
    return c->porter >= 0 || (s->known[STDOUT_FILENO] && S_ISREG(s->st[STDOUT_FILENO].st_mode)) ||
           (s->known[STDERR_FILENO] && S_ISREG(s->st[STDERR_FILENO].st_mode));
}

/* Descriptors that may still come: the limit is about the number of the next one, which is the lowest that is
 * free. */
static uint64_t descriptors(const cli_cage *c)
{
    uint64_t incoming = c->channel < 0 ? 0 : c->incoming ? c->incoming : 1;
    uint64_t more = (c->porter >= 0 && c->folder ? 1u : 0u) + incoming;
    int next = fcntl(STDIN_FILENO, F_DUPFD, 0);

    if (next >= 0)
        (void)close(next);
    if (more == 0)
        return c->broker >= 0 ? 1
                              : 0; /* poll() does not look at more than that; the first is standard input */
    return next < 0 ? UINT64_MAX : (uint64_t)next + more;
}

static bool limit_resources(const cli_cage *c, const streams *s)
{
    uint64_t cpu = CPU_SECONDS * (c->threads ? c->threads : 1), files = descriptors(c);
    uint64_t file_size = writes_files(c, s) ? c->file_size : 0;
    bool ok = lower(RLIMIT_CORE, 0, 0);

    ok = lower(RLIMIT_CPU, cpu, cpu + 60) && ok;
    ok = lower(RLIMIT_FSIZE, file_size, file_size) && ok;
    ok = lower(RLIMIT_NOFILE, files, files) && ok;
    return lower(RLIMIT_AS, c->memory, c->memory) && ok;
}

/* ---- Landlock: no rule, so nothing can be reached by name ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* The header of the machine that we are built on may be older than the kernel that we run on. */
typedef struct ruleset {
    uint64_t fs, net, scoped;
} ruleset;

#define FS_ABI1 ((UINT64_C(1) << 13) - 1)
#define REFER   (UINT64_C(1) << 13) /* ABI 2 */
#define TRUNC   (UINT64_C(1) << 14) /* ABI 3 */
#define IOCTL   (UINT64_C(1) << 15) /* ABI 5 */
#define NET_TCP UINT64_C(3)         /* ABI 4: bind and connect */
#define SCOPES  UINT64_C(3)         /* ABI 6: abstract sockets and signals */

static ruleset handled(long abi, size_t *size)
{
    ruleset r = { .fs = FS_ABI1 };

    *size = abi >= 6 ? sizeof(r) : abi >= 4 ? offsetof(ruleset, scoped) : offsetof(ruleset, net);
    r.fs |= (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNC : 0) | (abi >= 5 ? IOCTL : 0);
    r.net = abi >= 4 ? NET_TCP : 0;
    r.scoped = abi >= 6 ? SCOPES : 0;
    return r;
}

/* @return the ABI, 0 with errno set when it cannot be had. */
static long landlock(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    ruleset r;
    size_t size;
    int fd, rc;

    if (abi < 1)
        return 0;
    r = handled(abi, &size);
    fd = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (fd < 0)
        return 0;
    rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
    (void)close(fd); /* what it says holds without it */
    return rc == 0 ? abi : 0;
}

/* ---- all of it ---- */

static void missing(char *to, size_t cap, const char *what, int error)
{
    add(to, cap, "%s%s (%s)", *to ? ", " : "; missing: ", what, strerror(error));
}

bool cli_cage_possible(void)
{
    return !INSTRUMENTED;
}

unsigned cli_cage_enter(const cli_cage *c)
{
    char have[64] = "", lack[240] = "";
    unsigned tiers = 0;
    streams s;
    long abi;
    int rc;

    if (!cli_cage_possible()) {
        cli_cage_stay_out("sanitizer build");
        return 0;
    }
    cli_cage_close_others(c);
    look_at_streams(&s);
    replace_streams(c, &s);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        missing(lack, sizeof(lack), "no_new_privs", errno);
    abi = landlock();
    if (abi > 0)
        tiers |= CLI_CAGE_LANDLOCK;
    else
        missing(lack, sizeof(lack), "landlock", errno);
    /* After Landlock, which needs a descriptor for a moment. */
    if (limit_resources(c, &s))
        tiers |= CLI_CAGE_RLIMITS;
    else
        missing(lack, sizeof(lack), "rlimits", errno);
    rc = cli_filter_load(c);
    if (rc == 0)
        tiers |= CLI_CAGE_SECCOMP;
    else
        missing(lack, sizeof(lack), "seccomp", rc);
    if (tiers & CLI_CAGE_SECCOMP)
        add(have, sizeof(have), "seccomp");
    if (tiers & CLI_CAGE_LANDLOCK)
        add(have, sizeof(have), "%slandlock abi %ld", *have ? ", " : "", abi);
    if (tiers & CLI_CAGE_RLIMITS)
        add(have, sizeof(have), "%srlimits", *have ? ", " : "");
    snprintf(state, sizeof(state), "%s%s", *have ? have : "none", lack);
    return tiers;
}

void cli_cage_probe(char *out, size_t cap)
{
    const cli_cage c = { CLI_CAGE_NOTHING, .memory = UINT64_MAX, .file_size = UINT64_MAX };
    int fd[2];
    ssize_t n = -1;
    pid_t child;

    snprintf(out, cap, "unknown");
    if (cap < 2 || pipe2(fd, O_CLOEXEC) != 0)
        return;
    child = fork();
    if (child == 0) {
        cli_cage inside = c;

        inside.keep = &fd[1];
        inside.n_keep = 1;
        (void)cli_cage_enter(&inside);
        (void)!write(fd[1], state, strlen(state)); /* the parent sees what came, or nothing */
        _exit(0);
    }
    (void)close(fd[1]);
    if (child > 0) {
        n = read(fd[0], out, cap - 1); /* far below what a pipe takes in one piece */
        (void)waitpid(child, NULL, 0); /* of no interest: it has spoken, or not */
    }
    (void)close(fd[0]);
    if (n > 0)
        out[n] = '\0';
    else
        snprintf(out, cap, "unknown");
}

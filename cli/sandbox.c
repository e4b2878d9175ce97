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
#define __has_feature(feature) 0
#endif
#if defined(CLI_INSTRUMENTED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||            \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define INSTRUMENTED true
#else
#define INSTRUMENTED false
#endif

#define CPU_SECONDS (UINT64_C(24) * 3600) /* per thread: a stop for what runs away, not a quota */

static char state[320] = "off";
static bool single; /* the cage allows no threads */

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
    size_t len = strlen(to);
    va_list ap;

    va_start(ap, format);
    vsnprintf(to + len, cap - len, format, ap);
    va_end(ap);
}

/* ---- descriptors ---- */

static bool is_among(const int *fds, size_t count, int fd)
{
    for (size_t i = 0; i < count; i++) {
        if (fds[i] == fd)
            return true;
    }
    return false;
}

static bool is_kept(const cli_cage *cage, int fd)
{
    return fd <= STDERR_FILENO || fd == cage->porter || fd == cage->channel || fd == cage->broker ||
           fd == cage->helper || is_among(cage->keep, cage->n_keep, fd) ||
           is_among(cage->out, cage->n_out, fd);
}

static int higher_of(int left, int right)
{
    return left > right ? left : right;
}

static int highest_of(int least, const int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        least = higher_of(least, fds[i]);
    return least;
}

/* What the caller left open for us is nothing that bytes of a stranger should ever come near. */
void cli_cage_close_others(const cli_cage *cage)
{
    int top = higher_of(higher_of(cage->porter, cage->channel), higher_of(cage->broker, STDERR_FILENO));

    top = higher_of(highest_of(highest_of(top, cage->keep, cage->n_keep), cage->out, cage->n_out),
                    cage->helper);
    for (int fd = STDERR_FILENO + 1; fd < top; fd++) {
        if (!is_kept(cage, fd))
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
typedef struct standard_streams {
    struct stat st[STDERR_FILENO + 1];
    bool known[STDERR_FILENO + 1];
} standard_streams;

static void look_at_streams(standard_streams *streams)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        streams->known[fd] = fstat(fd, &streams->st[fd]) == 0;
}

/* Standard input is of no use in the cage unless it is an input, and may be anything: a terminal, a file that
 * is open for writing. No standard stream is a directory, which would be a way to names. Without /dev/null
 * they stay. */
static void replace_streams(const cli_cage *cage, const standard_streams *streams)
{
    const dev_t null_device = makedev(1, 3);
    int null = -1;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        bool wanted = fd != STDIN_FILENO || cage->standard_input;

        if (streams->known[fd] &&
            (wanted ? !S_ISDIR(streams->st[fd].st_mode)
                    : S_ISCHR(streams->st[fd].st_mode) && streams->st[fd].st_rdev == null_device))
            continue;
        if (null < 0)
            null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null >= 0)
            (void)dup2(null, fd); /* both are open */
    }
    if (null > STDERR_FILENO)
        (void)close(null); /* nothing was written to it */
}

bool cli_cage_let_go_of_streams(void)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0)
        return false;
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        (void)close(null);
    return true;
}

/* ---- resource limits ---- */

/* Never more than it was; a value that cannot be told from "no limit" changes nothing. */
static bool lower_limit(__rlimit_resource_t what, uint64_t soft, uint64_t hard)
{
    struct rlimit limit;

    if (getrlimit(what, &limit) != 0)
        return false;
    limit.rlim_max = limit.rlim_max < hard ? limit.rlim_max : hard;
    limit.rlim_cur = limit.rlim_cur < soft ? limit.rlim_cur : soft;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit(what, &limit) == 0;
}

/* Is there anything that may grow: a report that goes to a file, or files of our own? */
static bool writes_files(const cli_cage *cage, const standard_streams *streams)
{
    return cage->porter >= 0 || cage->files_come ||
           (streams->known[STDOUT_FILENO] && S_ISREG(streams->st[STDOUT_FILENO].st_mode)) ||
           (streams->known[STDERR_FILENO] && S_ISREG(streams->st[STDERR_FILENO].st_mode));
}

/* Descriptors that may still come: the limit is about their numbers, and each gets the lowest that is
 * free. */
static uint64_t descriptors(const cli_cage *cage)
{
    uint64_t incoming = cage->channel < 0 ? 0 : cage->incoming ? cage->incoming : 1;
    uint64_t more = (cage->porter >= 0 && cage->folder ? 1u : 0u) + incoming;
    int next = STDIN_FILENO;

    if (more == 0)
        return cage->broker >= 0 || cage->helper >= 0
                   ? 1
                   : 0; /* poll() does not look at more than that; the first is standard input */
    for (uint64_t i = 0; i < more; i++) {
        next = fcntl(STDIN_FILENO, F_DUPFD, next);
        if (next < 0)
            return UINT64_MAX;
        (void)close(next++);
    }
    return (uint64_t)next;
}

static bool limit_resources(const cli_cage *cage, const standard_streams *streams)
{
    uint64_t cpu = CPU_SECONDS * (cage->threads ? cage->threads : 1), files = descriptors(cage);
    uint64_t file_size = writes_files(cage, streams) ? cage->file_size : 0;
    bool ok = lower_limit(RLIMIT_CORE, 0, 0);

    if (!cage->cpu_elsewhere)
        ok = lower_limit(RLIMIT_CPU, cpu, cpu + 60) && ok;
    ok = lower_limit(RLIMIT_FSIZE, file_size, file_size) && ok;
    ok = lower_limit(RLIMIT_NOFILE, files, files) && ok;
    return lower_limit(RLIMIT_AS, cage->memory, cage->memory) && ok;
}

/* ---- Landlock: no rule, so nothing can be reached by name ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self  446
#endif

/* The header of the machine that we are built on may be older than the kernel that we run on. */
typedef struct landlock_ruleset {
    uint64_t fs, net, scoped;
} landlock_ruleset;

#define FS_ABI1 ((UINT64_C(1) << 13) - 1)
#define REFER   (UINT64_C(1) << 13) /* ABI 2 */
#define TRUNC   (UINT64_C(1) << 14) /* ABI 3 */
#define IOCTL   (UINT64_C(1) << 15) /* ABI 5 */
#define NET_TCP UINT64_C(3)         /* ABI 4: bind and connect */
#define SCOPES  UINT64_C(3)         /* ABI 6: abstract sockets and signals */

static landlock_ruleset handled_rights(long abi, size_t *size)
{
    landlock_ruleset ruleset = { .fs = FS_ABI1 };

    *size = abi >= 6   ? sizeof(ruleset)
            : abi >= 4 ? offsetof(landlock_ruleset, scoped)
                       : offsetof(landlock_ruleset, net);
    ruleset.fs |= (abi >= 2 ? REFER : 0) | (abi >= 3 ? TRUNC : 0) | (abi >= 5 ? IOCTL : 0);
    ruleset.net = abi >= 4 ? NET_TCP : 0;
    ruleset.scoped = abi >= 6 ? SCOPES : 0;
    return ruleset;
}

/* @return the ABI, 0 with errno set when it cannot be had. */
static long landlock(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    landlock_ruleset ruleset;
    size_t size;
    int fd, rc;

    if (abi < 1)
        return 0;
    ruleset = handled_rights(abi, &size);
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    if (fd < 0)
        return 0;
    rc = (int)syscall(SYS_landlock_restrict_self, fd, 0);
    (void)close(fd); /* what it says holds without it */
    return rc == 0 ? abi : 0;
}

/* Files in it are read, written, made and removed; no directory, no device, no program. */
#define IN_FOLDER                                                                                            \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_DIR |            \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)

#ifndef SYS_landlock_add_rule
#define SYS_landlock_add_rule 445
#endif

void cli_cage_folder(int folder)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_path_beneath_attr beneath = { .parent_fd = folder, .allowed_access = IN_FOLDER };
    landlock_ruleset ruleset;
    size_t size;
    int fd;

    if (!cli_cage_possible() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || abi < 1)
        return;
    ruleset = handled_rights(abi, &size);
    beneath.allowed_access |= ruleset.fs & TRUNC;
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    if (fd < 0)
        return;
    if (syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0)
        (void)syscall(SYS_landlock_restrict_self, fd, 0); /* without it, as on an older kernel */
    (void)close(fd);                                      /* what it says holds without it */
}

/* ---- all of it ---- */

static void add_missing(char *to, size_t cap, const char *what, int error)
{
    add(to, cap, "%s%s (%s)", *to ? ", " : "; missing: ", what, strerror(error));
}

bool cli_cage_possible(void)
{
    return !INSTRUMENTED;
}

int cli_cage_filter(const cli_cage *cage)
{
    return cli_filter_load(cage);
}

/* Would it be loaded? Found out by a child, which it holds. */
static int filter_possible(const cli_cage *cage)
{
    pid_t child = fork();
    int status = 0;

    if (child < 0)
        return errno;
    if (child == 0)
        _exit(cli_cage_filter(cage));
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return ECHILD;
    return WEXITSTATUS(status);
}

bool cli_cage_allows_threads(void)
{
    return !single;
}

unsigned cli_cage_enter(const cli_cage *cage)
{
    char have[64] = "", lack[240] = "";
    unsigned tiers = 0;
    standard_streams streams;
    long abi;
    int rc;

    if (!cli_cage_possible()) {
        cli_cage_stay_out("sanitizer build");
        return 0;
    }
    single = cage->threads <= 1;
    cli_cage_close_others(cage);
    look_at_streams(&streams);
    replace_streams(cage, &streams);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        add_missing(lack, sizeof(lack), "no_new_privs", errno);
    abi = landlock();
    if (abi > 0)
        tiers |= CLI_CAGE_LANDLOCK;
    else
        add_missing(lack, sizeof(lack), "landlock", errno);
    /* After Landlock, which needs a descriptor for a moment. */
    if (limit_resources(cage, &streams))
        tiers |= CLI_CAGE_RLIMITS;
    else
        add_missing(lack, sizeof(lack), "rlimits", errno);
    rc = cage->filter_later ? filter_possible(cage) : cli_cage_filter(cage);
    if (rc == 0)
        tiers |= CLI_CAGE_SECCOMP;
    else
        add_missing(lack, sizeof(lack), "seccomp", rc);
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
    const cli_cage cage = { CLI_CAGE_NOTHING, .memory = UINT64_MAX, .file_size = UINT64_MAX };
    int fd[2];
    ssize_t got = -1;
    pid_t child;

    snprintf(out, cap, "unknown");
    if (cap < 2 || pipe2(fd, O_CLOEXEC) != 0)
        return;
    child = fork();
    if (child == 0) {
        cli_cage inside = cage;

        inside.keep = &fd[1];
        inside.n_keep = 1;
        (void)cli_cage_enter(&inside);
        (void)!write(fd[1], state, strlen(state)); /* the parent sees what came, or nothing */
        _exit(0);
    }
    (void)close(fd[1]);
    if (child > 0) {
        got = read(fd[0], out, cap - 1); /* far below what a pipe takes in one piece */
        (void)waitpid(child, NULL, 0);   /* of no interest: it has spoken, or not */
    }
    (void)close(fd[0]);
    if (got > 0)
        out[got] = '\0';
    else
        snprintf(out, cap, "unknown");
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiler that misbehaves on demand: takes the arguments of ptxas, and "--do=THING". As a code generator
 * it gets no options: then it is started under the name "do=THING" or "do=THING=VALUE", with ':' for '/'. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *in_name, *out_name;

static void put(const char *name, const void *block, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    while (size > 0) {
        ssize_t result = write(fd, block, size);

        if (result <= 0)
            exit(99);
        block = (const char *)block + result;
        size -= (size_t)result;
    }
    close(fd);
}

/* Output that tells what went in: the arguments, one a line, then the input. */
static int ok(int argc, char **argv)
{
    static char buf[1 << 16];
    size_t count = 0;
    ssize_t result;
    int fd = open(in_name, O_RDONLY);

    for (int i = 0; i < argc; i++)
        count += (size_t)snprintf(buf + count, sizeof(buf) - count, "%s\n", argv[i]);
    result = read(fd, buf + count, sizeof(buf) - count);
    close(fd);
    if (result < 0)
        return 98;
    put(out_name, buf, count + (size_t)result);
    return 0;
}

/* Says its number on the standard output, however it was closed up. */
static void say_pid(void)
{
    char line[32];
    int len = snprintf(line, sizeof(line), "pid %d\n", (int)getpid());

    if (write(1, line, (size_t)len) != len)
        _exit(97);
}

static void deaf(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
}

static void forever(void)
{
    for (;;)
        pause();
}

/* Children in all ways to get away: of this group, of a session of their own, and orphaned. */
static void brood(void)
{
    int ready[2];
    char ch;

    if (pipe(ready) != 0)
        exit(96);
    for (int i = 0; i < 9; i++) {
        pid_t place = fork();

        if (place < 0)
            exit(93); /* no more processes: nobody may wait for them */
        if (place != 0)
            continue;
        deaf();
        if (i % 3 > 0)
            setsid();
        if (i % 3 > 1 && fork() != 0)
            _exit(0);
        say_pid();
        if (write(ready[1], "x", 1) != 1)
            _exit(95);
        forever();
    }
    for (int i = 0; i < 9; i++)
        if (read(ready[0], &ch, 1) != 1)
            exit(94);
}

/* One process that is never the same: forks, and ends. */
static void hopper(void)
{
    if (fork() != 0)
        return;
    deaf();
    for (;;) {
        setsid();
        if (fork() > 0)
            _exit(0);
    }
}

static void tree(const char *top)
{
    char name[64];

    mkdir(top, 0700);
    if (chdir(top) != 0)
        exit(93);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "file %d\n", i);
        put(name, "x", 1);
    }
    if (symlink("/", "root") || symlink("..", "up") || symlink("loop", "loop") || mkfifo("fifo", 0600))
        exit(92);
    for (int i = 0; i < 64; i++) /* deeper than a path can be long */
        if (mkdir("a directory with a rather long name, so that no path reaches its end", 0700) ||
            chdir("a directory with a rather long name, so that no path reaches its end"))
            exit(91);
    put("at the bottom", "x", 1);
}

static void tell(void)
{
    static const struct {
        int what;
        const char *name;
    } LIMITS[] = { { RLIMIT_CORE, "core" },   { RLIMIT_CPU, "cpu" },     { RLIMIT_FSIZE, "fsize" },
                   { RLIMIT_STACK, "stack" }, { RLIMIT_NPROC, "nproc" }, { RLIMIT_NOFILE, "nofile" },
                   { RLIMIT_AS, "as" } };
    char cwd[PATH_MAX];
    sigset_t mask;
    struct stat st;

    printf("cwd %s\n", getcwd(cwd, sizeof(cwd)));
    for (char **end = environ; *end; end++)
        printf("env %s\n", *end);
    for (int fd = 0; fd < 1024; fd++)
        if (fstat(fd, &st) == 0)
            printf("fd %d %s\n", fd, S_ISFIFO(st.st_mode) ? "pipe" : S_ISCHR(st.st_mode) ? "null" : "?");
    for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
        struct rlimit limit = { 0, 0 };

        getrlimit((unsigned)LIMITS[i].what, &limit);
        printf("limit %s %llu\n", LIMITS[i].name, (unsigned long long)limit.rlim_cur);
    }
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < NSIG; i++) {
        struct sigaction other_sigaction;

        if (sigismember(&mask, i) == 1)
            printf("blocked %d\n", i);
        if (sigaction(i, NULL, &other_sigaction) == 0 && other_sigaction.sa_handler != SIG_DFL)
            printf("handled %d\n", i);
    }
    printf("session %d umask %o\n", getsid(0) == getpid() && getpgrp() == getpid(), umask(0));
    stat(".", &st);
    printf("mode %o\n", st.st_mode & 07777);
    fflush(stdout);
}

static void outside(const char *where)
{
    int fd = open(where, O_WRONLY | O_CREAT | O_EXCL, 0600), null = open("/dev/null", O_WRONLY);

    printf("outside %s, null %s\n", fd >= 0 ? "yes" : "no", null >= 0 ? "yes" : "no");
    printf("keeper %s\n", kill(getppid(), 0) == 0 ? "yes" : "no");
    if (fd >= 0)
        unlink(where);
}

/* Attempts that were not refused as such, whatever came of them. */
static int got_through;

static void attempt(const char *what, long rc)
{
    if (rc < 0 && errno == EPERM)
        return;
    got_through++;
    printf("got through: %s\n", what);
    fflush(stdout);
}

static void reach_further(const char *where)
{
    struct rlimit limit = { 0, 0 };
    long flags = 0;
    int fd = open(where, O_RDONLY);

    attempt("attributes", ioctl(fd, 0x40086602, &flags)); /* FS_IOC_SETFLAGS */
    attempt("freeze", ioctl(fd, 0xC0045877, &flags));     /* FIFREEZE */
    attempt("terminal", ioctl(fd, 0x5412, "x"));          /* TIOCSTI */
    attempt("truncate", truncate(where, 0));
    attempt("cut", open(where, O_RDONLY | O_TRUNC));
    attempt("cut 3", open(where, O_ACCMODE | O_TRUNC));
    attempt("attach", syscall(SYS_shmat, 0, 0, 0));
    attempt("remove memory", syscall(SYS_shmctl, -1, IPC_RMID, 0));
    attempt("remove queue", syscall(SYS_msgctl, -1, IPC_RMID, 0));
    attempt("remove semaphores", syscall(SYS_semctl, -1, 0, IPC_RMID, 0));
    attempt("remove name", syscall(SYS_mq_unlink, "cuvet-absent"));
    attempt("everybody", syscall(SYS_kill, -1, 0));
    attempt("limits", syscall(SYS_prlimit64, getppid(), RLIMIT_CPU, &limit, 0));
    attempt("priority", syscall(SYS_setpriority, PRIO_USER, 0, 0));
    attempt("name space", syscall(SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0, 0)); /* CLONE_NEWUSER */
    errno = 0;
    if (syscall(437, AT_FDCWD, where, &(uint64_t[3]){ 0 }, 24) >= 0 || errno != ENOSYS)
        attempt("openat2", 0);
    /* These have to work. */
    if ((ioctl(fd, 0x5401, &(char[256]){ 0 }) < 0 && errno == EPERM) || getrlimit(RLIMIT_CPU, &limit) != 0)
        attempt("refused what programs need", 0);
    printf("others %s\n", got_through ? "some" : "none");
    fflush(stdout);
    if (fd >= 0)
        close(fd);
}

/* What Landlock does not look at: of a file that belongs to the same user, of the network, of what outlives
 * us. */
static void reach(const char *where)
{
    const struct timespec then[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    int shared = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), net = socket(AF_INET, SOCK_DGRAM, 0);

    printf("mode %s\n", chmod(where, 0) == 0 ? "yes" : "no");
    printf("times %s\n", utimensat(AT_FDCWD, where, then, 0) == 0 ? "yes" : "no");
    printf("owner %s\n", chown(where, getuid(), getgid()) == 0 ? "yes" : "no");
    printf("network %s\n", net >= 0 ? "yes" : "no");
    printf("shared %s\n", shared >= 0 ? "yes" : "no");
    fflush(stdout);
    reach_further(where);
    if (shared >= 0)
        shmctl(shared, IPC_RMID, NULL);
}

static void flood(void)
{
    static char block[1 << 16];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 1600; i++)
        if (write(2, block, sizeof(block)) < 0)
            exit(90);
    if (write(2, "the end\n", 8) != 8)
        exit(90);
}

static int hog(void)
{
    for (int i = 0; i < 4096; i++) {
        volatile char *volatile at = malloc(1 << 20); /* or a compiler does without it */

        if (!at)
            return 9;
        at[i] = 1;
    }
    return 0;
}

static int count_fds(void)
{
    int count = 3;

    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    return count;
}

static int count_forks(void)
{
    int count = 0;

    for (; count < 200; count++) {
        pid_t place = fork();

        if (place < 0)
            break;
        if (place == 0)
            forever();
    }
    return count;
}

static void grow(const char *name, long long size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char block[4096] = { 1 };

    while (size > 0) {
        ssize_t got = write(fd, block, size < 4096 ? (size_t)size : sizeof(block));

        if (got <= 0)
            exit(89);
        size -= got;
    }
    close(fd);
}

/* The bytes of a file as the result, whatever went in. */
static void give(const char *name)
{
    static char block[1 << 20];
    int fd = open(name, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, block, sizeof(block));

    if (got <= 0)
        exit(86);
    close(fd);
    put(out_name, block, (size_t)got);
}

/* Ways to end, or not to. */
static bool ending(const char *what)
{
    if (!strcmp(what, "exit7"))
        exit(7);
    if (!strcmp(what, "complain")) {
        for (int i = 0; i < 20000; i++)
            fprintf(stderr, "line %d\n", i);
        fprintf(stderr, "the reason: \033[31mred\n");
        exit(7);
    }
    if (!strcmp(what, "segv"))
        raise(SIGSEGV);
    if (!strcmp(what, "loop"))
        for (volatile unsigned i = 0;; i++)
            ;
    if (!strcmp(what, "deafloop")) {
        signal(SIGXCPU, SIG_IGN);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    if (!strcmp(what, "sleep")) {
        deaf();
        say_pid();
        put("started", "", 0);
        forever();
    }
    if (!strcmp(what, "broodsleep")) {
        brood();
        put("started", "", 0);
        forever();
    }
    if (!strcmp(what, "killkeeper")) {
        say_pid();
        brood();
        kill(getppid(), SIGKILL);
        forever();
    }
    if (!strcmp(what, "stopkeeper")) {
        say_pid();
        brood();
        kill(getppid(), SIGSTOP);
        exit(0);
    }
    return false;
}

/* Things to put where the output should be. */
static bool output(const char *what, const char *value)
{
    if (!strcmp(what, "none"))
        return true;
    if (!strcmp(what, "empty"))
        return put(out_name, "", 0), true;
    if (!strcmp(what, "size"))
        return grow(out_name, atoll(value)), true;
    if (!strcmp(what, "deafsize"))
        return signal(SIGXFSZ, SIG_IGN), grow(out_name, atoll(value)), true;
    if (!strcmp(what, "give"))
        return give(value), true;
    if (!strcmp(what, "symlink"))
        return symlink("/etc/passwd", out_name) == 0;
    if (!strcmp(what, "ownlink"))
        return put("real", "x", 1), symlink("real", out_name) == 0;
    if (!strcmp(what, "hardlink"))
        return link(in_name, out_name) == 0;
    if (!strcmp(what, "fifo"))
        return mkfifo(out_name, 0600) == 0;
    if (!strcmp(what, "directory"))
        return mkdir(out_name, 0700) == 0;
    return false;
}

/* A device ELF from the device ELF that came in: a file of the test, for another machine, or damaged. */
static int cubin(const char *what, const char *value, int argc, char **argv)
{
    static unsigned char buf[1 << 20];
    int fd = open(in_name, O_RDONLY), sm = 0;
    ssize_t got = read(fd, buf, sizeof(buf));
    unsigned char *bytes;

    close(fd);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "-arch=sm_", 9))
            sm = atoi(argv[i] + 9);
    if (got < 64 || sm == 0)
        return 87;
    if (strcmp(what, "wrongsm") != 0)
        buf[49] = (unsigned char)sm; /* bits 8 to 23 of e_flags */
    if (!strcmp(what, "kind"))
        buf[48] = 4;
    for (int i = 0; !strcmp(what, "othercode") && sm == 100 && i < (buf[60] | buf[61] << 8); i++) {
        unsigned char *handle = buf + (buf[40] | buf[41] << 8) + 64 * i; /* the file is small */

        if (handle[4] == 1 && (handle[8] & 4) != 0)
            buf[handle[24] | handle[25] << 8] ^= 1;
    }
    if (!strcmp(what, "flip") && atoll(value) < got) /* one bit of the file */
        buf[atoll(value)] ^= 1;
    if (!strcmp(what, "nocode"))
        memset(buf + 60, 0, 4); /* no sections */
    if (!strcmp(what, "short"))
        got /= 2;
    bytes = memmem(buf, (size_t)got, "turn", 4);
    for (; !strcmp(what, "symbols") && sm != 100 && bytes;
         bytes = memmem(bytes, (size_t)(got - (bytes - buf)), "turn", 4))
        memcpy(bytes, "burn", 4);
    bytes = memmem(buf, (size_t)got, "sm_100", 6);
    for (; !strcmp(what, "named") && sm == 110 && bytes;
         bytes = memmem(bytes, (size_t)(got - (bytes - buf)), "sm_100", 6))
        memcpy(bytes, "sm_110", 6); /* in the notes as well */
    put(out_name, buf, (size_t)got);
    return 0;
}

/* What the name says under which it was started. */
static void by_name(const char **what, const char **value)
{
    static char name[PATH_MAX];
    const char *path = (const char *)getauxval(AT_EXECFN), *slash = path ? strrchr(path, '/') : NULL;
    char *at;

    if (!slash || strncmp(slash, "/do=", 4) != 0)
        return;
    snprintf(name, sizeof(name), "%s", slash + 4);
    *what = name;
    at = strchr(name, '=');
    if (!at)
        return;
    *at++ = 0;
    *value = at;
    while ((at = strchr(at, ':')) != NULL)
        *at = '/';
}

int main(int argc, char **argv)
{
    const char *what = "ok", *value = "";
    bool code;

    by_name(&what, &value);
    for (int i = 1; i < argc; i++) {
        if (!strncmp(argv[i], "--do=", 5))
            what = argv[i] + 5;
        else if (!strncmp(argv[i], "--value=", 8))
            value = argv[i] + 8;
        else if (!strcmp(argv[i], "-o") && i + 1 < argc)
            out_name = argv[++i];
        else if (argv[i][0] != '-')
            in_name = argv[i];
    }
    if (!in_name || !out_name)
        return 2;
    code = !strcmp(argv[0], "nvlink");
    if (ending(what) || output(what, value))
        return 0;
    if (!strcmp(what, "brood"))
        brood();
    else if (!strcmp(what, "hopper"))
        hopper();
    else if (!strcmp(what, "tell"))
        tell();
    else if (!strcmp(what, "outside"))
        outside(value), fflush(stdout);
    else if (!strcmp(what, "reach"))
        reach(value);
    else if (!strcmp(what, "flood"))
        flood();
    else if (!strcmp(what, "hog"))
        return hog();
    else if (!strcmp(what, "fds"))
        return count_fds();
    else if (!strcmp(what, "forks"))
        return count_forks();
    else if (!strcmp(what, "closeall"))
        for (int fd = 0; fd < 1024; fd++)
            close(fd);
    if (strcmp(what, "litter") == 0) {
        int here = open(".", O_RDONLY | O_DIRECTORY);

        ok(argc, argv);
        tree("tree");
        if (fchdir(here) != 0 || mkdir("shut", 0) != 0)
            return 88;
        if ((chmod("tree", 0) != 0 || chmod(".", 0500) != 0) && errno != EPERM) /* refused on most machines */
            return 88;
        return 0;
    }
    return code ? cubin(what, value, argc, argv) : ok(argc, argv);
}

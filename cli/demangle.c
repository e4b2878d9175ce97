/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"

#include "sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIBRARY "libstdc++.so.6"

enum {
    NAME_MOST = 4096,  /* bytes of a name that is asked for */
    TEXT_MOST = 32768, /* of an answer */
    DEATHS_MOST = 4,
    AGAIN = 1 /* exit code of a worker that has done enough for one life, and wants another */
};

#define MEMORY     (UINT64_C(256) << 20) /* address space of a worker, code included */
#define CPU_LIFE   1                     /* seconds, then it is killed … */
#define CPU_ENOUGH 250 /* … milliseconds, after which it ends by itself, between two names */

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *n, int *status);

/* A name that is asked for, or an answer: a number, then the text; no text: the name stays. The number of an
 * answer is that of its question, or 0 where somebody died of a question. */
typedef struct packet {
    uint32_t number;
    char text[TEXT_MOST + 1];
} packet;

#define HEAD offsetof(packet, text)

/* The caged side: one for the process. */
static struct {
    int fd; /* 0: none */
    uint32_t number;
    packet last;
} side;

/* ---- the worker ---- */

static int64_t cpu_ms(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000
                                                            : 0;
}

static ssize_t read_packet(int fd, void *to, size_t n)
{
    ssize_t got;

    do
        got = read(fd, to, n);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool write_packet(int fd, const void *from, size_t n)
{
    ssize_t put;

    do
        put = write(fd, from, n);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)n;
}

static bool answer(int fd, uint32_t number, const char *text)
{
    static packet p;
    size_t n = text ? strlen(text) : 0;

    p.number = number;
    n = n <= TEXT_MOST ? n : 0;
    if (n > 0)
        memcpy(p.text, text, n);
    return write_packet(fd, &p, HEAD + n);
}

static int serve(int fd, demangle_fn *demangle)
{
    static packet p;

    for (;;) {
        ssize_t n = read_packet(fd, &p, HEAD + NAME_MOST);
        int status = 0;
        char *text;
        bool sent;

        if (n <= (ssize_t)HEAD)
            return 0;
        p.text[(size_t)n - HEAD] = '\0';
        text = demangle(p.text, NULL, NULL, &status);
        sent = answer(fd, p.number, status == 0 ? text : NULL);
        free(text);
        if (!sent)
            return 0;
        if (cpu_ms() >= CPU_ENOUGH)
            return AGAIN;
    }
}

static void work(int fd, demangle_fn *demangle)
{
    const struct rlimit cpu = { CPU_LIFE, CPU_LIFE };
    const cli_cage c = { .keep = &fd,
                         .n_keep = 1,
                         .out_dir = -1,
                         .more_dir = -1,
                         .channel = -1,
                         .broker = -1,
                         .helper = -1,
                         .memory = MEMORY,
                         .file_size = 0 };

    if (setrlimit(RLIMIT_CPU, &cpu) != 0)
        _exit(0);             /* never without a bound */
    (void)cli_cage_enter(&c); /* what cannot be had is missing in the command's own cage too, which says so */
    _exit(serve(fd, demangle));
}

/* ---- the process that has a worker, and sees no names ---- */

static void supervise(int fd, demangle_fn *demangle)
{
    int deaths = 0;

    while (deaths < DEATHS_MOST) {
        pid_t child = fork();
        int status = 0;

        if (child < 0)
            return;
        if (child == 0)
            work(fd, demangle);
        while (waitpid(child, &status, 0) < 0) {
            if (errno != EINTR)
                return;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == AGAIN)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        deaths++;
        if (!answer(fd, 0, NULL))
            return;
    }
}

/* Standard output is somebody's pipe, whose end must not wait for us. */
static void let_go_of_streams(void)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0)
        _exit(0);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        (void)close(null);
}

/* ---- the caged side ---- */

static demangle_fn *load(void)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *f = lib ? dlsym(lib, "__cxa_demangle") : NULL;
    demangle_fn *out = NULL;

    if (!f)
        cli_complain(NULL, "--demangle needs a library: %s", dlerror());
    memcpy(&out, &f, sizeof(out)); /* POSIX: by way of void *, which C has no cast for */
    return out;
}

int cli_demangle_start(const cli_args *a, int *fd)
{
    demangle_fn *demangle;
    int end[2];
    pid_t pid;

    *fd = -1;
    if (!a->set[CLI_O_DEMANGLE])
        return CLI_X_CLEAN;
    demangle = load();
    if (!demangle)
        return CLI_X_IO;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0) {
        cli_complain(NULL, "--demangle: %s", strerror(errno));
        return CLI_X_IO;
    }
    pid = fork();
    if (pid == 0) {
        (void)close(end[0]);
        let_go_of_streams();
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
            supervise(end[1], demangle);
        _exit(0);
    }
    (void)close(end[1]);
    if (pid < 0) {
        cli_complain(NULL, "--demangle: %s", strerror(errno));
        (void)close(end[0]);
        return CLI_X_IO;
    }
    side.fd = *fd = end[0];
    return CLI_X_CLEAN;
}

static bool is_mangled(cuvet_bytes name)
{
    if (name.n < 3 || name.n > NAME_MOST || name.p[0] != '_' || name.p[1] != 'Z')
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] <= ' ' || name.p[i] >= 0x7F)
            return false;
    }
    return true;
}

/* What somebody who died had answered already comes later, and is passed over by its number. */
static ssize_t ask(cuvet_bytes name)
{
    static packet p;
    ssize_t n;

    p.number = side.number = side.number == UINT32_MAX ? 1 : side.number + 1;
    memcpy(p.text, name.p, name.n);
    if (!write_packet(side.fd, &p, HEAD + name.n))
        return -1;
    do
        n = read_packet(side.fd, &side.last, HEAD + TEXT_MOST);
    while (n >= (ssize_t)HEAD && side.last.number != 0 && side.last.number != p.number);
    return n < (ssize_t)HEAD ? -1 : n - (ssize_t)HEAD;
}

cuvet_bytes cli_demangle(cuvet_bytes name)
{
    ssize_t n;

    if (side.fd == 0 || !is_mangled(name))
        return name;
    n = ask(name);
    if (n > 0)
        return (cuvet_bytes){ (const uint8_t *)side.last.text, (size_t)n };
    if (n < 0) {
        cli_complain(NULL, "the process that demangles has given up; further names stay as they are");
        cli_demangle_stop();
    }
    return name;
}

void cli_demangle_stop(void)
{
    if (side.fd > 0)
        (void)close(side.fd); /* it ends by that; there is nothing to wait for */
    side.fd = 0;
}

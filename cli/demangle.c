/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "demangle.h"

#include "frames.h"
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
    DEATHS_MOST = 4,
    STALE_MOST = 16,   /* packets that may come before an answer */
    WAIT_SECONDS = 60, /* for an answer, which takes a second of processor time at most */
    AGAIN = 1          /* exit code of a worker that has done enough for one life, and wants another */
};

#define MEMORY     (UINT64_C(256) << 20) /* address space of a worker, code included */
#define CPU_LIFE   1                     /* seconds, then it is killed … */
#define CPU_ENOUGH 250 /* … milliseconds, after which it ends by itself, between two names */

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *len, int *status);

/* The caged side: one for the process. */
static struct {
    int fd; /* 0: none */
    uint32_t number;
    demangle_packet last;
} side;

/* ---- the worker ---- */

static int64_t cpu_ms(void)
{
    struct timespec time;

    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0
               ? (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000
               : 0;
}

static ssize_t read_packet(int fd, void *to, size_t size)
{
    ssize_t got;

    do
        got = read(fd, to, size);
    while (got < 0 && errno == EINTR);
    return got;
}

static bool write_packet(int fd, const void *from, size_t size)
{
    ssize_t put;

    do
        put = write(fd, from, size);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)size;
}

static bool send_answer(int fd, uint32_t number, const char *text)
{
    static demangle_packet packet;
    size_t count = text ? strlen(text) : 0;

    packet.number = number;
    count = count <= DEMANGLE_TEXT_MOST ? count : 0;
    if (count > 0)
        memcpy(packet.text, text, count);
    return write_packet(fd, &packet, DEMANGLE_HEAD + count);
}

static int serve_names(int fd, demangle_fn *demangle)
{
    static demangle_packet packet;

    for (;;) {
        ssize_t got = read_packet(fd, &packet, DEMANGLE_HEAD + DEMANGLE_NAME_MOST);
        int status = 0;
        char *text;
        bool sent;

        if (got <= (ssize_t)DEMANGLE_HEAD)
            return 0;
        packet.text[(size_t)got - DEMANGLE_HEAD] = '\0';
        text = demangle(packet.text, NULL, NULL, &status);
        sent = send_answer(fd, packet.number, status == 0 ? text : NULL);
        free(text);
        if (!sent)
            return 0;
        if (cpu_ms() >= CPU_ENOUGH)
            return AGAIN;
    }
}

static void run_worker(int fd, demangle_fn *demangle)
{
    const struct rlimit cpu = { CPU_LIFE, CPU_LIFE };
    const cli_cage cage = { CLI_CAGE_NOTHING, .keep = &fd, .n_keep = 1, .memory = MEMORY, .file_size = 0 };

    if (setrlimit(RLIMIT_CPU, &cpu) != 0)
        _exit(0); /* never without a bound */
    (void)cli_cage_enter(
        &cage); /* what cannot be had is missing in the command's own cage too, which says so */
    _exit(serve_names(fd, demangle));
}

/* ---- the process that has a worker, and sees no names ---- */

static void supervise_worker(int fd, demangle_fn *demangle)
{
    int deaths = 0;

    while (deaths < DEATHS_MOST) {
        pid_t child = fork();
        int status = 0;

        if (child < 0)
            return;
        if (child == 0)
            run_worker(fd, demangle);
        while (waitpid(child, &status, 0) < 0) {
            if (errno != EINTR)
                return;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == AGAIN)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        deaths++;
        if (!send_answer(fd, 0, NULL))
            return;
    }
}

/* ---- the caged side ---- */

static demangle_fn *load_demangler(void)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *found = lib ? dlsym(lib, "__cxa_demangle") : NULL;
    demangle_fn *out = NULL;

    if (!found)
        cli_complain(NULL, "--demangle needs a library: %s", dlerror());
    memcpy(&out, &found, sizeof(out)); /* POSIX: by way of void *, which C has no cast for */
    return out;
}

int cli_demangle_start(const cli_args *args, int *fd)
{
    const struct timeval most = { .tv_sec = WAIT_SECONDS };
    demangle_fn *demangle;
    int end[2];
    pid_t pid;

    *fd = -1;
    if (!args->set[CLI_O_DEMANGLE])
        return CLI_X_CLEAN;
    demangle = load_demangler();
    if (!demangle)
        return CLI_X_IO;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0) {
        cli_complain(NULL, "--demangle: %s", strerror(errno));
        return CLI_X_IO;
    }
    pid = fork();
    if (pid == 0) {
        (void)close(end[0]);
        if (cli_cage_let_go_of_streams() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
            supervise_worker(end[1], demangle);
        _exit(0);
    }
    (void)close(end[1]);
    if (pid < 0) {
        cli_complain(NULL, "--demangle: %s", strerror(errno));
        (void)close(end[0]);
        return CLI_X_IO;
    }
    (void)setsockopt(end[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)); /* these cannot fail */
    (void)setsockopt(end[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    side.fd = *fd = end[0];
    return CLI_X_CLEAN;
}

/* The answer in side.last. What somebody who died had answered already comes later, and is passed over by its
 * number. A worker that was taken over may say anything, or nothing: it gets STALE_MOST packets and the time
 * of the socket. */
static demangle_answer ask_worker(cuvet_bytes name, size_t *n_text)
{
    static demangle_packet packet;
    demangle_answer got = DEMANGLE_OTHER;

    packet.number = side.number = side.number == UINT32_MAX ? 1 : side.number + 1;
    memcpy(packet.text, name.p, name.n);
    if (!write_packet(side.fd, &packet, DEMANGLE_HEAD + name.n))
        return DEMANGLE_LOST;
    for (int i = 0; i < STALE_MOST && got == DEMANGLE_OTHER; i++) {
        ssize_t count = read_packet(side.fd, &side.last, DEMANGLE_HEAD + DEMANGLE_TEXT_MOST);

        got = count < 0 ? DEMANGLE_LOST : demangle_judge(&side.last, (size_t)count, packet.number);
        *n_text = got == DEMANGLE_TEXT ? (size_t)count - DEMANGLE_HEAD : 0;
    }
    return got;
}

cuvet_bytes cli_demangle(cuvet_bytes name)
{
    size_t count = 0;

    if (side.fd == 0 || !demangle_name_ok(name.p, name.n))
        return name;
    switch (ask_worker(name, &count)) {
    case DEMANGLE_TEXT: return (cuvet_bytes){ (const uint8_t *)side.last.text, count };
    case DEMANGLE_NONE: return name;
    case DEMANGLE_LOST:
    case DEMANGLE_OTHER: break;
    }
    cli_complain(NULL, "the process that demangles has given up; further names stay as they are");
    cli_demangle_stop();
    return name;
}

void cli_demangle_stop(void)
{
    if (side.fd > 0)
        (void)close(side.fd); /* it ends by that; there is nothing to wait for */
    side.fd = 0;
}

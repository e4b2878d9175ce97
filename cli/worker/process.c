/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "../descriptor.h"
#include "../environment.h"
#include "../whole.h"
#include "pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHANNEL = 3,         /* number of the socket in the worker */
    HELLO_MS = 10000,    /* time to start */
    CLOSED_MS = 100,     /* from the end of its channel to its own */
    BY_PIDFD = 3,        /* P_PIDFD, which older headers do not have */
    CPU_BACKSTOP = 60000 /* milliseconds: what it may use when this process is gone and nobody looks */
};

uint64_t worker_now(void)
{
    return (uint64_t)cli_now_ms();
}

static uint64_t cpu_used(const worker_slot *slot)
{
    struct timespec used = { 0 };

    if (clock_gettime(slot->clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000;
}

/* ---- its end ---- */

static void close_slot(worker_slot *slot)
{
    (void)close(slot->channel); /* nothing is on its way */
    (void)close(slot->pidfd);
    slot->alive = false;
}

/* @return false: nobody knows; the program has a way of its own to collect its children */
static bool reap(worker_slot *slot, siginfo_t *info)
{
    int rc;

    memset(info, 0, sizeof(*info));
    do
        rc = waitid((idtype_t)BY_PIDFD, (id_t)slot->pidfd, info, WEXITED);
    while (rc != 0 && errno == EINTR);
    return rc == 0;
}

void worker_stop(worker_slot *slot)
{
    siginfo_t info;

    if (!slot->alive)
        return;
    (void)syscall(SYS_pidfd_send_signal, slot->pidfd, SIGKILL, NULL, 0); /* it may be gone already */
    (void)reap(slot, &info);
    close_slot(slot);
}

static void stop_with(worker_slot *slot, worker_exchange *exchange, cuvet_worker_end end)
{
    worker_stop(slot);
    exchange->end = end;
}

static int wait_readable(int fd, int millis)
{
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    return poll(&poll_fd, 1, millis);
}

/* The channel has ended: did the process, and how? */
static void find_end(worker_slot *slot, worker_exchange *exchange)
{
    siginfo_t info;

    if (wait_readable(slot->pidfd, CLOSED_MS) <= 0) {
        stop_with(slot, exchange, CUVET_WORKER_PROTOCOL);
        return;
    }
    exchange->end = CUVET_WORKER_LOST;
    if (reap(slot, &info)) {
        exchange->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        exchange->exit_code = info.si_code == CLD_EXITED ? info.si_status : 0;
    }
    close_slot(slot);
}

/* ---- its beginning ---- */

static bool prepare_files(posix_spawn_file_actions_t *actions, int channel)
{
    bool ok = true;

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
#ifdef CLI_INSTRUMENTED
        ok = fd == STDERR_FILENO || /* what a sanitizer has to say */
             (posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0) == 0 && ok);
#else
        ok = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0) == 0 && ok;
#endif
    return ok && posix_spawn_file_actions_adddup2(actions, channel, CHANNEL) == 0 &&
           posix_spawn_file_actions_addclosefrom_np(actions, CHANNEL + 1) == 0;
}

static bool prepare_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    /* A group of its own: an interrupt from a terminal is for the program alone. */
    return sigemptyset(&none) == 0 && sigfillset(&all) == 0 &&
           posix_spawnattr_setsigmask(attributes, &none) == 0 &&
           posix_spawnattr_setsigdefault(attributes, &all) == 0 &&
           posix_spawnattr_setpgroup(attributes, 0) == 0 &&
           posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETPGROUP) == 0;
}

/* @return 0 or an errno */
static int spawn(const cuvet_workers *workers, int channel, pid_t *pid)
{
    static char name[] = "cuvet-worker", persistent[] = "persistent", fork_each[] = "fork";
    char *const argv[] = { name, workers->options.mode == CUVET_WORKER_FORK ? fork_each : persistent, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = ENOMEM;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return error;
    if (posix_spawnattr_init(&attributes) == 0) {
        if (prepare_files(&actions, channel) && prepare_signals(&attributes))
            error = posix_spawn(pid, workers->program, &actions, &attributes, argv, cli_environment());
        (void)posix_spawnattr_destroy(&attributes); /* ours */
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static cuvet_status take_hello(cuvet_workers *workers, worker_slot *slot)
{
    char packet[sizeof(wire_hello) + 1];
    wire_hello hello;
    ssize_t got = -1;

    if (wait_readable(slot->channel, HELLO_MS) > 0)
        got = recv(slot->channel, packet, sizeof(packet), MSG_DONTWAIT);
    if (got <= 0)
        return CUVET_E_IO;
    if (!wire_hello_ok(packet, (size_t)got, &hello) || hello.size != sizeof(wire_request) ||
        strcmp(hello.version, CV_VERSION) != 0)
        return CUVET_E_UNSUPPORTED;
    slot->base = hello.base;
    slot->limited = hello.limited != 0;
    /* The lock is not ours, and the text is always the same. */
    if (workers->cage[0] == '\0')
        memcpy(workers->cage, hello.cage, sizeof(workers->cage));
    return (workers->options.flags & CUVET_WORKER_REQUIRE_CAGE) && hello.tiers != WIRE_ALL_TIERS
               ? CUVET_E_UNSUPPORTED
               : CUVET_OK;
}

cuvet_status worker_start(cuvet_workers *workers, worker_slot *slot)
{
    int end[2], error;
    cuvet_status status;
    pid_t pid = -1;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0)
        return CUVET_E_IO;
    error = spawn(workers, end[1], &pid);
    (void)close(end[1]); /* the worker has it */
    if (error == 0) {
        slot->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        error = slot->pidfd < 0 ? errno : 0;
    }
    if (error != 0) {
        (void)close(end[0]); /* a worker that is there sees the end of it, and ends */
        errno = error;
        return CUVET_E_IO;
    }
    slot->channel = end[0];
    slot->alive = true;
    slot->memory = slot->cpu_allowed = 0;
    if (clock_getcpuclockid(pid, &slot->clock) != 0)
        slot->clock = CLOCK_MONOTONIC; /* cannot be: it is there */
    slot->pid = pid;
    status = take_hello(workers, slot);
    if (status != CUVET_OK)
        worker_stop(slot);
    return status;
}

bool worker_is_idle(const worker_slot *slot)
{
    return slot->alive && wait_readable(slot->channel, 0) == 0;
}

/* ---- one exchange ---- */

static void set_limit(const worker_slot *slot, __rlimit_resource_t what, uint64_t value)
{
    const struct rlimit limit = { .rlim_cur = value, .rlim_max = RLIM_INFINITY };

    (void)prlimit(slot->pid, what, &limit, NULL); /* of a process that is gone: that is found out next */
}

/* Limits stay as long as they fit: to set one is a system call. */
static void set_limits(worker_slot *slot, const worker_exchange *exchange, uint64_t used)
{
    uint64_t now = worker_now(), left = exchange->deadline > now ? exchange->deadline - now : 0;
    uint64_t wanted = used + left + 1000;

    if (slot->limited && slot->memory != exchange->memory) {
        set_limit(slot, RLIMIT_AS, slot->base + exchange->memory);
        slot->memory = exchange->memory;
    }
    if (slot->cpu_allowed < wanted) {
        slot->cpu_allowed = wanted + CPU_BACKSTOP;
        set_limit(slot, RLIMIT_CPU, slot->cpu_allowed / 1000 + 1);
    }
}

static bool send_request(const worker_slot *slot, const worker_exchange *exchange)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * WIRE_FILES)];
    } control = { .bytes = { 0 } };
    struct iovec piece = { exchange->packet, exchange->size };
    struct msghdr message = { .msg_iov = &piece,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = CMSG_SPACE(sizeof(int) * exchange->n_files) };
    unsigned tries = 0;
    ssize_t put;

    control.head.cmsg_len = CMSG_LEN(sizeof(int) * exchange->n_files);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(&control.head), exchange->file, sizeof(int) * exchange->n_files);
    do
        put = sendmsg(slot->channel, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (put < 0 && cli_wait_for_room(&tries) && worker_now() < exchange->deadline);
    return put == (ssize_t)exchange->size;
}

/* Milliseconds until somebody has to look; 0: it is too late, and exchange->end says for what. */
static int time_left(const cuvet_workers *workers, const worker_slot *slot, worker_exchange *exchange,
                     uint64_t used_before)
{
    uint64_t now = worker_now(), left;

    if (now >= exchange->deadline) {
        exchange->end = CUVET_WORKER_DEADLINE;
        return 0;
    }
    left = exchange->deadline - now;
    /* A process of its own limits itself. */
    if (exchange->cpu_ms > 0 && workers->options.mode == CUVET_WORKER_PERSISTENT) {
        uint64_t used = cpu_used(slot) - used_before;

        if (used >= exchange->cpu_ms) {
            exchange->end = CUVET_WORKER_CPU;
            return 0;
        }
        left = left < exchange->cpu_ms - used ? left : exchange->cpu_ms - used;
    }
    return left < INT32_MAX ? (int)left : INT32_MAX;
}

static void judge_child(worker_exchange *exchange, int status)
{
    if (status == 0)
        return;
    exchange->end = CUVET_WORKER_LOST;
    if (!WIFSIGNALED(status)) {
        exchange->exit_code = WEXITSTATUS(status);
        return;
    }
    exchange->signal = WTERMSIG(status);
    if (exchange->cpu_ms > 0 && (exchange->signal == SIGPROF || exchange->signal == SIGXCPU)) {
        exchange->end = CUVET_WORKER_CPU;
        exchange->signal = 0;
    }
}

static void take_done(const cuvet_workers *workers, worker_slot *slot, worker_exchange *exchange)
{
    char packet[sizeof(wire_done) + 1];
    wire_done done;
    ssize_t got = recv(slot->channel, packet, sizeof(packet), MSG_DONTWAIT);

    if (got <= 0)
        find_end(slot, exchange);
    else if (!wire_done_ok(packet, (size_t)got, exchange->number, &done) ||
             (done.status != 0 && workers->options.mode == CUVET_WORKER_PERSISTENT))
        stop_with(slot, exchange, CUVET_WORKER_PROTOCOL);
    else
        judge_child(exchange, done.status);
}

void worker_ask(const cuvet_workers *workers, worker_slot *slot, worker_exchange *exchange)
{
    uint64_t used = cpu_used(slot);
    int count, left;

    exchange->end = CUVET_WORKER_ANSWERED;
    slot->began = true;
    set_limits(slot, exchange, used);
    if (!send_request(slot, exchange)) {
        find_end(slot, exchange);
        return;
    }
    do {
        left = time_left(workers, slot, exchange, used);
        count = left > 0 ? wait_readable(slot->channel, left) : 0;
    } while (left > 0 && (count == 0 || (count < 0 && errno == EINTR)));
    if (left == 0)
        worker_stop(slot);
    else
        take_done(workers, slot, exchange);
}

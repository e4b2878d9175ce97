/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cuvet-worker: started by libcuvet-worker, with a socket as descriptor 3. Enters its cage, says so, and then
 * answers requests until the socket ends; or forks a process for each of them, and reads nothing of it. */
#include "../heap.h"
#include "../sandbox.h"
#include "perform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHANNEL = 3, USAGE = 2 };

/* The channel, and what came through it last. */
typedef struct worker_state {
    cli_cage cage;
    bool fork_each;
    char packet[WIRE_PACKET];
    int file[WIRE_FILES];
    uint32_t n_files;
    cli_answer answer;
} worker_state;

/* ---- descriptors ---- */

static void close_files(worker_state *worker)
{
    for (uint32_t i = 0; i < worker->n_files; i++)
        (void)close(worker->file[i]); /* nothing was written that could be lost: the parent looks at it */
    worker->n_files = 0;
}

static void keep_files(worker_state *worker, struct msghdr *message)
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head)) {
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count && worker->n_files < WIRE_FILES; i++)
            memcpy(&worker->file[worker->n_files++], CMSG_DATA(head) + i * sizeof(int), sizeof(int));
    }
}

/* @return bytes of the packet; 0: there will be no more. */
static size_t receive(worker_state *worker)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * WIRE_FILES)];
    } control;
    struct iovec piece = { worker->packet, sizeof(worker->packet) };
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)
    };
    ssize_t got;

    do
        got = recvmsg(CHANNEL, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return 0;
    keep_files(worker, &message);
    return message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? 0 : (size_t)got;
}

static bool send_packet(const void *packet, size_t size)
{
    return write(CHANNEL, packet, size) == (ssize_t)size;
}

/* ---- a process for each ---- */

static void limit_processor(uint64_t millis)
{
    rlim_t seconds = millis / 1000 + 1;
    const struct rlimit limit = { .rlim_cur = seconds, .rlim_max = seconds + 1 };
    const struct itimerval timer = { .it_value = { .tv_sec = (time_t)(millis / 1000),
                                                   .tv_usec = (suseconds_t)(millis % 1000) * 1000 } };

    /* The timer counts finer, but its signal can be ignored; that of the second limit cannot. */
    if (millis > 0 && (setrlimit(RLIMIT_CPU, &limit) != 0 || setitimer(ITIMER_PROF, &timer, NULL) != 0))
        _exit(EXIT_FAILURE);
}

/* In the child: nothing is left by which it reaches another request. */
static void perform_alone(worker_state *worker, const wire_request_view *view, pid_t parent)
{
    (void)close(CHANNEL); /* of no use to us */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(EXIT_FAILURE);
    limit_processor(view->head.cpu_ms);
    /* Where the kernel has none this was said at the start. */
    if (cli_cage_possible())
        (void)cli_cage_filter(&worker->cage);
    _exit(cli_perform(view, worker->file, &worker->answer) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int run_child(worker_state *worker, const wire_request_view *view)
{
    pid_t parent = getpid(), child = fork();
    int status = 0;

    if (child < 0)
        return W_EXITCODE(EXIT_FAILURE, 0);
    if (child == 0)
        perform_alone(worker, view, parent);
    close_files(worker);
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return W_EXITCODE(EXIT_FAILURE, 0);
    }
    return status;
}

/* ---- both ---- */

static bool serve_one(worker_state *worker)
{
    size_t size = receive(worker);
    wire_request_view view;
    wire_done done = { .mark = WIRE_DONE };
    bool ok = size > 0 && wire_take_request(worker->packet, size, worker->n_files, &view);

    if (ok) {
        done.number = view.head.number;
        if (worker->fork_each)
            done.status = run_child(worker, &view);
        else
            ok = cli_perform(&view, worker->file, &worker->answer);
    }
    close_files(worker);
    return ok && send_packet(&done, sizeof(done));
}

/* Address space, which what is asked for comes on top of. */
static uint64_t address_space(void)
{
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[64] = "";
    uint64_t pages = 0;

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    (void)close(fd); /* read */
    for (const char *at = text; *at >= '0' && *at <= '9' && pages <= UINT32_MAX; at++)
        pages = 10 * pages + (uint64_t)(*at - '0');
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool begin(worker_state *worker)
{
    wire_hello hello = { .mark = WIRE_HELLO, .size = sizeof(wire_request), .base = address_space() };

    worker->cage = (cli_cage){ .porter = -1,
                               .broker = -1,
                               .helper = -1,
                               .channel = CHANNEL,
                               .incoming = WIRE_FILES + 1, /* and one that poll needs not, but malloc may */
                               .threads = 1,
                               .memory = UINT64_MAX,
                               .file_size = UINT64_MAX,
                               .files_come = true,
                               .cpu_elsewhere = true,
                               .filter_later = worker->fork_each };
    hello.tiers = cli_cage_enter(&worker->cage);
    hello.limited = cli_cage_possible();
    (void)snprintf(hello.version, sizeof(hello.version), "%s", cuvet_version());
    (void)snprintf(hello.cage, sizeof(hello.cage), "%s", cli_cage_state());
    return send_packet(&hello, sizeof(hello));
}

int main(int argc, char **argv)
{
    static worker_state worker;
    struct sockaddr_storage peer = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(peer);

    if (argc != 2 || (strcmp(argv[1], "persistent") != 0 && strcmp(argv[1], "fork") != 0) ||
        getsockname(CHANNEL, (struct sockaddr *)&peer, &len) != 0 || peer.ss_family != AF_UNIX) {
        (void)fputs("cuvet-worker: is started by libcuvet-worker, with a socket\n", stderr);
        return USAGE;
    }
    worker.fork_each = strcmp(argv[1], "fork") == 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    cli_heap_ready();
    if (!begin(&worker))
        return EXIT_FAILURE;
    while (serve_one(&worker))
        ;
    return EXIT_SUCCESS;
}

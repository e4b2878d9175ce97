/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 256, BACKLOG = 64, GIVEN = 3, WORKERS = 2, QUEUE = 64, STALL_MS = 10000 };

typedef struct serve_client {
    struct serve_state *state;
    int fd; /* -1: free */
    pthread_t thread;
    bool done; /* its thread is to be joined */
} serve_client;

typedef struct serve_state {
    serve_server server;
    pthread_mutex_t lock; /* of the clients */
    serve_client client[CLIENTS];
    uint64_t allowed; /* a user; UINT64_MAX: none */
    int listener, signals;
    const char *path; /* of a socket of our own */
} serve_state;

/* ---- clients ---- */

static void lock(serve_state *state)
{
    (void)pthread_mutex_lock(&state->lock); /* a plain one, that nobody locks twice */
}

static void unlock(serve_state *state)
{
    (void)pthread_mutex_unlock(&state->lock); /* ours */
}

static void *client_thread(void *arg)
{
    serve_client *client = arg;

    serve_connection(&client->state->server, client->fd);
    lock(client->state);
    (void)close(client->fd); /* whatever was to be said was said */
    client->fd = -1;
    client->done = true;
    unlock(client->state);
    return NULL;
}

/* Those that have gone. */
static void join_clients(serve_state *state)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        bool done;

        lock(state);
        done = state->client[i].done;
        unlock(state);
        if (!done)
            continue;
        (void)pthread_join(state->client[i].thread, NULL); /* ends at once */
        state->client[i].done = false;
    }
}

static bool may_talk(const serve_state *state, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && len == sizeof(peer) &&
           (peer.uid == geteuid() || peer.uid == 0 || peer.uid == state->allowed);
}

static serve_client *free_client(serve_state *state)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        serve_client *client = &state->client[i];

        if (client->fd < 0 && !client->done)
            return client;
    }
    return NULL;
}

static void accept_client(serve_state *state)
{
    int fd = accept4(state->listener, NULL, NULL, SOCK_CLOEXEC);
    serve_client *client;
    bool started = false;

    if (fd < 0)
        return; /* it has gone again */
    join_clients(state);
    lock(state);
    client = may_talk(state, fd) ? free_client(state) : NULL;
    if (client) {
        client->fd = fd;
        started = pthread_create(&client->thread, NULL, client_thread, client) == 0;
        if (!started)
            client->fd = -1;
    }
    unlock(state);
    if (!started)
        (void)close(fd); /* that is the answer */
}

/* What runs is answered; nobody is listened to any more. */
static void end_clients(serve_state *state)
{
    bool left = true;

    while (left) {
        left = false;
        lock(state);
        for (size_t i = 0; i < CLIENTS; i++) {
            left = left || state->client[i].fd >= 0;
            if (state->client[i].fd >= 0)
                (void)shutdown(state->client[i].fd, SHUT_RD); /* or it has gone */
        }
        unlock(state);
        join_clients(state);
        if (left)
            (void)poll(NULL, 0, 10);
    }
}

/* ---- socket ---- */

/* Somebody else's, whose process has gone, is in the way. */
static bool remove_stale(const struct sockaddr_un *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;
    bool stale = false;

    if (fd < 0)
        return false;
    if (lstat(name->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid())
        stale = connect(fd, (const struct sockaddr *)name, sizeof(*name)) != 0 && errno == ECONNREFUSED &&
                unlink(name->sun_path) == 0;
    (void)close(fd); /* nothing was sent */
    return stale;
}

static int listen_at(const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd, rc;
    mode_t before;

    if (strlen(path) >= sizeof(name.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    before = umask(S_IXUSR | S_IRWXG | S_IRWXO);
    rc = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&name, sizeof(name));
    if (fd >= 0 && rc != 0 && errno == EADDRINUSE && remove_stale(&name))
        rc = bind(fd, (const struct sockaddr *)&name, sizeof(name));
    (void)umask(before);
    if (rc == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    rc = errno;
    if (fd >= 0)
        (void)close(fd); /* of no use */
    errno = rc;
    return -1;
}

/* The protocol of systemd: two variables about descriptor 3. @return -1: there is none */
static int given_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
    uint64_t whose, count;
    int listening = 0;
    socklen_t len = sizeof(listening);

    if (!pid || !fds || !cli_number(pid, &whose) || !cli_number(fds, &count) || whose != (uint64_t)getpid() ||
        count != 1)
        return -1;
    if (getsockopt(GIVEN, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 || !listening ||
        fcntl(GIVEN, F_SETFD, FD_CLOEXEC) != 0)
        return -1;
    return GIVEN;
}

/* ---- begin and end ---- */

static bool number_of(const cli_args *args, cli_option option, uint64_t least, uint64_t most, uint64_t *value)
{
    const char *text = args->value[option];

    if (!text || (cli_number(text, value) && *value >= least && *value <= most))
        return true;
    cli_complain(text, "a number from %llu to %llu is wanted", (unsigned long long)least,
                 (unsigned long long)most);
    return false;
}

static int start_workers(serve_state *state, const cli_args *args)
{
    const char *mode = args->value[CLI_O_MODE];
    uint64_t workers = WORKERS, queue = QUEUE, deadline = 0, stall = STALL_MS;
    cuvet_workers_options options = { .size = sizeof(options), .program = args->value[CLI_O_WORKER] };
    cuvet_status status;

    state->allowed = UINT64_MAX;
    if (!number_of(args, CLI_O_WORKERS, 1, 256, &workers) || !number_of(args, CLI_O_QUEUE, 0, 4096, &queue) ||
        !number_of(args, CLI_O_DEADLINE, 0, INT32_MAX, &deadline) ||
        !number_of(args, CLI_O_STALL, 1, INT32_MAX, &stall) ||
        !number_of(args, CLI_O_ALLOW_UID, 0, UINT32_MAX, &state->allowed))
        return CLI_X_USAGE;
    state->server.mode = options.mode =
        mode && strcmp(mode, "persistent") == 0 ? CUVET_WORKER_PERSISTENT : CUVET_WORKER_FORK;
    state->server.stall_ms = (int)stall;
    options.flags = args->set[CLI_O_REQUIRE_SANDBOX] ? CUVET_WORKER_REQUIRE_CAGE : 0;
    options.workers = (uint32_t)workers;
    options.queue = (uint32_t)queue;
    options.deadline_ms = deadline;
    status = cuvet_workers_open(&options, &state->server.workers);
    if (status == CUVET_OK)
        return CLI_X_CLEAN;
    cli_complain(options.program ? options.program : "cuvet-worker", "no workers: %s",
                 status == CUVET_E_IO ? strerror(errno)
                 : status == CUVET_E_UNSUPPORTED
                     ? "of another version, or a part of the sandbox cannot be had here"
                     : cli_status_text(status));
    return status == CUVET_E_UNSUPPORTED && options.flags ? CLI_X_SANDBOX : cli_exit_of(status);
}

static int start_listening(serve_state *state, const cli_args *args)
{
    const char *path = args->value[CLI_O_SOCKET];
    sigset_t set;

    state->listener = given_socket();
    if (state->listener < 0 && !path) {
        cli_complain(NULL, "--socket names where to listen");
        return CLI_X_USAGE;
    }
    if (state->listener < 0) {
        state->listener = listen_at(path);
        state->path = path;
    }
    if (state->listener < 0) {
        cli_complain(path, "%s", strerror(errno));
        return CLI_X_IO;
    }
    if (sigemptyset(&set) != 0 || sigaddset(&set, SIGTERM) != 0 || sigaddset(&set, SIGINT) != 0 ||
        pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 || pthread_mutex_init(&state->lock, NULL) != 0)
        return CLI_X_IO;
    state->signals = signalfd(-1, &set, SFD_CLOEXEC);
    return state->signals < 0 ? CLI_X_IO : CLI_X_CLEAN;
}

static void serve_all(serve_state *state)
{
    struct pollfd fds[] = { { .fd = state->listener, .events = POLLIN },
                            { .fd = state->signals, .events = POLLIN } };

    for (size_t i = 0; i < CLIENTS; i++)
        state->client[i] = (serve_client){ .state = state, .fd = -1 };
    for (;;) {
        int count = poll(fds, 2, -1);

        if (count < 0 && errno != EINTR)
            break;
        if (count > 0 && fds[1].revents)
            break;
        if (count > 0 && fds[0].revents)
            accept_client(state);
    }
    (void)close(state->listener); /* nobody else comes */
    if (state->path)
        (void)unlink(state->path); /* or somebody has done it */
    end_clients(state);
    cuvet_workers_close(state->server.workers);
}

int cmd_serve(int argc, char **argv)
{
    static serve_state state;
    cli_args args;
    int rc;

    if (!cli_parse(CLI_C_SERVE, argc, argv, &args, &rc))
        return rc;
    if (args.n_operands > 0) {
        cli_complain(args.operands[0], "serve takes no operand");
        return CLI_X_USAGE;
    }
    if (!cli_load_for("ndjson"))
        return CLI_X_IO;
    rc = start_workers(&state, &args);
    if (rc == CLI_X_CLEAN)
        rc = start_listening(&state, &args);
    if (rc == CLI_X_CLEAN)
        serve_all(&state);
    return rc;
}

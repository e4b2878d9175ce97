/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The caged side and the opener's side of the keeper, and its start. */
#include "keeper.h"

#include "../descriptor.h"
#include "../sandbox.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* It ends when the caged process has ended, and not before: what was said is written down. */
static void settle(int fd, int announce, int folder)
{
    static const int NOT_FOR_US[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ, SIGTSTP };
    const int keep[] = { fd, announce, folder };
    const cli_cage nothing_else = { CLI_CAGE_NOTHING, .keep = keep,
                                    .n_keep = sizeof(keep) / sizeof(keep[0]) };
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (size_t i = 0; i < sizeof(NOT_FOR_US) / sizeof(NOT_FOR_US[0]); i++)
        (void)signal(NOT_FOR_US[i], SIG_IGN);
    /* Standard output is somebody's pipe, whose end must not wait for us. */
    for (int i = STDIN_FILENO; i <= STDOUT_FILENO; i++)
        (void)(null >= 0 ? dup2(null, i) : close(i)); /* nothing is written to them */
    cli_cage_close_others(&nothing_else);
    cli_cage_folder(folder);
    (void)close(folder); /* a directory: nothing is buffered in it */
}

static int folder_of(const char *path)
{
    char copy[PATH_MAX];

    snprintf(copy, sizeof(copy), "%s", path);
    return open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* SQLite believes a journal that lies beside a database, whoever put it there: it takes pages out of it. */
static bool is_open_to_all(int folder)
{
    struct stat st;

    return fstat(folder, &st) != 0 || (st.st_mode & S_IWOTH) != 0;
}

/* The path without links, of a file that may have to be made: its folder is there. */
static bool real_path(const char *path, char out[PATH_MAX])
{
    char copy[PATH_MAX], real[PATH_MAX], *slash;
    const char *folder;

    if (strlen(path) == 0 || strlen(path) >= sizeof(copy) || path[strlen(path) - 1] == '/')
        return false;
    if (realpath(path, out))
        return true;
    snprintf(copy, sizeof(copy), "%s", path);
    slash = strrchr(copy, '/');
    folder = slash == copy ? "/" : slash ? copy : ".";
    if (slash)
        *slash = '\0';
    slash = strrchr(path, '/');
    path = slash ? slash + 1 : path;
    return realpath(folder, real) && snprintf(out, PATH_MAX, "%s/%s", real, path) < PATH_MAX;
}

static void run_keeper(int fd, int announce, const cli_keeper_options *options, int folder)
{
    sigset_t none;

    settle(fd, announce, folder);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* what came in the meantime is ignored as well */
    cli_keeper_serve(fd, announce, options);
    _exit(0);
}

static int cannot_start(const char *path)
{
    cli_complain(path, "%s", strerror(errno));
    return CLI_X_IO;
}

static void close_both(const int end[2])
{
    (void)close(end[0]);
    (void)close(end[1]);
}

/* It says first whether it could open the database. */
static int await_keeper(cli_keeper *keeper)
{
    known_reply reply = { .mark = 0 };
    ssize_t got;

    do
        got = read(keeper->fd, &reply, sizeof(reply));
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof(reply) && known_reply_ok(&reply, (size_t)got, ""))
        return (int)reply.failed;
    cli_complain(NULL, "the process that keeps the database is gone");
    return CLI_X_INTERNAL;
}

int cli_keeper_start(cli_keeper *keeper, const cli_keeper_options *options)
{
    char path[PATH_MAX];
    cli_keeper_options own = *options;
    int end[2], tell[2] = { -1, -1 }, folder;
    sigset_t all, old;
    pid_t child;

    own.path = path;
    errno = ENOENT;
    if (!real_path(options->path, path) || (folder = folder_of(path)) < 0)
        return cannot_start(options->path);
    if (is_open_to_all(folder)) {
        (void)close(folder); /* a directory: nothing is buffered in it */
        cli_complain(options->path,
                     "is in a folder that anybody may write to, who would decide what is known");
        return CLI_X_IO;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) != 0 ||
        (options->purpose == KNOWN_FOR_VERDICTS &&
         socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, tell) != 0))
        return cannot_start(options->path);
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &old); /* no signal may end it before it ignores them */
    child = fork();
    if (child == 0) {
        (void)close(end[0]); /* so that the last one to close the other end is the other side */
        if (tell[0] >= 0)
            (void)close(tell[0]); /* the same */
        run_keeper(end[1], tell[1], &own, folder);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    (void)close(folder); /* the keeper has it */
    if (child < 0) {
        close_both(end);
        close_both(tell);
        return cannot_start(options->path);
    }
    (void)close(end[1]);
    if (tell[1] >= 0)
        (void)close(tell[1]);
    *keeper = (cli_keeper){ .fd = end[0], .announce = tell[0] };
    return await_keeper(keeper);
}

/* ---- the opener's side ---- */

bool cli_keeper_announce(int announce, const keeper_announcement *packet, int fd)
{
    keeper_announcement copy = *packet; /* sendmsg() takes no const */
    struct iovec vec = { &copy, sizeof(copy) };
    struct msghdr msg = { .msg_iov = &vec, .msg_iovlen = 1 };

    return cli_send_with(announce, &msg, fd) == (ssize_t)sizeof(copy);
}

/* ---- the caged side ---- */

static bool send_order(const cli_keeper *keeper, const known_order *order, const char *text)
{
    static char packet[sizeof(known_order) + KNOWN_TEXT_MOST]; /* one thread speaks */
    ssize_t put;

    memcpy(packet, order, sizeof(*order));
    if (order->n_text > 0)
        memcpy(packet + sizeof(*order), text, order->n_text);
    do
        put = write(keeper->fd, packet, sizeof(*order) + order->n_text);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)(sizeof(*order) + order->n_text);
}

static bool say_gone(void)
{
    static bool said;

    if (!said)
        cli_complain(NULL, "the process that keeps the database is gone");
    said = true;
    return false;
}

bool cli_keeper_tell(const cli_keeper *keeper, const known_order *order, const char *text)
{
    return send_order(keeper, order, text) || say_gone();
}

static bool take_reply(const cli_keeper *keeper, known_reply *reply, char *text)
{
    static char packet[sizeof(known_reply) + KNOWN_TEXT_MOST + 1]; /* what is too long shows */
    ssize_t got;

    do
        got = read(keeper->fd, packet, sizeof(packet));
    while (got < 0 && errno == EINTR);
    if (got < (ssize_t)sizeof(*reply))
        return false;
    memcpy(reply, packet, sizeof(*reply));
    if (!known_reply_ok(reply, (size_t)got, packet + sizeof(*reply)))
        return false;
    if (reply->n_text > 0 && !text) /* to an order that no text answers */
        return false;
    if (reply->n_text > 0)
        memcpy(text, packet + sizeof(*reply), reply->n_text);
    return true;
}

bool cli_keeper_ask(const cli_keeper *keeper, const known_order *order, known_reply *reply, char *text)
{
    if (!send_order(keeper, order, "") || !take_reply(keeper, reply, text))
        return say_gone();
    return reply->failed == 0;
}

int cli_keeper_end(cli_keeper *keeper, uint64_t *fresh)
{
    const known_order order = { .verb = KNOWN_END };
    known_reply reply = { .mark = 0 };
    bool good = keeper->fd >= 0 && send_order(keeper, &order, "") && take_reply(keeper, &reply, NULL);

    if (keeper->fd < 0)
        return CLI_X_CLEAN;
    if (!good)
        (void)say_gone();
    if (fresh)
        *fresh = good ? reply.total : 0;
    (void)close(keeper->fd); /* it ends by that */
    *keeper = (cli_keeper)CLI_NO_KEEPER;
    return good ? (int)reply.failed : CLI_X_INTERNAL;
}

uint8_t *cli_keeper_get(const cli_keeper *keeper, uint32_t number, size_t *size)
{
    const known_order order = { .verb = KNOWN_GET, .number = number };
    static char text[KNOWN_TEXT_MOST];
    known_reply reply;
    uint8_t *bytes;

    *size = 0;
    if (!cli_keeper_ask(keeper, &order, &reply, text) || reply.match != KNOWN_BYTES || reply.total == 0)
        return NULL;
    bytes = malloc((size_t)reply.total);
    for (uint64_t at = 0, all = reply.total; at < all;) {
        if (reply.n_text == 0 || reply.n_text > all - at || reply.total != all) {
            free(bytes);
            (void)say_gone();
            return NULL;
        }
        if (bytes)
            memcpy(bytes + at, text, reply.n_text);
        at += reply.n_text;
        *size = (size_t)at;
        if (at < all && !take_reply(keeper, &reply, text))
            reply.n_text = 0;
    }
    return bytes;
}

void cli_keeper_put(const cli_keeper *keeper, uint32_t number, const uint8_t *bytes, size_t size)
{
    known_order order = { .verb = bytes && size > 0 ? KNOWN_PUT : KNOWN_DROP,
                          .number = number,
                          .total = size };

    if (order.verb == KNOWN_DROP) {
        order.total = 0;
        (void)cli_keeper_tell(keeper, &order, ""); /* nothing is lost but a verdict that is kept */
        return;
    }
    for (bool good = true; good && order.at < size; order.at += order.n_text) {
        uint64_t left = size - order.at;

        order.n_text = left < KNOWN_CHUNK ? (uint32_t)left : KNOWN_CHUNK;
        good = cli_keeper_tell(keeper, &order, (const char *)bytes + order.at);
    }
}

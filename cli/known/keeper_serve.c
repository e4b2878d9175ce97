/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The keeper's side: outside of the cage, and asked by what may have been taken over inside of it. */
#include "keeper.h"

#include "../descriptor.h"
#include "../loaded.h"
#include "../whole.h"
#include "recording.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    HASH_BLOCK = 1 << 18,
    WAITING_MOST =
        2048, /* inputs that were announced, and are not settled yet: more than the caged side has */
    FLUSH_BYTES = 32 << 20,
    FLUSH_SECONDS = 5,
    /* What was written to a moment ago may be again, within the same tick of its time stamps. */
    STILL_SECONDS = 2
};

/* An input that was announced. */
typedef struct keeper_input {
    uint32_t number; /* 0: free */
    int fd;          /* it can be looked at again; -1 */
    bool settled;    /* a change of it would be seen, or nobody can change it */
    struct stat before;
    cli_digest key;
    uint8_t *bytes; /* its recording, as far as it came */
    uint64_t size, total;
} keeper_input;

typedef struct keeper_run {
    const cli_keeper_options *options;
    cli_database *database;
    int fd, announce;
    keeper_input input[WAITING_MOST];
    uint8_t block[HASH_BLOCK];
    uint32_t partial; /* the number of whose recording parts came: of one at a time */
    uint64_t kept;    /* bytes since the last time that verdicts were written down */
    time_t flushed;
    database_state state; /* the first that was wrong */
} keeper_run;

static bool send_reply(const keeper_run *run, const known_reply *reply, const char *text)
{
    static char packet[sizeof(known_reply) + KNOWN_TEXT_MOST];
    ssize_t put;

    memcpy(packet, reply, sizeof(*reply));
    if (reply->n_text > 0)
        memcpy(packet + sizeof(*reply), text, reply->n_text);
    do
        put = send(run->fd, packet, sizeof(*reply) + reply->n_text, MSG_NOSIGNAL);
    while (put < 0 && errno == EINTR);
    return put == (ssize_t)(sizeof(*reply) + reply->n_text);
}

/* What is wrong with the database is said once. */
static void note(keeper_run *run, database_state state)
{
    if (state == DATABASE_OK || run->state != DATABASE_OK)
        return;
    run->state = state;
    cli_complain(run->options->path, "%s", database_state_text(state));
}

/* ---- inputs ---- */

static void forget(keeper_input *input)
{
    if (input->fd >= 0)
        (void)close(input->fd); /* read only: nothing can be lost */
    free(input->bytes);
    *input = (keeper_input){ .fd = -1 };
}

static keeper_input *find(keeper_run *run, uint32_t number)
{
    keeper_input *input = &run->input[number % WAITING_MOST];

    return input->number == number ? input : NULL;
}

static bool hash(keeper_run *run, keeper_input *input)
{
    uint64_t left = (uint64_t)input->before.st_size, at = 0;
    struct sha256_ctx sha;

    sha256_init(&sha);
    sha256_update(&sha, sizeof(run->options->about), run->options->about.byte);
    sha256_update(&sha, sizeof(left), (const uint8_t *)&left);
    while (left > 0) {
        size_t count = left < HASH_BLOCK ? (size_t)left : HASH_BLOCK;

        if (!cli_read_at(input->fd, run->block, count, at))
            return false;
        sha256_update(&sha, count, run->block);
        at += count;
        left -= count;
    }
    sha256_digest(&sha, sizeof(input->key.byte), input->key.byte);
    return true;
}

/* Those that nobody has settled by now were passed over. The caged side looks at as many bytes as there were
 * when it was opened: of another length it is another content, and may be too much to hash. */
static void take_input(keeper_run *run, const keeper_announcement *packet, int fd)
{
    keeper_input *input = &run->input[packet->number % WAITING_MOST];
    time_t now = time(NULL);

    forget(input);
    input->fd = fd;
    if (fstat(fd, &input->before) != 0 || !S_ISREG(input->before.st_mode) ||
        (uint64_t)input->before.st_size != packet->size || !hash(run, input)) {
        forget(input);
        return;
    }
    input->settled = packet->owned || (now > input->before.st_ctim.tv_sec &&
                                       now - input->before.st_ctim.tv_sec > STILL_SECONDS);
    input->number = packet->number;
}

/* A descriptor that nobody here had room for is none: that input is scanned, and not kept.
 * @return false: nothing more is announced, at the moment or at all */
static bool take_announcement(keeper_run *run, bool wait)
{
    keeper_announcement packet = { .number = 0 };
    cli_beside control;
    struct iovec vec = { &packet, sizeof(packet) };
    struct msghdr msg = { .msg_iov = &vec,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof(control.bytes) };
    ssize_t got;
    int fd;

    do
        got = recvmsg(run->announce, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (got < 0 && errno == EINTR);
    fd = got == (ssize_t)sizeof(packet) ? cli_came_with(&msg) : -1;
    if (fd >= 0)
        take_input(run, &packet, fd);
    return got > 0;
}

static bool is_same_time(const struct timespec *left, const struct timespec *right)
{
    return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

/* Is it what it was when it was hashed? */
static bool is_still(const keeper_input *input)
{
    struct stat now;

    return input->settled && fstat(input->fd, &now) == 0 && now.st_size == input->before.st_size &&
           is_same_time(&now.st_ctim, &input->before.st_ctim) &&
           is_same_time(&now.st_mtim, &input->before.st_mtim);
}

/* ---- verdicts ---- */

static void write_down(keeper_run *run)
{
    note(run, database_commit_verdicts(run->database, run->options->most));
    run->kept = 0;
    run->flushed = time(NULL);
}

static bool give(keeper_run *run, uint32_t number)
{
    known_reply reply = { .mark = KNOWN_REPLY };
    keeper_input *input;
    uint8_t *bytes = NULL;
    size_t size = 0;
    bool good = true;

    /* It was announced before the caged side could know its number. */
    for (input = find(run, number); !input && take_announcement(run, false); input = find(run, number))
        continue;
    if (input && run->state == DATABASE_OK)
        note(run, database_get(run->database, &input->key, &bytes, &size));
    if (!bytes)
        return send_reply(run, &reply, "");
    reply.match = KNOWN_BYTES;
    reply.total = size;
    for (size_t at = 0; good && at < size; at += reply.n_text) {
        reply.n_text = size - at < KNOWN_CHUNK ? (uint32_t)(size - at) : KNOWN_CHUNK;
        good = send_reply(run, &reply, (const char *)bytes + at);
    }
    free(bytes);
    return good;
}

/* @return false: it breaks the rules */
static bool take_part(keeper_run *run, const known_order *order, const char *text)
{
    keeper_input *input = find(run, order->number);

    if (!input)
        return true; /* it was passed over, or is damaged: nothing is kept of it */
    if (order->at != input->size || (order->at > 0 && order->total != input->total))
        return false;
    if (order->at == 0) {
        keeper_input *other = find(run, run->partial);

        if (other && other != input)
            forget(other); /* nobody has us keep beginnings of many */
        run->partial = order->number;
        input->total = order->total;
        input->bytes = malloc((size_t)order->total);
    }
    if (!input->bytes) {
        forget(input);
        return true;
    }
    memcpy(input->bytes + order->at, text, order->n_text);
    input->size += order->n_text;
    if (input->size < input->total)
        return true;
    if (is_still(input) && run->state == DATABASE_OK) {
        note(run, database_put(run->database, &input->key, input->bytes, (size_t)input->total));
        run->kept += input->total;
    }
    forget(input);
    if (run->kept > FLUSH_BYTES || time(NULL) - run->flushed > FLUSH_SECONDS)
        write_down(run);
    return true;
}

/* ---- orders ---- */

static bool answer(keeper_run *run, const known_order *order)
{
    static char text[KNOWN_TEXT_MOST];
    known_reply reply = { .mark = KNOWN_REPLY };

    note(run, order->verb == KNOWN_ASK_PIECE ? database_ask_piece(run->database, order, &reply, text)
                                             : database_ask_kernel(run->database, order, &reply, text));
    if (run->state != DATABASE_OK)
        reply = (known_reply){ .mark = KNOWN_REPLY, .failed = (uint32_t)database_state_exit(run->state) };
    return send_reply(run, &reply, text);
}

static bool end(keeper_run *run)
{
    known_reply reply = { .mark = KNOWN_REPLY };

    if (run->options->purpose == KNOWN_FOR_VERDICTS)
        write_down(run);
    else if (run->options->purpose == KNOWN_FOR_ADDING && run->state == DATABASE_OK)
        note(run, database_commit(run->database, &reply.total));
    reply.failed = (uint32_t)database_state_exit(run->state);
    return send_reply(run, &reply, "");
}

static bool obey(keeper_run *run, const known_order *order, const char *text)
{
    keeper_input *input;

    switch ((known_verb)order->verb) {
    case KNOWN_ASK_PIECE:
    case KNOWN_ASK_KERNEL: return answer(run, order);
    case KNOWN_GET: return give(run, order->number);
    case KNOWN_PUT: return take_part(run, order, text);
    case KNOWN_DROP:
        input = find(run, order->number);
        if (input)
            forget(input);
        return true;
    case KNOWN_END: return end(run);
    case KNOWN_SOURCE: note(run, database_add_source(run->database, text, order->n_text)); return true;
    case KNOWN_ADD_PIECE: note(run, database_add_piece(run->database, order)); return true;
    case KNOWN_ADD_KERNEL: note(run, database_add_kernel(run->database, order, text)); return true;
    }
    return false;
}

/* @return false: the other side has ended, or breaks the rules */
static bool take_order(keeper_run *run)
{
    static char packet[sizeof(known_order) + KNOWN_TEXT_MOST + 1]; /* what is too long shows */
    known_order order;
    ssize_t got;

    do
        got = read(run->fd, packet, sizeof(packet));
    while (got < 0 && errno == EINTR);
    if (got < (ssize_t)sizeof(order))
        return false;
    memcpy(&order, packet, sizeof(order));
    return known_order_ok(&order, (size_t)got, packet + sizeof(order), run->options->purpose) &&
           obey(run, &order, packet + sizeof(order));
}

/* Announcements are looked at when there is nothing else to do: the hash of the next input is ready when it
 * is asked for. */
static void serve(keeper_run *run)
{
    for (;;) {
        struct pollfd ready[] = { { .fd = run->fd, .events = POLLIN },
                                  { .fd = run->announce, .events = POLLIN } };

        if (poll(ready, run->announce >= 0 ? 2 : 1, -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (ready[0].revents != 0) {
            if (!take_order(run))
                return;
        } else if (ready[1].revents != 0 && !take_announcement(run, true)) {
            (void)close(run->announce); /* whoever still speaks into it must not wait for us */
            run->announce = -1;
        }
    }
}

void cli_keeper_serve(int fd, int announce, const cli_keeper_options *options)
{
    static const database_mode MODE[] = { [KNOWN_FOR_LOOKUP] = DATABASE_READ,
                                          [KNOWN_FOR_ADDING] = DATABASE_MAKE,
                                          [KNOWN_FOR_VERDICTS] = DATABASE_MAKE };
    known_reply hello = { .mark = KNOWN_REPLY };
    keeper_run *run = calloc(1, sizeof(*run));
    database_state state = run ? DATABASE_OK : DATABASE_NO_MEMORY;

    if (run) {
        *run = (keeper_run){ .options = options, .fd = fd, .announce = announce, .flushed = time(NULL) };
        for (size_t i = 0; i < WAITING_MOST; i++)
            run->input[i].fd = -1;
        state = database_open(&run->database, options->path, MODE[options->purpose]);
        note(run, state);
    }
    hello.failed = (uint32_t)database_state_exit(state);
    if (run && send_reply(run, &hello, "") && state == DATABASE_OK)
        serve(run);
    for (size_t i = 0; run && i < WAITING_MOST; i++)
        forget(&run->input[i]);
    if (run && run->database) {
        if (options->purpose == KNOWN_FOR_VERDICTS)
            write_down(run); /* also where the other side was killed */
        database_close(run->database);
    }
    free(run);
}

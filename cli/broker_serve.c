/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The broker's side: outside of the cage, and asked by what may have been taken over inside of it. */
#include "broker_int.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* The request that runs is to be given up; also set by signals. A compiler that is cancelled kills what it
 * started and cleans up, which a broker that just died would not. */
static bool cancelled, ending;

static void on_signal(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
    __atomic_store_n(&cancelled, true, __ATOMIC_RELAXED);
}

static void soft_limit(__rlimit_resource_t what, uint64_t value)
{
    struct rlimit r;

    if (getrlimit(what, &r) == 0 && value < r.rlim_cur) {
        r.rlim_cur = value; /* the hard one is the compiler's, which has limits of its own */
        (void)setrlimit(what, &r);
    }
}

void broker_settle(int fd, int parent, const cli_broker_rules *rules)
{
    const struct sigaction end = { .sa_handler = on_signal };
    const cli_cage nothing_else = { CLI_CAGE_NOTHING, .keep = &fd, .n_keep = 1 };
    const uint64_t sizes = rules->input / 2 + rules->output / 2 + rules->log;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigaction(SIGHUP, &end, NULL);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
        _exit(1);
    cli_cage_close_others(&nothing_else);
    soft_limit(RLIMIT_CORE, 0);
    if (sizes < UINT64_MAX / 8 && cli_cage_possible())
        soft_limit(RLIMIT_AS, 4 * sizes + (UINT64_C(1) << 30));
    /* From a cage with Landlock no signal comes out, this one included: then it is the end of the stream that
     * tells, as it does in any case. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) != 0 || getppid() != parent)
        _exit(1);
}

/* ---- requests ---- */

typedef struct job {
    broker_request head;
    char *options; /* as they came */
    const char **option;
    void *bytes;
} job;

/* A byte that cancels what has ended already may come first. */
static bool next_head(int fd, broker_request *h)
{
    do {
        ssize_t n = read(fd, &h->mark, 1);

        if (n < 0 && errno == EINTR && !__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
            h->mark = BROKER_CANCEL;
            continue;
        }
        if (n != 1)
            return false;
    } while (h->mark == BROKER_CANCEL);
    return h->mark == BROKER_REQUEST && broker_read(fd, (char *)h + 1, sizeof(*h) - 1);
}

static bool next_job(int fd, job *j, const cli_broker_rules *rules)
{
    if (!next_head(fd, &j->head) || !broker_request_ok(&j->head, rules))
        return false;
    j->options = malloc((size_t)j->head.option_bytes + 1);
    j->option = calloc((size_t)j->head.n_options + 1, sizeof(*j->option));
    j->bytes = malloc((size_t)j->head.n);
    return j->options && j->option && j->bytes && broker_read(fd, j->options, j->head.option_bytes) &&
           broker_cut_options(&j->head, j->options, j->option, rules) && broker_read(fd, j->bytes, j->head.n);
}

static void end_job(job *j)
{
    free(j->options);
    free(j->option);
    free(j->bytes);
    *j = (job){ .bytes = NULL };
}

/* While a compiler runs, somebody else listens: for the byte that cancels, and for the end. */
typedef struct listener {
    int fd, done;
} listener;

static void *listen_for_cancel(void *arg)
{
    const listener *l = arg;
    struct pollfd p[2] = { { .fd = l->fd, .events = POLLIN }, { .fd = l->done, .events = POLLIN } };
    char c;

    while (poll(p, 2, -1) >= 0 || errno == EINTR) {
        if (p[1].revents)
            break;
        if (!p[0].revents)
            continue;
        __atomic_store_n(&cancelled, true, __ATOMIC_RELAXED);
        /* The end of the stream, or what nobody says now. */
        if (read(l->fd, &c, 1) != 1 || c != BROKER_CANCEL) {
            __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
            break;
        }
        p[0].revents = 0;
    }
    return NULL;
}

static bool reply(int fd, const cli_broker_rules *rules, cuvet_status s, const cuvet_compile_result *r)
{
    broker_reply head = { .mark = BROKER_REPLY,
                          .status = (uint32_t)(s == CUVET_OK || s == CUVET_E_NOMEM ? s : CUVET_E_INTERNAL),
                          .end = (uint32_t)r->end,
                          .detail = r->detail,
                          .n_log = !r->log                 ? 0
                                   : r->n_log < rules->log ? r->n_log
                                                           : rules->log };

    if (r->end == CUVET_COMPILED && r->n > rules->output) {
        head.end = CUVET_COMPILE_OVERSIZED;
        head.detail = (int64_t)rules->output;
    } else if (r->end == CUVET_COMPILED && (r->n == 0 || !r->bytes)) {
        head.end = CUVET_COMPILE_EMPTY;
    } else if (r->end == CUVET_COMPILED) {
        head.n = r->n;
    }
    return broker_write(fd, &head, sizeof(head)) && broker_write(fd, r->bytes, head.n) &&
           broker_write(fd, r->log, head.n_log);
}

static bool run(int fd, const job *j, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    const cuvet_compile_request q = { .size = sizeof(q),
                                      .kind = j->head.cubin   ? CUVET_K_CUBIN
                                              : j->head.ltoir ? CUVET_K_LTOIR
                                                              : CUVET_K_PTX,
                                      .flags = j->head.debug ? CUVET_COMPILE_DEBUG : 0,
                                      .bytes = j->bytes,
                                      .n = (size_t)j->head.n,
                                      .sm = j->head.sm,
                                      .suffix = j->head.suffix,
                                      .option = j->option,
                                      .n_options = j->head.n_options,
                                      .threads = j->head.threads,
                                      .cancel = &cancelled };
    cuvet_compile_result out = { .size = sizeof(out) };
    listener l = { fd, eventfd(0, EFD_CLOEXEC) };
    const uint64_t one = 1;
    pthread_t thread;
    cuvet_status s;
    bool ok;

    __atomic_store_n(&cancelled, false, __ATOMIC_RELAXED);
    if (l.done < 0 || pthread_create(&thread, NULL, listen_for_cancel, &l) != 0) {
        if (l.done >= 0)
            (void)close(l.done);
        return false;
    }
    s = real->compile(real->user, &q, &out);
    ok = broker_write(l.done, &one, sizeof(one)) && pthread_join(thread, NULL) == 0;
    (void)close(l.done); /* nothing is kept in it */
    ok = ok && !__atomic_load_n(&ending, __ATOMIC_RELAXED) && reply(fd, rules, s, &out);
    if (out.release)
        out.release(&out, real->user);
    return ok;
}

void cli_broker_serve(int fd, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    job j = { .bytes = NULL };

    __atomic_store_n(&ending, false, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED) && next_job(fd, &j, rules) && run(fd, &j, real, rules))
        end_job(&j);
    end_job(&j);
}

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
static int cancelled;
static bool ending;

static void on_signal(int signal_number)
{
    (void)signal_number;
    __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
    __atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
}

static void soft_limit(__rlimit_resource_t what, uint64_t value)
{
    struct rlimit limit;

    if (getrlimit(what, &limit) == 0 && value < limit.rlim_cur) {
        limit.rlim_cur = value; /* the hard one is the compiler's, which has limits of its own */
        (void)setrlimit(what, &limit);
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

typedef struct broker_job {
    broker_request head;
    char *options; /* as they came */
    const char **option;
    void *bytes;
} broker_job;

/* A byte that cancels what has ended already may come first. */
static bool next_head(int fd, broker_request *request)
{
    do {
        ssize_t got = read(fd, &request->mark, 1);

        if (got < 0 && errno == EINTR && !__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
            request->mark = BROKER_CANCEL;
            continue;
        }
        if (got != 1)
            return false;
    } while (request->mark == BROKER_CANCEL);
    return request->mark == BROKER_REQUEST && cli_read_all(fd, (char *)request + 1, sizeof(*request) - 1);
}

static bool next_job(int fd, broker_job *job, const cli_broker_rules *rules)
{
    if (!next_head(fd, &job->head) || !broker_request_ok(&job->head, rules))
        return false;
    job->options = malloc((size_t)job->head.option_bytes + 1);
    job->option = calloc((size_t)job->head.n_options + 1, sizeof(*job->option));
    job->bytes = malloc((size_t)job->head.size);
    return job->options && job->option && job->bytes &&
           cli_read_all(fd, job->options, job->head.option_bytes) &&
           broker_cut_options(&job->head, job->options, job->option, rules) &&
           cli_read_all(fd, job->bytes, job->head.size);
}

static void end_job(broker_job *job)
{
    free(job->options);
    free(job->option);
    free(job->bytes);
    *job = (broker_job){ .bytes = NULL };
}

/* While a compiler runs, somebody else listens: for the byte that cancels, and for the end. */
typedef struct broker_listener {
    int fd, done;
} broker_listener;

static void *listen_for_cancel(void *arg)
{
    const broker_listener *listener = arg;
    struct pollfd poll_fd[2] = { { .fd = listener->fd, .events = POLLIN },
                                 { .fd = listener->done, .events = POLLIN } };
    char ch;

    while (poll(poll_fd, 2, -1) >= 0 || errno == EINTR) {
        if (poll_fd[1].revents)
            break;
        if (!poll_fd[0].revents)
            continue;
        __atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
        /* The end of the stream, or what nobody says now. */
        if (read(listener->fd, &ch, 1) != 1 || ch != BROKER_CANCEL) {
            __atomic_store_n(&ending, true, __ATOMIC_RELAXED);
            break;
        }
        poll_fd[0].revents = 0;
    }
    return NULL;
}

static bool send_reply(int fd, const cli_broker_rules *rules, cuvet_status status,
                       const cuvet_compile_result *result)
{
    broker_reply head = {
        .mark = BROKER_REPLY,
        .status = (uint32_t)(status == CUVET_OK || status == CUVET_E_NOMEM ? status : CUVET_E_INTERNAL),
        .end = (uint32_t)result->end,
        .detail = result->detail,
        .n_log = !result->log                 ? 0
                 : result->n_log < rules->log ? result->n_log
                                              : rules->log
    };

    if (result->end == CUVET_COMPILED && result->n > rules->output) {
        head.end = CUVET_COMPILE_OVERSIZED;
        head.detail = (int64_t)rules->output;
    } else if (result->end == CUVET_COMPILED && (result->n == 0 || !result->bytes)) {
        head.end = CUVET_COMPILE_EMPTY;
    } else if (result->end == CUVET_COMPILED) {
        head.size = result->n;
    }
    return cli_write_all(fd, &head, sizeof(head)) && cli_write_all(fd, result->bytes, head.size) &&
           cli_write_all(fd, result->log, head.n_log);
}

static bool run_job(int fd, const broker_job *job, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    const cuvet_compile_request request = { .size = sizeof(request),
                                            .kind = job->head.cubin   ? CUVET_K_CUBIN
                                                    : job->head.ltoir ? CUVET_K_LTOIR
                                                                      : CUVET_K_PTX,
                                            .flags = job->head.debug ? CUVET_COMPILE_DEBUG : 0,
                                            .bytes = job->bytes,
                                            .n = (size_t)job->head.size,
                                            .sm = job->head.sm,
                                            .suffix = job->head.suffix,
                                            .option = job->option,
                                            .n_options = job->head.n_options,
                                            .threads = job->head.threads,
                                            .cancel = &cancelled };
    cuvet_compile_result out = { .size = sizeof(out) };
    broker_listener listener = { fd, eventfd(0, EFD_CLOEXEC) };
    const uint64_t one = 1;
    pthread_t thread;
    cuvet_status status;
    bool ok;

    __atomic_store_n(&cancelled, 0, __ATOMIC_RELAXED);
    if (listener.done < 0 || pthread_create(&thread, NULL, listen_for_cancel, &listener) != 0) {
        if (listener.done >= 0)
            (void)close(listener.done);
        return false;
    }
    status = real->compile(real->user, &request, &out);
    ok = cli_write_all(listener.done, &one, sizeof(one)) && pthread_join(thread, NULL) == 0;
    (void)close(listener.done); /* nothing is kept in it */
    ok = ok && !__atomic_load_n(&ending, __ATOMIC_RELAXED) && send_reply(fd, rules, status, &out);
    if (out.release)
        out.release(&out, real->user);
    return ok;
}

void cli_broker_serve(int fd, const cuvet_compiler *real, const cli_broker_rules *rules)
{
    broker_job job = { .bytes = NULL };

    __atomic_store_n(&ending, false, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&ending, __ATOMIC_RELAXED) && next_job(fd, &job, rules) &&
           run_job(fd, &job, real, rules))
        end_job(&job);
    end_job(&job);
}

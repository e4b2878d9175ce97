/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "input.h"

#include "frames.h"
#include "input_int.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Inputs that are opened before the cage is entered. What is more comes through the opener; it costs a
 * message each, but nothing before the first result. */
#define OPEN_FIRST 1024
/* Descriptors besides them: standard streams, the walk, spooling, the opener. */
#define SPARE 24

/* Inputs that the opener has ready when several threads work: enough that nobody waits for it. */
#define OPEN_AHEAD 64
/* Inputs that are kept for each thread: those it works on, and those that wait. */
#define KEEP_PER_JOB 32u
/* All inputs together are so small that a second thread would take longer to start than to help. */
#define FOR_ONE_THREAD (UINT64_C(256) << 10)

#define FILE_SIZE      (UINT64_C(64) << 30)
#define MEMORY_FIXED   (UINT64_C(4) << 30)   /* reports, input and output buffers, code, stacks */
#define MEMORY_THREAD  (UINT64_C(256) << 20) /* address space that malloc sets aside, and the stack */

typedef struct kept {
    cli_found found; /* with these texts: */
    char *name, *why;
} kept;

typedef struct queue {
    const cli_args *args;
    kept *list;
    int *keep;
    size_t n, held, cap, n_keep; /* held: there is memory for; cap: at most */
    int channel;                 /* to the opener, or back; -1 */
    bool serving;                /* this process is the opener */
    bool standard_input;         /* is one of the inputs itself, not a copy */
    int rc;                      /* the walk ended early with this */
    uint64_t bytes;              /* of all that was opened */
    cli_means means;
    cli_ahead_calls calls; /* without `means`: one at a time, and remarks are said here */
    void *user;
} queue;

static void drop(const cli_found *f)
{
    if (f->fd >= 0 && f->owned)
        (void)close(f->fd); /* read only: nothing can be lost */
}

static bool out_of_memory(queue *q, const cli_found *f)
{
    drop(f);
    cli_complain(NULL, "out of memory");
    q->rc = CLI_X_INTERNAL;
    return false;
}

/* How many may be open at once? The soft limit is ours to raise. */
static size_t room(void)
{
    const rlim_t want = OPEN_FIRST + 2 * SPARE;
    struct rlimit r;
    int next = fcntl(STDIN_FILENO, F_DUPFD, 0);
    rlim_t taken;

    if (next < 0 || getrlimit(RLIMIT_NOFILE, &r) != 0)
        return 1;
    (void)close(next);
    if (r.rlim_cur < want && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &r) != 0 && getrlimit(RLIMIT_NOFILE, &r) != 0)
            return 1;
    }
    taken = (rlim_t)next + SPARE;
    if (r.rlim_cur <= taken)
        return 1;
    return r.rlim_cur - taken < OPEN_FIRST ? (size_t)(r.rlim_cur - taken) : OPEN_FIRST;
}

/* One more of each. Most runs have few. */
static bool grow(queue *q)
{
    size_t more = q->held ? 2 * q->held : 8;
    void *list = reallocarray(q->list, more, sizeof(*q->list)), *keep;

    if (list)
        q->list = list;
    keep = reallocarray(q->keep, more, sizeof(*q->keep));
    if (keep)
        q->keep = keep;
    if (!list || !keep)
        return false;
    q->held = more;
    return true;
}

static bool keep(queue *q, const cli_found *f)
{
    char *name = strdup(f->name), *why = f->why ? strdup(f->why) : NULL;
    kept *e;

    if (!name || (f->why && !why) || (q->n == q->held && !grow(q))) {
        free(name);
        free(why);
        return out_of_memory(q, f);
    }
    e = &q->list[q->n];
    *e = (kept){ .found = *f, .name = name, .why = why };
    e->found.name = name;
    e->found.why = why;
    if (f->fd > STDERR_FILENO)
        q->keep[q->n_keep++] = f->fd;
    q->standard_input = q->standard_input || f->fd == STDIN_FILENO;
    q->n++;
    q->bytes = f->size > UINT64_MAX - q->bytes ? UINT64_MAX : q->bytes + f->size;
    return true;
}

/* From here on this process, or its child, is the opener: the one that goes on with the walk. */
static bool split(queue *q, const cli_found *f)
{
    int pid = cli_opener_start(&q->channel);

    if (pid != 0) {
        drop(f); /* the opener has it as well */
        if (pid < 0) {
            cli_complain(NULL, "too many inputs, and no process to open them: %s", strerror(errno));
            q->rc = CLI_X_IO;
        }
        return false;
    }
    q->serving = true;
    for (size_t i = 0; i < q->n; i++)
        drop(&q->list[i].found);
    return cli_opener_serve(q->channel, f);
}

static bool take(void *user, const cli_found *f)
{
    queue *q = user;

    if (q->serving)
        return cli_opener_serve(q->channel, f);
    return q->n < q->cap ? keep(q, f) : split(q, f);
}

/* @return false in the opener, which is to end without another word; otherwise q->rc tells. */
static bool collect(queue *q)
{
    bool whole;

    q->cap = room();
    whole = cli_walk_inputs(q->args, take, q);
    if (q->serving && whole)
        (void)cli_opener_serve(q->channel, NULL); /* nobody asks any more when it fails */
    return !q->serving;
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The limit 'live' holds for each worker; listing and comparing open contexts of their own. */
static uint64_t memory_for(const cli_args *a, uint32_t jobs)
{
    uint64_t workers = (uint64_t)jobs + 2, live = a->limits.live;

    live = live > UINT64_MAX / workers ? UINT64_MAX : live * workers;
    return sum_of(live, MEMORY_FIXED + workers * MEMORY_THREAD);
}

static int confine(const queue *q, const cli_needs *needs)
{
    static const cli_needs NONE = CLI_NO_NEEDS;
    const cli_needs *n = needs ? needs : &NONE;
    const cli_cage c = { .keep = q->keep,
                         .n_keep = q->n_keep,
                         .out = n->out,
                         .n_out = sizeof(n->out) / sizeof(n->out[0]),
                         .porter = n->porter,
                         .folder = n->folder,
                         .channel = q->channel,
                         .broker = n->broker,
                         .helper = n->helper,
                         .standard_input = q->standard_input,
                         .threads = q->means.jobs,
                         .incoming = (uint32_t)q->means.room + 1,
                         .memory = memory_for(q->args, q->means.jobs),
                         .file_size = sum_of(FILE_SIZE, q->args->limits.member) };

    if (q->args->set[CLI_O_NO_SANDBOX]) {
        cli_cage_stay_out("--no-sandbox");
        return CLI_X_CLEAN;
    }
    if (cli_cage_enter(&c) == CLI_CAGE_ALL || !q->args->value[CLI_O_SANDBOX] ||
        strcmp(q->args->value[CLI_O_SANDBOX], "required") != 0)
        return CLI_X_CLEAN;
    cli_complain(NULL, "the sandbox is required, but this is what can be had: %s", cli_cage_state());
    return CLI_X_SANDBOX;
}

/* Length and time of a regular file. The cage allows fstat and no look at names, which fstat() of newer C
 * libraries is. */
static bool look_at(int fd, struct stat *st)
{
#if defined(SYS_fstat) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
    return syscall(SYS_fstat, fd, st) == 0 && S_ISREG(st->st_mode);
#else
    return fstat(fd, st) == 0 && S_ISREG(st->st_mode);
#endif
}

cuvet_status cli_input_load(const cli_input *in, const cuvet_limits *limits, void **bytes, const char **why)
{
    struct stat before = { 0 }, after = { 0 };
    uint64_t n = in->source.length;
    bool regular = look_at(in->fd, &before);
    cuvet_status s;

    *bytes = NULL;
    *why = NULL;
    if (n > limits->input || n > limits->live)
        return CUVET_E_LIMIT;
    *bytes = malloc(n ? (size_t)n : 1);
    if (!*bytes)
        return CUVET_E_NOMEM;
    s = n ? in->source.read_at(in->source.user, 0, *bytes, (size_t)n) : CUVET_OK;
    if (s != CUVET_OK || !regular)
        return s;
    if (look_at(in->fd, &after) && after.st_size == before.st_size &&
        after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
        return CUVET_OK;
    *why = "was written to while it was read [CV-IO-003]";
    return CUVET_E_IO;
}

/* @return false: stop here. */
static bool deliver(const queue *q, const cli_found *f)
{
    cli_input in = { .name = f->name,
                     .fd = f->fd,
                     .why = f->why,
                     .rc = f->rc,
                     .remark = f->remark,
                     .source = { .size = sizeof(in.source) } };
    struct stat st = { 0 };
    bool go_on;

    if (f->remark && !q->calls.means) {
        cli_complain(f->name, "%s", f->why);
        return true;
    }
    /* What kind of file it is and how long was found out when it was opened: here nothing can be asked. */
    if (f->fd >= 0 && cuvet_source_fd_sized(f->fd, f->size, &in.source) == CUVET_OK) {
        in.source.owned_fd = f->owned ? f->fd : -1;
    } else if (f->fd >= 0) {
        in.why = cli_status_text(CUVET_E_IO);
        in.rc = CLI_X_IO;
        drop(f);
    }
    if (!in.why && look_at(f->fd, &st) && (uint64_t)st.st_size != f->size) {
        cuvet_source_destroy(&in.source);
        in.why = "has another length than when it was opened [CV-IO-003]";
        in.rc = CLI_X_IO;
    }
    go_on = q->calls.input(q->user, &in);
    if (!in.why && !in.kept)
        cuvet_source_destroy(&in.source);
    return go_on;
}

/* The next input, asked for. While it is not there yet, whoever works on several does so. */
static cli_opened next_opened(const queue *q, cli_found *f, char *text)
{
    cli_opened got = CLI_OPENED_LATER;
    bool idle = q->calls.idle && q->means.room > 1;

    cli_opener_ask(q->channel);
    while (idle && got == CLI_OPENED_LATER) {
        got = cli_opener_take(q->channel, false, f, text);
        if (got == CLI_OPENED_LATER)
            idle = q->calls.idle(q->user);
    }
    return got == CLI_OPENED_LATER ? cli_opener_take(q->channel, true, f, text) : got;
}

static int deliver_rest(const queue *q)
{
    char *text = malloc(OPENER_TEXT);
    cli_opened got = CLI_OPENED_LOST;
    cli_found f;

    for (int i = 0; q->means.room > 1 && i < OPEN_AHEAD; i++)
        cli_opener_ask(q->channel);
    while (text && (got = next_opened(q, &f, text)) == CLI_OPENED_ONE) {
        if (!deliver(q, &f))
            break;
    }
    free(text);
    if (got != CLI_OPENED_LOST)
        return CLI_X_CLEAN;
    cli_complain(NULL, "the process that opens the inputs is gone; there may be more of them");
    return CLI_X_INTERNAL;
}

static int deliver_all(queue *q)
{
    bool go_on = true;

    for (size_t i = 0; i < q->n; i++) {
        cli_found *f = &q->list[i].found;

        if (go_on)
            go_on = deliver(q, f);
        else
            drop(f);
        f->fd = -1;
    }
    return go_on && q->channel >= 0 ? deliver_rest(q) : CLI_X_CLEAN;
}

static void release(queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        drop(&q->list[i].found);
        free(q->list[i].name);
        free(q->list[i].why);
    }
    free(q->list);
    free(q->keep);
    if (q->channel >= 0)
        (void)close(q->channel); /* the opener ends */
}

/* Never more open at the same time than could be opened first. */
static void find_means(queue *q)
{
    uint32_t jobs = q->channel < 0 && q->bytes <= FOR_ONE_THREAD ? 1 : q->args->jobs;
    size_t room = q->calls.means && jobs > 1 ? (size_t)KEEP_PER_JOB * jobs : 0;

    q->means = (cli_means){ .jobs = jobs, .room = room < q->n_keep ? room : q->n_keep };
}

static int each_input(queue *q, const cli_needs *needs)
{
    if (!collect(q))
        _exit(CLI_X_CLEAN);
    find_means(q);
    if (q->rc == CLI_X_CLEAN)
        q->rc = confine(q, needs);
    if (q->rc == CLI_X_CLEAN && q->calls.means)
        q->calls.means(q->user, &q->means);
    if (q->rc == CLI_X_CLEAN)
        q->rc = deliver_all(q);
    release(q);
    return q->rc;
}

int cli_each_input(const cli_args *a, const cli_needs *needs, cli_input_fn *fn, void *user)
{
    queue q = { .args = a, .channel = -1, .calls = { .input = fn }, .user = user };

    return each_input(&q, needs);
}

int cli_each_input_ahead(const cli_args *a, const cli_needs *needs, const cli_ahead_calls *calls, void *user)
{
    queue q = { .args = a, .channel = -1, .calls = *calls, .user = user };

    return each_input(&q, needs);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "input.h"

#include "frames.h"
#include "input_int.h"
#include "known/keeper.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Inputs that are opened before the cage is entered. What is more, and all from the first package on, comes
 * through the opener; it costs a message each, but nothing before the first result. */
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

typedef struct input_kept {
    cli_found found; /* with these texts: */
    char *name, *why;
} input_kept;

typedef struct input_queue {
    const cli_args *args;
    input_kept *list;
    int *keep;
    size_t count, held, cap, n_keep; /* held: there is memory for; cap: at most */
    int channel;                     /* to the opener, or back; -1 */
    int announce;                    /* of the opener, to the keeper of verdicts; -1 */
    uint32_t number;                 /* of what was announced last */
    bool serving;                    /* this process is the opener */
    bool standard_input;             /* is one of the inputs itself, not a copy */
    int rc;                          /* the walk ended early with this */
    uint64_t bytes;                  /* of all that was opened */
    cli_means means;
    cli_ahead_calls calls; /* without `means`: one at a time, and remarks are said here */
    void *user;
} input_queue;

static void drop_input(const cli_found *found)
{
    if (found->fd >= 0 && found->owned)
        (void)close(found->fd); /* read only: nothing can be lost */
}

static bool out_of_memory(input_queue *queue, const cli_found *found)
{
    drop_input(found);
    cli_complain(NULL, "out of memory");
    queue->rc = CLI_X_INTERNAL;
    return false;
}

/* How many may be open at once? The soft limit is ours to raise. */
static size_t open_files_most(void)
{
    const rlim_t want = OPEN_FIRST + 2 * SPARE;
    struct rlimit limit;
    int next = fcntl(STDIN_FILENO, F_DUPFD, 0);
    rlim_t taken;

    if (next < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    (void)close(next);
    if (limit.rlim_cur < want && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
            return 1;
    }
    taken = (rlim_t)next + SPARE;
    if (limit.rlim_cur <= taken)
        return 1;
    return limit.rlim_cur - taken < OPEN_FIRST ? (size_t)(limit.rlim_cur - taken) : OPEN_FIRST;
}

/* One more of each. Most runs have few. */
static bool grow_queue(input_queue *queue)
{
    size_t more = queue->held ? 2 * queue->held : 8;
    void *list = reallocarray(queue->list, more, sizeof(*queue->list)), *keep;

    if (list)
        queue->list = list;
    keep = reallocarray(queue->keep, more, sizeof(*queue->keep));
    if (keep)
        queue->keep = keep;
    if (!list || !keep)
        return false;
    queue->held = more;
    return true;
}

static bool keep_input(input_queue *queue, const cli_found *found)
{
    char *name = strdup(found->name), *why = found->why ? strdup(found->why) : NULL;
    input_kept *kept;

    if (!name || (found->why && !why) || (queue->count == queue->held && !grow_queue(queue))) {
        free(name);
        free(why);
        return out_of_memory(queue, found);
    }
    kept = &queue->list[queue->count];
    *kept = (input_kept){ .found = *found, .name = name, .why = why };
    kept->found.name = name;
    kept->found.why = why;
    if (found->fd > STDERR_FILENO)
        queue->keep[queue->n_keep++] = found->fd;
    queue->standard_input = queue->standard_input || found->fd == STDIN_FILENO;
    queue->count++;
    queue->bytes = found->size > UINT64_MAX - queue->bytes ? UINT64_MAX : queue->bytes + found->size;
    return true;
}

static bool take_input(void *user, const cli_found *found);

/* From here on this process, or its child, is the opener: the one that goes on with the walk. */
static bool split_process(input_queue *queue, const cli_found *found)
{
    int pid = cli_opener_start(&queue->channel);

    if (pid != 0) {
        drop_input(found); /* the opener has it as well */
        if (pid < 0) {
            cli_complain(NULL, "no process to open the inputs: %s", strerror(errno));
            queue->rc = CLI_X_IO;
        }
        return false;
    }
    queue->serving = true;
    for (size_t i = 0; i < queue->count; i++)
        drop_input(&queue->list[i].found);
    return take_input(queue, found);
}

/* Packages are for commands that look at any number of inputs. */
static bool opens_packages(const cli_args *args)
{
    return cli_takes(args->command, CLI_O_NO_PACKAGES) && !args->set[CLI_O_NO_PACKAGES];
}

static void ask_form(const input_queue *queue, cli_found *found)
{
    if (found->fd < 0 || found->what != CLI_INPUT || found->asked || !opens_packages(queue->args))
        return;
    found->form = cli_package_form(found->fd, found->size);
    found->asked = true;
}

/* What a verdict is kept for: of less the scan takes no longer than asking for it does. */
#define VERDICT_LEAST (UINT64_C(64) << 10)

/* What was copied or unpacked here is ours, and has no name; but the caged side could write to it by this
 * descriptor, and is given one that only reads. @return false: it can still be written to */
static bool only_read(cli_found *found, bool *ours)
{
    int flags = fcntl(found->fd, F_GETFL), fd;
    char path[64];

    *ours = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    if (flags >= 0 && !*ours)
        return true;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", found->fd);
    fd = *ours && found->owned ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    (void)close(found->fd); /* whoever wrote to it has looked after his errors */
    found->fd = fd;
    return true;
}

static bool serve_input(input_queue *queue, const cli_found *found)
{
    cli_found announced = *found;

    if (queue->announce >= 0 && found->fd >= 0 && found->what != CLI_PACKAGE &&
        found->size >= VERDICT_LEAST && found->size <= queue->args->limits.input) {
        bool ours, good = only_read(&announced, &ours);
        const keeper_announcement packet = { found->size, queue->number + 1, ours };

        if (good && cli_keeper_announce(queue->announce, &packet, announced.fd))
            announced.number = ++queue->number;
    }
    return cli_opener_serve(queue->channel, &announced);
}

static bool take_input(void *user, const cli_found *found)
{
    input_queue *queue = user;
    cli_found known = *found;

    ask_form(queue, &known);
    if (known.form != PACKAGE_NONE)
        return queue->serving ? cli_package_walk(queue->args, take_input, queue, &known)
                              : split_process(queue, &known);
    if (queue->serving)
        return serve_input(queue, &known);
    return queue->count < queue->cap ? keep_input(queue, &known) : split_process(queue, &known);
}

/* @return false in the opener, which is to end without another word; otherwise queue->rc tells. */
static bool collect_inputs(input_queue *queue)
{
    bool whole;

    queue->cap = queue->announce >= 0 ? 0 : open_files_most();
    whole = cli_walk_inputs(queue->args, take_input, queue);
    if (queue->serving && whole)
        (void)cli_opener_serve(queue->channel, NULL); /* nobody asks any more when it fails */
    return !queue->serving;
}

static uint64_t sum_of(uint64_t left, uint64_t right)
{
    return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

/* The limit 'live' holds for each worker; listing and comparing open contexts of their own. */
static uint64_t memory_for(const cli_args *args, uint32_t jobs)
{
    uint64_t workers = (uint64_t)jobs + 2, live = args->limits.live;

    live = live > UINT64_MAX / workers ? UINT64_MAX : live * workers;
    return sum_of(live, MEMORY_FIXED + workers * MEMORY_THREAD);
}

static int confine_process(const input_queue *queue, const cli_needs *needs)
{
    static const cli_needs NONE = CLI_NO_NEEDS;
    const cli_needs *wants = needs ? needs : &NONE;
    const cli_cage cage = { .keep = queue->keep,
                            .n_keep = queue->n_keep,
                            .out = wants->out,
                            .n_out = sizeof(wants->out) / sizeof(wants->out[0]),
                            .porter = wants->porter,
                            .folder = wants->folder,
                            .channel = queue->channel,
                            .broker = wants->broker,
                            .helper = wants->helper,
                            .standard_input = queue->standard_input,
                            .threads = queue->means.jobs,
                            .incoming = (uint32_t)queue->means.room + 1,
                            .memory = memory_for(queue->args, queue->means.jobs),
                            .file_size = sum_of(FILE_SIZE, queue->args->limits.member) };

    if (queue->args->set[CLI_O_NO_SANDBOX]) {
        cli_cage_stay_out("--no-sandbox");
        return CLI_X_CLEAN;
    }
    if (cli_cage_enter(&cage) == CLI_CAGE_ALL || !queue->args->value[CLI_O_SANDBOX] ||
        strcmp(queue->args->value[CLI_O_SANDBOX], "required") != 0)
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

bool cli_input_is(const cli_input *in, const struct stat *file)
{
    struct stat own = { 0 };

    return !in->why && in->what != CLI_PACKAGE && look_at(in->fd, &own) && own.st_dev == file->st_dev &&
           own.st_ino == file->st_ino;
}

cuvet_status cli_input_load_part(const cli_input *in, const cuvet_limits *limits, uint64_t off,
                                 uint64_t count, void **bytes, const char **why)
{
    struct stat before = { 0 }, after = { 0 };
    bool regular = look_at(in->fd, &before);
    cuvet_status status;

    *bytes = NULL;
    *why = NULL;
    if (count > limits->input || count > limits->live)
        return CUVET_E_LIMIT;
    *bytes = malloc(count ? (size_t)count : 1);
    if (!*bytes)
        return CUVET_E_NOMEM;
    status = count ? in->source.read_at(in->source.user, off, *bytes, (size_t)count) : CUVET_OK;
    if (status != CUVET_OK || !regular)
        return status;
    if (look_at(in->fd, &after) && after.st_size == before.st_size &&
        after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
        return CUVET_OK;
    *why = "was written to while it was read [CV-IO-003]";
    return CUVET_E_IO;
}

cuvet_status cli_input_load(const cli_input *in, const cuvet_limits *limits, void **bytes, const char **why)
{
    return cli_input_load_part(in, limits, 0, in->source.length, bytes, why);
}

/* @return false: stop here. */
static bool deliver_input(const input_queue *queue, const cli_found *found)
{
    cli_input in = { .name = found->name,
                     .fd = found->fd,
                     .why = found->why,
                     .rc = found->rc,
                     .remark = found->remark,
                     .what = found->what,
                     .number = found->number,
                     .fate = found->fate,
                     .layer = found->layer,
                     .entries = found->what == CLI_PACKAGE ? found->size : 0,
                     .hash = found->hash,
                     .source = { .size = sizeof(in.source), .owned_fd = -1 } };
    struct stat st = { 0 };
    bool go_on;

    if (found->remark && !queue->calls.means) {
        cli_complain(found->name, "%s", found->why);
        return true;
    }
    /* What kind of file it is and how long was found out when it was opened: here nothing can be asked. */
    if (found->fd >= 0 && cuvet_source_fd_sized(found->fd, found->size, &in.source) == CUVET_OK) {
        in.source.owned_fd = found->owned ? found->fd : -1;
    } else if (found->fd >= 0) {
        in.why = cli_status_text(CUVET_E_IO);
        in.rc = CLI_X_IO;
        drop_input(found);
    }
    if (!in.why && in.what != CLI_PACKAGE && look_at(found->fd, &st) && (uint64_t)st.st_size != found->size) {
        cuvet_source_destroy(&in.source);
        in.why = "has another length than when it was opened [CV-IO-003]";
        in.rc = CLI_X_IO;
    }
    go_on = queue->calls.input(queue->user, &in);
    if (!in.why && !in.kept)
        cuvet_source_destroy(&in.source);
    return go_on;
}

/* The next input, asked for. While it is not there yet, whoever works on several does so. */
static cli_opened next_opened(const input_queue *queue, cli_found *found, char *text)
{
    cli_opened got = CLI_OPENED_LATER;
    bool idle = queue->calls.idle && queue->means.room > 1;

    cli_opener_ask(queue->channel);
    while (idle && got == CLI_OPENED_LATER) {
        got = cli_opener_take(queue->channel, false, found, text);
        if (got == CLI_OPENED_LATER)
            idle = queue->calls.idle(queue->user);
    }
    return got == CLI_OPENED_LATER ? cli_opener_take(queue->channel, true, found, text) : got;
}

static int deliver_rest(const input_queue *queue)
{
    char *text = malloc(OPENER_TEXT);
    cli_opened got = CLI_OPENED_LOST;
    cli_found found;

    for (int i = 0; queue->means.room > 1 && i < OPEN_AHEAD; i++)
        cli_opener_ask(queue->channel);
    while (text && (got = next_opened(queue, &found, text)) == CLI_OPENED_ONE) {
        if (!deliver_input(queue, &found))
            break;
    }
    free(text);
    if (got != CLI_OPENED_LOST)
        return CLI_X_CLEAN;
    cli_complain(NULL, "the process that opens the inputs is gone; there may be more of them");
    return CLI_X_INTERNAL;
}

static int deliver_all(input_queue *queue)
{
    bool go_on = true;

    for (size_t i = 0; i < queue->count; i++) {
        cli_found *found = &queue->list[i].found;

        if (go_on)
            go_on = deliver_input(queue, found);
        else
            drop_input(found);
        found->fd = -1;
    }
    return go_on && queue->channel >= 0 ? deliver_rest(queue) : CLI_X_CLEAN;
}

static void release_queue(input_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        drop_input(&queue->list[i].found);
        free(queue->list[i].name);
        free(queue->list[i].why);
    }
    free(queue->list);
    free(queue->keep);
    if (queue->channel >= 0)
        (void)close(queue->channel); /* the opener ends */
}

/* Never more open at the same time than could be opened first. */
static void find_means(input_queue *queue)
{
    uint32_t jobs = queue->channel < 0 && queue->bytes <= FOR_ONE_THREAD ? 1 : queue->args->jobs;
    size_t room = queue->calls.means && jobs > 1 ? (size_t)KEEP_PER_JOB * jobs : 0;
    size_t most = queue->channel < 0 ? queue->n_keep : queue->cap > 0 ? queue->cap : open_files_most();

    queue->means = (cli_means){ .jobs = jobs, .room = room < most ? room : most };
}

static int each_input(input_queue *queue, const cli_needs *needs)
{
    queue->announce = needs ? needs->announce : -1;
    if (!collect_inputs(queue))
        _exit(CLI_X_CLEAN);
    if (queue->announce >= 0)
        (void)close(queue->announce); /* the opener has it */
    find_means(queue);
    if (queue->rc == CLI_X_CLEAN)
        queue->rc = confine_process(queue, needs);
    if (queue->rc == CLI_X_CLEAN && queue->calls.means)
        queue->calls.means(queue->user, &queue->means);
    if (queue->rc == CLI_X_CLEAN)
        queue->rc = deliver_all(queue);
    release_queue(queue);
    return queue->rc;
}

int cli_each_input(const cli_args *args, const cli_needs *needs, cli_input_fn *fn, void *user)
{
    input_queue queue = { .args = args, .channel = -1, .calls = { .input = fn }, .user = user };

    return each_input(&queue, needs);
}

int cli_each_input_ahead(const cli_args *args, const cli_needs *needs, const cli_ahead_calls *calls,
                         void *user)
{
    input_queue queue = { .args = args, .channel = -1, .calls = *calls, .user = user };

    return each_input(&queue, needs);
}

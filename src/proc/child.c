/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/text.h"
#include "proc/sandbox.h"

#define PULSE_MS 50   /* how often the caller's wish to stop is asked for */
#define GRACE_MS 2000 /* for the supervisor to kill and to answer */
#define SCRATCH  (UINT64_C(32) * CV_KIB)
#define NOTE     UINT64_C(80) /* room in the log for a word of our own */

/* One call. */
typedef struct child_run {
    const cv_child_options *options;
    cv_child_result *out;
    cv_sandbox sandbox;
    int channel, log; /* our ends */
    pid_t supervisor;
    int supervisor_fd;
    pid_t program; /* 0: not started */
    char *scratch;
    uint64_t said;    /* bytes of the log so far; the last ones are kept, in a ring */
    cv_child_end why; /* it was told to stop: DEADLINE, CANCELLED */
    bool told, lost;
} child_run;

static uint64_t now_ms(void)
{
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Threads that this user has already: RLIMIT_NPROC counts those as well. What a container hides from us makes
 * the limit tighter. */
static uint64_t tasks_of_user(void)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *entry;
    uint64_t tasks = 0;
    cv_listing listing;

    if (proc < 0)
        return 0;
    cv_listing_begin(&listing, proc);
    while ((entry = cv_listing_next(&listing)) != NULL) {
        char name[32];
        cv_text text = { name, sizeof(name), 0 };
        struct stat st;

        if (*entry < '0' || *entry > '9')
            continue;
        cv_text_str(&text, entry);
        cv_text_str(&text, "/task");
        cv_text_end(&text);
        /* Its links are "." and ".." and one for each thread. */
        if (fstatat(proc, name, &st, 0) == 0 && st.st_uid == geteuid() && st.st_nlink > 2)
            tasks += st.st_nlink - 2;
    }
    close(proc);
    return tasks;
}

/* Descriptors of both sides; 0 or errno. */
static int open_descriptors(child_run *run)
{
    int pair[2] = { -1, -1 }, pipe_[2] = { -1, -1 }, error = 0;

    run->sandbox.null = cv_fd_lift(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (run->sandbox.null < 0)
        return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    run->channel = cv_fd_lift(pair[0]);
    error = run->channel < 0 ? errno : 0;
    run->sandbox.channel = cv_fd_lift(pair[1]);
    if (error != 0 || run->sandbox.channel < 0)
        return error ? error : errno;
    if (pipe2(pipe_, O_CLOEXEC) != 0)
        return errno;
    run->log = cv_fd_lift(pipe_[0]);
    error = run->log < 0 ? errno : 0;
    run->sandbox.log = cv_fd_lift(pipe_[1]);
    if (error != 0 || run->sandbox.log < 0)
        return error ? error : errno;
    return fcntl(run->log, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

/* The supervisor runs and waits for its first word; 0 or errno. */
static int fork_supervisor(child_run *run)
{
    sigset_t all, old;
    int error = 0;

    /* No handler of the caller's may run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    run->supervisor = fork();
    if (run->supervisor == 0)
        cv_sandbox_supervise(&run->sandbox);
    if (run->supervisor < 0)
        error = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close_fd(&run->sandbox.channel); /* its end is the supervisor's alone: when that is gone, we hear it */
    close_fd(&run->sandbox.log);
    close_fd(&run->sandbox.null);
    if (error != 0)
        return error;
    /* Before its first word it cannot end, so the number is its own. */
    run->supervisor_fd = (int)syscall(SYS_pidfd_open, run->supervisor, 0);
    return run->supervisor_fd >= 0 ? 0 : errno;
}

static bool tell_supervisor(const child_run *run, char word)
{
    return send(run->channel, &word, 1, MSG_NOSIGNAL) == 1;
}

/* Nobody else's child may be reaped by its number: it goes by the descriptor. That the caller ignores SIGCHLD
 * or waits for any child elsewhere leaves nothing to reap, and nothing to know: the supervisor has told it
 * all. */
static void reap_supervisor(child_run *run)
{
    struct pollfd on = { .fd = run->supervisor_fd, .events = POLLIN };
    siginfo_t info;

    if (run->supervisor <= 0)
        return;
    if (run->supervisor_fd < 0) {
        while (waitpid(run->supervisor, NULL, 0) < 0 && errno == EINTR)
            ;
        return;
    }
    if (poll(&on, 1, GRACE_MS) != 1)
        syscall(SYS_pidfd_send_signal, run->supervisor_fd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)run->supervisor_fd, &info, WEXITED) != 0 && errno == EINTR)
        ;
    close_fd(&run->supervisor_fd);
}

static void keep_said(child_run *run, uint64_t count)
{
    const uint64_t most = run->options->log;
    uint64_t from = count > most ? count - most : 0, at;

    run->said += from;
    at = most ? run->said % most : 0;
    for (; from < count; from++, run->said++) {
        run->out->log[at] = run->scratch[from];
        at = at + 1 < most ? at + 1 : 0;
    }
}

/* Take what is in the pipe, at most 'turns' times, over what is older than the limit lets us keep: why a
 * program gave up is what it says last. */
static void drain_log(child_run *run, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        ssize_t got = read(run->log, run->scratch, SCRATCH);

        if (got <= 0)
            return;
        keep_said(run, (uint64_t)got);
    }
}

static void turn_round(char *text, uint64_t from, uint64_t end)
{
    for (; from < end && from < --end; from++) {
        char letter = text[from];

        text[from] = text[end];
        text[end] = letter;
    }
}

/* The ring in the order in which it was said: both parts turned round, then all of it. */
static void put_log_in_order(child_run *run)
{
    const uint64_t most = run->options->log, at = most ? run->said % most : 0;

    run->out->n_log = cv_min(run->said, most);
    if (run->said <= most)
        return;
    turn_round(run->out->log, 0, at);
    turn_round(run->out->log, at, most);
    turn_round(run->out->log, 0, most);
}

/* One message of the supervisor. True: the end of it. */
static bool receive_message(child_run *run)
{
    cv_sandbox_message message = { 0 };
    ssize_t got = recv(run->channel, &message, sizeof(message), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got == (ssize_t)sizeof(message) && message.word == CV_SANDBOX_STARTED) {
        run->program = message.value;
        return false;
    }
    run->out->value = message.value;
    run->out->cpu_ms = message.cpu_ms;
    run->out->end = CV_CHILD_LOST;
    run->lost = got != (ssize_t)sizeof(message);
    if (!run->lost)
        run->out->end = message.word == CV_SANDBOX_FAILED   ? CV_CHILD_NOT_STARTED
                        : message.word == CV_SANDBOX_EXITED ? CV_CHILD_EXITED
                                                            : CV_CHILD_SIGNALED;
    /* It ended by our doing, unless it was faster. */
    if (run->told && (run->why == CV_CHILD_CANCELLED || run->out->end != CV_CHILD_EXITED))
        run->out->end = run->why;
    return true;
}

/* The supervisor does not answer any more: whatever is left of the program's group, and then itself. */
static void kill_supervisor(child_run *run)
{
    if (run->program > 0)
        kill(-run->program, SIGKILL);
    syscall(SYS_pidfd_send_signal, run->supervisor_fd, SIGKILL, NULL, 0);
}

static void await_end(child_run *run)
{
    uint64_t until = cv_sat_add(now_ms(), run->options->deadline_ms);
    struct pollfd on[2] = { { .fd = run->channel, .events = POLLIN }, { .fd = run->log, .events = POLLIN } };
    bool done = false;

    while (!done) {
        uint64_t now = now_ms();
        bool cancel = __atomic_load_n(run->options->cancel, __ATOMIC_RELAXED) != 0;

        if (!run->told && (cancel || now >= until)) {
            run->why = cancel ? CV_CHILD_CANCELLED : CV_CHILD_DEADLINE;
            run->told = true;
            (void)tell_supervisor(run,
                                  CV_SANDBOX_KILL); /* a supervisor that is gone shows in the next turn */
            until = now + GRACE_MS;
        } else if (run->told && now >= until) {
            run->out->end = run->why;
            break;
        } else if (run->told) {
            syscall(SYS_pidfd_send_signal, run->supervisor_fd, SIGCONT, NULL,
                    0); /* somebody may have stopped it */
        }
        if (poll(on, 2, (int)cv_min(PULSE_MS, until - now)) <= 0)
            continue;
        if (on[1].revents & POLLIN)
            drain_log(run, 16);
        else if (on[1].revents)
            on[1].fd = -1; /* all its writers are gone */
        if (on[0].revents)
            done = receive_message(run);
    }
    if (!done || run->lost)
        kill_supervisor(run);
    drain_log(run, (unsigned)(UINT64_C(4) * CV_MIB / SCRATCH)); /* a pipe holds no more, and nobody writes */
    put_log_in_order(run);
}

/* The output file, open; -1: nothing that counts as one. */
static int open_output(const child_run *run, uint64_t *size)
{
    int fd = openat(run->sandbox.tmpdir.dir, run->options->out_name,
                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    /* A second name would be that of somebody's file elsewhere. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid() &&
        st.st_size > 0) {
        *size = (uint64_t)st.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

static bool read_whole(int fd, uint8_t *to, uint64_t size)
{
    uint64_t done = 0;

    while (done < size) {
        ssize_t got = read(fd, to + done, (size_t)(size - done));

        if (got > 0)
            done += (uint64_t)got;
        else if (got == 0 || errno != EINTR)
            return false;
    }
    return true;
}

/* What it left, from the private directory. Everything that could change it is dead. */
static cuvet_status collect_output(cv_mem *mem, const child_run *run)
{
    cv_child_result *out = run->out;
    cuvet_status status = CUVET_OK;
    uint64_t size = 0;
    int fd = open_output(run, &size);

    if (fd < 0)
        return CUVET_OK;
    out->output = size > run->options->output ? CV_CHILD_OVERSIZED : CV_CHILD_OUTPUT;
    if (out->value == 0 && out->output == CV_CHILD_OUTPUT) {
        out->bytes = cv_mem_get_raw(mem, size);
        out->n_bytes = size;
        if (!out->bytes) {
            out->n_bytes = 0;
            status = cv_mem_status(mem);
        } else if (!read_whole(fd, out->bytes, size)) {
            cv_mem_put(mem, out->bytes, size);
            out->bytes = NULL;
            out->n_bytes = 0;
            out->output = CV_CHILD_NO_OUTPUT; /* a disk that gives no answer */
        }
    }
    close(fd);
    return status;
}

/* Everything up to a supervisor that waits; 0 or errno. */
static int prepare_child(child_run *run)
{
    const cv_child_options *options = run->options;
    int error;

    run->sandbox = (cv_sandbox){ .path = options->path,
                                 .argv = options->argv,
                                 .null = -1,
                                 .log = -1,
                                 .channel = -1,
                                 .cpu_seconds = options->cpu_seconds,
                                 .memory = options->memory,
                                 .file = cv_sat_add(options->output, 1), /* one more, so that it shows */
                                 .files = options->files,
                                 .processes = cv_sat_add(tasks_of_user(), options->processes) };
    error = cv_tmpdir_create(&run->sandbox.tmpdir, options->directory);
    if (error == 0)
        error = cv_tmpdir_write(&run->sandbox.tmpdir, options->in_name, options->in, options->n_in);
    if (error == 0)
        error = open_descriptors(run);
    return error ? error : fork_supervisor(run);
}

/* Files that stay behind are no reason to lose a good result, but nothing to be silent about. */
static void note_left(cv_child_result *out)
{
    cv_text text = { out->log + out->n_log, (size_t)NOTE, 0 };

    cv_text_str(&text, "\ncuvet: the private directory could not be removed: errno ");
    cv_text_dec(&text, (uint64_t)out->left);
    cv_text_char(&text, '\n');
    out->n_log += cv_min(text.len, NOTE);
}

/* Nothing of it stays but what it said. */
static void clean_up(child_run *run)
{
    if (run->sandbox.tmpdir.dir >= 0)
        run->out->left = cv_tmpdir_remove(&run->sandbox.tmpdir);
    if (run->out->left)
        note_left(run->out);
    if (run->supervisor > 0)
        (void)tell_supervisor(run, CV_SANDBOX_LEAVE);
    close_fd(&run->channel);
    reap_supervisor(run);
    close_fd(&run->log);
    close_fd(&run->sandbox.channel);
    close_fd(&run->sandbox.log);
    close_fd(&run->sandbox.null);
    cv_tmpdir_close(&run->sandbox.tmpdir);
}

/* The log in a block of its size. */
static void fit_log(cv_mem *mem, uint64_t cap, cv_child_result *out)
{
    char *log = out->n_log ? cv_mem_resize(mem, out->log, cap, out->n_log) : NULL;

    if (!log) {
        cv_mem_put(mem, out->log, cap);
        out->n_log = 0;
    }
    out->log = log;
}

void cv_child_free(cv_mem *mem, cv_child_result *result)
{
    cv_mem_put(mem, result->bytes, result->n_bytes);
    cv_mem_put(mem, result->log, result->n_log);
    result->bytes = NULL;
    result->log = NULL;
    result->n_bytes = result->n_log = 0;
}

cuvet_status cv_child_run(cv_mem *mem, const cv_child_options *options, cv_child_result *out)
{
    child_run run = { .options = options, .out = out, .channel = -1, .log = -1, .supervisor_fd = -1 };
    cuvet_status status = CUVET_OK;
    int error;

    *out = (cv_child_result){ .end = CV_CHILD_CANCELLED };
    if (__atomic_load_n(options->cancel, __ATOMIC_RELAXED))
        return CUVET_OK;
    run.scratch = cv_mem_get_raw(mem, SCRATCH);
    out->log = run.scratch ? cv_mem_get_raw(mem, options->log + NOTE) : NULL;
    if (!out->log) {
        status = cv_mem_status(mem);
        cv_mem_put(mem, run.scratch, SCRATCH);
        return status;
    }
    error = prepare_child(&run);
    if (error == 0 && tell_supervisor(&run, CV_SANDBOX_GO)) {
        await_end(&run);
    } else {
        out->end = CV_CHILD_NOT_STARTED;
        out->value = error ? error : ECHILD; /* the supervisor was killed by somebody */
    }
    if (out->end == CV_CHILD_EXITED)
        status = collect_output(mem, &run);
    clean_up(&run);
    cv_mem_put(mem, run.scratch, SCRATCH);
    fit_log(mem, options->log + NOTE, out);
    if (status != CUVET_OK)
        cv_child_free(mem, out);
    return status;
}

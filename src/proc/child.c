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
#include "proc/cage.h"

#define PULSE_MS 50   /* how often the caller's wish to stop is asked for */
#define GRACE_MS 2000 /* for the keeper to kill and to answer */
#define SCRATCH  (UINT64_C(32) * CV_KIB)
#define NOTE     UINT64_C(80) /* room in the log for a word of our own */

/* One call. */
typedef struct run {
    const cv_child_options *o;
    cv_child_result *out;
    cv_cage cage;
    int channel, log; /* our ends */
    pid_t keeper;
    int keeper_fd;
    pid_t program; /* 0: not started */
    char *scratch;
    cv_child_end why; /* it was told to stop: DEADLINE, CANCELLED */
    bool told, lost;
} run;

static uint64_t now_ms(void)
{
    struct timespec t = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail for this clock */
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void shut(int *fd)
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
    const char *p;
    uint64_t n = 0;
    cv_listing l;

    if (proc < 0)
        return 0;
    cv_listing_begin(&l, proc);
    while ((p = cv_listing_next(&l)) != NULL) {
        char name[32];
        cv_text t = { name, sizeof(name), 0 };
        struct stat st;

        if (*p < '0' || *p > '9')
            continue;
        cv_text_str(&t, p);
        cv_text_str(&t, "/task");
        cv_text_end(&t);
        /* Its links are "." and ".." and one for each thread. */
        if (fstatat(proc, name, &st, 0) == 0 && st.st_uid == geteuid() && st.st_nlink > 2)
            n += st.st_nlink - 2;
    }
    close(proc);
    return n;
}

/* Descriptors of both sides; 0 or errno. */
static int open_all(run *r)
{
    int pair[2] = { -1, -1 }, pipe_[2] = { -1, -1 }, e = 0;

    r->cage.null = cv_fd_lift(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (r->cage.null < 0)
        return errno;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return errno;
    r->channel = cv_fd_lift(pair[0]);
    e = r->channel < 0 ? errno : 0;
    r->cage.channel = cv_fd_lift(pair[1]);
    if (e != 0 || r->cage.channel < 0)
        return e ? e : errno;
    if (pipe2(pipe_, O_CLOEXEC) != 0)
        return errno;
    r->log = cv_fd_lift(pipe_[0]);
    e = r->log < 0 ? errno : 0;
    r->cage.log = cv_fd_lift(pipe_[1]);
    if (e != 0 || r->cage.log < 0)
        return e ? e : errno;
    return fcntl(r->log, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

/* The keeper runs and waits for its first word; 0 or errno. */
static int fork_keeper(run *r)
{
    sigset_t all, old;
    int e = 0;

    /* No handler of the caller's may run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r->keeper = fork();
    if (r->keeper == 0)
        cv_cage_keep(&r->cage);
    if (r->keeper < 0)
        e = errno;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    shut(&r->cage.channel); /* its end is the keeper's alone: when that is gone, we hear it */
    shut(&r->cage.log);
    shut(&r->cage.null);
    if (e != 0)
        return e;
    /* Before its first word it cannot end, so the number is its own. */
    r->keeper_fd = (int)syscall(SYS_pidfd_open, r->keeper, 0);
    return r->keeper_fd >= 0 ? 0 : errno;
}

static bool tell(const run *r, char word)
{
    return send(r->channel, &word, 1, MSG_NOSIGNAL) == 1;
}

/* Nobody else's child may be reaped by its number: it goes by the descriptor. That the caller ignores SIGCHLD
 * or waits for any child elsewhere leaves nothing to reap, and nothing to know: the keeper has told it all.
 */
static void reap_keeper(run *r)
{
    struct pollfd on = { .fd = r->keeper_fd, .events = POLLIN };
    siginfo_t info;

    if (r->keeper <= 0)
        return;
    if (r->keeper_fd < 0) {
        while (waitpid(r->keeper, NULL, 0) < 0 && errno == EINTR)
            ;
        return;
    }
    if (poll(&on, 1, GRACE_MS) != 1)
        syscall(SYS_pidfd_send_signal, r->keeper_fd, SIGKILL, NULL, 0);
    while (waitid(P_PIDFD, (id_t)r->keeper_fd, &info, WEXITED) != 0 && errno == EINTR)
        ;
    shut(&r->keeper_fd);
}

/* Take what is in the pipe, keep what the limit lets us; at most 'turns' times. */
static void drain(run *r, unsigned turns)
{
    cv_child_result *out = r->out;

    for (unsigned i = 0; i < turns; i++) {
        uint64_t room = r->o->log - out->n_log;
        ssize_t n =
            room > 0 ? read(r->log, out->log + out->n_log, (size_t)room) : read(r->log, r->scratch, SCRATCH);

        if (n <= 0)
            return;
        if (room > 0)
            out->n_log += (uint64_t)n;
    }
}

/* One message of the keeper. True: the end of it. */
static bool listen_once(run *r)
{
    cv_cage_message m = { 0 };
    ssize_t n = recv(r->channel, &m, sizeof(m), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n == (ssize_t)sizeof(m) && m.word == CV_CAGE_STARTED) {
        r->program = m.value;
        return false;
    }
    r->out->value = m.value;
    r->out->cpu_ms = m.cpu_ms;
    r->out->end = CV_CHILD_LOST;
    r->lost = n != (ssize_t)sizeof(m);
    if (!r->lost)
        r->out->end = m.word == CV_CAGE_FAILED   ? CV_CHILD_NOT_STARTED
                      : m.word == CV_CAGE_EXITED ? CV_CHILD_EXITED
                                                 : CV_CHILD_SIGNALED;
    /* It ended by our doing, unless it was faster. */
    if (r->told && (r->why == CV_CHILD_CANCELLED || r->out->end != CV_CHILD_EXITED))
        r->out->end = r->why;
    return true;
}

/* The keeper does not answer any more: whatever is left of the program's group, and then itself. */
static void give_up(run *r)
{
    if (r->program > 0)
        kill(-r->program, SIGKILL);
    syscall(SYS_pidfd_send_signal, r->keeper_fd, SIGKILL, NULL, 0);
}

static void attend(run *r)
{
    uint64_t until = cv_sat_add(now_ms(), r->o->deadline_ms);
    struct pollfd on[2] = { { .fd = r->channel, .events = POLLIN }, { .fd = r->log, .events = POLLIN } };
    bool done = false;

    while (!done) {
        uint64_t now = now_ms();
        bool cancel = __atomic_load_n(r->o->cancel, __ATOMIC_RELAXED);

        if (!r->told && (cancel || now >= until)) {
            r->why = cancel ? CV_CHILD_CANCELLED : CV_CHILD_DEADLINE;
            r->told = true;
            (void)tell(r, CV_CAGE_KILL); /* a keeper that is gone shows in the next turn */
            until = now + GRACE_MS;
        } else if (r->told && now >= until) {
            r->out->end = r->why;
            break;
        } else if (r->told) {
            syscall(SYS_pidfd_send_signal, r->keeper_fd, SIGCONT, NULL, 0); /* somebody may have stopped it */
        }
        if (poll(on, 2, (int)cv_min(PULSE_MS, until - now)) <= 0)
            continue;
        if (on[1].revents & POLLIN)
            drain(r, 16);
        else if (on[1].revents)
            on[1].fd = -1; /* all its writers are gone */
        if (on[0].revents)
            done = listen_once(r);
    }
    if (!done || r->lost)
        give_up(r);
    drain(r, (unsigned)(UINT64_C(4) * CV_MIB / SCRATCH)); /* a pipe holds no more, and nobody writes */
}

/* The output file, open; -1: nothing that counts as one. */
static int open_output(const run *r, uint64_t *size)
{
    int fd =
        openat(r->cage.nest.dir, r->o->out_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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
        ssize_t n = read(fd, to + done, (size_t)(size - done));

        if (n > 0)
            done += (uint64_t)n;
        else if (n == 0 || errno != EINTR)
            return false;
    }
    return true;
}

/* What it left, from the private directory. Everything that could change it is dead. */
static cuvet_status collect(cv_mem *mem, const run *r)
{
    cv_child_result *out = r->out;
    cuvet_status s = CUVET_OK;
    uint64_t size = 0;
    int fd = open_output(r, &size);

    if (fd < 0)
        return CUVET_OK;
    out->output = size > r->o->output ? CV_CHILD_OVERSIZED : CV_CHILD_OUTPUT;
    if (out->value == 0 && out->output == CV_CHILD_OUTPUT) {
        out->bytes = cv_mem_get_raw(mem, size);
        out->n = size;
        if (!out->bytes) {
            out->n = 0;
            s = cv_mem_status(mem);
        } else if (!read_whole(fd, out->bytes, size)) {
            cv_mem_put(mem, out->bytes, size);
            out->bytes = NULL;
            out->n = 0;
            out->output = CV_CHILD_NO_OUTPUT; /* a disk that gives no answer */
        }
    }
    close(fd);
    return s;
}

/* Everything up to a keeper that waits; 0 or errno. */
static int prepare(run *r)
{
    const cv_child_options *o = r->o;
    int e;

    r->cage = (cv_cage){ .path = o->path,
                         .argv = o->argv,
                         .null = -1,
                         .log = -1,
                         .channel = -1,
                         .cpu_seconds = o->cpu_seconds,
                         .memory = o->memory,
                         .file = cv_sat_add(o->output, 1), /* one more, so that it shows */
                         .files = o->files,
                         .processes = cv_sat_add(tasks_of_user(), o->processes) };
    e = cv_nest_open(&r->cage.nest, o->directory);
    if (e == 0)
        e = cv_nest_write(&r->cage.nest, o->in_name, o->in, o->n_in);
    if (e == 0)
        e = open_all(r);
    return e ? e : fork_keeper(r);
}

/* Files that stay behind are no reason to lose a good result, but nothing to be silent about. */
static void note_left(cv_child_result *out)
{
    cv_text t = { out->log + out->n_log, (size_t)NOTE, 0 };

    cv_text_str(&t, "\ncuvet: the private directory could not be removed: errno ");
    cv_text_dec(&t, (uint64_t)out->left);
    cv_text_char(&t, '\n');
    out->n_log += cv_min(t.len, NOTE);
}

/* Nothing of it stays but what it said. */
static void finish(run *r)
{
    if (r->cage.nest.dir >= 0)
        r->out->left = cv_nest_remove(&r->cage.nest);
    if (r->out->left)
        note_left(r->out);
    if (r->keeper > 0)
        (void)tell(r, CV_CAGE_LEAVE);
    shut(&r->channel);
    reap_keeper(r);
    shut(&r->log);
    shut(&r->cage.channel);
    shut(&r->cage.log);
    shut(&r->cage.null);
    cv_nest_close(&r->cage.nest);
}

/* The log in a block of its size. */
static void fit_log(cv_mem *mem, uint64_t cap, cv_child_result *out)
{
    char *p = out->n_log ? cv_mem_resize(mem, out->log, cap, out->n_log) : NULL;

    if (!p) {
        cv_mem_put(mem, out->log, cap);
        out->n_log = 0;
    }
    out->log = p;
}

void cv_child_free(cv_mem *mem, cv_child_result *r)
{
    cv_mem_put(mem, r->bytes, r->n);
    cv_mem_put(mem, r->log, r->n_log);
    r->bytes = NULL;
    r->log = NULL;
    r->n = r->n_log = 0;
}

cuvet_status cv_child_run(cv_mem *mem, const cv_child_options *o, cv_child_result *out)
{
    run r = { .o = o, .out = out, .channel = -1, .log = -1, .keeper_fd = -1 };
    cuvet_status s = CUVET_OK;
    int e;

    *out = (cv_child_result){ .end = CV_CHILD_CANCELLED };
    if (__atomic_load_n(o->cancel, __ATOMIC_RELAXED))
        return CUVET_OK;
    r.scratch = cv_mem_get_raw(mem, SCRATCH);
    out->log = r.scratch ? cv_mem_get_raw(mem, o->log + NOTE) : NULL;
    if (!out->log) {
        s = cv_mem_status(mem);
        cv_mem_put(mem, r.scratch, SCRATCH);
        return s;
    }
    e = prepare(&r);
    if (e == 0 && tell(&r, CV_CAGE_GO)) {
        attend(&r);
    } else {
        out->end = CV_CHILD_NOT_STARTED;
        out->value = e ? e : ECHILD; /* the keeper was killed by somebody */
    }
    if (out->end == CV_CHILD_EXITED)
        s = collect(mem, &r);
    finish(&r);
    cv_mem_put(mem, r.scratch, SCRATCH);
    fit_log(mem, o->log + NOTE, out);
    if (s != CUVET_OK)
        cv_child_free(mem, out);
    return s;
}

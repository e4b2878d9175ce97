/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "process.h"

#include "../input_int.h"
#include "../sandbox.h"
#include "../whole.h"
#include "engine.h"
#include "library.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Besides the bytes of a piece: rules, which take a hundred times their text, and what they find. */
#define MEMORY (UINT64_C(4) << 30)
/* Milliseconds beyond the limit after which nobody waits any more: libyara looks at the clock at times. */
#define GRACE 10000
#define TICK  1000 /* milliseconds: whole seconds */

/* The rules as they came, with a NUL behind them: for the process that takes them, and to see what of a piece
 * they ask for. */
static struct {
    uint8_t *bytes;
    size_t size;
} rules;

/* ---- the process ---- */

typedef struct question_memory {
    void *bytes;
    size_t cap;
} question_memory;

static void *room_for(question_memory *memory, uint64_t size)
{
    void *more;

    if (size <= memory->cap && memory->bytes)
        return memory->bytes;
    free(memory->bytes);
    memory->cap = 0;
    memory->bytes = more = malloc(size > 0 ? (size_t)size : 1);
    if (more)
        memory->cap = (size_t)size;
    return more;
}

static bool read_question(int fd, yara_question *question, question_memory *memory)
{
    uint64_t size;
    void *block;

    if (!cli_read_all(fd, &question->ask, sizeof(question->ask)) || !yara_ask_size(&question->ask, &size))
        return false;
    block = room_for(memory, size);
    return block && cli_read_all(fd, block, size) && yara_question_ok(question, block);
}

static bool send_hit(void *user, const yara_hit *hit)
{
    const uint32_t mark = YARA_IS_HIT;
    const int *fd = user;

    return cli_write_all(*fd, &mark, sizeof(mark)) && cli_write_all(*fd, hit, sizeof(*hit));
}

/* ---- its end ---- */

/* From then on nobody waits for it. A command in its cage lets no signal out, that of its own death neither,
 * and rules can be made so that libyara never looks at a clock: so this process does, each second. */
static _Atomic int64_t useless_from = INT64_MAX;

static void on_tick(int number)
{
    (void)number;
    if (cli_now_ms() > useless_from)
        _exit(0);
}

static void allow(int64_t milliseconds)
{
    useless_from = yara_process_until(milliseconds) + TICK;
}

/* Before the cage, which does not know of timers. Whoever started the command may have blocked the signal. */
static bool watch_clock(void)
{
    const struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
    const struct itimerval each = { { TICK / 1000, 0 }, { TICK / 1000, 0 } };
    sigset_t ticks;

    (void)sigemptyset(&ticks);
    (void)sigaddset(&ticks, SIGALRM);
    return sigaction(SIGALRM, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &ticks, NULL) == 0 &&
           setitimer(ITIMER_REAL, &each, NULL) == 0;
}

static void serve(int fd)
{
    const uint32_t mark = YARA_IS_END;
    question_memory memory = { NULL, 0 };
    yara_question question;
    yara_end end;

    while (read_question(fd, &question, &memory)) {
        allow(question.ask.milliseconds);
        yara_scan(&question, send_hit, &fd, &end);
        if (!cli_write_all(fd, &mark, sizeof(mark)) || !cli_write_all(fd, &end, sizeof(end)))
            break;
        useless_from = INT64_MAX;
    }
}

static uint64_t memory_for(const cli_args *args)
{
    return args->limits.member > UINT64_MAX / 2 - MEMORY ? UINT64_MAX : MEMORY + args->limits.member;
}

static bool enter_cage(const cli_args *args, int fd)
{
    const cli_cage cage = { CLI_CAGE_NOTHING, .keep = &fd, .n_keep = 1, .memory = memory_for(args),
                            .file_size = 0 };
    const char *wanted = args->value[CLI_O_SANDBOX];

    if (args->set[CLI_O_NO_SANDBOX])
        return true;
    return cli_cage_enter(&cage) == CLI_CAGE_ALL || !wanted || strcmp(wanted, "required") != 0;
}

static void put_remark(yara_hello *hello, yara_state state, const char *text)
{
    hello->state = state;
    hello->n_remarks = 1;
    snprintf(hello->remark[0].text, sizeof(hello->remark[0].text), "%s", text);
}

static void run_process(const cli_args *args, int fd, uint32_t seconds, pid_t parent)
{
    static yara_hello hello;
    const char *why;

    allow((int64_t)seconds * 1000);
    /* Without a cage it ends with the command, at once. */
    if (!watch_clock() || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        !cli_cage_let_go_of_streams())
        _exit(0);
    /* Nor may it write to a terminal: what libyara asserts has words of the rules in it. */
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(0);
    why = yara_load();
    if (why)
        put_remark(&hello, YARA_NO_LIBRARY, why);
    else if (!enter_cage(args, fd))
        put_remark(&hello, YARA_NO_CAGE, cli_cage_state());
    else
        (void)yara_rules_take(rules.bytes, rules.size, &hello); /* which is in hello */
    if (!cli_write_all(fd, &hello, sizeof(hello)) || hello.state != YARA_READY)
        _exit(0);
    useless_from = INT64_MAX; /* it waits, and sees the end of who asks */
    serve(fd);
    _exit(0);
}

/* ---- the command ---- */

bool yara_rules_have(const char *word)
{
    return memmem(rules.bytes, rules.size, word, strlen(word)) != NULL;
}

void yara_rules_forget(void)
{
    free(rules.bytes);
    rules.bytes = NULL;
    rules.size = 0;
}

static int fail(const char *path, const char *why, int rc)
{
    cli_complain(path, "%s", why);
    yara_rules_forget();
    return rc;
}

static const char *read_whole(int fd)
{
    size_t cap = 0;
    ssize_t got = 1;

    while (got != 0 && rules.size <= YARA_RULES_MOST) {
        if (rules.size + 1 >= cap) {
            void *more = realloc(rules.bytes, cap ? 2 * cap : 1 << 16);

            if (!more)
                return strerror(ENOMEM);
            rules.bytes = more;
            cap = cap ? 2 * cap : 1 << 16;
        }
        got = read(fd, rules.bytes + rules.size, cap - 1 - rules.size);
        if (got < 0 && errno != EINTR)
            return strerror(errno);
        rules.size += got > 0 ? (size_t)got : 0;
    }
    rules.bytes[rules.size] = '\0';
    return NULL;
}

static int read_rules(const char *path)
{
    const char *why = NULL;
    int fd = cli_open_list(path, &why);

    if (fd < 0)
        return fail(path, why, CLI_X_IO);
    why = read_whole(fd);
    (void)close(fd); /* read only: nothing can be lost */
    if (why)
        return fail(path, why, CLI_X_IO);
    return rules.size > YARA_RULES_MOST
               ? fail(path, "larger than 64 MiB, which is the most for rules", CLI_X_USAGE)
               : CLI_X_CLEAN;
}

/* What a compiler says may have bytes of the rules in it. */
static void say_remark(const char *path, const yara_remark *remark)
{
    char text[4 * YARA_TEXT_CAP + 1], line[32] = "";

    cli_escape(remark->text, strlen(remark->text), sizeof(remark->text), text, sizeof(text));
    if (remark->line > 0)
        snprintf(line, sizeof(line), "line %u: ", (unsigned)remark->line);
    cli_complain(path, "%s%s%s", line, remark->warning ? "warning: " : "", text);
}

static int judge_hello(const char *path, yara_hello *hello)
{
    static const int RC[] = { [YARA_READY] = CLI_X_CLEAN,
                              [YARA_REFUSED] = CLI_X_USAGE,
                              [YARA_NO_LIBRARY] = CLI_X_IO,
                              [YARA_NO_CAGE] = CLI_X_SANDBOX };

    if (!yara_hello_ok(hello))
        return fail(path, "the process that reads rules says what makes no sense", CLI_X_USAGE);
    if (hello->state == YARA_NO_LIBRARY)
        path = "--yara needs libyara";
    else if (hello->state == YARA_NO_CAGE)
        path = "the sandbox is required, but this is what can be had";
    for (uint32_t i = 0; i < hello->n_remarks; i++)
        say_remark(path, &hello->remark[i]);
    if (hello->state == YARA_REFUSED)
        cli_complain(path, "no rules that can be used; nothing was scanned");
    return RC[hello->state];
}

int64_t yara_process_until(int64_t milliseconds)
{
    return cli_now_ms() + milliseconds + GRACE;
}

static int await_hello(const char *path, int fd, uint32_t seconds)
{
    static yara_hello hello;

    errno = 0;
    if (cli_read_until(fd, &hello, sizeof(hello), yara_process_until((int64_t)seconds * 1000)))
        return judge_hello(path, &hello);
    return errno == ETIMEDOUT
               ? fail(path, "reading these rules takes too long (--yara-timeout); nothing was scanned",
                      CLI_X_USAGE)
               : fail(path, "libyara died of these rules; nothing was scanned", CLI_X_USAGE);
}

static int start_process(const cli_args *args, uint32_t seconds, int *fd)
{
    pid_t self = getpid(), pid;
    int end[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0)
        return fail("--yara", strerror(errno), CLI_X_IO);
    pid = fork();
    if (pid == 0) {
        (void)close(end[0]);
        run_process(args, end[1], seconds, self);
    }
    (void)close(end[1]);
    if (pid < 0) {
        (void)close(end[0]);
        return fail("--yara", strerror(errno), CLI_X_IO);
    }
    (void)fcntl(end[0], F_SETFL, O_NONBLOCK); /* cannot fail: the other end is open by itself, and waits */
    *fd = end[0];
    return CLI_X_CLEAN;
}

int yara_process_start(const cli_args *args, uint32_t seconds, int *fd)
{
    const char *path = args->value[CLI_O_YARA];
    int rc = read_rules(path);

    *fd = -1;
    if (rc == CLI_X_CLEAN)
        rc = start_process(args, seconds, fd);
    return rc == CLI_X_CLEAN ? await_hello(path, *fd, seconds) : rc;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The file of a policy. JSON is read by jansson; TOML by the module of Python's library, which writes it as
 * JSON, in a process with an empty environment. Debian 12 has no library in C for it. */
#include "../whole.h"
#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLI_PYTHON
#define CLI_PYTHON "/usr/bin/python3"
#endif
#define DEADLINE_MS 10000

static const char SCRIPT[] =
    "import json, sys\n"
    "try:\n"
    "    import resource, tomllib\n"
    "    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
    "    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))\n"
    "    out = json.dumps({'policy': tomllib.load(sys.stdin.buffer)}, default=str, allow_nan=False)\n"
    "except ImportError:\n"
    "    out = json.dumps({'error': 'TOML needs Python 3.11 or later; a policy in JSON needs none'})\n"
    "except Exception as e:\n"
    "    out = json.dumps({'error': str(e) or type(e).__name__})\n"
    "sys.stdout.write(out)\n";

static void *fail(const char *path, const char *why, int code, int *rc)
{
    cli_complain(path, "%s", why);
    *rc = code;
    return NULL;
}

/* What a parser says may have bytes of the file in it. */
static void complain(const char *path, const char *place, const char *why)
{
    char escaped[4 * 256 + 1];

    cli_escape(why, strlen(why), 256, escaped, sizeof(escaped));
    cli_complain(path, "no policy: %s%s", place, escaped);
}

/* From 'from' to its end, at most so many bytes, and none of them later than the deadline; terminated. NULL:
 * errno. */
static char *read_some(int from, uint64_t most, size_t *size)
{
    struct pollfd ready = { .fd = from, .events = POLLIN };
    size_t cap = 4096;
    char *text = malloc(cap);
    ssize_t got = 1;

    *size = 0;
    errno = ENOMEM;
    while (text && got > 0 && *size <= most) {
        int count = poll(&ready, 1, DEADLINE_MS);

        if (*size + 1 == cap) {
            char *more = realloc(text, 2 * cap);

            if (!more)
                break;
            text = more;
            cap *= 2;
        }
        if (count == 0)
            errno = ETIMEDOUT;
        got = count > 0 ? read(from, text + *size, cap - 1 - *size) : -1;
        if (got > 0)
            *size += (size_t)got;
    }
    if (text && got == 0) {
        text[*size] = '\0';
        return text;
    }
    if (text && *size > most)
        errno = EFBIG;
    free(text);
    return NULL;
}

/* The same of a file by its name; *fd is to be closed by the caller. */
static char *read_file(const char *path, uint64_t most, int *fd, size_t *size, int *rc)
{
    struct stat st;
    char *text;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0)
        return fail(path, strerror(errno), CLI_X_IO, rc);
    if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode))
        return fail(path, "no regular file", CLI_X_IO, rc);
    text = read_some(*fd, most, size);
    if (!text)
        return fail(path, strerror(errno), errno == EFBIG ? CLI_X_LIMIT : CLI_X_IO, rc);
    if (!memchr(text, '\0', *size))
        return text;
    free(text);
    return fail(path, "there is a NUL in it", CLI_X_USAGE, rc);
}

char *check_read_file(const char *path, uint64_t most, int *rc)
{
    size_t size;
    int fd;
    char *text = read_file(path, most, &fd, &size, rc);

    if (fd >= 0)
        (void)close(fd); /* read only: nothing can be lost */
    return text;
}

static int spawn_python(int in, int out, pid_t *child)
{
    char script[sizeof(SCRIPT)];
    char *argv[] = {
        (char[]){ "python3" }, (char[]){ "-I" }, (char[]){ "-S" }, (char[]){ "-c" }, script, NULL
    };
    char *envp[] = { NULL };
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);

    memcpy(script, SCRIPT, sizeof(script));
    if (rc)
        return rc;
    rc = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = rc ? rc : posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    rc = rc ? rc : posix_spawn(child, CLI_PYTHON, &actions, NULL, argv, envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static json_t *take_answer(const char *path, const char *text, size_t size, int *rc)
{
    json_t *answer = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *policy = json_object_get(answer, "policy");
    const char *error = json_string_value(json_object_get(answer, "error"));

    if (policy)
        json_incref(policy);
    else
        complain(path, "", error ? error : "what reads TOML wrote something else");
    json_decref(answer);
    *rc = CLI_X_USAGE;
    return policy;
}

static json_t *read_toml(const char *path, int fd, int *rc)
{
    int end[2], status = 0, error = pipe2(end, O_CLOEXEC) == 0 ? 0 : errno;
    json_t *policy = NULL;
    char *text = NULL;
    size_t size = 0;
    pid_t child = 0;

    if (error)
        return fail(path, strerror(error), CLI_X_IO, rc);
    error = spawn_python(fd, end[1], &child);
    (void)close(end[1]); /* the other process has it */
    if (!error) {
        text = read_some(end[0], CHECK_POLICY_MOST, &size);
        error = text ? 0 : errno;
        (void)kill(child, SIGKILL); /* it has said all, or takes too long */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            continue;
        if (error)
            (void)fail(path, strerror(error), CLI_X_IO, rc);
        else
            policy = take_answer(path, text, size, rc);
    } else {
        cli_complain(path, CLI_PYTHON " reads TOML, and cannot be started: %s; a policy in JSON needs none",
                     strerror(error));
        *rc = CLI_X_IO;
    }
    (void)close(end[0]); /* read only: nothing can be lost */
    free(text);
    return policy;
}

/* TOML does not begin with a brace. */
static bool is_json(const char *text, size_t size)
{
    size_t at = 0;

    while (at < size && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at < size && text[at] == '{';
}

static json_t *read_json(const char *path, const char *text, size_t size, int *rc)
{
    json_error_t error;
    json_t *policy = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

    if (!policy) {
        char place[64];

        snprintf(place, sizeof(place), "line %d, column %d: ", error.line, error.column);
        complain(path, place, error.text);
        *rc = CLI_X_USAGE;
    }
    return policy;
}

json_t *check_policy_read(const char *path, int *rc)
{
    json_t *policy = NULL;
    size_t size;
    int fd;
    char *text = read_file(path, CHECK_POLICY_MOST, &fd, &size, rc);

    if (text && is_json(text, size))
        policy = read_json(path, text, size, rc);
    else if (text && lseek(fd, 0, SEEK_SET) != 0)
        (void)fail(path, strerror(errno), CLI_X_IO, rc);
    else if (text)
        policy = read_toml(path, fd, rc);
    free(text);
    if (fd >= 0)
        (void)close(fd); /* read only: nothing can be lost */
    return policy;
}

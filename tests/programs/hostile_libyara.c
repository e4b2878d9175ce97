/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What somebody can say whose rules have taken the process with libyara over: in its place. It is in the
 * cage, and has one socket; EVIL says what it does (tests/cli/test_yara_hostile.py). */
#include "yara/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd;
static yara_hello hello;
static yara_end end;
static yara_hit hit = { .severity = 1, .rule = "evil", .space = "default" };
static const char *evil;

static bool is(const char *name)
{
    return strcmp(evil, name) == 0;
}

/* With pauses that are shorter than anybody waits for a byte. */
static void put(const void *bytes, size_t size, bool slow)
{
    for (size_t i = 0; i < size; i += slow ? 1 : size) {
        if (write(fd, (const char *)bytes + i, slow ? 1 : size) <= 0)
            _exit(0);
        if (slow)
            (void)usleep(300000);
    }
}

static void put_hit(bool slow)
{
    static const uint32_t MARK = YARA_IS_HIT;

    put(&MARK, sizeof(MARK), slow);
    put(&hit, sizeof(hit), slow);
}

static void put_end(void)
{
    static const uint32_t MARK = YARA_IS_END;

    put(&MARK, sizeof(MARK), false);
    put(&end, sizeof(end), false);
}

static void take(void *to, size_t size)
{
    for (ssize_t got; size > 0; size -= (size_t)got) {
        got = read(fd, to, size);
        if (got <= 0)
            _exit(0);
        to = (char *)to + got;
    }
}

static void say_hello(void)
{
    hello.rules = 1;
    if (is("no end")) { /* of a text that is not counted, and of all behind it */
        memset(&hello, 'a', sizeof(hello));
        hello.state = YARA_NO_LIBRARY;
        hello.n_remarks = 0;
    }
    if (is("escapes") || is("escapes of a cage")) {
        hello.state = is("escapes") ? YARA_NO_LIBRARY : YARA_NO_CAGE;
        hello.n_remarks = 1;
        strcpy(hello.remark[0].text, "\x1b]0;title\a\xe2\x80\xae\xff");
    }
    if (is("state"))
        hello.state = YARA_STATES;
    put(&hello, sizeof(hello), is("slow hello"));
}

static void answer(const yara_ask *ask)
{
    static unsigned piece;

    piece++;
    hit.n_places = hit.places = 1;
    hit.place[0] = (yara_place){ .off = ask->size, .string = "$a" };
    if (is("behind"))
        hit.place[0].length = 1;
    if (is("section"))
        hit.section = ask->n_sections + 1;
    if (is("places"))
        hit.n_places = YARA_PLACES + 1;
    if (is("control"))
        strcpy(hit.description, "\x1b[31m\xe2\x80\xae\xff</script>");
    for (unsigned i = 0; is("names") && i < YARA_HITS_PIECE; i++) {
        static const char DIGIT[] = "0123456789";

        hit.rule[4] = '_';
        hit.rule[5] = DIGIT[piece / 10 % 10];
        hit.rule[6] = DIGIT[piece % 10];
        hit.rule[7] = DIGIT[i / 10];
        hit.rule[8] = DIGIT[i % 10];
        memset(hit.rule + 9, 'x', YARA_NAME_CAP - 10);
        put_hit(false);
    }
    if (is("counts"))
        end.hits[0] = end.hits[1] = end.hits[2] = UINT64_C(1) << 40;
    else
        end.hits[1] = is("none") ? 0 : is("names") ? YARA_HITS_PIECE : 1;
    if (is("outcome"))
        end.outcome = YARA_OUTCOMES;
    if (!is("names"))
        put_hit(is("slow hit"));
    while (is("without end"))
        put_hit(false);
    put_end();
}

static void take_question(void)
{
    yara_ask ask;
    uint64_t size;
    void *block;

    while (is("deaf"))
        (void)usleep(100000);
    while (is("endless"))
        continue;
    take(&ask, sizeof(ask));
    size = ask.n_sections * sizeof(yara_section) + ask.texts + ask.names + ask.size;
    block = malloc(size + 1);
    if (!block)
        _exit(0);
    take(block, size);
    free(block);
    answer(&ask);
}

/* What it must not get, in its cage: the first of these that works is said as a hit. */
static void break_out(void)
{
    int to = -1;

    if (is("open"))
        to = open("/etc/passwd", O_RDONLY);
    if (is("write"))
        to = open("/tmp/hostile_libyara", O_WRONLY | O_CREAT, 0600);
    if (is("socket"))
        to = socket(AF_UNIX, SOCK_STREAM, 0);
    if (is("kill"))
        to = kill(getppid(), SIGKILL);
    if (is("fork"))
        to = fork();
    if (to >= 0)
        strcpy(hit.rule, "broke_out");
}

int yr_initialize(void);
int yr_initialize(void)
{
    for (fd = 3; fd < 64 && write(fd, "", 0) != 0; fd++)
        continue;
    evil = getenv("EVIL");
    say_hello();
    break_out();
    for (;;)
        take_question();
}

/* Nobody gets to these. */
#define ALSO(name)                                                                                           \
    void name(void);                                                                                         \
    void name(void)                                                                                          \
    {                                                                                                        \
    }
ALSO(yr_set_configuration)
ALSO(yr_compiler_create)
ALSO(yr_compiler_set_callback)
ALSO(yr_compiler_set_include_callback)
ALSO(yr_compiler_define_string_variable)
ALSO(yr_compiler_add_string)
ALSO(yr_compiler_get_rules)
ALSO(yr_rules_load_stream)
ALSO(yr_scanner_create)
ALSO(yr_scanner_set_callback)
ALSO(yr_scanner_set_flags)
ALSO(yr_scanner_set_timeout)
ALSO(yr_scanner_define_string_variable)
ALSO(yr_scanner_scan_mem)

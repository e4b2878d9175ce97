/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the command share. The command is a stranger to the library: it includes cuvet/cuvet.h
 * and no more. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "what.h"

#include <cuvet/cuvet.h>

#include <stdio.h>
#include <string.h>

typedef enum cli_exit {
#define EXIT(code, name, meaning) CLI_X_##name = (code),
#include "options.def"
} cli_exit;

typedef enum cli_command {
#define COMMAND(id, name, operands, brief, text) CLI_C_##id,
#include "options.def"
    CLI_C_COUNT
} cli_command;

typedef enum cli_option {
#define OPTION(commands, id, letter, name, arg, help) CLI_O_##id,
#include "options.def"
    CLI_O_COUNT
} cli_option;

/* A parsed command line. */
typedef struct cli_args {
    cli_command command;
    bool set[CLI_O_COUNT];
    const char *value[CLI_O_COUNT]; /* last one given, NULL without */
    cuvet_limits limits;
    uint32_t jobs;
    char **operands;
    int n_operands;
} cli_args;

/* options.c: what is known about commands and options. */
typedef struct cli_command_info {
    const char *name, *operands, *brief, *text;
} cli_command_info;

typedef struct cli_option_info {
    uint32_t commands; /* bit per cli_command */
    cli_option id;
    char letter;
    const char *name, *arg, *help;
} cli_option_info;

const cli_command_info *cli_command_get(size_t index);
const cli_option_info *cli_option_get(size_t index);
bool cli_takes(cli_command command, cli_option option);
/** Parse the options of a command; argv[0] is its name. What is asked for by --help, --version and
 *  --list-limits is printed here. @return false: done, leave with *rc. */
bool cli_parse(cli_command command, int argc, char **argv, cli_args *out, int *rc);
/** Are there inputs? Complains if not. */
bool cli_has_inputs(const cli_args *args);
/** A word of a list; it is gone afterwards. @return false: it is none, which was said */
typedef bool cli_word_fn(void *user, const char *word);
/** Each of the words between commas, cut to 63 bytes, until one is none. @return false then */
bool cli_each_word(const char *list, cli_word_fn *each, void *user);
/* number.c */
/** Number with an optional suffix K, M, G (powers of 1024). false: not a number, or above 2^64-1. */
bool cli_number(const char *text, uint64_t *out);

/* jobs.c */
#define CLI_JOBS_MAX 256u
/** Threads for a scan when the command line says nothing. */
uint32_t cli_default_jobs(const cuvet_limits *limits);

/* loaded.c */
/** Load what a report in this format needs, while files can still be opened. @return false: said why. */
bool cli_load_for(const char *format);
/** The same for hashes. */
bool cli_load_hash(void);

/* help.c */
void cli_help(FILE *to);
void cli_help_command(FILE *to, cli_command command);
void cli_print_version(void);
void cli_print_limits(const cuvet_limits *limits);

/* escape.c: the one way from bytes nobody vouches for to a terminal, a log or a JSON string. */
#define CLI_MEMBER_CAP 255u  /* of a name that is said again for each piece */
#define CLI_TEXT_CAP   1024u /* longest text that is printed for people, before escapes */

/** Escape n bytes, at most max of them, into out (always terminated; cut between two escapes if cap is too
 *  small). Printable UTF-8 passes; backslash, controls, invisible and bidirectional marks, and bytes that
 *  are not UTF-8 become escapes, so that the result can be turned back into the bytes. @return bytes
 *  written without the NUL. */
size_t cli_escape(const void *bytes, size_t size, size_t max, char *out, size_t cap);
/** The same to a stream. */
void cli_put(FILE *to, const void *bytes, size_t size);
void cli_put_cut(FILE *to, const void *bytes, size_t size, size_t most); /* at most so many of them */
void cli_put_str(FILE *to, const char *text);
/** Percent-encode for a URI reference; 'size' may be as long as a path. Same contract as cli_escape. */
size_t cli_uri(const void *bytes, size_t size, char *out, size_t cap);

/* suggest.c: the known word nearest to one that is not known. Show it all that could have been meant, then
 * end it: one line on standard error if anything is near enough. */
typedef struct cli_suggestion {
    const char *given;
    unsigned distance;
    char best[64];
} cli_suggestion;

void cli_suggest_word(cli_suggestion *suggestion, const char *word, size_t len);
/** "a|b|c" */
void cli_suggest_choices(cli_suggestion *suggestion, const char *choices);
/** All architectures that code is linked for. */
void cli_suggest_target(cli_suggestion *suggestion);
/** @param before of the word, such as "--". */
void cli_suggest_end(const cli_suggestion *suggestion, const char *before);
/** An architecture that is none: complain. @return the exit code. */
int cli_no_target(const char *given);

/** Does it begin with this text? */
static inline bool cli_begins_with(cuvet_bytes name, const char *text)
{
    size_t len = strlen(text);

    return name.n >= len && memcmp(name.p, text, len) == 0;
}

/* Complaints: "cuvet: <what>: <message>" on standard error; `what` is escaped, NULL leaves it out. */
/** What complaints begin with from now on, instead of "cuvet: "; not copied. */
void cli_speak_as(const char *prefix);
void cli_complain(const char *what, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Exit code that a failed library call stands for, and its text. */
int cli_exit_of(cuvet_status status);
const char *cli_status_text(cuvet_status status);
/* What a shell says of a program that was ended by SIGPIPE. */
#define CLI_X_PIPE 141
/** Flush standard output. @return rc, or CLI_X_IO when any write failed (full disk), or CLI_X_PIPE, without a
 *  word, when its reader has enough. */
int cli_finish_stdout(int rc);
/** Has standard output failed because nobody reads it any more? */
bool cli_reader_gone(void);
static inline int cli_worse(int left, int right)
{
    return left > right ? left : right;
}

int cmd_scan(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_unpack(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_map(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_inventory(int argc, char **argv);
int cmd_known(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_select(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_link(int argc, char **argv);
int cmd_finalize(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_toolkit(int argc, char **argv);
/** The command in the place of nvlink (nvlink/). */
int cmd_nvlink(int argc, char **argv);
void cmd_link_help(FILE *to);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the files of the inputs share: the walk over the command line, and the process that opens what is too
 * many to be opened first. */
#ifndef CLI_INPUT_INT_H
#define CLI_INPUT_INT_H

#include "cli.h"
#include "package/frame.h"

/* Something that the walk met. Its texts belong to the walk. */
typedef struct cli_found {
    const char *name; /* as given, or as found below a directory; "-" is standard input */
    const char *why;  /* not opened, for this reason */
    int rc;           /* exit code that goes with why */
    bool remark;      /* no input at all: only `why` is to be said */
    int fd;           /* opened: a file that can be read by position … */
    uint64_t size;    /* … of this many bytes, as far as the walk knows */
    bool owned;       /* fd is to be closed; standard input is not */
    /* CLI_PACKAGE: nothing is opened, size is the number of its entries, rc that of packages around it */
    cli_what what;
    package_form form; /* of a package … */
    bool asked;        /* … if it was asked whether it is one: its end is read for that, once */
    uint32_t number;   /* under which the keeper of verdicts knows it; 0: it does not */
    cli_fate fate;
    uint32_t layer;
    cli_package_hash hash;
} cli_found;

/** Takes the descriptor if it is owned. @return false: stop here. */
typedef bool cli_found_fn(void *user, const cli_found *found);

/* input_list.c: names out of a file. */
typedef struct cli_name_list {
    char *bytes;
    size_t len, at;
    char end; /* behind each name */
} cli_name_list;

/** @param path "-" is standard input. @return NULL, or why it cannot be had. */
const char *cli_name_list_read(cli_name_list *list, const char *path);
/** The next name that is not empty, NULL after the last one. */
char *cli_name_list_next(cli_name_list *list);
void cli_name_list_free(cli_name_list *list);

/* input_walk.c */
/** Open a file of names or options, to be read to its end. @return -1, and *why it cannot be had */
int cli_open_list(const char *path, const char **why);
/** Open what the command line names, in its order. @return false when the callback stopped it. */
bool cli_walk_inputs(const cli_args *args, cli_found_fn *fn, void *user);

/* package.c: packages, in the process that opens inputs */
/** What form of a package begins like this file? */
package_form cli_package_form(int fd, uint64_t size);
/** Unpack one whose form was asked for, which is taken, and hand on each of its entries, packages in it
 *  opened in the same way, then the package. Without cuvet-package it is handed on as it is. @return false:
 *  the callback stopped it. */
bool cli_package_walk(const cli_args *args, cli_found_fn *fn, void *user, const cli_found *found);

/* input_opener.c: a process outside of the cage that goes on with the walk, and hands over one descriptor at
 * a time. Nothing that it is told by the caged side has a content. */
typedef enum cli_opened { CLI_OPENED_ONE, CLI_OPENED_ALL, CLI_OPENED_LATER, CLI_OPENED_LOST } cli_opened;

/** Split off the opener. @return its pid here, 0 in the opener, -1 with errno. *channel is the end of the
 * side that returned; both close it by ending. */
int cli_opener_start(int *channel);
/** In the opener: wait until the other side asks, then hand this over; NULL: there is nothing more. */
bool cli_opener_serve(int channel, const cli_found *found);
/** In the cage: ask for the next one. */
void cli_opener_ask(int channel);
/** Take one that was asked for. The texts of *out lie in `text`, of OPENER_TEXT bytes. @param wait else
 * CLI_OPENED_LATER, if it is not there yet */
cli_opened cli_opener_take(int channel, bool wait, cli_found *out, char *text);

#endif

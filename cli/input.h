/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of a command: files, directories with -r, standard input. All are opened before the cage is entered,
 * and handed out inside of it. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "cli.h"

#include <sys/stat.h>

typedef struct cli_input {
    const char *name; /* as given, or as found below a directory; "-" is standard input */
    /* Valid when why is NULL; released by the caller of the callback unless it is kept. */
    cuvet_source source;
    int fd;          /* that the source reads */
    const char *why; /* it cannot be read, for this reason */
    int rc;          /* exit code that goes with why */
    bool remark;     /* no input at all: only `why` is to be said. For cli_ahead_calls */
    bool kept;       /* set by the callback: it goes on with the source, and releases it */
    cli_what what;
    uint32_t number;       /* under which the keeper of verdicts knows it; 0: it does not */
    uint64_t entries;      /* of a package, which has no source; rc is the number of packages around it */
    cli_package_hash hash; /* of the same */
    cli_fate fate;         /* of an entry of an image archive … */
    uint32_t layer;        /* … and the layer that did it, from 1; 0: none */
} cli_input;

/* What the run may do, known before the first input is handed out. */
typedef struct cli_means {
    uint32_t jobs; /* threads that are of use, at most those of the command line */
    size_t room;   /* inputs that may be kept at the same time; 0: none */
} cli_means;

/* What a command does besides reading its inputs and writing to the standard streams. -1: nothing. */
typedef struct cli_needs {
    int out[2];   /* writes these files … */
    int porter;   /* … and says through this socket that one is complete … */
    bool folder;  /* … or gets more of them through it */
    int broker;   /* asks a compiler through this stream */
    int helper;   /* asks for names, or for what is known, through this socket */
    int announce; /* whoever opens inputs tells a keeper of verdicts through this one */
} cli_needs;

#define CLI_NO_NEEDS                                                                                         \
    {                                                                                                        \
        .out = { -1, -1 }, .porter = -1, .broker = -1, .helper = -1, .announce = -1                          \
    }

/** Called once per input, in the order of the command line; what a directory holds comes in order of the
 *  names' bytes.
 *  @return false: stop here. */
typedef bool cli_input_fn(void *user, cli_input *in);

/** The whole file, in memory to be freed, for commands that look at all of it. *why: more than the status
 *  says, or NULL. A file that was written to meanwhile is CUVET_E_IO. */
cuvet_status cli_input_load(const cli_input *in, const cuvet_limits *limits, void **bytes, const char **why);
/** The same of so many bytes from 'off' on, which are there. */
cuvet_status cli_input_load_part(const cli_input *in, const cuvet_limits *limits, uint64_t off,
                                 uint64_t count, void **bytes, const char **why);

/** Is it this file, whatever its name was? For regular files; also in the cage. */
bool cli_input_is(const cli_input *in, const struct stat *file);

/** Open the inputs, enter the cage, then hand them out. No byte of an input is looked at before, and nothing
 *  can be opened by name afterwards. Once per process. @param needs NULL: nothing else.
 *  @return CLI_X_CLEAN, whatever became of single inputs (also after the callback stopped it), or the exit
 *  code of what kept the whole from its end; it has been said on standard error. */
int cli_each_input(const cli_args *args, const cli_needs *needs, cli_input_fn *fn, void *user);

/* For a caller that works on several inputs at a time. */
typedef struct cli_ahead_calls {
    void (*means)(void *user, const cli_means *how); /* once per run, in the cage, before the first input */
    cli_input_fn *input;                             /* as above; remarks come this way as well */
    bool (*idle)(void *user); /* the next input is not there yet: do something; false: nothing to do */
} cli_ahead_calls;

/** The same as cli_each_input(). */
int cli_each_input_ahead(const cli_args *args, const cli_needs *needs, const cli_ahead_calls *calls,
                         void *user);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Command line of link: the reference linker's spellings (spec/nvlink.def), and the options that are ours
 * (options.def). */
#ifndef CLI_LINK_ARGS_H
#define CLI_LINK_ARGS_H

#include "cli.h"
#include "link_words.h"

typedef enum link_option {
#define LINK_OPTION(id, name, letter, form, arg, fate, text) LINK_O_##id,
#include "../spec/nvlink.def"
    LINK_O_COUNT
} link_option;

typedef struct link_args {
    cli_args common; /* limits, sandbox, policy; the operands: files, and paths of libraries */
    bool *library;   /* per operand: came from -l */
    bool set[LINK_O_COUNT];
    const char *value[LINK_O_COUNT]; /* last one given */
    cuvet_target target;
    link_words kernels, options_file; /* those that were read, in order */
    link_words ptx;                   /* options for the compiler of PTX; without one there are none */
    /* the parser's own */
    link_words word, ours, operand, kind, dir, argv;
} link_args;

typedef enum link_library {
    LINK_LIBRARY_NONE,
    LINK_LIBRARY_ARCHIVE, /* libNAME.a in one of the directories */
    LINK_LIBRARY_HOST,    /* libNAME.so, there or in those of the system: nothing in it is linked */
    LINK_LIBRARY_NOMEM
} link_library;

/* link_library.c */
/** What -lNAME means. *path: of an archive, to be freed; otherwise NULL. */
link_library link_library_find(const link_words *dirs, const char *name, char **path);

/** @return false: done, leave with *rc; release in any case. */
bool link_parse(int argc, char **argv, link_args *args, int *rc);
void link_args_release(link_args *args);

#endif

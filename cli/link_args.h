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

typedef enum link_form {
    LINK_FORM_FLAG,
    LINK_FORM_ONE,
    LINK_FORM_LIST,
    LINK_FORM_YES_NO,
    LINK_FORM_JOINED
} link_form;

typedef enum link_fate { LINK_FATE_DONE, LINK_FATE_PTX, LINK_FATE_IGNORED, LINK_FATE_REFUSED } link_fate;

/* A row of spec/nvlink.def. */
typedef struct link_option_row {
    const char *name, *letter;
    link_form form;
    const char *arg;
    link_fate fate;
    const char *text;
} link_option_row;

/* Words for a rule; what the marks in them mean stands in link_say.c. */
typedef struct link_text {
    const char *id, *text;
    bool fatal; /* to the reference: it ends at once */
} link_text;

/* In whose words a link is spoken of. */
typedef struct link_voice {
    /* What stands in front of a message. file: that it is about, NULL: none, or its words name it */
    void (*begin)(const char *severity, const char *file, bool own);
    const link_text *text; /* own words for some rules … */
    size_t n_text;
    bool bare; /* … which end without place and rule, and may be said of inputs as well */
} link_voice;

/* Which kinds of errors a link ended with, in the place of the reference linker. */
typedef struct link_end {
    bool merge, late, other;
} link_end;

/* In whose place a link is made. */
typedef struct link_role {
    const link_voice *voice;
    bool stand_in;     /* passes over what the reference passes over, and makes of nothing what it makes */
    bool modules_only; /* --register-link-binaries is all that is written */
    link_end *end;     /* of one that stands in */
} link_role;

typedef struct link_args {
    const link_role *role;
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

/* link_options_file.c */
#define LINK_OPTIONS_FILES 64 /* in one command line: a file may name itself */
/** Append the words of an options file. @return NULL, or why there are none, with *rc: CLI_X_LIMIT for
 * memory. */
const char *link_options_file_read(const char *file, link_words *words, int *rc);

/* link_args.c */
const link_option_row *link_option_get(link_option id);
/** @return LINK_O_COUNT: none of the reference's. *value: what stands behind '=', or is joined. */
link_option link_option_find(const char *word, const char **value);
/** One of ours, by its long name; NULL: none. */
const cli_option_info *link_ours_find(const char *word);
/** Is it one of "a|b|c"? */
bool link_is_choice(const char *choices, const char *value);
/** The table of the reference's options. */
void link_options_help(FILE *to);
/** @return false: done, leave with *rc; release in any case. */
bool link_parse(int argc, char **argv, const link_role *role, link_args *args, int *rc);
void link_args_release(link_args *args);

/* cmd_link.c */
/** All of `cuvet link`. */
int link_main(int argc, char **argv, const link_role *role);

#endif

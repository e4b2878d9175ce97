/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The command in the place of the reference linker: its options, messages, silence and exit codes, over what
 * `cuvet link` does. Nothing here knows how to link. */
#ifndef CLI_NVLINK_NVLINK_H
#define CLI_NVLINK_NVLINK_H

#include "../link_args.h"

/* A command line of the reference linker. */
typedef struct nvlink_line {
    link_words argv; /* the same as one of `cuvet link` */
    const char *arch;
    bool help, version;
    bool is_virtual;  /* the architecture is one that nothing is linked for */
    const char *time; /* file of --time, NULL: none */
    /* the parser's own */
    link_words word, file, library, dir;
    bool set[LINK_O_COUNT];
    const char *value[LINK_O_COUNT];
    bool compiler, generator;
} nvlink_line;

/* line.c */
/** Read it, and say what is wrong with it as the reference does. @return false: leave with 1. Release in any
 * case. */
bool nvlink_line_read(nvlink_line *line, int argc, char **argv);
void nvlink_line_release(nvlink_line *line);

/* say.c */
extern const link_voice NVLINK_VOICE;
/** "nvlink fatal   : ..." @return false */
bool nvlink_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
void nvlink_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

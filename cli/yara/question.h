/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What rules are told of a piece, beside its bytes: the variables, and where its sections are. */
#ifndef CLI_YARA_QUESTION_H
#define CLI_YARA_QUESTION_H

#include "yara.h"

/* The variables and the sections of a piece. */
typedef struct yara_parts {
    char *text; /* variables, each with its NUL */
    size_t n_text, cap_text;
    char *names;
    size_t n_names, cap_names;
    yara_section *section;
    size_t n_sections, cap_sections;
    uint64_t bytes; /* of sections */
    bool failed;    /* no memory */
    bool cut;       /* not all of it is there */
} yara_parts;

/** From nothing. What it costs to look is in yara->looking. */
void yara_parts_take(yara_parts *parts, cli_yara *yara, const cli_session *session, const cuvet_item *item,
                     const cli_inside *inside);
void yara_parts_free(yara_parts *parts);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How much may be printed of an input: a file can refer to one long name a million times. */
#ifndef CLI_PRINTING_H
#define CLI_PRINTING_H

#include "session.h"

typedef struct cli_printing {
    uint64_t file_left; /* bytes that may still be printed of the present file … */
    uint64_t left;      /* … and of the present piece */
    bool cut, by_file;
} cli_printing;

/** Bytes of a file: those of the limit 'budget', or as many per byte of it as the limit 'work' says. */
void cli_printing_begin(cli_printing *printing, const cli_session *session);
/** The same of one more file of the package that the file before was of: what the limit 'budget' gives is
 *  shared  by all of them. */
void cli_printing_next(cli_printing *printing, const cli_session *session);
/** Bytes of a piece of that size: an eighth of what the limit "work" says. */
void cli_printing_piece(cli_printing *printing, const cli_session *session, uint64_t size);
/** @return false: they are not to be printed, and nothing of this piece from here on. */
bool cli_printing_spend(cli_printing *printing, uint64_t count);
/** Say what ended, where and by which limit. @return CLI_X_LIMIT, or CLI_X_CLEAN when nothing did. */
int cli_printing_end(cli_printing *printing, const cli_session *session, const cuvet_path *where,
                     const char *what);

#endif

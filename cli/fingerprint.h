/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a device ELF does, told apart from what is said about it: SHA-256 of what is loaded (code, constants,
 * initial values, sizes of memory) and of the relocations of that, by the names of their symbols. Two files
 * with the same fingerprint do the same; debug information, notes, attributes, capsules of code that is there
 * as well, places in the file and the order of sections may differ. The fingerprint of a function leaves its
 * own name out. */
#ifndef CLI_FINGERPRINT_H
#define CLI_FINGERPRINT_H

#include "inside.h"

typedef struct cli_fingerprint {
    cli_digest whole;
    cli_digest *section; /* by section: its bytes and relocations */
    cli_digest *owned;   /* by section of code: constants and memory of its function */
    size_t count;        /* 0: there is none */
} cli_fingerprint;

/** Of a piece whose resources are known. What cannot be read is said on standard error, and is in
 * looking->rc.
 *  @return false: there is none. Free it in both cases. */
bool cli_fingerprint_read(cli_fingerprint *print, const cli_inside *inside, cli_looking *looking,
                          const cli_session *session);
/** Of a function, by the section of its code. */
void cli_fingerprint_function(const cli_fingerprint *print, size_t section, cli_digest *out);
void cli_fingerprint_free(cli_fingerprint *print);

#endif

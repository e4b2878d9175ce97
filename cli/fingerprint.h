/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a piece of device code does, told apart from what is said about it. Of a device ELF: SHA-256 of what
 * is loaded (code, constants, initial values, sizes, alignments and flags of sections), of the relocations of
 * that, of attributes, of capsules, and of symbols; symbols and sections by their names, whatever their
 * numbers are. Debug information, notes, call graphs, which follow from the code, places in the file and the
 * order of sections do not count. Of PTX: its lines without comments and blanks, and without those that name
 * sources.
 *
 * The fingerprint of a function is that of its code, constants, memory and attributes; its own name, the
 * functions that it calls, and capsules are left out. */
#ifndef CLI_FINGERPRINT_H
#define CLI_FINGERPRINT_H

#include "inside.h"

typedef struct cli_fingerprint {
    cli_digest whole;
    cli_digest *section; /* by section: what is in it, and its relocations */
    cli_digest *owned;   /* by section of code: constants, memory and attributes of its function */
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

/* An entry of PTX. @return false: no more */
typedef bool cli_entry_fn(void *user, cuvet_bytes name, const cli_digest *digest);
/** Of PTX, and each of its entries. @return false: it was not read to its end */
bool cli_fingerprint_text(cuvet_bytes text, cli_looking *looking, const cli_session *session,
                          cli_digest *whole, cli_entry_fn *each, void *user);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Pieces of device code, and what is known of them. */
#ifndef CLI_KNOWN_KNOWN_H
#define CLI_KNOWN_KNOWN_H

#include "../session.h"

typedef struct cli_known cli_known;

/** Before the cage: put what is known in front of the session's sink, which may be NULL. The session must run
 * on one thread (cli_session_run). @param database its path @return an exit code; it was said */
int cli_known_start(cli_known **out, cli_session *session, cli_needs *needs, const char *database, bool json);
/** Before the cage: add what is met. @param as NULL: it is called after its file */
int cli_known_start_adding(cli_known **out, cli_session *session, cli_needs *needs, const char *database,
                           const char *as);
/** @param fail_on NULL, "unknown" or "metadata"
 *  @return an exit code: that of what could not be looked at, or of fail_on */
int cli_known_end(cli_known *known, const char *fail_on);

/** What code of this file is called where nobody says: of a wheel its project and version. 'out' has room for
 * KNOWN_SOURCE_MOST + 1 bytes. */
void cli_known_name(const char *path, char *out);

#endif

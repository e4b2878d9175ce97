/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* --cache: verdicts that an earlier run of this very program came to. */
#ifndef CLI_KNOWN_VERDICTS_H
#define CLI_KNOWN_VERDICTS_H

#include "../session.h"
#include "keeper.h"

/** Before the cage. Nothing is done without --cache. The keeper stays where it is until cli_verdicts_end().
 *  @return CLI_X_CLEAN, or an exit code; it was said */
int cli_verdicts_start(cli_session *session, cli_needs *needs, cli_keeper *keeper);
/** @return an exit code; what was not written down is lost, and was said */
int cli_verdicts_end(cli_session *session, cli_keeper *keeper);

#endif

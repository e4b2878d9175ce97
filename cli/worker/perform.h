/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a worker does with a request: in a context of its own, which ends with it. */
#ifndef CLI_WORKER_PERFORM_H
#define CLI_WORKER_PERFORM_H

#include "answer.h"

/** Do it, and write the answer into the first of the files. false: it could not be written. */
bool cli_perform(const wire_request_view *view, const int *file, cli_answer *answer);

#endif

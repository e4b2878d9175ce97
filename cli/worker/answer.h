/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The answer of a worker while it grows, and its way into the file that came with the request. */
#ifndef CLI_WORKER_ANSWER_H
#define CLI_WORKER_ANSWER_H

#include "wire.h"

typedef struct cli_answer {
    wire_answer head;
    wire_finding *finding;
    wire_event *event;
    char *text;
    size_t cap_findings, cap_events, cap_text;
    const void *result; /* borrowed */
} cli_answer;

/** Begin one; memory of the one before is used again. false: there is none. */
bool cli_answer_begin(cli_answer *answer, uint64_t number);
/** What there is no room for is counted.
 * @param subject behind the title: " 'f' in 'a.cubin'"; "": nothing. */
void cli_answer_diag(cli_answer *answer, const cuvet_diag *diag, const char *subject);
void cli_answer_event(cli_answer *answer, const cuvet_event *event);
void cli_answer_result(cli_answer *answer, const void *bytes, size_t size);
/** Write it; what is larger than 'most' is an answer of its own: CUVET_E_LIMIT. false: not written. */
bool cli_answer_write(cli_answer *answer, int fd, uint64_t most);

#endif

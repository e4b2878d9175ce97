/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a scan told of one file, as bytes: findings, pieces, counts. It is kept where another run of the same
 * program finds it, so that nothing here has to be understood by another one; but whoever reads it believes
 * nothing: the file that it was kept in may be damaged, or somebody else's. */
#ifndef CLI_KNOWN_RECORDING_H
#define CLI_KNOWN_RECORDING_H

#include <cuvet/cuvet.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A scan that says more than this is not kept. */
#define RECORDING_MOST ((size_t)8 << 20)

typedef struct cli_recording {
    uint8_t *bytes;
    size_t size, cap;
    bool off; /* it is not kept: too much was said, or memory ran out */
} cli_recording;

void cli_recording_diag(cli_recording *recording, const cuvet_diag *diag);
void cli_recording_item(cli_recording *recording, const cuvet_item *item);
/** How often a rule was reported, where that is more than was told. */
void cli_recording_count(cli_recording *recording, cuvet_rule rule, uint64_t count);
/** The last thing. */
void cli_recording_end(cli_recording *recording, const cuvet_summary *sum);
void cli_recording_free(cli_recording *recording);

typedef enum cli_told {
    CLI_TOLD_DIAG,
    CLI_TOLD_ITEM,
    CLI_TOLD_COUNT,
    CLI_TOLD_END,
    CLI_TOLD_DAMAGED
} cli_told;

typedef struct cli_retelling {
    const uint8_t *bytes;
    size_t size, at;
    /* what the last step told; texts lie in the bytes */
    cuvet_diag diag;
    cuvet_item item;
    cuvet_rule rule;
    uint64_t count;
    cuvet_summary sum;
} cli_retelling;

/** The next thing. After CLI_TOLD_END and CLI_TOLD_DAMAGED there is none. */
cli_told cli_retelling_step(cli_retelling *retelling);
/** Can all of it be told? */
bool cli_retelling_whole(const uint8_t *bytes, size_t size);

#endif

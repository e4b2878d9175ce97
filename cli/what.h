/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef CLI_WHAT_H
#define CLI_WHAT_H

#include <stdint.h>

/* What an input is. */
typedef enum cli_what {
    CLI_INPUT,
    CLI_ENTRY,  /* of a package */
    CLI_PACKAGE /* whose entries have been handed out */
} cli_what;

/* What becomes of an entry of an image archive: it is judged like others, and is no content of an image. */
typedef enum cli_fate {
    CLI_FATE_CONTENT, /* or there is no image */
    CLI_FATE_DELETED, /* by a later layer */
    CLI_FATE_REPLACED,
    CLI_FATE_UNUSED, /* it is in no layer of an image */
    CLI_N_FATE
} cli_fate;

/* SHA-256 */
typedef struct cli_digest {
    uint8_t byte[32];
} cli_digest;

/* That of a package that is in no other one, for commands that ask for it. Whoever opens it takes the
 * hash, and not who unpacks it. */
typedef struct cli_package_hash {
    cli_digest digest;
    uint8_t known; /* 0 or 1 */
} cli_package_hash;

#endif

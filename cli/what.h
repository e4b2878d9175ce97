/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#ifndef CLI_WHAT_H
#define CLI_WHAT_H

/* What an input is. */
typedef enum cli_what {
    CLI_INPUT,
    CLI_ENTRY,  /* of a package */
    CLI_PACKAGE /* whose entries have been handed out */
} cli_what;

#endif

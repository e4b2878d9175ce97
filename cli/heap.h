/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The heap of the process, made ready for what a job will do with it. */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

/* Before anything is allocated. What the system refuses is done without. */
void cli_heap_ready(void);

#endif

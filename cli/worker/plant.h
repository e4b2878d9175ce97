/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* In a build for tests inputs with certain names make the worker do what a hostile one would after it took it
 * over: tests/programs/worker_plant.c. What is installed has no such names. */
#ifndef CLI_WORKER_PLANT_H
#define CLI_WORKER_PLANT_H

#ifdef CLI_WORKER_PLANTED
void cli_plant(const char *name);
#else
static inline void cli_plant(const char *name)
{
    (void)name;
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The misbehaving compiler (tests/programs/fake_compiler.c), a directory of its own for each test, and
 * what must be true after every run: nothing left in it, no process, no descriptor. */
#ifndef TESTS_UNIT_PROC_FAKE_H
#define TESTS_UNIT_PROC_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "proc/external.h"
#include "support/scratch.h"

extern char fake_dir[SCRATCH_MAX]; /* for private directories */
extern char fake_path[];           /* of the program */

/* The calls of a compiler are filtered where their numbers are known. */
#if defined(__x86_64__) || defined(__aarch64__)
#define FAKE_FILTERED true
#else
#define FAKE_FILTERED false
#endif

void fake_setup(void);
void fake_teardown(void);

/* Entries of fake_dir. */
int fake_entries(void);
int fake_open_fds(void);
/* Wait until the file is there in the only private directory; false after ten seconds. */
bool fake_wait_started(void);
/* Processes that still run in a private directory below fake_dir. */
int fake_survivors(void);
/* None of them survives. @return how many have said "pid N" in a log */
int fake_dead_pids(const char *log, size_t len);

/* A configuration with the given limits, 0 for the default. */
cv_external fake_conf(uint64_t deadline_ms, uint64_t output);
/* Compile "input text" with these options; NULL ends them. */
cuvet_compile_result fake_compile(cv_external *external, const int *cancel, const char *const *options);
void fake_release(cv_external *external, cuvet_compile_result *result);

#endif

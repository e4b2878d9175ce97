/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The cage: what a process gives up before it looks at the first byte nobody vouches for. Three tiers, each
 * as far as the kernel has it: resource limits, Landlock (files and network), a seccomp allow-list. On its
 * own, so that a test can enter it and try what must not work. */
#ifndef CLI_SANDBOX_H
#define CLI_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the caged process still has to do. Descriptors: -1 for none. Of all that are open at that time, those
 * above 2 that are not named here are closed. None is a directory: inputs are files by the walk that opened
 * them, standard streams are made so. */
typedef struct cli_cage {
    const int *keep; /* inputs: read by position; -1 is passed over */
    size_t n_keep;
    const int *out; /* files to be written, in the same way */
    size_t n_out;
    int porter;          /* socket of the process that gives finished files their names … */
    bool folder;         /* … and new files, one descriptor in each message */
    int channel;         /* socket that further inputs come through, one descriptor in each message */
    int broker;          /* stream that a compiler is asked through */
    int helper;          /* socket that a process answers on whom nothing is believed but text */
    bool standard_input; /* is an input: otherwise /dev/null takes its place */
    uint32_t threads;
    uint32_t incoming;  /* descriptors from the channel that may be open at the same time; 0 is 1 */
    uint64_t memory;    /* bytes of address space; UINT64_MAX: as before */
    uint64_t file_size; /* largest file that may be written, if any may */
    bool files_come;    /* and those that come through the channel may be */
    /* Processor time is limited by somebody else, and cli_cage_filter() is called later, in a process that is
     * forked for each job: until then everything else holds. */
    bool cpu_elsewhere, filter_later;
} cli_cage;

/* A cage without anything, as the first initializers. */
#define CLI_CAGE_NOTHING .porter = -1, .channel = -1, .broker = -1, .helper = -1

enum {
    CLI_CAGE_RLIMITS = 1 << 0,
    CLI_CAGE_LANDLOCK = 1 << 1,
    CLI_CAGE_SECCOMP = 1 << 2,
    CLI_CAGE_ALL = (1 << 3) - 1
};

/** Enter it: for good, for this process and all that it starts. One thread may exist at this time. What
 * cannot be had is left out and said by cli_cage_state(). @return the tiers that hold. */
unsigned cli_cage_enter(const cli_cage *cage);
/** May threads be started? Always, before it was entered. */
bool cli_cage_allows_threads(void);
/** The last step of it alone. @return 0 or an errno. */
int cli_cage_filter(const cli_cage *cage);
/** false: a build that the cage is not for; cli_cage_state() says which. Such a one sets no limits either. */
bool cli_cage_possible(void);
/** The first step of it alone: close all descriptors above 2 that are not named. */
void cli_cage_close_others(const cli_cage *cage);
/** For a helper process that has a file in this folder to write: of the file system nothing else can be
 * reached by name from now on, and no network. As far as the kernel can do it. */
void cli_cage_folder(int folder);
/** For a process that helps another one: standard output is somebody's pipe, whose end must not wait for us.
 * @return false: there is nothing to put in its place */
bool cli_cage_let_go_of_streams(void);
/** Remember that it was not entered, and why. */
void cli_cage_stay_out(const char *why);
/** "seccomp, landlock abi 7, rlimits"; what is missing and why behind a semicolon. "off" before anybody
 * entered. */
const char *cli_cage_state(void);
/** The state that entering leads to here: found out by a child process that does it. */
void cli_cage_probe(char *out, size_t cap);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiler for somebody who may not start processes any more. A broker is forked off before the cage is
 * entered; requests and results go through a stream. To the broker the caged side is a stranger: of a request
 * it takes bytes, a target, and options that are on a list, all of them in bounds, and nothing that names a
 * file. */
#ifndef CLI_BROKER_H
#define CLI_BROKER_H

#include <cuvet/compiler.h>
#include <cuvet/limits.h>

#include <pthread.h>

/* What a request may hold. */
typedef struct cli_broker_rules {
    uint64_t input;            /* bytes to be compiled */
    uint64_t options;          /* number of them */
    uint64_t option_bytes;     /* of all, each with its NUL */
    uint64_t output, log;      /* bytes of a result */
    const char *const *option; /* those that the user gave: allowed as they are. Borrowed */
    size_t n_option;
} cli_broker_rules;

typedef struct cli_broker {
    int fd; /* what cli_needs.broker wants to know */
    int pid;
    cuvet_compiler compiler; /* to be given to an input; asks the broker */
    /* of the compiler */
    cli_broker_rules rules;
    pthread_mutex_t lock;
    bool lost; /* the stream is no longer where it should be */
} cli_broker;

/** Fork the broker, which runs `real` (of cuvet_compiler_external()) for whoever asks through b->compiler.
 * Before any input is opened. `real` may be released afterwards. @return CUVET_OK · CUVET_E_IO (errno). */
cuvet_status cli_broker_start(cli_broker *broker, const cuvet_compiler *real, const cli_broker_rules *rules);
/* External programs that the user named, by absolute paths; NULL: none. */
typedef struct cli_broker_tools {
    const char *compiler;      /* of PTX … */
    const char *const *option; /* … and what the user wants to give it. Borrowed */
    size_t n_option;
    const char *generator; /* makes device ELFs again */
} cli_broker_tools;

/** The same for external programs, with limits as for members; without any b->compiler stays zero. *fd
 * becomes what cli_needs.broker wants to know. Complains. @return an exit code */
int cli_broker_begin(cli_broker *broker, const cli_broker_tools *tools, const cuvet_limits *limits, int *fd);
/** Close the stream, at which the broker ends, if there is one. */
void cli_broker_stop(cli_broker *broker);
/** What such a program said, line by line, on standard error. @param what "compiler", say · @param file what
 * it was about, or NULL */
void cli_broker_log(const char *what, const char *file, const char *text);

/* For tests: the broker's side. */
/** May this option be passed on? */
bool cli_broker_option_ok(const cli_broker_rules *rules, const char *option, bool ltoir);
/** Serve until the stream ends, or somebody breaks the rules. */
void cli_broker_serve(int fd, const cuvet_compiler *real, const cli_broker_rules *rules);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What the build knows of the system call filter, and what the process adds to it: one program for each
 * shape of the cage, with holes for the few numbers that are only known when it runs. */
#ifndef CLI_FILTER_PROGRAMS_H
#define CLI_FILTER_PROGRAMS_H

#include <linux/filter.h>
#include <stdint.h>

/* A shape is a sum of these. */
enum {
    FILTER_THREADS = 1 << 0, /* threads may be started */
    FILTER_ANSWERS = 1 << 1, /* answers of another process may be waited for */
    FILTER_CHANNEL = 1 << 2, /* descriptors may be received through a socket */
    FILTER_PORTER = 1 << 3,  /* and through another one, which says what became of files */
    FILTER_SHAPES = 1 << 4
};

/* What a hole takes. */
typedef enum filter_number { FILTER_N_PORTER, FILTER_N_CHANNEL, FILTER_N_PID, FILTER_N_COUNT } filter_number;

typedef struct filter_hole {
    uint16_t at;   /* instruction whose constant it is */
    uint16_t what; /* filter_number */
} filter_hole;

typedef struct filter_program {
    const struct sock_filter *code;
    const filter_hole *hole;
    uint16_t count, n_holes;
} filter_program;

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inside libcuvet-worker: a request that is put together, and the answer to it. */
#ifndef CLI_WORKER_JOB_H
#define CLI_WORKER_JOB_H

#include "pool.h"

typedef enum job_state { JOB_NEW, JOB_RAN, JOB_HAS_ANSWER } job_state;

struct cuvet_job {
    cuvet_workers *workers;
    job_state state;
    wire_request head;
    uint64_t deadline_ms, cpu_ms, memory;
    wire_input *input;
    char *name, *word;     /* texts of the request, each with its NUL */
    size_t n_name, n_word; /* bytes */
    int file[WIRE_FILES];  /* that of the answer, that of what was copied, then the caller's */
    uint32_t n_files;      /* at least the first two, which may be -1 */
    uint64_t copied;       /* bytes of the second one */
    worker_exchange exchange;
    uint64_t n_answer;
    char *bytes; /* of the answer */
    wire_answer_view view;
};

enum { JOB_ANSWER, JOB_COPIED, JOB_FIRST_FILE };

/** Fill in the options of a kind. @return OK · USAGE · LIMIT · NOMEM */
cuvet_status job_take_options(cuvet_job *job, const cuvet_job_options *given);
/** The request as a worker reads it: its size, and the writing of it. */
size_t job_packet_size(const cuvet_job *job);
void job_write_packet(cuvet_job *job, char *packet);
/** A new file in memory, -1: errno. */
int job_memory_file(const char *name);
/** Read the answer out of its file and seal it. false: what is there is none. */
bool job_read_answer(cuvet_job *job);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Workers: caged processes that link, scan, select and finalize for a program that must not read
 * strangers' bytes itself. Functions of libcuvet-worker, which has no parser in it: what reads the
 * bytes is the program cuvet-worker. Inputs go there as sealed memory files, the answer comes back as
 * one. What happens to a worker is an answer like others, and nothing is tried again. Workers may be
 * asked from several threads at once; a job belongs to one thread at a time. */
#ifndef CUVET_WORKER_H
#define CUVET_WORKER_H

#include <cuvet/finalize.h>
#include <cuvet/linker.h>
#include <cuvet/scan.h>
#include <cuvet/select.h>

/** Some workers, and who waits for one. */
typedef struct cuvet_workers cuvet_workers;
/** One request, from its inputs to its answer. */
typedef struct cuvet_job cuvet_job;

typedef enum cuvet_worker_mode {
    /** A worker serves one job after another, each in a new context. Who took it over sees those that
     * follow. */
    CUVET_WORKER_PERSISTENT = 0,
    /** Each job has a process of its own, that sees nothing of any other. */
    CUVET_WORKER_FORK = 1
} cuvet_worker_mode;

/** Flags of workers. */
/** No worker starts unless all that the cage consists of holds: system call filter, Landlock, limits. */
#define CUVET_WORKER_REQUIRE_CAGE 1u

typedef struct cuvet_workers_options {
    size_t size;
    cuvet_worker_mode mode;
    unsigned flags;       /**< CUVET_WORKER_... */
    uint32_t workers;     /**< processes, at most 256; 0: 1 */
    uint32_t queue;       /**< jobs that may wait for one while all are busy; others are CUVET_E_BUSY */
    const char *program;  /**< absolute path of cuvet-worker; NULL: where it was installed */
    uint64_t deadline_ms; /**< of a job that says nothing else; 0: 10,000 */
    uint64_t memory;      /**< bytes, the same; 0: 2 GiB */
    uint64_t output;      /**< bytes of an answer, the same; 0: 1 GiB */
} cuvet_workers_options;

/** What happened so far. */
typedef struct cuvet_workers_counters {
    size_t size;       /**< sizeof(cuvet_workers_counters) of the caller */
    uint64_t jobs;     /**< that a worker began */
    uint64_t answered; /**< by the worker, whatever the answer is */
    uint64_t lost, deadline, cpu, memory,
        protocol;           /**< the other ends; together with 'answered' all of them */
    uint64_t refused;       /**< jobs that were CUVET_E_BUSY */
    uint64_t started;       /**< workers, the first ones included */
    uint64_t busy, waiting; /**< workers, and jobs, at this moment */
} cuvet_workers_counters;

typedef enum cuvet_job_kind {
    CUVET_JOB_LINK = 0,
    CUVET_JOB_SCAN = 1,
    CUVET_JOB_SELECT = 2,
    CUVET_JOB_FINALIZE = 3
} cuvet_job_kind;

typedef struct cuvet_job_options {
    size_t size;
    cuvet_job_kind kind;
    /** The options of this kind; the others are not looked at. NULL only for a scan. Callbacks,
     * compilers and generators have to be NULL: a worker cannot start a program. What is said comes
     * with the answer. */
    const cuvet_linker_options *link;
    const cuvet_scan_options *scan;
    const cuvet_select_options *select;
    const cuvet_finalize_options *finalize;
    const cuvet_limits *limits; /**< NULL: preset "strict"; 'live' is not more than the memory of the job */
    /** Of its run, the time in which it waits for a worker included; 0: that of the workers. */
    uint64_t deadline_ms;
    uint64_t cpu_ms; /**< processor time; 0: as much as the deadline lets */
    uint64_t memory; /**< bytes of address space beyond those of an idle worker; 0: that of the workers */
    uint64_t output; /**< bytes of the answer; 0: that of the workers */
} cuvet_job_options;

/** How a job ended. */
typedef enum cuvet_worker_end {
    CUVET_WORKER_ANSWERED = 0, /**< 'status' is what the library said */
    CUVET_WORKER_LOST,         /**< its process died: of 'signal', or with 'exit_code' */
    CUVET_WORKER_DEADLINE,     /**< was stopped: the time was over */
    CUVET_WORKER_CPU,          /**< was stopped: the processor time was over */
    CUVET_WORKER_MEMORY,       /**< there was no more memory */
    CUVET_WORKER_PROTOCOL      /**< was stopped: what it said is no answer */
} cuvet_worker_end;

/** The answer; borrowed until the job is destroyed. */
typedef struct cuvet_answer {
    size_t size; /**< sizeof(cuvet_answer) of the caller */
    cuvet_worker_end end;
    cuvet_status status; /**< ANSWERED, MEMORY: of the library; otherwise CUVET_E_INTERNAL */
    int signal;          /**< LOST: that killed it; 0: it ended by itself, or nobody knows */
    int exit_code;       /**< LOST: of a process that ended by itself */
    const void *bytes;   /**< the result; NULL: there is none */
    size_t n;
    /** A sealed memory file that has the result at 'result_off': nobody can change it any more. -1: none */
    int fd;
    uint64_t result_off;
    uint64_t findings, events; /**< how many */
    uint64_t dropped;          /**< findings and events that there was no room for */
    cuvet_kind kind;           /**< select: what was chosen */
    cuvet_target target;       /**< select, finalize: that the result is for */
    cuvet_final_code code;     /**< finalize: how it ended */
    cuvet_verdict verdict;     /**< scan */
    /** scan: counts as in cuvet_summary */
    uint64_t containers, members, images, notes, warnings, errors;
} cuvet_answer;

/** Something that was said of an input. Texts are printable ASCII. */
typedef struct cuvet_job_finding {
    size_t size; /**< sizeof(cuvet_job_finding) of the caller */
    cuvet_severity severity;
    const char *rule; /**< "CV-ELF-012" */
    const char
        *place;       /**< "fatbin[0]/entry[2]"; "": the file itself. Of a link, inputs are named by number */
    const char *text; /**< "Title: message" */
    uint64_t file_off, length, inner_off;
    uint32_t flags; /**< CUVET_DIAG_INNER */
} cuvet_job_finding;

#ifdef __cplusplus
extern "C" {
#endif

/** Start workers, and wait until each is in its cage. Before anything is read, and best before the
 * program has threads and secrets.  @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (size, a value out
 * of range) · CUVET_E_IO (the program does  not start, or errno says why) · CUVET_E_UNSUPPORTED (a
 * program of another version, or a cage that is  required and cannot be had) · CUVET_E_NOMEM. *out is
 * NULL unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_workers_open(const cuvet_workers_options *opt, cuvet_workers **out);
/** End them. All jobs have to be destroyed before. NULL is allowed. */
CUVET_API void cuvet_workers_close(cuvet_workers *workers);
/** What the cage of the workers consists of here: "seccomp, landlock abi 4, rlimits", and what is
 * missing and why. Borrowed until close. */
CUVET_API const char *cuvet_workers_cage(const cuvet_workers *workers);
/** @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (size) */
CUVET_API CUVET_MUST cuvet_status cuvet_workers_get_counters(cuvet_workers *workers,
                                                             cuvet_workers_counters *out);

/** Options are copied. @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (size, a callback or a compiler, a
 * value out of range) · CUVET_E_LIMIT (texts that are too long) · CUVET_E_NOMEM. */
CUVET_API CUVET_MUST cuvet_status cuvet_job_create(cuvet_workers *workers, const cuvet_job_options *opt,
                                                   cuvet_job **out);
/** Add an input; the bytes are copied. A link has one or more, the other kinds have one.  @param name
 * for messages and events @param flags CUVET_ADD_...  @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE
 * (flags) · CUVET_E_LIMIT (inputs, names) · CUVET_E_NOMEM ·  CUVET_E_STATE (it ran already). */
CUVET_API CUVET_MUST cuvet_status cuvet_job_add_memory(cuvet_job *job, const void *bytes, size_t size,
                                                       const char *name, unsigned flags);
/** The same for 'size' bytes of a file from 'off' on. A memory file that is sealed against writing,
 * shrinking and growing is passed on as it is, anything else is copied now. The descriptor stays the
 * caller's.  @return as cuvet_job_add_memory() · CUVET_E_IO (there are not as many bytes). */
CUVET_API CUVET_MUST cuvet_status cuvet_job_add_fd(cuvet_job *job, int fd, uint64_t off, uint64_t size,
                                                   const char *name, unsigned flags);
/** Have it done, once, and wait for the end.
 *  @return CUVET_OK (there is an answer, whatever it is) · CUVET_E_BUSY (as many jobs wait as may, or the
 *  deadline passed before a worker was free: nothing was begun) · CUVET_E_USAGE (number of inputs) ·
 *  CUVET_E_STATE (it ran already) · CUVET_E_IO (no worker can be started) · CUVET_E_NOMEM. */
CUVET_API CUVET_MUST cuvet_status cuvet_job_run(cuvet_job *job);
/** @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (size) · CUVET_E_STATE (there is none). */
CUVET_API CUVET_MUST cuvet_status cuvet_job_get_answer(const cuvet_job *job, cuvet_answer *out);
/** Finding by index, borrowed until the job is destroyed. @return CUVET_OK · CUVET_END · as above. */
CUVET_API CUVET_MUST cuvet_status cuvet_job_get_finding(const cuvet_job *job, uint64_t index,
                                                        cuvet_job_finding *out);
/** What became of the files of a link, by index, in the same way. Names of members are a stranger's
 * text. */
CUVET_API CUVET_MUST cuvet_status cuvet_job_get_event(const cuvet_job *job, uint64_t index, cuvet_event *out);
/** End it. NULL is allowed. */
CUVET_API void cuvet_job_destroy(cuvet_job *job);

/** "answered", "lost", "deadline", "cpu", "memory", "protocol"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_worker_end_name(cuvet_worker_end end);
/** "persistent", "fork"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_worker_mode_name(cuvet_worker_mode mode);
/** "link", "scan", "select", "finalize"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_job_kind_name(cuvet_job_kind kind);

#ifdef __cplusplus
}
#endif
#endif

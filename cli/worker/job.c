/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "job.h"

#include "../whole.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 8192 };

#define SEALED (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

int job_memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/* ---- create, destroy ---- */

cuvet_status cuvet_job_create(cuvet_workers *workers, const cuvet_job_options *opt, cuvet_job **out)
{
    cuvet_status status;
    cuvet_job *job;

    if (!out)
        return CUVET_E_NULL;
    *out = NULL;
    if (!workers || !opt)
        return CUVET_E_NULL;
    job = calloc(1, sizeof(*job));
    if (!job)
        return CUVET_E_NOMEM;
    job->workers = workers;
    job->file[JOB_ANSWER] = job->file[JOB_COPIED] = -1;
    job->n_files = JOB_FIRST_FILE;
    status = job_take_options(job, opt);
    if (status == CUVET_OK)
        *out = job;
    else
        cuvet_job_destroy(job);
    return status;
}

static void close_file(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd); /* memory */
    *fd = -1;
}

void cuvet_job_destroy(cuvet_job *job)
{
    if (!job)
        return;
    for (uint32_t i = 0; i < job->n_files; i++)
        close_file(&job->file[i]);
    free(job->bytes);
    free(job->input);
    free(job->name);
    free(job->word);
    free(job);
}

/* ---- inputs ---- */

static cuvet_status may_add(const cuvet_job *job, const char *name, unsigned flags)
{
    uint64_t inputs = (uint64_t)job->head.n_inputs + 1;

    if (flags & ~(CUVET_ADD_SYSTEM | CUVET_ADD_LIBRARY))
        return CUVET_E_USAGE;
    if (job->state != JOB_NEW)
        return CUVET_E_STATE;
    return inputs > WIRE_INPUTS || sizeof(wire_request) + inputs * sizeof(wire_input) + job->n_name +
                                           strlen(name) + 1 + job->n_word >
                                       WIRE_PACKET
               ? CUVET_E_LIMIT
               : CUVET_OK;
}

static cuvet_status add_input(cuvet_job *job, const wire_input *input, const char *name)
{
    size_t len = strlen(name) + 1;
    wire_input *inputs = reallocarray(job->input, (size_t)job->head.n_inputs + 1, sizeof(*inputs));
    char *names;

    if (!inputs)
        return CUVET_E_NOMEM;
    job->input = inputs;
    names = realloc(job->name, job->n_name + len);
    if (!names)
        return CUVET_E_NOMEM;
    job->name = names;
    memcpy(names + job->n_name, name, len);
    job->n_name += len;
    inputs[job->head.n_inputs++] = *input;
    return CUVET_OK;
}

static bool open_copied(cuvet_job *job)
{
    if (job->file[JOB_COPIED] < 0)
        job->file[JOB_COPIED] = job_memory_file("cuvet-inputs");
    return job->file[JOB_COPIED] >= 0;
}

static cuvet_status add_copied(cuvet_job *job, uint64_t size, const char *name, unsigned flags)
{
    const wire_input input = { .file = JOB_COPIED, .flags = flags, .off = job->copied, .size = size };
    cuvet_status status = add_input(job, &input, name);

    if (status == CUVET_OK)
        job->copied += size;
    return status;
}

cuvet_status cuvet_job_add_memory(cuvet_job *job, const void *bytes, size_t size, const char *name,
                                  unsigned flags)
{
    cuvet_status status;

    if (!job || (!bytes && size > 0) || !name)
        return CUVET_E_NULL;
    status = may_add(job, name, flags);
    if (status != CUVET_OK)
        return status;
    if (!open_copied(job) || !cli_write_at(job->file[JOB_COPIED], bytes, size, job->copied))
        return CUVET_E_NOMEM;
    return add_copied(job, size, name, flags);
}

static cuvet_status copy_file(const cuvet_job *job, int fd, uint64_t off, uint64_t size)
{
    char block[COPY_BYTES];

    for (uint64_t done = 0; done < size;) {
        uint64_t part = size - done < sizeof(block) ? size - done : sizeof(block);

        if (!cli_read_at(fd, block, part, off + done))
            return CUVET_E_IO;
        if (!cli_write_at(job->file[JOB_COPIED], block, part, job->copied + done))
            return CUVET_E_NOMEM;
        done += part;
    }
    return CUVET_OK;
}

static bool is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & SEALED) == SEALED;
}

static cuvet_status pass_file(cuvet_job *job, int fd, wire_input *input, const char *name)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cuvet_status status;

    if (copy < 0)
        return CUVET_E_IO;
    input->file = job->n_files;
    status = add_input(job, input, name);
    if (status == CUVET_OK)
        job->file[job->n_files++] = copy;
    else
        close_file(&copy);
    return status;
}

cuvet_status cuvet_job_add_fd(cuvet_job *job, int fd, uint64_t off, uint64_t size, const char *name,
                              unsigned flags)
{
    wire_input input = { .flags = flags, .off = off, .size = size };
    struct stat st;
    cuvet_status status;

    if (!job || !name)
        return CUVET_E_NULL;
    status = may_add(job, name, flags);
    if (status != CUVET_OK)
        return status;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || off > (uint64_t)st.st_size ||
        size > (uint64_t)st.st_size - off)
        return CUVET_E_IO;
    if (is_sealed(fd) && job->n_files < WIRE_FILES)
        return pass_file(job, fd, &input, name);
    if (!open_copied(job))
        return CUVET_E_NOMEM;
    status = copy_file(job, fd, off, size);
    return status == CUVET_OK ? add_copied(job, size, name, flags) : status;
}

/* ---- run ---- */

/* The file of the answer is as large as it may become, and cannot grow. */
static cuvet_status make_files(cuvet_job *job)
{
    int answer = job_memory_file("cuvet-answer");

    if (answer < 0)
        return errno == ENOMEM ? CUVET_E_NOMEM : CUVET_E_IO;
    job->file[JOB_ANSWER] = answer;
    if (ftruncate(answer, (off_t)job->head.most) != 0 || fcntl(answer, F_ADD_SEALS, F_SEAL_GROW) != 0)
        return CUVET_E_IO;
    if (job->file[JOB_COPIED] >= 0)
        return fcntl(job->file[JOB_COPIED], F_ADD_SEALS, SEALED | F_SEAL_SEAL) == 0 ? CUVET_OK : CUVET_E_IO;
    /* A number that no input names: descriptors keep their places. */
    job->file[JOB_COPIED] = fcntl(answer, F_DUPFD_CLOEXEC, 0);
    return job->file[JOB_COPIED] >= 0 ? CUVET_OK : CUVET_E_IO;
}

size_t job_packet_size(const cuvet_job *job)
{
    return sizeof(job->head) + job->head.n_inputs * sizeof(*job->input) + job->n_name + job->n_word;
}

void job_write_packet(cuvet_job *job, char *packet)
{
    const size_t table = job->head.n_inputs * sizeof(*job->input);
    char *at = packet;

    job->head.n_text = (uint32_t)(job->n_name + job->n_word);
    memcpy(at, &job->head, sizeof(job->head));
    at += sizeof(job->head);
    memcpy(at, job->input, table);
    at += table;
    memcpy(at, job->name, job->n_name);
    at += job->n_name;
    if (job->n_word)
        memcpy(at, job->word, job->n_word);
}

static void exchange_with(cuvet_job *job, worker_slot *slot, char *packet, size_t size)
{
    job->exchange.packet = packet;
    job->exchange.size = size;
    job->exchange.file = job->file;
    job->exchange.n_files = job->n_files;
    job->exchange.number = job->head.number;
    job->exchange.cpu_ms = job->head.cpu_ms;
    job->exchange.memory = job->memory;
    worker_ask(job->workers, slot, &job->exchange);
    if (job->exchange.end == CUVET_WORKER_ANSWERED && !job_read_answer(job)) {
        job->view.bytes = NULL;
        /* An answer of a size that can be, which there is no room for here. */
        job->exchange.end = job->n_answer > 0 && !job->bytes ? CUVET_WORKER_MEMORY : CUVET_WORKER_PROTOCOL;
    }
    if (job->exchange.end == CUVET_WORKER_ANSWERED && job->view.head.status == CUVET_E_NOMEM)
        job->exchange.end = CUVET_WORKER_MEMORY;
    /* What took all the memory, or breaks the rules, is no worker for the next job. */
    if (job->exchange.end != CUVET_WORKER_ANSWERED && job->workers->options.mode == CUVET_WORKER_PERSISTENT)
        worker_stop(slot);
}

static cuvet_status run_job(cuvet_job *job)
{
    worker_slot *slot = NULL;
    cuvet_status status = make_files(job);
    char *packet = malloc(job_packet_size(job));

    if (status == CUVET_OK && !packet)
        status = CUVET_E_NOMEM;
    if (status == CUVET_OK)
        status = worker_acquire(job->workers, job->exchange.deadline, &slot);
    if (status == CUVET_OK) {
        job->head.number = __atomic_add_fetch(&job->workers->number, 1, __ATOMIC_RELAXED);
        job_write_packet(job, packet);
        exchange_with(job, slot, packet, job_packet_size(job));
        worker_release(job->workers, slot, job->exchange.end);
        job->state = JOB_HAS_ANSWER;
    }
    free(packet);
    return status;
}

cuvet_status cuvet_job_run(cuvet_job *job)
{
    if (!job)
        return CUVET_E_NULL;
    if (job->state != JOB_NEW)
        return CUVET_E_STATE;
    if (job->head.n_inputs == 0 || (job->head.kind != CUVET_JOB_LINK && job->head.n_inputs != 1))
        return CUVET_E_USAGE;
    job->state = JOB_RAN;
    job->exchange.deadline = worker_now() + job->deadline_ms;
    return run_job(job);
}

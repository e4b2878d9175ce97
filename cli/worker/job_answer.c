/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "job.h"

#include "../whole.h"
#include "sized.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* Nobody who holds the file can change what is in it from now on; who has it mapped for writing, and that is
 * nobody in order, makes this fail. */
static bool stop_writing(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0;
}

static bool cut_and_seal(int fd, uint64_t size)
{
    return ftruncate(fd, (off_t)size) == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
}

static bool load(cuvet_job *job, int fd)
{
    job->bytes = malloc((size_t)job->n_answer);
    return job->bytes && cli_read_at(fd, job->bytes, job->n_answer, 0);
}

bool job_read_answer(cuvet_job *job)
{
    int fd = job->file[JOB_ANSWER];
    wire_answer head;

    if (!stop_writing(fd) || !cli_read_at(fd, &head, sizeof(head), 0))
        return false;
    job->n_answer = wire_answer_size(&head, job->head.number, job->head.most);
    return job->n_answer > 0 && cut_and_seal(fd, job->n_answer) && load(job, fd) &&
           wire_take_answer(job->bytes, job->n_answer, job->head.number, &job->view);
}

/* ---- what the caller sees of it ---- */

static void tell_answer(const cuvet_job *job, cuvet_answer *out)
{
    const wire_answer *head = &job->view.head;

    out->status = (cuvet_status)head->status;
    if (head->has_result) {
        out->bytes = job->view.bytes + job->view.result;
        out->n = (size_t)head->n_result;
        out->fd = job->file[JOB_ANSWER];
        out->result_off = job->view.result;
    }
    out->findings = head->n_findings;
    out->events = head->n_events;
    out->dropped = head->dropped;
    out->kind = (cuvet_kind)head->kind;
    out->target = (cuvet_target){ .sm = head->sm, .suffix = (char)head->suffix };
    out->code = (cuvet_final_code)head->code;
    out->verdict = (cuvet_verdict)head->verdict;
    out->containers = head->count[0];
    out->members = head->count[1];
    out->images = head->count[2];
    out->notes = head->count[3];
    out->warnings = head->count[4];
    out->errors = head->count[5];
}

cuvet_status cuvet_job_get_answer(const cuvet_job *job, cuvet_answer *out)
{
    cuvet_answer answer;

    if (!job || !out)
        return CUVET_E_NULL;
    if (job->state != JOB_HAS_ANSWER)
        return CUVET_E_STATE;
    answer = (cuvet_answer){ .size = sizeof(answer),
                             .end = job->exchange.end,
                             .status = CUVET_E_INTERNAL,
                             .signal = job->exchange.signal,
                             .exit_code = job->exchange.exit_code,
                             .fd = -1 };
    if (job->view.bytes)
        tell_answer(job, &answer);
    return sized_give(out, &answer, sizeof(answer)) ? CUVET_OK : CUVET_E_USAGE;
}

cuvet_status cuvet_job_get_finding(const cuvet_job *job, uint64_t index, cuvet_job_finding *out)
{
    wire_finding finding;
    cuvet_job_finding told;

    if (!job || !out)
        return CUVET_E_NULL;
    if (job->state != JOB_HAS_ANSWER)
        return CUVET_E_STATE;
    if (!job->view.bytes || index >= job->view.head.n_findings)
        return CUVET_END;
    finding = wire_finding_at(&job->view, index);
    told = (cuvet_job_finding){ .size = sizeof(told),
                                .severity = (cuvet_severity)finding.severity,
                                .rule = wire_text(&job->view, finding.rule),
                                .place = wire_text(&job->view, finding.place),
                                .text = wire_text(&job->view, finding.text),
                                .file_off = finding.file_off,
                                .length = finding.length,
                                .inner_off = finding.inner_off,
                                .flags = finding.flags };
    return sized_give(out, &told, sizeof(told)) ? CUVET_OK : CUVET_E_USAGE;
}

cuvet_status cuvet_job_get_event(const cuvet_job *job, uint64_t index, cuvet_event *out)
{
    wire_event event;
    cuvet_event told;

    if (!job || !out)
        return CUVET_E_NULL;
    if (job->state != JOB_HAS_ANSWER)
        return CUVET_E_STATE;
    if (!job->view.bytes || index >= job->view.head.n_events)
        return CUVET_END;
    event = wire_event_at(&job->view, index);
    told = (cuvet_event){ .size = sizeof(told),
                          .kind = (cuvet_event_kind)event.kind,
                          .status = (cuvet_status)event.status,
                          .file = wire_text(&job->view, event.file),
                          .member = event.member ? wire_text(&job->view, event.member) : NULL,
                          .off = event.off };
    return sized_give(out, &told, sizeof(told)) ? CUVET_OK : CUVET_E_USAGE;
}

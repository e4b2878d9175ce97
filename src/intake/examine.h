/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Examination of one unit: what the rows of the table share. */
#ifndef CV_INTAKE_EXAMINE_H
#define CV_INTAKE_EXAMINE_H

#include "intake/unit.h"

typedef struct cv_examine_job {
    cv_worker *worker;
    cv_ctx *ctx;
    const cuvet_source *src;
    const cv_unit *unit;
    const cv_examine_options *opt;
    cv_result *result;
    cv_span near;   /* all of a small unit, or empty */
    cv_span stored; /* its payload, … */
    bool loaded;    /* … once that was read */
} cv_examine_job;

/* A status that is not a finding ends the scan. */
cuvet_status cv_job_keep(const cv_examine_job *job, cuvet_status status);
/* Device code of a kind; member: NULL where it stands alone; inner: the content was decompressed. */
void cv_job_elf(const cv_examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner);
void cv_job_ptx(const cv_examine_job *job, const cv_fatbin_member *member, cv_span content, bool inner);
/* More device code in the content: walked after this unit was delivered. */
void cv_job_nest(const cv_examine_job *job, cv_span content, bool inner, uint64_t from);
/* Look for a container or a device ELF in [from, end) of the content: that is paid for. packed: it is stored
 * compressed. */
void cv_job_find(const cv_examine_job *job, cv_span content, bool inner, bool packed, uint64_t from,
                 uint64_t end);
/* … wherever a format leaves bytes free. */
void cv_job_find_hidden(const cv_examine_job *job, cv_span content, bool inner);
/* A hit of a search costs as much as the search of so many bytes. */
#define CV_HIT_WORK UINT64_C(32)
/* Could it be the beginning of a container or of a device ELF? packed: of a container only. */
bool cv_job_is_hidden(cv_span head, bool packed);
/* What stands alone: all of it is one piece of device code, of the kind of its row. */
void cv_job_whole(cv_examine_job *job);

#endif

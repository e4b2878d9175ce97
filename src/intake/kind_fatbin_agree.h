/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Agreement: what a member header promises against what the member holds. */
#ifndef CV_INTAKE_KIND_FATBIN_AGREE_H
#define CV_INTAKE_KIND_FATBIN_AGREE_H

#include "cubin/cubin.h"
#include "format/fatbin/read.h"
#include "format/ptx/read.h"

struct cv_examine_job;

/* One member (kind_fatbin_load.c). */
void cv_fatbin_examine(struct cv_examine_job *job);
/* 'head' is the offset of the member header in the file: where the findings point. */
void cv_agree_elf(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, const cv_cubin *cubin);
void cv_agree_ptx(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, const cv_ptx *ptx);
void cv_agree_ltoir(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, cv_span blob);
/* Content that is plainly of another kind than the header says. False: it is, and was reported. */
CV_MUST bool cv_agree_kind(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, cv_span content);

#endif

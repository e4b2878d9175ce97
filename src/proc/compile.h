/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What surrounds a call of a compiler: the rule of each end, its log, and the options of a member that it may
 * be given. */
#ifndef CV_PROC_COMPILE_H
#define CV_PROC_COMPILE_H

#include <cuvet/compiler.h>

#include "base/ctx.h"
#include "base/vec.h"
#include "bytes/span.h"

/* Rule of an end that is none of COMPILED and CANCELLED; a number that is no end at all counts as FAILED. Its
 * 'got' is the detail of the result, its 'want' the target. */
cv_rule cv_compile_rule(cuvet_compile_end end);

/* Bytes of a log that are kept, whoever wrote it. */
#define CV_LOG_MOST (UINT64_C(1) * CV_MIB)

/* What a compiler said, made safe: printable ASCII and line feeds, tabs as blanks, carriage returns left out,
 * anything else as '?'; cut at CV_LOG_MOST. *out is overwritten and ends in NUL; nothing said leaves it
 * empty. False: no memory. */
CV_MUST bool cv_clean_log(cv_mem *mem, cv_span said, cv_u8s *out);

/* Options in the header of a member (text; ltoir: of an LTO-IR member, otherwise PTX): those that
 * spec/member_options.def allows are appended to *out in one spelling, each with its NUL, in the order of the
 * text. Every other one is reported and dropped, and so is one that the caller gives as well; caller: its
 * options, each with its NUL. @return OK · NOMEM · LIMIT · CANCELLED */
CV_MUST cuvet_status cv_member_options(cv_ctx *ctx, cv_span text, bool ltoir, const cv_u8s *caller,
                                       cv_u8s *out);

/* What a scan says of such options: those that name a file, and those that are on no list of
 * spec/member_options.def. */
void cv_member_options_look(cv_ctx *ctx, cv_span text, bool ltoir);

#endif

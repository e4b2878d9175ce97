/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Extent of a raw device ELF inside a source, from its header and section table alone: nothing else is read.
 */
#ifndef CV_INTAKE_LOCATE_H
#define CV_INTAKE_LOCATE_H

#include "io/source.h"

/* Could the bytes of 'head' (>= 20 of them) start a device ELF? */
bool cv_locate_is_device(cv_span head);
/* Is more than magic and machine as a device ELF has it: class, byte order, version? */
bool cv_locate_plausible(cv_span head);
/* Could they start a container or a device ELF? */
bool cv_locate_is_code(cv_span head);
/* Does what could start one lie on both sides of 'at', in [from, end) of the source? *hit: where it begins.
 * For what is searched in two parts, one up to there and one from there on. */
CV_MUST cuvet_status cv_locate_across(cv_ctx *ctx, cv_block *tmp, const cuvet_source *src, uint64_t from,
                                      uint64_t at, uint64_t end, bool *found, uint64_t *hit);
/* Could they start an ELF for another machine? */
bool cv_locate_is_host(cv_span head);

/* LIMIT: more sections than limits.sections; whoever asks says so, or lets the full parse say it. */
typedef enum cv_located { CV_LOCATED_NO = 0, CV_LOCATED_YES, CV_LOCATED_LIMIT } cv_located;

/* *extent: bytes from 'at', at most end - at. *found NO: the tables do not fit;
 * the full parse says why. 'tmp' holds the section table. */
CV_MUST cuvet_status cv_locate_extent(cv_ctx *ctx, cv_block *tmp, const cuvet_source *src, uint64_t at,
                                      uint64_t end, cv_located *found, uint64_t *extent);

#endif

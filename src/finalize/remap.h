/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Debug information follows code that moved. Lines and frames are decoded, each address is looked up in the
 * offset map of its function, and what changed is encoded anew: rows keep their number and their order, and
 * whatever did not move keeps its bytes. Other debug sections follow through their relocations. */
#ifndef CV_FINALIZE_REMAP_H
#define CV_FINALIZE_REMAP_H

#include "bytes/builder.h"
#include "finalize/job.h"
#include "format/dwarf/read.h"

#define CV_STILL UINT32_MAX /* map of a site that does not move */

/* A relocation of a debug section: a place that somebody else names. */
typedef struct cv_site {
    uint64_t at;    /* of the field, in the section */
    uint64_t place; /* in the code section that is named, before it moved */
    uint32_t map;   /* of said->maps; CV_STILL: other code, or none */
    bool code;      /* it names code at all */
} cv_site;

CV_VEC(cv_sites, cv_site);

/* One section on its way. */
typedef struct cv_remap {
    cv_ctx *ctx;
    cv_span section;
    const cv_sites *sites; /* of this section, ascending by 'at' */
    const cv_backend_out *said;
    cv_builder out;
    cv_moves shifts; /* of the bytes of the section itself: where in 'out' they are */
    /* private to the rewriters */
    uint64_t done, site;
} cv_remap;

/* Are maps and moves in order? One report, CV-DWARF-012, for the first that is not. @return OK · MALFORMED ·
 * LIMIT */
CV_MUST cuvet_status cv_remap_check(cv_ctx *ctx, const cv_backend_out *said, const cv_cubin *cubin);
/* Where a place of a section is now. False: it lies behind the code. */
CV_MUST bool cv_remap_place(const cv_backend_out *said, uint32_t map, uint64_t from, uint64_t *to);
/* The first place that is now at 'to': for symbols, whose values speak of the new code. */
uint64_t cv_remap_origin(const cv_backend_out *said, uint32_t map, uint64_t to);
/* Where an offset of a section that was rewritten is now. */
uint64_t cv_remap_shifted(const cv_moves *shifts, uint64_t off);

/* Rewrite s into out. @return OK · MALFORMED · UNSUPPORTED · LIMIT · NOMEM, all reported but the last */
CV_MUST cuvet_status cv_remap_lines(cv_remap *remap);
CV_MUST cuvet_status cv_remap_frames(cv_remap *remap);

/* For the rewriters. */
/* What was read as it stands up to 'at'. */
void cv_remap_keep(cv_remap *remap, uint64_t at);
/* From 'at' on, bytes are where the output ends now. */
CV_MUST bool cv_remap_resume(cv_remap *remap, uint64_t at);
/* The one relocation at 'at'. NULL: reported. Asked with ascending places. */
const cv_site *cv_remap_site(cv_remap *remap, uint64_t at, cuvet_status *st);
CV_MUST cuvet_status cv_remap_bad(const cv_remap *remap, const cv_dwarf_bad *bad);
CV_MUST cuvet_status cv_remap_no(const cv_remap *remap, cv_rule rule, uint64_t at, uint64_t got,
                                 uint64_t want);

/* The stage; see finalize/job.h. */
CV_MUST cuvet_status cv_final_remap(cv_ctx *ctx, const cv_cubin *cubin, const cv_backend_out *said,
                                    cv_final_bodies *bodies, cv_final *code);

#endif

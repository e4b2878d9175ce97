/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Parts of the scan. */
#ifndef CV_SCAN_PARTS_H
#define CV_SCAN_PARTS_H

#include "scan/scan.h"

static inline cv_level *cv_scan_top(const cv_scan *scan)
{
    return CV_ARRAY_GET(scan->level, scan->n_levels - 1);
}

/* Memory of the scan itself: a limit is a finding like every other, the allocator's refusal is a status. */
CV_MUST cuvet_status cv_scan_no_memory(cv_scan *scan, const cv_mem *mem);

/* level.c */
/* A level over src; 'from' is the member that holds it (its memory moves to the level), NULL for the file
 * itself. Content that was decompressed has a source of its own; raw content is a range of the source of the
 * level above. */
CV_MUST cuvet_status cv_scan_open_level(cv_scan *scan, const cuvet_source *src, cv_result *from);
void cv_scan_close_level(cv_scan *scan, cv_level *level);
void cv_scan_free_results(cv_level *level);

#endif

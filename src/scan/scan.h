/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The scan: walks, has its units examined (by one worker or by several threads) and delivers items and
 * diagnostics in an order that depends on the input only. Containers inside members are walked as levels of
 * their own. */
#ifndef CV_SCAN_SCAN_H
#define CV_SCAN_SCAN_H

#include <cuvet/scan.h>

#include "intake/walk.h"

CV_VEC(cv_results, cv_result);
CV_VEC(cv_workers, cv_worker *);

/* Units examined together when several threads work: long enough that a slow last member does not leave the
 * others idle. */
#define CV_SCAN_BATCH       1024u
#define CV_SCAN_FIRST_BATCH 256u
/* What is kept of a scan that goes ahead: units, and diagnostics or bytes of identifiers. */
#define CV_SCAN_AHEAD_UNITS 1024u
#define CV_SCAN_AHEAD_DIAGS 4096u
#define CV_SCAN_AHEAD_IDENT (256 * CV_KIB)
#define CV_SCAN_JOBS_MAX    256u
#define CV_SCAN_LEVELS      17u

typedef struct cv_level {
    cv_ctx ctx; /* of the walk */
    cv_walk walk;
    cuvet_source src;
    cv_source_state state; /* of the source, when it was opened */
    cv_result from;        /* the unit whose content this is; level 0: empty */
    bool owned;            /* its bytes belong to a unit of the level above: claims are second owners */
    bool ended;
    cuvet_status end;   /* why the walk ended */
    uint64_t walk_work; /* of the walk, charged so far */
    cv_units units;
    cv_results results;
    uint64_t batch;     /* units to examine together next */
    uint64_t next_unit; /* next one to deliver */
    cv_diags diags;     /* of the walk … */
    cv_u64s before;     /* … each with the number of units it comes before */
    uint64_t next_diag;
    uint64_t sent[3]; /* per severity */
    bool lost;        /* a diagnostic could not be kept */
    bool push_area;   /* the unit delivered last holds device code in its header: walk it next */
    bool push_nested; /* … or in its content */
} cv_level;

typedef struct cv_scan {
    cv_mem mem;
    cuvet_alloc alloc;
    cuvet_limits lim;
    cuvet_scan_options opt;
    cv_admit_for admit;
    cv_emit_fn *emit;
    void *emit_user;
    cv_level *level[CV_SCAN_LEVELS];
    uint32_t n_levels;
    cv_workers workers;
    cuvet_summary sum;
    cv_budget budget;           /* of the file, all levels: what was delivered so far has cost */
    uint32_t seen[CV_N_RULES];  /* delivered or not, of this file */
    uint64_t total[CV_N_RULES]; /* the same with what units and walks only counted */
    uint64_t closed_peak;       /* of memory, of the dearest level that is gone */
    const cv_result *current;   /* last delivered */
    bool begun;                 /* somebody asked for units … */
    bool ahead;                 /* … or some were examined before that */
    bool link;                  /* somebody chooses one unit of each container */
    bool over;
} cv_scan;

CV_MUST cuvet_status cv_scan_open(cv_scan *scan, const cuvet_alloc *alloc, const cuvet_limits *lim,
                                  const cuvet_source *src, const cuvet_scan_options *opt, cv_emit_fn *emit,
                                  void *emit_user);
/* Examine the first units now, on this thread, and keep what was found. @return OK: more is left · END: that
 * was all · STATE: not at the beginning · LIMIT: the memory limit got in the way, which it might not have
 * done to somebody who asks for one unit after the other · NOMEM · IO */
CV_MUST cuvet_status cv_scan_ahead(cv_scan *scan);
CV_MUST cuvet_status cv_scan_next(cv_scan *scan, cuvet_item *out);
/* The units are to be linked. Before the first one: containers are listed whole, as far as that is no more
 * than a batch, and host ELFs on the shelf are not read again. */
void cv_scan_for_link(cv_scan *scan, cv_host_shelf *shelf);
/* All units of the container whose first one was delivered last, until the next one is asked for. False: the
 * last one was not the first of a container, or that is damaged, or was not listed whole: it has to be walked
 * by whoever wants to know. */
CV_MUST bool cv_scan_container(const cv_scan *scan, cv_listing *out);
/* Is the last unit a device ELF of its own with nothing wrong with it, examined as one that is to be linked?
 */
CV_MUST bool cv_scan_is_own(const cv_scan *scan);
/* Then it is handed on, once: see cv_worker_move_out(). */
CV_MUST cuvet_status cv_scan_move_out(cv_scan *scan, cv_ctx *ctx, cv_block *bytes, cv_cubin *cubin);
/* Unpacked bytes of the last item; empty when there are none. */
cv_span cv_scan_payload(const cv_scan *scan);
void cv_scan_close(cv_scan *scan);
uint64_t cv_scan_peak(const cv_scan *scan);

/* Examine units [from, to) of a level into its results, with all workers or the first one (scan_pool.c). */
void cv_scan_examine(cv_scan *scan, cv_level *level, uint64_t from, uint64_t to, bool all_workers);

#endif

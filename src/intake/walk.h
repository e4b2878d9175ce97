/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The walk: from a source to its units. Opens archives, searches every object for containers and raw device
 * ELFs, steps through the members of each container, and accounts for every byte in between. Resumable: one
 * unit per call, constant memory. */
#ifndef CV_INTAKE_WALK_H
#define CV_INTAKE_WALK_H

#include "format/archive/read.h"
#include "host/host.h"
#include "intake/budget.h"
#include "intake/unit.h"
#include "io/source.h"

typedef enum cv_region_kind { CV_REGION_OBJECT, CV_REGION_ARCHIVE, CV_REGION_RAW } cv_region_kind;

/* A range of the source that is walked on its own: the file, an archive, a member of it. */
typedef struct cv_region {
    cv_region_kind kind;
    cuvet_path path; /* prefix of everything in it */
    bool started;
    bool bare; /* starts with a container: nothing but containers may follow */
    bool host; /* host ELF: w->host describes it */
    bool thin;
    bool compressed;   /* recognised as such, and not looked into */
    uint64_t off, end; /* in the source */
    uint64_t pos;      /* next byte to look at */
    uint64_t covered;  /* bytes before it have an owner */
    uint64_t rest_end; /* bytes before it belong to a damaged container */
    uint64_t index;    /* archive: next member */
    uint64_t n_fatbin, n_elf;
    cv_span names; /* archive: name table, in w->ar_names */
} cv_region;

/* Archives inside archives: bounded by limits.nesting, and by this. */
#define CV_WALK_DEPTH 16u

CV_VEC(cv_regions, cv_region);

typedef struct cv_walk {
    const cuvet_source *src;
    bool ledger;
    bool nested; /* the bytes are the content of other device code */
    bool over;   /* the file limit of containers was reached */
    cv_regions stack;
    cv_window window;
    cv_block tmp;      /* section tables, probes */
    cv_u8s name;       /* of the current archive member */
    cv_u8s names;      /* pool of the names that units of this batch refer to */
    uint64_t ar_name;  /* of the current one in the pool … */
    bool named;        /* … where it is already */
    cv_block ar_table; /* body of the // member */
    cv_host host;
    cv_host_shelf *shelf; /* of host ELFs that somebody has read before; NULL: none */
    cv_u64s found;        /* containers of the current object, ascending */
    /* the container that is walked now */
    bool in_container;
    bool broken;
    bool clipped;
    uint64_t container, body_end, at, entry;
    bool referenced;
    cuvet_place place;
    cv_u64s targets; /* kind, arch, suffix of its members so far */
    cv_unit_head head;
    cv_ledger claims; /* of the file, handed out by the scan */
    /* counts of the file */
    uint64_t n_containers, n_unreferenced, n_members, n_images, gap_bytes, unpacked, stored;
} cv_walk;

/* Walk [off, end) of src: the file, or a member that holds a container. */
CV_MUST cuvet_status cv_walk_open(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off,
                                  uint64_t end, cv_region_kind kind, bool ledger);
/* Next unit. @return OK · END · IO · NOMEM · LIMIT (live memory). Diagnostics go to 'ctx' as they are met. */
CV_MUST cuvet_status cv_walk_next(cv_ctx *ctx, cv_walk *walk, cv_unit *out);
/* Is it the first container of its section or of a bare file: the only one that the reference linker reads?
 */
bool cv_walk_is_first(const cv_walk *walk, uint64_t container_off);
/* The units so far are done with: their names may go. */
void cv_walk_forget(cv_walk *walk);
/* Is there more to come of the container that the last unit is in? */
bool cv_walk_is_inside(const cv_walk *walk);
void cv_walk_close(cv_ctx *ctx, cv_walk *walk);

#endif

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

struct cv_container_ops;

/* A range of the source that is walked on its own: the file, an archive, a member of it; or what was found in
 * such a range, a container or a device ELF, which the rest of it goes on behind. */
typedef struct cv_region {
    const struct cv_container_ops *row;  /* what it is; NULL: not looked at yet */
    const struct cv_container_ops *head; /* what its first bytes are, where that is less than all of it */
    void *state;                         /* of the row */
    cuvet_path path;                     /* prefix of everything in it */
    bool raw;                            /* can be no object */
    bool table;                          /* of an archive, or what is left of a damaged one */
    cuvet_place place;                   /* of what lies in it; 0: where rules of files and archives put it */
    bool found;                          /* in the region below it on the stack … */
    bool embedded;                       /* … by the search */
    bool bare;                           /* starts with a container: nothing but containers may follow */
    bool host;                           /* host ELF: w->host describes it */
    bool compressed;                     /* recognised as such, and not looked into */
    bool broken;                         /* it could not be walked to its end */
    bool cuda;                           /* somebody says that it is for a CUDA device */
    const struct cv_container_ops *must; /* what it has to be; NULL: it is looked at */
    uint64_t off, end;                   /* in the source */
    uint64_t pos;                        /* next byte to look at */
    uint64_t covered;                    /* bytes before it have an owner */
    uint64_t rest_end;                   /* bytes before it belong to a damaged container */
    uint64_t n_fatbin, n_elf;
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
    cv_host_extents code; /* they, and device ELFs, of a host file */
    cv_u64s targets;      /* kind, arch, suffix of the members so far of the container that is walked */
    cv_ledger claims;     /* of the file, handed out by the scan */
    /* counts of the file */
    uint64_t n_containers, n_unreferenced, n_members, n_images, gap_bytes, unpacked, stored;
} cv_walk;

/* Walk [off, end) of src: the file, or a member that holds a container. raw: it can be no object. */
CV_MUST cuvet_status cv_walk_open(cv_ctx *ctx, cv_walk *walk, const cuvet_source *src, uint64_t off,
                                  uint64_t end, bool raw, bool ledger);
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

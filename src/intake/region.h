/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kinds of what device code lies in, one row of spec/containers.def and one file (kind_*.c) each. The walk,
 * not the rows, keeps what bytes have an owner, limits, names, paths and claims; a row says what is next in
 * its region. No row knows another one but where its format says what lies there. */
#ifndef CV_INTAKE_REGION_H
#define CV_INTAKE_REGION_H

#include "intake/walk.h"

/* What a look at the first bytes says. */
typedef enum cv_probe_result {
    CV_PROBE_NO = 0,
    CV_PROBE_YES,
    CV_PROBE_CUT, /* as far as they go: too few to tell */
    CV_PROBE_MORE /* more of them may tell */
} cv_probe_result;

/* Magic of a kind: of 'count' bytes 'least' are needed to take them for its beginning. */
typedef struct cv_magic {
    uint64_t value;
    uint64_t count, least;
    cuvet_kind type;
} cv_magic;

typedef enum cv_piece_kind {
    CV_PIECE_NONE = 0, /* nothing yet: ask again */
    CV_PIECE_UNIT,     /* device code, in *unit */
    CV_PIECE_REGION,   /* bytes that are walked on their own, whatever they are */
    CV_PIECE_TABLE,    /* the same; where no tool looks for any */
    CV_PIECE_HIT,      /* a magic that a search has found: a container, or a device ELF, if it is one */
    CV_PIECE_HEAD,     /* what the region was taken for begins here */
    CV_PIECE_END       /* that was all; region->pos is where it ended */
} cv_piece_kind;

typedef struct cv_piece {
    cv_piece_kind what;
    uint64_t off, end;
    cuvet_step_kind step;               /* REGION, TABLE: in the path of what is in it … */
    uint64_t index;                     /* … with its number */
    bool raw;                           /* … which can be no object */
    bool cuda;                          /* REGION: somebody says that it is for a CUDA device */
    const struct cv_container_ops *row; /* REGION: what it has to be; NULL: it is looked at */
    cuvet_place place;                  /* REGION: of what lies in it; 0: as in archives */
    cv_span head;                       /* HIT: what is in memory from there on */
} cv_piece;

struct cv_look; /* see probe.h */
struct cv_examine_job;

typedef struct cv_container_ops {
    const char *name;
    cuvet_kind kind;
    cuvet_step_kind step; /* in the path of what was found */
    bool holds;    /* its regions are walked by it; otherwise it is a piece of bytes that are searched */
    bool nests;    /* … and hold whole files: limits.nesting */
    bool searched; /* the search finds it, wherever it lies */
    size_t state_size;
    const cv_magic *magic;
    size_t n_magics;
    /* Pure; head: as much of it as was read. */
    cv_probe_result (*probe)(cv_span head);
    /* Of what the probe knows, for cuvet_classify(). NULL: it is for the walk alone. */
    cuvet_status (*describe)(struct cv_look *look);
    /* Is it one, where a search has found it (region->embedded)? May read, and report what is no more than
     * its magic. Sets region->end, as far as it is known before it is opened. NULL: yes. */
    cuvet_status (*check)(cv_ctx *ctx, cv_walk *walk, const cv_region *in, cv_region *region, cv_span head,
                          bool *here);
    /* Begin. MALFORMED: it is broken, which was reported. */
    cuvet_status (*open)(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_span head);
    cuvet_status (*next)(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece, cv_unit *unit);
    /* whole: all of it was walked. What it reads then may fail. */
    cuvet_status (*close)(cv_ctx *ctx, cv_walk *walk, cv_region *region, bool whole);
    /* In the worker: one of its units, against what its record says. */
    void (*examine)(struct cv_examine_job *job);
} cv_container_ops;

/* All kinds; the last one takes everything. */
extern const size_t cv_n_containers;
const cv_container_ops *cv_containers_row(size_t index);

#define CONTAINER(name) extern const cv_container_ops cv_kind_##name;
#include "containers.def"
#undef CONTAINER

/* The first row that knows these bytes; *more: another row would like to see more of them. */
const cv_container_ops *cv_containers_probe(cv_span head, bool *more);
/* Row of a search's hit; NULL: there is none. */
const cv_container_ops *cv_containers_hit(cv_span head);
/* Row of what is device code by itself. */
const cv_container_ops *cv_containers_of(cuvet_kind kind);

/* What rows ask of the walk. */
/* The file or member that is walked: the top of the stack, or below what was found in it. */
cv_region *cv_walk_object(cv_walk *walk);
/* How many archives it lies in. */
uint64_t cv_walk_depth(const cv_walk *walk);
/* The name of what comes next, for its units. */
CV_MUST cuvet_status cv_walk_name(cv_ctx *ctx, cv_walk *walk, cv_span name);
/* Fill what all units of the current place share. */
CV_MUST cuvet_status cv_walk_unit(cv_ctx *ctx, cv_walk *walk, cuvet_place place, uint64_t off, cv_unit *out);
void cv_walk_claim(cv_ctx *ctx, cv_walk *walk, uint64_t off, uint64_t len, cv_claim_kind owner,
                   uint32_t index);
/* Bytes of the region up to 'to' that nobody has claimed yet: they are nobody's. For rows whose parts lie in
 * bytes that are searched. */
CV_MUST cuvet_status cv_walk_gap(cv_ctx *ctx, cv_walk *walk, cv_region *region, uint64_t to);
/* Report what begins before a place where one part of the region, or the region, ends, and goes on behind it
 * in [from, end) of the source: neither part has it. */
CV_MUST cuvet_status cv_walk_border(cv_ctx *ctx, cv_walk *walk, uint64_t from, uint64_t at, uint64_t end);
/* Say it when the code at this place is where nobody looks for any. @param size of it, in bytes */
void cv_walk_say_place(cv_ctx *ctx, const cv_walk *walk, uint64_t at, uint64_t size, cuvet_place place);
/* The region as one unit. */
CV_MUST cuvet_status cv_walk_whole(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece,
                                   cv_unit *unit);
/* Search for what lies in the region (kind_raw.c): the next() of everything that is searched. */
CV_MUST cuvet_status cv_walk_search(cv_ctx *ctx, cv_walk *walk, cv_region *region, cv_piece *piece,
                                    cv_unit *unit);

/* The same, of what begins before 'end'. */
CV_MUST cuvet_status cv_walk_search_to(cv_ctx *ctx, cv_walk *walk, const cv_region *region, uint64_t end,
                                       cv_piece *piece);

/* Section of a host ELF where only containers may be. */
static inline bool cv_walk_holds_containers(const cv_host_section *header)
{
    return header->kind == CV_HOSTOBJ_FATBIN || header->kind == CV_HOSTOBJ_RELFATBIN;
}

#endif

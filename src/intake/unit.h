/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A unit is one piece of device code that the walk has found and a worker examines on its own: a member of a
 * container, a raw device ELF, a PTX text. What comes out is a result: the item for the caller, its
 * diagnostics, its claims. */
#ifndef CV_INTAKE_UNIT_H
#define CV_INTAKE_UNIT_H

#include <cuvet/scan.h>

#include "base/ctx.h"
#include "base/vec.h"
#include "codec/codec.h"
#include "cubin/admit.h"
#include "cubin/cubin.h"
#include "format/fatbin/read.h"

/* How its content is stored. */
typedef enum cv_packing {
    CV_PACK_RAW = 0,
    CV_PACK_LZ4,
    CV_PACK_ZSTD,
    CV_PACK_OPAQUE /* as nobody but its writer knows */
} cv_packing;

struct cv_container_ops;

/* The fixed part of a member header. */
typedef struct cv_unit_head {
    uint8_t bytes[CV_FATBIN_MEMBER];
} cv_unit_head;

typedef struct cv_unit {
    const struct cv_container_ops *row; /* that made it; of what is no member of a container: what it is */
    cv_packing packing;
    cuvet_path path;
    uint64_t off;          /* of the member header, or of the image or text, in the source */
    uint64_t header_size;  /* of the record in front of it, in a container; 0: it is none of those */
    uint64_t payload_size; /* stored bytes behind the header; for images and texts: all of it */
    uint64_t container_off;
    bool referenced;
    cuvet_place place;
    bool embedded;                 /* an image in the middle of something else */
    bool for_cuda;                 /* what it lies in says that it is for a CUDA device */
    uint64_t unpacks;              /* bytes that its content is decompressed to … */
    uint64_t unpacked;             /* … with those of the units before it in this walk */
    uint64_t walk_work;            /* that the walk had spent by then */
    uint64_t work_most;            /* for the examination, if the file has no more than that */
    bool skip_payload;             /* the budget of the file is used up: headers only */
    cv_unit_head head;             /* as the walk saw it: the worker's copy must be the same */
    uint64_t ar_name, ar_name_len; /* in the walk's name pool */
} cv_unit;

/* Is it a member of a container, with a record of its own? */
static inline bool cv_unit_is_member(const cv_unit *unit)
{
    return unit->header_size != 0;
}

/* What the kind field of a member header says. */
cuvet_kind cv_unit_kind_of(uint16_t kind);

CV_VEC(cv_units, cv_unit);

/* Units that lie one behind the other. */
typedef struct cv_listing {
    const cv_units *units;
    uint64_t first, count;
} cv_listing;
CV_VEC(cv_diags, cuvet_diag);

typedef struct cv_result {
    cv_mem *mem; /* of the worker that made it */
    cuvet_item item;
    cv_diags diags;
    cv_u8s ident;             /* bytes item.ident points to */
    cv_u8s triple;            /* … and item.triple */
    cuvet_diag live;          /* the live limit, when it could not be kept among them … */
    bool has_live, live_said; /* … and whether it is */
    const uint32_t *seen;     /* see cv_examine_options */
    uint64_t cap;
    uint64_t suppressed; /* diagnostics above the cap of the unit */
    cv_keys totals; /* if there are such: how often (index) each rule (key) was reported, the kept included */
    uint64_t n_notes;
    uint64_t work; /* that was spent */
    cuvet_verdict verdict;
    cv_span payload;   /* unpacked bytes in the worker's block; empty when not unpacked */
    bool nested;       /* the content is a container, or holds more device code: it is walked next */
    bool nested_inner; /* … is decompressed content */
    bool nested_whole; /* … is a container */
    uint64_t nested_off, nested_len; /* where in the content */
    bool area;                       /* device code begins in the header, or across its end: walked as well */
    uint64_t area_off;               /* … there, from the start of the header */
    cv_block content;                /* decompressed content, taken from the worker (take) */
    bool text;                       /* plain text throughout */
    bool cubin;                      /* the worker has the parsed object of a device ELF */
    bool own;                        /* … and its bytes, which begin at 0: see cv_worker_move_out() */
    bool claimed;                    /* the parts of a device ELF are in the ledger */
    cv_ledger file, inner;           /* claims in the source and in what this unit was decompressed to */
    cuvet_status status;             /* OK, or NOMEM, INTERNAL: the scan cannot go on */
} cv_result;

void cv_result_free(cv_result *result);
/* *to was free; *from is afterwards. */
void cv_result_move(cv_result *to, cv_result *from);

/* Everything one thread needs; not shared. */
typedef struct cv_worker {
    cv_ctx ctx;
    cv_codec codec;
    cv_block head; /* of the member */
    cv_block stored, unpacked;
    cv_window window; /* small members that follow one another are read together */
    cv_cubin cubin;
    cv_islands islands; /* that it refers to, where it outlives the call that examined it */
} cv_worker;

void cv_worker_init(cv_worker *worker, const cuvet_alloc *alloc, const cuvet_limits *lim);
void cv_worker_free(cv_worker *worker);

/* The device ELF that was examined last, for whoever goes on with it: 'content', a block of the worker that
 * holds its bytes, and what was parsed of them become those of another context.
 * @return OK · LIMIT (reported there) */
CV_MUST cuvet_status cv_worker_move_out(cv_worker *worker, cv_block *content, cv_span image, cv_ctx *ctx,
                                        cv_block *bytes, cv_cubin *cubin);

typedef struct cv_examine_options {
    cuvet_depth depth;
    bool ledger;
    bool take;   /* content that holds more device code goes along in the result */
    bool own;    /* content that is stored raw is copied like one that is unpacked: its offsets begin at 0 */
    bool strict; /* it is to be linked */
    bool inner;  /* the source is decompressed content that is stored at anchor */
    uint64_t anchor;
    const cv_admit_for *admit; /* notes where a device ELF would not be admitted; NULL: not judged */
    bool follows; /* the unit before was of the same source: what was read ahead for it may be used */
    cv_span near; /* bytes of the source that are in memory already: a unit in them is not read again */
    /* Per rule, how many were delivered of this file so far: more than the cap are only counted. May be
     * NULL. */
    const uint32_t *seen;
} cv_examine_options;

/* Examine one unit; *result is overwritten (free the old one first). Never fails: result->status tells. */
void cv_examine(cv_worker *worker, const cuvet_source *src, const cv_unit *unit,
                const cv_examine_options *opt, cv_result *result);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What makes the code of a finalization: a backend. It gets an input that was examined, and writes a whole
 * device ELF into a sink. Nothing of what it says is believed: the engine examines its file like any
 * stranger's, and compares it with the input. A backend keeps no globals and reads no environment; run may be
 * called by several threads for one 'self'. */
#ifndef CV_FINALIZE_BACKEND_H
#define CV_FINALIZE_BACKEND_H

#include "cubin/cubin.h"
#include "io/source.h"
#include "target/retarget.h"

/* Kinds of device ELFs, by their bits in e_flags. */
typedef enum cv_kind { CV_KIND_NONE = 0, CV_KIND_MERCURY = 1, CV_KIND_CAPMERC = 2, CV_KIND_SASS = 4 } cv_kind;

typedef enum cv_backend_caps {
    CV_BACKEND_COPY = 1,
    CV_BACKEND_STRIP = 2,
    CV_BACKEND_DECODE = 4, /* makes Mercury from a capsule */
    CV_BACKEND_ENCODE = 8, /* makes code or capsules from Mercury */
    CV_BACKEND_CROSS_FAMILY = 16,
    CV_BACKEND_OUT_OF_PROCESS = 32,
    CV_BACKEND_RELOC_ONLY = 64 /* takes relocatable inputs only */
} cv_backend_caps;

/* What is to be made. Everything lasts as long as the call. */
typedef struct cv_backend_req {
    cv_span in;            /* the whole input, examined */
    const cv_cubin *cubin; /* the same, parsed */
    const char *name;      /* for messages only; never a path to be opened */
    cv_kind in_kind, out_kind;
    uint32_t src_sm, dst_sm;
    char src_suffix, dst_suffix; /* 'a', 'f' or 0 */
    const cv_compat *compat;     /* NULL: the input has no .nv.compat */
    uint8_t level_most;          /* claims of the input above this level of finalization are not believed */
    bool fastpath;               /* the bytes may be taken as they are where the input says that they run */
    uint64_t max_output;         /* bytes that the result may have */
    /* Becomes true when the result is not wanted any more; read atomically; may be NULL. */
    const int *cancel;
} cv_backend_req;

/* Where the code of a function went: what was at 'from' is at 'to', both from the start of its section. */
typedef struct cv_moved {
    uint64_t from, to;
} cv_moved;

CV_VEC(cv_moves, cv_moved);

/* One function that moved. Its moves are [first, first + n) of the list, and ascend strictly in 'from'; what
 * lies between two of them moved with the lower one. */
typedef struct cv_offset_map {
    uint32_t section;            /* of the code, in the image that the backend wrote */
    uint64_t size_from, size_to; /* of the code, before and after */
    uint64_t first, count;
} cv_offset_map;

CV_VEC(cv_offset_maps, cv_offset_map);

/* What a backend says besides the image; owned by the engine, in the memory of the job. */
typedef struct cv_backend_out {
    bool moved; /* false: all code bytes are those of the input, at their places, and maps are empty */
    /* true: the debug sections of the image still say what those of the input said, and the engine has to
     * follow the maps. A backend that wrote fitting debug sections itself says false here, and code_changed.
     */
    bool code_changed; /* the bytes of some function are not those of the input */
    /* They are, and the mask in .nv.compat of the image now says that they run on the target. */
    bool runs_there;
    cv_offset_maps maps;
    cv_moves moves;
    cv_final code; /* why it did not deliver; CV_FINAL_OK: it did */
} cv_backend_out;

/* Where a backend writes its image: from the first byte to the last, each once. */
typedef struct cv_final_sink {
    cv_ctx *ctx;
    cv_block *to;
    uint64_t size, at, most;
    bool begun, done;
} cv_final_sink;

/* An image of so many bytes follows. @return OK · LIMIT · NOMEM · INTERNAL (begun before) */
CV_MUST cuvet_status cv_final_sink_begin(cv_final_sink *sink, uint64_t size);
/* The next bytes. False: more than was said, nothing is written. */
CV_MUST bool cv_final_sink_put(cv_final_sink *sink, cv_span bytes);
CV_MUST bool cv_final_sink_zero(cv_final_sink *sink, uint64_t count);
/* All was written. False: it was not. */
CV_MUST bool cv_final_sink_end(cv_final_sink *sink);

enum { CV_BACKEND_ABI = 1 };

typedef struct cv_backend {
    uint32_t abi; /* CV_BACKEND_ABI */
    const char *name;
    uint32_t caps; /* cv_backend_caps */
    /* Can it? Pure and cheap. CV_FINAL_OK, and *cost says how dear it would be: the cheapest that can is
     * taken (copy 1, strip 2, a child process from 100 on). Otherwise the code that says why not. */
    cv_final (*probe)(const void *self, const cv_backend_req *req, uint32_t *cost);
    /* Make the image. OK, or the status of what was reported with cv_reject(), with out->code set as well. */
    cuvet_status (*run)(void *self, cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                        cv_backend_out *out);
} cv_backend;

/* A backend and its state, as the caller of the engine has opened it. */
typedef struct cv_backend_use {
    const cv_backend *backend;
    void *self;
} cv_backend_use;

/* The input for the target. Unless its own mask says that its code runs there, that of the copy does: for a
 * caller who has found out. @return as a run */
CV_MUST cuvet_status cv_backend_copy_as(cv_ctx *ctx, const cv_backend_req *req, cv_final_sink *to,
                                        cv_backend_out *out);
/* Has it a mask where that can be said? */
CV_MUST bool cv_backend_can_copy_as(const cv_backend_req *req);

extern const cv_backend cv_backend_copy;
extern const cv_backend cv_backend_strip;

#endif

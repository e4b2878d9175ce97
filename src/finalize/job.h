/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One finalization on its way through the stages (engine.c). Everything it makes is in the memory of the job
 * and goes at its end, but for the result. */
#ifndef CV_FINALIZE_JOB_H
#define CV_FINALIZE_JOB_H

#include "bytes/builder.h"
#include "finalize/backend.h"

typedef enum cv_final_phase { CV_PHASE_ALONE = 0, CV_PHASE_PRELINK, CV_PHASE_POSTLINK } cv_final_phase;

/* What is wanted; borrowed through the run. */
typedef struct cv_final_options {
    uint32_t target_sm; /* 0: that of the input */
    char target_suffix;
    cv_kind kind; /* CV_KIND_NONE: that of the input */
    cv_final_phase phase;
    bool fastpath_off, self_check;
    uint8_t level_most;                       /* claims above it are not believed, 0 to 4 */
    bool exact;                               /* code for sm_Na goes to sm_Na only */
    cv_span tool, tool_version, tool_command; /* of a note of our own; tool empty: none */
    uint64_t key[2];                          /* of hashes; the result does not depend on it */
    uint64_t max_output;
    const cv_backend_use *backend; /* to choose from */
    size_t n_backends;
    void (*trace)(void *user, const char *line); /* may be NULL */
    void *trace_user;
    const int *cancel; /* may be NULL */
} cv_final_options;

/* What a section is to a finalization. */
typedef enum cv_part {
    CV_PART_CODE, /* .text and what else belongs to the finished code */
    CV_PART_DEBUG,
    CV_PART_RELOC,
    CV_PART_STRINGS, /* string tables */
    CV_PART_SYMBOLS, /* symbol tables */
    CV_PART_OTHER,
    CV_PART_CAPSULE, /* .nv.capmerc.* … */
    CV_PART_TWIN     /* … and the Mercury forms of other sections */
} cv_part;

/* New contents of a section of the image that the backend wrote. */
typedef struct cv_final_body {
    uint32_t section;
    cv_builder bytes;
} cv_final_body;

CV_VEC(cv_final_bodies, cv_final_body);

typedef struct cv_final_job {
    cv_ctx *ctx;
    const cv_final_options *options;
    const char *name; /* for messages */
    cv_final code;    /* of the first thing that went wrong */
    /* admit */
    cv_span in;
    cv_cubin cubin; /* the input, parsed */
    cv_kind in_kind, out_kind;
    uint32_t dst_sm;
    bool accel;    /* code for sm_Na only */
    bool verbatim; /* the input is what was asked for */
    bool linked;   /* a linker has written it */
    uint64_t n_capsules;
    /* classify */
    cv_u8s part;
    /* transform */
    cv_backend_use use; /* backend NULL: nothing to do */
    cv_backend_req req;
    cv_backend_out said;
    cv_block made;       /* what the backend wrote … */
    cv_cubin made_cubin; /* … and that, parsed */
    /* debug remap, notes */
    cv_final_bodies bodies; /* ascending */
    cv_block *out;
    cv_cubin result; /* *out, parsed */
    uint64_t stage;
    /* the first error of the examination at hand */
    cv_emit_fn *emit;
    void *emit_user;
    cv_rule first_error;
    bool has_error, of_result;
    bool sides_differ; /* the Mercury side of the input says something else than the native one */
} cv_final_job;

CV_BUF_BEGIN
static inline const cv_backend_use *cv_backend_use_at(const cv_final_options *options, size_t index)
{
    return &options->backend[index < options->n_backends ? index : 0];
}
CV_BUF_END

/* The whole of it: *out gets the result, unless OK nothing. The job is filled for whoever wants to know; end
 * it in every case. */
CV_MUST cuvet_status cv_final_run(cv_final_job *job, cv_ctx *ctx, const cv_final_options *options, cv_span in,
                                  const char *name, cv_block *out);
/* The first two stages, and which backend would be taken (job->use): nothing is made. */
CV_MUST cuvet_status cv_final_explain(cv_final_job *job, cv_ctx *ctx, const cv_final_options *options,
                                      cv_span in, const char *name);
/* Everything but *out. */
void cv_final_end(cv_final_job *job);
const char *cv_final_stage(uint64_t index);
/* Only in the build that shows that defects are noticed (tests/planted): makes the one that the environment
 * names (CV_PLANT), when this stage, or the backend, is what it is about. */
void cv_final_plant(cv_final_job *job, const char *stage);

/* Refuse with the code and what is wrong; the first code stays. */
CV_MUST cuvet_status cv_final_refuse(cv_final_job *job, cv_final code, cv_rule rule, uint64_t off,
                                     uint64_t got, uint64_t want);
/* Something that only a defect of ours lets happen. */
CV_MUST cuvet_status cv_final_broken(cv_final_job *job);
/* Memory ran out. */
CV_MUST cuvet_status cv_final_nomem(cv_final_job *job);

/* admit.c */
CV_MUST cuvet_status cv_final_prepare(cv_final_job *job);
CV_MUST bool cv_final_prepare_holds(const cv_final_job *job);
CV_MUST cuvet_status cv_final_admit(cv_final_job *job);
CV_MUST bool cv_final_admit_holds(const cv_final_job *job);
/* The form of a file; false: none, or several. */
CV_MUST bool cv_final_kind_of(const cv_elf_header *header, cv_kind *kind);
/* Examine an image; errors are told apart by the code that they amount to. */
CV_MUST cuvet_status cv_final_examine(cv_final_job *job, cv_cubin *cubin, cv_span image);
/* choose.c */
CV_MUST cuvet_status cv_final_fastpath(cv_final_job *job);
CV_MUST bool cv_final_fastpath_holds(const cv_final_job *job);
CV_MUST cuvet_status cv_final_choose(cv_final_job *job);
CV_MUST bool cv_final_choose_holds(const cv_final_job *job);
CV_MUST cuvet_status cv_final_transform(cv_final_job *job);
CV_MUST bool cv_final_transform_holds(const cv_final_job *job);
/* parts.c */
CV_MUST cuvet_status cv_final_classify(cv_final_job *job);
CV_MUST bool cv_final_classify_holds(const cv_final_job *job);
CV_MUST cuvet_status cv_final_read(cv_final_job *job);
CV_MUST bool cv_final_read_holds(const cv_final_job *job);
/* notes.c */
CV_MUST cuvet_status cv_final_follow(cv_final_job *job);
CV_MUST cuvet_status cv_final_notes(cv_final_job *job);
CV_MUST bool cv_final_notes_holds(const cv_final_job *job);
/* What a section is. */
cv_part cv_final_part(const cv_cubin *cubin, uint64_t index);
/* strip.c: the symbol that has no use without capsules; 0: none, or something names it. */
CV_MUST uint64_t cv_final_cap_symbol(const cv_cubin *cubin, const cv_u8s *part);
/* verify.c */
CV_MUST cuvet_status cv_final_verify(cv_final_job *job);
/* Do both say the same of one program? stripped: capsules and their twins do not count. bodies: new contents
 * of sections of the second file that the first does not have, NULL: none. The names of sections and symbols
 * must be the same in any case, their contents too unless made_again. @return OK, or the status of what was
 * reported, with *code set. */
typedef struct cv_final_tally {
    uint64_t code, other; /* code sections; those of them whose bytes are others */
} cv_final_tally;

typedef struct cv_final_same {
    const cv_cubin *before, *after;
    const cv_final_bodies *bodies;
    bool stripped, made_again;
    /* The mask of 'after' says that its code runs on this machine, that of 'before' may not; 0: the same. */
    uint32_t runs_on;
    cv_final_tally *tally; /* of code that was made again; may be NULL */
    uint64_t null_symbol;  /* symbol of the first that may be an empty entry in the second; 0: none */
    uint64_t key[2];
} cv_final_same;
CV_MUST cuvet_status cv_final_compare(cv_ctx *ctx, const cv_final_same *pair, cv_final *code);

#endif

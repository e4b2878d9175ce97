/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One link from objects to a file. */
#ifndef CV_LINK_RUN_H
#define CV_LINK_RUN_H

#include "link/graph/callgraph.h"
#include "link/write/write.h"

/* A link: where each of its parts is. It stays where it was begun. */
typedef struct cv_link {
    cv_ctx *ctx;
    uint64_t stage; /* that runs, or has run last */
    cv_gen plain;   /* the generation of the target, when an input has no capsule */
#define PART(name) cv_part_##name *name;
    CV_LINK_PARTS(PART)
#undef PART
    struct {
#define PART(name) cv_part_##name name;
        CV_LINK_PARTS(PART)
#undef PART
    } own;
} cv_link;

void cv_link_begin(cv_link *link, cv_ctx *ctx, const cv_link_options *options);
/* An object as it was parsed, examined and admitted, which becomes the link's. The image must stay until the
 * end. Nothing is written in it: the result borrows long code, but for the pieces that relocations patch.
 * @return OK · NOMEM · LIMIT, and the parsed object stays the caller's */
CV_MUST cuvet_status cv_link_add(cv_link *link, cv_span image, const cv_cubin *parsed, const char *name);
/* Before the recipe: does an object refer to a function that none defines, and that the driver does not
 * provide? out: those that do not count, by number. */
CV_MUST cuvet_status cv_link_lacks_functions(const cv_link *link, const cv_u8s *out, bool *lacks);
/* Take objects out again; the others keep their order. */
void cv_link_leave_out(cv_link *link, const cv_u8s *out);
/* The recipe up to and with stage number 'last'. @return OK · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_run_to(cv_link *link, uint64_t last);
/* One stage, those before it having run. */
CV_MUST cuvet_status cv_link_run(cv_link *link, uint64_t index);
/* Name of a stage; NULL: there are no more. */
const char *cv_link_stage(uint64_t index);
/* Something must hold after a stage: it does not only refuse. */
CV_MUST bool cv_link_is_checked(uint64_t index);
/* What must hold after a stage: OK, or INTERNAL, reported. */
CV_MUST cuvet_status cv_link_check(cv_link *link, uint64_t index);
/* @return OK: *file is the result, put together of *out, which is as long as the file and has everything but
 * the code that is borrowed, and of the images · REFUSED · LIMIT · NOMEM · INTERNAL */
CV_MUST cuvet_status cv_link_complete(cv_link *link, cv_block *out, cv_slices *file);
/* The call graph, told: cv_calls_tell(). */
CV_MUST cuvet_status cv_link_callgraph(const cv_link *link, const cuvet_callgraph_sink *sink);
void cv_link_end(cv_link *link);
/* Only in the build that shows that defects are noticed (tests/planted): makes the one that the environment
 * names (CV_PLANT), when this stage is the one that it is about. */
void cv_link_plant(cv_link *link, const char *stage);

#endif

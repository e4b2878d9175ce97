/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What each stage of a link sees: a struct with a pointer to each of its parts, to const where it only reads;
 * and what its checker sees: the same, and all of it const. A part that a row of recipe.def does not name is
 * not there, so that a stage which looks ahead does not compile. */
#ifndef CV_LINK_IN_RECIPE_H
#define CV_LINK_IN_RECIPE_H

#include "base/ctx.h"

/* The parts of a link, each defined by its room. */
#define CV_LINK_PARTS(PART)                                                                                  \
    PART(options)                                                                                            \
    PART(names)                                                                                              \
    PART(inputs)                                                                                             \
    PART(resolution)                                                                                         \
    PART(functions)                                                                                          \
    PART(uses)                                                                                               \
    PART(calls)                                                                                              \
    PART(usage)                                                                                              \
    PART(out)                                                                                                \
    PART(memory)                                                                                             \
    PART(fixups)                                                                                             \
    PART(records)                                                                                            \
    PART(layout)                                                                                             \
    PART(synthetics)                                                                                         \
    PART(file)                                                                                               \
    PART(reread)

#define PART(name) typedef struct cv_part_##name cv_part_##name;
CV_LINK_PARTS(PART)
#undef PART

#define READS(part) const cv_part_##part *part;
#define FILLS(part) cv_part_##part *part;
#define GROWS(part) cv_part_##part *part;
#define STAGE(name, room, parts, ...)                                                                        \
    typedef struct cv_view_##name {                                                                          \
        cv_ctx *ctx;                                                                                         \
        parts                                                                                                \
    } cv_view_##name;
#define JUDGE STAGE
#include "recipe.def"

#define READS(part) const cv_part_##part *part;
#define FILLS(part) const cv_part_##part *part;
#define GROWS(part) const cv_part_##part *part;
#define STAGE(name, room, parts, ...)                                                                        \
    typedef struct cv_check_##name {                                                                         \
        parts                                                                                                \
    } cv_check_##name;
#define JUDGE STAGE
#include "recipe.def"

/* The stages, each in the file of its name. Each returns OK, or the status of what it reported; INTERNAL is
 * what only a defect of ours brings about, and is reported by whoever runs it. */
#define READS(part)
#define FILLS(part)
#define GROWS(part)
#define STAGE(name, room, parts, ...) CV_MUST cuvet_status cv_stage_##name(const cv_view_##name *view);
#define JUDGE                         STAGE
#include "recipe.def"

/* What must hold after a stage, at the end of its file; one that only refuses has nothing of the kind. */
#define READS(part)
#define FILLS(part)
#define GROWS(part)
#define STAGE(name, room, parts, ...) CV_MUST bool cv_stage_##name##_holds(const cv_check_##name *view);
#define JUDGE(name, room, parts, ...)
#include "recipe.def"

/* What the checker of a stage sees, where the stage asks the same question. */
#define READS(part) .part = view->part,
#define FILLS(part) .part = view->part,
#define GROWS(part) .part = view->part,
#define STAGE(name, room, parts, ...)                                                                        \
    static inline cv_check_##name cv_check_of_##name(const cv_view_##name *view)                             \
    {                                                                                                        \
        return (cv_check_##name){ parts };                                                                   \
    }
#define JUDGE STAGE
#include "recipe.def"

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Lanes: independent parts of a piece of work, which threads of the caller do at the same time. Each has a
 * context of its own that tells nobody anything: where a lane has something to say, fails, or has not
 * enough memory or work, all of it is thrown away, and whoever opened the lanes does the work again alone.
 * So nobody can tell from what comes out whether there were lanes. All of them together may hold a quarter
 * of the memory that is left: one thread alone, whose lists are at most twice as long, would have had
 * enough. A single lane is a trial of something larger, on this thread, and may hold all of it. */
#ifndef CV_BYTES_LANES_H
#define CV_BYTES_LANES_H

#include <cuvet/executor.h>
#include <pthread.h>

#include "base/ctx.h"
#include "bytes/span.h"

typedef struct cv_lane {
    cv_ctx ctx;
    uint64_t work; /* that it had to begin with */
} cv_lane;

typedef struct cv_lanes {
    cv_ctx *ctx; /* of the work as a whole */
    const cuvet_executor *executor;
    cv_lane *lane;
    uint32_t count;
    bool joined;
    pthread_mutex_t lock; /* one lane at a time asks for memory */
} cv_lanes;

/* How many lanes are worth it for so many units of work. 0: none, and nothing is to be opened. */
CV_MUST uint32_t cv_lanes_for(const cuvet_executor *executor, uint64_t units);
/* False: no memory for them. */
CV_MUST bool cv_lanes_open(cv_lanes *lanes, cv_ctx *ctx, const cuvet_executor *executor, uint32_t count);
/* Each lane does work(user, index): with cv_lanes_at(), and it writes nothing that another one reads or
 * writes. False: it could not do it. Its islands end with it. */
typedef bool cv_lane_fn(void *user, uint32_t index);
/* All do. True: all could, none said anything, and what they hold of memory is that of the whole from
 * here on, which owes the work that they did. False: it is to be done again alone, and lanes hold what
 * they did. */
CV_MUST bool cv_lanes_run(cv_lanes *lanes, cv_lane_fn *work, void *user);
cv_lane *cv_lanes_at(const cv_lanes *lanes, uint32_t index);
/* What the blocks of a lane go back to: its own memory, or that of the whole. */
cv_mem *cv_lanes_memory(const cv_lanes *lanes, uint32_t index);
/* Lanes hold nothing any more. */
void cv_lanes_close(cv_lanes *lanes);

/* Without contexts: for parts that only read, and those that write each into a place of its own. True: all
 * could. */
CV_MUST bool cv_lanes_run_plain(const cuvet_executor *executor, uint32_t count, cv_lane_fn *work, void *user);

/* Shares of a list, one behind the other, that weigh about the same. */
typedef struct cv_shares {
    uint32_t first[CUVET_LANES_MOST + 1]; /* of each, and the end of the last */
    uint32_t count, open;
    uint64_t all, given; /* weight */
} cv_shares;

/* From element 'first' on, for so many lanes, with this weight in all. */
void cv_shares_begin(cv_shares *shares, uint32_t count, uint32_t first, uint64_t all);
/* The next element that weighs something. Shares do not overlap also where elements do not come in order. */
void cv_shares_add(cv_shares *shares, uint32_t index, uint64_t weight);
void cv_shares_end(cv_shares *shares, uint32_t end);
static inline uint32_t cv_share_first(const cv_shares *shares, uint32_t lane)
{
    return CV_ARRAY_GET(shares->first, lane);
}
static inline uint32_t cv_share_end(const cv_shares *shares, uint32_t lane)
{
    return CV_ARRAY_GET(shares->first, lane + 1);
}

#endif

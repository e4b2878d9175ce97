/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* An ordered pool: several threads work on items, one thread puts them in and takes them out again, in the
 * order in which they were put in. That thread works too where it would wait. Small items go from hand to
 * hand in groups, so that a lock costs little of what is done for one. */
#ifndef CLI_POOL_H
#define CLI_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cli_pool cli_pool;

typedef struct cli_pool_calls {
    void (*work)(void *item);                /* by any thread, once for each item */
    bool (*deliver)(void *user, void *item); /* by the owner, once for each item; false: no more are wanted */
    void (*drop)(void *item);                /* by the owner, for an item that is not delivered any more */
} cli_pool_calls;

/** @param threads that work, the owner's among them; at least 1
 *  @param most items that may be held at the same time; at least 1
 *  @return NULL without memory. Threads are started when there is work for them, and one that cannot be had
 *  is no failure. */
cli_pool *cli_pool_open(uint32_t threads, size_t item_size, size_t most, const cli_pool_calls *calls,
                        void *user);
/** Room for the next item, zeroed, after older ones were delivered if there is none. NULL: no more are
 * wanted. cli_pool_put() has to follow. */
void *cli_pool_room(cli_pool *pool);
/** The item is whole; `weight` is what it costs, in bytes to be read. @return false: no more are wanted. */
bool cli_pool_put(cli_pool *pool, uint64_t weight);
/** The owner has nothing to put in at this time: work, or deliver, some of what was. @return false: there is
 * nothing left of it, or no more are wanted. */
bool cli_pool_step(cli_pool *pool);
/** Deliver all that was put in. @return false: no more are wanted. */
bool cli_pool_drain(cli_pool *pool);
/** Called while an item is delivered: until it ends, no other thread works. Waits for those that do. */
void cli_pool_pause(cli_pool *pool);
/** Drops what was not delivered. */
void cli_pool_close(cli_pool *pool);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Descriptors on their way count against the limit of open ones, all of a user together, and for anybody but
 * root: whoever sends one may have to wait until those of somebody else have arrived. */
#ifndef CLI_ROOM_H
#define CLI_ROOM_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

enum { CLI_ROOM_TRIES = 60 * 1000 }; /* of a millisecond each: nobody takes so long to arrive */

/** After a send that failed: shall it be tried again? @param tries how often it was, 0 at first */
static inline bool cli_wait_for_room(unsigned *tries)
{
    static const struct timespec PAUSE = { 0, 1000000 };

    if (errno != ETOOMANYREFS || ++*tries > CLI_ROOM_TRIES)
        return errno == EINTR;
    (void)nanosleep(&PAUSE, NULL);
    return true;
}

#endif

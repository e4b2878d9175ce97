/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A team: threads that do the parts of a piece of work together with the one that has it, piece after piece.
 * They are started by the first piece, where the cage lets them be; without any that one does it all. */
#ifndef CLI_TEAM_H
#define CLI_TEAM_H

#include <cuvet/executor.h>
#include <pthread.h>
#include <stdbool.h>

enum { CLI_TEAM_MOST = 16 }; /* threads; a link has no use for more */

typedef struct cli_team {
    pthread_t thread[CLI_TEAM_MOST];
    uint32_t most, n_threads; /* without the one that has the work */
    bool begun, ending;
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    void (*work)(void *arg, uint32_t index);
    void *arg;
    uint32_t count, next, left; /* parts of the piece: all, the next one, those that are not done */
} cli_team;

/** @param threads that work, the owner's among them: 1 to CLI_TEAM_MOST. */
void cli_team_open(cli_team *team, uint32_t threads);
/** The function of a cuvet_executor. @param user the team. */
void cli_team_run(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count);
/** Its threads have ended. */
void cli_team_close(cli_team *team);

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "team.h"
#include "sandbox.h"

/* Take parts until none is left. Called with the lock, which is free while one is done. */
static void take_parts(cli_team *team)
{
    while (team->next < team->count) {
        uint32_t index = team->next++;

        pthread_mutex_unlock(&team->lock);
        team->work(team->arg, index);
        pthread_mutex_lock(&team->lock);
        if (--team->left == 0)
            pthread_cond_signal(&team->done);
    }
}

static void *run_thread(void *arg)
{
    cli_team *team = arg;

    pthread_mutex_lock(&team->lock);
    while (!team->ending) {
        take_parts(team);
        if (!team->ending)
            pthread_cond_wait(&team->more, &team->lock);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

void cli_team_open(cli_team *team, uint32_t threads)
{
    *team = (cli_team){ .most = threads - 1 };
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->more, NULL);
    pthread_cond_init(&team->done, NULL);
}

/* One that cannot be had is no failure. */
static void start_threads(cli_team *team)
{
    team->begun = true;
    while (cli_cage_allows_threads() && team->n_threads < team->most &&
           pthread_create(&team->thread[team->n_threads], NULL, run_thread, team) == 0)
        team->n_threads++;
}

void cli_team_run(void *user, void (*work)(void *arg, uint32_t index), void *arg, uint32_t count)
{
    cli_team *team = user;

    if (!team->begun)
        start_threads(team);
    pthread_mutex_lock(&team->lock);
    team->work = work;
    team->arg = arg;
    team->next = 0;
    team->count = team->left = count;
    pthread_cond_broadcast(&team->more);
    take_parts(team);
    while (team->left > 0)
        pthread_cond_wait(&team->done, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

void cli_team_close(cli_team *team)
{
    pthread_mutex_lock(&team->lock);
    team->ending = true;
    pthread_cond_broadcast(&team->more);
    pthread_mutex_unlock(&team->lock);
    for (uint32_t i = 0; i < team->n_threads; i++)
        (void)pthread_join(team->thread[i], NULL); /* fails only for a thread that is not there */
    pthread_cond_destroy(&team->done);
    pthread_cond_destroy(&team->more);
    pthread_mutex_destroy(&team->lock);
}

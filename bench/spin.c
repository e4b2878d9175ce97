/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Does this machine really run two processes at once, now? The same spin alone and twice at a time; prints
 * how many times the work of one was done per unit of time. A figure for -j2 means something only where this
 * is near 2. */
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int spin(void)
{
    volatile uint64_t first = 1;

    for (uint64_t i = 0; i < 500000000; i++)
        first = first * 6364136223846793005u + 1442695040888963407u;
    return (int)(first >> 63) & 0;
}

static double timed(int processes)
{
    double start = now();

    for (int i = 0; i < processes; i++) {
        pid_t place = fork();

        if (place < 0)
            return -1;
        if (place == 0)
            _exit(spin());
    }
    while (wait(NULL) > 0)
        ;
    return now() - start;
}

int main(void)
{
    double one = timed(1), two = timed(2);

    if (one <= 0 || two <= 0)
        return 5;
    printf("one %.3f two %.3f scaling %.3f\n", one, two, 2 * one / two);
    return 0;
}

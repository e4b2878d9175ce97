/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How many threads a scan uses when nobody says: as many as may run here at the same time, and as have memory
 * for a member as large as the limits allow. Asked before the cage is entered. */
#include "cli.h"

#include <limits.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* Where a unified hierarchy of control groups is, and which of them this process is in. */
#define GROUPS "/sys/fs/cgroup"
#define SELF   "/proc/self/cgroup"

/* Processors that this process may use, also where there are more than a cpu_set_t has room for. */
static uint64_t processors(void)
{
    for (size_t cpus = 1024; cpus <= (size_t)1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        size_t size = CPU_ALLOC_SIZE(cpus);
        int count = 0;

        if (set && sched_getaffinity(0, size, set) == 0)
            count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (count > 0)
            return (uint64_t)count;
    }
    return 1;
}

/* One line of a small file; false: it is not there. */
static bool read_line(const char *path, const char *begin, char *line, int cap)
{
    FILE *file = fopen(path, "re");
    bool found = false;

    while (file && !found && fgets(line, cap, file))
        found = strncmp(line, begin, strlen(begin)) == 0;
    if (file)
        (void)fclose(file); /* read only */
    line[found ? strcspn(line, "\n") : 0] = '\0';
    return found;
}

/* "max 100000" or "150000 100000": time in each period. A part of a processor is one. */
static uint64_t read_quota(const char *dir)
{
    char path[PATH_MAX], line[64], *blank;
    uint64_t time, period;

    if (snprintf(path, sizeof(path), "%s/cpu.max", dir) >= (int)sizeof(path) ||
        !read_line(path, "", line, sizeof(line)))
        return UINT64_MAX;
    blank = strchr(line, ' ');
    if (blank)
        *blank++ = '\0';
    if (!blank || !cli_number(line, &time) || !cli_number(blank, &period) || period == 0)
        return UINT64_MAX;
    return time / period + (time % period != 0);
}

/* Of the group of this process and of those it lies in. */
static uint64_t quota_of_groups(void)
{
    char line[PATH_MAX], dir[PATH_MAX + sizeof(GROUPS)];
    uint64_t least;

    if (access(GROUPS "/cgroup.controllers", R_OK) != 0 || !read_line(SELF, "0::/", line, sizeof(line)))
        return UINT64_MAX;
    (void)snprintf(dir, sizeof(dir), "%s%s", GROUPS, line + 3);
    least = read_quota(dir);
    for (char *slash = strrchr(dir, '/'); slash && slash >= dir + sizeof(GROUPS) - 1;
         slash = strrchr(dir, '/')) {
        uint64_t share;

        *slash = '\0';
        share = read_quota(dir);
        least = share < least ? share : least;
    }
    return least;
}

/* A worker holds a member as it is stored and as it is unpacked. */
static uint64_t memory_allows(const cuvet_limits *limits)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t each = limits->member > UINT64_MAX / 2 ? UINT64_MAX : 2 * limits->member;

    if (pages <= 0 || size <= 0 || each == 0)
        return UINT64_MAX;
    return (uint64_t)pages * (uint64_t)size / each;
}

uint32_t cli_default_jobs(const cuvet_limits *limits)
{
    uint64_t count = processors(), allowed = count > 1 ? quota_of_groups() : count,
             memory = memory_allows(limits);

    count = allowed < count ? allowed : count;
    count = memory < count ? memory : count;
    return count < 1 ? 1 : count > CLI_JOBS_MAX ? CLI_JOBS_MAX : (uint32_t)count;
}

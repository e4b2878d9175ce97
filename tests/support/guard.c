/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void guard_open(guard *g, size_t cap)
{
    long page = sysconf(_SC_PAGESIZE);
    void *map;

    g->page = (size_t)page;
    g->cap = (cap + g->page - 1) / g->page * g->page;
    map = mmap(NULL, g->cap + 2 * g->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect((uint8_t *)map + g->page, g->cap, PROT_READ | PROT_WRITE) != 0) {
        perror("guard");
        abort();
    }
    g->map = map;
    g->room = g->map + g->page;
}

void guard_close(guard *g)
{
    if (munmap(g->map, g->cap + 2 * g->page) != 0)
        abort();
    *g = (guard){ 0 };
}

static uint8_t *put(const guard *g, uint8_t *at, const void *bytes, size_t n)
{
    if (n > g->cap)
        abort();
    memset(g->room, 0xA5, g->cap);
    if (n)
        memcpy(at, bytes, n);
    return at;
}

const uint8_t *guard_end(guard *g, const void *bytes, size_t n)
{
    return put(g, g->room + g->cap - n, bytes, n);
}

const uint8_t *guard_start(guard *g, const void *bytes, size_t n)
{
    return put(g, g->room, bytes, n);
}

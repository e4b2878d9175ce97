/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "support/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void guard_open(guard_state *guard, size_t cap)
{
    long page = sysconf(_SC_PAGESIZE);
    void *map;

    guard->page = (size_t)page;
    guard->cap = (cap + guard->page - 1) / guard->page * guard->page;
    map = mmap(NULL, guard->cap + 2 * guard->page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED ||
        mprotect((uint8_t *)map + guard->page, guard->cap, PROT_READ | PROT_WRITE) != 0) {
        perror("guard");
        abort();
    }
    guard->map = map;
    guard->room = guard->map + guard->page;
}

void guard_close(guard_state *guard)
{
    if (munmap(guard->map, guard->cap + 2 * guard->page) != 0)
        abort();
    *guard = (guard_state){ 0 };
}

static uint8_t *put(const guard_state *guard, uint8_t *at, const void *bytes, size_t size)
{
    if (size > guard->cap)
        abort();
    memset(guard->room, 0xA5, guard->cap);
    if (size)
        memcpy(at, bytes, size);
    return at;
}

const uint8_t *guard_end(guard_state *guard, const void *bytes, size_t size)
{
    return put(guard, guard->room + guard->cap - size, bytes, size);
}

const uint8_t *guard_start(guard_state *guard, const void *bytes, size_t size)
{
    return put(guard, guard->room, bytes, size);
}

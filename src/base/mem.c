/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"

static void *default_alloc(void *user, size_t size)
{
    (void)user; /* the process-wide heap has no state of ours */
    return malloc(size);
}

static void *default_resize(void *user, void *block, size_t old_size, size_t new_size)
{
    (void)user;
    (void)old_size;
    return realloc(block, new_size);
}

static void default_release(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

const cuvet_alloc cv_alloc_default = { sizeof(cuvet_alloc), default_alloc, default_resize, default_release,
                                       NULL };

void cv_mem_init(cv_mem *mem, const cuvet_alloc *alloc, uint64_t limit)
{
    *mem = (cv_mem){ .alloc = alloc ? *alloc : cv_alloc_default, .limit = limit };
}

/* Count first, ask second: a hostile size never reaches the allocator. */
static bool charge(cv_mem *mem, uint64_t size)
{
    if (size > SIZE_MAX || size > mem->limit || mem->live > mem->limit - size) {
        mem->limited = true;
        return false;
    }
    mem->live += size;
    if (mem->live > mem->peak)
        mem->peak = mem->live;
    return true;
}

bool cv_mem_move(cv_mem *to, cv_mem *from, uint64_t size)
{
    if (!charge(to, size))
        return false;
    from->live -= size;
    return true;
}

void *cv_mem_get_raw(cv_mem *mem, uint64_t size)
{
    void *block;

    if (size == 0 || !charge(mem, size))
        return NULL;
    block = mem->alloc.alloc(mem->alloc.user, (size_t)size);
    if (!block) {
        mem->live -= size;
        mem->limited = false;
    }
    return block;
}

void *cv_mem_get(cv_mem *mem, uint64_t size)
{
    void *block = cv_mem_get_raw(mem, size);

    if (block)
        memset(block, 0, (size_t)size);
    return block;
}

void *cv_mem_resize(cv_mem *mem, void *block, uint64_t old_size, uint64_t new_size)
{
    uint64_t used = block ? old_size : 0;
    void *data = cv_mem_resize_raw(mem, block, old_size, new_size);

    if (data && new_size > used)
        memset((char *)data + used, 0, (size_t)(new_size - used));
    return data;
}

void *cv_mem_resize_raw(cv_mem *mem, void *block, uint64_t old_size, uint64_t new_size)
{
    void *data;

    if (!block)
        return cv_mem_get_raw(mem, new_size);
    if (new_size == 0)
        return NULL;
    if (new_size > old_size && !charge(mem, new_size - old_size))
        return NULL;
    data = mem->alloc.resize(mem->alloc.user, block, (size_t)old_size, (size_t)new_size);
    if (!data) {
        if (new_size > old_size)
            mem->live -= new_size - old_size;
        mem->limited = false;
        return NULL;
    }
    if (new_size < old_size)
        mem->live -= old_size - new_size;
    return data;
}

void cv_mem_put(cv_mem *mem, void *block, uint64_t size)
{
    if (!block)
        return;
    mem->alloc.release(mem->alloc.user, block, (size_t)size);
    mem->live -= cv_min(size, mem->live);
}

cuvet_status cv_mem_status(const cv_mem *mem)
{
    return mem->limited ? CUVET_E_LIMIT : CUVET_E_NOMEM;
}

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

void cv_mem_init(cv_mem *m, const cuvet_alloc *alloc, uint64_t limit)
{
    *m = (cv_mem){ .alloc = alloc ? *alloc : cv_alloc_default, .limit = limit };
}

/* Count first, ask second: a hostile size never reaches the allocator. */
static bool charge(cv_mem *m, uint64_t size)
{
    if (size > SIZE_MAX || size > m->limit || m->live > m->limit - size) {
        m->limited = true;
        return false;
    }
    m->live += size;
    if (m->live > m->peak)
        m->peak = m->live;
    return true;
}

bool cv_mem_move(cv_mem *to, cv_mem *from, uint64_t size)
{
    if (!charge(to, size))
        return false;
    from->live -= size;
    return true;
}

void *cv_mem_get_raw(cv_mem *m, uint64_t size)
{
    void *p;

    if (size == 0 || !charge(m, size))
        return NULL;
    p = m->alloc.alloc(m->alloc.user, (size_t)size);
    if (!p) {
        m->live -= size;
        m->limited = false;
    }
    return p;
}

void *cv_mem_get(cv_mem *m, uint64_t size)
{
    void *p = cv_mem_get_raw(m, size);

    if (p)
        memset(p, 0, (size_t)size);
    return p;
}

void *cv_mem_resize(cv_mem *m, void *block, uint64_t old_size, uint64_t new_size)
{
    uint64_t used = block ? old_size : 0;
    void *p = cv_mem_resize_raw(m, block, old_size, new_size);

    if (p && new_size > used)
        memset((char *)p + used, 0, (size_t)(new_size - used));
    return p;
}

void *cv_mem_resize_raw(cv_mem *m, void *block, uint64_t old_size, uint64_t new_size)
{
    void *p;

    if (!block)
        return cv_mem_get_raw(m, new_size);
    if (new_size == 0)
        return NULL;
    if (new_size > old_size && !charge(m, new_size - old_size))
        return NULL;
    p = m->alloc.resize(m->alloc.user, block, (size_t)old_size, (size_t)new_size);
    if (!p) {
        if (new_size > old_size)
            m->live -= new_size - old_size;
        m->limited = false;
        return NULL;
    }
    if (new_size < old_size)
        m->live -= old_size - new_size;
    return p;
}

void cv_mem_put(cv_mem *m, void *block, uint64_t size)
{
    if (!block)
        return;
    m->alloc.release(m->alloc.user, block, (size_t)size);
    m->live -= cv_min(size, m->live);
}

cuvet_status cv_mem_status(const cv_mem *m)
{
    return m->limited ? CUVET_E_LIMIT : CUVET_E_NOMEM;
}

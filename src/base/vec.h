/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Owned arrays with checked access. CV_VEC(name, type) declares struct name and its functions:
 *
 *   bool name_push(cv_mem *, name *, type value)       one element more; false: out of memory or budget
 *   bool name_reserve(cv_mem *, name *, uint64_t n)    room for n elements in total, all zero
 *   bool name_room(cv_mem *, name *, uint64_t n)       the same for elements that are then written whole
 *   type *name_at(name *, uint64_t i)                  element i
 *   const type *name_get(const name *, uint64_t i)     element i, to read
 *   void name_clear(name *)                            no elements; the memory is kept
 *   void name_free(cv_mem *, name *)                   no elements and no memory
 *
 * An index that is not below n is a defect of ours: see base/trap.h. */
#ifndef CV_BASE_VEC_H
#define CV_BASE_VEC_H

#include "base/arith.h"
#include "base/mem.h"

CV_MUST bool cv_vec_grow(cv_mem *mem, void **items, uint64_t *cap, uint64_t need, uint64_t elem);
/* The same without clearing: for elements that are pushed, and so written whole. */
CV_MUST bool cv_vec_grow_raw(cv_mem *mem, void **items, uint64_t *cap, uint64_t need, uint64_t elem);

#define CV_VEC(name, type)                                                                                   \
    typedef struct name {                                                                                    \
        type *items;                                                                                         \
        uint64_t count, cap;                                                                                 \
    } name;                                                                                                  \
    CV_BUF_BEGIN                                                                                             \
    static inline __attribute__((unused))                                                                    \
    CV_MUST bool name##_reserve(cv_mem *mem, name *list, uint64_t count)                                     \
    {                                                                                                        \
        void *grown = list->items;                                                                           \
        if (count <= list->cap)                                                                              \
            return true;                                                                                     \
        if (!cv_vec_grow(mem, &grown, &list->cap, count, sizeof(type)))                                      \
            return false;                                                                                    \
        list->items = grown;                                                                                 \
        return true;                                                                                         \
    }                                                                                                        \
    static inline __attribute__((unused)) CV_MUST bool name##_room(cv_mem *mem, name *list, uint64_t count)  \
    {                                                                                                        \
        void *grown = list->items;                                                                           \
        if (count <= list->cap)                                                                              \
            return true;                                                                                     \
        if (!cv_vec_grow_raw(mem, &grown, &list->cap, count, sizeof(type)))                                  \
            return false;                                                                                    \
        list->items = grown;                                                                                 \
        return true;                                                                                         \
    }                                                                                                        \
    static inline CV_MUST bool name##_push(cv_mem *mem, name *list, type value)                              \
    {                                                                                                        \
        if (CV_UNLIKELY(list->count == list->cap)) {                                                         \
            void *grown = list->items;                                                                       \
            if (!cv_vec_grow_raw(mem, &grown, &list->cap, list->count + 1, sizeof(type)))                    \
                return false;                                                                                \
            list->items = grown;                                                                             \
        }                                                                                                    \
        list->items[list->count++] = value;                                                                  \
        return true;                                                                                         \
    }                                                                                                        \
    _Static_assert(sizeof(type) <= CV_TRAP_ELEMENT, "an element is larger than what stands in for one");     \
    static inline __attribute__((unused)) type *name##_at(name *list, uint64_t index)                        \
    {                                                                                                        \
        if (CV_NEVER(index >= list->count))                                                                  \
            return cv_trap_write(index, list->count, sizeof(type));                                          \
        return &list->items[index];                                                                          \
    }                                                                                                        \
    static inline __attribute__((unused)) type const *name##_get(const name *list, uint64_t index)           \
    {                                                                                                        \
        if (CV_NEVER(index >= list->count))                                                                  \
            return cv_trap_read(index, list->count);                                                         \
        return &list->items[index];                                                                          \
    }                                                                                                        \
    static inline __attribute__((unused)) void name##_clear(name *list)                                      \
    {                                                                                                        \
        list->count = 0;                                                                                     \
    }                                                                                                        \
    static inline __attribute__((unused)) void name##_free(cv_mem *mem, name *list)                          \
    {                                                                                                        \
        cv_mem_put(mem, list->items, list->cap * sizeof(type));                                              \
        list->items = NULL;                                                                                  \
        list->count = list->cap = 0;                                                                         \
    }                                                                                                        \
    CV_BUF_END                                                                                               \
    struct name

/* Sort by key, then by index, so that the result never depends on the algorithm. O(n) on sorted input, no
 * allocation. */
typedef struct cv_key {
    uint64_t key;
    uint64_t index;
} cv_key;

CV_VEC(cv_keys, cv_key);
void cv_keys_sort(cv_keys *keys);
/* Index of the first of the sorted keys that is not below 'key'; n when there is none. */
uint64_t cv_keys_lower_bound(const cv_keys *sorted, uint64_t key);

CV_VEC(cv_u32s, uint32_t);
CV_VEC(cv_u64s, uint64_t);
CV_VEC(cv_u8s, uint8_t);

/* 'count' elements, all zero; false on failure. */
CV_MUST bool cv_u32s_fill(cv_mem *mem, cv_u32s *list, uint64_t count);
CV_MUST bool cv_u64s_fill(cv_mem *mem, cv_u64s *list, uint64_t count);
CV_MUST bool cv_u8s_fill(cv_mem *mem, cv_u8s *bytes, uint64_t count);

#endif

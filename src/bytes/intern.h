/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Names of a link: each text once, as a number. Keyed hashing, because the names are an attacker's. */
#ifndef CV_BYTES_INTERN_H
#define CV_BYTES_INTERN_H

#include "base/vec.h"
#include "bytes/span.h"

typedef uint32_t cv_id;
#define CV_NONE UINT32_MAX

typedef struct cv_name {
    uint64_t off, len; /* in the pool */
    uint64_t hash;
} cv_name;

CV_VEC(cv_name_list, cv_name);

typedef struct cv_names {
    cv_name_list list;
    cv_u8s pool;
    cv_u8s scratch;
    cv_u32s table; /* id + 1; 0: free. A power of two */
    uint64_t key[2];
} cv_names;

void cv_names_init(cv_names *names, uint64_t key0, uint64_t key1);
void cv_names_free(cv_mem *mem, cv_names *names);
/* Room for so many texts in all; false: no memory. */
CV_MUST bool cv_names_room(cv_mem *mem, cv_names *names, uint64_t count);
/* Number of a text, which is copied; CV_NONE: no memory. */
CV_MUST cv_id cv_names_put(cv_mem *mem, cv_names *names, cv_span text);
/* Number of a text that was put; CV_NONE: it was not. */
CV_MUST cv_id cv_names_find(const cv_names *names, cv_span text);
/* What cv_names_put() does, for a prefix and what follows it. */
CV_MUST cv_id cv_names_join(cv_mem *mem, cv_names *names, const char *prefix, cv_span rest);
/* Valid until the next put. */
static inline cv_span cv_names_text(const cv_names *names, cv_id id)
{
    const cv_name *name = cv_name_list_get(&names->list, id);

    return cv_span_tail(cv_span_of(names->pool.items, name->off + name->len, 0), name->off);
}

/* SipHash-1-3 of the bytes. */
uint64_t cv_siphash(const uint64_t key[2], cv_span span);

#endif

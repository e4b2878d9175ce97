/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The structure-aware mutators as a custom mutator of AFL++ (AFL_CUSTOM_MUTATOR_LIBRARY). Build:
 *   cc -O2 -shared -fPIC -Iinclude -Isrc -Ispec -Ifuzz fuzz/engine/afl_mutator.c fuzz/mutate*.c -llz4 -lzstd
 * -o mutator.so AFL++ goes on with its own stages beside it; the mutator of whole files serves every target,
 * it looks at the bytes. */
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

#define OPEN __attribute__((visibility("default")))

typedef struct state {
    unsigned seed;
    uint8_t *buf;
    size_t cap;
} state;

OPEN void *afl_custom_init(void *afl, unsigned seed);
OPEN size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *add,
                            size_t add_size, size_t max);
OPEN void afl_custom_deinit(void *data);

void *afl_custom_init(void *afl, unsigned seed)
{
    state *s = calloc(1, sizeof(*s));

    (void)afl;
    if (s)
        s->seed = seed;
    return s;
}

size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *add, size_t add_size,
                       size_t max)
{
    state *s = data;

    (void)add;
    (void)add_size;
    if (s->cap < max) {
        uint8_t *p = realloc(s->buf, max);

        if (!p)
            return 0;
        s->buf = p;
        s->cap = max;
    }
    if (size > max)
        size = max;
    memcpy(s->buf, buf, size);
    *out = s->buf;
    /* An ELF: perhaps a list of objects for a link. */
    if (size > 4 && s->buf[0] == 0x7F && s->buf[1] == 'E' && s->seed & 1)
        return cv_mutate_link(s->buf, size, max, s->seed++, NULL, NULL);
    return cv_mutate_file(s->buf, size, max, s->seed++, NULL);
}

void afl_custom_deinit(void *data)
{
    state *s = data;

    free(s->buf);
    free(s);
}

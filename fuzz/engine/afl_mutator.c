/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The structure-aware mutators as a custom mutator of AFL++ (AFL_CUSTOM_MUTATOR_LIBRARY): `make fuzz-all`
 * builds it, campaigns give it to every second secondary. AFL++ goes on with its own stages beside it; the
 * mutator of whole files serves every target, it looks at the bytes. */
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

#define OPEN __attribute__((visibility("default")))

typedef struct afl_mutator_state {
    unsigned seed;
    uint8_t *buf;
    size_t cap;
} afl_mutator_state;

OPEN void *afl_custom_init(void *afl, unsigned seed);
OPEN size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *add,
                            size_t add_size, size_t max);
OPEN void afl_custom_deinit(void *data);

void *afl_custom_init(void *afl, unsigned seed)
{
    afl_mutator_state *state = calloc(1, sizeof(*state));

    (void)afl;
    if (state)
        state->seed = seed;
    return state;
}

size_t afl_custom_fuzz(void *data, uint8_t *buf, size_t size, uint8_t **out, uint8_t *add, size_t add_size,
                       size_t max)
{
    afl_mutator_state *state = data;

    (void)add;
    (void)add_size;
    if (state->cap < max) {
        uint8_t *bytes = realloc(state->buf, max);

        if (!bytes)
            return 0;
        state->buf = bytes;
        state->cap = max;
    }
    if (size > max)
        size = max;
    memcpy(state->buf, buf, size);
    *out = state->buf;
    /* An ELF: perhaps a list of objects for a link. */
    if (size > 4 && state->buf[0] == 0x7F && state->buf[1] == 'E' && state->seed & 1)
        return cv_mutate_link(state->buf, size, max, state->seed++, NULL, NULL);
    return cv_mutate_file(state->buf, size, max, state->seed++, NULL);
}

void afl_custom_deinit(void *data)
{
    afl_mutator_state *state = data;

    free(state->buf);
    free(state);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/gen.h"

typedef enum gen {
#define GEN(name, ...) GEN_##name,
#include "gen.def"
#undef GEN
    N_GENS
} gen;

static const cv_gen GENS[] = {
#define T(trait) (uint32_t) CV_GEN_##trait
#define GEN(name, first, instruction, text, block, parameters, large, slots, reserved, reserved_first,       \
            traits)                                                                                          \
    [GEN_##name] = { first, instruction, text,     block,          parameters,                               \
                     large, slots,       reserved, reserved_first, traits },
#include "gen.def"
#undef GEN
};

/* What a link does of code without capsules, where that is something else. */
static const struct {
    gen gen;
    uint32_t slots, traits;
} PLAINS[] = {
#define PLAIN(name, slots, traits) { GEN_##name, slots, traits },
#include "gen.def"
#undef PLAIN
#undef T
};

/* Machines that are known are of the generation that their row names. */
static const struct {
    uint32_t sm;
    gen gen;
} MACHINES[] = {
#define ARCH(sm, family, use, suffixes, gen, shared, bit, oldest, traits) { sm, GEN_##gen },
#include "arch.def"
#undef ARCH
};

const cv_gen *cv_gen_of(uint32_t sm)
{
    size_t found = 0;

    for (size_t i = 0; i < CV_COUNT(MACHINES); i++)
        if (CV_AT(MACHINES, i).sm == sm)
            return &CV_AT(GENS, CV_AT(MACHINES, i).gen);
    for (size_t i = 1; i < CV_COUNT(GENS) && CV_AT(GENS, i).first <= sm; i++)
        found = i;
    return &CV_AT(GENS, found);
}

cv_gen cv_gen_plain(const cv_gen *of)
{
    cv_gen plain = *of;

    for (size_t row = 0; row < CV_COUNT(PLAINS); row++)
        if (&CV_AT(GENS, CV_AT(PLAINS, row).gen) == of) {
            plain.slots = CV_AT(PLAINS, row).slots;
            plain.traits = CV_AT(PLAINS, row).traits;
        }
    return plain;
}

uint32_t cv_gen_first(cv_gen_trait trait)
{
    size_t at = 0;

    while (at + 1 < CV_COUNT(GENS) && !cv_gen_has(&CV_AT(GENS, at), trait))
        at++;
    return CV_AT(GENS, at).first;
}

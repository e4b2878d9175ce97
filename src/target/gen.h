/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is fixed by the generation of the machine that code is for: spec/gen.def. */
#ifndef CV_TARGET_GEN_H
#define CV_TARGET_GEN_H

#include "base/base.h"

enum {
#define TRAIT(name, text) CV_GEN_BIT_##name,
#include "gen.def"
#undef TRAIT
    CV_N_GEN_BITS
};

/* Traits, one bit each. */
typedef enum cv_gen_trait {
#define TRAIT(name, text) CV_GEN_##name = 1u << CV_GEN_BIT_##name,
#include "gen.def"
#undef TRAIT
} cv_gen_trait;

_Static_assert(CV_N_GEN_BITS < 32, "a trait is a bit of 32");

typedef struct cv_gen {
    uint32_t first, instruction, text, block, parameters, large, slots, reserved, reserved_first, traits;
} cv_gen;

/* Bytes of shared memory that a kernel may have without asking for more at run time. */
#define CV_SHARED_STATIC_MOST UINT64_C(0xC000)

/* The generation of a number; of an unknown one the last that begins below it, or the first of all. */
const cv_gen *cv_gen_of(uint32_t sm);
/* The same, as a link of code without capsules has it. */
CV_MUST cv_gen cv_gen_plain(const cv_gen *of);
/* The lowest number of the first generation with a trait. */
CV_MUST uint32_t cv_gen_first(cv_gen_trait trait);

CV_MUST static inline bool cv_gen_has(const cv_gen *gen, cv_gen_trait trait)
{
    return (gen->traits & (uint32_t)trait) != 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Architectures: which targets there are, and which code goes to which target. Pure. */
#ifndef CV_TARGET_ARCH_H
#define CV_TARGET_ARCH_H

#include <cuvet/select.h>
#include <cuvet/target.h>

#include "base/base.h"

/* Number and suffix of a target in one value, as diagnostics carry it: {got:sm} prints "sm_90a". */
static inline uint64_t cv_arch_pack(uint32_t sm, char suffix)
{
    return (uint64_t)(unsigned char)suffix << 32 | sm;
}

enum {
#define TRAIT(name, text) CV_ARCH_BIT_##name,
#include "arch.def"
#undef TRAIT
    CV_N_ARCH_BITS
};

/* What is true of a machine and not of its generation, one bit each. */
typedef enum cv_arch_trait {
#define TRAIT(name, text) CV_ARCH_##name = 1u << CV_ARCH_BIT_##name,
#include "arch.def"
#undef TRAIT
} cv_arch_trait;

/* A row of spec/arch.def. */
typedef struct cv_arch {
    uint32_t sm, family;
    uint32_t shared; /* bytes that a kernel may have where a link allows all that there is; 0: no target */
    uint32_t oldest; /* release, times ten, of the oldest compiler whose code is linked; 0: any */
    uint32_t traits;
    int8_t bit; /* its bit in the mask of machines that code runs on as it is; -1: none */
    bool is_target;
    bool accel, family_suffix;
} cv_arch;

/* The row of a machine, NULL: there never was one of this number. */
const cv_arch *cv_arch_of(uint32_t sm);
CV_MUST static inline bool cv_arch_has(const cv_arch *arch, cv_arch_trait trait)
{
    return arch && (arch->traits & (uint32_t)trait) != 0;
}
/* The machine that a number stands for: some came out under another one. */
CV_MUST uint32_t cv_arch_machine(uint32_t number);
/* The finalizer's family, which is not that of SASS. */
CV_MUST uint32_t cv_arch_final_family(uint32_t sm);
/* Is this a target of a link? */
CV_MUST bool cv_arch_known(cuvet_target target);
/* Name of the family of a number; a number that no target has is a family of its own. */
uint32_t cv_arch_family(uint32_t sm);

/* May SASS of sm_<sm><suffix> go to the target? */
cuvet_reason cv_arch_sass(uint32_t sm, char suffix, cuvet_target target, cuvet_arch_policy policy);
/* May PTX for compute_<sm><suffix> be compiled for the target? */
cuvet_reason cv_arch_ptx(uint32_t sm, char suffix, cuvet_target target);

#endif

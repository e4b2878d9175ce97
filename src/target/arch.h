/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Architectures: which targets there are, and which code goes to which target. Pure. */
#ifndef CV_TARGET_ARCH_H
#define CV_TARGET_ARCH_H

#include <cuvet/input.h>
#include <cuvet/target.h>

#include "base/base.h"

/* Number and suffix of a target in one value, as diagnostics carry it: {got:sm} prints "sm_90a". */
static inline uint64_t cv_arch_pack(uint32_t sm, char suffix)
{
    return (uint64_t)(unsigned char)suffix << 32 | sm;
}

CV_MUST bool cv_arch_known(cuvet_target t);
/* Name of the family of a number; a number that no target has is a family of its own. */
uint32_t cv_arch_family(uint32_t sm);

/* May SASS of sm_<sm><suffix> go to the target? */
cuvet_reason cv_arch_sass(uint32_t sm, char suffix, cuvet_target t, cuvet_arch_policy policy);
/* May PTX for compute_<sm><suffix> be compiled for the target? */
cuvet_reason cv_arch_ptx(uint32_t sm, char suffix, cuvet_target t);

#endif

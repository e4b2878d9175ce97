/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Admission: may this device ELF, which was examined and is whole, be linked for this target? Pure. */
#ifndef CV_CUBIN_ADMIT_H
#define CV_CUBIN_ADMIT_H

#include "cubin/cubin.h"
#include "target/arch.h"

/* The newest toolkit whose objects are known to link. */
#define CV_ADMIT_TOOLKIT 130u

typedef struct cv_admit_for {
    cuvet_target target; /* sm 0: none; only what holds for every target is judged */
    cuvet_arch_policy policy;
    uint32_t toolkit; /* newest version accepted, times ten */
    bool execute;     /* executables are what is wanted: not for a linker */
    bool finished;    /* the code is used as it is: nothing can make it again for another machine */
} cv_admit_for;

/* Reports every rule of spec/rules_admit.def that it breaks. @return OK (warnings included) · REFUSED */
CV_MUST cuvet_status cv_admit(cv_ctx *ctx, const cv_cubin *cubin, const cv_admit_for *wanted);
/* Nothing is to be linked: the same, as notes. */
void cv_admit_note(cv_ctx *ctx, const cv_cubin *cubin, const cv_admit_for *wanted);
/* Suffix of the code, from its tool's note or its compat section. */
char cv_admit_suffix(const cv_cubin *cubin);

#endif

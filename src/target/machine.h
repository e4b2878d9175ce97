/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What is fixed by the generation of the machine that code is for: spec/machines.def. */
#ifndef CV_TARGET_MACHINE_H
#define CV_TARGET_MACHINE_H

#include "base/base.h"

typedef struct cv_machine {
    uint32_t sm, instruction, text, block, parameters, large;
} cv_machine;

/* The row of a number; of an unknown one the last row below it, whose generation it extends, or the first. */
const cv_machine *cv_machine_of(uint32_t sm);
/* Did this machine ever exist? */
CV_MUST bool cv_machine_known(uint32_t sm);

#endif

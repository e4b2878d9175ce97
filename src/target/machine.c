/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/machine.h"

static const cv_machine MACHINES[] = {
#define MACHINE(sm, instruction, text, block, parameters, large)                                             \
    { sm, instruction, text, block, parameters, large },
#include "machines.def"
#undef MACHINE
};

const cv_machine *cv_machine_of(uint32_t sm)
{
    size_t k = 0;

    for (size_t i = 1; i < CV_COUNT(MACHINES) && CV_AT(MACHINES, i).sm <= sm; i++)
        k = i;
    return &CV_AT(MACHINES, k);
}

bool cv_machine_known(uint32_t sm)
{
    return cv_machine_of(sm)->sm == sm;
}

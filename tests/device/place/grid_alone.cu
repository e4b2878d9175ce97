// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled without -rdc.
#include "grid.h"

static __global__ void alone(unsigned *out)
{
    curandState state;

    curand_init(12345, threadIdx.x, 7, &state);
    out[threadIdx.x] = mixed(&state);
}

void draw_alone(unsigned *out) { alone<<<1, 256>>>(out); }

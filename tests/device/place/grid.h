// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <curand_kernel.h>

__device__ unsigned turned(unsigned *memory, unsigned size);
__device__ void begin(curandState *state, unsigned number);
__device__ unsigned draw(curandState *state);
void draw_alone(unsigned *out);

static inline __device__ unsigned mixed(curandState *state)
{
    unsigned whole = curand(state) ^ (unsigned)(curand_normal(state) * 1000.0f);

    return whole ^ (unsigned)(curand_uniform_double(state) * 1e9) ^ curand_poisson(state, 30.0);
}

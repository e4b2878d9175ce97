/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A switch (branch targets), launch bounds, a barrier, a warp-wide vote and a big parameter. */
struct big { int word[64]; };

__global__ void __launch_bounds__(64) branchy(int *out, big parameter, char last)
{
    int value = out[threadIdx.x];
    switch (value) {
    case 0: value = parameter.word[1]; break;
    case 1: value = __popc(value); break;
    case 2: value = __ballot_sync(0xffffffffu, value); break;
    case 3: __syncthreads(); break;
    case 4: value = out[5] * last; break;
    default: value = __shfl_sync(0xffffffffu, value, 1); break;
    }
    out[threadIdx.x] = value;
}

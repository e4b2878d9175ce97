/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A call through a table of function addresses: prototypes, call graph parts -2, -3 and -4. */
__device__ __noinline__ int add_one(int value) { return value + 1; }
__device__ __noinline__ int add_two(int value) { return value + 2; }
__device__ int (*const choices[2])(int) = {add_one, add_two};

__global__ void indirect(int *out) { out[0] = choices[out[1] & 1](out[2]); }

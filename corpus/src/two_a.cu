/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One half of a relocatable pair: calls a function and reads a variable defined in two_b.cu. */
extern __device__ int twice(int);
extern __device__ int shared_counter;

__global__ void caller(int *out) { out[0] = twice(shared_counter); }

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The other half: the definitions that two_a.cu needs. */
__device__ int shared_counter = 7;

__device__ int twice(int value) { return 2 * value; }

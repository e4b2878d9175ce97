/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The smallest kernel that still has a parameter and a store. */
__global__ void plain(int *out) { out[threadIdx.x] = 1; }

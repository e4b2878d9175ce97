/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A function that calls itself: an edge {f, f} in the call graph and an unknown stack size. */
__device__ __noinline__ int descend(int depth) { return depth <= 1 ? 1 : depth * descend(depth - 1); }

__global__ void recurse(int *out) { out[0] = descend(out[1]); }

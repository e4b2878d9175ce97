/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib.h"
__device__ int walk(int a) { return a < 2 ? a : walk(a - 1) + walk(a - 2); }
__global__ void debugged(int *p) { *p = walk(*p); }
void debug_it(int *p) { debugged<<<1, 1>>>(p); }

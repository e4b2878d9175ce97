/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Arithmetic of 64 bits: the code for sm_100 does not run unchanged on sm_103. */
extern "C" __global__ void divide(double *p, double by) { p[threadIdx.x] = p[threadIdx.x] / by; }

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
__constant__ int coefficients[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ int f(int a) { return a * coefficients[a & 3] + atomicAdd(&counter, 1); }
template <class T> __device__ __noinline__ T twice(T a) { return a + a; }
__device__ float g(float a) { return twice(a) + twice((int)a); }

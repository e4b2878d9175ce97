/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Weak symbols: a template kernel, a template device function and an inline variable. */
template <typename T> __device__ __noinline__ T grow(T value) { return value * value; }
template <typename T> __device__ T slot;
template <typename T> __global__ void weak_kernel(T *out) { out[0] = grow(out[1]) + slot<T>; }
template __global__ void weak_kernel<int>(int *);
template __global__ void weak_kernel<float>(float *);

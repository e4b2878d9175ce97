/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Two kernels, a template, a function that stays a function: lines, frames and places of variables. */
__device__ int table[64];

__device__ __noinline__ int sum(int n, const int *p)
{
    int s = 0;

    for (int i = 0; i < n; i++)
        s += p[i] * i;
    return s;
}

template <class T> __global__ void add(T *p, int n)
{
    int i = threadIdx.x;

    if (i < n)
        p[i] = (T)sum(n, table) + p[i];
}

template __global__ void add<float>(float *, int);

extern "C" __global__ void turn(int *p)
{
    __shared__ int room[32];

    room[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = room[31 - threadIdx.x];
}

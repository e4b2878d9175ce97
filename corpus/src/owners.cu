/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A device function that has its own address, and two kernels with shared variables of their own. */
typedef int (*function)(int);

__device__ function last;

__device__ __noinline__ int elsewhere(int number)
{
    return number * 3 + clock();
}

__device__ __noinline__ int again(int number)
{
    last = number & 1 ? again : elsewhere;
    return elsewhere(number - 1) + 1;
}

__global__ void first(int *out)
{
    __shared__ int of_first[64];

    of_first[threadIdx.x] = again(*out);
    __syncthreads();
    *out = of_first[63 - threadIdx.x];
}

__global__ void second(int *out)
{
    __shared__ int of_second[8];

    of_second[threadIdx.x] = *out;
    __syncthreads();
    *out = of_second[7 - threadIdx.x];
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Shared memory whose size only the launch knows, next to a static block. */
extern __shared__ int tail[];

__global__ void dynshared(int *out)
{
    __shared__ int head[16];
    head[threadIdx.x & 15] = out[threadIdx.x];
    tail[threadIdx.x] = head[0];
    __syncthreads();
    out[threadIdx.x] = tail[threadIdx.x ^ 1];
}

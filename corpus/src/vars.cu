/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* One variable of each memory space: constant, global with and without a value, shared, managed. */
__constant__ int table[4] = {1, 2, 3, 4};
__device__ int with_value = 5;
__device__ int zeroed[8];
__managed__ int managed_value = 6;
__device__ const int *address_of = &table[1];

__global__ void vars(int *out)
{
    __shared__ int tile[32];
    tile[threadIdx.x] = table[threadIdx.x & 3] + with_value + zeroed[0];
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x] + managed_value + *address_of;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Kernels and variables that host code names: entries in all six .nvHR* sections. */
namespace inner {
__global__ void outside(int *out) { out[0] = 1; }
}
static __global__ void inside(int *out) { out[0] = 2; }
__device__ int device_outside;
static __device__ int device_inside;
__constant__ int constant_outside;
static __constant__ int constant_inside;

const void *host_side(int which)
{
    void *at = nullptr;
    if (which == 0)
        cudaGetSymbolAddress(&at, device_outside);
    else if (which == 1)
        cudaGetSymbolAddress(&at, device_inside);
    else if (which == 2)
        cudaGetSymbolAddress(&at, constant_outside);
    else if (which == 3)
        cudaGetSymbolAddress(&at, constant_inside);
    else
        return which == 4 ? (const void *)inner::outside : (const void *)inside;
    return at;
}

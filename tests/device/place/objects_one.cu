// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Objects that a kernel of one unit makes and one of the other uses; symbols that host code of both units knows; kernels that launch kernels.
#include "objects.h"
#include <cstdio>

__device__ shape *shapes[64];
__device__ unsigned answers[64];
__managed__ unsigned seen;
template <class T> __device__ unsigned sized<T>::area(unsigned x) const { return x * (unsigned)sizeof(T) + this->own; }
template struct sized<char>;
template struct sized<double>;

__global__ void make_shapes()
{
    unsigned i = threadIdx.x;

    if (i % 3 == 0)
        shapes[i] = new sized<char>(i);
    else if (i % 3 == 1)
        shapes[i] = new sized<double>(i);
    else
        shapes[i] = make_other(i);
}

__global__ void leaf(unsigned depth, unsigned number)
{
    atomicAdd(&seen, 1);
    if (depth > 0 && threadIdx.x == 0) {
        leaf<<<1, 2, 0, cudaStreamFireAndForget>>>(depth - 1, number * 2);
        chosen<3><<<1, 32, 0, cudaStreamTailLaunch>>>(number);
    }
}

int main()
{
    unsigned back[64], wrong = 0, factors[2] = {3, 1000};
    call called[2];

    make_shapes<<<1, 64>>>();
    use_shapes();
    cudaMemcpyFromSymbol(back, answers, sizeof back);
    for (unsigned i = 0; i < 64; i++)
        wrong += back[i] != (i % 3 == 0 ? 7 * 1 + i : i % 3 == 1 ? 7 * 8 + i : 7 * 7 * i);
    cudaMemcpyFromSymbol(called, calls, sizeof called);
    cudaMemcpyToSymbol(other_factors, factors, sizeof factors);
    through<<<1, 64>>>(called[1]);
    cudaMemcpyFromSymbol(back, answers, sizeof back);
    for (unsigned i = 0; i < 64; i++)
        wrong += back[i] != i * factors[i % 2] + 1;
    wrong += pictured();
    seen = 0;
    leaf<<<1, 1>>>(5, 1);
    cudaDeviceSynchronize();
    wrong += seen != 1 + 2 * 5 + 5 * 32 * 3; // a leaf of one thread, five of two, and behind five of them a kernel
    printf("%u wrong, %u, %s\n", wrong, seen, cudaGetErrorString(cudaGetLastError()));
    return wrong != 0;
}

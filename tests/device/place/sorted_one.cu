// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Algorithms of Thrust in two units, so that kernels and functions of templates are in both; what they call is in the other unit.
#include "sorted.h"
#include <cstdio>

__device__ unsigned weigh(unsigned value) { return value * 2654435761u ^ weights[value % 4]; }

int main()
{
    std::vector<unsigned> host(COUNT), own[4] = {}, back;
    unsigned given[4] = {5, 77, 1u << 31, 9}, wrong = 0;

    cudaMemcpyToSymbol(weights, given, sizeof given);
    for (unsigned i = 0; i < COUNT; i++)
        host[i] = (i * 2654435761u ^ given[i % 4]) >> 3;
    for (int i = 0; i < 2; i++) {
        back = i ? other_unit() : work();
        own[i] = host;
        std::sort(own[i].begin(), own[i].end());
        wrong += back != own[i];
    }
    wrong += sum_there() != std::accumulate(host.begin(), host.end(), 0ull);
    printf("%u wrong, %s\n", wrong, cudaGetErrorString(cudaDeviceSynchronize()));
    return wrong != 0 || cudaGetLastError() != cudaSuccess;
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A whole grid that waits for itself, clusters, memory that the launch gives, and random numbers: begun in one unit and drawn in the
// other, against a kernel of a unit that no linker of device code has to do with (grid_alone.cu).
#include "grid.h"
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;
extern __shared__ unsigned given[];

__global__ void whole(unsigned *out, unsigned blocks)
{
    cg::grid_group grid = cg::this_grid();

    given[threadIdx.x] = threadIdx.x;
    out[grid.thread_rank()] = turned(given, blockDim.x);
    grid.sync();
    if (grid.thread_rank() == 0)
        for (unsigned i = 1; i < blocks * blockDim.x; i++)
            out[0] += out[i];
}

__global__ void __cluster_dims__(2, 1, 1) pairs(unsigned *out)
{
    __shared__ unsigned own[32];
    cg::cluster_group pair = cg::this_cluster();

    own[threadIdx.x] = threadIdx.x + 100 * blockIdx.x;
    pair.sync();
    out[blockIdx.x * 32 + threadIdx.x] = pair.map_shared_rank(own, pair.block_rank() ^ 1)[threadIdx.x];
    pair.sync();
}

__global__ void drawn(unsigned *out)
{
    curandState state;

    begin(&state, threadIdx.x);
    out[threadIdx.x] = draw(&state);
}

int main()
{
    unsigned *out = nullptr, back[256], other[256], wrong = 0, blocks = 4;
    void *arguments[] = {&out, &blocks};

    cudaMalloc(&out, sizeof back);
    cudaLaunchCooperativeKernel((void *)whole, dim3(4), dim3(32), arguments, 32 * sizeof *out, nullptr);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    wrong += back[0] != 4 * (31 * 32 / 2);
    pairs<<<4, 32>>>(out);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < 128; i++)
        wrong += back[i] != (i % 32) + 100 * ((i / 32) ^ 1);
    drawn<<<1, 256>>>(out);
    cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost);
    draw_alone(out);
    cudaMemcpy(other, out, sizeof other, cudaMemcpyDeviceToHost);
    wrong += memcmp(back, other, sizeof back) != 0 || back[0] == back[1];
    printf("%u wrong, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
    return wrong != 0;
}

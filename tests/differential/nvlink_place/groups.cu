/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void whole(int *p) {
    cg::grid_group grid = cg::this_grid();
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = cg::reduce(tile, p[grid.thread_rank()], cg::plus<int>());
    grid.sync();
    if (tile.thread_rank() == 0)
        atomicAdd(p, sum);
}
int main() {
    int *p = nullptr;
    void *args[] = {&p};
    return cudaLaunchCooperativeKernel((void *)whole, dim3(1), dim3(32), args) != cudaSuccess;
}

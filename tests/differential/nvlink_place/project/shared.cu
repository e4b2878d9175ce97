/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cub/device/device_radix_sort.cuh>
#include <cuda/atomic>
#include "lib.h"
__device__ int counter;
__global__ void count() { cuda::atomic_ref<int, cuda::thread_scope_device>(counter).fetch_add(1); }
void radix(int *p, int n) {
    size_t bytes = 0;
    cub::DeviceRadixSort::SortKeys(nullptr, bytes, p, p + n, n);
    count<<<1, 32>>>();
}

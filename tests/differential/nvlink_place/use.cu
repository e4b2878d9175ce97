/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
__device__ int f(int a);
__device__ float g(float a);
__global__ void k(int *p) {
    __shared__ int s[32];
    s[threadIdx.x & 31] = f(*p);
    __syncthreads();
    *p = s[0] + (int)g(1.5f);
}
__global__ void nobody(int *p) { *p = f(5); }
void start(int *p) { k<<<1, 32>>>(p); }

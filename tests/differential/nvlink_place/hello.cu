/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
__global__ void k(int *p) { *p = 1; }
int main() {
    int *p = nullptr;
    cudaMalloc(&p, 4);
    k<<<1, 1>>>(p);
    return 0;
}

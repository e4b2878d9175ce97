/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
__global__ void child(int *p) { atomicAdd(p, 1); }
__global__ void parent(int *p) {
    child<<<1, 32>>>(p);
    child<<<2, 16, 64, cudaStreamTailLaunch>>>(p);
}
int main() {
    parent<<<1, 1>>>(nullptr);
    return 0;
}

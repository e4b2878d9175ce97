/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
void start_plain(int *p);
__global__ void here(int *p) { *p = 7; }
int main() {
    here<<<1, 1>>>(nullptr);
    start_plain(nullptr);
    return 0;
}

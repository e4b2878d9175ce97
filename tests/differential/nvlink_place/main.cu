/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
void start(int *p);
void start_plain(int *p);
int main() {
    int *p = nullptr;
    cudaMalloc(&p, 4096);
    start(p);
    start_plain(p);
    return 0;
}

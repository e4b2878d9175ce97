/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
__device__ int scale(int a);
void sort_it(int *p, int n);
void sum_blocks(const int *p, int *o, int n);
void radix(int *p, int n);
void debug_it(int *p);

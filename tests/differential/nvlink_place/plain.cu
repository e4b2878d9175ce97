/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
template <class T> __global__ void plain(T *p) { *p = 2; }
void start_plain(int *p) { plain<<<1, 1>>>(p); }

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* printf: the undefined function vprintf, a format string in global memory, a stack frame. */
#include <cstdio>

__global__ void printer(int value) { printf("%d\n", value); }

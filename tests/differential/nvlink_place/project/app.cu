/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "lib.h"
__global__ void own(int *p) { *p = scale(*p); }
int main() {
    own<<<1, 1>>>(nullptr);
    sort_it(nullptr, 0);
    sum_blocks(nullptr, nullptr, 0);
    radix(nullptr, 0);
    debug_it(nullptr);
    return 0;
}

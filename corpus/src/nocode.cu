/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A module without a function. */
__device__ int lonely = 1;
__constant__ int quiet = 2;

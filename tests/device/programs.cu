// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What tests/device/driver.py loads. PART chooses: two kernels that only a number tells apart; one of everything that a
// driver has to place; data that relocations are tried on.
#if PART == 1
extern "C" __global__ void first(unsigned *out, unsigned number) { out[0] = 111; out[1] = number; }
extern "C" __global__ void other(unsigned *out, unsigned number) { out[0] = 222; out[1] = number; }
#elif PART == 2
typedef int (*callee)(int);
__constant__ int constant = 1000;
__device__ int variable = 2000;
__device__ int behind = 3000;
__device__ int zeros[16];
__device__ const char text[] = "hello";
__device__ __noinline__ int triple(int value) { return value * 3 + 1; }
__device__ __noinline__ int fivefold(int value) { return value * 5 + 2; }
__device__ callee table[2] = {triple, fivefold};
__device__ int *where = &behind;
extern "C" __global__ void first(unsigned *out, unsigned number)
{
    __shared__ int own[32];
    own[threadIdx.x & 31] = threadIdx.x;
    __syncthreads();
    out[0] = 111;
    out[1] = constant;
    out[2] = variable;
    out[3] = table[number & 1](10);
    out[4] = *where;
    out[5] = text[number & 3];
    out[6] = own[number & 31];
    out[7] = zeros[number & 15];
}
#elif PART == 3
#define FOUR(value) value, value, value, value
#define MANY(value) FOUR(value), FOUR(value), FOUR(value), FOUR(value)
typedef int (*callee)(int);
__device__ unsigned field[16] = {MANY(FILL)};
__device__ int target = 7;
__device__ int *spare = &target;
__constant__ int constant = 99;
__device__ __noinline__ int triple(int value) { return value * 3 + 1; }
__device__ callee table[1] = {triple};
extern "C" __global__ void first(unsigned *out, unsigned number)
{
    unsigned long long there = (unsigned long long)&target;
    if (threadIdx.x < 16) out[threadIdx.x] = field[threadIdx.x + (number >> 31)];
    if (threadIdx.x == 0) {
        out[16] = there;
        out[17] = there >> 32;
        out[18] = table[number & 0](10);
        out[19] = constant;
        out[20] = number ? *spare : 0;
    }
}
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Extensible whole program (-ewp): e_type 0xFF00 without a flag, functions that the kernel's section keeps for itself. */
struct base {
    __device__ virtual int value(int input) = 0;
};
struct triple : base {
    __device__ int value(int input) override { return input * 3; }
};
__constant__ int offsets[4];
__device__ float weights[8] = { 1, 2 };
__device__ __noinline__ int descend(int depth) { return depth < 2 ? depth : descend(depth - 1) + descend(depth - 2); }
__global__ void whole(int *out)
{
    __shared__ int tile[64];
    extern __shared__ int rest[];
    triple made;
    base *seen = &made;

    tile[threadIdx.x] = out[0];
    __syncthreads();
    out[0] = descend(tile[out[2]]) + seen->value(out[3]) + offsets[out[4] & 3] + rest[0] + (int)weights[out[5]];
}

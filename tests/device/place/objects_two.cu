// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "objects.h"

__constant__ unsigned other_factors[2] = {1, 1};
static __device__ unsigned first_call(unsigned x) { return x; }
static __device__ unsigned second_call(unsigned x) { return x * other_factors[x % 2] + 1; }
__device__ call calls[2] = {first_call, second_call};

namespace {
struct squared : shape {
    __device__ explicit squared(unsigned value) : shape(value) {}
    __device__ unsigned area(unsigned x) const override { return x * x * own; }
};

__global__ void ask_shapes()
{
    answers[threadIdx.x] = shapes[threadIdx.x]->area(7);
    delete shapes[threadIdx.x];
}

__global__ void look(cudaTextureObject_t picture, unsigned *out) { out[threadIdx.x] = tex1Dfetch<unsigned>(picture, 31 - threadIdx.x); }
} // namespace

__device__ shape *make_other(unsigned value) { return new squared(value); }

void use_shapes() { ask_shapes<<<1, 64>>>(); }

/** @return how many words of a texture are not those that were put there */
unsigned pictured()
{
    unsigned *memory = nullptr, back[32], wrong = 0;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t picture = 0;

    cudaMalloc(&memory, 2 * sizeof back);
    for (unsigned i = 0; i < 32; i++)
        back[i] = i * 3 + 1;
    cudaMemcpy(memory, back, sizeof back, cudaMemcpyHostToDevice);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<unsigned>();
    resource.res.linear.sizeInBytes = sizeof back;
    cudaCreateTextureObject(&picture, &resource, &how, nullptr);
    look<<<1, 32>>>(picture, memory + 32);
    cudaMemcpy(back, memory + 32, sizeof back, cudaMemcpyDeviceToHost);
    for (unsigned i = 0; i < 32; i++)
        wrong += back[i] != (31 - i) * 3 + 1;
    cudaDestroyTextureObject(picture);
    return wrong;
}

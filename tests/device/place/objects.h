// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
typedef unsigned (*call)(unsigned);

struct shape {
    unsigned own;
    __device__ explicit shape(unsigned value) : own(value)
    {
    }
    __device__ virtual unsigned area(unsigned x) const = 0;
    __device__ virtual ~shape()
    {
    }
};
template <class T> struct sized : shape {
    __device__ explicit sized(unsigned value) : shape(value)
    {
    }
    __device__ unsigned area(unsigned x) const override;
};
__device__ shape *make_other(unsigned value);
extern __device__ shape *shapes[64];
extern __device__ unsigned answers[64];
extern __managed__ unsigned seen;
extern __constant__ unsigned other_factors[2];
extern __device__ call calls[2];
void use_shapes();
unsigned pictured();
template <int N> __global__ void chosen(unsigned)
{
    atomicAdd(&seen, N);
}
inline __global__ void through(call called)
{
    answers[threadIdx.x] = called(threadIdx.x);
}

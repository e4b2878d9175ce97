// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <numeric>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <vector>

enum { COUNT = 100003 };
extern __constant__ unsigned weights[4];
__device__ unsigned weigh(unsigned value);
std::vector<unsigned> other_unit();
unsigned long long sum_there();

struct weighed {
    __device__ unsigned operator()(unsigned value) const
    {
        return weigh(value) >> 3;
    }
};

inline std::vector<unsigned> work()
{
    thrust::device_vector<unsigned> numbers(COUNT);
    std::vector<unsigned> back(COUNT);

    thrust::sequence(numbers.begin(), numbers.end());
    thrust::transform(numbers.begin(), numbers.end(), numbers.begin(), weighed());
    thrust::sort(numbers.begin(), numbers.end());
    thrust::copy(numbers.begin(), numbers.end(), back.begin());
    return back;
}

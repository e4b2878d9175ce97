// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sorted.h"

__constant__ unsigned weights[4];

std::vector<unsigned> other_unit() { return work(); }

unsigned long long sum_there()
{
    thrust::device_vector<unsigned> numbers(COUNT);

    thrust::sequence(numbers.begin(), numbers.end());
    thrust::transform(numbers.begin(), numbers.end(), numbers.begin(), weighed());
    return thrust::reduce(numbers.begin(), numbers.end(), 0ull);
}

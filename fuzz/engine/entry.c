/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libFuzzer, and AFL++'s persistent driver, which has the same interface. */
#include <stddef.h>
#include <stdint.h>

int CV_FUZZ_ENTRY(const uint8_t *data, size_t size);
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return CV_FUZZ_ENTRY(data, size);
}

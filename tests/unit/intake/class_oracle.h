/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A second classification, written from the format descriptions in the plainest way that there is: comparing
 * bytes one by one, a state per character of text. Slow, shares no code with the library. */
#ifndef CV_TESTS_CLASS_ORACLE_H
#define CV_TESTS_CLASS_ORACLE_H

#include <cuvet/classify.h>

typedef struct class_oracle {
    cuvet_status status;
    cuvet_content_info info;
} class_oracle;

class_oracle oracle_classify(const uint8_t *bytes, size_t size, uint64_t probe, bool lenient);
/* PTX alone. */
class_oracle oracle_ptx(const uint8_t *bytes, size_t size, uint64_t probe, bool lenient);

#endif

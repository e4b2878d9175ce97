/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Inputs of the link cases in corpus/link, for tests below the public interface. */
#ifndef CV_TESTS_GOLDEN_H
#define CV_TESTS_GOLDEN_H

#include <stddef.h>
#include <stdint.h>

/* Input number i of a case; NULL: it has fewer. Fails the test when the case is not there. */
const uint8_t *golden_input(const char *name, const char *target, unsigned i, size_t *n);

#endif

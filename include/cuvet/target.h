/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Targets: the architectures that code is linked for. */
#ifndef CUVET_TARGET_H
#define CUVET_TARGET_H

#include <cuvet/status.h>

/** SM number and suffix, always together: {90, 'a'} is sm_90a. */
typedef struct cuvet_target {
    uint32_t sm;
    char suffix; /**< 'a', 'f' or 0 */
} cuvet_target;

typedef enum cuvet_arch_policy {
    CUVET_ARCH_REFERENCE = 0, /**< the rules of the reference linker */
    CUVET_ARCH_EXACT = 1      /**< SASS for sm_Na goes to target sm_Na only */
} cuvet_arch_policy;

#ifdef __cplusplus
extern "C" {
#endif

/** "sm_90a" from text to numbers; the whole text must match, "compute_" is not accepted.
 *  @return CUVET_OK · CUVET_E_ARCH (*out untouched) · CUVET_E_NULL. */
CUVET_API CUVET_MUST cuvet_status cuvet_target_parse(const char *text, cuvet_target *out);
/** Targets by index in ascending order. @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_target_get(size_t index, cuvet_target *out);
/** "reference", "exact"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_arch_policy_name(cuvet_arch_policy policy);

#ifdef __cplusplus
}
#endif
#endif

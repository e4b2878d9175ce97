/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** cuvet: vets CUDA device code that nobody should trust. Basic declarations shared by all public headers. */
#ifndef CUVET_BASE_H
#define CUVET_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CUVET_API  __attribute__((visibility("default")))
#define CUVET_MUST __attribute__((warn_unused_result))
#else
#define CUVET_API
#define CUVET_MUST
#endif

#define CUVET_VERSION_MAJOR 0
#define CUVET_VERSION_MINOR 1
#define CUVET_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the library that is linked in, as "MAJOR.MINOR.PATCH"; static storage. */
CUVET_API const char *cuvet_version(void);

#ifdef __cplusplus
}
#endif
#endif

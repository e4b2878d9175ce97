/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/kind.h>

#include "intake/probe.h"

/* Numbers above it are our own. */
enum { REFERENCE_LAST = 4 };

const char *cuvet_kind_name(cuvet_kind kind)
{
    static const char *const NAMES[] = { "unknown", "elf",  "ptx",     "lto-ir",  "mercury", "fatbin",
                                         "bitcode", "nvvm", "wrapper", "archive", "host-elf" };

    return (size_t)kind < CV_COUNT(NAMES) ? CV_ARRAY_GET(NAMES, kind) : "?";
}

uint32_t cuvet_kind_reference(cuvet_kind kind, cuvet_reference which)
{
    if (which == CUVET_REFERENCE_CONTENT)
        return cv_class_number(kind) <= REFERENCE_LAST ? (uint32_t)cv_class_number(kind) : 0;
    if (which != CUVET_REFERENCE_RESULT)
        return 0;
    return kind == CUVET_K_PTX                             ? 1
           : kind == CUVET_K_CUBIN                         ? 2
           : kind == CUVET_K_LTOIR || kind == CUVET_K_NVVM ? 8
           : kind == CUVET_K_MERCURY                       ? 16
                                                           : 0;
}

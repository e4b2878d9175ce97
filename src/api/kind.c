/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <cuvet/kind.h>

#include "intake/probe.h"

/* Numbers above it are our own. */
enum { REFERENCE_LAST = 4 };

const char *cuvet_kind_name(cuvet_kind k)
{
    static const char *const NAMES[] = { "unknown", "elf",  "ptx",     "lto-ir",  "mercury", "fatbin",
                                         "bitcode", "nvvm", "wrapper", "archive", "host-elf" };

    return (size_t)k < CV_COUNT(NAMES) ? CV_ARRAY_GET(NAMES, k) : "?";
}

uint32_t cuvet_kind_reference(cuvet_kind k, cuvet_reference which)
{
    if (which == CUVET_REFERENCE_CONTENT)
        return cv_class_number(k) <= REFERENCE_LAST ? (uint32_t)cv_class_number(k) : 0;
    if (which != CUVET_REFERENCE_RESULT)
        return 0;
    return k == CUVET_K_PTX                          ? 1
           : k == CUVET_K_CUBIN                      ? 2
           : k == CUVET_K_LTOIR || k == CUVET_K_NVVM ? 8
           : k == CUVET_K_MERCURY                    ? 16
                                                     : 0;
}

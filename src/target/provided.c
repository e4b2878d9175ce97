/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/provided.h"

typedef struct known {
    const char *text;
    bool prefix;
} known;

static const known DRIVER_NAMES[] = {
#define DRIVER(name)        { name, false },
#define DRIVER_PREFIX(text) { text, true },
#include "driver.def"
#undef DRIVER
#undef DRIVER_PREFIX
};

bool cv_is_provided(cv_span name)
{
    for (size_t i = 0; i < CV_COUNT(DRIVER_NAMES); i++) {
        const known *k = &CV_AT(DRIVER_NAMES, i);

        if (k->prefix ? cv_span_starts(name, k->text) : cv_span_eq_str(name, k->text))
            return true;
    }
    return false;
}

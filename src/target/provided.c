/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "target/provided.h"

typedef struct known_name {
    const char *text;
    bool prefix;
} known_name;

static const known_name DRIVER_NAMES[] = {
#define DRIVER(name)        { name, false },
#define DRIVER_PREFIX(text) { text, true },
#include "driver.def"
#undef DRIVER
#undef DRIVER_PREFIX
};

bool cv_is_provided(cv_span name)
{
    for (size_t i = 0; i < CV_COUNT(DRIVER_NAMES); i++) {
        const known_name *known = &CV_AT(DRIVER_NAMES, i);

        if (known->prefix ? cv_span_starts(name, known->text) : cv_span_eq_str(name, known->text))
            return true;
    }
    return false;
}

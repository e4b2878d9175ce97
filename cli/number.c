/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cli.h"

#include <string.h>

bool cli_number(const char *text, uint64_t *out)
{
    static const char SUFFIX[] = "KMG";
    uint64_t value = 0;
    const char *at = text, *unit;

    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == text)
        return false;
    if (*at) {
        unit = strchr(SUFFIX, *at);
        if (!unit || at[1])
            return false;
        for (size_t i = 0; i <= (size_t)(unit - SUFFIX); i++) {
            if (value > UINT64_MAX / 1024)
                return false;
            value *= 1024;
        }
    }
    *out = value;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "proc/compile.h"

cv_rule cv_compile_rule(cuvet_compile_end end)
{
    switch (end) {
    case CUVET_COMPILE_CRASHED: return CV_R_COMPILE_CRASHED;
    case CUVET_COMPILE_TIMEOUT: return CV_R_COMPILE_TIMEOUT;
    case CUVET_COMPILE_EMPTY: return CV_R_COMPILE_EMPTY;
    case CUVET_COMPILE_OVERSIZED: return CV_R_COMPILE_OVERSIZED;
    case CUVET_COMPILE_NOT_FOUND: return CV_R_COMPILE_NOT_FOUND;
    case CUVET_COMPILE_UNSUPPORTED: return CV_R_COMPILE_UNSUPPORTED;
    case CUVET_COMPILED:
    case CUVET_COMPILE_CANCELLED:
    case CUVET_COMPILE_FAILED: break;
    }
    return CV_R_COMPILE_FAILED;
}

bool cv_clean_log(cv_mem *mem, cv_span said, cv_u8s *out)
{
    uint64_t len = cv_min(said.len, CV_LOG_MOST);

    cv_u8s_clear(out);
    if (len == 0)
        return true;
    if (!cv_u8s_reserve(mem, out, len + 1))
        return false;
    for (uint64_t i = 0; i < len; i++) {
        uint8_t letter = cv_u8_at(said, i);

        if (letter == '\r')
            continue;
        if (letter == '\t')
            letter = ' ';
        if (!cv_u8s_push(mem, out, letter == '\n' || (letter >= ' ' && letter <= '~') ? letter : '?'))
            return false;
    }
    return cv_u8s_push(mem, out, 0);
}

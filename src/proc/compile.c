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

bool cv_clean_log(cv_mem *m, cv_span said, cv_u8s *out)
{
    uint64_t n = cv_min(said.len, CV_LOG_MOST);

    cv_u8s_clear(out);
    if (n == 0)
        return true;
    if (!cv_u8s_reserve(m, out, n + 1))
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint8_t c = cv_u8_at(said, i);

        if (c == '\r')
            continue;
        if (c == '\t')
            c = ' ';
        if (!cv_u8s_push(m, out, c == '\n' || (c >= ' ' && c <= '~') ? c : '?'))
            return false;
    }
    return cv_u8s_push(m, out, 0);
}

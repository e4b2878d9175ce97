/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/dwarf/write.h"

enum { LEB_BITS = 7, LEB_MORE = 1 << LEB_BITS };

void cv_put_uleb(cv_builder *out, uint64_t value)
{
    for (; value >= LEB_MORE; value >>= LEB_BITS)
        cv_put_u8(out, (uint8_t)(value | LEB_MORE));
    cv_put_u8(out, (uint8_t)value);
}

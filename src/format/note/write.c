/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/note/write.h"

#define STRING_MAX 65535u /* of one string; no tool comes near */

static void put_head(cv_builder *b, uint32_t descsz, uint32_t type)
{
    cv_put_u32(b, sizeof(CV_NOTE_OWNER));
    cv_put_u32(b, descsz);
    cv_put_u32(b, type);
    cv_put_str(b, CV_NOTE_OWNER);
    cv_put_u8(b, 0);
}

bool cv_note_put(cv_builder *b, uint32_t type, cv_span desc)
{
    uint32_t n;

    if (!cv_to_u32(desc.len, &n))
        return false;
    put_head(b, n, type);
    cv_put_span(b, desc);
    cv_put_zero(b, cv_sat_align(desc.len, 4) - desc.len);
    return true;
}

bool cv_tkinfo_put(cv_builder *b, const cv_tkinfo *t)
{
    const cv_span *const strings[] = { &t->object, &t->tool, &t->tool_version, &t->build, &t->command };
    uint32_t total = 4 + 4 * (uint32_t)CV_COUNT(strings), descsz, at = 0;

    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_span s = *CV_AT(strings, i);

        if (s.len > STRING_MAX || cv_span_find_byte(s, 0) != s.len)
            return false;
        total += (uint32_t)s.len + 1;
    }
    descsz = (total + 3) & ~UINT32_C(3);
    put_head(b, descsz, CV_NOTE_TKINFO);
    cv_put_u32(b, t->version);
    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_put_u32(b, at);
        at += (uint32_t)CV_AT(strings, i)->len + 1;
    }
    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_put_span(b, *CV_AT(strings, i));
        cv_put_u8(b, 0);
    }
    cv_put_zero(b, descsz - total);
    return true;
}

void cv_cuinfo_put(cv_builder *b, uint16_t virtual_sm, uint16_t toolkit)
{
    put_head(b, 8, CV_NOTE_CUINFO);
    cv_put_u16(b, 2);
    cv_put_u16(b, virtual_sm);
    cv_put_u16(b, toolkit);
    cv_put_u16(b, 0);
}

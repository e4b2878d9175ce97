/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/note/write.h"

#define STRING_MAX 65535u /* of one string; no tool comes near */

static void put_head(cv_builder *builder, uint32_t descsz, uint32_t type)
{
    cv_put_u32(builder, sizeof(CV_NOTE_OWNER));
    cv_put_u32(builder, descsz);
    cv_put_u32(builder, type);
    cv_put_str(builder, CV_NOTE_OWNER);
    cv_put_u8(builder, 0);
}

bool cv_note_put(cv_builder *builder, uint32_t type, cv_span desc)
{
    uint32_t count;

    if (!cv_to_u32(desc.len, &count))
        return false;
    put_head(builder, count, type);
    cv_put_span(builder, desc);
    cv_put_zero(builder, cv_sat_align(desc.len, 4) - desc.len);
    return true;
}

bool cv_tkinfo_put(cv_builder *builder, const cv_tkinfo *tkinfo)
{
    const cv_span *const strings[] = { &tkinfo->object, &tkinfo->tool, &tkinfo->tool_version, &tkinfo->build,
                                       &tkinfo->command };
    uint32_t total = 4 + 4 * (uint32_t)CV_COUNT(strings), descsz, at = 0;

    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_span span = *CV_AT(strings, i);

        if (span.len > STRING_MAX || cv_span_find_byte(span, 0) != span.len)
            return false;
        total += (uint32_t)span.len + 1;
    }
    descsz = (total + 3) & ~UINT32_C(3);
    put_head(builder, descsz, CV_NOTE_TKINFO);
    cv_put_u32(builder, tkinfo->version);
    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_put_u32(builder, at);
        at += (uint32_t)CV_AT(strings, i)->len + 1;
    }
    for (uint64_t i = 0; i < CV_COUNT(strings); i++) {
        cv_put_span(builder, *CV_AT(strings, i));
        cv_put_u8(builder, 0);
    }
    cv_put_zero(builder, descsz - total);
    return true;
}

void cv_cuinfo_put(cv_builder *builder, uint16_t virtual_sm, uint16_t toolkit)
{
    put_head(builder, 8, CV_NOTE_CUINFO);
    cv_put_u16(builder, 2);
    cv_put_u16(builder, virtual_sm);
    cv_put_u16(builder, toolkit);
    cv_put_u16(builder, 0);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/fatbin/write.h"

void cv_fatbin_put_container(cv_builder *b, uint64_t size)
{
    cv_put_u32(b, CV_FATBIN_MAGIC);
    cv_put_u16(b, 1);
    cv_put_u16(b, (uint16_t)CV_FATBIN_HEADER);
    cv_put_u64(b, size);
}

void cv_fatbin_put_member(cv_builder *b, const cv_fatbin_member *m)
{
    bool name = m->ident.len != 0;
    uint64_t ident_area = name ? cv_sat_align(m->ident.len + 1, 8) : 0;
    uint64_t length = m->options.len + m->compat_copy.len, options_at = CV_FATBIN_MEMBER + ident_area;
    uint64_t option_area = m->has_options ? 8 + cv_sat_align(length + 1, 8) : 0;
    uint64_t start = b->len;

    cv_put_u16(b, m->kind);
    cv_put_u16(b, CV_FATBIN_MEMBER_VERSION);
    cv_put_u32(b, (uint32_t)(options_at + option_area));
    cv_put_u64(b, m->payload_size);
    cv_put_u32(b, m->compressed_size);
    cv_put_u32(b, m->has_options ? (uint32_t)options_at : 0);
    cv_put_u16(b, m->minor);
    cv_put_u16(b, m->major);
    cv_put_u32(b, m->arch);
    cv_put_u32(b, name ? (uint32_t)CV_FATBIN_MEMBER : 0);
    cv_put_u32(b, (uint32_t)m->ident.len);
    cv_put_u64(b, m->flags);
    cv_put_u64(b, m->key);
    cv_put_u64(b, m->uncompressed_size);
    cv_put_span(b, m->ident);
    cv_put_zero(b, ident_area - m->ident.len);
    if (m->has_options) {
        cv_put_u32(b, (uint32_t)options_at + 8);
        cv_put_u32(b, (uint32_t)length);
        cv_put_span(b, m->options);
        if (m->compat_copy.len) {
            cv_put_u8(b, 0);
            cv_put_span(b, m->compat_copy);
        }
        cv_put_zero(b, options_at + option_area - (b->len - start));
    }
}

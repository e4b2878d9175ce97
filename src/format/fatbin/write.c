/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/fatbin/write.h"

void cv_fatbin_put_container(cv_builder *out, uint64_t size)
{
    cv_put_u32(out, CV_FATBIN_MAGIC);
    cv_put_u16(out, 1);
    cv_put_u16(out, (uint16_t)CV_FATBIN_HEADER);
    cv_put_u64(out, size);
}

void cv_fatbin_put_member(cv_builder *out, const cv_fatbin_member *member)
{
    bool name = member->ident.len != 0;
    uint64_t ident_area = name ? cv_sat_align(member->ident.len + 1, 8) : 0;
    uint64_t length = member->options.len + member->compat_copy.len,
             options_at = CV_FATBIN_MEMBER + ident_area;
    uint64_t option_area = member->has_options ? 8 + cv_sat_align(length + 1, 8) : 0;
    uint64_t start = out->len;

    cv_put_u16(out, member->kind);
    cv_put_u16(out, CV_FATBIN_MEMBER_VERSION);
    cv_put_u32(out, (uint32_t)(options_at + option_area));
    cv_put_u64(out, member->payload_size);
    cv_put_u32(out, member->compressed_size);
    cv_put_u32(out, member->has_options ? (uint32_t)options_at : 0);
    cv_put_u16(out, member->minor);
    cv_put_u16(out, member->major);
    cv_put_u32(out, member->arch);
    cv_put_u32(out, name ? (uint32_t)CV_FATBIN_MEMBER : 0);
    cv_put_u32(out, (uint32_t)member->ident.len);
    cv_put_u64(out, member->flags);
    cv_put_u64(out, member->key);
    cv_put_u64(out, member->uncompressed_size);
    cv_put_span(out, member->ident);
    cv_put_zero(out, ident_area - member->ident.len);
    if (member->has_options) {
        cv_put_u32(out, (uint32_t)options_at + 8);
        cv_put_u32(out, (uint32_t)length);
        cv_put_span(out, member->options);
        if (member->compat_copy.len) {
            cv_put_u8(out, 0);
            cv_put_span(out, member->compat_copy);
        }
        cv_put_zero(out, options_at + option_area - (out->len - start));
    }
}

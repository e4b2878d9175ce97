/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/kind_fatbin_agree.h"

#include "target/gen.h"

/* A header as old tools write it around content that is newer than they are. */
static void agree_age(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, bool old_flags,
                      bool empty_ident)
{
    if ((member->flags & CV_FB_CUDA) && !old_flags)
        cv_report(ctx, CV_R_FATBIN_FLAGS_UNKNOWN, head + CV_FB_AT_MEMBER_FLAGS, 8, member->flags,
                  member->flags & ~(uint64_t)CV_FB_CUDA);
    if (member->empty_ident && !empty_ident)
        cv_report(ctx, CV_R_FATBIN_HEADER_EXTRA, head + CV_FATBIN_MEMBER, 8, member->header_size,
                  member->header_size - 8);
}

static char flag_suffix(uint64_t flags)
{
    return flags & CV_FB_ARCH_A ? 'a' : flags & CV_FB_ARCH_F ? 'f' : 0;
}

static uint64_t suffix_code(char ch)
{
    return (uint64_t)(unsigned char)ch;
}

bool cv_agree_kind(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, cv_span content)
{
    uint32_t magic = cv_u32_at(content, 0);
    uint16_t is = 0;

    if (magic == CV_ELF_MAGIC)
        is = CV_FB_KIND_ELF;
    else if (magic == CV_LTOIR_MAGIC)
        is = CV_FB_KIND_LTOIR;
    if (member->kind == CV_FB_KIND_ELF && is == 0 && cv_ptx_probe(content))
        is = CV_FB_KIND_PTX;
    if (is == 0 || is == member->kind || (member->kind == CV_FB_KIND_MERCURY && is == CV_FB_KIND_ELF))
        return true;
    cv_report(ctx, CV_R_AGREE_KIND, head, 2, member->kind, is);
    return false;
}

/* Value of one-byte tag in a .nv.compat section; records are four bytes except format 4. */
static uint8_t compat_value(cv_span compat, uint8_t tag)
{
    uint64_t i = 0;

    while (compat.len - i >= 4) {
        uint64_t skip = 4;

        if (cv_u8_at(compat, i + 1) == tag && cv_u8_at(compat, i) == 2)
            return cv_u8_at(compat, i + 2);
        if (cv_u8_at(compat, i) == 4)
            skip += cv_u16_at(compat, i + 2);
        if (skip > compat.len - i)
            return 0;
        i += skip;
    }
    return 0;
}

enum { MEMBER_VALUES = 3 };

/* The values that a member of 12.8 tools has, in their order; the last one is of either tag of its name. */
static uint8_t member_value(cv_span compat, uint64_t index, uint8_t got)
{
    if (index == 0)
        return compat_value(compat, CV_COMPAT_ISA_CLASS);
    if (index == 1)
        return compat_value(compat, CV_COMPAT_INST_TENSORMAP_V1);
    return compat_value(compat, CV_COMPAT_INST_TCGEN05_MMA_DEPRECATED) == got
               ? got
               : compat_value(compat, CV_COMPAT_INST_TCGEN05_MMA);
}

static void agree_compat(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, const cv_cubin *cubin)
{
    uint64_t count, at = 0;

    if (!cv_gen_has(cv_gen_of(member->arch), CV_GEN_MEMBER_OPTIONS))
        return;
    if (!member->has_options) {
        if (cubin->compat.len != 0)
            cv_report(ctx, CV_R_FATBIN_OPTIONS_PRESENCE, head + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, 0, 1);
        return;
    }
    if (member->compat_values) {
        for (at = 0; at < MEMBER_VALUES; at++) {
            uint8_t got = cv_u8_at(member->compat_copy, at), want = member_value(cubin->compat, at, got);

            if (got != want) {
                cv_report(ctx, CV_R_AGREE_COMPAT, head + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, got, want);
                return;
            }
        }
        return;
    }
    count = cv_min(member->compat_copy.len, cubin->compat.len);
    if (cv_span_eq(member->compat_copy, cubin->compat))
        return;
    while (at < count && cv_u8_at(member->compat_copy, at) == cv_u8_at(cubin->compat, at))
        at++;
    cv_report(ctx, CV_R_AGREE_COMPAT, head + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4,
              at < member->compat_copy.len ? cv_u8_at(member->compat_copy, at) : 1 + UINT8_MAX,
              at < cubin->compat.len ? cv_u8_at(cubin->compat, at) : 1 + UINT8_MAX);
}

void cv_agree_elf(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, const cv_cubin *cubin)
{
    char suffix = flag_suffix(member->flags);
    bool accel = suffix == 'a', capsule = (member->flags & CV_FB_CAPSULE) != 0,
         is64 = (member->flags & CV_FB_64BIT) != 0;

    if (member->arch != cubin->sm)
        cv_report(ctx, CV_R_AGREE_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, member->arch, cubin->sm);
    if (member->minor != cubin->header.abiversion || member->major != 1)
        cv_report(ctx, CV_R_AGREE_VERSION, head + CV_FB_AT_MEMBER_MINOR, 4,
                  (uint64_t)member->major << 16 | member->minor,
                  UINT64_C(1) << 16 | cubin->header.abiversion);
    if (capsule != cubin->flag_capsule)
        cv_report(ctx, CV_R_AGREE_CAPSULE, head + CV_FB_AT_MEMBER_FLAGS, 8, capsule, cubin->flag_capsule);
    if (cubin->compat_accel_known && accel != cubin->compat_accel)
        cv_report(ctx, CV_R_AGREE_ACCEL, head + CV_FB_AT_MEMBER_FLAGS, 8, accel, cubin->compat_accel);
    if (cubin->suffix_known && suffix != cubin->suffix)
        cv_report(ctx, CV_R_AGREE_SUFFIX, head + CV_FB_AT_MEMBER_FLAGS, 8, suffix_code(suffix),
                  suffix_code(cubin->suffix));
    if (is64 == cubin->header.is32)
        cv_report(ctx, CV_R_AGREE_CLASS, head + CV_FB_AT_MEMBER_FLAGS, 8, is64, !cubin->header.is32);
    agree_age(ctx, member, head, cubin->producer.release <= CV_FATBIN_OLD_FLAGS,
              cubin->producer.release <= CV_FATBIN_EMPTY_IDENT);
    agree_compat(ctx, member, head, cubin);
}

void cv_agree_ptx(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, const cv_ptx *ptx)
{
    uint64_t version = (uint64_t)ptx->major * 100 + ptx->minor,
             header = (uint64_t)member->major * 100 + member->minor;
    uint64_t text = ptx->text_len + 1;
    uint64_t size = member->flags & CV_FB_COMPRESSED ? member->uncompressed_size : member->payload_size;
    uint64_t bits = member->flags & CV_FB_64BIT ? 64 : 32;

    agree_age(ctx, member, head, version <= CV_FATBIN_OLD_FLAGS_PTX, version <= CV_FATBIN_EMPTY_IDENT_PTX);
    if (version != header)
        cv_report(ctx, CV_R_AGREE_PTX_VERSION, head + CV_FB_AT_MEMBER_MINOR, 4, version, header);
    if (ptx->target != member->arch)
        cv_report(ctx, CV_R_AGREE_PTX_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, ptx->target, member->arch);
    if (ptx->suffix_known && ptx->suffix != flag_suffix(member->flags))
        cv_report(ctx, CV_R_AGREE_PTX_SUFFIX, head + CV_FB_AT_MEMBER_FLAGS, 8, suffix_code(ptx->suffix),
                  suffix_code(flag_suffix(member->flags)));
    if (ptx->address_size != 0 && ptx->address_size != bits)
        cv_report(ctx, CV_R_AGREE_PTX_ADDRESS, head + CV_FB_AT_MEMBER_FLAGS, 8, ptx->address_size, bits);
    if (!(member->flags & CV_FB_COMPRESSED))
        text = cv_sat_align(text, 8);
    /* Zero bytes behind the text, or none, are judged where it is read. */
    if (text != size &&
        !(member->flags & CV_FB_COMPRESSED && size >= ptx->text_len && size - ptx->text_len <= 8))
        cv_report(ctx, CV_R_AGREE_PTX_SIZE,
                  head + (member->flags & CV_FB_COMPRESSED ? CV_FB_AT_MEMBER_UNPACKED_SIZE
                                                           : CV_FB_AT_MEMBER_PAYLOAD_SIZE),
                  8, text, size);
}

void cv_agree_ltoir(cv_ctx *ctx, const cv_fatbin_member *member, uint64_t head, cv_span blob)
{
    uint64_t version =
        cv_fatbin_get(blob, CV_FB_FIELD_LTOIR_MAJOR) * 100 + cv_fatbin_get(blob, CV_FB_FIELD_LTOIR_MINOR);
    uint64_t header = (uint64_t)member->major * 100 + member->minor;
    uint64_t tenths = cv_fatbin_get(blob, CV_FB_FIELD_LTOIR_ARCH_TENTHS);

    if (cv_u32_at(blob, 0) != CV_LTOIR_MAGIC) {
        cv_report(ctx, CV_R_AGREE_LTOIR_MAGIC, blob.off, cv_min(blob.len, 4), cv_u32_at(blob, 0),
                  CV_LTOIR_MAGIC);
        return;
    }
    if (version != header)
        cv_report(ctx, CV_R_AGREE_LTOIR_VERSION, head + CV_FB_AT_MEMBER_MINOR, 4, version, header);
    if (tenths != (uint64_t)member->arch * 10)
        cv_report(ctx, CV_R_AGREE_LTOIR_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, tenths,
                  (uint64_t)member->arch * 10);
}

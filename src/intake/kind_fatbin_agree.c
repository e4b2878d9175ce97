/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "intake/kind_fatbin_agree.h"

#include "target/gen.h"

/* A header as old tools write it around content that is newer than they are. */
static void agree_age(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, bool old_flags, bool empty_ident)
{
    if ((m->flags & CV_FB_CUDA) && !old_flags)
        cv_report(x, CV_R_FATBIN_FLAGS_UNKNOWN, head + CV_FB_AT_MEMBER_FLAGS, 8, m->flags,
                  m->flags & ~(uint64_t)CV_FB_CUDA);
    if (m->empty_ident && !empty_ident)
        cv_report(x, CV_R_FATBIN_HEADER_EXTRA, head + CV_FATBIN_MEMBER, 8, m->header_size,
                  m->header_size - 8);
}

static char flag_suffix(uint64_t flags)
{
    return flags & CV_FB_ARCH_A ? 'a' : flags & CV_FB_ARCH_F ? 'f' : 0;
}

static uint64_t suffix_code(char c)
{
    return (uint64_t)(unsigned char)c;
}

bool cv_agree_kind(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, cv_span content)
{
    uint32_t magic = cv_u32_at(content, 0);
    uint16_t is = 0;

    if (magic == CV_ELF_MAGIC)
        is = CV_FB_KIND_ELF;
    else if (magic == CV_LTOIR_MAGIC)
        is = CV_FB_KIND_LTOIR;
    if (m->kind == CV_FB_KIND_ELF && is == 0 && cv_ptx_probe(content))
        is = CV_FB_KIND_PTX;
    if (is == 0 || is == m->kind || (m->kind == CV_FB_KIND_MERCURY && is == CV_FB_KIND_ELF))
        return true;
    cv_report(x, CV_R_AGREE_KIND, head, 2, m->kind, is);
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

static void agree_compat(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, const cv_cubin *c)
{
    bool same;

    if (!cv_gen_has(cv_gen_of(m->arch), CV_GEN_MEMBER_OPTIONS))
        return;
    if (!m->has_options) {
        if (c->compat.len != 0)
            cv_report(x, CV_R_FATBIN_OPTIONS_PRESENCE, head + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, 0, 1);
        return;
    }
    if (m->compat_values) {
        same = true;
        for (uint8_t i = 0; i < 3; i++) {
            static const uint8_t TAGS[] = { 2, 3, 5 };

            same = same && cv_u8_at(m->compat_copy, i) == compat_value(c->compat, CV_AT(TAGS, i));
        }
    } else {
        same = cv_span_eq(m->compat_copy, c->compat);
    }
    if (!same)
        cv_report(x, CV_R_AGREE_COMPAT, head + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, m->compat_copy.len,
                  c->compat.len);
}

void cv_agree_elf(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, const cv_cubin *c)
{
    char suffix = flag_suffix(m->flags);
    bool a = suffix == 'a', capsule = (m->flags & CV_FB_CAPSULE) != 0, is64 = (m->flags & CV_FB_64BIT) != 0;

    if (m->arch != c->sm)
        cv_report(x, CV_R_AGREE_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, m->arch, c->sm);
    if (m->minor != c->h.abiversion || m->major != 1)
        cv_report(x, CV_R_AGREE_VERSION, head + 0x18, 4, m->minor, c->h.abiversion);
    if (capsule != c->flag_capsule)
        cv_report(x, CV_R_AGREE_CAPSULE, head + CV_FB_AT_MEMBER_FLAGS, 8, capsule, c->flag_capsule);
    if (c->compat_accel_known && a != c->compat_accel)
        cv_report(x, CV_R_AGREE_ACCEL, head + CV_FB_AT_MEMBER_FLAGS, 8, a, c->compat_accel);
    if (c->suffix_known && suffix != c->suffix)
        cv_report(x, CV_R_AGREE_SUFFIX, head + CV_FB_AT_MEMBER_FLAGS, 8, suffix_code(suffix),
                  suffix_code(c->suffix));
    if (is64 == c->h.is32)
        cv_report(x, CV_R_AGREE_CLASS, head + CV_FB_AT_MEMBER_FLAGS, 8, is64, !c->h.is32);
    agree_age(x, m, head, c->producer.release <= CV_FATBIN_OLD_FLAGS,
              c->producer.release <= CV_FATBIN_EMPTY_IDENT);
    agree_compat(x, m, head, c);
}

void cv_agree_ptx(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, const cv_ptx *p)
{
    uint64_t version = (uint64_t)p->major * 100 + p->minor, header = (uint64_t)m->major * 100 + m->minor;
    uint64_t text = p->text_len + 1;
    uint64_t size = m->flags & CV_FB_COMPRESSED ? m->uncompressed_size : m->payload_size;
    uint64_t bits = m->flags & CV_FB_64BIT ? 64 : 32;

    agree_age(x, m, head, version <= CV_FATBIN_OLD_FLAGS_PTX, version <= CV_FATBIN_EMPTY_IDENT_PTX);
    if (version != header)
        cv_report(x, CV_R_AGREE_PTX_VERSION, head + 0x18, 4, version, header);
    if (p->target != m->arch)
        cv_report(x, CV_R_AGREE_PTX_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, p->target, m->arch);
    if (p->suffix_known && p->suffix != flag_suffix(m->flags))
        cv_report(x, CV_R_AGREE_PTX_SUFFIX, head + CV_FB_AT_MEMBER_FLAGS, 8, suffix_code(p->suffix),
                  suffix_code(flag_suffix(m->flags)));
    if (p->address_size != 0 && p->address_size != bits)
        cv_report(x, CV_R_AGREE_PTX_ADDRESS, head + CV_FB_AT_MEMBER_FLAGS, 8, p->address_size, bits);
    if (!(m->flags & CV_FB_COMPRESSED))
        text = cv_sat_align(text, 8);
    /* Zero bytes behind the text, or none, are judged where it is read. */
    if (text != size && !(m->flags & CV_FB_COMPRESSED && size >= p->text_len && size - p->text_len <= 8))
        cv_report(x, CV_R_AGREE_PTX_SIZE,
                  head + (m->flags & CV_FB_COMPRESSED ? CV_FB_AT_MEMBER_UNPACKED_SIZE
                                                      : CV_FB_AT_MEMBER_PAYLOAD_SIZE),
                  8, text, size);
}

void cv_agree_ltoir(cv_ctx *x, const cv_fatbin_member *m, uint64_t head, cv_span blob)
{
    uint64_t version = (uint64_t)cv_u8_at(blob, 4) * 100 + cv_u8_at(blob, 5);
    uint64_t header = (uint64_t)m->major * 100 + m->minor;

    if (cv_u32_at(blob, 0) != CV_LTOIR_MAGIC) {
        cv_report(x, CV_R_AGREE_LTOIR_MAGIC, blob.off, cv_min(blob.len, 4), cv_u32_at(blob, 0),
                  CV_LTOIR_MAGIC);
        return;
    }
    if (version != header)
        cv_report(x, CV_R_AGREE_LTOIR_VERSION, head + 0x18, 4, version, header);
    if (cv_u16_at(blob, 0x1A) != (uint64_t)m->arch * 10)
        cv_report(x, CV_R_AGREE_LTOIR_ARCH, head + CV_FB_AT_MEMBER_ARCH, 4, cv_u16_at(blob, 0x1A),
                  (uint64_t)m->arch * 10);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/fatbin/read.h"

/* LTO-IR is also kept in arrays of characters, which are aligned to nothing. */
static bool holds_ltoir(cv_span in)
{
    return cv_u16_at(in, CV_FATBIN_HEADER) == CV_FB_KIND_LTOIR;
}

cuvet_status cv_fatbin_read_container(cv_ctx *x, cv_span in, uint64_t object_left, uint64_t object_off,
                                      cv_fatbin_container *out)
{
    cv_cur c = cv_cur_of(in);
    cv_fatbin_container h = { 0 };
    uint32_t magic = cv_cur_u32(&c);

    h.version = cv_cur_u16(&c);
    h.header_size = cv_cur_u16(&c);
    h.size = cv_cur_u64(&c);
    if (c.failed)
        return cv_reject(x, CV_R_FATBIN_HEADER_TRUNCATED, in.off + c.bad_at, in.len, CV_FATBIN_HEADER);
    if (magic != CV_FATBIN_MAGIC)
        return cv_reject(x, CV_R_FATBIN_MAGIC, in.off, magic, CV_FATBIN_MAGIC);
    if (h.version != 1)
        return cv_reject(x, CV_R_FATBIN_VERSION, in.off + CV_FB_AT_CONTAINER_VERSION, h.version, 1);
    if (h.header_size != CV_FATBIN_HEADER)
        return cv_reject(x, CV_R_FATBIN_HEADER_SIZE, in.off + CV_FB_AT_CONTAINER_HEADER_SIZE, h.header_size,
                         CV_FATBIN_HEADER);
    if (object_off % 8 != 0 && !holds_ltoir(in))
        cv_report(x, CV_R_FATBIN_ALIGNMENT, in.off, 0, object_off, 8);
    if (h.size % 8 != 0)
        cv_report(x, CV_R_FATBIN_SIZE_ALIGN, in.off + CV_FB_AT_CONTAINER_SIZE, 8, h.size, 8);
    h.body_size = object_left < CV_FATBIN_HEADER ? 0 : cv_min(h.size, object_left - CV_FATBIN_HEADER);
    if (h.size != h.body_size)
        cv_report(x, CV_R_FATBIN_SIZE_RANGE, in.off + CV_FB_AT_CONTAINER_SIZE, 8, h.size, h.body_size);
    if (h.size == 0)
        cv_report(x, CV_R_FATBIN_EMPTY, in.off + CV_FB_AT_CONTAINER_SIZE, 8, 0, 0);
    *out = h;
    return CUVET_OK;
}

bool cv_fatbin_member_extent(cv_span head, uint64_t left, uint64_t *header_size, uint64_t *payload_size)
{
    uint64_t hs = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_HEADER_SIZE),
             ps = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_PAYLOAD_SIZE);

    if (head.len < CV_FATBIN_MEMBER || left < CV_FATBIN_MEMBER)
        return false;
    if (hs < CV_FATBIN_MEMBER || hs % 8 != 0 || hs > left || ps % 8 != 0 || ps > left - hs)
        return false;
    *header_size = hs;
    *payload_size = ps;
    return true;
}

cv_fatbin_claim cv_fatbin_member_claim(cv_span head)
{
    return (cv_fatbin_claim){ .flags = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_FLAGS),
                              .stored = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_COMPRESSED_SIZE),
                              .unpacked = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_UNPACKED_SIZE) };
}

cuvet_status cv_fatbin_reject_member(cv_ctx *x, cv_span head, uint64_t left)
{
    uint64_t hs = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_HEADER_SIZE),
             ps = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_PAYLOAD_SIZE);

    if (head.len < CV_FATBIN_MEMBER)
        return cv_reject(x, CV_R_FATBIN_MEMBER_TRUNCATED, head.off, left, CV_FATBIN_MEMBER);
    if (hs < CV_FATBIN_MEMBER)
        return cv_reject(x, CV_R_FATBIN_MEMBER_HEADER_SIZE, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs,
                         CV_FATBIN_MEMBER);
    if (hs % 8 != 0)
        return cv_reject(x, CV_R_FATBIN_MEMBER_HEADER_ALIGN, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs, 8);
    if (hs > left)
        return cv_reject(x, CV_R_FATBIN_MEMBER_HEADER_RANGE, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs,
                         left);
    if (ps % 8 != 0)
        return cv_reject(x, CV_R_FATBIN_PAYLOAD_ALIGN, head.off + CV_FB_AT_MEMBER_PAYLOAD_SIZE, ps, 8);
    return cv_reject(x, CV_R_FATBIN_PAYLOAD_RANGE, head.off + CV_FB_AT_MEMBER_PAYLOAD_SIZE, ps, left - hs);
}

bool cv_fatbin_begins_member(cv_span head, uint64_t left)
{
    uint64_t hs = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_HEADER_SIZE),
             ps = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_PAYLOAD_SIZE);

    return left >= CV_FATBIN_MEMBER &&
           cv_fatbin_get(head, CV_FB_FIELD_MEMBER_VERSION) == CV_FATBIN_MEMBER_VERSION &&
           hs >= CV_FATBIN_MEMBER && hs % 8 == 0 && ps % 8 == 0 && hs <= left && ps <= left - hs;
}

static void decode_fixed(cv_span in, cv_fatbin_member *m)
{
    cv_cur c = cv_cur_of(in);

    m->kind = cv_cur_u16(&c);
    m->version = cv_cur_u16(&c);
    m->header_size = cv_cur_u32(&c);
    m->payload_size = cv_cur_u64(&c);
    m->compressed_size = cv_cur_u32(&c);
    m->options_offset = cv_cur_u32(&c);
    m->minor = cv_cur_u16(&c);
    m->major = cv_cur_u16(&c);
    m->arch = cv_cur_u32(&c);
    m->name_offset = cv_cur_u32(&c);
    m->name_length = cv_cur_u32(&c);
    m->flags = cv_cur_u64(&c);
    m->key = cv_cur_u64(&c);
    m->uncompressed_size = cv_cur_u64(&c);
}

/* PTX of fatbinary up to 10.2 has room for one more byte than it fills. */
static bool has_spare_byte(const cv_fatbin_member *m)
{
    return m->kind == CV_FB_KIND_PTX && cv_fatbin_writer(m) == CV_PROFILE_FATBINARY_10 &&
           cv_sat_align((uint64_t)m->compressed_size + 1, 8) == m->payload_size;
}

/* compressed <=> compressed_size != 0 <=> uncompressed_size != 0; exactly one method; padded size = payload
 * size. */
static cuvet_status check_compression(cv_ctx *x, uint64_t off, const cv_fatbin_member *m)
{
    uint64_t method = m->flags & CV_FB_COMPRESSED;

    if (method == 0) {
        if (m->compressed_size != 0)
            return cv_reject(x, CV_R_FATBIN_SIZE_WITHOUT_FLAG, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE,
                             m->compressed_size, 0);
        if (m->uncompressed_size != 0)
            return cv_reject(x, CV_R_FATBIN_USIZE_WITHOUT_FLAG, off + CV_FB_AT_MEMBER_UNPACKED_SIZE,
                             m->uncompressed_size, 0);
        return CUVET_OK;
    }
    if (method & (CV_FB_OLD_COMPRESSION | CV_FB_UNKNOWN_COMPRESSION))
        return cv_reject(x, CV_R_FATBIN_METHOD_UNSUPPORTED, off + CV_FB_AT_MEMBER_FLAGS, method,
                         CV_FB_LZ4 | CV_FB_ZSTD);
    if (method == (CV_FB_LZ4 | CV_FB_ZSTD))
        return cv_reject(x, CV_R_FATBIN_TWO_METHODS, off + CV_FB_AT_MEMBER_FLAGS, method, CV_FB_ZSTD);
    if (m->compressed_size == 0)
        return cv_reject(x, CV_R_FATBIN_CSIZE_ZERO, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE, 0,
                         m->payload_size);
    if (cv_sat_align(m->compressed_size, 8) != m->payload_size && !has_spare_byte(m))
        return cv_reject(x, CV_R_FATBIN_CSIZE_PADDED, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE,
                         cv_sat_align(m->compressed_size, 8), m->payload_size);
    if (m->uncompressed_size == 0)
        return cv_reject(x, CV_R_FATBIN_USIZE_ZERO, off + CV_FB_AT_MEMBER_UNPACKED_SIZE, 0, 1);
    return CUVET_OK;
}

static void check_kind(cv_ctx *x, uint64_t off, const cv_fatbin_member *m)
{
    if (m->kind != CV_FB_KIND_PTX && m->kind != CV_FB_KIND_ELF && m->kind != CV_FB_KIND_LTOIR)
        cv_report(x, CV_R_FATBIN_KIND, off, 2, m->kind, 0);
    if (m->version != CV_FATBIN_MEMBER_VERSION)
        cv_report(x, CV_R_FATBIN_MEMBER_VERSION, off + CV_FB_AT_MEMBER_VERSION, 2, m->version,
                  CV_FATBIN_MEMBER_VERSION);
    if (m->arch == 0)
        cv_report(x, CV_R_FATBIN_ARCH_ZERO, off + CV_FB_AT_MEMBER_ARCH, 4, 0, 0);
}

/* Traits of spec/gen.def. This folder is below src/target, so it asks the rows itself. */
enum {
#define TRAIT(name, text) BIT_##name,
#include "gen.def"
#undef TRAIT
    N_BITS
};
enum {
#define TRAIT(name, text) name = 1u << BIT_##name,
#include "gen.def"
#undef TRAIT
};

/* Is it device code of a generation with this trait? */
static bool is_made_with(const cv_fatbin_member *m, uint32_t trait)
{
    uint32_t traits = 0;

#define T(name) (uint32_t)(name)
#define GEN(name, first, instruction, text, block, parameters, large, slots, reserved, reserved_first, has)  \
    traits = m->arch >= (first) ? (has) : traits;
#include "gen.def"
#undef GEN
#undef T
    return m->kind == CV_FB_KIND_ELF && (traits & trait) != 0;
}

static void check_flags(cv_ctx *x, uint64_t off, const cv_fatbin_member *m)
{
    uint64_t f = m->flags, at = off + CV_FB_AT_MEMBER_FLAGS;
    bool scrambled = (f & CV_FB_SCRAMBLED) != 0, compressed = (f & CV_FB_COMPRESSED) != 0;

    if (f & ~(uint64_t)CV_FB_KNOWN)
        cv_report(x, CV_R_FATBIN_FLAGS_UNKNOWN, at, 8, f, f & CV_FB_KNOWN);
    if (!(f & CV_FB_LINUX))
        cv_report(x, CV_R_FATBIN_FLAG_HOST, at, 8, f, CV_FB_LINUX);
    if (!(f & CV_FB_64BIT))
        cv_report(x, CV_R_FATBIN_FLAG_32BIT, at, 8, f, CV_FB_64BIT);
    if ((f & CV_FB_ARCH_A) && (f & CV_FB_ARCH_F))
        cv_report(x, CV_R_FATBIN_FLAG_A_AND_F, at, 8, f, CV_FB_ARCH_A);
    /* LTO-IR of 11.x is compressed and not scrambled. */
    if (scrambled && !(compressed && m->kind == CV_FB_KIND_LTOIR))
        cv_report(x, CV_R_FATBIN_FLAG_SCRAMBLED, at, 8, f, CV_FB_SCRAMBLED);
    if (((f & CV_FB_CAPSULE) != 0) != is_made_with(m, CAPSULE))
        cv_report(x, CV_R_FATBIN_FLAG_CAPSULE, at, 8, f, CV_FB_CAPSULE);
    if ((m->key != 0) != scrambled || m->key > UINT32_MAX)
        cv_report(x, CV_R_FATBIN_KEY, off + CV_FB_AT_MEMBER_KEY, 8, m->key, 0);
}

/* Identifier: at *end, NUL-terminated, zero-padded to 8. *end: where the option area may begin. False: it is
 * broken, and nothing behind it has a place. */
static bool read_identifier(cv_ctx *x, cv_span in, cv_fatbin_member *m, uint64_t *end)
{
    uint64_t area = cv_sat_align((uint64_t)m->name_length + 1, 8);
    cv_span name;

    if (m->name_offset == 0) {
        if (m->name_length != 0)
            cv_report(x, CV_R_FATBIN_NAME_LENGTH, in.off + CV_FB_AT_MEMBER_NAME_LENGTH, 4, m->name_length, 0);
        return true;
    }
    if (m->name_offset != *end) {
        cv_report(x, CV_R_FATBIN_NAME_OFFSET, in.off + CV_FB_AT_MEMBER_NAME_OFFSET, 4, m->name_offset, *end);
        return false;
    }
    if (!cv_span_sub(in, m->name_offset, area, &name)) {
        cv_report(x, CV_R_FATBIN_NAME_RANGE, in.off + CV_FB_AT_MEMBER_NAME_LENGTH, 4, area, in.len - *end);
        return false;
    }
    *end += area;
    if (cv_span_find_byte(name, 0) != m->name_length)
        cv_report(x, CV_R_FATBIN_NAME_NUL, name.off, name.len, cv_span_find_byte(name, 0), m->name_length);
    else if (cv_span_find_nonzero(cv_span_tail(name, m->name_length)) != area - m->name_length)
        cv_report(x, CV_R_FATBIN_HEADER_PADDING, name.off + m->name_length, area - m->name_length, 1, 0);
    m->ident = name;
    m->ident.len = m->name_length;
    return true;
}

/* Text of the option block: options NUL [compat copy]; ELF members of 12.8 tools keep three values instead.
 */
static void split_options(cv_fatbin_member *m, cv_span text, uint32_t length)
{
    uint64_t nul = cv_span_find_byte(text, 0);

    m->options = text;
    if (m->kind != CV_FB_KIND_ELF) {
        m->options.len = cv_min(length, text.len);
        return;
    }
    if (length == 3) { /* a copy of .nv.compat has whole records */
        m->compat_values = true;
        m->options.len = 0;
        m->compat_copy = text;
        m->compat_copy.len = 3;
        return;
    }
    m->options.len = cv_min(nul, length);
    m->compat_copy = cv_span_tail(text, m->options.len + 1);
    m->compat_copy.len = cv_min(m->compat_copy.len, length - m->options.len);
}

/* The string at 'at': length + 1 bytes, padded to 8. Returns its end, or 0 after a finding that leaves that
 * open. */
static uint64_t read_option_text(cv_ctx *x, cv_span in, cv_fatbin_member *m, uint64_t at, uint32_t length)
{
    uint64_t area = cv_sat_align((uint64_t)length + 1, 8), nul, used;
    cv_span text;

    if (!cv_span_sub(in, at, area, &text)) {
        cv_report(x, CV_R_FATBIN_OPTION_STRING_RANGE, in.off + at - 4, 4, area, in.len - cv_min(at, in.len));
        return 0;
    }
    split_options(m, text, length);
    nul = cv_span_find_byte(text, 0);
    /* A compat copy has its NUL in front and needs none behind it, the old values have neither; everything
     * else ends with one. */
    used = m->compat_values ? length : (uint64_t)length + 1;
    if (!m->compat_values && (m->kind == CV_FB_KIND_ELF ? nul > length : nul != length))
        cv_report(x, CV_R_FATBIN_OPTION_NUL, text.off, text.len, nul, length);
    else if (cv_span_find_nonzero(cv_span_tail(text, used)) != area - used)
        cv_report(x, CV_R_FATBIN_HEADER_PADDING, text.off + used, area - used, 1, 0);
    return at + area;
}

/* Option block: descriptor {string offset, length}, then the string. Returns where the header must end, or 0
 * after a finding that leaves that open. */
static uint64_t read_options(cv_ctx *x, cv_span in, cv_fatbin_member *m, uint64_t ident_end)
{
    uint32_t at = m->options_offset, string, length;
    uint64_t text = (uint64_t)at + 8;

    if (at != ident_end) {
        cv_report(x, CV_R_FATBIN_OPTIONS_OFFSET, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, at, ident_end);
        return 0;
    }
    if (!cv_span_has(in, at, 8)) {
        cv_report(x, CV_R_FATBIN_OPTIONS_RANGE, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, at, in.len - 8);
        return 0;
    }
    m->has_options = true;
    string = cv_u32_at(in, at);
    length = cv_u32_at(in, (uint64_t)at + 4);
    if (string == 0 && length == 0) /* PTX of older tools: a descriptor without a string */
        return text;
    if (string != text) {
        cv_report(x, CV_R_FATBIN_OPTION_STRING_OFFSET, in.off + at, 4, string, text);
        return 0;
    }
    return read_option_text(x, in, m, text, length);
}

/* Tools 12.3 to 12.5 keep eight zero bytes for an identifier that is not there. What is in the member tells
 * whether it is that old: src/model/agree.c. */
static bool has_empty_identifier(cv_span in, const cv_fatbin_member *m)
{
    uint64_t at = CV_FATBIN_MEMBER + 8;

    return m->name_offset == 0 && m->name_length == 0 && cv_span_has(in, CV_FATBIN_MEMBER, 8) &&
           cv_u64_at(in, CV_FATBIN_MEMBER) == 0 &&
           (m->options_offset == at || (m->options_offset == 0 && in.len == at));
}

static void check_areas(cv_ctx *x, cv_span in, cv_fatbin_member *m)
{
    bool want_options =
        m->kind == CV_FB_KIND_PTX || m->kind == CV_FB_KIND_LTOIR || is_made_with(m, MEMBER_OPTIONS);
    /* Up to 10.2 the identifier follows the options. */
    bool last = m->options_offset == CV_FATBIN_MEMBER && m->name_offset > CV_FATBIN_MEMBER &&
                cv_fatbin_writer(m) == CV_PROFILE_FATBINARY_10;
    uint64_t end = CV_FATBIN_MEMBER;

    m->empty_ident = has_empty_identifier(in, m);
    if (m->empty_ident)
        end += 8;
    else if (!last && !read_identifier(x, in, m, &end))
        return;
    if (m->options_offset != 0)
        end = read_options(x, in, m, end);
    if (last && (end == 0 || !read_identifier(x, in, m, &end)))
        return;
    /* Whether an ELF with capsules has something to copy there is known when it was read: src/model/agree.c.
     */
    if ((m->options_offset != 0) != want_options && !(want_options && m->kind == CV_FB_KIND_ELF))
        cv_report(x, CV_R_FATBIN_OPTIONS_PRESENCE, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4,
                  m->options_offset, want_options);
    if (end != 0 && end != in.len)
        cv_report(x, CV_R_FATBIN_HEADER_EXTRA, in.off + cv_min(end, in.len), in.len - cv_min(end, in.len),
                  in.len, end);
}

cuvet_status cv_fatbin_read_member(cv_ctx *x, cv_span header, cv_fatbin_member *out)
{
    cv_fatbin_member m = { 0 };
    cuvet_status s;

    decode_fixed(header, &m);
    cv_ctx_begin_profile(x, cv_fatbin_writer(&m), false);
    check_kind(x, header.off, &m);
    check_flags(x, header.off, &m);
    if (header.len - CV_FATBIN_MEMBER > x->lim.header_area)
        s = cv_reject(x, CV_R_LIMIT_HEADER_AREA, header.off + CV_FB_AT_MEMBER_HEADER_SIZE,
                      header.len - CV_FATBIN_MEMBER, x->lim.header_area);
    else {
        check_areas(x, header, &m);
        s = check_compression(x, header.off, &m);
    }
    *out = m;
    return s;
}

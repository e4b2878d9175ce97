/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/fatbin/read.h"

cuvet_status cv_fatbin_read_container(cv_ctx *ctx, cv_span in, uint64_t object_left, uint64_t object_off,
                                      cv_fatbin_container *out)
{
    cv_cur cursor = cv_cur_of(in);
    cv_fatbin_container container = { 0 };
    uint32_t magic = cv_cur_u32(&cursor);

    container.version = cv_cur_u16(&cursor);
    container.header_size = cv_cur_u16(&cursor);
    container.size = cv_cur_u64(&cursor);
    if (cursor.failed)
        return cv_reject(ctx, CV_R_FATBIN_HEADER_TRUNCATED, in.off + cursor.bad_at, in.len, CV_FATBIN_HEADER);
    if (magic != CV_FATBIN_MAGIC)
        return cv_reject(ctx, CV_R_FATBIN_MAGIC, in.off, magic, CV_FATBIN_MAGIC);
    if (container.version != 1)
        return cv_reject(ctx, CV_R_FATBIN_VERSION, in.off + CV_FB_AT_CONTAINER_VERSION, container.version, 1);
    if (container.header_size != CV_FATBIN_HEADER)
        return cv_reject(ctx, CV_R_FATBIN_HEADER_SIZE, in.off + CV_FB_AT_CONTAINER_HEADER_SIZE,
                         container.header_size, CV_FATBIN_HEADER);
    if (object_off % 8 != 0)
        cv_report(ctx, CV_R_FATBIN_ALIGNMENT, in.off, 0, object_off, 8);
    if (container.size % 8 != 0)
        cv_report(ctx, CV_R_FATBIN_SIZE_ALIGN, in.off + CV_FB_AT_CONTAINER_SIZE, 8, container.size, 8);
    container.body_size =
        object_left < CV_FATBIN_HEADER ? 0 : cv_min(container.size, object_left - CV_FATBIN_HEADER);
    if (container.size != container.body_size)
        cv_report(ctx, CV_R_FATBIN_SIZE_RANGE, in.off + CV_FB_AT_CONTAINER_SIZE, 8, container.size,
                  container.body_size);
    if (container.size == 0)
        cv_report(ctx, CV_R_FATBIN_EMPTY, in.off + CV_FB_AT_CONTAINER_SIZE, 8, 0, 0);
    *out = container;
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

cuvet_status cv_fatbin_reject_member(cv_ctx *ctx, cv_span head, uint64_t left)
{
    uint64_t hs = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_HEADER_SIZE),
             ps = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_PAYLOAD_SIZE);

    if (head.len < CV_FATBIN_MEMBER)
        return cv_reject(ctx, CV_R_FATBIN_MEMBER_TRUNCATED, head.off, left, CV_FATBIN_MEMBER);
    if (hs < CV_FATBIN_MEMBER)
        return cv_reject(ctx, CV_R_FATBIN_MEMBER_HEADER_SIZE, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs,
                         CV_FATBIN_MEMBER);
    if (hs % 8 != 0)
        return cv_reject(ctx, CV_R_FATBIN_MEMBER_HEADER_ALIGN, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs, 8);
    if (hs > left)
        return cv_reject(ctx, CV_R_FATBIN_MEMBER_HEADER_RANGE, head.off + CV_FB_AT_MEMBER_HEADER_SIZE, hs,
                         left);
    if (ps % 8 != 0)
        return cv_reject(ctx, CV_R_FATBIN_PAYLOAD_ALIGN, head.off + CV_FB_AT_MEMBER_PAYLOAD_SIZE, ps, 8);
    return cv_reject(ctx, CV_R_FATBIN_PAYLOAD_RANGE, head.off + CV_FB_AT_MEMBER_PAYLOAD_SIZE, ps, left - hs);
}

bool cv_fatbin_begins_member(cv_span head, uint64_t left)
{
    uint64_t hs = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_HEADER_SIZE),
             ps = cv_fatbin_get(head, CV_FB_FIELD_MEMBER_PAYLOAD_SIZE);

    return left >= CV_FATBIN_MEMBER &&
           cv_fatbin_get(head, CV_FB_FIELD_MEMBER_VERSION) == CV_FATBIN_MEMBER_VERSION &&
           hs >= CV_FATBIN_MEMBER && hs % 8 == 0 && ps % 8 == 0 && hs <= left && ps <= left - hs;
}

static void decode_fixed(cv_span in, cv_fatbin_member *member)
{
    cv_cur cursor = cv_cur_of(in);

    member->kind = cv_cur_u16(&cursor);
    member->version = cv_cur_u16(&cursor);
    member->header_size = cv_cur_u32(&cursor);
    member->payload_size = cv_cur_u64(&cursor);
    member->compressed_size = cv_cur_u32(&cursor);
    member->options_offset = cv_cur_u32(&cursor);
    member->minor = cv_cur_u16(&cursor);
    member->major = cv_cur_u16(&cursor);
    member->arch = cv_cur_u32(&cursor);
    member->name_offset = cv_cur_u32(&cursor);
    member->name_length = cv_cur_u32(&cursor);
    member->flags = cv_cur_u64(&cursor);
    member->key = cv_cur_u64(&cursor);
    member->uncompressed_size = cv_cur_u64(&cursor);
}

/* PTX of fatbinary up to 10.2 has room for one more byte than it fills. */
static bool has_spare_byte(const cv_fatbin_member *member)
{
    return member->kind == CV_FB_KIND_PTX && cv_fatbin_writer(member) == CV_PROFILE_FATBINARY_10 &&
           cv_sat_align((uint64_t)member->compressed_size + 1, 8) == member->payload_size;
}

/* compressed <=> compressed_size != 0 <=> uncompressed_size != 0; exactly one method; padded size = payload
 * size. */
static cuvet_status check_compression(cv_ctx *ctx, uint64_t off, const cv_fatbin_member *member)
{
    uint64_t method = member->flags & CV_FB_COMPRESSED;

    if (method == 0) {
        if (member->compressed_size != 0)
            return cv_reject(ctx, CV_R_FATBIN_SIZE_WITHOUT_FLAG, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE,
                             member->compressed_size, 0);
        if (member->uncompressed_size != 0)
            return cv_reject(ctx, CV_R_FATBIN_USIZE_WITHOUT_FLAG, off + CV_FB_AT_MEMBER_UNPACKED_SIZE,
                             member->uncompressed_size, 0);
        return CUVET_OK;
    }
    if (method & (CV_FB_OLD_COMPRESSION | CV_FB_UNKNOWN_COMPRESSION))
        return cv_reject(ctx, CV_R_FATBIN_METHOD_UNSUPPORTED, off + CV_FB_AT_MEMBER_FLAGS, method,
                         CV_FB_LZ4 | CV_FB_ZSTD);
    if (method == (CV_FB_LZ4 | CV_FB_ZSTD))
        return cv_reject(ctx, CV_R_FATBIN_TWO_METHODS, off + CV_FB_AT_MEMBER_FLAGS, method, CV_FB_ZSTD);
    if (member->compressed_size == 0)
        return cv_reject(ctx, CV_R_FATBIN_CSIZE_ZERO, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE, 0,
                         member->payload_size);
    if (cv_sat_align(member->compressed_size, 8) != member->payload_size && !has_spare_byte(member))
        return cv_reject(ctx, CV_R_FATBIN_CSIZE_PADDED, off + CV_FB_AT_MEMBER_COMPRESSED_SIZE,
                         cv_sat_align(member->compressed_size, 8), member->payload_size);
    if (member->uncompressed_size == 0)
        return cv_reject(ctx, CV_R_FATBIN_USIZE_ZERO, off + CV_FB_AT_MEMBER_UNPACKED_SIZE, 0, 1);
    return CUVET_OK;
}

static void check_kind(cv_ctx *ctx, uint64_t off, const cv_fatbin_member *member)
{
    if (member->kind == CV_FB_KIND_MERCURY || member->kind == CV_FB_KIND_PTX_HIDDEN ||
        member->kind == CV_FB_KIND_PTX_PACKED)
        cv_report(ctx, CV_R_FATBIN_KIND_RUNS, off, 2, member->kind, 0);
    else if (member->kind != CV_FB_KIND_PTX && member->kind != CV_FB_KIND_ELF &&
             member->kind != CV_FB_KIND_LTOIR)
        cv_report(ctx, CV_R_FATBIN_KIND, off, 2, member->kind, 0);
    if (member->version != CV_FATBIN_MEMBER_VERSION)
        cv_report(ctx, CV_R_FATBIN_MEMBER_VERSION, off + CV_FB_AT_MEMBER_VERSION, 2, member->version,
                  CV_FATBIN_MEMBER_VERSION);
    if (member->arch == 0)
        cv_report(ctx, CV_R_FATBIN_ARCH_ZERO, off + CV_FB_AT_MEMBER_ARCH, 4, 0, 0);
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
static bool is_made_with(const cv_fatbin_member *member, uint32_t trait)
{
    uint32_t traits = 0;

#define T(name) (uint32_t)(name)
#define GEN(name, first, instruction, text, block, parameters, large, slots, reserved, reserved_first, has)  \
    traits = member->arch >= (first) ? (has) : traits;
#include "gen.def"
#undef GEN
#undef T
    return member->kind == CV_FB_KIND_ELF && (traits & trait) != 0;
}

static void check_flags(cv_ctx *ctx, uint64_t off, const cv_fatbin_member *member)
{
    uint64_t flags = member->flags, at = off + CV_FB_AT_MEMBER_FLAGS;
    bool scrambled = (flags & CV_FB_SCRAMBLED) != 0, compressed = (flags & CV_FB_COMPRESSED) != 0;

    if (flags & ~(uint64_t)CV_FB_KNOWN)
        cv_report(ctx, CV_R_FATBIN_FLAGS_UNKNOWN, at, 8, flags, flags & CV_FB_KNOWN);
    if (!(flags & CV_FB_LINUX))
        cv_report(ctx, CV_R_FATBIN_FLAG_HOST, at, 8, flags, CV_FB_LINUX);
    if (!(flags & CV_FB_64BIT))
        cv_report(ctx, CV_R_FATBIN_FLAG_32BIT, at, 8, flags, CV_FB_64BIT);
    if ((flags & CV_FB_ARCH_A) && (flags & CV_FB_ARCH_F))
        cv_report(ctx, CV_R_FATBIN_FLAG_A_AND_F, at, 8, flags, CV_FB_ARCH_A);
    /* LTO-IR of 11.x is compressed and not scrambled. */
    if (scrambled && !(compressed && member->kind == CV_FB_KIND_LTOIR))
        cv_report(ctx, CV_R_FATBIN_FLAG_SCRAMBLED, at, 8, flags, CV_FB_SCRAMBLED);
    if (((flags & CV_FB_CAPSULE) != 0) != is_made_with(member, CAPSULE))
        cv_report(ctx, CV_R_FATBIN_FLAG_CAPSULE, at, 8, flags, CV_FB_CAPSULE);
    if ((member->key != 0) != scrambled || member->key > UINT32_MAX)
        cv_report(ctx, CV_R_FATBIN_KEY, off + CV_FB_AT_MEMBER_KEY, 8, member->key, 0);
}

/* Identifier: at *end, NUL-terminated, zero-padded to 8. *end: where the option area may begin. False: it is
 * broken, and nothing behind it has a place. */
static bool read_identifier(cv_ctx *ctx, cv_span in, cv_fatbin_member *member, uint64_t *end)
{
    uint64_t area = cv_sat_align((uint64_t)member->name_length + 1, 8);
    cv_span name;

    if (member->name_offset == 0) {
        if (member->name_length != 0)
            cv_report(ctx, CV_R_FATBIN_NAME_LENGTH, in.off + CV_FB_AT_MEMBER_NAME_LENGTH, 4,
                      member->name_length, 0);
        return true;
    }
    if (member->name_offset != *end) {
        cv_report(ctx, CV_R_FATBIN_NAME_OFFSET, in.off + CV_FB_AT_MEMBER_NAME_OFFSET, 4, member->name_offset,
                  *end);
        return false;
    }
    if (!cv_span_sub(in, member->name_offset, area, &name)) {
        cv_report(ctx, CV_R_FATBIN_NAME_RANGE, in.off + CV_FB_AT_MEMBER_NAME_LENGTH, 4, area, in.len - *end);
        return false;
    }
    *end += area;
    if (cv_span_find_byte(name, 0) != member->name_length)
        cv_report(ctx, CV_R_FATBIN_NAME_NUL, name.off, name.len, cv_span_find_byte(name, 0),
                  member->name_length);
    else if (cv_span_find_nonzero(cv_span_tail(name, member->name_length)) != area - member->name_length)
        cv_report(ctx, CV_R_FATBIN_HEADER_PADDING, name.off + member->name_length, area - member->name_length,
                  1, 0);
    member->ident = name;
    member->ident.len = member->name_length;
    return true;
}

/* Text of the option block: options NUL [compat copy]; ELF members of 12.8 tools keep three values instead.
 */
static void split_options(cv_fatbin_member *member, cv_span text, uint32_t length)
{
    uint64_t nul = cv_span_find_byte(text, 0);

    member->options = text;
    if (member->kind != CV_FB_KIND_ELF) {
        member->options.len = cv_min(length, text.len);
        return;
    }
    if (length == 3) { /* a copy of .nv.compat has whole records */
        member->compat_values = true;
        member->options.len = 0;
        member->compat_copy = text;
        member->compat_copy.len = 3;
        return;
    }
    member->options.len = cv_min(nul, length);
    member->compat_copy = cv_span_tail(text, member->options.len + 1);
    member->compat_copy.len = cv_min(member->compat_copy.len, length - member->options.len);
}

/* The string at 'at': length + 1 bytes, padded to 8. Returns its end, or 0 after a finding that leaves that
 * open. */
static uint64_t read_option_text(cv_ctx *ctx, cv_span in, cv_fatbin_member *member, uint64_t at,
                                 uint32_t length)
{
    uint64_t area = cv_sat_align((uint64_t)length + 1, 8), nul, used;
    cv_span text;

    if (!cv_span_sub(in, at, area, &text)) {
        cv_report(ctx, CV_R_FATBIN_OPTION_STRING_RANGE, in.off + at - 4, 4, area,
                  in.len - cv_min(at, in.len));
        return 0;
    }
    split_options(member, text, length);
    nul = cv_span_find_byte(text, 0);
    /* A compat copy has its NUL in front and needs none behind it, the old values have neither; everything
     * else ends with one. */
    used = member->compat_values ? length : (uint64_t)length + 1;
    if (!member->compat_values && (member->kind == CV_FB_KIND_ELF ? nul > length : nul != length))
        cv_report(ctx, CV_R_FATBIN_OPTION_NUL, text.off, text.len, nul, length);
    else if (cv_span_find_nonzero(cv_span_tail(text, used)) != area - used)
        cv_report(ctx, CV_R_FATBIN_HEADER_PADDING, text.off + used, area - used, 1, 0);
    return at + area;
}

/* Options that are not where they belong are handed on all the same by who follows the offsets. */
static void take_misplaced(cv_span in, cv_fatbin_member *member, uint64_t string)
{
    cv_span text;

    if (string == 0 || !cv_span_sub(in, string, in.len - cv_min(string, in.len), &text))
        return;
    member->options = text;
    member->options.len = cv_span_find_byte(text, 0);
}

/* Option block: descriptor {string offset, length}, then the string. Returns where the header must end, or 0
 * after a finding that leaves that open. */
static uint64_t read_options(cv_ctx *ctx, cv_span in, cv_fatbin_member *member, uint64_t ident_end)
{
    uint32_t at = member->options_offset, string, length;
    uint64_t text = (uint64_t)at + 8;

    if (at != ident_end) {
        cv_report(ctx, CV_R_FATBIN_OPTIONS_OFFSET, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, at, ident_end);
        take_misplaced(in, member, cv_u32_at(in, at));
        return 0;
    }
    if (!cv_span_has(in, at, 8)) {
        cv_report(ctx, CV_R_FATBIN_OPTIONS_RANGE, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4, at, in.len - 8);
        return 0;
    }
    member->has_options = true;
    string = cv_u32_at(in, at);
    length = cv_u32_at(in, (uint64_t)at + 4);
    if (string == 0 && length == 0) /* PTX of older tools: a descriptor without a string */
        return text;
    if (string != text) {
        cv_report(ctx, CV_R_FATBIN_OPTION_STRING_OFFSET, in.off + at, 4, string, text);
        take_misplaced(in, member, string);
        return 0;
    }
    return read_option_text(ctx, in, member, text, length);
}

/* Tools 12.3 to 12.5 keep eight zero bytes for an identifier that is not there. What is in the member tells
 * whether it is that old: intake/kind_fatbin_agree.c. */
static bool has_empty_identifier(cv_span in, const cv_fatbin_member *member)
{
    uint64_t at = CV_FATBIN_MEMBER + 8;

    return member->name_offset == 0 && member->name_length == 0 && cv_span_has(in, CV_FATBIN_MEMBER, 8) &&
           cv_u64_at(in, CV_FATBIN_MEMBER) == 0 &&
           (member->options_offset == at || (member->options_offset == 0 && in.len == at));
}

static void check_areas(cv_ctx *ctx, cv_span in, cv_fatbin_member *member)
{
    bool want_options = member->kind == CV_FB_KIND_PTX || member->kind == CV_FB_KIND_LTOIR ||
                        is_made_with(member, MEMBER_OPTIONS);
    /* Up to 10.2 the identifier follows the options, of PTX up to 11.8. */
    bool last = member->options_offset == CV_FATBIN_MEMBER && member->name_offset > CV_FATBIN_MEMBER &&
                (member->kind == CV_FB_KIND_PTX || cv_fatbin_writer(member) == CV_PROFILE_FATBINARY_10);
    uint64_t end = CV_FATBIN_MEMBER;

    member->empty_ident = has_empty_identifier(in, member);
    if (member->empty_ident)
        end += 8;
    else if (!last && !read_identifier(ctx, in, member, &end))
        return;
    if (member->options_offset != 0)
        end = read_options(ctx, in, member, end);
    if (last && (end == 0 || !read_identifier(ctx, in, member, &end)))
        return;
    /* Whether an ELF with capsules has something to copy there is known when it was read:
     * intake/kind_fatbin_agree.c. */
    if ((member->options_offset != 0) != want_options && !(want_options && member->kind == CV_FB_KIND_ELF))
        cv_report(ctx, CV_R_FATBIN_OPTIONS_PRESENCE, in.off + CV_FB_AT_MEMBER_OPTIONS_OFFSET, 4,
                  member->options_offset, want_options);
    if (end != 0 && end != in.len)
        cv_report(ctx, CV_R_FATBIN_HEADER_EXTRA, in.off + cv_min(end, in.len), in.len - cv_min(end, in.len),
                  in.len, end);
}

cuvet_status cv_fatbin_read_member(cv_ctx *ctx, cv_span header, cv_fatbin_member *out)
{
    cv_fatbin_member member = { 0 };
    cuvet_status status;

    decode_fixed(header, &member);
    cv_ctx_begin_profile(ctx, cv_fatbin_writer(&member), false);
    check_kind(ctx, header.off, &member);
    check_flags(ctx, header.off, &member);
    if (header.len - CV_FATBIN_MEMBER > ctx->lim.header_area)
        status = cv_reject(ctx, CV_R_LIMIT_HEADER_AREA, header.off + CV_FB_AT_MEMBER_HEADER_SIZE,
                           header.len - CV_FATBIN_MEMBER, ctx->lim.header_area);
    else {
        check_areas(ctx, header, &member);
        status = check_compression(ctx, header.off, &member);
    }
    *out = member;
    return status;
}

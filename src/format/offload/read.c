/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "format/offload/read.h"

/* The header: magic and version of 32 bits; size, offset of the entries, then in version 1 the size of its
 * one entry, later the number of entries; from version 3 on the size when unpacked, of 64 bits each. */
enum { AT_VERSION = 4, AT_SIZE = 8, AT_ENTRIES = 16, AT_COUNT = 24, AT_INFLATED = 32 };
#define VERSION_MOST 3u

/* An entry: two kinds of 16 bits, 32 bits of flags; offset and number of its strings, offset and size of its
 * image. */
enum { AT_OFFLOAD_KIND = 2, AT_STRINGS = 8, AT_N_STRINGS = 16, AT_IMAGE = 24, AT_IMAGE_SIZE = 32 };

/* Kinds that say what a triple says as well; a fat binary is one of CUDA's, or HIP's. */
enum { OFFLOAD_CUDA = 2, IMAGE_CUBIN = 3, IMAGE_PTX = 5 };

/* A string: offsets of key and value, which end in NUL; from version 2 on the size of the value. */
enum { AT_VALUE = 8, AT_VALUE_SIZE = 16 };
#define STRING      UINT64_C(16)
#define STRING_MORE UINT64_C(24)

bool cv_offload_probe(cv_span head)
{
    return cv_u32_at(head, 0) == CV_OFFLOAD_MAGIC;
}

static cuvet_status check_entries(cv_ctx *ctx, cv_span head, cv_offload_header *header)
{
    uint64_t end, third = cv_u64_at(head, AT_COUNT);

    header->entries = cv_u64_at(head, AT_ENTRIES);
    header->n_entries = header->version == 1 ? 1 : third;
    end = cv_sat_add(header->entries, cv_sat_mul(header->n_entries, CV_OFFLOAD_ENTRY));
    if (header->version == 1 && third != CV_OFFLOAD_ENTRY)
        cv_report(ctx, CV_R_OFFLOAD_ENTRY_SIZE, head.off + AT_COUNT, 8, third, CV_OFFLOAD_ENTRY);
    if (header->entries < header->header_size || end > header->size)
        return cv_reject(ctx, CV_R_OFFLOAD_ENTRIES, head.off + AT_ENTRIES, end, header->size);
    return CUVET_OK;
}

cuvet_status cv_offload_read_header(cv_ctx *ctx, cv_span head, uint64_t left, cv_offload_header *out)
{
    cv_offload_header header = { .version = cv_u32_at(head, AT_VERSION), .size = cv_u64_at(head, AT_SIZE) };
    bool later = header.version >= VERSION_MOST;
    cuvet_status status = CUVET_OK;

    *out = (cv_offload_header){ 0 };
    if (head.len >= 4 && !cv_offload_probe(head))
        return cv_reject(ctx, CV_R_OFFLOAD_MAGIC, head.off, cv_u32_at(head, 0), CV_OFFLOAD_MAGIC);
    if (left < CV_OFFLOAD_HEADER || head.len < CV_OFFLOAD_HEADER)
        return cv_reject(ctx, CV_R_OFFLOAD_TRUNCATED, head.off, cv_min(left, head.len), CV_OFFLOAD_HEADER);
    if (header.version == 0 || header.version > VERSION_MOST)
        return cv_reject(ctx, CV_R_OFFLOAD_VERSION, head.off + AT_VERSION, header.version, VERSION_MOST);
    header.header_size = later ? CV_OFFLOAD_HEADER_MOST : CV_OFFLOAD_HEADER;
    header.string_size = header.version == 1 ? STRING : STRING_MORE;
    if (header.size < header.header_size || header.size > left || head.len < header.header_size)
        return cv_reject(ctx, CV_R_OFFLOAD_SIZE, head.off + AT_SIZE, header.size, left);
    header.next = header.size + cv_min((CV_OFFLOAD_ALIGN - header.size % CV_OFFLOAD_ALIGN) % CV_OFFLOAD_ALIGN,
                                       left - header.size);
    header.inflated = later ? cv_u64_at(head, AT_INFLATED) : 0;
    header.compressed = header.inflated != 0;
    if (header.compressed)
        cv_report(ctx, CV_R_OFFLOAD_COMPRESSED, head.off, header.size, header.size, header.inflated);
    else
        status = check_entries(ctx, head, &header);
    if (status == CUVET_OK)
        *out = header;
    return status;
}

void cv_offload_read_entry(cv_ctx *ctx, cv_span entries, const cv_offload_header *header, uint64_t index,
                           cv_offload_image *out)
{
    uint64_t at = index * CV_OFFLOAD_ENTRY, end;

    *out = (cv_offload_image){ .image_kind = cv_u16_at(entries, at),
                               .offload_kind = cv_u16_at(entries, at + AT_OFFLOAD_KIND),
                               .index = index,
                               .off = cv_u64_at(entries, at + AT_IMAGE),
                               .size = cv_u64_at(entries, at + AT_IMAGE_SIZE),
                               .strings = cv_u64_at(entries, at + AT_STRINGS),
                               .n_strings = cv_u64_at(entries, at + AT_N_STRINGS) };
    end = cv_sat_add(out->off, out->size);
    if (end <= header->size)
        return;
    cv_report(ctx, CV_R_OFFLOAD_IMAGE, entries.off + at + AT_IMAGE, 16, end, header->size);
    out->off = header->size;
    out->size = 0;
}

/* The value of one string; false: it is not there. */
static bool read_value(cv_span tables, const cv_offload_header *header, uint64_t at, cv_span *value)
{
    uint64_t off = cv_u64_at(tables, at + AT_VALUE);

    if (header->version == 1)
        return cv_span_cstr(tables, off, value);
    return cv_span_sub(tables, off, cv_u64_at(tables, at + AT_VALUE_SIZE), value);
}

cuvet_status cv_offload_read_triple(cv_ctx *ctx, cv_span tables, const cv_offload_header *header,
                                    const cv_offload_image *image, cv_span *triple)
{
    uint64_t n_triples = 0, n_archs = 0;

    *triple = cv_span_of(NULL, 0, tables.off);
    if (!cv_span_has(tables, image->strings, cv_sat_mul(image->n_strings, header->string_size)))
        return cv_reject(ctx, CV_R_OFFLOAD_STRING,
                         tables.off + header->entries + image->index * CV_OFFLOAD_ENTRY + AT_STRINGS,
                         image->strings, tables.len);
    for (uint64_t i = 0; i < image->n_strings; i++) {
        uint64_t at = image->strings + i * header->string_size;
        cv_span key, value;

        if (!cv_span_cstr(tables, cv_u64_at(tables, at), &key) || !read_value(tables, header, at, &value))
            return cv_reject(ctx, CV_R_OFFLOAD_STRING, tables.off + at, cv_u64_at(tables, at), tables.len);
        if (!cv_work(ctx, 1 + (key.len + value.len) / 16, tables.off + at))
            return CUVET_E_LIMIT;
        n_archs += cv_span_eq_str(key, "arch");
        if (cv_span_eq_str(key, "triple")) {
            n_triples++;
            *triple = value; /* the last one, as LLVM does */
        }
    }
    if (n_triples > 1 || n_archs > 1)
        cv_report(ctx, CV_R_OFFLOAD_KEY, tables.off + image->strings, 0, cv_max(n_triples, n_archs), 1);
    return CUVET_OK;
}

bool cv_offload_is_cuda(const cv_offload_image *image, cv_span triple)
{
    if (triple.len != 0)
        return cv_span_starts(triple, "nvptx");
    return image->offload_kind == OFFLOAD_CUDA ||
           (image->image_kind >= IMAGE_CUBIN && image->image_kind <= IMAGE_PTX);
}

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Fat binary container and member headers: pure functions over a span. docs/formats/fatbin.md describes the
 * format. */
#ifndef CV_FORMAT_FATBIN_READ_H
#define CV_FORMAT_FATBIN_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_FATBIN_MAGIC          UINT32_C(0xBA55ED50)
#define CV_FATBIN_OLD_MAGIC      UINT32_C(0x1EE55A01) /* the structure before CUDA 4: named, not decoded */
#define CV_FATBIN_HEADER         UINT64_C(16)
#define CV_FATBIN_MEMBER         UINT64_C(64)
#define CV_FATBIN_MEMBER_VERSION 0x0101u
#define CV_FATBIN_VERSION        1u
/* Version and header size as they follow the magic: what tells a container from four bytes of data. */
#define CV_FATBIN_TAIL UINT32_C(0x00100001)

/* The first bytes of an LTO-IR payload. */
#define CV_LTOIR_MAGIC UINT32_C(0x7F4E43ED)

/* Where the fields of the headers are: CV_FB_AT_MEMBER_FLAGS. */
enum {
#define FIELD(header, name, offset, bytes) CV_FB_AT_##header##_##name = offset,
#include "fatbin.def"
#undef FIELD
};

/* Their names: CV_FB_FIELD_MEMBER_FLAGS. */
typedef enum cv_fatbin_field {
#define FIELD(header, name, offset, bytes) CV_FB_FIELD_##header##_##name,
#include "fatbin.def"
#undef FIELD
} cv_fatbin_field;

/* A field of a header at the start of 'head'; zero where the bytes end before. */
static inline uint64_t cv_fatbin_get(cv_span head, cv_fatbin_field field)
{
    static const uint8_t OFFSETS[] = {
#define FIELD(header, name, offset, bytes) offset,
#include "fatbin.def"
#undef FIELD
    };
    static const uint8_t BYTES[] = {
#define FIELD(header, name, offset, bytes) bytes,
#include "fatbin.def"
#undef FIELD
    };
    const uint64_t at = CV_AT(OFFSETS, field);

    switch (CV_AT(BYTES, field)) {
    case 1: return cv_u8_at(head, at);
    case 2: return cv_u16_at(head, at);
    case 4: return cv_u32_at(head, at);
    default: return cv_u64_at(head, at);
    }
}

enum {
#define FLAG(name, mask, what) CV_FB_##name = mask,
#include "fatbin.def"
#undef FLAG
    CV_FB_COMPRESSED = 0xF000,
    CV_FB_KNOWN = CV_FB_64BIT | CV_FB_DEBUG | CV_FB_CUDA | CV_FB_LINUX | CV_FB_COMPRESSED | CV_FB_SCRAMBLED |
                  CV_FB_ARCH_A | CV_FB_ARCH_F | CV_FB_CAPSULE
};

enum {
    CV_FB_KIND_PTX = 1,
    CV_FB_KIND_ELF = 2,
    CV_FB_KIND_OLD_TEXT = 4,
    CV_FB_KIND_LTOIR = 8,
    CV_FB_KIND_MERCURY = 16,
    CV_FB_KIND_PTX_HIDDEN = 32, /* public names differ; no tool writes these two */
    CV_FB_KIND_PTX_PACKED = 64
};

typedef struct cv_fatbin_container {
    uint16_t version, header_size;
    uint64_t size;      /* as declared */
    uint64_t body_size; /* bytes of members that are there: size, or what the object has left */
} cv_fatbin_container;

typedef struct cv_fatbin_member {
    uint16_t kind, version, minor, major;
    uint32_t header_size, compressed_size, options_offset, arch, name_offset, name_length;
    uint64_t payload_size, flags, key, uncompressed_size;
    bool has_options;
    bool empty_ident;    /* room for an identifier that is not there */
    cv_span ident;       /* without NUL */
    cv_span options;     /* option text without NUL */
    cv_span compat_copy; /* copy of .nv.compat, or empty */
    bool compat_values;  /* old form: three bytes, the values of three tags */
} cv_fatbin_member;

/* Newest release, times ten, and newest PTX, times 100, of what tools with these habits put into a container:
 * a flag on all members, and eight zero bytes for an identifier that is not there. */
#define CV_FATBIN_OLD_FLAGS       109u
#define CV_FATBIN_OLD_FLAGS_PTX   605u
#define CV_FATBIN_EMPTY_IDENT     126u
#define CV_FATBIN_EMPTY_IDENT_PTX 805u

/* Who wrote a member header. Up to 10.1 members have a flag that is gone since; 10.1 and 10.2 leave it out,
 * and their PTX is 6.5 at most. */
static inline cv_profile cv_fatbin_writer(const cv_fatbin_member *member)
{
    bool old_ptx =
        member->kind == CV_FB_KIND_PTX && member->major * 100u + member->minor <= CV_FATBIN_OLD_FLAGS_PTX;

    return (member->flags & CV_FB_CUDA) || old_ptx ? CV_PROFILE_FATBINARY_10 : CV_PROFILE_NONE;
}

/* Header of the container at the start of 'in'; object_left bytes from there on belong to the object,
 * object_off is the offset of the container in its object. @return OK, or MALFORMED when no member can be
 * looked for (magic, version, header size). */
CV_MUST cuvet_status cv_fatbin_read_container(cv_ctx *ctx, cv_span in, uint64_t object_left,
                                              uint64_t object_off, cv_fatbin_container *out);

/* Could a member begin here, of whose header at least 16 bytes are in head, and left bytes in its object? */
bool cv_fatbin_begins_member(cv_span head, uint64_t left);

/* Where the next member is: silent and minimal, for walking. False: the sizes lead nowhere. 'head' holds >=
 * 64 bytes. */
CV_MUST bool cv_fatbin_member_extent(cv_span head, uint64_t left, uint64_t *header_size,
                                     uint64_t *payload_size);

/* What a member says that it is unpacked to, silent as well. 'head' holds >= 64 bytes. */
typedef struct cv_fatbin_claim {
    uint64_t flags, stored, unpacked;
} cv_fatbin_claim;
cv_fatbin_claim cv_fatbin_member_claim(cv_span head);

/* Why cv_fatbin_member_extent() said no: reports the rule. 'head' holds what is left, at most 64 bytes. */
CV_MUST cuvet_status cv_fatbin_reject_member(cv_ctx *ctx, cv_span head, uint64_t left);

/* Whole member header; 'header' is exactly header_size bytes, payload_size bytes follow it in the container
 * (checked by the walk). All findings are reported; returns OK, or the first status that keeps the payload
 * from being read. */
CV_MUST cuvet_status cv_fatbin_read_member(cv_ctx *ctx, cv_span header, cv_fatbin_member *out);

#endif

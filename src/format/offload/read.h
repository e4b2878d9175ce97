/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Offload binaries, in which clang hands device code to its linker wrapper: a header, entries, strings, and
 * the images. Source: LLVM's documentation of llvm-offload-binary, and files of clang 19. Pure functions over
 * spans; offsets in the format count from the magic. */
#ifndef CV_FORMAT_OFFLOAD_READ_H
#define CV_FORMAT_OFFLOAD_READ_H

#include "base/ctx.h"
#include "bytes/span.h"

#define CV_OFFLOAD_MAGIC       UINT32_C(0xAD10FF10)
#define CV_OFFLOAD_HEADER      UINT64_C(32)
#define CV_OFFLOAD_HEADER_MOST UINT64_C(40) /* from version 3 on */
#define CV_OFFLOAD_ENTRY       UINT64_C(40)
#define CV_OFFLOAD_ALIGN       UINT64_C(8)
/* Type of the section of a host object. Its name is .llvm.offloading, and nobody asks for it. */
#define CV_OFFLOAD_SECTION UINT32_C(0x6FFF4C0B)

typedef struct cv_offload_header {
    uint32_t version;
    bool compressed;
    uint64_t size;        /* of the binary */
    uint64_t next;        /* where the one behind it begins, or the end */
    uint64_t header_size; /* of this version */
    uint64_t entries;     /* offset of the first … */
    uint64_t n_entries;   /* … and how many there are; 0 when compressed */
    uint64_t string_size; /* of a key with its value */
    uint64_t inflated;    /* size when unpacked, if compressed */
} cv_offload_header;

typedef struct cv_offload_image {
    uint16_t image_kind;   /* LLVM's: object 1, bitcode 2, cubin 3, fat binary 4, PTX 5 */
    uint16_t offload_kind; /* OpenMP 1, CUDA 2, HIP 4, SYCL 8 */
    uint64_t index;        /* of its entry */
    uint64_t off, size;    /* in the binary; size 0: none, or it does not fit */
    uint64_t strings, n_strings;
} cv_offload_image;

/* Do these bytes begin with the magic? */
bool cv_offload_probe(cv_span head);

/* head: the next bytes, of which at most CV_OFFLOAD_HEADER_MOST are looked at; 'left' from there on in the
 * file or section.
 * @return OK: *out is valid, header and entries fit · MALFORMED · UNSUPPORTED (an unknown version) */
CV_MUST cuvet_status cv_offload_read_header(cv_ctx *ctx, cv_span head, uint64_t left, cv_offload_header *out);

/* entries: all of them. An image that does not fit is reported and has no bytes. */
void cv_offload_read_entry(cv_ctx *ctx, cv_span entries, const cv_offload_header *header, uint64_t index,
                           cv_offload_image *out);

/* tables: the binary up to its first image. *triple: borrowed from there, empty when there is none.
 * @return OK · MALFORMED · LIMIT */
CV_MUST cuvet_status cv_offload_read_triple(cv_ctx *ctx, cv_span tables, const cv_offload_header *header,
                                            const cv_offload_image *image, cv_span *triple);
/* Is it for a CUDA device: by its triple or, without one, by its kinds? */
bool cv_offload_is_cuda(const cv_offload_image *image, cv_span triple);

#endif

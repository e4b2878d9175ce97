/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Scan: find every piece of device code in a file, unpack it, judge it. Streaming; memory per member is
 * constant. */
#ifndef CUVET_SCAN_H
#define CUVET_SCAN_H

#include <cuvet/context.h>
#include <cuvet/kind.h>
#include <cuvet/target.h>

typedef struct cuvet_scan {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_scan;

typedef enum cuvet_depth {
    CUVET_DEPTH_HEADERS = 0, /**< containers and member headers only; nothing is decompressed (cuvet list) */
    CUVET_DEPTH_FULL = 1     /**< everything is unpacked and judged (cuvet scan) */
} cuvet_depth;

typedef enum cuvet_compression {
    CUVET_Z_NONE = 0,
    CUVET_Z_LZ4,
    CUVET_Z_ZSTD,
    CUVET_Z_OPAQUE, /**< compressed and scrambled (LTO-IR): size is the declared one */
    CUVET_Z_UNKNOWN /**< compression bits of the flags that are not supported */
} cuvet_compression;

/** Where a piece of device code lies: which tools take it from there hangs on that (spec/places.def). */
typedef enum cuvet_place {
    CUVET_PLACE_FILE = 0,  /**< it is the file */
    CUVET_PLACE_MEMBER,    /**< it is a member of an archive */
    CUVET_PLACE_OBJECT,    /**< first container of the first __nv_relfatbin of a host object with wrappers */
    CUVET_PLACE_NAMED,     /**< a later one there that a wrapper names (objects joined by ld -r) */
    CUVET_PLACE_UNNAMED,   /**< __nv_relfatbin, and neither of the two */
    CUVET_PLACE_FOLLOWING, /**< a fat binary, behind its first container */
    CUVET_PLACE_FINISHED,  /**< .nv_fatbin of a host object */
    CUVET_PLACE_PROGRAM,   /**< an executable or a shared object */
    CUVET_PLACE_DATA,      /**< other data of a host object */
    CUVET_PLACE_SECTION,   /**< a section of a host file that is no data: code, comments, notes, debug data */
    CUVET_PLACE_OUTSIDE,   /**< a host file, outside of all sections */
    CUVET_PLACE_BYTES,     /**< bytes that are no object: a text, say */
    CUVET_PLACE_TABLE,  /**< tables and names of an archive or offload binary, or what cannot be read of it */
    CUVET_PLACE_NESTED, /**< the content of other device code */
    CUVET_PLACE_ARCHIVE, /**< an archive in an archive */
    CUVET_PLACE_OFFLOAD  /**< an offload binary of LLVM: .llvm.offloading of a host object, or a file */
} cuvet_place;

/** Flags of a producer. */
#define CUVET_PRODUCER_INFERRED 1u /**< not said by a note in the file, but concluded from its header */

/** Who wrote a device ELF. */
typedef struct cuvet_producer {
    /** "ptxas", "nvlink", "finalizer" …; "toolkit": compiler or linker of a file that does not say which; ""
     *  unknown. Static storage. */
    const char *tool;
    uint32_t version; /**< release of the tool, major * 10 + minor: 128 is 12.8; 0 unknown */
    uint32_t flags;   /**< CUVET_PRODUCER_INFERRED */
} cuvet_producer;

/** Flags of a piece of device code. */
#define CUVET_ITEM_IN_CONTAINER 1u /**< member of a container; otherwise a bare or embedded image */
#define CUVET_ITEM_REFERENCED   2u /**< the container is named by a wrapper (or is the file itself) */
/** The payload was unpacked and judged (depth FULL, not opaque, no limit in the way). */
#define CUVET_ITEM_EXAMINED 4u

/** One piece of device code. Pointers are borrowed and valid until the next call on the scan. */
typedef struct cuvet_item {
    size_t size; /**< sizeof(cuvet_item) of the caller */
    cuvet_path where;
    cuvet_kind kind;
    cuvet_compression compression;
    uint32_t flags;         /**< CUVET_ITEM_... */
    uint16_t raw_kind;      /**< kind field of the member header */
    uint16_t major, minor;  /**< version pair of the member header */
    uint32_t arch;          /**< SM number, 0 unknown */
    char suffix;            /**< 'a', 'f' or 0 */
    uint64_t member_flags;  /**< of the member header */
    uint64_t container_off; /**< of the container header in the file */
    uint64_t header_off;    /**< of the member header */
    uint64_t payload_off;   /**< of the stored bytes */
    uint64_t stored_size;   /**< bytes of the payload without padding where that is known, else with it */
    uint64_t unpacked_size; /**< true size after decompression, without padding */
    const char *ident;      /**< identifier of the member (not NUL-terminated, bytes from the file) */
    size_t ident_len;
    /** Name of the archive member that it was found in, as it is stored; NULL outside of archives. */
    const char *ar_name;
    size_t ar_name_len;
    const char *triple; /**< bitcode: target triple as it is in the file (any bytes); NULL: none was found */
    size_t triple_len;
    uint64_t kernels;          /**< device ELF, examined: number of kernels */
    cuvet_producer producer;   /**< device ELF, examined: by whose profile it was judged */
    uint32_t errors, warnings; /**< diagnostics of this item, suppressed ones included */
    cuvet_place place;         /**< where it lies */
} cuvet_item;

/** Flags of a claim. */
#define CUVET_CLAIM_INNER  1u /**< off counts in the decompressed content of the member */
#define CUVET_CLAIM_SHARED 2u /**< legal second owner of bytes that another claim covers */

/** A range of bytes and who owns it, for cuvet map. */
typedef struct cuvet_claim_info {
    size_t size; /**< sizeof(cuvet_claim_info) of the library */
    cuvet_path where;
    uint32_t flags; /**< CUVET_CLAIM_... */
    uint64_t off, length;
    const char *owner; /**< "member header", "payload", "section" …; static */
    uint32_t index;    /**< section index where owner is "section" */
} cuvet_claim_info;

typedef void cuvet_claim_fn(void *user, const cuvet_claim_info *claim);

typedef struct cuvet_scan_options {
    size_t size;
    cuvet_depth depth;
    uint32_t jobs;         /**< worker threads; 0 or 1: on the calling thread. Results do not depend on it */
    cuvet_claim_fn *claim; /**< receives the byte ledger; NULL: not collected. Only with jobs <= 1 */
    void *claim_user;
    /** Notes tell where a device ELF would not be admitted by a linker: for this target, or with sm 0 for
     * any. */
    cuvet_target target;
} cuvet_scan_options;

typedef struct cuvet_summary {
    size_t size; /**< sizeof(cuvet_summary) of the caller */
    cuvet_verdict verdict;
    uint64_t containers, unreferenced; /**< unreferenced: containers no wrapper names, where wrappers exist */
    uint64_t members;                  /**< of containers */
    uint64_t images; /**< device code outside of containers: bare or embedded cubins, PTX text, IR */
    uint64_t elf, ptx, ltoir, bitcode, other; /**< of members and images */
    uint64_t stored, unpacked;                /**< bytes */
    uint64_t opaque;                          /**< members that could not be looked into */
    uint64_t gap_bytes;                       /**< zero bytes between containers */
    uint64_t notes, warnings, errors;         /**< all diagnostics, suppressed ones included */
    uint64_t suppressed;                      /**< diagnostics above the cap, only counted */
} cuvet_summary;

#ifdef __cplusplus
extern "C" {
#endif

/** Begin a scan. @param src copied; what it points to must stay valid until destroy.
 *  @param opt NULL: FULL, one job.
 *  @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE · CUVET_E_ARCH · CUVET_E_NOMEM ·
 *          CUVET_E_LIMIT (memory; a diagnostic says so). Of an input above limits.input there is a scan: that
 *          is its one finding, and its verdict is CUVET_V_LIMIT. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_create(cuvet_ctx *ctx, const cuvet_source *src,
                                                    const cuvet_scan_options *opt, cuvet_scan *out);
/** Examine the first pieces now and keep what is found for cuvet_scan_next(), which gives the same items and
 * diagnostics as without this call. For somebody who scans many small sources: threads go ahead, each with
 * contexts of its own, and one thread takes the results in order. No callback is called. Once, before the
 * first cuvet_scan_next(); memory is bounded, so that of a large source only a part is examined.
 *  @return CUVET_OK (the rest is examined when it is asked for) · CUVET_END (nothing is left to examine) ·
 * CUVET_E_STATE (not at the beginning) · CUVET_E_LIMIT · CUVET_E_NOMEM · CUVET_E_IO: close it, and scan
 * without this call, which may get further. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_ahead(cuvet_ctx *ctx, cuvet_scan scan);
/** Next piece of device code; its diagnostics were delivered before the call returns. Damaged pieces are
 * items as well.
 *  @return CUVET_OK · CUVET_END · CUVET_E_NOMEM · CUVET_E_IO · CUVET_E_INTERNAL (a defect of this library:
 *          every later call on the scan gives CUVET_E_POISONED) · CUVET_E_HANDLE… After anything but OK the
 *          scan is over. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_next(cuvet_ctx *ctx, cuvet_scan scan, cuvet_item *out);
/** Unpacked bytes of the item the last cuvet_scan_next() gave; borrowed until the next call on the scan. Only
 * with jobs <= 1 and without cuvet_scan_ahead().
 *  @return CUVET_OK · CUVET_E_NO_MATCH (not unpacked: opaque, damaged, depth HEADERS) · CUVET_E_USAGE (jobs >
 * 1, or gone ahead). */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_payload(cuvet_ctx *ctx, cuvet_scan scan, const void **bytes,
                                                     size_t *size);
/** Counts and verdict so far; final after CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_summary(cuvet_ctx *ctx, cuvet_scan scan, cuvet_summary *out);
/** How often a rule was reported, diagnostics above the cap included; final after CUVET_END.
 *  @return CUVET_OK · CUVET_E_USAGE (no such rule) · CUVET_E_HANDLE… */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_rule_count(cuvet_ctx *ctx, cuvet_scan scan, cuvet_rule rule,
                                                        uint64_t *count);
/** End the scan and poison the handle; *scan becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_destroy(cuvet_ctx *ctx, cuvet_scan *scan);

/** Name for output: "none", "lz4", "zstd", "opaque"… Static storage. */
CUVET_API const char *cuvet_compression_name(cuvet_compression compression);
/** "headers", "full"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_depth_name(cuvet_depth depth);
/** "file", "member", "object" …; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_place_name(cuvet_place place);

#ifdef __cplusplus
}
#endif
#endif

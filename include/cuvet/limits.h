/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Limits: plain data, passed in, printable. Every one ends in CUVET_E_LIMIT and a CV-LIMIT diagnostic. */
#ifndef CUVET_LIMITS_H
#define CUVET_LIMITS_H

#include <cuvet/status.h>

/** All values are counts or bytes; set with cuvet_limits_preset() first so that new members get a value. */
typedef struct cuvet_limits {
    size_t size;           /**< sizeof(cuvet_limits) of the caller */
    uint64_t input;        /**< bytes of one input file */
    uint64_t member;       /**< bytes of one member after decompression */
    uint64_t ratio;        /**< decompressed : stored, zstd */
    uint64_t lz4_ratio;    /**< decompressed : stored, LZ4 (the format cannot exceed 255) */
    uint64_t window;       /**< zstd window in bytes of a frame that is not single segment */
    uint64_t total;        /**< bytes decompressed per file, however large it is */
    uint64_t containers;   /**< containers per file */
    uint64_t members;      /**< members per container, and members of an archive per container limit */
    uint64_t nesting;      /**< containers inside members inside containers … */
    uint64_t sections;     /**< section headers per device ELF or host ELF */
    uint64_t symbols;      /**< symbols per device ELF; also relocations per device ELF */
    uint64_t header_area;  /**< bytes of identifier and option block of one member */
    uint64_t diagnostics;  /**< diagnostics delivered per rule and file; the rest is counted */
    uint64_t live;         /**< bytes allocated at the same time, per worker */
    uint64_t work;         /**< work units per input byte of each unit that is examined */
    uint64_t ptx_probe;    /**< bytes of blanks and comments before .version */
    uint64_t options;      /**< options of one input */
    uint64_t option_bytes; /**< bytes of all options of one input */
    uint64_t candidates;   /**< members of all containers of one input */
    uint64_t budget;       /**< bytes decompressed per file, all nesting together, however small it is … */
    uint64_t budget_ratio; /**< … or this times its size, when that is more */
    uint64_t effort;       /**< work units per byte of a file and of what was decompressed from it */
    uint64_t alignment;    /**< alignment of a section, a segment or a variable of a device ELF, bytes */
} cuvet_limits;

typedef struct cuvet_limit_info {
    size_t size;                  /**< sizeof(cuvet_limit_info) of the library */
    const char *name;             /**< as in --limit NAME=VALUE */
    const char *unit;             /**< "bytes", "count", "ratio" or "units/byte" */
    const char *what;             /**< one line for people */
    uint64_t strict, roomy, tiny; /**< the three presets */
} cuvet_limit_info;

#ifdef __cplusplus
extern "C" {
#endif

/** Fill *out from a preset: "strict" (the default), "roomy" or "tiny" (for fuzzing).
 *  @return CUVET_OK or CUVET_E_USAGE for an unknown name (*out untouched). */
CUVET_API CUVET_MUST cuvet_status cuvet_limits_preset(const char *name, cuvet_limits *out);

/** Set one limit by its name. @return CUVET_OK, CUVET_E_USAGE: no such limit. */
CUVET_API CUVET_MUST cuvet_status cuvet_limits_set(cuvet_limits *limits, const char *name, uint64_t value);

/** The limit with this index in table order, and its value. @param limits NULL: the limit alone. @param value
 * may be NULL. @return CUVET_OK · CUVET_END past the last · CUVET_E_NULL (info). */
CUVET_API CUVET_MUST cuvet_status cuvet_limits_get(const cuvet_limits *limits, size_t index,
                                                   const cuvet_limit_info **info, uint64_t *value);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Diagnostics: what informs people and tools. Plain data: no heap, no text from the input. */
#ifndef CUVET_DIAG_H
#define CUVET_DIAG_H

#include <cuvet/status.h>

typedef enum cuvet_severity { CUVET_NOTE = 0, CUVET_WARNING = 1, CUVET_ERROR = 2 } cuvet_severity;

/** What kind of trouble a rule reports; with the severity it gives the verdict of a file. */
typedef enum cuvet_class {
    /** Safety: the bytes break their format, or two places that readers believe disagree. */
    CUVET_C_FORM = 0,
    CUVET_C_UNSUPPORTED = 1, /**< legal or unknown content that is not looked into */
    CUVET_C_LIMIT = 2,
    CUVET_C_IO = 3,
    CUVET_C_INTERNAL = 4,
    CUVET_C_TARGET = 5, /**< legal, but not for this target or this use */
    /** Safe to read, but not what the producer writes that the file claims: a warning, and not reported for
     * producers that are known to write it so (cuvet_rule_exempt). An error where the file is to be linked or
     * finalized. */
    CUVET_C_PROFILE = 6
} cuvet_class;

/** The worst verdict wins; the order of the values is the order of badness. */
typedef enum cuvet_verdict {
    CUVET_V_CLEAN = 0,
    CUVET_V_UNSUPPORTED = 1,
    CUVET_V_SUSPICIOUS = 2,
    CUVET_V_MALFORMED = 3,
    CUVET_V_LIMIT = 4,
    CUVET_V_ERROR = 5
} cuvet_verdict;

/** Steps of a container path. */
typedef enum cuvet_step_kind {
    CUVET_P_NONE = 0,
    CUVET_P_MEMBER, /**< member of an ar archive */
    CUVET_P_FATBIN, /**< container, counted per file or archive member */
    CUVET_P_ENTRY,  /**< member of a container */
    CUVET_P_ELF,    /**< device ELF; index used when several lie raw in one file */
    CUVET_P_SECTION,
    CUVET_P_SYMBOL,
    CUVET_P_RELOC,
    CUVET_P_RECORD, /**< TLV, call graph or prototype record; what is no image of an offload binary */
    CUVET_P_NOTE,
    CUVET_P_SEGMENT,
    CUVET_P_WRAPPER,
    CUVET_P_PTX,
    CUVET_P_HOST, /**< host ELF */
    CUVET_P_LTOIR,
    CUVET_P_BITCODE,
    CUVET_P_OFFLOAD /**< image of an offload binary of LLVM */
} cuvet_step_kind;

#define CUVET_PATH_MAX 12

/** Flags of a step. */
#define CUVET_STEP_INDEX 1u /**< it is one of several, and 'index' says which */

typedef struct cuvet_step {
    uint8_t kind;  /**< cuvet_step_kind */
    uint8_t flags; /**< CUVET_STEP_INDEX */
    uint64_t index;
} cuvet_step;

/** Container path, e.g. fatbin[0]/entry[2]/elf/section[7]. */
typedef struct cuvet_path {
    uint32_t n;
    cuvet_step step[CUVET_PATH_MAX];
} cuvet_path;

typedef uint32_t cuvet_rule; /**< index into the rule table of this version; the id text is what is stable */

typedef struct cuvet_rule_info {
    size_t size;    /**< sizeof(cuvet_rule_info) of the library */
    const char *id; /**< "CV-ELF-012": never renumbered, never reused */
    cuvet_severity severity;
    cuvet_class cls;
    const char *title; /**< one line */
    /** Template: {got} {want} decimal, {got:x} {want:x} hexadecimal; {got:sm} {want:sm} an architecture,
     * which is its number and the suffix character << 32, {got:compute} the same as a compute capability. */
    const char *message;
    const char *why; /**< a paragraph: what is checked, what good tools write, where it was observed */
} cuvet_rule_info;

/** Flags of a diagnostic. */
#define CUVET_DIAG_INNER 1u /**< the place lies in decompressed content: inner_off is valid */

typedef struct cuvet_diag {
    size_t size; /**< sizeof(cuvet_diag) of the caller */
    cuvet_rule rule;
    cuvet_severity severity;
    /** Bytes from the start of the outermost file; of decompressed content, where its payload begins. */
    uint64_t file_off;
    uint64_t length;    /**< bytes concerned; 0 = a point */
    uint32_t flags;     /**< CUVET_DIAG_INNER */
    uint64_t inner_off; /**< bytes from the start of the decompressed content */
    uint64_t got, want; /**< meaning given by the rule's message */
    cuvet_path where;
} cuvet_diag;

#ifdef __cplusplus
extern "C" {
#endif

/** Rule by index. NULL past the last. Static storage. */
CUVET_API const cuvet_rule_info *cuvet_rule_get(cuvet_rule rule);
/** Names of the producers that a rule of class CUVET_C_PROFILE is not applied to, with ", " between them, ""
 * for none; NUL-terminated, cut to cap. @return length that was needed. */
CUVET_API size_t cuvet_rule_exempt(cuvet_rule rule, char *buf, size_t cap);
/** Index of the rule with this id text. @return CUVET_OK or CUVET_E_NO_MATCH. */
CUVET_API CUVET_MUST cuvet_status cuvet_rule_find(const char *id, cuvet_rule *out);

/** Write the message of a diagnostic, NUL-terminated, cut to cap. @return length that was needed. */
CUVET_API size_t cuvet_diag_message(const cuvet_diag *diag, char *buf, size_t cap);
/** Write a path as text, "" for the file itself, NUL-terminated, cut to cap.
 *  @return length that was needed. */
CUVET_API size_t cuvet_path_text(const cuvet_path *path, char *buf, size_t cap);

/** Verdict that one diagnostic alone gives a file. */
CUVET_API cuvet_verdict cuvet_diag_verdict(const cuvet_diag *diag);
/** "clean", "unsupported", "suspicious", "malformed", "limit", "error"; static storage. */
CUVET_API const char *cuvet_verdict_name(cuvet_verdict verdict);
/** "note", "warning", "error"; static storage. */
CUVET_API const char *cuvet_severity_name(cuvet_severity severity);
/** "form", "unsupported", "limit", "io", "internal", "target", "profile"; "?" for anything else. */
CUVET_API const char *cuvet_class_name(cuvet_class cls);
/** "fatbin", "entry", "section" …, as cuvet_path_text() writes them; "?" for anything else. */
CUVET_API const char *cuvet_step_kind_name(cuvet_step_kind kind);

#ifdef __cplusplus
}
#endif
#endif

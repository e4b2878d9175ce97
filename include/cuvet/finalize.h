/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Finalizer: a finished device ELF in, the same program for another target or in another form out, as far as
 * that can be done without making code: same bytes for a target that the compiler allowed, or without its
 * capsules. What would need a code generator is refused, and says so, unless one is plugged in. What comes
 * out is examined and compared with what went in. */
#ifndef CUVET_FINALIZE_H
#define CUVET_FINALIZE_H

#include <cuvet/compiler.h>
#include <cuvet/context.h>
#include <cuvet/image.h>
#include <cuvet/target.h>

typedef struct cuvet_finalizer {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_finalizer;

/** Forms of a device ELF, by their bits in e_flags. */
typedef enum cuvet_form {
    CUVET_FORM_SAME = 0,    /**< wanted: that of the input */
    CUVET_FORM_MERCURY = 1, /**< instructions before they become those of a machine */
    CUVET_FORM_CAPMERC = 2, /**< finished code, with capsules from which it can be made again */
    CUVET_FORM_SASS = 4     /**< finished code alone */
} cuvet_form;

typedef enum cuvet_final_phase {
    CUVET_FINAL_ALONE = 0,
    CUVET_FINAL_PRELINK, /**< an input of a link: the form wanted is CUVET_FORM_SASS unless said otherwise */
    CUVET_FINAL_POSTLINK /**< what a link made: finished code is refused */
} cuvet_final_phase;

/** Flags of a finalization. */
#define CUVET_FINALIZE_NO_FASTPATH 1u /**< no code is taken for another target unless it is made again */
#define CUVET_FINALIZE_SELF_CHECK  2u /**< the backend runs twice and must do the same */
#define CUVET_FINALIZE_TOOL_NOTE   4u /**< add a note of our own, with the names in the options */

typedef struct cuvet_finalize_options {
    size_t size;
    cuvet_target target; /**< sm 0: that of the input */
    cuvet_form kind;
    cuvet_final_phase phase;
    cuvet_arch_policy policy; /**< CUVET_ARCH_EXACT: code for sm_Na goes to target sm_Na only */
    unsigned flags;           /**< CUVET_FINALIZE_... */
    uint8_t max_level;   /**< levels of opportunistic finalization above it are not believed; 1 to 4, 0: 2 */
    const char *backend; /**< the only one to use: "copy", "strip", "external"; NULL: whichever can */
    uint64_t max_output; /**< bytes of a result; 0: the limit of inputs */
    /** NULL: ours. CUVET_E_USAGE: control characters, an empty name, the name of a tool of the vendor. */
    const char *tool, *tool_version;
    const char *tool_command;                    /**< command line in that note; NULL: none */
    void (*trace)(void *user, const char *line); /**< lines in the words of the reference; may be NULL */
    void *trace_user;
    /** A code generator for the backend "external", asked with requests for a 'cubin': relocatable code with
     * capsules only, whose code is made again. NULL: none. What *generator points to is copied, its user has
     * to last. */
    const cuvet_compiler *generator;
    /** What it said, made safe; one call for each time it said something. May be NULL */
    void (*generator_log)(void *user, const char *text);
    void *generator_user;
} cuvet_finalize_options;

/** How a finalization ended. Numbers below 256 are those of the reference finalizer, with its own texts. */
typedef enum cuvet_final_code {
    CUVET_FINAL_OK = 0,
    CUVET_FINAL_SEGMENT = 1,
    CUVET_FINAL_TWICE = 2,
    CUVET_FINAL_PASSES = 3,
    CUVET_FINAL_ARCH = 4,
    CUVET_FINAL_CONFLICT = 5,
    CUVET_FINAL_TYPE = 6,
    CUVET_FINAL_ABI = 7,
    CUVET_FINAL_INFO = 9,
    CUVET_FINAL_THREAD = 10,
    CUVET_FINAL_MEMORY = 11,
    CUVET_FINAL_NIL = 12,
    CUVET_FINAL_REL = 13,
    CUVET_FINAL_INSTRUCTION = 14,
    CUVET_FINAL_RELOC = 15,
    CUVET_FINAL_GENERATION = 16,
    CUVET_FINAL_CHECK_TEXT = 17,
    CUVET_FINAL_CHECK_DEBUG = 18,
    CUVET_FINAL_CHECK_RELOC = 19,
    CUVET_FINAL_UPLIFT = 20,
    CUVET_FINAL_SM = 22,
    CUVET_FINAL_BINARY = 23,
    CUVET_FINAL_NO_COMPAT = 24,
    CUVET_FINAL_ISA = 25,
    CUVET_FINAL_INCOMPATIBLE = 26,
    CUVET_FINAL_BINARY_27 = 27,
    CUVET_FINAL_BINARY_28 = 28,
    CUVET_FINAL_BINARY_29 = 29,
    CUVET_FINAL_BINARY_30 = 30,
    CUVET_FINAL_LIMIT = 256,
    CUVET_FINAL_NOT_NEEDED = 257,
    CUVET_FINAL_NO_BACKEND = 258,
    CUVET_FINAL_BACKEND_TIMEOUT = 259,
    CUVET_FINAL_BACKEND_CRASH = 260,
    CUVET_FINAL_BACKEND_BAD_OUTPUT = 261,
    CUVET_FINAL_BACKEND_FAILED = 262,
    CUVET_FINAL_CANCELLED = 263,
    CUVET_FINAL_INTERNAL = 264
} cuvet_final_code;

/** How the last finalization ended; bytes are borrowed until the next one, or destroy. */
typedef struct cuvet_final_result {
    size_t size;       /**< sizeof(cuvet_final_result) of the caller */
    const void *bytes; /**< NULL unless it was OK */
    size_t n;
    cuvet_final_code code;
    const char *text; /**< of the code; static storage */
    cuvet_form from, to;
    cuvet_target source, target; /**< sm 0: not known */
    const char *backend;         /**< that did it; NULL: none */
} cuvet_final_result;

/** Flags of these claims. */
#define CUVET_CLAIMS_ACCEL 1u /**< code for sm_Na */
#define CUVET_CLAIMS_MASK  2u /**< 'mask' is there */

/** What a device ELF says about what else its code may become (.nv.compat). */
typedef struct cuvet_final_claims {
    size_t size;    /**< sizeof(cuvet_final_claims) of the caller */
    uint16_t isa;   /**< version of Mercury, major << 8 | minor */
    uint8_t level;  /**< of opportunistic finalization */
    uint32_t flags; /**< CUVET_CLAIMS_... */
    uint64_t mask;  /**< machines that the very bytes run on: bit 0 sm_100, 1 sm_110, 3 sm_103, 6 sm_121 */
} cuvet_final_claims;

/** Flags of an explanation. */
/** The bytes that are there run on the target, and may be taken for it. */
#define CUVET_EXPLAIN_FASTPATH 1u
#define CUVET_EXPLAIN_LINKED   2u /**< a linker has written it */
/** They run there, whether CUVET_FINALIZE_NO_FASTPATH forbids to take them or not. */
#define CUVET_EXPLAIN_RUNS 4u

/** What would become of an input, and why. */
typedef struct cuvet_final_explanation {
    size_t size; /**< sizeof(cuvet_final_explanation) of the caller */
    cuvet_final_code code;
    const char *text;
    cuvet_form from, to;
    cuvet_target source, target;
    const cuvet_final_claims *claims; /**< NULL: none; borrowed until the next call about the finalizer */
    cuvet_final_code can;             /**< what the claims allow for source and target */
    uint32_t flags;                   /**< CUVET_EXPLAIN_... */
    uint64_t capsules;                /**< how many functions have one */
    const char *backend;              /**< that would do it; NULL: none, or nothing is to be done */
} cuvet_final_explanation;

#ifdef __cplusplus
extern "C" {
#endif

/** May code for 'source' become code for 'target', by something that makes code, when claims above level
 * 'max_level' (0 to 4) are not believed? Pure. @param claims NULL: there are none. @return CUVET_FINAL_OK ·
 * CUVET_FINAL_SM (one is no target: cuvet_target_parse() takes no text for it) · CUVET_FINAL_NO_COMPAT ·
 * CUVET_FINAL_ISA · CUVET_FINAL_INCOMPATIBLE · CUVET_FINAL_CONFLICT (claims of no possible size). */
CUVET_API cuvet_final_code cuvet_can_finalize(const cuvet_final_claims *claims, cuvet_target source,
                                              cuvet_target target, uint8_t max_level);
/** Do the bytes that are there run on 'target' as they are? The source counts only if it is the target: ask
 * cuvet_can_finalize() too. Pure. @return CUVET_FINAL_OK · CUVET_FINAL_SM · CUVET_FINAL_INCOMPATIBLE ·
 * CUVET_FINAL_CONFLICT, as there. */
CUVET_API cuvet_final_code cuvet_can_fastpath(const cuvet_final_claims *claims, cuvet_target source,
                                              cuvet_target target);
/** Text of a code, "" for one that has none. Static storage. */
CUVET_API const char *cuvet_final_text(cuvet_final_code code);
/** "mercury", "capmerc", "sass"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_form_name(cuvet_form form);
/** "OK", "SEGMENT", "NO_COMPAT" …; "?" for a number that is no code. Static storage. */
CUVET_API const char *cuvet_final_code_name(cuvet_final_code code);
/** "alone", "prelink", "postlink"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_final_phase_name(cuvet_final_phase phase);

/** The options are copied, texts included.
 *  @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (size, an unknown backend, a value out of range, a text
 *          above 65,535 bytes) · CUVET_E_NOMEM · CUVET_E_LIMIT */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_create(cuvet_ctx *ctx, const cuvet_finalize_options *opt,
                                                         cuvet_finalizer *out);
/** Finalize one device ELF, which is only read. 'name' is for the trace; NULL: it has none. A result before
 * is gone.
 *  @return CUVET_OK · CUVET_E_MALFORMED · CUVET_E_REFUSED (a diagnostic and the code say why) ·
 *          CUVET_E_UNSUPPORTED · CUVET_E_LIMIT · CUVET_E_NOMEM · CUVET_E_CANCELLED ·
 *          CUVET_E_INTERNAL (a defect of this library: every later call on the finalizer gives
 *          CUVET_E_POISONED). */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_run(cuvet_ctx *ctx, cuvet_finalizer finalizer,
                                                      const void *bytes, size_t size, const char *name);
/** The same from a source, which is read once and whole.
 *  @return as cuvet_finalizer_run() · CUVET_E_IO · CUVET_E_USAGE (a source without a function) */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_run_source(cuvet_ctx *ctx, cuvet_finalizer finalizer,
                                                             const cuvet_source *src, const char *name);
/** What came out, or why nothing did. @return CUVET_OK · CUVET_E_STATE (nothing was finalized yet). */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_get_result(cuvet_ctx *ctx, cuvet_finalizer finalizer,
                                                             cuvet_final_result *out);
/** The result as an image of its own. *out is zero unless OK.
 *  @return CUVET_OK · CUVET_E_STATE (there is none). */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_get_image(cuvet_ctx *ctx, cuvet_finalizer finalizer,
                                                            cuvet_image *out);
/** Write the result as cuvet_save() would. @return CUVET_OK · CUVET_E_STATE (there is none) · CUVET_E_USAGE
 * (name) · CUVET_E_EXISTS · CUVET_E_IO. */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_save(cuvet_ctx *ctx, cuvet_finalizer finalizer, int dirfd,
                                                       const char *name, unsigned flags);
/** What would become of a device ELF, without making anything. *out is filled as far as it went, also when it
 * is refused.
 *  @return as cuvet_finalizer_run(). */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_explain(cuvet_ctx *ctx, cuvet_finalizer finalizer,
                                                          const void *bytes, size_t size,
                                                          cuvet_final_explanation *out);
/** Stop what runs on another thread, and whatever is asked of it afterwards; may be called at any time.
 *  @return CUVET_OK · CUVET_E_NULL · CUVET_E_HANDLE · CUVET_E_STALE_HANDLE · CUVET_E_HANDLE_KIND */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_cancel(cuvet_ctx *ctx, cuvet_finalizer finalizer);
/** End it and poison its memory; *finalizer becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_finalizer_destroy(cuvet_ctx *ctx, cuvet_finalizer *finalizer);

#ifdef __cplusplus
}
#endif
#endif

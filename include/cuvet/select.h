/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Select: which piece of device code in a file goes to a target, and that piece itself. Made for a target,
 * it binds a payload, classifies it, lists what is in it, selects the member that fits, has it compiled where
 * that is needed, and judges it. A call that fails leaves the object as it was; a failing cuvet_select_run()
 * leaves it FAILED, with everything that it said. */
#ifndef CUVET_SELECT_H
#define CUVET_SELECT_H

#include <cuvet/classify.h>
#include <cuvet/compiler.h>
#include <cuvet/context.h>
#include <cuvet/image.h>
#include <cuvet/target.h>

typedef struct cuvet_select {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_select;

/** What the caller wants out of it. */
typedef enum cuvet_request {
    CUVET_REQUEST_LINK =
        0, /**< a device ELF: SASS members, or PTX through the compiler, as the reference linker */
    CUVET_REQUEST_SASS = 1, /**< SASS members only */
    CUVET_REQUEST_PTX = 2,  /**< PTX members only, as text, not compiled */
    CUVET_REQUEST_LTOIR = 3 /**< LTO-IR members only, as they are */
} cuvet_request;

typedef enum cuvet_select_state {
    CUVET_SELECT_NEW = 0,
    CUVET_SELECT_BOUND,    /**< has a payload; may be bound again */
    CUVET_SELECT_SELECTED, /**< has a result */
    CUVET_SELECT_FAILED    /**< the run failed: only queries and destroy */
} cuvet_select_state;

/** Flags of a selection. */
#define CUVET_SELECT_ADDRESS32 1u /**< accept members without the 64-bit mark; 64-bit is the default */
#define CUVET_SELECT_LENIENT   2u /**< classify as CUVET_CLASSIFY_LENIENT; empty options are ignored */

typedef struct cuvet_select_options {
    size_t size;
    cuvet_target target;
    cuvet_request request;
    cuvet_arch_policy policy;
    unsigned flags;   /**< CUVET_SELECT_... */
    uint32_t toolkit; /**< newest toolkit version accepted, times ten; 0: 130 */
    uint32_t threads; /**< for a compiler: 1 to 64; 0: 1 */
    /** For PTX. Copied; its 'user' lasts as long as the selection. NULL: none */
    const cuvet_compiler *compiler;
} cuvet_select_options;

/** Why a candidate was not taken; NONE for those that could be. */
typedef enum cuvet_reason {
    CUVET_REASON_NONE = 0,
    CUVET_REASON_FAMILY,    /**< SASS of another family, or PTX 'f' of another family */
    CUVET_REASON_NEWER,     /**< its number is above the target's */
    CUVET_REASON_SUFFIX,    /**< 'a' code for another number, or 'a' PTX for another target */
    CUVET_REASON_POLICY,    /**< 'a' SASS for a target without 'a', under CUVET_ARCH_EXACT */
    CUVET_REASON_ADDRESS,   /**< not marked 64-bit */
    CUVET_REASON_REQUEST,   /**< of a kind that was not asked for */
    CUVET_REASON_KIND,      /**< of a kind that is not known */
    CUVET_REASON_ARCH_ZERO, /**< without an architecture */
} cuvet_reason;

/** Flags of a candidate. */
#define CUVET_CANDIDATE_CHOSEN 1u
/** In the container, or the object, that the reference linker looks at. */
#define CUVET_CANDIDATE_FIRST_CONTAINER 2u

typedef struct cuvet_candidate {
    size_t size; /**< sizeof(cuvet_candidate) of the caller */
    cuvet_path where;
    cuvet_kind kind;
    uint32_t sm;
    char suffix;
    cuvet_reason reason;    /**< NONE: fits */
    uint32_t rank;          /**< 1 the best of those that fit; 0 does not fit */
    uint32_t flags;         /**< CUVET_CANDIDATE_... */
    uint64_t container_off; /**< bytes from the start of the payload, or of the unpacked outer member */
    uint64_t header_off, payload_off, stored_size;
    uint64_t member_flags; /**< of the member header */
    uint32_t depth;        /**< 0: in the payload itself; n: in a container that a chosen member holds */
} cuvet_candidate;

typedef struct cuvet_select_result {
    size_t size;       /**< sizeof(cuvet_select_result) of the caller */
    cuvet_kind kind;   /**< CUBIN or MERCURY, PTX, LTOIR (NVVM IR as well) */
    const void *bytes; /**< borrowed until destroy or take */
    size_t n;
    uint32_t sm; /**< of the result */
    char suffix;
    uint32_t flags;     /**< CUVET_IMAGE_COMPILED */
    uint64_t candidate; /**< index of the chosen one */
} cuvet_select_result;

#define CUVET_BIND_BORROW 0u /**< the bytes must outlive the selection, or its next bind */
#define CUVET_BIND_COPY   1u

#ifdef __cplusplus
extern "C" {
#endif

/** Every function: CUVET_E_NULL (a required pointer is NULL), CUVET_E_HANDLE… as in status.h, CUVET_E_STATE
 * (not in this state), CUVET_E_NOMEM and CUVET_E_LIMIT besides those that are named. */

/** Number and suffix of the target are validated together.
 *  @return CUVET_OK · CUVET_E_ARCH (no such target) · CUVET_E_USAGE (size, a value out of range, a compiler
 *  without a function). *out is zero unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_create(cuvet_ctx *ctx, const cuvet_select_options *opt,
                                                      cuvet_select *out);
/** Append one option of n bytes for the compiler, as one element whatever it holds; before the run only.
 *  @return CUVET_OK · CUVET_E_USAGE (NUL inside; empty unless lenient) · CUVET_E_LIMIT (options,
 *  option_bytes). */
CUVET_API CUVET_MUST cuvet_status cuvet_select_add_option(cuvet_ctx *ctx, cuvet_select selection,
                                                          const char *text, size_t len);
/** Option by index, NUL-terminated, borrowed until the next option or destroy. @return CUVET_OK · CUVET_END.
 */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_option(cuvet_ctx *ctx, cuvet_select selection,
                                                          size_t index, const char **out, size_t *len);
/** Classify and keep a payload; its containers are walked, their members listed, nothing is unpacked. May be
 * repeated before the run.
 *  @param flags CUVET_BIND_BORROW or _COPY @param out may be NULL
 *  @return CUVET_OK · CUVET_E_UNKNOWN · CUVET_E_TRUNCATED · CUVET_E_MALFORMED · CUVET_E_UNSUPPORTED ·
 *  CUVET_E_REFUSED (no device code in it) · CUVET_E_CANCELLED (after which it may be bound again). */
CUVET_API CUVET_MUST cuvet_status cuvet_select_bind(cuvet_ctx *ctx, cuvet_select selection, const void *bytes,
                                                    size_t size, unsigned flags, cuvet_content_info *out);
/** The same for the bytes of a source, which is read once and whole. @param out may be NULL.
 *  @return as cuvet_select_bind() · CUVET_E_IO · CUVET_E_LIMIT (input) · CUVET_E_USAGE (a source without a
 *  function). */
CUVET_API CUVET_MUST cuvet_status cuvet_select_bind_source(cuvet_ctx *ctx, cuvet_select selection,
                                                           const cuvet_source *src, cuvet_content_info *out);
/** Choose, unpack, compile where that is needed, examine and admit.
 *  @return CUVET_OK · CUVET_E_NO_MATCH (diagnosed, candidates tell why) · CUVET_E_COMPILER (needed and none
 *  there, or it failed) · CUVET_E_REFUSED (not admitted for the target) · CUVET_E_MALFORMED ·
 *  CUVET_E_UNSUPPORTED · CUVET_E_CANCELLED. After CUVET_E_NOMEM it is BOUND as before; after anything
 * else but OK, NULL, HANDLE and STATE it is FAILED. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_run(cuvet_ctx *ctx, cuvet_select selection);
/** Candidates in file order, by index, from bind on; rank and choice are final after the run.
 *  @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_candidate(cuvet_ctx *ctx, cuvet_select selection,
                                                             uint64_t index, cuvet_candidate *out);
/** @return CUVET_OK · CUVET_E_STATE (nothing selected, or taken already). *out is zeroed on failure. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_result(cuvet_ctx *ctx, cuvet_select selection,
                                                          cuvet_select_result *out);
/** The result as an image of its own, which stays when the selection goes; a second take is CUVET_E_STATE.
 *  @return CUVET_OK · CUVET_E_STATE. *out is zero unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_take_image(cuvet_ctx *ctx, cuvet_select selection,
                                                          cuvet_image *out);
/** What was said since the last bind, by index, at most limits.diagnostics per rule.
 *  @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_diag(cuvet_ctx *ctx, cuvet_select selection,
                                                        uint64_t index, cuvet_diag *out);
/** What the compiler said: printable ASCII and line feeds, NUL-terminated, borrowed until destroy; "" for
 * nothing. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_log(cuvet_ctx *ctx, cuvet_select selection,
                                                       const char **out, size_t *len);
/** How far it is. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_get_state(cuvet_ctx *ctx, cuvet_select selection,
                                                         cuvet_select_state *out);
/** The only call that another thread may make while it is in use: the call that runs ends with
 * CUVET_E_CANCELLED soon. Without one, the next run does. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_cancel(cuvet_ctx *ctx, cuvet_select selection);
/** End it and poison its memory; *selection becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_destroy(cuvet_ctx *ctx, cuvet_select *selection);

/** One line why a candidate was refused, static storage. */
CUVET_API const char *cuvet_reason_text(cuvet_reason reason);
/** "none", "family", "newer" …; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_reason_name(cuvet_reason reason);
/** "link", "sass", "ptx", "lto-ir"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_request_name(cuvet_request request);
/** "new", "bound", "selected", "failed"; "?" for anything else. Static storage. */
CUVET_API const char *cuvet_select_state_name(cuvet_select_state state);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Input: the one way in for everything that is to be linked or finalized. Configured for a target, it binds
 * a payload, classifies it, selects the member that fits, has it compiled where that is needed, judges it,
 * and hands it on. A call that fails leaves the object as it was; a failing cuvet_input_select() leaves it
 * FAILED, with everything that it said. */
#ifndef CUVET_INPUT_H
#define CUVET_INPUT_H

#include <cuvet/classify.h>
#include <cuvet/compiler.h>
#include <cuvet/context.h>
#include <cuvet/scan.h>
#include <cuvet/target.h>

typedef struct cuvet_input {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_input;

/** What the caller wants out of it. */
typedef enum cuvet_request {
    CUVET_REQUEST_LINK =
        0, /**< a device ELF: SASS members, or PTX through the compiler, as the reference linker */
    CUVET_REQUEST_SASS = 1, /**< SASS members only */
    CUVET_REQUEST_PTX = 2,  /**< PTX members only, as text, not compiled */
    CUVET_REQUEST_LTOIR = 3 /**< LTO-IR members only, as they are */
} cuvet_request;

typedef enum cuvet_input_state {
    CUVET_INPUT_NEW = 0,
    CUVET_INPUT_CONFIGURED, /**< has a target */
    CUVET_INPUT_BOUND,      /**< has a payload; may be bound again */
    CUVET_INPUT_SELECTED,   /**< has a result */
    CUVET_INPUT_FAILED      /**< select failed: only queries and destroy */
} cuvet_input_state;

/** Flags of an input. */
#define CUVET_INPUT_ADDRESS32 1u /**< accept members without the 64-bit mark; 64-bit is the default */
#define CUVET_INPUT_LENIENT   2u /**< classify as CUVET_CLASSIFY_LENIENT; empty options are ignored */

typedef struct cuvet_input_config {
    size_t size;
    cuvet_target target;
    cuvet_request request;
    cuvet_arch_policy policy;
    unsigned flags;   /**< CUVET_INPUT_... */
    uint32_t toolkit; /**< newest toolkit version accepted, times ten; 0: 130 */
    uint32_t threads; /**< for a compiler: 1 to 64; 0: 1 */
} cuvet_input_config;

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

/** Flags of an image. */
#define CUVET_IMAGE_COMPILED 1u /**< went through the compiler */

typedef struct cuvet_result {
    size_t size;       /**< sizeof(cuvet_result) of the caller */
    cuvet_kind kind;   /**< CUBIN or MERCURY, PTX, LTOIR (NVVM IR as well) */
    const void *bytes; /**< borrowed from the input: valid until destroy or take */
    size_t n;
    uint32_t sm; /**< of the result */
    char suffix;
    uint32_t flags;     /**< CUVET_IMAGE_COMPILED */
    uint64_t candidate; /**< index of the chosen one */
} cuvet_result;

/** Bytes that belong to the caller. */
typedef struct cuvet_image {
    size_t size; /**< sizeof(cuvet_image) of the caller */
    void *bytes;
    size_t n;
    cuvet_alloc alloc; /**< whose memory it is */
    cuvet_kind kind;   /**< CUBIN or MERCURY, PTX, LTOIR (NVVM IR as well) */
    uint32_t sm;
    char suffix;
} cuvet_image;

#define CUVET_BIND_BORROW 0u /**< the bytes must outlive the input, or its next bind */
#define CUVET_BIND_COPY   1u

#ifdef __cplusplus
extern "C" {
#endif

/** Every function: CUVET_E_NULL (a required pointer is NULL), CUVET_E_HANDLE… as in status.h, CUVET_E_STATE
 * (not in this state), CUVET_E_NOMEM and CUVET_E_LIMIT besides those that are named. */

/** @param cfg NULL: state NEW, to be configured later. @return CUVET_OK · CUVET_E_ARCH (no such target) ·
 * CUVET_E_USAGE. On failure *out is zero. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_create(cuvet_ctx *ctx, const cuvet_input_config *cfg,
                                                     cuvet_input *out);
/** Replace the configuration; before bind only. @return CUVET_OK · CUVET_E_ARCH · CUVET_E_USAGE. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_configure(cuvet_ctx *ctx, cuvet_input in,
                                                        const cuvet_input_config *cfg);
/** The configuration as it is used, defaults filled in. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_config(cuvet_ctx *ctx, cuvet_input in,
                                                         cuvet_input_config *out);
/** The target alone, before bind only. Number and suffix are validated together, then stored together. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_set_target(cuvet_ctx *ctx, cuvet_input in, cuvet_target target);
/** The request alone; before bind only. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_set_request(cuvet_ctx *ctx, cuvet_input in,
                                                          cuvet_request request);
/** The flags alone; before bind only. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_set_flags(cuvet_ctx *ctx, cuvet_input in, unsigned flags);
/** Append one option of n bytes for the compiler, as one element whatever it holds; before select only.
 *  @return CUVET_OK · CUVET_E_USAGE (NUL inside; empty unless lenient) · CUVET_E_LIMIT (options,
 *  option_bytes). */
CUVET_API CUVET_MUST cuvet_status cuvet_input_option(cuvet_ctx *ctx, cuvet_input in, const char *text,
                                                     size_t len);
/** Option by index, NUL-terminated, borrowed until the next option or destroy. @return CUVET_OK · CUVET_END.
 */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_option(cuvet_ctx *ctx, cuvet_input in, size_t index,
                                                         const char **out, size_t *len);
/** @param 'made' copied; what it points to must outlive the input. NULL: none, the default. Before select
 * only. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_set_compiler(cuvet_ctx *ctx, cuvet_input in,
                                                           const cuvet_compiler *made);
/** Classify and keep a payload; its containers are walked, their members listed, nothing is unpacked. Needs a
 * configuration; may be repeated before select. @param flags CUVET_BIND_BORROW or _COPY. @param out may be
 * NULL.
 *  @return CUVET_OK · CUVET_E_UNKNOWN · CUVET_E_TRUNCATED · CUVET_E_MALFORMED · CUVET_E_UNSUPPORTED ·
 *  CUVET_E_REFUSED (no device code in it) · CUVET_E_CANCELLED (after which it may be bound again). */
CUVET_API CUVET_MUST cuvet_status cuvet_input_bind(cuvet_ctx *ctx, cuvet_input in, const void *bytes,
                                                   size_t size, unsigned flags, cuvet_content_info *out);
/** Choose, unpack, compile where that is needed, examine and admit.
 *  @return CUVET_OK · CUVET_E_NO_MATCH (diagnosed, candidates tell why) · CUVET_E_COMPILER (needed and none
 *  there, or it failed) · CUVET_E_REFUSED (not admitted for the target) · CUVET_E_MALFORMED ·
 *  CUVET_E_UNSUPPORTED · CUVET_E_CANCELLED. After CUVET_E_NOMEM the input is BOUND as before; after anything
 * else but OK, NULL, HANDLE and STATE it is FAILED. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_select(cuvet_ctx *ctx, cuvet_input in);
/** Candidates in file order, by index, from bind on; rank and choice are final after select.
 *  @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_candidate(cuvet_ctx *ctx, cuvet_input in, uint64_t index,
                                                            cuvet_candidate *out);
/** @return CUVET_OK · CUVET_E_STATE (nothing selected, or taken already). *out is zeroed on failure. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_result(cuvet_ctx *ctx, cuvet_input in, cuvet_result *out);
/** The result becomes the caller's; a second take is CUVET_E_STATE. Release with cuvet_image_destroy(). */
CUVET_API CUVET_MUST cuvet_status cuvet_input_take_result(cuvet_ctx *ctx, cuvet_input in, cuvet_image *out);
/** Gives the bytes back and zeroes *img. NULL and a zeroed one are allowed. */
CUVET_API void cuvet_image_destroy(cuvet_image *img);
/** What was said about this input since its last bind, by index, at most limits.diagnostics per rule.
 *  @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_diag(cuvet_ctx *ctx, cuvet_input in, uint64_t index,
                                                       cuvet_diag *out);
/** What the compiler said: printable ASCII and line feeds, NUL-terminated, borrowed until destroy; "" for
 * nothing. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_log(cuvet_ctx *ctx, cuvet_input in, const char **out,
                                                      size_t *len);
/** How far it is. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_get_state(cuvet_ctx *ctx, cuvet_input in,
                                                        cuvet_input_state *out);
/** The only call that another thread may make while the input is in use: the call that runs ends with
 * CUVET_E_CANCELLED soon. Without one, the next select does. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_cancel(cuvet_ctx *ctx, cuvet_input in);
/** End it and poison its memory; *in becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_input_destroy(cuvet_ctx *ctx, cuvet_input *in);

/** One line why a candidate was refused, static storage. */
CUVET_API const char *cuvet_reason_text(cuvet_reason reason);

#ifdef __cplusplus
}
#endif
#endif

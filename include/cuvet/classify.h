/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** What kind of device code, or of file that carries it, do these bytes begin with? */
#ifndef CUVET_CLASSIFY_H
#define CUVET_CLASSIFY_H

#include <cuvet/diag.h>
#include <cuvet/kind.h>
#include <cuvet/limits.h>

/** Flags of what was classified. */
#define CUVET_CLASSIFIED_CAPSULE 1u /**< device ELF: finished code with a capsule beside it */
#define CUVET_CLASSIFIED_MERCURY 2u /**< device ELF: code before finalization */
/** Device ELF or host ELF of class 32: old containers hold such device code. */
#define CUVET_CLASSIFIED_32BIT 4u
#define CUVET_CLASSIFIED_THIN  8u /**< archive: its members are not in it */

typedef struct cuvet_content_info {
    size_t size; /**< sizeof(cuvet_content_info) of the caller */
    cuvet_kind type;
    uint64_t off;    /**< bytes of the payload before the content: 4 for NVVM behind a zero pad, else 0 */
    uint64_t length; /**< bytes from off on that belong to it as far as its first header says */
    uint32_t sm;     /**< device ELF: SM number from e_flags; else 0 */
    uint32_t flags;  /**< CUVET_CLASSIFIED_... */
} cuvet_content_info;

/** Besides what is accepted without it, accept what the reference tools accept: 8 bytes of a container
 * whatever its header says, an ELF prefix of 20 bytes of any class, version, OSABI and byte order mark,
 * ".versionX" and zero bytes behind it, a comment that is opened and closed by one asterisk. Nothing is read
 * that is not there all the same: what a header says about more than that is cut to it. */
#define CUVET_CLASSIFY_LENIENT 1u

#ifdef __cplusplus
extern "C" {
#endif

/** Classify n bytes. Allocates nothing, needs no context, reads at most limits.ptx_probe bytes and the first
 * header. An ELF that ends before it tells its machine counts as device code. 0x1EE55A01, which also heads
 * the containers before CUDA 4, counts as NVVM. Zero bytes at the end of a PTX text belong to it; in the
 * middle they make it unknown, as far as the probe goes.
 *  @param limits NULL: preset "strict". @param flags 0 or CUVET_CLASSIFY_LENIENT. @param diag may be NULL;
 *  set unless OK; with USAGE and NULL its rule is none (cuvet_rule_get() gives NULL).
 *  @return CUVET_OK · CUVET_E_TRUNCATED (out->type says what begins here and is cut off) · CUVET_E_MALFORMED
 *  (out->type says what it is but for a broken field) · CUVET_E_UNKNOWN · CUVET_E_LIMIT (ptx_probe) ·
 *  CUVET_E_USAGE · CUVET_E_NULL. *out is zeroed first, and but for its type it stays so unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_classify(const void *bytes, size_t size, const cuvet_limits *limits,
                                                 unsigned flags, cuvet_content_info *out, cuvet_diag *diag);

#ifdef __cplusplus
}
#endif
#endif

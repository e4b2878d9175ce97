/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Linker: relocatable device ELFs in, the cubin that the reference linker would write out. Every input is
 * examined and admitted first; a link happens whole or not at all. */
#ifndef CUVET_LINKER_H
#define CUVET_LINKER_H

#include <cuvet/context.h>
#include <cuvet/input.h>
#include <cuvet/target.h>

typedef struct cuvet_linker {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_linker;

typedef struct cuvet_linker_options {
    size_t size;
    cuvet_target target;
    cuvet_arch_policy policy;
    uint32_t toolkit; /**< newest toolkit version accepted, times ten; 0: 130 */
    bool relocatable; /**< -r: the result is to be linked again */
    bool
        exact_relocatable; /**< with relocatable: the reference's form, which loses what a later link needs */
    bool debug;            /**< -g: keep the symbols of shared variables */
    bool preserve_relocs;  /**< keep a record of every relocation that was applied */
    bool no_stack_warning; /**< say nothing of kernels whose stack size is not known */
    bool warnings_are_errors;
    const char *const *kernels_used; /**< kernels whose names hold one of these stay, the others are dead;
                                      * borrowed until complete */
    size_t n_kernels_used;           /**< 0: all stay */
} cuvet_linker_options;

/** What came out; bytes are borrowed from the linker until destroy. */
typedef struct cuvet_link_result {
    const void *bytes;
    size_t n;
    uint64_t objects, functions, kernels; /**< counts: of inputs, and of what stayed */
} cuvet_link_result;

#ifdef __cplusplus
extern "C" {
#endif

/** @return CUVET_OK · CUVET_E_UNSUPPORTED (sm_100 and later, diagnosed) · CUVET_E_NULL · CUVET_E_USAGE ·
 * CUVET_E_ARCH · CUVET_E_NOMEM · CUVET_E_LIMIT */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt,
                                                      cuvet_linker *out);
/** Add one device ELF; the bytes are copied. 'name' is for messages only: diagnostics name inputs by their
 * number, counted from 0, as cuvet_linker_name() does.
 *  @return CUVET_OK · CUVET_E_MALFORMED · CUVET_E_REFUSED (not to be linked for this target) ·
 * CUVET_E_UNKNOWN · CUVET_E_TRUNCATED · CUVET_E_UNSUPPORTED · CUVET_E_LIMIT · CUVET_E_NOMEM · CUVET_E_STATE.
 * The linker stays as it was unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add(cuvet_ctx *ctx, cuvet_linker l, const void *bytes,
                                                   size_t n, const char *name);
/** Name of an input by its number, borrowed until destroy. @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_name(cuvet_ctx *ctx, cuvet_linker l, uint64_t index,
                                                    const char **out);
/** Link what was added. @return CUVET_OK · CUVET_E_REFUSED (diagnosed) · CUVET_E_LIMIT · CUVET_E_NOMEM ·
 * CUVET_E_INTERNAL (a stage broke an invariant: nothing is given out) · CUVET_E_STATE (a second time). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_complete(cuvet_ctx *ctx, cuvet_linker l);
/** @return CUVET_OK · CUVET_E_STATE (not complete). *out is zeroed on failure. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_result(cuvet_ctx *ctx, cuvet_linker l, cuvet_link_result *out);
/** Name of the symbol that a diagnostic of this link points to, not terminated, borrowed until destroy.
 *  @return CUVET_OK · CUVET_E_NO_MATCH (it points to none). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_symbol(cuvet_ctx *ctx, cuvet_linker l, const cuvet_diag *d,
                                                      const char **p, size_t *n);
/** The same for the symbol that the first one does not agree with: where a diagnostic is about two, its path
 * names two inputs (CUVET_P_MEMBER), each with its symbol behind it.
 *  @return CUVET_OK · CUVET_E_NO_MATCH (it is about one, or none). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_other_symbol(cuvet_ctx *ctx, cuvet_linker l,
                                                            const cuvet_diag *d, const char **p, size_t *n);
/** End it and poison its memory; *l becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_destroy(cuvet_ctx *ctx, cuvet_linker *l);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Link-time optimization. cuvet has no compiler of LTO-IR: a link in which there is some can be handed as
 * a whole to a libnvJitLink that the caller names. The library runs in a process of its own, in the cage
 * of cuvet_compiler_external(), because it was written for trusted input; what comes back is a stranger's
 * file and has to be examined like one. */
#ifndef CUVET_LTO_H
#define CUVET_LTO_H

#include <cuvet/compiler.h>

/** One input of such a link. */
typedef struct cuvet_lto_input {
    size_t size;
    /** CUVET_K_CUBIN, _PTX, _LTOIR, _FATBIN, _HOST_ELF (a host object) or _ARCHIVE (a library). */
    cuvet_kind kind;
    const void *bytes; /**< borrowed during the call */
    size_t n;
    const char *name; /**< for its messages; NULL or "": "input". Borrowed */
} cuvet_lto_input;

/** The result is PTX and not a device ELF. */
#define CUVET_LTO_PTX 1u

typedef struct cuvet_lto_request {
    size_t size;
    unsigned flags; /**< CUVET_LTO_PTX, or 0 */
    const cuvet_lto_input *const *input;
    size_t n_inputs; /**< 1 to 4096 */
    /** Options of libnvJitLink, handed on as they are ("-arch=sm_90", "-lto"). Never from an input. */
    const char *const *option;
    size_t n_options;
    const int *cancel; /**< as in cuvet_compile_request; NULL: it is never cancelled */
} cuvet_lto_request;

/** Exit codes of the program cuvet-lto, which are the detail of CUVET_COMPILE_FAILED. */
#define CUVET_LTO_EXIT_USAGE   2  /**< it was called wrong */
#define CUVET_LTO_EXIT_FILE    3  /**< a file of its own cannot be read or written */
#define CUVET_LTO_EXIT_LIBRARY 4  /**< the library cannot be loaded, or lacks a function */
#define CUVET_LTO_EXIT_REFUSED 64 /**< and the result code that the library gave, which is below 64 */

#ifdef __cplusplus
extern "C" {
#endif

/** Run the link.
 *  @param program the program cuvet-lto (path) and its limits, as for cuvet_compiler_external()
 *  @param library absolute path of the libnvJitLink
 *  @param alloc where result and log come from; NULL: malloc
 *  @param out overwritten; cuvet_lto_end() gives bytes and log back, whatever the end
 *  @return CUVET_OK (out->end tells how it went; CUVET_COMPILE_UNSUPPORTED: an input of another kind, or
 *  too many of them) · CUVET_E_NULL · CUVET_E_USAGE (a path that is not absolute, a limit out of range, a
 *  flag) · CUVET_E_NOMEM */
CUVET_API CUVET_MUST cuvet_status cuvet_lto_run(const cuvet_external *program, const char *library,
                                                const cuvet_alloc *alloc, const cuvet_lto_request *req,
                                                cuvet_compile_result *out);
/** Give bytes and log of a result back, to the allocator that cuvet_lto_run() had; *result is zeroed. NULL
 * and a zeroed one are allowed. */
CUVET_API void cuvet_lto_end(const cuvet_alloc *alloc, cuvet_compile_result *result);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** The short way: a file to a list of findings, files to a linked device ELF, a file to the piece of it that
 * fits a target, or to the same for another target. Everything here could be done with scan.h, linker.h,
 * select.h and finalize.h; why something failed is said by cuvet_status_text() and cuvet_ctx_last_text().
 * Images are read with cuvet_image_get_info() and written with cuvet_image_save(). */
#ifndef CUVET_SIMPLE_H
#define CUVET_SIMPLE_H

#include <cuvet/finalize.h>
#include <cuvet/linker.h>
#include <cuvet/scan.h>
#include <cuvet/select.h>

/** What a scan found, kept until it is destroyed. */
typedef struct cuvet_findings {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_findings;

/** One finding. The texts are without bytes of the input, and borrowed until the next call about these
 * findings. */
typedef struct cuvet_finding {
    size_t size;            /**< sizeof(cuvet_finding) of the caller */
    const char *rule;       /**< "CV-ELF-012" */
    const char *severity;   /**< "note", "warning", "error" */
    const char *place;      /**< "fatbin[0]/entry[2] at 0x40" */
    const char *text;       /**< "Title: message", at most 1023 bytes */
    const cuvet_diag *diag; /**< the same for programs */
} cuvet_finding;

#ifdef __cplusplus
extern "C" {
#endif

/** Scan a file and keep what is found. What is found goes to the callback of the context as well.
 *  @param opt NULL: everything is unpacked and judged, on one thread
 *  @return CUVET_OK (the whole file was scanned, whatever was found) · CUVET_E_NULL · CUVET_E_USAGE ·
 * CUVET_E_ARCH · CUVET_E_IO (diagnosed) · CUVET_E_LIMIT · CUVET_E_NOMEM. *out is zero unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_file(cuvet_ctx *ctx, const char *path,
                                                  const cuvet_scan_options *opt, cuvet_findings *out);
/** The same for a file in memory, whose bytes are borrowed during the call. */
CUVET_API CUVET_MUST cuvet_status cuvet_scan_memory(cuvet_ctx *ctx, const void *bytes, size_t size,
                                                    const cuvet_scan_options *opt, cuvet_findings *out);
/** Finding by index, in the order of the file. @return CUVET_OK · CUVET_END · CUVET_E_NULL · CUVET_E_USAGE
 * (size) */
CUVET_API CUVET_MUST cuvet_status cuvet_findings_get(cuvet_ctx *ctx, cuvet_findings list, uint64_t index,
                                                     cuvet_finding *out);
/** Verdict and counts of the scan. */
CUVET_API CUVET_MUST cuvet_status cuvet_findings_summary(cuvet_ctx *ctx, cuvet_findings list,
                                                         cuvet_summary *out);
/** End it and poison its memory; *list becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_findings_destroy(cuvet_ctx *ctx, cuvet_findings *list);

/** Link files: each of them as cuvet_linker_add_file() takes it. All are looked at, also when one is refused.
 *  @param opt may be NULL @param target "sm_90"; NULL: that of the options
 *  @return CUVET_OK · CUVET_E_ARCH · CUVET_E_IO (a file cannot be opened or read; diagnosed) · as
 *  cuvet_linker_add_file() for the first file that was refused · as cuvet_linker_complete(). *out is zero
 * unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_link_files(cuvet_ctx *ctx, const cuvet_linker_options *opt,
                                                   const char *target, const char *const *paths, size_t len,
                                                   cuvet_image *out);
/** Which piece of device code of a file goes to a target: as cuvet_select_run() chooses it, for a link:
 * finished code is CUVET_E_REFUSED.
 *  @param opt may be NULL @param target "sm_90a"; NULL: that of the options
 *  @return as cuvet_select_bind() · as cuvet_select_run() · CUVET_E_ARCH · CUVET_E_IO (diagnosed) ·
 *  CUVET_E_LIMIT (a file too large for the limit of inputs; diagnosed). *out is zero unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_select_file(cuvet_ctx *ctx, const cuvet_select_options *opt,
                                                    const char *target, const char *path, cuvet_image *out);
/** A device ELF in a file, finalized: cuvet_image_save() writes what came out.
 *  @param opt may be NULL @param target "sm_103"; NULL: that of the options, or that of the file
 *  @return as cuvet_finalizer_run() · CUVET_E_ARCH · CUVET_E_IO (diagnosed). *out is zero unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_finalize_file(cuvet_ctx *ctx, const cuvet_finalize_options *opt,
                                                      const char *target, const char *path, cuvet_image *out);
/** The same for a device ELF in memory, that of an image for example; its bytes are borrowed during the call.
 */
CUVET_API CUVET_MUST cuvet_status cuvet_finalize_memory(cuvet_ctx *ctx, const cuvet_finalize_options *opt,
                                                        const char *target, const void *bytes, size_t size,
                                                        cuvet_image *out);

#ifdef __cplusplus
}
#endif
#endif

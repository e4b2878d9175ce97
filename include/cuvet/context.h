/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Context, sources and saving: what every use of the library begins and ends with. */
#ifndef CUVET_CONTEXT_H
#define CUVET_CONTEXT_H

#include <cuvet/alloc.h>
#include <cuvet/diag.h>
#include <cuvet/limits.h>

/** The one pointer a caller owns. Objects made in a context are handles: plain values, checked on every call.
 */
typedef struct cuvet_ctx cuvet_ctx;

/** Called for each diagnostic, in an order that depends on the input only; always on the thread that called
 * the library. */
typedef void cuvet_diag_fn(void *user, const cuvet_diag *diag);

typedef struct cuvet_ctx_options {
    size_t size;                /**< sizeof(cuvet_ctx_options) of the caller */
    const cuvet_alloc *alloc;   /**< NULL: malloc. Must be thread-safe when a scan runs with jobs > 1 */
    const cuvet_limits *limits; /**< NULL: preset "strict" */
    cuvet_diag_fn *diag;        /**< NULL: diagnostics are only counted */
    void *diag_user;
    /** Bytes of freed blocks that the context keeps for its next object, 0: none. The second of two large
     * links asks the system for little then. Only blocks of 64 KiB and more are kept, 128 at most; each may
     * be an eighth larger than what limits.live counts, and what is kept counts for no limit. It goes back
     * when there is no more memory. */
    uint64_t keep;
    unsigned flags; /**< CUVET_CTX_... */
} cuvet_ctx_options;

/** For blocks of 4 MiB and more the system is asked for large pages, which saves time where blocks are new,
 * not where they were kept. The risk: each may take up to 2 MiB more than limits.live knows, the system may
 * stop to find such pages, and the wish stays with the memory when it goes back to the heap, the caller's
 * too. */
#define CUVET_CTX_HUGE_PAGES 1u

/** Random access to bytes nobody vouches for. read_at fills the whole buffer or fails with CUVET_E_IO; it may
 * be called from several threads at once when a scan runs with jobs > 1. */
typedef struct cuvet_source {
    size_t size;     /**< sizeof(cuvet_source) of the caller */
    uint64_t length; /**< bytes */
    cuvet_status (*read_at)(void *user, uint64_t off, void *buf, size_t len);
    void *user;
    int owned_fd; /**< descriptor cuvet_source_destroy() closes, or -1 */
} cuvet_source;

/** Flags of what saves. */
#define CUVET_SAVE_REPLACE 1u /**< an existing file may be replaced */
#define CUVET_SAVE_SYNC    2u /**< fsync before the file gets its name */

#ifdef __cplusplus
extern "C" {
#endif

/**  @param opt may be NULL. @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (a size) · CUVET_E_NOMEM; *out is
 * NULL unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_ctx_create(const cuvet_ctx_options *opt, cuvet_ctx **out);
/** Destroys the context with every object still alive in it. NULL is allowed. */
CUVET_API void cuvet_ctx_destroy(cuvet_ctx *ctx);
/** Most bytes that were allocated at the same time, the workers' included; not what is kept (options.keep).
 */
CUVET_API uint64_t cuvet_ctx_peak(const cuvet_ctx *ctx);
/** The last diagnostic of this context that is no note, whichever object it is about: why a call failed, for
 * who has no callback. Not every status has one: a wrong argument, a target that is none (CUVET_E_ARCH) and
 * an output that cannot be written say no more than cuvet_status_text(), and leave the one before.
 *  @return CUVET_OK · CUVET_END (none so far) · CUVET_E_NULL. */
CUVET_API CUVET_MUST cuvet_status cuvet_ctx_last_diag(cuvet_ctx *ctx, cuvet_diag *out);
/** The same as one line: "CV-ELF-012 Title: message (path at 0x40)"; "" for none so far. At most 1023 bytes,
 * without bytes of the input; borrowed until the next call of this function or the end of the context. */
CUVET_API const char *cuvet_ctx_last_text(cuvet_ctx *ctx);

/** Bytes in memory; borrowed, must outlive the scan. */
CUVET_API CUVET_MUST cuvet_status cuvet_source_memory(const void *bytes, size_t size, cuvet_source *out);
/** Regular file by its name; cuvet_source_destroy() closes it. @return CUVET_OK · CUVET_E_NULL · CUVET_E_IO
 * (cannot be opened, or is no regular file). */
CUVET_API CUVET_MUST cuvet_status cuvet_source_path(const char *path, cuvet_source *out);
/** Regular file or block device behind fd; borrowed, stays open. @return CUVET_E_IO: no size or not seekable.
 */
CUVET_API CUVET_MUST cuvet_status cuvet_source_fd(int fd, cuvet_source *out);
/** The same where the caller knows that it is one, and its length: nothing is asked of the system, as a
 * process that was confined may not. @return CUVET_OK · CUVET_E_USAGE */
CUVET_API CUVET_MUST cuvet_status cuvet_source_fd_sized(int fd, uint64_t length, cuvet_source *out);
/** Stream (stdin, pipe): copied to an unlinked temporary file in dir (NULL: TMPDIR or /tmp), at most max
 * bytes.
 *  @return CUVET_OK · CUVET_E_IO · CUVET_E_LIMIT (more than max bytes). Release it afterwards. */
CUVET_API CUVET_MUST cuvet_status cuvet_source_spool(int fd, const char *dir, uint64_t max,
                                                     cuvet_source *out);
/** End a source: closes what cuvet_source_path() or cuvet_source_spool() has opened. NULL is allowed. */
CUVET_API void cuvet_source_destroy(cuvet_source *source);

/** Write bytes to a new file 'name' (one path component, checked) in the directory dirfd: a temporary file
 * that is renamed when complete, or nothing. @param flags CUVET_SAVE_...; an existing file is CUVET_E_EXISTS
 * unless it may be replaced.
 *  @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (name, flags) · CUVET_E_EXISTS · CUVET_E_IO. */
CUVET_API CUVET_MUST cuvet_status cuvet_save(int dirfd, const char *name, const void *bytes, size_t size,
                                             unsigned flags);

#ifdef __cplusplus
}
#endif
#endif

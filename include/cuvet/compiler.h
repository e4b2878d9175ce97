/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Compilers: what turns PTX or LTO-IR into a device ELF, or code for one machine into code for another, is
 * plugged in, never built in. Whatever comes back
 * is examined like any stranger's file. */
#ifndef CUVET_COMPILER_H
#define CUVET_COMPILER_H

#include <cuvet/alloc.h>
#include <cuvet/kind.h>
#include <cuvet/status.h>

/** Why a compiler did not deliver; each has its own rule (CV-COMPILE-...). */
typedef enum cuvet_compile_end {
    CUVET_COMPILED = 0,
    CUVET_COMPILE_FAILED,    /**< it ended with an error of its own: detail = exit code */
    CUVET_COMPILE_CRASHED,   /**< died by a signal: detail = signal number */
    CUVET_COMPILE_TIMEOUT,   /**< deadline or cpu limit: detail = milliseconds allowed */
    CUVET_COMPILE_EMPTY,     /**< success without output */
    CUVET_COMPILE_OVERSIZED, /**< more output than allowed: detail = bytes allowed */
    CUVET_COMPILE_NOT_FOUND, /**< it could not be started: detail = errno */
    CUVET_COMPILE_CANCELLED,
    CUVET_COMPILE_UNSUPPORTED /**< this kind of input or this target is not for it */
} cuvet_compile_end;

/** With CUVET_K_CUBIN: it was compiled for a debugger, and has to stay as slow. */
#define CUVET_COMPILE_DEBUG 1u

typedef struct cuvet_compile_request {
    size_t size;
    /** CUVET_K_PTX: text without NUL. CUVET_K_LTOIR. CUVET_K_CUBIN: a relocatable device ELF with capsules,
     * whose code is to be made again for sm and suffix; the result is another one, and there are no
     * options. */
    cuvet_kind kind;
    unsigned flags; /**< CUVET_COMPILE_DEBUG, or 0 */
    const void *bytes;
    size_t n;
    uint32_t sm;
    char suffix; /**< 'a', 'f' or 0 */
    /** Options in order: those of the member that the allow-list lets pass, then the caller's.
     * NUL-terminated, without NUL inside, never empty, never a path from the input. */
    const char *const *option;
    size_t n_options;
    uint32_t threads;  /**< 1 to 64 */
    const int *cancel; /**< not 0 as soon as the caller wants it to stop; read it atomically. Never NULL */
} cuvet_compile_request;

typedef struct cuvet_compile_result {
    size_t size;
    cuvet_compile_end end;
    int64_t detail;
    void *bytes; /**< output, NULL unless COMPILED */
    size_t n;
    /** What it said, not terminated; may be NULL. Untrusted: the library copies, cuts and cleans it. */
    char *log;
    size_t n_log;
    /** Gives bytes and log back; called once, also after a failure. May be NULL. */
    void (*release)(struct cuvet_compile_result *result, void *user);
} cuvet_compile_result;

typedef struct cuvet_compiler {
    size_t size;
    /** @return CUVET_OK with *out filled (out->end tells how it went) · CUVET_E_NOMEM · CUVET_E_INTERNAL. */
    cuvet_status (*compile)(void *user, const cuvet_compile_request *req, cuvet_compile_result *out);
    void *user;
} cuvet_compiler;

/** An external ptxas (for PTX) or nvlink (for device ELFs) in a sandboxed child process: no inherited
 * descriptors, no environment but TMPDIR=., a private directory that is removed, limits, and a supervisor
 * that kills whatever it started, at the deadline as well as after a good end. Where the kernel has Landlock
 * it writes nowhere else, and makes no TCP connection. Needs Linux 5.9 with /proc; nothing is started
 * without. The number of files it writes is not limited, only the size of each. 0 takes the default. */
typedef struct cuvet_external {
    size_t size;
    const char *path; /**< of the program: absolute; never looked up in PATH. Borrowed, must outlive it */
    const char *directory; /**< where private directories are made; NULL: /tmp. Borrowed */
    uint64_t cpu_seconds;  /**< default 60 */
    uint64_t deadline_ms;  /**< wall clock; default 120000 */
    uint64_t memory;       /**< bytes of address space; default 8 GiB */
    uint64_t output;       /**< bytes of the result; default 256 MiB */
    uint64_t log;          /**< bytes of its messages that are kept, the last ones; default 64 KiB */
    uint64_t files;        /**< open files, at least 8; default 64 */
    /** Processes and threads besides those that the user has; default 16. The kernel exempts root from it. */
    uint64_t processes;
} cuvet_external;

#ifdef __cplusplus
extern "C" {
#endif

/** Make *out a compiler that runs 'ext' (copied into memory of 'alloc', NULL: malloc). Several threads may
 * use it at once. @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE (path not absolute, a limit out of range) ·
 * CUVET_E_NOMEM. Release it with cuvet_compiler_destroy(). */
CUVET_API CUVET_MUST cuvet_status cuvet_compiler_external(const cuvet_external *ext, const cuvet_alloc *alloc,
                                                          cuvet_compiler *out);
/** End a compiler made by cuvet_compiler_external(); *compiler is zeroed. NULL and a zeroed one are allowed.
 * */
CUVET_API void cuvet_compiler_destroy(cuvet_compiler *compiler);
/** "failed", "crashed", "timeout"...; static storage. */
CUVET_API const char *cuvet_compile_end_name(cuvet_compile_end end);

#ifdef __cplusplus
}
#endif
#endif

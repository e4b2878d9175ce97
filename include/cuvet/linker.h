/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/** Linker: relocatable device ELFs in, the cubin that the reference linker would write out. Every input is
 * examined and admitted first; a link happens whole or not at all. */
#ifndef CUVET_LINKER_H
#define CUVET_LINKER_H

#include <cuvet/compiler.h>
#include <cuvet/context.h>
#include <cuvet/executor.h>
#include <cuvet/image.h>
#include <cuvet/scan.h>
#include <cuvet/target.h>

typedef struct cuvet_linker {
    uint64_t bits; /**< opaque; 0 is never valid */
} cuvet_linker;

/** What became of a file that was added, or of a piece of it. Every piece of device code has one, but for the
 * members of a container, which have one together: of them one is chosen. */
typedef enum cuvet_event_kind {
    CUVET_EVENT_TAKEN = 0,  /**< an input of the link */
    CUVET_EVENT_RETARGETED, /**< the same, finalized for the target first */
    /** Something is wrong with the file, or unusual, and decides on no piece. */
    CUVET_EVENT_FINDINGS,
    CUVET_EVENT_NO_MATCH,      /**< left out: of an archive, and has no code for the target */
    CUVET_EVENT_WHOLE_PROGRAM, /**< left out: of an archive, and finished already */
    /** Left out: a device link made it, or all modules of its host object are linked. */
    CUVET_EVENT_ALREADY_LINKED,
    CUVET_EVENT_NOT_NEEDED,    /**< left out: of a system library, and nothing needs it */
    CUVET_EVENT_NOT_AN_OBJECT, /**< left out: a member of an archive that nothing can be linked of */
    /** Left out: lies where the reference linker does not look. Or refused: where no tool keeps code. */
    CUVET_EVENT_OUTSIDE,
    /** The file holds none, which is no failure of a host object or a library. */
    CUVET_EVENT_NO_DEVICE_CODE,
    /** Refused: the file holds device code, and none of it was taken or left out. */
    CUVET_EVENT_NOTHING_FITS,
    /** Refused: device code that lies openly where it has no place. */
    CUVET_EVENT_NOT_IN_CONTAINER,
    CUVET_EVENT_NEEDS_COMPILER, /**< refused: PTX, and there is no compiler */
    CUVET_EVENT_NEEDS_LTO,      /**< refused: IR for link-time optimization */
    CUVET_EVENT_THIN,           /**< refused: an archive that does not hold its members */
    /** A host object or a member is damaged, for which the file is refused next. */
    CUVET_EVENT_DAMAGED,
    CUVET_EVENT_REFUSED, /**< refused, for what the diagnostics before it say, or for its status alone */
    CUVET_EVENT_COMPILED /**< an input of the link, compiled from PTX first */
} cuvet_event_kind;

/** It follows the diagnostics that it sums up. */
typedef struct cuvet_event {
    size_t size;
    cuvet_event_kind kind;
    cuvet_status status; /**< OK: taken, or left out rightly */
    const char *file;    /**< name of the file, borrowed until the next one is added */
    const char *member;  /**< name of the member of an archive; NULL: none, or the whole file */
    uint64_t off;        /**< of the piece (its container, or itself) in the file */
} cuvet_event;

/** May call nothing with the linker. */
typedef void cuvet_link_event_fn(void *user, const cuvet_event *event);

/** A system library: what lies in it is left out as a whole unless other inputs lack a function. Of a file
 * that is a device ELF itself it says nothing. */
#define CUVET_ADD_SYSTEM 1u
/** It is no failure when it holds no device code. */
#define CUVET_ADD_LIBRARY 2u
/** A host object, an archive or a fat binary that has no code for the target is left out, as in the reference
 * linker (CUVET_EVENT_NO_MATCH, of an archive for each of its members); so is an archive without device code.
 * Where it has LTO-IR in the place of such code it is refused (CUVET_EVENT_NEEDS_LTO). */
#define CUVET_ADD_OPTIONAL 4u

typedef struct cuvet_add_options {
    size_t size;
    unsigned flags; /**< CUVET_ADD_* */
} cuvet_add_options;

/** Flags of a link. */
#define CUVET_LINK_RELOCATABLE 1u /**< -r: the result is to be linked again */
/** With CUVET_LINK_RELOCATABLE: the reference's form, which loses what a later link needs. */
#define CUVET_LINK_EXACT_RELOCATABLE 2u
#define CUVET_LINK_DEBUG             4u /**< -g: keep the symbols of shared variables, and dead code */
/** Keep a record of every relocation that was applied, and dead code. */
#define CUVET_LINK_PRESERVE_RELOCS     8u
#define CUVET_LINK_KEEP_DEAD           16u /**< code that no kernel reaches stays, and all kernels */
#define CUVET_LINK_NO_STACK_WARNING    32u /**< say nothing of kernels whose stack size is not known */
#define CUVET_LINK_WARNINGS_ARE_ERRORS 64u
/** Kernels that no host code refers to are dead, as long as everything that was added came from host
 * objects that say what they refer to (cuvet_linker_add_file()); not together with kernels_used. */
#define CUVET_LINK_HOST_INFO           128u
#define CUVET_LINK_UNDEFINED_VARIABLES 256u /**< variables in global memory may stay undefined */
#define CUVET_LINK_NO_RESERVED_SHARED  512u /**< sm_90 and later: set nothing aside in shared memory */
/** Kernels may have as much static shared memory as the machine has, and not 48 KiB alone. */
#define CUVET_LINK_ALL_SHARED 1024u
/** When no input takes part the result is a cubin without code, as in the reference linker; otherwise that is
 * refused (CV-LINK-014). */
#define CUVET_LINK_MAY_BE_EMPTY 2048u
/** Take no code, and look at none: only what host objects say of their modules (cuvet_linker_get_module()),
 * system libraries included where there is other code. The result has no bytes. So the reference linker
 * answers for a virtual architecture, where nothing is linked before the program runs. */
#define CUVET_LINK_MODULES_ONLY 4096u

typedef struct cuvet_linker_options {
    size_t size;
    cuvet_target target;
    cuvet_arch_policy policy;
    uint32_t toolkit; /**< newest toolkit version accepted, times ten; 0: 130 */
    unsigned flags;   /**< CUVET_LINK_... */
    /** Kernels whose names hold one of these stay, the others are dead; borrowed until complete. */
    const char *const *kernels_used;
    size_t n_kernels_used; /**< 0: all stay */
    /** Code from sm_100 on for another member of the family is finalized for the target first, as
     * cuvet_finalizer_run() does. Where that needs its code made again this is asked (requests with 'cubin'),
     * and without it such an input is refused. Copied; its 'user' lasts as long as the linker. May be NULL */
    const cuvet_compiler *generator;
    /** What it said, made safe; one call for each time it said something. May be NULL */
    void (*generator_log)(void *user, const char *text);
    void *generator_user;
    /** What becomes of the files that are added, and of inputs that are left out when all is there. May be
     * NULL */
    cuvet_link_event_fn *event;
    void *event_user;
    /** PTX is compiled by it: in containers where the reference linker would compile it, as a file, and as a
     * member of an archive. Requests with CUVET_K_PTX; the output is relocatable, for the very target, and
     * examined like any stranger's file. Copied; its 'user' lasts as long as the linker, and it may not call
     * anything with the context. NULL: files that need it are refused */
    const cuvet_compiler *compiler;
    /** Options for it, behind those of a member: one element each, neither NULL nor empty, and only with a
     * compiler. With CUVET_LINK_DEBUG it is given --device-debug besides. Borrowed until destroy. */
    const char *const *compiler_options;
    size_t n_compiler_options;
    /** What it said of a piece, made safe, before the event of the piece; names are those of the event. May
     * be NULL, and may call nothing with the context */
    void (*compiler_log)(void *user, const char *file, const char *member, const char *text);
    void *compiler_user;
    /** Threads for cuvet_linker_complete(): the result and what is said of it are the same with any number of
     * them. Copied; its 'user' lasts as long as the linker. These threads call the context's allocator, one
     * at a time. NULL: none */
    const cuvet_executor *executor;
} cuvet_linker_options;

/** What came out; bytes are borrowed from the linker until destroy. */
typedef struct cuvet_link_result {
    size_t size; /**< sizeof(cuvet_link_result) of the caller */
    const void *bytes;
    size_t n;
    uint64_t objects, functions, kernels; /**< counts: of inputs that took part, and of what stayed */
} cuvet_link_result;

/** Flags of a function. */
#define CUVET_FUNCTION_KERNEL        1u
#define CUVET_FUNCTION_ADDRESS_TAKEN 2u /**< some function or data has its address with a prototype */
/** Otherwise it has no registers, and the driver is to provide it. */
#define CUVET_FUNCTION_DEFINED 4u
#define CUVET_FUNCTION_KEPT    8u /**< otherwise it is dead code, and its calls are not told */

/** A function of the call graph of a link. */
typedef struct cuvet_link_function {
    size_t size;      /**< sizeof(cuvet_link_function) of the library */
    const char *name; /**< bytes of an input, not terminated; borrowed until destroy */
    size_t n_name;
    uint32_t flags;     /**< CUVET_FUNCTION_... */
    uint32_t registers; /**< of its own code, not counting what it calls */
} cuvet_link_function;

/** Whom a call graph is told to. Functions have numbers from 1; each is told in the order of the numbers,
 * followed by its calls, which may name functions that are not told yet. Every function returns 0 to go on;
 * anything else stops. None may call the linker. */
typedef struct cuvet_callgraph_sink {
    size_t size;
    void *user;
    int (*function)(void *user, uint64_t number, const cuvet_link_function *fn);
    int (*call)(void *user, uint64_t from, uint64_t to); /**< also what an indirect call may reach */
    /** At the end: code of the function made the kernel need more registers than before. */
    int (*raised)(void *user, uint64_t function, uint64_t kernel);
} cuvet_callgraph_sink;

/** Where a result goes, piece by piece and in order. */
typedef struct cuvet_link_sink {
    size_t size;
    void *user;
    /** The bytes are borrowed for the call; at least one. Returns 0 to go on; anything else
     * stops. May not call the linker. */
    int (*write)(void *user, const void *bytes, size_t size);
} cuvet_link_sink;

#ifdef __cplusplus
extern "C" {
#endif

/** @return CUVET_OK · CUVET_E_NULL · CUVET_E_USAGE · CUVET_E_ARCH · CUVET_E_NOMEM · CUVET_E_LIMIT */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_create(cuvet_ctx *ctx, const cuvet_linker_options *opt,
                                                      cuvet_linker *out);
/** Add one device ELF; the bytes are copied. 'name' is for messages only: diagnostics name inputs by their
 * number, counted from 0, as cuvet_linker_get_name() does.
 *  @return CUVET_OK · CUVET_E_MALFORMED · CUVET_E_REFUSED (not to be linked for this target) ·
 * CUVET_E_UNKNOWN · CUVET_E_TRUNCATED · CUVET_E_UNSUPPORTED · CUVET_E_LIMIT · CUVET_E_NOMEM · CUVET_E_STATE.
 * The linker stays as it was unless OK. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add(cuvet_ctx *ctx, cuvet_linker linker, const void *bytes,
                                                   size_t size, const char *name);
/** The same without a copy: the bytes are borrowed, and must stay as they are, until the linker is destroyed.
 * What somebody else may change meanwhile (shared memory, a file that is mapped) is added by
 * cuvet_linker_add(): it is judged once and read again later. The limits count no byte of it as memory.
 *  @return as cuvet_linker_add() */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add_borrowed(cuvet_ctx *ctx, cuvet_linker linker,
                                                            const void *bytes, size_t size, const char *name);
/** The same from a source, which is read once and whole: no copy of it is made beside the linker's own.
 *  @return as cuvet_linker_add() · CUVET_E_IO · CUVET_E_USAGE (a source of another version) */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add_source(cuvet_ctx *ctx, cuvet_linker linker,
                                                          const cuvet_source *src, const char *name);
/** Add a file: a device ELF, or everything with device code in it: what nvcc makes (.o), archives, fat
 * binaries, programs and shared objects. Of each container the member that fits best is taken; what the
 * reference linker does not read is left out or refused, and nothing without an event. The source is read
 * during the call only.
 *  @param name for messages; copied · @param opt may be NULL
 *  @return CUVET_OK (nothing was refused: see the events for what was taken) · the status of the last
 * refusal, and what was taken before and after it stays · CUVET_E_STATE · CUVET_E_USAGE (flags) ·
 * CUVET_E_NOMEM. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add_file(cuvet_ctx *ctx, cuvet_linker linker,
                                                        const cuvet_source *src, const char *name,
                                                        const cuvet_add_options *opt);
/** The same for a file in memory, whose bytes are borrowed during the call. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_add_memory(cuvet_ctx *ctx, cuvet_linker linker,
                                                          const void *bytes, size_t size, const char *name,
                                                          const cuvet_add_options *opt);
/** Event number 'index' so far; out->size is set by the caller. @return CUVET_OK · CUVET_END · CUVET_E_USAGE
 * (size). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_event(cuvet_ctx *ctx, cuvet_linker linker, uint64_t index,
                                                         cuvet_event *out);
/** "taken", "needs-compiler", ... */
CUVET_API const char *cuvet_event_kind_name(cuvet_event_kind kind);
/** Modules of the host objects that took part, in the order of the inputs: what has to be registered by the
 * host program. A name that two of them have comes twice. Letters, digits and '_', terminated, borrowed until
 * destroy.
 *  @return CUVET_OK · CUVET_END (no more) · CUVET_E_STATE (not complete). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_module(cuvet_ctx *ctx, cuvet_linker linker, uint64_t index,
                                                          const char **name);
/** Name of an input by its number, borrowed until destroy. @return CUVET_OK · CUVET_END. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_name(cuvet_ctx *ctx, cuvet_linker linker, uint64_t index,
                                                        const char **out);
/** Link what was added. Inputs that are left out (linked already, a library that nothing needs: both are
 * said) get the numbers behind those that take part.
 *  @return CUVET_OK · CUVET_E_REFUSED (a diagnostic says why) · CUVET_E_LIMIT · CUVET_E_NOMEM ·
 *          CUVET_E_INTERNAL (a defect of this library: nothing is given out, and every later call on the
 *          linker gives CUVET_E_POISONED) · CUVET_E_STATE (it was called before). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_complete(cuvet_ctx *ctx, cuvet_linker linker);
/** The result in one piece, which is put together by the first call. @return CUVET_OK · CUVET_E_STATE (not
 * complete). *out is zeroed on failure. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_result(cuvet_ctx *ctx, cuvet_linker linker,
                                                          cuvet_link_result *out);
/** The result as an image of its own. *out is zero unless OK.
 *  @return CUVET_OK · CUVET_E_STATE (not complete). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_image(cuvet_ctx *ctx, cuvet_linker linker,
                                                         cuvet_image *out);
/** Write the result as cuvet_save() would, without putting it together in memory.
 *  @return CUVET_OK · CUVET_E_STATE · CUVET_E_USAGE (name) · CUVET_E_EXISTS · CUVET_E_IO. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_save(cuvet_ctx *ctx, cuvet_linker linker, int dirfd,
                                                    const char *name, unsigned flags);
/** The same to a descriptor, from where it stands. @return CUVET_OK · CUVET_E_STATE · CUVET_E_IO. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_write(cuvet_ctx *ctx, cuvet_linker linker, int fd);
/** The same to a callback, without putting it together in memory. @return CUVET_OK · CUVET_E_STATE ·
 * CUVET_E_CANCELLED (the sink stopped it) · CUVET_E_USAGE (size, no function). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_deliver(cuvet_ctx *ctx, cuvet_linker linker,
                                                       const cuvet_link_sink *sink);
/** Name of the symbol that a diagnostic of this link points to, not terminated, borrowed until destroy; of a
 * diagnostic of cuvet_linker_add_file(), name of the member that nothing can be linked of, borrowed until the
 * next file.
 *  @param which 0; 1: the symbol that the first one does not agree with: where a diagnostic is about two, its
 *  path names two inputs (CUVET_P_MEMBER), each with its symbol behind it
 *  @return CUVET_OK · CUVET_E_NO_MATCH (it points to none, or to one only) · CUVET_E_USAGE (which). */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_get_symbol(cuvet_ctx *ctx, cuvet_linker linker,
                                                          const cuvet_diag *diag, unsigned which,
                                                          const char **out, size_t *len);
/** Tell the call graph of a link that came as far as having one, also when it was refused later (undefined
 * names, registers): then nothing may be told as raised. An indirect call is told once for each function
 * whose address is taken with its prototype, so that there may be as many calls as the product of both.
 *  @return CUVET_OK · CUVET_E_CANCELLED (the sink stopped it) · CUVET_E_STATE (no call graph, or a link to be
 * linked again) · CUVET_E_USAGE (size, or a function is missing) · CUVET_E_LIMIT · CUVET_E_NOMEM. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_callgraph(cuvet_ctx *ctx, cuvet_linker linker,
                                                         const cuvet_callgraph_sink *sink);
/** End it and poison its memory; *linker becomes 0. */
CUVET_API CUVET_MUST cuvet_status cuvet_linker_destroy(cuvet_ctx *ctx, cuvet_linker *linker);

#ifdef __cplusplus
}
#endif
#endif
